"""The gateway's end of the template process, from which workers are forked."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from contextlib import suppress

from accelerator.errors import AcceleratorError
from accelerator.gateway.workers.ledger import StatementLedger

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""What makes libraries start no thread where they're imported: a fork has one alone."""
_START_S, _FORK_S, _ENDING_S = 120.0, 20.0, 3.0


class NoWorkerError(AcceleratorError):
    """No worker can be started, or none is there any more."""

    code = "no_worker"


class ForkServer:
    """The process that workers are forked from; made anew if it has died, or gives no sign.

    It's the parent of all workers, so it alone learns how they end, and reports it.
    """

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._orders: socket.socket | None = None
        self._lock = asyncio.Lock()
        self._reading: asyncio.Task[None] | None = None
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._endings: dict[int, asyncio.Future[int]] = {}

    async def fork(self, ledger: StatementLedger) -> tuple[int, socket.socket]:
        """A new worker's process id, and our end of its socket. NoWorkerError.

        Whoever is cancelled leaves nothing behind: an answer that stayed unread would give the next
        worker this one's process id. A ledger of no worker is closed.
        """
        forking = asyncio.create_task(self._forked(ledger))
        try:
            return await asyncio.shield(forking)
        except BaseException:
            forking.add_done_callback(lambda done: _forget(done, ledger))
            raise

    async def _forked(self, ledger: StatementLedger) -> tuple[int, socket.socket]:
        async with self._lock:
            for attempt in range(2):
                orders = await self._alive()
                ours, theirs = socket.socketpair()
                try:
                    socket.send_fds(orders, [b"."], [theirs.fileno(), ledger.fd])
                    async with asyncio.timeout(_FORK_S):
                        pid = int(await self._line())
                except (OSError, ValueError) as error:  # a TimeoutError is an OSError
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

    async def ending(self, pid: int) -> int | None:
        """Returns a worker's status, as `os.waitpid` gives it, once; None if it's unknown."""
        ending = self._endings.get(pid)
        if ending is None:
            return None
        try:
            async with asyncio.timeout(_ENDING_S):
                return await ending
        except TimeoutError:
            return None
        finally:
            self._endings.pop(pid, None)

    async def _alive(self) -> socket.socket:
        process = self._process
        if self._orders is not None and process is not None and process.returncode is None:
            return self._orders
        await self.close()
        ours, theirs = socket.socketpair()
        name = "accelerator.gateway.workers.fork_server"
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", name, str(theirs.fileno())),
            pass_fds=(theirs.fileno(),),
            stdin=asyncio.subprocess.DEVNULL,
            env=os.environ | ONE_THREAD,
            start_new_session=True,  # Ctrl-C at a terminal is for the gateway alone
        )
        theirs.close()
        ours.setblocking(False)
        self._lines = asyncio.Queue()
        self._reading = asyncio.create_task(self._read(ours, self._lines))
        self._orders = ours
        try:
            async with asyncio.timeout(_START_S):
                await self._line()  # ready
        except OSError as error:
            await self.close()
            raise NoWorkerError(
                "the process that workers are made from can't start",
                hint="its message stands above: an import has failed",
            ) from error
        return ours

    async def _line(self) -> str:
        line = await self._lines.get()
        if line is None:
            raise OSError("the process that workers are made from has died")
        return line

    async def _read(self, orders: socket.socket, lines: asyncio.Queue[str | None]) -> None:
        """Reads what the template reports: a worker's start or end in each line."""
        loop, rest = asyncio.get_running_loop(), b""
        with suppress(OSError):
            while more := await loop.sock_recv(orders, 4096):
                *whole, rest = (rest + more).split(b"\n")
                for line in whole:
                    word, _, value = line.decode().partition(" ")
                    if word == "ended":
                        self._ended(*map(int, value.split()))
                        continue
                    if word == "forked":
                        self._endings[int(value)] = loop.create_future()
                    lines.put_nowait(value)
        lines.put_nowait(None)

    def _ended(self, pid: int, status: int) -> None:
        ending = self._endings.get(pid)
        if ending is not None and not ending.done():
            ending.set_result(status)

    async def close(self) -> None:
        """Ends it; its workers go on."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
            self._reading = None
        if self._orders is not None:
            self._orders.close()
            self._orders = None
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            self._process = None


def _forget(forking: asyncio.Task[tuple[int, socket.socket]], ledger: StatementLedger) -> None:
    """Ends the worker, if there is one: nobody waits for it any more."""
    ledger.close()
    if not forking.cancelled() and forking.exception() is None:
        forking.result()[1].close()
