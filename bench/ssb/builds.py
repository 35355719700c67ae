"""What the cubes cost: their build, against the time Spark takes for the same SELECTs alone."""

from __future__ import annotations

import time
from dataclasses import dataclass

import accelerator
from bench.ssb.cubes import CUBES, Cube
from bench.ssb.workspace import cube_sizes
from bench.steps import Steps


@dataclass(frozen=True, slots=True)
class BuildTimes:
    """Seconds of each cube's build, its compaction, and its defining SELECT in plain Spark."""

    build_s: dict[str, float]
    compact_s: dict[str, float]
    select_s: dict[str, float]

    def figures(self) -> dict[str, float]:
        """The ratios that the bench reports."""
        build, compact = sum(self.build_s.values()), sum(self.compact_s.values())
        select = sum(self.select_s.values())
        return {
            "build_ratio": (build + compact) / select,
            "build_only_ratio": build / select,
            "build_s": build + compact,
            "defining_selects_s": select,
        }


def rebuild(acc: accelerator.Accelerator, steps: Steps, *, warm_up: bool) -> BuildTimes:
    """Drops the cubes and builds them under the clock.

    The SELECTs run first to warm up the JVM for both sides, and once more, timed, after the builds.
    At large scales the warm-up is left out: the builds then start cold, which only counts against
    them.
    """
    for name in cube_sizes(acc):
        acc.query(f"DROP CUBE {name}")
    if warm_up:
        with steps.step("Warm up: the cubes' defining SELECTs in plain Spark"):
            for cube in CUBES:
                _select(acc, cube)
    build_s, compact_s = {}, {}
    for cube in CUBES:
        with steps.step(f"Build the cube {cube.name}"):
            build_s[cube.name] = _timed_statement(acc, cube.create())
        with steps.step(f"Compact the cube {cube.name}"):
            compact_s[cube.name] = _timed_statement(acc, f"COMPACT CUBE {cube.name}")
    with steps.step("The cubes' defining SELECTs in plain Spark, timed"):
        select_s = {cube.name: _select(acc, cube) for cube in CUBES}
    return BuildTimes(build_s, compact_s, select_s)


def _select(acc: accelerator.Accelerator, cube: Cube) -> float:
    """Seconds of the defining SELECT; the noop sink computes every row and keeps none."""
    start = time.perf_counter()
    acc.spark.sql(cube.select()).write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


def _timed_statement(acc: accelerator.Accelerator, sql: str) -> float:
    start = time.perf_counter()
    acc.query(sql)
    return time.perf_counter() - start
