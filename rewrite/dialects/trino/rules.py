"""What of Trino's SQL is written out that other dialects don't have, or mean otherwise.

Each rule gives what stands in a node's place, or None where the rules of all dialects go on; it
raises `UnsureMeaningError` for what isn't surely the same in Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from sqlglot import Token, TokenType, exp

from rewrite.dialects.refusal import unlisted
from rewrite.dialects.rule import Context, Rule, UnsureMeaningError, constant_text, spark
from rewrite.dialects.trino import aggregates, numbers, series
from rewrite.dialects.trino import dates as times
from rewrite.dialects.trino import strings as texts
from rewrite.dialects.trino import time_formats as formats
from rewrite.dialects.trino import timestamps_with_zone as moments
from rewrite.dialects.trino.exact_types import OPERAND
from rewrite.dialects.trino.time_zones import is_steady, zone_named
from rewrite.dialects.value_kinds import KIND, Kind, interval_of

_BINARY = ("this", "expression")
_OF_TIMES = (exp.Year, exp.Month, exp.Day, exp.DayOfMonth, exp.DayOfYear, exp.Quarter)
_OF_CLOCKS = (exp.Hour, exp.Minute)
_COMPARED = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Between, exp.In),
)
PARTS: Mapping[type[exp.Expr], tuple[str, ...]] = {
    **dict.fromkeys((exp.DateAdd, exp.DateDiff), (*_BINARY, "unit")),
    **dict.fromkeys((exp.DayOfWeekIso, exp.WeekOfYear, exp.Date, exp.HexString), ("this",)),
    **dict.fromkeys((exp.Second, exp.YearOfWeek, exp.LastDay, exp.TimeToUnix), ("this",)),
    **dict.fromkeys((exp.AtTimeZone, exp.UnixToTime), ("this", "zone")),
    exp.Escape: _BINARY,
    exp.FromISO8601Timestamp: ("this",),
    **dict.fromkeys((exp.TimeToStr, exp.StrToTime), ("this", "format")),
    exp.Anonymous: ("this", "expressions"),
    **numbers.PARTS,
    **texts.PARTS,
    **aggregates.PARTS,
    **series.PARTS,
}
"""What may stand in a statement beside what may in those of every dialect."""


def decimals(tokens: Sequence[Token]) -> frozenset[int]:
    """The places of texts behind the word DECIMAL."""
    return frozenset(
        other.start
        for one, other in pairwise(tokens)
        if one.token_type == TokenType.DECIMAL and other.token_type == TokenType.STRING
    )


def _checked(found: exp.Expression | None) -> exp.Expression:
    if found is None:
        raise UnsureMeaningError(
            "it's known of dates, and of times without a zone, alone",
            "CAST it AS DATE, or AS TIMESTAMP",
        )
    return found


def _cast(node: exp.Expr, context: Context) -> exp.Expression | None:
    """Casts of NULL, of dates and times without a zone; decimal constants."""
    to, operand = node.args["to"], node.args["this"]
    type_, digits = to.this, [one.name for one in to.expressions]
    written = moments.plain_constant(operand, context) if type_ is _MOMENT else None
    if written is not None:
        return written
    if isinstance(operand, exp.Null) and not digits and type_ in _OF_NULL:
        return exp.cast(exp.null(), _OF_NULL[type_], dialect="spark")
    if type_ in _TYPED and isinstance(operand, exp.Literal) and operand.is_string:
        return _number(operand.name, type_)
    if type_ is exp.DataType.Type.FLOAT and isinstance(operand, exp.Literal):
        known = operand.is_string and _REAL.fullmatch(operand.name)
        return exp.cast(operand.copy(), "FLOAT", dialect="spark") if known else None
    if type_ is exp.DataType.Type.DECIMAL and not digits and isinstance(operand, exp.Literal):
        constant = operand.meta_get("start") in context.decimals
        return _decimal(operand.name) if constant else None
    if type_ is exp.DataType.Type.VARCHAR:
        return texts.written(operand, digits, node.meta_get(OPERAND), context)
    kind = context.of(operand)
    if kind == "decimal" and context.of(node) == "whole":
        return exp.cast(operand.copy(), type_, dialect="spark")
    found = _read(node, context)
    return _cast_time(node, kind, digits, context) if found is None else found


def _cast_time(
    node: exp.Expr, kind: Kind | None, digits: Sequence[str], context: Context
) -> exp.Expression | None:
    """Casts of dates and times."""
    type_, operand = node.args["to"].this, node.args["this"]
    if type_ is exp.DataType.Type.DATE and kind == "moment":
        return _as_date(operand, context)
    if type_ is exp.DataType.Type.TIMESTAMPTZ and (times.is_timed(kind) or kind == "moment"):
        return _zoned(operand, kind, digits, context)
    if type_ not in _LOCAL:
        return None
    if kind == "moment":
        operand, kind = moments.wall(operand, context), "local"
    if kind == "date":
        return times.local(operand)
    if kind == "string":
        return formats.clock_of(operand)
    if kind != "local" or not all(one.isdigit() for one in digits):
        return None
    places = int(digits[0]) if digits else None
    return times.rounded(operand, places, utc=moments.is_in_utc(context))


def _try_cast(node: exp.Expr, context: Context) -> exp.Expression | None:
    """Writes a value as a text, which never raises without a length."""
    to, operand = node.args["to"], node.args["this"]
    if to.this is exp.DataType.Type.VARCHAR and not to.expressions:
        return texts.written(operand, (), node.meta_get(OPERAND), context)
    return _read(node, context)


def _read(node: exp.Expr, context: Context) -> exp.Expression | None:
    """A text as a value: Spark reads more texts than Trino, so that these are made to fail."""
    to, operand = node.args["to"], node.args["this"]
    shape = _SHAPES.get(context.of(node) or "")
    is_constant = isinstance(operand, exp.Literal) and operand.is_string
    if shape is None or context.of(operand) != "string" or (is_constant and _is_date(to)):
        return None
    if to.is_type(exp.DataType.Type.DECIMAL) and len(to.expressions) != 2:
        return None
    text = spark(
        "CASE WHEN :s RLIKE :p THEN :s ELSE CONCAT(:s, '?') END", "string", s=operand, p=shape
    )
    found = node.copy()
    found.set("this", text)
    return found  # type: ignore[return-value]


def _is_date(type_: exp.DataType) -> bool:
    return bool(type_.is_type(exp.DataType.Type.DATE))


def _as_date(operand: exp.Expr, context: Context) -> exp.Expression:
    """The day of a moment in its zone."""
    if moments.is_sparks(operand, context):
        return exp.cast(operand.copy(), "DATE", dialect="spark")
    return times.as_date(moments.wall(operand, context))


def _zoned(
    operand: exp.Expr, kind: Kind | None, digits: Sequence[str], context: Context
) -> exp.Expression | None:
    """A moment of the session's zone, or its own, to so many digits of a second (three)."""
    if kind == "date":
        return moments.of_session(times.local(operand), context)
    if not all(one.isdigit() for one in digits):
        return None
    places = int(digits[0]) if digits else None
    if kind == "moment":
        return moments.rounded(operand, places, context)
    return moments.of_session(
        times.rounded(operand, places, utc=moments.is_in_utc(context)), context
    )


