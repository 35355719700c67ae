"""Whoever has workers without our packages is told which interpreter they run."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError

from accelerator.engines.spark.engine import SparkEngine, run_workers_here, workers_hint
from accelerator.errors import EngineError
from cubes.job_error import JobError
from cubes.spark import job_errors


@pytest.mark.parametrize(
    "error",
    [
        "ModuleNotFoundError: No module named 'accelerator'",
        "ImportError: cannot import name 'x' from 'accelerator'",
        "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9",
        'java.io.IOException: Cannot run program "python9": error=2',
        "Error from python worker: python3.12: command not found",
    ],
)
def test_what_workers_lack_names_their_interpreter(error: str) -> None:
    said = workers_hint(error, "/usr/bin/python3")
    assert "run /usr/bin/python3" in said and "PYSPARK_PYTHON" in said and "pyarrow" in said


def test_a_worker_that_cannot_start_says_why() -> None:
    trace = "An error occurred while calling o21.parquet.\n: org.apache.spark.SparkException: \n"
    died = "Error from python worker:\n  pyenv: python3.12: command not found\n\nPYTHONPATH was:\n"
    with pytest.raises(JobError) as error, job_errors():
        raise Py4JError(trace + died + "\tat org.apache.spark.Worker(Worker.scala:55)")
    assert str(error.value) == "Error from python worker: pyenv: python3.12: command not found"


def test_a_build_names_the_interpreter_of_workers_that_cannot_run() -> None:
    engine = SparkEngine(lambda: None, owned=False)  # type: ignore[arg-type, return-value]
    context = SimpleNamespace(pythonExec="/usr/bin/python3", _jsc=1)
    engine._session = SimpleNamespace(sparkContext=context)  # type: ignore[assignment]
    with pytest.raises(EngineError) as error, engine.naming_workers():
        raise JobError("[PYTHON_VERSION_MISMATCH] 3.12", cancelled=False)
    assert "run /usr/bin/python3" in str(error.value.hint)
    with pytest.raises(JobError, match="a column is gone"), engine.naming_workers():
        raise JobError("a column is gone", cancelled=False)


def test_any_other_failure_is_its_own() -> None:
    assert workers_hint("ValueError: a column is gone", "/usr/bin/python3") == ""


@pytest.mark.parametrize(
    ("master", "before", "named", "after"),
    [
        ("local[*]", "python3", "", sys.executable),
        ("local-cluster[2,1,1024]", "python3", "", sys.executable),
        ("spark://host:7077", "python3", "", "python3"),  # that machine has other folders
        ("local[2]", "python3", "python3", "python3"),  # somebody has chosen it
        ("local[2]", "/opt/python", "", "/opt/python"),
    ],
)
def test_workers_of_an_attached_session_run_this_python_if_none_is_named(
    monkeypatch: pytest.MonkeyPatch, master: str, before: str, named: str, after: str
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", named)
    context = SimpleNamespace(master=master, pythonExec=before)
    run_workers_here(context)  # type: ignore[arg-type]
    assert context.pythonExec == after
