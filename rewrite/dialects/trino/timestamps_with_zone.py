"""Trino's moments, which carry a time zone each, as Spark SQL: their parts, beginnings and sums.

Spark's go by the session's zone. Where a moment's is that one, Spark's own functions mean the same;
else the wall clock of its zone is computed as a time without one, by UTC, so that no hour of the
session's zone matters. Steps of hours are of elapsed time to Trino, intervals of days too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC as UNIVERSAL
from datetime import datetime

from sqlglot import exp

from rewrite.dialects.rule import Context, UnsureMeaningError, spark, with_kind
from rewrite.dialects.trino import dates as times
from rewrite.dialects.trino import numbers
from rewrite.dialects.trino.time_zones import (
    UTC,
    UTC_NAMES,
    has_midnight_twice,
    is_steady,
    takes_later,
    zone_named,
)

_EPOCH = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"
_DAY = 86_400_000_000
_DATES = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK", "DAY"})
_MICROS = {
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_MOST = 1_000_000
_MILLISECONDS = 3
_FIRST_KNOWN = 1970
_CONSTANT = re.compile(r"TIMESTAMP(?:_NTZ)? '([0-9: .-]+?)(?: UTC|Z|\+00:00)?'")
_IN_UTC = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?) UTC"
)
_RECENT = re.compile(r"TIMESTAMP '(?:20[0-9]{2}|19[89][0-9])-")


def zone_of(node: exp.Expr, context: Context) -> str:
    """The moment's zone; Spark's own is `""`. UnsureMeaningError if it isn't known."""
    zone, session = context.zones.of(node), context.zones.session
    if zone is None or (session is None and zone == UTC):
        raise UnsureMeaningError(
            "in which time zone it is isn't known", "CAST it AS DATE, or AS TIMESTAMP"
        )
    return "" if zone == context.zones.engine else zone


def wall(node: exp.Expr, context: Context) -> exp.Expression:
    """What a clock in the moment's zone shows, as a time without a zone."""
    zone = zone_of(node, context)
    if not zone:
        return spark("CAST(:m AS TIMESTAMP_NTZ)", "local", m=node)
    universal = _universal(node, context)
    if zone == UTC:
        return universal
    return spark("CONVERT_TIMEZONE('UTC', :z, :w)", "local", z=zone, w=universal)


def _universal(node: exp.Expr, context: Context) -> exp.Expression:
    """Returns the clock of a moment in UTC, as a time without a zone."""
    if context.zones.engine == UTC:
        return spark("CAST(:m AS TIMESTAMP_NTZ)", "local", m=node)
    return spark(
        f"{_EPOCH} + MAKE_DT_INTERVAL(0, 0, 0, CAST(UNIX_MICROS(:m) AS DECIMAL(20, 0)) / 1000000)",
        "local",
        m=node,
    )


def moment(clock: exp.Expr, zone: str, context: Context) -> exp.Expression:
    """The moment at which a clock in the zone shows that; the earlier one of two."""
    engine = context.zones.engine
    own = zone or engine
    if not zone:
        return spark("CAST(:w AS TIMESTAMP)", "moment", own, w=clock)
    universal: exp.Expr = clock
    if zone != UTC:
        universal = spark("CONVERT_TIMEZONE(:z, 'UTC', :w)", "local", z=zone, w=clock)
    if engine == UTC:
        return spark("CAST(:w AS TIMESTAMP)", "moment", own, w=universal)
    return spark(
        f"TIMESTAMP_SECONDS(CAST(CAST((:w - {_EPOCH}) AS INTERVAL SECOND) AS DECIMAL(20, 6)))",
        "moment",
        own,
        w=universal,
    )


def constant(clock: datetime, zone: str, context: Context) -> exp.Expression:
    """The moment at which a clock in the zone, whose clocks are never put back, shows that."""
    offset = "+00:00" if zone == UTC else zone
    moment_ = datetime.fromisoformat(f"{clock.isoformat()}{offset}").astimezone(UNIVERSAL)
    text = moment_.replace(tzinfo=None).isoformat(sep=" ", timespec="milliseconds")
    suffix = "" if is_in_utc(context) else "+00:00"
    return with_kind(exp.Var(this=f"TIMESTAMP '{text}{suffix}'"), "moment", zone)