def _number(text: str, type_: object) -> exp.Expression | None:
    """`BIGINT '5'`, as JDBC's driver writes its parameters, as a number of Spark's."""
    whole = type_ is not exp.DataType.Type.DOUBLE
    if (_WHOLE if whole else _DOUBLE).fullmatch(text) is None:
        return None
    sign, digits = text[: text.startswith("-")], text.lstrip("-")
    if whole and int(digits) >= _TYPED[type_]:
        return None
    found: exp.Expression = exp.Literal.number(digits)
    if type_ is exp.DataType.Type.BIGINT:
        found = exp.var(f"{digits}L")
        found.meta[KIND] = "whole"
    elif not whole and "e" not in digits.lower():
        found = exp.Literal.number(f"{digits}e0")
    return exp.paren(exp.Neg(this=found)) if sign else found


def _decimal(text: str) -> exp.Expression | None:
    """A decimal constant by its text; None for one that isn't a plain number of 38 digits."""
    sign = text[:1] if text[:1] in ("-", "+") else ""
    number = text[len(sign) :]
    if _NUMBER.fullmatch(number) is None:
        return None
    whole, _, digits = number.partition(".")
    places = max(1, len(whole.lstrip("0")) + len(digits))
    if places > _DIGITS_MAX:
        return None
    found: exp.Expression = exp.Literal.number(f"{whole or '0'}.{digits}" if digits else whole)
    if not digits:
        found = exp.cast(found, f"DECIMAL({places}, 0)", dialect="spark")
    return exp.paren(exp.Neg(this=found)) if sign == "-" else found


