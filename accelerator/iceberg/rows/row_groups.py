"""Row groups of data files: their bounds, and chosen columns and rows of them.

A Parquet file is cut into its row groups, an ORC file into its stripes. Every wanted column must be
in the file under its field id, with a type that becomes the table's without loss. Any other file is
one group, read whole the way `read.py` does. The partition's values replace the file's own, as
Spark does it. Row numbers are counted within a group. Deletes are applied. NeedsSparkError for a
text that isn't UTF-8, which DuckDB sorts otherwise than Spark.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, BinaryIO, Protocol, TypeVar, cast
from weakref import WeakSet

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct, field

from accelerator.common.arrow.spark_types import arrow_type
from accelerator.common.interrupts import looking
from accelerator.iceberg.errors import NeedsSparkError
from accelerator.iceberg.io import inputs_for, local_path, object_file, object_stream
from accelerator.iceberg.rows.nested_fields import flat, path_of
from accelerator.iceberg.rows.orc.orc_file import (
    OrcFile,
    OrcMetadata,
    opener,
)
from accelerator.iceberg.rows.orc.orc_footer import OrcCompressionError
from accelerator.iceberg.rows.position_deletes import Positions
from accelerator.iceberg.rows.stored_types import FIELD_ID
from accelerator.iceberg.statistics.file_statistics import arrow_kind, is_ordered, unknown_bounds
from accelerator.iceberg.tables.data_file import LiveFile
from indexes.bounds import UNKNOWN, ColumnBounds
from rewrite.ir.expr import Column
from rewrite.types import decimal_parts

_THREADS = ThreadPoolExecutor(8, "row-groups")
"""Of the process: starting threads anew costs as much as decoding what they're for."""
_OPEN_MAX = 100
"""Files that stay open; of more only the footers are kept. Processes may open 1,024 at once."""
_FEW = 4
"""Where so many times fewer rows stand before the last wanted one, only those are decoded."""
_FLOATING = frozenset({"float", "double"})
_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


class ReadCounter(Struct):
    """What a reader has read: row groups, and bytes of their column chunks as stored."""

    groups: set[tuple[str, int]] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    bytes: int = 0


class Deletes(Protocol):
    """Which rows are deleted."""

    def of(self, file: LiveFile) -> Positions:
        """Positions in the file, in no order. OSError, ValueError, NeedsSparkError."""
        ...


class ReadTable(Protocol):
    """What reading a table's files takes."""

    @property
    def metadata_location(self) -> str: ...

    @property
    def io_properties(self) -> Mapping[str, str]: ...

    @property
    def uuid_fields(self) -> frozenset[int]:
        """Ids of its fields that are UUIDs."""
        ...

    @property
    def defaulted_fields(self) -> frozenset[int]:
        """Ids of fields that have a value in files that lack them."""
        ...

    def without_nan(
        self, files: Sequence[LiveFile], field_ids: Collection[int]
    ) -> Mapping[tuple[str, int], frozenset[int]]:
        """Of each of the files, by key, which of these columns have no NaN in it."""
        ...

    def arrow(self, columns: Sequence[str], files: Sequence[LiveFile] | None = None) -> pa.Table:
        """The rows of whole files, deletes applied."""
        ...

    def deletes(self) -> Deletes:
        """What tells which rows of a file are deleted."""
        ...


