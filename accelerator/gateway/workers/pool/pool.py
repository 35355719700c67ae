"""The gateway's side of its workers: starts and watches them, gives each statement to one.

Promises: a worker that dies, hangs or ignores a stop is replaced, and never takes the gateway
along. A statement that may have caused a death runs once more at most, alone. Other statements
without an answer go to another worker, a few times at most. A statement that needs Spark goes to
the one worker that may start it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

import orjson
from msgspec import Struct, field

from accelerator.common.config.config import Config
from accelerator.common.config.memory_budget import LEAST, budget
from accelerator.common.lru_cache import Recent
from accelerator.common.records.as_dict import as_dict
from accelerator.errors import AcceleratorError
from accelerator.gateway.workers import blame, messages
from accelerator.gateway.workers.blame import Fate
from accelerator.gateway.workers.ledger import StatementLedger
from accelerator.gateway.workers.messages import Header
from accelerator.gateway.workers.pool.forks import ForkServer, NoWorkerError
from accelerator.gateway.workers.pool.memory_limits import (
    ControlGroups,
    jvm_bytes,
    remove,
    was_killed_for_memory,
    worker_bytes,
)
from accelerator.gateway.workers.pool.turns import Turns
from accelerator.gateway.workers.pool.worker_handle import Frame, Worker, WorkerLostError
from accelerator.services.maintenance.daemon import Schedule

__all__ = [
    "DeadlyStatementError",
    "Frame",
    "NoWorkerError",
    "Pool",
    "PoolSettings",
    "WorkerLostError",
    "WorkerState",
]

_log = logging.getLogger("accelerator.gateway")
_RETRIES = 8
"""So often a statement is asked again of another worker, if it can't be why one died or is late."""
_QUICK_S = 5.0
"""A worker that dies sooner was never well: the next one waits, longer each time."""
_WAIT_MAX_S, _WAIT_BLAMED_MAX_S = 30.0, 1.0
_LOOK_S = 0.25
_OPEN_S = 180.0
"""A worker that needs longer to open its session never will."""
_SUSPECTS_AT_ONCE = _LONG_AT_ONCE = 2
_NICENESS = 5
"""By how much processes yield that run one statement at a time, or have Spark."""
OF_ONE = 3 / 4
"""The part of all threads that one user may have, and of all statements if no policy gives more."""
_IDLE_S = 60.0
_REMEMBERED_S, _REMEMBERED_MAX = 600.0, 1024
"""How long a statement that ended a worker isn't run again."""
_DEATHS_MAX = 3
"""Whose statements have ended so many workers in that time is answered by one worker alone."""
_MEMORY_KILL_S = 5.0
_CLOSE_S = 5.0

Taken = Callable[[int, int], None]
"""Is told that the worker of that process id runs a statement, under that number."""


class DeadlyStatementError(AcceleratorError):
    """A worker has died of the statement, which isn't run again."""

    code = "statement_ended_worker"

    def __init__(self, how: str) -> None:
        super().__init__(
            f"The statement ended the process that ran it ({how}). It isn't run again.",
            hint="Change the statement; the gateway's log has more",
        )


class WorkerState(Struct, frozen=True):
    """A worker as metrics and pages show it."""

    pid: int
    spark: bool
    running: int
    since: float


class PoolSettings(Struct, frozen=True):
    """How many workers there are, and how many statements each of them runs at once."""

    workers: int = 2
    threads: int = 4
    zones: int = 3
    gateway: Mapping[str, Any] = field(default_factory=dict)
    silence_s: float = 10.0
    """A worker that answers no ping, or no stop, for so long is given up."""
    pattern_s: float = 0.0
    """How long a statement may run in Spark if its patterns may take long; 0: no limit."""
    memory_bytes: int = 0
    jvm_bytes: int = 0
    cgroup: str | None = None
    wait_max_s: float | None = None
    """How long a statement waits for a thread; None: as long as it takes."""
    private: tuple[str, ...] = ()
    """The gateway's own files, which no table's location may contain."""


