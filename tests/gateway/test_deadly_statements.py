"""Statements that end workers, in a gateway that runs: nobody else notices, and nothing is left."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from accelerator.common.config.config import Config
from accelerator.gateway import serving
from accelerator.gateway.settings import GatewaySettings
from tests.gateway import planted_in_workers as planted
from tests.gateway.ordinary_clients import (
    Clients,
    asked,
    count,
    documents,
    path_of,
    sent,
    until,
)
from tests.gateway.support import ROWS, made_warehouse

pytestmark = pytest.mark.served
_SILENCE_S = 3.0


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    return made_warehouse(tmp_path_factory.mktemp("deadly") / "warehouse")


@pytest.fixture(scope="module")
def running(warehouse, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in planted.environment(tmp_path_factory.mktemp("planted")).items():
            patch.setenv(name, value)
        settings = GatewaySettings(
            port=0,
            workers=2,
            cache_bytes=0,
            maintenance=False,
            worker_silence_s=_SILENCE_S,
        )
        with serving.start(Config.load(None, warehouse=str(warehouse)), settings) as gateway:
            yield gateway


@pytest.fixture
def pool(running):
    """Its pool, once no worker is being replaced and nobody's statements are isolated."""
    pool = running.gateway.pool
    pool._deadly.__init__()
    until(lambda: len(pool._workers) == 2)
    return pool


@pytest.mark.parametrize("word", ["planted_crash", "planted_overflow", "planted_abort"])
def test_a_statement_that_crashes_its_worker_fails_alone_and_is_never_run_again(
    running, pool, word
):
    before, deadly = pool.restarts, pool.deadly
    sql = f"SELECT {word} FROM sales"
    with Clients(running) as clients:
        message = asked(running, sql)
        until(lambda: pool.restarts > before)
    assert "ended the process that ran it (signal SIG" in message, message
    assert "It isn't run again" in message and not clients.wrong
    assert pool.deadly == deadly + 1
    # Alone with a crash that its thread reports it is the only suspect.
    assert pool.restarts - before == 1
    assert asked(running, sql, "somebody else") == message
    assert pool.restarts - before == 1 and pool.deadly == deadly + 1


def test_a_statement_that_hangs_is_killed_and_others_are_answered_meanwhile(running, pool):
    before = pool.ends["silent"]
    with ThreadPoolExecutor(1) as threads:
        hanging = threads.submit(asked, running, "SELECT planted_hang FROM sales")
        with Clients(running) as clients:
            message = hanging.result(120)
    assert "(it gave no sign, and was killed)" in message
    assert not clients.wrong and clients.answers
    until(lambda: pool.ends["silent"] == before + 1)


def test_a_client_that_goes_away_is_blamed_for_what_hangs(running, pool):
    deadly = pool.deadly
    found = sent(running, "POST", "/v1/statement", "SELECT planted_hang + 2 FROM sales")
    sent(running, "DELETE", path_of(found))
    until(lambda: pool.deadly == deadly + 1)
    assert "no sign" in asked(running, "SELECT planted_hang + 2 FROM sales")
    assert count(running, 1) == [ROWS + 1] and pool.deadly == deadly + 1


def test_a_worker_that_looks_idle_and_hangs_is_not_chosen(running, pool):
    with ThreadPoolExecutor(1) as threads:
        hanging = threads.submit(asked, running, "SELECT planted_hang + 1 FROM sales")
        until(lambda: any(worker.is_late for worker in pool._workers))
        late = next(worker for worker in pool._workers if worker.is_late)
        loads = set()
        for number in range(8):
            assert count(running, number) == [ROWS + number]
            loads.add(late.load)
        assert loads <= {0, 1}, "0: it was killed meanwhile"
        assert "no sign" in hanging.result(120)


def test_work_that_leaves_the_lock_alone_is_no_hang(running, pool):
    before = pool.restarts
    # Sleeps as an engine computes: for the whole time, and longer than signs may be missing.
    assert "planted_sleep" in asked(running, "SELECT planted_sleep FROM sales")
    assert pool.restarts == before, "its error is that there is no such column"


def test_a_statement_that_ignores_its_stop_has_its_worker_replaced(running, pool):
    before, restarts = pool.ends["overdue"], pool.restarts
    limit = "query_max_run_time=1s"
    *_, last = documents(running, "SELECT planted_busy FROM sales", session=limit)
    assert "took longer than 1 s" in last["error"]["message"]
    assert last["error"]["errorName"] == "EXCEEDED_TIME_LIMIT"
    until(lambda: pool.ends["overdue"] == before + 1)
    assert pool.restarts == restarts + 1


@pytest.mark.parametrize("word", ["SIGKILL", "SIGSTOP", "SIGSEGV"])
def test_signals_from_outside_cost_nobody_a_statement(running, pool, word):
    draw = random.Random(word)
    before, deadly = pool.restarts, pool.deadly
    with Clients(running) as clients:
        for _ in range(3):
            time.sleep(draw.random())
            until(lambda: len(pool._workers) == 2)
            here = pool.restarts
            os.kill(draw.choice(pool.states()).pid, getattr(signal, word))
            until(lambda here=here: pool.restarts > here)
    assert not clients.wrong and clients.answers
    assert pool.restarts == before + 3 and pool.deadly == deadly


def test_whoever_ends_one_worker_after_the_other_is_answered_apart(running, pool):
    for number in range(3):
        asked(running, f"SELECT planted_crash + {number} FROM sales", "hostile")
    until(lambda: len(pool._workers) == 2)
    before = pool.restarts
    for number in range(3, 6):
        assert "It isn't run again" in asked(
            running, f"SELECT planted_crash + {number} FROM sales", "hostile"
        )
    assert pool.restarts == before, "workers that others share aren't touched any more"
    assert count(running, 1, "hostile") == [ROWS + 1], "apart isn't refused"


def test_nothing_is_left_behind(warehouse, tmp_path):
    """Of a gateway whose workers hung, were stopped and crashed."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in planted.environment(tmp_path / "planted").items():
            patch.setenv(name, value)
        patch.setenv("TMPDIR", str(scratch))
        patch.setattr(tempfile, "tempdir", None)
        settings = GatewaySettings(
            port=0, workers=2, maintenance=False, cache_bytes=0, worker_silence_s=60.0
        )
        with serving.start(Config.load(None, warehouse=str(warehouse)), settings) as gateway:
            pool = gateway.gateway.pool
            until(lambda: len(pool._workers) == 2)
            asked(gateway, "SELECT planted_crash FROM sales")
            until(lambda: len(pool._workers) == 2)
            first = pool.states()[0]
            os.kill(first.pid, signal.SIGSTOP)
            hanging = threading.Thread(
                target=sent,
                args=(gateway, "POST", "/v1/statement", "SELECT planted_hang FROM sales"),
            )
            hanging.start()
            until(lambda: any(worker.is_late for worker in pool._workers))
            hanging.join()
            pids = [*(worker.pid for worker in pool._every), pool._template._process.pid]
            files = len(list(Path("/proc/self/fd").iterdir()))
    for pid in pids:
        until(lambda pid=pid: not Path(f"/proc/{pid}").exists(), 20)
    assert not list(scratch.iterdir())
    assert len(list(Path("/proc/self/fd").iterdir())) <= files
