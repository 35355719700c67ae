"""Folders of tables as places on disks and in buckets, however their locations are written.

Promise: `meets` and `has` never miss a shared folder because of a scheme (`s3a:` for `s3:`, `file:`
or none), a slash, percent-encoding, a symbolic link or a mount. They may be true without need: two
spellings that some file system takes for two folders count as the same folder.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from urllib.parse import unquote

from msgspec import Struct

from accelerator.iceberg.io import local_path

_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/]*)(?P<path>.*)", re.S)
_BUCKETS = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gs"),
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs"), "azure"),
}
"""Schemes whose authority names a bucket. Of all others the path alone is compared, since a path
without a scheme may lie in any of them."""

Inode = tuple[int, int]


class SearchFolder(Struct, frozen=True, dict=True):
    """A folder. `links` is the depth to which symbolic links inside it are followed.

    Only links to folders matter, and only on local disks: a procedure that lists the folder lists
    their targets too.
    """

    location: str
    links: int = 0

    @cached_property
    def _texts(self) -> frozenset[tuple[str, str]]:
        """The ways to write it: as it is, normalised, decoded, with its links resolved."""
        root, path = _split(self.location)
        ways = {path, _normal(path), _normal(unquote(path))}
        local = local_path(self.location)
        if local is not None:
            ways.add(os.path.realpath(local))
            ways |= {os.path.realpath(one) for one in self._targets}
        return frozenset((root, way.rstrip("/") + "/") for way in ways)

    @cached_property
    def _targets(self) -> tuple[str, ...]:
        """Local folders that symbolic links inside it lead to."""
        local = local_path(self.location)
        return () if local is None or not self.links else tuple(_linked(local, self.links))

    @cached_property
    def _own(self) -> frozenset[Inode]:
        """The folder itself, and the targets of links inside it, as the file system knows them."""
        local = local_path(self.location)
        if local is None:
            return frozenset()
        found = (_inode(one) for one in (local, *self._targets))
        return frozenset(one for one in found if one is not None)

    @cached_property
    def _above(self) -> frozenset[Inode]:
        """The folders that these lie in."""
        local = local_path(self.location)
        if local is None:
            return frozenset()
        found = {x for one in (local, *self._targets) for x in map(_inode, _parents(one))}
        return frozenset(one for one in found if one is not None)

    def has(self, other: SearchFolder) -> bool:
        """Returns whether the other is this folder, or may lie inside it."""
        if self._own & (other._own | other._above):
            return True
        return any(
            root == outer and path.startswith(prefix)
            for root, path in other._texts
            for outer, prefix in self._texts
        )

    def meets(self, other: SearchFolder) -> bool:
        """Returns whether one of both may lie inside the other."""
        return self.has(other) or other.has(self)


def folder_of(file: str) -> str:
    """The location of the folder that a file lies in."""
    return file.rpartition("/")[0]


def file_keys(files: Iterable[str]) -> Iterator[tuple[str, object]]:
    """Each file with what is equal for two names of it: its inode, or else its normal text."""
    for file in files:
        local = local_path(file)
        inode = None if local is None else _inode(local)
        if inode is not None:
            yield file, inode
            continue
        root, path = _split(file)
        yield file, (root, _normal(unquote(path)))


def _split(location: str) -> tuple[str, str]:
    """The bucket, if the scheme has buckets, and the path."""
    local = local_path(location)
    if local is not None:
        return "", local
    match = _URI.fullmatch(location)
    if match is None:
        return "", location
    bucket = _BUCKETS.get(match["scheme"].lower())
    if bucket is None:
        return "", match["path"]
    authority = match["authority"].lower()
    # An account of Azure has one host for each protocol: account.dfs.…, account.blob.…
    name = authority.partition(".")[0] if bucket == "azure" else authority
    return f"{bucket}:{name}", match["path"]


def _normal(path: str) -> str:
    """Removes doubled slashes, `.` and `..`."""
    return posixpath.normpath(f"/{path.lstrip('/')}")


def _inode(path: str) -> Inode | None:
    """Identifies the file, with links followed; None if it isn't there."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path costs more
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _parents(path: str) -> Iterator[str]:
    """The folders above it, behind all links."""
    real = os.path.realpath(path)
    while (above := os.path.dirname(real)) != real:  # noqa: PTH120 - a Path costs more
        yield above
        real = above


def _linked(folder: str, depth: int) -> Iterator[str]:
    """Folders that links inside lead to, and links inside these; each folder is read once."""
    waiting, seen = [(folder, depth)], set[Inode]()
    while waiting:
        path, left = waiting.pop()
        inode = _inode(path)
        if inode is None or inode in seen or left <= 0:
            continue
        seen.add(inode)
        with suppress(OSError), os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.is_symlink():
                        yield entry.path
                    waiting.append((entry.path, left - 1))
