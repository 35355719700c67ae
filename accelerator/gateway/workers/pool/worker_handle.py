"""The gateway's end of one worker: what it runs, whether it gives signs, what its death means.

Promises: a worker that answers no ping, or no stop, for `silence_s` is replaced. Each statement of
a dead worker learns its fate.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import signal
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from accelerator.errors import AcceleratorError
from accelerator.gateway.trino.errors import TrinoError
from accelerator.gateway.workers import blame, messages
from accelerator.gateway.workers.backtracking import PATTERN_HINT
from accelerator.gateway.workers.blame import Death, Fate
from accelerator.gateway.workers.ledger import DUMP_SIGNAL, StatementLedger
from accelerator.gateway.workers.messages import Header, MessageError
from accelerator.gateway.workers.pool.forks import ForkServer, NoWorkerError
from accelerator.gateway.workers.pool.socket_link import Body, SocketLink

_log = logging.getLogger("accelerator.gateway")
_END_S, _LOOK_S = 3.0, 0.02
_MORE_HINT = "SET SESSION query_max_run_time, or timeout_s, allow more"
_EXPLAIN_S = 5.0
"""How long it's waited for what a worker says of a statement's plan."""
LATE_S = 0.5
"""A worker that hasn't answered a ping for so long gets no statement."""
_REPLACE_S = 1.0
"""One whose thread has used a processor for so long, while it's late, is replaced at once."""
_DUMP_S = 0.05
_REPORT_MAX = 4_000
_OUTLIVES = 6
"""A worker without pings ends itself after so many times `silence_s`: its gateway is gone."""


class WorkerLostError(AcceleratorError):
    """The process that ran the statement has died; what it has done isn't known."""

    code = "worker_lost"

    def __init__(self, fate: Fate, death: Death, *, began: bool) -> None:
        super().__init__(
            f"The process that ran the statement has died ({death.words}).",
            hint="Ask again; the gateway's log says more",
        )
        self.fate, self.death, self.began = fate, death, began


class OverdueError(AcceleratorError):
    """The statement took longer than it may, and its worker hasn't stopped it either."""

    code = "statement_timeout"


class Frame(Struct, frozen=True):
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


class _Waiting(Struct):
    """A statement that a worker runs."""

    movable: bool
    frames: asyncio.Queue[Frame | WorkerLostError] = field(default_factory=asyncio.Queue)