def plain_constant(node: exp.Expr, context: Context) -> exp.Expression | None:
    """Writes a constant in UTC as Spark's session in UTC reads it; None if it's another."""
    if not isinstance(node, exp.Literal) or not node.is_string or not is_in_utc(context):
        return None
    found = _IN_UTC.fullmatch(node.name)
    if found is None:
        return None
    return with_kind(exp.Var(this=f"TIMESTAMP '{found[1]}'"), "moment", UTC)


def plain_now(node: exp.Expr, context: Context) -> exp.Expression | None:
    """Writes the constant of `now()` in the same way."""
    found = _CONSTANT.fullmatch(node.name) if context.zones.of(node) == UTC else None
    if found is None or not is_in_utc(context) or not node.name.endswith("+00:00'"):
        return None
    return with_kind(exp.Var(this=f"TIMESTAMP '{found[1]}'"), "moment", UTC)


def of_session(clock: exp.Expr, context: Context) -> exp.Expression:
    """The moment at which a clock of the session shows that."""
    session = context.zones.session
    if session is None:
        raise UnsureMeaningError("which time zone the session has isn't known")
    if session != context.zones.engine:
        if not is_steady(session):
            raise UnsureMeaningError(
                f"{session}, the client's time zone, isn't Spark's",
                "CAST it AS TIMESTAMP, or let Spark have the client's time zone",
            )
        return moment(clock, session, context)
    return _by_engine(clock, session)


def _by_engine(clock: exp.Expr, zone: str) -> exp.Expression:
    """Returns the same in the zone of Spark's session, which takes the earlier moment of two.

    If Trino takes the later one, the next day's offset is tried: it's the later one's.
    """
    if not _takes_later(zone):
        return spark("CAST(:w AS TIMESTAMP)", "moment", zone, w=clock)
    later = f"TIMESTAMP_MICROS(UNIX_MICROS(CAST(:w + INTERVAL '1' DAY AS TIMESTAMP)) - {_DAY}L)"
    return spark(
        f"CASE WHEN CAST({later} AS TIMESTAMP_NTZ) = :w THEN {later} ELSE CAST(:w AS TIMESTAMP)"
        " END",
        "moment",
        zone,
        w=clock,
    )


def _takes_later(zone: str) -> bool:
    """Returns whether Trino takes the later of two moments that a clock shows."""
    found = takes_later(zone)
    if found is None:
        raise UnsureMeaningError(
            f"which of two moments a clock in {zone} shows isn't known", "CAST it AS TIMESTAMP"
        )
    return found


def of_zone(node: exp.Expr, name: exp.Expr, context: Context) -> exp.Expression:
    """`with_timezone`: the moment at which a clock in the zone shows that."""
    zone = _constant_zone(name)
    context.zones.note(zone)
    clock = times.local(node) if context.of(node) == "date" else node
    if zone == context.zones.engine:
        return _by_engine(clock, zone)
    if not _takes_later(zone):
        return moment(clock, zone, context)
    later = "CONVERT_TIMEZONE(:z, 'UTC', :w + INTERVAL '1' DAY) - INTERVAL '1' DAY"
    universal = spark(
        f"CASE WHEN CONVERT_TIMEZONE('UTC', :z, {later}) = :w THEN {later}"
        " ELSE CONVERT_TIMEZONE(:z, 'UTC', :w) END",
        "local",
        z=zone,
        w=clock,
    )
    return with_kind(moment(universal, UTC, context), "moment", zone)


def offset_part(node: exp.Expr, part: str, context: Context) -> exp.Expression:
    """The whole HOURs, or the MINUTEs beside them, between the clocks of its zone and of UTC."""
    kind, own = context.of(node), node
    if kind != "moment":
        own = of_session(times.local(node) if kind == "date" else node, context)
    zone = zone_of(own, context) or context.zones.engine or ""
    if is_steady(zone):
        hours, minutes = (0, 0) if zone == UTC else map(int, zone[1:].split(":"))
        number = hours if part == "HOUR" else minutes
        sign = "-" if zone[0] == "-" and number else ""
        return spark(f"CASE WHEN :m IS NOT NULL THEN {sign}{number} END", "whole", m=node)
    if is_in_utc(context):
        ahead = spark(
            "(UNIX_SECONDS(CAST(:w AS TIMESTAMP)) - UNIX_SECONDS(:m))",
            "whole",
            w=wall(own, context),
            m=own,
        )
        form = "(:s DIV 3600)" if part == "HOUR" else "(:s % 3600 DIV 60)"
        return spark(f"CAST({form} AS INT)", "whole", s=ahead)
    ahead = spark("(:w - :u)", "other", w=wall(own, context), u=_universal(own, context))
    return spark(f"CAST(EXTRACT({part} FROM :i) AS INT)", "whole", i=ahead)


