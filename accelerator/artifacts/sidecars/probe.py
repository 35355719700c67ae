"""What indexes prove for a statement: files, and rows of files, that hold no match.

Light blobs are asked of all files at once, little of a bundle for each hash or interval; heavy ones
of the files that are left, side by side. What can't be read proves nothing, and is counted by
`failed`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, reduce
from itertools import pairwise
from operator import and_
from typing import Any, BinaryIO, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct, field
from msgspec.structs import replace
from pyroaring import BitMap

from accelerator.artifacts.relate.index_validity import PinnedRelate, snapshots_of
from accelerator.artifacts.relate.path import Snapshots
from accelerator.artifacts.sidecars import records
from accelerator.artifacts.sidecars.bundle import BoundsTable, BundlePiece, at
from accelerator.common.files.safe_files import open_file
from accelerator.common.lru_cache import Recent
from accelerator.errors import StoreError
from accelerator.iceberg import LiveFile
from accelerator.iceberg.pruning.predicates import judge, judge_rows
from accelerator.iceberg.statistics.file_statistics import (
    ColumnStatistics,
    FileStatistics,
    FilledStatistics,
    Further,
)
from accelerator.store import IndexRecord, SegmentRecord, Store, TableVersion, local_path
from indexes.bounds import UNKNOWN, Flags, Numbers, Verdict
from indexes.inverted.cells import ColumnCells
from indexes.kind import Asked, Read
from indexes.kinds import KINDS
from indexes.kinds.bounds import are_of
from indexes.puffin import within
from indexes.question import Question
from indexes.row_verdict import Certainty, RowVerdict
from rewrite.facts import TableFacts
from rewrite.ir.expr import Column, Expr, columns

_THREADS = ThreadPoolExecutor(8, "sidecars")
"""Of the process: they read sidecars side by side."""
SELECTED_MAX = 4_096
"""Files whose sidecars are asked while a statement is planned; of a limited one when they're read.
"""
_OPEN_MAX = 256
_SAID_MAX = 1_000
_STATES_MAX = 16
"""Sets of relate columns that statements over one state of a table name."""
UNREADABLE = (OSError, ValueError, StoreError)
Made = TypeVar("Made")


class IndexFiles:
    """Reads artifacts of indexes by range; local ones stay open. Threads may share it.

    `failed` is told what can't be read, once for each artifact.
    """

    def __init__(self, store: Store, failed: Callable[[Exception], object]) -> None:
        self._store, self._failed = store, failed
        self._open: Recent[BinaryIO] = Recent(_OPEN_MAX)
        self._told: set[str] = set()

    def failed(self, uri: str, error: Exception) -> None:
        """The artifact can't be read."""
        if uri not in self._told:
            self._told.add(uri)
            self._failed(error)

    @property
    def is_local(self) -> bool:
        """Whether artifacts lie on this machine's disks."""
        return self._store.is_local

    def reader(self, uri: str) -> Read:
        """Reads of an artifact, which never changes."""
        if not uri.startswith("file://"):
            return lambda offset, length: self._store.read_range(uri, offset, length)
        # No mapping: who cuts a mapped file off kills the process that reads it.
        return reads_of(self._open.get_or(uri, lambda: self._opened(uri)))

    def _opened(self, uri: str) -> BinaryIO:
        if not self._store.holds(uri):
            raise ValueError(f"{uri} isn't under the store")
        return open_file(local_path(uri))


def reads_of(file: BinaryIO) -> Read:
    """Reads of a local file, for as long as it's open.

    However long a read is, no more memory is asked for than the file has bytes.
    """
    number = file.fileno()
    size = os.fstat(number).st_size

    def read(offset: int, length: int) -> bytes:
        if offset < 0 or length < 0:
            raise ValueError(f"{length} bytes at {offset} of a file of {size} bytes")
        return os.pread(number, min(length, size - offset), offset) if offset < size else b""

    return read


class _Bundled(Struct, frozen=True):
    """A piece of a bundle, and which files of the statistics are which of its blobs."""

    uri: str
    piece: BundlePiece
    files: Numbers
    places: Numbers


