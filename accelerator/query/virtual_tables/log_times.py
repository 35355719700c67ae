"""Which times a query of the log surely asks for, and times of now as constants.

`started >= now() - INTERVAL 1 HOUR` in WHERE bounds the files that are read. Promise: no row is
left out that may pass; what isn't understood bounds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlglot import exp

from accelerator.store.journals.query_log.time_span import ALL, Span
from rewrite.analysis.query_form import operands
from rewrite.ir.timestamps import is_utc, midnight, moment

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_UNITS = {"DAY": 86_400, "HOUR": 3_600, "MINUTE": 60, "SECOND": 1}
_NUMBER = re.compile(r"-?\d{1,9}", re.ASCII)
_MICROS_DIGITS = 15
_PLAIN = frozenset({"this", "db", "catalog", "alias"})
_HIDING = frozenset({"SEMI", "ANTI"})
_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.EQ: exp.EQ,
}
_TIMES = (
    exp.DataType.Type.TIMESTAMP,
    exp.DataType.Type.TIMESTAMPTZ,
    exp.DataType.Type.TIMESTAMPLTZ,
)


def with_now(tree: exp.Expression, now: datetime, zone: str | None) -> exp.Expression:
    """The query with constants for times of now in its conditions, as far as they're certain.

    Elsewhere they'd change the names of columns.
    """
    tree = tree.copy()
    for where in list(tree.find_all(exp.Where)):
        for node in reversed(list(where.walk())):  # the inner ones first
            time = now if _is_now(node) else _stepped(node, zone) or _of_micros(node, zone)
            if time is not None and node.parent is not None:
                node.replace(_constant(time))
    return tree


def span_of(table: exp.Table, column: str, zone: str | None) -> Span:
    """The times of the table's rows that count, by the WHERE of the SELECT in whose FROM it is.

    Each of its comparisons fails for NULL, so that a join's kind doesn't matter, but for those that
    hide the table's columns: there a bare name is another table's.
    """
    above = table.parent
    found = ALL
    if not isinstance(above, (exp.From, exp.Join)) or not isinstance(above.parent, exp.Select):
        return found
    where = above.parent.args.get("where")
    if where is None or not _PLAIN.issuperset(k for k, value in table.args.items() if value):
        return found
    if str(above.args.get("kind") or "").upper() in _HIDING:
        return found
    name = table.alias_or_name.lower()
    for one in operands(where.this):
        for asked, kind, value in _comparisons(one):
            if _is_column(asked, name, column):
                found = found.and_(_span(kind, value, zone))
    return found


def _comparisons(node: exp.Expr) -> Iterator[tuple[exp.Expr, type[exp.Expr], exp.Expr]]:
    """What is compared, how, and with what; either way round."""
    if isinstance(node, exp.Between):
        yield node.this, exp.GTE, node.args["low"]
        yield node.this, exp.LTE, node.args["high"]
    elif type(node) in _FLIPPED:
        yield node.this, type(node), node.expression
        yield node.expression, _FLIPPED[type(node)], node.this


def _is_column(node: exp.Expr, table: str, column: str) -> bool:
    if not isinstance(node, exp.Column) or len(node.parts) > 2:
        return False
    return node.name.lower() == column and node.table.lower() in ("", table)


def _span(kind: type[exp.Expr], value: exp.Expr, zone: str | None) -> Span:
    time = _time(value, zone)
    if time is None:
        return ALL
    us = (time - _EPOCH) // _MICROSECOND
    if kind in (exp.GT, exp.GTE):
        return Span(since_us=us)
    if kind is exp.EQ:
        return Span(us, us + 1)
    return Span(until_us=us + (kind is exp.LTE))


def _time(node: exp.Expr, zone: str | None) -> datetime | None:
    """The instant that a constant is beside a timestamp; None where that isn't certain."""
    if isinstance(node, exp.Paren):
        return _time(node.this, zone)
    if isinstance(node, exp.Literal):
        return _read(moment(node.name, "timestamp", zone)) if node.is_string else None
    if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Literal):
        return None
    text, type_ = node.this, node.to.this
    if not text.is_string or node.args.get("format"):
        return None
    if type_ in _TIMES:
        return _read(moment(text.name, "timestamp", zone))
    if type_ == exp.DataType.Type.DATE:
        try:
            return _read(midnight(text.name, "timestamp", zone))
        except ValueError:
            return None
    return None


