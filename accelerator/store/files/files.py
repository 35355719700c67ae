"""The store's files: what is asked of them, and which implementation a root has.

`StoreFiles` promises: `create` is atomic and at most one caller succeeds per path; a file that
`exists` is whole; paths are relative to the root, with `/`. Failures are `StoreError` with a hint,
except a missing file, which is Python's `FileNotFoundError`. Nothing else touches a store's bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol
from urllib.parse import urlsplit

from accelerator.common.files.file_uri import other_host, path_of
from accelerator.common.redaction import redacted
from accelerator.errors import ConfigError
from accelerator.store.files.entries import FileEntry
from accelerator.store.files.local import LocalFiles

_REMOTE_SCHEMES = ("s3", "s3a", "gs", "az", "abfs", "abfss", "memory")


class StoreFiles(Protocol):
    """Write-once files under one root."""

    def create(self, path: str, data: bytes) -> bool:
        """Writes a new file whole; False, and nothing changed, where the path is taken."""
        ...

    def read(self, path: str) -> bytes:
        """All bytes of a file."""
        ...

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """So many bytes of a file; fewer where it ends before."""
        ...

    def exists(self, path: str) -> bool:
        """Whether the file is there now; asked on every query, so the cheapest call there is."""
        ...

    def size(self, path: str) -> int:
        """The file's bytes."""
        ...

    def delete(self, paths: Iterable[str]) -> None:
        """Removes files; one that is gone already is no error."""
        ...

    def list(self, prefix: str) -> list[str]:
        """Paths of all files under a folder, at any depth, sorted; none if there's no folder."""
        ...

    def folders(self, prefix: str) -> tuple[str, ...]:
        """Names of the folders right under a folder, sorted; one request per thousand."""
        ...

    def entries(self, prefix: str) -> Iterator[FileEntry]:
        """Everything under a folder, in no order, with what killed writers left half-written."""
        ...

    def uri(self, path: str) -> str:
        """The path as a URI that Spark and DuckDB understand."""
        ...


def open_files(root: str, options: Mapping[str, str] | None = None) -> StoreFiles:
    """The files under a root: a local path, a `file:` URI, or s3://, gs://, az:// and the like."""
    try:
        scheme = urlsplit(root).scheme.lower() if "://" in root else ""
        root.encode()
        if "\0" in root:
            raise ValueError("it has a NUL")
    except ValueError as error:
        raise ConfigError(
            f"store {redacted(root, {})!r} is no address: {error}",
            hint="use a local path, file:, s3:, gs:, az: or abfss:",
        ) from error
    if other_host(root):
        raise ConfigError(
            f"store {root!r} is on the host {other_host(root)}",
            hint="mount it, and write file:/// and the path, or the path alone",
        )
    if scheme in ("", "file"):
        return LocalFiles(local_path(root))
    if scheme not in _REMOTE_SCHEMES:
        raise ConfigError(
            f"store {redacted(root, {})!r} has a scheme that isn't known",
            hint="use a local path, file:, s3:, gs:, az: or abfss:",
        )
    from accelerator.store.files.object_store import (
        ObjectFiles,  # imports a client of object stores
    )

    return ObjectFiles(root, options or {})


def local_folders(root: str) -> tuple[str, ...]:
    """The folder of a local root, without a link on the way; none of another root."""
    path = local_path(root)
    return () if "://" in path else (os.path.realpath(path),)


def local_path(uri: str) -> str:
    """The local path of a `file:` URI or of a path."""
    return path_of(uri)
