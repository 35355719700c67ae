"""What the cubes cost: their build, against the time Spark takes for the same SELECTs alone."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import accelerator
from bench.report import now
from bench.ssb.cubes import CUBES, Cube
from bench.ssb.workspace import cube_sizes, read_json, write_json
from bench.steps import Steps


@dataclass(frozen=True, slots=True)
class BuildTimes:
    """Seconds of each cube's build, its compaction, and its defining SELECT in plain Spark."""

    build_s: dict[str, float]
    compact_s: dict[str, float]
    select_s: dict[str, float]

    def figures(self) -> dict[str, float]:
        """The ratios that the bench reports; none without the SELECTs' times."""
        build, compact = sum(self.build_s.values()), sum(self.compact_s.values())
        select = sum(self.select_s.values())
        if not select:
            return {"build_s": build + compact}
        return {
            "build_ratio": (build + compact) / select,
            "build_only_ratio": build / select,
            "build_s": build + compact,
            "defining_selects_s": select,
        }


def timed_builds(
    acc: accelerator.Accelerator, steps: Steps, kept: Path, *, go_on: bool, selects: bool
) -> dict[str, Any]:
    """Builds the cubes under the clock; what was measured, as it is kept in the file `kept`.

    The file is written after each cube. With `go_on` cubes that are there and in it aren't built
    again, so a run that was stopped goes on from there; without it all are. The SELECTs run first
    to warm up the JVM for both sides, and once more, timed, after the builds. Without `selects`, at
    large scales, they are left out: they would take most of a run's time there.
    """
    wanted = [cube.create() for cube in CUBES]
    found = read_json(kept) if go_on else None
    if found is None or found["cubes"] != wanted:
        found = {"cubes": wanted, "times": asdict(BuildTimes({}, {}, {})), "measured": now()}
    built = cube_sizes(acc).keys() & found["times"]["compact_s"].keys()
    for name in cube_sizes(acc).keys() - built:
        acc.query(f"DROP CUBE {name} FORCE")  # its disk space is wanted at once
    if selects:
        with steps.step("Warm up: the cubes' defining SELECTs in plain Spark"):
            for cube in CUBES:
                _select(acc, cube)
    _time_builds(acc, steps, found, kept, built)
    for cube in CUBES if selects else ():
        with steps.step(f"The defining SELECT of {cube.name} in plain Spark, timed"):
            found["times"]["select_s"][cube.name] = _select(acc, cube)
        write_json(kept, found)
    return found


def _time_builds(
    acc: accelerator.Accelerator,
    steps: Steps,
    found: dict[str, Any],
    kept: Path,
    built: Collection[str],
) -> None:
    times = found["times"]
    for cube in CUBES:
        if cube.name in built:
            continue
        with steps.step(f"Build the cube {cube.name}"):
            times["build_s"][cube.name] = _timed_statement(acc, cube.create())
        with steps.step(f"Compact the cube {cube.name}"):
            times["compact_s"][cube.name] = _timed_statement(acc, f"COMPACT CUBE {cube.name}")
        write_json(kept, found)


def _select(acc: accelerator.Accelerator, cube: Cube) -> float:
    """Seconds of the defining SELECT; the noop sink computes every row and keeps none."""
    start = time.perf_counter()
    acc.spark.sql(cube.select()).write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


def _timed_statement(acc: accelerator.Accelerator, sql: str) -> float:
    start = time.perf_counter()
    acc.query(sql)
    return time.perf_counter() - start
