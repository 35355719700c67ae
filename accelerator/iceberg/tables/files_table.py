"""What a snapshot's manifests say of its files, as a table: a row for each data and delete file.

All of it comes from the cached columns of the manifests, value by value only where a column's type
is one that Spark lacks. Of `equality_ids` alone these say nothing: delete manifests' entries do.
A partition's values and the bounds of columns have the types of the table.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace
from pyiceberg.conversions import from_bytes
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import VoidTransform
from pyiceberg.types import (
    IcebergType,
    PrimitiveType,
    StringType,
    TimestampNanoType,
    TimestamptzNanoType,
    TimeType,
    UUIDType,
)

from accelerator.common.arrow.spark_types import arrow_type
from accelerator.iceberg.manifests.columns import (
    Bools,
    Int64s,
    ManifestColumns,
    ManifestColumnStats,
    validity,
)
from accelerator.iceberg.manifests.manifest_file import ManifestFile
from accelerator.iceberg.statistics.file_statistics import arrow_kind, decoded, joined_bytes
from accelerator.iceberg.tables.metadata import field_type_of
from accelerator.iceberg.tables.schema import spark_type
from rewrite.render.expressions import quote

PLAIN = {
    "content": "int",
    "file_path": "string",
    "file_format": "string",
    "spec_id": "int",
    "partition_data": "",
    "record_count": "bigint",
    "file_size_in_bytes": "bigint",
    "split_offsets": "array<bigint>",
    "sort_id": "int",
    "equality_ids": "array<int>",
    "file_sequence_number": "bigint",
    "data_sequence_number": "bigint",
    "column_stats": "",
    "key_metadata": "binary",
}
"""The columns in order, and their Spark types; two of them have a struct of the table's own."""
PARTITION, STATS = STRUCTS = ("partition_data", "column_stats")
COUNTS, BOUNDS = (
    ("value_count", "null_value_count", "nan_value_count"),
    ("lower_bound", "upper_bound"),
)
UInt64s = npt.NDArray[np.uint64]
_T = TypeVar("_T")
Path = tuple[str, ...]
"""A column's name, or those that lead to an inner one."""
_STORED = {
    "file_path": "path",
    "record_count": "record_count",
    "file_size_in_bytes": "size_bytes",
    "split_offsets": "split_offsets",
    "sort_id": "sort_order_id",
    "file_sequence_number": "file_sequence_number",
    "data_sequence_number": "sequence_number",
    "key_metadata": "key_metadata",
}
"""Columns that the manifest's own are, as they are."""
_ARRAYS = {"array<bigint>": pa.list_(pa.int64()), "array<int>": pa.list_(pa.int32())}
_DECIMAL_BYTES = 16
_DAY = 24 * 60 * 60 * 1_000_000
_TIMES: Mapping[type, pa.DataType] = {
    TimeType: pa.time64("us"),
    TimestampNanoType: pa.timestamp("ns"),
    TimestamptzNanoType: pa.timestamp("ns", tz="UTC"),
}


class _Leaf(Struct, frozen=True):
    """A column, or a field of a partition."""

    name: str
    field_id: int
    kind: IcebergType

    @property
    def word(self) -> str:
        """Spark's type; text where Spark has none for it."""
        word = spark_type(field_type_of(self.kind))
        try:
            arrow_type(word)
        except KeyError:
            return "string"
        return word