class _Isolation:
    """Workers that run one statement at a time, made when one is needed, and kept for a minute.

    A user has one of them at most.
    """

    def __init__(
        self, at_once: int, wait_max_s: float | None, made: Callable[[], Awaitable[Worker]]
    ) -> None:
        self._start = made
        self._turns = Turns(_places(at_once), 1, wait_max_s=wait_max_s)
        self._idle: list[tuple[Worker, float]] = []

    @asynccontextmanager
    async def worker(self, user: str) -> AsyncIterator[Worker]:
        """One that runs nothing else; if anything of it goes on after that, it's killed."""
        async with self._turns.place(user):
            worker = None
            while worker is None and self._idle:
                idle, _ = self._idle.pop()
                if idle.gone.is_set() or idle.is_late:
                    idle.abandon()
                else:
                    worker = idle
            if worker is None:
                worker = await self._start()
            try:
                yield worker
            finally:
                if worker.gone.is_set() or worker.is_late or worker.load:
                    worker.abandon()
                else:
                    self._idle.append((worker, time.monotonic()))

    def trim(self) -> None:
        """Ends workers that were idle for a minute."""
        now = time.monotonic()
        for worker, since in self._idle:
            if now - since > _IDLE_S:
                worker.kill()
        self._idle = [one for one in self._idle if now - one[1] <= _IDLE_S]


class _Deadly:
    """The statements that have ended workers lately, and whose they were."""

    def __init__(self) -> None:
        self._ends: Recent[tuple[float, str]] = Recent(_REMEMBERED_MAX)
        self._of_users: Recent[deque[float]] = Recent(_REMEMBERED_MAX)

    def add(self, job: Header, how: str) -> None:
        """A worker has died of it; without `how` it has only made one silent."""
        now = time.monotonic()
        if how:
            self._ends.put(_digest(job), (now, how))
        self._of_users.get_or(_user(job), lambda: deque(maxlen=_DEATHS_MAX)).append(now)

    def check(self, job: Header) -> None:
        """Raises DeadlyStatementError for a statement that ended a worker lately."""
        if not self._ends:
            return
        known = self._ends.get(_digest(job))
        if known is not None and time.monotonic() - known[0] < _REMEMBERED_S:
            raise DeadlyStatementError(known[1])

    def is_dangerous(self, job: Header) -> bool:
        """Reports whether the job's user has ended one worker after the other."""
        times = self._of_users.get(_user(job)) or ()
        recent = sum(time.monotonic() - one < _REMEMBERED_S for one in times)
        return recent >= _DEATHS_MAX


def _digest(job: Header) -> bytes:
    """Hashes the statement, independent of its user."""
    parts = ("kind", "request", "call", "path", "query", "body", "text")
    client = job.get("client", {})
    place = [client.get(key) for key in ("catalog", "schema", "time_zone")]
    text = orjson.dumps([[job.get(key) for key in parts], place])
    return hashlib.sha256(text).digest()


def _places(count: int) -> Callable[[Turns[str]], str | None]:
    """Returns a function that finds a place among so many that are alike."""
    return lambda turns: "any" if turns.taken["any"] < count else None


def _share_of(job: Header) -> str:
    """Returns whose turns the job takes: the user who logged in, in whosever name it's asked."""
    return str(job.get("login") or _user(job))


def _is_of(order: Header, user: str) -> bool:
    return "job" in order and _share_of(order["job"]) == user


def _user(job: Header) -> str:
    return str(job["client"]["user"] if "client" in job else job.get("user", ""))


