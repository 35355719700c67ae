"""The gateway's side of its workers: starts and watches them, gives each statement to one.

Promises: a worker that dies is replaced, and never takes the gateway along; a query of which
nothing was given yet is asked of another worker, a few times at most; a statement that needs Spark
is asked of the one worker that may start it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from accelerator.config import Config
from accelerator.errors import AcceleratorError
from accelerator.gateway.trino.errors import Told
from accelerator.gateway.workers import messages
from accelerator.gateway.workers.link import Body, Link
from accelerator.gateway.workers.messages import Header, MessageError
from accelerator.maintenance.daemon import Schedule
from accelerator.memory import LEAST, budget

_log = logging.getLogger("accelerator.gateway")
_RETRIES = 3
"""So often a statement is asked again of another worker, when it died with it."""
_QUICK_S = 5.0
"""A worker that dies sooner was never well: the next one waits, longer each time."""
_WAIT_MAX_S = 30.0
_END_S, _LOOK_S = 3.0, 0.02
_EXPLAIN_S = 5.0
"""How long it's waited for what a worker says of a statement's plan."""
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""What makes libraries start no thread where they're imported: a fork has one alone."""


class WorkerLostError(AcceleratorError):
    """The process that ran the statement has died; what it has done isn't known."""

    code = "worker_lost"


Taken = Callable[[int, int], None]
"""Is told that the worker of that process id runs a statement, under that number."""


class NoWorkerError(AcceleratorError):
    """No worker can be started, or none is there any more."""

    code = "no_worker"


@dataclass(frozen=True, slots=True)
class Frame:
    """What a worker said of a statement: `rows` with a body, `error` or `spark`.

    Of maintenance, and of the API's runs, it's `told`, again and again.
    """

    kind: str
    header: Header
    body: Body = b""

    @property
    def is_last(self) -> bool:
        """Whether nothing comes behind it."""
        return self.kind in ("error", "spark") or "metrics" in self.header


@dataclass(frozen=True, slots=True)
class WorkerState:
    """A worker as metrics and pages show it."""

    pid: int
    spark: bool
    running: int
    since: float


@dataclass(slots=True)
class _Waiting:
    """A statement that a worker runs."""

    frames: asyncio.Queue[Frame | None] = field(default_factory=asyncio.Queue)


