"""What a snapshot's manifests say of its files, as a table: a row for each data and delete file.

Data files come from the cached columns of their manifests, delete files from the entries of theirs.
A partition's values and the bounds of columns have the types of the table.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
)
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import VoidTransform
from pyiceberg.types import (
    BinaryType,
    DecimalType,
    DoubleType,
    FixedType,
    IcebergType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from accelerator.arrow_types import arrow_type
from accelerator.iceberg.files import live_entries, sequence_number
from accelerator.iceberg.io import Inputs
from accelerator.iceberg.manifests.columns import ManifestColumns
from accelerator.iceberg.schema import spark_type
from rewrite.render import quote

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
_AT = {field.name: place for place, field in enumerate(DATA_FILE_TYPE[3].fields)}
_COUNTS = ("value_count", "null_value_count", "nan_value_count")
_COUNT_MAPS = ("value_counts", "null_value_counts", "nan_value_counts")
_ARROW = {
    "array<bigint>": pa.list_(pa.int64()),
    "array<int>": pa.list_(pa.int32()),
}
_TEXTS = (TimeType, TimestampNanoType, TimestamptzNanoType)
_EXACTLY = Context(prec=64)
"""Wider than any decimal: Python's own context rounds to 28 digits."""


@dataclass(frozen=True, slots=True)
class FileMetadata:
    """The rows, and their columns' names and types as Spark's DDL."""

    rows: pa.Table
    ddl: str


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A column, or a field of a partition."""

    name: str
    field_id: int
    kind: IcebergType

    @property
    def word(self) -> str:
        """Spark's type; text where Spark has none for it."""
        word = spark_type(self.kind)
        try:
            arrow_type(word)
        except KeyError:
            return "string"
        return word


def file_metadata(
    inputs: Inputs,
    manifests: Iterable[ManifestFile],
    columns: Callable[[ManifestFile], ManifestColumns],
    metadata: TableMetadata,
    schema: Schema,
    with_stats: bool,
) -> FileMetadata:
    """The table, `column_stats` NULL without `with_stats`; `columns` decodes a data manifest."""
    parts, leaves = _partition_fields(metadata), _leaves(schema)
    found: dict[str, list[Any]] = {name: [] for name in PLAIN}
    for manifest in manifests:
        if manifest.content == ManifestContent.DATA:
            rows = _of_columns(manifest, columns(manifest), parts, leaves if with_stats else None)
        else:
            entries = live_entries(inputs, manifest)
            order = metadata.specs()[manifest.partition_spec_id].fields
            places = {field.field_id: place for place, field in enumerate(order)}
            stats = leaves if with_stats else None
            rows = _of_entries(manifest, entries, places, parts, stats)
        for name, values in rows.items():
            found[name] += values
    partition = _struct([(f.name, f.word) for f in parts])
    stats_fields = [(f.name, _stats_type(f)) for f in leaves]
    types = PLAIN | {"partition_data": partition[0], "column_stats": _ddl(stats_fields)}
    structs = {"partition_data": partition[1], "column_stats": _stats_arrow(leaves)}
    arrow = {name: _ARROW.get(word) or arrow_type(word) for name, word in PLAIN.items() if word}
    arrow |= structs
    arrays = [pa.array(values, arrow[name]) for name, values in found.items()]
    ddl = ", ".join(f"{name} {type_}" for name, type_ in types.items())
    return FileMetadata(pa.table(arrays, names=list(found)), ddl)


def _of_columns(
    manifest: ManifestFile,
    columns: ManifestColumns,
    parts: Sequence[_Leaf],
    leaves: Sequence[_Leaf] | None,
) -> dict[str, list[Any]]:
    count = columns.count
    children = {field.name for field in columns.partition.type}
    fixed = {
        part.name: [_value(v, part.kind) for v in columns.partition.field(name).to_pylist()]
        for part in parts
        if (name := str(part.field_id)) in children
    }
    return {
        "content": [0] * count,
        "file_path": columns.path.to_pylist(),
        "file_format": [text.upper() for text in columns.format.to_pylist()],
        "spec_id": [manifest.partition_spec_id] * count,
        "partition_data": _rows(count, fixed),
        "record_count": columns.record_count.to_pylist(),
        "file_size_in_bytes": columns.size_bytes.to_pylist(),
        "split_offsets": columns.split_offsets.to_pylist(),
        "sort_id": columns.sort_order_id.to_pylist(),
        "equality_ids": [None] * count,
        "file_sequence_number": columns.file_sequence_number.to_pylist(),
        "data_sequence_number": columns.sequence_number.to_pylist(),
        "column_stats": [None] * count if leaves is None else _stats(columns, leaves),
        "key_metadata": columns.key_metadata.to_pylist(),
    }


def _stats(columns: ManifestColumns, leaves: Sequence[_Leaf]) -> list[dict[str, Any]]:
    by_column = {}
    for leaf in leaves:
        told = columns.stats(leaf.field_id)
        counts = [c.to_pylist() for c in (told.value_counts, told.null_counts, told.nan_counts)]
        bounds = [
            [_bound(b, leaf.kind) for b in bound.to_pylist()] for bound in (told.lower, told.upper)
        ]
        names = (*_COUNTS, "lower_bound", "upper_bound")
        by_column[leaf.name] = _rows(
            columns.count, dict(zip(names, (*counts, *bounds), strict=True))
        )
    return _rows(columns.count, by_column)


