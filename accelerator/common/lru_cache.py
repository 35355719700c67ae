"""A small cache of what was used last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

CACHED = 512
_TEXTS_MAX = 1 << 22
"""Characters of all statements that something is known of; a tree takes fifty times as much."""
V = TypeVar("V")


class Recent(Generic[V]):
    """A thread-safe cache of the most recently used values.

    Args:
        size: of values, at most.
        weigh: what a key and its value weigh together, where values differ much.
        weight_max: of all values, but for the newest, which stays whatever it weighs.
    """

    def __init__(
        self,
        size: int = CACHED,
        weigh: Callable[[Hashable, V], int] = lambda _key, _value: 0,
        weight_max: int = 0,
    ) -> None:
        self._size, self._values = size, OrderedDict[Hashable, V]()
        self._weigh, self._weight_max = weigh, weight_max
        self._weight = 0
        self._lock = threading.Lock()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is kept."""
        return not self._values

    def get(self, key: Hashable) -> V | None:
        """The value, None if it isn't kept."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def get_or(self, key: Hashable, make: Callable[[], V]) -> V:
        """The kept value, or a new one; two threads may both make it, the first kept one wins."""
        known = self.get(key)
        if known is not None:
            return known
        value = make()
        with self._lock:
            if key in self._values:
                return self._values[key]
            self._keep(key, value)
            return value

    def put(self, key: Hashable, value: V) -> None:
        """Keeps a value; the least recently used ones go."""
        with self._lock:
            if key in self._values:
                self._weight -= self._weigh(key, self._values.pop(key))
            self._keep(key, value)

    def _keep(self, key: Hashable, value: V) -> None:
        self._values[key] = value
        self._weight += self._weigh(key, value)
        while len(self._values) > self._size or (
            self._weight > self._weight_max and len(self._values) > 1
        ):
            gone, old = self._values.popitem(last=False)
            self._weight -= self._weigh(gone, old)


def text_weight(key: Hashable, _value: object) -> int:
    """The length of a key's text, or of the texts in it: what is kept grows with it."""
    if isinstance(key, tuple):
        return sum(text_weight(part, None) for part in key)
    return len(key) if isinstance(key, str) else 0


def by_text(size: int = CACHED) -> Recent[Any]:
    """A cache by statements' texts, or their shapes, of which there may be very long ones."""
    return Recent(size, text_weight, _TEXTS_MAX)
