"""Predicates over floats of which plain Spark's answer depends on how its files lie.

Spark compares −0.0 and 0.0 as one value, and NaN as one above all numbers. Iceberg, which leaves
out files and row groups for it, orders −0.0 below 0.0 and looks past NaN. So `x = 0` may miss files
that have −0.0 alone, and `x > 5` those that have NaN beside smaller numbers. What plain Spark
answers then can't be had but by asking it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rewrite import types
from rewrite.expr import Call, Column, Expr, Literal, Parameter, walk
from rewrite.reason import Declined

if TYPE_CHECKING:
    from accelerator.iceberg.statistics import FileStatistics
    from indexes.bounds import ColumnBounds, Flags

Sources = Callable[[Column], "Iterable[tuple[Column, FileStatistics]]"]
"""The tables' columns that a column is, each with what is known of its table's files."""

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_AT_ZERO = frozenset({"=", "<=>", "in", ">="})
"""Of zero they are TRUE, where Iceberg may look no further: its −0.0 isn't 0.0, nor above it."""
_ABOVE = frozenset({">", ">="})


def float_order(conjuncts: Sequence[Expr], statistics: FileStatistics) -> Declined | None:
    """Why the files can't be chosen here: one of them may hold a zero or a NaN that matters."""
    return _doubt(conjuncts, lambda column: [(column, statistics)])


def joined_float_order(
    conditions: Sequence[Expr], statistics: Callable[[int], FileStatistics]
) -> Declined | None:
    """The same of several tables, any of whose files Spark may leave out; given by occurrence."""
    return _doubt(conditions, lambda column: [(column, statistics(column.occurrence))])


def float_order_above(conditions: Sequence[Expr], sources: Sources) -> Declined | None:
    """The same of predicates over answers, which Spark hands on to the tables that these are of."""
    return _doubt(conditions, sources)


def has_zero_or_nan(column: Column, statistics: FileStatistics) -> bool:
    """Whether a file may hold a zero or a NaN, of which some predicate is doubtful."""
    bounds = statistics.column(column.field_id, column.type or "").bounds
    return bool((~bounds.always_null & (_may_be_zero(bounds) | (bounds.nans != 0))).any())


def _doubt(conditions: Sequence[Expr], sources: Sources) -> Declined | None:
    for named, zero, nan in _doubtful(conditions):
        for column, statistics in sources(named):
            bounds = statistics.column(column.field_id, column.type or "").bounds
            valued = ~bounds.always_null
            if zero and bool((valued & _may_be_zero(bounds)).any()):
                return _beside_zero(named)
            if nan and bool((valued & (bounds.nans != 0)).any()):
                return Declined("float_order", f"The column {named.name}, which may have NaN.")
    return None


def _beside_zero(column: Column) -> Declined:
    return Declined("float_order", f"The column {column.name} beside zero.")


def _doubtful(conjuncts: Sequence[Expr]) -> Iterator[tuple[Column, bool, bool]]:
    """Float columns beside constants, and whether zeros and NaN of theirs matter there."""
    for conjunct in conjuncts:
        calls = [one for one in walk(conjunct) if isinstance(one, Call)]
        # What NOT makes of an operator isn't followed: any may be meant.
        negated = any(one.op == "not" for one in calls)
        for call in calls:
            if call.op not in types.COMPARISONS and call.op != "in":
                continue
            columns = [one for one in call.args if isinstance(one, Column)]
            constants = [one for one in call.args if isinstance(one, (Literal, Parameter))]
            op = _FLIPPED.get(call.op, call.op) if call.args[0] in constants else call.op
            for column in columns:
                if column.type in types.FLOATING and constants:
                    zero = any(_is_zero(one, "") for one in constants) and (
                        op in _AT_ZERO or negated or any(_is_zero(one, "-") for one in constants)
                    )
                    yield column, zero, op in _ABOVE or (negated and op in _FLIPPED)


def _is_zero(constant: Literal | Parameter, sign: str) -> bool:
    """Whether it's a zero of that sign, which a parameter may be."""
    if isinstance(constant, Parameter):
        return True
    try:
        return float(constant.value) == 0.0 and constant.value.startswith(sign)
    except ValueError:
        return False


def _may_be_zero(bounds: ColumnBounds) -> Flags:
    import pyarrow.compute as pc  # answers from cubes have no use for it

    from indexes.bounds import flags

    above, below = pc.greater(bounds.lower, 0.0), pc.less(bounds.upper, 0.0)
    found: Flags = ~(flags(pc.fill_null(above, False)) | flags(pc.fill_null(below, False)))
    return found
