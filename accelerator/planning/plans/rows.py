"""The plan of a table's rows, in an order or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from accelerator.common.records.as_dict import as_dict
from accelerator.common.statement_metrics import Metrics
from accelerator.iceberg import PinnedTable
from accelerator.planning.plans.candidate import MANIFESTS, Attempt
from accelerator.planning.plans.explain_tree import ExplainStep, counted, short, size
from accelerator.planning.plans.plan import Leaf, outputs_of, used_indexes
from rewrite.ir.expr import columns
from rewrite.ir.row_block import RowBlock
from rewrite.reason import Declined
from rewrite.render.readable import dotted, words

if TYPE_CHECKING:
    from accelerator.iceberg.rows.row_groups import ReadCounter
    from accelerator.planning.plans.read_order import ReadOrder
    from accelerator.planning.survey import Funnel


@dataclass(frozen=True, repr=False)
class RowsPlan(Leaf):
    """Rows of a table, read from the files that may hold them: all, the first of an order, or any.

    `pinned` is the one table. `bytes_max`: so much at most is read in process of what any rows are
    taken from, then Spark takes over; None where it may be all. One that `computes_all` computes
    each row that passes before a limit leaves any out, and `reading` is of all of them.
    """

    block: RowBlock
    pinned: tuple[PinnedTable, ...]
    reading: ReadOrder
    duckdb_declined: Declined | None
    engine: str
    tried: tuple[Attempt, ...]
    names: tuple[str | None, ...]
    bytes_max: int | None = None
    computes_all: bool = False

    def outputs(self) -> tuple[tuple[str, str], ...] | None:
        """See `Plan.outputs`."""
        return outputs_of(self.block, self.names)

    @property
    def files_total(self) -> int:
        """Live data files of the table."""
        return self.reading.known.survey.total

    def used(self) -> tuple[str, ...]:
        """See `Plan.used`."""
        return (MANIFESTS,)

    def sorted_rows(self) -> RowBlock | None:
        """See `Plan.sorted_rows`."""
        return self.block if self.block.order else None

    def asked(self) -> Iterator[tuple[str, int]]:
        """See `Leaf.asked`."""
        for column in (c for expr in self.block.expressions for c in columns(expr)):
            yield self.block.occurrences[column.occurrence].table.uuid, column.field_id

    def reads_rows(self) -> bool:
        """See `Leaf.reads_rows`."""
        return True

    def funnel(self) -> Funnel:
        """See `Leaf.funnel`."""
        reading, left = self.reading, self.reading.left
        return reading.known.survey.funnel(
            self.pinned[0],
            left.bytes,
            reading.skipped,
            row_groups=left.row_groups,
            rows=left.rows,
        )

    def figures(self, counted: ReadCounter | None = None, /) -> Metrics:
        """See `Plan.figures`."""
        found = Metrics(
            rewritten=True,
            indexes=used_indexes(self.reading.skipped),
            files_total=self.files_total,
            files_read=len(self.reading),
            bytes_read=self.reading.bytes,
        )
        if counted is None:
            return found
        return replace(
            found,
            files_read=len(counted.files),
            row_groups_read=len(counted.groups),
            bytes_read=counted.bytes,
        )

    def steps(self) -> tuple[ExplainStep, ...]:
        """See `Plan.steps`."""
        found, total = len(self.reading), self.files_total
        limit, first = self.block.limit, ""
        if limit is not None:
            first = f"any {limit:,} " if self.block.is_any else "first "
        below = (
            []
            if not self.block.conjuncts
            else [ExplainStep(short(words(c))) for c in self.block.conjuncts]
        )
        if self.engine == "duckdb" and self.block.order:
            below.append(
                ExplainStep("read in the order of their bounds, until no row can come before")
            )
        elif self.engine == "duckdb" and limit:
            below.append(ExplainStep("read until so many rows have passed"))
        name = dotted(self.block.occurrences[0].parts)
        note = f"{found:,} of {counted(total, 'file')}, {size(self.reading.bytes)}"
        return (ExplainStep(f"{first}rows of {name}", note, (*below, *self.funnel().steps())),)

    def to_dict(self) -> dict[str, Any]:
        """See `Plan.to_dict`."""
        return {
            "rewritten": True,
            "engine": self.engine,
            "snapshots": self.snapshots(),
            "files_total": self.files_total,
            "files_raw": len(self.reading),
            "bytes": {"segments": 0, "raw": self.reading.bytes},
            "indexes": [as_dict(one) for one in self.reading.skipped],
            "funnel": as_dict(self.funnel()),
            "duckdb_declined": self.declined_code(),
            "considered": [one.to_dict() for one in self.tried],
        }
