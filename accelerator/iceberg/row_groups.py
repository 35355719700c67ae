"""Row groups of data files: their bounds, and chosen columns and rows of them.

A Parquet file is cut into its row groups where every wanted column stands in it under its field id,
with a type that becomes the table's without loss. Any other file is one group, read whole the way
`rows.py` does. Row numbers are counted within a group. Deletes are applied.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from accelerator.arrow_types import arrow_type
from accelerator.iceberg.files import LiveFile
from accelerator.iceberg.io import inputs_for, local_path
from accelerator.iceberg.position_deletes import PositionDeletes, Positions
from accelerator.iceberg.statistics import arrow_kind, is_ordered
from indexes.bounds import UNKNOWN, ColumnBounds
from rewrite.expr import Column
from rewrite.types import decimal_parts

if TYPE_CHECKING:
    from accelerator.iceberg import PinnedTable

_THREADS_MAX = 8
_FEW = 4
"""Where so many times fewer rows stand before the last wanted one, only those are decoded."""
_ID = b"PARQUET:field_id"
_FLOATING = frozenset({"float", "double"})
_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


@dataclass(slots=True)
class Counted:
    """What a reader has read: row groups, and bytes of their column chunks as stored."""

    groups: set[tuple[str, int]] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    bytes: int = 0


class GroupReader:
    """Opens files of one pinned table; `columns` are all that will be asked for."""

    def __init__(self, pinned: PinnedTable, columns: Sequence[Column]) -> None:
        self._pinned, self._columns = pinned, columns
        self._io = inputs_for(pinned.metadata_location, pinned.io_properties)
        self._deletes = PositionDeletes(self._io)
        fields = pinned.schema.fields
        self._defaulted = {f.field_id for f in fields if f.initial_default is not None}
        self._pool = ThreadPoolExecutor(_THREADS_MAX)
        self.counted = Counted()

    def close(self) -> None:
        """Lets the threads go."""
        self._pool.shutdown()

    def open(self, files: Sequence[LiveFile]) -> list[OpenFile]:
        """The files, side by side; only their footers are read."""
        return list(self._pool.map(self._open, files))

    def map(self, task: Callable[[_Item], _Made], items: Sequence[_Item]) -> list[_Made]:
        """What the task gives for each item, side by side."""
        return list(self._pool.map(task, items))

    def _open(self, file: LiveFile) -> OpenFile:
        if file.file_format == "parquet":
            path = local_path(file.path)
            source = self._io.new_input(file.path).open() if path is None else path
            parquet = pq.ParquetFile(cast(BinaryIO | str, source), pre_buffer=path is None)
            if parquet.metadata.num_rows != file.record_count:
                raise ValueError(
                    f"{file.path} has {parquet.metadata.num_rows} rows, its manifest says"
                    f" {file.record_count}"
                )
            names = _names(parquet, self._columns, self._defaulted)
            if names is not None:
                return _Cut(file, parquet, names, self._deletes, self.counted)
            parquet.close()
        return _Whole(file, self._pinned, self.counted)


class OpenFile:
    """A data file as groups of rows."""

    def __init__(self, file: LiveFile, counted: Counted) -> None:
        self.file, self._counted = file, counted
        self._lock = threading.Lock()

    @property
    def groups(self) -> Sequence[int]:
        """The number of rows in each group, deleted ones included."""
        raise NotImplementedError

    def bounds(self, column: Column) -> ColumnBounds:
        """The column's bounds in each group."""
        raise NotImplementedError

    def sought(self, group: int, columns: Sequence[Column]) -> tuple[pa.Table, Positions]:
        """Those columns of all rows that aren't deleted, and the numbers of these."""
        raise NotImplementedError

    def rows(self, group: int, columns: Sequence[Column], numbers: Positions) -> pa.Table:
        """Those columns of the rows of these numbers, in that order."""
        raise NotImplementedError

    def _count(self, group: int, size: int) -> None:
        with self._lock:
            self._counted.files.add(self.file.path)
            self._counted.groups.add((self.file.path, group))
            self._counted.bytes += size


class _Whole(OpenFile):
    """A file that is read as one group."""

    def __init__(self, file: LiveFile, pinned: PinnedTable, counted: Counted) -> None:
        super().__init__(file, counted)
        self._pinned = pinned

    @property
    def groups(self) -> Sequence[int]:
        return (self.file.record_count,)

    def bounds(self, column: Column) -> ColumnBounds:
        unknown, none = np.array([UNKNOWN]), pa.nulls(1, arrow_kind(column.type or ""))
        floating = column.type in _FLOATING
        return ColumnBounds(none, none, unknown, unknown, unknown, floating)

    def sought(self, group: int, columns: Sequence[Column]) -> tuple[pa.Table, Positions]:
        table = self._read(group, columns)
        return table, np.arange(table.num_rows)

    def rows(self, group: int, columns: Sequence[Column], numbers: Positions) -> pa.Table:
        return self._read(group, columns).take(pa.array(numbers))

    def _read(self, group: int, columns: Sequence[Column]) -> pa.Table:
        self._count(group, self.file.size_bytes)
        table = self._pinned.arrow([c.name for c in columns], [self.file])
        types = [arrow_type(c.type or "") for c in columns]
        pairs = zip(table.columns, types, strict=True)
        return pa.table([_as(column, type_) for column, type_ in pairs], table.column_names)


