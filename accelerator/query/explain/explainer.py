"""Explains the statements of one session: by their plans, or by running them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from accelerator.common.stage_timer import clocked
from accelerator.common.statement_metrics import Metrics
from accelerator.errors import AcceleratorError, ConfigError
from accelerator.planning.plans import Plan
from accelerator.query.explain.explanation import (
    OF_DEFINITION,
    Explained,
    Explanation,
    Ran,
    Suggestion,
    bytes_read,
)
from accelerator.query.explain.other_reader import other_reader
from accelerator.query.explain.suggest_index import suggested_index
from accelerator.query.guards.scan_estimate import ScanEstimate, scanned_by
from accelerator.query.statements.nodes import Query, Statement
from rewrite.errors import StatementError
from rewrite.ir.block import Block
from rewrite.parse.parse import PARSER_FAILS, parse
from rewrite.reason import DeclinedError

if TYPE_CHECKING:
    from accelerator.query.results.result import Result
    from accelerator.query.runtime.services import Services

    Planned = Callable[[Statement], tuple[Plan, bool]]
    Answered = Callable[[Query], Result]


_FORMATS = ("text", "json")


class Explainer:
    """Of a session, whose queries `plan` and `answer`."""

    def __init__(self, services: Services, plan: Planned, answer: Answered) -> None:
        self._services, self._plan, self._answer = services, plan, answer

    def shown(
        self, statement: Statement, sql: str, format: str, limit: float | None = None
    ) -> Explained:
        """The explanation as `text` or `json`; with a `limit` of seconds (0: none) it runs."""
        if format not in _FORMATS:
            raise ConfigError(f"there is no format {format!r}", hint="it's text or json")
        return Explained(self.of(statement, sql, limit), format)

    def why_not(self, statement: Statement, sql: str) -> list[dict[str, Any]]:
        """A row for each reason why something isn't used."""
        return self.of(statement, sql).why_not()

    def of(self, statement: Statement, sql: str, limit: float | None = None) -> Explanation:
        """The facts of its plan, and of its run."""
        ran = None if limit is None else self._run(statement, limit)
        plan, _ = self._plan(statement)
        if not isinstance(statement, Query):
            return self._explained(sql, plan, ran=ran)
        suggested, sql = self._suggested(statement, plan), statement.bare
        return self._explained(sql, plan, self._scanned(sql), suggested, ran)

    def of_plan(self, sql: str, plan: Plan) -> Explanation:
        """The facts of a plan by which an answer was given; the tables may be others by now."""
        return self._explained(sql, plan)

    def _explained(
        self,
        sql: str,
        plan: Plan,
        plain: ScanEstimate | None = None,
        suggested: Suggestion | None = None,
        ran: Ran | None = None,
    ) -> Explanation:
        config = self._services.config
        estimate = self._services.choice.estimate(bytes_read(plan))
        index = None if self._uses_cube(plan) else suggested_index(sql, self._services)
        beside = other_reader(plan, self._services.duckdb)
        return Explanation(
            sql, plan, plain, estimate, suggested, ran, config.engine == "spark", index, beside
        )

    def _uses_cube(self, plan: Plan) -> bool:
        try:
            return not self._services.store.registry().cubes.keys().isdisjoint(plan.used())
        except AcceleratorError:
            return False

    def _run(self, statement: Statement, limit: float) -> Ran:
        if not isinstance(statement, Query) or not _only_reads(statement.bare):
            raise StatementError(
                "EXPLAIN ANALYZE runs queries, and nothing that isn't surely one",
                hint="write a SELECT behind it; EXPLAIN ACCELERATE runs nothing",
            )
        began = time.perf_counter()
        with clocked() as clock, self._services.cancellation.within(limit):
            result = self._answer(statement)
        whole = (time.perf_counter() - began) * 1000
        metrics: Metrics = result.metrics
        stages = {"run": 0.0, **clock.ms}
        stages["else"] = max(0.0, whole - sum(clock.ms.values())) + stages.pop("run")
        return Ran(result.num_rows, metrics, tuple(stages.items()))

    def _scanned(self, sql: str) -> ScanEstimate | None:
        """What plain Spark would read; None where that isn't known."""
        services = self._services
        try:
            tree = parse(sql)
            with services.context.statement():
                return scanned_by(tree, services.lake.pin(), services.context)
        except (*PARSER_FAILS, AcceleratorError):
            return None

    def _suggested(self, statement: Statement, plan: Plan) -> Suggestion | None:
        """For the first part that nothing but rows answers, if a cube would."""
        refused = plan.unaided()
        leaf = next((one for one in plan.leaves() if one.unaided() is not None), None)
        if leaf is not None:
            refused = leaf.unaided()
        if not isinstance(statement, Query) or refused is None:
            return None
        if refused.code not in OF_DEFINITION:
            return None
        from accelerator.query.explain.buildable import Buildable
        from accelerator.query.explain.suggest_cube import suggested_cube

        services = self._services
        try:
            if leaf is not None and isinstance(leaf.block, Block):
                block, pin = leaf.block, services.lake.pin()
            else:
                block, pin = services.planner.bind(statement.bare)
            taken = frozenset(services.store.registry().cubes)
            return suggested_cube(
                block,
                lambda text: services.planner.bind(text)[0],
                taken,
                pin,
                Buildable(services).cube,
            )
        except (DeclinedError, AcceleratorError):
            return None


def _only_reads(sql: str) -> bool:
    """Whether it's surely a query: behind WITH or FROM an INSERT may stand."""
    try:
        return isinstance(parse(sql), exp.Query | exp.Values)
    except PARSER_FAILS:
        return False
