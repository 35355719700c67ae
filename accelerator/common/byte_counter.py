"""Counts bytes that several threads read."""

from __future__ import annotations

import threading


class ByteCounter:
    """The sum of the sizes that it's called with; threads share it."""

    def __init__(self) -> None:
        self.bytes = 0
        self._lock = threading.Lock()

    def __call__(self, size: int) -> None:
        """Adds a size."""
        with self._lock:
            self.bytes += size
