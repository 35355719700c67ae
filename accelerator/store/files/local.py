"""A store in a local directory: `StoreFiles` by hard links and syncs, without obstore."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from accelerator.common.files.safe_files import open_file, sync_directory, write_synced
from accelerator.errors import StoreError
from accelerator.store.files.entries import FileEntry, is_draft
from accelerator.store.files.names import inside

DRAFTS_MAX = 20


class LocalFiles:
    """A directory. Makes it at the first write.

    `create` writes a temporary file, syncs it and hard-links it to its name, so that a name is
    never seen half-written, not even after a power cut. (obstore's own local `put` links too, but
    doesn't sync.) Temporary names end in `#digits`, which obstore and `list` both leave out.
    """

    def __init__(self, root: str) -> None:
        self._root = os.path.abspath(root)  # noqa: PTH100 - Path.resolve would follow links
        self._prefix = self._root.rstrip("/") + "/"

    def _at(self, path: str) -> str:
        return self._prefix + inside(path)

    def create(self, path: str, data: bytes) -> bool:
        """See `StoreFiles.create`."""
        target = Path(self._at(path))
        with _local_errors(self._root):
            target.parent.mkdir(parents=True, exist_ok=True)
            for tries in range(DRAFTS_MAX):
                draft = target.with_name(f"{target.name}#{secrets.randbits(63)}")
                try:
                    write_synced(draft, data)  # of a full disk half of it may stay
                    os.link(draft, target)
                    break
                except FileExistsError:
                    return False
                except FileNotFoundError:
                    # So long ago that a full vacuum took the draft for a dead writer's.
                    if tries == DRAFTS_MAX - 1:
                        raise
                finally:
                    draft.unlink(missing_ok=True)
            sync_directory(target.parent)
        return True

    def read(self, path: str) -> bytes:
        """See `StoreFiles.read`."""
        with _local_errors(self._root, may_miss=True), open_file(self._at(path)) as file:
            return file.read()

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """See `StoreFiles.read_range`."""
        with _local_errors(self._root, may_miss=True), open_file(self._at(path)) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(offset)
            return file.read(max(0, min(length, size - offset)))

    def exists(self, path: str) -> bool:
        """See `StoreFiles.exists`; one `stat`."""
        return os.path.isfile(self._at(path))  # noqa: PTH113 - a Path costs more than the stat

    def size(self, path: str) -> int:
        """See `StoreFiles.size`."""
        with _local_errors(self._root, may_miss=True):
            return Path(self._at(path)).stat().st_size

    def delete(self, paths: Iterable[str]) -> None:
        """See `StoreFiles.delete`. Folders stay: another process may write into them."""
        with _local_errors(self._root):
            for path in paths:
                Path(self._at(path)).unlink(missing_ok=True)

    def list(self, prefix: str) -> list[str]:
        """See `StoreFiles.list`. What `exists` doesn't find, like a pipe, isn't listed either."""
        with _local_errors(self._root):
            found = [one.path for one in _files(self._at(prefix)) if not is_draft(one.name)]
        return sorted(path.removeprefix(self._prefix) for path in found)

    def folders(self, prefix: str) -> tuple[str, ...]:
        """See `StoreFiles.folders`."""
        with _local_errors(self._root):
            try:
                with os.scandir(self._at(prefix)) as found:
                    return tuple(sorted(one.name for one in found if one.is_dir()))
            except FileNotFoundError:
                return ()

    def entries(self, prefix: str) -> Iterator[FileEntry]:
        """See `StoreFiles.entries`. What goes while it's listed is left out."""
        with _local_errors(self._root):
            for folder, _, names in os.walk(self._at(prefix)):
                for name in names:
                    try:
                        found = os.stat(f"{folder}/{name}")  # noqa: PTH116 - a Path costs more
                    except FileNotFoundError:
                        continue
                    path = f"{folder}/{name}".removeprefix(self._prefix)
                    yield FileEntry(path, found.st_size, int(found.st_mtime * 1000))

    def uri(self, path: str) -> str:
        """See `StoreFiles.uri`."""
        return f"file://{self._prefix}{path}"


def _files(folder: str) -> Iterator[os.DirEntry[str]]:
    """The files under it, and links to files; links to folders aren't followed."""
    try:
        with os.scandir(folder) as found:
            entries = list(found)
    except FileNotFoundError:
        return
    for one in entries:
        if one.is_dir(follow_symlinks=False):
            yield from _files(one.path)
        elif one.is_file(follow_symlinks=False) or os.path.isfile(one.path):  # noqa: PTH113
            yield one


@contextmanager
def _local_errors(root: str, *, may_miss: bool = False) -> Iterator[None]:
    """OSErrors as StoreErrors; with `may_miss` a file that isn't there is the caller's to judge."""
    try:
        yield
    except OSError as error:
        if may_miss and isinstance(error, FileNotFoundError):
            raise
        raise StoreError(
            f"the store at {root} can't be used: {error.strerror or error}",
            hint="check the path and its permissions, or set `store` to a place you may write to",
        ) from error
