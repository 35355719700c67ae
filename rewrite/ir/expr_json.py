"""Expressions as JSON, and back: nothing of what is read is trusted.

A cube's definition and a table's properties are read from places that others may write to, and what
stands there becomes SQL of an engine. So each name, type, operator and constant is checked here, by
its kind; what doesn't fit is a ValueError, whatever JSON it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from rewrite import types
from rewrite.functions.row import SparkFunction
from rewrite.functions.table import BY_OP, form_of
from rewrite.functions.times import ADDED_UNITS
from rewrite.ir.expr import (
    CUBE,
    NAMING,
    TYPE,
    UNIT,
    Aggregate,
    Call,
    Column,
    Expr,
    Literal,
    Parameter,
)
from rewrite.ir.time_truncation import UNITS, UTC
from rewrite.ir.timestamps import has_plain_clock

_LONGEST = 1_000_000
"""Nodes of one expression."""
_DECIMAL = r"decimal\(\d{1,2},\d{1,2}\)"
_SINGLE = re.compile(rf"[a-z_]+|{_DECIMAL}", re.ASCII)
_NESTED = re.compile(rf"(?:array|map|struct)<(?:[A-Za-z0-9_<>:,]|{_DECIMAL})*>", re.ASCII)
"""Types without a space, a quote or any other bracket: no more can be said with them."""
_ANY = 1_000_000


def _counts(function: SparkFunction) -> tuple[int, int]:
    """The least and the most arguments of a function."""
    counts = [len(form.takes) for form in function.forms]
    return min(counts), _ANY if any(form.repeats for form in function.forms) else max(counts)


_ARGUMENTS: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("and", "or"), (2, _ANY)),
    **dict.fromkeys(types.COMPARISONS | types.TEXT_TESTS | types.TOKEN_TESTS, (2, 2)),
    **dict.fromkeys(("+", "-", "*", "/", "div", "%", "trunc"), (2, 2)),
    **{op: _counts(function) for op, function in BY_OP.items()},
    **dict.fromkeys(("not", "is_null", "neg"), (1, 1)),
    **dict.fromkeys(types.DATE_PARTS, (1, 1)),
    **dict.fromkeys(types.TIME_PARTS, (1, 2)),
    **dict.fromkeys(("cast", "date_trunc"), (2, 3)),
    **dict.fromkeys(("coalesce", "grouping"), (1, _ANY)),
    "grouping_id": (0, _ANY),
    "in": (2, _ANY),
    "case": (3, _ANY),
    "only_value": (4, 4),
}
"""How many operands each operator has."""
_TOLD_FIRST = {
    **dict.fromkeys(("date_trunc", "trunc"), UNIT),
    **{op: UNIT for op, one in BY_OP.items() if one.forms[0].takes[0] == UNIT},
}
"""Operators whose first operand is a literal of that type, not a value."""


def to_json(expr: Expr | None) -> Any:
    """Plain lists and texts."""
    match expr:
        case None:
            return None
        case Column():
            return ["column", expr.occurrence, expr.field_id, expr.name, expr.type]
        case Literal():
            return ["literal", expr.value, expr.type]
        case Parameter():
            raise ValueError("a parameter has no stored form")
        case Call():
            return ["call", expr.op, [to_json(a) for a in expr.args], expr.type]
        case Aggregate():
            args = [to_json(a) for a in expr.args]
            return ["agg", expr.function, args, expr.distinct, to_json(expr.where), expr.type]


def from_json(data: Any) -> Expr:
    """The tree that `to_json` wrote; ValueError for anything else.

    >>> from_json(["literal", "1 OR 1=1", "int"])
    Traceback (most recent call last):
    ValueError: '1 OR 1=1' isn't a constant of type int
    """
    try:
        return _read(data, [_LONGEST])
    except RecursionError:
        raise ValueError("an expression that is too deep") from None


def stored_type(text: Any) -> str | None:
    """A type as Spark writes it; None for one that can't be told without quotes."""
    if text is None:
        return None
    if not isinstance(text, str):
        raise ValueError(f"the type {text!r}")
    return text if _SINGLE.fullmatch(text) or _is_nested(text) else None


def _is_nested(text: str) -> bool:
    """Whether it's one nested type, closed by its last character."""
    if not _NESTED.fullmatch(text):
        return False
    depths = accumulate((c == "<") - (c == ">") for c in text if c in "<>")
    return [place for place, depth in enumerate(depths, 1) if depth <= 0] == [
        sum(c in "<>" for c in text)
    ]


def _read(data: Any, left: list[int]) -> Expr:
    left[0] -= 1
    if left[0] < 0:
        raise ValueError("an expression that is too long")
    match data:
        case ["column", int(occurrence), int(field_id), str(name), type_]:
            if isinstance(occurrence, bool) or isinstance(field_id, bool) or occurrence < CUBE:
                raise ValueError(f"not a column: {data!r}")
            return Column(occurrence, field_id, name, stored_type(type_))
        case ["literal", str(value), str(type_)]:
            return _literal(value, type_)
        case ["call", str(op), list(args), type_]:
            return _call(op, tuple([_read(a, left) for a in args]), stored_type(type_))
        case ["agg", str(function), list(args), bool(distinct), where, type_]:
            if function not in types.AGGREGATES:
                raise ValueError(f"the aggregate {function!r}")
            condition = None if where is None else _read(where, left)
            read = tuple([_read(a, left) for a in args])
            return Aggregate(function, read, distinct, condition, stored_type(type_))
    raise ValueError(f"not an expression: {str(data)[:200]}")


def _literal(value: str, type_: str) -> Literal:
    if type_ == TYPE:
        known = stored_type(value) is not None
    elif type_ == UNIT:
        known = value in UNITS.values() or value in ADDED_UNITS
    elif type_ in NAMING:
        known = value == UTC.value or has_plain_clock(value)
    else:
        known = types.is_constant(value, type_)
    if not known:
        raise ValueError(f"{value[:200]!r} isn't a constant of type {type_[:200]}")
    return Literal(value, type_)


def _call(op: str, args: tuple[Expr, ...], type_: str | None) -> Call:
    least, most = _ARGUMENTS.get(op, (1, 0))
    if not least <= len(args) <= most:
        raise ValueError(f"the operator {op[:200]!r} of {len(args)}")
    if op == "case" and len(args) % 2 == 0:
        raise ValueError("a CASE whose last branch has no value")
    for place, arg in enumerate(args):
        if isinstance(arg, Literal) and arg.type in NAMING and not _modifies(op, place, arg.type):
            raise ValueError(f"{arg.value} as a value")
    first = _TOLD_FIRST.get(op)
    if first is not None and getattr(args[0], "type", None) != first:
        raise ValueError(f"{op} without its unit")
    if op == "cast" and getattr(args[1], "type", None) != TYPE:
        raise ValueError("a cast without its type")
    if op in BY_OP and type_ is not None:
        form = form_of(op, args)
        if form is None or form.type_of(args) != type_:
            raise ValueError(f"{op} of other arguments or another type")
    return Call(op, args, type_)


def _modifies(op: str, place: int, type_: str) -> bool:
    """Whether the operand says how, and is no value."""
    if type_ == UNIT:
        return op in _TOLD_FIRST and place == 0
    if type_ == TYPE:
        return op == "cast" and place == 1
    if op in BY_OP:
        return any(form.takes[place : place + 1] == (type_,) for form in BY_OP[op].forms)
    return (op in types.TIME_PARTS and place == 1) or (op in ("cast", "date_trunc") and place == 2)
