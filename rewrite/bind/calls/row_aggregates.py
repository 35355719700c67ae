"""Calls of aggregates that are computed from a group's rows, and of what is made of a few others.

`any_value` and its kin become an expression over a minimum, a maximum and two counts, so that cubes
answer them too. Spark's answer is determined if all rows of a group have one value.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

from msgspec.structs import replace
from sqlglot import exp

from rewrite.bind.allow_list import check_read
from rewrite.bind.calls.known_words import check_word
from rewrite.functions.aggregates import ROW_AGGREGATES, is_identity
from rewrite.ir.expr import Aggregate, Call, Expr, Literal, has_aggregate
from rewrite.ir.literals import is_number_within
from rewrite.parse.original_spelling import spelling_of
from rewrite.parse.parse import written_name
from rewrite.reason import DeclinedError

Bind = Callable[[exp.Expression], Expr]
ROW_CALLS: tuple[type[exp.Expression], ...] = (
    *(exp.AnyValue, exp.ArgMax, exp.ArgMin, exp.ArraySize, exp.ArraySort, exp.ArrayToString),
    *(exp.Corr, exp.First, exp.Last, exp.Median, exp.Quantile, exp.WithinGroup),
)
"""The parser's nodes for them."""
_WORDLESS = (exp.ArgMax, exp.ArgMin, exp.Quantile)
"""Nodes that have their words from `spelling_of`, if Spark knows these."""
_HALF = Literal("0.5", "double")
_BIGINT = "bigint"


def bind_row_call(node: exp.Expression, bind: Bind) -> Expr:
    """The bound form of a call of `ROW_CALLS`; DeclinedError if it isn't proven."""
    if isinstance(node, _WORDLESS) and spelling_of(node) is None:
        raise _unsupported(node)
    if isinstance(node, (exp.ArraySize, exp.ArraySort, exp.ArrayToString)):
        return _of_set(node, bind)
    if isinstance(node, (exp.AnyValue, exp.First, exp.Last)):
        return _only_value(node, bind)
    if isinstance(node, exp.Median):
        return _row_aggregate("percentile", node, _argument(node, bind), _HALF)
    if isinstance(node, exp.Quantile):
        share = node.args.get("quantile")
        if share is None:
            raise _unsupported(node)
        argument = _argument(node, bind)
        return _row_aggregate("percentile", node, argument, _share(bind(share), node))
    if isinstance(node, exp.WithinGroup):
        return _within_group(node, bind)
    if node.args.get("expression") is None:
        raise _unsupported(node)
    function = str(spelling_of(node) or written_name(node))
    return _row_aggregate(function, node, _argument(node, bind), bind(node.expression))


def filtered(expr: Expr, where: Expr) -> Expr | None:
    """The expression with a FILTER on its aggregates; None if a FILTER can't belong to it."""
    if isinstance(expr, Aggregate):
        return replace(expr, where=where) if expr.where is None else None
    if isinstance(expr, Call) and expr.op == "only_value":
        calls = tuple(replace(one, where=where) for one in expr.args if isinstance(one, Aggregate))
        return Call(expr.op, calls, expr.type)
    return None


def _unsupported(node: exp.Expression) -> DeclinedError:
    return DeclinedError("aggregate_unsupported", f"Here: {node.sql(dialect='spark')[:80]}.")


def _argument(node: exp.Expression, bind: Bind) -> Expr:
    if isinstance(node.this, exp.Distinct):
        raise _unsupported(node)
    return bind(node.this)


def _row_aggregate(function: str, node: exp.Expression, *args: Expr) -> Aggregate:
    if any(map(has_aggregate, args)):
        raise DeclinedError("aggregate_unsupported", "An aggregate inside an aggregate.")
    type_ = ROW_AGGREGATES[function].result([one.type for one in args])
    if type_ is None:
        raise _unsupported(node)
    return Aggregate(function, args, False, None, type_)


