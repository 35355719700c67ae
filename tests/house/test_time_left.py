"""A run of tests with an end begins no test after it, and reports how many it skipped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.served
HOME = Path(__file__).parents[2]
_TESTS = "def test_a():\n    pass\n\ndef test_b():\n    pass\n"


def _run(folder: Path, *options: str) -> str:
    (folder / "test_one.py").write_text(_TESTS)
    (folder / "test_two.py").write_text(_TESTS)
    asked = [sys.executable, "-m", "pytest", "-p", "tests.support.time_left", "-q", str(folder)]
    asked += ["-p", "no:cacheprovider", "--rootdir", str(folder), *options]
    return subprocess.run(asked, cwd=HOME, capture_output=True, text=True, check=False).stdout


def test_processes_of_a_run_begin_nothing_after_its_end(tmp_path):
    found = _run(tmp_path, "--within", "0.001", "-n", "1")
    assert "4 tests weren't begun within 0.001 s" in found and "4 skipped" in found


def test_before_its_end_all_run(tmp_path):
    assert "4 passed" in _run(tmp_path, "--within", "600")
