"""What plans tell of themselves to people: a tree of steps, each with a note beside it.

Example: `cube sales`, beside it `4 of 4 files by 1 segment`, below it `day >= DATE '2024-03-01'`.
Who shows a plan prints these as text, JSON or HTML; nobody takes texts apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from rewrite.text.printable import shortened

_SHOWN = 500
"""Characters of a predicate that are shown."""
_UNITS = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


class ExplainStep(Struct, frozen=True):
    """One line of the tree, and what stands below it."""

    text: str
    note: str = ""
    below: tuple[ExplainStep, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        below = [one.to_dict() for one in self.below]
        return {"step": self.text, "note": self.note, "below": below}


def size(number: float) -> str:
    """Bytes in the unit that leaves three digits, e.g. `12.9 MB`."""
    for unit, one in _UNITS:
        if number >= 0.9995 * one:
            value = number / one
            places = 2 if value < 9.995 else 1 if value < 99.95 else 0
            return f"{value:.{places}f} {unit}"
    return f"{number:.0f} B"


def counted(number: int, noun: str) -> str:
    """E.g. `1 file`, `4,000 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def notes(texts: Iterable[str]) -> str:
    """Those that say something, one after the other."""
    return ", ".join(text for text in texts if text)


def short(text: str) -> str:
    """Returns a predicate's text, cut if it's long."""
    return shortened(text, _SHOWN)
