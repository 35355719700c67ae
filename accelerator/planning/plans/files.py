"""The plan of a query of the table of a table's files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accelerator.common.statement_metrics import Metrics
from accelerator.iceberg import PinnedTable
from accelerator.planning.plans.candidate import MANIFESTS, Attempt
from accelerator.planning.plans.explain_tree import ExplainStep
from accelerator.planning.plans.plan import Leaf, Plan

if TYPE_CHECKING:
    from accelerator.iceberg.rows.row_groups import ReadCounter
    from accelerator.iceberg.tables.files_table import FileTable


@dataclass(frozen=True, repr=False)
class FilesPlan(Plan):
    """A query of the table of a table's files, which DuckDB answers by `sql` over some columns.

    `pinned` is the one table whose files they are; `paths` name the columns that are made.
    """

    pinned: tuple[PinnedTable, ...]
    table: FileTable
    paths: tuple[tuple[str, ...], ...]
    sql: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    engine: str = "duckdb"
    tried: tuple[Attempt, ...] = ()

    def tables(self) -> tuple[PinnedTable, ...]:
        """See `Plan.tables`."""
        return self.pinned

    def leaves(self) -> tuple[Leaf, ...]:
        """None: it reads no rows of the table."""
        return ()

    def outputs(self) -> tuple[tuple[str, str], ...]:
        """See `Plan.outputs`."""
        return tuple(zip(self.names, self.types, strict=True))

    def used(self) -> tuple[str, ...]:
        """See `Plan.used`."""
        return (MANIFESTS,)

    def figures(self, _counted: ReadCounter | None = None, /) -> Metrics:
        """See `Plan.figures`; manifests count for nothing."""
        return Metrics(rewritten=True)

    def steps(self) -> tuple[ExplainStep, ...]:
        """See `Plan.steps`."""
        return (
            ExplainStep(
                f"{MANIFESTS} as a table of files", f"columns {', '.join(self._columns())}"
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """See `Plan.to_dict`."""
        return {
            "rewritten": True,
            "engine": self.engine,
            "snapshots": self.snapshots(),
            "columns": self._columns(),
            "sql": self.sql,
            "considered": [one.to_dict() for one in self.tried],
        }

    def _columns(self) -> list[str]:
        return [".".join(path) for path in self.paths]
