"""Trino's dates, times without a zone and constants in Spark SQL that knows no time zone."""

from __future__ import annotations

import pytest

from rewrite.dialects.translate import translated
from rewrite.errors import UntranslatedError

_T = {
    "d": "date",
    "z": "timestamp_ntz",
    "m": "timestamp",
    "c": "decimal(9,2)",
    "a": "int",
    "x": "double",
    "s": "string",
}


def _spark(expression: str, dialect: str = "trino") -> str:
    found = translated(
        f"SELECT {expression} FROM t", dialect, lambda parts: _T if parts == ("t",) else None
    )
    return found.removeprefix("SELECT ").removesuffix(" FROM t")


_DAY = "CAST(TRUNC(CAST(z AS DATE), 'MONTH') AS TIMESTAMP_NTZ)"
_INTERVAL = "MAKE_DT_INTERVAL(0, 0, "
_LOG = (
    "COALESCE(LOG10(CAST(c AS DOUBLE)), CASE WHEN c = 0 THEN CAST('-Infinity' AS DOUBLE)"
    " WHEN c < 0 THEN CAST('NaN' AS DOUBLE) END)"
)
_HALF = "(z + INTERVAL '0.0005' SECOND)"
_MILLIS = f"({_HALF} - MAKE_DT_INTERVAL(0, 0, 0, EXTRACT(SECOND FROM {_HALF}) % 0.001))"


