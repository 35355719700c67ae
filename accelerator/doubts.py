"""What of a plan's answer may differ from plain Spark's and still be right.

Estimates of sketches, and values in which the last digits of floating sums have a part. They are
told by the places of outputs; where such values decide which rows there are, all are in doubt.
"""

from __future__ import annotations

from accelerator.plans import Doubt, Leaf, Plan
from rewrite.expr import Aggregate, Column, Expr, walk
from rewrite.types import FLOATING

_EXACT = frozenset({"min", "max", "count", "count_if", "bool_and", "bool_or"})


def estimated(plan: Plan) -> Doubt:
    """What sketches have a part in; of a statement that Spark finishes all columns, or none."""
    return plan.doubt(lambda leaf, expr: leaf.is_estimated(expr))


def inexact(plan: Plan) -> Doubt:
    """What the last digits of floating sums have a part in; Spark's own part isn't known."""
    return plan.doubt(_rests_on_digits)


def _rests_on_digits(_leaf: Leaf, expr: Expr) -> bool:
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