def compared(node: exp.Expr, context: Context) -> exp.Expression | None:
    """A moment beside a time without a zone, which is one of the session's; None of others."""
    parts = ("this", "expression", "low", "high")
    sides = {part: node.args[part] for part in parts if node.args.get(part) is not None}
    sides |= {str(at): one for at, one in enumerate(node.args.get("expressions") or ())}
    kinds = {part: context.of(one) for part, one in sides.items()}
    session = context.zones.session
    if session is None or "moment" not in kinds.values():
        return None
    is_sparks = session == context.zones.engine and is_steady(session)
    if is_sparks and session == UTC:
        _set_constants_alike(kinds, sides)
    if is_sparks or not {*kinds.values()} & {"local", "date"}:
        return None
    if not isinstance(node, exp.Binary):
        raise UnsureMeaningError("times with and without a zone are compared", "CAST them alike")
    for part, one in sides.items():
        if kinds[part] in ("local", "date"):
            clock = times.local(one) if kinds[part] == "date" else one
            node.set(part, of_session(clock, context))
    return None


def _set_constants_alike(kinds: Mapping[str, str | None], sides: Mapping[str, exp.Expr]) -> None:
    """Constants with a zone or without one, as the times that they are compared with, in UTC."""
    constants = {part: _CONSTANT.fullmatch(one.name) for part, one in sides.items()}
    others = {kinds[part] for part, found in constants.items() if found is None}
    if others not in ({"local"}, {"moment"}):
        return
    word = "TIMESTAMP_NTZ" if others == {"local"} else "TIMESTAMP"
    for part, found in constants.items():
        if found is not None and isinstance(sides[part], exp.Var):
            sides[part].set("this", f"{word} '{found[1]}'")


def is_sparks(node: exp.Expr, context: Context) -> bool:
    """Whether it goes by the session's zone: its own, or where nobody has told one, a table's."""
    return is_untold(node, context) or not zone_of(node, context)


def is_in_utc(context: Context) -> bool:
    """Returns whether Spark's session is in UTC, where its `date_trunc` knows no other clock."""
    return context.zones.engine == UTC


def is_untold(node: exp.Expr, context: Context) -> bool:
    """Whether nobody has told the session's zone, by which a table's moments go then."""
    return context.zones.session is None and context.zones.of(node) in (None, UTC)


def truncated(node: exp.Expr, unit: str, context: Context) -> exp.Expression | None:
    """`date_trunc`; None where Spark's own means the same."""
    zone = zone_of(node, context)
    own = zone or context.zones.engine or UTC
    if unit in _DATES and has_midnight_twice(own, _FIRST_KNOWN if _is_recent(node) else 1850):
        return _begun_alike(node, unit, zone, context)
    if not zone:
        return None
    clock = wall(node, context)
    if unit in _DATES:
        begun = times.truncated(clock, "local", unit)
        return None if begun is None else moment(begun, zone, context)
    if unit not in ("HOUR", "MINUTE", "SECOND"):
        return None
    minutes = "MINUTE(:w)" if unit == "HOUR" else "0"
    seconds = "EXTRACT(SECOND FROM :w)" + (" % 1" if unit == "SECOND" else "")
    return spark(
        f":m - MAKE_DT_INTERVAL(0, 0, {minutes}, {seconds})", "moment", zone, m=node, w=clock
    )


def _is_recent(node: exp.Expr) -> bool:
    """Whether it's made of a constant of the last decades and of intervals alone."""
    constants = [one.name for one in node.find_all(exp.Var) if one.name.startswith("TIMESTAMP '")]
    others = node.find(exp.Column, exp.Anonymous, exp.Subquery)
    return others is None and bool(constants) and all(map(_RECENT.match, constants))


