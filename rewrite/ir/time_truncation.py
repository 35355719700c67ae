"""Truncated and extracted times: which unit an expression keeps of a date or timestamp.

Theory: docs/rewriting.md, 3.5. A truncation is constant within its buckets, so whatever is constant
within coarser ones is a function of it: day, month, quarter, year; and day, week. A week lies in no
month. Timestamps are truncated in the session's time zone, so that only sessions in UTC, whose days
have 24 hours, have them typed: such calls carry `UTC` as their last operand.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import NamedTuple

from rewrite.ir.expr import TYPE, UNIT, ZONE, Call, Expr, Literal
from rewrite.types import TIMESTAMPS

UTC = Literal("UTC", ZONE)
"""The last operand of calls that were bound in a session in UTC, and hold in no other zone."""
_DATE = Literal("date", TYPE)
UNITS = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), "YEAR"),
    **dict.fromkeys(("MONTH", "MON", "MM"), "MONTH"),
    **dict.fromkeys(("DAY", "DD"), "DAY"),
    **{unit: unit for unit in ("QUARTER", "WEEK", "HOUR", "MINUTE", "SECOND", "MILLISECOND")},
}
"""Spark's words for the units."""
OF_DATES = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK"})
"""What Spark's `trunc` takes; it is NULL of any other."""
_CHAIN = ("MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "QUARTER", "YEAR")
_COARSER = {
    "WEEK": frozenset({"WEEK"}),
    **{
        unit: frozenset({*_CHAIN[i:], *(("WEEK",) if i <= _CHAIN.index("DAY") else ())})
        for i, unit in enumerate(_CHAIN)
    },
}
PART_UNITS = {
    "year": "YEAR",
    "quarter": "QUARTER",
    "month": "MONTH",
    "weekofyear": "WEEK",
    **dict.fromkeys(("day", "dayofyear", "dayofweek"), "DAY"),
    **{part: part.upper() for part in ("hour", "minute", "second")},
}
"""The unit of which each part is a function."""


class Truncation(NamedTuple):
    """`unit` of a date or timestamp, None for all of it."""

    base: Expr
    unit: str | None


def is_within(fine: str | None, coarse: str) -> bool:
    """Whether each bucket of the finer unit lies in one of the coarser.

    >>> is_within("DAY", "WEEK"), is_within("WEEK", "MONTH"), is_within(None, "HOUR")
    (True, False, True)
    """
    return fine is None or coarse in _COARSER[fine]


def truncation(expr: Expr) -> Truncation:
    """What the expression keeps of which date or timestamp; itself and all of it, by default."""
    match expr:
        case Call(op="cast", args=(inner, Literal("date"), *_)) if inner.type in TIMESTAMPS:
            unit = "DAY"
        case Call(op="trunc", args=(Literal(unit), inner)) if expr.type is not None:
            pass
        case Call(op="date_trunc", args=(Literal(unit), inner, Literal())):
            pass
        case _:
            return Truncation(expr, "DAY" if expr.type == "date" else None)
    base, fine = truncation(inner)
    return Truncation(base, unit) if is_within(fine, unit) else Truncation(expr, unit)


def as_date(expr: Expr, *, utc: bool) -> Expr:
    """The date of a timestamp, where that is known; else the expression itself."""
    if expr.type == "timestamp_ntz":
        return Call("cast", (expr, _DATE), "date")
    if expr.type == "timestamp" and utc:
        return Call("cast", (expr, _DATE, UTC), "date")
    return expr


def truncated(unit: str, expr: Expr) -> Expr:
    """`date_trunc` in UTC of a date or timestamp, folded where that is constant."""
    if isinstance(expr, Literal):
        value = _moment(expr)
        return expr if value is None else Literal(_form(_floor(value, unit)), "timestamp")
    return Call("date_trunc", (Literal(unit, UNIT), expr, UTC), "timestamp")


def truncated_date(unit: str, expr: Expr) -> Expr:
    """`trunc`, folded where that is constant; without a type where it isn't of a date."""
    if isinstance(expr, Literal) and expr.type == "date":
        floor = _floor(datetime.fromisoformat(expr.value), unit)
        return Literal(floor.date().isoformat(), "date")
    return Call("trunc", (Literal(unit, UNIT), expr), "date" if expr.type == "date" else None)


class Bound(NamedTuple):
    """`x < at` where `below`, else `x >= at`."""

    below: bool
    at: datetime

    def starts(self, unit: str) -> bool:
        """Whether it's the first moment of a bucket: then it tells whole buckets apart."""
        return _floor(self.at, unit) == self.at

    def literal(self, type_: str) -> Literal:
        """The bound as a constant of a date's or a timestamp's type."""
        return Literal(self.at.date().isoformat() if type_ == "date" else _form(self.at), type_)


def bound_of(op: str, literal: Literal) -> Bound | None:
    """What `x op literal` says of dates and timestamps; None for any other comparison.

    The last value that isn't beyond a constant is the first beyond it, less one day or microsecond.
    """
    at = _moment(literal)
    if at is None or op not in ("<", "<=", ">", ">="):
        return None
    if op in ("<=", ">"):
        try:
            at += timedelta(days=1) if literal.type == "date" else timedelta(microseconds=1)
        except OverflowError:
            return None
    return Bound(op in ("<", "<="), at)


def _moment(literal: Literal) -> datetime | None:
    if literal.type == "date":
        return datetime.combine(date.fromisoformat(literal.value), datetime.min.time())
    return datetime.fromisoformat(literal.value) if literal.type in TIMESTAMPS else None


def _floor(at: datetime, unit: str) -> datetime:
    """The first moment of the bucket that it lies in.

    >>> [_floor(datetime(2024, 8, 15, 9), unit).strftime("%m-%d") for unit in ("WEEK", "QUARTER")]
    ['08-12', '07-01']
    """
    if unit == "MILLISECOND":
        return at.replace(microsecond=at.microsecond // 1000 * 1000)
    if unit in ("HOUR", "MINUTE", "SECOND"):
        at = at.replace(microsecond=0)
        at = at if unit == "SECOND" else at.replace(second=0)
        return at.replace(minute=0) if unit == "HOUR" else at
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "WEEK":
        return day - timedelta(days=day.weekday())  # the first day of all, 0001-01-01, is a Monday
    if unit == "DAY":
        return day
    first = {"MONTH": day.month, "QUARTER": (day.month - 1) // 3 * 3 + 1, "YEAR": 1}[unit]
    return day.replace(day=1, month=first)


def _form(at: datetime) -> str:
    return at.isoformat(" ", "microseconds")
