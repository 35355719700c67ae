"""Planning and answers from the metadata of a table of very many data files.

The table has no data: 500,000 files with statistics of 100 columns, 400,000 rows each. Statements
are asked with constants that were never asked before, so that no plan is known.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

import accelerator
from bench import remote, top_n
from bench.big_table import ROWS, SPAN, BigTable
from bench.report import Report
from bench.steps import Steps

SPARK_CONF = {"spark.driver.memory": "10g", "spark.ui.enabled": "false"}
_APPENDED = 100
_ASKED = 15
_ASKED_SPARK = 3
_TEN = "SELECT count(*), max(c1) FROM b.t WHERE c0 >= {} AND c0 < {}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench."""
    parser.add_argument("--json", type=Path, default=Path("build/bench-metadata.json"))
    parser.add_argument("--files", type=int, default=500_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--folder", type=Path, help="where to work; by default a temporary folder")
    top_n.add_arguments(parser)
    parser.add_argument("--no-spark", action="store_true", help="leave the comparison out")


def run(options: argparse.Namespace) -> int:
    """Makes the table and measures, one figure after the other."""
    settings = {"files": options.files, "columns": options.columns}
    report = Report("metadata", options.json, settings)
    folder = Path(tempfile.mkdtemp(prefix="bench-metadata-", dir=options.folder))
    steps = Steps(Console())
    try:
        with steps.step(f"Write the metadata of {options.files:,} files") as tell:
            began = time.perf_counter()
            table = BigTable(folder, options.columns)
            table.append(options.files, tell)
            report.figures["generate_s"] = time.perf_counter() - began
        if not options.no_spark:
            with steps.step("Ask for the first time with a local cluster, and without its help"):
                remote.measure(folder, report)
        with _session(folder) as acc:
            _answers(acc, table, steps, report)
            if not options.no_spark:
                with steps.step("Ask Spark, which pushes the aggregates down to Iceberg"):
                    _compare(acc, report)
                with steps.step("Plan ten files by Iceberg's Java library"):
                    _compare_plans(acc, report)
        if not options.no_top_n:
            logs = folder / "logs"
            logs.mkdir()
            top_n.measure(logs, steps, report, spark=not options.no_spark)
    finally:
        shutil.rmtree(folder)
    report.complete = True
    report.save()
    for name, value in report.figures.items():
        print(f"{name:40} {value:,.4g}")
    return 0


@contextmanager
def _session(folder: Path) -> Iterator[accelerator.Accelerator]:
    acc = accelerator.open(folder, create=True, spark_conf=SPARK_CONF)
    try:
        yield acc
    finally:
        acc.close()


def _answers(acc: accelerator.Accelerator, table: BigTable, steps: Steps, report: Report) -> None:
    figures, last = report.figures, table.files
    with steps.step("Ask for the first time: every manifest is decoded"):
        figures["cold_answer_s"] = _ask(acc, "SELECT count(*), min(c1), max(c1) FROM b.t") / 1000
    with steps.step("Ask for all files but some"):
        _ask(acc, f"SELECT count(*), min(c1), max(c1) FROM b.t WHERE c0 >= {SPAN}")
        whole = [
            _ask(
                acc, f"SELECT count(*), min(c1), max(c1) FROM b.t WHERE c0 >= {n * SPAN}", last - n
            )
            for n in range(2, 2 + _ASKED)
        ]
        figures["metadata_answer_ms"] = statistics.median(whole)
        report.details["metadata_answer_ms"] = whole
    with steps.step("Ask for ten files"):
        few = [_plan(acc, _TEN.format(n * SPAN, (n + 10) * SPAN)) for n in range(100, 100 + _ASKED)]
        figures["plan_ms"] = statistics.median(few)
        report.details["plan_ms"] = few
    with steps.step(f"Append {_APPENDED} files, five times"):
        after = []
        for _ in range(5):
            table.append(_APPENDED)
            sql = "SELECT count(*), min(c1), max(c1) FROM b.t"
            after.append(_ask(acc, sql, table.files))
        figures["refresh_ms"] = statistics.median(after)
        report.details["refresh_ms"] = after
    kept = acc.services.lake.manifest_bytes
    figures["bytes_per_file"] = (kept.manifests + kept.newest_state) / table.files
    report.details["bytes_of_manifests_and_newest_state"] = [kept.manifests, kept.newest_state]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures["peak_mb"] = peak


def _ask(acc: accelerator.Accelerator, sql: str, files: int | None = None) -> float:
    """Milliseconds to the rows; the answer must have opened no file, and count all rows of it."""
    began = time.perf_counter()
    result = acc.query(sql)
    (row,) = result.fetchall()
    took = (time.perf_counter() - began) * 1000
    if not result.metrics.rewritten or result.metrics.files_read:
        raise SystemExit(f"the metadata didn't answer: {sql}: {result.metrics}")
    if files is not None and row[0] != files * ROWS:
        raise SystemExit(f"{row[0]:,} rows of {files * ROWS:,}: {sql}")
    return took


def _plan(acc: accelerator.Accelerator, sql: str) -> float:
    result = acc.query(sql)
    if result.fetchall()[0][0] != 10 * ROWS:
        raise SystemExit(f"not ten files: {sql}")
    return result.metrics.planning_ms


def _compare(acc: accelerator.Accelerator, report: Report) -> None:
    spark = acc.spark
    spark.sparkContext.setLogLevel("ERROR")

    def pushed(number: int) -> None:
        sql = f"SELECT count(*), min(c1), max(c1), {number} FROM b.t"
        spark.sql(sql).collect()

    pushed(0)
    theirs = [_timed(partial(pushed, n)) for n in range(1, 1 + _ASKED_SPARK)]
    _ask(acc, "SELECT count(*), min(c1), max(c1), 0 FROM b.t")
    mine = [
        _ask(acc, f"SELECT count(*), min(c1), max(c1), {n} FROM b.t")
        for n in range(1, 1 + _ASKED_SPARK)
    ]
    report.details["iceberg_pushdown_ms"] = theirs
    ratio = statistics.median(theirs) / statistics.median(mine)
    report.figures["metadata_speedup_vs_iceberg_pushdown"] = ratio


def _compare_plans(acc: accelerator.Accelerator, report: Report) -> None:
    """Iceberg's `planFiles` and ours by turns, for ranges of ten files never asked for before."""
    jvm: Any = acc.spark._jvm
    table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(
        acc.spark._jsparkSession, "lake.b.t"
    )
    expressions = jvm.org.apache.iceberg.expressions.ExpressionParser
    iterables = jvm.org.apache.iceberg.relocated.com.google.common.collect.Iterables

    def planned(number: int) -> None:
        bounds = (("gt-eq", number * SPAN), ("lt", (number + 10) * SPAN))
        left, right = ({"type": kind, "term": "c0", "value": at} for kind, at in bounds)
        both = json.dumps({"type": "and", "left": left, "right": right})
        tasks = table.newScan().filter(expressions.fromJson(both, table.schema())).planFiles()
        # Counted in the JVM: a call for each file would be timed as well.
        if iterables.size(tasks) != 10:
            raise SystemExit("Iceberg doesn't plan ten files")
        tasks.close()

    mine, theirs = [], []
    planned(500)
    _plan(acc, _TEN.format(500 * SPAN, 510 * SPAN))
    for number in range(501, 501 + _ASKED_SPARK):
        theirs.append(_timed(partial(planned, number)))
        mine.append(_plan(acc, _TEN.format(number * SPAN, (number + 10) * SPAN)))
    report.details["iceberg_plan_ms"], report.details["plan_ms_by_turns"] = theirs, mine
    ratio = statistics.median(theirs) / statistics.median(mine)
    report.figures["plan_speedup_vs_iceberg_java"] = ratio


def _timed(step: Callable[[], None]) -> float:
    began = time.perf_counter()
    step()
    return (time.perf_counter() - began) * 1000
