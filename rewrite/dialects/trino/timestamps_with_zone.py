"""Trino's moments, which carry a time zone each, as Spark SQL: their parts, beginnings and sums.

Spark's go by the session's zone. Where a moment's is that one, Spark's own functions mean the same;
else the wall clock of its zone is computed as a time without one, by UTC, so that no hour of the
session's zone matters. Steps of hours are of elapsed time to Trino, intervals of days too.
"""

from __future__ import annotations

import re

from sqlglot import exp

from rewrite.dialects.rule import Context, UnsureMeaningError, spark, with_kind
from rewrite.dialects.trino import dates as times
from rewrite.dialects.trino.time_zones import UTC, has_midnight_twice, is_steady, zone_named

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
_FIRST_KNOWN = 1970
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
    if context.zones.engine == UTC:
        universal = spark("CAST(:m AS TIMESTAMP_NTZ)", "local", m=node)
    else:
        universal = spark(
            f"{_EPOCH} + MAKE_DT_INTERVAL(0, 0, 0,"
            " CAST(UNIX_MICROS(:m) AS DECIMAL(20, 0)) / 1000000)",
            "local",
            m=node,
        )
    if zone == UTC:
        return universal
    return spark("CONVERT_TIMEZONE('UTC', :z, :w)", "local", z=zone, w=universal)


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


def of_session(clock: exp.Expr, context: Context) -> exp.Expression:
    """The moment at which a clock of the session shows that; the later one of two.

    Spark takes the earlier one. So the next day's offset is tried: it's the later one's.
    """
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
    if is_steady(session):
        return spark("CAST(:w AS TIMESTAMP)", "moment", session, w=clock)
    later = f"TIMESTAMP_MICROS(UNIX_MICROS(CAST(:w + INTERVAL '1' DAY AS TIMESTAMP)) - {_DAY}L)"
    return spark(
        f"CASE WHEN CAST({later} AS TIMESTAMP_NTZ) = :w THEN {later} ELSE CAST(:w AS TIMESTAMP)"
        " END",
        "moment",
        session,
        w=clock,
    )


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
    if is_sparks or not {*kinds.values()} & {"local", "date"}:
        return None
    if not isinstance(node, exp.Binary):
        raise UnsureMeaningError("times with and without a zone are compared", "CAST them alike")
    for part, one in sides.items():
        if kinds[part] in ("local", "date"):
            clock = times.local(one) if kinds[part] == "date" else one
            node.set(part, of_session(clock, context))
    return None


def is_sparks(node: exp.Expr, context: Context) -> bool:
    """Whether it goes by the session's zone: its own, or where nobody has told one, a table's."""
    return is_untold(node, context) or not zone_of(node, context)


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


def added(node: exp.Expr, unit: str, number: exp.Expr | None, context: Context) -> exp.Expression:
    """`date_add` of a constant number: days and more by the clock of its zone, less by time."""
    count = times.whole(number)
    if count is None or abs(count) > _MOST or unit not in _MICROS | _MONTHS:
        raise UnsureMeaningError("only constant numbers of a unit from second to year are")
    if unit in ("HOUR", "MINUTE", "SECOND"):
        return elapsed(node, count * _MICROS[unit], context)
    return _by_clock(node, unit, count, context)


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
    """Where clocks show a time twice, Spark takes the one with the same offset, as Trino does."""
    zone = zone_of(node, context)
    if zone and not is_steady(zone):
        raise UnsureMeaningError(
            f"days of {zone} may have other hours", "CAST it AS TIMESTAMP before, or add hours"
        )
    clock = wall(node, context) if zone else node.copy()
    if unit in _MONTHS:
        number, own = count * _MONTHS[unit], "MONTH"
    else:
        number, own = count * (7 if unit == "WEEK" else 1), "DAY"
    found = exp.paren(exp.Add(this=clock, expression=_interval(number, own)))
    if zone:
        return moment(with_kind(found, "local"), zone, context)
    return with_kind(found, "moment", context.zones.of(node))


def _interval(number: int, unit: str) -> exp.Interval:
    return exp.Interval(this=exp.Literal.string(str(number)), unit=exp.var(unit))


def at_zone(node: exp.Expr, name: exp.Expr | None, context: Context) -> exp.Expression:
    """The same moment, shown in another zone; a time without one is of the session's."""
    zone = zone_named(name.name) if isinstance(name, exp.Literal) and name.is_string else None
    if zone is None:
        raise UnsureMeaningError("only constant names of time zones are")
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
    """`from_unixtime` of whole seconds."""
    if context.of(node) != "whole":
        raise UnsureMeaningError("only whole seconds are", "CAST it AS BIGINT")
    zone = context.zones.session
    if name is not None:
        zone = zone_named(name.name) if isinstance(name, exp.Literal) else None
        if zone is None:
            raise UnsureMeaningError("only constant names of time zones are")
        context.zones.note(zone)
    return spark("TIMESTAMP_SECONDS(:n)", "moment", zone, n=node)


def to_unix(node: exp.Expr, context: Context) -> exp.Expression:
    """`to_unixtime` of a moment, a double."""
    if context.of(node) != "moment":
        raise UnsureMeaningError(
            "it's known of moments alone", "CAST it AS TIMESTAMP WITH TIME ZONE"
        )
    return spark("CAST(UNIX_MICROS(:m) AS DOUBLE) / 1e6", "double", m=node)


def milliseconds(node: exp.Expr, kind: str | None) -> exp.Expression | None:
    """Since 1970, of a moment or a time without a zone, rounded down; None of others."""
    if kind == "moment":
        return spark("UNIX_MILLIS(:m)", "whole", m=node)
    if kind == "local":
        return spark(
            f"CAST(FLOOR(CAST(CAST((:w - {_EPOCH}) AS INTERVAL SECOND) AS DECIMAL(20, 6)) * 1000)"
            " AS BIGINT)",
            "whole",
            w=node,
        )
    return None
