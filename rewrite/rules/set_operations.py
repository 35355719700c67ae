"""Set operations as a list of queries under one operator, and what sorts them as a SELECT above.

`a UNION ALL b UNION ALL c` is one list; other operators between are queries of their own, as the
tree has them: INTERSECT binds closer than UNION and EXCEPT, which go from left to right.
"""

from __future__ import annotations

from msgspec import Struct
from sqlglot import exp

from rewrite.reason import DeclinedError
from rewrite.rules.derived_tables import SELECTS_MAX, Query, copied, defined, with_visible

_KNOWN = frozenset({"this", "expression", "distinct", "with_"})
_ABOVE = ("order", "limit")
_SORTING = ("order", "sort", "cluster", "distribute")
_IN_PARENTHESES = (
    *("order", "limit", "offset", "sort", "cluster", "distribute", "windows", "with_"),
)
_WORDS: dict[type[exp.Expression], str] = {
    exp.Union: "UNION",
    exp.Intersect: "INTERSECT",
    exp.Except: "EXCEPT",
}
_NAME = "acc_set"


class SetOperation(Struct, frozen=True):
    """Queries, each with the WITH that it needs, and the operator between them."""

    operator: str
    queries: tuple[Query, ...]

    @property
    def compares(self) -> bool:
        """Whether rows are compared with each other, rather than put one behind the other."""
        return self.operator != "UNION ALL"


def set_operation(tree: exp.SetOperation) -> SetOperation:
    """The operation; DeclinedError for more clauses, BY NAME, and too many queries."""
    operator = _operator(tree)
    visible, waiting, found = defined(tree), [_operands(tree)], list[exp.Expression]()
    while waiting:
        left, right = waiting.pop()
        found.append(right)
        if operator == "UNION ALL" and type(left) is type(tree) and _is_plain(left, operator):
            waiting.append(_operands(left))
        else:
            found.append(left)
        if len(found) > SELECTS_MAX:
            raise DeclinedError("block_unsupported", f"More than {SELECTS_MAX} SELECTs in one.")
    queries = tuple(with_visible(_query(one), visible) for one in reversed(found))
    return SetOperation(operator, queries)


def above(tree: exp.SetOperation) -> exp.Select | None:
    """The SELECT of all its rows that sorts or limits them; None where nothing does."""
    if not any(tree.args.get(key) for key in _ABOVE):
        return None
    if sorts_by_table(tree):
        raise DeclinedError("block_unsupported", "ORDER BY a branch's table.")
    taken = (*_ABOVE, "with_")
    bare = copied(tree, {id(tree.args[key]): None for key in taken if tree.args.get(key)})
    alias = exp.TableAlias(this=exp.to_identifier(_NAME))
    select = exp.Select(
        expressions=[exp.Star()], from_=exp.From(this=exp.Subquery(this=bare, alias=alias))
    )
    for key in taken:
        if tree.args.get(key):
            select.set(key, copied(tree.args[key], {}))
    return select


def sorts_by_table(tree: exp.Expr) -> bool:
    """Whether it's sorted by `t.a`; t is of the first of its queries then."""
    orders = (tree.args[key] for key in _SORTING if tree.args.get(key))
    return any(column.table for order in orders for column in order.find_all(exp.Column))


def _operator(tree: exp.SetOperation) -> str:
    more = sorted(key for key, value in tree.args.items() if value and key not in _KNOWN)
    word = next((word for kind, word in _WORDS.items() if isinstance(tree, kind)), None)
    if more or word is None:
        raise DeclinedError("block_unsupported", f"A set operation with {', '.join(more)}.")
    return word if tree.args.get("distinct") else f"{word} ALL"


def _is_plain(tree: exp.Expression, operator: str) -> bool:
    return (
        isinstance(tree, exp.SetOperation)
        and not tree.args.get("with_")
        and _operator(tree) == operator
    )


def _operands(tree: exp.Expression) -> tuple[exp.Expression, exp.Expression]:
    return tree.this, tree.args["expression"]


def _query(node: exp.Expression) -> Query:
    """What an operand is; Spark has no clauses of its own on one without parentheses."""
    if isinstance(node, Query) and any(node.args.get(key) for key in _IN_PARENTHESES):
        raise DeclinedError("block_unsupported", "A branch is sorted without parentheses.")
    while isinstance(node, exp.Subquery) and not any(
        v for k, v in node.args.items() if k != "this"
    ):
        node = node.this
    if not isinstance(node, Query):
        raise DeclinedError("block_unsupported", "A set operation of other than SELECTs.")
    return node
