"""Each bench runs at its smallest size, so that none of them rots between two measurements."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from bench.__main__ import BENCHES

HOUSE = Path(__file__).parents[2]
SMALLEST: dict[str, tuple[str, ...]] = {
    "everyday": ("--rows 2000 --scale 0.002 --runs 1 --only aggregate_expressions,clock_times",),
    "everywhere": ("--rows 20000 --scale 0.002 --runs 1 --kills 2",),
    "gateway": (
        "--scale 0.002 --rounds 1 --seconds 1 --statements 20 --only latency,rates,idle,stream",
        "--scale 0.002 --bi-rounds 2 --bi-one-in 10 --only bi",
    ),
    "house": ("",),
    "indexes": ("--scale 0.002 --no-poems",),
    "metadata": ("--files 400 --columns 10",),
    "planner": ("--scale 0.01 --cubes 5 --runs 2",),
    "relate": ("--scale 0.002 --runs 1",),
    "services": ("--only log,lag,statistics --scale 0.002 --asked 20 --commits 5 --minutes 0.1",),
    "ssb": ("--scale 0.002 --runs 1",),
    "store": ("--versions 200 --artifacts 20 --segments 20 --commits 5",),
    "tpc": ("--suite h --scale 0.01",),
}
ELSEWHERE = {
    "demo": "make demo, which CI runs",
    "firstminutes": "tests/accelerator/test_base_install.py has its parts",
    "reach": "tests/bench/test_reach.py",
    "suite": "it runs these tests",
}


def test_every_bench_is_run_here_or_elsewhere() -> None:
    assert sorted([*SMALLEST, *ELSEWHERE]) == sorted(BENCHES)


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("name", "words"), [(name, words) for name, sizes in SMALLEST.items() for words in sizes]
)
def test_a_bench_runs_at_its_smallest_size(name: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "bench", name, *words.split(), "--json", str(file)]
    ran = subprocess.run(command, cwd=HOUSE, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{ran.stdout[-2000:]}\n{ran.stderr[-4000:]}"
    report = json.loads(file.read_text())
    # A run of some parts alone isn't a complete one.
    assert (report["bench"], report["complete"]) == (name, "--only" not in words)
    assert report["figures"] and all(map(math.isfinite, report["figures"].values()))
