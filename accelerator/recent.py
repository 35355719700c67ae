"""A small cache of what was used last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_CACHED = 512
V = TypeVar("V")


class Recent(Generic[V]):
    """A thread-safe cache of the most recently used values."""

    def __init__(self, size: int = _CACHED) -> None:
        self._size, self._values = size, OrderedDict[Hashable, V]()
        self._lock = threading.Lock()

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
            value = self._values.setdefault(key, value)
            if len(self._values) > self._size:
                self._values.popitem(last=False)
            return value

    def put(self, key: Hashable, value: V) -> None:
        """Keeps a value; the least recently used one goes."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self._size:
                self._values.popitem(last=False)
