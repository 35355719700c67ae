"""Constants of a statement as typed literals, folded where Spark's value is certain."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TypeGuard

from sqlglot import exp

from rewrite import types
from rewrite.ir.expr import Call, Expr, Literal, Parameter
from rewrite.ir.timestamps import is_utc, midnight, moment
from rewrite.reason import DeclinedError

MERGED = "merged"
"""The mark of parentheses around what a derived table's column stands for."""
_COMPUTED: dict[str, Callable[..., Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "neg": operator.neg,
}


def literal_of(node: exp.Expression) -> Literal:
    """A number or text of the statement."""
    if node.args.get("is_string"):
        return Literal(node.this, "string")
    type_ = types.literal_number_type(node.this)
    if type_ is None:
        raise DeclinedError("expression_unsupported", f"The number {node.this}.")
    return Literal(node.this, type_)


def number_types(left: Expr, right: Expr) -> tuple[str | None, str | None]:
    """Returns both types; an integer literal has just its own digits beside a decimal."""

    def in_decimals(expr: Expr, other: Expr) -> str | None:
        if is_whole(expr) and types.decimal_parts(other.type):
            return f"decimal({len(str(abs(int(expr.value))))},0)"
        return expr.type

    return in_decimals(left, right), in_decimals(right, left)


def widened(expr: Expr, other: Expr) -> Expr:
    """Casts an integer constant as Spark does beside a decimal, if it isn't written as a number."""
    parts = types.as_decimal(expr.type)
    if not is_whole(expr) or parts is None or types.decimal_parts(other.type) is None:
        return expr
    target = f"decimal({parts[0]},{parts[1]})"
    return Call("cast", (expr, Literal(target, "type")), target)


def is_written(node: exp.Expression) -> bool:
    """Decides whether Spark's parser reads the node as a number: `5`, `-5` and `5L`, not `-(5)`.

    A number in the place of a derived table's column isn't one.
    """
    while isinstance(node, exp.Paren):
        if node.meta_get(MERGED):
            return False
        node = node.this
    number = node.this if isinstance(node, exp.Neg) else node
    if isinstance(number, exp.TryCast):
        number = number.this
        return isinstance(number, exp.Literal) and _has_suffix(number)
    return isinstance(number, exp.Literal)


def _has_suffix(node: exp.Literal) -> bool:
    """Decides whether the number's place in the text is longer than its digits."""
    start, end = node.meta_get("start"), node.meta_get("end")
    return start is not None and end is not None and end + 1 - start > len(node.this)


def compared(expr: Expr, other: Expr, zone: str | None) -> Expr:
    """A literal in the type that Spark gives it beside the other operand, where that is certain.

    A text beside a date or a timestamp is one as well, a date beside a timestamp is its midnight,
    an exact number beside a double is the double next to it. What exact constants come to is one.
    """
    expr = computed(expr)
    if other.type == "double" and (
        expr.type in types.EXACT or types.decimal_parts(expr.type) is not None
    ):
        if isinstance(expr, Literal):
            return Literal(expr.value, "double")
        return Parameter(expr.index, "double") if isinstance(expr, Parameter) else expr
    if other.type in types.TIMESTAMPS:
        if isinstance(expr, Parameter) and expr.type in ("string", "date"):
            return time_parameter(expr, other.type)
        return (cast_literal(expr, other.type, zone) if isinstance(expr, Literal) else None) or expr
    if isinstance(expr, Literal) and expr.type == "string" and other.type == "date":
        return date_literal(expr.value) or expr
    if isinstance(expr, Parameter) and other.type == "date":
        return date_parameter(expr) or expr
    return expr


def computed(expr: Expr) -> Expr:
    """Computes `+`, `-` and `*` of exact constants, if the result is exact in their type.

    Otherwise plain Spark raises or rounds, and the expression is returned as it was. Not for a key
    of GROUP BY or ORDER BY: rendered, a bare number would be a position.
    """
    if not isinstance(expr, Call) or expr.op not in _COMPUTED:
        return expr
    values = [Fraction(arg.value) for arg in map(computed, expr.args) if _is_number(arg)]
    if len(values) < len(expr.args):
        return expr
    value, parts = _COMPUTED[expr.op](*values), types.decimal_parts(expr.type)
    if parts is not None:
        scaled = value * 10 ** parts[1]
        if scaled.denominator > 1 or abs(scaled) >= 10 ** parts[0]:
            return expr
        digits = tuple(map(int, str(abs(scaled))))
        return Literal(f"{Decimal((scaled < 0, digits, -parts[1])):f}", expr.type or "")
    bits = 31 if expr.type == "int" else 63
    fits = expr.type in types.EXACT and -(2**bits) <= value < 2**bits
    return Literal(str(value), expr.type or "") if fits else expr


def _is_number(expr: Expr) -> TypeGuard[Literal]:
    """Decides whether it's a constant of type int, bigint or decimal."""
    exact = expr.type in types.EXACT or types.decimal_parts(expr.type) is not None
    return isinstance(expr, Literal) and exact


def is_whole(expr: Expr) -> TypeGuard[Literal]:
    """Whether it's a constant of type int or bigint."""
    return isinstance(expr, Literal) and expr.type in types.EXACT


def date_parameter(parameter: Parameter) -> Parameter | None:
    """The parameter as a date, None where its text isn't one."""
    if parameter.type == "string" and parameter.is_date:
        return Parameter(parameter.index, "date", is_date=True)
    return None


def time_parameter(parameter: Parameter, type_: str) -> Parameter:
    """The parameter as a time of that type."""
    return Parameter(parameter.index, type_, parameter.is_date)


def filled(parameter: Parameter, text: str, zone: str | None) -> Literal:
    """The constant that the parameter is in a statement that has this text in its place.

    DeclinedError if the text is no time, and the parameter is one.
    """
    if parameter.type not in types.TIMESTAMPS:
        return Literal(text, parameter.type)
    written = Literal(text, "date" if parameter.is_date else "string")
    found = cast_literal(written, parameter.type, zone)
    if found is None:
        raise DeclinedError("expression_unsupported", f"The time {text!r}.")
    return found


def date_literal(text: str) -> Literal | None:
    """The date that a full ISO text names, None for any other."""
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return None
    try:
        date.fromisoformat(text)
    except ValueError:
        return None
    return Literal(text, "date")


def cast_literal(literal: Literal, target: str, zone: str | None) -> Literal | None:
    """The value in another type, None where it isn't the very same value there.

    A timestamp's own text is that of `rewrite.instant`.
    """
    if target in types.TIMESTAMPS and literal.type in ("string", "date"):
        read = moment if literal.type == "string" else midnight
        text = read(literal.value, target, zone)
        return None if text is None else Literal(text, target)
    if target == "date" and literal.type == "string":
        return date_literal(literal.value)
    if literal.type in types.TIMESTAMPS:
        return _on_clock(literal, target, zone)
    if literal.type in types.EXACT and target in types.EXACT:
        fits = types.literal_number_type(literal.value) == "int" or target == "bigint"
        return Literal(literal.value, target) if fits else None
    parts = types.decimal_parts(target)
    if parts is not None and (literal.type in types.EXACT or types.decimal_parts(literal.type)):
        try:
            value = Decimal(literal.value).quantize(Decimal(1).scaleb(-parts[1]))
        except InvalidOperation:
            return None
        same = value == Decimal(literal.value) and len(value.as_tuple().digits) <= parts[0]
        return Literal(f"{value:f}", target) if same else None
    return None


def _on_clock(literal: Literal, target: str, zone: str | None) -> Literal | None:
    """Casts a constant time to a date or another time, if UTC's clock is the only one involved."""
    if not is_utc(zone) and (literal.type, target) != ("timestamp_ntz", "date"):
        return None
    if target == "date":
        return date_literal(literal.value[:10])
    return Literal(literal.value, target) if target in types.TIMESTAMPS else None


def is_number_within(expr: Expr, low: int, high: int) -> TypeGuard[Literal]:
    """Whether it's a literal number of that range: Spark refuses any other."""
    if not isinstance(expr, Literal) or not types.is_numeric(expr.type):
        return False
    return low <= float(expr.value) <= high
