"""A timestamp's text as an instant, for time travel: what Spark's cast to TIMESTAMP gives.

Only full dates and times are read; for any other text, and a time zone unknown here, the answer is
None, which leaves the statement to Spark.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_TEXT = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d:\d\d)?)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instant_ms(text: str, zone: str | None) -> int | None:
    """Milliseconds since 1970, read in the zone unless the text has an offset of its own.

    A time that the zone skips or has twice is taken as Java takes it: by the earlier offset.

    >>> instant_ms("2020-01-01 00:00:01.25", "UTC"), instant_ms("2020-01-01T00:00:00+01:00", None)
    (1577836801250, 1577833200000)
    >>> instant_ms("yesterday", "UTC"), instant_ms("2020-01-01", "Nowhere/City")
    (None, None)
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    day, time, fraction, offset = found.groups()
    known = _zone(offset, zone)
    if known is None:
        return None
    try:
        read = datetime.fromisoformat(f"{day}T{time or '00:00:00'}").replace(tzinfo=known)
        micros = (read - _EPOCH) // timedelta(microseconds=1) + int(f"{fraction or 0:0<6}")
    except (ValueError, OverflowError):
        return None
    return micros // 1000


def _zone(offset: str | None, zone: str | None) -> tzinfo | None:
    if offset == "Z":
        return UTC
    if offset is not None:
        hours, minutes = int(offset[1:3]), int(offset[4:])
        size = timedelta(hours=hours, minutes=minutes)
        fits = size <= timedelta(hours=18) and minutes < 60
        return timezone(-size if offset[0] == "-" else size) if fits else None
    try:
        return ZoneInfo(zone) if zone else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
