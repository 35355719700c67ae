"""A small cache of what was used last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

CACHED = 512
UNLIMITED = 1 << 62
"""A number of values that are limited by their weight alone."""
_TEXTS_MAX = 1 << 22
"""Characters of all statements that something is known of; a tree takes fifty times as much."""
V = TypeVar("V")


class Recent(Generic[V]):
    """A thread-safe cache of the most recently used values.

    Args:
        size: of values, at most.
        weigh: what a key and its value weigh together, where values differ much.
        weight_max: of all values, but for the newest, which stays whatever it weighs.
        leaves: is called with each value that goes for others, while the cache is locked.
    """

    def __init__(
        self,
        size: int = CACHED,
        weigh: Callable[[Hashable, V], int] = lambda _key, _value: 0,
        weight_max: int = 0,
        leaves: Callable[[Any, V], None] = lambda _key, _value: None,
    ) -> None:
        self._size, self._values = size, OrderedDict[Hashable, tuple[V, int]]()
        self._weigh, self._weight_max, self._leaves = weigh, weight_max, leaves
        self.weight = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable) -> V | None:
        """The value, None if it isn't kept."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def get_or(self, key: Hashable, make: Callable[[], V]) -> V:
        """The kept value, or a new one; two threads may both make it, the first kept one wins."""
        known = self.get(key)
        if known is not None:
            return known
        value = make()
        with self._lock:
            if key not in self._values:
                self._keep(key, value)
            return self._values[key][0]

    def put(self, key: Hashable, value: V) -> None:
        """Keeps a value, whose weight may have changed; the least recently used ones go."""
        with self._lock:
            self._keep(key, value)

    def pop(self, key: Hashable) -> V | None:
        """Forgets a value and returns it, None if it isn't kept."""
        with self._lock:
            return self._pop(key)

    def _keep(self, key: Hashable, value: V) -> None:
        self._pop(key)
        weight = self._weigh(key, value)
        self._values[key] = value, weight
        self.weight += weight
        while len(self._values) > self._size or (
            self.weight > self._weight_max and len(self._values) > 1
        ):
            oldest, (old, _) = next(iter(self._values.items()))
            self._pop(oldest)  # first: it's gone, and is counted no more, even if that fails
            self._leaves(oldest, old)

    def _pop(self, key: Hashable) -> V | None:
        value, weight = self._values.pop(key, (None, 0))
        self.weight -= weight
        return value


def text_weight(key: Hashable, _value: object) -> int:
    """The length of a key's text, or of the texts in it: what is kept grows with it."""
    if isinstance(key, tuple):
        return sum(text_weight(part, None) for part in key)
    return len(key) if isinstance(key, str) else 0


def by_text(size: int = CACHED) -> Recent[Any]:
    """A cache by statements' texts, or their shapes, of which there may be very long ones."""
    return Recent(size, text_weight, _TEXTS_MAX)
