"""What a snapshot's list of manifests says of each: counts of files and rows, ranges of partitions.

For who looks at a table's metadata; plans rest on `manifests/`, which reads less of it. Texts of
bounds are those that Iceberg has for people: `2021-01-12`, `7`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from pyiceberg.conversions import from_bytes
from pyiceberg.partitioning import PartitionField
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    PrimitiveType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
)

from accelerator.errors import UNFIT, UntranslatedError
from accelerator.iceberg.io import Inputs
from accelerator.iceberg.manifests.avro_container import damaged
from accelerator.iceberg.manifests.manifest_file import PartitionSummary
from accelerator.iceberg.manifests.reader import read_summaries
from accelerator.iceberg.tables.metadata import IcebergSnapshot

_OTHERWISE = (
    *(FloatType, DoubleType, TimeType),
    *(TimestampType, TimestamptzType, TimestampNanoType, TimestamptzNanoType),
)
"""Types of which Iceberg's libraries don't write the same text."""
_DECIMAL_BYTES_MAX = 16


def manifest_summaries(
    inputs: Inputs, metadata: TableMetadata, snapshot: IcebergSnapshot
) -> list[dict[str, Any]]:
    """A row for each manifest of the snapshot, in the list's order; counts None where unknown.

    UntranslatedError for partitions whose bounds have no certain text; errors of a list that can't
    be read as for `read_list`.
    """
    fields = {spec.spec_id: spec.fields for spec in metadata.partition_specs}
    schemas = [metadata.schema(), *reversed(metadata.schemas)]
    rows = []
    for listed in read_summaries(inputs, snapshot.manifest_list):
        one, counts = listed.manifest, listed.row_counts
        of = fields.get(one.partition_spec_id, ())
        rows.append(
            {
                "content": one.content,
                "path": one.manifest_path,
                "length": one.manifest_length,
                "partition_spec_id": one.partition_spec_id,
                "added_snapshot_id": one.added_snapshot_id,
                "added_data_files_count": one.added_files_count,
                "added_rows_count": counts["added_rows_count"],
                "existing_data_files_count": one.existing_files_count,
                "existing_rows_count": counts["existing_rows_count"],
                "deleted_data_files_count": one.deleted_files_count,
                "deleted_rows_count": counts["deleted_rows_count"],
                "partition_summaries": [
                    _summary(summary, field, schemas)
                    for field, summary in zip(of, listed.summaries, strict=False)
                ],
            }
        )
    return rows


def _summary(
    summary: PartitionSummary, field: PartitionField, schemas: Iterable[Schema]
) -> dict[str, Any]:
    source = next(_types(field, schemas), None)
    return {
        "contains_null": summary.contains_null,
        "contains_nan": summary.contains_nan,
        "lower_bound": bound_text(summary.lower_bound, field, source),
        "upper_bound": bound_text(summary.upper_bound, field, source),
    }


def _types(field: PartitionField, schemas: Iterable[Schema]) -> Iterator[IcebergType]:
    """The types that the column has, or had, the newest first."""
    return (s.find_type(field.source_id) for s in schemas if _has(s, field.source_id))


def _has(schema: Schema, field_id: int) -> bool:
    return schema.find_column_name(field_id) is not None


def bound_text(raw: bytes | None, field: PartitionField, source: IcebergType | None) -> str | None:
    """A bound as a text; None where nobody knows the column's type any more."""
    if source is None:
        return None
    if raw is None:
        return "null"
    kind = field.transform.result_type(source)
    if isinstance(field.transform, IdentityTransform) and isinstance(source, _OTHERWISE):
        raise UntranslatedError(
            f"bounds of partitions by {source} have no certain text",
            hint="the table's $partitions has them as values",
        )
    if not isinstance(kind, PrimitiveType):
        return None
    try:
        return _human(raw, field, source, kind)
    except (*UNFIT, struct.error) as error:
        raise damaged(f"a partition's bound isn't a value of type {kind}") from error


def _human(raw: bytes, field: PartitionField, source: IcebergType, kind: PrimitiveType) -> str:
    if isinstance(kind, DecimalType) and len(raw) > _DECIMAL_BYTES_MAX:
        raise ValueError("a decimal of more bytes than one can have")
    value: Any = from_bytes(kind, raw)
    if isinstance(value, bool | Decimal):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return field.transform.to_human_string(source, value)
