"""Statements that were once answered wrongly, or only by falling back; each keeps its name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, ArithmeticException

from accelerator.errors import BuildError
from accelerator.plan import PlainPlan
from accelerator.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

_QUERIES = {
    "count_if under a filter": "SELECT count_if(v > 3) FILTER (WHERE k = 1) n FROM {t}",
    "count_if stored": "SELECT g, count_if(v > 3) n FROM {t} GROUP BY g",
    "digits of a bigint beside a NULL": "SELECT count(DISTINCT w) n FROM {t}",
    "not like": "SELECT g, count(*) n FROM {t} WHERE g NOT LIKE '%1' GROUP BY g",
    "order by a position in parentheses": "SELECT g, count(*) FROM {t} GROUP BY g ORDER BY (2), 1",
    "a number as key": "SELECT 7 z, g, count(*) n FROM {t} GROUP BY z, g",
    "a number as key over nothing": "SELECT 7 z, count(*) n FROM {t} WHERE k = -1 GROUP BY z",
    "DISTINCT of a number": "SELECT DISTINCT 3 z, g FROM {t}",
    "a constant dimension": "SELECT 5 five, g, count(*) n FROM {t} GROUP BY five, g",
    "order by what isn't there": "SELECT g FROM {t} GROUP BY g ORDER BY count(*) DESC, g LIMIT 3",
    "order by what is": "SELECT g, count(*) FROM {t} GROUP BY g ORDER BY count(*) DESC, g LIMIT 3",
    "timestamps are in UTC": "SELECT max(s) m FROM {t}",
    "avg of a wide decimal by Spark": "SELECT g, avg(e) a FROM {t} GROUP BY g",
}
_LEFT_TO_SPARK = {
    "a setting's value": "SELECT '${spark.sql.session.timeZone}' z, count(*) n FROM {t}",
    "a comment that goes on": "SELECT count(*) n FROM {t} -- here \\\nWHERE k = 1",
    "three comparisons": "SELECT count(*) n FROM {t} WHERE (k = 1) = (v > 3) < (k = 2)",
    "a pipe": "SELECT sum(v) AS v FROM {t} |> WHERE v > 3",
    "a pipe over groups": "SELECT g, sum(v) AS v FROM {t} GROUP BY g |> WHERE v > 3 |> LIMIT 100",
    "two quotes": "SELECT 'it''s' z, count(*) n FROM {t}",
    "literals side by side": "SELECT count(*) n FROM {t} WHERE g = 'g' '1'",
    "a star beside another argument": "SELECT count(*, v) FROM {t}",
    "a star that leaves out a column": "SELECT g, count(* EXCEPT (w)) FROM {t} GROUP BY g",
    "a distinct count of a constant": "SELECT count(DISTINCT 1) n FROM {t}",
}
_RAISED = {
    "WHERE NULL": "SELECT count(*) n FROM {t} WHERE NULL",
    "FILTER NULL": "SELECT count(*) FILTER (WHERE NULL) n FROM {t}",
    "ON NULL": "SELECT count(*) n FROM {t} a JOIN {t} b ON NULL",
    "CASE WHEN NULL": "SELECT sum(CASE WHEN NULL THEN v END) n FROM {t}",
    "an operator behind IS NULL": "SELECT count(*) n FROM {t} WHERE k IS NULL = FALSE",
    "BETWEEN behind IS NOT NULL": "SELECT count(*) n FROM {t} WHERE k IS NOT NULL BETWEEN TRUE"
    " AND TRUE",
    "having by another, order by what a key is made of": "SELECT k IS NULL n FROM {t}"
    " GROUP BY k IS NULL HAVING count(*) > 1 ORDER BY k IS NULL",
    "order by what a key of grouping sets is made of": "SELECT k IS NULL, count(*) n FROM {t}"
    " GROUP BY CUBE ((k IS NULL)) ORDER BY k IS NULL",
    "IN behind IS NULL": "SELECT count(*) n FROM {t} WHERE NOT (g IS NULL NOT IN (TRUE))",
    "order by an output of DISTINCT written again": "SELECT DISTINCT g IS NULL, k FROM {t}"
    " ORDER BY g IS NULL",
    "order by a column that DISTINCT calls otherwise": "SELECT DISTINCT g z FROM {t} ORDER BY g",
    "order by a column that DISTINCT hasn't": "SELECT DISTINCT g FROM {t} ORDER BY k",
    "order by an aggregate over DISTINCT": "SELECT DISTINCT g FROM {t} ORDER BY count(*)",
    "a name in parentheses": "SELECT count(*) n FROM {t} WHERE (NULL)",
    "having by one, order by another": "SELECT g, sum(v) n FROM {t} GROUP BY g"
    " HAVING count(*) > 0 ORDER BY max(v)",
    "having by another, order by an output": "SELECT g, sum(v) n FROM {t} GROUP BY g"
    " HAVING count(*) > 0 ORDER BY sum(v)",
    "having by a part of an output": "SELECT g, count(*) + 1 n FROM {t} GROUP BY g"
    " HAVING count(*) > 0 ORDER BY count(*)",
    "having by a key that isn't an output": "SELECT count(*) n FROM {t} GROUP BY g"
    " HAVING g = 'g1' ORDER BY max(v)",
}
_FAILED = {
    "NULL under OR in IS NOT TRUE": "SELECT count(*) n FROM {t} WHERE (k = 1 OR NULL) IS NOT TRUE",
    "NULL under AND in IS NULL": "SELECT g FROM {t} WHERE (k = 1 AND NULL) IS NULL ORDER BY g"
    " LIMIT 3",
    "NULL under OR beside <=>": "SELECT count(*) n FROM {t} WHERE (k = 1 OR NULL) <=> TRUE",
    "NULL under OR in coalesce": "SELECT count(*) n FROM {t} WHERE coalesce(k = 1 OR NULL, TRUE)",
    "NULL as a bound": "SELECT count(*) n FROM {t} WHERE (k BETWEEN 1 AND NULL) IS NOT TRUE",
    "what is NULL under OR": "SELECT count(*) n FROM {t} WHERE (k = 1 OR k = NULL) IS NOT TRUE",
    "NULL under OR in CASE": "SELECT count(*) n FROM {t} WHERE CASE WHEN (k = 1 OR NULL) IS NULL"
    " THEN k > 2 ELSE g = 'g1' END",
    "NULL under OR in HAVING": "SELECT k, count(*) n FROM {t} GROUP BY k"
    " HAVING (k = 1 OR NULL) IS NOT TRUE",
    "NULL under OR in a key": "SELECT k = 1 OR NULL b, count(*) n FROM {t} GROUP BY k = 1 OR NULL",
    "NULL under NOT in an aggregate": "SELECT g, bool_or(NOT (k = 3 AND NULL)) b FROM {t}"
    " GROUP BY g",
    "NULL under OR above groups": "SELECT sum(n) n FROM (SELECT k, count(*) n FROM {t} GROUP BY k)"
    " WHERE (k = 1 OR NULL) IS NULL",
    "NULL under OR above windows": "SELECT k, rank() OVER (ORDER BY n) r FROM"
    " (SELECT k, count(*) n FROM {t} GROUP BY k) WHERE (k = 1 OR NULL) IS NULL",
}
"""Spark fails inside: it can't hand these to the source, and tries to."""
_STILL_ANSWERED = {
    "NULL under AND": "SELECT count(*) n FROM {t} WHERE NULL AND k = 1 OR k = 2",
    "NULL under OR": "SELECT count(*) n FROM {t} WHERE k = 1 OR NULL",
    "NULL under NOT": "SELECT count(*) n FROM {t} WHERE NOT (k > 2 AND NULL)",
    "NULL under NOT of NOT": "SELECT g, count(*) n FROM {t} WHERE NOT ((NOT NULL) AND k = 1)"
    " GROUP BY g",
    "NULL as a bound under NOT": "SELECT count(*) n FROM {t} WHERE NOT (k BETWEEN NULL AND 1)",
    "NULL beside a NULL": "SELECT count(*) n FROM {t} WHERE (k = NULL) IS NULL",
    "NULL under OR in FILTER": "SELECT g, count(*) FILTER (WHERE k = 1 OR NULL) n FROM {t}"
    " GROUP BY g",
    "NULL under AND in FILTER": "SELECT g, count(*) FILTER (WHERE NOT (k = 1 AND NULL)) n FROM {t}"
    " GROUP BY g",
    "NULL under OR as CASE's condition": "SELECT sum(CASE WHEN NOT (k = 1 AND NULL) THEN 1 END) n"
    " FROM {t}",
    "NULL under OR as if's condition": "SELECT sum(if(k = 1 OR NULL, 1, 0)) n FROM {t}",
    "NULL under OR in HAVING": "SELECT k, count(*) n FROM {t} GROUP BY k HAVING k = 1 OR NULL",
    "IS NULL in parentheses": "SELECT count(*) n FROM {t} WHERE (k IS NULL) = FALSE",
    "order by names that DISTINCT gives": "SELECT DISTINCT g z, k FROM {t} a ORDER BY z, a.k + 1",
    "NOT NULL": "SELECT count(*) FILTER (WHERE NOT NULL) n FROM {t}",
    "HAVING NULL": "SELECT g, count(*) n FROM {t} GROUP BY g HAVING NULL",
    "having by an output, order by another": "SELECT g, count(*) n FROM {t} GROUP BY g"
    " HAVING count(*) > 1 ORDER BY count_if(v > 3), g",
    "having by another, order by a name": "SELECT g, count_if(v > 3) n FROM {t} GROUP BY g"
    " HAVING count(*) > 1 ORDER BY n, g",
    "having by another, order by a key": "SELECT count_if(v > 3) n FROM {t} GROUP BY g"
    " HAVING count(*) > 1 ORDER BY g",
    "having by an output, order by what a key is made of": "SELECT k IS NULL n, count(*) c FROM {t}"
    " GROUP BY k IS NULL HAVING count(*) > 1 ORDER BY k IS NULL",
    "having by a key, order by an aggregate": "SELECT g, count_if(v > 3) n FROM {t} GROUP BY g"
    " HAVING g > 'g0' ORDER BY count(*), g",
}
_SETTINGS = {
    "spark.sql.groupByAliases": "SELECT g, count(*) n FROM {t} GROUP BY g",
    "spark.sql.groupByOrdinal": "SELECT count(*) n FROM {t}",
    "spark.sql.orderByOrdinal": "SELECT g, count(*) n FROM {t} GROUP BY g ORDER BY 1",
    "spark.sql.parser.escapedStringLiterals": r"SELECT count(*) n FROM {t} WHERE g = 'g\u0031'",
    "spark.sql.ansi.relationPrecedence": "SELECT count(*) n FROM {t}",
    "spark.sql.ansi.enforceReservedKeywords": "SELECT g, count(*) n FROM {t} GROUP BY g",
    "spark.sql.ansi.doubleQuotedIdentifiers": 'SELECT "g" z, count(*) n FROM {t} GROUP BY 1',
}