def _of_entries(
    manifest: ManifestFile,
    entries: Sequence[ManifestEntry],
    places: dict[int, int],
    parts: Sequence[_Leaf],
    leaves: Sequence[_Leaf] | None,
) -> dict[str, list[Any]]:
    rows: dict[str, list[Any]] = {name: [] for name in PLAIN}
    for entry in entries:
        data = entry.data_file
        number = entry.file_sequence_number
        if number is None and entry.status == ManifestEntryStatus.ADDED:
            number = manifest.sequence_number
        partition = {
            part.name: _value(data.partition[places[part.field_id]], part.kind)
            for part in parts
            if part.field_id in places
        }
        values = {
            "content": int(data.content),
            "file_path": data.file_path,
            "file_format": data.file_format.value.upper(),
            "spec_id": manifest.partition_spec_id,
            "partition_data": partition,
            "record_count": data.record_count,
            "file_size_in_bytes": data.file_size_in_bytes,
            "split_offsets": data[_AT["split_offsets"]],
            "sort_id": data[_AT["sort_order_id"]],
            "equality_ids": data[_AT["equality_ids"]],
            "file_sequence_number": number,
            "data_sequence_number": sequence_number(entry, manifest),
            "column_stats": None if leaves is None else _entry_stats(data, leaves),
            "key_metadata": data[_AT["key_metadata"]],
        }
        for name, value in values.items():
            rows[name].append(value)
    return rows


def _entry_stats(data: Any, leaves: Sequence[_Leaf]) -> dict[str, Any]:
    maps = [data[_AT[name]] or {} for name in _COUNT_MAPS]
    lower, upper = (data[_AT[name]] or {} for name in ("lower_bounds", "upper_bounds"))
    return {
        leaf.name: {
            **{n: m.get(leaf.field_id) for n, m in zip(_COUNTS, maps, strict=True)},
            "lower_bound": _bound(lower.get(leaf.field_id), leaf.kind),
            "upper_bound": _bound(upper.get(leaf.field_id), leaf.kind),
        }
        for leaf in leaves
    }


def _rows(count: int, columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Columns as one dict a row, empty ones where there is no column."""
    if not columns:
        return [{} for _ in range(count)]
    names = tuple(columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]


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


def _struct(fields: Sequence[tuple[str, str]]) -> tuple[str, pa.DataType]:
    return _ddl(fields), pa.struct([(name, arrow_type(word)) for name, word in fields])


def _ddl(fields: Sequence[tuple[str, str]]) -> str:
    return "struct<" + ", ".join(f"{quote(n, 'spark')}: {t}" for n, t in fields) + ">"


def _stats_type(leaf: _Leaf) -> str:
    bounds = [("lower_bound", leaf.word), ("upper_bound", leaf.word)]
    return _ddl([*((name, "bigint") for name in _COUNTS), *bounds])


def _stats_arrow(leaves: Sequence[_Leaf]) -> pa.DataType:
    def one(leaf: _Leaf) -> pa.DataType:
        word = arrow_type(leaf.word)
        counts = [(name, pa.int64()) for name in _COUNTS]
        return pa.struct([*counts, ("lower_bound", word), ("upper_bound", word)])

    return pa.struct([(leaf.name, one(leaf)) for leaf in leaves])


def _bound(raw: bytes | None, kind: IcebergType) -> Any:
    """A bound as a value of the type; None where its bytes aren't one."""
    if raw is None or not isinstance(kind, PrimitiveType):
        return None
    if isinstance(kind, (LongType, DoubleType)) and len(raw) == 4:  # written before a promotion
        return struct.unpack("<i" if isinstance(kind, LongType) else "<f", raw)[0]
    try:
        return _value(from_bytes(kind, raw), kind)
    except (ValueError, OverflowError, ArithmeticError, struct.error):
        return None


def _text(raw: int, kind: IcebergType) -> str:
    """A time of a type that Spark lacks: `10:00:01.250000`, `2020-01-01 10:00:01.250000000Z`."""
    if isinstance(kind, TimeType):
        return (datetime.min + timedelta(microseconds=raw)).time().isoformat("microseconds")
    zone = "Z" if isinstance(kind, TimestamptzNanoType) else ""
    return np.datetime_as_string(np.datetime64(raw, "ns")).replace("T", " ") + zone


def _value(raw: Any, kind: IcebergType) -> Any:
    """A manifest's value, by either decoder, as Arrow takes it for the type."""
    if raw is None:
        return None
    if isinstance(kind, DecimalType) and isinstance(raw, bytes):
        return Decimal(int.from_bytes(raw, "big", signed=True)).scaleb(-kind.scale, _EXACTLY)
    if isinstance(kind, _TEXTS) and isinstance(raw, int):
        return _text(raw, kind)
    if isinstance(kind, UUIDType):
        return str(raw if isinstance(raw, UUID) else UUID(bytes=raw))
    if isinstance(kind, (BinaryType, FixedType, TimestampType, TimestamptzType)):
        return raw
    known = isinstance(raw, (bool, int, float, str, Decimal, date, datetime))
    return raw if known else str(raw)
