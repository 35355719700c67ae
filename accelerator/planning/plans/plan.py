"""What every plan tells of itself. Plans are plain values, kept in the plan cache.

Nobody who isn't planning asks what kind of plan one has: a plan says which tables it rests on,
what it costs, how it's shown, what of its answer may differ from Spark's and still be right.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from accelerator.common.statement_metrics import Metrics
from accelerator.iceberg import PinnedTable
from accelerator.planning.plans.candidate import Attempt, decoding_of
from accelerator.planning.plans.explain_tree import ExplainStep
from accelerator.store.records import SegmentRecord
from rewrite.ir.block import Block
from rewrite.ir.expr import Expr
from rewrite.ir.row_block import RowBlock
from rewrite.reason import Declined
from rewrite.text.printable import printable

if TYPE_CHECKING:
    from accelerator.artifacts.sidecars.probe import Skipped
    from accelerator.iceberg.manifests.job import Decoding
    from accelerator.iceberg.rows.row_groups import ReadCounter
    from accelerator.planning.plans.cover_value import Passed
    from accelerator.planning.survey import Funnel


class Doubt(Struct, frozen=True):
    """The `places` of outputs in doubt; with `rows` it's also which rows there are."""

    places: frozenset[int] = frozenset()
    rows: bool = False


class Plan(ABC):
    """How one statement is answered under its pins."""

    engine: str
    tried: tuple[Attempt, ...]

    def __repr__(self) -> str:
        over = ", ".join(one.facts.name for one in self.tables())
        return printable(f"<{type(self).__name__} by {self.engine}{over and f' over {over}'}>")

    @abstractmethod
    def tables(self) -> tuple[PinnedTable, ...]:
        """The states on which the answer rests, each once."""

    @abstractmethod
    def leaves(self) -> tuple[Leaf, ...]:
        """The plans in it that read a statement's tables, each once."""

    @abstractmethod
    def figures(self, counted: ReadCounter | None = None, /) -> Metrics:
        """What an answer by it costs; `counted` is what was read, where that was counted."""

    @abstractmethod
    def steps(self) -> tuple[ExplainStep, ...]:
        """For people: what is read and done, as a tree."""

    def outputs(self) -> tuple[tuple[str, str], ...] | None:
        """Name and Spark's type of each column of the answer; None where only Spark knows them."""
        return None

    def rests_on(self) -> list[str]:
        """What was proven for it beside its text, and what of it is an estimate."""
        found = (line for leaf in self.leaves() if leaf is not self for line in leaf.rests_on())
        return list(dict.fromkeys(found))

    def not_in_process(self) -> Declined | None:
        """Why Spark runs it though it isn't the plain statement; None where it doesn't."""
        found = (leaf.duckdb_declined for leaf in self.leaves())
        return next((one for one in found if one is not None), None)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The same as JSON values."""

    def also_tried(self, more: Sequence[Attempt]) -> Plan:
        """The same plan, for which these were tried too."""
        every: Any = self  # each kind is a dataclass
        found: Plan = dataclasses.replace(every, tried=(*self.tried, *more))
        return found

    def refused(self) -> Declined | None:
        """Why it's the plain statement; None of one that answers."""
        return None

    def unaided(self) -> Declined | None:
        """Why nothing but its tables' rows answers it; None where something does."""
        return self.refused()

    def used(self) -> tuple[str, ...]:
        """The names of the candidates that answer."""
        return ()

    def passed(self) -> tuple[tuple[str, Passed], ...]:
        """What sources have left to the next, where rows are read, beside the sources' names."""
        return tuple(one for leaf in self.leaves() if leaf is not self for one in leaf.passed())

    def decoding(self) -> Decoding | None:
        """Where the manifests were decoded for it; None where none were tried."""
        return decoding_of(self.tried)

    def figures_of(self, metrics: Metrics, cached: bool) -> Metrics:
        """With the manifests that were decoded for it, if it's of this statement."""
        decoding = None if cached else self.decoding()
        if decoding is None or not decoding.manifests:
            return metrics
        there = decoding.by == "spark"
        return replace(
            metrics,
            manifests_here=0 if there else decoding.manifests,
            manifests_by_spark=decoding.manifests if there else 0,
            manifests_why=decoding.why if decoding.failed is None else decoding.failed,
        )

    def doubt(
        self, _rests: Callable[[Leaf, Expr], bool], _known: dict[int, Doubt] | None = None, /
    ) -> Doubt:
        """What of its answer is in doubt, by what `rests` says of expressions of its leaves.

        Of what stands twice it's found once, and `known` from then on.
        """
        return Doubt()

    def inner_selects(self) -> tuple[str, ...]:
        """The SELECTs over whose answers Spark finishes the statement."""
        return ()

    def outer_text(self) -> str | None:
        """The statement over its SELECTs' answers; None where Spark doesn't finish it."""
        return None

    def has_inner_limit(self) -> bool:
        """Whether a LIMIT inside chooses among rows that are then read."""
        return False

    def sorted_rows(self) -> RowBlock | None:
        """The block whose rows it gives in their order; None of any other."""
        return None

    def input_of(self, _places: Sequence[int], /) -> Leaf | None:
        """The one part that all these outputs come from, of those that share a SELECT's groups."""
        return None

    def snapshots(self) -> dict[str, int | None]:
        """The tables' snapshots by their names."""
        return {one.facts.name: one.facts.snapshot_id for one in self.tables()}


