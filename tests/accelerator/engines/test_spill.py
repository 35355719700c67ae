"""Folders of intermediate results: one's own goes, a killed process' too, a living one's stays."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from accelerator.engines.duckdb.spill import Spill

_HELD = """
import sys, time
from accelerator.engines.duckdb.spill import Spill
made = Spill(sys.argv[1])
open(made.path + "/duckdb_temp_block", "w").write("x" * 100)
print(made.path, flush=True)
time.sleep(600)
"""


def _folders(parent: Path) -> set[str]:
    return {one.name for one in parent.iterdir()}


def test_what_a_killed_process_left_goes(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HELD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as other:
        try:
            assert other.stdout is not None
            theirs = Path(other.stdout.readline().strip())
            own = Spill(str(tmp_path))
            assert _folders(tmp_path) == {theirs.name, Path(own.path).name}
            own.close()
            assert _folders(tmp_path) == {theirs.name}
        finally:
            other.kill()
    assert theirs.exists()
    own = Spill(str(tmp_path))
    assert _folders(tmp_path) == {Path(own.path).name}
    own.close()
    assert not _folders(tmp_path)


def test_what_is_nobodys(tmp_path: Path) -> None:
    """A young folder may just be being made; files, links and other names are not ours."""
    young, old = tmp_path / "accelerator-spill-young", tmp_path / "accelerator-spill-old"
    elsewhere = tmp_path / "elsewhere"
    for one in (young, old, elsewhere):
        one.mkdir()
    (elsewhere / ".owner").touch()
    link = tmp_path / "accelerator-spill-link"
    link.symlink_to(elsewhere)
    (tmp_path / "accelerator-spill-file").touch()
    before = time.time() - 100_000
    os.utime(old, (before, before))
    Spill(str(tmp_path)).close()
    assert _folders(tmp_path) == {
        young.name,
        elsewhere.name,
        link.name,
        "accelerator-spill-file",
    }
    assert (elsewhere / ".owner").exists()


def test_two_of_one_process(tmp_path: Path) -> None:
    first, second = Spill(str(tmp_path)), Spill(str(tmp_path))
    Spill(str(tmp_path)).close()
    assert len(_folders(tmp_path)) == 2
    first.close()
    second.close()
    second.close()
    assert not _folders(tmp_path)


def test_many_made_at_once(tmp_path: Path) -> None:
    """None takes another's folder for one that was left, though it was made a moment ago."""
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: Spill(str(tmp_path)), range(400)))
    assert _folders(tmp_path) == {Path(one.path).name for one in made}
    for one in made:
        one.close()
    assert not _folders(tmp_path)


def test_a_folder_that_cannot_be_made() -> None:
    with pytest.raises(OSError, match="nonexistent"):
        Spill("/nonexistent/folder")
