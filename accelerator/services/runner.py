"""The runner: asks services which tasks are due, and does them in a few threads.

Promises: of all processes with the same claims one does a task at a time; a task is asked once more
whether it's due after it was claimed; one that fails stops no other; once told to stop, no task
begins, those that run are told, and it ends when they have. So is one task that somebody, of
whatever process, asks to stop. The ends of tasks are told to services one at a time, and kept in
the store's history.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Protocol

from msgspec import Struct, field

from accelerator.errors import (
    UNFIT,
    AcceleratorError,
    CancelledError,
    SparkElsewhereError,
    StoreError,
)
from accelerator.store.journals.claims import Claim, Claims, TaskProgress
from accelerator.store.journals.run import CANCELLED, FinishedRun
from accelerator.store.journals.run_history import RunHistory

_log = logging.getLogger("accelerator")
_LOOK_S = 0.2
"""So often it looks, while tasks run, whether it's told to stop."""
_PROLONG_S = 30.0
_ABORT_S = 10.0
FAULTS = (AcceleratorError, OSError, MemoryError, RuntimeError, *UNFIT)
"""What one task may fail with; anything else is a fault of the program, and ends the runner."""


class Outcome(Struct, frozen=True):
    """How a task's run went; `done`, `twice` and `more` as in `FinishedRun`."""

    done: int = 0
    twice: int = 0
    more: bool = False
    error: Exception | None = None


class Reported:
    """How far a task is: written by it, read by whoever asks."""

    def __init__(self) -> None:
        self.progress = TaskProgress()

    def __call__(self, done: int, total: int) -> None:
        """So many units of so many are done."""
        self.progress = TaskProgress(done, total)


class ServiceTask(Protocol):
    """One piece of work that is due. Lower priorities go first, then what has been due longer.

    No two tasks of one `group` run at once in a process.
    """

    @property
    def key(self) -> str: ...
    @property
    def priority(self) -> int: ...
    @property
    def since(self) -> float: ...
    @property
    def group(self) -> str: ...
    @property
    def state(self) -> str:
        """What it works on, as in `FinishedRun`."""
        ...

    def is_due(self, last: FinishedRun | None, deaths: int) -> bool:
        """Whether it still is, now that it's claimed; asked of what another process did before."""
        ...

    def run(self, report: Reported, stop: threading.Event) -> Outcome:
        """Does it, or a part; soon ends by CancelledError once `stop` is set, if it can."""
        ...

    def ended(self, outcome: Outcome | None) -> None:
        """It was run; None: it wasn't, since another process does it, or it isn't due any more."""
        ...


class DueTasks(Struct, frozen=True):
    """What a service has to do now, and after how many seconds it's to be asked again at last."""

    tasks: Sequence[ServiceTask] = ()
    again_s: float = 3600.0
    is_over: bool = False
    """There will never be anything more to do."""


class Service(Protocol):
    """Something that works by itself. `at_once`: so many of its tasks may run at a time."""

    @property
    def at_once(self) -> int: ...

    def due(self) -> DueTasks:
        """What is due now. It's cheap, asked again after each of its tasks, and raises nothing."""
        ...


class _PolledService(Struct):
    """A service, its tasks that are due and don't run yet, and when it's asked again."""

    service: Service
    waiting: list[ServiceTask] = field(default_factory=list)
    running: int = 0
    again: float = -float("inf")
    is_over: bool = False


class _HeldClaim(Struct):
    """A claim whose task runs, and when it was prolonged last, with which progress."""

    claim: Claim
    report: Reported
    stop: threading.Event
    told: TaskProgress = field(default_factory=TaskProgress)
    at: float = 0.0
    stopped_by: str | None = None


