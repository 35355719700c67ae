"""How often cubes and indexes have answered, and when last, by the query log.

Its files never change, so what one tells is kept, and the next look reads new ones alone. A name
counts from the time when its cube or index was made: one that was dropped before isn't it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct, field

from accelerator.errors import StoreError
from accelerator.store.files.files import StoreFiles
from accelerator.store.journals.query_log.encoding.decode import (
    FILE_BYTES_MAX,
    DamagedError,
    NewerError,
    decoded,
)
from accelerator.store.journals.query_log.paths import FOLDER, LogFile, day_of, log_file
from accelerator.store.journals.query_log.record import LogRecord
from accelerator.store.journals.query_log.writing.merged_parts import begins

_READ_MAX = 256 * 1024**2
"""Bytes of files that one look reads at most, the newest ones; the next look reads on."""
_FINE_MAX = 64
"""So many files are looked into again for the statements before a cube was made."""
_NAMES_MAX = 100_000
_log = logging.getLogger("accelerator")

Kind = Literal["cubes", "indexes"]


class ArtifactHits(Struct, frozen=True):
    """How often, and when last: Unix time in microseconds, None for never."""

    hits: int = 0
    last_us: int | None = None

    def columns(self) -> dict[str, int | None]:
        """As SHOW CUBES and SHOW INDEXES have it; times in milliseconds."""
        return {
            "hits": self.hits,
            "last_use": None if self.last_us is None else self.last_us // 1000,
        }

    def and_(self, other: ArtifactHits) -> ArtifactHits:
        """Both together."""
        last = max((one for one in (self.last_us, other.last_us) if one is not None), default=None)
        return ArtifactHits(self.hits + other.hits, last)


class _Span(Struct, frozen=True):
    """The uses of one name in one part of the log; times in microseconds."""

    hits: int
    first_us: int
    last_us: int


_Spans = Mapping[tuple[Kind, str], _Span]


class _LogFiles(Struct):
    """What is known of the log's files: the parts of each by its path, and each part's spans."""

    parts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    spans: dict[str, _Spans] = field(default_factory=dict)
    path_of: dict[str, str] = field(default_factory=dict)


class HitsSnapshot:
    """The uses as of one look."""

    def __init__(self, spans: Sequence[tuple[str, _Spans]], exact: _Exact) -> None:
        self._spans, self._exact = spans, exact

    def of_cube(self, name: str, created_ms: int) -> ArtifactHits:
        """Of a cube that was made then; Unix time in milliseconds."""
        return self._of("cubes", name, created_ms * 1000)

    def of_index(self, name: str, created_ms: int) -> ArtifactHits:
        """Of an index, likewise."""
        return self._of("indexes", name, created_ms * 1000)

    def _of(self, kind: Kind, name: str, since_us: int) -> ArtifactHits:
        found = ArtifactHits()
        for part, spans in self._spans:
            span = spans.get((kind, name))
            if span is None or span.last_us < since_us:
                continue
            if span.first_us >= since_us:
                found = found.and_(ArtifactHits(span.hits, span.last_us))
            else:
                found = found.and_(self._exact(part, kind, name, since_us, span))
        return found


_Exact = Callable[[str, Kind, str, int, _Span], ArtifactHits]


class Uses:
    """Of one store; threads share it. `unwritten` gives what this process couldn't write yet."""

    def __init__(self, files: StoreFiles, unwritten: Callable[[], Sequence[LogRecord]]) -> None:
        self._files, self._unwritten = files, unwritten
        self._lock = threading.Lock()
        self._kept = _LogFiles()

    def known(self) -> HitsSnapshot:
        """What the log tells now; of files that can't be read, nothing.

        A store that can't be listed tells of nothing, and a line in the log `accelerator` says so.
        """
        waiting = self._unwritten()
        with self._lock:
            try:
                self._look()
            except StoreError as error:
                _log.warning("uses aren't known: the query log can't be listed: %s", error.message)
            spans = list(self._kept.spans.items())
        if waiting:
            spans.append(("", _spans_of(_rows_of(waiting))))
        fine = 0

        def exact(part: str, kind: Kind, name: str, since_us: int, span: _Span) -> ArtifactHits:
            nonlocal fine
            fine += 1
            if not part:
                return _counted(_rows_of(waiting), kind, name, since_us)
            rows = self._rows(part) if fine <= _FINE_MAX else None
            # As good as it can be told: its last use was after the beginning.
            return (
                ArtifactHits(1, span.last_us)
                if rows is None
                else _counted(rows, kind, name, since_us)
            )

        return HitsSnapshot(spans, exact)

    def _look(self) -> None:
        """Reads what is new, and forgets what is gone."""
        kept, there = self._kept, {one.path: one for one in self._listed()}
        left, later = _READ_MAX, 0
        unknown = there.keys() - kept.parts.keys()
        # The newest day first; in it merged files, or those that they were made of would be read.
        for path in sorted(unknown, key=lambda p: _order(there[p]), reverse=True):
            file = there[path]
            if file.id in kept.spans:
                kept.parts[path] = (file.id,)
                continue
            if file.bytes > left:
                later += 1
                continue
            left -= file.bytes
            try:
                found = self._decoded(file)
            except StoreError as error:  # the next look may have it
                _log.info("%s of the query log can't be read now: %s", path, error.message)
                continue
            if found is None:
                kept.parts[path] = ()
                continue
            kept.parts[path] = tuple(found)
            for part, rows in found.items():
                if part not in kept.spans:
                    kept.spans[part] = _spans_of(rows)
        for path in kept.parts.keys() - there.keys():
            del kept.parts[path]
        kept.path_of = {part: path for path, parts in kept.parts.items() for part in parts}
        for part in kept.spans.keys() - kept.path_of.keys():
            del kept.spans[part]
        if later:
            _log.info("uses: %d files of the query log are read by the next look", later)

    def _listed(self) -> Iterator[LogFile]:
        for entry in self._files.entries(FOLDER):
            one = log_file(entry.path, entry.bytes)
            if one is not None:
                yield one

    def _rows(self, part: str) -> pa.Table | None:
        """A part's rows again; None where they can't be read any more."""
        with self._lock:
            path = self._kept.path_of.get(part, "")
        try:
            file = log_file(path, self._files.size(path)) if path else None
            found = None if file is None else self._decoded(file)
        except (FileNotFoundError, StoreError):
            return None
        return None if found is None else found.get(part)

    def _decoded(self, file: LogFile) -> dict[str, pa.Table] | None:
        """The rows of each part of the file; None where there will never be any.

        StoreError as of the store.
        """
        if file.bytes > FILE_BYTES_MAX:
            return None
        try:
            data = self._files.read_range(file.path, 0, file.bytes)
            found = decoded(data, ("started", "cubes", "indexes"))
        except (FileNotFoundError, NewerError, DamagedError) as error:
            _log.info("%s of the query log is passed over: %s", file.path, error)
            return None
        parts = begins(found.parts_of(file.id))
        return {part.id: found.rows.slice(row, part.rows) for part, row in parts}