class Leaf(Plan):
    """A plan that reads tables by itself, for one block."""

    block: Block | RowBlock
    pinned: tuple[PinnedTable, ...]
    duckdb_declined: Declined | None

    def tables(self) -> tuple[PinnedTable, ...]:
        """See `Plan.tables`."""
        return self.pinned

    def leaves(self) -> tuple[Leaf, ...]:
        """Itself."""
        return (self,)

    @property
    def surveyed(self) -> PinnedTable:
        """The table of whose files its funnel and its sources tell."""
        return self.pinned[0]

    @abstractmethod
    def asked(self) -> Iterator[tuple[str, int]]:
        """Columns, by table uuid and field id, that it names, or what it's answered from."""

    @abstractmethod
    def reads_rows(self) -> bool:
        """Whether it reads rows of its tables, and so needs their snapshots while it runs."""

    @abstractmethod
    def funnel(self) -> Funnel | None:
        """What is left of its table; None where it rests on a cube."""

    def cube_ids(self) -> tuple[str, ...]:
        """The cubes that answer."""
        return ()

    def segments_read(self) -> tuple[str, tuple[SegmentRecord, ...]] | None:
        """The segments that it reads, behind the uuid of their table; None of no cube."""
        return None

    def is_estimated(self, _expr: Expr, /) -> bool:
        """Whether a sketch has a part in the expression's value."""
        return False

    def doubt(
        self, rests: Callable[[Leaf, Expr], bool], _known: dict[int, Doubt] | None = None, /
    ) -> Doubt:
        """See `Plan.doubt`."""
        outputs = self.block.outputs
        having = self.block.having if isinstance(self.block, Block) else None
        if having is not None and rests(self, having):
            return Doubt(frozenset(range(len(outputs))), True)
        return Doubt(frozenset(i for i, o in enumerate(outputs) if rests(self, o.expr)))

    def declined_code(self) -> str | None:
        """The code of why Spark runs it."""
        return self.duckdb_declined.code if self.duckdb_declined else None


def used_indexes(skipped: Sequence[Skipped]) -> tuple[str, ...]:
    """The indexes that let files be left out."""
    return tuple(one.index for one in skipped if one.files)


def outputs_of(
    block: Block | RowBlock, names: Sequence[str | None]
) -> tuple[tuple[str, str], ...] | None:
    """A block's outputs under the names that its answer has."""
    types = [output.expr.type for output in block.outputs]
    if not all(types):
        return None
    return tuple((name or "", type_ or "") for name, type_ in zip(names, types, strict=True))
