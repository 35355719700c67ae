"""Zeros of both signs and NaN: where plain Spark's answer depends on the files, Spark is asked."""

from __future__ import annotations

import pytest

from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

DOUBTFUL = (
    "d = 0",
    "d >= 0",
    "d > 5",
    "d > 5e0",
    "d IN (0, 7)",
    "NOT (d < 1)",
    "0 <= d",
    "d >= 0e0",
)
SURE = ("d < 5", "d <= 3e0", "d = 7", "d IN (7, 8.5)", "d < -1", "d <=> 7", "d IS NULL")


def test_doubtful_predicates_are_sparks(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    table = f"lake.d.{wh.table('k INT, d DOUBLE')}"
    for values in (
        "IF(id % 2 = 0, DOUBLE('-0.0'), 0.0D)",
        "DOUBLE('NaN')",
        "DOUBLE('-0.0')",
        "id + 5.0D",
        "IF(id = 3, DOUBLE('NaN'), id / 2)",
    ):
        wh.sql(f"INSERT INTO {table} SELECT CAST(id AS INT), {values} FROM range(0, 10, 1, 1)")
    same = Differential(acc)

    def queries(wheres):
        texts = ("SELECT count(*) FROM {t} WHERE {w}", "SELECT * FROM {t} WHERE {w}")
        return [text.format(t=table, w=where) for where in wheres for text in texts]

    for _ in range(2):
        doubtful = queries(DOUBTFUL)
        same.check(doubtful, rewritten=False, spark=doubtful[:2])
        same.check(queries(SURE), rewritten=None)
        codes = [row["code"] for row in acc.why_not(doubtful[0])]
        assert "float_order" in codes
        for kind in ("BITMAP", "BLOOM", "BOUNDS", "RANGE"):
            acc.execute(f"CREATE INDEX IF NOT EXISTS of_{kind} ON {table} USING {kind} (d)")


def test_where_no_zero_and_no_nan_lies_they_are_answered(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    table = f"lake.d.{wh.table('k INT, d DOUBLE')}"
    for first in (1, 100):
        wh.sql(
            f"INSERT INTO {table} SELECT CAST(id AS INT), id / 2"
            f" FROM range({first}, {first + 50}, 1, 1)"
        )
    queries = [
        f"SELECT count(*), max(k) FROM {table} WHERE {where}"
        for where in ("d > 60", "d = 0", "d >= 0")
    ]
    Differential(acc).check(queries)


def test_cubes_are_not_asked_about_zeros(spark_warehouse, acc) -> None:
    wh = spark_warehouse
    table = f"lake.d.{wh.table('k INT, d DOUBLE')}"
    wh.sql(f"INSERT INTO {table} SELECT CAST(id AS INT), DOUBLE('-0.0') FROM range(0, 10, 1, 1)")
    acc.execute(f"CREATE CUBE zeros AS SELECT d, count(*) FROM {table} GROUP BY d")
    same = Differential(acc)
    same.check([f"SELECT count(*) FROM {table} WHERE d = 0"], rewritten=False)
    same.check([f"SELECT count(*) FROM {table} WHERE d = 1.5"])


def test_cubes_are_not_asked_about_nan(spark_warehouse, acc) -> None:
    """Not even those that hold just the rows of the predicate."""
    wh = spark_warehouse
    table = f"lake.d.{wh.table('k INT, d DOUBLE, e DOUBLE')}"
    for values in ("IF(id = 3, DOUBLE('NaN'), id / 8)", "id + 5.0D"):
        wh.sql(
            f"INSERT INTO {table} SELECT CAST(id AS INT), {values}, id + 1.0D"
            " FROM range(0, 10, 1, 1)"
        )
    same = Differential(acc)
    for column, rewritten in (("d", False), ("e", True)):
        query = f"SELECT k, count(*) FROM {table} WHERE {column} > 5e0 GROUP BY k"
        acc.execute(f"CREATE CUBE above_{column} AS {query}")
        same.check([query], rewritten=rewritten)


def test_predicates_that_spark_hands_on_to_the_table(spark_warehouse, acc) -> None:
    """Of HAVING, of what stands above a derived table, and of a table beside one."""
    wh = spark_warehouse
    table = f"lake.d.{wh.table('k INT, d DOUBLE')}"
    for values in ("DOUBLE('-0.0')", "0.0D", "DOUBLE('NaN')", "id + 5.0D"):
        wh.sql(f"INSERT INTO {table} SELECT CAST(id AS INT), {values} FROM range(0, 10, 1, 1)")
    acc.execute(f"CREATE CUBE floats_on AS SELECT d, k, count(*) FROM {table} GROUP BY d, k")
    by_d, by_k = (f"SELECT {c}, count(*) AS n FROM {table} GROUP BY {c}" for c in "dk")
    asked = [
        text.format(where)
        for where in ("d = 0", "d > 5", "d < 7")
        for text in (
            f"{by_d} HAVING {{}}",
            f"{by_d} HAVING n > 0 AND {{}} ORDER BY n",
            f"SELECT a.n, d FROM ({by_k}) a JOIN {table} t ON a.k < t.k WHERE {{}}",
            f"SELECT a.n, d FROM ({by_k}) a LEFT JOIN {table} t ON a.k < t.k AND {{}}",
            f"SELECT d, sum(n) FROM (SELECT a.n, d FROM ({by_k}) a JOIN {table} t ON a.k = t.k)"
            " WHERE {} GROUP BY d",
            f"SELECT * FROM ({by_d}) WHERE {{}}",
            f"SELECT * FROM ({by_d} UNION ALL {by_d}) WHERE {{}}",
            f"SELECT x, n FROM (SELECT d AS x, n + 1 AS n, d FROM ({by_d})) WHERE {{}} ",
        )
    ]
    try:
        Differential(acc).check(asked, rewritten=None)
        rewritten = {
            sql: acc.query(sql).metrics.rewritten for sql in asked if sql.endswith("d < 7")
        }
        assert [sql for sql, is_so in rewritten.items() if not is_so] == []
        over = f"SELECT d, rank() OVER (ORDER BY n, d) AS r FROM ({by_d})"
        Differential(acc).check([over])
    finally:
        acc.execute("DROP CUBE floats_on")