class FileTable(Struct, frozen=True):
    """The table's columns: `parts` are the fields of partitions, `leaves` have statistics."""

    parts: Mapping[str, _Leaf]
    leaves: Mapping[str, _Leaf]

    @classmethod
    def of(cls, metadata: TableMetadata, schema: Schema) -> FileTable:
        """The table of a table's files, under that schema."""
        parts = {leaf.name: leaf for leaf in _partition_fields(metadata)}
        return cls(parts, {leaf.name: leaf for leaf in _leaves(schema)})

    def paths(self, name: str, leaves: Collection[str] | None = None) -> list[Path]:
        """The innermost fields of a column, its own name where it has none; statistics of `leaves`.

        Of all that have them where that is None.
        """
        if name == PARTITION:
            return [(PARTITION, part) for part in self.parts]
        if name == STATS:
            found = self.leaves if leaves is None else leaves
            return [(STATS, leaf, told) for leaf in found for told in (*COUNTS, *BOUNDS)]
        return [(name,)]

    def find(self, names: Sequence[str]) -> Path | None:
        """The innermost field that the names lead to, compared without case; None if not one."""
        wanted = [name.lower() for name in names]
        paths = self.paths(wanted[0])
        found = [path for path in paths if [part.lower() for part in path] == wanted]
        return found[0] if len(found) == 1 else None

    def type_of(self, path: Path) -> str:
        """The Spark type of an innermost field, or of a column without any."""
        if path[0] == PARTITION:
            return self.parts[path[1]].word
        if path[0] == STATS:
            return self.leaves[path[1]].word if path[2] in BOUNDS else "bigint"
        return PLAIN[path[0]]

    def ddl(self, name: str, paths: Iterable[Path]) -> str:
        """Spark's type of a column; of a struct with these innermost fields alone."""
        if name not in STRUCTS:
            return self.type_of((name,))
        return self._struct([path for path in paths if path[0] == name], 1)

    def _struct(self, paths: Sequence[Path], depth: int) -> str:
        fields = []
        for name, below in _by_name([(path[depth:], path) for path in paths]).items():
            (rest, path), *_ = below
            inner = self._struct([p for _, p in below], depth + 1) if rest else self.type_of(path)
            fields.append(f"{quote(name, 'spark')}: {inner}")
        return f"struct<{', '.join(fields)}>"


def file_metadata(
    manifests: Iterable[ManifestFile],
    columns: Callable[[ManifestFile], ManifestColumns],
    table: FileTable,
    wanted: Collection[Path],
) -> pa.Table:
    """A row for each file; a column for each path, in that order, called by its parts and dots.

    `columns` decodes a manifest.
    """
    names = [".".join(path) for path in wanted]
    types = [_arrow(table.type_of(path)) for path in wanted]
    pieces = [
        pa.table(_of_manifest(manifest, columns(manifest), table, wanted), names=names)
        for manifest in manifests
    ]
    empty = pa.table([pa.array([], type_) for type_ in types], names=names)
    return pa.concat_tables([empty, *pieces])


def nested(rows: pa.Table, names: Iterable[str], paths: Iterable[Path]) -> pa.Table:
    """The columns of these names out of `file_metadata`'s for the paths, structs put together."""
    known = list(paths)

    def column(name: str) -> pa.Array:
        if name not in STRUCTS:
            return rows.column(name)
        inner = [(p[1:], rows.column(".".join(p))) for p in known if p[0] == name]
        return _struct([(p, one.combine_chunks()) for p, one in inner], rows.num_rows)

    return pa.table({name: column(name) for name in names})


def _struct(inner: Sequence[tuple[Path, pa.Array]], count: int) -> pa.StructArray:
    if not inner:
        return pa.array([{}] * count, pa.struct([]))
    groups = _by_name(inner)
    fields = [
        below[0][1] if not below[0][0] else _struct(below, count) for below in groups.values()
    ]
    return pa.StructArray.from_arrays(fields, names=list(groups))


def _by_name(inner: Iterable[tuple[Path, _T]]) -> dict[str, list[tuple[Path, _T]]]:
    """By the first part of the path, which the paths then lack."""
    found: dict[str, list[tuple[Path, _T]]] = {}
    for path, value in inner:
        found.setdefault(path[0], []).append((path[1:], value))
    return found


