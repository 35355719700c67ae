"""Texts of others as a terminal may have them.

Names and values come from warehouses. Promise: none of them moves a cursor, names a window or turns
the text round.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    r"\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""What moves the cursor, turns the text round, breaks a line unseen, or isn't seen at all; and
halves of characters. Joiners, which scripts and emoji need, aren't among them."""
_NAMES_MAX = 8


def printable(text: str) -> str:
    r"""The text with controls as in JSON, e.g. `\u001b`; line ends and tabs stay."""
    return CONTROLS.sub(_escape, text)


def some_of(names: Sequence[str]) -> str:
    """The names in a line: the first ones, where there are many."""
    shown = ", ".join(names[:_NAMES_MAX])
    text = f"{shown}, … of {len(names)}" if len(names) > _NAMES_MAX else shown
    return one_line(text)


def one_line(text: str) -> str:
    """The same of a text that may not break the line that it stands in: its own are escaped."""
    return printable(text.replace("\n", "\\n").replace("\t", "\\t"))


def shortened(text: str, most: int) -> str:
    """Returns the text; of a longer one the beginning, so long with an ellipsis behind it."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
