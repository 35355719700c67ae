"""The items of WITH by their names, listed once for each WITH, so that thousands cost no square.

One `Definitions` serves one walk over a tree that stays unchanged meanwhile.
"""

from __future__ import annotations

from bisect import bisect_left

from sqlglot import exp


class Definitions:
    """Finds items of WITHs."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[dict[str, list[int]], dict[int, int]]] = {}

    def before(self, with_: exp.With, name: str, limit: int) -> exp.CTE | None:
        """Returns the last item of that name, in any letters, among the first `limit` ones."""
        places = self._of(with_)[0].get(name.lower(), [])
        found = bisect_left(places, limit)
        return with_.expressions[places[found - 1]] if found else None

    def place(self, with_: exp.With, node: exp.Expr) -> int | None:
        """Returns the node's place among the items; None if it's none of them."""
        return self._of(with_)[1].get(id(node))

    def _of(self, with_: exp.With) -> tuple[dict[str, list[int]], dict[int, int]]:
        known = self._known.get(id(with_))
        if known is None:
            known = self._known[id(with_)] = {}, {}
            for place, item in enumerate(with_.expressions):
                known[0].setdefault(item.alias.lower(), []).append(place)
                known[1][id(item)] = place
        return known
