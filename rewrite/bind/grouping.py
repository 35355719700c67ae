"""GROUP BY as keys and sets of them: GROUPING SETS, ROLLUP, CUBE, and lists of these.

Theory: docs/rewriting.md, 4. A set names the keys that it groups by; of a row the others are NULL.
Lists multiply: `a, ROLLUP(b, c)` has the sets (a, b, c), (a, b) and (a). What Spark itself reads in
several ways, or refuses, raises DeclinedError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, product
from typing import NamedTuple, cast

from sqlglot import exp

from rewrite.ir.expr import (
    Aggregate,
    Call,
    Column,
    Expr,
    Literal,
    children,
    has_aggregate,
    transform,
    walk,
)
from rewrite.reason import DeclinedError

_SETS_MAX = 64
_TOLD = frozenset({"grouping", "grouping_id"})
_Set = tuple[Expr, ...]


class Grouping(NamedTuple):
    """`sets` are places in `keys`; none where all keys are grouped by at once."""

    keys: tuple[Expr, ...]
    sets: tuple[tuple[int, ...], ...] = ()


def grouping_of(group: exp.Group, key: Callable[[exp.Expression], Expr]) -> Grouping:
    """What GROUP BY says; `key` binds one of its expressions."""
    known = {"expressions", "rollup", "cube", "grouping_sets"}
    extra = [name for name, value in group.args.items() if value and name not in known]
    behind = [
        node for name in sorted(known - {"expressions"}) for node in group.args.get(name) or ()
    ]
    if extra or not (group.expressions or behind):
        raise DeclinedError("block_unsupported", f"GROUP BY {', '.join(extra).upper() or '()'}.")

    def bound(node: exp.Expression) -> Expr:
        found = key(node)
        if has_aggregate(found):
            raise DeclinedError("block_unsupported", "An aggregate in GROUP BY.")
        return found

    if group.args.get("all") is not None:
        raise DeclinedError("block_unsupported", "GROUP BY ALL or DISTINCT.")
    if any(isinstance(item, exp.Tuple) for item in group.expressions):
        raise DeclinedError("block_unsupported", "GROUP BY (a, b) is one struct.")
    if not behind and not any(map(_is_several, group.expressions)):
        return Grouping(tuple(dict.fromkeys(map(bound, group.expressions))))
    if behind:
        return _grouping(_behind(group.expressions, behind, bound))
    each = [_sets(item, bound) for item in group.expressions]
    return _grouping([_joined(one) for one in product(*each)])


def is_all(group: exp.Group) -> bool:
    """Decides whether it's GROUP BY ALL, and nothing else."""
    others = any(value for name, value in group.args.items() if name != "all")
    return (group.args.get("all") is True and not others) or is_name_all(group)


def is_name_all(group: exp.Group) -> bool:
    """Decides whether ALL is a name here; if no column has it, Spark takes it for the word."""
    if [name for name, value in group.args.items() if value] != ["expressions"]:
        return False
    (key, *more) = group.expressions
    bare = key.unnest()
    return (
        not more and isinstance(bare, exp.Column) and bare.sql("spark").strip("`").lower() == "all"
    )


def grouping_of_all(outputs: Sequence[Expr]) -> Grouping:
    """Returns the keys of GROUP BY ALL: the outputs without an aggregate in them.

    A constant is a key, too: over no rows it gives no group. Without a key all rows are one group.
    DeclinedError if there's a column outside of the aggregates then, for which Spark raises.
    """
    keys = tuple(dict.fromkeys(one for one in outputs if not has_aggregate(one)))
    if not keys and any(_is_beside_aggregates(one) for one in outputs):
        raise DeclinedError("block_unsupported", "GROUP BY ALL without a key.")
    return Grouping(keys)


def _is_beside_aggregates(expr: Expr) -> bool:
    """Decides whether a column appears outside of the aggregates."""
    if isinstance(expr, Aggregate):
        return False
    return isinstance(expr, Column) or any(map(_is_beside_aggregates, children(expr)))


def resolve_sets(expr: Expr, grouping: Grouping) -> Expr:
    """`grouping` and `grouping_id` with their keys; DeclinedError where Spark refuses them."""

    def change(node: Expr) -> Expr | None:
        if not isinstance(node, Call) or node.op not in _TOLD:
            return None
        if node.op == "grouping_id" and not node.args:
            node = Call(node.op, grouping.keys, node.type)
        fits = (
            node.args == grouping.keys
            if node.op == "grouping_id"
            else node.args[0] in grouping.keys
        )
        if not grouping.sets or not fits:
            raise DeclinedError("block_unsupported", f"{node.op} of other than the sets' keys.")
        return node

    return transform(expr, change) if any(_is_grouping_call(node) for node in walk(expr)) else expr


def _is_grouping_call(node: Expr) -> bool:
    return isinstance(node, Call) and node.op in _TOLD


def _is_several(node: exp.Expression) -> bool:
    return isinstance(node, (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple))


def _behind(
    listed: Sequence[exp.Expression],
    behind: Sequence[exp.Expression],
    bound: Callable[[exp.Expression], Expr],
) -> list[_Set]:
    """`a, b WITH ROLLUP`, `WITH CUBE`: of what is listed. A list before GROUPING SETS says less."""
    kind = type(behind[0])
    if len(behind) > 1 or kind is exp.GroupingSets or any(map(_is_several, listed)):
        raise DeclinedError("block_unsupported", "GROUP BY in several forms.")
    return _sets(kind(expressions=list(listed)), bound)


def _sets(node: exp.Expression, bound: Callable[[exp.Expression], Expr]) -> list[_Set]:
    if isinstance(node, exp.GroupingSets):
        return [one for item in node.expressions for one in _sets(item, bound)]
    if isinstance(node, exp.Rollup):
        parts = [_keys(item, bound) for item in node.expressions]
        return [_joined(parts[:length]) for length in range(len(parts), -1, -1)]
    if isinstance(node, exp.Cube):
        parts = [_keys(item, bound) for item in node.expressions]
        lengths = range(len(parts), -1, -1)
        if len(parts) > _SETS_MAX.bit_length():
            raise DeclinedError("block_unsupported", f"More than {_SETS_MAX} grouping sets.")
        return [_joined(one) for n in lengths for one in combinations(parts, n)]
    return [_keys(node, bound)]


def _keys(node: exp.Expression, bound: Callable[[exp.Expression], Expr]) -> _Set:
    """One key, or several in parentheses."""
    listed = node.expressions if isinstance(node, exp.Tuple) else [node.unnest()]
    items = cast(list[exp.Expression], listed)
    if any(_is_several(item) for item in items):
        raise DeclinedError("block_unsupported", "Sets within a set.")
    return tuple(map(bound, items))


def _joined(parts: Iterable[_Set]) -> _Set:
    return tuple(key for part in parts for key in part)


def _grouping(sets: list[_Set]) -> Grouping:
    keys = tuple(dict.fromkeys(_joined(sets)))
    places = [tuple(map(keys.index, one)) for one in sets]
    if len(sets) > _SETS_MAX:
        raise DeclinedError("block_unsupported", f"More than {_SETS_MAX} grouping sets.")
    if not keys or any(isinstance(key, Literal) for key in keys):
        raise DeclinedError("block_unsupported", "Grouping sets without a key, or by a constant.")
    if len({frozenset(one) for one in places}) < len(sets) or any(
        len(set(one)) < len(one) for one in places
    ):
        raise DeclinedError("block_unsupported", "A grouping set, or a key of one, twice.")
    return Grouping(keys, tuple(places))
