"""The plan of a SELECT of constants, which reads no table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accelerator.common.statement_metrics import Metrics
from accelerator.iceberg import PinnedTable
from accelerator.planning.plans.candidate import Attempt
from accelerator.planning.plans.explain_tree import ExplainStep
from accelerator.planning.plans.plan import Leaf, Plan

if TYPE_CHECKING:
    from accelerator.iceberg.rows.row_groups import ReadCounter


@dataclass(frozen=True, repr=False)
class ConstantsPlan(Plan):
    """One row of constant expressions, which DuckDB computes by `sql`."""

    sql: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    engine: str = "duckdb"
    tried: tuple[Attempt, ...] = ()

    def tables(self) -> tuple[PinnedTable, ...]:
        """None."""
        return ()

    def leaves(self) -> tuple[Leaf, ...]:
        """None."""
        return ()

    def outputs(self) -> tuple[tuple[str, str], ...]:
        """See `Plan.outputs`."""
        return tuple(zip(self.names, self.types, strict=True))

    def figures(self, _counted: ReadCounter | None = None, /) -> Metrics:
        """See `Plan.figures`; nothing is read."""
        return Metrics(rewritten=True)

    def steps(self) -> tuple[ExplainStep, ...]:
        """See `Plan.steps`."""
        return (ExplainStep("one row of constants"),)

    def to_dict(self) -> dict[str, Any]:
        """See `Plan.to_dict`."""
        return {
            "rewritten": True,
            "engine": self.engine,
            "snapshots": self.snapshots(),
            "sql": self.sql,
            "considered": [one.to_dict() for one in self.tried],
        }
