"""Statistics of states of tables, kept under a budget of bytes.

A new state is made after the one of its table that was used last, so that it costs what is new.
What was used longest ago goes first; of the very newest state, single columns.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

from accelerator.iceberg.statistics.file_statistics import FileStatistics

Make = Callable[[FileStatistics | None], FileStatistics]


class StatisticsCache:
    """States by table and what names them; threads may share it."""

    def __init__(self, budget_bytes: int) -> None:
        self._budget = budget_bytes
        self._states: OrderedDict[tuple[Hashable, Hashable], FileStatistics] = OrderedDict()
        self._sizes: dict[tuple[Hashable, Hashable], int] = {}
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the states take."""
        return sum(state.nbytes for state in list(self._states.values()))

    @property
    def newest_nbytes(self) -> int:
        """Bytes of memory of the state used last."""
        with self._lock:
            return next((state.nbytes for state in reversed(self._states.values())), 0)

    def latest(self, table: Hashable, name: Hashable) -> tuple[FileStatistics | None, bool]:
        """What `get_or` gives or makes a state after, and whether it's of that very name."""
        with self._lock:
            known = self._states.get((table, name))
            return known or self._last_of(table), known is not None

    def get_or(self, table: Hashable, name: Hashable, make: Make) -> FileStatistics:
        """The kept state, or a new one; `make` is given the one of the table used last, if any.

        Two threads may both make it; the first kept one wins. The budget is looked after here:
        columns that are made later count from the next call for their state on.
        """
        with self._lock:
            known = self._states.get((table, name))
            earlier = known or self._last_of(table)
        made = make(earlier) if known is None else known
        with self._lock:
            made = self._states.setdefault((table, name), made)
            self._states.move_to_end((table, name))
            self._sizes[(table, name)] = made.nbytes
            self._keep_budget(made)
        return made

    def _last_of(self, table: Hashable) -> FileStatistics | None:
        found = (state for (of, _), state in reversed(self._states.items()) if of == table)
        return next(found, None)

    def _keep_budget(self, newest: FileStatistics) -> None:
        total = sum(self._sizes.values())
        for key in list(self._states) if total > self._budget else ():
            if total <= self._budget:
                return
            if self._states[key] is newest:
                newest.shrink(self._budget)
                self._sizes[key] = newest.nbytes
                return
            del self._states[key]
            total -= self._sizes.pop(key)
