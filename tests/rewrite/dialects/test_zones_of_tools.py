"""How tools ask for a time in another zone: `with_timezone`, `timezone_hour`, `timezone_minute`."""

from __future__ import annotations

import pytest

from rewrite.errors import UntranslatedError
from tests.support.trino_answers import spark_text
from tests.support.trino_walk import types


def _asked(expression: str, zone: str = "UTC") -> str:
    return spark_text(f"SELECT {expression} AS r FROM w", types, zone)


@pytest.mark.parametrize(
    ("expression", "spark"),
    [
        ("with_timezone(c_local, 'UTC')", "CAST(c_local AS TIMESTAMP)"),
        ("with_timezone(c_date, 'UTC')", "CAST(CAST(c_date AS TIMESTAMP_NTZ) AS TIMESTAMP)"),
        ("timezone_hour(c_moment)", "CASE WHEN NOT c_moment IS NULL THEN 0 END"),
        ("timezone_minute(c_local)", "CASE WHEN NOT c_local IS NULL THEN 0 END"),
        (
            "timezone_hour(c_moment AT TIME ZONE '-03:30')",
            "CASE WHEN NOT ((c_moment)) IS NULL THEN -3 END",
        ),
        (
            "timezone_minute(c_moment AT TIME ZONE '-00:30')",
            "CASE WHEN NOT ((c_moment)) IS NULL THEN -30 END",
        ),
    ],
)
def test_zones_without_summer_time(expression: str, spark: str) -> None:
    assert _asked(expression) == f"SELECT {spark} AS r FROM `c`.`s`.`w`"


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_the_earlier_of_two_moments_west_of_greenwich(zone: str) -> None:
    found = _asked("to_unixtime(with_timezone(c_local, 'America/New_York'))", zone)
    assert "CONVERT_TIMEZONE('America/New_York', 'UTC', c_local)" in found
    assert "INTERVAL '1' DAY" not in found
    own = _asked("to_unixtime(CAST(c_date AS timestamp with time zone))", "America/New_York")
    assert "CASE" not in own


def test_the_later_of_two_moments() -> None:
    """The next day's clocks have been put back already."""
    found = _asked("to_unixtime(with_timezone(c_local, 'Europe/Berlin'))")
    assert "CONVERT_TIMEZONE('Europe/Berlin', 'UTC', c_local + INTERVAL '1' DAY)" in found
    assert "c_local + INTERVAL '1' DAY AS TIMESTAMP" in _asked(
        "to_unixtime(with_timezone(c_local, 'Europe/Berlin'))", "Europe/Berlin"
    )


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("with_timezone(c_moment, 'UTC')", "times without a zone alone"),
        ("with_timezone(c_local, c_string)", "only constant names of time zones are"),
        ("with_timezone(c_local, 'utc')", "no time zone of that name"),
        ("with_timezone(c_local, 'Nowhere/City')", "only constant names of time zones are"),
        ("with_timezone(c_local, 'Europe/Berlin')", "shown in Europe/Berlin"),
        ("with_timezone(c_local, 'Atlantic/Azores')", "which of two moments a clock in"),
        ("with_timezone(c_local)", "there is no function with_timezone"),
        ("timezone_hour(c_string)", "whether it's of a time isn't known"),
        ("timezone_minute(element_at(array_agg(c_string), 1))", "whether it's of a time"),
    ],
)
def test_what_is_refused(expression: str, why: str) -> None:
    with pytest.raises(UntranslatedError, match=why):
        _asked(expression)
