"""Trino's functions of dates and local times as Spark SQL that means the same in every time zone.

Spark's `date_trunc` and formats go by moments of the session's time zone, where an hour, or a day,
may be missing; dates and times without a zone have none. So `date_trunc` is written only if Spark's
session is in UTC (`utc`); else times are computed by intervals, which know no zone. Each function
returns the expression in the place of the call, or None if the operand isn't known to be one of
these.
"""

from __future__ import annotations

import re

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
_OF_DATES = {
    "DAY": ("DATE_ADD", 1),
    "WEEK": ("DATE_ADD", 7),
    "MONTH": ("ADD_MONTHS", 1),
    "QUARTER": ("ADD_MONTHS", 3),
    "YEAR": ("ADD_MONTHS", 12),
}
"""Spark's function that moves a date, and how many of its units a unit is."""
_OF_DATE = "of_date"
_DIGITS = "digits"
"""The key in a time's `meta` of how many digits below a second it has at most."""
_CONSTANT = re.compile(r"TIMESTAMP(?:_NTZ)? '[^'.]*(?:\.([0-9]*))?[^'.]*'")
_MOST = 1_000_000
_MICROSECONDS = 6
_MILLISECONDS = 3
_LOCAL = "TIMESTAMP_NTZ"
_MILLISECOND = "MILLISECOND"
_CUT = {_MILLISECONDS: (_MILLISECOND, 500), 0: ("SECOND", 500_000)}
"""By a number of digits the unit that they count, and half of it in microseconds."""
_INT_DIGITS = 10
_INTS = (
    *(exp.Year, exp.Quarter, exp.Month, exp.Day, exp.DayOfMonth, exp.DayOfYear, exp.Hour),
    *(exp.Minute, exp.Extract),
)
_INT_PARTS = frozenset({"DAYOFWEEK", "WEEKOFYEAR", "SECOND", "MINUTE"})


def is_timed(kind: Kind | None) -> bool:
    """Whether these are dates, or times without a zone."""
    return kind in ("date", "local")


def truncated(
    node: exp.Expr, kind: Kind | None, unit: str, *, utc: bool = False
) -> exp.Expression | None:
    """`date_trunc` of a date is a date, of a local time one; None of others, and of a bad unit."""
    if kind == "date" and unit in _DATES:
        return _day(node, unit)
    if kind == "local" and unit in _DATES:
        return local(_day(as_date(node), unit))
    if kind == "local" and unit in _CLOCK:
        # The beginning of a day is that of an hour as well.
        is_begun = node.meta_get(_OF_DATE) or (unit == "SECOND" and digits_of(node) == 0)
        if is_begun:
            return exp.paren(node.copy())
        return begun(node, unit) if utc else _floored(node, unit)
    return None


def as_date(node: exp.Expr) -> exp.Expression:
    """The day of a time; of one that is a date's beginning, that date."""
    if node.meta_get(_OF_DATE):
        return node.args["this"].copy()  # type: ignore[no-any-return]
    return _cast(whole_of(node), "DATE")


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


def begun(node: exp.Expr, unit: str) -> exp.Expression:
    """The beginning of an hour or less, by Spark's `date_trunc`, whose session is in UTC."""
    found = _cast(_call("DATE_TRUNC", "moment", exp.Literal.string(unit), whole_of(node)), _LOCAL)
    return with_digits(found, _MILLISECONDS if unit == _MILLISECOND else 0)


def whole_of(node: exp.Expr) -> exp.Expr:
    """The time that is cut to milliseconds for this one; itself if there is none.

    A second, and all that is longer, begins and ends with a millisecond.
    """
    inner = node.this if isinstance(node, exp.Cast) else None
    if isinstance(inner, exp.Anonymous) and inner.this == "DATE_TRUNC":
        unit, cut = inner.expressions
        if unit.name == _MILLISECOND:
            return cut  # type: ignore[no-any-return]
    return node


def behind_cut(
    node: exp.Expr, interval: exp.Expr, operator: type[exp.Add] | type[exp.Sub]
) -> exp.Expression | None:
    """A time that is cut to milliseconds, moved before it's cut; None if it isn't cut."""
    inner = whole_of(node)
    if inner is node:
        return None
    later = exp.paren(operator(this=inner.copy(), expression=interval.copy()))
    return begun(with_kind(later, "local"), _MILLISECOND)