def _begun_alike(node: exp.Expr, unit: str, zone: str, context: Context) -> exp.Expression | None:
    """Of a midnight that clocks show twice it's the one with the moment's own offset to UTC."""
    clock = wall(node, context)
    begun = times.truncated(clock, "local", unit)
    if begun is None:
        return None
    same = spark(
        "TIMESTAMP_MICROS(UNIX_MICROS(:m) - CAST(CAST(CAST((:w - :b) AS INTERVAL SECOND)"
        " AS DECIMAL(20, 6)) * 1000000 AS BIGINT))",
        "moment",
        context.zones.of(node),
        m=node,
        w=clock,
        b=begun,
    )
    return spark(
        "CASE WHEN :v = :b THEN :s ELSE :f END",
        "moment",
        context.zones.of(node),
        v=wall(same, context),
        b=begun,
        s=same,
        f=moment(begun, zone, context),
    )


def added(node: exp.Expr, unit: str, number: exp.Expr, context: Context) -> exp.Expression:
    """`date_add`: days and more by the clock of its zone, less by time."""
    count = times.whole(number)
    if unit not in _MICROS | _MONTHS or (count is not None and abs(count) > _MOST):
        raise UnsureMeaningError("only numbers of a unit from second to year are")
    if count is None:
        return _added_by(node, unit, times.multiple(number, 1), context)
    if unit in ("HOUR", "MINUTE", "SECOND"):
        return elapsed(node, count * _MICROS[unit], context)
    return _by_clock(node, unit, count, context)


def _added_by(node: exp.Expr, unit: str, number: exp.Expr, context: Context) -> exp.Expression:
    """A computed number of units later."""
    zone = context.zones.of(node)
    if unit in ("HOUR", "MINUTE", "SECOND"):
        return _elapsed_by(node, unit, number, context)
    own = zone_of(node, context)
    if not own:
        return times.moved(unit, number, node, "moment", zone)
    _check_steady(own)
    return moment(times.moved(unit, number, wall(node, context), "local"), own, context)


def _elapsed_by(node: exp.Expr, unit: str, number: exp.Expr, context: Context) -> exp.Expression:
    """Spark's DATEADD goes by the clock of its session for more than a day of hours."""
    zone = context.zones.of(node)
    if is_steady(context.zones.engine or ""):
        return times.moved(unit, number, node, "moment", zone)
    return spark(
        f"TIMESTAMP_MICROS(UNIX_MICROS(:m) + CAST(:n AS BIGINT) * {_MICROS[unit]}L)",
        "moment",
        zone,
        m=node,
        n=number,
    )


def moved_by(
    node: exp.Expr, unit: str, count: int, number: exp.Expr, context: Context
) -> exp.Expression:
    """A multiplied interval behind + or -, as in `moved`."""
    units = times.multiple(number, count, wide=True)
    if unit in _MONTHS:
        return _added_by(node, unit, units, context)
    if is_steady(context.zones.engine or "") or unit not in ("DAY", "WEEK"):
        return _elapsed_by(node, unit, units, context)
    hours = times.multiple(number, count * (24 if unit == "DAY" else 168), wide=True)
    return _elapsed_by(node, "HOUR", hours, context)


def rounded(node: exp.Expr, digits: int | None, context: Context) -> exp.Expression:
    """A moment with so many digits of a second, three by default; half of the last goes up."""
    digits = _MILLISECONDS if digits is None else digits
    zone = context.zones.of(node)
    if digits >= times.digits_of(node):
        return with_kind(exp.paren(node.copy()), "moment", zone)
    if digits != _MILLISECONDS:
        raise UnsureMeaningError("only times to the millisecond, or microsecond, are")
    later = times.moved("MICROSECOND", exp.Literal.number(500), node, "moment", zone)
    found = spark("DATE_TRUNC('MILLISECOND', :m)", "moment", zone, m=later)
    return times.with_digits(found, _MILLISECONDS)


def moved(node: exp.Expr, unit: str, count: int, context: Context) -> exp.Expression:
    """An interval behind + or -: of months by the clock, else of elapsed time, days too."""
    if unit in _MONTHS:
        return _by_clock(node, unit, count, context)
    return elapsed(node, count * _MICROS[unit], context)


