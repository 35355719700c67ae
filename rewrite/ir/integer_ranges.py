"""Ranges of whole numbers: whether an operator surely raises nothing, by what its columns hold.

Arithmetic of whole numbers raises under ANSI where a value leaves its type, and a division where
the divisor is zero. If no combination of the columns' values does so, nothing raises on any row.
Decimals raise nothing where their type has room for every result.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rewrite import types
from rewrite.functions import table as functions
from rewrite.functions.casts import cast_of
from rewrite.ir.expr import NULL, Call, Column, Expr, Literal, Parameter, exact_digits

Range = tuple[int, int]
"""The least and the greatest value, both included."""
RangeOf = Callable[[Column], Range | None]
"""What a column holds; None where it isn't known."""

WHOLE: dict[str | None, Range] = {
    "int": (-(2**31), 2**31 - 1),
    "bigint": (-(2**63), 2**63 - 1),
}
"""What the types of whole numbers hold."""
RAISING = frozenset({"+", "-", "*", "/", "div", "%", "neg"}) | functions.RAISING
"""Operators that raise on some values of their types."""
CAST_LIKE = frozenset({"cast", "substring"})
"""More of them, which cells are asked for, since what a cell holds came of rows that Spark saw."""
_NUMERAL = re.compile(r"-?\d{1,9}(\.\d{1,9})?", re.ASCII), re.compile(r"-?\d{1,9}", re.ASCII)
"""What any decimal or floating type takes without raising, and what any whole one does."""
_FEW = 100_000
"""Years after 9999, at most, that are still a date and a timestamp of Spark's and DuckDB's."""
_PARTS = {
    "year": (-6_000_000, 6_000_000),
    "month": (1, 12),
    "day": (1, 31),
    "quarter": (1, 4),
    "dayofweek": (1, 7),
    "dayofyear": (1, 366),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
}
"""Of dates, which have 32 bits of days, and of timestamps."""
_MOVES = {"date_add": (0, 1), "date_sub": (0, 1), "add_months": (0, 1), "timestampadd": (2, 1)}
"""Where operators have the time that they move, and by how many units."""
_TIMES = ("date", *types.TIMESTAMPS)


def _unknown(_column: Column) -> None:
    """Gives no range."""


def raises_nothing(call: Call, range_of: RangeOf = _unknown) -> bool:
    """Tests whether the operator itself surely raises on no row; its operands are looked at alone.

    Without `range_of` on no values of its operands' types.
    """
    if call.op in ("+", "-", "*", "neg"):
        if types.decimal_parts(call.type) is not None:
            return _holds(call)
        return call.type in types.FLOATING or _computed(call, range_of) is not None
    if call.op in ("/", "%", "div"):
        return _divides(call, range_of)
    form = functions.form_of(call.op, call.args)
    if call.op == "abs" and call.type in WHOLE:
        found = whole_range(call.args[0], range_of)
        return found is not None and found[0] > WHOLE[call.type][0]
    if form is not None:
        return not form.raises or _adds_little(call, range_of)
    return call.op == "cast" and _casts_all(call)


def _divides(call: Call, range_of: RangeOf) -> bool:
    """Decides whether no row divides by zero, or the least BIGINT by -1."""
    dividend, divisor = call.args
    parts = types.decimal_parts(call.type)
    if parts is not None:  # with fewer digits than Spark's most, none before the point is cut off
        return parts[0] < types.DECIMAL_DIGITS and _is_never_zero(divisor)
    if not all(arg.type in (*types.EXACT, "double") for arg in call.args):
        return False
    found = whole_range(divisor, range_of)
    nonzero = found is not None and not found[0] <= 0 <= found[1]
    if not nonzero and not _is_never_zero(divisor):
        return False
    fits = dividend.type == "int" or (found is not None and not found[0] <= -1 <= found[1])
    return call.op != "div" or fits


def _adds_little(call: Call, range_of: RangeOf) -> bool:
    """Decides whether it moves a constant of the years 1 to 9999 by a few months or other units."""
    moved = _moved(call, range_of) if call.op in _MOVES else None
    return moved is not None and moved <= _FEW


def _moved(expr: Expr, range_of: RangeOf) -> int | None:
    """Returns the most units by which a constant of the years 1 to 9999 is moved, else None."""
    if isinstance(expr, (Literal, Parameter)):
        return 0 if expr.type in _TIMES else None
    if not isinstance(expr, Call) or expr.type not in _TIMES:
        return None
    if expr.op == "cast":
        return _moved(expr.args[0], range_of)
    if expr.op in ("date_trunc", "trunc"):
        time = [arg for arg in expr.args if arg.type in _TIMES]
        return _moved(time[0], range_of) if len(time) == 1 else None
    if expr.op not in _MOVES:
        return None
    at, count = (expr.args[place] for place in _MOVES[expr.op])
    moved, units = _moved(at, range_of), whole_range(count, range_of)
    return None if moved is None or units is None else moved + max(map(abs, units))


def _is_never_zero(expr: Expr) -> bool:
    """Decides whether it's a constant other than zero, or `nullif(x, 0)`."""
    if isinstance(expr, Literal):
        return types.is_numeric(expr.type) and float(expr.value) != 0
    if not isinstance(expr, Call) or expr.op != "case" or len(expr.args) != 3:
        return False
    test, then, other = expr.args
    if not isinstance(test, Call) or test.op != "=" or then != NULL or test.args[0] != other:
        return False
    zero = test.args[1]
    return isinstance(zero, Literal) and types.is_numeric(zero.type) and float(zero.value) == 0


def _casts_all(call: Call) -> bool:
    source, target = call.args[0].type, call.type
    cast = cast_of(source, target or "")
    return types.widens(source, target) or (cast is not None and not cast.raises)


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
    (a, s), (b, t) = (one or (types.DECIMAL_DIGITS,) * 2 for one in sizes)
    if call.op == "*":
        return a + b + 1 <= types.DECIMAL_DIGITS
    return max(a - s, b - t) + max(s, t) + 1 <= types.DECIMAL_DIGITS


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
    if op in ("+", "-", "*", "%") and len(ranges) == 2:
        (a, b), (c, d) = ranges
        if op == "%":  # as Java's: the remainder has the dividend's sign
            most = max(abs(c), abs(d)) - 1
            return max(min(a, 0), -most), min(max(b, 0), most)
        if op == "+":
            return a + c, b + d
        if op == "-":
            return a - d, b - c
        corners = a * c, a * d, b * c, b * d
        return min(corners), max(corners)
    return None
