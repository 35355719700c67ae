"""The vacuums of `accelerator serve-maintenance`: every table of the store, round by round.

Promises: several of these over one store vacuum a table once in an interval, and no two at a time;
a table whose vacuum fails stops no other's, and is tried again in the next round; once told to
stop, the vacuum that runs is the last.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from accelerator.errors import AcceleratorError
from accelerator.services.runner import DueTasks, Outcome, Reported, Runner, Service
from accelerator.store import Report, Store, VacuumLine
from accelerator.store.journals.claims import Claims
from accelerator.store.journals.run import FinishedRun, until_s
from rewrite.identifiers.qualified_name import parts_of

_FULL = "full"


class Schedule(Struct, frozen=True):
    """When rounds begin: so many seconds after one another, sooner or later by a random share.

    `full_every`: each how manieth round looks for orphans too, the first one among them; 0: none.
    With `snapshots` each round expires the tables' own old snapshots, for which Spark is started.
    `refresh`: cubes and indexes are brought up to date between rounds, and beside them.
    """

    interval_s: float = 3600.0
    jitter: float = 0.1
    full_every: int = 24
    snapshots: bool = False
    refresh: bool = True

    def pause_s(self, chance: random.Random) -> float:
        """Seconds until the next round."""
        return self.interval_s * (1 + self.jitter * chance.uniform(-1, 1))

    def is_full(self, round_: int) -> bool:
        """Whether that round, counted from 0, is a full one."""
        return self.full_every > 0 and round_ % self.full_every == 0


class Vacuumed(Struct, frozen=True):
    """One table's vacuum; `table` is its name where a cube tells, else its uuid.

    `files` and `bytes` are what was deleted; `error` says why it ended early, if it did, and `code`
    is that error's.
    """

    round: int
    table: str
    full: bool
    files: int = 0
    bytes: int = 0
    requests: int = 0
    seconds: float = 0.0
    error: str | None = None
    code: str | None = None


class FinishedRound(Struct, frozen=True):
    """A round that came to its end, in so many seconds.

    `tables` are those that the store has, `binned` the cubes in the recycle bin afterwards; None
    where the store couldn't say. `failed` says whether anything did.
    """

    seconds: float
    failed: bool
    tables: int | None = None
    binned: int | None = None


class RoundWatch(Protocol):
    """Hears more of a daemon's work than `tell` does, for figures."""

    def vacuumed(self, done: Vacuumed, lines: tuple[VacuumLine, ...]) -> None:
        """A table's vacuum ended; the lines of its report, none where it failed."""
        ...

    def ended(self, done: FinishedRound) -> None:
        """A round ended; none that was told to stop."""
        ...


Vacuum = Callable[[str, tuple[str, ...], bool], Report]
"""Vacuums the table of that uuid and name in parts (none where no cube tells), fully or not."""


def maintain(
    store: Store,
    vacuum: Vacuum,
    schedule: Schedule,
    tell: Callable[[Vacuumed], None],
    *,
    stop: threading.Event,
    rounds: int | None = None,
    watch: RoundWatch | None = None,
    chance: random.Random | None = None,
    beside: Sequence[Service] = (),
    claims: Claims | None = None,
    abort: Callable[[], None] = lambda: None,
) -> None:
    """Runs rounds until `stop` is set, or so many; `tell` hears of each table's vacuum.

    `watch` hears of them before, and of the rounds. The services `beside` are run too, until these
    are over as well. With `claims` no other process with the same does a task meanwhile. `abort`
    stops what runs where this thread is interrupted.
    """
    own = Rounds(store, vacuum, schedule, tell, stop, rounds, watch, chance or random.Random())
    Runner((own, *beside), claims, threads=1 + sum(one.at_once for one in beside)).run(stop, abort)


