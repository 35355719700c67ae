"""Statements that ask for the time, with the time as a constant."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from rewrite.parse.current_time import timed_text

_AT = datetime(2026, 3, 28, 23, 30, 1, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        (
            "SELECT a FROM t WHERE d >= current_date() - 7",
            "SELECT a FROM t WHERE d >= DATE '2026-03-29' - 7",
        ),
        (
            "SELECT a FROM t WHERE d = CURRENT_DATE OR d = curdate ( ) -- now()",
            "SELECT a FROM t WHERE d = DATE '2026-03-29' OR d = DATE '2026-03-29' -- now()",
        ),
        (
            "SELECT now() - INTERVAL 1 HOUR AS `now` FROM t",
            "SELECT TIMESTAMP_LTZ '2026-03-28 23:30:01.000005Z' - INTERVAL 1 HOUR AS `now` FROM t",
        ),
        (
            "SELECT 'now()' AS x FROM t JOIN s ON t.a = s.a AND t.b < localtimestamp()",
            "SELECT 'now()' AS x FROM t JOIN s ON t.a = s.a"
            " AND t.b < TIMESTAMP_NTZ '2026-03-29 00:30:01.000005'",
        ),
        (
            "WITH w AS (SELECT a FROM t WHERE b < current_timestamp()) SELECT a FROM w",
            "WITH w AS (SELECT a FROM t WHERE b < TIMESTAMP_LTZ '2026-03-28 23:30:01.000005Z')"
            " SELECT a FROM w",
        ),
        (
            "SELECT count(*) FROM t GROUP BY date_trunc('DAY', now()) HAVING max(d) < now()",
            "SELECT count(*) FROM t GROUP BY"
            " date_trunc('DAY', TIMESTAMP_LTZ '2026-03-28 23:30:01.000005Z')"
            " HAVING max(d) < TIMESTAMP_LTZ '2026-03-28 23:30:01.000005Z'",
        ),
    ],
)
def test_the_moment_is_a_constant(sql: str, wanted: str) -> None:
    found = timed_text(sql)
    assert found is not None
    assert found.at(_AT, "Europe/Berlin") == wanted


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t",
        "SELECT now FROM t WHERE 'now()' = a",
        "SELECT current_date() FROM t",
        "SELECT max(d) - now() FROM t",
        "SELECT a FROM (SELECT current_date, a FROM t) AS x",
        "SELECT a FROM t UNION ALL SELECT now() FROM t",
        "SELECT current_date FROM t WHERE d < current_date",
        "SELECT a AS current_date FROM t WHERE d < current_date",
        "SELECT a FROM t WHERE d < t.current_date",
        "SELECT a FROM t WHERE d < current_date AND t.current_date > 1",
        "SELECT a FROM t TIMESTAMP AS OF now()",
        "SELECT a FROM t FOR SYSTEM_TIME AS OF current_timestamp()",
        "SELECT a FROM t WHERE d < now(3)",
        "SELECT a FROM t WHERE d < localtimestamp",
        "SELECT a FROM t WHERE d < now() AND b = 'acc_moment_0'",
        "SELECT a FROM t WHERE d < now() AND b = $$x$$",
        "SELECT a FROM t LIMIT year(current_date())",
        "VALUES (now())",
        "SELECT a FROM t WHERE d < current_date AND b = 'current_date'",
        "SELECT ts < now() AS a, count(*) AS n FROM t GROUP BY ts < current_timestamp()",
        "SELECT a FROM t WHERE d < CURRENT_TIME\u017fTAMP()",
        "SELECT a FROM t WHERE e < now() AND d < CURRENT_TIME\u017fTAMP()",
        "SELECT * FROM (SELECT k, d FROM t) PIVOT (count_if(d < now()) FOR k IN ('a'))",
        "SELECT a FROM t WHERE d < now() AND (",
        "SELECT a FROM t WHERE " + "(" * 5_000 + "now() > d" + ")" * 5_000,
        "SELECT * FROM explode(array(now())) WHERE now() > d",
    ],
)
def test_what_is_not_clear_stays(sql: str) -> None:
    assert timed_text(sql) is None


def test_a_constant_of_the_same_day_is_another_expression() -> None:
    found = timed_text("SELECT d < current_date() AS a FROM t GROUP BY d < DATE '2026-03-29'")
    assert found is not None
    assert found.at(_AT, "Europe/Berlin") is None
    assert found.at(_AT, "UTC") is not None


@pytest.mark.parametrize("zone", ["", "Nowhere/City", "PST", "GMT+25:00"])
def test_a_zone_that_is_not_known(zone: str) -> None:
    found = timed_text("SELECT a FROM t WHERE d < now()")
    assert found is not None
    assert found.at(_AT, zone) is None


@pytest.mark.parametrize(
    ("sql", "may"),
    [
        ("SELECT a FROM t WHERE d < current_date", False),
        ("SELECT a FROM clocks WHERE d < current_date", True),
        ("SELECT a FROM clocks WHERE d < current_date()", False),
        ("SELECT a FROM unknown WHERE d < current_date", True),
        ("SELECT a FROM (SELECT s.* FROM structs) AS x WHERE d < current_date", True),
        ("WITH w AS (SELECT * FROM t) SELECT a FROM w WHERE d < current_date", False),
        ("WITH w AS (SELECT * FROM clocks) SELECT a FROM w WHERE d < current_date", True),
        ("WITH clocks AS (SELECT * FROM clocks) SELECT a FROM clocks WHERE d < now()", False),
    ],
)
def test_a_column_of_that_name(sql: str, may: bool) -> None:
    tables = {
        "t": {"a": "int", "d": "date"},
        "clocks": {"a": "int", "d": "date", "Current_Date": "date"},
        "structs": {"s": "array<struct<a: int, CURRENT_DATE: date>>"},
    }

    def columns(parts: tuple[str, ...]) -> Mapping[str, str] | None:
        return tables.get(parts[0])

    found = timed_text(sql)
    assert found is not None
    assert found.may_name(columns) == may


def test_a_time_that_clocks_show_twice() -> None:
    found = timed_text("SELECT a FROM t WHERE d < now() AND e < localtimestamp()")
    assert found is not None
    later = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    assert found.at(later, "Europe/Berlin") == (
        "SELECT a FROM t WHERE d < TIMESTAMP_LTZ '2026-10-25 01:30:00.000000Z'"
        " AND e < TIMESTAMP_NTZ '2026-10-25 02:30:00.000000'"
    )
