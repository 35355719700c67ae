"""In which time zone Trino shows a moment, which its parts and its beginnings go by.

Trino's moments carry a zone each: UTC where they're read from a table, the session's where they're
made by it, and what AT TIME ZONE says. Spark's have none, and go by the session's.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from sqlglot import exp

from rewrite.dialect_kinds import Kinds

UTC = "UTC"
_ITSELF = ""
ZONE = "zone"
"""Under this name a node may tell its moments' time zone, in `meta`."""
_SAME = (
    *(exp.Paren, exp.Min, exp.Max, exp.Filter, exp.Window, exp.Alias, exp.Lag, exp.Lead),
    *(exp.FirstValue, exp.LastValue, exp.AnyValue, exp.ArgMax, exp.ArgMin, exp.Add, exp.Sub),
    *(exp.DateAdd, exp.TimestampTrunc, exp.DateTrunc, exp.Nullif),
)
"""Those whose moments are in the zone of their first operand."""
_OFFSET = re.compile(r"[+-](?:0[0-9]|1[0-3]):[0-5][0-9]")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*")
_CONSTANT = re.compile(r"TIMESTAMP '[^ ']+(?: [0-9:.]+)? ?([^']*)'")
_UTC = frozenset({"utc", "z", "gmt", "ut", "zulu", "etc/utc", "etc/gmt", "etc/zulu", "+00:00"})


class Zones:
    """Tells the time zone of a statement's moments; None where it isn't known."""

    def __init__(self, kinds: Kinds, session: str | None) -> None:
        """`session` is the zone of the session, as Spark has it; None where nobody has told it."""
        self._kinds = kinds
        self.session = None if session is None else known_zone(session) or session
        self.foreign: set[str] = set()
        self._asked: set[int] = set()

    def note(self, zone: str) -> None:
        """A moment is shown in that zone, as the statement says; but UTC it's foreign."""
        self.foreign |= {zone} - {UTC}

    def of(self, node: exp.Expr | None) -> str | None:
        """The zone that its moments are shown in; None where that isn't known."""
        return self._found(node) or None

    def _found(self, node: exp.Expr | None) -> str | None:
        """The same; `_ITSELF` for an output that is made of itself."""
        if node is None:
            return None
        told = node.meta_get(ZONE)
        if told is not None:
            return str(told)
        if isinstance(node, exp.Column):
            return self._of_column(node)
        if isinstance(node, exp.Var):  # a constant that is translated already
            found = _CONSTANT.fullmatch(node.name)
            return None if found is None else known_zone(found[1]) if found[1] else self.session
        if isinstance(node, exp.AtTimeZone):
            zone = node.args.get("zone")
            return known_zone(zone.name) if isinstance(zone, exp.Literal) else None
        if isinstance(node, exp.UnixToTime):
            zone = node.args.get("zone")
            return self.session if zone is None else known_zone(zone.name)
        if isinstance(node, exp.Cast) and node.to.this is exp.DataType.Type.TIMESTAMPTZ:
            of_local = self._kinds.of(node.this) in ("date", "local")
            return self.session if of_local else None
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Select):
            shown = node.this.expressions
            return self._found(shown[0]) if len(shown) == 1 else None
        return self._of_operands(node)

    def _of_operands(self, node: exp.Expr) -> str | None:
        operands: list[exp.Expr | None] = []
        if isinstance(node, _SAME):
            operands = [node.this]
        elif isinstance(node, exp.Coalesce):
            operands = [node.this, *node.expressions]
        elif isinstance(node, exp.If):
            operands = [node.args.get("true"), node.args.get("false")]
        elif isinstance(node, exp.Case):
            operands = [one.args.get("true") for one in node.args.get("ifs") or ()]
            operands.append(node.args.get("default"))
        given = [one for one in operands if one is not None and not isinstance(one, exp.Null)]
        return _one({self._found(one) for one in given})

    def _of_column(self, node: exp.Column) -> str | None:
        """A table's is in UTC; an output of that name has the zone of what it's made of."""
        if id(node) in self._asked:
            return _ITSELF
        known = self._kinds.is_table_column(node.name.lower())
        found = set[str | None]({UTC} if known else ())
        self._asked.add(id(node))
        found |= {
            self._found(output)
            for output in self._kinds.visible_outputs(node)
            if not _is_itself(output, node)
        }
        self._asked.remove(id(node))
        return _one(found)


def _one(found: set[str | None]) -> str | None:
    """The one zone of all."""
    found = found - {_ITSELF} or found
    return found.pop() if len(found) == 1 else None


def known_zone(name: str) -> str | None:
    """A time zone as Java has it: UTC, an offset like +01:00, or a name; None for what is none.

    >>> known_zone("Europe/Berlin"), known_zone("utc"), known_zone("Nowhere/City")
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


_END_YEAR = 2040
"""From here on clocks are put back as in the years before."""


def _is_itself(output: exp.Expr, node: exp.Column) -> bool:
    """Whether an output is a column of its own name."""
    return isinstance(output, exp.Column) and output.name.lower() == node.name.lower()
