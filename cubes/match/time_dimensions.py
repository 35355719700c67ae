"""Dimensions that truncate a time, or extract a part of it, for what a statement asks of that time.

Theory: docs/rewriting.md, 3.5. A function that is constant within a dimension's buckets is that
function of the bucket's first moment. A comparison with a constant is one of the buckets where the
constant is a bucket's first moment: then it's TRUE for all values of each bucket or for none; NULL
lies in the bucket NULL.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rewrite.ir.block import Classes
from rewrite.ir.expr import Call, Column, Expr, Literal, canonical
from rewrite.ir.time_truncation import (
    PART_UNITS,
    Bound,
    as_date,
    bound_of,
    is_within,
    truncated,
    truncated_date,
    truncation,
)
from rewrite.types import DATE_PARTS, TIME_PARTS

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_QUARTERS = ((1, 2, 3), (4, 5, 6), (7, 8, 9))
_TIMES = ("date", "timestamp", "timestamp_ntz")


class _Buckets(NamedTuple):
    unit: str
    column: Column


class TimeDimensions:
    """The dimensions of a cube that keep a unit of some date or timestamp."""

    def __init__(self, dimensions: Iterable[tuple[Expr, Column]], classes: Classes) -> None:
        self._classes = classes
        self._truncated: dict[Expr, list[_Buckets]] = {}
        self._parts: dict[Expr, dict[str, Column]] = {}
        for expr, column in dimensions:
            if isinstance(expr, Call) and expr.op in PART_UNITS and expr.type is not None:
                base, unit = truncation(expr.args[0])
                if is_within(unit, PART_UNITS[expr.op]):
                    self._parts.setdefault(self._key(base), {})[expr.op] = column
            elif isinstance(expr, Call) and expr.type in _TIMES:
                base, unit = truncation(expr)
                if unit is not None and base is not expr:
                    self._truncated.setdefault(self._key(base), []).append(_Buckets(unit, column))

    def __bool__(self) -> bool:
        return bool(self._truncated or self._parts)

    def _key(self, expr: Expr) -> Expr:
        return canonical(expr, self._classes.find)

    def expression(self, call: Call) -> Expr | None:
        """A part or truncation of a time, over the buckets of it; None where it isn't told."""
        if call.op in PART_UNITS and call.type is not None:
            return self._part(call)
        base, unit = truncation(call)
        if base is call or unit is None or call.type is None:
            return None
        column = self._column(base, unit)
        if column is None:
            return None
        if call.op == "date_trunc":
            return truncated(unit, column)
        day = as_date(column, utc=True)
        return day if call.op == "cast" else truncated_date(unit, day)

    def predicate(self, call: Call) -> Expr | None:
        """A comparison of a time with a constant, over buckets that it holds all of or nothing."""
        if call.op not in _FLIPPED:
            return None
        left, right = call.args
        op = _FLIPPED[call.op] if isinstance(left, Literal) else call.op
        subject, constant = (right, left) if isinstance(left, Literal) else (left, right)
        if not isinstance(constant, Literal) or subject.type != constant.type:
            return None
        bound = bound_of(op, constant)
        if bound is None or subject.type not in _TIMES:
            return None
        base, fine = truncation(subject)
        for unit, column in self._truncated.get(self._key(base), ()):
            if is_within(fine, unit) and bound.starts(unit):
                at = bound.literal(str(column.type))
                return Call("<" if bound.below else ">=", (column, at), "boolean")
        return self._of_parts(self._parts.get(self._key(base), {}), fine, bound)

    def _column(self, base: Expr, unit: str) -> Column | None:
        """A dimension within whose buckets all of that unit is the same."""
        found = self._truncated.get(self._key(base), ())
        return next((b.column for b in found if is_within(b.unit, unit)), None)

    def _part(self, call: Call) -> Expr | None:
        base, fine = truncation(call.args[0])
        unit = PART_UNITS[call.op]
        if not is_within(fine, unit):
            return None
        column = self._column(base, unit)
        if column is not None and call.op in DATE_PARTS:
            return Call(call.op, (as_date(column, utc=True),), call.type)
        if column is not None and call.op in TIME_PARTS and column.type != "date":
            return Call(call.op, (column, *call.args[1:]), call.type)
        parts = self._parts.get(self._key(base), {})
        if call.op in parts:
            return parts[call.op]
        if call.op == "quarter" and "month" in parts:
            return _quarter(parts["month"])
        return None

    @staticmethod
    def _of_parts(parts: dict[str, Column], fine: str | None, bound: Bound) -> Expr | None:
        """Over the dimensions year, or year and month: compared as pairs are."""
        year, month = parts.get("year"), parts.get("month")
        if year is None or not is_within(fine, "MONTH" if month else "YEAR"):
            return None
        op = "<" if bound.below else ">="
        if bound.starts("YEAR"):
            return Call(op, (year, _int(bound.at.year)), "boolean")
        if month is None or not bound.starts("MONTH"):
            return None
        beyond = Call(op[0], (year, _int(bound.at.year)), "boolean")
        same = Call("=", (year, _int(bound.at.year)), "boolean")
        rest = Call(op, (month, _int(bound.at.month)), "boolean")
        return Call("or", (beyond, Call("and", (same, rest), "boolean")), "boolean")


def _quarter(month: Column) -> Expr:
    """In NULL's month the quarter is NULL; of no other month the fourth is what remains."""
    args: list[Expr] = [Call("is_null", (month,), "boolean"), Literal("NULL", "void")]
    for number, months in enumerate(_QUARTERS, start=1):
        args += [Call("in", (month, *map(_int, months)), "boolean"), _int(number)]
    return Call("case", (*args, _int(4)), "int")


def _int(value: int) -> Literal:
    return Literal(str(value), "int")
