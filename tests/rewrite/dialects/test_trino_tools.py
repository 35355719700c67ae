"""Calls that Redash, Looker and Cube write: shares, lists, texts read back, series of days."""

from __future__ import annotations

import pytest

from rewrite.errors import UntranslatedError
from rewrite.parse.parse import parse
from tests.support.trino_answers import spark_text
from tests.support.trino_walk import types


def _asked(sql: str, zone: str = "UTC") -> str:
    sql = sql if sql.startswith("SELECT") else f"SELECT {sql} AS r FROM w"
    text = spark_text(sql, types, zone)
    parse(text)
    return text.replace("`c`.`s`.", "")


@pytest.mark.parametrize(
    ("expression", "spark"),
    [
        (
            "round(100.0 * count(if(c_double > 5e0, 1)) / count(*), 1)",
            "ROUND(100.0 * COUNT(IF(c_double > 5e0, 1, NULL)) / COUNT(*), 1)",
        ),
        (
            "round(sum(c_decimal) FILTER (WHERE c_double > 5e0), 1)",
            "ROUND(SUM(c_decimal) FILTER(WHERE c_double > 5e0), 1)",
        ),
        ("round(count(c_double) / 3.0, 1)", "ROUND(COUNT(c_double) / 3.0, 1)"),
        (
            "array_sort(array_agg(c_whole))",
            "ARRAY_SORT(NULLIF(COLLECT_LIST(NAMED_STRUCT('v', c_whole)), ARRAY()).v)",
        ),
        ("CAST((date_format(c_date, '%Y-%m-%d')) AS timestamp)", "CAST((c_date) AS TIMESTAMP_NTZ)"),
        (
            "CAST(date_format(CAST(c_local AS timestamp), '%Y-%m-%d %H:%i') AS timestamp(0))",
            "CAST(DATE_TRUNC('MINUTE', DATEADD(MICROSECOND, 500, c_local)) AS TIMESTAMP_NTZ)",
        ),
        ("c_string LIKE d_string", "c_string LIKE REPLACE(d_string, '\\\\', '\\\\\\\\')"),
    ],
)
def test_what_is_written(expression: str, spark: str) -> None:
    assert _asked(expression).replace("((", "(").replace("))", ")") == (
        f"SELECT {spark} AS r FROM `w`".replace("((", "(").replace("))", ")")
    )


def test_a_double_among_the_values_is_rounded_as_one() -> None:
    assert "* 1e1" in _asked("round(1.0 * sum(if(c_whole > 5, c_double)), 1)")


@pytest.mark.parametrize(
    ("start", "end", "step", "values"),
    [
        ("DATE '2024-01-31'", "DATE '2024-12-31'", "'1' MONTH", "DATE '2024-01-31', DATE"),
        ("DATE '2024-01-31'", "DATE '2024-01-31'", "'2' day", "DATE '2024-01-31', DATE"),
        ("DATE '0001-01-01'", "DATE '9999-12-31'", "'12' MONTH", "DATE '0001-01-01', DATE"),
        (
            "TIMESTAMP '2024-01-31 00:00:00'",
            "TIMESTAMP '2024-01-31 02:46:39'",
            "'1' second",
            "TIMESTAMP_NTZ '2024-01-31 00:00:00', TIMESTAMP_NTZ",
        ),
        (
            "CAST(from_iso8601_timestamp('2024-01-01T00:00:00Z') AS timestamp)",
            "TIMESTAMP '2024-01-31 00:00:00'",
            "'1' day",
            "(CAST(TIMESTAMP '2024-01-01 00:00:00.000' AS TIMESTAMP_NTZ)), TIMESTAMP_NTZ",
        ),
    ],
)
def test_series(start: str, end: str, step: str, values: str) -> None:
    found = _asked(f"SELECT d FROM UNNEST(sequence({start}, {end}, INTERVAL {step})) AS t (d)")
    assert found.startswith(f"SELECT d FROM (SELECT EXPLODE(SEQUENCE({values} '")
    assert found.endswith(") AS d) AS t")


