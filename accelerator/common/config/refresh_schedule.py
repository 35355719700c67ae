"""When a cube or index is brought up to date: never by itself, at each commit, or now and then.

The one place for the words of `SET REFRESH`, of the setting `refresh` and of the store's records.
Pure. Promise: `parsed(one.text) == one`, and a text that means nothing here is a StatementError.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from accelerator.errors import ConfigError, StatementError

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
_INTERVAL = re.compile(r"\s*(\d{1,12})\s*([a-z]{1,8})\s*", re.IGNORECASE | re.ASCII)
SECONDS_MIN, SECONDS_MAX = 10, 365 * 86_400
_HINT = "give seconds, minutes, hours or days, from 10 seconds to 365 days: '10 minutes'"
_WORDS = ("manual", "on_commit")


@dataclass(frozen=True, slots=True)
class When:
    """`every_s` seconds after the last run began at the earliest, if `automatic` at all.

    0: at once, at each commit.
    """

    automatic: bool
    every_s: int = 0

    @property
    def text(self) -> str:
        """As settings and records have it: `manual`, `on_commit` or an interval."""
        if not self.every_s:
            return "on_commit" if self.automatic else "manual"
        unit, size = max(
            ((u, s) for u, s in _UNITS.items() if not self.every_s % s), key=lambda one: one[1]
        )
        count = self.every_s // size
        return f"{count} {unit}{'' if count == 1 else 's'}"


MANUAL, ON_COMMIT = When(False), When(True)


def every(interval: str) -> When:
    """Now and then: `10 minutes`. StatementError for what is no interval, or out of bounds."""
    match = _INTERVAL.fullmatch(interval)
    unit = match[2].lower().removesuffix("s") if match else ""
    if match is None or unit not in _UNITS:
        raise StatementError(f"{interval[:80]!r} is no interval", hint=_HINT)
    seconds = int(match[1]) * _UNITS[unit]
    if not SECONDS_MIN <= seconds <= SECONDS_MAX:
        bound = "shorter than 10 seconds" if seconds < SECONDS_MIN else "longer than 365 days"
        raise StatementError(f"the interval {interval[:80]!r} is {bound}", hint=_HINT)
    return When(True, seconds)


def parsed(text: str) -> When:
    """The meaning of `manual`, `on_commit` or an interval. StatementError for any other text."""
    lowered = text.strip().lower()
    if lowered in _WORDS:
        return ON_COMMIT if lowered == "on_commit" else MANUAL
    return every(text)


def of(text: str | None, otherwise: str) -> When:
    """What a record says, or the setting where it says nothing; ConfigError where that can't be.

    A record that a later release wrote in words that aren't known here is left alone: manual.
    """
    if text is not None:
        try:
            return parsed(text)
        except StatementError:
            return MANUAL
    try:
        return parsed(otherwise)
    except StatementError as error:
        raise ConfigError(f"the setting refresh: {error.message}", hint=error.hint) from error
