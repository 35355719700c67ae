"""A statement's text as the words and signs that Spark's lexer makes of it, comments left out.

Nothing is parsed, and no parser is loaded. Promise: a text that Spark's lexer may cut in another
way than this gives None (settings in the text, quoting by dollars).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from rewrite.text.spark_keywords import KEYWORDS

Kind = Literal["keyword", "plain", "quoted", "string", "number", "sign", "unclosed"]
_UNSURE = ("$", "://")
_BLANKS = re.compile(r"[ \t\n\f\r\v]+|--.*", re.DOTALL)
_CHARACTERS_MAX = 200_000
_TOKEN = re.compile(
    r"""
    (?P<space>\s+ | --(?:\\\n|[^\r\n])*)
  | (?P<comment>/\*(?!\+)(?:[^*/]|\*(?!/)|/(?!\*))*+\*/)
  | (?P<string>[rR]'[^']*' | [rR]"[^"]*" | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*")
  | (?P<quoted>`(?:[^`]|``)*`)
  | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:[bB][dD]|[lLsSyYfFdD])?(?!\w))
  | (?P<word>\w+)
  | (?P<unclosed>['"`] | /\*(?!\+))
  | (?P<sign>/\*\+ | \*/ | [^\w\s])
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(Struct, frozen=True):
    """A word, literal or sign; `key` is a word in capitals, or the sign; empty of the others.

    `unclosed` is a quote, or a comment, that has no end.
    """

    kind: Kind
    key: str
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        """Whether to Spark's grammar it's an identifier and nothing else."""
        return self.kind in ("plain", "quoted")

    def name(self, sql: str) -> str:
        """Its text in the statement, without backticks."""
        text = sql[self.start : self.end]
        return text[1:-1].replace("``", "`") if self.kind == "quoted" else text


def scanned(sql: str) -> list[Token] | None:
    """The tokens; an unclosed one is the last. None where Spark may cut the text otherwise."""
    if len(sql) > _CHARACTERS_MAX or any(one in sql for one in _UNSURE):
        return None
    found: list[Token] = []
    position = 0
    while position < len(sql):
        match = _TOKEN.match(sql, position)
        if match is None:
            return None
        start, position, kind = position, match.end(), match.lastgroup or ""
        if kind == "space" and not _BLANKS.fullmatch(match[0]):
            return None
        if match[0] == "/*" and sql.find("/*", position) >= 0:  # comments may nest
            return None
        if kind not in ("space", "comment"):
            found.append(_token(kind, match[0], start, position))
        if kind == "unclosed":
            break
    return found


def _token(kind: str, text: str, start: int, end: int) -> Token:
    if kind == "word":
        key = text.upper()
        return Token("keyword" if key in KEYWORDS else "plain", key, start, end)
    if kind == "sign":
        return Token("sign", text, start, end)
    if kind == "unclosed":
        return Token("unclosed", text, start, end)
    if kind == "quoted":
        return Token("quoted", "", start, end)
    return Token("string" if kind == "string" else "number", "", start, end)


def name_at(sql: str, tokens: list[Token], place: int) -> tuple[tuple[str, ...], int]:
    """The name with its dots that begins at that token, and the number of the token behind it.

    No parts where a part isn't surely an identifier: a keyword may be something else.
    """
    parts: list[str] = []
    while place < len(tokens) and tokens[place].is_name:
        parts.append(tokens[place].name(sql))
        place += 1
        if place == len(tokens) or tokens[place].key != ".":
            return tuple(parts), place
        place += 1
    return (), place


def unpaired(keys: Iterable[str]) -> tuple[int, str] | None:
    """The number of a parenthesis without a partner, and what is wrong with it.

    >>> unpaired("(()"), unpaired("())"), unpaired("()")
    ((0, "a parenthesis isn't closed"), (2, 'a parenthesis closes that none opens'), None)
    """
    opened: list[int] = []
    for place, key in enumerate(keys):
        if key == ")" and not opened:
            return place, "a parenthesis closes that none opens"
        if key == "(":
            opened.append(place)
        elif key == ")":
            opened.pop()
    return (opened[-1], "a parenthesis isn't closed") if opened else None
