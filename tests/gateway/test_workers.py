"""Workers as processes: forked from one thread, killed, replaced, and never left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import aclosing
from pathlib import Path

import pyarrow as pa
import pytest

from accelerator.common.config.config import Config
from accelerator.common.records.as_dict import as_dict
from accelerator.gateway.access.grants import UserAccess
from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.workers import messages
from accelerator.gateway.workers.pool.forks import ONE_THREAD, NoWorkerError
from accelerator.gateway.workers.pool.pool import Pool, PoolSettings
from tests.gateway.support import made_warehouse

pytestmark = pytest.mark.served


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    return made_warehouse(tmp_path_factory.mktemp("workers") / "warehouse")


def job(sql, **client):
    given = as_dict(nodes.ClientSession(user="me", catalog="lake", schema="shop", **client))
    given["capabilities"] = []
    return {
        "kind": "RunStatement",
        "request": {"sql": sql, "placed": True},
        "client": given,
        "access": UserAccess.all().to_json(),
        "log_of": None,
        "timeout_s": 0.0,
        "accelerate": True,
        "facts": {"session": [], "roles": []},
    }


async def rows(pool, sql, **client):
    found = []
    async with aclosing(pool.run(job(sql, **client), again=True)) as frames:
        async for frame in frames:
            assert frame.kind == "rows", frame.header
            found += messages.rows_of(frame.body).to_pylist()
    return found


def with_pool(warehouse, work, **settings):
    async def run():
        pool = Pool(
            Config.load(None, warehouse=str(warehouse)),
            PoolSettings(**({"workers": 2, "gateway": {"version": "476"}} | settings)),
        )
        await pool.start()
        try:
            return await work(pool)
        finally:
            await pool.close()

    return asyncio.run(run())


def test_the_template_has_one_thread():
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(
        [sys.executable, "-m", "accelerator.gateway.workers.fork_server", str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        env=os.environ | ONE_THREAD,
    )
    theirs.close()
    try:
        assert ours.recv(1) == b"\n"
        assert len(list(Path(f"/proc/{process.pid}/task").iterdir())) == 1
    finally:
        ours.close()
        assert process.wait(10) == 0, "it ends with its socket"


def test_a_worker_answers(warehouse):
    async def work(pool):
        return await rows(pool, "SELECT count(*) AS n FROM sales")

    assert with_pool(warehouse, work) == [{"n": 1000}]


def test_a_worker_that_is_killed_is_replaced_and_its_statements_are_asked_again(warehouse):
    async def work(pool):
        killed = set()
        for round in range(3):
            asked = [
                asyncio.create_task(rows(pool, f"SELECT sum(id) + {i} AS s FROM sales"))
                for i in range(20)
            ]
            await asyncio.sleep(0)
            for state in pool.states():
                killed.add(state.pid)
                os.kill(state.pid, signal.SIGKILL)
            found = [(await one)[0]["s"] for one in asked]
            assert found == [499_500 + i for i in range(20)], round
        return killed, {state.pid for state in pool.states()}, pool.restarts

    killed, alive, restarts = with_pool(warehouse, work)
    assert restarts >= len(killed) - 1
    assert not killed & alive


def test_nothing_is_left_behind(warehouse):
    async def work(pool):
        await rows(pool, "SELECT 1")
        return [state.pid for state in pool.states()] + [pool._template._process.pid]

    for pid in with_pool(warehouse, work):
        with pytest.raises(ProcessLookupError):
            for _ in range(200):  # a killed process is gone once its parent has looked
                os.kill(pid, 0)
                threading.Event().wait(0.02)


def test_a_template_that_died_is_made_anew(warehouse):
    async def work(pool):
        os.kill(pool._template._process.pid, signal.SIGKILL)
        for state in pool.states():
            os.kill(state.pid, signal.SIGKILL)
        return await rows(pool, "SELECT count(*) AS n FROM sales")

    assert with_pool(warehouse, work) == [{"n": 1000}]


def test_whoever_stops_waiting_for_a_worker_mixes_up_no_others(warehouse):
    """Each worker's process id is its own, though others were given up while they were forked."""

    async def work(pool):
        for turns in range(12):
            making = asyncio.create_task(pool._start(spark=False))
            for _ in range(turns):
                await asyncio.sleep(0)
            making.cancel()
            await asyncio.gather(making, return_exceptions=True)
        made = await pool._start(spark=False)
        made.kill()
        async with asyncio.timeout(30):
            await made.dead.wait()
        assert os.WTERMSIG(made.death.status) == signal.SIGKILL
        assert made.pid not in {state.pid for state in pool.states()}
        return await rows(pool, "SELECT count(*) AS n FROM sales")

    assert with_pool(warehouse, work, workers=1) == [{"n": 1000}]


def test_what_stops_reading_stops_the_statement(warehouse):
    async def work(pool):
        source = pool.run(job("SELECT a.id FROM sales a, sales b, sales c"), again=True)
        async with aclosing(source) as frames:
            async for _ in frames:
                break
        while any(state.running for state in pool.states()):
            await asyncio.sleep(0.01)
        return await rows(pool, "SELECT count(*) AS n FROM sales")

    assert with_pool(warehouse, work, workers=1, threads=1) == [{"n": 1000}]


def test_time_zones_have_sessions_of_their_own(warehouse):
    zones = ["UTC", "Pacific/Kiritimati", "Pacific/Honolulu", "Asia/Tokyo", "UTC"]

    async def work(pool):
        text = "SELECT current_timezone() AS zone"
        return [(await rows(pool, text, time_zone=zone))[0]["zone"] for zone in zones]

    assert with_pool(warehouse, work, workers=1, zones=2) == zones


def test_a_warehouse_that_is_not_there_is_told(tmp_path):
    async def nothing(_pool):
        return None

    with pytest.raises(NoWorkerError, match="there is no warehouse"):
        with_pool(tmp_path / "nowhere", nothing)


@pytest.mark.parametrize(
    "sent",
    [b"\xff" * 40, b"\0\0\0\2\0\0\0\0\0\0\0\0[]", b"\0\0\0\1\0\0\0\0\0\0\0\0{"],
    ids=["huge", "list", "no json"],
)
def test_what_is_no_message_is_told(sent):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(sent)
        with pytest.raises(messages.MessageError):
            messages.received(theirs)


def test_rows_come_through_as_they_are():
    table = pa.table({"a": [1, None], "b": ["x", 'ä"\n']})
    assert messages.rows_of(bytes(messages.bytes_of(table.slice(1)))).equals(table.slice(1))
    with pytest.raises(messages.MessageError):
        messages.rows_of(b"no rows")
