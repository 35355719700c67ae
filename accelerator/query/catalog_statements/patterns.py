"""Spark's patterns of names: `*` is any text, `.` any character, `|` is between alternatives.

Promise: a pattern that Java's regular expressions may read otherwise is None, as only Spark
matches it. A name is matched in time linear in the product of both lengths.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_PLAIN = re.compile(r"[\w\s*|.`@,:;%&!\"'<>=~/#-]*", re.ASCII)
_BREAKS = re.compile("[\n\r\x85\u2028\u2029]")
_BLANKS = "".join(map(chr, range(33)))


def matcher(pattern: str | None) -> Callable[[str], bool] | None:
    """Returns a test of names; None if only Spark can match the pattern.

    >>> [bool(matcher("S*|plain")(one)) for one in ("sales", "plain", "plainer")]
    [True, True, False]
    """
    if pattern is None:
        return lambda _name: True
    if not _PLAIN.fullmatch(pattern) or _BREAKS.search(pattern):
        return None
    alternatives = pattern.strip(_BLANKS).split("|")
    while len(alternatives) > 1 and not alternatives[-1]:  # as Java splits a text
        alternatives.pop()
    if alternatives == [""] and pattern.strip(_BLANKS):
        alternatives = []
    lowered = [_lower(one) for one in alternatives]
    return lambda name: any(_fits(one, _lower(name)) for one in lowered)


def _lower(text: str) -> str:
    """A text with the letters of ASCII in lower case, as Java ignores case."""
    return re.sub(r"[A-Z]+", lambda found: found[0].lower(), text)


def _fits(pattern: str, name: str) -> bool:
    """Decides whether the whole name fits; `*` and `.` match no line's end."""
    if _BREAKS.search(name):
        return False
    at = place = 0
    star, since = -1, 0
    while at < len(name):
        if place < len(pattern) and pattern[place] == "*":
            star, since = place, at
            place += 1
        elif place < len(pattern) and pattern[place] in (".", name[at]):
            place, at = place + 1, at + 1
        elif star >= 0:
            since += 1
            place, at = star + 1, since
        else:
            return False
    return all(one == "*" for one in pattern[place:])
