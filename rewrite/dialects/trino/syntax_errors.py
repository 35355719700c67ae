"""Syntax errors of a Trino client's statement, with the place in the client's own text.

The parser accepts some texts that Trino's grammar surely refuses, and fails at others that Trino
has. Promise: a message names words of the text, and nothing of the parser.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError, TokenError

from rewrite.dialects.tokens import HINT
from rewrite.errors import StatementError, UntranslatedError
from rewrite.parse.bounds import TooDeepError, tokens_of, too_deep
from rewrite.parse.cursor import QUOTED
from rewrite.parse.parse import UnsureError
from rewrite.text.printable import one_line
from rewrite.text.source_position import SourcePosition, place_of
from rewrite.text.spark_keywords import in_order, words
from rewrite.text.spark_lexer import unpaired
from rewrite.text.suggestions import closest, did_you_mean

_TRINO = "trino"
_SHOWN = 60
_LETTERS_MIN = 3
_ITEM = re.compile(
    r"'(?:[^']|'')*+'|\"(?:[^\"]|\"\")*+\"|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/|['\"]|/\*", re.DOTALL
)
"""A text, a name in quotes or a comment; the sign that opens one which isn't closed."""
_OPENED = {"'": "a text in quotes", '"': "a name in quotes", "/*": "a comment"}
_RESERVED = words("""
    ALTER AND AS BETWEEN BY CASE CAST CONSTRAINT CREATE CROSS CUBE DEALLOCATE DELETE DESCRIBE
    DISTINCT DROP ELSE END ESCAPE EXCEPT EXECUTE EXISTS EXTRACT FALSE FOR FROM FULL GROUP HAVING IN
    INNER INSERT INTERSECT INTO IS JOIN LEFT LIKE NATURAL NOT NULL ON OR ORDER OUTER PREPARE
    RECURSIVE RIGHT ROLLUP SELECT TABLE THEN TRUE UNION UNNEST USING VALUES WHEN WHERE WITH
""")
"""Words that Trino's grammar takes for a name in double quotes alone."""
_CLAUSES = in_order("""
    AND AS ASC BETWEEN BY CASE CROSS DESC DISTINCT END EXCEPT FROM FULL GROUP HAVING IN INNER
    INTERSECT IS JOIN LEFT LIKE LIMIT NOT OFFSET ON OR ORDER OUTER OVER RIGHT SELECT THEN UNION
    USING VALUES WHEN WHERE WITH
""")
_NOT_READ = words("""
    JSON_ARRAY JSON_EXISTS JSON_OBJECT JSON_QUERY JSON_TABLE JSON_VALUE MATCH_RECOGNIZE
""")
"""Words of Trino's grammar behind which the parser doesn't follow it."""
_CLAUSE = words("FROM WHERE GROUP_BY ORDER_BY HAVING UNION INTERSECT EXCEPT")
_NEVER_BEHIND = {
    "COMMA": _CLAUSE | words("COMMA R_PAREN R_BRACKET"),
    "SELECT": _CLAUSE | words("COMMA R_PAREN"),
    "FROM": _CLAUSE | words("COMMA R_PAREN"),
    "DISTINCT": words("COMMA R_PAREN"),
    **dict.fromkeys(("GROUP_BY", "ORDER_BY", "ON", "WHERE"), _CLAUSE | words("COMMA R_PAREN")),
}
"""Kinds of tokens that never follow one of that kind."""
_NAMES = words("VAR IDENTIFIER STRING NUMBER")
_NEED_MORE = (*_NEVER_BEHIND, "HAVING", "USING")
"""Kinds of tokens with which no statement ends."""


def untranslated(
    error: Exception, sql: str, refused: str, *, of_trino: bool = False
) -> StatementError:
    """Returns the error for a statement that the parser, or the writer, fails at.

    `of_trino`: the text is that of a Trino client, to whom a fault of the syntax is shown.
    """
    if isinstance(error, RecursionError):
        error = TooDeepError("Its operators are nested too deeply.")
    if isinstance(error, TooDeepError):
        return too_deep(error)
    if of_trino and isinstance(error, SqlglotError) and not isinstance(error, UnsureError):
        return unread(sql, error)
    return UntranslatedError(f"{refused}: {error}", hint=HINT)


def unread(sql: str, error: SqlglotError) -> StatementError:
    """Returns the error for a client whose text the parser doesn't read."""
    if isinstance(error, TokenError):
        return _unclosed(sql)
    try:
        tokens = tokens_of(sql, _TRINO)
    except SqlglotError:  # its parts may be read by another dialect than the whole
        return StatementError("the statement can't be read", hint=_MEND)
    not_read = next((one for one in tokens if key_of(one) in _NOT_READ), None)
    if not_read is not None:
        return UntranslatedError(
            f"{key_of(not_read)} isn't translated from {_TRINO}",
            hint="write it in another way",
            at=place_of(sql, not_read.start, not_read.end + 1),
        )
    details = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    at = (details.get("line"), details.get("col"))
    place = next((n for n, one in enumerate(tokens) if (one.line, one.col) == at), None)
    if place is None:
        return StatementError("the statement can't be read", hint=_MEND)
    return _of_token(sql, tokens, place, str(details.get("description", "")))