class _Cut(OpenFile):
    """A Parquet file in its row groups; `names` are the file's own, by field id."""

    def __init__(
        self,
        file: LiveFile,
        parquet: pq.ParquetFile,
        names: dict[int, str],
        deletes: PositionDeletes,
        counted: Counted,
    ) -> None:
        super().__init__(file, counted)
        self._parquet, self._names, self._deletes = parquet, names, deletes
        schema = parquet.metadata.schema
        self._leaves = {schema.column(i).path: i for i in range(len(schema))}
        metadata = parquet.metadata
        self._chunks = [metadata.row_group(i) for i in range(metadata.num_row_groups)]

    @cached_property
    def groups(self) -> Sequence[int]:
        return [chunk.num_rows for chunk in self._chunks]

    def bounds(self, column: Column) -> ColumnBounds:
        name, type_ = self._names.get(column.field_id), column.type or ""
        count, rows = len(self._chunks), np.array(self.groups, dtype=np.int64)
        unknown = np.full(count, UNKNOWN, dtype=np.int64)
        if name is None:  # added to the table after the file: NULL on every row
            none = pa.nulls(count, arrow_kind(type_))
            return ColumnBounds(none, none, rows, rows, unknown * 0, type_ in _FLOATING)
        found = [chunk.column(self._leaves[name]).statistics for chunk in self._chunks]
        nulls = [s.null_count if s is not None and s.has_null_count else UNKNOWN for s in found]
        nans = unknown
        if self.file.nan_counts.get(column.field_id) == 0:
            nans = unknown * 0
        told = [_raw_bounds(s, type_) for s in found]
        lower, upper = ([pair[side] for pair in told] for side in (0, 1))
        kind = arrow_kind(type_)
        return ColumnBounds(
            pa.array(lower, kind),
            pa.array(upper, kind),
            rows,
            np.array(nulls, dtype=np.int64),
            nans,
            type_ in _FLOATING,
        )

    def sought(self, group: int, columns: Sequence[Column]) -> tuple[pa.Table, Positions]:
        table = self._read(group, columns)
        kept = self._kept(group)
        if kept is None:
            return table, np.arange(table.num_rows)
        return table.filter(pa.array(kept)), np.flatnonzero(kept)

    def rows(self, group: int, columns: Sequence[Column], numbers: Positions) -> pa.Table:
        end = int(numbers.max(initial=-1)) + 1
        if end * _FEW < self.groups[group]:
            return self._read(group, columns, end).take(pa.array(numbers))
        return self._read(group, columns).take(pa.array(numbers))

    def _kept(self, group: int) -> Any:
        """Which rows of the group aren't deleted; None for all."""
        if not self.file.deletes:
            return None
        first, rows = sum(self.groups[:group]), self.groups[group]
        found = self._positions - first
        kept = np.ones(rows, dtype=bool)
        kept[found[(found >= 0) & (found < rows)]] = False
        return kept

    @cached_property
    def _positions(self) -> Positions:
        return self._deletes.of(self.file)

    def _read(self, group: int, columns: Sequence[Column], end: int | None = None) -> pa.Table:
        """The columns as the table has them, of the group's first rows or all."""
        wanted = [self._names[c.field_id] for c in columns if c.field_id in self._names]
        rows = self.groups[group] if end is None else end
        with self._lock:
            if not wanted:
                table = None
            elif end is None:
                table = self._parquet.read_row_group(group, columns=wanted, use_threads=False)
            else:
                table = self._first_rows(group, wanted, end)
        chunk = self._chunks[group]
        sizes = (chunk.column(self._leaves[n]).total_compressed_size for n in wanted)
        self._count(group, sum(sizes))
        made = {}
        for column in columns:
            name, target = self._names.get(column.field_id), arrow_type(column.type or "")
            if name is None or table is None:
                made[column.name] = pa.chunked_array([pa.nulls(rows, target)])
            else:
                made[column.name] = _as(table.column(name), target)
        return pa.table(made) if made else pa.table({"": pa.nulls(rows)})

    def _first_rows(self, group: int, names: list[str], end: int) -> pa.Table:
        batches, left = [], end
        for batch in self._parquet.iter_batches(
            end, row_groups=[group], columns=names, use_threads=False
        ):
            batches.append(batch.slice(0, left))
            left -= len(batch)
            if left <= 0:
                break
        return pa.Table.from_batches(batches)


def _names(
    parquet: pq.ParquetFile, columns: Sequence[Column], defaulted: Set[int]
) -> dict[int, str] | None:
    """The file's names of the columns, without those it lacks; None where it must be read whole."""
    by_id: dict[int, pa.Field] = {}
    for each in parquet.schema_arrow:
        number = (each.metadata or {}).get(_ID)
        if number is None:
            return None
        by_id[int(number)] = each
    found = {}
    for column in columns:
        stored = by_id.get(column.field_id)
        if stored is None:
            if column.field_id in defaulted:
                return None
            continue
        if "." in stored.name or not _widens(stored.type, column.type or ""):
            return None
        found[column.field_id] = stored.name
    return found


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
    return column if column.type == target else column.cast(target)


def _raw_bounds(statistics: Any, type_: str) -> tuple[Any, Any]:
    """A row group's bounds as `ColumnStatistics` keeps them; None for what isn't known."""
    if statistics is None or not statistics.has_min_max or not is_ordered(type_):
        return None, None
    low, high = statistics.min_raw, statistics.max_raw
    if decimal_parts(type_) is not None and isinstance(low, bytes):
        return int.from_bytes(low, "big", signed=True), int.from_bytes(high, "big", signed=True)
    return (int(low), int(high)) if type_ == "boolean" else (low, high)