class Rounds:
    """The service of vacuums: a task for each table of the store, round by round.

    A table that another process has vacuumed within the interval is left out; where the number of
    rounds is given, none is.
    """

    at_once = 1

    def __init__(
        self,
        store: Store,
        vacuum: Vacuum,
        schedule: Schedule,
        tell: Callable[[Vacuumed], None],
        stop: threading.Event,
        rounds: int | None,
        watch: RoundWatch | None,
        chance: random.Random,
    ) -> None:
        self._store, self.vacuum, self._schedule = store, vacuum, schedule
        self._tell, self._watch = tell, watch
        self._stop, self._rounds, self._chance = stop, rounds, chance
        self.number = 0
        self._left: list[_Vacuum] | None = None
        self._next, self._began, self._failed = -float("inf"), 0.0, False
        self._lock = threading.RLock()

    def due(self) -> DueTasks:
        """See `Service.due`: the tables that are left of this round."""
        with self._lock:
            if self._left is None:
                if self._rounds is not None and self.number >= self._rounds:
                    return DueTasks(is_over=True)
                wait = self._next - time.monotonic()
                if wait > 0:
                    return DueTasks(again_s=wait)
                self._begin()
            return DueTasks(tuple(self._left)) if self._left else DueTasks(again_s=0)

    def _begin(self) -> None:
        self._began, self._failed = time.perf_counter(), False
        full = self._schedule.is_full(self.number)
        try:
            names = _names(self._store)
            tables = self._store.tables()
        except AcceleratorError as error:
            failed = Vacuumed(self.number, "the store", full, error=str(error), code=error.code)
            self._publish(failed, ())
            tables = ()
        else:
            self._left = [_Vacuum(self, uuid, names.get(uuid), full) for uuid in tables]
        if not tables:
            self._end()

    def is_wanted(self, last: FinishedRun | None, *, full: bool) -> bool:
        """Whether a table is to be vacuumed whose last vacuum, by any process, was that."""
        if last is None or last.error is not None or self._rounds is not None:
            return True
        if full and last.state != _FULL:
            return True
        pause = self._schedule.interval_s * (1 - self._schedule.jitter)
        return until_s(last, pause, time.time_ns() // 1_000_000, since_began=True) <= 0

    def done(self, task: _Vacuum, done: Vacuumed | None, lines: tuple[VacuumLine, ...]) -> None:
        """A table's vacuum ended; None where another process does it, or did."""
        with self._lock:
            if done is not None:
                self._publish(done, lines)
            if self._left is not None:
                self._left.remove(task)
                if not self._left:
                    self._end()

    def _publish(self, done: Vacuumed, lines: tuple[VacuumLine, ...]) -> None:
        self._failed |= done.error is not None
        if self._watch is not None:
            self._watch.vacuumed(done, lines)
        self._tell(done)

    def _end(self) -> None:
        self._left = None
        if self._watch is not None and not self._stop.is_set():
            seconds = time.perf_counter() - self._began
            self._watch.ended(_ended(self._store, seconds, failed=self._failed))
        self.number += 1
        self._next = time.monotonic() + self._schedule.pause_s(self._chance)


class _Vacuum:
    """The task of one table; `name` None where no cube tells it."""

    priority, since = 10, 0.0

    def __init__(self, rounds: Rounds, uuid: str, name: str | None, full: bool) -> None:
        self._rounds, self._uuid, self._name, self._full = rounds, uuid, name, full
        self._number = rounds.number
        self._report: Report | None = None
        self._seconds = 0.0
        self.key, self.group = f"vacuum-{uuid}", f"vacuum-{uuid}"
        self.state = _FULL if full else ""

    def is_due(self, last: FinishedRun | None, _deaths: int) -> bool:
        """See `ServiceTask.is_due`."""
        return self._rounds.is_wanted(last, full=self._full)

    def run(self, _report: Reported, _stop: threading.Event) -> Outcome:
        """See `ServiceTask.run`. Once begun it comes to its end."""
        began = time.perf_counter()
        parts = () if self._name is None else parts_of(self._name)
        self._report = self._rounds.vacuum(self._uuid, parts, self._full)
        self._seconds = time.perf_counter() - began
        return Outcome()

    def ended(self, outcome: Outcome | None) -> None:
        """See `ServiceTask.ended`."""
        number, name = self._number, self._name or self._uuid
        if outcome is None:
            self._rounds.done(self, None, ())
        elif outcome.error is not None or self._report is None:
            error = outcome.error
            code = getattr(error, "code", "error")
            done = Vacuumed(number, name, self._full, error=str(error), code=code)
            self._rounds.done(self, done, ())
        else:
            done = _vacuumed(number, name, self._full, self._report, self._seconds)
            self._rounds.done(self, done, self._report.lines)


def _vacuumed(number: int, name: str, full: bool, report: Report, seconds: float) -> Vacuumed:
    gone = [line for line in report.lines if line.action == "deleted"]
    files, size = sum(line.files for line in gone), sum(line.bytes for line in gone)
    return Vacuumed(number, name, full, files, size, report.requests, round(seconds, 3))


def _ended(store: Store, seconds: float, *, failed: bool) -> FinishedRound:
    try:
        return FinishedRound(seconds, failed, len(store.tables()), len(store.registry().bin))
    except AcceleratorError:
        return FinishedRound(seconds, failed=True)


def _names(store: Store) -> dict[str, str]:
    """Tables' names by what their cubes were defined over; one in the bin may know an old name."""
    registry = store.registry()
    cubes = [*(one.cube for one in registry.bin), *registry.cubes.values()]
    return {cube.table_uuid: cube.table for cube in cubes}
