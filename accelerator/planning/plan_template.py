"""Templates of statements of one shape: of their plan, or of the block that is planned.

Both were made without a look at the parameters' values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from accelerator.planning.plans import CoverPlan
from rewrite.ir.block import Block
from rewrite.ir.expr import Expr, Literal, Parameter, transform
from rewrite.ir.literals import filled
from rewrite.ir.row_block import RowBlock
from rewrite.render.expressions import literal, split_marks


class PlanTemplate(Struct, frozen=True):
    """`plan` with parameters in it; `pieces` of its DuckDB text stand around `parameters`."""

    plan: CoverPlan
    pieces: tuple[str, ...]
    parameters: tuple[Parameter, ...]

    @classmethod
    def of(cls, plan: CoverPlan) -> PlanTemplate:
        """The template of a plan that was made of a tree with parameters."""
        return cls(plan, *split_marks(plan.duckdb.sql if plan.duckdb is not None else ""))

    def filled(self, constants: Sequence[Literal], zone: str | None) -> CoverPlan:
        """The plan of the statement with these constants, by the index of a parameter.

        `zone` is the session's; DeclinedError if a text isn't a time.
        """
        run = self.plan.duckdb
        if run is not None:
            texts = [
                literal(filled(p, constants[p.index].value, zone), "duckdb")
                for p in self.parameters
            ]
            pairs = zip(self.pieces, (*texts, ""), strict=True)
            run = replace(run, sql="".join([part for pair in pairs for part in pair]))
        block, cover = self.plan.block, self.plan.cover
        where = _filled(cover.match.where, constants, zone)
        return dataclasses.replace(
            self.plan,
            block=replace(block, conjuncts=_filled(block.conjuncts, constants, zone)),
            cover=replace(cover, match=replace(cover.match, where=where)),
            duckdb=run,
        )


class BlockTemplate(Struct, frozen=True):
    """A block with parameters in its conjuncts: which files its plan reads depends on these."""

    block: Block | RowBlock

    def filled(self, constants: Sequence[Literal], zone: str | None) -> Block | RowBlock:
        """The block of the statement with these constants; see `PlanTemplate.filled`."""
        conjuncts = _filled(self.block.conjuncts, constants, zone)
        if isinstance(self.block, Block):
            return self.block.filtered(conjuncts)
        return replace(self.block, conjuncts=conjuncts)


def _filled(
    exprs: Sequence[Expr], constants: Sequence[Literal], zone: str | None
) -> tuple[Expr, ...]:
    def constant(expr: Expr) -> Literal | None:
        if isinstance(expr, Parameter):
            return filled(expr, constants[expr.index].value, zone)
        return None

    return tuple([transform(expr, constant) for expr in exprs])
