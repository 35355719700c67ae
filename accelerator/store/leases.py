"""Leases: which old versions this process may still use, told to vacuums of other processes.

A lease is a file whose name says the oldest version that is in use, until when, and by whom; so a
vacuum learns all of them from one listing. A process holds one per table, renewed in the background
while it reads. Promises: a version handed out under a lease keeps its files until the reading ends,
unless the process sleeps past the lease's end. A lease that can't be written stops no query.
"""

from __future__ import annotations

import logging
import re
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from accelerator.errors import StoreError
from accelerator.store.files.files import StoreFiles

LEASE_MS = 600_000
# The reader stops trusting a lease this long before it ends, and the vacuum starts ignoring it this
# long after: together what clocks of two machines may differ by, or a renewal may be late.
MARGIN_MS = 120_000
_FUTURE_MS = 86_400_000
"""No clock is wrong by so much: what ends later is no lease."""
VERSIONS, SNAPSHOTS = "pins", "snapshots"

_NAME = re.compile(r"(\d{20})-(\d{15})-([0-9a-f]{32})-(\d+)\.json")
_log = logging.getLogger("accelerator")


class Lease(Struct, frozen=True):
    """A lease as its file's name tells it."""

    path: str
    version: int
    expires_ms: int
    process: str

    def has_ended(self, now_ms: int) -> bool:
        """Whether its process must have stopped relying on it, by any clock."""
        return not now_ms - MARGIN_MS <= self.expires_ms <= now_ms + _FUTURE_MS


def leases_of(files: StoreFiles, table_uuid: str, folder: str = VERSIONS) -> list[Lease]:
    """All leases on a table's versions or snapshots, ended ones too; one listing."""
    found = []
    for path in files.list(_folder(table_uuid, folder)):
        match = _NAME.fullmatch(path.rpartition("/")[2])
        if match:
            found.append(Lease(path, int(match[1]), int(match[2]), match[3]))
    return found


class _OwnLease(Struct, frozen=True):
    """A lease of ours. Readings up to that number, which began before it, may use `version`.

    Later ones use no version before `mark`, the lowest that was seen under it; None: nothing was.
    `since` was the newest version once the lease stood, so that no vacuum had gone past it or a
    later one; None: nobody has asked yet.
    """

    path: str
    version: int
    since: int | None
    mark: int | None
    reading: int
    begun_ms: int
    expires_ms: int


