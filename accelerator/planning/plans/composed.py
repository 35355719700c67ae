"""Plans over the answers of SELECTs in a statement."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from accelerator.common.statement_metrics import Metrics
from accelerator.iceberg import PinnedTable
from accelerator.planning.plans.candidate import Attempt, DuckDBRun
from accelerator.planning.plans.cover import CoverPlan
from accelerator.planning.plans.explain_tree import ExplainStep
from accelerator.planning.plans.plan import Doubt, Leaf, Plan, outputs_of
from accelerator.planning.plans.rows import RowsPlan
from rewrite.ir.block import Block
from rewrite.ir.expr import Aggregate, Expr, columns, walk
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.iceberg.rows.row_groups import ReadCounter


@dataclass(frozen=True, kw_only=True, repr=False)
class ComposedPlan(Plan):
    """A statement over the answers of SELECTs in it: its `inputs`, of which one may stand twice."""

    inputs: tuple[Input, ...]
    tried: tuple[Attempt, ...] = ()

    @cached_property
    def pinned(self) -> tuple[PinnedTable, ...]:
        """The tables of all its SELECTs, each state once."""
        tables = (table for one in self.parts for table in one.pinned)
        return tuple({(t.facts.uuid, t.facts.snapshot_id): t for t in tables}.values())

    @cached_property
    def parts(self) -> tuple[Leaf, ...]:
        """The plans that read tables, each once; kept, since a chain reads each input twice."""
        found = {id(part): part for one in self.inputs for part in one.leaves()}
        return tuple(found.values())

    def tables(self) -> tuple[PinnedTable, ...]:
        """See `Plan.tables`."""
        return self.pinned

    def leaves(self) -> tuple[Leaf, ...]:
        """See `Plan.leaves`."""
        return self.parts

    def used(self) -> tuple[str, ...]:
        """See `Plan.used`."""
        return tuple(name for part in self.parts for name in part.used())

    def figures(self, _counted: ReadCounter | None = None, /) -> Metrics:
        """Of all its SELECTs."""
        inner = [part.figures() for part in self.parts]
        return Metrics(
            rewritten=True,
            cubes=tuple(dict.fromkeys(name for one in inner for name in one.cubes)),
            indexes=tuple(dict.fromkeys(name for one in inner for name in one.indexes)),
            files_total=sum(one.files_total for one in inner),
            files_read=sum(one.files_read for one in inner),
            bytes_read=sum(one.bytes_read for one in inner),
            all_rows=inner[0].all_rows if all(one.all_rows for one in inner) else None,
        )

    def steps(self) -> tuple[ExplainStep, ...]:
        """See `Plan.steps`: each part, in the order in which they stand."""
        found = []
        for number, part in enumerate(self.parts, start=1):
            first, *others = part.steps()
            found += [replace(first, text=f"{number}. {first.text}"), *others]
        return (ExplainStep(self._title(), "", tuple(found)),)

    def to_dict(self) -> dict[str, Any]:
        """See `Plan.to_dict`."""
        return {
            "rewritten": True,
            "engine": self.engine,
            "snapshots": self.snapshots(),
            "selects": [part.to_dict() for part in self.parts],
            "by_groups": False,
            "sql": "",
            "considered": [one.to_dict() for one in self.tried],
        }

    @abstractmethod
    def _title(self) -> str:
        """The first line for people: of how many SELECTs, and who answers what stands above."""

    def _count(self) -> str:
        count = len(self.parts)
        return "1 SELECT on its own" if count == 1 else f"{count} SELECTs, each on its own"


@dataclass(frozen=True, kw_only=True, repr=False)
class NestedPlan(ComposedPlan):
    """A SELECT over the answers of others, which are in the order of its occurrences.

    `duckdb` reads their answers; `block` is over their columns. `branches`: they are those of a set
    operation, and its rows the block's one occurrence.
    """

    block: Block
    duckdb: DuckDBRun
    names: tuple[str, ...]
    engine: str = "duckdb"
    branches: bool = False

    def outputs(self) -> tuple[tuple[str, str], ...] | None:
        """See `Plan.outputs`."""
        return outputs_of(self.block, self.names)

    def has_inner_limit(self) -> bool:
        """See `Plan.has_inner_limit`."""
        limited = any(one.block.limit is not None for one in self.inputs)
        return limited or any(one.has_inner_limit() for one in self.inputs)

    def doubt(
        self, rests: Callable[[Leaf, Expr], bool], known: dict[int, Doubt] | None = None, /
    ) -> Doubt:
        """See `Plan.doubt`."""
        inner = _of_inputs(self.inputs, rests, {} if known is None else known)
        found = {(o, place) for o, one in enumerate(inner) for place in one.places}
        every = frozenset(range(len(self.names)))
        if self.branches:  # rows that are compared go by all of their columns
            return Doubt(every, True) if found else Doubt()

        def doubted(expr: Expr) -> bool:
            return any((c.occurrence, c.field_id) in found for c in columns(expr))

        block = self.block
        above = (*block.conditions, *block.keys, *(() if block.having is None else (block.having,)))
        if any(one.rows for one in inner) or any(map(doubted, above)):
            return Doubt(every, True)
        return Doubt(frozenset(i for i, o in enumerate(block.outputs) if doubted(o.expr)))

    def to_dict(self) -> dict[str, Any]:
        """See `Plan.to_dict`."""
        return super().to_dict() | {"sql": self.duckdb.sql}

    def _title(self) -> str:
        return f"{self._count()}; what stands above by DuckDB"


@dataclass(frozen=True, kw_only=True, repr=False)
class MergedPlan(ComposedPlan):
    """A SELECT whose aggregates are in `groups`, each of them answered by the cover of an input.

    `duckdb` reads the sources of all of them: their cells merge, by the keys that they share.
    """

    block: Block
    groups: tuple[tuple[Aggregate, ...], ...]
    duckdb: DuckDBRun
    names: tuple[str | None, ...]
    engine: str = "duckdb"

    def outputs(self) -> tuple[tuple[str, str], ...] | None:
        """See `Plan.outputs`."""
        return outputs_of(self.block, self.names)

    @property
    def covers(self) -> tuple[CoverPlan, ...]:
        """The inputs, in the order of the groups."""
        return tuple(one for one in self.inputs if isinstance(one, CoverPlan))

    def input_of(self, places: Sequence[int], /) -> Leaf | None:
        """See `Plan.input_of`."""
        group = {call: number for number, calls in enumerate(self.groups) for call in calls}
        read = [
            {
                group[node]
                for node in walk(self.block.outputs[p].expr)
                if isinstance(node, Aggregate) and node in group
            }
            for p in places
        ]
        if not read or any(len(one) != 1 or one != read[0] for one in read):
            return None
        return self.covers[next(iter(read[0]))]

    def doubt(
        self, rests: Callable[[Leaf, Expr], bool], known: dict[int, Doubt] | None = None, /
    ) -> Doubt:
        """See `Plan.doubt`."""
        block, width = self.block, len(self.block.keys)
        inner = _of_inputs(self.inputs, rests, {} if known is None else known)
        doubted: set[Expr] = set()
        for found, calls in zip(inner, self.groups, strict=True):
            every = (*block.keys, *calls)
            doubted |= {every[place] for place in found.places if place < width + len(calls)}

        def touches(expr: Expr) -> bool:
            return not doubted.isdisjoint(walk(expr))

        whole = frozenset(range(len(block.outputs)))
        if any(one.rows for one in inner) or (block.having is not None and touches(block.having)):
            return Doubt(whole, True)
        return Doubt(frozenset(i for i, o in enumerate(block.outputs) if touches(o.expr)))

    def to_dict(self) -> dict[str, Any]:
        """See `Plan.to_dict`."""
        return super().to_dict() | {"by_groups": True, "sql": self.duckdb.sql}

    def _title(self) -> str:
        return f"its aggregates in {len(self.inputs)} parts, whose cells merge by DuckDB"


@dataclass(frozen=True, kw_only=True, repr=False)
class PartialPlan(ComposedPlan):
    """A statement that Spark answers over the answers of SELECTs in it.

    `pieces` of its text stand around these `selects`; the rest is as it was written.
    """

    pieces: tuple[str, ...]
    selects: tuple[str, ...]
    engine: str = "spark"
    declined: Declined | None = None

    def not_in_process(self) -> Declined | None:
        """See `Plan.not_in_process`: why the whole isn't answered otherwise."""
        return self.declined or super().not_in_process()

    def inner_selects(self) -> tuple[str, ...]:
        """See `Plan.inner_selects`."""
        return self.selects

    def outer_text(self) -> str:
        """See `Plan.outer_text`."""
        text = self.pieces[0]
        for number, piece in enumerate(self.pieces[1:]):
            text += f"SELECT * FROM acc_answer_{number}{piece}"
        return text

    def doubt(
        self, rests: Callable[[Leaf, Expr], bool], known: dict[int, Doubt] | None = None, /
    ) -> Doubt:
        """See `Plan.doubt`; Spark's own part isn't known, so places aren't."""
        found = _of_inputs(self.inputs, rests, {} if known is None else known)
        return Doubt(rows=any(one.places or one.rows for one in found))

    def to_dict(self) -> dict[str, Any]:
        """See `Plan.to_dict`."""
        return super().to_dict() | {"sql": "…".join(self.pieces)}

    def _title(self) -> str:
        return f"{self._count()}; the rest by Spark, as it's written"


def _of_inputs(
    inputs: Sequence[Plan], rests: Callable[[Leaf, Expr], bool], known: dict[int, Doubt]
) -> list[Doubt]:
    for one in inputs:
        if id(one) not in known:
            known[id(one)] = one.doubt(rests, known)
    return [known[id(one)] for one in inputs]


Input = CoverPlan | RowsPlan | NestedPlan | MergedPlan
"""What a plan may read the answers of."""
