"""Sends the tools' statements to a gateway and counts which it answers, by what and how fast.

The first round warms up: each worker plans each statement, and Spark starts. A statement counts as
answered if each round gets rows or an empty result, and as Spark's if Spark answered it once. The
gateway's history reports the engine.
"""

from __future__ import annotations

import json
import statistics
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import trino

from bench.gateway.bi.statements import ToolStatement
from bench.gateway.served import Served

_WAIT_S = 5.0
_SHARE = 0.95
_SLOWEST = 10


@dataclass(slots=True)
class StatementOutcome:
    """One statement and what came of it; a time for each round that was answered."""

    statement: ToolStatement
    times_ms: list[float] = field(default_factory=list)
    engines: set[str] = field(default_factory=set)
    reason: str = ""
    error_name: str = ""
    error: str = ""

    @property
    def by_spark(self) -> bool:
        """Whether Spark answered it in some round."""
        return "spark" in self.engines

    def to_dict(self) -> dict[str, Any]:
        """Returns what a reader needs to work on the statement."""
        shown = {"kind": self.statement.kind, "name": self.statement.name}
        if self.error:
            return shown | {"error_name": self.error_name, "error": self.error}
        return shown | {"reason": self.reason}


def ask(
    at: Served,
    connect: Callable[[Served], trino.dbapi.Connection],
    statements: Sequence[ToolStatement],
    rounds: int,
) -> list[StatementOutcome]:
    """Asks all statements in each round, one after the other."""
    outcomes = [StatementOutcome(statement) for statement in statements]
    connection = connect(at)
    for _ in range(rounds):
        for outcome in outcomes:
            if not outcome.error:
                _ask_once(at, connection, outcome)
    return outcomes


def _ask_once(at: Served, connection: trino.dbapi.Connection, outcome: StatementOutcome) -> None:
    cursor = connection.cursor()
    begin = time.perf_counter()
    try:
        cursor.execute(outcome.statement.sql)
        cursor.fetchall()
    except trino.exceptions.TrinoQueryError as error:
        outcome.error_name, outcome.error = error.error_name or "?", str(error.message)[:400]
        return
    except trino.exceptions.Error as error:
        outcome.error_name, outcome.error = type(error).__name__, str(error)[:400] or "?"
        return
    outcome.times_ms.append((time.perf_counter() - begin) * 1000)
    record = _record(at, cursor.query_id)
    outcome.engines.add(record["engine"])
    outcome.reason = record["reason"] or outcome.reason


def _record(at: Served, query_id: str | None) -> dict[str, Any]:
    """Returns the statement's record in the gateway's history, once it has ended."""
    words = urllib.parse.urlencode({"text": query_id, "limit": 1})
    request = urllib.request.Request(
        f"http://{at.host}:{at.port}/ui/api/statements?{words}", headers={"X-Trino-User": "bench"}
    )
    end = time.monotonic() + _WAIT_S
    while True:
        with urllib.request.urlopen(request, timeout=60) as response:
            found = json.load(response)["statements"]
        if found and found[0]["state"] in ("FINISHED", "FAILED", "CANCELLED"):
            return dict(found[0])
        if time.monotonic() > end:
            raise TimeoutError(f"The history has no ended statement {query_id}.")
        time.sleep(0.01)


def figures_of(outcomes: Sequence[StatementOutcome]) -> dict[str, float]:
    """Returns the figures; a share of no statements is 0."""
    answered = [outcome for outcome in outcomes if not outcome.error]
    by_spark = [outcome for outcome in answered if outcome.by_spark]
    return {
        "bi_statements": len(outcomes),
        "bi_answered": len(answered) / len(outcomes) if outcomes else 0.0,
        "bi_by_spark": len(by_spark) / len(answered) if answered else 0.0,
        "bi_p95_ms": _p95(_warm(answered)),
    }


def details_of(outcomes: Sequence[StatementOutcome]) -> dict[str, Any]:
    """Returns the counts of each tool, and the statements that fail or that Spark answered."""
    answered = [outcome for outcome in outcomes if not outcome.error]
    in_process = [outcome for outcome in answered if not outcome.by_spark]
    slowest = sorted(in_process, key=lambda outcome: max(_warm([outcome])), reverse=True)[:_SLOWEST]
    return {
        "tools": {
            tool: _counts([outcome for outcome in outcomes if outcome.statement.tool == tool])
            for tool in sorted({outcome.statement.tool for outcome in outcomes})
        },
        "kinds": {
            kind: _counts([outcome for outcome in outcomes if outcome.statement.kind == kind])
            for kind in sorted({outcome.statement.kind for outcome in outcomes})
        },
        "first_p95_ms": _p95([outcome.times_ms[0] for outcome in in_process]),
        "p50_ms": statistics.median(_warm(answered) or [0.0]),
        "slowest_ms": [outcome.to_dict() | {"ms": max(_warm([outcome]))} for outcome in slowest],
        "unanswered": [outcome.to_dict() for outcome in outcomes if outcome.error],
        "by_spark": [outcome.to_dict() for outcome in answered if outcome.by_spark],
    }


def _warm(answered: Iterable[StatementOutcome]) -> list[float]:
    """Returns the times in process after the first round, or of the first if it's the only one."""
    return [
        t
        for outcome in answered
        if not outcome.by_spark
        for t in outcome.times_ms[1:] or outcome.times_ms
    ]


def _counts(outcomes: Sequence[StatementOutcome]) -> dict[str, int]:
    return {
        "statements": len(outcomes),
        "answered": sum(not outcome.error for outcome in outcomes),
        "by_spark": sum(outcome.by_spark and not outcome.error for outcome in outcomes),
    }


def _p95(times: Sequence[float]) -> float:
    ordered = sorted(times) or [0.0]
    return ordered[min(len(ordered) - 1, int(len(ordered) * _SHARE))]