def _like(node: exp.Expr, _: Context) -> exp.Expression | None:
    """A constant pattern; one of ASCII letters whose case is changed is one, too.

    To Trino a backslash is a letter as others are, to Spark it escapes the next one. So a pattern
    that needs an escape is written with a letter for it that the pattern doesn't have.
    """
    pattern = node.args["expression"]
    if isinstance(pattern, (exp.Lower, exp.Upper)) and isinstance(pattern.this, exp.Literal):
        text = pattern.this.name
        if pattern.this.is_string and text.isascii():
            changed = text.lower() if isinstance(pattern, exp.Lower) else text.upper()
            pattern = exp.Literal.string(changed)
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        return _like_computed(node)
    above = node.parent
    escape = above.expression.name if isinstance(above, exp.Escape) else ""
    parts = _pattern_parts(pattern.name, escape)
    found = node.copy()
    if not any(part in ("\\%", "\\_", "\\") for part in parts):
        found.set("expression", exp.Literal.string("".join(parts)))
        return found  # type: ignore[return-value]
    contained = _contained(node, parts)
    if contained is not None:
        return contained
    escape = next((one for one in _ESCAPES if one not in pattern.name), "")
    if not escape:
        raise UnsureMeaningError("the pattern has all letters that might escape others")
    text = "".join(escape + part[1] if len(part) > 1 else part for part in parts)
    found.set("expression", exp.Literal.string(text))
    return exp.Escape(this=found, expression=exp.Literal.string(escape))


def _like_computed(node: exp.Expr) -> exp.Expression:
    """A pattern that isn't constant: each backslash is doubled, so that Spark reads it as one."""
    if isinstance(node.parent, exp.Escape):
        raise UnsureMeaningError("only constant patterns with ESCAPE are")
    found = node.copy()
    pattern = spark("REPLACE(:p, :b, :d)", "string", p=node.args["expression"], b="\\", d="\\\\")
    found.set("expression", pattern)
    return found  # type: ignore[return-value]


def _contained(node: exp.Expr, parts: Sequence[str]) -> exp.Expression | None:
    """The same by a function, if the text between wildcards at the ends has none."""
    starts, ends = parts[0] != "%", parts[-1] != "%"
    inner = parts[not starts : len(parts) - (not ends)]
    if not inner or (starts and ends) or any(one in _WILDCARDS for one in inner):
        return None
    name = "STARTSWITH" if starts else "ENDSWITH" if ends else "CONTAINS"
    text = "".join(one[-1] for one in inner)
    found = spark(f"{name}(:s, :t)", "boolean", s=node.this, t=text)
    return exp.Not(this=found) if node.args.get("negate") else found


def _pattern_parts(pattern: str, escape: str) -> list[str]:
    """The pattern's letters and wildcards; a wildcard that is escaped has a backslash before it."""
    parts: list[str] = []
    letters = iter(pattern)
    for letter in letters:
        if letter != escape:
            parts.append(letter)
            continue
        escaped = next(letters, "")
        if escaped not in (*_WILDCARDS, escape) or not escaped:
            raise UnsureMeaningError("the escape is before neither a wildcard nor itself")
        parts.append(f"\\{escaped}" if escaped in _WILDCARDS else escaped)
    return parts


def _days_between(node: exp.Expr, context: Context) -> exp.Expression | None:
    """The days from one date to another, which are an interval of Trino's; None of others."""
    sides = node.args["this"], node.args["expression"]
    if not isinstance(node, exp.Sub) or {context.of(one) for one in sides} != {"date"}:
        return None
    return times.days_between(*sides)


def _to_milliseconds(node: exp.Expr, _: Context) -> exp.Expression:
    """Multiplies the days between two dates."""
    return spark("CAST(:d AS BIGINT) * 86400000", "whole", d=node.expressions[0])


