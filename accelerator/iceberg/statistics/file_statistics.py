"""Counts and bounds of a snapshot's data files as columns, one set for each table column.

A value that the partition spec fixes (an identity transform of the file's own spec) replaces the
file's bounds: readers take it from the manifest, so it is what every row of the file has.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct, field
from msgspec.structs import replace

from accelerator.iceberg.tables.data_file import LiveFile
from accelerator.iceberg.tables.metadata import TableMetadata
from accelerator.iceberg.tables.transforms import (
    Derived,
    bucketed,
    buckets_of,
    may_have_wrapped,
    range_of,
)
from indexes import arrow_compute as pc
from indexes.bounds import UNKNOWN, ColumnBounds, Flags, Numbers, flags
from indexes.question import Question
from rewrite.types import decimal_parts

Buckets = npt.NDArray[np.int32]
Scalar = TypeVar("Scalar", bound=np.generic)
_DIGITS_MAX = 18
_WHOLE = {
    "boolean": (1,),
    "int": (4,),
    "bigint": (4, 8),
    "date": (4,),
    "timestamp": (8,),
    "timestamp_ntz": (8,),
}
"""Widths of a bound in bytes; an int's is four after the column became a bigint, too."""
_FLOATING = {"float": (4,), "double": (4, 8)}
_ORDERED = frozenset({*_WHOLE, *_FLOATING, "string"})
NULL_PARTITION, CUT_TEXTS = "null partition", "cut texts"
TRUNCATED, WRAPPED = "truncated numbers", "wrapped numbers"
ZERO_PARTITION = "a floating zero as a partition"


class FileColumn(Struct, frozen=True):
    """What manifest entries say of one column: counts, `UNKNOWN` where they don't, and bounds."""

    values: Numbers
    nulls: Numbers
    nans: Numbers
    lower: pa.Array
    upper: pa.Array


class LiveFilesSource(Protocol):
    """The live files of a snapshot, in an order of its own; arrays have one item a file."""

    @property
    def pieces(self) -> Sequence[slice | LiveFilesSource]:
        """Its files in order: runs of the files of the state that it was made after, and others.

        Empty where it was made after none.
        """
        ...

    @property
    def nbytes(self) -> int:
        """Bytes of memory, about."""
        ...

    @property
    def rows(self) -> Numbers:
        """Rows as written; `UNKNOWN` where the manifest doesn't count them."""
        ...

    @property
    def sizes(self) -> Numbers:
        """Bytes."""
        ...

    @property
    def vectored(self) -> Numbers:
        """Rows that a deletion vector has deleted, `UNKNOWN` under any other delete."""
        ...

    @property
    def formats(self) -> frozenset[str]:
        """The files' formats, in small letters."""
        ...

    @property
    def single(self) -> Flags:
        """Whether the file's path stands once among them."""
        ...

    def told(self, field_id: int) -> FileColumn:
        """What the entries say of a column; bounds are Iceberg's bytes."""
        ...

    def fixed(self, field_id: int, type_: str) -> tuple[Flags, pa.Array]:
        """Files whose own spec partitions by the column as it is, and its value there.

        Values are as `ColumnStatistics` keeps bounds; null for a type that isn't ordered there.
        """
        ...

    @property
    def partitioned(self) -> Set[int]:
        """Ids of the fields that some spec partitions by: only their bounds may contradict one."""
        ...

    def derived(self, field_id: int, type_: str) -> Sequence[Derived]:
        """What partitions say of the column: values as they are, or made by transforms."""
        ...

    def keys(self) -> tuple[pa.StringArray, Numbers]:
        """What artifacts know the files by: paths and data sequence numbers."""
        ...

    def snapshots(self) -> Sequence[int | None]:
        """Ids of the snapshots that added them; None where the manifest doesn't say."""
        ...

    def live(self, chosen: Flags) -> tuple[LiveFile, ...]:
        """The files themselves."""
        ...

    def some(self, chosen: Flags) -> LiveFilesSource:
        """These files alone."""
        ...

    def without_nan(self, field_ids: Collection[int]) -> Mapping[tuple[str, int], frozenset[int]]:
        """Of each file, by key, which of these columns have no NaN in it, as its manifest says."""
        ...

    def named(self, keys: Collection[tuple[str, int]]) -> Flags:
        """Which of the files have these keys."""
        ...


