"""Columns that stand in the partition alone, as importers of Hive's files leave them."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
)

import accelerator

_MOMENT = datetime.datetime(1960, 1, 2, 3, 4, 5, 678901)
_VALUES: tuple[tuple[IcebergType, Any], ...] = (
    (BooleanType(), True),
    (IntegerType(), -(2**31)),
    (LongType(), 2**63 - 1),
    (DateType(), _MOMENT.date()),
    (TimestampType(), _MOMENT),
    (StringType(), "ä😀"),
    (BinaryType(), b"\xff\0"),
    (DecimalType(9, 2), Decimal("-0.02")),
    (DecimalType(38, 10), Decimal("-1234567890123456789012345678.0123456789")),
)


@pytest.mark.parametrize(("kind", "value"), _VALUES, ids=lambda one: str(one)[:20])
def test_a_file_without_its_partitions_column(
    kind: IcebergType, value: Any, tmp_path: Path
) -> None:
    uri = f"sqlite:///{tmp_path / 'catalog.db'}"
    catalog = SqlCatalog("lake", uri=uri, warehouse=f"file://{tmp_path}/")
    catalog.create_namespace("d")
    schema = Schema(
        NestedField(1, "id", IntegerType(), required=False),
        NestedField(2, "p", kind, required=False),
    )
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "p"))
    table = catalog.create_table("d.t", schema, partition_spec=spec)
    type_ = table.schema().as_arrow().field("p").type
    for number, one in enumerate((value, None)):
        ids = pa.array([number], pa.int32())
        table.append(pa.table({"id": ids, "p": pa.array([one], type_)}))
    for file in table.inspect.files().to_pylist():
        path = file["file_path"].removeprefix("file://")
        pq.write_table(pq.ParquetFile(path).read().drop_columns(["p"]), path)
    with accelerator.open(tmp_path) as acc:
        pinned = acc.services.lake.pin().pinned(("d", "t"))
        assert pinned is not None
        rows = pinned.arrow(["id", "p"]).to_pylist()
    assert {row["id"]: row["p"] for row in rows} == {0: value, 1: None}