def _order(file: LogFile) -> tuple[str, bool, str]:
    return day_of(file.newest_us), file.is_merged, file.path


def _rows_of(records: Sequence[LogRecord]) -> pa.Table:
    """The columns that count, of records that aren't written."""
    from accelerator.store.journals.query_log.encoding.encode import encoded

    return decoded(encoded(records, 0).data, ("started", "cubes", "indexes")).rows


def _spans_of(rows: pa.Table) -> _Spans:
    found: dict[tuple[Kind, str], _Span] = {}
    kinds: tuple[Kind, ...] = ("cubes", "indexes")
    for kind in kinds:
        # Arrow's own grouping imports pandas first, for longer than all of this takes.
        starts: dict[str, list[int]] = {}
        for name, start in _named(rows, kind):
            starts.setdefault(name, []).append(start)
        for name, times in islice(starts.items(), _NAMES_MAX):
            found[kind, name] = _Span(len(times), min(times), max(times))
    return found


def _named(rows: pa.Table, kind: Kind) -> Iterator[tuple[str, int]]:
    """Each name that a statement has, with the statement's beginning."""
    lists = rows[kind].combine_chunks()
    starts = rows["started"].combine_chunks().cast(pa.int64())
    names, at = pc.list_flatten(lists), pc.list_parent_indices(lists)
    return zip(names.to_pylist(), starts.take(at).to_pylist(), strict=True)


def _counted(rows: pa.Table, kind: Kind, name: str, since_us: int) -> ArtifactHits:
    found = [start for one, start in _named(rows, kind) if one == name and start >= since_us]
    return ArtifactHits(len(found), max(found, default=None))
