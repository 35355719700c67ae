"""Figures of the everyday bench: a statement's share, difference and times, from replies alone."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from bench.everyday.outcomes import DUCKDB, OURS, SPARK, Outcome, Reply, details, figures
from bench.everyday.statements import order_by

TEXT = "SELECT a FROM t"
ONE, TWO = pa.table({"a": [1]}), pa.table({"a": [2]})
ROWS, PLAIN = {"by": "rows", "code": "cubes_none"}, {"by": "plain", "code": "may_raise"}
ERROR = {"by": "error", "code": "OVERFLOW"}


def outcome(*rounds: dict[str, Reply], kind: str = "texts", name: str = "texts/01") -> Outcome:
    """The outcome of those rounds, the first of which warms up."""
    found = Outcome(kind, name)
    for number, replies in enumerate(rounds):
        found.add(TEXT, replies, (), timed=number > 0)
    return found


def round_of(
    ours: Any = ONE, spark: Any = ONE, raw: Any = ONE, source: dict[str, str] = ROWS
) -> dict[str, Reply]:
    """A round's replies; a text in the place of a table is an error."""

    def reply(ms: float, answer: Any, source: dict[str, str] | None = None) -> Reply:
        if isinstance(answer, str):
            return Reply(0.0, error=answer, source=source or {})
        return Reply(ms, answer, source=source or {})

    return {OURS: reply(2, ours, source), SPARK: reply(40, spark), DUCKDB: reply(4, raw)}


def test_a_statement_of_the_process_has_times() -> None:
    found = figures([outcome(round_of(), round_of())])
    assert (found["in_process"], found["least_kind"], found["differences"]) == (1, 1, 0)
    assert (found["speedup_vs_spark"], found["time_over_duckdb_raw"]) == (20, 0.5)


def test_a_round_that_spark_answers_leaves_the_process() -> None:
    left = outcome(round_of(), round_of(source=PLAIN), kind="casts", name="casts/01")
    kept = outcome(round_of(), round_of())
    found = figures([kept, left])
    assert (found["in_process"], found["least_kind"], found["left_to_spark"]) == (0.5, 0, 1)
    told = details([kept, left])
    assert told["reasons_of"] == {"texts": {}, "casts": {"may_raise": 1}}
    assert told["statements"]["casts/01"]["reason"] == "may_raise"


def test_rows_that_spark_finishes_arent_in_process() -> None:
    one = outcome(round_of(source={**ROWS, "spark": "yes", "code": ""}))
    assert (one.in_process, one.reason) == (False, "finished_by_spark")


@pytest.mark.parametrize(
    ("replies", "differs"),
    [
        (round_of(ours=TWO), True),
        (round_of(ours=pa.table({"b": [1]})), True),
        (round_of(ours="OVERFLOW", source=ERROR), True),
        (round_of(spark="OVERFLOW"), True),
        (round_of(ours="OVERFLOW", spark="OVERFLOW", source=ERROR), False),
        (round_of(raw=TWO), False),
    ],
)
def test_differences_are_to_plain_spark(replies: dict[str, Reply], differs: bool) -> None:
    one = outcome(round_of(), replies, round_of())
    assert bool(one.difference) is differs
    assert not differs or one.difference.endswith(TEXT)


def test_duckdb_without_an_answer_has_no_time() -> None:
    one = outcome(round_of(), round_of(raw="BinderException"), round_of())
    assert DUCKDB not in one.medians()
    assert "time_over_duckdb_raw" not in figures([one])
    assert outcome(round_of(raw=TWO), round_of()).duckdb == "other answer"


def test_keys_of_an_order_are_found_in_the_result() -> None:
    assert order_by("SELECT a, b AS c FROM t ORDER BY c DESC, a") == (1, 0)
    assert order_by("SELECT a, b FROM t ORDER BY 2, abs(a)") == (1,)
    assert order_by("SELECT a FROM t") == ()
