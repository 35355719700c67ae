"""Whoever has workers without our packages is told which interpreter they run."""

from __future__ import annotations

import pytest

from accelerator.engines.spark import workers_hint


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