class LightIndex(Struct):
    """One index over the files of some statistics; remembers what it has said."""

    record: IndexRecord
    type: str
    parts: Sequence[_Bundled]
    count: int
    files: IndexFiles
    said: dict[Asked, Flags] = field(default_factory=dict)

    def absent(self, question: Question) -> Flags | None:
        """See `statistics.Absences`."""
        kind = KINDS[self.record.kind]
        asked = kind.asked(question, self.type, self.record.options)
        if asked is None or not self.parts:
            return None
        known = self.said.get(asked)
        if known is None:
            known = np.zeros(self.count, dtype=bool)
            for part in self.parts:
                try:
                    self._ask(part, asked, known)
                except UNREADABLE as error:
                    self.files.failed(part.uri, error)
            if len(self.said) >= _SAID_MAX:
                self.said.clear()
            self.said[asked] = known
        return known

    def _ask(self, part: _Bundled, asked: Asked, absent: Flags) -> None:
        may = part.piece.may(asked, self.files.reader(part.uri))
        if may is not None:
            absent[part.files] = ~at(may, part.places)


class HeavyIndex(Struct, frozen=True):
    """One index's sidecars, by data file."""

    record: IndexRecord
    type: str
    sidecars: Mapping[tuple[str, int], SegmentRecord]
    files: IndexFiles

    def rows(self, key: tuple[str, int], question: Question) -> RowVerdict | None:
        """What the file's sidecar says of its rows; None where it can't tell, or isn't there."""
        sidecar = self.sidecars.get(key)
        if sidecar is None:
            return None
        kind = KINDS[self.record.kind]
        found: RowVerdict | None = None
        try:
            read = self.files.reader(sidecar.path)
            for one in records.heavy_of(sidecar):
                told = kind.probe(one.blob, within(read, one.place), question, one.column)
                if told is not None:
                    found = told if found is None else found.also(told)
        except UNREADABLE as error:
            self.failed(key, error)
            return None
        return found

    def failed(self, key: tuple[str, int], error: Exception) -> None:
        """The file's sidecar can't be read."""
        if key in self.sidecars:
            self.files.failed(self.sidecars[key].path, error)

    def held(self, key: tuple[str, int]) -> ColumnCells | None:
        """The file's values and who has them; None where the index doesn't keep that."""
        sidecar = self.sidecars.get(key)
        if sidecar is None or self.record.kind != "BITMAP":
            return None
        read = self.files.reader(sidecar.path)
        for one in records.heavy_of(sidecar):
            found = ColumnCells.open(one.blob, within(read, one.place), one.column)
            if found is not None:
                return found
        return None


class RowSelection:
    """Which rows of a file may pass a predicate, as sidecars tell; each file is asked once.

    Of `selected`, which are among the conjuncts, it's asked whether they are TRUE of just these.
    """

    def __init__(
        self,
        conjuncts: Sequence[Expr],
        heavy: Sequence[HeavyIndex],
        selected: Sequence[Expr] = (),
    ) -> None:
        self._conjuncts, self._selected, self.heavy = conjuncts, selected, heavy
        self._known: dict[tuple[str, int], BitMap | None] = {}
        self._exact: dict[tuple[str, int], bool] = {}

    def said(self, files: int) -> Skipped:
        """That it let so many files be left out."""
        names = ", ".join(dict.fromkeys(one.record.name for one in self.heavy))
        kinds = ", ".join(dict.fromkeys(one.record.kind for one in self.heavy))
        return Skipped(names, kinds, "heavy", files)

    def of(self, file: LiveFile) -> BitMap | None:
        """Positions in the file, deleted ones among them; None where any may pass."""
        if file.key not in self._known:
            found = self.verdict(file)
            if self._selected:
                chosen = self._judged(self._selected, file)
                exact = chosen is not None and chosen.certainty is Certainty.EXACT
                self._exact[file.key] = exact
                found = chosen if found is None or chosen is None else found & chosen
            rows = None if found is None else found.true.upper
            if rows is not None:
                rows.run_optimize()
            self._known[file.key] = rows
        return self._known[file.key]

    def is_exact(self, file: LiveFile) -> bool:
        """Whether what is selected is TRUE of just the rows of `of`, or of more."""
        self.of(file)
        return self._exact.get(file.key, False)

    def verdict(self, file: LiveFile) -> RowVerdict | None:
        """What is proven of each row; None where nothing is."""
        rest = [one for one in self._conjuncts if one not in self._selected]
        return self._judged(rest, file) if rest or not self._selected else None

    def _judged(self, conjuncts: Sequence[Expr], file: LiveFile) -> RowVerdict | None:
        told = False

        def ask(column: Column, question: Question) -> RowVerdict | None:
            nonlocal told
            found: RowVerdict | None = None
            for one in self.heavy:
                if (one.record.field_id, one.type) == (column.field_id, column.type):
                    said = one.rows(file.key, question)
                    if said is not None and said.rows == file.record_count:
                        found = said if found is None else found.also(said)
            told = told or found is not None
            return found

        verdict = judge_rows(conjuncts, file.record_count, ask)
        return verdict if told else None

    def row_groups(self, file: LiveFile) -> tuple[int, ...] | None:
        """Rows of each of the file's row groups; None where no sidecar is of it."""
        held = (one.sidecars.get(file.key) for one in self.heavy)
        found = next((one for one in held if one is not None), None)
        try:
            return None if found is None else records.row_groups_of(found)
        except ValueError:  # a statement's rows are told of as well, or that has been counted
            return None

    def groups(self, file: LiveFile) -> list[int] | None:
        """Numbers of the file's row groups that may hold a row that passes; None for all."""
        rows, cut = self.of(file), self.row_groups(file)
        if rows is None or cut is None:
            return None
        ends = np.cumsum([0, *cut]).tolist()
        return [i for i, one in enumerate(pairwise(ends)) if rows.range_cardinality(*one)]

    def share(self, file: LiveFile) -> float:
        """The share of the file's rows that are in such row groups."""
        chosen, cut = self.groups(file), self.row_groups(file)
        if chosen is None or cut is None:
            return 1.0
        return sum(cut[i] for i in chosen) / max(1, sum(cut))

    def of_all(self, files: Sequence[LiveFile]) -> list[BitMap | None]:
        """`of` each, side by side."""
        return probed(self.of, self.heavy, files)


