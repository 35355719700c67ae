"""Equality deletes, as a streaming writer commits them: Spark itself writes none."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from accelerator.engines.spark.engine import SparkEngine
from accelerator.engines.spark.jvm.errors import java_errors
from accelerator.iceberg.io import local_path
from tests.support.warehouse import SparkWarehouse


def write_equality_delete(wh: SparkWarehouse, name: str, keys: list[int]) -> None:
    """Commit an equality delete of `k`, as a streaming writer would, by Iceberg's Java API."""
    write_equality_deletes(wh, name, pa.table({"k": pa.array(keys, pa.int32())}))


def write_equality_deletes(
    wh: SparkWarehouse, name: str, rows: pa.Table, partition: str = ""
) -> None:
    """The same of rows of several columns; within a partition, such as `g=a`, if one is named."""
    told = f"equality delete of {name}: {rows.to_pydict()} {partition}"
    wh.step(told, lambda engine: _write(wh, engine, name, rows, partition))


def _write(
    wh: SparkWarehouse, engine: SparkEngine, name: str, rows: pa.Table, partition: str
) -> None:
    pinned = wh.pinned(name)
    ids = [pinned.facts.column(one).field_id for one in rows.column_names]
    fields = [
        field.with_metadata({b"PARQUET:field_id": b"%d" % one})
        for field, one in zip(rows.schema, ids, strict=True)
    ]
    path = Path(str(local_path(pinned.location))) / "data" / f"eq-{uuid4().hex}.parquet"
    pq.write_table(pa.table(rows.columns, schema=pa.schema(fields)), path)
    table = engine.load(pinned.parts)
    gateway = engine.session.sparkContext._gateway
    compared = gateway.new_array(gateway.jvm.int, len(ids))
    for place, one in enumerate(ids):
        compared[place] = one
    builder = engine.jvm.static(
        "org.apache.iceberg.FileMetadata", "deleteFileBuilder", table.spec()
    )
    with java_errors():
        made = (
            builder.ofEqualityDeletes(compared)
            .withPath(f"file:{path}")
            .withFormat("parquet")
            .withFileSizeInBytes(path.stat().st_size)
            .withRecordCount(rows.num_rows)
        )
        if partition:
            made = made.withPartitionPath(partition)
        table.newRowDelta().addDeletes(made.build()).commit()