@pytest.mark.parametrize(
    ("trino", "spark"),
    [
        ("date_trunc('month', d)", "TRUNC(d, 'MONTH')"),
        ("date_trunc('day', d)", "(d)"),
        ("date_trunc('month', z)", _DAY),
        (
            "date_trunc('hour', z)",
            "(z - MAKE_DT_INTERVAL(0, 0, MINUTE(z), EXTRACT(SECOND FROM z)))",
        ),
        ("date_trunc('second', z)", "(z - MAKE_DT_INTERVAL(0, 0, 0, EXTRACT(SECOND FROM z) % 1))"),
        ("date_trunc('month', m)", "DATE_TRUNC('MONTH', m)"),
        ("date_trunc('month', CAST(d AS timestamp))", "CAST(TRUNC(d, 'MONTH') AS TIMESTAMP_NTZ)"),
        ("date_trunc('second', CAST(d AS timestamp))", "(CAST(d AS TIMESTAMP_NTZ))"),
        ("CAST(d AS timestamp(6))", "CAST(d AS TIMESTAMP_NTZ)"),
        ("CAST(z AS timestamp(6))", "(z)"),
        ("CAST(z AS timestamp)", _MILLIS),
        (
            "date_trunc('week', CAST(d AS TIMESTAMP) + interval '1' day) - interval '1' day",
            "CAST(TRUNC(CAST(CAST(d AS TIMESTAMP_NTZ) + INTERVAL '1' DAY AS DATE), 'WEEK')"
            " AS TIMESTAMP_NTZ) - INTERVAL '1' DAY",
        ),
        ("date_add('day', -7, d)", "(d + INTERVAL '-7' DAY)"),
        ("date_add('quarter', 2, d)", "(d + INTERVAL '6' MONTH)"),
        ("date_add('week', INTEGER '-2', z)", "(z + INTERVAL '-14' DAY)"),
        ("date_add('hour', 5, z)", "(z + INTERVAL '5' HOUR)"),
        (
            "date_add('day', -1, date_trunc('week', date_add('day', 1, d)))",
            "(TRUNC((d + INTERVAL '1' DAY), 'WEEK') + INTERVAL '-1' DAY)",
        ),
        ("date_diff('day', d, DATE '2024-01-31') / 7", "(DATEDIFF(DATE '2024-01-31', d) DIV 7)"),
        ("day_of_week(d)", "((DAYOFWEEK(d) + 5) % 7 + 1)"),
        ("extract(dow FROM z)", "((DAYOFWEEK(z) + 5) % 7 + 1)"),
        ("week(d) + extract(week FROM d)", "WEEKOFYEAR(d) + WEEKOFYEAR(d)"),
        ("date(z)", "CAST(z AS DATE)"),
        ("CAST(date_trunc('month', d) AS varchar)", "CAST(TRUNC(d, 'MONTH') AS STRING)"),
        ("lower(s) LIKE lower('%RED_')", "LOWER(s) LIKE '%red_'"),
        ("round(c, 1)", "ROUND(c, 1)"),
        ("round(sum(c) / 3 + a)", "ROUND(SUM(c) / 3 + a)"),
        ("DECIMAL '1.50'", "1.50"),
        ("DECIMAL '.5'", "0.5"),
        ("DECIMAL '-15'", "(-CAST(15 AS DECIMAL(2, 0)))"),
        ("nan()", "CAST('NaN' AS DOUBLE)"),
        ("-infinity()", "-CAST('Infinity' AS DOUBLE)"),
        ("X'00ff'", "X'00ff'"),
        ("hour(m)", "HOUR(m)"),
        (
            "day(m AT TIME ZONE '+01:00')",
            "DAY(CONVERT_TIMEZONE('UTC', '+01:00', CAST('1970-01-01 00:00:00' AS TIMESTAMP_NTZ)"
            " + MAKE_DT_INTERVAL(0, 0, 0, CAST(UNIX_MICROS((m)) AS DECIMAL(20, 0)) / 1000000)))",
        ),
        ("log10(c)", _LOG),
        ("array_agg(a)", "NULLIF(COLLECT_LIST(NAMED_STRUCT('v', a)), ARRAY()).v"),
        ("strpos(s, 'x')", "LOCATE('x', s)"),
        ("regexp_like(s, 'a.b$')", "s RLIKE 'a[^\\\\n]b(?=\\\\n?\\\\z)'"),
        ("date_parse(s, '%Y%m%d')", "TO_TIMESTAMP_NTZ(s, 'yyyyMMdd')"),
        ("from_utf8(from_hex('414952'))", "VALIDATE_UTF8(CAST(X'414952' AS STRING))"),
        ("INTEGER '5'", "5"),
        ("INTEGER '-2147483648'", "CAST('-2147483648' AS INT)"),
        ("BIGINT '9223372036854775807'", "9223372036854775807L"),
        ("CAST('-7' AS bigint) / 2", "((-7L) DIV 2)"),
        ("DOUBLE '-2.5'", "(-2.5e0)"),
        ("DOUBLE '1E-7'", "1E-7"),
        ("DOUBLE 'NaN'", "CAST('NaN' AS DOUBLE)"),
        ("REAL '-1.5e3'", "CAST('-1.5e3' AS FLOAT)"),
        ("REAL 'NaN'", "CAST('NaN' AS FLOAT)"),
        ("CAST(NULL AS varbinary)", "CAST(NULL AS BINARY)"),
        ("CAST(NULL AS decimal)", "CAST(NULL AS DECIMAL(38, 0))"),
        ("CAST(NULL AS varchar)", "CAST(NULL AS STRING)"),
        ("CAST(NULL AS timestamp)", "CAST(NULL AS TIMESTAMP_NTZ)"),
    ],
)
def test_what_is_written_out(trino: str, spark: str) -> None:
    assert _spark(trino) == spark


