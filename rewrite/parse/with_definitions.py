"""The items of WITH by their names, listed once for each WITH, so that thousands cost no square.

One `Definitions` serves one walk over a tree that stays unchanged meanwhile.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from sqlglot import exp

_Step = tuple[exp.With, exp.Expr | None, exp.Expr]
"""A WITH, the item below which one came, and the node from which to go on."""

_QUERY, _TABLE = 0, -1
"""In place of an item's id: the query behind all WITHs, and a table that is no item."""


class Definitions:
    """Finds items of WITHs."""

    def __init__(self) -> None:
        self._steps: dict[int, _Step | None] = {}
        self._known: dict[int, tuple[dict[str, list[int]], dict[int, int]]] = {}

    def scopes(self, node: exp.Expr) -> Iterator[tuple[exp.With, exp.Expr | None]]:
        """Yields each WITH around the node, innermost first, and its item that the node is in.

        The item is None for a node of the query behind the WITH. Each ancestor is passed once for
        all nodes below it: a union of thousands of SELECTs nests as deeply.
        """
        step = self._step(node)
        while step is not None:
            yield step[:2]
            step = self._step(step[2])

    def _step(self, node: exp.Expr) -> _Step | None:
        passed, below = list[int](), node
        step: _Step | None = None
        while step is None and (above := below.parent) is not None:
            with_ = above.args.get("with_")
            if isinstance(above, exp.With):
                step = above, below, above.parent or above
            elif isinstance(with_, exp.With):
                step = with_, None, above
            elif id(above) in self._steps:
                step = self._steps[id(above)]
                break
            else:
                passed.append(id(above))
                below = above
        self._steps.update(dict.fromkeys(passed, step))
        return step

    def before(self, with_: exp.With, name: str, limit: int) -> exp.CTE | None:
        """Returns the last item of that name, in any letters, among the first `limit` ones."""
        places = self._of(with_)[0].get(name.lower(), [])
        found = bisect_left(places, limit)
        return with_.expressions[places[found - 1]] if found else None

    def place(self, with_: exp.With, node: exp.Expr) -> int | None:
        """Returns the node's place among the items; None if it's none of them."""
        return self._of(with_)[1].get(id(node))

    def item_of(self, table: exp.Table) -> exp.CTE | None:
        """Returns the item of a WITH that the name is of; one of several parts never is.

        An item sees those before it, itself only under RECURSIVE.
        """
        if table.args.get("db"):
            return None
        for with_, item in self.scopes(table):
            limit = len(with_.expressions)
            if item is not None:
                limit = (self.place(with_, item) or 0) + bool(with_.args.get("recursive"))
            found = self.before(with_, table.name, limit)
            if found is not None:
                return found
        return None

    def references(self, tree: exp.Expr) -> int:
        """Counts the tables of a query once each item of WITH is written wherever it's named.

        Engines do that with items that are named twice, so that forty items can be a trillion.
        """
        named: dict[int, list[int]] = {}
        for table in tree.find_all(exp.Table):
            inside = next((one for _, one in self.scopes(table) if one is not None), None)
            item = self.item_of(table)
            place = _QUERY if inside is None else id(inside)
            named.setdefault(place, []).append(_TABLE if item is None else id(item))
        counts, begun = {_TABLE: 1}, set[int]()
        waiting = [_QUERY]
        while waiting:
            place = waiting[-1]
            missing = (
                [] if place in begun else [one for one in named.get(place, ()) if one not in counts]
            )
            begun.add(place)
            waiting += (one for one in missing if one not in begun and one in named)
            if waiting[-1] == place:  # items that are recursive count once where they name others
                counts.setdefault(place, sum(counts.get(one, 1) for one in named.get(place, ())))
                waiting.pop()
        return counts[_QUERY]

    def _of(self, with_: exp.With) -> tuple[dict[str, list[int]], dict[int, int]]:
        known = self._known.get(id(with_))
        if known is None:
            known = self._known[id(with_)] = {}, {}
            for place, item in enumerate(with_.expressions):
                known[0].setdefault(item.alias.lower(), []).append(place)
                known[1][id(item)] = place
        return known
