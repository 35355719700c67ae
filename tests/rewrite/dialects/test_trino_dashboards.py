"""What tools draw dashboards with, as Spark's text: steps of time, patterns, hidden orders."""

from __future__ import annotations

import pytest

from rewrite.client import ClientContext
from rewrite.dialects.translate import translated_for
from rewrite.errors import UntranslatedError

_COLUMNS = {
    "k": "int",
    "n": "bigint",
    "city": "string",
    "day": "date",
    "at": "timestamp_ntz",
    "seen": "timestamp",
    "price": "decimal(9,2)",
}


_LABEL = "CONCAT(COALESCE(CAST(city AS STRING), 'null'), ': ', COALESCE(CAST(k AS STRING), 'null'))"


def _spark(sql: str, zone: str = "UTC") -> str:
    client = ClientContext(catalog="lake", schema="shop", time_zone=zone)
    text = translated_for(client, sql, "trino", lambda _parts: _COLUMNS, ["lake"]).text
    return text.replace("`lake`.`shop`.`sales`", "sales")


def _expression(expression: str, zone: str = "UTC") -> str:
    found = _spark(f"SELECT {expression} FROM sales", zone)
    return found.removeprefix("SELECT ").removesuffix(" FROM sales")


@pytest.mark.parametrize(
    ("trino", "spark"),
    [
        (
            "date_trunc('minute', CAST(at AS TIMESTAMP))"
            " - interval '1' minute * (minute(CAST(at AS TIMESTAMP)) % 5)",
            "DATEADD(MINUTE, -(MINUTE(DATEADD(MICROSECOND, 500, at)) % 5),"
            " CAST(DATE_TRUNC('MINUTE', DATEADD(MICROSECOND, 500, at)) AS TIMESTAMP_NTZ))",
        ),
        ("date_trunc('hour', at)", "CAST(DATE_TRUNC('HOUR', at) AS TIMESTAMP_NTZ)"),
        (
            "CAST(date_trunc('hour', at) AS TIMESTAMP)",
            "(CAST(DATE_TRUNC('HOUR', at) AS TIMESTAMP_NTZ))",
        ),
        (
            "CAST(at AS TIMESTAMP)",
            "CAST(DATE_TRUNC('MILLISECOND', DATEADD(MICROSECOND, 500, at)) AS TIMESTAMP_NTZ)",
        ),
        (
            "date_add('day', CAST(1 - EXTRACT(DAY FROM day) AS INTEGER), day)",
            "DATE_ADD(day, CAST(1 - EXTRACT(DAY FROM day) AS INT))",
        ),
        ("date_add('year', k, day)", "ADD_MONTHS(day, CAST(k AS INT) * 12)"),
        ("date_add('month', k, day)", "ADD_MONTHS(day, CAST(k AS INT))"),
        ("date_add('week', n, at)", "DATEADD(WEEK, CAST(n AS INT), at)"),
        ("day - 2 * interval '3' day", "DATE_ADD(day, 2 * -3)"),
        ("at + k * interval '2' hour", "DATEADD(HOUR, CAST(k AS BIGINT) * 2, at)"),
        (
            "at >= from_iso8601_timestamp('2025-01-01')",
            "at >= TIMESTAMP_NTZ '2025-01-01 00:00:00.000'",
        ),
        ("seen >= TIMESTAMP '2025-01-01 00:00:00'", "seen >= TIMESTAMP '2025-01-01 00:00:00'"),
        (
            "from_unixtime(floor(to_unixtime(seen) / 60) * 60)",
            "TIMESTAMP_SECONDS(CAST(CAST(FLOOR((UNIX_MILLIS(seen) / 1e3"
            " + PMOD(UNIX_MICROS(seen), 1000) / 1e6) / 60) AS DOUBLE) * 60 AS BIGINT))",
        ),
        ("100 / date_diff('week', day, day)", "(100 DIV (DATEDIFF(day, day) DIV 7))"),
        ("city LIKE 'un%' ESCAPE '^'", "city LIKE 'un%'"),
        ("city NOT LIKE '50\\%%' ESCAPE '\\'", "NOT STARTSWITH(city, '50%')"),
        ("city LIKE '%a^_b' ESCAPE '^'", "ENDSWITH(city, 'a_b')"),
        ("city LIKE '%#%_' ESCAPE '#'", "city LIKE '%^%_' ESCAPE '^'"),
        ("city LIKE '%\\%'", "CONTAINS(city, '\\\\')"),
        ("seen > TIMESTAMP '2025-01-01 04:00:00 UTC'", "seen > TIMESTAMP '2025-01-01 04:00:00'"),
        ("count(if(k > 0, 1))", "COUNT(IF(k > 0, 1, NULL))"),
        ("extract(doy FROM at)", "DAYOFYEAR(at)"),
        (
            "date_trunc('week', CAST(at AS TIMESTAMP) + interval '1' day)",
            "CAST(TRUNC(CAST((DATEADD(MICROSECOND, 500, at) + INTERVAL '1' DAY) AS DATE), 'WEEK')"
            " AS TIMESTAMP_NTZ)",
        ),
        (
            "date_format(day, '%d.%m.%Y')",
            "CONCAT(LPAD(CAST(DAY(CAST(day AS TIMESTAMP_NTZ)) AS STRING), 2, '0'), '.',"
            " LPAD(CAST(MONTH(CAST(day AS TIMESTAMP_NTZ)) AS STRING), 2, '0'), '.',"
            " CASE WHEN YEAR(CAST(day AS TIMESTAMP_NTZ)) < 10000"
            " THEN LPAD(CAST(YEAR(CAST(day AS TIMESTAMP_NTZ)) AS STRING), 4, '0')"
            " ELSE CAST(YEAR(CAST(day AS TIMESTAMP_NTZ)) AS STRING) END)",
        ),
        ("city LIKE 'a\\b'", "city LIKE 'a\\\\b' ESCAPE '^'"),
        ("CAST(price AS varchar)", "CAST(price AS STRING)"),
        ("CAST(city AS varchar(3))", "SUBSTRING(city, 1, 3)"),
        ("CAST(floor(k / 5.0) AS bigint)", "CAST(FLOOR(k / 5.0) AS BIGINT)"),
        ("substr(city, 1, length('Köln'))", "SUBSTRING(city, 1, 4)"),
        ("format('%s: %s', city, k)", _LABEL),
        ("to_milliseconds(day - day)", "CAST(DATEDIFF(day, day) AS BIGINT) * 86400000"),
    ],
)
def test_in_utc(trino: str, spark: str) -> None:
    assert _expression(trino) == spark


