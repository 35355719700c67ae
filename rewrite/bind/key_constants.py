"""Constants of GROUP BY that other clauses write otherwise.

Spark looks for a key in the other clauses before it computes constants. It refuses
`SELECT k > 2 + 3 FROM t GROUP BY k > 5`, though both are one expression here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import cast

from sqlglot import exp

from rewrite.bind.calls.known_words import is_aggregate
from rewrite.bind.expressions import NameScope, bind
from rewrite.ir.expr import Literal
from rewrite.ir.literals import computed
from rewrite.reason import DeclinedError

_CONSTANT = (exp.Literal, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Cast, exp.TryCast)


def check_key_constants(tree: exp.Select, scope: NameScope) -> None:
    """Declines if a constant of a key appears elsewhere in another spelling."""
    group = tree.args.get("group")
    keys = _spellings(group, scope) if group is not None else {}
    if not keys:
        return
    clauses = (*tree.expressions, tree.args.get("having"), tree.args.get("order"))
    for clause in clauses:
        spellings = _spellings(clause, scope) if clause is not None else {}
        for value, texts in spellings.items():
            if not texts <= keys.get(value, texts):
                raise DeclinedError("block_unsupported", f"A key's constant, as {min(texts)}.")


def _spellings(clause: exp.Expression, scope: NameScope) -> dict[str, set[str]]:
    """Returns the texts in which each constant is written."""
    found: dict[str, set[str]] = {}
    for node in _constants(clause):
        with suppress(DeclinedError):
            bound = computed(bind(node, scope))
            if isinstance(bound, Literal):
                found.setdefault(bound.value, set()).add(node.sql(dialect="spark"))
    return found


def _constants(clause: exp.Expression) -> Iterator[exp.Expression]:
    """Yields the largest expressions without a column, but for positions and in aggregates."""
    stack = [clause]
    while stack:
        node = stack.pop().unnest()
        if is_aggregate(node):
            continue
        if isinstance(node, _CONSTANT) and node.find(exp.Column) is None:
            if not (isinstance(node, exp.Literal) and _is_item(node)):
                yield node
        else:
            stack += cast(Iterator[exp.Expression], node.iter_expressions())


def _is_item(node: exp.Expression) -> bool:
    """Decides whether the node is an item of GROUP BY or ORDER BY by itself."""
    while isinstance(node.parent, exp.Paren):
        node = node.parent
    return isinstance(node.parent, (exp.Group, exp.Ordered))
