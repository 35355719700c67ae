"""A start in the background: waiting for it can end, and it goes on."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from pyspark.errors import AnalysisException

from accelerator.common.interrupts import looking
from accelerator.engines.spark import engine as spark_engine
from accelerator.engines.spark.jvm.java import check_java
from accelerator.engines.spark.start import scratch
from accelerator.engines.spark.start.background import Background
from accelerator.errors import CancelledError, EngineError


class Start:
    """One that ends when it's told to."""

    def __init__(self, error=None):
        self.go, self.undone, self.error = threading.Event(), threading.Event(), error

    def make(self):
        self.go.wait()
        if self.error is not None:
            raise self.error
        return "session"

    def undo(self, made):
        assert made == "session"
        self.undone.set()


def stop():
    raise CancelledError("the statement was cancelled")


def test_who_stops_waiting_leaves_the_start_going():
    start = Start()
    made = Background(start.make, start.undo)
    with pytest.raises(CancelledError), looking(stop):
        made.wait()
    start.go.set()
    assert made.wait() == made.wait() == "session"
    assert not made.failed and not start.undone.is_set()


def test_a_failure_is_told_to_those_who_wait():
    start = Start(EngineError("no memory"))
    made = Background(start.make, start.undo)
    start.go.set()
    for _ in range(2):
        with pytest.raises(EngineError, match="no memory"):
            made.wait()
    assert made.failed


def test_who_waits_is_told_that_it_was_left():
    start = Start()
    made = Background(start.make, start.undo)
    threading.Timer(0.05, made.leave).start()
    with pytest.raises(EngineError, match="closed"):
        made.wait()
    start.go.set()
    assert start.undone.wait(30)


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_nobody_needs_is_undone(when):
    start = Start()
    made = Background(start.make, start.undo)
    if when == "after":
        start.go.set()
        made.wait()
    made.leave()
    start.go.set()
    assert start.undone.wait(30)
    with pytest.raises(EngineError, match="closed"):
        made.wait()


def test_looking_is_of_the_innermost_work():
    with looking(stop), looking(lambda: None):
        start = Start()
        start.go.set()
        assert Background(start.make, start.undo).wait() == "session"


def test_ctrl_c_is_not_for_the_java_that_is_asked_its_version(tmp_path, monkeypatch):
    """A terminal sends it to the whole group of processes."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(
        """#!/bin/sh
[ "$(ps -o pgid= -p $$ | tr -d ' ')" = "$$" ] && echo 'openjdk version "17.0.1"' >&2
"""
    )
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    check_java()


def test_a_start_that_failed_while_nobody_waited_is_begun_anew(monkeypatch):
    monkeypatch.setattr(spark_engine, "SparkContext", MagicMock(_active_spark_context=None))
    monkeypatch.setattr("accelerator.engines.spark.functions.register_tests", lambda _: None)
    failing, session = Start(EngineError("no memory")), MagicMock()
    starts = [failing.make, lambda: session]
    engine = spark_engine.SparkEngine(lambda: starts.pop(0)(), owned=True)
    with pytest.raises(CancelledError), looking(stop):
        _ = engine.session
    assert engine.activity == "starting Spark" and not engine.started
    failing.go.set()
    until = threading.Event()
    while not engine._starting.failed:
        until.wait(0.01)
    assert engine.session is session
    assert engine.started and not starts
    engine.stop()
    session.stop.assert_called_once_with()


def test_ctrl_c_that_is_heard_late_stops_nothing_that_comes_next():
    """Its thread may come to it after the work has ended by itself."""
    script = """
import os, signal, threading
from accelerator.common import interrupts

listen, late = interrupts._MainThreadWatch._insist, threading.Event()
def insist(self):
    late.wait(0.1)  # as on a busy machine
    listen(self)
interrupts._MainThreadWatch._insist = insist
setter, delayed = interrupts._watch.pressed.set, []
def set_late():
    late.wait(0.1)
    setter()
interrupts._watch.pressed.set = set_late
stopped = []
try:
    with interrupts.interruptible(lambda: stopped.append("first")):
        os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    pass
with interrupts.interruptible(lambda: stopped.append("second")):
    late.wait(0.5)
print(stopped)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_the_last_words_are_without_stacks(monkeypatch, tmp_path):
    monkeypatch.setattr(scratch, "folder", lambda: tmp_path)
    assert scratch.last_words() == ""
    stack = "".join(f"\tat org.Some.where(Some.scala:{line})\n" for line in range(500))
    scratch.log_file().write_bytes(
        b"x" * 100_000
        + f"\none\n\nException: two\n{stack}\t... 33 more\n".encode()
        + b"\xff three\n"
    )
    assert scratch.last_words(3) == "one\nException: two\n\ufffd three"


def test_the_folder_is_for_its_owner_alone():
    made = scratch.folder()
    assert made == scratch.folder()
    assert made.stat().st_mode & 0o777 == 0o700


def test_a_namespace_that_was_dropped_since_use_does_not_stop_spark() -> None:
    """Full names are answered; before, each statement failed for a name that it doesn't have."""
    asked: list[str] = []

    def sql(text: str) -> None:
        asked.append(text)
        if "gone" in text:
            raise AnalysisException("no", errorClass="SCHEMA_NOT_FOUND", messageParameters={})

    @contextmanager
    def handed():
        yield ("lake", "gone"), {}

    session = SimpleNamespace(sql=sql, conf=SimpleNamespace(set=None, get=None))
    engine = spark_engine.SparkEngine(lambda: session, owned=True, handed=handed)
    engine._hand(session)
    assert asked == ["USE `lake`.`gone`", "USE `lake`"]