def _if(node: exp.Expr, _: Context) -> None:
    """Writes the NULL of an `if` without a last operand, which Spark requires."""
    if not isinstance(node.parent, exp.Case) and node.args.get("false") is None:
        node.set("false", exp.null())


def _escape(node: exp.Expr, _: Context) -> exp.Expression:
    """The pattern's rule has written it already."""
    return node.this.copy()  # type: ignore[no-any-return]


def _from_iso(node: exp.Expr, context: Context) -> exp.Expression:
    """`from_iso8601_timestamp` of a constant, in the zone that it names, or the session's."""
    text = constant_text(node.args["this"], "text")
    found = _ISO.fullmatch(text)
    zone = zone_named(found["zone"]) if found and found["zone"] else context.zones.session
    if found is None or zone is None or not is_steady(zone):
        raise UnsureMeaningError("only texts like 2024-01-31T12:34:56.789Z are")
    try:
        clock = datetime.fromisoformat(text.removesuffix(found["zone"] or "\0"))
    except ValueError as error:
        raise UnsureMeaningError("it isn't a time") from error
    if found["zone"]:
        context.zones.note(zone)
    return moments.constant(clock, zone, context)


def _timed(node: exp.Expr, context: Context) -> tuple[exp.Expr, Kind | None]:
    """A time, and its kind; of a moment what a clock in its zone shows."""
    kind = context.of(node)
    if kind == "moment":
        return moments.wall(node, context), "local"
    return times.whole_of(node), kind


def _extract(node: exp.Expr, context: Context) -> exp.Expression | None:
    operand, part = node.args["expression"], node.name.upper()
    rule = _PARTS_OF_TIMES.get(part)
    if rule is not None:
        return _checked(rule(*_timed(operand, context)))
    if part in ("DOY", "DAY_OF_YEAR"):
        return spark("DAYOFYEAR(:t)", "whole", t=_timed(operand, context)[0])
    if context.of(operand) == "moment" and not moments.is_sparks(operand, context):
        node.set("expression", moments.wall(operand, context))
    elif context.of(operand) == "local":
        node.set("expression", times.whole_of(operand).copy())
    return None


def _part(node: exp.Expr, context: Context) -> None:
    """Parts of moments are those of the clock of their zone, a date is its beginning."""
    operand = node.args["this"]
    if context.of(operand) == "date" and isinstance(node, _OF_CLOCKS):
        node.set("this", times.local(operand))
    elif context.of(operand) == "local":
        node.set("this", times.whole_of(operand).copy())
    if context.of(operand) == "moment" and not moments.is_sparks(operand, context):
        node.set("this", moments.wall(operand, context))


def _trunc(node: exp.Expr, context: Context) -> exp.Expression | None:
    """Of what isn't known, and of a moment where nobody tells a zone, it's Spark's own."""
    operand, unit = node.args["this"], node.args.get("unit")
    kind = context.of(operand)
    if unit is None:
        return None
    if kind == "moment" and not moments.is_untold(operand, context):
        return moments.truncated(operand, unit.name.upper(), context)
    if not times.is_timed(kind):
        return None
    utc = moments.is_in_utc(context)
    return _checked(times.truncated(operand, kind, unit.name.upper(), utc=utc))


def _moved(node: exp.Expr, context: Context) -> exp.Expression | None:
    """A moment and an interval: days of it are of elapsed time, months of its zone's calendar."""
    left, right = node.args["this"], node.args["expression"]
    if isinstance(node, exp.Add) and interval_of(left) is not None:
        left, right = right, left
    interval = interval_of(right)
    if interval is None:
        return _days_between(node, context) or numbers.beside_real(node, context)
    kind, text, unit = context.of(left), interval.node.this, interval.unit
    count = times.whole(_plain(text) if text.is_string else text)
    if count is not None and isinstance(node, exp.Sub):
        count = -count
    if interval.number is not None:
        if count is None or abs(count) > _FACTOR_MAX:
            raise UnsureMeaningError("only short constant numbers of one unit are")
        if kind == "moment":
            return moments.moved_by(left, unit, count, interval.number, context)
        return _checked(times.moved_by(left, kind, unit, count, interval.number))
    if kind == "local" and isinstance(node, (exp.Add, exp.Sub)):
        return times.behind_cut(left, right, type(node))
    if kind != "moment" or context.zones.session is None or not unit or count is None:
        return None
    return moments.moved(left, unit, count, context)


