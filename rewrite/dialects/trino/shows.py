"""Trino's SHOW, DESCRIBE, USE and EXPLAIN as Spark's: their names, patterns and the query inside.

Answers are Spark's. Promise: words that only Trino has raise UntranslatedError.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from sqlglot import Token, TokenType
from sqlglot.errors import TokenError

from rewrite.dialects.trino.syntax_errors import key_of, unread
from rewrite.errors import AcceleratorError, UntranslatedError
from rewrite.identifiers.quoting import backticked
from rewrite.parse.bounds import tokens_of
from rewrite.text.printable import one_line
from rewrite.text.source_position import place_of
from rewrite.text.spark_keywords import words

SHOWS = frozenset(("DESC", "DESCRIBE", "EXPLAIN", "SHOW", "USE"))
"""The first words of statements that are translated here."""
_TRINO = "trino"
_QUERY = re.compile(r"[\s(]*(SELECT|WITH|VALUES|TABLE)\b", re.IGNORECASE)
_OPTIONS = re.compile(r"\s*\(\s*(TYPE|FORMAT)\b", re.IGNORECASE)
_NOT_SPARKS = words("BRANCHES GRANTS ROLE ROLES SESSION STATS")
"""Behind SHOW; CURRENT ROLES has one of them as well."""
_PREPARED = ("INPUT", "OUTPUT")
_PATTERN = re.compile(r"[\w %-]*", re.ASCII)
"""Patterns that Spark can be given: it reads `*`, `.` and `|` otherwise, without an escape."""
_HINT = "docs/reference/dialects.md lists what is translated"


def spark_shows(sql: str, end: int, query: Callable[[str], str]) -> str:
    r"""The statement in Spark's words; `end` is behind its first one, `query` translates a query.

    >>> spark_shows('SHOW TABLES FROM "shop" LIKE \'dim_%\'', 4, str)
    "SHOW TABLES FROM `shop` LIKE 'dim.*'"
    """
    first, rest = sql[:end].rsplit(maxsplit=1)[-1].upper(), sql[end:]
    if first == "EXPLAIN":
        return _explain(sql, end, query)
    try:
        tokens = tokens_of(rest, _TRINO)
    except TokenError as error:
        raise unread(sql, error) from error
    _check(sql, first, end, tokens)
    found, place = sql[:end], 0
    for before, token in pairwise([None, *tokens]):
        if token is None:
            continue
        text = rest[token.start : token.end + 1]
        if token.token_type is TokenType.IDENTIFIER:
            text = backticked(token.text)
        elif token.token_type is TokenType.STRING and key_of(before) == "LIKE":
            text = f"'{_pattern(sql, end, token)}'"
        found += rest[place : token.start] + text
        place = token.end + 1
    return found + rest[place:]


def _explain(sql: str, end: int, query: Callable[[str], str]) -> str:
    rest = sql[end:]
    if _OPTIONS.match(rest):
        raise UntranslatedError(
            "options of EXPLAIN aren't translated from trino",
            hint="EXPLAIN and the query alone show the plan",
            at=place_of(sql, end + rest.index("("), end + rest.index("(") + 1),
        )
    if not _QUERY.match(rest):
        return sql
    try:
        return f"{sql[:end]} {query(rest)}"
    except AcceleratorError as error:
        error.move(rest, sql)
        raise


def _check(sql: str, first: str, end: int, tokens: list[Token]) -> None:
    """Raises UntranslatedError for words that only Trino has."""
    keys = list(map(key_of, tokens))
    wrong = None
    if first == "SHOW":
        wrong = next((place for place, key in enumerate(keys[:2]) if key in _NOT_SPARKS), None)
        if wrong is None and keys[:1] == ["COLUMNS"] and "LIKE" in keys:
            wrong = keys.index("LIKE")
    elif first != "USE" and keys[:1] and keys[0] in _PREPARED and len(keys) > 1:
        wrong = 0 if keys[1] not in (".", ";") else None
    if "ESCAPE" in keys[3:]:
        wrong = keys.index("ESCAPE", 3)
    if wrong is not None:
        word = tokens[wrong]
        at = place_of(sql, end + word.start, end + word.end + 1)
        shown = " ".join((first, *keys[: wrong + 1]))[:80]
        raise UntranslatedError(f"{shown} isn't translated from trino", hint=_HINT, at=at)


def _pattern(sql: str, end: int, token: Token) -> str:
    """A pattern of LIKE as Spark's, in which `*` is any text and `.` any character."""
    if not _PATTERN.fullmatch(token.text):
        raise UntranslatedError(
            f"the pattern {one_line(token.text)[:40]!r} isn't translated from trino",
            hint="a pattern may have letters, digits, blanks, -, % and _",
            at=place_of(sql, end + token.start, end + token.end + 1),
        )
    return token.text.replace("_", ".").replace("%", "*")
