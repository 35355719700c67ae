"""The one SparkContext that a process can have: its engines, and the jobs interrupted in it.

Promises: the last engine that leaves a SparkContext of our own stops it, unless a hold is open.
The tags of interrupted jobs outlive the engine that interrupted them.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from pyspark import SparkContext


class SharedContext:
    """Threads share it; `SHARED` is the process's own."""

    def __init__(self) -> None:
        self._context: SparkContext | None = None
        self._stop: Callable[[], None] | None = None
        self._users: WeakSet[object] = WeakSet()  # an engine may be dropped without a stop
        self._holds = 0
        self._interrupted: dict[str, tuple[SparkContext, float]] = {}
        self._lock = threading.RLock()

    def register(self, user: object, context: SparkContext, stop: Callable[[], None]) -> None:
        """Records the context that this engine has started, and how to stop it."""
        with self._lock:
            if self._context is not context:
                self._users.clear()
            self._context, self._stop = context, stop
            self._users.add(user)

    def join(self, user: object, context: SparkContext) -> None:
        """Adds an engine that uses the context. Does nothing if the context is the user's own."""
        with self._lock:
            if self._context is context:
                self._users.add(user)

    def leave(self, user: object) -> None:
        """Removes an engine, and stops our own context after its last engine."""
        with self._lock:
            if user in self._users:
                self._users.discard(user)
                self._stop_unused()

    def hold(self) -> None:
        """Has the context outlive its engines until `release`."""
        with self._lock:
            self._holds += 1

    def release(self) -> None:
        """Ends a `hold`, and stops our own context if it has no engines."""
        with self._lock:
            self._holds -= 1
            self._stop_unused()

    def _stop_unused(self) -> None:
        if not self._users and not self._holds and self._stop is not None:
            stop, self._stop, self._context = self._stop, None, None
            stop()

    def interrupted(self, tag: str, context: SparkContext) -> None:
        """Records that the jobs with that tag are stopped from now on."""
        with self._lock:
            for old, (of, _since) in list(self._interrupted.items()):
                if of._jsc is None:  # it was stopped, with all its tasks
                    del self._interrupted[old]
            self._interrupted.setdefault(tag, (context, time.monotonic()))

    def has_stuck_tasks(self, seconds: float) -> bool:
        """Returns whether tasks still run so many seconds after their jobs were interrupted.

        Java's regular expressions, for one, don't look whether they are interrupted.
        """
        now = time.monotonic()
        with self._lock:
            interrupted = list(self._interrupted.items())
        for tag, (context, since) in interrupted:
            if now - since > seconds:
                if _runs_tasks(context, tag):
                    return True
                with self._lock:
                    self._interrupted.pop(tag, None)
        return False

    def java_status(self, wait_s: float = 0.0) -> int | None:
        """Returns the status with which the Java process that this process started has ended.

        It may have ended before it had a context: PySpark asks no other one. None if it runs for
        another `wait_s` seconds, or there is none. As `Popen.returncode`.
        """
        context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
        gateway = getattr(context, "_gateway", None)
        process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
        if process is None:
            return None
        with suppress(subprocess.TimeoutExpired):
            process.wait(wait_s)
        return process.returncode


SHARED = SharedContext()


def _runs_tasks(context: SparkContext, tag: str) -> bool:
    """Returns whether tasks run for jobs with that tag, also of stages that were stopped."""
    from py4j.protocol import Py4JError

    java = context._jsc
    if java is None:
        return False
    with suppress(Py4JError, OSError):  # the JVM may be ending
        tracker = java.sc().statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForTag(tag)]
        ids = {stage for job in jobs if job.isDefined() for stage in job.get().stageIds()}
        stages = [tracker.getStageInfo(stage) for stage in ids]
        return any(one.get().numActiveTasks() for one in stages if one.isDefined())
    return False
