"""Sketches beside those of Iceberg's compute_table_stats over real Spark, and their vacuum."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

from accelerator.iceberg import PinnedTable
from accelerator.iceberg.statistics.sketches import sketch_files
from accelerator.services.statistics.read import content, opened
from accelerator.services.statistics.sketches.theta import THETA, Theta, parsed
from accelerator.session.session import Accelerator
from indexes.puffin import footer_of
from tests.spark.conftest import SparkWarehouse
from tests.support.equality_deletes import write_equality_deletes

pytestmark = pytest.mark.spark
LIVE = True
ROWS = 12_000
_DAY = date(2020, 1, 1)
_MOMENT, _MORE = datetime(2020, 1, 1), timedelta(seconds=1, microseconds=7)
TYPES: list[tuple[str, IcebergType, pa.DataType, object]] = [
    ("id", LongType(), pa.int64(), lambda n: n),
    ("i", IntegerType(), pa.int32(), lambda n: n % 97 - 40),
    ("f", FloatType(), pa.float32(), lambda n: (-0.0, 0.0, float("inf"))[n] if n < 3 else n / 8),
    ("d", DoubleType(), pa.float64(), lambda n: None if n % 5 == 0 else n / 7),
    ("p", DecimalType(20, 3), pa.decimal128(20, 3), lambda n: Decimal(n * n - 7000).scaleb(-3)),
    ("q", DecimalType(38, 2), pa.decimal128(38, 2), lambda n: Decimal(-n) * 10**30),
    ("day", DateType(), pa.date32(), lambda n: _DAY + timedelta(n % 700)),
    (
        "t",
        TimestampType(),
        pa.timestamp("us"),
        lambda n: _MOMENT + timedelta(seconds=n, microseconds=7),
    ),
    ("z", TimestamptzType(), pa.timestamp("us", "UTC"), lambda n: _MOMENT - timedelta(hours=n)),
    ("s", StringType(), pa.string(), lambda n: "" if n == 0 else f"text ä {n}"),
    ("b", BinaryType(), pa.binary(), lambda n: bytes([n % 256]) * (n % 40)),
    ("o", BooleanType(), pa.bool_(), lambda n: n % 3 == 0),
    ("x", FixedType(5), pa.binary(5), lambda n: b"%05d" % (n % 400)),
    ("u", UUIDType(), pa.binary(16), lambda n: uuid.UUID(int=n).bytes),
]


@pytest.fixture
def session(spark_warehouse: SparkWarehouse, tmp_path: Path) -> Iterator[Accelerator]:
    """A session with a store of its own that keeps nothing for time's sake."""
    with spark_warehouse.attach(store=str(tmp_path / "store"), vacuum_retain_hours=0) as acc:
        yield acc


