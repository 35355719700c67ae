"""The seed's log query at size: the last 200 rows of a day by time.

Files ascend by time with NULLs first; asked is DESC NULLS LAST, and the other way round for
comparison. Each statement asks for another day, so that no plan is known.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import pyarrow.compute as pc

import accelerator
from accelerator.services.verification.compare import differ_sorted
from bench.log_table import make_log
from bench.report import Report
from bench.steps import Steps

_ROWS = 200
_DAYS = 25
_ASKED_SPARK = 7
_SPARK_CONF = {"spark.driver.memory": "6g", "spark.ui.enabled": "false"}
_SIZES = {"whole": (1_000, 50_000), "short": (1_000, 5_000), "long": (10_000, 5_000)}
"""Files, and rows in each: the log, and two of one kind that differ in their files alone."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this part."""
    parser.add_argument("--no-top-n", action="store_true", help="leave the log query out")


def measure(folder: Path, steps: Steps, report: Report, *, spark: bool) -> None:
    """Makes the tables in that folder, and measures."""
    figures = report.figures
    for name, (files, rows) in _SIZES.items():
        with steps.step(f"Write {files:,} files of {rows:,} log lines") as tell:
            make_log(folder, name, files, rows, _DAYS * files // 1_000, tell)
    acc = accelerator.open(folder, create=True, spark_conf=_SPARK_CONF)
    try:
        with steps.step("Ask for the last 200 lines of a day, day by day"):
            asked = {name: _asked(acc, name, report) for name in _SIZES}
        figures["topn_ms"] = asked["whole"]
        figures["topn_growth_10x"] = asked["long"] / asked["short"]
        if spark:
            with steps.step("Ask Spark"):
                _compare(acc, report)
    finally:
        acc.close()


def _sql(table: str, day: int, order: str = "DESC NULLS LAST") -> str:
    begin, end = (f"TIMESTAMP '2026-03-{d:02d} 00:00:00Z'" for d in (day, day + 1))
    return (
        f"SELECT * FROM log.{table} WHERE ts >= {begin} AND ts < {end}"
        f" ORDER BY ts {order} LIMIT {_ROWS}"
    )


def _asked(acc: accelerator.Accelerator, table: str, report: Report) -> float:
    """The median time of the last lines of a day; of the log also what was read for it."""
    days = range(2, _DAYS - 1)
    acc.query(_sql(table, 1)).arrow()
    backward, forward, over = [], [], []
    for day in days:
        began = time.perf_counter()
        answer = acc.query(_sql(table, day))
        rows = answer.arrow()
        backward.append((time.perf_counter() - began) * 1000)
        if not answer.metrics.rewritten or rows.num_rows != _ROWS:
            raise SystemExit(f"not answered from the files' order: {answer.metrics}")
        # A file of each writer overlaps the last rows, or a few do.
        overlapping = len(pc.unique(rows.column("writer")))
        over.append(answer.metrics.row_groups_read - overlapping)
        began = time.perf_counter()
        acc.query(_sql(table, day, "ASC NULLS LAST")).arrow()
        forward.append((time.perf_counter() - began) * 1000)
    report.details[f"topn_{table}"] = {"backward_ms": backward, "forward_ms": forward, "over": over}
    if table == "whole":
        report.figures["topn_row_groups_over_needed"] = max(over)
        ratio = statistics.median(backward) / statistics.median(forward)
        report.figures["topn_reverse_over_forward"] = ratio
    return statistics.median(backward)


def _compare(acc: accelerator.Accelerator, report: Report) -> None:
    spark = acc.spark
    spark.sparkContext.setLogLevel("ERROR")
    spark.sql(_sql("whole", 1)).toArrow()
    mine, theirs = [], []
    for day in range(2, 2 + _ASKED_SPARK):
        keyed = _sql("whole", day).replace("SELECT *", "SELECT *, ts AS key")
        began = time.perf_counter()
        plain = spark.sql(keyed).toArrow()
        theirs.append((time.perf_counter() - began) * 1000)
        began = time.perf_counter()
        answer = acc.query(keyed).arrow()
        mine.append((time.perf_counter() - began) * 1000)
        found = differ_sorted(answer, plain, 1)
        if found:
            raise SystemExit(f"the answers differ: {found}")
    report.details["topn_spark_ms"] = theirs
    report.figures["topn_speedup_vs_spark"] = statistics.median(theirs) / statistics.median(mine)
