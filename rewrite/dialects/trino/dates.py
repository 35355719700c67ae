"""Trino's functions of dates and local times as Spark SQL that means the same in every time zone.

Spark's `date_trunc` and formats go by moments of the session's time zone, where an hour, or a day,
may be missing; dates and times without a zone have none. So these are computed as dates, or by
intervals, which know no zone. Each function gives the expression in the place of the call, or None
where what it's of isn't known to be one of these.
"""

from __future__ import annotations

from sqlglot import exp

from rewrite.dialects.rule import with_kind
from rewrite.dialects.value_kinds import Kind

_DATES = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY")
_CLOCK = ("HOUR", "MINUTE", "SECOND")
_ADDED = {
    **{unit: (1, unit) for unit in ("YEAR", "MONTH", "DAY", *_CLOCK)},
    "QUARTER": (3, "MONTH"),
    "WEEK": (7, "DAY"),
}
"""How many of which of Spark's units a unit is."""
_OF_DATE = "of_date"
_MOST = 1_000_000
_MICROSECONDS = 6
_MILLISECONDS = 3


def is_timed(kind: Kind | None) -> bool:
    """Whether these are dates, or times without a zone."""
    return kind in ("date", "local")


def truncated(node: exp.Expr, kind: Kind | None, unit: str) -> exp.Expression | None:
    """`date_trunc` of a date is a date, of a local time one; None of others, and of a bad unit."""
    if kind == "date" and unit in _DATES:
        return _day(node, unit)
    if kind == "local" and unit in _DATES:
        return local(_day(as_date(node), unit))
    if kind == "local" and unit in _CLOCK:
        # The beginning of a day is that of an hour as well.
        return exp.paren(node.copy()) if node.meta_get(_OF_DATE) else _floored(node, unit)
    return None


def as_date(node: exp.Expr) -> exp.Expression:
    """The day of a time; of one that is a date's beginning, that date."""
    if node.meta_get(_OF_DATE):
        return node.args["this"].copy()  # type: ignore[no-any-return]
    return _cast(node, "DATE")


def _day(date: exp.Expr, unit: str) -> exp.Expression:
    """The first day of the unit that the date lies in."""
    if unit == "DAY":
        return exp.paren(date.copy())
    return _call("TRUNC", "date", date, exp.Literal.string(unit))


def _floored(node: exp.Expr, unit: str) -> exp.Expression:
    """Without what is left of the hour, minute or second."""
    second = exp.Extract(this=exp.var("SECOND"), expression=node.copy())
    minutes: exp.Expr = exp.Literal.number(0)
    seconds: exp.Expr = second
    if unit == "HOUR":
        minutes = _call("MINUTE", "whole", node)
    if unit == "SECOND":
        seconds = exp.Mod(this=second, expression=exp.Literal.number(1))
    return _less(node, minutes, seconds)


def rounded(node: exp.Expr, digits: int | None) -> exp.Expression:
    """A local time as `timestamp(digits)`; three of them where none are said.

    Half of the last digit goes up, before 1970 too.
    """
    digits = _MILLISECONDS if digits is None else digits
    if digits >= _MICROSECONDS:
        return exp.paren(node.copy())
    half = f"0.{'0' * digits}5"
    added = exp.paren(exp.Add(this=node.copy(), expression=_interval(half, "SECOND")))
    second = exp.Extract(this=exp.var("SECOND"), expression=added)
    last = exp.Literal.number(f"0.{'0' * (digits - 1)}1" if digits else "1")
    return _less(added, exp.Literal.number(0), exp.Mod(this=second, expression=last))


def _less(node: exp.Expr, minutes: exp.Expr, seconds: exp.Expr) -> exp.Expression:
    zero = exp.Literal.number(0)
    left = _call("MAKE_DT_INTERVAL", "other", zero, zero, minutes, seconds)
    return with_kind(exp.paren(exp.Sub(this=node.copy(), expression=left)), "local")


def added(
    node: exp.Expr, kind: Kind | None, unit: str, number: exp.Expr | None
) -> exp.Expression | None:
    """`date_add` of a constant number of units, as an interval that is added."""
    count = whole(number)
    known = unit in _ADDED and not (kind == "date" and unit in _CLOCK)
    if not is_timed(kind) or not known or count is None or abs(count) > _MOST:
        return None
    factor, own = _ADDED[unit]
    moved = exp.Add(this=node.copy(), expression=_interval(str(count * factor), own))
    return with_kind(exp.paren(moved), kind or "other")


def days_between(later: exp.Expr, earlier: exp.Expr) -> exp.Expression:
    """How many days lie between two dates."""
    return _call("DATEDIFF", "whole", later, earlier)


def day_of_week(node: exp.Expr, kind: Kind | None) -> exp.Expression | None:
    """Monday is 1, Sunday 7."""
    if not is_timed(kind):
        return None
    five, seven, one = (exp.Literal.number(n) for n in (5, 7, 1))
    shifted = exp.paren(exp.Add(this=_call("DAYOFWEEK", "whole", node), expression=five))
    return exp.paren(exp.Add(this=exp.Mod(this=shifted, expression=seven), expression=one))


def week(node: exp.Expr, kind: Kind | None) -> exp.Expression | None:
    """The week of the year by ISO 8601."""
    return _call("WEEKOFYEAR", "whole", node) if is_timed(kind) else None


def local(node: exp.Expr) -> exp.Expression:
    """A date as a time without a zone, at its beginning."""
    found = _cast(node, "TIMESTAMP_NTZ")
    found.meta[_OF_DATE] = True
    return found


def whole(node: exp.Expr | None) -> int | None:
    """The integer that a constant is, with a sign or without; also `INTEGER '-7'`."""
    if isinstance(node, exp.Paren):
        return whole(node.this)
    if isinstance(node, exp.Neg):
        found = whole(node.this)
        return None if found is None else -found
    if isinstance(node, exp.Cast) and node.to.this in exp.DataType.INTEGER_TYPES:
        node = node.this
    if not isinstance(node, exp.Literal) or len(node.name) > len(str(_MOST)) + 1:
        return None
    digits = node.name.removeprefix("-") if node.is_string else node.name
    return int(node.name) if digits.isdecimal() and digits.isascii() else None


def _interval(number: str, unit: str) -> exp.Interval:
    return exp.Interval(this=exp.Literal.string(number), unit=exp.var(unit))


def _cast(node: exp.Expr, type_: str) -> exp.Expression:
    return exp.cast(node.copy(), type_, dialect="spark")


def _call(name: str, kind: Kind, *operands: exp.Expr) -> exp.Expression:
    found = exp.Anonymous(this=name, expressions=[one.copy() for one in operands])
    return with_kind(found, kind)
