"""The service that keeps the query log tidy: small files are merged, old ones go, now and then.

Promise: of all processes that look after a store one does so within an interval.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from accelerator.services.runner import DueTasks, Outcome, Reported
from accelerator.store.journals.query_log.writing.close import KEY
from accelerator.store.journals.run import FinishedRun, until_s

_SHARE = 0.9
"""Of an interval that is over since another process did it: then it's done again."""


class Tidying:
    """See `runner.Service`. With `once` it's done, and over."""

    at_once = 1

    def __init__(self, tidy: Callable[[], None], interval_s: float, *, once: bool) -> None:
        self._tidy, self._interval_s, self._once = tidy, interval_s, once
        self._next, self._is_over = -float("inf"), False

    def due(self) -> DueTasks:
        """See `Service.due`."""
        if self._is_over:
            return DueTasks(is_over=True)
        wait = self._next - time.monotonic()
        return DueTasks(again_s=wait) if wait > 0 else DueTasks((_Task(self),))

    def is_due(self, last: FinishedRun | None) -> bool:
        """Whether the last run, by any process, is long enough ago."""
        if last is None or last.error is not None or self._once:
            return True
        pause = self._interval_s * _SHARE
        return until_s(last, pause, time.time_ns() // 1_000_000, since_began=True) <= 0

    def run(self) -> None:
        """Does it."""
        self._tidy()

    def ended(self) -> None:
        """It was done, here or elsewhere."""
        self._next, self._is_over = time.monotonic() + self._interval_s, self._once


class _Task:
    key = group = KEY
    priority, since, state = 20, 0.0, ""

    def __init__(self, service: Tidying) -> None:
        self._service = service

    def is_due(self, last: FinishedRun | None, _deaths: int) -> bool:
        """See `ServiceTask.is_due`."""
        return self._service.is_due(last)

    def run(self, _report: Reported, _stop: threading.Event) -> Outcome:
        """See `ServiceTask.run`."""
        self._service.run()
        return Outcome()

    def ended(self, _outcome: Outcome | None) -> None:
        """See `ServiceTask.ended`."""
        self._service.ended()
