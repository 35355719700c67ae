"""Compares plain Spark with both ways of the session, over a list of statements.

A plain answer is computed once per state of the data: coverage changes, the answer must not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from accelerator.services.verification.compare import differ
from accelerator.session.session import Accelerator


@dataclass
class Differential:
    """Collects what differs, so that one run names every wrong statement; `check` raises."""

    acc: Accelerator
    plain: dict[str, pa.Table] = field(default_factory=dict)

    def changed(self) -> None:
        """The data changed: plain answers are computed again."""
        self.plain.clear()

    def check(
        self,
        queries: Iterable[str],
        *,
        rewritten: bool | None = True,
        spark: Iterable[str] = (),
        where: str = "",
    ) -> None:
        """Every query by `query`, those of `spark` by `sql` as well, equal to plain Spark.

        `rewritten`: whether a cube, an index or metadata must help; None leaves it open.
        """
        failures = []
        before = dict(self.acc.fallbacks)
        for query in queries:
            plain = self._plain(query)
            answer = self.acc.query(query)
            failures += [f"{query}\n    {d}" for d in differ(answer.arrow(), plain)]
            metrics = answer.metrics
            aided = metrics.rewritten and metrics.all_rows is None
            if rewritten is not None and aided != rewritten:
                why = metrics.fallback or metrics.all_rows
                failures.append(f"{query}\n    rewritten: {metrics.rewritten}, {why}")
        for query in spark:
            answer_ = self.acc.sql(query).toArrow()
            failures += [f"by Spark: {query}\n    {d}" for d in differ(answer_, self._plain(query))]
        if self.acc.fallbacks != before:
            failures.append(f"fallbacks {before} grew to {self.acc.fallbacks}")
        assert not failures, f"{where}: {len(failures)} failures\n" + "\n".join(failures)

    def _plain(self, query: str) -> pa.Table:
        if query not in self.plain:
            self.plain[query] = self.acc.services.plain_table(query)
        return self.plain[query]
