"""SELECTs over SELECTs: each inner one is answered on its own, and the whole equals plain Spark."""

from __future__ import annotations

import pytest

from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

F = "lake.d.nest_f"
D = "lake.d.nest_d"
BY_K = f"SELECT k, sum(v) AS s, count(*) AS n, max(p) AS p FROM {F} GROUP BY k"
BY_KY = f"SELECT k, year(d) AS y, sum(v) AS s, min(p) AS p FROM {F} GROUP BY k, year(d)"

NESTED = [
    f"SELECT * FROM ({BY_K}) UNION ALL SELECT * FROM ({BY_K})",
    f"SELECT max(s), sum(n), count(*) FROM ({BY_K})",
    f"SELECT avg(s) FROM ({BY_K}) t WHERE t.n > 2",
    f"SELECT y, count(*), sum(s), avg(s), min(p) FROM ({BY_KY}) GROUP BY y ORDER BY y",
    f"SELECT k, s FROM ({BY_K}) WHERE s > 10 OR s IS NULL ORDER BY s DESC, k LIMIT 5",
    f"SELECT * FROM ({BY_K}) x ORDER BY k",
    f"SELECT DISTINCT n FROM ({BY_K}) ORDER BY n",
    f"SELECT count(DISTINCT n), max(p) FROM ({BY_K}) HAVING count(*) > 1",
    f"WITH c AS ({BY_K}) SELECT k, n FROM c WHERE k IS NULL OR k < 'd' ORDER BY k",
    f"WITH c AS ({BY_K}) SELECT a.k, a.s, b.n FROM c a JOIN c b ON a.k = b.k ORDER BY a.k",
    f"WITH c AS ({BY_K}), m AS (SELECT max(s) AS top FROM c) SELECT k FROM c JOIN m ON s = top",
    f"WITH c AS ({BY_KY}), y AS (SELECT y, sum(s) AS t FROM c GROUP BY y)"
    " SELECT c.k, c.y, c.s, y.t FROM c LEFT JOIN y ON c.y = y.y ORDER BY c.k, c.y",
    f"SELECT a.k, b.n FROM ({BY_K}) a LEFT JOIN (SELECT k, count(v) AS n FROM {F} WHERE k < 'd'"
    " GROUP BY k) b ON a.k = b.k ORDER BY a.k",
    f"SELECT a.k FROM ({BY_K}) a LEFT SEMI JOIN ({BY_K}) b ON a.k = b.k ORDER BY 1",
    f"SELECT a.k, g FROM ({BY_K}) a JOIN {D} ON a.k = dk",
    f"SELECT x.top FROM (SELECT max(s) AS top FROM ({BY_K}) AS inn) x",
    f"SELECT sum(s) FROM (SELECT k, sum(v) AS s FROM {F} WHERE k = 'zz' GROUP BY k)",
    f"SELECT count(*) FROM (SELECT k FROM {F} WHERE k = 'zz' GROUP BY k)",
    f"SELECT k, sum(s) OVER_ALL FROM ({BY_K}) GROUP BY k HAVING sum(s) > 20 ORDER BY k",
    f"SELECT g, sum(s) FROM (SELECT g, k, sum(v) AS s FROM {F} JOIN {D} ON k = dk GROUP BY g, k)"
    " GROUP BY g ORDER BY g",
    f"SELECT max(v) FROM (SELECT v FROM {F} WHERE v IS NOT NULL ORDER BY v, k, d LIMIT 3)",
    f"SELECT sum(CASE WHEN n > 2 THEN s END) AS many FROM ({BY_K})",
    f"WITH c(a, b, c, d) AS ({BY_K}) SELECT a, C, max(b) AS K FROM c GROUP BY a, c ORDER BY a",
    f"SELECT n, count(*) AS m FROM (SELECT k, count(v) FROM {F} GROUP BY k) AS t (K, n) GROUP BY n"
    " ORDER BY m DESC, n DESC",
    f"WITH c(a, b) AS (SELECT k, sum(v) FROM {F} GROUP BY k UNION ALL SELECT 'z', max(v) FROM {F})"
    " SELECT x.d, y.b FROM c x(e, d) JOIN c y ON x.e = y.a ORDER BY 1, 2",
    f"WITH n AS (SELECT k, count(*) AS n FROM {F} GROUP BY k) SELECT b FROM (WITH w AS (SELECT n"
    " FROM n WHERE n > 1) SELECT max(n), min(n) FROM w) AS t(a, b)",
]
FLAT = [
    "SELECT y, sum(v) AS s, count(*) AS n FROM (SELECT year(d) AS y, v FROM"
    f" {F} WHERE k < 'e' OR k IS NULL) GROUP BY y",
    f"SELECT upper(x) AS x, max(p), sum(p) FROM (SELECT k AS x, p FROM {F}) t GROUP BY x"
    " HAVING count(*) > 1 ORDER BY x",
    f"WITH r AS (SELECT g, k, v FROM {F} JOIN {D} ON k = dk) SELECT g, sum(v) FROM r"
    " WHERE k <> 'a' GROUP BY g ORDER BY g",
    f"SELECT m, avg(v) FROM (SELECT month(x) AS m, v FROM (SELECT d AS x, v FROM {F}) WHERE x >"
    " '2024-01-31') GROUP BY 1 ORDER BY m",
    f"SELECT max(s) FROM (SELECT y, sum(v) AS s FROM (SELECT year(d) AS y, v FROM {F}) GROUP BY y)",
    f"SELECT DISTINCT y FROM (SELECT k, year(d) AS y FROM {F}) WHERE k = 'a'",
    f"SELECT b, sum(c) AS s FROM (SELECT k, year(d), v FROM {F}) AS t(a, b, c) WHERE a < 'e'"
    " GROUP BY b ORDER BY b",
]
PLAIN = [
    f"SELECT k, sum(s) OVER (ORDER BY k) FROM ({BY_K})",
    f"SELECT s / n FROM ({BY_K})",
    f"SELECT max(b) FROM (SELECT * FROM ({BY_K})) AS t(a, b, c, d)",
    f"SELECT k FROM ({BY_K}) t WHERE EXISTS (SELECT 1 FROM {D} WHERE dk = t.k)",
    f"SELECT r FROM (SELECT rand() AS r, k FROM {F} GROUP BY k) WHERE r < 0",
]


