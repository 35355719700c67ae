"""What of a plan's answer may differ from plain Spark's and still be right.

Estimates of sketches, and values in which the last digits of floating sums have a part. They are
told by the places of outputs; where such values decide which rows there are, all are in doubt.
"""

from __future__ import annotations

from collections.abc import Iterable

from accelerator.iceberg import PinnedTable
from accelerator.planning.plans import Doubt, Leaf, Plan
from rewrite.functions.aggregates import exact_names
from rewrite.ir.expr import Aggregate, Column, Expr, walk
from rewrite.types import FLOATING, averages_as_double, decimal_parts

_EXACT = frozenset({"min", "max", "count", "count_if", "bool_and", "bool_or"}) | exact_names()
_IN_DOUBLES = frozenset({"corr", "stddev", "stddev_pop", "var_pop", "var_samp"})
"""Functions that add numbers of any type as doubles, of which some are fractions."""
_EXACT_IN_DOUBLE = 2**53
"""Whole numbers up to it are added in DOUBLE without rounding, in whatever order."""


def estimated(plan: Plan) -> Doubt:
    """What sketches have a part in; of a statement that Spark finishes all columns, or none."""
    return plan.doubt(lambda leaf, expr: leaf.is_estimated(expr))


def inexact(plan: Plan) -> Doubt:
    """What the last digits of floating sums have a part in; Spark's own part isn't known."""
    return plan.doubt(_rests_on_digits)


def averages_by_order(call: Aggregate, tables: Iterable[PinnedTable]) -> bool:
    """Decides whether Spark's average of short decimals may depend on the order of rows.

    Spark adds their digits in DOUBLE, which is exact if the sum of their sizes is at most 2^53.
    """
    argument = call.args[0].type if call.args else None
    parts = decimal_parts(argument)
    if call.function != "avg" or parts is None or not averages_as_double(argument):
        return False
    size: int = 10 ** parts[0]
    for table in tables:
        rows = _rows_at_most(table)
        if rows is None:
            return True
        size *= max(rows, 1)
    return size > _EXACT_IN_DOUBLE


def _rows_at_most(table: PinnedTable) -> int | None:
    """The table's rows, deleted ones too; None if neither its snapshot nor a manifest has them."""
    if table.rows_told:
        return table.rows_told
    rows = table.statistics().rows
    return None if (rows < 0).any() else int(rows.sum())


def _rests_on_digits(leaf: Leaf, expr: Expr) -> bool:
    """Sums of floating values, and what is computed of any that aren't integers or decimals."""
    nodes = list(walk(expr))
    calls = [node for node in nodes if isinstance(node, Aggregate)]
    if any(_adds_floats(call) or averages_by_order(call, leaf.pinned) for call in calls):
        return True
    alone = isinstance(expr, (Aggregate, Column))
    return not alone and any(getattr(node, "type", None) in FLOATING for node in nodes)


def _adds_floats(call: Aggregate) -> bool:
    if call.function in _EXACT:
        return False
    if call.function in _IN_DOUBLES:
        return True
    return not call.args or any(arg.type in FLOATING or arg.type is None for arg in call.args[:1])
