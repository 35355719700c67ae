"""Runs that this gateway has started for its clients: each in a worker process of its own.

Promises: so many at once, and no more, with a share for each user; a run goes on whether or not its
client does; one that needs Spark is begun anew in a worker that has it, and is found under its
first id too.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import ExitStack, aclosing

from accelerator.common.lru_cache import Recent
from accelerator.errors import AcceleratorError
from accelerator.gateway.http.api.slots import Slots
from accelerator.gateway.statements.statement import WorkerError
from accelerator.gateway.trino.errors import TrinoError
from accelerator.gateway.workers.messages import Header
from accelerator.gateway.workers.pool.pool import Pool

_log = logging.getLogger("accelerator.gateway")
_AT_ONCE, _OF_ONE = 3, 2
_MOVED_MAX = 1_000


class Started:
    """Of one gateway; belongs to its event loop."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._slots = Slots("runs that were started here", _AT_ONCE, _OF_ONE)
        self._running: set[asyncio.Task[None]] = set()
        self._moved: Recent[str] = Recent(_MOVED_MAX)

    async def start(self, job: Header) -> str:
        """Starts the work; the id of its run. What a worker refuses is raised, as WorkerError."""
        slot = ExitStack()
        slot.enter_context(self._slots.occupy(str(job["user"])))
        first: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._run(job, first))
        task.add_done_callback(lambda _done: slot.close())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(first)

    def newest(self, run: str) -> str:
        """The id under which that run goes on."""
        seen = 0
        while (moved := self._moved.get(run)) is not None and seen < _MOVED_MAX:
            run, seen = moved, seen + 1
        return run

    async def close(self) -> None:
        """Ends them where they are; their claims are over with their processes."""
        for task in list(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _run(self, job: Header, first: asyncio.Future[str]) -> None:
        known = ""
        try:
            async with aclosing(self._pool.apart(job)) as frames:
                async for frame in frames:
                    if frame.kind == "told":
                        known = self._note_run(str(frame.header["run"]), known, first)
                    elif frame.kind != "rows":
                        raise WorkerError(TrinoError.from_dict(frame.header.get("error")))
        except (AcceleratorError, OSError) as error:
            if first.done():
                _log.warning("the run %s failed: %s", known, error)
            else:
                first.set_exception(error)
        finally:
            if not first.done():
                first.cancel()

    def _note_run(self, run: str, before: str, first: asyncio.Future[str]) -> str:
        if not first.done():
            first.set_result(run)
        elif before and run != before:
            self._moved.put(before, run)
        return run