def with_digits(node: exp.Expression, digits: int) -> exp.Expression:
    """The same time, noted to have so many digits below a second at most."""
    node.meta[_DIGITS] = digits
    return node


def digits_of(node: exp.Expr) -> int:
    """Returns the most digits that a time has below a second."""
    known = node.meta_get(_DIGITS)
    if known is not None:
        return int(known)
    if isinstance(node, exp.Paren):
        return digits_of(node.this)
    if isinstance(node, (exp.Add, exp.Sub)) and isinstance(node.expression, exp.Interval):
        return digits_of(node.this)
    if isinstance(node, exp.TimestampTrunc):
        return 0
    if isinstance(node, exp.Cast) and node.to.this is exp.DataType.Type.TIMESTAMPNTZ:
        return digits_of(node.this)
    if isinstance(node, exp.Var):  # a constant that is translated already
        found = _CONSTANT.fullmatch(node.name)
        return _MICROSECONDS if found is None else len((found[1] or "").rstrip("0"))
    return _MICROSECONDS


def rounded(node: exp.Expr, digits: int | None, *, utc: bool = False) -> exp.Expression:
    """A local time as `timestamp(digits)`; three digits by default.

    Half of the last digit goes up, before 1970 too.
    """
    digits = _MILLISECONDS if digits is None else digits
    if digits >= digits_of(node):
        return exp.paren(node.copy())
    if utc and digits in _CUT:
        unit, micros = _CUT[digits]
        return begun(moved("MICROSECOND", exp.Literal.number(micros), node, "local"), unit)
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
    if not is_timed(kind) or not known or number is None:
        return None
    if count is None:
        return moved_by(node, kind, unit, 1, number, is_interval=False)
    if abs(count) > _MOST:
        return None
    factor, own = _ADDED[unit]
    later = exp.Add(this=node.copy(), expression=_interval(str(count * factor), own))
    return with_kind(exp.paren(later), kind or "other")


def moved(
    unit: str, number: exp.Expr, node: exp.Expr, kind: Kind, zone: str | None = None
) -> exp.Expression:
    """Adds a number of units by Spark's DATEADD."""
    found = exp.Anonymous(this="DATEADD", expressions=[exp.var(unit), number, node.copy()])
    return with_kind(found, kind, zone)


def moved_by(
    node: exp.Expr,
    kind: Kind | None,
    unit: str,
    count: int,
    number: exp.Expr,
    *,
    is_interval: bool = True,
) -> exp.Expression | None:
    """A number of units, or a multiplied interval, later; None if it's not `is_timed`."""
    if not is_timed(kind) or unit not in _ADDED or (kind == "date" and unit in _CLOCK):
        return None
    if kind == "date":
        function, factor = _OF_DATES[unit]
        return _call(function, "date", node, multiple(number, count * factor))
    found = moved(unit, multiple(number, count, wide=is_interval), node, "local")
    return with_digits(found, digits_of(node))


def multiple(number: exp.Expr, factor: int, *, wide: bool = False) -> exp.Expression:
    """An integer times a constant: of 32 bits, which others raise at in Trino too; or of 64."""
    plain = number.unnest()
    found: exp.Expr = plain.copy()
    if not _is_int(plain) or (wide and factor != 1 and isinstance(plain, exp.Cast)):
        found = _cast(plain, "BIGINT" if wide else "INT")
    if factor != 1 and isinstance(found, (exp.Binary, exp.Neg)):
        found = exp.paren(found)
    if factor == -1:
        found = exp.Neg(this=found)
    elif factor != 1:
        found = exp.Mul(this=found, expression=exp.Literal.number(factor))
    return found  # type: ignore[return-value]


def _is_int(node: exp.Expr) -> bool:
    """Returns whether Spark surely reads it as an integer of 32 bits."""
    if isinstance(node, (exp.Paren, exp.Neg)):
        return _is_int(node.this)
    if isinstance(node, (exp.Add, exp.Sub, exp.Mod)):
        return _is_int(node.this) and _is_int(node.expression)
    if isinstance(node, exp.Literal):
        return not node.is_string and len(node.name) < _INT_DIGITS and node.name.isdigit()
    if isinstance(node, exp.Anonymous):
        return str(node.this) in _INT_PARTS
    return isinstance(node, _INTS) or (
        isinstance(node, exp.Cast) and node.to.this is exp.DataType.Type.INT
    )


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
    found = _cast(node, _LOCAL)
    found.meta[_OF_DATE] = True
    return with_digits(found, 0)


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
