"""Decides whether Spark may need more than linear time to match a statement's patterns.

Java's matcher backtracks, and nothing interrupts it. The gateway gives a statement whose patterns
aren't proven linear a time limit, `pattern_timeout_s`, after which its JVM may be replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from accelerator.gateway.table_versions import Versions, views_of
from accelerator.query.runtime.services import Services
from accelerator.query.statements import nodes
from accelerator.query.statements.nodes import Statement
from rewrite.parse.parse import PARSER_FAILS, parse
from rewrite.text.spark_keywords import words

PATTERN_HINT = (
    "Its patterns may take a time that isn't linear in the texts: use fewer % or quantifiers, begin"
    " the pattern with ^, or have pattern_timeout_s raised"
)
_WORDS = re.compile(
    r"like|regexp|split|str_to_map|similar|parse_url|reflect|java_method|identifier\s*\(",
    re.IGNORECASE,
)
"""A text without these words calls no matcher."""
_LIKE = (exp.Like, exp.ILike)
_REGEX = (
    *(exp.RegexpLike, exp.RegexpILike, exp.RegexpExtract, exp.RegexpExtractAll, exp.RegexpReplace),
    *(exp.RegexpCount, exp.RegexpInstr, exp.RegexpSubstr, exp.RegexpSplit, exp.SimilarTo),
)
_CALLS = words("""
    ilike like regexp regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like
    regexp_replace regexp_substr rlike split str_to_map
""")
"""Functions that the parser doesn't know, by these names or behind a qualifier (`builtin.split`).

All but the first argument may be patterns.
"""
_URLS = words("parse_url try_parse_url")
"""Their third argument, a key, becomes a part of a pattern."""
_ANY = words("java_method reflect try_reflect")
"""They call any method of Java."""
_ONE = r"(?:[^\\^$|?*+()\[\]{}]|\\[dDwWsStnrfae]|\\[^\w\s]|\[\^?[^\[\]\\&^]+\])"
"""What matches one character."""
_FIXED = rf"(?:{_ONE}(?:\{{[0-9]{{1,3}}\}})?)*"
_TIMES = r"(?:[*+?]|\{[0-9]{1,3},[0-9]{0,3}\})"
_LINEAR = re.compile(
    rf"(?:\(\?i\))?(?:\^{_FIXED}(?:{_ONE}{_TIMES})?{_FIXED}\$?|{_FIXED}(?:{_ONE}{_TIMES}|\$)?)"
)
"""One quantifier at most may try several lengths. It follows `^`, or ends the pattern."""


def may_backtrack(sql: str) -> bool:
    """Returns whether a pattern of the Spark SQL text may take a backtracking matcher long.

    >>> may_backtrack("SELECT * FROM t WHERE a LIKE 'x%' AND b RLIKE '^[a-z]+$'")
    False
    >>> may_backtrack("SELECT * FROM t WHERE a LIKE '%a%a%b'")
    True
    """
    if _WORDS.search(sql) is None:
        return False
    try:
        tree = parse(sql)
        return any(not _is_linear(pattern, node) for node, pattern in _patterns(tree))
    except (*PARSER_FAILS, RecursionError):
        return True


def weighed_texts(statement: Statement) -> list[str]:
    """Returns the Spark SQL texts with all patterns that running the statement may match.

    Builds have none: they may take hours, and need the right `manage`.
    """
    match statement:
        case nodes.Query():
            return [statement.bare]
        case nodes.EstimateCube():
            return [statement.cube.select_sql]
        case nodes.OfQuery():
            return [statement.query.bare]
    return []


def views_may_backtrack(known: Versions | None, services: Services) -> bool:
    """Returns whether a view among the tables has such a pattern; True if that is unknown."""
    if known is None:
        return True
    views, pin = list(views_of(known)), services.lake.pin()
    found = (pin.view(name) for name in views)
    return any(view is None or may_backtrack(view.sql) for view in found)


def _patterns(tree: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr | None]]:
    """Yields each node that matches a pattern, with the pattern."""
    for node in tree.walk():
        if isinstance(node, (*_LIKE, *_REGEX)):
            yield node, node.args.get("expression")
        elif isinstance(node, exp.ParseUrl):
            if node.args.get("key") is not None:
                yield node, node.args["key"]
        elif isinstance(node, exp.Anonymous):
            name = node.name.lower()
            if name in _ANY:
                yield node, None
            elif name in _CALLS or name in _URLS:
                for argument in node.expressions[2 if name in _URLS else 1 :]:
                    yield node, argument


def _is_linear(pattern: exp.Expr | None, node: exp.Expr) -> bool:
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        return False
    if _is_of_url(node):
        return re.fullmatch(_FIXED, pattern.name) is not None
    if isinstance(node, _LIKE):
        return pattern.name.rstrip("%").count("%") <= 1
    return _LINEAR.fullmatch(pattern.name) is not None


def _is_of_url(node: exp.Expr) -> bool:
    is_other = isinstance(node, exp.Anonymous) and node.name.lower() in _URLS
    return is_other or isinstance(node, exp.ParseUrl)