class GroupReader:
    """Opens files of one pinned table; `columns` are all that will be asked for.

    `check` raises where the work is to stop; it's called before each file or item. `hold` is told
    the bytes of each table that an item's task gives, and raises where they're too many. `raw` are
    fields of fixed bytes, UUIDs among them, that are asked for as `binary`.
    """

    def __init__(
        self,
        pinned: ReadTable,
        columns: Sequence[Column],
        check: Callable[[], None],
        hold: Callable[[int], None] | None = None,
        raw: Set[int] = frozenset(),
    ) -> None:
        self._raw = raw
        self._pinned, self._columns, self._check = pinned, columns, check
        self._hold = hold
        self._kept: WeakSet[_Cut] = WeakSet()
        location, self._counting = pinned.metadata_location, threading.Lock()
        self._io = inputs_for(location, pinned.io_properties, self._sent)
        self.deletes = pinned.deletes()
        uuids, self._defaulted = pinned.uuid_fields, pinned.defaulted_fields
        self._types = {
            c.field_id: arrow_type(c.type or "") for c in columns if c.field_id not in uuids
        }
        self.counted = ReadCounter()

    def open(self, files: Sequence[LiveFile]) -> list[OpenFile]:
        """The files, side by side; only their footers are read."""
        free = _NanFree(self._pinned, files)
        return self.map(lambda file: self._open(file, free), files)

    def map(self, task: Callable[[_Item], _Made], items: Sequence[_Item]) -> list[_Made]:
        """What the task gives for each item, side by side."""

        def checked(item: _Item) -> _Made:
            self._check()
            with looking(self._check):
                made = task(item)
            if self._hold is not None and isinstance(made, pa.Table):
                self._hold(made.nbytes)
            return made

        return list(_THREADS.map(checked, items))

    def _open(self, file: LiveFile, nan_free: _NanFree) -> OpenFile:
        fixed = {
            field_id: pa.scalar(value, self._types[field_id])
            for field_id, value in file.fixed.items()
            if field_id in self._types
        }
        parquet = self._parquet_or_orc(file)
        if parquet is not None:
            if parquet.metadata.num_rows != file.record_count:
                raise ValueError(
                    f"{file.path} has {parquet.metadata.num_rows} rows, its manifest says"
                    f" {file.record_count}"
                )
            stored = [c for c in self._columns if c.field_id not in fixed]
            names = stored_names(parquet, stored, self._defaulted, self._raw)
            if names is not None:
                cut = _Cut(file, self, parquet, names, fixed, nan_free)
                if len(self._kept) < _OPEN_MAX:
                    self._kept.add(cut)
                else:
                    cut.close()
                return cut
            parquet.close(force=True)
        return _Whole(file, self._pinned, fixed, self.counted)

    def _parquet_or_orc(self, file: LiveFile) -> pq.ParquetFile | OrcFile | None:
        """The open file; None if it's neither, or ORC whose footer is read only by PyArrow."""
        if file.file_format not in ("parquet", "orc"):
            return None
        try:
            return self.parquet(file)
        except OrcCompressionError:
            return None

    def parquet(
        self,
        file: LiveFile,
        known: pq.FileMetaData | OrcMetadata | None = None,
        ranges: Sequence[tuple[int, int]] = (),
    ) -> pq.ParquetFile | OrcFile:
        """The open file, Parquet or ORC, to be closed; a footer that is `known` isn't read.

        `ranges` are those that will be read: of an object they come at once.
        """
        path = local_path(file.path)
        if file.file_format == "orc":
            return OrcFile(opener(self._io, file.path, file.size_bytes), known)
        stream = None if path else object_stream(self._io, file.path, file.size_bytes)
        if stream is not None:
            known = known or stream.footer()
            stream.fetch(ranges)
            return pq.ParquetFile(stream, metadata=known, pre_buffer=False)
        source = self._io.new_input(file.path).open() if path is None else path
        return pq.ParquetFile(cast(BinaryIO | str, source), metadata=known, pre_buffer=path is None)

    def fetch(self, file: LiveFile, ranges: Sequence[tuple[int, int]]) -> None:
        """Has an object store send those ranges that are small enough to be cached."""
        stream = object_stream(self._io, file.path, file.size_bytes)
        if stream is not None:
            stream.fetch_cached(ranges)

    def counts_sent(self, file: LiveFile) -> bool:
        """Returns whether the file is an object, whose bytes count when the store sends them."""
        return object_file(self._io, file.path, file.size_bytes) is not None

    def _sent(self, size: int) -> None:
        with self._counting:
            self.counted.bytes += size


class _NanFree:
    """Tells which columns of some files have no NaN, looked up when a column is asked for."""

    def __init__(self, pinned: ReadTable, files: Sequence[LiveFile]) -> None:
        self._pinned, self._files = pinned, files
        self._known: dict[int, Mapping[tuple[str, int], frozenset[int]]] = {}

    def __call__(self, file: LiveFile, column: Column) -> bool:
        field_id = column.field_id
        if field_id not in self._known:
            self._known[field_id] = self._pinned.without_nan(self._files, {field_id})
        return field_id in self._known[field_id][file.key]


