"""What of a plan's answer may differ from plain Spark's and still be right.

Estimates of sketches, and values in which the last digits of floating sums have a part. They are
told by the places of outputs; where such values decide which rows there are, all are in doubt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from accelerator.plan import CoverPlan, NestedPlan, PartialPlan, Plan, RowsPlan
from rewrite.expr import Aggregate, Column, Expr, columns, walk
from rewrite.types import FLOATING

_EXACT = frozenset({"min", "max", "count", "count_if", "bool_and", "bool_or"})
Leaf = CoverPlan | RowsPlan


@dataclass(frozen=True, slots=True)
class Doubt:
    """The `places` of outputs in doubt; with `rows` it's also which rows there are."""

    places: frozenset[int] = frozenset()
    rows: bool = False


@dataclass(slots=True)
class _Walk:
    """Finds the doubt of plans over others, by what `rests` says of those that read tables."""

    rests: Callable[[Leaf, Expr], bool]
    known: dict[int, Doubt] = field(default_factory=dict)

    def of(self, plan: Leaf | NestedPlan) -> Doubt:
        """Of one plan; of what stands twice it's found once."""
        if id(plan) not in self.known:
            found = self._nested(plan) if isinstance(plan, NestedPlan) else self._leaf(plan)
            self.known[id(plan)] = found
        return self.known[id(plan)]

    def _leaf(self, plan: Leaf) -> Doubt:
        outputs = plan.block.outputs
        places = frozenset(i for i, o in enumerate(outputs) if self.rests(plan, o.expr))
        having = plan.block.having if isinstance(plan, CoverPlan) else None
        rows = having is not None and self.rests(plan, having)
        return Doubt(frozenset(range(len(outputs))), True) if rows else Doubt(places)

    def _nested(self, plan: NestedPlan) -> Doubt:
        inner = [self.of(one) for one in plan.inputs]
        found = {(o, place) for o, one in enumerate(inner) for place in one.places}
        every = frozenset(range(len(plan.names)))
        if plan.branches:  # rows that are compared go by all of their columns
            return Doubt(every, True) if found else Doubt()

        def rests(expr: Expr) -> bool:
            return any((c.occurrence, c.field_id) in found for c in columns(expr))

        block = plan.block
        above = (*block.conditions, *block.keys, *(() if block.having is None else (block.having,)))
        if any(one.rows for one in inner) or any(map(rests, above)):
            return Doubt(every, True)
        return Doubt(frozenset(i for i, o in enumerate(block.outputs) if rests(o.expr)))


def estimated(plan: Plan) -> Doubt:
    """What sketches have a part in; of a statement that Spark finishes all columns, or none."""
    return _doubt(plan, _rests_on_estimates)


def inexact(plan: Plan) -> Doubt:
    """What the last digits of floating sums have a part in; Spark's own part isn't known."""
    return _doubt(plan, _rests_on_digits)


def _doubt(plan: Plan, rests: Callable[[Leaf, Expr], bool]) -> Doubt:
    walked = _Walk(rests)
    if isinstance(plan, PartialPlan):
        found = [walked.of(one) for one in plan.inputs]
        return Doubt(rows=any(one.places or one.rows for one in found))
    return walked.of(plan) if isinstance(plan, (CoverPlan, RowsPlan, NestedPlan)) else Doubt()


def _rests_on_estimates(plan: Leaf, expr: Expr) -> bool:
    if isinstance(plan, RowsPlan):
        return False
    return not plan.match.estimates.keys().isdisjoint(walk(expr))


def _rests_on_digits(_plan: Leaf, expr: Expr) -> bool:
    """Sums of floating values, and what is computed of any that aren't integers or decimals."""
    nodes = list(walk(expr))
    if any(isinstance(node, Aggregate) and _adds_floats(node) for node in nodes):
        return True
    alone = isinstance(expr, (Aggregate, Column))
    return not alone and any(getattr(node, "type", None) in FLOATING for node in nodes)


def _adds_floats(call: Aggregate) -> bool:
    if call.function in _EXACT:
        return False
    return not call.args or any(arg.type in FLOATING or arg.type is None for arg in call.args[:1])