def _read(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=UTC)


def _is_now(node: exp.Expr) -> bool:
    if isinstance(node, exp.CurrentTimestamp):
        return node.this is None
    return isinstance(node, exp.Anonymous) and node.name.lower() == "now" and not node.expressions


def _stepped(node: exp.Expr, zone: str | None) -> datetime | None:
    """A constant time plus or minus an interval of days, hours, minutes or seconds.

    Spark steps whole days by the clock of the session's zone, so its offset must be the same there.
    """
    if not isinstance(node, (exp.Add, exp.Sub)):
        return None
    time, step = _cast_time(node.this, zone), _interval(node.expression)
    if time is None or step is None:
        return None
    try:
        found = time + step if isinstance(node, exp.Add) else time - step
    except OverflowError:
        return None
    return found if _same_offset(time, found, zone) else None


def _of_micros(node: exp.Expr, zone: str | None) -> datetime | None:
    """TIMESTAMP_MICROS(UNIX_MICROS(time) + a number), as Trino's steps are written."""
    if not isinstance(node, exp.Anonymous) or node.name.lower() != "timestamp_micros":
        return None
    [added] = node.expressions if len(node.expressions) == 1 else [None]
    if not isinstance(added, exp.Add) or not isinstance(added.this, exp.UnixMicros):
        return None
    time, step = _cast_time(added.this.this, zone), _micros(added.expression)
    try:
        return None if time is None or step is None else time + step * _MICROSECOND
    except OverflowError:
        return None


def _micros(node: exp.Expr) -> int | None:
    if isinstance(node, exp.Neg):
        found = _micros(node.this)
        return None if found is None else -found
    if isinstance(node, (exp.Cast, exp.TryCast)) and node.to.this == exp.DataType.Type.BIGINT:
        return _micros(node.this)
    if not isinstance(node, exp.Literal) or node.is_string or not node.name.isdigit():
        return None
    return int(node.name) if len(node.name) <= _MICROS_DIGITS else None


def _cast_time(node: exp.Expr, zone: str | None) -> datetime | None:
    """Of TIMESTAMP '…' alone: a bare text plus an interval is something else."""
    is_time = isinstance(node, exp.Cast) and node.to.this in _TIMES
    return _time(node, zone) if is_time else None


def _interval(node: exp.Expr) -> timedelta | None:
    if isinstance(node, exp.Paren):
        return _interval(node.this)
    if not isinstance(node, exp.Interval) or not isinstance(node.this, exp.Literal):
        return None
    unit = node.args.get("unit")
    name = unit.name.upper().removesuffix("S") if isinstance(unit, exp.Var) else ""
    number = node.this.name
    if name not in _UNITS or _NUMBER.fullmatch(number) is None:
        return None
    return timedelta(seconds=_UNITS[name] * int(number))


def _same_offset(one: datetime, other: datetime, zone: str | None) -> bool:
    if is_utc(zone):
        return True
    try:
        known = ZoneInfo(zone or "")
        return one.astimezone(known).utcoffset() == other.astimezone(known).utcoffset()
    except (ZoneInfoNotFoundError, ValueError, OSError, OverflowError):
        return False


def _constant(time: datetime) -> exp.Expression:
    text = time.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f+00:00")  # noqa: UP017
    return exp.cast(exp.Literal.string(text), exp.DataType.Type.TIMESTAMPTZ)