def _of_manifest(
    manifest: ManifestFile,
    columns: ManifestColumns,
    table: FileTable,
    wanted: Iterable[Path],
) -> list[pa.Array]:
    told: dict[str, ManifestColumnStats] = {}
    found = []
    for path in wanted:
        if path[0] == PARTITION:
            found.append(_partition_values(columns, table.parts[path[1]]))
        elif path[0] == STATS:
            leaf = table.leaves[path[1]]
            if leaf.name not in told:
                told[leaf.name] = columns.stats(leaf.field_id)
            found.append(_statistic(told[leaf.name], path[2], leaf))
        else:
            found.append(_plain(manifest, columns, path[0]))
    return found


def _plain(manifest: ManifestFile, columns: ManifestColumns, name: str) -> pa.Array:
    if name in _STORED:
        return columns.source.column(_STORED[name])
    if name == "file_format":
        return pc.utf8_upper(columns.format)
    if name == "spec_id":
        return pa.repeat(pa.scalar(manifest.partition_spec_id, pa.int32()), columns.count)
    if name == "content":
        zero = pa.scalar(0, pa.int32())
        return (
            columns.content.cast(pa.int32()) if columns.deletes else pa.repeat(zero, columns.count)
        )
    type_ = _arrow(PLAIN[name])
    if not columns.deletes:
        return pa.nulls(columns.count, type_)
    return columns.equality_ids


def _statistic(stats: ManifestColumnStats, name: str, leaf: _Leaf) -> pa.Array:
    if name in BOUNDS:
        return _bounds(stats.lower if name == "lower_bound" else stats.upper, leaf)
    counts = (stats.value_counts, stats.null_counts, stats.nan_counts)
    return counts[COUNTS.index(name)]


def _bounds(raw: pa.BinaryArray, leaf: _Leaf) -> pa.Array:
    """Bounds as values of the type; null where the bytes aren't one."""
    target, word = arrow_type(leaf.word), leaf.word
    if pa.types.is_decimal(target):
        return _decimals(raw, target)
    if word == "binary":
        return raw
    if isinstance(leaf.kind, tuple(_TIMES)):
        return _times(decoded(raw, "timestamp_ntz", pa.int64()), leaf.kind)
    if word == "string":
        return _texts(raw) if isinstance(leaf.kind, StringType) else _spelled(raw, leaf.kind)
    kept = decoded(raw, word, arrow_kind(word))
    return (kept.cast(pa.int32()) if pa.types.is_date(target) else kept).cast(target)


def _partition_values(columns: ManifestColumns, part: _Leaf) -> pa.Array:
    """The field's values, null where the file's spec hasn't it."""
    target, name = arrow_type(part.word), str(part.field_id)
    place = columns.partition.type.get_field_index(name)
    if place < 0:
        return pa.nulls(columns.count, target)
    raw = columns.partition.field(place)
    if isinstance(part.kind, tuple(_TIMES)) and pa.types.is_int64(raw.type):
        return _times(raw, part.kind)
    if pa.types.is_binary(raw.type):
        if pa.types.is_decimal(target):
            return _decimals(raw, target)
        if isinstance(part.kind, UUIDType):
            return _spelled(raw, part.kind)
    return (raw.cast(pa.int32()) if pa.types.is_date(target) else raw).cast(target)


def _texts(raw: pa.BinaryArray) -> pa.StringArray:
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:  # bytes that are no UTF-8
        return pa.array([_text(one, StringType()) for one in raw.to_pylist()], pa.string())


def _times(raw: pa.Int64Array, kind: IcebergType) -> pa.StringArray:
    """Of types that Spark lacks: `10:00:01.250000`, `2020-01-01 10:00:01.250000000Z`."""
    if isinstance(kind, TimeType):
        of_day = pc.and_(pc.greater_equal(raw, 0), pc.less(raw, _DAY))
        raw = pc.if_else(of_day, raw, pa.scalar(None, pa.int64()))
    return raw.cast(_TIMES[type(kind)]).cast(pa.string())


