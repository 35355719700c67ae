"""Indexes: how fast they're built, what they leave out, and what searches gain by them.

Tables come from generators of our own. Systems take turns; every answer is compared with plain
Spark's, or with DuckDB's where Spark is left out. A kind that this release doesn't build is left
out, and the report says so under `details.left_out`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path

from rich.console import Console

import accelerator
from bench import index_builds, index_filters, log_searches, needles, poem_searches, poems
from bench.report import Report
from bench.steps import Steps, noise_into

SPARK_CONF = {"spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC"}
_PARTS = ("builds", "filters", "needles", "logs", "poems")
_DATA = Path("build/data")
_NEEDLE_FILES, _LOG_FILES = 1_000, 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench."""
    parser.add_argument("--json", type=Path, default=Path("build/bench-indexes.json"))
    parser.add_argument("--scale", type=float, default=1.0, help="of the tables (default 1)")
    parser.add_argument("--folder", type=Path, help="where to work; by default a temporary folder")
    parser.add_argument("--no-spark", action="store_true", help="compare with DuckDB alone")
    for part in _PARTS:
        parser.add_argument(f"--no-{part}", action="store_true", help=f"leave the {part} out")


def run(options: argparse.Namespace) -> int:
    """Makes the tables and measures, part after part."""
    report = Report("indexes", options.json, {"scale": options.scale})
    folder = Path(tempfile.mkdtemp(prefix="bench-indexes-", dir=options.folder))
    steps = Steps(Console())
    try:
        with noise_into(folder / "stderr.log"):
            if not options.no_filters:
                index_filters.measure(options.scale, steps, report)
            if not options.no_needles:
                _needles(folder / "needles", options, steps, report)
            if not options.no_logs:
                _logs(folder / "logs", options, steps, report)
            if not options.no_poems and not options.no_spark:
                _poems(folder / "poems", steps, report)
            if not options.no_builds:
                _builds(folder / "builds", options, steps, report)
    finally:
        shutil.rmtree(folder)
    report.complete = True
    report.save()
    for name, value in report.figures.items():
        print(f"{name:40} {value:,.4g}")
    return 0


def _needles(folder: Path, options: argparse.Namespace, steps: Steps, report: Report) -> None:
    folder.mkdir()
    made = needles.Needles(max(8, round(_NEEDLE_FILES * options.scale)))
    with steps.step(f"Write {made.files:,} files of {made.rows:,} rows") as tell:
        made.make(folder, tell)
        os.sync()  # pages that aren't written can't be forgotten
    with accelerator.open(folder, create=True, spark_conf=SPARK_CONF) as acc:
        needles.measure(acc, folder, made, steps, report, spark=not options.no_spark)
    shutil.rmtree(folder)


def _poems(folder: Path, steps: Steps, report: Report) -> None:
    folder.mkdir()
    with steps.step(f"Fetch the poems of {poems.PACKAGE}, once"):
        archive = poems.fetched(_DATA)
    with steps.step("Write the poems as a table"):
        paths = poem_searches.make(folder, poems.read(archive))
        os.sync()
    with accelerator.open(folder, create=True, spark_conf=SPARK_CONF) as acc:
        poem_searches.measure(acc, folder, paths, steps, report)
    shutil.rmtree(folder)


def _logs(folder: Path, options: argparse.Namespace, steps: Steps, report: Report) -> None:
    folder.mkdir()
    made = log_searches.Log(max(2, round(_LOG_FILES * options.scale)))
    with steps.step(f"Write {made.lines:,} lines of a log in {made.files} files") as tell:
        made.make(folder, tell)
        os.sync()
    with accelerator.open(folder, create=True, spark_conf=SPARK_CONF) as acc:
        log_searches.measure(acc, folder, made, steps, report, spark=not options.no_spark)
    shutil.rmtree(folder)


def _builds(folder: Path, options: argparse.Namespace, steps: Steps, report: Report) -> None:
    folder.mkdir()
    with accelerator.open(folder, create=True, spark_conf=SPARK_CONF) as acc:
        index_builds.measure(acc, folder, options.scale, steps, report)
    shutil.rmtree(folder)