@pytest.mark.parametrize(
    "expression",
    [
        "date_trunc('hour', d)",
        "date_add('hour', 1, d)",
        "date_add('day', x, d)",
        "date_add('hour', a, d)",
        "d + INTERVAL '1' hour * a",
        "z + INTERVAL '1' day * b",
        "z + INTERVAL '1' day * x",
        "INTERVAL '1' day * a",
        "z - INTERVAL '1' day * a * a",
        "z LIKE 'a'",
        "s LIKE 'a^' ESCAPE '^'",
        "s LIKE 'a^b' ESCAPE '^'",
        "s LIKE 'a' ESCAPE ''",
        "s LIKE 'a' ESCAPE '^' = true",
        "from_unixtime(x)",
        "from_unixtime(floor(to_unixtime(z) / 300) * 60)",
        "from_unixtime(floor(x / 60) * 60)",
        "from_iso8601_timestamp(s)",
        "from_iso8601_timestamp('2024-02-30')",
        "from_iso8601_timestamp('2024-02-29 10:00:00')",
        "CAST(d AS varchar(9))",
        "CAST(a > 1 AS varchar(4))",
        "CAST(x AS varchar)",
        "CAST(c AS bigint)",
        "CAST(floor(c / 3.0) AS bigint)",
        "CAST(floor(a / 12.5) AS bigint)",
        "format('%d', a)",
        "format('%s %s', s)",
        "format('%%s', s)",
        "format('%5s', s)",
        "format('', s)",
        "to_milliseconds(d)",
        "d - d",
        "date_add('day', 1, m)",
        "date_add('day', 1, s)",
        "date_add('millisecond', 1, z)",
        "date_diff('month', d, d)",
        "date_diff('day', z, d)",
        "day_of_week(m)",
        "week(s)",
        "date(s)",
        "date(m)",
        "CAST(m AS timestamp)",
        "CAST(s AS timestamp)",
        "CAST(NULL AS varchar(3))",
        "CAST('1.5' AS decimal)",
        "DECIMAL 'abc'",
        f"DECIMAL '{'9' * 39}'",
        "REAL 'abc'",
        "CAST(s AS real)",
        "round(x, a)",
        "round(c * s, 1)",
        "round(c, a)",
        "round(c, -1)",
        "nan(1)",
        "soundex(s)",
        "s LIKE s ESCAPE '^'",
    ],
)
def test_what_is_refused(expression: str) -> None:
    with pytest.raises(UntranslatedError):
        _spark(expression)


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "mysql", "clickhouse", "starrocks"])
@pytest.mark.parametrize("expression", ["round(c, 1)", "nan()", "soundex(s)"])
def test_of_trino_alone(dialect: str, expression: str) -> None:
    with pytest.raises(UntranslatedError):
        _spark(expression, dialect)


def test_a_name_of_two_kinds_is_of_none() -> None:
    """What isn't surely a date is truncated as Spark truncates moments."""
    sql = "SELECT date_trunc('month', d) FROM (SELECT m AS d FROM t) AS q"
    found = translated(sql, "trino", lambda parts: _T if parts == ("t",) else None)
    assert "DATE_TRUNC('MONTH', d)" in found


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        (
            "SELECT date_trunc('month', d) AS m, max(m) AS d FROM t GROUP BY week(d)",
            "SELECT TRUNC(d, 'MONTH') AS m, MAX(m) AS d FROM t GROUP BY WEEKOFYEAR(d)",
        ),
        (
            "SELECT day_of_week(d) AS d FROM (SELECT * FROM t) AS v WHERE week(v.d) = 1",
            "SELECT ((DAYOFWEEK(d) + 5) % 7 + 1) AS d FROM (SELECT * FROM t) AS v"
            " WHERE WEEKOFYEAR(v.d) = 1",
        ),
        # another SELECT has an output of that name
        (
            "SELECT date_trunc('year', w.d) FROM (SELECT s AS d FROM t) AS v, (SELECT d FROM t)"
            " AS w",
            "SELECT TRUNC(w.d, 'YEAR') FROM (SELECT s AS d FROM t) AS v, (SELECT d FROM t) AS w",
        ),
        # ORDER BY means the output
        (
            "SELECT z AS d FROM t ORDER BY date_trunc('second', d)",
            "SELECT z AS d FROM t ORDER BY"
            " (d - MAKE_DT_INTERVAL(0, 0, 0, EXTRACT(SECOND FROM d) % 1)) NULLS LAST",
        ),
        (
            "WITH v AS (SELECT d AS k FROM t), w AS (SELECT k, s AS j FROM v, t)"
            " SELECT date_trunc('month', k) FROM w",
            "WITH v AS (SELECT d AS k FROM t), w AS (SELECT k, s AS j FROM v, t)"
            " SELECT TRUNC(k, 'MONTH') FROM w",
        ),
    ],
)
def test_names_of_several_kinds(sql: str, wanted: str) -> None:
    """A name in a SELECT isn't its own output, but in ORDER BY."""
    found = translated(sql, "trino", lambda parts: _T if parts == ("t",) else None)
    assert found == wanted