def _share(share: Expr, node: exp.Expression) -> Literal:
    """The percentage as Spark casts it to DOUBLE; a FLOAT has other digits than its text."""
    if not is_number_within(share, 0, 1) or share.type == "float":
        raise DeclinedError(
            "aggregate_unsupported", f"Not one number of 0 to 1: {node.sql(dialect='spark')[:80]}."
        )
    value = float(share.value)
    if not isfinite(value):
        raise _unsupported(node)
    return Literal(repr(abs(value)), "double")


def _within_group(node: exp.Expression, bind: Bind) -> Aggregate:
    """Binds `percentile_cont(p) WITHIN GROUP (ORDER BY x)`, the percentile of x, if x ascends.

    NULLs aren't counted, so NULLS FIRST and NULLS LAST give the same.
    """
    call, order = node.this, node.expression
    words = isinstance(call, exp.Anonymous) and written_name(call) == "percentile_cont"
    if not words or not isinstance(order, exp.Order) or len(order.expressions) != 1:
        raise _unsupported(node)
    check_read(call)
    check_read(order)
    (key,) = order.expressions
    if len(call.expressions) != 1 or not isinstance(key, exp.Ordered) or key.args.get("desc"):
        raise _unsupported(node)
    if any(value and name not in ("this", "nulls_first") for name, value in key.args.items()):
        raise _unsupported(node)
    share = _share(bind(call.expressions[0]), node)
    return _row_aggregate("percentile", node, bind(key.this), share)


def _of_set(node: exp.Expression, bind: Bind) -> Expr:
    """Binds `size(collect_set(x))`, and `sort_array(collect_set(x))`, maybe inside `array_join`.

    The order of a bare set isn't determined. A set's size is a distinct count, which cubes have.
    """
    if isinstance(node, exp.ArraySize):
        value, where = _set_argument(node.this, node, bind)
        count = Aggregate("count", (value,), True, where, _BIGINT)
        return Call("cast", (count, Literal("int", "type")), "int")
    ordered = node if isinstance(node, exp.ArraySort) else node.this
    if not isinstance(ordered, exp.ArraySort) or written_name(ordered) != "sort_array":
        raise _unsupported(node)
    check_word(ordered)
    if ordered.args.get("asc") not in (None, exp.true()):
        raise _unsupported(node)
    value, where = _set_argument(ordered.this, node, bind)
    if ordered is node:
        return replace(_row_aggregate("sorted_set", node, value), where=where)
    if node.args.get("expression") is None:
        raise _unsupported(node)
    separator = bind(node.expression)
    if not isinstance(separator, Literal) or separator.type != "string":
        raise _unsupported(node)
    return replace(_row_aggregate("joined_set", node, value, separator), where=where)


def _set_argument(
    inner: exp.Expression, node: exp.Expression, bind: Bind
) -> tuple[Expr, Expr | None]:
    """Returns the argument of `collect_set`, and its FILTER."""
    where = None
    if isinstance(inner, exp.Filter):
        where = bind(inner.expression.this)
        inner = inner.this
    if not isinstance(inner, exp.ArrayUniqueAgg) or isinstance(inner.this, exp.Distinct):
        raise _unsupported(node)
    check_read(inner)
    check_word(inner)
    value = bind(inner.this)
    if has_aggregate(value) or not is_identity(value.type) or (where and where.type != "boolean"):
        raise _unsupported(node)
    return value, where


def _only_value(node: exp.Expression, bind: Bind) -> Call:
    """The one value of a group, by its minimum, its maximum, and how many rows have one."""
    value = _argument(node, bind)
    if has_aggregate(value) or not is_identity(value.type):
        raise _unsupported(node)
    least, most = (Aggregate(f, (value,), False, None, value.type) for f in ("min", "max"))
    present = Aggregate("count", (value,), False, None, _BIGINT)
    rows = Aggregate("count", (), False, None, _BIGINT)
    return Call("only_value", (least, most, present, rows), value.type)