def test_no_function_of_the_session_in_another_zone() -> None:
    """An hour of a local time, or a day of it, may be missing in the session's zone."""
    for expression in ("date_trunc('hour', at)", "CAST(at AS TIMESTAMP)"):
        assert "DATE_TRUNC" not in _expression(expression, "Europe/Berlin")
    text = _expression("seen - interval '1' day * k", "Europe/Berlin")
    assert text.startswith("TIMESTAMP_MICROS(UNIX_MICROS(seen) + ")


@pytest.mark.parametrize(
    ("sql", "spark"),
    [
        (
            "SELECT city, count(*) FROM sales GROUP BY 1 HAVING count(*) > 1 ORDER BY max(k)"
            " LIMIT 3",
            "SELECT `acc_output_0`, `acc_output_1` FROM (SELECT city AS `acc_output_0`, COUNT(*) AS"
            " `acc_output_1`, MAX(k) AS `acc_order_2` FROM sales GROUP BY 1 HAVING COUNT(*) > 1)"
            " AS acc_grouped ORDER BY `acc_order_2` NULLS LAST LIMIT 3",
        ),
        (
            "SELECT sales.k + 1 AS k, sum(count(*)) OVER (ORDER BY sales.k + 1) AS n FROM sales"
            " GROUP BY sales.k + 1 ORDER BY sales.k + 1 DESC, n",
            "SELECT sales.k + 1 AS k, SUM(COUNT(*)) OVER (ORDER BY sales.k + 1 NULLS LAST) AS n"
            " FROM sales GROUP BY sales.k + 1 ORDER BY 1 DESC, n NULLS LAST",
        ),
        (
            "SELECT city FROM sales GROUP BY city HAVING city > 'a' ORDER BY count(*)",
            "SELECT city FROM sales GROUP BY city HAVING city > 'a' ORDER BY COUNT(*) NULLS LAST",
        ),
    ],
)
def test_an_order_by_what_is_no_output(sql: str, spark: str) -> None:
    assert _spark(sql) == spark


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT DISTINCT k FROM sales GROUP BY k HAVING count(*) > 1 ORDER BY max(n)", "DISTINCT"),
        (
            "SELECT k AS a FROM sales GROUP BY k HAVING count(*) > 1 ORDER BY max(n) + a",
            "in one",
        ),
        (
            "SELECT * FROM (SELECT k, k FROM sales GROUP BY k HAVING count(*) > 1"
            " ORDER BY max(n) LIMIT 2) AS q",
            "a name of their own",
        ),
    ],
)
def test_an_order_that_is_refused(sql: str, why: str) -> None:
    with pytest.raises(UntranslatedError, match=why):
        _spark(sql)