class Absences(Protocol):
    """What an index knows of a column in n files."""

    def absent(self, question: Question) -> Flags | None:
        """Files without a row that answers the question; None where it can't tell of any."""
        ...


class ColumnStatistics(Struct, frozen=True, dict=True):
    """One column of the snapshot's files.

    `bounds` are int64 for whole numbers, dates (days), timestamps (microseconds) and decimals of up
    to 18 digits (unscaled), float64, or binary for texts; of other types only counts are told.
    `tight`: whether a bound of the file, where it is known, is a value of it. `fixed`: the file's
    rows all have the value that is both bounds, or all are NULL. `contradicts`: some file's bounds
    don't hold the value that its partition fixes. `unproven`: a partition fixes the value, and no
    tight bounds say that the file's own is the same. `buckets`: by their number, the bucket of each
    file's values, -1 where it isn't known; no such file has a NULL.

    `oddities` of its partitions, on which Iceberg's own choice of files may stumble: a value is
    NULL (`NULL_PARTITION`) or a floating zero (`ZERO_PARTITION`), texts are cut off (`CUT_TEXTS`),
    numbers truncated (`TRUNCATED`), of which the least may have come to the largest (`WRAPPED`).
    """

    bounds: ColumnBounds
    tight: Flags
    fixed: Flags
    contradicts: bool
    unproven: Flags
    buckets: Mapping[int, Buckets] = field(default_factory=dict)
    absences: Sequence[Absences] = ()
    oddities: frozenset[str] = frozenset()

    def run(self, files: slice) -> ColumnStatistics:
        """Those of some files, one after the other."""
        old = self.bounds
        lower, upper = (
            a.slice(files.start, files.stop - files.start) for a in (old.lower, old.upper)
        )
        rows, nulls, nans = old.rows[files], old.nulls[files], old.nans[files]
        bounds = ColumnBounds(lower, upper, rows, nulls, nans, old.floating)
        tight, fixed, unproven = self.tight[files], self.fixed[files], self.unproven[files]
        buckets = {number: known[files] for number, known in self.buckets.items()}
        return ColumnStatistics(
            bounds, tight, fixed, self.contradicts, unproven, buckets, oddities=self.oddities
        )

    @property
    def nbytes(self) -> int:
        """Bytes of memory; what it shares with other columns isn't counted."""
        return self._nbytes_given + self.bounds.nbytes_cached

    @cached_property
    def _nbytes_given(self) -> int:
        bounds = self.bounds
        arrays = [bounds.nulls, bounds.nans, self.tight, self.fixed, self.unproven]
        arrays += self.buckets.values()
        texts: int = bounds.lower.nbytes + bounds.upper.nbytes
        return texts + sum(map(held_bytes, arrays))


