"""What `accelerator serve-maintenance` does: it vacuums every table of the store, round by round.

Promises: several of these over one store do no harm, since vacuums don't; a table whose vacuum
fails stops no other's, and is tried again in the next round; once told to stop, the vacuum that
runs is the last.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from accelerator.errors import AcceleratorError
from accelerator.store import Line, Report, Store
from rewrite.dotted import parts_of


@dataclass(frozen=True, slots=True)
class Schedule:
    """When rounds begin: so many seconds after one another, sooner or later by a random share.

    `full_every`: each how manieth round looks for orphans too, the first one among them; 0: none.
    With `snapshots` each round expires the tables' own old snapshots, for which Spark is started.
    """

    interval_s: float = 3600.0
    jitter: float = 0.1
    full_every: int = 24
    snapshots: bool = False

    def pause_s(self, chance: random.Random) -> float:
        """Seconds until the next round."""
        return self.interval_s * (1 + self.jitter * chance.uniform(-1, 1))

    def is_full(self, round_: int) -> bool:
        """Whether that round, counted from 0, is a full one."""
        return self.full_every > 0 and round_ % self.full_every == 0


@dataclass(frozen=True, slots=True)
class Vacuumed:
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

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Round:
    """A round that came to its end, in so many seconds.

    `tables` are those that the store has, `binned` the cubes in the recycle bin afterwards; None
    where the store couldn't say. `failed` says whether anything did.
    """

    seconds: float
    failed: bool
    tables: int | None = None
    binned: int | None = None


class Watch(Protocol):
    """Hears more of a daemon's work than `tell` does, for figures."""

    def vacuumed(self, done: Vacuumed, lines: tuple[Line, ...]) -> None:
        """A table's vacuum ended; the lines of its report, none where it failed."""
        ...

    def ended(self, done: Round) -> None:
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
    watch: Watch | None = None,
    chance: random.Random | None = None,
    tidy: Callable[[], None] | None = None,
) -> None:
    """Runs rounds until `stop` is set, or so many; `tell` hears of each table's vacuum.

    `watch` hears of them before, and of the rounds. Each round ends with `tidy`, which raises
    nothing.
    """
    chance = chance or random.Random()
    number = 0
    while not stop.is_set():
        began, failed = time.perf_counter(), False
        for done, lines in _round(store, vacuum, number, full=schedule.is_full(number)):
            failed |= done.error is not None
            if watch is not None:
                watch.vacuumed(done, lines)
            tell(done)
            if stop.is_set():
                return
        if tidy is not None:
            tidy()
        if watch is not None:
            watch.ended(_ended(store, time.perf_counter() - began, failed=failed))
        number += 1
        if number == rounds:
            return
        stop.wait(schedule.pause_s(chance))


def _round(
    store: Store, vacuum: Vacuum, number: int, *, full: bool
) -> Iterator[tuple[Vacuumed, tuple[Line, ...]]]:
    try:
        names = _names(store)
        tables = store.tables()
    except AcceleratorError as error:
        yield Vacuumed(number, "the store", full, error=str(error), code=error.code), ()
        return
    for uuid in tables:
        began = time.perf_counter()
        name = names.get(uuid, uuid)
        try:
            report = vacuum(uuid, parts_of(name) if uuid in names else (), full)
        except AcceleratorError as error:
            yield Vacuumed(number, name, full, error=str(error), code=error.code), ()
        else:
            yield _told(number, name, full, report, time.perf_counter() - began), report.lines


def _told(number: int, name: str, full: bool, report: Report, seconds: float) -> Vacuumed:
    gone = [line for line in report.lines if line.action == "deleted"]
    files, size = sum(line.files for line in gone), sum(line.bytes for line in gone)
    return Vacuumed(number, name, full, files, size, report.requests, round(seconds, 3))


def _ended(store: Store, seconds: float, *, failed: bool) -> Round:
    try:
        return Round(seconds, failed, len(store.tables()), len(store.registry().bin))
    except AcceleratorError:
        return Round(seconds, failed=True)


def _names(store: Store) -> dict[str, str]:
    """Tables' names by what their cubes were defined over; one in the bin may know an old name."""
    registry = store.registry()
    cubes = [*(one.cube for one in registry.bin), *registry.cubes.values()]
    return {cube.table_uuid: cube.table for cube in cubes}