class _Worker:
    """One process; `run` gives what it says of a statement."""

    def __init__(self, pid: int, *, spark: bool) -> None:
        self.pid, self.spark = pid, spark
        self.since = time.time()
        self.began = time.monotonic()
        self.running: dict[int, _Waiting] = {}
        self.explaining: dict[int, asyncio.Future[Header | None]] = {}
        self.dead = asyncio.Event()
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.link = Link(self._take, self._lost)

    def send(self, header: Header) -> None:
        """Says something to it; nothing, where it's dead."""
        self.link.send(header)

    async def run(self, number: int, order: Header) -> AsyncGenerator[Frame, None]:
        """The frames of an order: to run a statement, or to maintain the store.

        WorkerLostError where it dies before the last one.

        Leaving the iterator stops the statement.
        """
        waiting = self.running[number] = _Waiting()
        last = False
        try:
            self.send({"id": number, **order})
            while not last:
                frame = None if self.dead.is_set() else await waiting.frames.get()
                if frame is None:
                    raise WorkerLostError(
                        "the process that ran the statement has died",
                        hint="ask again; the gateway's log says more",
                    )
                last = frame.is_last
                if frame.kind == "rows" and not last:
                    self.send({"op": "more", "id": number})
                yield frame
        finally:
            del self.running[number]
            if not last:
                self.send({"op": "stop", "id": number})

    def _lost(self) -> None:
        """Tells all that wait for something of it that it has died."""
        self.dead.set()
        if not self.ready.done():
            self.ready.set_exception(NoWorkerError("a worker died before it was ready"))
            self.ready.exception()  # whoever waits sees it; nobody has to
        for waiting in self.running.values():
            waiting.frames.put_nowait(None)
        for asked in self.explaining.values():
            if not asked.done():
                asked.set_result(None)

    def _take(self, header: Header, body: Body) -> None:
        kind = header.get("kind")
        if kind == "ready":
            if header.get("version") != messages.VERSION:
                raise MessageError(f"a worker speaks version {header.get('version')}")
            self.ready.set_result(None)
        elif kind == "failed":
            error = Told.from_dict(header.get("error"))
            self.ready.set_exception(NoWorkerError(error.message, hint=error.hint or ""))
            self.ready.exception()
        elif kind == "explained":
            asked, found = self.explaining.get(header.get("id", -1)), header.get("explained")
            if asked is not None and not asked.done():
                asked.set_result(found if isinstance(found, dict) else None)
        elif kind in ("rows", "error", "spark", "told"):
            waiting = self.running.get(header.get("id", -1))
            if waiting is not None:  # else it was stopped meanwhile
                waiting.frames.put_nowait(Frame(kind, header, body))

    async def explained(self, number: int) -> Header | None:
        """How it answers, or has answered, the statement; None where it doesn't know any more."""
        asked = self.explaining.get(number)
        if asked is None:
            asked = self.explaining[number] = asyncio.get_running_loop().create_future()
            asked.add_done_callback(lambda _done: self.explaining.pop(number, None))
            self.send({"op": "explain", "id": number})
        if self.dead.is_set():
            return None
        try:
            async with asyncio.timeout(_EXPLAIN_S):
                return await asyncio.shield(asked)
        except TimeoutError:
            return None

    async def end(self) -> None:
        """Lets it go: it ends with its socket, and is killed where that takes too long."""
        self.link.close()
        for _ in range(int(_END_S / _LOOK_S)):
            try:
                os.kill(self.pid, 0)
            except ProcessLookupError:
                return
            await asyncio.sleep(_LOOK_S)
        self.kill()

    def kill(self) -> None:
        """Ends the process now."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.link.close()


class Template:
    """The process that workers are forked from; made anew where it has died."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._orders: socket.socket | None = None
        self._lock = asyncio.Lock()

    async def fork(self) -> tuple[int, socket.socket]:
        """A new worker's process id, and our end of its socket. NoWorkerError."""
        async with self._lock:
            for attempt in range(2):
                orders = await self._alive()
                ours, theirs = socket.socketpair()
                try:
                    socket.send_fds(orders, [b"."], [theirs.fileno()])
                    pid = int(await _line(orders))
                except (OSError, ValueError) as error:
                    ours.close()
                    await self.close()
                    if attempt:
                        raise NoWorkerError(f"no worker can be forked: {error}") from error
                else:
                    ours.setblocking(False)
                    return pid, ours
                finally:
                    theirs.close()
        raise AssertionError

    async def _alive(self) -> socket.socket:
        process = self._process
        if self._orders is not None and process is not None and process.returncode is None:
            return self._orders
        ours, theirs = socket.socketpair()
        name = "accelerator.gateway.workers.template"
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", name, str(theirs.fileno())),
            pass_fds=(theirs.fileno(),),
            stdin=asyncio.subprocess.DEVNULL,
            env=os.environ | _ONE_THREAD,
            start_new_session=True,  # Ctrl-C at a terminal is for the gateway alone
        )
        theirs.close()
        ours.setblocking(False)
        if not await _byte(ours):
            ours.close()
            raise NoWorkerError(
                "the process that workers are made from can't start",
                hint="its message stands above: an import has failed",
            )
        self._orders = ours
        return ours

    async def close(self) -> None:
        """Ends it; its workers go on."""
        if self._orders is not None:
            self._orders.close()
            self._orders = None
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            self._process = None


async def _byte(orders: socket.socket) -> bytes:
    return await asyncio.get_running_loop().sock_recv(orders, 1)


async def _line(orders: socket.socket) -> str:
    found = b""
    while not found.endswith(b"\n"):
        more = await _byte(orders)
        if not more:
            raise OSError("it has died")
        found += more
    return found.decode()


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """How many workers there are, and how many statements each of them runs at once."""

    workers: int = 2
    threads: int = 4
    zones: int = 3
    gateway: Mapping[str, Any] = field(default_factory=dict)