def _compared(node: exp.Expr, context: Context) -> exp.Expression | None:
    numbers.beside_real(node, context)
    return moments.compared(node, context)


def _plain(number: exp.Expr) -> exp.Expr:
    """A text of digits, with a sign or without, as a constant number."""
    text = number.name
    digits = exp.Literal.number(text.removeprefix("-"))
    return exp.Neg(this=digits) if text.startswith("-") else digits


def _date_add(node: exp.Expr, context: Context) -> exp.Expression:
    operand, number = node.args["this"], node.args["expression"]
    if context.of(number) != "whole":
        raise UnsureMeaningError("whether it's a whole number isn't known", "CAST it AS BIGINT")
    if context.of(operand) == "moment":
        return moments.added(operand, _unit(node), number, context)
    return _checked(times.added(operand, context.of(operand), _unit(node), number))


def _date_diff(node: exp.Expr, context: Context) -> exp.Expression:
    """Whole days between dates, or whole hours, minutes and seconds between times."""
    later, earlier = node.args["this"], node.args["expression"]
    kinds, unit = {context.of(later), context.of(earlier)}, _unit(node)
    if kinds == {"date"} and unit in ("DAY", "WEEK"):
        days = times.days_between(later, earlier)
        return days if unit == "DAY" else spark("(:d DIV 7)", "whole", d=days)
    ends = [
        moments.milliseconds(times.whole_of(one), context.of(one), context)
        for one in (later, earlier)
    ]
    length = _ELAPSED.get(unit)
    if unit == "DAY" and kinds == {"local"}:
        length = 24 * _ELAPSED["HOUR"]
    if length is None or len(kinds) > 1 or None in ends:
        raise UnsureMeaningError(
            "only days between dates, and hours to seconds between times, are", "CAST both AS DATE"
        )
    return spark(f"((:b - :a) DIV {length})", "whole", b=ends[0], a=ends[1])  # type: ignore[arg-type]


def _unit(node: exp.Expr) -> str:
    unit = node.args.get("unit")
    return "" if unit is None else str(unit.name).upper()


def _of_time(rule: Callable[[exp.Expr, Kind | None], exp.Expression | None]) -> Rule:
    def translate(node: exp.Expr, context: Context) -> exp.Expression:
        return _checked(rule(*_timed(node.args["this"], context)))

    return translate


def _date(node: exp.Expr, context: Context) -> exp.Expression:
    operand, kind = _timed(node.args["this"], context)
    if not times.is_timed(kind):
        raise UnsureMeaningError("whether it's of a time isn't known", "CAST it AS DATE")
    return times.as_date(operand)


def _formatted_clock(node: exp.Expr, context: Context) -> exp.Expr:
    """The clock that a format shows: of a date its beginning, of others to the millisecond.

    Half of one goes up, of a moment before its zone's clock is looked at.
    """
    kind = context.of(node)
    if kind == "date":
        return times.local(node)
    if kind == "local":
        if times.digits_of(node) <= _MILLISECONDS:
            return times.whole_of(node)
        return times.moved("MICROSECOND", exp.Literal.number(500), node, "local")
    if kind != "moment":
        raise UnsureMeaningError("whether it's of a time isn't known", "CAST it AS TIMESTAMP")
    return moments.wall(moments.elapsed_micros(node, 500, context), context)


def _date_format(node: exp.Expr, context: Context) -> exp.Expression:
    _check_written(node, "date_format")
    time = _formatted_clock(node.args["this"], context)
    format_ = constant_text(node.args["format"], "format")
    return formats.written(time, format_, utc=moments.is_in_utc(context))


def _date_parse(node: exp.Expr, context: Context) -> exp.Expression:
    _check_written(node, "date_parse")
    text = node.args["this"]
    if context.of(text) != "string":
        raise UnsureMeaningError("whether it's of a text isn't known", "CAST it AS VARCHAR")
    return formats.read(text, constant_text(node.args["format"], "format"))


