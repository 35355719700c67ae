"""Slots for work that lasts: so many for all users together, and a share for each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from accelerator.gateway.workers.api.errors import BusyError

_LATER = "send it again, later"


class Slots:
    """Of one kind of work; belongs to one event loop."""

    def __init__(self, what: str, at_once: int, of_one: int) -> None:
        """`what` names the work in errors; one user may have `of_one` of the `at_once` slots."""
        self._what, self._at_once, self._of_one = what, at_once, of_one
        self._users: Counter[str] = Counter()

    @contextmanager
    def occupy(self, user: str) -> Iterator[None]:
        """A slot, as long as it's inside; BusyError if there is none for that user."""
        own, running = self._users[user], self._users.total()
        if own >= self._of_one:
            raise BusyError(f"{own} {self._what} of the user go on", hint=_LATER)
        if running >= self._at_once:
            raise BusyError(f"{running} {self._what} go on", hint=_LATER)
        self._users[user] += 1
        try:
            yield
        finally:
            self._users[user] -= 1
            if not self._users[user]:
                del self._users[user]