class Pool:
    """The workers of a gateway; belongs to one event loop."""

    def __init__(self, config: Config, settings: PoolSettings) -> None:
        self._config, self.settings = config, settings
        self._template = ForkServer()
        self._workers: list[Worker] = []
        self._every: set[Worker] = set()
        self._spark: asyncio.Task[Worker] | None = None
        self._number = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._deadly = _Deadly()
        threads = settings.workers * settings.threads
        most, wait_s = math.ceil(OF_ONE * threads), settings.wait_max_s
        self._turns = Turns(self._free_worker, most, self._stopping, wait_max_s=wait_s)
        most = math.ceil(OF_ONE * settings.threads)
        self._in_spark = Turns(
            self._free_in_spark, most, self._stopping_in_spark, wait_max_s=wait_s
        )
        self._suspects = _Isolation(_SUSPECTS_AT_ONCE, wait_s, lambda: self._start(alone=True))
        self._long = _Isolation(_LONG_AT_ONCE, wait_s, lambda: self._start(alone=True))
        self._dangerous = _Isolation(1, wait_s, lambda: self._start(alone=True))
        self._with_spark = _Isolation(1, wait_s, lambda: self._start(spark=True, alone=True))
        self._groups = ControlGroups.opened(settings.cgroup)
        self._kills, self._killed_at = blame.system_kills(), float("-inf")
        self.restarts = 0
        self.retries = 0
        self.deadly = 0
        self.ends: Counter[str] = Counter(dict.fromkeys(("silent", "overdue", "died"), 0))
        """Workers that were replaced, by why: silent, overdue with a stop, or dead."""

    async def start(self) -> None:
        """Starts the workers; NoWorkerError where the first one can't open its session."""
        self._tasks = [asyncio.create_task(self._watch())]
        first = await self._start()
        self._tasks.append(asyncio.create_task(self._keep(first)))
        self._tasks += [
            asyncio.create_task(self._keep(None)) for _ in range(self.settings.workers - 1)
        ]

    async def run(
        self,
        job: Header,
        *,
        again: bool,
        taken: Taken = lambda _pid, _number: None,
        is_long: bool = False,
    ) -> AsyncGenerator[Frame, None]:
        """What a worker says of the statement: `rows`, or an `error`.

        With `again` it may be run once more where a worker dies before the first frame, and without
        if it hadn't begun. `taken` is told of each worker that gets it. A text that `is_long` is
        read in a process that reads nothing else. DeadlyStatementError if a worker died of it, now
        or lately.
        """
        self._deadly.check(job)
        spark, alone, tries = False, self._deadly.is_dangerous(job), 0
        order = {"op": "run", "job": job}
        limit_s = float(job.get("timeout_s") or 0.0)
        while True:
            given = False
            try:
                isolation = self._isolation(spark=spark, alone=alone, tries=tries, is_long=is_long)
                async with self._chosen(isolation, _share_of(job), spark=spark) as worker:
                    self._number += 1
                    number = self._number
                    taken(worker.pid, number)
                    running = worker.run(number, order, limit_s, movable=again)
                    async with aclosing(running) as frames:
                        async for frame in frames:
                            if frame.kind == "spark" and not spark:
                                spark = True
                                if frame.header.get("may_backtrack"):
                                    limit_s, order = self._limited(job, limit_s)
                                break
                            given = True
                            yield frame
                            if frame.is_last:
                                return
            except WorkerLostError as error:
                tries += 1
                self._check_fate(job, error, alone=alone)
                if given or not (again or not error.began) or tries > _RETRIES:
                    raise
                alone = alone or error.fate is Fate.SUSPECT
                self.retries += 1
                _log.warning("a statement is asked again: %s", error.message)

    def _limited(self, job: Header, limit_s: float) -> tuple[float, Header]:
        """Returns the time limit and the order of a statement whose patterns may take long."""
        pattern_s = self.settings.pattern_s
        if not pattern_s or 0 < limit_s <= pattern_s:
            return limit_s, {"op": "run", "job": job}
        return pattern_s, {
            "op": "run",
            "job": job | {"timeout_s": pattern_s, "for_patterns": True},
        }

    def _suspected(self, order: Header, how: str) -> None:
        """A worker has died of the order, or has given no sign while a thread worked on it."""
        if "job" in order:
            self.deadly += bool(how)
            self._deadly.add(order["job"], how)

    def _check_fate(self, job: Header, error: WorkerLostError, *, alone: bool) -> None:
        """DeadlyStatementError if nothing else can have ended the worker."""
        is_sure = error.fate is Fate.CULPRIT or (alone and error.fate is Fate.SUSPECT)
        if is_sure:
            if error.fate is not Fate.CULPRIT:
                self._suspected({"job": job}, error.death.words)
            raise DeadlyStatementError(error.death.words) from error

    def _isolation(
        self, *, spark: bool, alone: bool, tries: int, is_long: bool
    ) -> _Isolation | None:
        """Returns the workers that run the statement beside no other; None for the usual ones."""
        if alone:
            return self._with_spark if spark else self._suspects if tries else self._dangerous
        return self._long if is_long and not spark else None

    @asynccontextmanager
    async def _chosen(
        self, isolation: _Isolation | None, user: str, *, spark: bool
    ) -> AsyncIterator[Worker]:
        """A worker for a statement of that user, once it's the user's turn."""
        if isolation is not None:
            async with isolation.worker(user) as worker:
                yield worker
        elif spark:
            async with self._in_spark.place(user):
                yield await self._spark_worker()
        else:
            async with self._turns.place(user) as worker:
                yield worker

    async def maintained(
        self, schedule: Schedule, *, spark: bool = False
    ) -> AsyncGenerator[Frame, None]:
        """What a worker of its own tells of the store's maintenance; without an end.

        It has a Spark where one is asked for. WorkerLostError, NoWorkerError where there is none,
        or none any more.
        """
        worker = await self._start(spark=spark or schedule.snapshots)
        try:
            self._number += 1
            order = {"op": "maintain", "schedule": as_dict(schedule)}
            async with aclosing(worker.run(self._number, order)) as frames:
                async for frame in frames:
                    yield frame
        finally:
            worker.kill()

    async def apart(self, job: Header) -> AsyncGenerator[Frame, None]:
        """What a worker made for it says of the job: `told`, then `rows` or an `error`.

        One without Spark first, then one that has it, if it's needed. The worker ends with it.
        """
        for spark in (False, True):
            worker = await self._start(spark=spark)
            try:
                self._number += 1
                async with aclosing(worker.run(self._number, {"op": "run", "job": job})) as frames:
                    async for frame in frames:
                        if frame.kind == "spark" and not spark:
                            break
                        yield frame
                        if frame.is_last:
                            return
            finally:
                worker.kill()

    async def explained(self, pid: int, number: int) -> Header | None:
        """What the worker says of how it answered the statement; None where nobody knows."""
        for worker in self._every:
            if worker.pid == pid:
                return await worker.explained(number)
        return None

    def states(self) -> list[WorkerState]:
        """The workers that take statements."""
        spark = _ready_worker(self._spark)
        every = [*self._workers, *([] if spark is None else [spark])]
        return [WorkerState(w.pid, w.spark, len(w.running), w.since) for w in every]

    async def close(self) -> None:
        """Ends all of them, whatever they run."""
        tasks = [*self._tasks, *([self._spark] if self._spark else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        every = list(self._every)
        await asyncio.gather(*(worker.end() for worker in every))
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await asyncio.gather(*(worker.dead.wait() for worker in every))
        await self._template.close()
        for worker in every:
            _forget(worker)

    def _free_worker(self, turns: Turns[Worker]) -> Worker | None:
        """Returns the one that runs the fewest statements, None if each runs as many as it may.

        One that is late with a ping gets none: it may hang, though it looks idle.
        """
        taken = turns.taken
        free = [
            worker
            for worker in self._workers
            if taken[worker] + len(worker.stopping) < self.settings.threads
            and not worker.is_late
            and not worker.gone.is_set()
        ]
        return min(free, key=lambda one: taken[one] + len(one.stopping), default=None)

    def _free_in_spark(self, turns: Turns[str]) -> str | None:
        worker = _ready_worker(self._spark)
        busy = turns.taken["any"] + (0 if worker is None else len(worker.stopping))
        return "any" if busy < self.settings.threads else None

    def _stopping(self, user: str) -> int:
        """Counts the user's statements that were stopped and still run, but for those in Spark."""
        return sum(_is_of(order, user) for worker in self._workers for order in worker.stopping)

    def _stopping_in_spark(self, user: str) -> int:
        worker = _ready_worker(self._spark)
        return 0 if worker is None else sum(_is_of(order, user) for order in worker.stopping)

    async def _spark_worker(self) -> Worker:
        """The one that may start Spark; made by the first who asks."""
        known = self._spark
        if known is None or (known.done() and _ready_worker(known) is None):
            if known is not None and not known.cancelled() and known.exception() is None:
                self._replaced(known.result())
            known = self._spark = asyncio.create_task(self._start(spark=True))
        return await asyncio.shield(known)

    def _changed(self) -> None:
        """A worker may take statements again, or never will: others may have their turn."""
        self._turns.give()
        self._in_spark.give()

    async def _watch(self) -> None:
        """Looks after every worker, again and again, as long as the gateway runs."""
        due = time.monotonic() + _LOOK_S
        while True:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            late_s, due = max(0.0, time.monotonic() - due), time.monotonic() + _LOOK_S
            kills = blame.system_kills()
            if kills != self._kills:
                self._kills, self._killed_at = kills, time.monotonic()
            for worker in list(self._every):
                if worker.dead.is_set():
                    self._every.discard(worker)
                    _forget(worker)
                elif worker.is_retired and not worker.running:
                    worker.abandon()
                else:
                    worker.look(late_s)
            self._kill_retired()
            for isolation in (self._suspects, self._long, self._dangerous, self._with_spark):
                isolation.trim()

    def _kill_retired(self) -> None:
        """Ends the oldest retired workers, if there are more of them than of others."""
        retired = sorted((w for w in self._every if w.is_retired), key=lambda w: w.began)
        for worker in retired[: -self.settings.workers]:
            worker.abandon()

    def _killed_for_memory(self, worker: Worker) -> bool:
        """Reports whether the system has just killed it, or another process, for its memory."""
        if worker.group is not None:
            return was_killed_for_memory(worker.group)
        is_new = blame.system_kills() != self._kills
        return is_new or time.monotonic() - self._killed_at < _MEMORY_KILL_S

    async def _keep(self, worker: Worker | None) -> None:
        """Has a worker in this place as long as the gateway runs."""
        failures = 0
        while True:
            if worker is None:
                try:
                    worker = await self._start()
                except (AcceleratorError, OSError) as error:
                    failures += 1
                    _log.error("no worker can be started: %s", error)
                    await asyncio.sleep(min(_WAIT_MAX_S, 0.5 * 2 ** min(failures, 10)))
                    continue
            self._workers.append(worker)
            self._turns.give()
            try:
                await worker.gone.wait()
            finally:
                self._workers.remove(worker)
            self._replaced(worker)
            lived, most = time.monotonic() - worker.began, _WAIT_MAX_S
            if not worker.is_retired:
                await worker.dead.wait()
                how = "" if worker.death is None else worker.death.words
                _log.warning(
                    "worker %d has died after %.1f s (%s); another one starts%s",
                    *(worker.pid, lived, how, worker.crash_report),
                )
                if any(fate in _BLAMED for fate in worker.fates.values()):
                    most = _WAIT_BLAMED_MAX_S  # others are answered by the next one
            failures = failures + 1 if lived < _QUICK_S else 0
            worker = None
            if failures > 2:
                await asyncio.sleep(min(most, 0.1 * 2 ** min(failures, 10)))

    def _replaced(self, worker: Worker) -> None:
        self.restarts += 1
        overdue = "overdue" if worker.is_retired else "died"
        self.ends["silent" if worker.was_silent else overdue] += 1

    async def _start(self, *, spark: bool = False, alone: bool = False) -> Worker:
        """A new worker; one that is `alone` runs one statement at a time, behind all others."""
        ledger = StatementLedger(self.settings.threads)
        pid, ours = await self._template.fork(ledger)
        worker = Worker(
            pid,
            ledger,
            self._template,
            spark=spark,
            alone=alone,
            silence_s=self.settings.silence_s,
            changed=self._changed,
            suspected=self._suspected,
            killed_for_memory=lambda: self._killed_for_memory(worker),
        )
        self._every.add(worker)
        own, jvm = self._limits(spark)
        if self._groups is not None:
            worker.group = self._groups.add(pid, own + jvm)
        try:
            await asyncio.get_running_loop().create_connection(lambda: worker.link, sock=ours)
            limits = {"data_bytes": 0 if worker.group is not None else own, "jvm_bytes": jvm}
            worker.send(self._order(spark) | limits | {"niceness": _NICENESS * (alone or spark)})
            async with asyncio.timeout(_OPEN_S):
                await worker.ready
        except TimeoutError as error:
            worker.kill()
            raise NoWorkerError(
                f"a worker hasn't opened its session in {_OPEN_S:g} s",
                hint="its catalog or its store may not answer",
            ) from error
        except BaseException:
            worker.kill()
            raise
        return worker

    @property
    def _share(self) -> int:
        """A worker's part of the budget, with which its sessions plan; one part is Spark's."""
        return budget(self._config.memory_bytes_max) // (self.settings.workers + 1)

    def _limits(self, spark: bool) -> tuple[int, int]:
        """Bytes that the system lets a worker have, and its JVM."""
        settings = self.settings
        own = worker_bytes(settings.memory_bytes, self._share, settings.workers)
        return own, jvm_bytes(settings.jvm_bytes, self._config) if spark else 0

    def _order(self, spark: bool) -> Header:
        """The first message: what it is to be."""
        config, settings, share = self._config, self.settings, self._share
        return {
            "op": "open",
            "version": messages.VERSION,
            "config": config.model_copy(
                update={"memory_bytes_max": max(LEAST, share)}
            ).model_dump(),
            "spark": spark,
            "threads": settings.threads,
            "zones": settings.zones,
            "silence_s": settings.silence_s,
            "gateway": dict(settings.gateway),
            "private": list(settings.private),
        }


def _forget(worker: Worker) -> None:
    if worker.group is not None:
        remove(worker.group)


_BLAMED = (Fate.SUSPECT, Fate.CULPRIT)


def _ready_worker(made: asyncio.Task[Worker] | None) -> Worker | None:
    """The worker that was made, if it takes statements."""
    if made is None or not made.done() or made.cancelled() or made.exception() is not None:
        return None
    return None if made.result().gone.is_set() else made.result()
