"""GROUPING SETS, ROLLUP and CUBE from cubes are plain Spark's; what Spark refuses stays refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import AnalysisException

from accelerator.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

T, D, E = "lake.d.sets", "lake.d.sets_d", "lake.d.sets_empty"
_ROWS = (
    "SELECT nullif(id % 4, 3) AS a, nullif(concat('b', id % 3), 'b2') AS b,"
    " date_add(DATE '2023-11-28', CAST(id AS INT)) AS d, nullif(CAST(id AS INT) % 5, 0) AS v,"
    " CAST(id AS DOUBLE) / 4 AS x, id % 6 AS k FROM range({0}, {1}, 1, 1)"
)
_SETS = (
    "ROLLUP (a, b)",
    "a, b WITH ROLLUP",
    "CUBE (a, b)",
    "a, b WITH CUBE",
    "GROUPING SETS ((a, b), (b), ())",
    "a, ROLLUP (b)",
    "ROLLUP (a), CUBE (b)",
    "GROUPING SETS (ROLLUP (a), (b))",
    "ROLLUP ((a, b))",
    "a, b GROUPING SETS ((a, b), (a))",
    "a, GROUPING SETS ((b), ())",
)
_ANSWERED = (
    *(f"SELECT a, b, count(*) AS n, sum(v) AS s, avg(v) AS m FROM {T} GROUP BY {s}" for s in _SETS),
    *(f"SELECT a, b, count(*) AS n FROM {E} GROUP BY {s}" for s in _SETS[:5]),
    f"SELECT a, b, count(*) FROM {T} WHERE a = 77 GROUP BY ROLLUP (a, b)",
    f"SELECT grouping(a), grouping_id(), grouping_id(a, b), count(*) FROM {T} GROUP BY CUBE (a, b)",
    f"SELECT a, b, count(*) FROM {T} GROUP BY GROUPING SETS ((b, a), (b), ())"
    " ORDER BY grouping_id(), a, b",
    f"SELECT year(d), month(d), sum(v) FROM {T} GROUP BY ROLLUP (year(d), month(d))",
    f"SELECT year(d) AS y, month(d) AS m, sum(v) FROM {T} GROUP BY ROLLUP (y, m) ORDER BY y, m",
    f"SELECT CASE WHEN grouping(b) = 1 THEN 'all' ELSE b END AS b, sum(v) FROM {T}"
    " GROUP BY ROLLUP (b)",
    f"SELECT if(grouping(b) = 0, b, 'all') AS label, sum(v) FROM {T} GROUP BY ROLLUP (b)",
    f"SELECT a, count(DISTINCT b), count(DISTINCT a), max(b), sum(a) FROM {T} GROUP BY CUBE (a, b)",
    f"SELECT a, b, sum(v) FROM {T} GROUP BY CUBE (a, b) HAVING grouping(a) + grouping(b) = 1",
    f"SELECT a, b, sum(v) FROM {T} GROUP BY CUBE (a, b) HAVING grouping(a) = 1 OR sum(v) > 10",
    f"SELECT a + 1, count(*) FROM {T} GROUP BY ROLLUP (a + 1)",
    f"SELECT a, sum(v) FILTER (WHERE b = 'b1') FROM {T} GROUP BY ROLLUP (a) ORDER BY a LIMIT 2",
    f"SELECT g, a, sum(v) FROM {T} JOIN {D} ON k = dk GROUP BY ROLLUP (g, a)",
    f"SELECT max(n), count(*) FROM (SELECT a, b, count(*) AS n FROM {T} GROUP BY CUBE (a, b))",
    f"SELECT a, sum(n) FROM (SELECT a, b, count(*) AS n FROM {T} GROUP BY a, b)"
    " GROUP BY ROLLUP (a)",
    # What Spark reads in its own way, or refuses.
    f"SELECT a, b, count(*) FROM {T} GROUP BY GROUPING SETS ((a), (a), (b))",
    f"SELECT a, count(*) FROM {T} GROUP BY ROLLUP (a, a)",
    f"SELECT a, count(*) FROM {T} GROUP BY a, a WITH ROLLUP",
    f"SELECT a, b, count(*) FROM {T} GROUP BY ROLLUP (1, 2)",
    f"SELECT a, b, count(*) FROM {T} GROUP BY 1, ROLLUP (2)",
    f"SELECT a, count(*) FROM {T} GROUP BY ROLLUP (a, 'x')",
    f"SELECT count(*) FROM {T} GROUP BY GROUPING SETS (())",
    f"SELECT count(*) FROM {E} GROUP BY GROUPING SETS (())",
    f"SELECT a, grouping(b) FROM {T} GROUP BY ROLLUP (a)",
    f"SELECT a, grouping(a) FROM {T} GROUP BY a",
    f"SELECT a, grouping_id(a) FROM {T} GROUP BY ROLLUP (a, b)",
    f"SELECT a, grouping_id(b, a) FROM {T} GROUP BY ROLLUP (a, b)",
    f"SELECT DISTINCT grouping(a) FROM {T} GROUP BY ROLLUP (a)",
    f"SELECT x, count(*) FROM {T} GROUP BY ROLLUP (x)",
    f"SELECT a, b FROM {T} GROUP BY ROLLUP (a, b)",
    f"SELECT a, sum(v) + grouping(a) FROM {T} GROUP BY ROLLUP (a)",
)


@pytest.fixture(scope="module")
def sets(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[Differential]:
    sql = spark_warehouse.sql
    for name, last in ((T, 40), (E, 0)):
        sql(f"CREATE TABLE {name} USING iceberg AS {_ROWS.format(0, last)}")
    sql(f"CREATE TABLE {D} AS SELECT id AS dk, concat('g', id % 2) AS g FROM range(5)")
    for name, table in (("sets", T), ("sets_empty", E)):
        acc.query(
            f"CREATE CUBE {name} AS SELECT a, b, d, count(*), sum(v), avg(v), sum(a) FROM {table}"
            " GROUP BY a, b, d"
        )
    acc.query(
        f"CREATE CUBE sets_d AS SELECT g, a, b, sum(v) FROM {T} JOIN {D} ON k = dk GROUP BY g, a, b"
    )
    yield Differential(acc)
    for name in ("sets", "sets_empty", "sets_d"):
        acc.query(f"DROP CUBE {name}")
    for name in (T, D, E):
        sql(f"DROP TABLE {name}")


def _answers(sets: Differential) -> int:
    """Each statement both ways, or the same error; how many weren't plain Spark's."""
    acc, rewritten, wrong = sets.acc, 0, []
    for query in _ANSWERED:
        try:
            acc.spark.sql(query).collect()
        except AnalysisException as plain:
            with pytest.raises(type(plain)):
                acc.query(query)
            continue
        try:
            by_spark = "HAVING" in query or "ORDER BY" in query or "grouping" in query
            sets.check([query], rewritten=None, spark=[query] if by_spark else ())
        except AssertionError as error:
            wrong.append(str(error))
        rewritten += acc.query(query).metrics.rewritten
    assert not wrong, "\n".join(wrong)
    return rewritten


def test_sets_over_cubes(sets: Differential) -> None:
    assert _answers(sets) >= 28


def test_sets_over_segments_and_rows(sets: Differential) -> None:
    sets.acc.spark.sql(f"INSERT INTO {T} {_ROWS.format(40, 55)}").collect()
    sets.acc.spark.sql(f"DELETE FROM {T} WHERE k = 2 AND d > '2024-01-09'").collect()
    sets.changed()
    assert _answers(sets) >= 20
