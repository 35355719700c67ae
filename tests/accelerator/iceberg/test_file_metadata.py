"""What manifests say as rows: values that Python or Spark have no place for, names used twice."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import time
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    DateType,
    DecimalType,
    LongType,
    NestedField,
    PrimitiveType,
    TimestampNanoType,
    TimestamptzNanoType,
    TimeType,
)

import accelerator
from accelerator.iceberg.tables.files_table import PLAIN, _bounds, _Leaf, nested
from accelerator.session.session import Accelerator

_WIDE = Decimal("-1234567890123456789012345678.0123456789")
_FAR = 3_663_000  # days, in the year 11998
_SCHEMA = Schema(
    NestedField(1, "k", LongType()),
    NestedField(2, "at", TimeType()),
    NestedField(3, "wide", DecimalType(38, 10)),
)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    properties = {"uri": f"sqlite:///{tmp_path / 'catalog.db'}", "warehouse": f"file://{tmp_path}/"}
    catalog = SqlCatalog("lake", **properties)
    catalog.create_namespace("d")
    yield catalog
    catalog.close()


@pytest.fixture
def acc(catalog: SqlCatalog, tmp_path: Path) -> Iterator[Accelerator]:
    with accelerator.open(tmp_path) as session:
        yield session


def _append(table: Table, k: int) -> None:
    rows = {
        "k": pa.array([k], pa.int64()),
        "at": pa.array([time(10, 0, 1, 250)], pa.time64("us")),
        "wide": pa.array([_WIDE], pa.decimal128(38, 10)),
    }
    table.append(pa.table(rows))


def _files(acc: Accelerator) -> pa.Table:
    table = acc.services.lake.pin().described(("d", "t"))
    assert table is not None
    files = table.file_table()
    paths = [path for name in PLAIN for path in files.paths(name)]
    return nested(table.file_metadata(files, paths), PLAIN, paths)


@pytest.mark.parametrize("partitioned", [False, True])
def test_values(catalog: SqlCatalog, acc: Accelerator, partitioned: bool) -> None:
    """Of all digits, and as text where Spark has no such type."""
    fields = [
        PartitionField(f.field_id, 1000 + f.field_id, IdentityTransform(), f.name)
        for f in _SCHEMA.fields[1:]
    ]
    spec = PartitionSpec(*fields) if partitioned else PartitionSpec()
    _append(catalog.create_table("d.t", _SCHEMA, partition_spec=spec), 1)
    files = _files(acc)
    told = {"at": "10:00:01.000250", "wide": _WIDE}
    [stats] = files["column_stats"].to_pylist()
    assert {name: stats[name]["lower_bound"] for name in told} == told
    assert files["partition_data"].to_pylist() == [told if partitioned else {}]


def test_a_name_that_partition_fields_had_one_after_the_other(
    catalog: SqlCatalog, acc: Accelerator
) -> None:
    table = catalog.create_table("d.t", _SCHEMA)
    for source in ("k", "at", "wide"):
        with table.update_spec() as change:
            if table.spec().fields:
                change.remove_field("p")
        with table.update_spec() as change:
            change.add_field(source, IdentityTransform(), "p")
        _append(table, 17)
    told = {"p_1000": 17, "p_1001": "10:00:01.000250", "p": _WIDE}
    found = _files(acc)["partition_data"].to_pylist()
    assert all(set(partition) == set(told) for partition in found)
    for name, value in told.items():
        assert sorted(map(str, (p[name] for p in found))) == sorted(["None", "None", str(value)])


def test_values_past_pythons_own() -> None:
    def shown(kind: PrimitiveType, width: str, *values: int) -> list[str]:
        raw = pa.array([struct.pack(width, value) for value in values], pa.binary())
        return [str(one) for one in _bounds(raw, _Leaf("x", 1, kind)).cast(pa.string())]

    assert shown(DateType(), "<i", _FAR) == ["11998-12-15"]
    assert shown(TimestampNanoType(), "<q", 1) == ["1970-01-01 00:00:00.000000001"]
    assert shown(TimestamptzNanoType(), "<q", -1) == ["1969-12-31 23:59:59.999999999Z"]
    assert shown(TimeType(), "<q", 86_399_999_999, 86_400_000_000, -1) == [
        "23:59:59.999999",
        *("None", "None"),
    ]
