"""A build writes the same segments whether its rows or its cells are sent to where they belong.

Which of the two it does depends on the size of the joined tables alone. Invariant: per data file
the same cells, a segment in one file, and answers equal to plain Spark's.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accelerator.builds.segments import builder
from accelerator.session.session import Accelerator
from accelerator.store import local_path
from tests.spark.conftest import SparkWarehouse

pytestmark = pytest.mark.spark
LIVE = True

_SELECTS = {
    "inner": "SELECT g, region, year(d) y, count(*) n, sum(v) sv, count(DISTINCT v) dv"
    " FROM lake.d.lay_f f JOIN lake.d.lay_p p ON f.k = p.k GROUP BY g, region, year(d)",
    "left": "SELECT region, count(*) n, min(v) lo, avg(v) a"
    " FROM lake.d.lay_f f LEFT JOIN lake.d.lay_p p ON f.k = p.k GROUP BY region",
    "alone": "SELECT g, count(*) n, max(v) hi FROM lake.d.lay_f WHERE v > 3 GROUP BY g",
    "one": "SELECT count(*) n, sum(v) sv FROM lake.d.lay_f",
}


@pytest.fixture(scope="module")
def tables(spark_warehouse: SparkWarehouse) -> Iterator[None]:
    """A fact of 7 data files, one without a row that any cube keeps, and a dimension."""
    sql = spark_warehouse.sql
    sql("CREATE TABLE lake.d.lay_p (k INT, region STRING) USING iceberg")
    sql("INSERT INTO lake.d.lay_p SELECT CAST(id AS INT), concat('r', id % 3) FROM range(40)")
    sql("CREATE TABLE lake.d.lay_f (g STRING, k INT, d DATE, v BIGINT) USING iceberg")
    for file in range(7):
        value = "NULL" if file == 3 else "id * 37 % 101"
        sql(
            "INSERT INTO lake.d.lay_f SELECT /*+ COALESCE(1) */ concat('g', id % 5),"
            f" CAST(id % 50 AS INT), date_add(DATE'2020-01-01', CAST(id % 900 AS INT)), {value}"
            f" FROM range({file * 1000}, {(file + 1) * 1000})"
        )
    yield
    sql("DROP TABLE lake.d.lay_f")
    sql("DROP TABLE lake.d.lay_p")


def _cells(acc: Accelerator, cube: str) -> dict[str, list[str]]:
    """By data file: its cells, as texts."""
    record = acc.services.store.registry().cubes[cube]
    found = {}
    for segment in acc.services.store.table(record.table_uuid).of(record.id):
        (file,) = segment.files
        rows = []
        if segment.rows:
            sql = (
                f"SELECT * EXCLUDE (segment) FROM read_parquet('{local_path(segment.path)}')"
                f" WHERE segment = {segment.id}"
            )
            # The order of a set's elements isn't a part of it.
            rows = [
                {k: sorted(v) if isinstance(v, list) else v for k, v in row.items()}
                for row in acc.services.duckdb.run(sql).to_pylist()
            ]
        assert len(rows) == segment.rows
        found[file.path] = sorted(map(repr, rows))
    return found


@pytest.mark.parametrize("name", sorted(_SELECTS))
def test_both_ways_write_the_same_cells(
    acc: Accelerator, tables: None, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = {}
    for way, small in (("rows", 1 << 26), ("cells", -1)):
        monkeypatch.setattr(builder, "_SMALL_BYTES", small)
        cube = f"lay_{name}_{way}"
        acc.query(f"CREATE CUBE {cube} AS {_SELECTS[name]}")
        written[way] = _cells(acc, cube)
        answer = acc.query(_SELECTS[name])
        assert answer.metrics.cubes == (cube,)
        plain = [tuple(row) for row in acc.spark.sql(_SELECTS[name]).collect()]
        assert sorted(map(repr, answer.fetchall())) == sorted(map(repr, plain))
        acc.query(f"DROP CUBE {cube} FORCE")
    assert written["rows"] == written["cells"]
    assert len(written["rows"]) == 7
    assert any(written["rows"].values())


@pytest.mark.parametrize(
    "setting",
    ["spark.sql.requireAllClusterKeysForDistribution", "spark.sql.optimizer.disableHints"],
)
def test_no_setting_sends_a_segment_to_two_files(
    acc: Accelerator, tables: None, setting: str
) -> None:
    conf = acc.spark.conf
    settings = {
        setting: "true",
        "spark.sql.adaptive.enabled": "false",  # it hides what happens to so few rows
        "spark.sql.autoBroadcastJoinThreshold": "-1",
    }
    before = {name: conf.get(name) for name in settings}
    for name, value in settings.items():
        conf.set(name, value)
    try:
        acc.query(f"CREATE CUBE lay_set AS {_SELECTS['inner']}")
        assert len(_cells(acc, "lay_set")) == 7
    finally:
        for name, value in before.items():
            conf.set(name, str(value))
        acc.query("DROP CUBE IF EXISTS lay_set FORCE")