def check_words(sql: str, tokens: Sequence[Token], tree: exp.Expr) -> None:
    """StatementError for what the parser reads, and Trino's grammar surely refuses."""
    kinds = [token.token_type.name for token in tokens]
    for place, (before, here) in enumerate(pairwise(kinds), 1):
        opens = kinds[max(0, place - 2) : place]
        is_empty = opens == ["IN", "L_PAREN"] and here == "R_PAREN"
        if is_empty or here in _NEVER_BEHIND.get(before, ()):
            raise _cant_go_on(sql, tokens[place], ())
        if opens == ["FILTER", "L_PAREN"] and here != "WHERE":
            raise _cant_go_on(sql, tokens[place], ("WHERE",))
        if opens in (["SELECT", "STAR"], ["COMMA", "STAR"]) and here in _NAMES:
            raise _cant_go_on(sql, tokens[place], ())
        if before == "USING" and here != "L_PAREN":
            raise _cant_go_on(sql, tokens[place], (f"({tokens[place].text})",))
    if kinds and kinds[-1] in _NEED_MORE:
        raise _too_early(sql, tokens)
    for version in tree.find_all(exp.Version):
        column = version.find(exp.Column)
        if column is not None:
            raise StatementError(
                f"a table's version can't be {one_line(column.name)[:_SHOWN]}",
                hint="it's a constant: FOR VERSION AS OF 123, or FOR TIMESTAMP AS OF TIMESTAMP '…'",
                at=_place_of(sql, column.this),
            )
    for name in tree.find_all(exp.Identifier):
        at = _place_of(sql, name)
        is_word = not name.args.get("quoted") and str(name.this).upper() in _RESERVED
        if is_word and at is not None:
            raise StatementError(
                f"{str(name.this).upper()} can't be a name without quotes",
                hint=f'a name is "{name.this}"; mend the statement here if it is none',
                at=at,
            )


def _place_of(sql: str, node: exp.Expr) -> SourcePosition | None:
    start, end = node.meta_get("start"), node.meta_get("end")
    return None if start is None or end is None else place_of(sql, int(start), int(end) + 1)


_MEND = "mend the statement at this place"


def key_of(token: Token | None) -> str:
    """The word in capitals; empty if it's in quotes, or there is none."""
    is_quoted = token is None or token.token_type in QUOTED
    return "" if token is None or is_quoted else token.text.upper()


def _unclosed(sql: str) -> StatementError:
    for found in _ITEM.finditer(sql):
        what = _OPENED.get(found[0])
        if what is not None:
            return StatementError(
                f"{what} isn't closed",
                hint="a quote within a text is written twice" if found[0] == "'" else _MEND,
                at=place_of(sql, found.start(), found.end()),
            )
    return StatementError("the statement can't be read: a quote or a comment isn't closed")


def _of_token(sql: str, tokens: Sequence[Token], place: int, why: str) -> StatementError:
    """The error for the token at which the parser stopped, or behind which."""
    token = tokens[place]
    is_last = place == len(tokens) - 1
    if is_last and not why.startswith("Invalid expression") and "TYPE after CAST" not in why:
        return _unpaired(sql, tokens) or _too_early(sql, tokens)
    if "TYPE after CAST" in why and token.token_type is TokenType.VAR:
        return StatementError(
            f"there is no type {_excerpt(sql, token)}",
            hint="types are those of Trino, for example VARCHAR, BIGINT, DOUBLE or DATE",
            at=place_of(sql, token.start, token.end + 1),
            error_class="UNRECOGNIZED_SQL_TYPE",
        )
    if sql[token.start] == "`":
        return StatementError(
            "a name can't be in backticks",
            hint='write it in double quotes: "name"',
            at=place_of(sql, token.start, token.end + 1),
        )
    if token.token_type is TokenType.R_PAREN and _unpaired(sql, tokens) is not None:
        return _unpaired(sql, tokens) or _cant_go_on(sql, token, ())
    before = tokens[place - 1] if place else token
    if (
        place > 1
        and tokens[place - 2].token_type is TokenType.ALIAS
        and key_of(before) in _RESERVED
    ):
        return _cant_go_on(sql, before, ())
    if key_of(before) in ("GROUP", "ORDER"):
        return _cant_go_on(sql, token, (f"{key_of(before)} BY",))
    # A word before it may be a clause's, misspelt, that was read as a name.
    for one in (before, token):
        if one.token_type is TokenType.VAR and len(one.text) >= _LETTERS_MIN:
            near = closest(key_of(one), _CLAUSES)
            if near:
                return _cant_go_on(sql, one, near)
    return _cant_go_on(sql, token, ())


def _cant_go_on(sql: str, token: Token, near: tuple[str, ...]) -> StatementError:
    return StatementError(
        f"the statement can't go on with {_excerpt(sql, token)}",
        hint=did_you_mean(near) or _MEND,
        at=place_of(sql, token.start, token.end + 1),
        suggestions=near,
    )


def _too_early(sql: str, tokens: Sequence[Token]) -> StatementError:
    end = tokens[-1].end + 1
    return StatementError(
        f"the statement ends too early, behind {_excerpt(sql, tokens[-1])}",
        hint="complete the statement",
        at=place_of(sql, end, end + 1),
    )


def _unpaired(sql: str, tokens: Sequence[Token]) -> StatementError | None:
    """The error for a parenthesis without a partner."""
    found = unpaired(map(key_of, tokens))
    if found is None:
        return None
    place, message = found
    at = place_of(sql, tokens[place].start, tokens[place].end + 1)
    return StatementError(message, hint=_MEND, at=at)


def _excerpt(sql: str, token: Token) -> str:
    return one_line(sql[token.start : token.end + 1])[:_SHOWN]