def elapsed(node: exp.Expr, micros: int, context: Context) -> exp.Expression:
    """So many microseconds later, whatever a clock shows."""
    zone = context.zones.of(node)
    if context.zones.engine == UTC:
        return spark(
            "(:m + :i)", "moment", zone, m=node, i=_interval(micros // 1_000_000, "SECOND")
        )
    return elapsed_micros(node, micros, context)


def elapsed_micros(node: exp.Expr, micros: int, context: Context) -> exp.Expression:
    """The same for fewer than a second, too."""
    zone = context.zones.of(node)
    return spark(f"TIMESTAMP_MICROS(UNIX_MICROS(:m) + {micros}L)", "moment", zone, m=node)


def _by_clock(node: exp.Expr, unit: str, count: int, context: Context) -> exp.Expression:
    """Moves the clock; of a time that it shows twice Spark takes the one with the same offset."""
    zone = zone_of(node, context)
    if zone:
        _check_steady(zone)
    clock = wall(node, context) if zone else node.copy()
    if unit in _MONTHS:
        number, own = count * _MONTHS[unit], "MONTH"
    else:
        number, own = count * (7 if unit == "WEEK" else 1), "DAY"
    found = exp.paren(exp.Add(this=clock, expression=_interval(number, own)))
    if zone:
        return moment(with_kind(found, "local"), zone, context)
    return with_kind(found, "moment", context.zones.of(node))


def _check_steady(zone: str) -> None:
    if not is_steady(zone):
        raise UnsureMeaningError(
            f"days of {zone} may have other hours", "CAST it AS TIMESTAMP before, or add hours"
        )


def _interval(number: int, unit: str) -> exp.Interval:
    return exp.Interval(this=exp.Literal.string(str(number)), unit=exp.var(unit))


def _constant_zone(name: exp.Expr | None) -> str:
    """The zone that a constant names."""
    text = name.name if isinstance(name, exp.Literal) and name.is_string else ""
    zone = zone_named(text)
    if zone is None:
        raise UnsureMeaningError("only constant names of time zones are")
    if zone == UTC and text not in UTC_NAMES:
        raise UnsureMeaningError("Trino knows no time zone of that name", "write UTC")
    return zone


def at_zone(node: exp.Expr, name: exp.Expr | None, context: Context) -> exp.Expression:
    """The same moment, shown in another zone; a time without one is of the session's."""
    zone = _constant_zone(name)
    context.zones.note(zone)
    kind = context.of(node)
    if kind == "local":
        return with_kind(of_session(node, context), "moment", zone)
    if kind != "moment":
        raise UnsureMeaningError(
            "it's known of times alone", "CAST it AS TIMESTAMP, or AS TIMESTAMP WITH TIME ZONE"
        )
    return with_kind(exp.paren(node.copy()), "moment", zone)


def from_unix(node: exp.Expr, name: exp.Expr | None, context: Context) -> exp.Expression:
    """`from_unixtime` of whole seconds, and of doubles that are surely whole."""
    if context.of(node) != "whole" and not numbers.is_step(node):
        raise UnsureMeaningError("only whole seconds are", "CAST it AS BIGINT")
    zone = context.zones.session
    if name is not None:
        zone = _constant_zone(name)
        context.zones.note(zone)
    number = "CAST(:n AS BIGINT)" if numbers.is_step(node) else ":n"
    found = spark(f"TIMESTAMP_SECONDS({number})", "moment", zone, n=node)
    return times.with_digits(found, 0)


def to_unix(node: exp.Expr, context: Context) -> exp.Expression:
    """`to_unixtime` of a moment, or of a time without a zone in a session in UTC: a double.

    Trino adds the digits below a millisecond, as a double, to the milliseconds.
    """
    if context.of(node) == "local":
        if not is_in_utc(context) or context.zones.session != UTC:
            raise UnsureMeaningError(
                "it goes by the session's time zone", "CAST it AS TIMESTAMP WITH TIME ZONE"
            )
        node = spark("CAST(:w AS TIMESTAMP)", "moment", UTC, w=node)
    found = spark("UNIX_MILLIS(:m) / 1e3 + PMOD(UNIX_MICROS(:m), 1000) / 1e6", "double", m=node)
    return numbers.seconds(found)


def milliseconds(node: exp.Expr, kind: str | None, context: Context) -> exp.Expression | None:
    """Since 1970, of a moment or a time without a zone, rounded down; None of others."""
    if kind == "moment":
        return spark("UNIX_MILLIS(:m)", "whole", m=node)
    if kind == "local" and is_in_utc(context):
        return spark("UNIX_MILLIS(CAST(:w AS TIMESTAMP))", "whole", w=node)
    if kind == "local":
        return spark(
            f"CAST(FLOOR(CAST(CAST((:w - {_EPOCH}) AS INTERVAL SECOND) AS DECIMAL(20, 6)) * 1000)"
            " AS BIGINT)",
            "whole",
            w=node,
        )
    return None
