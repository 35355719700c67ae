"""Java's process ends: the worker that had it is replaced, and its statements are asked again."""

from __future__ import annotations

import os
import signal
import subprocess
import threading

import pytest

from accelerator.common.config.config import Config
from accelerator.gateway import serving
from accelerator.gateway.settings import GatewaySettings
from tests.gateway.ordinary_clients import asked, until
from tests.gateway.support import ROWS, made_warehouse

PLAIN = {"session": "accelerate=false"}


def java_of(pid: int) -> int:
    """The Java process that the worker has started."""
    found = subprocess.run(
        ["ps", "-o", "pid=,comm=", "--ppid", str(pid)], capture_output=True, text=True, check=True
    )
    return next(int(line.split()[0]) for line in found.stdout.splitlines() if "java" in line)


@pytest.mark.slow
@pytest.mark.spark
def test_a_worker_ends_with_its_java_and_another_takes_its_place(tmp_path):
    warehouse = made_warehouse(tmp_path / "warehouse")
    settings = GatewaySettings(port=0, workers=1, maintenance=False, cache_bytes=0)
    with serving.start(Config.load(None, warehouse=str(warehouse)), settings) as running:
        pool = running.gateway.pool
        assert asked(running, "SELECT count(*) FROM sales", **PLAIN) == [ROWS]
        first = pool._spark.result()
        os.kill(java_of(first.pid), signal.SIGKILL)
        # Nobody asks: its end is noticed.
        until(first.dead.is_set, 30)
        assert asked(running, "SELECT count(*) + 1 FROM sales", **PLAIN) == [ROWS + 1]

        # A statement runs: it's asked again, once.
        second = pool._spark.result()
        assert second.pid != first.pid
        slow = "SELECT count(*) FROM sales a, sales b WHERE a.id > b.id"
        answers: list[object] = []
        asking = threading.Thread(target=lambda: answers.append(asked(running, slow, **PLAIN)))
        asking.start()
        until(lambda: second.running)
        os.kill(java_of(second.pid), signal.SIGKILL)
        asking.join()
        assert isinstance(answers[0], list) and answers[0][0] > 0, answers
        assert pool.restarts >= 2
