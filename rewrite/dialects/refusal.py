"""The error for a part of a statement that isn't translated, as its author has written it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import Token, TokenType, exp

from rewrite.dialects.tokens import HINT
from rewrite.errors import UntranslatedError
from rewrite.text.printable import one_line, shortened
from rewrite.text.source_position import place_of
from rewrite.text.spark_keywords import words

_SHOWN = 80
_LEADING = words("""
    ARRAY CASE CROSS DATE DISTINCT EXISTS FULL INNER INTERVAL JOIN LATERAL LEFT LIMIT NATURAL NOT
    OFFSET OUTER RECURSIVE RIGHT TABLESAMPLE TIME TIMESTAMP VALUES WHEN WHERE - [
""")
"""Words that belong to the node whose first name or constant follows."""
_FROM_OPERAND: tuple[type[exp.Expr], ...] = (
    *(exp.Binary, exp.Predicate, exp.Column, exp.Literal, exp.Identifier, exp.Paren),
    *(exp.Window, exp.Filter, exp.AtTimeZone, exp.Alias, exp.Ordered, exp.Table),
)
"""Nodes that begin with their first operand."""
_CALL_MAX = 6
"""Tokens before a call's first constant in which its parenthesis is looked for."""
_BRACKETS = {"(": ")", "[": "]"}
_CLAUSES = {
    "alias": "a name behind it",
    "expressions": "more operands than that",
    "laterals": "LATERAL",
    "match": "MATCH_RECOGNIZE",
    "method": "a word before JOIN",
    "pivots": "PIVOT",
    "qualify": "QUALIFY",
    "recursive": "RECURSIVE",
    "sample": "TABLESAMPLE",
    "windows": "WINDOW",
}
"""Parts of a node in the words of SQL."""


def refusal_of(
    node: exp.Expr, sql: str, tokens: Sequence[Token], dialect: str, why: str, hint: str = ""
) -> UntranslatedError:
    """The error for a node of the text's tree; its place is there if the node has words in it."""
    span = _span(node, tokens)
    shown = node.sql(dialect=dialect) if span is None else " ".join(sql[span[0] : span[1]].split())
    return UntranslatedError(
        f"`{one_line(shortened(shown, _SHOWN))}` isn't translated from {dialect}: {why}",
        hint=hint or HINT,
        error_class="UNRESOLVED_ROUTINE" if isinstance(node, exp.Anonymous) else "",
        at=None if span is None else place_of(sql, *span),
    )


def unlisted(node: exp.Expr) -> str:
    """Why a node of that kind isn't translated."""
    if isinstance(node, exp.Anonymous):
        return f"there is no function {one_line(node.name)[:_SHOWN]}, or it isn't translated"
    if isinstance(node, exp.Func):
        name = str(node.meta_get("written") or node.sql_name())
        return f"the function {name.lower()} isn't known to be the same in Spark"
    return "such a part isn't known to be the same in Spark"


def has_part(name: str) -> str:
    """Why a node that has that part isn't translated."""
    return f"it has {_CLAUSES.get(name, name.rstrip('_'))}"


def _span(node: exp.Expr, tokens: Sequence[Token]) -> tuple[int, int] | None:
    """From the first to behind the last character of the node's words."""
    if isinstance(node, exp.Binary) and isinstance(node.this, (exp.Null, exp.Boolean)):
        return None  # these have no place
    spans = [
        (int(one.meta_get("start")), int(one.meta_get("end")))
        for one in node.walk()
        if one.meta_get("start") is not None and one.meta_get("end") is not None
    ]
    if not spans:
        return None
    start, end = min(span[0] for span in spans), max(span[1] for span in spans)
    place = {token.start: number for number, token in enumerate(tokens)}
    first = place.get(start)
    last = next((n for n in range(len(tokens) - 1, -1, -1) if tokens[n].start <= end), None)
    if first is None or last is None or tokens[last].end < end or last < first:
        return None
    if node.meta_get("start") is None and not isinstance(node, _FROM_OPERAND):
        first = _begun(node, tokens, first)
    first, last = _balanced(tokens, first, last)
    if isinstance(node, (exp.Case, exp.Interval)) and last + 1 < len(tokens):
        word = "END" if isinstance(node, exp.Case) else str(node.args.get("unit")).upper()
        last += tokens[last + 1].text.upper() == word
    return tokens[first].start, tokens[last].end + 1


def _begun(node: exp.Expr, tokens: Sequence[Token], first: int) -> int:
    """The number of the token with which a node begins, before its first name or constant."""
    if isinstance(node, exp.Func) and not isinstance(node, (exp.Case, exp.Array)):
        for place in range(first - 1, max(0, first - _CALL_MAX), -1):
            if tokens[place].text == "(" and tokens[place - 1].text.isidentifier():
                return place - 1
    leading = _LEADING | {"SELECT", "WITH"} if isinstance(node, exp.Query) else _LEADING
    while first and tokens[first - 1].text.upper() in leading:
        first -= 1
    return first


def _balanced(tokens: Sequence[Token], first: int, last: int) -> tuple[int, int]:
    """The range of tokens, made longer until each bracket has its partner."""
    opened: list[str] = []
    closed = 0
    for token in tokens[first : last + 1]:
        closed += _step(token, opened)
    while opened and last + 1 < len(tokens):
        last += 1
        closed += _step(tokens[last], opened)
    while closed and first:
        first -= 1
        closed -= tokens[first].text in _BRACKETS and not _is_quoted(tokens[first])
    return first, last


def _step(token: Token, opened: list[str]) -> int:
    """Notes a bracket that opens, or closes one; whether it closes one that is outside."""
    if _is_quoted(token):
        return 0
    if token.text in _BRACKETS:
        opened.append(_BRACKETS[token.text])
    elif token.text in _BRACKETS.values():
        if not opened:
            return 1
        opened.pop()
    return 0


def _is_quoted(token: Token) -> bool:
    return token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