@pytest.fixture(scope="module")
def nest(spark_warehouse, tmp_path_factory):
    sql = spark_warehouse.sql
    sql(f"CREATE TABLE {F} (k STRING, d DATE, v INT, p DECIMAL(9, 2)) USING iceberg")
    sql(f"CREATE TABLE {D} (dk STRING, g STRING) USING iceberg")
    for first in (0, 40):
        sql(
            f"INSERT INTO {F} SELECT nullif(substr('abcdefgé', CAST(id % 9 AS INT), 1), ''),"
            " date_add(DATE '2023-11-20', CAST(id * 17 % 900 AS INT)),"
            " nullif(CAST(id * 7 % 13 AS INT), 5), id * 31 % 97 / 4"
            f" FROM range({first}, {first + 40})"
        )
    sql(f"INSERT INTO {D} VALUES ('a', 'x'), ('b', 'x'), ('c', 'y'), ('é', NULL), ('q', 'z')")
    store = str(tmp_path_factory.mktemp("nested"))
    with spark_warehouse.attach(store=store) as session:
        session.execute(
            f"CREATE CUBE nest AS SELECT k, d, count(*), sum(v), count(v), min(p), max(p),"
            f" sum(p), approx_count_distinct(v) FROM {F} GROUP BY k, d"
        )
        session.execute(
            f"CREATE CUBE nest_g AS SELECT g, k, sum(v) FROM {F} JOIN {D} ON k = dk GROUP BY g, k"
        )
        yield session


def test_answers_are_equal_at_full_and_partial_coverage(nest) -> None:
    check = Differential(nest)
    check.check(NESTED)
    check.check(FLAT, spark=FLAT[:3])
    check.check([f"SELECT sum(v) FROM (SELECT v FROM {F} WHERE v > 2)"], rewritten=None)
    check.check(PLAIN, rewritten=None)
    assert {nest.query(sql).metrics.engine for sql in PLAIN} == {"spark"}
    nest.spark.sql(f"INSERT INTO {F} VALUES ('a', DATE '2025-01-01', 100, 1), (NULL, NULL, 7, 2)")
    check.changed()
    check.check([*NESTED, *FLAT], where="after an append")
    nest.spark.sql(f"DELETE FROM {F} WHERE k = 'b' OR v = 100")
    check.changed()
    check.check(NESTED, rewritten=None, where="after a delete")


def test_a_name_of_with_hides_the_table(nest) -> None:
    """Were the table meant, there would be another answer."""
    sql = (
        f"WITH nest_d AS (SELECT k AS dk, count(*) AS g FROM {F} GROUP BY k)"
        " SELECT max(g) FROM nest_d"
    )
    spark = nest.spark
    catalog, namespace = spark.catalog.currentCatalog(), spark.catalog.currentDatabase()
    spark.sql("USE lake.d")
    try:
        Differential(nest).check([sql], rewritten=None)
    finally:
        spark.catalog.setCurrentCatalog(catalog)
        if namespace:
            spark.sql(f"USE {catalog}.{namespace}")


def test_explain_tells_of_each_select(nest) -> None:
    nest.execute("BUILD CUBE nest")
    sql = f"WITH c AS ({BY_K}) SELECT max(s) FROM c JOIN (SELECT count(*) AS m FROM {D}) ON n <= m"
    text = nest.explain(sql)
    assert text.startswith("2 SELECTs, each on its own; what stands above them by duckdb\n1. ")
    assert "cube nest" in text
    answer = nest.query(sql)
    assert answer.metrics.cubes == ("nest",)
    assert answer.metrics.files_total > 0
    again = nest.query(sql)
    assert again.metrics.plan_cached


def test_verify_leaves_estimates_out(nest) -> None:
    nest.execute("BUILD CUBE nest")
    inner = f"SELECT k, approx_count_distinct(v) AS a, count(*) AS n FROM {F} GROUP BY k"
    row = nest.query(f"VERIFY SELECT max(a), sum(n) AS n FROM ({inner})").arrow().to_pylist()[0]
    assert (row["rewritten"], row["equal"], row["estimates"]) == (True, True, "max(a)")
