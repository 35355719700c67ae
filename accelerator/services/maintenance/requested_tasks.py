"""Work on a cube, an index or a table that somebody has asked for, as a task of the runner.

It has the key of the same work that's done by itself, so that no two processes of a store do it at
once, and it's told, prolonged and stopped as that is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from accelerator.common.config import refresh_schedule
from accelerator.iceberg import PinnedTable
from accelerator.services.refresh.artifacts import COMPACT, Artifact, key_of
from accelerator.services.runner import DueTasks, Outcome, Reported, Runner
from accelerator.services.vacuum.vacuum import VacuumScope, vacuum_stored
from accelerator.store import CubeRecord, IndexRecord
from accelerator.store.journals.claims import Claim, Claims
from accelerator.store.journals.run import FinishedRun

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

VACUUM, ANALYZE = "vacuum-", "analyze-"
"""What keys of claims begin with, before the uuid of a table."""
_LOOK_S, _KEEP_S = 0.2, 1.0
"""Whoever has asked for work waits, so it's looked more often whether it's to stop."""
Work = Callable[[Reported, threading.Event], Outcome]


class Requested(Struct):
    """The task, and the service that has it alone.

    `outcome` is how it went; None where it wasn't due, or another process does it.
    """

    key: str
    state: str
    work: Work
    wanted: Callable[[], bool] = lambda: True
    outcome: Outcome | None = None
    is_over: bool = False
    at_once: int = 1
    priority: int = 0
    since: float = 0.0

    @property
    def group(self) -> str:
        """See `ServiceTask`: nothing else is done beside it."""
        return self.key

    def due(self) -> DueTasks:
        """See `Service.due`."""
        return DueTasks(() if self.is_over else (self,), is_over=self.is_over)

    def is_due(self, _last: FinishedRun | None, _deaths: int) -> bool:
        """See `ServiceTask.is_due`; whoever asks for it doesn't wait for what failed before."""
        return self.wanted()

    def run(self, report: Reported, stop: threading.Event) -> Outcome:
        """See `ServiceTask.run`."""
        return self.work(report, stop)

    def ended(self, outcome: Outcome | None) -> None:
        """See `ServiceTask.ended`."""
        self.outcome, self.is_over = outcome, True


def run(
    services: Services, task: Requested, by: str, began: Callable[[Claim], None]
) -> Outcome | None:
    """Does it, if no other process is at it; `began` is told of the claim, `by` who has asked.

    None where another process does it (then `began` wasn't told), or where nothing was due.
    """
    claims = Claims(services.store.files)
    runner = Runner((task,), claims, threads=1, by=by, began=began, keep_s=_KEEP_S)
    runner.run(threading.Event())
    return task.outcome


def refresh(services: Services, record: CubeRecord | IndexRecord) -> Requested:
    """Builds what a cube or an index lacks, portion by portion, until it lacks nothing."""
    artifact = Artifact(record, refresh_schedule.of(record.refresh, services.config.refresh))

    def work(report: Reported, stop: threading.Event) -> Outcome:
        done = twice = 0
        while True:
            made = artifact.build(services, report, stop)
            done, twice = done + made.done, twice + made.twice
            if made.error is not None or not made.more or stop.is_set():
                return Outcome(done, twice, made.more, made.error)

    def is_wanted() -> bool:
        return bool(artifact.lacks(services).files)

    state = artifact.state(services.lake.pin(fresh=True))
    return Requested(key_of(record), state, work, is_wanted)


def compact(services: Services, record: CubeRecord) -> Requested:
    """Merges a cube's segments."""

    def work(_report: Reported, stop: threading.Event) -> Outcome:
        with _stopping(services, stop), services.cancellation.tracked(ctrl_c=False) as tag:
            return Outcome(services.builder.compact(record, tag=tag).segments)

    return Requested(f"{COMPACT}{record.id}", "", work)


def vacuum(services: Services, table: PinnedTable, *, full: bool) -> Requested:
    """Vacuums what the store has of a table."""

    def work(_report: Reported, stop: threading.Event) -> Outcome:
        with _stopping(services, stop):
            report = vacuum_stored(services, table.facts.uuid, table.parts, VacuumScope(full))
        return Outcome(sum(one.files for one in report.lines if one.action == "deleted"))

    return Requested(f"{VACUUM}{table.facts.uuid}", "full" if full else "", work)


def analyze(services: Services, table: PinnedTable) -> Requested:
    """Says which cubes would pay for what was asked of a table."""

    def work(_report: Reported, stop: threading.Event) -> Outcome:
        from accelerator.services.advisor.analyze import (
            AdviceBudget,  # imports Arrow's compute module
        )
        from accelerator.services.advisor.ddl import advised

        with _stopping(services, stop):
            return Outcome(len(advised(services, table.parts, AdviceBudget()).recommendations))

    return Requested(f"{ANALYZE}{table.facts.uuid}", "", work)


@contextmanager
def _stopping(services: Services, stop: threading.Event) -> Iterator[None]:
    """While it's open, what the session does is cancelled once `stop` is set."""
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            if stop.wait(_LOOK_S):
                services.cancellation.cancel()
                over.wait(_LOOK_S)

    watching = threading.Thread(target=watch, name="stopping", daemon=True)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join()
