"""Calls of the function table's functions, and sums of dates or times and intervals.

What Spark casts unseen is written out where a cast gives a date; texts and doubles are cast where
the call is rendered. A call without a proven form has no type, so that no engine of ours computes
it; it may still be compared, and sent to Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from sqlglot import exp

from rewrite import types
from rewrite.functions.row import SparkFunction
from rewrite.functions.table import BY_NODE, BY_WORD
from rewrite.functions.times import ADDED_UNITS, DAYS, MICROS, MONTHS, ZONED
from rewrite.ir.expr import TYPE, UNIT, ZONE, Call, Expr, Literal
from rewrite.ir.literals import date_literal
from rewrite.ir.time_truncation import UTC, as_date
from rewrite.ir.timestamps import has_plain_clock, is_utc
from rewrite.parse.parse import written_name
from rewrite.reason import DeclinedError

_Bind = Callable[[exp.Expression], Expr]
_INTERVAL_UNITS = {
    f"{unit}{end}": unit
    for unit in ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR")
    for end in ("", "S")
}
_COUNT = re.compile(r"[+-]?\d{1,7}", re.ASCII)
DAYS_LATER = {"+": "date_add", "-": "date_sub"}
"""What Spark makes of a date and a whole number beside it."""


def function_of(node: exp.Expression | None) -> SparkFunction | None:
    """The row of a call's function: by its word, or by its node if it's an operator's syntax."""
    if node is None:
        return None
    word = written_name(node)
    if word is None:
        return BY_NODE.get(type(node).__name__)
    found = BY_WORD.get(word)
    if found is None or isinstance(node, exp.Anonymous):
        return found
    return found if type(node).__name__ in found.nodes else None


def arguments(function: SparkFunction, node: exp.Expression) -> list[exp.Expression]:
    """A call's arguments in Spark's order; DeclinedError for what the row doesn't know of it."""
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    unread = {name for name, value in node.args.items() if value not in (None, [])}
    unread -= {*function.slots, *function.flags}
    if unread:
        raise DeclinedError("expression_unsupported", f"Its {', '.join(sorted(unread))}.")
    found: list[exp.Expression] = []
    for slot in function.slots:
        value = node.args.get(slot)
        found += value if isinstance(value, list) else [] if value is None else [value]
    return found


def bind_call(function: SparkFunction, args: list[Expr], zone: str | None) -> Expr:
    """The call, with the type of its proven form."""
    if function.op == "convert_timezone":
        args = [_plain_zone(arg) if place == 1 else arg for place, arg in enumerate(args)]
    for form in function.forms:
        kinds = form.kinds(len(args))
        if kinds is None:
            continue
        given = tuple(
            _as_date(arg, zone) if kind == "as date" else arg
            for arg, kind in zip(args, kinds, strict=True)
        )
        type_ = form.type_of(given)
        if type_ is not None:
            return Call(function.op, given, type_)
    return Call(function.op, tuple(args), None)


def _plain_zone(arg: Expr) -> Expr:
    """The name of a zone as one, if its clock is plain."""
    is_plain = isinstance(arg, Literal) and arg.type == "string" and has_plain_clock(arg.value)
    return Literal(arg.value, ZONE) if isinstance(arg, Literal) and is_plain else arg


def _as_date(arg: Expr, zone: str | None) -> Expr:
    if isinstance(arg, Literal) and arg.type == "string":
        return date_literal(arg.value) or arg
    return as_date(on_clock(arg, zone), utc=is_utc(zone))


def on_clock(at: Expr, zone: str | None) -> Expr:
    """Returns what the session's clock shows at an instant, a time of no zone; others unchanged."""
    if at.type != "timestamp" or is_utc(zone) or not has_plain_clock(zone):
        return at
    return Call("local_clock", (at, Literal(zone or "", ZONE)), "timestamp_ntz")


