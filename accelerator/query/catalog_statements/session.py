"""The part of a session that a statement about catalogs uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from accelerator.planning.plans import Plan
    from accelerator.query.explain.explainer import Explainer
    from accelerator.query.runtime.services import Services
    from accelerator.query.statements.nodes import Statement


class QueryPlanner(Protocol):
    """The session's queries, which plan and explain those inside of DESCRIBE and EXPLAIN."""

    services: Services

    @property
    def explainer(self) -> Explainer:
        """Explains plans."""

    def read(self, sql: str, dialect: str | None) -> Statement:
        """Parses a statement."""

    def check(self, statement: Statement) -> None:
        """Raises what is surely wrong with a statement."""

    def plan(self, statement: Statement) -> tuple[Plan, bool]:
        """Returns how it would be answered now, and whether that was known already."""
