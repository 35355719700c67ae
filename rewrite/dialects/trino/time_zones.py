"""In which time zone Trino shows a moment, which its parts and its beginnings go by.

Trino's moments carry a zone each: UTC where they're read from a table, the session's where they're
made by it, and what AT TIME ZONE says. Spark's have none, and go by the session's.
"""

from __future__ import annotations

import re
from datetime import UTC as UNIVERSAL
from datetime import date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from sqlglot import exp

from rewrite.dialects.value_kinds import ZONE, Kinds

UTC = "UTC"
_SAME = (
    *(exp.Paren, exp.Min, exp.Max, exp.Filter, exp.Window, exp.Alias, exp.Lag, exp.Lead),
    *(exp.FirstValue, exp.LastValue, exp.AnyValue, exp.ArgMax, exp.ArgMin, exp.Add, exp.Sub),
    *(exp.DateAdd, exp.TimestampTrunc, exp.DateTrunc, exp.Nullif),
)
"""Those whose moments are in the zone of their first operand."""
_OFFSET = re.compile(r"[+-](?:0[0-9]|1[0-3]):[0-5][0-9]")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*")
_CONSTANT = re.compile(r"TIMESTAMP '[^ ']+(?: [0-9:.]+)? ?([^']*)'")
UTC_NAMES = frozenset({"UTC", "GMT", "UT", "Z", "Zulu", "Etc/UTC", "Etc/GMT", "+00:00", "-00:00"})
"""The names of UTC that Trino knows."""
_UTC = {name.lower() for name in UTC_NAMES} | {"etc/zulu"}


class Zones:
    """Tells the time zone of a statement's moments; None where it isn't known."""

    def __init__(self, kinds: Kinds, session: str | None, engine: str | None = None) -> None:
        """`session` is the zone of the client's session; None if no client named one.

        `engine` is the zone that Spark's functions go by; None if it's the session's.
        """
        self._kinds = kinds
        self.session = None if session is None else zone_named(session) or session
        self.engine = self.session if engine is None else zone_named(engine) or engine
        self.foreign: set[str] = set()

    def note(self, zone: str) -> None:
        """A moment is shown in that zone, as the statement says; but UTC it's foreign."""
        self.foreign |= {zone} - {UTC}

    def of(self, node: exp.Expr | None) -> str | None:
        """The zone that its moments are shown in; None if that isn't known."""
        if node is None:
            return None
        marked = node.meta_get(ZONE)
        if marked is not None:
            return str(marked)
        if isinstance(node, exp.Column):
            return None
        if isinstance(node, exp.Var):  # a constant that is translated already
            found = _CONSTANT.fullmatch(node.name)
            return None if found is None else zone_named(found[1]) if found[1] else self.session
        if isinstance(node, exp.AtTimeZone):
            return _named(node.args.get("zone"))
        if isinstance(node, exp.UnixToTime):
            zone = node.args.get("zone")
            return self.session if zone is None else _named(zone)
        if isinstance(node, exp.Anonymous):
            is_zoned = str(node.this).lower() in ("at_timezone", "with_timezone")
            is_shown = is_zoned and len(node.expressions) == 2
            return _named(node.expressions[1]) if is_shown else None
        if isinstance(node, exp.Bracket):
            element = self._kinds.element(node.this)
            return None if element is None else element.zone
        if isinstance(node, exp.Cast) and node.to.this is exp.DataType.Type.TIMESTAMPTZ:
            if isinstance(node.this, exp.Literal) and node.this.is_string:
                found = _CONSTANT.fullmatch(f"TIMESTAMP '{node.this.name}'")
                return None if found is None else zone_named(found[1]) if found[1] else self.session
            of_local = self._kinds.of(node.this) in ("date", "local")
            return self.session if of_local else None
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Select):
            shown = node.this.expressions
            return self.of(shown[0]) if len(shown) == 1 else None
        return self._of_operands(node)

    def _of_operands(self, node: exp.Expr) -> str | None:
        operands: list[exp.Expr | None] = []
        if isinstance(node, _SAME):
            operands = [node.this]
        elif isinstance(node, (exp.Coalesce, exp.Greatest, exp.Least)):
            operands = [node.this, *node.expressions]
        elif isinstance(node, exp.If):
            operands = [node.args.get("true"), node.args.get("false")]
        elif isinstance(node, exp.Case):
            operands = [one.args.get("true") for one in node.args.get("ifs") or ()]
            operands.append(node.args.get("default"))
        given = [one for one in operands if one is not None and not isinstance(one, exp.Null)]
        zones = {self.of(one) for one in given}
        return zones.pop() if len(zones) == 1 else None


def _named(node: exp.Expr | None) -> str | None:
    return zone_named(node.name) if isinstance(node, exp.Literal) else None


def zone_named(name: str) -> str | None:
    """A time zone as Java has it: UTC, an offset like +01:00, or a name; None for what is none.

    >>> zone_named("Europe/Berlin"), zone_named("utc"), zone_named("Nowhere/City")
    ('Europe/Berlin', 'UTC', None)
    """
    if name.lower() in _UTC:
        return UTC
    if _OFFSET.fullmatch(name):
        return name
    if _NAME.fullmatch(name) is None or "/" not in name:
        return None
    try:
        return ZoneInfo(name).key
    except (KeyError, ValueError, OSError):
        return None


def is_steady(zone: str) -> bool:
    """Whether its clocks are never put forward or back."""
    return zone == UTC or zone[:1] in ("+", "-")


@lru_cache(64)
def has_midnight_twice(zone: str, first: int = 1850) -> bool:
    """Whether from that year on a day begins twice by its clocks; takes tens of milliseconds.

    >>> has_midnight_twice("Europe/Berlin", 1970), has_midnight_twice("Europe/Berlin")
    (False, True)
    """
    if is_steady(zone):
        return False
    known = ZoneInfo(zone)
    days = range(date(first, 1, 1).toordinal(), date(_END_YEAR, 1, 1).toordinal())
    for day in days:
        midnight = datetime.fromordinal(day).replace(tzinfo=known)
        earlier, later = midnight.utcoffset(), midnight.replace(fold=1).utcoffset()
        if earlier is not None and later is not None and earlier > later:
            return True
    return False


@lru_cache(64)
def takes_later(zone: str) -> bool | None:
    """Returns whether Trino takes the later moment of two that a clock shows; None if it varies.

    It reads the clock's text as one of UTC, and takes the offset of that moment: the later one of
    zones east of Greenwich. Takes tens of milliseconds.

    >>> takes_later("Europe/Berlin"), takes_later("America/New_York")
    (True, False)
    """
    if is_steady(zone):
        return False
    known, found = ZoneInfo(zone), set[bool | None]()
    before = timedelta(0)
    for day in range(_FIRST_DAY, date(_END_YEAR, 1, 1).toordinal(), _WEEK):
        midnight = datetime.fromordinal(day).replace(tzinfo=UNIVERSAL)
        behind = midnight.astimezone(known).utcoffset() or timedelta(0)
        if behind < before and day > _FIRST_DAY:
            zero = timedelta(0)
            found.add(True if behind >= zero else False if before <= zero else None)
        before = behind
    return found.pop() if len(found) == 1 else None if found else False


_FIRST_DAY = date(1900, 1, 1).toordinal()
_WEEK = 7
_END_YEAR = 2040
"""From here on clocks are put back as in the years before."""
