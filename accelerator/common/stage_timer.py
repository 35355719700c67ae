"""How long the stages of one statement take, where somebody asks: EXPLAIN ANALYZE does.

A stage's time is its own: what a stage within it takes isn't counted twice. Only the thread that
asks is looked at. Elsewhere a stage costs a look at a context variable.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Clock:
    """Milliseconds by stage, in the order in which stages began."""

    def __init__(self) -> None:
        self.ms: dict[str, float] = {}
        self._open: list[str] = []
        self._since = time.perf_counter()

    def enter(self, name: str) -> None:
        """Begins the stage and pauses the one around it."""
        self._add_elapsed()
        self.ms.setdefault(name, 0.0)
        self._open.append(name)

    def leave(self) -> None:
        """The newest stage ends."""
        self._add_elapsed()
        self._open.pop()

    def _add_elapsed(self) -> None:
        now = time.perf_counter()
        if self._open:
            self.ms[self._open[-1]] += (now - self._since) * 1000
        self._since = now


_CLOCK: ContextVar[Clock | None] = ContextVar("accelerator_stages", default=None)


def staged(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A function whose time counts for the stage of that name."""

    def around(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            clock = _CLOCK.get()
            if clock is None:
                return function(*args, **kwargs)
            clock.enter(name)
            try:
                return function(*args, **kwargs)
            finally:
                clock.leave()

        return call

    return around


@contextmanager
def clocked() -> Iterator[Clock]:
    """Counts the stages of what runs within, in this thread."""
    clock = Clock()
    token = _CLOCK.set(clock)
    try:
        yield clock
    finally:
        _CLOCK.reset(token)