class Worker:
    """One process; `run` gives what it says of a statement."""

    def __init__(
        self,
        pid: int,
        ledger: StatementLedger,
        template: ForkServer,
        *,
        spark: bool,
        silence_s: float,
        alone: bool = False,
        changed: Callable[[], None] = lambda: None,
        suspected: Callable[[Header, str], None] = lambda _order, _how: None,
        killed_for_memory: Callable[[], bool] = lambda: False,
    ) -> None:
        """`changed` hears that it may take statements again, or never will.

        A worker that is `alone` runs one statement at a time, so that no other waits if it's late.
        `suspected` hears of each order that may have made it silent, or alone ended it.
        """
        self.pid, self.spark, self._alone = pid, spark, alone
        self.since = time.time()
        self.began = time.monotonic()
        self.running: dict[int, _Waiting] = {}
        self.explaining: dict[int, asyncio.Future[Header | None]] = {}
        self.dead = asyncio.Event()
        """Its process is gone, and what that means is known."""
        self.gone = asyncio.Event()
        """It takes no statements any more: it's dead, or retired."""
        self.death: Death | None = None
        self.fates: Mapping[int, Fate] = {}
        self.is_worn = False
        """It's to be replaced: it ran out of memory, or its Spark has tasks that nothing stops."""
        self.is_retired = False
        """It ends with the last statement that it runs."""
        self.crash_report = ""
        self.group: Path | None = None
        """Its control group, if it has one."""
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.link = SocketLink(self._take, self._lost)
        self._ledger, self._template = ledger, template
        self._silence_s, self._changed, self._suspected = silence_s, changed, suspected
        self._orders: dict[int, Header] = {}
        self._killed_for_memory = killed_for_memory
        self._stopping: dict[int, float] = {}
        self._pinged: float | None = None
        self._pings = itertools.count()
        self._before: dict[int, float] = {}
        self._busy: set[int] = set()
        self._hung: set[int] | None = None
        self._stopped = False
        self._judging: asyncio.Task[None] | None = None

    # Statements

    def send(self, header: Header) -> None:
        """Says something to it; nothing, where it's dead."""
        self.link.send(header)

    @property
    def stopping(self) -> list[Header]:
        """The orders that were stopped and haven't ended: each has a thread still."""
        return [self._orders[number] for number in self._stopping if number in self._orders]

    @property
    def load(self) -> int:
        """How many of its threads are taken: a statement that was stopped has one until it ends."""
        return len(self.running) + len(self._stopping)

    async def run(
        self, number: int, order: Header, limit_s: float = 0.0, *, movable: bool = False
    ) -> AsyncGenerator[Frame, None]:
        """The frames of an order: to run a statement, or to maintain the store.

        WorkerLostError if it dies before the last one, or, for a `movable` one, if it gives no
        signs. OverdueError if the worker needs longer than `limit_s` and doesn't say so itself;
        0: no limit.

        Leaving the iterator stops the statement.
        """
        waiting = self.running[number] = _Waiting(movable)
        self._orders[number] = order
        last, left_s = False, limit_s + self._silence_s if limit_s else None
        is_sent = False
        try:
            self.send({"id": number, **order})
            is_sent = True
            while not last:
                frame, left_s = await self._next(number, waiting, left_s, limit_s)
                last = frame.is_last
                waiting.movable = False
                if frame.kind == "rows" and not last:
                    self.send({"op": "more", "id": number})
                yield frame
        finally:
            del self.running[number]
            if is_sent and not last and not self.dead.is_set():
                self._stopping[number] = time.monotonic()
                self.send({"op": "stop", "id": number})
            else:
                self._orders.pop(number, None)

    async def _next(
        self, number: int, waiting: _Waiting, left_s: float | None, limit_s: float
    ) -> tuple[Frame, float | None]:
        """The next frame, and how long the worker may still work: its client's time is its own."""
        if self.dead.is_set() and waiting.frames.empty():
            raise self._lost_with(number)
        since = time.monotonic()
        try:
            async with asyncio.timeout(left_s):
                frame = await waiting.frames.get()
        except TimeoutError as error:
            self.retire()
            for_patterns = self._orders[number].get("job", {}).get("for_patterns")
            raise OverdueError(
                f"The statement took longer than {limit_s:g} s, and its process didn't stop it.",
                hint=PATTERN_HINT if for_patterns else _MORE_HINT,
            ) from error
        if isinstance(frame, WorkerLostError):
            raise frame
        return frame, None if left_s is None else left_s - (time.monotonic() - since)

    def _lost_with(self, number: int) -> WorkerLostError:
        death = self.death or Death(None)
        fate = self.fates.get(number, Fate.UNTOUCHED)
        return WorkerLostError(fate, death, began=number in death.ran)

    def _take(self, header: Header, body: Body) -> None:
        kind = header.get("kind")
        if kind == "pong" or self._pinged is not None:  # each message is a sign of life
            self._answered()
        if kind == "pong":
            return
        if kind == "ready":
            if header.get("version") != messages.VERSION:
                raise MessageError(f"a worker speaks version {header.get('version')}")
            if not self.ready.done():  # whoever waited may be gone
                self.ready.set_result(None)
        elif kind == "failed":
            error = TrinoError.from_dict(header.get("error"))
            self.ready.set_exception(NoWorkerError(error.message, hint=error.hint or ""))
            self.ready.exception()
        elif kind == "explained":
            asked, found = self.explaining.get(header.get("id", -1)), header.get("explained")
            if asked is not None and not asked.done():
                asked.set_result(found if isinstance(found, dict) else None)
        elif kind == "worn":
            self.is_worn = True
        elif kind in ("rows", "error", "spark", "told"):
            self._hear(header.get("id", -1), Frame(kind, header, body))

    def _hear(self, number: int, frame: Frame) -> None:
        waiting = self.running.get(number)
        if waiting is not None:  # else it was stopped meanwhile
            waiting.frames.put_nowait(frame)
        if frame.is_last and self._stopping.pop(number, None) is not None:
            self._orders.pop(number, None)
            self._changed()
        self.is_worn = self.is_worn or bool(frame.header.get("worn"))

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

    # Signs of life

    @property
    def is_late(self) -> bool:
        """Whether it answers pings later than a sound worker does."""
        return self._pinged is not None and time.monotonic() - self._pinged > LATE_S

    def look(self, late_s: float) -> None:
        """Pings it, and gives it up if it was silent for too long.

        `late_s` is how much later than planned the gateway itself looks: that isn't its silence.
        """
        if self.dead.is_set() or not self.ready.done() or self._judging is not None:
            return
        now = time.monotonic()
        if self._pinged is None:
            self._pinged = now
            self.send({"op": "ping", "ends_s": _OUTLIVES * self._silence_s})
        elif late_s > LATE_S:
            was_late, self._pinged = self.is_late, min(now, self._pinged + late_s)
            if was_late and not self.is_late:  # its answer won't report that
                self._changed()
        elif now - self._pinged > LATE_S:
            self._late(now - self._pinged)
        if self.is_worn or any(now - since > self._silence_s for since in self._stopping.values()):
            self.retire()

    def _answered(self) -> None:
        was_late = self.is_late
        self._pinged, self._before = None, {}
        if was_late:
            self._changed()

    def _late(self, silent_s: float) -> None:
        """Moves what can't be the reason to other workers; kills the process in the end."""
        stopped = blame.is_stopped(self.pid)
        spent = blame.busy_seconds(self.pid, self._ledger.running())
        if not self._before and not stopped:
            self._before = spent
            return
        self._busy = set() if stopped else blame.busy(self._before, spent)
        self._stopped = stopped
        if self._busy or stopped:
            self._move(Death(None, hung=self._busy, stopped=stopped, ran=self._ledger.running()))
        hogs = set() if stopped else blame.busy(self._before, spent, _REPLACE_S)
        if (stopped or (hogs and not self._alone)) and not self.is_retired:
            for number in hogs & self._orders.keys():
                self._suspected(self._orders[number], "")
            self.retire()
        if silent_s > self._silence_s:
            _log.error("worker %d has given no sign for %.1f s; it's killed", self.pid, silent_s)
            self.abandon()

    def _move(self, death: Death) -> None:
        """Has others asked for what can't be the reason."""
        for number, waiting in self.running.items():
            if waiting.movable and number not in self._busy:
                waiting.movable = False
                began = number in death.ran
                fate = Fate.INNOCENT if began else Fate.UNTOUCHED
                waiting.frames.put_nowait(WorkerLostError(fate, death, began=began))

    def abandon(self) -> None:
        """Kills it now; if it gives no sign, that is why."""
        if self.dead.is_set() or self._judging is not None:
            return
        if self.is_late:
            self._hung = self._busy
        self._judging = asyncio.create_task(self._give_up())

    async def _give_up(self) -> None:
        if self._hung is not None:
            with suppress(OSError):
                os.kill(self.pid, DUMP_SIGNAL)
            await asyncio.sleep(_DUMP_S)
        self._judging = None
        self.kill()

    @property
    def was_silent(self) -> bool:
        """Whether it's replaced since it gave no sign."""
        return self._hung is not None or self.is_late

    def retire(self) -> None:
        """It gets no statement any more, and ends with the last of those that it runs."""
        if not self.gone.is_set():
            _log.warning("worker %d is replaced; it ends with its last statement", self.pid)
            self.is_retired = True
            self.gone.set()
            self._changed()

    # Its end

    def _lost(self) -> None:
        """Judges its death, once the parent has told how it ended."""
        self.gone.set()
        if not self.ready.done():
            self.ready.set_exception(NoWorkerError("a worker died before it was ready"))
            self.ready.exception()  # whoever waits sees it; nobody has to
        for asked in self.explaining.values():
            if not asked.done():
                asked.set_result(None)
        self._judging = asyncio.create_task(self._judge())

    async def _judge(self) -> None:
        status = await self._template.ending(self.pid)
        ledger = self._ledger
        self.death = Death(
            status,
            ledger.report(),
            tuple(self._orders),
            ledger.running(),
            self._hung,
            self._stopped,
            self._hung is None and self._killed_for_memory(),
        )
        self.fates = blame.fates(self.death)
        if self.death.report:
            self.crash_report = "\n" + self.death.report[:_REPORT_MAX]
        ledger.close()
        self._kill_group()  # its JVM may outlive it
        for number, fate in self.fates.items():
            if fate is Fate.CULPRIT:  # also if nobody waits for it any more
                self._suspected(self._orders[number], self.death.words)
        self._stopping.clear()
        self._orders.clear()
        self.dead.set()
        for number, waiting in self.running.items():
            waiting.frames.put_nowait(self._lost_with(number))
        self._changed()

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
        """Ends the process now, with the processes that it has started."""
        self._kill_group()
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.link.close()

    def _kill_group(self) -> None:
        """Each worker leads a group of processes of its own."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
