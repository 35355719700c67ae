"""What of a statement may raise an error on some row, under ANSI; pure.

An operator that raises on some values may be known to raise on none of those that there are. Where
rows are left out, or tested in another order than Spark's, nothing else may be evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set

from cubes.states import may_leave
from rewrite.functions.aggregates import raises_for_groups
from rewrite.ir.expr import Aggregate, Call, Expr, occurrences, walk
from rewrite.ir.integer_ranges import CAST_LIKE, RAISING, compares_by_cast, raises_nothing
from rewrite.reason import Declined, DeclinedError
from rewrite.render.expressions import check_duckdb

_RAISING = RAISING | CAST_LIKE
_HARMLESS = frozenset({"ilike", "rlike"})
"""Operators that only Spark knows, and that raise nothing on whatever rows."""

Sure = Callable[[Call], bool]
"""Whether an operator that raises on some values raises on none of those that there are."""


def unsafe(exprs: Sequence[Expr], sure: Sure = raises_nothing) -> Declined | None:
    """Why an expression can raise, or be of Spark's own meaning: files left out would hide that."""
    return Declined("may_raise") if may_raise(exprs, sure) else unknown(exprs)


def unknown(exprs: Sequence[Expr]) -> Declined | None:
    """Why an expression is of Spark's own meaning."""
    try:
        for call in _calls(exprs):
            if call.op not in _HARMLESS:
                check_duckdb(call)
    except DeclinedError as error:
        return error.declined
    return None


def may_raise(exprs: Iterable[Expr], sure: Sure = raises_nothing) -> bool:
    """Returns whether an expression can raise on some row or group."""
    raises = _raises(sure)
    return any(
        raises(node) if isinstance(node, Call) else may_overflow(node)
        for expr in exprs
        for node in walk(expr)
    )


def computes_errors(exprs: Iterable[Expr]) -> bool:
    """Returns whether an operator of the expressions can raise; sums that overflow don't count."""
    return any(map(_raises(raises_nothing), _calls(exprs)))


def may_overflow(node: Expr) -> bool:
    """Returns whether the expression is an aggregate that raises for some groups.

    Those are a sum or an average whose sum may leave its type, and a correlation, which divides.
    """
    if not isinstance(node, Aggregate):
        return False
    if node.function not in ("sum", "avg"):
        return raises_for_groups(node.function)
    return may_leave(node.args[0].type)


def proving_parts(
    exprs: Iterable[Expr], sure: Sure, padded: Set[int] = frozenset()
) -> tuple[Expr, ...] | None:
    """What, where it raises for no row of its one table, proves that no expression raises.

    These are the largest parts around what may raise that name one table occurrence. Where two
    are between an operator's operands, or none, nothing proves it: None. Nor where the table's
    rows are `padded` with NULLs by a left join, of which its own rows say nothing.
    """
    found: dict[Expr, None] = {}
    for expr in exprs:
        for part in _parts(expr, _raises(sure)):
            if part is None or not _is_of_one(part, padded):
                return None
            found[part] = None
    return tuple(found)


def _parts(expr: Expr, raises: Sure) -> Iterator[Expr | None]:
    raising = list(filter(raises, _calls([expr])))
    if not raising:
        return
    if not all(map(occurrences, raising)):
        yield None  # constants: Spark computes them before it reads a row
    elif len(occurrences(expr)) == 1:
        yield expr
    elif not isinstance(expr, Call) or raises(expr):
        yield None
    else:
        for arg in expr.args:
            yield from _parts(arg, raises)


def _is_of_one(part: Expr, padded: Set[int]) -> bool:
    (only,) = occurrences(part)
    return only not in padded


def _raises(sure: Sure) -> Sure:
    return lambda call: (call.op in _RAISING and not sure(call)) or compares_by_cast(call)


def _calls(exprs: Iterable[Expr]) -> list[Call]:
    return [n for e in exprs for n in walk(e) if isinstance(n, Call)]