class FileStatistics:
    """The statistics of a snapshot's live files; columns made when asked for. Threads may share it.

    `alive`: rows that are left of each file, `UNKNOWN` where only a reader can tell. `left_out`:
    files of the snapshot that aren't among these, since no row of them passes a predicate.
    """

    def __init__(
        self,
        source: LiveFilesSource,
        uuids: Set[int] = frozenset(),
        misnamed: Set[int] = frozenset(),
        earlier: FileStatistics | None = None,
        left_out: int = 0,
    ) -> None:
        """Of fields in `uuids` bounds aren't told, of those in `misnamed` nothing is.

        `earlier` are those of the state that the source was made after: their columns are used
        again, as long as somebody else keeps them.
        """
        self.source, self.left_out = source, left_out
        self._odd = uuids, misnamed
        self.rows, self.sizes = source.rows, source.sizes
        known = (source.vectored != UNKNOWN) & (source.rows != UNKNOWN)
        self.alive: Numbers = np.where(known, source.rows - source.vectored, UNKNOWN)
        if (self.alive == self.rows).all():
            self.alive = self.rows
        self._columns: OrderedDict[tuple[int, str], ColumnStatistics] = OrderedDict()
        self._lock = threading.Lock()
        usable = earlier if earlier is not None and source.pieces else None
        if usable is not None and usable._odd != self._odd:
            usable = None
        self._earlier = None if usable is None else weakref.ref(usable)

    def __len__(self) -> int:
        return len(self.rows)

    def some(self, chosen: Flags) -> FileStatistics:
        """Those of these files alone, made anew."""
        return FileStatistics(self.source.some(chosen), *self._odd)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that it takes now, about."""
        columns = list(self._columns.values())
        own = 0 if self.alive is self.rows else self.alive.nbytes
        return self.source.nbytes + own + sum(column.nbytes for column in columns)

    def column(self, field_id: int, type_: str) -> ColumnStatistics:
        """The column of that Spark type."""
        key = (field_id, type_)
        with self._lock:
            known = self._columns.get(key)
            if known is None:
                known = self._columns[key] = self._joined(key) or self._column_statistics(
                    key, self.source
                )
            self._columns.move_to_end(key)
            return known

    def has(self, keys: Set[tuple[int, str]]) -> bool:
        """Whether these columns are made already."""
        return keys <= self._columns.keys()

    def shrink(self, bytes_max: int) -> None:
        """Drops the columns used longest ago until it takes no more than that, if that can be."""
        with self._lock:
            while self._columns and self.nbytes > bytes_max:
                self._columns.popitem(last=False)

    def _joined(self, key: tuple[int, str]) -> ColumnStatistics | None:
        """The column out of the earlier state's; None where that hasn't made it."""
        earlier = None if self._earlier is None else self._earlier()
        # Its lock isn't taken: two states may be made after each other.
        known = None if earlier is None else earlier._columns.get(key)
        if known is None or known.contradicts or known.oddities:  # these files may be gone
            return None
        pieces = [
            known.run(piece) if isinstance(piece, slice) else self._column_statistics(key, piece)
            for piece in self.source.pieces
        ]
        bounds = [piece.bounds for piece in pieces]
        return ColumnStatistics(
            ColumnBounds(
                pa.concat_arrays([one.lower for one in bounds]),
                pa.concat_arrays([one.upper for one in bounds]),
                self.rows,
                joined([one.nulls for one in bounds]),
                joined([one.nans for one in bounds]),
                known.bounds.floating,
            ),
            joined([piece.tight for piece in pieces]),
            joined([piece.fixed for piece in pieces]),
            any(piece.contradicts for piece in pieces),
            joined([piece.unproven for piece in pieces]),
            _joined_buckets(pieces),
            oddities=frozenset().union(*(piece.oddities for piece in pieces)),
        )

    def _column_statistics(self, key: tuple[int, str], source: LiveFilesSource) -> ColumnStatistics:
        field_id, type_ = key
        uuids, misnamed = self._odd
        rows, files = source.rows, len(source.rows)
        arrow, told = arrow_kind(type_), source.told(field_id)
        # A uuid is a text to Spark, and sixteen bytes to a manifest.
        ordered = is_ordered(type_) and field_id not in uuids
        if field_id in misnamed:
            told = _nothing(files)
        elif not ordered:
            unbounded = pa.nulls(files, pa.binary())
            told = replace(told, lower=unbounded, upper=unbounded)
        lower, upper = decoded(told.lower, type_, arrow), decoded(told.upper, type_, arrow)
        if type_ == "string":
            lower, upper = _unaltered(lower), _unaltered(upper)
        # What doesn't count the file's rows says nothing of them.
        nulls, nans = np.where(told.values == rows, told.nulls, UNKNOWN), told.nans
        given, constant = source.fixed(field_id, type_)
        contradicts, unproven, odd = False, given, _fixed_oddities(given, constant)
        if ordered and given.any():
            is_null = flags(constant.is_null())
            outside = pc.or_kleene(pc.less(constant, lower), pc.greater(constant, upper))
            valued = flags(lower.is_valid()) | flags(upper.is_valid())
            contradicts = bool((given & (flags(outside) | (is_null & valued))).any())
        if type_ in (*_FLOATING, "boolean") or not ordered:
            # NaN and -0.0 as a partition's value, and types without bounds: nothing is claimed.
            if given.any():
                lower = pc.if_else(pa.array(given), pa.scalar(None, arrow), lower)
            given = np.zeros(files, dtype=bool)
        elif given.any():
            # Bounds that only enclose the value, or a NULL, leave room for others in the file.
            same = flags(pc.and_(pc.equal(constant, lower), pc.equal(constant, upper)))
            proven = (same & (nulls == 0)) | (is_null & (told.nulls == rows))
            unproven = given & ~proven
            mask = pa.array(given)
            lower = pc.if_else(mask, constant, lower)
            upper = pc.if_else(mask, constant, upper)
            nulls = np.where(given, np.where(is_null, rows, 0), nulls)
            nans = np.where(given, 0, nans)
        so_far = _ColumnBounds(
            lower, upper, nulls, nans, np.ones(files, dtype=bool), contradicts, oddities=odd
        )
        buckets: dict[int, Buckets] = {}
        if field_id not in misnamed and field_id not in uuids:
            for derived in source.derived(field_id, type_):
                so_far = so_far.with_partition(derived, rows, type_)
                if derived.transform.kind == "bucket" and bucketed(type_):
                    buckets[derived.transform.width] = buckets_of(derived)
        lower, upper, nulls, nans = so_far.lower, so_far.upper, so_far.nulls, so_far.nans
        floating = type_ in _FLOATING
        nans = slim(nans if floating else np.zeros(files, dtype=np.int64))
        bounds = ColumnBounds(lower, upper, rows, slim(nulls), nans, floating)
        exact = type_ not in (*_FLOATING, "string", "boolean")
        tight = given | (so_far.own if exact else np.zeros(files, dtype=bool))
        same = bounds.bounded & flags(pc.equal(lower, upper)) & bounds.never_null
        fixed = given | bounds.always_null | (same & tight)
        unproven = slim(unproven)
        return ColumnStatistics(
            bounds,
            slim(tight),
            slim(fixed),
            so_far.contradicts,
            unproven,
            buckets,
            oddities=so_far.oddities,
        )


class Further(Struct, frozen=True):
    """What is known of a column beside its manifests; NULL and `UNKNOWN` where nothing is.

    `tight`: the bounds are values of the file.
    """

    lower: pa.Array
    upper: pa.Array
    nulls: Numbers
    nans: Numbers
    tight: Flags


class FilledStatistics(FileStatistics):
    """Statistics with what is known beside them: `further` tells it of a column, None for none."""

    def __init__(self, base: FileStatistics, further: Callable[[int, str], Further | None]) -> None:
        vars(self).update(vars(base))
        self._base, self._further = base, further
        self._columns, self._lock = OrderedDict(), threading.Lock()

    def column(self, field_id: int, type_: str) -> ColumnStatistics:
        """The column of that Spark type."""
        found, key = self._base.column(field_id, type_), (field_id, type_)
        with self._lock:
            known = self._columns.get(key)
            if known is None:
                uuids, misnamed = self._odd
                told = None
                if is_ordered(type_) and field_id not in uuids | misnamed:
                    told = self._further(field_id, type_)
                known = self._columns[key] = found if told is None else _filled(found, told, type_)
            return known


def _filled(found: ColumnStatistics, told: Further, type_: str) -> ColumnStatistics:
    """The closer ones of both bounds; where the manifest doesn't count, the index does."""
    old = found.bounds
    lower, upper = (
        _further(mine, other.cast(mine.type), how)
        for mine, other, how in (
            (old.lower, told.lower, "greater"),
            (old.upper, told.upper, "less"),
        )
    )
    nulls = np.where(old.nulls == UNKNOWN, told.nulls, old.nulls)
    nans = np.where(old.nans == UNKNOWN, told.nans, old.nans)
    bounds = ColumnBounds(lower, upper, old.rows, slim(nulls), slim(nans), old.floating)
    own = flags(pc.and_(pc.equal(lower, told.lower), pc.equal(upper, told.upper)))
    exact = type_ not in (*_FLOATING, "boolean")
    tight = found.tight | (told.tight & own if exact else np.zeros(len(own), dtype=bool))
    same = bounds.bounded & flags(pc.equal(lower, upper)) & bounds.never_null
    fixed = found.fixed | bounds.always_null | (same & tight)
    return replace(found, bounds=bounds, tight=slim(tight), fixed=slim(fixed))


