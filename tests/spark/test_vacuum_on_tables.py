"""A vacuum that keeps nothing for time's sake loses no segment that any statement can still use.

Strategy: one table goes through builds, a merge, a row delete, rebuilds, a replaced and a dropped
cube, so that its store is full of garbage; after a dry run and a full vacuum with no retention the
same statements, of now and of then, must be rewritten and equal, from files that are really there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from accelerator.session.session import Accelerator
from accelerator.store import local_path
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential
from tests.spark.spoiled import flip_bit

pytestmark = pytest.mark.spark
LIVE = True


def _artifacts(store: Path) -> set[Path]:
    return set(store.rglob("*.parquet"))


def _attached(warehouse: SparkWarehouse, store: Path) -> Accelerator:
    return warehouse.attach(store=str(store), vacuum_versions_min=1)


def _change(warehouse: SparkWarehouse, acc: Accelerator, table: str) -> int:
    """Builds, merges, deletes, replaces and drops; the snapshot before the delete."""
    by_group = (
        f"SELECT g, k % 10 t, count(*) n, sum(v) s, max(v) hi FROM {table} GROUP BY g, k % 10"
    )
    by_key = f"SELECT k, sum(v) s FROM {table} GROUP BY k"

    def insert(start: int) -> None:
        warehouse.sql(
            f"INSERT INTO {table} SELECT CAST(id AS INT), concat('g', id % 7), id * 3"
            f" FROM range({start}, {start + 200}, 1, 1)"
        )

    for start in (0, 200, 400):
        insert(start)
    acc.query(f"CREATE CUBE groups AS {by_group}")
    acc.query(f"CREATE CUBE keys AS {by_key}")
    acc.query("COMPACT CUBE groups")
    then = [row[0] for row in warehouse.sql(f"SELECT snapshot_id FROM {table}.snapshots")][-1]
    warehouse.sql(f"DELETE FROM {table} WHERE k % 50 = 3")
    insert(600)
    acc.query("BUILD CUBE groups")
    acc.query(f"CREATE OR REPLACE CUBE keys AS SELECT k, max(v) hi FROM {table} GROUP BY k")
    acc.query(f"CREATE CUBE gone AS {by_key}")
    acc.query("DROP CUBE gone FORCE")
    return int(then)


def test_a_vacuum_without_retention_loses_nothing_that_is_used(
    spark_warehouse: SparkWarehouse, tmp_path: Path
) -> None:
    table = "lake.d." + spark_warehouse.table("k INT, g STRING, v BIGINT")
    with _attached(spark_warehouse, tmp_path) as acc:
        then = _change(spark_warehouse, acc, table)
        both = Differential(acc)
        queries = [
            f"SELECT g, sum(v) s, max(v) hi FROM {table} GROUP BY g",
            f"SELECT count(*) n FROM {table} WHERE g <> 'g3'",
            f"SELECT max(v) hi FROM {table} WHERE k < 300",
            f"SELECT g, sum(v) s, count(*) n FROM {table} VERSION AS OF {then} GROUP BY g",
        ]
        both.check(queries, where="before")
        before = _artifacts(tmp_path)
        acc.vacuum(table, full=True, retain_hours=0, dry_run=True)
        assert _artifacts(tmp_path) == before
        done = acc.vacuum(table, full=True, retain_hours=0)
        after = _artifacts(tmp_path)
        assert after < before and done.files() >= len(before - after)
        both.check(queries, where="after the vacuum")
        assert acc.vacuum(table, full=True, retain_hours=0).files() <= 1
        assert _artifacts(tmp_path) == after
    with _attached(spark_warehouse, tmp_path) as again:
        Differential(again, both.plain).check(queries, where="in a new session")
        harmed = _harm(again, "groups")
        for dry_run in (True, False):
            report = again.vacuum(table, full=True, dry_run=dry_run)
            assert [one.files for one in report.lines if "isn't what" in one.reason] == [harmed]
        Differential(again, both.plain).check(queries, rewritten=None, where="with less")
        again.query("BUILD CUBE groups")
        Differential(again, both.plain).check(queries[:-1], where="built anew")


def _harm(acc: Accelerator, cube: str) -> int:
    """Turns a bit of each of a cube's files, without a change of size; how many segments it has."""
    record = acc.services.store.registry().cubes[cube]
    segments = acc.services.store.table(record.table_uuid).of(record.id)
    for uri in {one.path for one in segments}:
        flip_bit(Path(local_path(uri)))
    return len(segments)