def truncated_on_clock(unit: str, at: Expr, zone: str | None) -> Expr | None:
    """`date_trunc` in a zone other than UTC; None if its clock isn't plain."""
    if at.type not in ("date", "timestamp") or not has_plain_clock(zone):
        return None
    args = (Literal(unit, UNIT), at, Literal(zone or "", ZONE))
    return Call("date_trunc_in", args, "timestamp")


def bind_sum(op: str, node: exp.Expression, bind: _Bind, zone: str | None) -> Expr | None:
    """`date + 3`, `time - INTERVAL …`; None for a sum of numbers, and for any other operator."""
    if op not in ("+", "-"):
        return None
    sides = (node.this, node.expression)
    spans = [isinstance(side.unnest(), exp.Interval) for side in sides]
    if not any(spans):
        return None
    if all(spans) or (spans[0] and op == "-"):
        raise DeclinedError("expression_unsupported", "An interval alone.")
    span, other = sides if spans[0] else sides[::-1]
    unit, count = _interval(span.unnest())
    return later(bind(other), unit, -count if op == "-" else count, zone)


def later(at: Expr, unit: str, count: int, zone: str | None) -> Expr:
    """A date or a time so many units later; of a constant the constant."""
    zoned = at.type == "timestamp" and unit in ZONED and not is_utc(zone)
    if isinstance(at, Literal) and at.type in ("date", *types.TIMESTAMPS) and not zoned:
        found = _computed(at, unit, count)
        if found is not None:
            return found
    if at.type == "date" and unit in DAYS:
        return Call("date_add", (at, Literal(str(count * DAYS[unit]), "int")), "date")
    if at.type == "date" and unit in MONTHS:
        return Call("add_months", (at, Literal(str(count * MONTHS[unit]), "int")), "date")
    return added(at, unit, Literal(str(count), "int"), zone)


def added(at: Expr, unit: str, count: Expr, zone: str | None) -> Expr:
    """`timestampadd(unit, count, at)` of a timestamp; in UTC where the unit needs a clock."""
    if at.type == "date" and is_utc(zone):
        at = Call("cast", (at, Literal("timestamp", TYPE), UTC), "timestamp")
    if unit not in ADDED_UNITS or count.type != "int" or at.type not in types.TIMESTAMPS:
        raise DeclinedError("expression_unsupported", f"{unit.title()}s added to {at.type}.")
    args = (Literal(unit, UNIT), count, at)
    if unit not in ZONED or at.type == "timestamp_ntz":
        return Call("timestampadd", args, at.type)
    return Call("timestampadd", (*args, UTC), at.type if is_utc(zone) else None)


def _interval(node: exp.Expression) -> tuple[str, int]:
    """Unit and count of an INTERVAL of one unit; DeclinedError for others."""
    unit = _INTERVAL_UNITS.get(node.text("unit").upper())
    value = node.this
    negative = isinstance(value, exp.Neg)
    text = value.this.name if negative else value.name if isinstance(value, exp.Literal) else ""
    if unit is None or not _COUNT.fullmatch(text.strip()):
        raise DeclinedError("expression_unsupported", f"Here: {node.sql(dialect='spark')[:80]}.")
    return unit, -int(text) if negative else int(text)


def _computed(at: Literal, unit: str, count: int) -> Literal | None:
    """The constant so much later; None beyond the years 1 to 9999, or for a time of a date."""
    try:
        value = datetime.fromisoformat(at.value)
        if unit in MONTHS:
            value = _months_later(value, count * MONTHS[unit])
        elif at.type == "date" and unit not in DAYS:
            return None
        else:
            value += timedelta(microseconds=count * MICROS[unit])
    except (OverflowError, ValueError):
        return None
    text = value.date().isoformat() if at.type == "date" else value.isoformat(" ", "microseconds")
    return Literal(text, at.type)


def _months_later(value: datetime, count: int) -> datetime:
    """The same day of a later month, or its last one."""
    months = value.year * 12 + value.month - 1 + count
    year, month = divmod(months, 12)
    for day in range(value.day, 27, -1):
        try:
            return value.replace(year=year, month=month + 1, day=day)
        except ValueError:
            continue
    return value.replace(year=year, month=month + 1)
