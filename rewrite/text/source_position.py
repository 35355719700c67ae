"""A place in a statement's text, as people are shown it: line, column, and the line with a mark.

Text is data. Promise: what is shown of a line has no control in it, is no wider than a terminal of
80 characters, and the mark stands below its word, of wide letters too.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from rewrite.text.printable import CONTROLS

_BEFORE, _SHOWN = 40, 76


class SourcePosition(NamedTuple):
    """A word in a text; `line` and `column` count from 1, `shown` is the line and the mark.

    A tuple, since errors need it, and `accelerator --help` errors: msgspec's import takes 10 ms.
    """

    line: int
    column: int
    shown: str


def place_of(sql: str, start: int, end: int) -> SourcePosition:
    r"""The place of the characters from `start` up to `end`.

    >>> place_of("SELECT a\nFORM t", 9, 13)
    SourcePosition(line=2, column=1, shown='FORM t\n^^^^')
    """
    first = sql.rfind("\n", 0, start) + 1
    last = sql.find("\n", start)
    last = len(sql) if last < 0 else last
    column = start - first
    cut = max(0, column - _BEFORE) if last - first > _SHOWN else 0
    text = CONTROLS.sub(" ", sql[first + cut : min(last, first + cut + _SHOWN)].replace("\t", " "))
    before, marked = text[: column - cut], text[column - cut : max(0, end - first - cut)]
    lead, tail = "… " * bool(cut), " …" * (first + cut + _SHOWN < last)
    mark = " " * (len(lead) + _width(before)) + "^" * max(1, _width(marked))
    return SourcePosition(sql.count("\n", 0, start) + 1, column + 1, f"{lead}{text}{tail}\n{mark}")


def offset_of(sql: str, line: int, column: int) -> int:
    r"""The number of characters before a place in the text.

    >>> offset_of("SELECT a\nFORM t", 2, 1)
    9
    """
    start = 0
    for _ in range(line - 1):
        start = sql.find("\n", start) + 1
    return start + column - 1


def _width(text: str) -> int:
    """Of a terminal's cells."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )
