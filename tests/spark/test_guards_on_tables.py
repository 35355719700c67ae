"""Guards over Spark's tables and views: transforms, states, and what a temporary view hides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from accelerator.errors import FilesGuardError, PartitionGuardError
from accelerator.session.session import Accelerator

pytestmark = pytest.mark.spark


@pytest.fixture
def acc(spark_warehouse, tmp_path: Path) -> Iterator[Accelerator]:
    store = str(tmp_path / "store")
    acc = spark_warehouse.live(store=store, guard_partitions=True, guard_files_max=2)
    yield acc
    acc.close()


def test_a_table_by_days(spark_warehouse, acc: Accelerator) -> None:
    wh = spark_warehouse
    name = wh.table("k INT, ts TIMESTAMP", clauses="PARTITIONED BY (days(ts))")
    table = f"lake.d.{name}"
    wh.sql(
        f"INSERT INTO {table} SELECT id, timestamp_seconds(1700000000 + id * 86400) FROM range(5)"
    )
    first = wh.sql(f"SELECT snapshot_id FROM {table}.snapshots")[0][0]
    wh.sql(f"DELETE FROM {table} WHERE ts >= '2023-11-16'")
    late = f"SELECT k FROM {table} {{}} WHERE ts >= '2023-11-17'"
    assert acc.query(f"SELECT k FROM {table} WHERE ts > '1970-01-01'").arrow().num_rows == 2
    for run in (acc.query, acc.sql):
        with pytest.raises(PartitionGuardError):
            run(f"SELECT k FROM {table} WHERE k = 1")
        with pytest.raises(FilesGuardError):
            run(f"SELECT k FROM {table} VERSION AS OF {first} WHERE ts > '1970-01-01'")
    state = f"VERSION AS OF {first}"
    assert acc.query(late.format(state) + " AND ts < '2023-11-19'").arrow().num_rows == 2
    assert acc.sql(late.format("")).count() == 0
    spark = acc.spark
    spark.sql(f"CREATE TEMPORARY VIEW {name} AS SELECT 1 AS k")
    try:
        assert acc.query(f"SELECT k FROM {name}").arrow().num_rows == 1
    finally:
        spark.catalog.dropTempView(name)
