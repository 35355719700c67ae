"""The system's limit of a worker's memory: one statement fails, and the JVM has its own limit."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from accelerator.common.config.config import Config
from accelerator.common.config.memory_budget import machine_bytes
from accelerator.engines.spark.start import data_limit
from accelerator.gateway import serving
from accelerator.gateway.settings import GatewaySettings
from accelerator.gateway.workers.pool import memory_limits
from accelerator.gateway.workers.pool.memory_limits import ControlGroups, jvm_bytes, worker_bytes
from tests.gateway import planted_in_workers as planted
from tests.gateway.ordinary_clients import Clients, asked, count, until
from tests.gateway.support import ROWS, made_warehouse

_GIB = 1024**3


@pytest.fixture(autouse=True)
def unlimited(monkeypatch):
    """This process stays without a limit."""
    monkeypatch.setattr(data_limit, "_of_children", [])
    before = resource.getrlimit(resource.RLIMIT_DATA)
    yield
    resource.setrlimit(resource.RLIMIT_DATA, before)


def test_a_limit_is_derived_from_the_machine():
    most = worker_bytes(0, 1, 3)
    assert most == int(machine_bytes() * 0.9) // 4 or most == 1 + 2 * _GIB
    assert worker_bytes(0, machine_bytes(), 1000) > machine_bytes(), "a budget fits below it"
    assert worker_bytes(7, _GIB, 2) == 7
    config = Config.load(None, warehouse="w", spark_conf={"spark.driver.memory": "3g"})
    assert jvm_bytes(0, config) == 8 * _GIB and jvm_bytes(9, config) == 9
    plain = Config.load(None, warehouse="w")
    assert plain.spark_driver_memory == "4g" and jvm_bytes(0, plain) == 10 * _GIB
    small = Config.load(None, warehouse="w", spark_driver_memory="512m")
    assert jvm_bytes(0, small) == 3 * _GIB


def test_children_have_a_limit_of_their_own():
    code = "import resource; print(resource.getrlimit(resource.RLIMIT_DATA)[0])"

    def of_child():
        return int(subprocess.run([sys.executable, "-c", code], capture_output=True).stdout)

    with data_limit.limit_of_children():
        assert of_child() == resource.getrlimit(resource.RLIMIT_DATA)[0], "nothing is limited"
    assert data_limit.limit_data(64 * _GIB, 3 * _GIB)
    assert of_child() == 64 * _GIB
    with data_limit.limit_of_children():
        assert of_child() == 3 * _GIB
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] == 64 * _GIB


@pytest.fixture
def folder(tmp_path):
    """A folder as cgroup v2 shows it; the kernel isn't behind it."""
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    (tmp_path / "cgroup.subtree_control").write_text("")
    return tmp_path


def test_a_worker_gets_a_control_group(folder):
    (folder / "accelerator-worker-1").mkdir()
    groups = ControlGroups.opened(str(folder))
    assert (folder / "cgroup.subtree_control").read_text() == "+memory"
    assert not (folder / "accelerator-worker-1").exists(), "left by a gateway that was killed"
    group = groups.add(77, 5 * _GIB)
    assert (group / "memory.max").read_text() == str(5 * _GIB)
    assert (group / "cgroup.procs").read_text() == "77"
    assert not memory_limits.was_killed_for_memory(group)
    (group / "memory.events").write_text("low 0\noom 1\noom_kill 0\n")
    assert not memory_limits.was_killed_for_memory(group)
    (group / "memory.events").write_text("low 0\noom 1\noom_kill 2\n")
    assert memory_limits.was_killed_for_memory(group)


def test_without_a_folder_to_divide_there_are_no_groups(tmp_path, folder, monkeypatch):
    assert ControlGroups.opened(str(tmp_path / "nowhere")) is None
    (folder / "cgroup.controllers").write_text("cpu\n")
    assert ControlGroups.opened(str(folder)) is None
    own = tmp_path / "own"
    own.write_text("4:memory:/x\n0::/system.slice/a.service/gateway\n")
    assert memory_limits._delegated(tmp_path, own) is None, "nobody has delegated it"
    monkeypatch.setattr(memory_limits, "_is_delegated", lambda _folder: True)
    assert memory_limits._delegated(tmp_path, own) == tmp_path / "system.slice" / "a.service"
    own.write_text("0::/\n")
    assert memory_limits._delegated(tmp_path, own) is None
    assert memory_limits._delegated(tmp_path, tmp_path / "none") is None


@pytest.mark.served
def test_a_statement_that_eats_memory_fails_alone(tmp_path):
    warehouse = made_warehouse(tmp_path / "warehouse")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in planted.environment(tmp_path / "planted").items():
            patch.setenv(name, value)
        settings = GatewaySettings(
            port=0,
            workers=2,
            cache_bytes=0,
            maintenance=False,
            worker_memory_bytes=3 * _GIB,
        )
        config = Config.load(None, warehouse=str(warehouse), memory_bytes_max=_GIB)
        with serving.start(config, settings) as running:
            pool = running.gateway.pool
            until(lambda: len(pool._workers) == 2)
            limits = Path(f"/proc/{pool.states()[0].pid}/limits").read_text()
            assert re.search(rf"Max data size\s+{3 * _GIB}\s", limits)
            before = pool.restarts
            with Clients(running) as clients:
                message = asked(running, "SELECT planted_eat FROM sales")
            assert "more memory than there is" in message, message
            assert not clients.wrong and clients.answers
            until(lambda: pool.restarts > before)
            assert pool.ends["overdue"] == 1, "it's replaced, and ends with its last statement"
            assert count(running, 1) == [ROWS + 1]
