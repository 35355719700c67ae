"""Aggregates that DuckDB computes from a group's rows at once: no cube stores a state of them.

A row for each: Spark's result type for the types of its arguments, and DuckDB's text over their
texts. Every function ignores a row whose deciding argument is NULL, so a FILTER is written as NULL
arguments. If Spark's own answer depends on the order of rows, the text raises `LEFT`, and
the plain statement decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from rewrite import types
from rewrite.functions.row import RAISE, RAISE_BY_ZERO, Arguments, Writes

_WHOLE = frozenset({"tinyint", "smallint", *types.EXACT})
_COMPARED = frozenset({"string", "date", "boolean", *types.TIMESTAMPS})
_JOINED = frozenset({"string", *types.EXACT})
_QUARTERS = 2**16
"""A percentage that is a whole number of such parts gives an int's percentile without rounding."""
_HALF = 0.5
_SPREAD_MIN = 1e-12
"""A column's variance over its largest square. Below, engines disagree in the leading digits."""
_PRODUCT_MIN, _PRODUCT_MAX = 1e-280, 1e280
"""Outside, the product of two sums of squares may leave what a DOUBLE can represent."""
Types = Sequence[str | None]


class RowAggregate(Struct, frozen=True):
    """One aggregate over rows.

    `result(types)` is Spark's result type for arguments of these types, None if they aren't proven
    alike. `text(arguments, their texts)` is DuckDB's text. `exact`: the answer has all of Spark's
    digits. `raises`: Spark raises an error for some groups. `words` is Spark's own text, if `name`
    isn't its function.
    """

    name: str
    result: Callable[[Types], str | None]
    text: Writes
    exact: bool = True
    raises: bool = False
    words: str = ""


def is_identity(type_: str | None) -> bool:
    """Tests whether equal values of the type are the same value, unlike 0.0 and -0.0.

    >>> is_identity("decimal(9,2)"), is_identity("double")
    (True, False)
    """
    return type_ in _WHOLE or type_ in _COMPARED or types.decimal_parts(type_) is not None


def _percentile_type(argument_types: Types) -> str | None:
    return "double" if types.is_numeric(argument_types[0]) else None


def _percentile(arguments: Arguments, texts: Sequence[str]) -> str:
    """Spark's interpolation between the two values around the position (`Percentile`).

    DuckDB's own adds a part of the difference, which rounds otherwise. Where nothing is rounded,
    both are the same number.
    """
    value, argument = texts[0], arguments[0]
    part = float(getattr(arguments[1], "value", "nan"))
    if argument.type in ("tinyint", "smallint", "int") and (part * _QUARTERS).is_integer():
        return f"quantile_cont({value}, {_double(part)})"
    low, high, below, above = _around(value, part)
    lower, higher = (_as_double(one, argument.type) for one in (low, high))
    between = f"({below} * {lower} + {above} * {higher})"
    text = f"(CASE WHEN {low} = {high} THEN {lower} ELSE {between} END)"
    if argument.type not in types.FLOATING:
        return text
    signed = f"bool_or({value} = 0 AND signbit({value}))"
    return f"(CASE WHEN {text} = 0 AND {signed} THEN {RAISE} ELSE {text} END)"


def _around(value: str, part: float) -> tuple[str, str, str, str]:
    """Texts of the two values around the position, and of the weight of each.

    Of an even number of values the median lies half-way between two, which are found without
    sorting.
    """
    if part == _HALF:
        low, high = (
            f"percentile_disc({_HALF}) WITHIN GROUP (ORDER BY {value}{way})"
            for way in ("", " DESC")
        )
        return low, high, _double(_HALF), _double(_HALF)
    values = f"list_sort(list({value}) FILTER (WHERE {value} IS NOT NULL))"
    position = f"(CAST(len({values}) - 1 AS DOUBLE) * {_double(part)})"
    low, high = (f"{values}[CAST({one}({position}) AS BIGINT) + 1]" for one in ("floor", "ceil"))
    return low, high, f"(ceil({position}) - {position})", f"({position} - floor({position}))"


def _double(value: float) -> str:
    return f"CAST('{value!r}' AS DOUBLE)"


def _as_double(text: str, type_: str | None) -> str:
    """The DOUBLE nearest to a value. DuckDB's cast of a long decimal may give a neighbour."""
    if types.decimal_parts(type_) is not None:
        text = f"CAST({text} AS VARCHAR)"
    return f"CAST({text} AS DOUBLE)"


def _extreme_type(argument_types: Types) -> str | None:
    value, order = argument_types
    known = is_identity(value) or value in types.FLOATING
    ordered = order in _WHOLE or order in ("date", *types.TIMESTAMPS) or types.decimal_parts(order)
    return value if known and ordered else None