class OpenFile:
    """A data file as groups of rows; `fixed` is what its partition fixes, by field id."""

    def __init__(
        self, file: LiveFile, fixed: Mapping[int, pa.Scalar], counted: ReadCounter
    ) -> None:
        self.file, self._fixed, self._counted = file, fixed, counted
        self._lock = threading.Lock()

    @property
    def groups(self) -> Sequence[int]:
        """The number of rows in each group, deleted ones included."""
        raise NotImplementedError

    @property
    def counts_deleted(self) -> bool:
        """Whether rows keep the numbers that they have with the deleted ones."""
        return True

    def bounds(self, column: Column) -> ColumnBounds:
        """The column's bounds in each group."""
        raise NotImplementedError

    def fetch(self, group: int, columns: Sequence[Column]) -> None:
        """Has an object store send the columns at once, if they are small."""

    def sought(self, group: int, columns: Sequence[Column]) -> tuple[pa.Table, Positions]:
        """Those columns of all rows that aren't deleted, and the numbers of these."""
        raise NotImplementedError

    def sought_among(
        self, groups: Sequence[int], columns: Sequence[Column]
    ) -> tuple[pa.Table, Positions]:
        """As `sought` of several groups in a row; the numbers count from the first group's start.

        Groups ascend; between them others may stand, whose rows are counted too.
        """
        raise NotImplementedError

    def rows(self, group: int, columns: Sequence[Column], numbers: Positions) -> pa.Table:
        """Those columns of the rows of these numbers, in that order."""
        raise NotImplementedError

    def count(self, group: int, columns: Sequence[Column]) -> None:
        """Counts those columns of the group as read, which another reader reads."""
        raise NotImplementedError

    def _conformed(self, table: pa.Table | None, rows: int, columns: Sequence[Column]) -> pa.Table:
        """The columns as the table has them; those that the file lacks are NULL."""
        stored = {} if table is None else dict(zip(table.column_names, table.columns, strict=True))
        made = {}
        for column in columns:
            target = arrow_type(column.type or "")
            if column.field_id in self._fixed:
                value = self._fixed[column.field_id]
                made[column.name] = pa.chunked_array([pa.repeat(value, rows)])
            elif column.name not in stored:
                made[column.name] = pa.chunked_array([pa.nulls(rows, target)])
            else:
                made[column.name] = _as(stored[column.name], target)
        return pa.table(made) if made else pa.table({"": pa.nulls(rows)})

    def _count(self, group: int, size: int) -> None:
        with self._lock:
            self._counted.files.add(self.file.path)
            self._counted.groups.add((self.file.path, group))
            self._counted.bytes += size


class _Whole(OpenFile):
    """A file that is read as one group."""

    def __init__(
        self,
        file: LiveFile,
        pinned: ReadTable,
        fixed: Mapping[int, pa.Scalar],
        counted: ReadCounter,
    ) -> None:
        super().__init__(file, fixed, counted)
        self._pinned = pinned

    @property
    def groups(self) -> Sequence[int]:
        return (self.file.record_count,)

    @property
    def counts_deleted(self) -> bool:
        return not self.file.deletes

    def bounds(self, column: Column) -> ColumnBounds:
        return unknown_bounds(1, column.type or "")

    def sought(self, group: int, columns: Sequence[Column]) -> tuple[pa.Table, Positions]:
        table = self._read(group, columns)
        return table, np.arange(table.num_rows)

    def sought_among(
        self, groups: Sequence[int], columns: Sequence[Column]
    ) -> tuple[pa.Table, Positions]:
        return self.sought(groups[0], columns)

    def rows(self, group: int, columns: Sequence[Column], numbers: Positions) -> pa.Table:
        return self._read(group, columns).take(pa.array(numbers))

    def count(self, group: int, columns: Sequence[Column]) -> None:  # noqa: ARG002
        self._count(group, self.file.size_bytes)

    def _read(self, group: int, columns: Sequence[Column]) -> pa.Table:
        self.count(group, columns)
        stored = [c.name for c in columns if c.field_id not in self._fixed]
        table = self._pinned.arrow(stored, [self.file])
        return self._conformed(table, table.num_rows, columns)