class TableIndexes(Struct, frozen=True):
    """The indexes of a table under one version of the store, over the files of some statistics."""

    by_field: Mapping[int, Sequence[LightIndex]]
    heavy: Sequence[HeavyIndex]
    bounds: Mapping[tuple[int, str], _KnownBounds] = field(default_factory=dict)
    relates: Sequence[PinnedRelate] = ()

    def filled(self, statistics: FileStatistics) -> FileStatistics:
        """Those files' statistics with the bounds that indexes have built."""
        if not self.bounds:
            return statistics

        def further(field_id: int, type_: str) -> Further | None:
            known = self.bounds.get((field_id, type_))
            return None if known is None else known.told

        return FilledStatistics(statistics, further)

    def holding(self, column: Column) -> HeavyIndex | None:
        """One that keeps which rows have which of the column's values."""
        own = (column.field_id, column.type, "BITMAP")
        mine = (o for o in self.heavy if (o.record.field_id, o.type, o.record.kind) == own)
        return next(mine, None)

    def selection(
        self, conjuncts: Sequence[Expr], selected: Sequence[Expr] = ()
    ) -> RowSelection | None:
        """What sidecars tell of rows for that predicate; None where none is of its columns."""
        used = {(c.field_id, c.type) for e in conjuncts for c in columns(e)}
        heavy = [one for one in self.heavy if (one.record.field_id, one.type) in used]
        return RowSelection(conjuncts, heavy, selected) if heavy else None

    def judged(
        self, conjuncts: Sequence[Expr], statistics: FileStatistics
    ) -> tuple[Verdict, tuple[Skipped, ...]]:
        """What bounds and light indexes prove, and the files that each index let be left out."""
        parts = _apart(conjuncts)
        verdicts = [judge(part, statistics) for part in parts]
        verdict = reduce(and_, verdicts, Verdict.constant(len(statistics), True))
        used = {(c.field_id, c.type) for e in conjuncts for c in columns(e)}
        asked = [
            one
            for field_id, type_ in sorted(used, key=str)
            for one in self.by_field.get(field_id, ())
            if one.type == type_
        ]
        told: list[Skipped] = []
        for number, one in enumerate(asked, start=1):
            known = IndexedStatistics(statistics, asked[:number])
            for place, part in enumerate(parts):
                if any(c.field_id == one.record.field_id for e in part for c in columns(e)):
                    verdicts[place] = judge(part, known)
            found = reduce(and_, verdicts)
            files = int((found.none_true & ~verdict.none_true).sum())
            told.append(Skipped(one.record.name, one.record.kind, "light", files))
            verdict = found
        return verdict, tuple(told)


