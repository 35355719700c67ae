"""The plan of a statement that goes to Spark as it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from accelerator.common.statement_metrics import Metrics
from accelerator.iceberg import PinnedTable
from accelerator.planning.plans.candidate import Attempt
from accelerator.planning.plans.explain_tree import ExplainStep
from accelerator.planning.plans.plan import Leaf, Plan
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.iceberg.rows.row_groups import ReadCounter


@dataclass(frozen=True, repr=False)
class PlainPlan(Plan):
    """A statement that goes to Spark as it is, and why."""

    declined: Declined
    tried: tuple[Attempt, ...] = field(default=())
    engine: str = "spark"

    def tables(self) -> tuple[PinnedTable, ...]:
        """None that are known."""
        return ()

    def leaves(self) -> tuple[Leaf, ...]:
        """None."""
        return ()

    def refused(self) -> Declined:
        """See `Plan.refused`."""
        return self.declined

    def figures(self, _counted: ReadCounter | None = None, /) -> Metrics:
        """See `Plan.figures`; what Spark reads isn't known."""
        return Metrics()

    def steps(self) -> tuple[ExplainStep, ...]:
        """See `Plan.steps`."""
        return (ExplainStep("the statement as it's written"),)

    def to_dict(self) -> dict[str, Any]:
        """See `Plan.to_dict`."""
        reason = {"code": self.declined.code, "reason": self.declined.sentence}
        tried = [one.to_dict() for one in self.tried]
        return {"rewritten": False, "engine": "spark", **reason, "considered": tried}
