"""Statements whose aggregates stand in several cubes are answered by them, as plain Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from accelerator.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

F, D = "lake.d.two_f", "lake.d.two_d"
_FACTS = (
    "SELECT CAST(id AS INT) % 7 AS k, nullif(concat('g', id % 3), 'g2') AS g,"
    " nullif(CAST(id AS INT) % 5, 3) AS v, CAST(id AS DECIMAL(9,2)) / 4 AS c,"
    " CAST(id % 5 AS DOUBLE) / 8 - 0.25 AS x, id AS w, date_add(DATE '2024-01-28',"
    " CAST(id % 40 AS INT)) AS d FROM range({0}, {1}, 1, 1)"
)
_BY_BOTH = (
    f"SELECT g, sum(v) AS s, count(DISTINCT w) AS n FROM {F} GROUP BY g",
    f"SELECT sum(v) AS s, count(DISTINCT w) AS n FROM {F}",
    f"SELECT g, sum(v) / count(DISTINCT w) AS r, g AS h, 1 AS one FROM {F} GROUP BY g"
    " HAVING count(DISTINCT w) > 10 AND sum(v) > 3 ORDER BY r DESC, g LIMIT 2",
    f"SELECT month(d) AS m, g, avg(c) AS a, count(DISTINCT w) AS n, sum(v) + count(*) AS z FROM {F}"
    " WHERE k > 1 GROUP BY month(d), g",
    f"SELECT g, k, count(DISTINCT w) AS n, sum(v) AS s FROM {F} WHERE g IS NULL GROUP BY g, k",
    f"SELECT count(DISTINCT w) AS n, sum(v) AS s FROM {F} WHERE g = 'none'",
    f"SELECT g, count(DISTINCT w) AS n, sum(v) AS s FROM {F} WHERE g = 'none' GROUP BY g",
    f"SELECT name, sum(v) AS s, count(DISTINCT w) AS n FROM {F} JOIN {D} ON k = dk GROUP BY name",
    f"SELECT name, sum(v) AS s, count(DISTINCT w) AS n, max(dk) AS m FROM {F} LEFT JOIN {D}"
    " ON k = dk AND dk > 2 GROUP BY name",
    f"SELECT max(s) AS m FROM (SELECT g, sum(v) + count(DISTINCT w) AS s FROM {F} GROUP BY g)",
    f"SELECT g, sum(v) AS s, rank() OVER (ORDER BY g) AS r FROM (SELECT g, count(DISTINCT w) AS n,"
    f" sum(v) AS v FROM {F} GROUP BY g) GROUP BY g",
)
_BY_THREE = (
    f"SELECT g, sum(v) AS s, count(DISTINCT w) AS n, stddev(v) AS d FROM {F} GROUP BY g",
    f"SELECT stddev(v) AS d, sum(v) AS s, count(DISTINCT w) AS n, max(w) AS m FROM {F}",
)
_NOT = (
    f"SELECT g, sum(v) AS s, count(DISTINCT w) AS n, sum(w) AS t FROM {F} GROUP BY g",
    f"SELECT g, sum(v) AS s, count(DISTINCT w) AS n FROM {F} GROUP BY ROLLUP (g)",
    f"SELECT x, sum(v) AS s, count(DISTINCT w) AS n FROM {F} GROUP BY x",
)


@pytest.fixture(scope="module")
def two(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[Differential]:
    sql = spark_warehouse.sql
    sql(
        f"CREATE TABLE {F} USING iceberg TBLPROPERTIES ('write.delete.mode'='merge-on-read') AS"
        f" {_FACTS.format(0, 90)}"
    )
    sql(
        f"CREATE TABLE {D} AS SELECT CAST(id AS INT) AS dk, concat('n', id % 4) AS name"
        " FROM range(6)"
    )
    for name, measures in (
        ("two_sums", "count(*), sum(v), avg(c)"),
        ("two_sets", "count(DISTINCT w)"),
        ("two_spread", "stddev(v), sum(x)"),
    ):
        acc.query(
            f"CREATE CUBE {name} AS SELECT k, g, d, x, {measures} FROM {F} GROUP BY k, g, d, x"
        )
    yield Differential(acc)
    for name in ("two_sums", "two_sets", "two_spread"):
        acc.query(f"DROP CUBE {name}")
    for name in (F, D):
        sql(f"DROP TABLE {name}")


def _sources(acc: Accelerator, sql: str) -> list[str]:
    told = json.loads(acc.explain(sql, format="json"))
    assert told["by_groups"] is True
    return [part["cube"] for part in told["selects"]]


def test_cubes_between_them(two: Differential) -> None:
    two.check(_BY_BOTH, spark=_BY_BOTH[:2])
    two.check(_BY_THREE)
    two.check(_NOT, rewritten=None)
    assert _sources(two.acc, _BY_BOTH[0]) == ["two_sets", "two_sums"]
    assert len(_sources(two.acc, _BY_THREE[0])) == 3
    assert "in 2 parts, joined by the keys of groups" in two.acc.explain(_BY_BOTH[0])
    assert two.acc.verify(_BY_BOTH[2]).equal


def test_with_rows_and_deletes(two: Differential, acc: Accelerator) -> None:
    some = (*_BY_BOTH[:4], _BY_BOTH[7])
    acc.spark.sql(f"INSERT INTO {F} {_FACTS.format(90, 130)}")
    two.changed()
    two.check(some)
    acc.spark.sql(f"DELETE FROM {F} WHERE w % 11 = 3")
    two.changed()
    two.check((*some, _BY_THREE[0]), rewritten=None)
    acc.query("BUILD CUBE two_sums")
    two.check(some, rewritten=None)
    acc.query("BUILD CUBE two_sets")
    two.check(some)
    assert _sources(acc, _BY_BOTH[0]) == ["two_sets", "two_sums"]
