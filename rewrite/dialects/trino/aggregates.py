"""Trino's aggregates and arrays of them as Spark SQL: NULLs are kept, and no rows give NULL."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from rewrite.dialects.rule import Context, Rule, UnsureMeaningError, constant_text, spark, with_kind
from rewrite.dialects.trino.dates import whole
from rewrite.dialects.value_kinds import ELEMENT, Kind, Meaning

PARTS: Mapping[type[exp.Expr], tuple[str, ...]] = {
    exp.ApproxQuantile: ("this", "quantile"),
    exp.ApproxDistinct: ("this", "accuracy"),
    exp.ArrayAgg: ("this",),
    exp.AnyValue: ("this",),
    **dict.fromkeys((exp.ArgMax, exp.ArgMin), ("this", "expression")),
    **dict.fromkeys((exp.CovarSamp, exp.CovarPop), ("this", "expression")),
    exp.ArraySize: ("this",),
    exp.ArraySort: ("this", "nulls_first"),
    exp.ArrayToString: ("this", "expression"),
    exp.GroupConcat: ("this", "separator"),
    exp.Array: ("expressions", "value_constructor"),
    exp.Bracket: ("this", "expressions", "offset", "safe"),
    exp.Order: ("this", "expressions"),
}
_COLLECTED = "collected"
"""An array that is collected, to which FILTER may still be put."""
_ORDERED = ("whole", "decimal", "string", "date", "local", "moment")
_ERROR = 0.023
"""Trino's standard error unless the call names one; Spark's is 0.05."""
_LEAST_ERROR, _MOST_ERROR = 0.0040625, 0.26


def _percentile(node: exp.Expr, context: Context) -> exp.Expression:
    """One of the values, or one for each of several shares."""
    operand, share = node.args["this"], node.args["quantile"]
    kind = context.of(operand)
    if kind not in ("whole", "double"):  # a decimal is a REAL to it
        raise UnsureMeaningError("only that of integers and doubles is", "CAST it AS DOUBLE")
    shares = share.expressions if isinstance(share, exp.Array) else [share]
    if not shares or not all(_is_share(one) for one in shares):
        raise UnsureMeaningError("only constant shares from 0 to 1 are")
    listed = ", ".join(one.name for one in shares)
    if isinstance(share, exp.Array):
        found = spark(f"APPROX_PERCENTILE(:x, ARRAY({listed}))", "array", x=operand)
        found.meta[ELEMENT] = Meaning(kind)
        return found
    return spark(f"APPROX_PERCENTILE(:x, {listed})", kind, x=operand)


def _is_share(node: exp.Expr) -> bool:
    if not isinstance(node, exp.Literal) or node.is_string:
        return False
    return 0 <= float(node.name) <= 1


def _approx_distinct(node: exp.Expr, _: Context) -> exp.Expression:
    error = node.args.get("accuracy")
    if error is None:
        return spark(f"APPROX_COUNT_DISTINCT(:x, {_ERROR})", "whole", x=node.args["this"])
    known = isinstance(error, exp.Literal) and not error.is_string
    if not known or not _LEAST_ERROR <= float(error.name) <= _MOST_ERROR:
        raise UnsureMeaningError(f"only constant errors from {_LEAST_ERROR} to {_MOST_ERROR} are")
    return spark(f"APPROX_COUNT_DISTINCT(:x, {error.name})", "whole", x=node.args["this"])


def _array_agg(node: exp.Expr, context: Context) -> exp.Expression:
    """Each value in a struct, since Spark leaves NULLs out; sorted by keys before the value."""
    if isinstance(node.parent, exp.Window):
        raise UnsureMeaningError("only aggregates of groups are")
    operand, keys = node.args["this"], list[exp.Expr]()
    if isinstance(operand, exp.Order):
        operand, keys = operand.this, operand.expressions
    if isinstance(operand, exp.Distinct):
        if keys or len(operand.expressions) != 1:
            raise UnsureMeaningError("DISTINCT is alone")
        value = operand.expressions[0]
        found = spark("COLLECT_LIST(:d)", "other", d=_of_distinct(value))
    elif keys:
        value = operand
        found = _sorted(operand, keys, context)
    else:
        value = operand
        found = spark("COLLECT_LIST(NAMED_STRUCT('v', :x))", "other", x=operand)
    found.meta[ELEMENT] = context.meaning(value)
    if isinstance(node.parent, exp.Filter):
        if keys:
            raise UnsureMeaningError("ORDER BY with FILTER isn't known")
        found.meta[_COLLECTED] = True
        return found
    return _unpacked(found)


def _of_distinct(value: exp.Expr) -> exp.Expression:
    return exp.Distinct(expressions=[spark("NAMED_STRUCT('v', :x)", "other", x=value)])


def _sorted(value: exp.Expr, keys: list[exp.Expr], context: Context) -> exp.Expression:
    """NULLs come last either way, so that whether a key is NULL is a key before it."""
    falling = {bool(one.args.get("desc")) for one in keys}
    if len(falling) > 1 or any(one.args.get("nulls_first") for one in keys):
        raise UnsureMeaningError("keys of one direction, NULLs last, are alone")
    if any(context.of(one.this) not in _ORDERED for one in keys):
        raise UnsureMeaningError("keys without NaN are alone", "CAST them AS DECIMAL(p, s)")
    if context.of(value) is None:
        raise UnsureMeaningError("whether its values can be sorted isn't known")
    desc = falling.pop()
    test = "IS NOT NULL" if desc else "IS NULL"
    operands = {f"k{at}": one.this for at, one in enumerate(keys)}
    fields = ", ".join(f"'n{at}', :k{at} {test}, 'k{at}', :k{at}" for at in range(len(keys)))
    falls = ", FALSE" if desc else ""
    return spark(
        f"SORT_ARRAY(COLLECT_LIST(NAMED_STRUCT({fields}, 'v', :x)){falls})",
        "other",
        x=value,
        **operands,
    )


def _unpacked(collected: exp.Expr) -> exp.Expression:
    """The values; NULL where no row was collected."""
    found = spark("NULLIF(:a, ARRAY()).v", "array", a=collected)
    found.meta[ELEMENT] = collected.meta_get(ELEMENT)
    return found


def _filter(node: exp.Expr, _: Context) -> exp.Expression | None:
    inner = node.args["this"]
    if not inner.meta_get(_COLLECTED):
        return None
    whole_ = exp.Filter(this=inner.copy(), expression=node.args["expression"].copy())
    whole_.meta[ELEMENT] = inner.meta_get(ELEMENT)
    return _unpacked(whole_)


def _any_value(node: exp.Expr, context: Context) -> exp.Expression:
    """The least is one of the values that aren't NULL."""
    operand = node.args["this"]
    kind = context.of(operand)
    if kind is None or kind == "other":
        raise UnsureMeaningError("whether its values can be sorted isn't known")
    zone = context.zones.of(operand) if kind == "moment" else None
    return spark("MIN(:x)", kind, zone, x=operand)


