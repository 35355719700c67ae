"""What becomes of one query: how it's answered, why not from cubes, and whether it's right."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from accelerator.common.statement_metrics import Metrics
from accelerator.session.session import Accelerator
from bench.report import Report
from bench.steps import Steps
from bench.tpc.compare import differences

FAILURES = frozenset(
    {
        "engine_failed",
        "planning_failed",
        "segment_unreadable",
        "index_unreadable",
        "metadata_unavailable",
        "store_unavailable",
    }
)
"""Reasons that none of these queries may have: something broke."""


def ended(report: Report, steps: Steps, wrong: Mapping[int, Sequence[str]]) -> int:
    """Writes the figures, and says them; the exit status: 1 where a query's answer is wrong."""
    report.complete = True
    report.save()
    for number, sentences in wrong.items():
        for sentence in sentences:
            steps.console.print(f"[red]query {number}[/]: {sentence}", highlight=False)
    for name, value in report.figures.items():
        steps.console.print(f"  {name:<24} {value:,.4g}", highlight=False)
    steps.console.print(f"Written to {report.path}")
    return int(any(wrong.values()))


@dataclass(frozen=True, slots=True)
class Outcome:
    """A query both ways. `code` and `reason` are None where it was rewritten.

    `cubes` are those that `query` read; where `by_spark`, Spark answered over what they say;
    `all_rows`: nothing spared it a file, and all rows were read in process.
    `wrong` says what differs from plain Spark, in either way.
    """

    number: int
    rewritten: bool
    cubes: tuple[str, ...]
    by_spark: bool
    all_rows: bool
    code: str | None
    reason: str | None
    rows: int
    plain_ms: float
    query_ms: float
    sql_ms: float
    wrong: tuple[str, ...]

    @classmethod
    def of(cls, acc: Accelerator, number: int, sql: str) -> Outcome:
        """Runs the query plain, by `query` and by `sql`, and compares."""
        before, ways = dict(acc.fallbacks), _Ways(acc)
        wrong = [f"query: {one}" for one in differences(sql, ways.plain, ways.query)]
        wrong += [f"sql: {one}" for one in differences(sql, ways.plain, ways.sql)]
        metrics = ways.metrics[sql]
        code, _, reason = (metrics.fallback or "").partition(": ")
        if code in FAILURES or acc.fallbacks != before:
            wrong.append(f"fallbacks {before} grew to {acc.fallbacks}, {metrics.fallback}")
        return cls(
            number=number,
            rewritten=metrics.rewritten,
            cubes=tuple(sorted(metrics.cubes)),
            by_spark=metrics.rewritten and metrics.engine == "spark",
            all_rows=metrics.all_rows is not None,
            code=code or None,
            reason=reason or None,
            rows=ways.answers[sql].num_rows,
            plain_ms=ways.took["plain", sql],
            query_ms=ways.took["query", sql],
            sql_ms=ways.took["sql", sql],
            wrong=tuple(wrong),
        )

    @property
    def answered(self) -> str:
        """In a few words: by which cubes, or the reason's code."""
        if not self.rewritten:
            return f"plain: `{self.code}`"
        without = "all rows" if self.all_rows else "metadata"
        named = ", ".join(f"`{cube}`" for cube in self.cubes) or without
        return f"{named}, then Spark" if self.by_spark else named

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)


class _Ways:
    """The three ways to ask; how long each took, and plain answers, are kept by the statement."""

    def __init__(self, acc: Accelerator) -> None:
        self._acc = acc
        self.answers: dict[str, pa.Table] = {}
        self.metrics: dict[str, Metrics] = {}
        self.took: dict[tuple[str, str], float] = {}

    def plain(self, sql: str) -> pa.Table:
        if sql not in self.answers:
            self.answers[sql] = self._timed(
                "plain", sql, lambda: self._acc.services.plain_table(sql)
            )
        return self.answers[sql]

    def query(self, sql: str) -> pa.Table:
        answer = self._timed("query", sql, lambda: self._acc.query(sql))
        self.metrics[sql] = answer.metrics
        return answer.arrow()

    def sql(self, sql: str) -> pa.Table:
        return self._timed("sql", sql, lambda: self._acc.sql(sql).toArrow())

    def _timed(self, way: str, sql: str, ask: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        answer = ask()
        self.took[way, sql] = (time.perf_counter() - started) * 1000
        return answer
