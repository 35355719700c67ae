"""Small segment files that are asked again and again, kept in DuckDB's memory.

What a small file costs is mostly its opening, 0.6 ms; of a large one Parquet's own statistics and
Bloom filters leave fewer rows to read than a copy's would. Files never change under their names, so
a copy is never stale. Copies are made in the background at the third use, compressed, least
recently used first out. Nothing depends on one: whatever fails here, the files themselves are read.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

import duckdb

_USES = 3
_GROWTH = 3  # a copy's bytes in memory over its file's, measured 1.5 to 2.7
_KEPT = 256
_LARGEST = 4 * 1024 * 1024  # bytes of a file that is copied


@dataclass(slots=True)
class _Entry:
    bytes: int
    uses: int = 0
    table: str | None = None
    loading: bool = False


class HotSegments:
    """Copies of sets of files, within a budget of bytes."""

    def __init__(self, connect: Callable[[], duckdb.DuckDBPyConnection], budget_bytes: int) -> None:
        self._connect, self._budget = connect, budget_bytes
        self._entries: OrderedDict[tuple[str, ...], _Entry] = OrderedDict()
        self._numbers = count()
        self._lock = threading.Lock()
        self._attached = False
        self._closed = False

    def table(self, paths: Sequence[str], size: int, scan: str) -> str | None:
        """The table that holds those files, None while there is none; `size` is their bytes."""
        key = tuple(paths)
        with self._lock:
            entry = self._entries.setdefault(key, _Entry(size * _GROWTH))
            self._entries.move_to_end(key)
            while len(self._entries) > _KEPT:
                self._forget(next(iter(self._entries)))
            entry.uses += 1
            wanted = entry.uses >= _USES and not entry.loading and size <= _LARGEST
            if not wanted or entry.table or entry.bytes > self._budget or self._closed:
                return entry.table
            entry.loading = True
        threading.Thread(target=self._load, args=(entry, scan), name="hot", daemon=True).start()
        return None

    def close(self) -> None:
        """Makes no more copies."""
        with self._lock:
            self._closed = True

    def _load(self, entry: _Entry, scan: str) -> None:
        try:
            cursor = self._connect().cursor()
            with self._lock:
                if not self._attached:
                    cursor.execute("ATTACH ':memory:' AS hot (COMPRESS)")
                    self._attached = True
            table = f"hot.t{next(self._numbers)}"
            cursor.execute(f"CREATE TABLE {table} AS FROM {scan}")
            with suppress(duckdb.Error):
                cursor.execute("CHECKPOINT hot")  # compresses; refused while another copy is made
        except duckdb.Error:
            # A missing or broken file, or a session just closed: the statement that reads the
            # files tells. `loading` stays set, so it isn't tried again.
            return
        with self._lock:
            entry.table = table
            self._evict()

    def _evict(self) -> None:
        """Drops copies, the least recently used first, until the budget is kept."""
        used = sum(e.bytes for e in self._entries.values() if e.table)
        for key, entry in list(self._entries.items()):
            if used <= self._budget:
                return
            if entry.table is not None:
                used -= entry.bytes
                self._forget(key)

    def _forget(self, key: tuple[str, ...]) -> None:
        entry = self._entries.pop(key)
        if entry.table is not None:
            # A statement that has the name but hasn't begun reads the files instead. What can't
            # be dropped costs memory, and no statement its answer.
            with suppress(duckdb.Error):
                self._connect().cursor().execute(f"DROP TABLE IF EXISTS {entry.table}")