class Leases:
    """The leases of one process on the tables of one store; threads share it.

    In the folder `SNAPSHOTS` a lease is on the lake's table, and its version is the time of the
    oldest snapshot whose data files are read, in milliseconds.
    """

    def __init__(
        self,
        files: StoreFiles,
        now_ms: Callable[[], int],
        *,
        writable: bool,
        folder: str = VERSIONS,
        process: str = "",
    ) -> None:
        self.process, self._folder = process or uuid.uuid4().hex, folder
        self._files, self._now_ms, self._writable = files, now_ms, writable
        self._held: dict[str, _OwnLease] = {}
        self._readings: set[int] = set()
        self._count = self._files_written = 0
        self._retry_ms = 0
        self._lock = threading.RLock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """What is read inside stays readable until the end."""
        with self._lock:
            self._count += 1
            mine = self._count
            self._readings.add(mine)
        try:
            yield
        finally:
            with self._lock:
                self._readings.discard(mine)

    def must_ask_again(self, table_uuid: str, version: int) -> bool:
        """Makes sure of a lease on a version that was just read, if anybody reads.

        True where that was before the lease stood: a vacuum may have run in between, so the newest
        version is to be asked for once more, told to `asked`, and used instead.
        """
        if not self._readings or not self._writable:
            return False
        held = self._held.get(table_uuid)
        if (
            _is_known(held, version)
            and self._thread is not None
            and self._covers(table_uuid, version)
        ):
            return False
        with self._lock:
            now, held = self._now_ms(), self._held.get(table_uuid)
            if held is None or not self._covers(table_uuid, version):
                return not self._backs_off(now) and self._write(table_uuid, version, now)
            if held.since is None or version < held.since:
                return True
            self._mark(table_uuid, held, version)
            return False

    def asked(self, table_uuid: str, version: int) -> None:
        """That was the newest version when it was asked for once more; it's going to be used."""
        with self._lock:
            held = self._held.get(table_uuid)
            if held is not None and held.version <= version:
                since = version if held.since is None else min(held.since, version)
                self._mark(table_uuid, replace(held, since=since), version)

    def renew(self) -> None:
        """Renews what is held, in use and would end soon.

        What has ended (the machine slept, or its clock jumped) is given up instead: a vacuum may
        have run, so the next who reads must ask for the newest version anew.
        """
        with self._lock:
            now = self._now_ms()
            for table_uuid, held in list(self._held.items()):
                if now >= held.expires_ms:
                    del self._held[table_uuid]
                    continue
                soon = held.expires_ms - now < LEASE_MS // 2 or now < held.begun_ms
                oldest = self._in_use(held)
                if soon and oldest is not None:
                    self._write(table_uuid, oldest, now, since=held.since)

    def narrow(self, table_uuid: str) -> None:
        """Before a vacuum by this very process: it holds no older version than it still reads."""
        with self._lock:
            held = self._held.get(table_uuid)
            if held is None:
                return
            oldest = self._in_use(held)
            if oldest is not None:
                self._write(table_uuid, oldest, self._now_ms())
            else:
                del self._held[table_uuid]
                self._end([held.path])

    def close(self) -> None:
        """Ends all leases."""
        self._stop.set()
        with self._lock:
            paths = [held.path for held in self._held.values()]
            self._held.clear()
        self._end(paths)

    def _end(self, paths: Sequence[str]) -> None:
        try:
            self._files.delete(paths)
        except StoreError as error:
            _log.info("a lease is left to end by itself: %s", error)

    def _covers(self, table_uuid: str, version: int) -> bool:
        held = self._held.get(table_uuid)
        if held is None or held.version > version:
            return False
        return held.begun_ms <= self._now_ms() < held.expires_ms - MARGIN_MS

    def _backs_off(self, now: int) -> bool:
        return self._retry_ms - 60_000 <= now < self._retry_ms

    def _in_use(self, held: _OwnLease) -> int | None:
        """The oldest version that a reading may use under a lease; None where none does."""
        oldest = []
        if any(one <= held.reading for one in self._readings):
            oldest.append(held.version)
        if held.mark is not None and any(one > held.reading for one in self._readings):
            oldest.append(held.mark)
        return min(oldest, default=None)

    def _mark(self, table_uuid: str, held: _OwnLease, version: int) -> None:
        """Remembers that a version is used under a lease, which may end soon if nobody did."""
        if any(one > held.reading for one in self._readings):
            mark = version if held.mark is None else min(held.mark, version)
            held = replace(held, mark=mark)
        self._held[table_uuid] = held
        self.renew()
        self._keep_renewing()

    def _write(self, table_uuid: str, version: int, now: int, since: int | None = None) -> bool:
        """Writes a new lease, on that version too, in the old one's place; whether that worked."""
        held = self._held.get(table_uuid)
        in_use = None if held is None else self._in_use(held)
        oldest = version if in_use is None else min(version, in_use)
        self._files_written += 1
        new = _OwnLease("", oldest, since, None, self._count, now, now + LEASE_MS)
        name = f"{oldest:020d}-{new.expires_ms:015d}-{self.process}-{self._files_written}.json"
        new = replace(new, path=f"{_folder(table_uuid, self._folder)}/{name}")
        try:
            self._files.create(new.path, b'{"format":1}\n')
        except StoreError as error:
            self._retry_ms = now + 60_000
            _log.warning("no lease could be written, so only the grace time protects: %s", error)
            return False
        self._held[table_uuid] = new
        if held is not None:
            self._end([held.path])
        self._keep_renewing()
        return True

    def _keep_renewing(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="store-leases", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(LEASE_MS / 4000):
            with self._lock:
                if not self._readings:
                    self._thread = None
                    return
            self.renew()


def _is_known(held: _OwnLease | None, version: int) -> bool:
    """Whether nothing is to be remembered of a version, and nothing to be asked."""
    if held is None or held.since is None or held.mark is None:
        return False
    return max(held.since, held.mark) <= version


def _folder(table_uuid: str, folder: str) -> str:
    return f"tables/{table_uuid}/{folder}"
