"""Processes that run one statement at a time: each of them ends, and as what it ran deserves."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import pytest

from accelerator.gateway.workers import worker as worker_process
from accelerator.gateway.workers.blame import JAVA_ENDED
from accelerator.gateway.workers.pool.pool import _Isolation
from accelerator.gateway.workers.pool.worker_handle import LATE_S, Worker
from accelerator.gateway.workers.worker import _Worker


class Process:
    """A worker as far as places are given to it."""

    def __init__(self) -> None:
        self.gone, self.is_late, self.load, self.ended = asyncio.Event(), False, 0, False

    def abandon(self) -> None:
        self.ended = True


def test_an_idle_process_that_is_late_is_ended():
    made = []

    async def new():
        made.append(Process())
        return made[-1]

    async def work():
        isolation = _Isolation(2, None, new)
        for _ in range(3):
            async with isolation.worker("ann") as worker:
                assert worker is made[-1]
            worker.is_late = True
        assert [one.ended for one in made] == [True, True, False]

    asyncio.run(work())


def test_a_worker_that_was_late_as_its_gateway_was_is_reported():
    async def work():
        changes = []
        worker = Worker(
            1, None, None, spark=False, silence_s=10, changed=lambda: changes.append(worker.is_late)
        )
        worker.ready.set_result(None)
        worker._pinged = time.monotonic() - 2 * LATE_S
        assert worker.is_late
        worker.look(4 * LATE_S)
        assert not worker.is_late and changes == [False], "whoever waits for it gets a turn"

    asyncio.run(work())


@pytest.mark.parametrize(
    ("status", "end"),
    [
        *((one, ["killed"]) for one in (-9, -15, -2, -1, 143, 130, 129)),
        *((one, [JAVA_ENDED]) for one in (0, 1, 3, 134, -6, -11)),
        (None, []),
    ],
)
def test_a_worker_ends_as_its_java_has(status, end, monkeypatch):
    ends = []
    monkeypatch.setattr(worker_process.os, "kill", lambda _pid, _signal: ends.append("killed"))
    monkeypatch.setattr(worker_process.os, "_exit", ends.append)
    worker = _Worker.__new__(_Worker)
    worker._sessions = SimpleNamespace(java_status=lambda _wait_s: status)
    worker._end_without_java()
    assert ends == end
