"""Ranges of whole numbers: whether an operator surely raises nothing, by what its columns hold.

Arithmetic of whole numbers raises under ANSI where a value leaves its type, and a division where
the divisor is zero. If no combination of the columns' values does so, nothing raises on any row.
Decimals raise nothing where their type has room for every result.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rewrite import types
from rewrite.ir.expr import Call, Column, Expr, Literal, exact_digits

Range = tuple[int, int]
"""The least and the greatest value, both included."""
RangeOf = Callable[[Column], Range | None]
"""What a column holds; None where it isn't known."""

WHOLE: dict[str | None, Range] = {
    "int": (-(2**31), 2**31 - 1),
    "bigint": (-(2**63), 2**63 - 1),
}
"""What the types of whole numbers hold."""
RAISING = frozenset({"+", "-", "*", "/", "div", "%", "neg"})
"""Operators that raise on some values of their types."""
CAST_LIKE = frozenset({"cast", "substring"})
"""More of them, which cells are asked for, since what a cell holds came of rows that Spark saw."""
_NUMERAL = re.compile(r"-?\d{1,9}(\.\d{1,9})?", re.ASCII), re.compile(r"-?\d{1,9}", re.ASCII)
"""What any decimal or floating type takes without raising, and what any whole one does."""
_DIGITS = 38  # of a decimal, at most
_PARTS = {"year": (-6_000_000, 6_000_000), "month": (1, 12), "day": (1, 31), "quarter": (1, 4)}
"""Of dates, which have 32 bits of days."""


def raises_nothing(call: Call, range_of: RangeOf) -> bool:
    """Whether the operator itself surely raises on no row; its operands are looked at alone."""
    if call.op in ("+", "-", "*", "neg"):
        if types.decimal_parts(call.type) is not None:
            return _holds(call)
        return call.type in types.FLOATING or _computed(call, range_of) is not None
    if call.op == "/":
        divisor = whole_range(call.args[1], range_of)
        whole = all(arg.type in types.EXACT for arg in call.args)
        return whole and divisor is not None and not divisor[0] <= 0 <= divisor[1]
    return call.op == "cast" and types.widens(call.args[0].type, call.type)


def compares_by_cast(call: Call) -> bool:
    """Whether operands are compared after a cast that raises on some value: a text beside others.

    A text that is written as a number, beside a number, is none: its cast is the same on all rows.
    """
    if call.op not in types.COMPARISONS and call.op != "in":
        return False
    texts = [arg for arg in call.args if arg.type == "string"]
    others = {arg.type for arg in call.args if arg.type not in ("string", "void")}
    if not others or (others == {None} and texts) or (not texts and None not in others):
        return False
    if not all(map(types.is_numeric, others)):
        return len(others) > 1 or bool(texts)
    return not all(_numeral(text, whole=bool(others & set(types.EXACT))) for text in texts)


def _numeral(expr: Expr, *, whole: bool) -> bool:
    return isinstance(expr, Literal) and _NUMERAL[whole].fullmatch(expr.value) is not None


def _holds(call: Call) -> bool:
    """Whether the decimal type of a sum, product or negated value has room for each of them."""
    if call.op == "neg":
        return True
    sizes = [exact_digits(arg) for arg in call.args]
    (a, s), (b, t) = (one or (_DIGITS, _DIGITS) for one in sizes)
    if call.op == "*":
        return a + b + 1 <= _DIGITS
    return max(a - s, b - t) + max(s, t) + 1 <= _DIGITS


def whole_range(expr: Expr, range_of: RangeOf) -> Range | None:
    """What the expression holds; None where it isn't a whole number."""
    own = WHOLE.get(expr.type)
    if own is None:
        return None
    if isinstance(expr, Literal):
        return int(expr.value), int(expr.value)
    found: Range | None = None
    if isinstance(expr, Column):
        found = range_of(expr)
    elif isinstance(expr, Call):
        found = _computed(expr, range_of)
    return own if found is None else found


def _computed(call: Call, range_of: RangeOf) -> Range | None:
    """What the call holds, as far as it's told; None where a value may not fit its type."""
    own = WHOLE.get(call.type)
    if own is None:
        return None
    if call.op in _PARTS:
        return _PARTS[call.op]
    operands = call.args
    if call.op == "case":
        operands = (*call.args[1:-1:2], call.args[-1])
    elif call.op == "cast":
        operands = call.args[:1]
    ranges = [whole_range(arg, range_of) for arg in operands if arg.type != "void"]
    known = [one for one in ranges if one is not None]
    if not known or len(known) < len(ranges):
        return None
    found = _combined(call.op, known)
    return found if found is not None and own[0] <= found[0] and found[1] <= own[1] else None


def _combined(op: str, ranges: list[Range]) -> Range | None:
    if op in ("case", "coalesce", "cast"):
        return min(low for low, _ in ranges), max(high for _, high in ranges)
    if op == "neg":
        ((low, high),) = ranges
        return -high, -low
    if op in ("+", "-", "*") and len(ranges) == 2:
        (a, b), (c, d) = ranges
        if op == "+":
            return a + c, b + d
        if op == "-":
            return a - d, b - c
        corners = a * c, a * d, b * c, b * d
        return min(corners), max(corners)
    return None
