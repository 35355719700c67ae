"""Values of a client's session properties: those that can't be are refused by name."""

from __future__ import annotations

import pytest

from accelerator.gateway.trino.session_properties import (
    UnknownPropertyError,
    Wishes,
    check_property,
)
from accelerator.query.runtime.cancellation import check_limit


@pytest.mark.parametrize(
    "value",
    ["9" * 400 + "d", "9" * 5000 + "ms", "36501d", "1e3s", "-1s", "٣s", "nan", "inf s", "5", ""],
)
def test_a_time_that_cannot_be_is_refused(value):
    for properties in ({"query_max_run_time": value}, {"QUERY_MAX_RUN_TIME": value}):
        with pytest.raises(UnknownPropertyError) as caught:
            Wishes.of(properties, 0.0)
        assert caught.value.hint and len(caught.value.message) < 300
    with pytest.raises(UnknownPropertyError):
        check_property("query_max_run_time", value)


@pytest.mark.parametrize(
    ("value", "seconds"), [("90s", 90), ("1.5m", 90), (" 2 H ", 7200), ("36500d", 3_153_600_000)]
)
def test_times_are_read(value, seconds):
    found = Wishes.of({"query_max_run_time": value}, 0.0).timeout_s
    assert found == seconds
    check_limit(found)


@pytest.mark.parametrize("value", ["trino", "spark", " SPARK "])
def test_a_session_has_one_of_two_dialects(value):
    assert Wishes.of({"Dialect": value}, 0.0).dialect == value.strip().lower()
    assert Wishes.of({}, 0.0).dialect == "trino"


@pytest.mark.parametrize("value", ["duckdb", "", "mysql", "spark;"])
def test_no_other_dialect_is_known(value):
    with pytest.raises(UnknownPropertyError) as caught:
        Wishes.of({"dialect": value}, 0.0)
    assert "trino or spark" in caught.value.message
    assert caught.value.hint == "SET SESSION dialect = 'trino'"
