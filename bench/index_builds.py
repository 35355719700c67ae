"""How fast CREATE INDEX is, against a Python task that only counts what Spark has hashed.

The baseline reads the same column, hashes it in Spark and hands the hashes to Python as Arrow
batches. It and the build take turns, warm: the first of a process start workers and compile.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

import accelerator
from bench.log_lines import messages
from bench.made_table import column_bytes, make_table
from bench.process_tree import peaks_mb, reset_peaks
from bench.report import Report
from bench.steps import Steps
from indexes.kinds import KINDS

FILES = 8
_ROUNDS = 3
_WARM_ROWS = 20_000
_NDV = 1_000


@dataclass(frozen=True, slots=True)
class Build:
    """One kind's table: rows of all files at scale 1, and how a file's column `v` is drawn."""

    kind: str
    figure: str
    rows: int
    column: Callable[[np.random.Generator, int], pa.Array]

    @property
    def schema(self) -> Schema:
        return Schema(NestedField(1, "v", StringType() if self.rows < 10_000_000 else LongType()))


def _any(random: np.random.Generator, rows: int) -> pa.Array:
    return pa.array(random.integers(-(1 << 63), (1 << 63) - 1, rows))


def _few(random: np.random.Generator, rows: int) -> pa.Array:
    return pa.array(random.integers(0, _NDV, rows) * 7_919)


BUILDS = (
    Build("BLOOM", "build_rate_bloom", 16_000_000, _any),
    Build("BITMAP", "build_rate_bitmap", 16_000_000, _few),
    Build("NGRAM_BLOOM", "build_rate_ngram", 4_000_000, messages),
    Build("RANGE", "build_rate_range", 16_000_000, _any),
    Build("TOKEN_BLOOM", "build_rate_token", 4_000_000, messages),
    Build("NGRAM_BITMAP", "build_rate_ngram_bitmap", 4_000_000, messages),
)


def measure(
    acc: accelerator.Accelerator, folder: Path, scale: float, steps: Steps, report: Report
) -> None:
    """Each kind there is, over a table of its own."""
    for build in BUILDS:
        if build.kind not in KINDS:
            report.details.setdefault("left_out", []).append(f"{build.kind}: not built here")
            continue
        rows = round(build.rows * scale)
        name = build.kind.lower()
        with steps.step(f"Write {rows:,} rows for {build.kind}"):
            _make(folder, f"{name}_warm", build, _WARM_ROWS)
            paths = _make(folder, name, build, rows)
        with steps.step(f"Build {build.kind} over {rows:,} rows, {_ROUNDS} times"):
            _measure(acc, build, name, rows, paths, report)
        report.save()


def _make(folder: Path, name: str, build: Build, rows: int) -> list[Path]:
    each = rows // FILES

    def made(number: int) -> pa.Table:
        return pa.table({"v": build.column(np.random.default_rng(number), each)})

    return make_table(folder, name, build.schema, made, files=FILES, group_rows=max(1, each // 2))


def _measure(
    acc: accelerator.Accelerator,
    build: Build,
    name: str,
    rows: int,
    paths: list[Path],
    report: Report,
) -> None:
    for _ in range(2):
        _build(acc, build, f"{name}_warm")
        _count(acc, f"{name}_warm")
    counting, building = [], []
    reset_peaks()
    before = peaks_mb()
    for _ in range(_ROUNDS):
        counting.append(_count(acc, name))
        building.append(_build(acc, build, name))
    # Rows of these tables are whole files' worth.
    made = rows // FILES * FILES
    theirs, ours = made / statistics.median(counting), made / statistics.median(building)
    (shown,) = (
        one
        for one in acc.query("SHOW INDEXES").arrow().to_pylist()
        if one["index"] == f"bench_{name}"
    )
    report.figures[build.figure] = ours / theirs
    report.figures[f"index_bytes_share_{name}"] = shown["bytes"] / column_bytes(paths, "v")
    report.details[build.figure] = {
        "rows": made,
        "build_rows_per_s": ours,
        "count_rows_per_s": theirs,
        "build_s": building,
        "count_s": counting,
        "peak_mb": peaks_mb(),
        "before_mb": before,
        "bytes": shown["bytes"],
        "bits_per_row": shown["bits_per_row"],
        "measured_rate": shown["false_positive_rate"],
    }


def _build(acc: accelerator.Accelerator, build: Build, table: str) -> float:
    acc.query(f"DROP INDEX IF EXISTS bench_{table}").arrow()
    began = time.perf_counter()
    (row,) = acc.query(
        f"CREATE INDEX bench_{table} ON bench.{table} USING {build.kind} (v)"
    ).fetchall()
    took = time.perf_counter() - began
    if row[1] != FILES or row[4]:
        raise SystemExit(f"not all files were indexed: {row}")
    return took


def _count(acc: accelerator.Accelerator, table: str) -> float:
    began = time.perf_counter()
    hashes = acc.spark.sql(f"SELECT xxhash64(v) AS h FROM bench.{table}")
    hashes.mapInArrow(_counted, "n bigint").agg({"n": "sum"}).collect()
    return time.perf_counter() - began


def _counted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_arrays([pa.array([rows], pa.int64())], ["n"])
