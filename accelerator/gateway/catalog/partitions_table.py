"""`"sales$partitions"`: a row for each partition with data files, counts and bounds among them.

What the manifests say of files is summed up by DuckDB. Promise: a bound or a count stands there
where each file of the partition that needs one has it, else NULL; deleted rows are counted as well,
as Trino counts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import duckdb
import pyarrow as pa
from msgspec import Struct

from accelerator.common.arrow.spark_types import arrow_type
from accelerator.iceberg import PinnedTable
from rewrite.render.expressions import duckdb_type, quote

_COUNTS = ("record_count", "file_count", "total_size")
_FILES = "files_of_partitions"
_IDENTITY = "identity"
_PARTITION, _STATS = "partition_data", "column_stats"


class _PartitionPart(Struct, frozen=True):
    """A field of partitions: its name here, its column in DuckDB, its type."""

    name: str
    column: str
    type: str


class _BoundedColumn(Struct, frozen=True):
    """A column with bounds; by the specs in `fixed` its value is a partition's, in that field."""

    name: str
    type: str
    fixed: Mapping[int, _PartitionPart]


def schema(table: PinnedTable) -> pa.Schema:
    """Its columns: `partition` where the table has partitions, `data` where columns have bounds."""
    parts, columns = _parts(table), _columns(table)
    fields: list[tuple[str, pa.DataType]] = []
    if parts:
        types = [(one.name, arrow_type(one.type)) for one in parts.values()]
        fields.append(("partition", pa.struct(types)))
    fields += [(one, pa.int64()) for one in _COUNTS]
    if columns:
        fields.append(("data", pa.struct([(one.name, _bounds(one)) for one in columns])))
    return pa.schema(fields)


def rows(table: PinnedTable, connection: duckdb.DuckDBPyConnection) -> pa.Table:
    """Its rows. CatalogError where a manifest can't be read."""
    parts, columns = _parts(table), _columns(table)
    files = table.file_table()
    paths: list[tuple[str, ...]] = [
        (one,) for one in ("content", "spec_id", "record_count", "file_size_in_bytes")
    ]
    paths += files.paths(_PARTITION)
    paths += files.paths(_STATS, [one.name for one in columns])
    connection.register(_FILES, table.file_metadata(files, paths))
    try:
        return connection.sql(_sql(table, parts, columns)).to_arrow_table().cast(schema(table))
    finally:
        connection.unregister(_FILES)


def _bounds(column: _BoundedColumn) -> pa.DataType:
    value = arrow_type(column.type)
    counts = (("null_count", pa.int64()), ("nan_count", pa.int64()))
    return pa.struct([("min", value), ("max", value), *counts])


def _parts(table: PinnedTable) -> dict[int, _PartitionPart]:
    """The fields of all specs by id, but for those of dropped columns; with their first names."""
    files = table.file_table()
    named = {leaf.field_id: name for name, leaf in files.parts.items()}
    found: dict[int, _PartitionPart] = {}
    taken: set[str] = set()
    for spec in table.metadata.partition_specs:
        for field in spec.fields:
            id = field.field_id
            if id in found or table.schema.find_column_name(field.source_id) is None:
                continue
            inner = named[id]
            name = inner if field.name.lower() in taken else field.name
            taken.add(name.lower())
            path = (_PARTITION, inner)
            found[id] = _PartitionPart(name, ".".join(path), files.type_of(path))
    return found


def _columns(table: PinnedTable) -> list[_BoundedColumn]:
    """The columns that have bounds, and that the table's spec doesn't partition by as they are."""
    files, parts = table.file_table(), _parts(table)
    current = _fixed(table, [table.metadata.spec().spec_id])
    specs = [one.spec_id for one in table.metadata.partition_specs]
    found = []
    for field in table.schema.fields:
        leaf = files.leaves.get(field.name)
        if leaf is None or leaf.field_id != field.field_id or field.field_id in current:
            continue
        fixed = {
            spec: parts[by[field.field_id]]
            for spec in specs
            if field.field_id in (by := _fixed(table, [spec]))
        }
        type_ = files.type_of((_STATS, field.name, "lower_bound"))
        found.append(_BoundedColumn(field.name, type_, fixed))
    return found


