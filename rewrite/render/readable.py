"""Bound expressions in words that people read: names bare where SQL lets them be.

Promise: what is written here means the same to Spark as the expression, with columns by the names
that the caller gives them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from sqlglot.errors import SqlglotError

from rewrite.client import SPARK
from rewrite.functions.aggregates import ROW_AGGREGATES
from rewrite.ir.expr import Aggregate, Column, Expr, Literal
from rewrite.parse.bounds import tokens_of
from rewrite.reason import DeclinedError
from rewrite.render.expressions import Renderer, quote
from rewrite.types import is_numeric

_CLAUSES = frozenset({"cluster", "distribute", "group", "order", "partition", "sort"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


@lru_cache(maxsize=4096)
def bare(name: str) -> str:
    """The name without quotes where it's no word of SQL's."""
    if _NAME.fullmatch(name) and name.lower() not in _CLAUSES:
        try:
            tokens = tokens_of(name, SPARK)
        except SqlglotError:
            return quote(name, "spark")
        if len(tokens) == 1 and tokens[0].token_type.name == "VAR":
            return name
    return quote(name, "spark")


def dotted(parts: tuple[str, ...]) -> str:
    """A name of several parts."""
    return ".".join(map(bare, parts))


def _named(column: Column) -> str:
    return dotted(column.path or (column.name,))


def renderer(column: Callable[[Column], str] = _named) -> Renderer:
    """Of Spark's text, aggregates too."""
    render = Renderer("spark", column, lambda call: _aggregate(render, call))
    return render


def words(expr: Expr, column: Callable[[Column], str] | None = None) -> str:
    """The expression; what Spark's SQL has no words for is called an expression."""
    return _bare_words(expr) if column is None else _words(expr, column)


@lru_cache(maxsize=1024)
def _bare_words(expr: Expr) -> str:
    """Kept, since every cube that lacks an aggregate says so."""
    return _words(expr, _named)


def _words(expr: Expr, column: Callable[[Column], str]) -> str:
    try:
        return without_parentheses(renderer(column).text(expr))
    except DeclinedError:
        return "an expression"


def without_parentheses(text: str) -> str:
    """The text without a pair around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    try:
        tokens = tokens_of(text, SPARK)
    except SqlglotError:
        return text
    depth = 0
    for place, token in enumerate(tokens):
        kind = token.token_type.name
        depth += (kind == "L_PAREN") - (kind == "R_PAREN")
        if depth == 0:
            return text[1:-1] if place == len(tokens) - 1 else text
    return text


def _aggregate(render: Renderer, call: Aggregate) -> str:
    shown = [_argument(render, arg, place) for place, arg in enumerate(call.args)] or ["*"]
    distinct = "DISTINCT " if call.distinct else ""
    row = ROW_AGGREGATES.get(call.function)
    if row is not None and row.words:
        text = row.words.format(*shown)
    else:
        text = f"{call.function}({distinct}{', '.join(shown)})"
    if call.where is None:
        return text
    return f"{text} FILTER (WHERE {without_parentheses(render.text(call.where))})"


def _argument(render: Renderer, arg: Expr, place: int) -> str:
    """The text. Numbers behind the first argument, which are a percentile's, have no suffixes."""
    if place and isinstance(arg, Literal) and is_numeric(arg.type):
        return arg.value
    return without_parentheses(render.text(arg))