class _ColumnBounds(Struct, frozen=True):
    """What is known of a column; `own`: the bounds are the file's, not of its partition."""

    lower: pa.Array
    upper: pa.Array
    nulls: Numbers
    nans: Numbers
    own: Flags
    contradicts: bool
    oddities: frozenset[str]

    def with_partition(self, derived: Derived, rows: Numbers, type_: str) -> _ColumnBounds:
        """With what the values of a transform say as well."""
        valid = flags(derived.values.is_valid())
        valued, empty = derived.given & valid, derived.given & ~valid
        counted = self.nulls != UNKNOWN
        wrong = counted & ((valued & (self.nulls > 0)) | (empty & (self.nulls != rows)))
        nulls = np.where(valued, 0, np.where(empty, rows, self.nulls))
        lower, upper, nans, own = self.lower, self.upper, self.nans, self.own
        between = range_of(derived, type_) if is_ordered(type_) else None
        if between is not None:
            exact = type_ not in (*_FLOATING, "string", "boolean")
            if exact:
                outside = pc.or_kleene(
                    pc.less(lower, between.lower), pc.greater(upper, between.upper)
                )
                wrong = wrong | flags(outside)
            known = flags(between.lower.is_valid())
            own = own & ~(known & ~flags(pc.and_(lower.is_valid(), upper.is_valid())))
            if derived.transform.kind == "identity" and type_ in _FLOATING:
                nans = np.where(known, 0, nans)
            lower = _further(lower, between.lower, "greater")
            upper = _further(upper, between.upper, "less")
        found = self.contradicts or bool(wrong.any())
        odd = self.oddities | _oddities(derived, type_)
        return _ColumnBounds(lower, upper, nulls, nans, own, found, odd)


