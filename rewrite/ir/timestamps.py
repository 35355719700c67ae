"""A timestamp's text as what Spark's cast to TIMESTAMP or TIMESTAMP_NTZ gives, ANSI on.

Only full dates and times are read; for any other text, and a time zone unknown here, the answer is
None, which leaves the statement to Spark. Zones whose offset changes are read by this machine's
time zone data: in predicates only for the years in which it agrees with Java's.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_OFFSET = r"Z|[+-]\d\d:\d\d"
_TEXT = re.compile(
    r"(\d{4}-\d\d-\d\d)"
    rf"(?:[ T](?:(\d\d:\d\d)|(\d\d:\d\d:\d\d)(?:\.(\d{{1,9}}))?({_OFFSET})?))?",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1)
_FIXED = frozenset({"UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z"})
_REGION = re.compile(r"[A-Z]\w+(?:/[A-Z][\w+-]+)+", re.ASCII)
_AGREED = range(2000, 2038)
"""Years in which editions of the time zone data don't differ, but for changes of the rules of late:
of earlier years the packagers keep more or less."""


def is_utc(zone: str | None) -> bool:
    """Whether the zone has UTC's clock at all times, by its name."""
    return zone in _FIXED


@lru_cache(maxsize=64)
def has_plain_clock(zone: str | None) -> bool:
    """Decides whether the zone's clock changes only by whole hours at whole hours, at no midnight.

    In the years in which all editions of the time zone data agree. Each of its days has one
    midnight then, and each hour of it 60 minutes.

    >>> has_plain_clock("Europe/Berlin"), has_plain_clock("America/Sao_Paulo"), has_plain_clock("")
    (True, False, False)
    """
    known = _zone(zone)
    if not isinstance(known, ZoneInfo) or zone is None or not _REGION.fullmatch(zone):
        return False
    first, end = datetime(_AGREED[0], 1, 1, tzinfo=UTC), datetime(_AGREED[-1] + 1, 1, 1, tzinfo=UTC)
    days = (end - first).days
    times = [(first + timedelta(days=day)).astimezone(known) for day in range(days + 1)]
    return all(
        _is_plain_change(before, known)
        for before, after in pairwise(times)
        if before.utcoffset() != after.utcoffset()
    )


def _is_plain_change(day: datetime, zone: tzinfo) -> bool:
    """Decides whether the change within the next 24 hours is one of whole hours, at no midnight."""
    start = day.astimezone(UTC)
    clocks = [(start + timedelta(minutes=30 * half)).astimezone(zone) for half in range(49)]
    for before, after in pairwise(clocks):
        if before.utcoffset() == after.utcoffset():
            continue
        moved = (after.utcoffset() or timedelta()) - (before.utcoffset() or timedelta())
        at = after.replace(tzinfo=None)
        hours = sorted((at, at - moved))
        midnight = hours[1].replace(hour=0, minute=0, second=0, microsecond=0)
        whole = moved % timedelta(hours=1) == timedelta() and (at.minute, at.second) == (0, 0)
        if not whole or hours[0] <= midnight:
            return False
    return True


def instant_ms(text: str, zone: str | None) -> int | None:
    """Milliseconds since 1970, read in the zone unless the text has an offset of its own.

    A time that the zone skips or has twice is taken as Java takes it: by the earlier offset.

    >>> instant_ms("2020-01-01 00:00:01.25", "UTC"), instant_ms("2020-01-01T00:00:00+01:00", None)
    (1577836801250, 1577833200000)
    >>> instant_ms("yesterday", "UTC"), instant_ms("2020-01-01", "Nowhere/City")
    (None, None)
    """
    read = _read(text)
    known = None if read is None else _zone(read[1] or zone)
    if read is None or known is None:
        return None
    try:
        return _micros(_in_utc(read[0], known)) // 1000
    except OverflowError:
        return None


def clock(moment: datetime, zone: str | None) -> datetime | None:
    """Returns what the zone's clocks show at that moment; None for an unknown zone.

    >>> clock(datetime(2026, 7, 1, 23, tzinfo=UTC), "Europe/Berlin").isoformat()
    '2026-07-02T01:00:00'
    """
    known = _agreed(moment.replace(tzinfo=None), zone)
    return None if known is None else moment.astimezone(known).replace(tzinfo=None)


def moment(text: str, type_: str, zone: str | None) -> str | None:
    """The text's value of that type in one form: `2020-01-01 00:00:01.250000`, an instant in UTC.

    Digits behind the microseconds are cut off, as Spark does.

    >>> moment("2020-01-01T00:00:01.25+01:00", "timestamp", None)
    '2019-12-31 23:00:01.250000'
    >>> moment("2020-01-01", "timestamp_ntz", None), moment("2020-02-30", "timestamp_ntz", None)
    ('2020-01-01 00:00:00.000000', None)
    """
    read = _read(text)
    if read is None:
        return None
    local, offset = read
    if type_ == "timestamp_ntz":
        return _form(local) if offset is None else None
    known = _agreed(local, offset or zone)
    try:
        return None if known is None else _form(_in_utc(local, known))
    except OverflowError:
        return None


def midnight(text: str, type_: str, zone: str | None) -> str | None:
    """As `moment`, of a date: where a zone skips its midnight, Spark takes the day's first time."""
    local = datetime.fromisoformat(text)
    known = None if type_ == "timestamp_ntz" else _agreed(local, zone)
    if known is not None and _is_skipped(local, known):
        return None
    return moment(text, type_, zone)


def micros_of(form: str) -> int:
    """Microseconds since 1970 of what `moment` has given."""
    return _micros(datetime.fromisoformat(form))


def _read(text: str) -> tuple[datetime, str | None] | None:
    """The date and time that are written, and the offset; None where Spark may read otherwise."""
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    day, short, time, fraction, offset = found.groups()
    try:
        read = datetime.fromisoformat(f"{day}T{time or short or '00:00'}")
    except ValueError:
        return None
    return read.replace(microsecond=int(f"{fraction or 0:0<6}"[:6])), offset


def _form(moment: datetime) -> str:
    return moment.isoformat(" ", "microseconds")


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _in_utc(local: datetime, zone: tzinfo) -> datetime:
    return local.replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None)


def _is_skipped(local: datetime, zone: tzinfo) -> bool:
    """Whether no clock of the zone has ever shown it."""
    back = _in_utc(local, zone).replace(tzinfo=UTC).astimezone(zone)
    return back.replace(tzinfo=None) != local


def _agreed(local: datetime, zone: str | None) -> tzinfo | None:
    """The zone, where its offset at that time is certain."""
    known = _zone(zone)
    if zone is None or isinstance(known, timezone):
        return known
    return known if local.year in _AGREED and _REGION.fullmatch(zone) else None


def _zone(zone: str | None) -> tzinfo | None:
    """The zone of that name or offset; a `timezone` where the offset never changes."""
    if not zone:
        return None
    if zone in _FIXED:
        return UTC
    if re.fullmatch(_OFFSET, zone, re.ASCII):
        hours, minutes = int(zone[1:3]), int(zone[4:])
        size = timedelta(hours=hours, minutes=minutes)
        fits = size <= timedelta(hours=18) and minutes < 60
        return timezone(-size if zone[0] == "-" else size) if fits else None
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
