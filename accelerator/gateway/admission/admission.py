"""Admission: which statements run now, which wait and in which order, which are turned away.

A limit counts statements together: all of them, those of each user, source or group. A statement
runs once each limit that it falls under has room, and books there its estimate of memory. Who
waits does so by priority, then by how little the user runs already, then by time. Promises: no slot
is lost, whoever goes away when; the queue, the time in it and what is remembered are bounded.

One event loop's thread; nothing here waits but `slot`.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct

from accelerator.errors import AcceleratorError
from accelerator.gateway.access.name_patterns import Glob

Per = Literal["all", "user", "source", "group"]
PRIORITY = 100
"""Of a statement that no limit gives one; smaller numbers go first."""
_KEPT_MAX = 20_000
_WINDOW_S = 60.0


class QueueFullError(AcceleratorError):
    """So many statements wait already that another one isn't taken."""

    code = "queue_full"


class QueueTimeoutError(AcceleratorError):
    """The statement has waited for its turn as long as it may."""

    code = "queue_timeout"

    def __init__(self, wait_s: float) -> None:
        super().__init__(
            f"the statement has waited {wait_s:g} s for its turn",
            hint="try again later, or ask for a larger share",
        )


class RateLimitedError(AcceleratorError):
    """More statements came in a minute than a limit allows."""

    code = "rate_limited"

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message, hint=f"try again in {max(1, math.ceil(retry_after_s))} s")
        self.retry_after_s = retry_after_s


class Who(Struct, frozen=True):
    """Whose statement it is; `source` and `tags` are the client's word."""

    user: str
    roles: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    source: str = ""
    tags: frozenset[str] = frozenset()


class Limit(Struct, frozen=True, kw_only=True):
    """What statements may take together. None: no bound.

    It's of statements whose user (by name, role or group), source and a tag are of its patterns,
    where it has some; `per` says which of them count together. `per_minute` is a rate, of which so
    many may come at once. `priority` is given to these statements by the first limit that has one.
    """

    name: str
    per: Per = "all"
    users: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    concurrent: int | None = None
    queued: int | None = None
    per_minute: int | None = None
    memory_bytes: int | None = None
    priority: int | None = None

    def holds(self, who: Who) -> bool:
        """Whether it's of the statements of these."""
        subjects = (
            _any(self.users, (who.user,)),
            _any(self.roles, who.roles),
            _any(self.groups, who.groups),
        )
        named = self.users or self.roles or self.groups
        return (
            (not named or any(subjects))
            and (not self.sources or _any(self.sources, (who.source,)))
            and (not self.tags or _any(self.tags, who.tags))
        )

    def keys(self, who: Who) -> Iterator[str]:
        """What it counts the statement under."""
        if self.per == "group":
            yield from sorted(who.groups)
        elif self.per != "all":
            yield who.user if self.per == "user" else who.source
        else:
            yield ""


DEFAULTS = (
    Limit(name="total", concurrent=64, queued=1000),
    Limit(name="each user", per="user", concurrent=16, queued=200),
)
"""Where no limits are given."""


def _any(patterns: Sequence[str], names: Sequence[str] | frozenset[str]) -> bool:
    return any(Glob.exact(pattern).matches(name) for pattern in patterns for name in names)


class _Bucket(Struct):
    """What one limit counts together, and the tokens of its rate, which fill up with time."""

    limit: Limit
    running: int = 0
    memory: int = 0
    queued: int = 0
    tokens: float = 0.0
    at: float = 0.0

    def has_place(self) -> bool:
        """Whether one statement more may run, memory apart."""
        return self.limit.concurrent is None or self.running < self.limit.concurrent

    def has_memory(self, wanted: int) -> bool:
        """Whether so many bytes are free; one that wants more than all runs alone."""
        most = self.limit.memory_bytes
        return most is None or self.running == 0 or self.memory + wanted <= most

    def refill(self, now: float) -> None:
        """The tokens as of now."""
        rate = self.limit.per_minute
        if rate is not None:
            self.tokens = min(float(rate), self.tokens + max(0.0, now - self.at) * rate / _WINDOW_S)
        self.at = now

    def is_idle(self, now: float) -> bool:
        """Whether a new one would be just the same."""
        if self.running or self.queued or self.memory:
            return False
        self.refill(now)
        return self.limit.per_minute is None or self.tokens >= self.limit.per_minute


@dataclass(eq=False, slots=True)
class AdmissionSlot:
    """A statement that waits or runs; its place in the queue from 1 on, 0 once it runs."""

    who: Who
    memory: int
    priority: int
    number: int
    asked_at: float
    buckets: tuple[_Bucket, ...] = field(repr=False)
    turn: asyncio.Future[None] = field(repr=False)
    runs: bool = False
    _position: Callable[[AdmissionSlot], int] = field(repr=False, default=lambda _slot: 0)

    @property
    def position(self) -> int:
        """How many go first, and itself."""
        return self._position(self)