class Pool:
    """The workers of a gateway; belongs to one event loop."""

    def __init__(self, config: Config, settings: PoolSettings) -> None:
        self._config, self.settings = config, settings
        self._template = Template()
        self._workers: list[_Worker] = []
        self._spark: asyncio.Task[_Worker] | None = None
        self._number = 0
        self._free = asyncio.Condition()
        self._keepers: list[asyncio.Task[None]] = []
        self.restarts = 0
        self.retries = 0

    async def start(self) -> None:
        """Starts the workers; NoWorkerError where the first one can't open its session."""
        first = await self._made(spark=False)
        self._keepers = [asyncio.create_task(self._keep(first))]
        self._keepers += [
            asyncio.create_task(self._keep(None)) for _ in range(self.settings.workers - 1)
        ]

    async def run(
        self, job: Header, *, again: bool, taken: Taken = lambda _pid, _number: None
    ) -> AsyncGenerator[Frame, None]:
        """What a worker says of the statement: `rows`, or an `error`.

        With `again` it may be run once more where a worker dies before the first frame. `taken` is
        told of each worker that gets it.
        """
        spark, tries = False, 0
        while True:
            worker = await self._spark_worker() if spark else await self._next()
            given = False
            self._number += 1
            number = self._number
            taken(worker.pid, number)
            try:
                order = {"op": "run", "job": job}
                async with aclosing(worker.run(number, order)) as frames:
                    async for frame in frames:
                        if frame.kind == "spark" and not spark:
                            spark = True
                            break
                        given = True
                        yield frame
                        if frame.is_last:
                            return
            except WorkerLostError as error:
                tries += 1
                if given or not again or tries > _RETRIES:
                    raise
                self.retries += 1
                _log.warning("a statement is asked again: %s", error)
            finally:
                async with self._free:
                    self._free.notify()

    async def maintained(
        self, schedule: Schedule, *, spark: bool = False
    ) -> AsyncGenerator[Frame, None]:
        """What a worker of its own tells of the store's maintenance; without an end.

        It has a Spark where one is asked for. WorkerLostError, NoWorkerError where there is none,
        or none any more.
        """
        worker = await self._made(spark=spark or schedule.snapshots)
        try:
            self._number += 1
            order = {"op": "maintain", "schedule": asdict(schedule)}
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
            worker = await self._made(spark=spark)
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
        for worker in self._every():
            if worker.pid == pid:
                return await worker.explained(number)
        return None

    def states(self) -> list[WorkerState]:
        """The workers that are there."""
        every = self._every()
        return [WorkerState(w.pid, w.spark, len(w.running), w.since) for w in every]

    def _every(self) -> list[_Worker]:
        spark = _made_well(self._spark)
        return [*self._workers, *([] if spark is None else [spark])]

    async def close(self) -> None:
        """Ends all of them, whatever they run."""
        every = list(self._workers)
        for task in (*self._keepers, *([self._spark] if self._spark else [])):
            task.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        if self._spark is not None:
            with suppress(asyncio.CancelledError, AcceleratorError):
                every.append(await self._spark)
        await asyncio.gather(*(worker.end() for worker in every))
        await self._template.close()

    async def _next(self) -> _Worker:
        """The one that runs the fewest statements, once one runs fewer than it may."""
        async with self._free:
            while True:
                free = [w for w in self._workers if len(w.running) < self.settings.threads]
                if free:
                    return min(free, key=lambda one: len(one.running))
                await self._free.wait()

    async def _spark_worker(self) -> _Worker:
        """The one that may start Spark; made by the first who asks."""
        known = self._spark
        if known is None or (known.done() and _made_well(known) is None):
            known = self._spark = asyncio.create_task(self._made(spark=True))
        return await asyncio.shield(known)

    async def _keep(self, worker: _Worker | None) -> None:
        """Has a worker in this place as long as the gateway runs."""
        failures = 0
        while True:
            if worker is None:
                try:
                    worker = await self._made(spark=False)
                except (AcceleratorError, OSError) as error:
                    failures += 1
                    _log.error("no worker can be started: %s", error)
                    await asyncio.sleep(min(_WAIT_MAX_S, 0.5 * 2 ** min(failures, 10)))
                    continue
            self._workers.append(worker)
            async with self._free:
                self._free.notify_all()
            try:
                await worker.dead.wait()
            finally:
                self._workers.remove(worker)
            lived = time.monotonic() - worker.began
            failures = failures + 1 if lived < _QUICK_S else 0
            _log.warning("worker %d has died after %.1f s; another one starts", worker.pid, lived)
            self.restarts += 1
            worker = None
            if failures > 2:
                await asyncio.sleep(min(_WAIT_MAX_S, 0.1 * 2**failures))

    async def _made(self, *, spark: bool) -> _Worker:
        pid, ours = await self._template.fork()
        worker = _Worker(pid, spark=spark)
        await asyncio.get_running_loop().create_connection(lambda: worker.link, sock=ours)
        worker.send(self._order(spark))
        try:
            await worker.ready
        except BaseException:
            worker.kill()
            raise
        return worker

    def _order(self, spark: bool) -> Header:
        """The first message: what it is to be."""
        config, settings = self._config, self.settings
        share = budget(config.memory_bytes_max) // (settings.workers + 1)  # one is Spark's
        return {
            "op": "open",
            "version": messages.VERSION,
            "config": asdict(replace(config, memory_bytes_max=max(LEAST, share))),
            "spark": spark,
            "threads": settings.threads,
            "zones": settings.zones,
            "gateway": dict(settings.gateway),
        }


def _made_well(made: asyncio.Task[_Worker] | None) -> _Worker | None:
    """The worker that was made, if it lives."""
    if made is None or not made.done() or made.cancelled() or made.exception() is not None:
        return None
    return None if made.result().dead.is_set() else made.result()
