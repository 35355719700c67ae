"""The text under which a statement's answer is cached, if the answer depends on its tables alone.

Comments and blanks don't count: tools write ids into them.
"""

from __future__ import annotations

from typing import Any

from sqlglot import TokenType

from accelerator.errors import AcceleratorError
from accelerator.gateway.trino.requests.cursor import words_of
from accelerator.gateway.trino.requests.nodes import ClientSession, RunStatement, to_dict
from accelerator.gateway.trino.requests.parse import request
from rewrite.parse.cursor import Word

_MOMENTARY = frozenset(
    {
        *("CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"),
        *("NOW", "CURRENT_USER", "CURRENT_TIMEZONE", "CURRENT_CATALOG", "CURRENT_SCHEMA"),
        *("RAND", "RANDOM", "UUID", "SHUFFLE"),
    }
)
"""Words of statements whose answer depends on more than their tables, or may."""


def read_text(sql: str, client: ClientSession) -> tuple[dict[str, Any], str]:
    """Reads a long text: its request as a dictionary, and the `lasting_text` of a statement to run.

    Raises the errors of `request`.
    """
    asked = request(sql, client)
    return to_dict(asked), lasting_text(asked.sql) if isinstance(asked, RunStatement) else ""


def lasting_text(sql: str) -> str:
    """Returns the statement's words; empty if its answer may depend on more than its tables.

    >>> lasting_text("SELECT  1 -- one") == lasting_text("SELECT 1"), lasting_text("SELECT now()")
    (True, '')
    """
    try:
        words = words_of(sql)
    except AcceleratorError:
        return ""
    if any(_function(word) in _MOMENTARY for word in words):
        return ""
    return "\x00".join(sql[word.start : word.end] for word in words)


def _function(word: Word) -> str:
    """Returns the function that the word may name: a name in quotes is one, too."""
    return word.text.upper() if word.kind == TokenType.IDENTIFIER else word.key