def probed(
    task: Callable[..., Made], heavy: Sequence[HeavyIndex], *items: Sequence[Any]
) -> list[Made]:
    """What the task gives for each file's items, which asks these indexes' sidecars of it.

    Side by side where sidecars are far. Near ones are asked in a row: they take little but work in
    Python, which threads only hand to and fro.
    """
    near = all(one.files.is_local for one in heavy)
    return list(map(task, *items) if near else _THREADS.map(task, *items))


def _apart(conjuncts: Sequence[Expr]) -> list[list[Expr]]:
    """The conjuncts in parts that share no column: what's proven of one part is its own."""
    parts: list[tuple[set[Column], list[Expr]]] = []
    for conjunct in conjuncts:
        own, mine = columns(conjunct), [conjunct]
        apart = []
        for named, part in parts:
            if named & own:
                own, mine = own | named, [*part, *mine]
            else:
                apart.append((named, part))
        parts = [*apart, (own, mine)]
    return [part for _, part in parts]


class Skipped(Struct, frozen=True):
    """How many files an index let be left out, which bounds hadn't, and what of it was asked."""

    index: str
    kind: str
    blobs: str
    files: int


class _KnownBounds(Struct, frozen=True, dict=True):
    """The bounds that indexes have built of a column, over the files of some statistics."""

    parts: Sequence[_Bundled]
    count: int
    files: IndexFiles
    type: str

    @cached_property
    def told(self) -> Further | None:
        """What can be read of them; None for nothing."""
        spread: dict[str, Any] = {
            "nulls": np.full(self.count, UNKNOWN, dtype=np.int64),
            "nans": np.full(self.count, UNKNOWN, dtype=np.int64),
            "tight": np.zeros(self.count, dtype=bool),
        }
        rows = np.full(self.count, -1, dtype=np.int64)
        tables: list[pa.Table] = []
        for part in self.parts:
            if not isinstance(part.piece, BoundsTable):
                continue
            try:
                table = part.piece.table(self.files.reader(part.uri))
                if not are_of(table, self.type):
                    raise ValueError(f"{part.uri} has bounds of another type than {self.type}")
                for name, values in spread.items():
                    values[part.files] = table.column(name).to_numpy()[part.places]
            except (*UNREADABLE, IndexError) as error:
                self.files.failed(part.uri, error)
                continue
            rows[part.files] = sum(map(len, tables)) + part.places
            tables.append(table)
        if not tables:
            return None
        taken = pa.array(rows, mask=rows < 0)
        ends = (pa.concat_tables(tables).column(name).take(taken) for name in ("lower", "upper"))
        lower, upper = (one.combine_chunks() for one in ends)
        return Further(lower, upper, **spread)


class IndexedStatistics:
    """Statistics of files, with what some indexes know of them."""

    def __init__(self, statistics: FileStatistics, indexes: Sequence[LightIndex]) -> None:
        self._statistics, self._indexes = statistics, indexes

    def __len__(self) -> int:
        return len(self._statistics)

    def column(self, field_id: int, type_: str) -> ColumnStatistics:
        """The column of that Spark type."""
        found = self._statistics.column(field_id, type_)
        key = (field_id, type_)
        known = [one for one in self._indexes if (one.record.field_id, one.type) == key]
        return replace(found, absences=known) if known else found


class IndexProbe:
    """The indexes of a session's tables, as statements ask them. Threads may share it."""

    def __init__(self, store: Store, failed: Callable[[Exception], object]) -> None:
        self.files = IndexFiles(store, failed)
        self._known: WeakKeyDictionary[FileStatistics, Recent[TableIndexes]]
        self._known = WeakKeyDictionary()
        self._lock = threading.Lock()

    def over(
        self,
        statistics: FileStatistics,
        facts: TableFacts,
        registered: Sequence[IndexRecord],
        version: TableVersion,
        relates: Sequence[PinnedRelate] = (),
    ) -> TableIndexes | None:
        """Those of the table over the files of the statistics; None where it has none.

        Those on relate columns are there for `relates` alone.
        """
        if not registered:
            return None
        types = {c.field_id: c.type for c in (*facts.columns, *(one.column for one in relates))}
        key = (
            version.number,
            tuple(r.id for r in registered),
            tuple(sorted(types.items())),
            tuple(one.key for one in relates),
        )
        with self._lock:
            known = self._known.setdefault(statistics, Recent(_STATES_MAX))
        wanted = [r for r in registered if r.field_id in types]
        return known.get_or(
            key,
            lambda: tables_over(
                statistics, [(r, version.of(r.id)) for r in wanted], types, self.files, relates
            ),
        )


