"""What a vacuum keeps, and its report: what went, what was kept and why, and what it cost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct, field

from accelerator.store.files.entries import FileEntry
from accelerator.store.files.files import StoreFiles

# Object stores delete so many files by one request.
DELETE_MAX = 1000


class Retention(Struct, frozen=True):
    """What stays: the newest versions, and whatever is younger than the grace time.

    The rest goes in batches, by so many threads, at so many files a second (0: no limit).
    """

    grace_ms: int
    versions_min: int = 3
    batch: int = DELETE_MAX
    threads: int = 4
    deletes_per_s: int = 0


class VacuumLine(Struct, frozen=True):
    """So many files of one kind, deleted (or to be) or kept, and why; bytes where they're known."""

    action: str
    what: str
    reason: str
    files: int
    bytes: int


class Report(Struct):
    """What one vacuum did to one table's store; `requests` counts a batch of deletes as one."""

    table_uuid: str
    dry_run: bool
    requests: int = 0
    _lines: dict[tuple[str, str, str], list[int]] = field(default_factory=dict)

    def __repr__(self) -> str:
        gone = "would delete" if self.dry_run else "deleted"
        return f"<Report {gone} {self.files(gone)} files, kept {self.files('kept')}>"

    def deleted(self, what: str, reason: str, files: int, size: int = 0) -> None:
        """So many more files are gone, or would be."""
        self._add("would delete" if self.dry_run else "deleted", what, reason, files, size)

    def kept(self, what: str, reason: str, files: int = 1, size: int = 0) -> None:
        """So many more stay."""
        self._add("kept", what, reason, files, size)

    def files(self, action: str = "deleted") -> int:
        """How many files that happened to."""
        return sum(line.files for line in self.lines if line.action == action)

    @property
    def lines(self) -> tuple[VacuumLine, ...]:
        """All of it, deletions first."""
        ordered = sorted(self._lines.items(), key=lambda pair: (pair[0][0] == "kept", pair[0]))
        return tuple(VacuumLine(*key, *counts) for key, counts in ordered)

    def _add(self, action: str, what: str, reason: str, files: int, size: int) -> None:
        if files or size:
            counts = self._lines.setdefault((action, what, reason), [0, 0])
            counts[0] += files
            counts[1] += size


class CountedFiles:
    """`StoreFiles` that count the requests of one vacuum, in all of its threads.

    `check` may end it, by raising before any of them.
    """

    def __init__(
        self, files: StoreFiles, report: Report, check: Callable[[], None] = lambda: None
    ) -> None:
        self._files, self._report, self._check = files, report, check
        self._lock = threading.Lock()

    def create(self, path: str, data: bytes) -> bool:
        """See `StoreFiles.create`."""
        self._count()
        return self._files.create(path, data)

    def read(self, path: str) -> bytes:
        """See `StoreFiles.read`."""
        self._count()
        return self._files.read(path)

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """See `StoreFiles.read_range`."""
        self._count()
        return self._files.read_range(path, offset, length)

    def exists(self, path: str) -> bool:
        """See `StoreFiles.exists`."""
        self._count()
        return self._files.exists(path)

    def size(self, path: str) -> int:
        """See `StoreFiles.size`."""
        self._count()
        return self._files.size(path)

    def delete(self, paths: Iterable[str]) -> None:
        """See `StoreFiles.delete`."""
        wanted = list(paths)
        self._count(-(-len(wanted) // DELETE_MAX))
        self._files.delete(wanted)

    def folders(self, prefix: str) -> tuple[str, ...]:
        """See `StoreFiles.folders`."""
        self._count()
        return self._files.folders(prefix)

    def list(self, prefix: str) -> list[str]:
        """See `StoreFiles.list`; a listing has a request per thousand files."""
        self._check()
        found = self._files.list(prefix)
        self._count(1 + len(found) // DELETE_MAX)
        return found

    def entries(self, prefix: str) -> Iterator[FileEntry]:
        """See `StoreFiles.entries`."""
        self._count()
        for number, entry in enumerate(self._files.entries(prefix), 1):
            self._count(number % DELETE_MAX == 0)
            yield entry

    def uri(self, path: str) -> str:
        """See `StoreFiles.uri`."""
        return self._files.uri(path)

    def _count(self, requests: int = 1) -> None:
        self._check()
        with self._lock:
            self._report.requests += requests
