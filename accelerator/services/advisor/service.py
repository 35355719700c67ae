"""The service that runs the advisor by itself: every so often, where the query log has news.

Promises: of all processes over a store one runs it at a time, once in an interval; what fails is
told and tried later, later each time; a run that was killed is gone on with.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from accelerator.errors import AcceleratorError, AdviceError, CancelledError
from accelerator.services.advisor.apply.apply import Execute
from accelerator.services.advisor.apply.auto import AutoRun
from accelerator.services.advisor.report import Advised
from accelerator.services.advisor.results import KEY
from accelerator.services.runner import DueTasks, Outcome, Reported
from accelerator.store.journals.claims import Claims
from accelerator.store.journals.query_log.paths import FOLDER, is_day, log_file
from accelerator.store.journals.run import AHEAD_MS, FinishedRun, TaskRuns, runs_of, until_s

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services
    from accelerator.store.files.files import StoreFiles

_log = logging.getLogger("accelerator")
_LOOK_MIN_S, _LOOK_MAX_S = 0.05, 60.0
"""From one look at the log's newest file to the next."""
_ELSEWHERE_S = 5.0
_SETTINGS = ("bytes_max", "build_minutes", "steps_max", "drops", "keep_days")


class Advise:
    """The service; `once`: it's over once it isn't due, or was run.

    `execute` runs a statement of ours, `tell` hears of each run. `clock` is monotonic, in seconds.
    """

    at_once = 1

    def __init__(
        self,
        services: Services,
        claims: Claims,
        execute: Execute,
        tell: Callable[[Advised], None],
        *,
        once: bool = False,
        clock: Callable[[], float] = time.monotonic,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.services, self.execute = services, execute
        self._claims, self._tell, self._once = claims, tell, once
        self._clock, self._now_ms = clock, now_ms
        config = services.config
        told = [config.advisor, *(str(getattr(config, f"advisor_{one}")) for one in _SETTINGS)]
        self.state = hashlib.blake2b("\0".join(told).encode(), digest_size=16).hexdigest()
        every = config.advisor_every_s
        self._look_s = max(_LOOK_MIN_S, min(every / 10, _LOOK_MAX_S))
        self._running = self._is_over = False
        self._trouble = ""

    def due(self) -> DueTasks:
        """See `Service.due`."""
        if self._is_over:
            return DueTasks(is_over=True)
        if self._running:
            return DueTasks(again_s=self._look_s)
        try:
            told = runs_of(self._claims, KEY)
            wait = self._wait_s(told)
            is_due = wait <= 0 and self._has_news(told.last, told.deaths)
        except AcceleratorError as error:
            if str(error) != self._trouble:
                self._trouble = str(error)
                _log.warning("whether the advisor is due can't be told: %s", error)
            return DueTasks(again_s=_LOOK_MAX_S, is_over=self._once)
        self._trouble = ""
        if is_due:
            return DueTasks((_AdvisorRun(self, self._clock()),), self._look_s)
        return DueTasks(again_s=max(self._look_s, min(wait, _LOOK_MAX_S)), is_over=self._once)

    def is_due(self, last: FinishedRun | None, deaths: int) -> bool:
        """Whether it still is, now that it's claimed."""
        self._running = True
        return self._wait_s(TaskRuns(last)) <= 0 and self._has_news(last, deaths)

    def _wait_s(self, told: TaskRuns) -> float:
        """Seconds until it may be run, by what has been run of it."""
        now_ms, last = self._now_ms(), told.last
        wait = told.wait_s(self.state, now_ms)
        if told.running is not None:
            wait = max(wait, _ELSEWHERE_S)
        if last is not None and not last.failures and not self._once:
            every = self.services.config.advisor_every_s
            wait = max(wait, until_s(last, every, now_ms, since_began=True))
        return wait

    def _has_news(self, last: FinishedRun | None, deaths: int) -> bool:
        """Whether the log has statements that the last run can't have seen, or it wasn't done."""
        if last is None or deaths or last.more or last.failures or last.state != self.state:
            return True
        if last.began_ms > self._now_ms() + AHEAD_MS:  # told by a clock that's wrong
            return True
        newest = newest_ms(self.services.store.files)
        return newest is not None and newest > last.began_ms - AHEAD_MS

    def ended(self, done: Advised | None) -> None:
        """A run has ended; None: it wasn't run here, or was told to stop."""
        self._running, self._is_over = False, self._once
        if done is not None:
            self._tell(done)


class _AdvisorRun:
    """The task: one run."""

    key = group = KEY
    priority = 5

    def __init__(self, service: Advise, since: float) -> None:
        self._service, self.since, self.state = service, since, service.state
        self._done: Advised | None = None

    def is_due(self, last: FinishedRun | None, deaths: int) -> bool:
        """See `ServiceTask.is_due`."""
        return self._service.is_due(last, deaths)

    def run(self, report: Reported, stop: threading.Event) -> Outcome:
        """See `ServiceTask.run`."""
        run = AutoRun(self._service.services, self._service.execute, report, stop)
        self._done = done = run.run()
        made = sum(one.error is None for one in done.steps)
        return Outcome(made, more=done.left, error=_together(run.errors))

    def ended(self, outcome: Outcome | None) -> None:
        """See `ServiceTask.ended`."""
        done = self._done
        if outcome is None or isinstance(outcome.error, CancelledError):
            self._service.ended(None)
            return
        if done is None:
            error = outcome.error
            done = Advised(error=str(error), code=getattr(error, "code", "error"))
        self._service.ended(done)


def _together(errors: list[AcceleratorError]) -> AcceleratorError | None:
    """The one error, or one that tells all."""
    if len(errors) < 2:
        return errors[0] if errors else None
    told = "; ".join(one.message for one in errors)
    return AdviceError(
        f"{len(errors)} recommendations weren't applied: {told}",
        hint="SHOW ADVICE RESULTS lists what was tried",
    )


def newest_ms(files: StoreFiles) -> int | None:
    """When the newest statement of the log began, by its files' names; None where it has none.

    StoreError where the store can't be listed.
    """
    for day in sorted((one for one in files.folders(FOLDER) if is_day(one)), reverse=True):
        entries = files.entries(f"{FOLDER}/{day}")
        found = [one for one in (log_file(entry.path) for entry in entries) if one is not None]
        if found:
            return max(one.newest_us for one in found) // 1000
    return None
