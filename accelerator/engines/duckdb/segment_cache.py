"""Cells and tables that are asked for again and again, kept in DuckDB's memory.

Of a small segment file all of it is kept: what such a file costs is mostly its opening, 0.6 ms. Of
a large one a *roll-up*: its cells merged down to the columns that statements of one shape read,
where that leaves far fewer of them; a dashboard asks few shapes with many literals. Of a dimension
the columns that are kept in Arrow: DuckDB plans over tables of its own in half the time. Files
never change under their names, so a copy is never stale. Copies are made in the background at the
third use, one at a time, compressed, least recently used first out. Nothing depends on one:
whatever fails here, the files themselves are read.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count

import duckdb
import pyarrow as pa
from msgspec import Struct

_USES = 3
_GROWTH = 3  # a copy's bytes in memory over its share of the file's, measured 1.5 to 2.7
_KEPT = 256
_AGAIN_S = 0.02
_SOURCE = "source"
_FEWER = 4  # a roll-up has at most a fourth of the file's cells


class Copy(Struct, frozen=True):
    """What may be kept: all that `select` gives, of files of so many bytes and cells.

    `cells` is a statement that tells about how many cells a roll-up has; empty for a whole copy.
    Of a `source`, which is in memory, all is kept; `select` is but its name.
    """

    select: str
    bytes: int
    rows: int
    cells: str = ""
    source: pa.Table | None = None


class _CachedSegment(Struct):
    bytes: int
    uses: int = 0
    table: str | None = None
    loading: bool = False


class HotSegments:
    """Copies of segment files and their roll-ups, within a budget of bytes."""

    def __init__(self, connect: Callable[[], duckdb.DuckDBPyConnection], budget_bytes: int) -> None:
        self._connect, self._budget = connect, budget_bytes
        self._entries: OrderedDict[str, _CachedSegment] = OrderedDict()
        self._numbers = count()
        self._lock = threading.Lock()
        self._one_at_a_time = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._loader: duckdb.DuckDBPyConnection | None = None
        self._attached: weakref.ref[duckdb.DuckDBPyConnection] | None = None
        self._closed = False

    def table(self, copy: Copy) -> str | None:
        """The table that holds the copy, None while there is none."""
        with self._lock:
            growth = _GROWTH if copy.source is None else 1
            entry = self._entries.setdefault(copy.select, _CachedSegment(copy.bytes * growth))
            self._entries.move_to_end(copy.select)
            while len(self._entries) > _KEPT:
                self._forget(next(iter(self._entries)))
            entry.uses += 1
            if entry.uses < _USES or entry.loading or self._closed:
                return entry.table
            entry.loading = True
            if not copy.cells and entry.bytes > self._budget:
                return None
            thread = threading.Thread(
                target=self._load, args=(entry, copy), name="hot", daemon=True
            )
            self._threads = [one for one in self._threads if one.is_alive()]
            thread.start()
            self._threads.append(thread)
        return None

    def forget(self) -> None:
        """Begins anew without copies: `connect` gives another database from now on."""
        with self._lock:
            self._entries.clear()

    def close(self) -> None:
        """Makes no more copies, and stops the one that is being made."""
        with self._lock:
            self._closed = True
            threads = self._threads
        for thread in threads:
            while thread.is_alive():
                with self._lock:
                    if self._loader is not None:
                        self._loader.interrupt()  # lost on a statement that is only about to begin
                thread.join(_AGAIN_S)

    def _load(self, entry: _CachedSegment, copy: Copy) -> None:
        try:
            with self._one_at_a_time, self._loading() as cursor:
                if not self._worthwhile(cursor, entry, copy) or self._closed:
                    return
                table = f"hot.t{next(self._numbers)}"
                if copy.source is not None:
                    cursor.register(_SOURCE, copy.source)
                select = copy.select if copy.source is None else f"FROM {_SOURCE}"
                cursor.execute(f"CREATE TABLE {table} AS {select}")
                with suppress(duckdb.Error):
                    cursor.execute("CHECKPOINT hot")  # compresses
        except duckdb.Error:
            # A missing or broken file, too little memory, or a session just closed: the statement
            # that reads the files tells. `loading` stays set, so it isn't tried again.
            return
        with self._lock:
            entry.table = table
            if self._entries.get(copy.select) is entry:
                self._evict()
            else:  # forgotten while it was made
                self._drop(entry)

    @contextmanager
    def _loading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor that `close` interrupts."""
        root = self._connect()
        cursor = root.cursor()
        with self._lock:
            if self._closed:
                raise duckdb.InterruptException("closed")
            self._loader = cursor
            if self._attached is None or self._attached() is not root:
                cursor.execute("ATTACH ':memory:' AS hot (COMPRESS)")
                self._attached = weakref.ref(root)
        try:
            yield cursor
        finally:
            with self._lock:
                self._loader = None

    def _worthwhile(
        self, cursor: duckdb.DuckDBPyConnection, entry: _CachedSegment, copy: Copy
    ) -> bool:
        """Whether a copy leaves far fewer cells, if it's a roll-up, and fits the budget."""
        if copy.cells:
            cells = (cursor.execute(copy.cells).fetchone() or (copy.rows,))[0]
            if cells * _FEWER > copy.rows:
                return False
            entry.bytes = copy.bytes * _GROWTH * cells // max(copy.rows, 1)
        return entry.bytes <= self._budget

    def _evict(self) -> None:
        """Drops copies, the least recently used first, until the budget is kept."""
        used = sum(e.bytes for e in self._entries.values() if e.table)
        for key, entry in list(self._entries.items()):
            if used <= self._budget:
                return
            if entry.table is not None:
                used -= entry.bytes
                self._forget(key)

    def _forget(self, key: str) -> None:
        self._drop(self._entries.pop(key))

    def _drop(self, entry: _CachedSegment) -> None:
        if entry.table is not None:
            # A statement that has the name but hasn't begun reads the files instead. What can't
            # be dropped costs memory, and no statement its answer.
            with suppress(duckdb.Error):
                self._connect().cursor().execute(f"DROP TABLE IF EXISTS {entry.table}")
