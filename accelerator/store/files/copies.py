"""Copies of an object store's artifacts on this machine's disk, for engines that read local files.

An artifact never changes under its name, so a copy is never stale. Copies are bounded in bytes and
may be deleted at any time: a missing copy is fetched again. Promises: a copy that has its name
is as long as the artifact, and no draft has that name.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol, TypeGuard

from accelerator.common.files.cache_folder import touch, trim
from accelerator.common.lru_cache import Recent
from accelerator.errors import StoreError
from accelerator.store.files.files import StoreFiles
from accelerator.store.files.local import LocalFiles

_SUFFIX = ".parquet"
_SHARE = 16
"""The folder is trimmed once so small a part of its bytes was written by this process."""


class RemoteFiles(StoreFiles, Protocol):
    """The files of an object store; see `ObjectFiles`."""

    options: Mapping[str, str]

    def download(self, path: str, out: BinaryIO, check: Callable[[], None]) -> None: ...
    def upload(self, path: str, file: Path) -> None: ...


def is_remote(files: StoreFiles) -> TypeGuard[RemoteFiles]:
    """Reports whether the files are an object store's."""
    return not isinstance(files, LocalFiles)


class LocalCopies:
    """The copies in one folder, which processes may share.

    Args:
        files: the object store's.
        folder: is made, for its owner alone, when the first copy is.
        bytes_max: of disk. Artifacts that are larger, alone or together, aren't copied.
    """

    def __init__(self, files: RemoteFiles, folder: Path, bytes_max: int) -> None:
        self._files, self.folder, self._bytes_max = files, folder, bytes_max
        self._written = 0
        self._lock = threading.Lock()
        self._locks: Recent[threading.Lock] = Recent()

    def path(self, path: str) -> Path:
        """Returns the path of an artifact's copy, whether it's there or not."""
        name = hashlib.sha256(self._files.uri(path).encode()).hexdigest()
        return self.folder / f"{name[:40]}{_SUFFIX}"

    def size(self, path: str) -> int:
        """Returns the bytes of an artifact, by its copy if there's one. StoreError."""
        with suppress(OSError):
            return self.path(path).stat().st_size
        try:
            return self._files.size(path)
        except FileNotFoundError as error:
            raise _gone(self._files.uri(path)) from error

    def check_room(self, sizes: Mapping[str, int]) -> None:
        """StoreError if copies of so many bytes would delete one another."""
        total = sum(sizes.values())
        if total > self._bytes_max:
            first = self._files.uri(next(iter(sizes)))
            more = f" and {len(sizes) - 1} files more have" if len(sizes) > 1 else " has"
            raise StoreError(
                f"{first}{more} {total:,} bytes, more than segment_cache_bytes",
                hint=f"raise segment_cache_bytes, now {self._bytes_max:,}",
            )

    def fetch(self, path: str, size: int, check: Callable[[], None] = lambda: None) -> Path:
        """Returns the copy, made if there's none. StoreError, and what `check` raises.

        Threads that want one artifact download it once.
        """
        target = self.path(path)
        with self._locks.get_or(target.name, threading.Lock):
            if target.is_file():
                touch(target)
                return target
            with self.draft(path) as draft, draft.open("xb") as out:
                self._download(path, size, out, check)
        return target

    def _download(self, path: str, size: int, out: BinaryIO, check: Callable[[], None]) -> None:
        uri = self._files.uri(path)
        try:
            self._files.download(path, out, check)
        except FileNotFoundError as error:
            raise _gone(uri) from error
        if out.tell() != size:
            raise StoreError(
                f"{uri} broke off after {out.tell():,} of {size:,} bytes",
                hint="ask again; the object store or the network failed",
            )

    def forget(self, path: str) -> bool:
        """Deletes the copy; whether there was one."""
        target = self.path(path)
        found = target.is_file()
        with suppress(OSError):
            target.unlink()
        return found

    @contextmanager
    def draft(self, path: str) -> Iterator[Path]:
        """A new local name to write to; the file there becomes the copy once the block has ended.

        If the block raises, it's deleted.
        """
        target = self.path(path)
        draft = target.with_name(f"{target.name}#{secrets.randbits(63)}")
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            yield draft
            size = draft.stat().st_size
            draft.replace(target)
        except OSError as error:
            raise StoreError(
                f"the copies of segments in {self.folder} can't be written: {error}",
                hint="set segment_cache_folder to a folder that you may write to",
            ) from error
        finally:
            with suppress(OSError):
                draft.unlink()
        self._look_after(size)

    @contextmanager
    def writing(self, path: str) -> Iterator[Path]:
        """Gives a draft as `draft` does, and uploads it to the object store as the block ends."""
        with self.draft(path) as draft:
            yield draft
            self._files.upload(path, draft)

    def _look_after(self, written: int) -> None:
        with self._lock:
            self._written += written
            if self._written * _SHARE < self._bytes_max:
                return
            self._written = 0
        trim(self.folder, _SUFFIX, self._bytes_max)


def _gone(uri: str) -> StoreError:
    return StoreError(f"{uri} is gone", hint="BUILD CUBE makes its cells anew")
