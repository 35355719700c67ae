"""Tests of a statement that isn't bound for which plain Spark may fail inside.

`rewrite.folded` says of bound expressions what this asks of a tree, of which less is known: any
AND, OR or comparison that stands as a value, where Spark hands it to a scan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from rewrite.bind.calls.known_words import aggregate_calls
from rewrite.types import literal_number_type

_LOGICAL = (exp.And, exp.Or)
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between)
_WORD = re.compile("[a-z][a-z _-]*")
_WORDS_WITH_VALUES = frozenset(
    (
        *("t", "true", "y", "yes", "f", "false", "n", "no", "nan", "inf", "infinity"),
        *("epoch", "now", "today", "tomorrow", "yesterday"),
    )
)
_CONDITION, _DENIED, _COMPUTED, _VALUE, _PUSHED = range(5)
"""The places of `rewrite.folded`, and the conditions of a CASE that is compared."""


def has_null_in_test(tree: exp.Expr) -> bool:
    """Whether a part of the statement may be such.

    What is only shown isn't handed on: outputs count where they're grouped by or aggregated.

    >>> from rewrite.parse.parse import parse
    >>> conditions = ("a OR NULL", "(a OR NULL) IS NULL", "a = 1.5", "(a = 1.5) IS NULL")
    >>> [has_null_in_test(parse(f"SELECT 1 FROM t WHERE {c}")) for c in conditions]
    [False, True, False, True]
    """
    stack = [one for select in tree.find_all(exp.Select) for one in _roots(select)]
    while stack:
        node, place = stack.pop()
        if isinstance(node, exp.Query):
            continue  # its own clauses are among the roots
        if place == _PUSHED:
            if isinstance(node, _COMPARED) and _is_beside(node):
                return True
            if isinstance(node, _LOGICAL) and (_is_beside(node) or _tests_twice(node)):
                return True
        elif place not in (_CONDITION, _DENIED) and isinstance(node, (*_LOGICAL, *_COMPARED)):
            return True
        stack += _below(node, place)
    return False


def _roots(select: exp.Select) -> Iterator[tuple[exp.Expr, int]]:
    for name in ("where", "having"):
        clause = select.args.get(name)
        if clause is not None:
            yield clause.this, _CONDITION
    for join in select.args.get("joins") or ():
        if join.args.get("on") is not None:
            yield join.args["on"], _CONDITION
    group = select.args.get("group")
    if group is not None:
        yield from ((one, _COMPUTED) for one in group.iter_expressions())
    grouped = group is not None or select.args.get("distinct") is not None
    for item in select.expressions:
        if grouped:
            yield item, _COMPUTED
        for call in aggregate_calls(item):
            yield from ((one, _COMPUTED) for one in call.iter_expressions())


def _is_beside(node: exp.Expr) -> bool:
    """Whether it's compared with a NULL, or a number that an int may not be."""
    return any(True for _ in node.find_all(exp.Null)) or any(
        not one.is_string and literal_number_type(one.this) != "int"
        for one in node.find_all(exp.Literal)
    )


def _tests_twice(node: exp.Expr) -> bool:
    """Returns whether a test may stand there twice: `a < 5 AND a >= 5` is FALSE or NULL.

    Comparisons with different constants are different tests: `a >= 5 AND a < 9`.

    >>> from sqlglot import condition
    >>> [_tests_twice(condition(c)) for c in ("a < 5 AND NOT a < 5", "a > 4 AND a < 9", "a OR b")]
    [True, False, False]
    """
    constants: dict[str, set[int | str] | None] = {}
    for leaf in _leaves(node):
        given = _constants(leaf)
        for column in leaf.find_all(exp.Column):
            name = column.name.lower()
            if name not in constants:
                constants[name] = given
                continue
            before = constants[name]
            if given is None or before is None or not before.isdisjoint(given):
                return True
            constants[name] = before | given
    return False


def _leaves(node: exp.Expr) -> Iterator[exp.Expr]:
    """What stands below its AND, OR and NOT."""
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, (*_LOGICAL, exp.Not, exp.Paren)):
            stack += one.iter_expressions()
        else:
            yield one


def _constants(leaf: exp.Expr) -> set[int | str] | None:
    """What a column is compared with: sizes of whole numbers, or words; None of any other test."""
    if not isinstance(leaf, _COMPARED):
        return None
    sides = [one.this if isinstance(one, exp.Neg) else one for one in leaf.iter_expressions()]
    columns = [one for one in sides if isinstance(one, exp.Column)]
    literals = [one for one in sides if isinstance(one, exp.Literal)]
    if len(columns) != 1 or len(columns) + len(literals) != len(sides):
        return None
    if all(one.is_int for one in literals):
        return {int(one.this) for one in literals}
    words = {one.this.strip().lower() for one in literals if one.is_string}
    if len(words) == len(literals) and all(map(_is_word, words)):
        return set(words)
    return None


def _is_word(text: str) -> bool:
    """Returns whether no cast makes another word's value of the text, as of `t` and `true`."""
    return _WORD.fullmatch(text) is not None and text not in _WORDS_WITH_VALUES


def _is_test(node: exp.Expr) -> bool:
    """Returns whether several branches may be TRUE or FALSE: Spark compares the condition then."""
    ifs = node.args.get("ifs") or [node]
    if len(ifs) > 1:
        return False
    given = [*(one.args.get("true") for one in ifs), *map(node.args.get, ("default", "false"))]
    tests = (exp.Boolean, exp.Predicate, exp.Not, *_LOGICAL)
    return sum(one is not None and isinstance(one.unnest(), tests) for one in given) > 1


def _below(node: exp.Expr, place: int) -> Iterator[tuple[exp.Expr, int]]:
    if isinstance(node, exp.Not) and place == _CONDITION:
        place = _DENIED
    if isinstance(node, (exp.Paren, exp.Alias)) or (
        place in (_CONDITION, _DENIED, _PUSHED) and isinstance(node, (*_LOGICAL, exp.Not))
    ):
        yield from ((one, place) for one in node.iter_expressions())
        return
    if isinstance(node, exp.Where):  # of FILTER
        yield node.this, _CONDITION
        return
    if isinstance(node, exp.Case) and node.this is None:
        compared = place == _CONDITION and _is_test(node)
        for one in node.iter_expressions():
            yield one, _PUSHED if compared and isinstance(one, exp.If) else place
        return
    if isinstance(node, exp.If) and place == _CONDITION and _is_test(node):
        place = _PUSHED
    if isinstance(node, exp.If) and place in (_DENIED, _VALUE, _PUSHED):
        yield node.this, _PUSHED
        yield from ((one, _VALUE) for one in node.iter_expressions() if one is not node.this)
        return
    if isinstance(node, exp.If):
        given = _VALUE if place == _CONDITION else place
        yield node.this, _CONDITION
        yield from ((one, given) for one in node.iter_expressions() if one is not node.this)
        return
    inside = place if place == _COMPUTED and not isinstance(node, exp.Predicate) else _VALUE
    yield from ((one, inside) for one in node.iter_expressions())