def _of_extreme(name: str) -> Rule:
    def rule(node: exp.Expr, context: Context) -> exp.Expression:
        operand, key = node.args["this"], node.args["expression"]
        if context.of(key) not in _ORDERED:
            raise UnsureMeaningError("keys without NaN are alone", "CAST it AS DECIMAL(p, s)")
        kind = context.of(operand)
        zone = context.zones.of(operand) if kind == "moment" else None
        return spark(f"{name}(:x, :k)", kind or "other", zone, x=operand, k=key)

    return rule


def _covariance(name: str) -> Rule:
    def rule(node: exp.Expr, context: Context) -> exp.Expression:
        y, x = node.args["this"], node.args["expression"]
        if {context.of(x), context.of(y)} != {"double"}:  # others are REALs to it
            raise UnsureMeaningError("only that of doubles is", "CAST them AS DOUBLE")
        return spark(f"{name}(:y, :x)", "double", x=x, y=y)

    return rule


def _cardinality(node: exp.Expr, _: Context) -> exp.Expression:
    return spark("CARDINALITY(:a)", "whole", a=node.args["this"])


def _join(node: exp.Expr, _: Context) -> exp.Expression:
    """NULLs are passed over; values are written as texts."""
    array, between = node.args["this"], constant_text(node.args["expression"], "text between")
    if _element_kind(array) not in ("whole", "string", "date"):
        raise UnsureMeaningError("how its values are written as texts isn't known")
    return spark("ARRAY_JOIN(CAST(:a AS ARRAY<STRING>), :b)", "string", a=array, b=between)


