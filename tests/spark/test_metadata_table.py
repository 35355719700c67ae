"""`t$logical_iceberg_metadata` against Iceberg's own metadata tables."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from accelerator.errors import NotIcebergError, StatementError, UnknownTableError
from accelerator.session.session import Accelerator
from tests.spark.every_type import COLUMNS, ROW
from tests.support.equality_deletes import write_equality_delete

pytestmark = pytest.mark.spark

_ENTRIES = (
    "SELECT data_file.*, sequence_number, file_sequence_number, readable_metrics"
    " FROM {}.entries{} WHERE status < 2"
)
_SAME = {
    "content": "content",
    "file_path": "file_path",
    "file_format": "file_format",
    "spec_id": "spec_id",
    "record_count": "record_count",
    "file_size_in_bytes": "file_size_in_bytes",
    "split_offsets": "split_offsets",
    "sort_id": "sort_order_id",
    "equality_ids": "equality_ids",
    "key_metadata": "key_metadata",
    "data_sequence_number": "sequence_number",
    "file_sequence_number": "file_sequence_number",
}
_METRICS = ("value_count", "null_value_count", "nan_value_count", "lower_bound", "upper_bound")


@pytest.fixture
def acc(spark_warehouse, tmp_path: Path) -> Iterator[Accelerator]:
    acc = spark_warehouse.attach(store=str(tmp_path / "store"))
    yield acc
    acc.close()


def _mine(acc: Accelerator, name: str, state: str = "") -> list[Any]:
    sql = f"SELECT * FROM lake.d.`{name}$logical_iceberg_metadata`{state}"
    return sorted(acc.sql(sql).collect(), key=lambda row: (row.file_path, row.content))


def _check(wh, acc: Accelerator, name: str, state: str = "") -> list[Any]:
    """Mine equal Iceberg's: `.entries` has all files, and sequence numbers."""
    mine = _mine(acc, name, state)
    text = _ENTRIES.format(f"lake.d.{name}", state)
    theirs = sorted(wh.sql(text), key=lambda row: (row.file_path, row.content))
    assert len(mine) == len(theirs)
    for one, other in zip(mine, theirs, strict=True):
        assert {k: one[k] for k in _SAME} == {k: other[v] for k, v in _SAME.items()}
        partition = other.asDict().get("partition")
        assert one.partition_data.asDict() == (partition.asDict() if partition else {})
        metrics = other.readable_metrics.asDict()
        assert set(metrics) <= set(one.column_stats.asDict())
        for column, told in metrics.items():
            stats = one.column_stats[column]
            assert _shown([stats[m] for m in _METRICS]) == _shown([told[m] for m in _METRICS])
    return mine


def _shown(values: list[Any]) -> list[str]:
    return [repr(value) for value in values]


def test_files_of_all_kinds(spark_warehouse, acc: Accelerator) -> None:
    wh = spark_warehouse
    clauses = "PARTITIONED BY (d, truncate(1, s), days(t), c, bucket(4, e))"
    for version in (2, 3):
        name = wh.table(COLUMNS, version=version, clauses=clauses)
        assert _mine(acc, name) == []
        for first in (0, 4):
            wh.sql(f"INSERT INTO lake.d.{name} {ROW.format(first, first + 4)}")
        wh.sql(f"DELETE FROM lake.d.{name} WHERE a + 0 = 1")
        files = _check(wh, acc, name)
        assert {f.content for f in files} == {0} or {f.content for f in files} == {0, 1}
        wh.sql(f"ALTER TABLE lake.d.{name} DROP PARTITION FIELD c")
        wh.sql(f"ALTER TABLE lake.d.{name} ADD PARTITION FIELD a")
        wh.sql(f"INSERT INTO lake.d.{name} {ROW.format(10, 12)}")
        assert {f.spec_id for f in _check(wh, acc, name)} > {0}
        wh.sql(f"ALTER TABLE lake.d.{name} RENAME COLUMN b TO `b 2`")
        wh.sql(f"ALTER TABLE lake.d.{name} ALTER COLUMN a TYPE BIGINT")
        wh.sql(f"ALTER TABLE lake.d.{name} DROP COLUMN o")
        assert "b 2" in _check(wh, acc, name)[0].column_stats.asDict()


def test_types_of_statistics(spark_warehouse, acc: Accelerator, live_acc: Accelerator) -> None:
    wh = spark_warehouse
    name = wh.table(COLUMNS)
    wh.sql(f"INSERT INTO lake.d.{name} {ROW.format(0, 4)}")
    live_acc.spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    answer = live_acc.query(
        "SELECT max(column_stats.t.upper_bound) t, max(column_stats.n.upper_bound) n,"
        " max(column_stats.c.upper_bound) c, max(column_stats.`r.y z`.lower_bound) y,"
        f" sum(record_count) r FROM lake.d.`{name}$logical_iceberg_metadata`"
    )
    [row] = answer.arrow().to_pylist()
    assert row["t"].timestamp() == 15000
    assert row["n"] == datetime(2024, 1, 1)
    assert (row["c"], row["y"], row["r"]) == (Decimal("0.38"), "q", 4)
    assert _check(wh, acc, name)[0].partition_data.asDict() == {}


