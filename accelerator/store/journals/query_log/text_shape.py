"""Statements that differ in constants alone, told by a look at their texts, without a tokenizer.

What is said here holds for every tokenizer of the dialect, or nothing is said.
"""

from __future__ import annotations

import re

_STRING = re.compile(r"(?<![\w'])'([^'\\\x00-\x1f]*+)'(?!['\w])")
_NUMBER = re.compile(r"(?<![\w.`\"])[0-9]++(?:\.[0-9]++)?(?![\w.`\"])")
_BEYOND = re.compile(r"[\\${\x00-\x08]|--|//|/\*")
"""Escapes, comments and the like: with one of these only the tokenizer can tell."""
_NAMES = {"spark": re.compile(r"`\w++`"), "trino": re.compile(r'"\w++"')}
_ODD = re.compile(r"'\s*+[.(\-]")
_TELLING = re.compile(
    r"=|://|pass|pwd|secret|token|credential|key|bearer|connection|aes|hmac", re.IGNORECASE
)


def without_constants(sql: str, dialect: str) -> str | None:
    """The statement with `'?'` and `0` for its texts and numbers; None where it can't be told.

    None too where a text of it may itself be, or name, a secret. What remains is read as the
    statement is, token by token.

    >>> without_constants("SELECT a1 FROM t WHERE b > 1.5 AND c IN ('x', 'y')", "spark")
    "SELECT a1 FROM t WHERE b > 0 AND c IN ('?', '?')"
    """
    names = _NAMES.get(dialect)
    if names is None or _BEYOND.search(sql):
        return None
    if "`" in sql or '"' in sql:
        rest = names.sub("", sql)
        if "`" in rest or '"' in rest:
            return None
    if "'" in sql:
        texts = _STRING.findall(sql)
        if sql.count("'") != 2 * len(texts) or _TELLING.search("\n".join(texts)):
            return None
        sql = _STRING.sub("'?'", sql)
        if _ODD.search(sql):
            return None
    return _NUMBER.sub("0", sql)