def _array_sort(node: exp.Expr, _: Context) -> exp.Expression:
    """NULLs come last."""
    array = node.args["this"]
    if _element_kind(array) not in _ORDERED:
        raise UnsureMeaningError("only that of known values without NaN is")
    found = spark("ARRAY_SORT(:a)", "array", a=array)
    found.meta[ELEMENT] = array.meta_get(ELEMENT)
    return found


def _element_kind(array: exp.Expr) -> Kind | None:
    meaning: Meaning | None = array.meta_get(ELEMENT)
    return None if meaning is None else meaning.kind


def _listagg(node: exp.Expr, context: Context) -> exp.Expression:
    """LISTAGG … WITHIN GROUP, without what is done when it's too long."""
    order, separator = node.args["this"], node.args.get("separator")
    if not isinstance(order, exp.Order) or context.of(order.this) != "string":
        raise UnsureMeaningError("only texts in an order are")
    between = "" if separator is None else constant_text(separator, "text between")
    keys = exp.Order(expressions=[one.copy() for one in order.expressions])
    call = spark("LISTAGG(:s, :b)", "string", s=order.this, b=between)
    return with_kind(exp.WithinGroup(this=call, expression=keys), "string")


def _array(node: exp.Expr, _: Context) -> exp.Expression | None:
    """Shares of a percentile, which its own rule reads."""
    if isinstance(node.parent, exp.ApproxQuantile):
        return None
    raise UnsureMeaningError("arrays are known as shares of a percentile alone")


def _element(node: exp.Expr, _: Context) -> exp.Expression:
    """`element_at` of a place from 1 on is NULL where there is none; `a[n]` raises."""
    array, places = node.args["this"], node.expressions
    meaning: Meaning | None = array.meta_get(ELEMENT)
    kind, zone = (None, None) if meaning is None else (meaning.kind, meaning.zone)
    number = whole(places[0]) if len(places) == 1 else None
    if kind is None or number is None:
        raise UnsureMeaningError(
            "only elements at a constant place are, of arrays whose elements are known"
        )
    if str(node.meta_get("written") or "") != "element_at" and not node.args.get("safe"):
        number += 1 - int(node.args.get("offset") or 0)
        if number < 1:
            raise UnsureMeaningError("only constant places from 1 on are")
        return spark(f"ELEMENT_AT(:a, {number})", kind, zone, a=array)
    if number < 1:
        raise UnsureMeaningError("only constant places from 1 on are")
    return spark(f"GET(:a, {number - 1})", kind, zone, a=array)


RULES: Mapping[type[exp.Expr], Rule] = {
    exp.ApproxQuantile: _percentile,
    exp.ApproxDistinct: _approx_distinct,
    exp.ArrayAgg: _array_agg,
    exp.Filter: _filter,
    exp.AnyValue: _any_value,
    exp.ArgMax: _of_extreme("MAX_BY"),
    exp.ArgMin: _of_extreme("MIN_BY"),
    exp.CovarSamp: _covariance("COVAR_SAMP"),
    exp.CovarPop: _covariance("COVAR_POP"),
    exp.ArraySize: _cardinality,
    exp.ArraySort: _array_sort,
    exp.ArrayToString: _join,
    exp.GroupConcat: _listagg,
    exp.Array: _array,
    exp.Bracket: _element,
}