def tables_over(
    statistics: FileStatistics,
    indexes: Sequence[tuple[IndexRecord, Sequence[SegmentRecord]]],
    types: Mapping[int, str],
    files: IndexFiles,
    relates: Sequence[PinnedRelate] = (),
) -> TableIndexes:
    """The indexes over those files; `types` are the columns' own by field id."""
    paths, numbers = statistics.source.keys()
    pinned = {one.path.column.id: one for one in relates}
    by_field: dict[int, list[LightIndex]] = {}
    heavy: list[HeavyIndex] = []
    bounds: dict[tuple[int, str], _KnownBounds] = {}
    # Those on relate columns come last: which of them hold is asked of the others.
    for record, built in sorted(indexes, key=lambda one: one[0].field_id < 0):
        type_ = types.get(record.field_id)
        if type_ is None or record.kind not in KINDS:  # which a later release may have
            continue
        usable = [s for s in built if records.answers_for(s, type_)]
        relate = pinned.get(record.field_id)

        def holds(segment: SegmentRecord, relate: PinnedRelate | None = relate) -> Flags | None:
            return None if relate is None else relate.holds(segment, statistics, by_field)

        parts = list[_Bundled]()
        for bundle in usable:
            if bundle.is_bundle:
                try:
                    parts += _parts(bundle, paths, numbers, holds(bundle))
                except UNREADABLE as error:
                    files.failed(bundle.path, error)
        if record.kind == "BOUNDS":
            if parts:
                bounds[record.field_id, type_] = _KnownBounds(parts, len(statistics), files, type_)
            continue
        light = LightIndex(record, type_, parts, len(statistics), files)
        by_field.setdefault(record.field_id, []).append(light)
        held = [s for s in usable if not s.is_bundle]
        if relate is not None:
            held = _holding(held, relate, statistics, by_field)
        sidecars = records.sidecars(held)
        if sidecars:
            heavy.append(HeavyIndex(record, type_, sidecars, files))
    return TableIndexes(by_field, heavy, bounds, relates)


def _holding(
    sidecars: Sequence[SegmentRecord],
    relate: PinnedRelate,
    statistics: FileStatistics,
    light: Mapping[int, Sequence[LightIndex]],
) -> list[SegmentRecord]:
    """Those of files for which they hold under the dimensions as they're pinned."""
    now = [s for s in sidecars if snapshots_of(s) == relate.path.snapshots]
    earlier: dict[Snapshots, list[SegmentRecord]] = {}
    for one in sidecars:
        earlier.setdefault(snapshots_of(one), []).append(one)
    earlier.pop(relate.path.snapshots, None)
    for some in earlier.values():
        flags = relate.holds(some[0], statistics, light)
        keys = {f.key for f in statistics.source.live(flags)} if flags.any() else set()
        now = [*(s for s in some if (s.files[0].path, s.files[0].sequence_number) in keys), *now]
    return now


def _parts(
    record: SegmentRecord, paths: pa.StringArray, numbers: Numbers, holds: Flags | None
) -> list[_Bundled]:
    """Where the bundle's blobs stand among the files for which it holds; for all with None."""
    own = pa.array([file.path for file in record.files], pa.string())
    sequence = np.array([file.sequence_number for file in record.files], dtype=np.int64)
    where = pc.fill_null(pc.index_in(paths, own), -1).to_numpy(zero_copy_only=False)
    found_there = (where >= 0) & (sequence[where] == numbers)
    there = np.flatnonzero(found_there if holds is None else found_there & holds)
    told: list[Any] = [p or (-1, -1) for p in records.places_of(record)]
    places = np.array(told, dtype=np.int64).reshape(-1, 2)[where[there]]
    found: list[_Bundled] = []
    for number, piece in enumerate(records.pieces_of(record)):
        mine = places[:, 0] == number
        if mine.any():
            found.append(_Bundled(record.path, piece, there[mine], places[mine, 1]))
    return found
