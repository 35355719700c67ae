"""What a statement's text shows at a glance: its first word, hints, where statements end.

Regular expressions only, so that queries pay next to nothing and a command line that splits a
script loads no parser. Strings, quoted names and (nested) comments are skipped as Spark does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

_Mark = Literal["hint", "comment", "semicolon"]
QUERY_WORDS = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})
"""The first words of queries."""

# The usual statement has no comment in front, and `(` may open a query.
_FIRST = re.compile(r"[\s(]*([A-Za-z_]+)")
_WORD = re.compile(r"[A-Za-z_]+")
# What isn't closed ends with the text; a doubled quote reads as two neighbours. Each alternative
# begins with its sign, so that the search skips other letters fast.
_MARK = re.compile(
    r"""
    ;|--[^\n]*+\n?|/\*\+?|`[^`]*+(?:`|\Z)
    |'(?<=[rR]')(?<![^\W_][rR]')[^']*+(?:'|\Z)|"(?<=[rR]")(?<![^\W_][rR]")[^"]*+(?:"|\Z)
    |'(?:[^'\\]|\\.?)*+(?:'|\Z)|"(?:[^"\\]|\\.?)*+(?:"|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS: dict[str, _Mark] = {";": "semicolon", "--": "comment", "/*": "comment"}
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_BLOCK_END = re.compile(r"\bEND\s*;$", re.IGNORECASE)
_HINT_PART = re.compile(r"\w+(?:\s*\((?:[^()]|\([^()]*\))*\))?")


class FirstWord(Struct, frozen=True):
    """The word that a statement begins with, in capitals; empty where it begins otherwise."""

    text: str
    end: int
    in_parentheses: bool


def first_word(sql: str) -> FirstWord:
    """The first word behind white space, comments and opening parentheses."""
    match = _FIRST.match(sql)
    if match is not None:
        return FirstWord(match[1].upper(), match.end(), "(" in match[0])
    position, opened = _skip_blank(sql, 0), False
    while sql.startswith("(", position):
        position, opened = _skip_blank(sql, position + 1), True
    match = _WORD.match(sql, position)
    if match is None:
        return FirstWord("", position, opened)
    return FirstWord(match[0].upper(), match.end(), opened)


def without_plain_hint(sql: str) -> str | None:
    """The text without its hint PLAIN, or None where it has none; other hints stay."""
    for kind, start, end in _marks(sql):
        if kind != "hint":
            continue
        parts = _HINT_PART.findall(sql, start + 3, end - 2)
        others = [part for part in parts if part.upper() != "PLAIN"]
        if len(others) < len(parts):
            rest = f"/*+ {', '.join(others)} */" if others else ""
            return sql[:start] + rest + sql[end:]
    return None


def comments(sql: str) -> list[str]:
    r"""The comments of the text, hints not among them.

    >>> comments("SELECT '-- no' /*+ no */ -- one\n/* two */")
    ['-- one', '/* two */']
    """
    return [sql[start:end].strip() for kind, start, end in _marks(sql) if kind == "comment"]


def split_statements(script: str) -> list[str]:
    """The statements of a script, without their semicolons; a `BEGIN … END` block stays whole."""
    found, start = [], 0
    for kind, position, end in _marks(script):
        if kind == "semicolon" and first_word(script[start:]).text != "BEGIN":
            found.append(script[start:position])
            start = end
    found.append(script[start:])
    return [text.strip() for text in found if _skip_blank(text, 0) < len(text)]


def is_ended(script: str) -> bool:
    """Whether nothing but white space and comments stands behind the last statement's semicolon.

    >>> is_ended("SELECT 1; -- one"), is_ended("SELECT ';'"), is_ended("BEGIN SELECT 1; END;")
    (True, False, True)
    """
    last = max((end for kind, _, end in _marks(script) if kind == "semicolon"), default=0)
    if not last or _skip_blank(script, last) < len(script):
        return False
    *_, statement = split_statements(script) or [""]
    return first_word(statement).text != "BEGIN" or bool(_BLOCK_END.search(script, 0, last))


def place(sql: str, position: int) -> str:
    """A position as `line 2, column 7`, both counted from 1."""
    line = sql.count("\n", 0, position) + 1
    column = position - sql.rfind("\n", 0, position)
    return f"line {line}, column {column}"


def _marks(sql: str) -> Iterator[tuple[_Mark, int, int]]:
    """Hints, comments and semicolons that stand outside strings, quoted names and comments."""
    position = 0
    while (mark := _MARK.search(sql, position)) is not None:
        start, position, sign = mark.start(), mark.end(), mark[0][:2]
        kind = "hint" if mark[0] == "/*+" else _KINDS.get(sign)
        if sign == "/*":
            position = _comment_end(sql, start)
        if kind is not None:
            yield kind, start, position


def _skip_blank(sql: str, position: int) -> int:
    """The first position that is neither white space nor a comment; a hint is no comment."""
    while position < len(sql):
        if sql[position].isspace():
            position += 1
        elif sql.startswith("--", position):
            position = _line_end(sql, position)
        elif sql.startswith("/*", position) and not sql.startswith("/*+", position):
            position = _comment_end(sql, position)
        else:
            break
    return position


def _line_end(sql: str, position: int) -> int:
    end = sql.find("\n", position)
    return len(sql) if end < 0 else end + 1


def _comment_end(sql: str, start: int) -> int:
    """Where the comment that opens at `start` ends; comments nest, as in Spark."""
    depth, position = 1, start + 2
    while depth:
        edge = _COMMENT_EDGE.search(sql, position)
        if edge is None:
            return len(sql)
        depth += 1 if edge[0] == "/*" else -1
        position = edge.end()
    return position