def _extreme(largest: bool) -> Writes:
    def text(arguments: Arguments, texts: Sequence[str]) -> str:
        """The largest and the smallest of the values beside the extreme; they must be the same."""
        value, order = texts
        rising, falling = _ranks(order, arguments[1].type)
        sign = f", s := signbit({value})" if arguments[0].type in types.FLOATING else ""
        rows = f" FILTER (WHERE {order} IS NOT NULL)"
        up, down = (
            f"struct_pack(y := {one}, x := {value}{sign})"
            for one in ((rising, falling) if largest else (falling, rising))
        )
        last, first = f"max({up}){rows}", f"min({down}){rows}"
        names = ("x", "s") if sign else ("x",)
        differs = " OR ".join(
            f"struct_extract({last}, '{n}') IS DISTINCT FROM struct_extract({first}, '{n}')"
            for n in names
        )
        found = f"struct_extract({last}, 'x')"
        return f"(CASE WHEN {differs} THEN {RAISE} ELSE {found} END)"

    return text


def _ranks(order: str, type_: str | None) -> tuple[str, str]:
    """Two numbers for each value of the order: one rises with it, the other falls."""
    if types.decimal_parts(type_) is not None:
        return order, f"(- {order})"
    if type_ not in _WHOLE:  # DuckDB has no number for its infinite dates and times
        day = f"date_diff('day', DATE '1970-01-01', {order})"
        number = day if type_ == "date" else f"epoch_us({order})"
        order = f"(CASE WHEN isinf({order}) THEN {RAISE} ELSE {number} END)"
    whole = f"CAST({order} AS BIGINT)"
    return whole, f"(~{whole})"


def _correlation_type(argument_types: Types) -> str | None:
    return "double" if all(map(types.is_numeric, argument_types)) else None


def _correlation(_arguments: Arguments, texts: Sequence[str]) -> str:
    """Spark's quotient. A column without a spread is a division by zero, unless it has one row."""
    present = " AND ".join(f"{one} IS NOT NULL" for one in texts)
    x, y = (f"CASE WHEN {present} THEN CAST({one} AS DOUBLE) END" for one in texts)
    rows = f"CAST(COUNT({x}) AS DOUBLE)"
    common = f"covar_pop({y}, {x}) * {rows}"
    squares = [f"var_pop({one}) * {rows}" for one in (x, y)]
    product = f"({squares[0]} * {squares[1]})"
    flat = " OR ".join(
        f"var_pop({one}) <= {_SPREAD_MIN!r} * greatest(pow(max({one}), 2), pow(min({one}), 2))"
        for one in (x, y)
    )
    within = f"{product} BETWEEN {_PRODUCT_MIN!r} AND {_PRODUCT_MAX!r}"
    return (
        f"(CASE WHEN {rows} < 2 THEN NULL WHEN {flat} OR NOT {within} THEN {RAISE_BY_ZERO}"
        f" ELSE {common} / sqrt({product}) END)"
    )


def _sorted_set_type(argument_types: Types) -> str | None:
    return f"array<{argument_types[0]}>" if argument_types[0] in _JOINED else None


def _sorted_set(_arguments: Arguments, texts: Sequence[str]) -> str:
    return f"COALESCE({_sorted_values(texts[0])}, [])"


def _sorted_values(value: str) -> str:
    return f"list_sort(list(DISTINCT {value}) FILTER (WHERE {value} IS NOT NULL))"


def _joined_set_type(argument_types: Types) -> str | None:
    return "string" if argument_types[0] in _JOINED else None


def _joined_set(_arguments: Arguments, texts: Sequence[str]) -> str:
    value, separator = texts
    values = f"CAST({_sorted_values(value)} AS VARCHAR[])"
    return f"COALESCE(array_to_string({values}, {separator}), '')"


_SORTED_SET = "sort_array(collect_set({}))"
_JOINED_SET = "array_join(sort_array(collect_set({})), {})"
ROW_AGGREGATES = {
    one.name: one
    for one in (
        RowAggregate("percentile", _percentile_type, _percentile),
        RowAggregate("max_by", _extreme_type, _extreme(largest=True)),
        RowAggregate("min_by", _extreme_type, _extreme(largest=False)),
        RowAggregate("corr", _correlation_type, _correlation, exact=False, raises=True),
        RowAggregate("sorted_set", _sorted_set_type, _sorted_set, words=_SORTED_SET),
        RowAggregate("joined_set", _joined_set_type, _joined_set, words=_JOINED_SET),
    )
}


def exact_names() -> frozenset[str]:
    """The names of those whose answers have all of Spark's digits."""
    return frozenset(name for name, one in ROW_AGGREGATES.items() if one.exact)


def raises_for_groups(function: str) -> bool:
    """Tests whether Spark raises an error for some groups of the aggregate."""
    known = ROW_AGGREGATES.get(function)
    return known is not None and known.raises
