"""Whoever has workers without our packages is told which interpreter they run."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from accelerator.engines.spark import run_workers_here, workers_hint


@pytest.mark.parametrize(
    "error",
    [
        "ModuleNotFoundError: No module named 'accelerator'",
        "ImportError: cannot import name 'x' from 'accelerator'",
        "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9",
        'java.io.IOException: Cannot run program "python9": error=2',
    ],
)
def test_what_workers_lack_names_their_interpreter(error: str) -> None:
    said = workers_hint(error, "/usr/bin/python3")
    assert "run /usr/bin/python3" in said and "PYSPARK_PYTHON" in said and "pyarrow" in said


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
