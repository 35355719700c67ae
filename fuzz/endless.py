"""A deadline for one statement: Spark's optimizer loops for ever on some, and nothing stops it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LOOKS_EVERY_S = 1.0


class Deadline:
    """Calls `passed` with the text of a statement that takes longer than `seconds`, once.

    `passed` runs in another thread, since the one that asks waits for the JVM.
    """

    def __init__(self, seconds: float, passed: Callable[[str], None]) -> None:
        self._seconds, self._passed = seconds, passed
        self._running: tuple[float, str] | None = None
        threading.Thread(target=self._watch, name="deadline", daemon=True).start()

    @contextmanager
    def of(self, text: str) -> Iterator[None]:
        """Measures the statement that is asked inside."""
        self._running = time.monotonic(), text
        try:
            yield
        finally:
            self._running = None

    def _watch(self) -> None:
        while True:
            time.sleep(_LOOKS_EVERY_S)
            running = self._running
            if running is not None and time.monotonic() - running[0] > self._seconds:
                self._passed(running[1])
                return
