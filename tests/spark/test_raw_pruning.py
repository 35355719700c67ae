"""Files without a segment that no row of passes aren't read beside a cube's segments.

Strategy: a cube, then appends of their own ranges; statements whose predicates leave out some of
these are answered both ways, and the files that were read are counted.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accelerator.planning.plans import PlainPlan
from accelerator.planning.plans.cover_value import NOTHING
from accelerator.services.verification.compare import differ

pytestmark = pytest.mark.spark


def test_raw_files_are_left_out_by_their_bounds(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    name = wh.table("k INT, d INT, v INT", version=2)
    table, dim = f"lake.d.{name}", f"lake.d.{wh.table('d INT, g STRING', version=2)}"
    wh.sql(f"INSERT INTO {dim} SELECT CAST(id AS INT), concat('g', id % 3) FROM range(1, 9)")
    rows = (
        "SELECT CAST(id AS INT), CAST(id % 10 AS INT), CAST(id * 3 AS INT) FROM range({}, {}, 1, 1)"
    )
    wh.sql(f"INSERT INTO {table} {rows.format(0, 100)}")
    acc.execute(
        f"CREATE CUBE pruned_{name} AS SELECT k, f.d, g, sum(v) AS v, count(*) AS n"
        f" FROM {table} f LEFT JOIN {dim} x ON f.d = x.d GROUP BY k, f.d, g"
    )
    for first in (100, 200, 300, 400):
        wh.sql(f"INSERT INTO {table} {rows.format(first, first + 100)}")
    wh.sql(f"DELETE FROM {table} WHERE k = 250")
    joined = f"{table} f LEFT JOIN {dim} x ON f.d = x.d"
    for source, where, raw, left_out in (
        (table, "k < 50", 0, 4),
        (table, "k >= 150 AND k < 220", 2, 2),
        (table, "k >= 250 AND k < 251", 1, 3),
        (table, "k < 10 OR k > 450", 1, 3),
        (table, "NOT (k > 120)", 1, 3),
        (table, "d = 3", 4, 0),
        (joined, "k > 350 AND g = 'g1'", 2, 2),
        (joined, "g IS NULL", 4, 0),
        (joined, "k > 350 OR g = 'g1'", 4, 0),
    ):
        sql = f"SELECT sum(v) AS s, count(*) AS n FROM {source} WHERE {where}"
        for _ in range(2):
            mine = acc.query(sql)
            assert differ(mine.arrow(), wh.spark.sql(sql).toArrow()) == [], sql
            # The raw files alone may be the cheaper.
            assert mine.metrics.rewritten and mine.metrics.files_total == 5
        plan, _ = acc.plan(sql, only=f"pruned_{name}")
        assert (len(plan.uncovered), plan.cover.files(NOTHING)) == (raw, left_out), where
    text = acc.explain(f"SELECT sum(v) AS s FROM {table} WHERE k < 50")
    assert re.search("left out by bounds +4 files|left out +4 of [0-9]+ files: no row", text), text
    raising = f"SELECT sum(v) AS s FROM {table} WHERE k < 50 AND 100 / (k - 400) < 1"
    plan, _ = acc.plan(raising)
    assert isinstance(plan, PlainPlan) or not plan.cover.files(NOTHING)


def test_a_raw_file_of_other_values_than_its_partition_is_read_by_spark(
    spark_warehouse, acc, tmp_path
) -> None:
    wh = spark_warehouse
    name = wh.table("k INT, v INT", version=2, clauses="PARTITIONED BY (k)")
    table = f"lake.d.{name}"
    wh.sql(f"INSERT INTO {table} VALUES (5, 101), (6, 7)")
    _add(wh, name, tmp_path / "usual", 9, [9])  # the first one changes how columns are found
    acc.execute(f"CREATE CUBE odd_{name} AS SELECT k, sum(v) AS s FROM {table} GROUP BY k")
    wh.sql(f"INSERT INTO {table} VALUES (7, 1)")
    sql = f"SELECT k, sum(v) AS s FROM {table} GROUP BY k"
    usual = acc.query(sql).metrics
    assert usual.cubes and usual.engine == "duckdb"
    _add(wh, name, tmp_path / "odd", 5, range(1, 11))
    for more in ("", " HAVING s > 40"):
        mine = acc.query(sql + more)
        assert differ(mine.arrow(), wh.spark.sql(sql + more).toArrow()) == []
        assert mine.metrics.cubes and mine.metrics.engine == "spark"


def _add(wh, name: str, folder, partition: int, keys) -> None:
    """A file of those keys, added under the partition."""
    (folder / f"k={partition}").mkdir(parents=True)
    rows = {"k": pa.array(keys, pa.int32()), "v": pa.array(range(len(keys)), pa.int32())}
    pq.write_table(pa.table(rows), folder / f"k={partition}" / "a.parquet")
    wh.sql(
        f"CALL lake.system.add_files(table => 'd.{name}',"
        f" source_table => '`parquet`.`file:{folder}`')"
    )