def _fixed(table: PinnedTable, specs: Iterable[int]) -> dict[int, int]:
    """By column the field of partitions that has its value as it is."""
    chosen = set(specs)
    return {
        field.source_id: field.field_id
        for spec in table.metadata.partition_specs
        if spec.spec_id in chosen
        for field in spec.fields
        if field.transform == _IDENTITY
    }


def _sql(
    table: PinnedTable, parts: Mapping[int, _PartitionPart], columns: Sequence[_BoundedColumn]
) -> str:
    keys = [_name(one.column) for one in parts.values()]
    shown = []
    if parts:
        packed = _packed(
            (one.name, f"CAST({_name(one.column)} AS {duckdb_type(one.type)})")
            for one in parts.values()
        )
        shown.append(f"{packed} AS partition")
    shown += [
        f"{_whole('record_count')} AS record_count",
        "CAST(count(*) AS BIGINT) AS file_count",
        f"{_whole('file_size_in_bytes')} AS total_size",
    ]
    if columns:
        packed = _packed((one.name, _summed_up(one)) for one in columns)
        shown.append(f"{packed} AS data")
    # Specs of the same fields have the same partitions.
    by = ", ".join((_shape(table), *keys))
    return f"SELECT {', '.join(shown)} FROM {_FILES} WHERE content = 0 GROUP BY {by}"


def _shape(table: PinnedTable) -> str:
    """What tells specs of different fields apart."""
    first: dict[tuple[int, ...], int] = {}
    cases = []
    for spec in table.metadata.partition_specs:
        shape = tuple(field.field_id for field in spec.fields)
        same = first.setdefault(shape, spec.spec_id)
        cases.append(f"WHEN {spec.spec_id} THEN {same}")
    return f"CASE spec_id {' '.join(cases)} END"


def _summed_up(column: _BoundedColumn) -> str:
    """The bounds and counts of a column; NULL where nothing is known of it."""
    stat = [_name(".".join((_STATS, column.name, one))) for one in _TOLD]
    lower, upper, nulls, nans = stat
    held = f"{nulls} IS NULL OR {nulls} <> record_count"
    for spec, part in column.fixed.items():
        value = f"CAST({_name(part.column)} AS {duckdb_type(column.type)})"
        here = f"CASE WHEN spec_id = {spec} THEN"
        lower, upper = (f"{here} {value} ELSE {one} END" for one in (lower, upper))
        lacking = f"CASE WHEN {value} IS NULL THEN record_count ELSE 0 END"
        nulls = f"{here} {lacking} ELSE {nulls} END"
        held = f"{here} {value} IS NOT NULL ELSE {held} END"
    least, greatest = _bound("min", lower, held), _bound("max", upper, held)
    counted = _whole(nulls)
    packed = _packed(
        (("min", least), ("max", greatest), ("null_count", counted), ("nan_count", _whole(nans)))
    )
    unknown = " AND ".join(f"{one} IS NULL" for one in (least, greatest, counted))
    return f"CASE WHEN {unknown} THEN NULL ELSE {packed} END"


_TOLD = ("lower_bound", "upper_bound", "null_value_count", "nan_value_count")


def _bound(function: str, value: str, held: str) -> str:
    """Over the files that have a value; NULL where one of them doesn't tell its bound."""
    untold = f"count(*) FILTER (WHERE ({held}) AND ({value}) IS NULL)"
    return f"CASE WHEN {untold} = 0 THEN {function}({value}) FILTER (WHERE {held}) END"


def _whole(value: str) -> str:
    """The sum, where each file has a number."""
    return f"CASE WHEN count(*) = count({value}) THEN CAST(sum({value}) AS BIGINT) END"


def _packed(fields: Iterable[tuple[str, str]]) -> str:
    return f"struct_pack({', '.join(f'{_name(name)} := {value}' for name, value in fields)})"


def _name(name: str) -> str:
    return quote(name, "duckdb")