class Runner:
    """Runs the tasks of services; `claims` None: no other process would do them.

    `clock` is monotonic, in seconds; `now_ms` Unix time in milliseconds. `by` is who has asked for
    all that it does, `began` is told of each claim. Every `keep_s` it's looked whether a task is
    to stop.
    """

    def __init__(
        self,
        services: Sequence[Service],
        claims: Claims | None,
        *,
        threads: int = 2,
        by: str = "",
        began: Callable[[Claim], None] = lambda _claim: None,
        keep_s: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._asked = [_PolledService(one) for one in services]
        self._claims, self._threads = claims, threads
        self._history = None if claims is None else RunHistory(claims.files)
        self._by, self._began, self._keep_s = by, began, keep_s
        self._clock, self._now_ms = clock, now_ms
        self._stops: set[threading.Event] = set()
        self._running: dict[str, tuple[ServiceTask, _PolledService, threading.Thread]] = {}
        self._ended: SimpleQueue[tuple[str, BaseException | None]] = SimpleQueue()
        self._kept: dict[str, _HeldClaim] = {}
        self._lock, self._telling = threading.Lock(), threading.Lock()
        self._ending = threading.Event()

    def run(self, stop: threading.Event, abort: Callable[[], None] = lambda: None) -> None:
        """Runs until `stop` is set and what ran has ended, or until all services are over.

        Where this thread is interrupted, by Ctrl-C for one, `abort` is called, which stops what
        runs wherever it is. What a task raises that none may is raised here.
        """
        over = threading.Event()
        keeper = threading.Thread(target=self._keep, args=(over,), name="claims", daemon=True)
        keeper.start()
        try:
            self._run(stop)
        except BaseException:
            self._end_all()
            if self._running:
                abort()
                for _, _, thread in list(self._running.values()):
                    thread.join(_ABORT_S)
            raise
        finally:
            over.set()
            keeper.join(_ABORT_S)

    def _end_all(self) -> None:
        """No task begins any more, and those that run are told."""
        self._ending.set()
        with self._lock:
            for one in self._stops:
                one.set()

    def _run(self, stop: threading.Event) -> None:
        failure: BaseException | None = None
        while True:
            if stop.is_set():
                self._end_all()
            ending = self._ending.is_set()
            if not ending:
                self._ask()
                self._begin()
            if self._running:
                failure = self._took(_LOOK_S) or failure
                if failure is not None:
                    self._end_all()
                continue
            if failure is not None:
                raise failure
            if ending or all(one.is_over and not one.waiting for one in self._asked):
                return
            if not any(one.waiting for one in self._asked):
                again = min(one.again for one in self._asked if not one.is_over)
                stop.wait(max(0.0, min(again - self._clock(), 3600.0)))

    def _ask(self) -> None:
        now = self._clock()
        for one in self._asked:
            if one.again <= now and not one.is_over:
                due = one.service.due()
                one.waiting = [task for task in due.tasks if task.key not in self._running]
                one.again, one.is_over = now + due.again_s, due.is_over

    def _begin(self) -> None:
        """Starts what may run now, the most urgent first."""
        waiting = [(task, one) for one in self._asked for task in one.waiting]
        for task, one in sorted(waiting, key=lambda pair: (pair[0].priority, pair[0].since)):
            groups = {running.group for running, _, _ in self._running.values()}
            free = len(self._running) < self._threads and one.running < one.service.at_once
            if free and task.group not in groups and task.key not in self._running:
                one.waiting.remove(task)
                one.running += 1
                name = f"task {task.key}"
                thread = threading.Thread(target=self._do, args=(task,), name=name, daemon=True)
                self._running[task.key] = (task, one, thread)
                thread.start()

    def _took(self, seconds: float) -> BaseException | None:
        """Waits so long for a task's end; what it raised that none may."""
        try:
            key, failure = self._ended.get(timeout=seconds)
        except Empty:
            return None
        _, one, thread = self._running.pop(key)
        thread.join()  # what is its own goes first: a connection must not end with Python
        one.running -= 1
        one.again = -float("inf")
        return failure

    # In the tasks' threads

    def _do(self, task: ServiceTask) -> None:
        failure: BaseException | None = None
        try:
            outcome = self._outcome(task)
            with self._telling:
                task.ended(outcome)
        except BaseException as error:  # raised in the runner's own thread
            failure = error
        finally:
            self._ended.put((task.key, failure))

    def _outcome(self, task: ServiceTask) -> Outcome | None:
        report, stop = Reported(), threading.Event()
        with self._lock:
            self._stops.add(stop)
            if self._ending.is_set():
                stop.set()
        try:
            if self._claims is None:
                return self._attempt(task, report, stop, None)
            try:
                claim = self._claims.claim(task.key, self._by)
            except (StoreError, ValueError) as error:
                return Outcome(error=error)
            if claim is None:
                return None
            return self._claimed(task, _HeldClaim(claim, report, stop, at=self._clock()))
        finally:
            with self._lock:
                self._stops.discard(stop)

    def _claimed(self, task: ServiceTask, kept: _HeldClaim) -> Outcome | None:
        claim, run = kept.claim, None
        with self._lock:
            self._kept[task.key] = kept
        try:
            self._began(claim)
            began_ms = self._now_ms()
            outcome = self._attempt(task, kept.report, kept.stop, claim)
            if outcome is not None:
                run = self._finished_run(task, kept, began_ms, outcome)
            return outcome
        finally:
            with self._lock:
                del self._kept[task.key]
            self._end(claim, run)

    def _attempt(
        self, task: ServiceTask, report: Reported, stop: threading.Event, claim: Claim | None
    ) -> Outcome | None:
        """How it went; None where it isn't due any more."""
        try:
            if claim is not None and not task.is_due(
                FinishedRun.from_json(claim.last), claim.deaths
            ):
                return None
            return task.run(report, stop)
        except SparkElsewhereError:
            raise  # another process is to do it, with what it needs
        except FAULTS as error:
            return Outcome(error=error)

    def _finished_run(
        self, task: ServiceTask, kept: _HeldClaim, began_ms: int, outcome: Outcome
    ) -> FinishedRun:
        """The run as it's kept; one that was told to stop with all the others didn't fail."""
        error, before = outcome.error, FinishedRun.from_json(kept.claim.last)
        code, text = getattr(error, "code", "error"), str(error)
        stopped = isinstance(error, CancelledError)
        cancelled = stopped and kept.stopped_by is not None
        if cancelled:
            code = CANCELLED
            text = f"it was stopped by {kept.stopped_by}" if kept.stopped_by else "it was stopped"
        failures = 0
        if error is not None and (cancelled or not stopped):
            same = before is not None and before.state == task.state
            failures = 1 + (before.failures if before is not None and same else 0)
        return FinishedRun(
            began_ms=began_ms,
            ended_ms=self._now_ms(),
            state=task.state,
            done=outcome.done,
            twice=outcome.twice,
            more=outcome.more or stopped,
            failures=failures,
            error=text if failures else None,
            code=code if failures else None,
        )

    def _end(self, claim: Claim, run: FinishedRun | None) -> None:
        """Tells the end; of a task that wasn't due any more what was told before."""
        try:
            claim.end(claim.last if run is None else run.to_json())
            if run is not None and self._history is not None:
                self._history.add(claim.key, claim.epoch, run, claim.by)
        except StoreError as error:
            _log.warning("the end of %s couldn't be told: %s", claim.key, error)

    # In the keeper's thread

    def _keep(self, over: threading.Event) -> None:
        """Prolongs the claims of what runs, and tells how far that is."""
        while not over.wait(self._keep_s):
            with self._lock:
                running = list(self._kept.values())
            for one in running:
                self._look(one)
                now, progress = self._clock(), one.report.progress
                if progress != one.told or now - one.at >= _PROLONG_S:
                    one.told, one.at = progress, now
                    self._prolong(one.claim, progress)

    def _look(self, one: _HeldClaim) -> None:
        """Stops the task where somebody has asked for that."""
        try:
            by = None if one.stop.is_set() else one.claim.asked_to_stop()
        except StoreError:
            return  # it's looked again
        if by is not None:
            one.stopped_by = by
            one.stop.set()

    def _prolong(self, claim: Claim, progress: TaskProgress) -> None:
        held = claim.held
        try:
            if held and not claim.prolong(progress) and claim.key in self._kept:
                _log.warning("%s is done by another process too, as this one was slow", claim.key)
        except StoreError as error:
            _log.warning("the claim of %s couldn't be prolonged: %s", claim.key, error)