class _Cut(OpenFile):
    """A Parquet file in its row groups or an ORC file in its stripes; `names` by field id."""

    def __init__(
        self,
        file: LiveFile,
        reader: GroupReader,
        parquet: pq.ParquetFile | OrcFile,
        names: dict[int, str],
        fixed: Mapping[int, pa.Scalar],
        nan_free: _NanFree,
    ) -> None:
        super().__init__(file, fixed, reader.counted)
        self._nan_free = nan_free
        self._reader, self._names = reader, names
        self._reading = threading.Lock()
        self._parquet: pq.ParquetFile | OrcFile | None = parquet
        self._is_object = reader.counts_sent(file)
        self._metadata = metadata = parquet.metadata
        schema = metadata.schema
        self._leaves = {schema.column(i).path: i for i in range(len(schema))}
        self._chunks = [metadata.row_group(i) for i in range(metadata.num_row_groups)]

    def close(self) -> None:
        """Until it's read again."""
        if self._parquet is not None:
            self._parquet.close(force=True)
            self._parquet = None

    @cached_property
    def groups(self) -> Sequence[int]:
        return [chunk.num_rows for chunk in self._chunks]

    def bounds(self, column: Column) -> ColumnBounds:
        name, type_ = self._names.get(column.field_id), column.type or ""
        if column.field_id in self._fixed:  # the manifest's statistics tell it
            return unknown_bounds(len(self._chunks), type_)
        count, rows = len(self._chunks), np.array(self.groups, dtype=np.int64)
        unknown = np.full(count, UNKNOWN, dtype=np.int64)
        if name is None:  # added to the table after the file: NULL on every row
            none = pa.nulls(count, arrow_kind(type_))
            return ColumnBounds(none, none, rows, rows, unknown * 0, type_ in _FLOATING)
        found = [chunk.column(self._leaves[name]).statistics for chunk in self._chunks]
        nulls = [s.null_count if s is not None and s.has_null_count else UNKNOWN for s in found]
        floating = type_ in _FLOATING
        nans = unknown * 0 if floating and self._nan_free(self.file, column) else unknown
        told = [_raw_bounds(s, type_) for s in found]
        lower, upper = ([pair[side] for pair in told] for side in (0, 1))
        kind = arrow_kind(type_)
        return ColumnBounds(
            pa.array(lower, kind),
            pa.array(upper, kind),
            rows,
            np.array(nulls, dtype=np.int64),
            nans,
            floating,
        )

    def fetch(self, group: int, columns: Sequence[Column]) -> None:
        names = [self._names[c.field_id] for c in columns if c.field_id in self._names]
        if self._is_object:
            self._reader.fetch(self.file, self._ranges([group], names))

    def sought(self, group: int, columns: Sequence[Column]) -> tuple[pa.Table, Positions]:
        return self.sought_among([group], columns)

    def sought_among(
        self, groups: Sequence[int], columns: Sequence[Column]
    ) -> tuple[pa.Table, Positions]:
        table = self._read(groups, columns)
        ends = np.cumsum([0, *self.groups])
        first = ends[groups[0]]
        numbers = np.concatenate([np.arange(ends[g], ends[g + 1]) for g in groups]) - first
        if not self.file.deletes:
            return table, numbers
        gone = np.zeros(ends[groups[-1] + 1] - first, dtype=bool)
        found = self._positions - first
        gone[found[(found >= 0) & (found < len(gone))]] = True
        kept = ~gone[numbers]
        return table.filter(pa.array(kept)), numbers[kept]

    def rows(self, group: int, columns: Sequence[Column], numbers: Positions) -> pa.Table:
        end = int(numbers.max(initial=-1)) + 1
        if end * _FEW < self.groups[group]:
            return self._read([group], columns, end).take(pa.array(numbers))
        return self._read([group], columns).take(pa.array(numbers))

    @cached_property
    def _positions(self) -> Positions:
        return self._reader.deletes.of(self.file)

    def _read(
        self, groups: Sequence[int], columns: Sequence[Column], end: int | None = None
    ) -> pa.Table:
        """The columns as the table has them, of all rows of the groups or the first one's first."""
        wanted = [self._names[c.field_id] for c in columns if c.field_id in self._names]
        rows = sum(self.groups[g] for g in groups) if end is None else end
        table = self._stored(groups, wanted, end) if wanted else None
        for group in groups:
            self.count(group, columns)
        if table is not None:
            by_name = {
                self._names[c.field_id]: c.name for c in columns if c.field_id in self._names
            }
            table = flat(table, by_name)
        return self._conformed(table, rows, columns)

    def count(self, group: int, columns: Sequence[Column]) -> None:
        chunk = self._chunks[group]
        wanted = (self._names[c.field_id] for c in columns if c.field_id in self._names)
        sizes = (chunk.column(self._leaves[n]).total_compressed_size for n in wanted)
        self._count(group, 0 if self._is_object else sum(sizes))

    def _stored(self, groups: Sequence[int], names: list[str], end: int | None) -> pa.Table:
        # Who comes while another thread reads opens the file once more, but for PyIceberg's.
        blocking = local_path(self.file.path) is None and not self._is_object
        alone = not self._is_object and self._reading.acquire(blocking=blocking)
        kept = self._parquet if alone else None
        ranges = self._ranges(groups, names) if self._is_object else ()
        parquet = kept or self._reader.parquet(self.file, self._metadata, ranges)
        try:
            if end is None:
                return parquet.read_row_groups(groups, columns=names, use_threads=False)
            return _first_rows(parquet, groups[0], names, end)
        finally:
            if kept is None:
                parquet.close(force=True)
            if alone:
                self._reading.release()

    def _ranges(self, groups: Sequence[int], names: Sequence[str]) -> list[tuple[int, int]]:
        """Returns the ranges of the columns' chunks in a Parquet file, none of an ORC file."""
        metadata = self._metadata
        if isinstance(metadata, OrcMetadata):
            return []
        found = []
        for group in groups:
            for name in names:
                chunk = metadata.row_group(group).column(self._leaves[name])
                start = chunk.data_page_offset
                if chunk.has_dictionary_page:
                    start = min(start, chunk.dictionary_page_offset)
                found.append((start, start + chunk.total_compressed_size))
        return found