def _check_written(node: exp.Expr, name: str) -> None:
    """The parser has one node for functions whose formats are written otherwise."""
    if node.meta_get("written") != name:
        raise UnsureMeaningError(unlisted(node))


def _at_time_zone(node: exp.Expr, context: Context) -> exp.Expression:
    return moments.at_zone(node.args["this"], node.args.get("zone"), context)


def _from_unixtime(node: exp.Expr, context: Context) -> exp.Expression:
    return moments.from_unix(node.args["this"], node.args.get("zone"), context)


def _to_unixtime(node: exp.Expr, context: Context) -> exp.Expression:
    return moments.to_unix(node.args["this"], context)


def _last_day(node: exp.Expr, context: Context) -> exp.Expression:
    operand, kind = _timed(node.args["this"], context)
    if not times.is_timed(kind):
        raise UnsureMeaningError("whether it's of a time isn't known", "CAST it AS DATE")
    return spark("LAST_DAY(:d)", "date", d=times.as_date(operand) if kind == "local" else operand)


def _function(node: exp.Expr, context: Context) -> exp.Expression:
    """Functions that the parser doesn't know, by name and number of operands."""
    name, operands = str(node.this).lower(), node.expressions
    value = _CONSTANTS.get(name)
    if value is not None and not operands:
        return exp.cast(exp.Literal.string(value), "DOUBLE", dialect="spark")
    number, rule = _FUNCTIONS.get(name, (0, None))
    if rule is None or len(operands) != number:
        raise UnsureMeaningError(unlisted(node))
    return rule(node, context)


def _format_datetime(node: exp.Expr, context: Context) -> exp.Expression:
    time, format_ = node.expressions
    return formats.written_by_letters(
        _formatted_clock(time, context), constant_text(format_, "format")
    )


def _at_timezone(node: exp.Expr, context: Context) -> exp.Expression:
    operand, zone = node.expressions
    if context.of(operand) != "moment":
        raise UnsureMeaningError("it's known of moments alone", "write AT TIME ZONE")
    return moments.at_zone(operand, zone, context)


def _with_timezone(node: exp.Expr, context: Context) -> exp.Expression:
    operand, zone = node.expressions
    if context.of(operand) not in ("date", "local"):
        raise UnsureMeaningError("it's known of times without a zone alone", "CAST it AS TIMESTAMP")
    return moments.of_zone(operand, zone, context)


def _offset_part(part: str) -> Callable[[exp.Expr, Context], exp.Expression]:
    """`timezone_hour` or `timezone_minute`."""

    def rule(node: exp.Expr, context: Context) -> exp.Expression:
        [operand] = node.expressions
        if context.of(operand) not in ("date", "local", "moment"):
            raise UnsureMeaningError("whether it's of a time isn't known", "CAST it AS TIMESTAMP")
        return moments.offset_part(operand, part, context)

    return rule


def _second(node: exp.Expr, kind: Kind | None) -> exp.Expression | None:
    return spark("SECOND(:t)", "whole", t=node) if kind == "local" else None


def _year_of_week(node: exp.Expr, kind: Kind | None) -> exp.Expression | None:
    known = times.is_timed(kind)
    return spark("EXTRACT(YEAROFWEEK FROM :t)", "whole", t=node) if known else None


def _yow(node: exp.Expr, context: Context) -> exp.Expression:
    return _checked(_year_of_week(*_timed(node.expressions[0], context)))


def _day_of_week(node: exp.Expr, context: Context) -> exp.Expression:
    return _checked(times.day_of_week(*_timed(node.expressions[0], context)))


