"""SELECTs of a statement's tree by where they stand in its text, and the items of WITH they see.

What is found may be another SELECT than the text's at that place, where the text cuts one; whoever
relies on it compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rewrite.parse.with_definitions import Definitions
from rewrite.reason import DeclinedError
from rewrite.rules.derived_tables import Query, defined


class SelectPositions:
    """The SELECTs of a tree that name anything, outermost first.

    >>> from rewrite.parse.parse import parse
    >>> sql = "SELECT a FROM t WHERE b > (SELECT max(c) FROM u)"
    >>> Located(parse(sql)).at(27, 47).sql()
    'SELECT MAX(c) FROM u'
    """

    def __init__(self, tree: exp.Expression) -> None:
        spans: dict[int, tuple[int, int]] = {}
        for name in tree.find_all(exp.Identifier):
            place, select = name.meta.get("start"), name.find_ancestor(exp.Select)
            if place is not None and select is not None:
                low, high = spans.get(id(select), (place, place))
                spans[id(select)] = min(low, place), max(high, place)
        selects = [one for one in tree.find_all(exp.Select) if id(one) in spans]
        self._selects = [(*spans[id(one)], one) for one in selects]

    def at(self, start: int, end: int) -> exp.Select | None:
        """The outermost one whose own names stand between these places."""
        inside = (one for low, high, one in self._selects if start <= low and high < end)
        return next(inside, None)


def visible_to(select: exp.Select) -> Sequence[exp.CTE]:
    """The items of WITH around a SELECT that it may name, in order; DeclinedError for recursion."""
    found: list[exp.CTE] = []
    inside: exp.Expr = select
    while inside.parent is not None:
        around = inside.parent
        if isinstance(around, exp.With):
            holder = around.parent
            if not isinstance(holder, Query):
                break
            items = defined(holder)
            before = next((i for i, item in enumerate(items) if item is inside), len(items))
            found[:0] = items[:before]
            inside = holder
            continue
        if isinstance(around, Query):
            found[:0] = defined(around)
        inside = around
    names = {item.alias.lower() for item in found}
    if len(names) < len(found):
        raise DeclinedError("block_unsupported", "A name that two WITHs define.")
    return found


def is_defined(node: exp.Table, known: Definitions | None = None) -> bool:
    """Whether an item of a WITH that it sees has its name; `known` is that of a walk."""
    known = known or Definitions()
    if len(node.parts) > 1 or not isinstance(node.this, exp.Identifier):
        return False
    for with_, item in known.scopes(node):
        # An item sees those before it, and all of them if it may be recursive.
        is_open = item is None or with_.args.get("recursive")
        place = None if is_open or item is None else known.place(with_, item)
        limit = len(with_.expressions) if place is None else place
        if known.before(with_, node.name, limit) is not None:
            return True
    return False
