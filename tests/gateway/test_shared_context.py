"""Who stops the SparkContext that several engines of a process use; no JVM runs here."""

from __future__ import annotations

import gc
import signal
import subprocess
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from pyspark import SparkContext

from accelerator.common.config.config import Config
from accelerator.engines.spark import context as spark_context
from accelerator.engines.spark import engine as spark_engine
from accelerator.engines.spark import functions
from accelerator.engines.spark.context import SharedContext
from accelerator.engines.spark.engine import SparkEngine
from accelerator.gateway.workers import sessions
from accelerator.gateway.workers import worker as worker_process
from accelerator.gateway.workers.blame import JAVA_ENDED
from accelerator.gateway.workers.sessions import Sessions


@pytest.fixture
def process(monkeypatch):
    """A process with no Spark yet: `engine` makes engines, `context` is the SparkContext."""
    found = SimpleNamespace(stops=0)
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    shared = SharedContext()
    for module in (spark_engine, spark_context, sessions):
        monkeypatch.setattr(module, "SHARED", shared)
    monkeypatch.setattr(spark_engine, "_hear_ctrl_c", lambda _session: None)
    monkeypatch.setattr(functions, "register_tests", lambda _session: None)

    def stop():
        found.stops += 1
        SparkContext._active_spark_context._jsc = None
        SparkContext._active_spark_context = None

    def start():
        if SparkContext._active_spark_context is None:
            SparkContext._active_spark_context = MagicMock()
        return MagicMock(sparkContext=SparkContext._active_spark_context, stop=stop)

    def engine():
        made = SparkEngine(start, owned=True)
        assert made.session is not None
        return made

    found.start, found.engine, found.shared = start, engine, shared
    return found


def test_the_last_engine_stops_the_context(process):
    first, second, third = process.engine(), process.engine(), process.engine()
    first.stop()
    third.stop()
    first.stop()
    assert not process.stops, "the second one uses it"
    second.stop()
    assert process.stops == 1
    process.engine().stop()
    assert process.stops == 2, "a context that was made later"


def test_an_engine_that_was_dropped_holds_nothing(process):
    first = process.engine()
    process.engine()
    gc.collect()
    first.stop()
    assert process.stops == 1


def test_the_users_own_context_is_never_stopped(process):
    process.start()
    process.engine().stop()
    assert not process.stops
    SparkEngine.attached(process.start()).stop()
    assert not process.stops


@pytest.fixture
def zones(process, monkeypatch, tmp_path):
    """A worker's sessions, each with an engine that `process` makes when it's used."""

    def opened(_config, source=None, private=()):
        engine = process.engine()
        return SimpleNamespace(close=engine.stop, engine=engine)

    monkeypatch.setattr(sessions, "open_loaded", opened)
    config = Config.load(None, warehouse=str(tmp_path), session_time_zone="UTC")
    return Sessions(config, spark=True, zones_max=2)


def test_time_zones_that_come_and_go_leave_spark_running(process, zones):
    for zone in ("+01:00", "UTC", "+02:00", "+03:00"):
        with zones.using(zone):
            pass
    assert not process.stops, "UTC's session uses the context that +01:00's has started"
    zones.close()
    assert process.stops == 1


def test_spark_outlives_the_only_session_that_used_it(process, zones):
    with zones.using("+01:00") as session:
        session.close()
        assert not process.stops, "the worker's next statement needs it"
    zones.close()
    assert process.stops == 1


def test_tasks_of_a_closed_session_are_still_looked_at(process, zones):
    with zones.using("+01:00") as session:
        context = SparkContext._active_spark_context
        session.engine.interrupt("a-tag")
        context.cancelJobsWithTag.assert_called_once_with("a-tag")
        session.close()
    tracker = context._jsc.sc().statusTracker()
    tracker.getJobIdsForTag.return_value = [7]
    tracker.getJobInfo(7).get().stageIds.return_value = [3]
    tracker.getStageInfo(3).get().numActiveTasks.return_value = 1
    assert not zones.has_stuck_tasks(60), "it was interrupted just now"
    assert zones.has_stuck_tasks(0)
    tracker.getStageInfo(3).get().numActiveTasks.return_value = 0
    assert not zones.has_stuck_tasks(0)


def test_java_that_has_ended_before_it_had_a_context_is_noticed(monkeypatch):
    monkeypatch.setattr(SparkContext, "_gateway", None)
    shared = SharedContext()
    assert shared.java_status() is None
    with subprocess.Popen(["sleep", "60"]) as java:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=java))
        assert shared.java_status() is None
        java.kill()
        assert shared.java_status(10) == -9


@pytest.mark.parametrize(
    ("status", "ends"),
    [
        (None, []),
        (0, [("exit", JAVA_ENDED)]),
        (1, [("exit", JAVA_ENDED)]),
        (-signal.SIGABRT, [("exit", JAVA_ENDED)]),
        (-signal.SIGKILL, [("kill", signal.SIGKILL)]),
        (128 + signal.SIGTERM, [("kill", signal.SIGKILL)]),
    ],
)
def test_a_worker_ends_as_its_java_has_ended(status, ends, monkeypatch):
    found = []
    monkeypatch.setattr(worker_process.os, "kill", lambda _pid, one: found.append(("kill", one)))
    monkeypatch.setattr(worker_process.os, "_exit", lambda one: found.append(("exit", one)))
    worker = object.__new__(worker_process._Worker)
    worker._sessions = SimpleNamespace(java_status=lambda _wait_s: status)
    worker._end_without_java()
    assert found == ends
