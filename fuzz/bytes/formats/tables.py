"""A table's metadata file: parsed, and asked for a state as a statement's pin asks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.table.statistics import BlobMetadata, StatisticsFile
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.types import DecimalType, LongType, NestedField, StringType, TimestampType

from accelerator.errors import AcceleratorError
from accelerator.iceberg.catalogs.readers import Pointer
from accelerator.iceberg.pins.named_table import loaded_from
from accelerator.iceberg.statistics.sketches import THETA, sketched
from accelerator.iceberg.tables.partition_specs import (
    identity_of,
    ordered_fields,
    partition_fields,
    unpartitioned,
)
from accelerator.iceberg.tables.schema import resolve_state, table_facts
from accelerator.iceberg.tables.transforms import transforms_of
from accelerator.iceberg.tables.unreadable import Unparsed, state_refusal
from fuzz.bytes.kinds import Format, Input, Step, WrongError
from rewrite.facts import At


def _samples() -> Sequence[Input]:
    schema = Schema(
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "at", TimestampType()),
        NestedField(3, "name", StringType()),
        NestedField(4, "price", DecimalType(9, 2)),
    )
    spec = PartitionSpec(
        PartitionField(2, 1000, DayTransform(), "day"),
        PartitionField(1, 1001, BucketTransform(8), "bucket"),
    )
    order = SortOrder(SortField(1, IdentityTransform()))
    made = new_table_metadata(schema, spec, order, "file:///w/t", {"write.format.default": "x"})
    shots = [_snapshot(77 + at, at + 1, made.last_updated_ms + at) for at in range(3)]
    blob: dict[str, Any] = {"type": THETA, "snapshot_id": 78, "sequence_number": 2, "fields": [1]}
    told: dict[str, Any] = {
        "snapshot_id": 78,
        "statistics_path": "file:///w/t/s.puffin",
        "file_size_in_bytes": 9,
        "file_footer_size_in_bytes": 4,
        "blob_metadata": [BlobMetadata(**blob, properties={"ndv": "12"})],
    }
    changes = {
        "snapshots": shots,
        "current_snapshot_id": 79,
        "statistics": [StatisticsFile(**told)],
    }
    text = made.model_copy(update={**changes, "last_sequence_number": 3}).model_dump_json()
    return [Input(text.encode())]


def _snapshot(number: int, sequence: int, time_ms: int) -> Snapshot:
    told: dict[str, Any] = {
        "snapshot_id": number,
        "parent_snapshot_id": number - 1 if sequence > 1 else None,
        "sequence_number": sequence,
        "timestamp_ms": time_ms,
        "manifest_list": f"file:///w/t/{number}.avro",
        "summary": Summary(Operation.APPEND),
        "schema_id": 0,
    }
    return Snapshot(**told)


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="fuzz-bytes"))


def _steps(given: Input) -> Iterable[Step]:
    yield partial(_pinned, given.data)


def _pinned(data: bytes) -> Any:
    path = _folder() / "v1.metadata.json"
    path.write_bytes(data)
    loaded = loaded_from(Pointer(f"file://{path}", {}))
    raw, metadata = repr(loaded.raw()), loaded.parsed
    if isinstance(metadata, Unparsed):
        raise metadata.refusal(At()).error("t")
    snapshot, schema = resolve_state("t", metadata, At())
    facts = table_facts("t", metadata, (snapshot.snapshot_id if snapshot else None, schema))
    figures = sketched(metadata, snapshot)
    if any(one.distinct < 0 for one in figures.values()):
        raise WrongError("fewer values than none")
    asked = (transforms_of, identity_of, ordered_fields, unpartitioned)
    told = [repr(one(metadata)) for one in asked]
    refusal = state_refusal(metadata, schema, At())
    return repr((facts, figures, told, partition_fields(metadata, schema), raw, refusal))


FORMATS = (Format("table metadata", _samples, _steps, (AcceleratorError,), text=True),)