def _fixed_oddities(given: Flags, constant: pa.Array) -> frozenset[str]:
    """Of values that partitions keep as they are; what isn't told may be NULL."""
    odd = {NULL_PARTITION} if (given & flags(constant.is_null())).any() else set()
    if pa.types.is_floating(constant.type) and (given & flags(pc.equal(constant, 0.0))).any():
        odd.add(ZERO_PARTITION)
    return frozenset(odd)


def _oddities(derived: Derived, type_: str) -> set[str]:
    """Of the values of one transform."""
    if derived.transform.kind == "bucket" or not derived.given.any():
        return set()
    found = set()
    if (derived.given & flags(derived.values.is_null())).any():
        found.add(NULL_PARTITION)
    if derived.transform.kind == "truncate":
        found.add(CUT_TEXTS if type_ == "string" else TRUNCATED)
        if may_have_wrapped(derived, type_):
            found.add(WRAPPED)
    return found


def _further(bound: pa.Array, other: pa.Array, how: str) -> pa.Array:
    """Of two bounds the one that says more; the one that is there where one is."""
    better = pc.fill_null(getattr(pc, how)(other, bound), False)
    return pc.if_else(pc.or_(better, bound.is_null()), other, bound)


def _joined_buckets(pieces: Sequence[ColumnStatistics]) -> Mapping[int, Buckets]:
    def of(piece: ColumnStatistics, number: int) -> Buckets:
        known = piece.buckets.get(number)
        return np.full(len(piece.tight), -1, dtype=np.int32) if known is None else known

    numbers = dict.fromkeys(number for piece in pieces for number in piece.buckets)
    return {number: joined([of(piece, number) for piece in pieces]) for number in numbers}


