"""`python -m bench ssb`: what the cubes save, and what they cost, on the Star Schema Benchmark.

Plain Spark, the accelerator and raw DuckDB take turns in one process; every answer is compared.
Figures are written as they come, so a run that is stopped leaves what it had.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

import accelerator
from bench.report import Report
from bench.ssb.builds import BuildTimes, timed_builds
from bench.ssb.figures import figures_of
from bench.ssb.first_answer import (
    open_to_first_answer,
    open_to_first_uncovered_answer,
    small_build,
)
from bench.ssb.load import fact_bytes
from bench.ssb.systems import Accelerated, PlainSpark, RawDuckDB, System
from bench.ssb.turns import Samples, take_turns
from bench.ssb.uncovered import measure_uncovered
from bench.ssb.workspace import (
    BUILD,
    Workspace,
    build_missing_cubes,
    cube_sizes,
    open_loaded,
)
from bench.steps import Steps, noise_into

# A bench ends within 20 minutes; no run is begun that wouldn't.
BUDGET_S = 18.5 * 60
LARGE_SCALE = 2
PLAIN_RUNS_LARGE = 3


@dataclass(slots=True)
class Bench:
    """What the parts of one bench run share."""

    options: argparse.Namespace
    workspace: Workspace
    steps: Steps
    report: Report
    start: float

    @property
    def large(self) -> bool:
        """At a large scale builds are kept and plain Spark runs less often."""
        return bool(self.options.scale >= LARGE_SCALE)


_SMALL = 0.1
"""The scale at which a small build is timed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `python -m bench ssb`."""
    parser.add_argument("--scale", type=float, default=1.0, help="6 million rows each (default 1)")
    parser.add_argument("--json", type=Path, help="where the figures go")
    parser.add_argument("--runs", type=int, default=5, help="warm runs of each query (default 5)")
    parser.add_argument("--seed", type=int, default=1, help="draws the queries' literals")
    parser.add_argument("--rebuild", action="store_true", help="build and time the cubes again")
    parser.add_argument("--prepare-only", action="store_true", help="make data and cubes, then end")


def run(options: argparse.Namespace) -> int:
    """Runs the bench; 1 if any two answers differed."""
    workspace = Workspace.of(options.scale)
    path = options.json or BUILD / "bench" / f"ssb-{options.scale:g}.json"
    settings = {"scale": options.scale, "runs": options.runs, "seed": options.seed}
    steps = Steps(Console())
    bench = Bench(options, workspace, steps, Report("ssb", path, settings), time.monotonic())
    with noise_into(workspace.root / "stderr.log"):
        acc = open_loaded(workspace, steps)
        try:
            return _prepare(bench, acc) if options.prepare_only else _measure(bench, acc)
        finally:
            acc.close()


def _prepare(bench: Bench, acc: accelerator.Accelerator) -> int:
    if bench.large:  # their times are kept for the run that measures
        _built(bench, acc)
    else:
        build_missing_cubes(acc, bench.steps)
    return 0


def _measure(bench: Bench, acc: accelerator.Accelerator) -> int:
    report = bench.report
    _measure_builds(bench, acc)
    _measure_sizes(bench, acc)
    _measure_first_answer(bench)
    samples, cached_plans = Samples(), list[float]()
    systems: list[System] = [PlainSpark(acc.spark), RawDuckDB.over(acc.spark), Accelerated(acc)]
    small = _open_scale_1(bench) if bench.large else None
    if small:
        systems.append(Accelerated(small, "scale_1"))
    last = 0.0
    for number in range(bench.options.runs + 1):
        spent = time.monotonic() - bench.start
        if spent + last > BUDGET_S:
            report.details["stopped"] = f"before run {number}: the time was up"
            break
        begin = time.monotonic()
        _one_run(bench, acc, _systems_of_run(bench, systems, number), number, samples, cached_plans)
        last = time.monotonic() - begin
        report.figures |= figures_of(samples, cached_plans)
        report.details["turns"] = [asdict(turn) for turn in samples.turns]
        report.save()
    if small:
        small.close()
    # Behind all else: its table and cube would be in the other figures.
    wrong = 0 if bench.large else measure_uncovered(acc, report, bench.steps)
    return max(_finish(bench, samples), int(wrong > 0))


def _systems_of_run(bench: Bench, systems: Sequence[System], run: int) -> list[System]:
    """All systems; at a large scale plain Spark is left out when it had its warm runs."""
    enough = bench.large and run > PLAIN_RUNS_LARGE
    return [system for system in systems if not (enough and system.name == PlainSpark.name)]


def _one_run(
    bench: Bench,
    acc: accelerator.Accelerator,
    systems: Sequence[System],
    run: int,
    samples: Samples,
    cached_plans: list[float],
) -> None:
    what = f"Run {run} of {bench.options.runs}" if run else "Warm-up run"
    with bench.steps.step(f"{what}: 13 queries on {len(systems)} systems") as tell:
        for turn in take_turns(systems, run, bench.options.seed):
            samples.add(turn)
            if run:
                again = acc.query(turn.sql)
                again.fetchall()
                cached_plans.append(again.metrics.planning_ms)
            tell(f"{turn.query}: " + ", ".join(f"{n} {ms:.1f} ms" for n, ms in turn.ms.items()))


def _measure_builds(bench: Bench, acc: accelerator.Accelerator) -> None:
    """Builds the cubes under the clock, or takes the times of the build that made them."""
    found = _built(bench, acc)
    bench.report.details["builds"] = found
    bench.report.figures |= BuildTimes(**found["times"]).figures()
    bench.report.save()


def _built(bench: Bench, acc: accelerator.Accelerator) -> dict[str, Any]:
    kept = bench.workspace.warehouse / "ssb-builds.json"
    go_on = bench.large and not bench.options.rebuild
    return timed_builds(acc, bench.steps, kept, go_on=go_on, selects=not bench.large)


def _measure_sizes(bench: Bench, acc: accelerator.Accelerator) -> None:
    sizes, fact = cube_sizes(acc), fact_bytes(acc.spark)
    bench.report.details["cube_bytes"] = sizes
    bench.report.figures |= {
        "fact_bytes": fact,
        "cube_bytes": sum(sizes.values()),
        "cube_bytes_share": sum(sizes.values()) / fact,
    }
    bench.report.save()


def _measure_first_answer(bench: Bench) -> None:
    warehouse, report = bench.workspace.warehouse, bench.report
    found: dict[str, list[float]] = {}
    with bench.steps.step("First answers of 5 new processes each, without Java"):
        found["open_to_first_answer_s"] = open_to_first_answer(warehouse, bench.options.seed)
        if not bench.large:  # at a large scale these are Spark's
            found["open_to_first_uncovered_answer_s"] = open_to_first_uncovered_answer(warehouse)
            found["small_build_s"] = small_build(_prepared(_SMALL, bench))
    for name, seconds in found.items():
        report.figures[name], report.details[name] = statistics.median(seconds), seconds
    bench.report.save()


def _open_scale_1(bench: Bench) -> accelerator.Accelerator:
    """Scale 1 in this process, for the growth."""
    with bench.steps.step("Make sure that scale 1 is there, to compare with"):
        return accelerator.open(_prepared(1, bench))


def _prepared(scale: float, bench: Bench) -> Path:
    """The warehouse of another scale, which a process of its own makes, if need be.

    Spark allows one session's catalogs a JVM: this one's belongs to the scale of the run.
    """
    workspace = Workspace.of(scale)
    if workspace.root == bench.workspace.root:
        return workspace.warehouse
    command = [sys.executable, "-m", "bench", "ssb", "--scale", f"{scale:g}", "--prepare-only"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return workspace.warehouse


def _finish(bench: Bench, samples: Samples) -> int:
    report = bench.report
    different = [turn for turn in samples.turns if turn.differences]
    report.complete = "stopped" not in report.details
    report.figures["minutes"] = (time.monotonic() - bench.start) / 60
    report.save()
    console = bench.steps.console
    for name, value in report.figures.items():
        console.print(f"  {name:<28} {value:,.4g}", highlight=False)
    for turn in different:
        console.print(f"{turn.query} run {turn.run}: {turn.differences}", markup=False)
    console.print(f"Written to {report.path}")
    return 1 if different else 0
