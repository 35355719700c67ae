"""Explains the statements of one session: by their plans, or by running them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot.errors import SqlglotError

from accelerator.errors import AcceleratorError
from accelerator.explain import Explained, Explanation, Ran, Suggestion, bytes_read
from accelerator.metrics import Metrics
from accelerator.plans import Plan
from accelerator.scanned import Scanned, scanned_by
from accelerator.stages import clocked
from accelerator.statements.kinds import Query, Statement
from rewrite.errors import StatementError
from rewrite.parse import parse
from rewrite.reason import DeclinedError

if TYPE_CHECKING:
    from accelerator.result import Result
    from accelerator.services import Services

    Planned = Callable[[Statement], tuple[Plan, bool]]
    Answered = Callable[[Query], Result]

_UNREADABLE = (SqlglotError, RecursionError, AttributeError, LookupError, TypeError, ValueError)
"""Over what it doesn't know the parser fails in ways of its own too."""


class Explainer:
    """Of a session, whose queries `plan` and `answer`."""

    def __init__(self, services: Services, plan: Planned, answer: Answered) -> None:
        self._services, self._plan, self._answer = services, plan, answer

    def shown(self, statement: Statement, format: str, *, analyze: bool = False) -> Explained:
        """The explanation as `text` or `json`; with `analyze` the statement runs."""
        return Explained(self.of(statement, analyze=analyze), format)

    def why_not(self, statement: Statement) -> list[dict[str, Any]]:
        """A row for each reason why something isn't used."""
        return self.of(statement).why_not()

    def of(self, statement: Statement, *, analyze: bool = False) -> Explanation:
        """The facts of its plan, and of its run."""
        ran = self._run(statement) if analyze else None
        plan, _ = self._plan(statement)
        return self.of_plan(statement, plan, ran)

    def of_plan(self, statement: Statement, plan: Plan, ran: Ran | None = None) -> Explanation:
        """The facts of a plan that was made for the statement."""
        sql = statement.bare if isinstance(statement, Query) else getattr(statement, "sql", "")
        estimate = self._services.choice.estimate(bytes_read(plan))
        return Explanation(
            sql, plan, self._scanned(sql), estimate, lambda: self._suggested(statement), ran
        )

    def _run(self, statement: Statement) -> Ran:
        if not isinstance(statement, Query):
            raise StatementError("EXPLAIN ANALYZE runs queries", hint="write a SELECT behind it")
        limit = self._services.config.timeout_s
        began = time.perf_counter()
        with clocked() as clock, self._services.cancellation.within(limit):
            result = self._answer(statement)
        whole = (time.perf_counter() - began) * 1000
        metrics: Metrics = result.metrics
        stages = {"run": 0.0, **clock.ms}
        stages["else"] = max(0.0, whole - sum(clock.ms.values())) + stages.pop("run")
        return Ran(result.num_rows, metrics, tuple(stages.items()))

    def _scanned(self, sql: str) -> Scanned | None:
        """What plain Spark would read; None where that isn't known."""
        services = self._services
        try:
            tree = parse(sql)
            with services.context.statement():
                return scanned_by(tree, services.lake.pin(), services.context)
        except (*_UNREADABLE, AcceleratorError):
            return None

    def _suggested(self, statement: Statement) -> Suggestion | None:
        from accelerator.suggested_cube import suggested_cube

        if not isinstance(statement, Query):
            return None
        services = self._services
        try:
            block, pin = services.planner.bind(statement.bare)
            taken = frozenset(services.store.registry().cubes)
            return suggested_cube(block, lambda text: services.planner.bind(text)[0], taken, pin)
        except (DeclinedError, AcceleratorError):
            return None