_FUNCTIONS: Mapping[str, tuple[int, Callable[[exp.Expr, Context], exp.Expression]]] = {
    "format_datetime": (2, _format_datetime),
    "at_timezone": (2, _at_timezone),
    "with_timezone": (2, _with_timezone),
    "timezone_hour": (1, _offset_part("HOUR")),
    "timezone_minute": (1, _offset_part("MINUTE")),
    "to_milliseconds": (1, _to_milliseconds),
    "is_finite": (1, numbers.finite),
    "is_infinite": (1, numbers.infinite),
    "yow": (1, _yow),
    "dow": (1, _day_of_week),
}
RULES: Mapping[type[exp.Expr], Rule] = {
    exp.Cast: _cast,
    exp.TryCast: _try_cast,
    exp.Var: moments.plain_now,
    exp.Like: _like,
    exp.Escape: _escape,
    exp.If: _if,
    exp.FromISO8601Timestamp: _from_iso,
    exp.Extract: _extract,
    exp.TimestampTrunc: _trunc,
    exp.DateTrunc: _trunc,
    exp.DateAdd: _date_add,
    exp.DateDiff: _date_diff,
    exp.Add: _moved,
    exp.Sub: _moved,
    exp.DayOfWeekIso: _of_time(times.day_of_week),
    exp.WeekOfYear: _of_time(times.week),
    exp.Second: _of_time(_second),
    exp.YearOfWeek: _of_time(_year_of_week),
    exp.LastDay: _last_day,
    exp.Date: _date,
    exp.AtTimeZone: _at_time_zone,
    exp.UnixToTime: _from_unixtime,
    exp.TimeToUnix: _to_unixtime,
    exp.TimeToStr: _date_format,
    exp.StrToTime: _date_parse,
    exp.Anonymous: _function,
    **dict.fromkeys((*_OF_TIMES, *_OF_CLOCKS), _part),
    **dict.fromkeys(_COMPARED, _compared),
    **numbers.RULES,
    **texts.RULES,
    **aggregates.RULES,
    **series.RULES,
}
_PARTS_OF_TIMES: Mapping[str, Callable[[exp.Expr, Kind | None], exp.Expression | None]] = {
    **dict.fromkeys(("DOW", "DAY_OF_WEEK"), times.day_of_week),
    "WEEK": times.week,
    "SECOND": _second,
    **dict.fromkeys(("YEAR_OF_WEEK", "YOW"), _year_of_week),
}
_ELAPSED = {"HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1_000}
"""In milliseconds."""
_CONSTANTS = {"nan": "NaN", "infinity": "Infinity", "e": "2.718281828459045"}
_SHAPES = {
    "double": r"^[ \t]*[+-]?(?:\.?[0-9][^ \t]*|Infinity|NaN)[ \t]*\z",
    "decimal": r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\z",
    "date": r"^[ \t]*[+-]?[0-9]{4,7}-[0-9]{1,2}-[0-9]{1,2}[ \t]*\z",
}
"""Texts that both read as a value of the kind; Spark reads `2024` as a date, too."""
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
_WILDCARDS = ("%", "_")
_ESCAPES = "^~!#@|$"
_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{3})?)?(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_DIGITS_MAX = 38
_MILLISECONDS = 3
_FACTOR_MAX = 1_000
"""Intervals of more units, times 32 bits, might be longer than Trino's."""
_TYPED: Mapping[object, int] = {
    exp.DataType.Type.INT: 1 << 31,
    exp.DataType.Type.BIGINT: 1 << 63,
    exp.DataType.Type.DOUBLE: 0,
}
"""Types of numbers that are constants of Spark's; whole ones are below these."""
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_DOUBLE = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][-+]?[0-9]{1,3})?")
_REAL = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|Infinity)|NaN")
_MOMENT = exp.DataType.Type.TIMESTAMPTZ
_LOCAL = (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ)
_OF_NULL = {
    exp.DataType.Type.BOOLEAN: "BOOLEAN",
    exp.DataType.Type.TINYINT: "TINYINT",
    exp.DataType.Type.SMALLINT: "SMALLINT",
    exp.DataType.Type.INT: "INT",
    exp.DataType.Type.BIGINT: "BIGINT",
    exp.DataType.Type.FLOAT: "FLOAT",
    exp.DataType.Type.DOUBLE: "DOUBLE",
    exp.DataType.Type.DECIMAL: "DECIMAL(38, 0)",
    exp.DataType.Type.VARCHAR: "STRING",
    exp.DataType.Type.VARBINARY: "BINARY",
    exp.DataType.Type.DATE: "DATE",
    exp.DataType.Type.TIMESTAMP: "TIMESTAMP_NTZ",
    exp.DataType.Type.TIMESTAMPTZ: "TIMESTAMP",
}
"""What NULL may be cast to, and Spark's name of the type."""
