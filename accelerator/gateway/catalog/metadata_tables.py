"""Tables of metadata behind a table's name, as Trino has them: `"sales$snapshots"` and others.

Their rows come from the table's newest metadata and its lists of manifests; no data file is read.
`"sales$partitions"` is `partitions_table.py`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import duckdb
import pyarrow as pa
from msgspec import Struct

from accelerator.gateway.catalog import partitions_table
from accelerator.gateway.catalog.masking import (
    Reads,
    masked_location,
    masked_properties,
    masked_value,
)
from accelerator.gateway.catalog.schemas import TrinoTable
from accelerator.gateway.trino.types import displayed
from accelerator.iceberg import PinnedTable

_Row = Mapping[str, Any]
_MS = pa.timestamp("ms", tz="UTC")
_SUMMARY = pa.struct(
    [
        ("contains_null", pa.bool_()),
        ("contains_nan", pa.bool_()),
        ("lower_bound", pa.string()),
        ("upper_bound", pa.string()),
    ]
)


def _history(table: PinnedTable, _reads: Reads) -> Iterator[_Row]:
    metadata = table.metadata
    parents = {one.snapshot_id: one.parent_snapshot_id for one in metadata.snapshots}
    ancestors: set[int] = set()
    one = metadata.current_snapshot_id
    while one is not None and one in parents and one not in ancestors:
        ancestors.add(one)
        one = parents[one]
    for entry in metadata.snapshot_log:
        yield {
            "made_current_at": entry.timestamp_ms,
            "snapshot_id": entry.snapshot_id,
            "parent_id": parents.get(entry.snapshot_id),
            "is_current_ancestor": entry.snapshot_id in ancestors,
        }


def _snapshots(table: PinnedTable, _reads: Reads) -> Iterator[_Row]:
    for one in table.metadata.snapshots:
        summary = one.summary
        yield {
            "committed_at": one.timestamp_ms,
            "snapshot_id": one.snapshot_id,
            "parent_id": one.parent_snapshot_id,
            "operation": one.operation,
            "manifest_list": masked_location(one.manifest_list),
            "summary": None
            if summary is None
            else [(key, masked_value(key, value)) for key, value in one.figures.items()],
        }


def _refs(table: PinnedTable, _reads: Reads) -> Iterator[_Row]:
    for name, one in table.metadata.refs.items():
        yield {
            "name": name,
            "type": one.kind.upper(),
            "snapshot_id": one.snapshot_id,
            "max_reference_age_in_ms": one.max_ref_age_ms,
            "min_snapshots_to_keep": one.min_snapshots_to_keep,
            "max_snapshot_age_in_ms": one.max_snapshot_age_ms,
        }


def _properties(table: PinnedTable, reads: Reads) -> Iterator[_Row]:
    shown = masked_properties(table.properties, reads)
    return ({"key": key, "value": value} for key, value in shown.items())


def _manifests(table: PinnedTable, _reads: Reads) -> Iterator[_Row]:
    for one in table.manifest_summaries():
        yield {**one, "path": masked_location(one["path"])}


def _log(table: PinnedTable, _reads: Reads) -> Iterator[_Row]:
    """The files of metadata, each with the snapshot that was the newest as it was written."""
    metadata = table.metadata
    known = {one.snapshot_id: one for one in metadata.snapshots}
    files = [(one.timestamp_ms, one.metadata_file) for one in metadata.metadata_log]
    for moment, file in [*files, (metadata.last_updated_ms, table.metadata_location)]:
        made = [one.snapshot_id for one in metadata.snapshot_log if one.timestamp_ms <= moment]
        snapshot = known.get(made[-1]) if made else None
        yield {
            "timestamp": moment,
            "file": masked_location(file),
            "latest_snapshot_id": made[-1] if made else None,
            "latest_schema_id": None if snapshot is None else snapshot.schema_id,
            "latest_sequence_number": None if snapshot is None else snapshot.sequence_number,
        }


class _Kind(Struct, frozen=True):
    """The columns of such a table, and its rows."""

    schema: pa.Schema
    rows: Callable[[PinnedTable, Reads], Iterator[_Row]]


def _kind(rows: Callable[[PinnedTable, Reads], Iterator[_Row]], **columns: pa.DataType) -> _Kind:
    return _Kind(pa.schema(list(columns.items())), rows)


_KINDS: Mapping[str, _Kind] = {
    "history": _kind(
        _history,
        made_current_at=_MS,
        snapshot_id=pa.int64(),
        parent_id=pa.int64(),
        is_current_ancestor=pa.bool_(),
    ),
    "manifests": _kind(
        _manifests,
        content=pa.int32(),
        path=pa.string(),
        length=pa.int64(),
        partition_spec_id=pa.int32(),
        added_snapshot_id=pa.int64(),
        added_data_files_count=pa.int32(),
        added_rows_count=pa.int64(),
        existing_data_files_count=pa.int32(),
        existing_rows_count=pa.int64(),
        deleted_data_files_count=pa.int32(),
        deleted_rows_count=pa.int64(),
        partition_summaries=pa.list_(_SUMMARY),
    ),
    "metadata_log_entries": _kind(
        _log,
        timestamp=_MS,
        file=pa.string(),
        latest_snapshot_id=pa.int64(),
        latest_schema_id=pa.int32(),
        latest_sequence_number=pa.int64(),
    ),
    "properties": _kind(_properties, key=pa.string(), value=pa.string()),
    "refs": _kind(
        _refs,
        name=pa.string(),
        type=pa.string(),
        snapshot_id=pa.int64(),
        max_reference_age_in_ms=pa.int64(),
        min_snapshots_to_keep=pa.int32(),
        max_snapshot_age_in_ms=pa.int64(),
    ),
    "snapshots": _kind(
        _snapshots,
        committed_at=_MS,
        snapshot_id=pa.int64(),
        parent_id=pa.int64(),
        operation=pa.string(),
        manifest_list=pa.string(),
        summary=pa.map_(pa.string(), pa.string()),
    ),
}
PARTITIONS = "partitions"
SUFFIXES = frozenset(f"${one}" for one in (*_KINDS, PARTITIONS))
"""The ends of their names."""


def parts_of(name: str) -> tuple[str, str] | None:
    """The table's own name, and which table of metadata is meant; None for any other name.

    >>> parts_of("sales$Snapshots"), parts_of("sales")
    (('sales', 'snapshots'), None)
    """
    begin, dollar, end = name.rpartition("$")
    end = end.lower()
    return (begin, end) if begin and f"{dollar}{end}" in SUFFIXES else None


def described(kind: str, table: PinnedTable) -> TrinoTable:
    """The columns of the table of metadata, with Trino's types."""
    schema = partitions_table.schema(table) if kind == PARTITIONS else _KINDS[kind].schema
    return TrinoTable({field.name: displayed(field) for field in schema})


def rows(
    kind: str, table: PinnedTable, connection: duckdb.DuckDBPyConnection, reads: Reads
) -> pa.Table:
    """Its rows for who reads the tables that `reads` allows; they may use the connection.

    CatalogError where a manifest can't be read, UntranslatedError where a text isn't certain.
    """
    if kind == PARTITIONS:
        return partitions_table.rows(table, connection)
    found = _KINDS[kind]
    told = [dict(row) for row in found.rows(table, reads)]
    return pa.Table.from_pylist(told, schema=found.schema)
