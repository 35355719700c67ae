"""The log's rows by shape: what counts how much, and what is left out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.services.advisor.workload.workload import (
    CUT,
    SAMPLES_MAX,
    faded_days,
    logged,
    median,
    weight_of,
    workload,
)
from accelerator.store.files.files import open_files
from accelerator.store.journals.query_log.encoding.encode import encoded
from accelerator.store.journals.query_log.paths import path_of
from accelerator.store.journals.query_log.record import LogRecord

NOW = datetime(2026, 11, 27, tzinfo=UTC)


def row(sql="SELECT 1", days=0.0, **fields):
    given = {
        "started": NOW - timedelta(days=days),
        "state": "FINISHED",
        "sql": sql,
        "sql_length": len(sql),
        "dialect": "spark",
        "catalog": None,
        "schema": None,
        "shape": "s",
        "queued_ms": None,
        "elapsed_ms": None,
        "execution_ms": 10.0,
        "planning_ms": None,
        "engine": "duckdb",
        "cached": False,
        "cubes": [],
        "bytes_read": 100,
    }
    return given | fields


def read(*rows, half_life_days=7.0):
    return workload(rows, now=NOW, half_life_days=half_life_days)


def test_runs_of_a_shape_are_one():
    found = read(
        row("SELECT 1", 0),
        row("SELECT 2", 7),
        row("SELECT 3", 14, execution_ms=None, elapsed_ms=50.0, queued_ms=20.0, planning_ms=5.0),
        row("SELECT 4", 0, cached=True),
        row("SELECT 5", 1, cubes=["c"], execution_ms=1.0),
        row("x", 0, state="FAILED"),
    )
    (shape,) = found.shapes
    assert shape.runs == 5 and found.statements == 5
    assert shape.weight == pytest.approx(1 + 0.5 + 0.25 + 2 ** (-1 / 7))
    assert shape.ms == pytest.approx(10 + 5 + 25 / 4 + 2 ** (-1 / 7))
    assert (shape.raw_ms, shape.cube_ms, shape.raw_bytes) == (10.0, 1.0, 100)
    assert shape.cubes == {"c"} and found.used == {"c": NOW - timedelta(days=1)}
    assert [one.sql for one in shape.samples] == ["SELECT 1", "SELECT 4", "SELECT 5"]


def test_what_has_no_text_is_counted():
    found = read(
        row("SELECT 1", sql_length=30_000, shape=None),
        row("SELECT 1", sql_length=9_000),
        row("DROP CUBE c", shape=None),
    )
    assert found.shapes == () and found.left_out == {CUT: 2}


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0.01, 10)), min_size=1))
def test_the_median_is_one_of_the_values(pairs):
    found = median(pairs)
    below = sum(w for v, w in pairs if v < found)
    above = sum(w for v, w in pairs if v > found)
    half = sum(w for _, w in pairs) / 2
    assert found in [v for v, _ in pairs] and below <= half * 1.001 and above <= half * 1.001
    assert median([]) is None


@given(st.floats(0.1, 60), st.floats(0.1, 30))
def test_what_comes_once_a_day_is_once_a_day(days, half_life):
    """However long the log is, and however fast it fades."""
    runs, apart = 500, days / 500
    moments = [NOW - timedelta(days=apart * (number + 0.5)) for number in range(runs)]
    weights = [weight_of(one, NOW, half_life) for one in moments]
    rate = sum(weights) / faded_days(days, half_life)
    assert rate == pytest.approx(runs / days, rel=0.03)


@given(
    st.lists(
        st.builds(
            row,
            st.text(max_size=20),
            st.floats(-5, 400),
            shape=st.sampled_from(["a", "b", None]),
            execution_ms=st.none() | st.floats(allow_nan=True),
            elapsed_ms=st.none() | st.floats(allow_nan=True),
            bytes_read=st.none() | st.integers(0, 2**62),
            cached=st.booleans(),
            cubes=st.none() | st.lists(st.text(max_size=3), max_size=2),
            catalog=st.none() | st.text(max_size=3),
        ),
        max_size=12,
    )
)
def test_whatever_the_log_says(rows):
    found = read(*rows)
    assert found.days > 0
    assert sum(one.runs for one in found.shapes) == found.statements
    assert all(0 < len(one.samples) <= SAMPLES_MAX for one in found.shapes)


def test_who_answered_long_ago_is_told(tmp_path):
    """Beyond the days that count for shapes."""
    files = open_files(str(tmp_path))

    def write(days, number, **fields):
        started = int((NOW - timedelta(days=days)).timestamp() * 1_000_000)
        given = {"id": f"q{number}", "state": "FINISHED", "sql": f"SELECT {number}"}
        record = LogRecord(started_us=started, process="session", **given | fields)
        made = encoded([record], 0)
        files.create(path_of(started, started, f"{number:032x}", 1), made.data)

    write(0.5, 1, cubes=("new",))
    write(5, 2, cubes=("old",))
    write(25, 3, cubes=("older",))
    write(90, 4, cubes=("oldest",))

    def told(days, keep_days):
        return logged(files, days=days, keep_days=keep_days, half_life_days=7, now=NOW)

    found = told(1, 14)
    assert found.statements == 1 and set(found.used) == {"new", "old", "older"}
    assert found.since == NOW - timedelta(days=25)
    assert told(1, 1).since == NOW - timedelta(days=0.5)
    assert told(0.1, 14).shapes == ()


def test_what_was_asked_before_something_was_made_in_vain_doesnt_count() -> None:
    early, late = NOW - timedelta(days=2), NOW - timedelta(days=1)
    rows = [row(started=early), row(started=late), row(started=early, shape="other")]
    found = workload(rows, now=NOW, half_life_days=7, vain={"s": late})
    assert {one.key: one.runs for one in found.shapes} == {"s": 1, "other": 1}
    assert found.left_out == {"tried_in_vain": 1} and found.statements == 3


def test_bytes_that_cannot_be_are_not_known():
    found = read(row(bytes_read=-7), row(bytes_read=0))
    assert found.shapes[0].raw_bytes is None
    assert read(row(bytes_read=-7), row(bytes_read=5)).shapes[0].raw_bytes == 5