def _spelled(raw: pa.BinaryArray, kind: IcebergType) -> pa.StringArray:
    """Values of a type that Spark lacks."""
    return pa.array([_text(one, kind) for one in raw.to_pylist()], pa.string())


def _text(raw: bytes | None, kind: IcebergType) -> str | None:
    if raw is None or not isinstance(kind, PrimitiveType):
        return None
    try:
        value = UUID(bytes=raw) if isinstance(kind, UUIDType) else from_bytes(kind, raw)
    except (ValueError, struct.error):
        return None
    return None if value is None else str(value)


def _decimals(raw: pa.BinaryArray, target: pa.Decimal128Type) -> pa.Array:
    """Two's complement numbers, the most significant byte first; null for too many digits."""
    count = len(raw)
    wide = np.zeros((count, _DECIMAL_BYTES), dtype=np.uint8)
    there = np.zeros(count, dtype=bool)
    lengths = pc.fill_null(pc.binary_length(raw), 0).to_numpy(zero_copy_only=False)
    for width in np.unique(lengths).tolist():
        if not 0 < width <= _DECIMAL_BYTES:
            continue
        chosen = lengths == width
        digits = np.frombuffer(joined_bytes(raw.filter(pa.array(chosen))), dtype=np.uint8)
        digits = digits.reshape(-1, width)
        whole = np.repeat(np.where(digits[:, :1] >= 128, 255, 0).astype(np.uint8), 16, axis=1)
        whole[:, _DECIMAL_BYTES - width :] = digits
        wide[chosen], there[chosen] = whole[:, ::-1], True
    low, high = wide.view("<u8")[:, 0], wide.view("<i8")[:, 1]
    there &= _below(low, high, 10**target.precision)
    there &= ~_below(low, high, 1 - 10**target.precision)
    wide[~there] = 0
    return pa.Array.from_buffers(target, count, [validity(there), pa.py_buffer(wide)])


def _below(low: UInt64s, high: Int64s, limit: int) -> Bools:
    """Whether numbers of two halves are less than the limit."""
    top, rest = divmod(limit, 1 << 64)
    below: Bools = (high < top) | ((high == top) & (low < np.uint64(rest)))
    return below


def _arrow(type_: str) -> pa.DataType:
    return _ARRAYS[type_] if type_ in _ARRAYS else arrow_type(type_)


def _partition_fields(metadata: TableMetadata) -> list[_Leaf]:
    """The fields of every spec, by id; of one in several specs the newest name counts.

    Where two have one name, the earlier ones have their ids behind it.
    """
    found: dict[int, _Leaf] = {}
    schemas = [*metadata.schemas, metadata.schema()]
    for spec in sorted(metadata.partition_specs, key=lambda s: s.spec_id):
        for field in spec.fields:
            sources = [s.find_type(field.source_id) for s in schemas if _has(s, field.source_id)]
            if isinstance(field.transform, VoidTransform) and field.field_id in found:
                continue
            kind = field.transform.result_type(sources[-1]) if sources else StringType()
            found[field.field_id] = _Leaf(field.name, field.field_id, kind)
    names: set[str] = set()
    for field_id, leaf in reversed(tuple(found.items())):
        name = leaf.name
        while name.lower() in names:
            name = f"{name}_{field_id}"
        names.add(name.lower())
        found[field_id] = replace(leaf, name=name)
    return list(found.values())


def _has(schema: Schema, field_id: int) -> bool:
    return schema.find_column_name(field_id) is not None


def _leaves(schema: Schema) -> list[_Leaf]:
    """The columns and inner fields that can have statistics, by their full names."""
    return [
        _Leaf(name, field_id, kind)
        for field_id in sorted(schema.field_ids)
        if isinstance(kind := schema.find_type(field_id), PrimitiveType)
        and (name := schema.find_column_name(field_id)) is not None
    ]