@pytest.fixture
def table(spark_warehouse: SparkWarehouse) -> str:
    """A table of two data files of every type, with rows deleted by position and by value."""
    catalog = SqlCatalog("lake", **spark_warehouse.catalogs[0].properties)
    name = f"sketched{next(spark_warehouse.numbers)}"
    fields = [NestedField(n + 1, c, t, required=False) for n, (c, t, *_) in enumerate(TYPES)]
    properties = {"write.delete.mode": "merge-on-read", "format-version": "2"}
    made = catalog.create_table(f"d.{name}", Schema(*fields), properties=properties)
    for some in (range(ROWS // 2), range(ROWS // 2, ROWS)):
        made.append(
            pa.table({c: pa.array([of(n) for n in some], kind) for c, _, kind, of in TYPES})
        )
    catalog.engine.dispose()
    spark_warehouse.sql(f"DELETE FROM lake.d.{name} WHERE id % 10 = 3")
    write_equality_deletes(
        spark_warehouse, name, pa.table({"id": pa.array([7, 8, ROWS], pa.int64())})
    )
    return name


def _thetas(pinned: PinnedTable) -> dict[int, tuple[Theta, int]]:
    """The theta sketches of the pinned snapshot by field id, each with what is told of it."""
    (file,) = [one for one in sketch_files(pinned.metadata, pinned.snapshot) if one.pinned]
    with opened(pinned, file) as (read, size):
        return {
            blob.fields[0]: (parsed(content(read, blob)), int(blob.properties["ndv"]))
            for blob in footer_of(read, size)
            if blob.type == THETA
        }


def test_hashes_are_those_of_iceberg_s_own_procedure(
    spark_warehouse: SparkWarehouse, session: Accelerator, table: str
) -> None:
    done = session.build_statistics(f"lake.d.{table}")
    assert done.mode == "whole" and done.rows_read == ROWS * 9 // 10 - 2
    ours = _thetas(spark_warehouse.pinned(table))
    session.query(f"DROP STATISTICS ON lake.d.{table}")
    names = ", ".join(f"'{c}'" for c, *_ in TYPES if c != "u")
    call = f"CALL lake.system.compute_table_stats(table => 'd.{table}', columns => array({names}))"
    spark_warehouse.sql(call)
    theirs = _thetas(spark_warehouse.pinned(table))
    assert theirs.keys() == ours.keys() - {len(TYPES)}
    for number, (one, ndv) in theirs.items():
        name, (mine, own) = TYPES[number - 1][0], ours[number]
        theta = np.uint64(min(one.theta, mine.theta))
        assert len(one.hashes) and set(one.hashes[one.hashes < theta].tolist()) == set(
            mine.hashes[mine.hashes < theta].tolist()
        ), name
        assert mine.merged(one).estimate == pytest.approx(mine.estimate, rel=0.05), name
        if one.is_exact:
            assert mine.is_exact and ndv == own == len(one.hashes), name
        else:
            assert ndv == pytest.approx(own, rel=0.08), name
    exact = {name for number, (name, *_) in enumerate(TYPES, 1) if ours[number][0].is_exact}
    assert exact == {"i", "day", "b", "o", "x"}
    # A file of theirs is gone on with column by column: what isn't ours is read whole, or stays.
    done = session.build_statistics(f"lake.d.{table}", columns=["i"])
    assert done.mode == "whole"
    kept = _thetas(spark_warehouse.pinned(table))
    assert {n: ndv for n, (_, ndv) in kept.items()} == {n: ndv for n, (_, ndv) in theirs.items()}


def test_a_vacuum_takes_orphans_and_leaves_what_is_in_use(
    spark_warehouse: SparkWarehouse, session: Accelerator, table: str
) -> None:
    first = session.build_statistics(f"lake.d.{table}", columns=["i"])
    second = session.build_statistics(f"lake.d.{table}", columns=["i", "s"])
    old, new = (Path(str(one.path).removeprefix("file://")) for one in (first, second))
    left = time.time() - 10 * 24 * 3600
    for path in old.parent.glob("*.stats"):
        os.utime(path, (left, left))
    assert old.exists() and new.exists()
    session.vacuum(f"lake.d.{table}", full=True, snapshots=True)
    assert not old.exists() and new.exists()
    assert session.build_statistics(f"lake.d.{table}", columns=["s"]).mode == "current"


def test_a_table_of_format_3_with_deletion_vectors(
    spark_warehouse: SparkWarehouse, session: Accelerator
) -> None:
    """PyIceberg can't write its metadata, so that it's edited as it stands."""
    name = spark_warehouse.table("k INT, v STRING", version=3)
    spark_warehouse.sql(
        f"INSERT INTO lake.d.{name} SELECT CAST(id AS INT), concat('v', id % 5)"
        " FROM range(0, 500, 1, 1)"
    )
    spark_warehouse.sql(f"DELETE FROM lake.d.{name} WHERE k % 2 = 0")
    assert session.build_statistics(f"lake.d.{name}").rows_read == 250
    shown = session.query(f"SHOW STATISTICS ON lake.d.{name}").arrow().to_pylist()
    assert [row["distinct_values"] for row in shown] == [250, 5]
    assert shown[1]["heavy_hitter_counts"] == [50] * 5
    spark_warehouse.sql(f"INSERT INTO lake.d.{name} SELECT 10000, 'new'")
    done = session.build_statistics(f"lake.d.{name}")  # Spark has read and written it in between
    assert (done.mode, done.files_read, done.rows_read) == ("incremental", 1, 1)
    spark_warehouse.sql(f"REFRESH TABLE lake.d.{name}")
    spark_warehouse.sql(f"ALTER TABLE lake.d.{name} SET TBLPROPERTIES ('a' = 'b')")
    assert session.build_statistics(f"lake.d.{name}").mode == "current"
