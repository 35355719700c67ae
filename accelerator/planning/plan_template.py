"""A plan for all statements of one shape, made without a look at its parameters' values."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from accelerator.planning.plans import CoverPlan
from rewrite.ir.expr import Expr, Literal, Parameter, transform
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

    def filled(self, constants: Sequence[Literal]) -> CoverPlan:
        """The plan of the statement with these constants, by the index of a parameter."""

        def constant(parameter: Parameter) -> Literal:
            return Literal(constants[parameter.index].value, parameter.type)

        def filled(expr: Expr) -> Expr:
            return transform(expr, lambda e: constant(e) if type(e) is Parameter else None)

        run = self.plan.duckdb
        if run is not None:
            texts = [literal(constant(p), "duckdb") for p in self.parameters]
            pairs = zip(self.pieces, (*texts, ""), strict=True)
            run = replace(run, sql="".join([part for pair in pairs for part in pair]))
        block, cover = self.plan.block, self.plan.cover
        where = tuple([filled(c) for c in cover.match.where])
        return dataclasses.replace(
            self.plan,
            block=replace(block, conjuncts=tuple([filled(c) for c in block.conjuncts])),
            cover=replace(cover, match=replace(cover.match, where=where)),
            duckdb=run,
        )
