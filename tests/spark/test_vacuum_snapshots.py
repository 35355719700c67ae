"""VACUUM … SNAPSHOTS on real tables: what goes, what stays, and that answers stay plain Spark's."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelerator.errors import StatementError
from accelerator.session.session import Accelerator
from accelerator.store import Report, Store
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark
LIVE = True


@pytest.fixture
def session(spark_warehouse: SparkWarehouse, tmp_path: Path) -> Iterator[Accelerator]:
    """A session with a store of its own that keeps nothing for time's sake."""
    with spark_warehouse.attach(
        store=str(tmp_path / "store"),
        vacuum_versions_min=1,
        vacuum_retain_hours=0,
    ) as acc:
        yield acc


def _table(warehouse: SparkWarehouse, properties: str = "") -> str:
    """A table of two data files."""
    table = "lake.d." + warehouse.table("k INT, v BIGINT", properties=properties)
    for start in (0, 100):
        warehouse.sql(
            f"INSERT INTO {table} SELECT CAST(id % 5 AS INT), id"
            f" FROM range({start}, {start + 100}, 1, 1)"
        )
    return table


def _snapshots(warehouse: SparkWarehouse, table: str) -> list[int]:
    rows = warehouse.sql(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at")
    return [int(row[0]) for row in rows]


def _count(report: Report, action: str, what: str) -> int:
    return sum(x.files for x in report.lines if (x.action, x.what) == (action, what))


def test_old_snapshots_go_with_their_files_and_segments(
    spark_warehouse: SparkWarehouse, session: Accelerator
) -> None:
    table = _table(spark_warehouse)
    sql = f"SELECT k, sum(v) s, count(*) n FROM {table} GROUP BY k"
    session.query(f"CREATE CUBE gone_files AS {sql}")
    spark_warehouse.sql(f"DELETE FROM {table} WHERE v < 100")  # the first file, whole
    spark_warehouse.sql(f"INSERT OVERWRITE {table} SELECT k, v + 1 FROM {table}")
    session.query("BUILD CUBE gone_files")
    before = _snapshots(spark_warehouse, table)
    artifacts = len(list(Path(session.config.store_root).rglob("*.parquet")))

    dry = session.vacuum(table, snapshots=True, retain_hours=0, dry_run=True)
    assert _snapshots(spark_warehouse, table) == before
    assert _count(dry, "would delete", "snapshot") == len(before) - 1
    assert _count(dry, "would delete", "segment") == 2

    done = session.vacuum(table, snapshots=True, retain_hours=0)
    assert _snapshots(spark_warehouse, table) == before[-1:]
    assert _count(done, "deleted", "snapshot") == len(before) - 1
    assert _count(done, "deleted", "data file") == 2
    assert _count(done, "deleted", "segment") == 2
    session.vacuum(table, full=True, retain_hours=0)
    assert len(list(Path(session.config.store_root).rglob("*.parquet"))) < artifacts
    Differential(session).check([sql], rewritten=True, where="after the vacuum")


def test_tags_retention_and_gc_enabled_keep_snapshots(
    spark_warehouse: SparkWarehouse, session: Accelerator
) -> None:
    table = _table(spark_warehouse)
    first = _snapshots(spark_warehouse, table)[0]
    spark_warehouse.sql(f"ALTER TABLE {table} CREATE TAG kept AS OF VERSION {first}")
    spark_warehouse.sql(f"INSERT INTO {table} VALUES (1, 1)")
    report = session.vacuum(table, snapshots=True)  # the table's own rule: five days
    assert _count(report, "deleted", "snapshot") == 0
    report = session.vacuum(table, snapshots=True, retain_hours=0)
    left = _snapshots(spark_warehouse, table)
    assert left[0] == first and len(left) == 2
    assert _count(report, "kept", "snapshot") == 2
    spark_warehouse.sql(f"ALTER TABLE {table} DROP TAG kept")
    spark_warehouse.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('gc.enabled' = 'false')")
    report = session.vacuum(table, full=True, snapshots=True, retain_hours=0)
    assert _snapshots(spark_warehouse, table) == left
    assert _count(report, "kept", "snapshot") == 2


def test_a_snapshot_that_another_session_reads_stays(
    spark_warehouse: SparkWarehouse, session: Accelerator
) -> None:
    """A lazy frame holds its snapshot though its table is long ahead of it."""
    table = _table(spark_warehouse)
    sql = f"SELECT k, sum(v) s FROM {table} GROUP BY k"
    session.query(f"CREATE CUBE read_late AS {sql}")
    with spark_warehouse.attach(store=session.config.store_root) as other:
        spark_warehouse.sql(f"INSERT INTO {table} VALUES (1, 1000)")  # its file is read raw
        held = _snapshots(spark_warehouse, table)[-1]
        frame = other.sql(sql)
        expected = sorted(map(tuple, spark_warehouse.spark.sql(sql).collect()))
        spark_warehouse.sql(f"INSERT OVERWRITE {table} SELECT 7, 7")
        report = session.vacuum(table, snapshots=True, retain_hours=0)
        assert held in _snapshots(spark_warehouse, table)
        assert any("pinned" in x.reason for x in report.lines if x.what == "snapshot")
        assert sorted(map(tuple, frame.collect())) == expected
    report = session.vacuum(table, snapshots=True, retain_hours=0)
    assert len(_snapshots(spark_warehouse, table)) == 1


def test_orphan_files_go_and_the_store_is_never_taken_for_them(
    spark_warehouse: SparkWarehouse, session: Accelerator
) -> None:
    table = _table(spark_warehouse)
    location = Path(spark_warehouse.pinned(table.rpartition(".")[2]).location.removeprefix("file:"))
    orphan = location / "data" / "left-behind.parquet"
    orphan.write_bytes(b"nobody's")
    report = session.vacuum(table, full=True, snapshots=True, retain_hours=0)
    assert _count(report, "deleted", "orphan file") == 0  # it may be a running writer's
    day = time.time() - 25 * 3600
    os.utime(orphan, (day, day))
    dry = session.vacuum(table, full=True, snapshots=True, retain_hours=0, dry_run=True)
    assert _count(dry, "would delete", "orphan file") == 1 and orphan.exists()
    report = session.vacuum(table, full=True, snapshots=True, retain_hours=0)
    assert _count(report, "deleted", "orphan file") == 1 and not orphan.exists()
    with (
        spark_warehouse.attach(store=str(location / "store")) as inside,
        pytest.raises(StatementError, match="inside"),
    ):
        inside.vacuum(table, full=True, snapshots=True)


def test_pins_end_with_their_session(session: Accelerator) -> None:
    store = Store.open(session.config.store_root)
    with store.reading():
        store.pin_snapshot("t" * 36, 1_000)
        store.pin_snapshot("t" * 36, 3_000)
        assert Store.open(session.config.store_root).oldest_snapshot_ms("t" * 36) == 1_000
    store.close()
    assert Store.open(session.config.store_root).oldest_snapshot_ms("t" * 36) is None


def test_a_namespace_called_as_its_catalog_is_no_catalog(
    spark_warehouse: SparkWarehouse, session: Accelerator
) -> None:
    """Snapshots of lake.d.t once went by a vacuum of lake.lake.d.t."""
    name = spark_warehouse.table("k INT")
    spark_warehouse.sql("CREATE NAMESPACE lake.lake")
    spark_warehouse.sql("CREATE NAMESPACE lake.lake.d")
    tables = (f"lake.d.{name}", f"lake.lake.d.{name}", f"lake.lake.{name}")
    for table in tables:
        spark_warehouse.sql(f"CREATE TABLE IF NOT EXISTS {table} (k INT) USING iceberg")
        for number in (1, 2):
            spark_warehouse.sql(f"INSERT INTO {table} VALUES ({number})")
    for number, table in enumerate(tables[1:], start=1):
        session.vacuum(table, snapshots=True, retain_hours=0)
        left = [len(_snapshots(spark_warehouse, one)) for one in tables]
        assert left == [2] + [1] * number + [2] * (2 - number)
    for table in tables[1:]:
        spark_warehouse.sql(f"DROP TABLE {table}")
    spark_warehouse.sql("DROP NAMESPACE lake.lake.d")
    spark_warehouse.sql("DROP NAMESPACE lake.lake")


def test_files_of_another_table_are_no_orphans(
    spark_warehouse: SparkWarehouse, session: Accelerator
) -> None:
    """After a rename the name made anew has the old one's location; so may a namespace."""
    table = _table(spark_warehouse)
    name = table.rpartition(".")[2]
    spark_warehouse.sql(f"ALTER TABLE {table} RENAME TO d.{name}_old")
    spark_warehouse.sql(f"CREATE TABLE {table} (k INT) USING iceberg")
    for shared in (table, f"{table}_old"):
        with pytest.raises(StatementError, match="has files inside"):
            session.vacuum(shared, full=True, snapshots=True, retain_hours=0, dry_run=True)
    spark_warehouse.sql(f"DROP TABLE {table}_old")
    session.vacuum(table, full=True, snapshots=True, retain_hours=0)
    spark_warehouse.sql(f"CREATE NAMESPACE {table}")
    spark_warehouse.sql(f"CREATE TABLE {table}.inner (k INT) USING iceberg")
    with pytest.raises(StatementError, match="inner has files inside"):
        session.vacuum(table, full=True, snapshots=True)
    session.vacuum(f"{table}.inner", full=True, snapshots=True)
    session.vacuum(table, snapshots=True)
    spark_warehouse.sql(f"DROP TABLE {table}.inner")
    spark_warehouse.sql(f"DROP NAMESPACE {table}")


@pytest.mark.parametrize("word", ["no", "0", "", "FALSE", "true "])
def test_gc_enabled_is_read_as_iceberg_reads_it(
    spark_warehouse: SparkWarehouse, session: Accelerator, word: str
) -> None:
    table = _table(spark_warehouse, properties=f"'gc.enabled' = '{word}'")
    report = session.vacuum(table, full=True, snapshots=True, retain_hours=0)
    assert _count(report, "kept", "snapshot") == 2


def test_a_retention_of_ages_keeps_everything(
    spark_warehouse: SparkWarehouse, session: Accelerator
) -> None:
    table = _table(spark_warehouse)
    for hours in (17_000_000, 10**9, 10**26):
        report = session.vacuum(table, full=True, snapshots=True, retain_hours=hours)
        assert _count(report, "kept", "snapshot") == 2
    least = "'history.expire.max-snapshot-age-ms' = '-9223372036854775808'"
    spark_warehouse.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({least})")
    session.vacuum(table, snapshots=True, dry_run=True)
    for hours in (float("nan"), float("inf"), -1.0):
        with pytest.raises(StatementError, match="hours"):
            session.vacuum(table, retain_hours=hours)


def test_a_branch_with_an_age_of_its_own_expires_nothing_that_is_read(
    spark_warehouse: SparkWarehouse, session: Accelerator
) -> None:
    table = _table(spark_warehouse)
    session.query(f"CREATE CUBE on_branch AS SELECT k, sum(v) s FROM {table} GROUP BY k")
    spark_warehouse.sql(f"ALTER TABLE {table} CREATE BRANCH w")
    loaded = spark_warehouse.engine.load(tuple(table.split(".")))
    loaded.manageSnapshots().setMaxSnapshotAgeMs("w", 1).setMinSnapshotsToKeep("w", 1).commit()
    spark_warehouse.sql(f"INSERT INTO {table}.branch_w VALUES (1, 1000)")
    sql = f"SELECT k, sum(v) s FROM {table} VERSION AS OF 'w' GROUP BY k"
    expected = sorted(map(tuple, spark_warehouse.spark.sql(sql).collect()))
    with spark_warehouse.attach(store=session.config.store_root) as other:
        frame = other.sql(sql)
        spark_warehouse.sql(f"INSERT OVERWRITE {table}.branch_w SELECT 7, 7")
        before = _snapshots(spark_warehouse, table)
        report = session.vacuum(table, snapshots=True, retain_hours=0)
        assert any("pinned" in x.reason for x in report.lines if x.what == "snapshot")
        assert _snapshots(spark_warehouse, table) == before
        assert sorted(map(tuple, frame.collect())) == expected
    session.vacuum(table, snapshots=True, retain_hours=0)
    assert len(_snapshots(spark_warehouse, table)) == 2
