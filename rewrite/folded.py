"""Statements that plain Spark fails inside for: a NULL that its optimiser made stands as a value.

Spark turns `l = 1.5`, of a whole number l, into `l IS NULL AND NULL`. As a condition that is FALSE;
as a value, `(l = 1.5) IS NULL`, it's handed to the table's scan, which takes no bare NULL under AND
(`V2ExpressionBuilder`, Spark 4.1). Which of its rules comes first can't be told for certain here,
so what may become such a value declines.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal
from enum import Enum, auto

from rewrite import types
from rewrite.expr import Aggregate, Call, Column, Expr, Literal, walk
from rewrite.reason import DeclinedError

_LOGICAL = frozenset({"and", "or"})
_ORDERING = frozenset({"<", "<=", ">", ">="})
_COMPARED = frozenset({"=", "<>", "in", *_ORDERING})
_DENIALS = {
    "=": ("=", False),
    "<>": ("=", False),
    "<": ("<", False),
    ">=": ("<", False),
    ">": ("<", True),
    "<=": ("<", True),
}
"""The operator by which a comparison and its denial are told, and whether its operands change."""
_EXACT = Context(prec=100)
_RANGES = {"int": (-(2**31), 2**31 - 1), "bigint": (-(2**63), 2**63 - 1)}


class _Place(Enum):
    """What Spark does with a NULL there."""

    CONDITION = auto()
    """It's as good as FALSE."""
    COMPUTED = auto()
    """A value, but that conditions of CASE in it are conditions."""
    VALUE = auto()
    """A value throughout: Spark may push what is around a CASE into it."""


def check_folded(conditions: Iterable[Expr], computed: Iterable[Expr]) -> None:
    """DeclinedError where plain Spark may fail inside; `computed` are keys and arguments."""
    stack = [(expr, _Place.CONDITION) for expr in conditions]
    stack += [(expr, _Place.COMPUTED) for expr in computed]
    while stack:
        expr, place = stack.pop()
        if isinstance(expr, Aggregate):
            stack += [(arg, _Place.COMPUTED) for arg in expr.args]
        if not isinstance(expr, Call):
            continue
        if place is not _Place.CONDITION and _may_hold_null(expr):
            raise DeclinedError("folded_null")
        stack += _operands(expr, place)


def _operands(call: Call, place: _Place) -> list[tuple[Expr, _Place]]:
    if call.op == "case" and place is not _Place.VALUE:
        last = len(call.args) - 1
        given = _Place.VALUE if place is _Place.CONDITION else place
        return [
            (arg, given if i % 2 or i == last else _Place.CONDITION)
            for i, arg in enumerate(call.args)
        ]
    if place is _Place.CONDITION:
        passed_on = call.op in _LOGICAL or call.op == "not"
        place = _Place.CONDITION if passed_on else _Place.VALUE
    elif call.op in types.BOOLEAN_OPERATORS or call.op == "coalesce":
        place = _Place.VALUE
    return [(arg, place) for arg in call.args if isinstance(arg, (Call, Aggregate))]


def _may_hold_null(call: Call) -> bool:
    """Whether Spark may make of it an AND or OR that has a bare NULL below it."""
    if call.op in _LOGICAL:
        return any(_may_be_null(arg) for arg in call.args) or _repeats(call)
    if call.op == "case" and call.type == "boolean":
        given = (*call.args[1:-1:2], call.args[-1])
        constants = [one for one in given if _is_constant(one)]
        return len(constants) > 1 and any(map(_may_be_null, constants))
    if call.op not in _COMPARED:
        return False
    values = [arg for arg in call.args if not _is_constant(arg)]
    constants = [arg for arg in call.args if _is_constant(arg)]
    return any(_may_fold(call.op, one, other) for one in values for other in constants)


def _may_be_null(expr: Expr) -> bool:
    """Whether it may come to NULL whatever the row."""
    if isinstance(expr, Literal):
        return expr.type != "boolean"
    nodes = walk(expr)
    return _is_constant(expr) or any(isinstance(n, Literal) and n.type == "void" for n in nodes)


def _repeats(call: Call) -> bool:
    """Whether a test stands in it twice, maybe denied: `a AND NOT a` is FALSE, or NULL if a is."""
    seen: set[Expr] = set()
    stack: list[Expr] = [call]
    while stack:
        expr = stack.pop()
        if isinstance(expr, Call) and (expr.op in _LOGICAL or expr.op == "not"):
            stack += expr.args
        elif (test := _undenied(expr)) in seen:
            return True
        else:
            seen.add(test)
    return False


def _undenied(expr: Expr) -> Expr:
    """The test, or its denial: one of both, whichever is given."""
    if not isinstance(expr, Call) or expr.op not in _DENIALS:
        return expr
    op, flipped = _DENIALS[expr.op]
    return Call(op, expr.args[::-1] if flipped else expr.args, expr.type)


def _is_constant(expr: Expr) -> bool:
    return not any(isinstance(node, (Column, Aggregate)) for node in walk(expr))


def _may_fold(op: str, value: Expr, constant: Expr) -> bool:
    """Whether Spark may find that no value of the type is the constant, or that all lie beside it.

    It looks below casts that lose nothing; here, below any.
    """
    own = {value.type}
    while isinstance(value, Call) and value.op == "cast":
        value = value.args[0]
        own.add(value.type)
    return any(_is_beside(op, type_, constant) for type_ in own)


def _is_beside(op: str, type_: str | None, constant: Expr) -> bool:
    given = constant.type
    if type_ == given or given in ("void", "string", None):
        return False
    if type_ == "date":
        return given in types.TIMESTAMPS
    if type_ not in _RANGES and type_ != "float" and types.decimal_parts(type_) is None:
        return False
    if (type_, given) == ("bigint", "int"):
        return False
    if not isinstance(constant, Literal) or type_ == "float":
        return True
    number, (least, most, step) = Decimal(constant.value), _extent(type_ or "")
    if op in _ORDERING:
        return not least < number < most
    return not (least <= number <= most and _EXACT.remainder(number, step) == 0)


def _extent(type_: str) -> tuple[Decimal, Decimal, Decimal]:
    """The least and the most that the type holds, and the step between its values."""
    if type_ in _RANGES:
        least, most = _RANGES[type_]
        return Decimal(least), Decimal(most), Decimal(1)
    precision, scale = types.decimal_parts(type_) or (0, 0)
    most_ = Decimal(10**precision - 1).scaleb(-scale)
    return -most_, most_, Decimal(1).scaleb(-scale)