def test_days_past_pythons_years(spark_warehouse, acc: Accelerator) -> None:
    wh = spark_warehouse
    name = wh.table("d DATE", clauses="PARTITIONED BY (d)")
    days = ("+12000-01-01", "-0005-01-01")
    for day in days:
        wh.sql(f"INSERT INTO lake.d.{name} VALUES (DATE '{day}')")
    found = acc.query(
        "SELECT CAST(partition_data.d AS STRING) AS p, CAST(column_stats.d.upper_bound AS STRING)"
        f" AS u FROM lake.d.`{name}$logical_iceberg_metadata` ORDER BY 1"
    )
    assert found.arrow().to_pylist() == [{"p": day, "u": day} for day in days]


def test_equality_deletes(spark_warehouse, acc: Accelerator) -> None:
    wh = spark_warehouse
    name = wh.table("k INT, b INT")
    wh.sql(f"INSERT INTO lake.d.{name} VALUES (1, 1), (2, 2)")
    write_equality_delete(wh, name, [1])
    files = _check(wh, acc, name)
    assert {f.content for f in files} == {0, 2}
    assert [f.equality_ids for f in files if f.content == 2] == [[1]]


def test_states_and_joins(spark_warehouse, acc: Accelerator) -> None:
    wh = spark_warehouse
    name = wh.table("a INT")
    table, files = f"lake.d.{name}", f"lake.d.`{name}$logical_iceberg_metadata`"
    wh.sql(f"INSERT INTO {table} VALUES (1)")
    first = wh.sql(f"SELECT snapshot_id FROM {table}.snapshots")[0][0]
    wh.sql(f"ALTER TABLE {table} CREATE BRANCH b1")
    wh.sql(f"ALTER TABLE {table} CREATE TAG v1")
    wh.sql(f"INSERT INTO {table} VALUES (2)")
    wh.sql(f"INSERT INTO {table}.branch_b1 VALUES (3), (4)")
    states = {
        "": [1, 1],
        f" VERSION AS OF {first}": [1],
        " FOR VERSION AS OF 'v1'": [1],
        " VERSION AS OF 'b1' AS m": [1, 1, 1],
        ".branch_b1 m": [1, 1, 1],
        ".tag_v1": [1],
        f".snapshot_id_{first}": [1],
        " TIMESTAMP AS OF '2100-01-01 00:00:00'": [1, 1],
    }
    for state, rows in states.items():
        found = acc.query(f"SELECT record_count FROM {files}{state} ORDER BY 1").arrow()
        assert found.column(0).to_pylist() == rows, state
    joined = acc.query(
        f"SELECT count(*) n, count(DISTINCT m.file_path) f FROM {table} t"
        f" JOIN {files} m ON t._file = m.file_path"
        f" WHERE EXISTS (SELECT 1 FROM {files} WHERE `{name}$logical_iceberg_metadata`.content = 0)"
    )
    assert joined.arrow().to_pylist() == [{"n": 2, "f": 2}]
    frame = acc.sql(f"WITH f AS (SELECT * FROM {files}) SELECT sum(record_count) FROM f")
    assert frame.collect()[0][0] == 2
    assert not [v for v in wh.sql("SHOW VIEWS IN lake.d") if v.viewName.startswith("acc_")]


def test_errors(spark_warehouse, live_acc: Accelerator) -> None:
    wh, acc = spark_warehouse, live_acc
    name = wh.table("a INT")
    with pytest.raises(UnknownTableError):
        acc.query("SELECT * FROM lake.d.`nowhere$logical_iceberg_metadata`")
    acc.spark.sql("CREATE TEMPORARY VIEW of_no_table AS SELECT 1 AS a")
    try:
        with pytest.raises(NotIcebergError):
            acc.sql("SELECT * FROM `of_no_table$logical_iceberg_metadata`")
    finally:
        acc.spark.catalog.dropTempView("of_no_table")
    files = f"lake.d.`{name}$logical_iceberg_metadata`"
    with pytest.raises(AnalysisException, match="bytes_size"):
        acc.query(f"SELECT bytes_size FROM {files}")
    with pytest.raises(StatementError):
        acc.query(f"SELECT * FROM {files} TIMESTAMP AS OF current_timestamp()")
    with pytest.raises(StatementError):
        acc.query(f"SELECT == FROM {files}")
    with pytest.raises(UnknownTableError):
        acc.query(f"SELECT * FROM {files} VERSION AS OF 'no_branch'")