def _insert(warehouse: SparkWarehouse, table: str, start: int) -> None:
    warehouse.sql(
        f"INSERT INTO lake.d.{table} SELECT concat('g', id % 3), CAST(id % 4 AS INT),"
        " CAST(if(id % 7 = 0, NULL, id % 9) AS INT),"
        " CASE id % 4 WHEN 0 THEN NULL WHEN 1 THEN 4611686018427387905 ELSE"
        " 4611686018427387904 + id"
        " END, CAST(id AS DECIMAL(18,4)) / 3, timestamp_seconds(1600000000 + id)"
        f" FROM range({start}, {start + 50}, 1, 1)"
    )


@pytest.fixture(scope="module")
def table(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[str]:
    """Half covered: one file built, one raw."""
    name = spark_warehouse.table("g STRING, k INT, v INT, w BIGINT, e DECIMAL(18,4), s TIMESTAMP")
    _insert(spark_warehouse, name, 0)
    acc.query(
        f"CREATE CUBE wrong_once AS SELECT g, k, 5 five, count(*) n, count_if(v > 3) c, max(s) m,"
        f" count(DISTINCT w) d, avg(e) a FROM lake.d.{name} GROUP BY g, k, five"
    )
    _insert(spark_warehouse, name, 40)
    yield f"lake.d.{name}"
    acc.query("DROP CUBE wrong_once")


def test_answered_by_both_engines(acc: Accelerator, table: str) -> None:
    queries = [q.format(t=table) for q in _QUERIES.values()]
    unstored = queries[0]
    Differential(acc).check([unstored], rewritten=False, spark=[unstored])
    Differential(acc).check(queries[1:], spark=queries[1:])


def test_where_spark_raises(acc: Accelerator, table: str) -> None:
    for name, query in _RAISED.items():
        with pytest.raises(AnalysisException):
            pytest.fail(f"{name}: {acc.query(query.format(t=table)).arrow()}")


def test_where_spark_fails_inside(acc: Accelerator, table: str) -> None:
    for name, query in _FAILED.items():
        plan = acc.plan(query.format(t=table))[0]
        assert isinstance(plan, PlainPlan), name
        with pytest.raises(Py4JError, match="INTERNAL_ERROR"):
            pytest.fail(f"{name}: {acc.query(query.format(t=table)).arrow()}")


def test_where_spark_raises_beside_these(acc: Accelerator, table: str) -> None:
    queries = [q.format(t=table) for q in _STILL_ANSWERED.values()]
    Differential(acc).check(queries, spark=queries)


def test_left_to_spark(acc: Accelerator, table: str) -> None:
    queries = [q.replace("{t}", table) for q in _LEFT_TO_SPARK.values()]
    Differential(acc).check(queries, rewritten=False)


@pytest.mark.parametrize("setting", _SETTINGS)
def test_settings_that_change_the_text(live_acc: Accelerator, table: str, setting: str) -> None:
    acc, spark, query = live_acc, live_acc.spark, _SETTINGS[setting].format(t=table)
    before = spark.conf.get(setting)
    spark.conf.set(setting, "false" if before == "true" else "true")
    try:
        answer = acc.query(query)
        assert not answer.metrics.rewritten
        assert "settings_unsupported" in (answer.metrics.fallback or "")
    finally:
        spark.conf.set(setting, before)


def test_a_temporary_view_hides_the_table(live_acc: Accelerator, table: str) -> None:
    acc, spark, short = live_acc, live_acc.spark, table.rsplit(".", 1)[1]
    catalog, namespace = spark.catalog.currentCatalog(), spark.catalog.currentDatabase()
    spark.sql("USE lake.d")
    query = f"SELECT count(*) n FROM {short}"
    try:
        Differential(acc).check([query])
        spark.sql(f"CREATE TEMPORARY VIEW {short} AS SELECT 1 AS k")
        Differential(acc).check([query], rewritten=False, spark=[query])
    finally:
        spark.catalog.dropTempView(short)
        spark.catalog.setCurrentCatalog(catalog)
        if namespace:
            spark.sql(f"USE {catalog}.{namespace}")


@pytest.mark.parametrize("call", ["substring(g, 1, 1)", "string(k)"])
def test_a_function_of_the_sessions_own_under_sparks_name(
    live_acc: Accelerator, table: str, call: str
) -> None:
    query = f"SELECT {call} s, count(*) n FROM {table} GROUP BY {call}"
    Differential(live_acc).check([query])
    live_acc.spark.udf.register(call.partition("(")[0], lambda *_: "mine")
    Differential(live_acc).check([query], rewritten=False, spark=[query])


def test_a_condition_that_is_no_boolean_is_sparks_error(acc: Accelerator, table: str) -> None:
    query = f"SELECT count(*) n FROM {table} WHERE k"
    with pytest.raises(Exception, match="DATATYPE_MISMATCH"):
        acc.query(query)


def test_a_sum_that_overflows_is_sparks_error(acc: Accelerator, table: str) -> None:
    """By both ways and plainly; one that just fits is none."""
    fits = f"SELECT g, sum(-92233720368547758) s FROM {table} GROUP BY g"
    Differential(acc).check([fits], spark=[fits])
    query = f"SELECT g, sum(-9223372036854775807) s FROM {table} GROUP BY g"
    assert not isinstance(acc.plan(query)[0], PlainPlan)
    for run in (acc.sql, acc.spark.sql, lambda sql: acc.query(sql).arrow()):
        with pytest.raises(ArithmeticException) as raised:
            run(query).toArrow()
        assert raised.value.getCondition() == "ARITHMETIC_OVERFLOW"


def test_columns_of_wider_types(spark_warehouse: SparkWarehouse, acc: Accelerator) -> None:
    """Segments that were built since have the type that a column has now, states that of before."""
    sql, name = spark_warehouse.sql, "lake.d.wrong_promoted"
    sql(f"CREATE TABLE {name} (g STRING, d DATE, i INT, x FLOAT) USING iceberg")
    sql(f"INSERT INTO {name} VALUES ('a', DATE '2024-01-02', 3, 0.5), ('b', NULL, NULL, NULL)")
    cubes = {
        "c_own": f"SELECT g, d, i, sum(i), count(*) FROM {name} GROUP BY g, d, i",
        "c_made": f"SELECT g, i + 1 AS j, count(*) FROM {name} GROUP BY g, i + 1",
        "c_float": f"SELECT g, max(x), count(x) FROM {name} GROUP BY g",
        "c_sums": f"SELECT d, sum(x), avg(x), stddev(x), count(*) FROM {name} GROUP BY d",
    }
    for cube, select in cubes.items():
        acc.query(f"CREATE CUBE {cube} AS {select}")
    queries = [
        f"SELECT day(d), i, count(*), sum(i) AS s FROM {name} WHERE i > 1 GROUP BY day(d), i",
        f"SELECT g, i + 1 AS j, max(i) AS m FROM {name} GROUP BY g, i + 1",
        f"SELECT g, i + 1 AS j, count(*) AS n FROM {name} GROUP BY g, i + 1",
        f"SELECT g, max(x) AS m, count(x) AS n FROM {name} GROUP BY g",
        f"SELECT d, sum(x) AS s, avg(x) AS a, stddev(x) AS e FROM {name} GROUP BY d",
    ]
    both = Differential(acc)
    both.check(queries, spark=queries)
    try:
        for column, type_ in (("i", "BIGINT"), ("x", "DOUBLE")):
            sql(f"ALTER TABLE {name} ALTER COLUMN {column} TYPE {type_}")
        sql(f"INSERT INTO {name} VALUES ('a', DATE '2024-01-05', 4000000000, 0.1)")
        acc.query(f"BUILD ALL ON {name}")
        both.changed()
        both.check(queries, rewritten=None, spark=queries)
        assert acc.query(queries[0]).metrics.rewritten
        assert acc.query(queries[-1]).metrics.cubes == ("c_sums",)
        acc.query("PUBLISH CUBE c_own AS lake.d.wrong_published")
        shown = sql("SELECT i FROM lake.d.wrong_published ORDER BY i")
        assert [row.i for row in shown] == [None, 3, 4000000000]
        with pytest.raises(BuildError, match="another type"):
            acc.query("PUBLISH CUBE c_made AS lake.d.wrong_made")
    finally:
        for cube in cubes:
            acc.query(f"DROP CUBE {cube}")
        sql(f"DROP TABLE {name}")