def _first_rows(
    parquet: pq.ParquetFile | OrcFile, group: int, names: list[str], end: int
) -> pa.Table:
    batches, left = [], end
    for batch in parquet.iter_batches(end, row_groups=[group], columns=names, use_threads=False):
        batches.append(batch.slice(0, left))
        left -= len(batch)
        if left <= 0:
            break
    return pa.Table.from_batches(batches)


def stored_names(
    parquet: pq.ParquetFile | OrcFile,
    columns: Sequence[Column],
    defaulted: Set[int],
    raw: Set[int] = frozenset(),
) -> dict[int, str] | None:
    """The file's names of the columns, without those it lacks; None where it must be read whole.

    `raw` are fields of fixed bytes, UUIDs among them, that are asked for as `binary`.
    """
    if any((each.metadata or {}).get(FIELD_ID) is None for each in parquet.schema_arrow):
        return None
    by_id = {int(one.metadata[FIELD_ID]): one for one in parquet.schema_arrow}
    found = {}
    for column in columns:
        if column.path:
            if isinstance(parquet, OrcFile) or any("." in one.name for one in by_id.values()):
                return None
            path = path_of(parquet.schema_arrow, column.field_id)
            if path is None or (path and not _widens(path[-1].type, column.type or "")):
                return None
            if path:
                found[column.field_id] = ".".join(one.name for one in path)
            continue
        stored = by_id.get(column.field_id)
        if stored is None:
            if column.field_id in defaulted:
                return None
            continue
        is_raw = column.field_id in raw and _is_fixed(stored.type)
        if "." in stored.name or not (is_raw or _widens(stored.type, column.type or "")):
            return None
        found[column.field_id] = stored.name
    return found


def _is_fixed(stored: pa.DataType) -> bool:
    """Whether a file's values are of so many bytes each, UUIDs or others."""
    plain = stored.storage_type if isinstance(stored, pa.BaseExtensionType) else stored
    return bool(pa.types.is_fixed_size_binary(plain))


def _widens(stored: pa.DataType, type_: str) -> bool:
    """Whether values of a file become the table's type as they are."""
    target = arrow_type(type_)
    if stored == target:
        return True
    parts = decimal_parts(type_)
    if parts is not None:
        smaller = pa.types.is_decimal(stored) and stored.precision <= parts[0]
        return bool(smaller and stored.scale == parts[1])
    if type_ == "timestamp":
        return bool(pa.types.is_timestamp(stored) and stored.unit == "us" and stored.tz)
    wider = {"bigint": (pa.int32(),), "double": (pa.float32(),), "string": (pa.large_string(),)}
    return stored in (*wider.get(type_, ()), *((pa.large_binary(),) if type_ == "binary" else ()))


def _as(column: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_string(target):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            raise NeedsSparkError(
                f"a text can't be read in process: {error}",
                hint="Spark reads it; the statement takes that way by itself",
            ) from error
    return column if column.type == target else column.cast(target)


def _raw_bounds(statistics: Any, type_: str) -> tuple[Any, Any]:
    """A row group's bounds as `ColumnStatistics` keeps them; None for what isn't known."""
    if statistics is None or not statistics.has_min_max or not is_ordered(type_):
        return None, None
    low, high = statistics.min_raw, statistics.max_raw
    if decimal_parts(type_) is not None and isinstance(low, bytes):
        return int.from_bytes(low, "big", signed=True), int.from_bytes(high, "big", signed=True)
    return (int(low), int(high)) if type_ == "boolean" else (low, high)
