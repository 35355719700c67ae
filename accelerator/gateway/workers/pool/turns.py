"""Turns at places that run one statement each: which of the waiting ones goes next.

The user who runs the fewest statements goes first, then the user whose last turn is longest ago.
Promises: a user gets the next free place, however many statements of one other user wait. A
statement that stops waiting takes nothing along.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from msgspec import Struct

from accelerator.gateway.admission.admission import QueueTimeoutError

Place = TypeVar("Place", bound=Hashable)


class _Turn(Struct, Generic[Place], eq=False):
    user: str
    number: int
    place: asyncio.Future[Place]


class Turns(Generic[Place]):
    """Belongs to one event loop."""

    def __init__(
        self,
        free: Callable[[Turns[Place]], Place | None],
        most_of_one: int,
        stopping: Callable[[str], int] = lambda _user: 0,
        *,
        wait_max_s: float | None = None,
    ) -> None:
        """`free` returns a place that can run one statement more, None if there is none now.

        A user runs `most_of_one` statements at most. `stopping` counts those of a user that were
        stopped and still run: who cancels what doesn't end gets no other place for it. `wait_max_s`
        is the longest that a statement waits.
        """
        self._wait_max_s = wait_max_s
        self._free, self._most, self._stopping = free, max(1, most_of_one), stopping
        self._numbers = itertools.count(1)
        self._waiting: dict[int, _Turn[Place]] = {}
        self._last: dict[str, int] = {}
        self.taken: Counter[Place] = Counter()
        """How many statements each place runs."""
        self.by_user: Counter[str] = Counter()
        """How many statements of each user run."""

    @asynccontextmanager
    async def place(self, user: str) -> AsyncIterator[Place]:
        """The place that the statement has while the context is open, once its turn has come.

        QueueTimeoutError if that takes too long.
        """
        future: asyncio.Future[Place] = asyncio.get_running_loop().create_future()
        turn = _Turn(user, next(self._numbers), future)
        self._waiting[turn.number] = turn
        try:
            self.give()
            yield await self._awaited(future)
        finally:
            self._leave(turn)

    async def _awaited(self, future: asyncio.Future[Place]) -> Place:
        try:
            async with asyncio.timeout(self._wait_max_s):
                return await future
        except TimeoutError as error:
            raise QueueTimeoutError(self._wait_max_s or 0.0) from error

    def give(self) -> None:
        """Gives the free places to those that wait; to be called whenever one may be free."""
        while (place := self._free(self)) is not None and (turn := self._next()) is not None:
            del self._waiting[turn.number]
            self.taken[place] += 1
            self.by_user[turn.user] += 1
            self._last[turn.user] = next(self._numbers)
            turn.place.set_result(place)

    def _next(self) -> _Turn[Place] | None:
        """Returns the waiting turn that goes first, None if no waiting user may have a place."""
        may = (
            one
            for one in self._waiting.values()
            if self._running(one.user) < self._most and not one.place.done()
        )
        return min(may, key=self._rank, default=None)

    def _rank(self, turn: _Turn[Place]) -> tuple[int, int, int]:
        return self._running(turn.user), self._last.get(turn.user, 0), turn.number

    def _running(self, user: str) -> int:
        return self.by_user[user] + self._stopping(user)

    def _leave(self, turn: _Turn[Place]) -> None:
        if self._waiting.pop(turn.number, None) is None:  # it got a place, maybe unnoticed
            _subtract(self.taken, turn.place.result())
            _subtract(self.by_user, turn.user)
        if not self.by_user[turn.user] and all(
            one.user != turn.user for one in self._waiting.values()
        ):
            self._last.pop(turn.user, None)
        self.give()


def _subtract(counts: Counter[Place], key: Place) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
