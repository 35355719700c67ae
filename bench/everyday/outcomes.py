"""Outcomes of the statements, and the figures over all outcomes."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from bench.compare import Answer, difference
from bench.stats import mean_ratio

OURS, SPARK, DUCKDB = "ours", "spark", "duckdb_raw"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with its time, or the code of an error; ours has the answer's source as well."""

    ms: float
    answer: pa.Table | None = None
    error: str = ""
    source: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Outcome:
    """One statement over its rounds.

    `by` is the answer's source: rows, manifest, plain or error. `reason` is the code of the round
    that left the process, and `why` the reason in words. `difference` shows the first round whose
    answer isn't plain Spark's. `duckdb` is `equal`, `other answer` or the error of DuckDB.
    """

    kind: str
    name: str
    by: str = ""
    reason: str = ""
    why: str = ""
    in_process: bool = True
    difference: str = ""
    spark_error: str = ""
    duckdb: str = "equal"
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(
        self, text: str, replies: Mapping[str, Reply], order_by: Sequence[int], *, timed: bool
    ) -> None:
        """Adds the replies of a round."""
        ours, spark, raw = replies[OURS], replies[SPARK], replies[DUCKDB]
        self.by = ours.source["by"]
        if self.by in ("plain", "error") or ours.source.get("spark"):
            self.in_process = False
            self.reason = ours.source.get("code", "") or "finished_by_spark"
            self.why = ours.source.get("why") or ""
        self.spark_error = self.spark_error or spark.error
        found = _difference(spark, ours, order_by)
        if found and not self.difference:
            self.difference = f"{found}: {text}"
        if raw.error:
            self.duckdb = raw.error
        elif self.duckdb == "equal" and spark.answer is not None and raw.answer is not None:
            rows = Answer(Answer.of(raw.answer).rows)
            if difference(Answer.of(spark.answer), rows, order_by):
                self.duckdb = "other answer"
        if timed:
            for name, reply in replies.items():
                self.times[name].append(reply.ms)

    def medians(self) -> dict[str, float]:
        """Returns the median times; DuckDB's only if it ran the statement in each round."""
        ran = self.duckdb in ("equal", "other answer")
        return {
            name: statistics.median(times)
            for name, times in self.times.items()
            if name != DUCKDB or ran
        }


def _difference(spark: Reply, ours: Reply, order_by: Sequence[int]) -> str:
    if spark.answer is None and ours.answer is None:
        return ""
    if spark.answer is None:
        return f"answered, and Spark raises {spark.error}"
    if ours.answer is None:
        return f"{ours.error} raised, and Spark answers"
    return difference(Answer.of(spark.answer), Answer.of(ours.answer), order_by) or ""


def figures(outcomes: Sequence[Outcome]) -> dict[str, float | int]:
    """Returns the figures over those statements."""
    inside = [one for one in outcomes if one.in_process]
    medians: dict[str, dict[str, float]] = {name: {} for name in (OURS, SPARK, DUCKDB)}
    for one in inside:
        for system, ms in one.medians().items():
            medians[system][one.name] = ms
    found: dict[str, float | int] = {
        "statements": len(outcomes),
        "in_process": len(inside) / len(outcomes),
        "least_kind": min(_shares(outcomes).values()),
        "differences": sum(bool(one.difference) for one in outcomes),
        "left_to_spark": sum(not one.in_process and one.by != "error" for one in outcomes),
        "errors": sum(one.by == "error" for one in outcomes),
        "spark_errors": sum(bool(one.spark_error) for one in outcomes),
        "duckdb_raw_statements": len(medians[DUCKDB]),
    }
    for name, over, under in (
        ("speedup_vs_spark", SPARK, OURS),
        ("speedup_vs_duckdb_raw", DUCKDB, OURS),
        ("time_over_duckdb_raw", OURS, DUCKDB),
    ):
        if medians[OURS].keys() & medians[over].keys() & medians[under].keys():
            found[name] = mean_ratio(medians[over], medians[under])
    return found


def details(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Returns shares and reasons of each kind, and each statement's outcome."""
    reasons: dict[str, Counter[str]] = {one.kind: Counter() for one in outcomes}
    for one in outcomes:
        if one.reason:
            reasons[one.kind][one.reason] += 1
    return {
        "in_process_of": _shares(outcomes),
        "reasons": dict(sum(reasons.values(), Counter()).most_common()),
        "reasons_of": {kind: dict(each.most_common()) for kind, each in reasons.items()},
        "statements": {one.name: _statement(one) for one in outcomes},
    }


def _shares(outcomes: Iterable[Outcome]) -> dict[str, float]:
    of_kind: dict[str, list[bool]] = defaultdict(list)
    for one in outcomes:
        of_kind[one.kind].append(one.in_process)
    return {kind: sum(each) / len(each) for kind, each in of_kind.items()}


def _statement(one: Outcome) -> dict[str, Any]:
    names = ("by", "reason", "why", "difference", "spark_error", "duckdb")
    fields: dict[str, Any] = {name: value for name in names if (value := getattr(one, name))}
    return fields | {"ms": {name: round(ms, 2) for name, ms in one.medians().items()}}
