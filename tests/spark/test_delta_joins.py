"""Tables that a cube lacks, joined to its cells, are joined as plain Spark joins them to rows."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from accelerator.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

F, D, T, E, B = (f"lake.d.delta_{name}" for name in ("f", "d", "t", "e", "b"))
_FACTS = (
    "SELECT nullif(CAST(id AS INT) % 11, 9) AS k, nullif(concat('g', id % 3), 'g2') AS g,"
    " CAST(id AS INT) % 4 AS i, nullif(CAST(id AS INT) % 7, 0) AS v, id * 100 AS w,"
    " CAST(id AS DECIMAL(9,2)) / 4 AS c, CAST(id % 5 AS DOUBLE) / 8 AS x,"
    " date_add(DATE '2024-01-28', CAST(id % 40 AS INT)) AS d FROM range({0}, {1}, 1, 1)"
)
_DIMENSION = (
    "SELECT CAST(id AS INT) AS dk, nullif(concat('r', id % 3), 'r2') AS region,"
    " concat('n', id) AS name, CAST(id % 4 AS INT) AS ok, CAST(id AS DOUBLE) / 3 - 1 AS weight,"
    " timestamp_seconds(1700000000 + id * 86400) AS since, named_struct('a', id) AS s"
    " FROM range(0, 9)"
)
_ANSWERED = (
    f"SELECT region, count(*) AS n, sum(v) AS s, avg(x) AS a, min(w) AS w FROM {F}"
    f" JOIN {D} ON k = dk GROUP BY region",
    f"SELECT g, sum(c) AS c, stddev(v) AS sd FROM {F} JOIN {D} ON k = dk"
    " WHERE region = 'r1' OR weight > 0.5 GROUP BY g",
    f"SELECT name, region, count(DISTINCT v) AS c, max(d) AS d FROM {F} LEFT JOIN {D} ON k = dk"
    " GROUP BY name, region",
    f"SELECT g, count(*) AS n, count(dk) AS c, sum(v) AS s FROM {F} LEFT JOIN {D} ON k = dk"
    " AND region = 'r0' GROUP BY g",
    f"SELECT tag, count(*) AS n, sum(v) AS s, sum(c) AS c, avg(x) AS a FROM {F} JOIN {T} ON k = tk"
    " GROUP BY tag",
    f"SELECT tag, name, sum(v) AS s FROM {F} JOIN {D} ON k = dk LEFT JOIN {T} ON ok = tk"
    " WHERE i < 3 GROUP BY tag, name",
    f"SELECT a.region, b.region, count(*) AS n FROM {F} JOIN {D} a ON k = a.dk"
    f" JOIN {D} b ON i = b.dk GROUP BY a.region, b.region ORDER BY b.region, a.region",
    f"SELECT g AS a, g AS A, count(*), sum(v) AS `A` FROM {F} GROUP BY g ORDER BY g",
    f"SELECT g, sum(v) AS s FROM {F} WHERE k IN (SELECT dk FROM {D} WHERE name > 'n3') GROUP BY g",
    f"SELECT month(d) AS m, region, count(*) AS n FROM {F} JOIN {D} ON k = dk"
    " GROUP BY month(d), region",
    f"SELECT year(since) AS y, to_date(since) AS t, count(*) AS n FROM {F} JOIN {D} ON k = dk"
    " GROUP BY year(since), to_date(since)",
    f"SELECT g, max(name) AS m, sum(ok) AS s, count(region) AS c, avg(ok) AS a FROM {F}"
    f" JOIN {D} ON k = dk GROUP BY g",
    f"SELECT region, i, grouping_id() AS o, sum(v) AS s FROM {F} JOIN {D} ON k = dk"
    " GROUP BY CUBE (region, i)",
    f"SELECT name, sum(v) AS z FROM {F} JOIN {D} ON k = dk GROUP BY name HAVING sum(v) > 5"
    " ORDER BY z DESC, name LIMIT 3",
    f"SELECT count(*) AS n, sum(v) AS s FROM {F} CROSS JOIN {T}",
    f"SELECT count(*) AS n FROM {F} JOIN {D} ON k < dk AND g > region",
    f"SELECT max(n) AS m FROM (SELECT region, count(*) AS n FROM {F} JOIN {D} ON k = dk"
    " GROUP BY region)",
    f"SELECT tag, count(*) AS n FROM {E} JOIN {T} ON k = tk GROUP BY tag",
    f"SELECT count(*) AS n, sum(v) AS s FROM {E} CROSS JOIN {T}",
    f"SELECT tag, count(*) AS n FROM {E} CROSS JOIN {T} GROUP BY tag",
    f"SELECT name, region, sum(v) AS s FROM {B} JOIN {D} ON k = dk GROUP BY name, region",
    f"SELECT weight, count(*) AS n FROM {B} JOIN {D} ON k = dk WHERE region = 'r0' GROUP BY weight",
    f"SELECT g, sum(v) AS s, count(*) AS n FROM {F} JOIN {D} ON k = dk"
    " WHERE ok IN (1, 1 + 1) OR weight < 2 - 3 * 1 OR dk BETWEEN 62 - 60 AND -(1 - 4) GROUP BY g",
)
_DECLINED = (
    f"SELECT sum(v * ok) AS s FROM {F} JOIN {D} ON k = dk",
    f"SELECT count(*) AS n FROM {F} JOIN {D} ON k = dk WHERE CAST(substring(name, 2) AS INT) > 2",
    f"SELECT count(*) AS n FROM {F} JOIN {D} ON k = dk WHERE s.a > 2",
    f"SELECT region, count(k) AS n FROM {D} LEFT JOIN {F} ON k = dk GROUP BY region",
)


@pytest.fixture(scope="module")
def star(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[Differential]:
    sql = spark_warehouse.sql
    mor = "TBLPROPERTIES ('write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read')"
    for name, last in ((F, 60), (E, 0), (B, 60)):
        sql(f"CREATE TABLE {name} USING iceberg {mor} AS {_FACTS.format(0, last)}")
    sql(f"DELETE FROM {B} WHERE k IS NULL OR k > 8")  # each key finds its partner
    sql(f"CREATE TABLE {D} USING iceberg {mor} AS {_DIMENSION}")
    sql(
        f"CREATE TABLE {T} AS SELECT CAST(id % 4 AS INT) AS tk, concat('t', id % 3) AS tag"
        " FROM range(6)"
    )
    for name, table in (("delta_f", F), ("delta_e", E)):
        acc.query(
            f"CREATE CUBE {name} AS SELECT k, g, i, d, count(*), sum(v), avg(x), min(w), sum(c),"
            f" stddev(v), count(DISTINCT v) FROM {table} GROUP BY k, g, i, d"
        )
    acc.query(
        f"CREATE CUBE delta_b AS SELECT k, region, count(*), sum(v) FROM {B} JOIN {D} ON k = dk"
        " GROUP BY k, region"
    )
    yield Differential(acc)
    for name in ("delta_f", "delta_e", "delta_b"):
        acc.query(f"DROP CUBE {name}")
    for name in (F, D, T, E, B):
        sql(f"DROP TABLE {name}")


def test_all_segments(star: Differential) -> None:
    by_spark = [q for q in _ANSWERED if " LIMIT " not in q and "(SELECT region" not in q]
    star.check([q for q in _ANSWERED if E not in q], spark=by_spark)
    star.check([q for q in _ANSWERED if E in q], rewritten=None)
    star.check(_DECLINED, rewritten=None)


def test_the_plan_names_what_is_joined(star: Differential) -> None:
    acc = star.acc
    text = acc.explain(_ANSWERED[1])
    assert f"joined to its cells: {D}" in text
    assert "`k` = `delta_d`.`dk`" in text
    assert json.loads(acc.explain(_ANSWERED[5], format="json"))["delta"] == [D, T]


def test_a_changed_dimension_needs_no_build(star: Differential, acc: Accelerator) -> None:
    acc.spark.sql(f"UPDATE {D} SET region = 'r9', name = 'late' WHERE dk IN (2, 3)")
    acc.spark.sql(f"DELETE FROM {D} WHERE dk = 4")
    acc.spark.sql(
        f"INSERT INTO {D} SELECT 10, 'r10', 'ten', 1, -0.0D, TIMESTAMP '2024-01-01', "
        "named_struct('a', 1L)"
    )
    star.changed()
    star.check([q for q in _ANSWERED if F in q])
    star.check([q for q in _ANSWERED if B in q], rewritten=None)


def test_segments_and_rows(star: Differential, acc: Accelerator) -> None:
    acc.spark.sql(f"INSERT INTO {F} {_FACTS.format(60, 75)}")
    star.changed()
    star.check([q for q in _ANSWERED if F in q], spark=_ANSWERED[:6])
    acc.spark.sql(f"DELETE FROM {F} WHERE v = 3")
    star.changed()
    star.check([q for q in _ANSWERED if F in q], rewritten=None)
