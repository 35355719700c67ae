"""Equality deletes, as a streaming writer commits them: Spark itself writes none."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from accelerator.engines.jvm import java_errors
from accelerator.engines.spark import SparkEngine
from accelerator.iceberg.io import local_path
from tests.support.warehouse import SparkWarehouse


def write_equality_delete(wh: SparkWarehouse, name: str, keys: list[int]) -> None:
    """Commit an equality delete of `k`, as a streaming writer would, by Iceberg's Java API."""
    wh.step(f"equality delete of {name}: {keys}", lambda engine: _write(wh, engine, name, keys))


def _write(wh: SparkWarehouse, engine: SparkEngine, name: str, keys: list[int]) -> None:
    pinned = wh.pinned(name)
    field_id = pinned.facts.column("k").field_id
    schema = pa.schema(
        [pa.field("k", pa.int32(), metadata={b"PARQUET:field_id": b"%d" % field_id})]
    )
    path = Path(str(local_path(pinned.location))) / "data" / f"eq-{uuid4().hex}.parquet"
    pq.write_table(pa.table({"k": pa.array(keys, pa.int32())}, schema=schema), path)
    table = engine.load(pinned.parts)
    gateway = engine.session.sparkContext._gateway
    ids = gateway.new_array(gateway.jvm.int, 1)
    ids[0] = field_id
    builder = engine.jvm.static(
        "org.apache.iceberg.FileMetadata", "deleteFileBuilder", table.spec()
    )
    with java_errors():
        delete = (
            builder.ofEqualityDeletes(ids)
            .withPath(f"file:{path}")
            .withFormat("parquet")
            .withFileSizeInBytes(path.stat().st_size)
            .withRecordCount(len(keys))
            .build()
        )
        table.newRowDelta().addDeletes(delete).commit()