def slim(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """The array; read-only and in next to no memory where all of its items are the same."""
    if not len(array) or held_bytes(array) <= array.itemsize or (array != array[0]).any():
        return array
    return np.broadcast_to(array[0], array.shape)


def joined(arrays: Sequence[npt.NDArray[Scalar]]) -> npt.NDArray[Scalar]:
    """The arrays one after the other, `slim` if they are all alike."""
    first = next((array[0] for array in arrays if len(array)), None)
    if first is not None and all(
        held_bytes(array) <= array.itemsize and (not len(array) or array[0] == first)
        for array in arrays
    ):
        return np.broadcast_to(first, (sum(map(len, arrays)),))
    return np.concatenate(arrays)


def held_bytes(array: npt.NDArray[Any]) -> int:
    """Bytes of memory that the array's items take."""
    return array.itemsize if array.strides == (0,) else array.nbytes


def _nothing(files: int) -> FileColumn:
    unknown, unbounded = np.full(files, UNKNOWN, dtype=np.int64), pa.nulls(files, pa.binary())
    return FileColumn(unknown, unknown, unknown, unbounded, unbounded)


def misnamed(metadata: TableMetadata) -> set[int]:
    """Fields that once had a name that the table's name mapping doesn't give them any more.

    In files without field ids another column may have that name now, whereas the manifest tells of
    the column that had it when the file was added. Fields of structs are all among them.
    """
    mapping = metadata.name_mapping()
    if mapping is None:
        return set()
    mapped = {m.field_id: set(m.names) for m in mapping}
    fields = [field for schema in metadata.schemas for field in schema.fields]
    inside = {one for schema in metadata.schemas for one in schema.by_id}
    inside -= {field.field_id for field in fields}
    return inside | {f.field_id for f in fields if f.name not in mapped.get(f.field_id, ())}


def is_ordered(type_: str) -> bool:
    """Whether bounds and partition values of the type are told."""
    parts = decimal_parts(type_)
    return type_ in _ORDERED or (parts is not None and parts[0] <= _DIGITS_MAX)


def arrow_kind(type_: str) -> pa.DataType:
    """How bounds of the type are kept."""
    if type_ in _FLOATING:
        return pa.float64()
    return pa.binary() if type_ == "string" else pa.int64()


def unknown_bounds(count: int, type_: str) -> ColumnBounds:
    """Of a column of that Spark type of which nothing is known in so many files or row groups."""
    unknown, none = np.full(count, UNKNOWN), pa.nulls(count, arrow_kind(type_))
    return ColumnBounds(none, none, unknown, unknown, unknown, type_ in _FLOATING)


def decoded(binary: pa.Array, type_: str, arrow: pa.DataType) -> pa.Array:
    """Iceberg's single values as numbers; null for a width that the type doesn't have."""
    if type_ == "string":
        return binary
    if decimal_parts(type_) is not None:
        return big_endian(binary) if is_ordered(type_) else pa.nulls(len(binary), arrow)
    result = pa.nulls(len(binary), arrow)
    lengths = pc.fill_null(pc.binary_length(binary), UNKNOWN)
    for width in (*_WHOLE.get(type_, ()), *_FLOATING.get(type_, ())):
        chosen = pc.equal(lengths, width)
        kind = (
            {1: "u1", 4: "<i4", 8: "<i8"}[width] if type_ in _WHOLE else {4: "<f4", 8: "<f8"}[width]
        )
        numbers = np.frombuffer(joined_bytes(binary.filter(chosen)), dtype=kind)
        wide = numbers.astype(np.int64 if type_ in _WHOLE else np.float64)
        result = pc.replace_with_mask(result, chosen, pa.array(wide))
    return result


def _unaltered(texts: pa.Array) -> pa.Array:
    """Without the bounds that aren't the text that they were made of.

    Of bytes that aren't UTF-8 a writer makes U+FFFD, and U+FFFE where it raises an upper bound that
    it cuts off.
    """
    odd = pc.or_(*(pc.match_substring(texts, mark.encode()) for mark in "\ufffd\ufffe"))
    return pc.if_else(odd, pa.scalar(None, texts.type), texts) if pc.any(odd).as_py() else texts


def joined_bytes(binary: pa.Array) -> bytes:
    """The bytes of all values one after the other."""
    if not len(binary):
        return b""
    offsets = np.frombuffer(binary.buffers()[1], dtype=np.int32)
    first, end = offsets[binary.offset], offsets[binary.offset + len(binary)]
    return binary.buffers()[2].slice(first, end - first).to_pybytes() if end > first else b""


def big_endian(binary: pa.Array) -> pa.Array:
    """Two's complement numbers of up to 8 bytes, the most significant byte first."""
    result = pa.nulls(len(binary), pa.int64())
    lengths = pc.fill_null(pc.binary_length(binary), UNKNOWN)
    for width in range(1, 9):
        chosen = pc.equal(lengths, width)
        digits = np.frombuffer(joined_bytes(binary.filter(chosen)), dtype=np.uint8)
        if not len(digits):
            continue
        digits = digits.reshape(-1, width)
        wide = np.zeros((len(digits), 8), dtype=np.uint8)
        wide[:, 8 - width :] = digits
        wide[:, : 8 - width] = np.where(digits[:, :1] >= 128, 255, 0)
        numbers = wide.view(">i8").ravel().astype(np.int64)
        result = pc.replace_with_mask(result, chosen, pa.array(numbers))
    return result
