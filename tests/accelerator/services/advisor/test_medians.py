"""Verdicts on what runs spare: medians with medians, which no single run can turn."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from statistics import median_low

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from accelerator.services.advisor.apply.record import raw_medians
from accelerator.services.advisor.results import AdviceResult, TrialPeriod
from accelerator.store.journals.ledger import AppliedAdvice
from accelerator.store.journals.medians import (
    RUNS_MIN,
    MedianRange,
    first_runs,
    median_range,
    spared_time,
)

STALL_MS = 10_000.0
NOW_MS = 1_800_000_000_000
MADE = AppliedAdvice(
    "0" * 32, "r0", "CREATE CUBE", "d.f", "u", "c", "auto", "done", 1, 1, gain_ms=1000.0
)
TIMES = st.lists(st.floats(0, 1000), min_size=RUNS_MIN, max_size=70)


def firm(times) -> MedianRange:
    found = median_range(times)
    assert found is not None
    return found


def changed(times):
    """The same runs without any one of them, and with any one of them stalled, or of no time."""
    for place in range(len(times)):
        rest = times[:place] + times[place + 1 :]
        yield rest
        yield [*rest, STALL_MS]
        yield [*rest, 0.0]


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60))
def test_a_median_without_one_run_is_within_its_range(times):
    found = firm(times)
    assert found.middle == median_low(times) and found.runs == len(times)
    for some in changed(times):
        if some:
            assert found.low <= median_low(some) <= found.high or len(times) < 3


def result(before, since, promised=1000.0, days=1.0) -> AdviceResult:
    """As of a cube that answers one shape alone, for so many days."""
    spared = spared_time(firm(before), median_range(since), len(since), 1.0)
    return AdviceResult(
        applied=replace(MADE, gain_ms=promised),
        status="in use",
        name="c",
        days=days,
        runs=len(since),
        gain_ms=spared.ms / days,
        least_ms=spared.at_least / days,
        most_ms=spared.at_most / days,
        statements=1000,
    )


def pays(before, since, promised):
    return TrialPeriod().pays(result(before, since, promised), NOW_MS)


@given(TIMES, TIMES, st.floats(1, 1e6))
def test_no_single_run_turns_a_verdict(before, since, promised):
    verdict = pays(before, since, promised)
    for some in changed(since):
        assert pays(before, some, promised) in (verdict, None) or verdict is None
    for some in changed(before):
        assert pays(some, since, promised) in (verdict, None) or verdict is None


@given(TIMES, TIMES, st.floats(1, 1e6))
def test_a_verdict_is_of_the_medians_without_any_one_run(before, since, promised):
    """Whoever sets the medians apart anew, without one of the runs, finds the same."""
    verdict, share = pays(before, since, promised), TrialPeriod().share
    for some, others in (
        *((one, since) for one in changed(before)),
        *((before, one) for one in changed(since)),
    ):
        spared = (median_low(some) - median_low(others)) * len(others)
        if verdict is False:
            assert spared < share * promised
        elif verdict:
            assert spared >= share * promised * (1 - 1e-9)


@given(
    st.lists(st.floats(80, 120), min_size=RUNS_MIN + 1, max_size=60),
    st.lists(st.floats(1, 5), min_size=RUNS_MIN + 1, max_size=60),
    st.booleans(),
)
def test_far_from_the_line_one_run_changes_nothing_at_all(slow, fast, paying):
    """The verdict is the same without any run, and with any run stalled."""
    before, since = (slow, fast) if paying else (fast, slow)
    assert pays(before, since, 100.0) is paying
    assert {pays(before, some, 100.0) for some in changed(since)} == {paying}
    assert {pays(some, since, 100.0) for some in changed(before)} == {paying}


def test_one_stall_of_sixty_two_doesnt_condemn():
    before, since = [130.0] * 40, [2.4] * 61 + [STALL_MS]
    found = result(before, since, promised=62 * 127.6)
    assert found.gain_ms == pytest.approx(62 * 127.6) and TrialPeriod().verdict(found, NOW_MS) == ""
    assert TrialPeriod().pays(found, NOW_MS) is True


def test_too_few_runs_since_tell_nothing_but_how_little_they_can_spare():
    before = [100.0] * 30
    few = result(before, [STALL_MS] * (RUNS_MIN - 1), promised=1000.0)
    assert few.gain_ms < 0 and TrialPeriod().pays(few, NOW_MS) is None
    rarely = result(before, [1.0] * 2, promised=100_000.0)
    assert TrialPeriod().pays(rarely, NOW_MS) is False
    assert "0.2 s a day at most, 100 s were promised" in TrialPeriod().verdict(rarely, NOW_MS)
    assert TrialPeriod().pays(result(before, [], promised=1.0), NOW_MS) is False


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def row(id, ms=1.0, at=0, **fields):
    told = {"id": id, "started": NOON + timedelta(seconds=at), "process": "session", "worker": None}
    told |= {"state": "FINISHED", "shape": "s", "cached": False, "cubes": None, "indexes": None}
    told |= {"queued_ms": None, "elapsed_ms": None, "planning_ms": None, "execution_ms": ms}
    return told | fields


def test_the_first_statement_of_a_process_counts_for_none():
    a, b = "a" * 32, "b" * 32
    gateway = {"process": "gateway"}
    rows = [
        *(row(f"{a}-{n}", 900.0 if n == 0 else 1.0, at=n) for n in range(3)),
        row(f"{b}-7", at=9),  # the log has forgotten its first one
        row("20260101_120000_00001_abcde", 900.0, at=5, worker=17, **gateway),
        row("20260101_120001_00002_abcde", at=6, worker=17, **gateway),
        row("20260101_120001_00003_abcde", 900.0, at=6, worker=18, **gateway),
        row("20260101_120000_00004_abcde", at=4, **gateway),  # an earlier answer
        row("20260101_120000_00001_fghij", 900.0, at=7, worker=17, **gateway),
    ]
    assert {one["id"] for one in rows if one["execution_ms"] == 900.0} == first_runs(rows)
    assert raw_medians(rows) == {"s": MedianRange(5, 1.0, 1.0, 1.0)}


def test_runs_that_something_served_are_none_before():
    rows = [
        row("q1", 5.0),
        row("q2", 1.0, cubes=["c"]),
        row("q3", 1.0, indexes=["i"]),
        row("q4", 1.0, cached=True),
        row("q5", 1.0, state="FAILED"),
        row("q6", 1.0, shape=None),
        row("q7", None),
    ]
    assert raw_medians(rows) == {"s": MedianRange(1, 5.0, 5.0, 5.0)}