def test_a_series_has_the_meaning_of_its_ends() -> None:
    series = "UNNEST(sequence(DATE '2024-01-31', DATE '2024-12-31', INTERVAL '1' MONTH)) AS t (d)"
    found = _asked(f"SELECT typeof(d) AS a, date_trunc('month', t.d) AS b FROM {series}")
    assert found.startswith("SELECT 'date' AS a, TRUNC(t.d, 'MONTH') AS b FROM")


@pytest.mark.parametrize(
    ("start", "end", "step"),
    [
        ("DATE '2024-01-31'", "DATE '2024-12-31'", "'1' HOUR"),
        ("CAST(TIMESTAMP '2024-01-31 00:00:00' AS date)", "DATE '2024-12-31'", "'1' HOUR"),
        ("DATE '2024-01-31'", "DATE '2024-01-30'", "'1' DAY"),
        ("DATE '2024-01-31'", "DATE '2024-02-30'", "'1' DAY"),
        ("DATE '2024-01-31'", "DATE '2024-02-28'", "'0' DAY"),
        ("DATE '2024-01-31'", "DATE '2024-01-01'", "'-1' DAY"),
        ("DATE '1996-01-01'", "DATE '2023-05-19'", "'1' DAY"),
        ("DATE '0001-01-01'", "DATE '9999-12-31'", "'11' MONTH"),
        ("DATE '2024-01-31'", "TIMESTAMP '2024-02-28 00:00:00'", "'1' DAY"),
        (
            "TIMESTAMP '2024-01-31 00:00:00'",
            "TIMESTAMP '2024-01-31 02:46:40'",
            "'1' SECOND",
        ),
        ("TIMESTAMP '2024-01-31 00:00:00 UTC'", "TIMESTAMP '2024-02-01 00:00:00 UTC'", "'1' DAY"),
        ("c_date", "DATE '2024-02-28'", "'1' DAY"),
        ("DATE '2024-01-31'", "(SELECT max(c_date) FROM w)", "'1' DAY"),
    ],
)
def test_series_that_are_refused(start: str, end: str, step: str) -> None:
    """Trino raises for some, the others can't be counted before they run."""
    sql = f"SELECT d FROM w, UNNEST(sequence({start}, {end}, INTERVAL {step})) AS t (d)"
    with pytest.raises(UntranslatedError):
        _asked(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT d FROM UNNEST(sequence(1, 5)) AS t (d)",
        "SELECT d FROM UNNEST(sequence(DATE '2024-01-31', DATE '2024-02-02')) AS t (d)",
        "SELECT * FROM UNNEST(sequence(DATE '2024-01-31', DATE '2024-02-02', INTERVAL '1' DAY))",
        "SELECT d FROM UNNEST(sequence(DATE '2024-01-31', DATE '2024-02-02', INTERVAL '1' DAY))"
        " WITH ORDINALITY AS t (d, n)",
        "SELECT sequence(DATE '2024-01-31', DATE '2024-02-02', INTERVAL '1' DAY) AS r FROM w",
        "SELECT x FROM UNNEST(ARRAY[1, 2]) AS t (x)",
        "array_sort(array_agg(c_double))",
        "array_sort(array_agg(c_whole), (x, y) -> 1)",
        "round(CAST(c_double AS decimal(9,2)), 1)",
        "c_string LIKE d_string ESCAPE '^'",
        "CAST(date_format(c_local, '%Y-%m') AS timestamp)",
        "CAST(date_format(c_local, '%d.%m.%Y') AS timestamp)",
        "CAST(c_string AS timestamp)",
    ],
)
def test_what_is_refused(sql: str) -> None:
    with pytest.raises(UntranslatedError):
        _asked(sql)


def test_a_series_goes_by_a_session_in_utc() -> None:
    sql = (
        "SELECT d FROM UNNEST(sequence(DATE '2024-01-31', DATE '2024-02-02', INTERVAL '1' DAY))"
        " AS t (d)"
    )
    with pytest.raises(UntranslatedError, match="in a session in UTC"):
        _asked(sql, "Europe/Berlin")
