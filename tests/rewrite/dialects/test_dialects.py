"""Other dialects' queries in Spark SQL: what is written out, what refused, what left alone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
import sqlglot

from rewrite.client import DIALECTS, ClientContext
from rewrite.dialects.translate import translated, translated_for
from rewrite.errors import StatementError, UntranslatedError

_TABLES: Mapping[str, Mapping[str, str]] = {
    "t": {
        "a": "int",
        "b": "bigint",
        "c": "decimal(9,2)",
        "x": "double",
        "s": "string",
        "d": "date",
        "st": "struct<a:double>",
    },
    "u": {"a": "string", "k": "int"},
}


def _spark(sql: str, dialect: str) -> str:
    return translated(sql, dialect, lambda parts: _TABLES.get(parts[-1]))


@pytest.mark.parametrize(
    ("dialect", "sql", "wanted"),
    [
        # names with other letters
        ("postgres", "SELECT ä AS ö, a FROM größe", "SELECT `ä` AS `ö`, a FROM `größe`"),
        # where NULLs sort
        ("trino", "SELECT a FROM t ORDER BY a", "SELECT a FROM t ORDER BY a NULLS LAST"),
        ("trino", "SELECT a FROM t ORDER BY a DESC", "SELECT a FROM t ORDER BY a DESC"),
        (
            "postgres",
            "SELECT a FROM t ORDER BY a DESC",
            "SELECT a FROM t ORDER BY a DESC NULLS FIRST",
        ),
        ("mysql", "SELECT a FROM t ORDER BY a", "SELECT a FROM t ORDER BY a"),
        (
            "duckdb",
            "SELECT rank() OVER (ORDER BY a) FROM t",
            "SELECT RANK() OVER (ORDER BY a NULLS LAST) FROM t",
        ),
        # division
        ("trino", "SELECT a / b FROM t", "SELECT (a DIV b) FROM t"),
        ("postgres", "SELECT -a / 2 * 3 FROM t", "SELECT (-a DIV 2) * 3 FROM t"),
        ("trino", "SELECT sum(a) / count(*) FROM t", "SELECT (SUM(a) DIV COUNT(*)) FROM t"),
        (
            "trino",
            "SELECT c / a, x / a, avg(a) / 2 FROM t",
            "SELECT c / a, x / a, AVG(a) / 2 FROM t",
        ),
        ("postgres", "SELECT 1.0 * foo / bar FROM v", "SELECT 1.0 * foo / bar FROM v"),
        (
            "trino",
            "WITH w AS (SELECT sum(a) AS n FROM t) SELECT n / 2 FROM w",
            "WITH w AS (SELECT SUM(a) AS n FROM t) SELECT (n DIV 2) FROM w",
        ),
        (
            "trino",
            "SELECT z / 2 FROM (SELECT CAST(a AS DOUBLE) AS z FROM t)",
            "SELECT z / 2 FROM (SELECT CAST(a AS DOUBLE) AS z FROM t)",
        ),
        ("duckdb", "SELECT a / b FROM t", "SELECT a / b FROM t"),
        (
            "mysql",
            "SELECT a / b, a / 2, a % b FROM t",
            "SELECT a / NULLIF(b, 0), a / 2, a % NULLIF(b, 0) FROM t",
        ),
        (
            "clickhouse",
            "SELECT a * 1.5, count() FROM t GROUP BY a",
            "SELECT a * 1.5D, COUNT(*) FROM t GROUP BY a",
        ),
        # quotes, escapes, constants with types
        ("trino", "SELECT \"a\", 'it''s \\n' FROM t", "SELECT `a`, 'it\\'s \\\\n' FROM t"),
        ("mysql", "SELECT `a`, 'x\\ty' FROM t", "SELECT `a`, 'x\\ty' FROM t"),
        (
            "trino",
            "SELECT DATE '2024-01-01', TIMESTAMP '2024-01-01 10:00:00'",
            "SELECT DATE '2024-01-01', TIMESTAMP_NTZ '2024-01-01 10:00:00'",
        ),
        ("postgres", "SELECT d - interval '90 days' FROM t", "SELECT d - INTERVAL '90' DAY FROM t"),
        (
            "postgres",
            "SELECT a::float8, c::numeric(5,1), a::text FROM t",
            "SELECT CAST(a AS DOUBLE), CAST(c AS DECIMAL(5, 1)), CAST(a AS STRING) FROM t",
        ),
        ("postgres", "SELECT concat(s, 'x') FROM t", "SELECT CONCAT(COALESCE(s, ''), 'x') FROM t"),
        (
            "trino",
            "SELECT concat(s, 'x'), s || 'y' FROM t",
            "SELECT CONCAT(s, 'x'), s || 'y' FROM t",
        ),
        # clauses of their own
        (
            "trino",
            "SELECT a FROM t OFFSET 2 ROWS FETCH FIRST 3 ROWS ONLY",
            "SELECT a FROM t LIMIT 3 OFFSET 2",
        ),
        ("mysql", "SELECT a FROM t LIMIT 2, 5", "SELECT a FROM t LIMIT 5 OFFSET 2"),
        (
            "mysql",
            "SELECT IFNULL(a, 0), YEAR(d), a <=> b FROM t",
            "SELECT COALESCE(a, 0), YEAR(d), a IS NOT DISTINCT FROM b FROM t",
        ),
        (
            "clickhouse",
            "SELECT countIf(a > 1), toStartOfMonth(d) FROM t",
            "SELECT COUNT_IF(a > 1), DATE_TRUNC('MONTH', d) FROM t",
        ),
        (
            "trino",
            "SELECT a FROM lake.d.t FOR VERSION AS OF 12",
            "SELECT a FROM lake.d.t VERSION AS OF 12",
        ),
        ("mysql", "SELECT stddev(x) FROM t", "SELECT STDDEV_POP(x) FROM t"),
        ("starrocks", "SELECT variance(x) FROM t", "SELECT VAR_POP(x) FROM t"),
        (
            "starrocks",
            "SELECT var_samp(x), stddev_pop(x) FROM t",
            "SELECT VARIANCE(x), STDDEV_POP(x) FROM t",
        ),
        # what the kinds of columns decide
        ("trino", "SELECT a / 2 / 2 FROM t", "SELECT ((a DIV 2) DIV 2) FROM t"),
        (
            "trino",
            "SELECT a / 2 FROM (SELECT a FROM t UNION ALL SELECT b FROM t)",
            "SELECT (a DIV 2) FROM (SELECT a FROM t UNION ALL SELECT b FROM t)",
        ),
        (
            "postgres",
            "SELECT sum(CASE WHEN a > 1 THEN 1 ELSE 0 END) / count(*) FROM t",
            "SELECT (SUM(CASE WHEN a > 1 THEN 1 ELSE 0 END) DIV COUNT(*)) FROM t",
        ),
        (
            "postgres",
            "SELECT extract(year FROM d) / 10 FROM t",
            "SELECT EXTRACT(YEAR FROM d) / 10 FROM t",
        ),
        (
            "trino",
            "SELECT a / 2 FROM (SELECT a FROM t UNION ALL SELECT x FROM t)",
            "SELECT a / 2 FROM (SELECT a FROM t UNION ALL SELECT x FROM t)",
        ),
        (
            "trino",
            "SELECT z / 2 FROM (SELECT a AS z FROM t UNION SELECT b FROM t)",
            "SELECT (z DIV 2) FROM (SELECT a AS z FROM t UNION SELECT b FROM t)",
        ),
        ("trino", "SELECT st.a / 2 FROM t", "SELECT st.a / 2 FROM t"),
        (
            "trino",
            "WITH t AS (SELECT x AS a FROM t) SELECT t.a / u.k FROM t, u",
            "WITH t AS (SELECT x AS a FROM t) SELECT t.a / u.k FROM t, u",
        ),
        (
            "trino",
            "SELECT p / q FROM t AS r (p, q, c, x, s, d, st)",
            "SELECT (p DIV q) FROM t AS r(p, q, c, x, s, d, st)",
        ),
        ("trino", "VALUES (7 / 2)", "VALUES ((7 DIV 2))"),
        ("postgres", "SELECT '1' || 8 + 5", "SELECT '1' || (8 + 5)"),
        (
            "duckdb",
            "SELECT concat(a, d, 'x') FROM t",
            "SELECT CONCAT(COALESCE(CAST(a AS STRING), ''), COALESCE(CAST(d AS STRING), ''), 'x')"
            " FROM t",
        ),
        (
            "duckdb",
            "SELECT a AS z FROM t ORDER BY -z",
            "SELECT a AS z FROM t ORDER BY -z NULLS LAST",
        ),
        (
            "trino",
            "SELECT a FROM t WHERE s IS NOT NULL AND s NOT LIKE 'x%' -- what",
            "SELECT a FROM t WHERE NOT s IS NULL AND s NOT LIKE 'x%'",
        ),
        (
            "postgres",
            "SELECT a FROM t WHERE s IS NOT NULL AND s NOT ILIKE 'x%'",
            "SELECT a FROM t WHERE s IS NOT NULL AND s NOT ILIKE 'x%'",
        ),
        (
            "postgres",
            "WITH w AS MATERIALIZED (SELECT a FROM t) SELECT a FROM w GROUP BY ()",
            "WITH w AS (SELECT a FROM t) SELECT a FROM w GROUP BY ()",
        ),
        (
            "trino",
            "SELECT count(*) FROM t WHERE a < (WITH t AS (SELECT 9 AS a) SELECT max(a) FROM t)",
            "SELECT COUNT(*) FROM t WHERE a < (WITH t AS (SELECT 9 AS a) SELECT MAX(a) FROM t)",
        ),
        (
            "duckdb",
            "WITH o AS (WITH i AS (SELECT 1 AS a) SELECT a FROM i), i AS (SELECT 5 AS a)"
            " SELECT o.a FROM o JOIN i ON o.a = i.a",
            "WITH o AS (WITH i AS (SELECT 1 AS a) SELECT a FROM i), i AS (SELECT 5 AS a)"
            " SELECT o.a FROM o JOIN i ON o.a = i.a",
        ),
    ],
)
def test_what_is_written_out(dialect: str, sql: str, wanted: str) -> None:
    assert _spark(sql, dialect) == wanted
    assert sqlglot.parse_one(wanted, read="spark")


@pytest.mark.parametrize(
    ("dialect", "sql", "why"),
    [
        ("trino", "SELECT day_of_week(s) FROM t", "of VARCHAR"),
        ("postgres", "SELECT extract(dow FROM d) FROM t", "that part"),
        ("trino", "SELECT extract(second FROM d) FROM t", "of DATE"),
        ("trino", "SELECT my_function(a) FROM t", "no function my_function"),
        ("trino", "SELECT x[1] FROM t", "arrays whose elements"),
        ("trino", "SELECT CAST(x AS BIGINT) FROM t", "rounded"),
        ("trino", "SELECT CAST(x AS VARCHAR) FROM t", "written otherwise"),
        ("postgres", "SELECT CAST(s AS VARCHAR(3)) FROM t", "written otherwise"),
        ("trino", "SELECT CAST(s AS TIMESTAMP) FROM t", "rounded"),
        ("trino", "SELECT a / k FROM v", "the type of an operand isn't known"),
        ("postgres", "SELECT a / k FROM v", "both sides are integers"),
        ("trino", "SELECT a / k FROM t, u", "the type of an operand isn't known"),
        ("postgres", "SELECT a / k FROM t, u", "both sides are integers"),
        ("trino", "SELECT p / q FROM t AS r (p, q, c, x, s, d)", "the type of an operand"),
        ("postgres", "SELECT d - d FROM t", "both sides are numbers"),
        ("mysql", "SELECT d + 3 FROM t", "both sides are numbers"),
        ("postgres", "SELECT s LIKE 'a\\%' FROM t", "backslash"),
        ("trino", "SELECT s LIKE s ESCAPE '^' FROM t", "constant patterns"),
        ("trino", "SELECT round(x, a) FROM t", "constant numbers"),
        ("trino", "SELECT substr(s, 0) FROM t", "places from 1"),
        ("trino", "SELECT a FROM t FETCH FIRST 3 ROWS WITH TIES", "with_ties"),
        ("trino", "WITH RECURSIVE w AS (SELECT 1 AS n) SELECT n FROM w", "it has RECURSIVE"),
        ("trino", "SELECT a FROM t UNION WITH w AS (SELECT a FROM t) SELECT a FROM w", "branch"),
        ("trino", "SELECT grouping(a, b) FROM t GROUP BY CUBE (a, b)", "one key"),
        ("trino", "SELECT a FROM t TABLESAMPLE BERNOULLI (10)", "it has TABLESAMPLE"),
        ("trino", "SELECT a FROM t NATURAL JOIN u", "`NATURAL JOIN u`"),
        ("postgres", "SELECT DISTINCT ON (a) a, b FROM t", "on"),
        ("postgres", "SELECT count(DISTINCT (a, b)) FROM t", "rows as values"),
        ("duckdb", "SELECT a FROM t QUALIFY row_number() OVER (ORDER BY a) = 1", "it has QUALIFY"),
        ("duckdb", "SELECT a, sum(b) FROM t GROUP BY ALL", "all"),
        ("duckdb", "SELECT a // b FROM t", "`a // b`"),
        ("duckdb", "SELECT max(a, 3) FROM t", "count"),
        ("mysql", "SELECT length(s) FROM t", "bytes"),
        ("clickhouse", "SELECT length(s) FROM t", "bytes"),
        ("clickhouse", "SELECT variance(x) FROM t", "whole population"),
        ("clickhouse", "SELECT sum(a) AS a FROM t WHERE a > 1", "the output's or a column's"),
        ("clickhouse", "SELECT a FROM t LIMIT 3 BY b", "more operands"),
        ("clickhouse", "SELECT t.a FROM t LEFT JOIN u ON t.a = u.k", "partner"),
        ("clickhouse", "SELECT sumIf(a, b > 1) FROM t", "`sumIf(a, b > 1)`"),
        ("clickhouse", "SELECT a FROM t FINAL", "such a part"),
        ("postgres", "SELECT sum(b) / 2 FROM t", "both sides are integers"),
        ("postgres", "SELECT sum(n) / 2 FROM (SELECT sum(a) AS n FROM t) q", "both sides"),
        ("trino", "SELECT z / 2 FROM (SELECT * FROM t UNION SELECT * FROM t)", "operand isn't"),
        ("trino", "SELECT st.b / 2 FROM t", "the type of an operand isn't known"),
        (
            "trino",
            "SELECT 7 / 2 FROM t WHERE CAST(s AS TIMESTAMP WITHOUT TIME ZONE) IS NULL",
            "instant",
        ),
        ("trino", "SELECT 7 / 2 FROM t WHERE s = '${x}'", "setting"),
        ("postgres", "/* c */ (SELECT 7 / 2, x IS NULL = true FROM t)", "parentheses"),
        ("trino", "SELECT 1_000", "may be a number"),
        ("trino", "SELECT 0b11", "may be a number"),
        ("trino", "SELECT 0x1F", "a number"),
        ("trino", "SELECT 'é😀', X'1F', 0XfF", "a number"),
        ("mysql", "SELECT a /*! + 1 */ FROM t", "comment"),
        ("postgres", "SELECT a = b IN (1, 2) FROM t", "what is first"),
        ("postgres", "SELECT (a, b) = (1, 2) FROM t", "rows as values"),
        ("postgres", "SELECT (a, b) NOT IN ((1, NULL)) FROM t", "rows as values"),
        ("postgres", "SELECT -a AS a FROM t ORDER BY a + 0", "the output's or a column's"),
        ("duckdb", "SELECT s, -sum(a) AS a FROM t GROUP BY s ORDER BY sum(a)", "or a column's"),
        ("postgres", "SELECT 'x' || x FROM t", "written as texts"),
        ("mysql", "SELECT concat(s, a > 1) FROM t", "written as texts"),
        ("postgres", "SELECT CAST(s AS CHAR) FROM t", "written otherwise"),
        ("trino", "SELECT CAST(s AS CHAR) FROM t", "written otherwise"),
        ("clickhouse", "SELECT CAST(a AS UInt8) FROM t", "written otherwise"),
        ("clickhouse", "SELECT CAST(x AS Decimal(5, 2)) FROM t", "rounded"),
        ("postgres", "SELECT DATE 'tomorrow'", "a date"),
        ("postgres", "SELECT TIMESTAMP '2024-01-01 10:00:00+02'", "without a zone"),
        ("postgres", "SELECT substring(s from '2') FROM t", "constant places"),
        ("postgres", "SELECT sum(a) OVER (ORDER BY b GROUPS 1 PRECEDING) FROM t", "ROWS or RANGE"),
        ("mysql", "SELECT d < '2024-01-31 23:59:59' FROM t", "as a time"),
        ("mysql", "WITH w (x) AS (SELECT d FROM t) SELECT x + 1 FROM w", "both sides are numbers"),
        ("clickhouse", "SELECT a FROM t EXCEPT SELECT k FROM u", "how often"),
        ("clickhouse", "SELECT a FROM t INTERSECT ALL SELECT k FROM u", "how often"),
        ("clickhouse", "SELECT a, count() FROM t GROUP BY a WITH ROLLUP", "left out"),
        ("clickhouse", "SELECT count() FROM t GROUP BY CUBE (a, b)", "left out"),
        ("clickhouse", "SELECT substring(s, 1, 2) FROM t", "bytes"),
        ("clickhouse", "SELECT lower(s) FROM t", "bytes"),
        ("clickhouse", "SELECT a FROM t WHERE a NOT IN (1, NULL)", "among the values"),
        ("clickhouse", "SELECT a FROM t WHERE a NOT IN (SELECT k FROM u)", "among the values"),
        ("clickhouse", "SELECT first_value(a) OVER (ORDER BY b) FROM t", "passed over"),
        ("clickhouse", "SELECT (a + 1 AS z) * 2 FROM t", "inside an expression"),
    ],
)
def test_what_is_refused(dialect: str, sql: str, why: str) -> None:
    with pytest.raises(UntranslatedError) as caught:
        _spark(sql, dialect)
    assert why in caught.value.message
    assert dialect in caught.value.message and caught.value.hint


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "sql", ["INSERT INTO t SELECT 1 / 2", "SHOW TABLES", "SELECT FROM FROM", "SET a = 1", "(((("]
)
def test_what_is_left_alone(dialect: str, sql: str) -> None:
    if (dialect, sql) == ("trino", "SELECT FROM FROM"):
        with pytest.raises(StatementError, match="the statement ends too early"):
            _spark(sql, dialect)
    else:
        assert _spark(sql, dialect) == sql


def test_sums_of_many_parts_take_no_longer() -> None:
    """Each part is looked at as often as there are parts, not as often as there are ways to it."""
    total = "a" + " + 1" * 60
    assert _spark(f"SELECT {total} FROM t", "trino") == f"SELECT {total} FROM t"
    assert _spark(f"SELECT ({total}) / 2 FROM t", "trino") == f"SELECT (({total}) DIV 2) FROM t"


def test_spark_is_left_alone() -> None:
    sql = "SELECT x[0], a / b FROM t |> LIMIT 3"
    assert _spark(sql, "spark") == sql


def test_no_table_is_asked_for_where_none_matters() -> None:
    def refused(parts: tuple[str, ...]) -> None:
        raise AssertionError(parts)

    assert translated("SELECT a FROM t ORDER BY a", "trino", refused)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT no_such_function(a) FROM t",
        "SELECT 1 FROM",
        "SELECT (1",
        "SELECT a FROM t MATCH_RECOGNIZE (PATTERN (a) DEFINE a AS true)",
    ],
)
def test_clients_get_no_hint_to_choose_the_dialect(sql: str) -> None:
    client = ClientContext(catalog="c", schema="s", now=datetime(2024, 1, 1, tzinfo=UTC))
    with pytest.raises(StatementError) as found:
        translated_for(client, sql, "trino", lambda parts: _TABLES.get(parts[-1]), ["c"])
    assert found.value.hint
    assert "set the dialect" not in found.value.hint
