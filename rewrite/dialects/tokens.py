"""The tokens of another dialect's statement, and those that its parser reads otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from sqlglot import Token, TokenType

from rewrite.errors import UntranslatedError
from rewrite.parse.bounds import tokens_of

HINT = "write it in another way, or in Spark's own SQL: set the dialect of the statement to 'spark'"
"""The hint of a refusal that has none of its own."""
CLIENT_HINT = "write it in another way; docs/reference/dialects.md lists what is translated"
"""The same for a client, who can't choose the dialect."""
_TRINO = "trino"


@contextmanager
def hinting_clients() -> Iterator[None]:
    """Replaces `HINT` by `CLIENT_HINT` in refusals that are raised inside."""
    try:
        yield
    except UntranslatedError as error:
        if error.hint == HINT:
            error.hint = CLIENT_HINT
        raise


def checked_tokens(sql: str, dialect: str) -> list[Token]:
    """The text's tokens; UntranslatedError where the parser reads it otherwise than a server."""
    if dialect == "mysql" and "/*!" in sql:
        raise UntranslatedError("a comment that is run isn't translated from mysql", hint=HINT)
    tokens = tokens_of(sql, dialect)
    for one in tokens:
        is_hex = one.token_type == TokenType.HEX_STRING and dialect == _TRINO
        if is_hex and sql[one.start] == "0":
            raise UntranslatedError(
                f"`0x{one.text}` isn't translated from {dialect}: it's a number there",
                hint="write it in decimal digits; X'…' is one of bytes",
            )
    for one, other in pairwise(tokens):
        number = one.token_type == TokenType.NUMBER and other.token_type == TokenType.VAR
        if number and one.end + 1 == other.start:  # 1_000 and 0b11, to the parser with an alias
            raise UntranslatedError(
                f"`{one.text}{other.text}` isn't translated from {dialect}: it may be a number",
                hint="write its digits alone",
            )
    return tokens
