"""Statements that are large or deep end in Spark's own answer or its own error."""

from __future__ import annotations

from pathlib import Path

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from accelerator.services.verification.compare import differ
from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table(spark_warehouse: SparkWarehouse, acc: Accelerator) -> str:
    name = f"lake.d.{spark_warehouse.table('k INT, s STRING')}"
    spark_warehouse.sql(f"INSERT INTO {name} SELECT id % 7, concat('s', id) FROM range(100)")
    acc.query(f"CREATE CUBE hostile AS SELECT k, count(*) FROM {name} GROUP BY k")
    return name


def _deep(opening: str, inner: str, closing: str, depth: int) -> str:
    return opening * depth + inner + closing * depth


def _chain(length: int) -> str:
    """Items of WITH that read the one before twice: more and more SELECTs in all."""
    joined = "SELECT a.k FROM c{0} a JOIN c{0} b ON a.k = b.k GROUP BY a.k"
    return ", ".join(f"c{i + 1} AS ({joined.format(i)})" for i in range(length))


@pytest.mark.long
def test_large_statements_are_answered(table: str, acc: Accelerator) -> None:
    every = list(map(str, range(3, 50_003)))
    shapes = {
        f"SELECT count(*) FROM {table} WHERE k IN ({', '.join(every[:19_500])})": True,
        f"SELECT count(*) FROM {table} WHERE k = {' OR k = '.join(map(str, range(400)))}": True,
        f"SELECT count(*) FROM {table} WHERE {_deep('(', 'k = 1', ')', 60)}": True,
        "SELECT count(*) FROM " + _deep("(SELECT k FROM ", table, ")", 40): False,
    }
    for sql, rewritten in shapes.items():
        Differential(acc).check([sql], rewritten=rewritten, spark=[sql])
    for sql in (  # beyond a bound, so that Spark gets them as they stand
        f"SELECT count(*) AS n FROM {table} WHERE k IN ({', '.join(every)})",
        f"SELECT count(*), '{'x' * 1_500_000}' AS long FROM {table}",
        f"SELECT /* {'comment ' * 700_000} */ count(*) FROM {table}",
    ):
        counted = acc.fallbacks.get("statement_too_deep", 0)
        assert not differ(acc.query(sql).arrow(), acc.spark.sql(sql).toArrow())
        assert acc.fallbacks["statement_too_deep"] == counted + 1


@pytest.mark.long
def test_deep_statements_end_as_sparks(table: str, acc: Accelerator) -> None:
    statements = [
        f"SELECT count(*) FROM {table} WHERE " + _deep("(", "k = 1", ")", 3_000),
        f"SELECT {_deep('CASE WHEN k = 1 THEN ', '1', ' END', 1_000)} AS x FROM {table}",
        f"SELECT count(*) FROM {table} WHERE " + _deep("NOT ", "k = 1", "", 5_000),
        "SELECT count(*) FROM " + _deep("(SELECT * FROM ", table, ")", 2_000),
        f"WITH c0 AS (SELECT k FROM {table} GROUP BY k), {_chain(4)} SELECT * FROM c4 ORDER BY k",
    ]
    for sql in statements:
        plain = _outcome(lambda sql=sql: acc.spark.sql(sql).toArrow())
        assert _outcome(lambda sql=sql: acc.query(sql).arrow()) == plain
    assert acc.query(f"SELECT count(*) AS n FROM {table}").arrow().to_pylist() == [{"n": 100}]


def test_a_chain_that_doubles_is_planned_once_a_link(table: str, acc: Accelerator) -> None:
    """Spark reads a billion tables for it, and gives up."""
    sql = f"WITH c0 AS (SELECT k FROM {table} GROUP BY k), {_chain(30)} SELECT * FROM c30"
    result = acc.query(sql)
    assert result.metrics.rewritten
    assert sorted(row["k"] for row in result.arrow().to_pylist()) == list(range(7))
    assert "1 SELECT on its own; what stands above by DuckDB\n" in acc.explain(sql)


def test_paths_that_mean_something_to_duckdb(
    spark_warehouse: SparkWarehouse, table: str, tmp_path: Path
) -> None:
    """Hive's `segment=1` would be the column of that name; stars and brackets match siblings."""
    folder = tmp_path / "segment=1" / "k=2" / "a[b]*?"
    with spark_warehouse.attach(store=str(folder)) as there:
        there.query(f"CREATE CUBE elsewhere AS SELECT k, count(*) FROM {table} GROUP BY k")
        query = f"SELECT k, count(*) AS n FROM {table} GROUP BY k"
        Differential(there).check([query])
        assert there.query(query).metrics.cubes == ("elsewhere",)


def _outcome(run) -> object:
    try:
        return run().to_pylist()
    except (Py4JError, PySparkException) as error:
        return type(error).__name__