class Load(Struct, frozen=True):
    """What is there at a moment, for metrics and pages."""

    running: int
    queued: int
    memory_bytes: int
    running_by_user: Mapping[str, int]
    queued_by_user: Mapping[str, int]
    turned_away: Mapping[str, int]


class LimitUse(Struct, frozen=True):
    """What a limit counts under one `key` now: a user's, source's or group's name, or all."""

    limit: Limit
    key: str
    running: int
    queued: int
    memory_bytes: int


class Admission:
    """The limits, what runs and what waits."""

    def __init__(
        self,
        limits: Sequence[Limit] = DEFAULTS,
        *,
        wait_max_s: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`wait_max_s` is the longest that a statement waits."""
        self._limits = tuple(limits)
        self._wait_max_s, self._clock = wait_max_s, clock
        self._buckets: dict[tuple[Limit, str], _Bucket] = {}
        self._waiting: dict[int, AdmissionSlot] = {}
        self._running: dict[int, AdmissionSlot] = {}
        self._by_user: Counter[str] = Counter()
        self._turned_away: Counter[str] = Counter()
        self._number = 0

    def reload(self, limits: Sequence[Limit]) -> None:
        """Other limits from now on.

        What runs and what waits counts under those of the new ones that are as they were; under
        others only what comes later.
        """
        self._limits = tuple(limits)
        self._sweep()
        self._admit()

    @asynccontextmanager
    async def slot(
        self,
        who: Who,
        *,
        memory: int = 0,
        wait_max_s: float | None = None,
        told: Callable[[AdmissionSlot], None] | None = None,
        passed: bool = False,
    ) -> AsyncIterator[AdmissionSlot]:
        """While the context is open, the statement runs; it's entered when its turn comes.

        Args:
            who: whose it is.
            memory: bytes that it's estimated to take.
            wait_max_s: where it shall wait for less long than others.
            told: is given the slot before it waits, to be asked for its place.
            passed: its rates were asked before, by `passing`.

        Raises:
            RateLimitedError, QueueFullError: at once.
            QueueTimeoutError: where its turn didn't come in time.
        """
        slot = self._entered(who, memory, passed=passed)
        try:
            self._admit()
            if not slot.runs:
                self._check_queue(slot)
                if told is not None:
                    told(slot)
                await self._turn(slot, wait_max_s)
            yield slot
        finally:
            self._leave(slot)

    def passing(self, who: Who) -> None:
        """Counts a statement by the rates alone, before anybody reads it.

        RateLimitedError where there are too many of them.
        """
        self._take_tokens(self._buckets_of([one for one in self._limits if one.holds(who)], who))

    @property
    def minds_memory(self) -> bool:
        """Whether a limit is of memory, so that estimates matter."""
        return any(one.memory_bytes is not None for one in self._limits)

    @property
    def load(self) -> Load:
        """What runs and waits now."""
        waiting = Counter(one.who.user for one in self._waiting.values())
        return Load(
            len(self._running),
            len(self._waiting),
            sum(one.memory for one in self._running.values()),
            dict(self._by_user),
            dict(waiting),
            dict(self._turned_away),
        )

    def uses(self, most: int = 50) -> list[LimitUse]:
        """How much of each limit is taken: the busiest keys, and limits of which nothing is."""
        found = [
            LimitUse(limit, key, one.running, one.queued, one.memory)
            for (limit, key), one in self._buckets.items()
            if one.running or one.queued
        ]
        found.sort(key=lambda one: (-one.running - one.queued, one.limit.name, one.key))
        used = {one.limit for one in found}
        idle = [LimitUse(limit, "", 0, 0, 0) for limit in self._limits if limit not in used]
        return [*found[:most], *idle[:most]]

    def position(self, slot: AdmissionSlot) -> int:
        """The slot's place in the queue from 1 on, 0 where it doesn't wait."""
        if slot.number not in self._waiting:
            return 0
        own = self._rank(slot)
        return 1 + sum(self._rank(one) < own for one in self._waiting.values())

    def _entered(self, who: Who, memory: int, *, passed: bool) -> AdmissionSlot:
        """The slot, among those that wait, once the rates allow it."""
        limits = [one for one in self._limits if one.holds(who)]
        buckets = self._buckets_of(limits, who)
        if not passed:
            self._take_tokens(buckets)
        priority = next((one.priority for one in limits if one.priority is not None), PRIORITY)
        self._number += 1
        turn = asyncio.get_running_loop().create_future()
        slot = AdmissionSlot(
            who,
            max(0, memory),
            priority,
            self._number,
            self._clock(),
            buckets,
            turn,
            _position=self.position,
        )
        self._waiting[slot.number] = slot
        for bucket in buckets:
            bucket.queued += 1
        return slot

    def _buckets_of(self, limits: Sequence[Limit], who: Who) -> tuple[_Bucket, ...]:
        """Those that count it."""
        keys = ((limit, key) for limit in limits for key in dict.fromkeys(limit.keys(who)))
        return tuple(self._bucket(limit, key) for limit, key in keys)

    def _take_tokens(self, buckets: Sequence[_Bucket]) -> None:
        """One of each rate, or none of any."""
        now = self._clock()
        for bucket in buckets:
            bucket.refill(now)
            rate = bucket.limit.per_minute
            if rate is not None and bucket.tokens < 1:
                self._turned_away["rate_limited"] += 1
                raise RateLimitedError(
                    f"more than {rate} statements in a minute ({bucket.limit.name})",
                    (1 - bucket.tokens) * _WINDOW_S / rate,
                )
        for bucket in buckets:
            if bucket.limit.per_minute is not None:
                bucket.tokens -= 1

    def _check_queue(self, slot: AdmissionSlot) -> None:
        for bucket in slot.buckets:
            most = bucket.limit.queued
            if most is not None and bucket.queued > most:
                self._turned_away["queue_full"] += 1
                raise QueueFullError(
                    f"{most} statements wait already ({bucket.limit.name})",
                    hint="try again when some have run",
                )

    async def _turn(self, slot: AdmissionSlot, wait_max_s: float | None) -> None:
        """Waits until the slot runs."""
        wait = self._wait_max_s if wait_max_s is None else min(wait_max_s, self._wait_max_s)
        timer = asyncio.get_running_loop().call_later(wait, self._expire, slot, wait)
        try:
            await slot.turn
        finally:
            timer.cancel()

    def _expire(self, slot: AdmissionSlot, wait_s: float) -> None:
        if slot.turn.done():
            return
        self._turned_away["queue_timeout"] += 1
        slot.turn.set_exception(QueueTimeoutError(wait_s))

    def _admit(self) -> None:
        """Lets run what has room.

        Behind a statement that lacks memory nobody takes of that same memory, or a large one would
        never have its turn.
        """
        kept_free: set[int] = set()
        admitted = True
        while admitted and self._waiting:
            admitted = False
            for slot in sorted(self._waiting.values(), key=self._rank):
                if slot.turn.done() or not all(b.has_place() for b in slot.buckets):
                    continue
                if any(id(b) in kept_free for b in slot.buckets):
                    continue
                short = [b for b in slot.buckets if not b.has_memory(slot.memory)]
                if short:
                    kept_free.update(map(id, short))
                    continue
                self._run(slot)
                admitted = True
                break  # the user runs one more, which changes the order

    def _run(self, slot: AdmissionSlot) -> None:
        del self._waiting[slot.number]
        self._running[slot.number] = slot
        self._by_user[slot.who.user] += 1
        for bucket in slot.buckets:
            bucket.queued -= 1
            bucket.running += 1
            bucket.memory += slot.memory
        slot.runs = True
        slot.turn.set_result(None)

    def _leave(self, slot: AdmissionSlot) -> None:
        """Gives back what the slot has, whether it ran or only waited."""
        if self._waiting.pop(slot.number, None) is not None:
            for bucket in slot.buckets:
                bucket.queued -= 1
        elif self._running.pop(slot.number, None) is not None:
            for bucket in slot.buckets:
                bucket.running -= 1
                bucket.memory -= slot.memory
            self._by_user[slot.who.user] -= 1
            if not self._by_user[slot.who.user]:
                del self._by_user[slot.who.user]
        if slot.turn.done() and not slot.turn.cancelled():
            slot.turn.exception()  # an end that came too late is nobody's to fetch
        self._admit()

    def _rank(self, slot: AdmissionSlot) -> tuple[int, int, int]:
        return slot.priority, self._by_user.get(slot.who.user, 0), slot.number

    def _bucket(self, limit: Limit, key: str) -> _Bucket:
        found = self._buckets.get((limit, key))
        if found is None:
            if len(self._buckets) >= _KEPT_MAX:
                self._sweep()
            if len(self._buckets) >= _KEPT_MAX:  # names that are made up, one for each statement
                self._turned_away["rate_limited"] += 1
                raise RateLimitedError("too many users and sources at once", _WINDOW_S)
            tokens = float(limit.per_minute or 0)
            found = self._buckets[limit, key] = _Bucket(limit, tokens=tokens, at=self._clock())
        return found

    def _sweep(self) -> None:
        """Forgets what is as good as new, and what is of no limit any more."""
        now, known = self._clock(), frozenset(self._limits)
        self._buckets = {
            key: one
            for key, one in self._buckets.items()
            if one.running or one.queued or (key[0] in known and not one.is_idle(now))
        }
