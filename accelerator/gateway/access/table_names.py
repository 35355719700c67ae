"""Which tables a query's text names, and why that can't be told of some texts.

Pure, and on the safe side: a text in which Spark may find a table, a command or a class that isn't
seen here is untold. The parser must have every word of the text in its tree
(`rewrite/parse/parse.py`); beyond that its tree may hold only what is known to name nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct
from sqlglot import Token, TokenType, exp

from accelerator.common.lru_cache import Recent, text_weight
from rewrite.analysis.query_form import hides_tables, uses
from rewrite.client import SPARK
from rewrite.parse.bounds import tokens_of
from rewrite.parse.parse import PARSER_FAILS, check_text, parse
from rewrite.text.first_look import first_word
from rewrite.text.spark_keywords import words

TableName = tuple[str, ...]
_TABLES_MAX = 1_000
_TEXT_MAX = 8 * 1024 * 1024
_REACHING = words("identifier java_method reflect try_reflect")
"""Functions that name things by text, or run code of the machine."""
_OF_NO_TABLE = words("""
    collations explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer
    range stack variant_explode variant_explode_outer
""")
"""Functions in FROM that read nothing but their arguments."""
_QUALIFIERS = frozenset({("builtin",), ("system", "builtin")})
_ICEBERGS = "system"
_TABLE_PARTS = frozenset(
    ("this", "db", "catalog", "alias", "version", "joins", "laterals", "pivots", "sample")
)
_CHANGING = (
    *(exp.DDL, exp.DML, exp.Command, exp.Into, exp.QueryTransform),
    *(exp.Describe, exp.Drop, exp.Alter, exp.Set, exp.Use, exp.Show),
)
_TEXTS = (TokenType.STRING, TokenType.RAW_STRING)
_RELATIONS = (exp.Query, exp.Values, exp.Table)


class UntoldError(Exception):
    """It can't be told which tables the query reads; the text says why, and quotes no name."""


class NamedTables(Struct, frozen=True):
    """The names of a query's tables as they're written, each once; `untold` says why not all."""

    tables: tuple[TableName, ...] = ()
    untold: str = ""


_KNOWN: Recent[NamedTables] = Recent(512, text_weight, _TEXT_MAX)


def named(sql: str, *, case_sensitive: bool = False) -> NamedTables:
    """The tables that the query names, without those that its own WITH defines.

    `case_sensitive`: Spark tells names of WITH apart by their case.
    """
    return _KNOWN.get_or((sql, "s" if case_sensitive else ""), lambda: _named(sql, case_sensitive))


def _named(sql: str, case_sensitive: bool) -> NamedTables:
    try:
        return NamedTables(tuple(dict.fromkeys(_names(_tree(sql), case_sensitive))))
    except UntoldError as error:
        return NamedTables(untold=str(error))
    except RecursionError:
        return NamedTables(untold="it's nested too deeply")


def _tree(sql: str) -> exp.Expression:
    """The query's tree, in which nothing else than a query is."""
    first = first_word(sql)
    text = sql
    if first.text == "TABLE" and not first.in_parentheses:
        text = f"SELECT * FROM {sql[first.end :]}"
    try:
        check_text(text)  # before there are tokens: it bounds them
        _check_tokens(tokens_of(text, SPARK))
        tree = parse(text)
    except PARSER_FAILS as error:
        raise UntoldError("it can't be parsed here") from error
    if not isinstance(tree, (exp.Query, exp.Values)):
        raise UntoldError("it isn't a query")
    if any(isinstance(node, _CHANGING) for node in tree.walk()):
        raise UntoldError("it holds more than a query")
    if hides_tables(tree):
        raise UntoldError("IDENTIFIER or TABLE(…) names a table of it")
    for node in tree.find_all(exp.CTE, exp.Subquery):
        if not isinstance(node.this, (*_RELATIONS, exp.Subquery)):
            raise UntoldError("something stands where a query was expected")
    return tree


def _check_tokens(tokens: Sequence[Token]) -> None:
    """UntoldError for words that name what the tree may not show, wherever they stand.

    Comments in comments too: where the outer one ends isn't the same to everybody.
    """
    if any("/*" in comment for token in tokens for comment in token.comments):
        raise UntoldError("a comment stands in a comment")
    for token, behind in pairwise(tokens):
        kind, text = token.token_type, token.text.lower()
        if kind in _TEXTS:
            continue
        if behind.token_type is TokenType.L_PAREN and text in _REACHING:
            raise UntoldError(f"{text} may name or run anything")
        if kind is TokenType.IDENTIFIER:
            continue
        if text == "table":
            raise UntoldError("TABLE stands where SELECT * FROM tells what is meant")
        if text == "using" and behind.token_type in _TEXTS:
            raise UntoldError("it runs a command of the machine")


def _names(tree: exp.Expression, case_sensitive: bool) -> Iterator[TableName]:
    if sum(1 for _ in tree.find_all(exp.Table)) > _TABLES_MAX:
        raise UntoldError(f"it names tables more than {_TABLES_MAX} times")
    _check_functions(tree)
    plain = {id(use.table) for use in uses(tree)}
    for table in tree.find_all(exp.Table):
        if isinstance(table.find_ancestor(exp.Hint, exp.Query), exp.Hint):
            continue
        if any(value and key not in _TABLE_PARTS for key, value in table.args.items()):
            raise UntoldError("a table is followed by what isn't known here")
        source = table.this
        if isinstance(source, exp.Func):
            _check_table_function(source)
            continue
        parts = tuple(_parts(table))
        if id(table) in plain or len(parts) > 1:
            if parts[-1].lower() == "stream":  # Spark may read the next word as the table
                raise UntoldError("STREAM may stand before a table's name")
            yield parts
        elif case_sensitive or not parts[0].isascii():
            raise UntoldError("a name of WITH may be compared otherwise by Spark")
    for lateral in tree.find_all(exp.Lateral):
        if not isinstance(lateral.this, (*_RELATIONS, exp.Subquery)):
            _check_table_function(lateral.this)


def _parts(table: exp.Table) -> Iterator[str]:
    """The name's parts; of more than three the parser makes the last ones a path."""
    stack = [node for key in ("this", "db", "catalog") if (node := table.args.get(key))]
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Dot):
            stack += (node.expression, node.this)
        elif isinstance(node, exp.Identifier) and isinstance(node.this, str):
            yield node.this
        else:
            raise UntoldError("a table is named otherwise than by words")


def _check_table_function(node: exp.Expr) -> None:
    called = node.name if isinstance(node, exp.Anonymous) else node.meta_get("written")
    if not isinstance(node, exp.Func) or str(called).lower() not in _OF_NO_TABLE:
        raise UntoldError("a function in FROM may read anything")


def _check_functions(tree: exp.Expression) -> None:
    """UntoldError for functions of a catalog: their body may be a query."""
    for dot in tree.find_all(exp.Dot):
        if not isinstance(dot.expression, exp.Func):
            continue
        path: list[str] = []
        node = dot.this
        while isinstance(node, exp.Dot):
            path.insert(0, node.expression.name.lower())
            node = node.this
        above = node.parts if isinstance(node, exp.Column) else (node,)
        path[:0] = [part.name.lower() for part in above]
        icebergs = len(path) == 2 and path[1] == _ICEBERGS and path[0] != "spark_catalog"
        if tuple(path) not in _QUALIFIERS and not icebergs:
            raise UntoldError("a function of a catalog may read anything")
