"""`python -m bench relate`: what relate columns save on SSB's flights 2 to 4, without any cube.

All systems answer each statement in turn over the same files, and every answer is compared. The
effect of relate columns alone is that of one engine with and without them; the product is compared
with plain Spark. Spark's own runtime filters, and the bitmaps over a fact that isn't clustered, run
beside them.
"""

from __future__ import annotations

import argparse
import math
import re
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from rich.console import Console

import accelerator
from bench.compare import difference
from bench.relate_change import measure_changes
from bench.relate_tables import (
    CLUSTERED,
    FEW,
    SCATTERED,
    RelateWorkspace,
    column_bytes,
    make_tables,
)
from bench.report import Report
from bench.ssb.queries import QUERIES, Query
from bench.ssb.systems import Accelerated, PlainSpark, System
from bench.ssb.workspace import BUILD, open_loaded
from bench.steps import Steps, noise_into

_RUNTIME_FILTERS = {
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "true",
    "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "0",
    "spark.sql.optimizer.runtime.bloomFilter.creationSideThreshold": "1GB",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "true",
}
_DIMENSIONS = ("customer", "supplier", "part", "dates")
_WORD = re.compile(r"\b(?:lo|c|s|p|d)_\w+|\b[pscd]_\w+")


@dataclass(frozen=True, slots=True)
class Side:
    """A system, and the table that stands for the fact when it is asked."""

    system: System
    table: str = CLUSTERED


class FilteringSpark(PlainSpark):
    """Plain Spark that makes filters of dimensions for the fact, whatever its own rules say."""

    name = "spark_runtime_filters"

    def run(self, sql: str) -> None:
        with _settings(self._spark, _RUNTIME_FILTERS):
            super().run(sql)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `python -m bench relate`."""
    parser.add_argument("--scale", type=float, default=1.0, help="6 million rows each (default 1)")
    parser.add_argument("--json", type=Path, help="where the figures go")
    parser.add_argument("--runs", type=int, default=4, help="warm runs of each query (default 4)")
    parser.add_argument(
        "--minutes", type=float, default=18, help="no run begins that would end later (default 18)"
    )
    parser.add_argument("--seed", type=int, default=1, help="draws the queries' literals")


def run(options: argparse.Namespace) -> int:
    """Runs the bench; 1 if any two answers differed."""
    workspace = RelateWorkspace.of(options.scale)
    path = options.json or BUILD / "bench" / f"relate-{options.scale:g}.json"
    settings = {"scale": options.scale, "runs": options.runs, "seed": options.seed}
    report, steps = Report("relate", path, settings), Steps(Console())
    with noise_into(workspace.root / "relate.log"):
        acc = open_loaded(workspace, steps)
        try:
            return _measure(acc, workspace, report, steps, options)
        finally:
            acc.close()


def _measure(
    acc: accelerator.Accelerator,
    workspace: RelateWorkspace,
    report: Report,
    steps: Steps,
    options: argparse.Namespace,
) -> int:
    start = time.monotonic()
    report.details["seconds"] = make_tables(acc, steps)
    report.save()
    sides = _sides(acc, workspace)
    queries = [query for query in QUERIES if not query.name.upper().startswith("Q1")]
    turns: list[dict[str, Any]] = []
    last = 0.0
    for number in range(options.runs + 1):
        if time.monotonic() - start + last > options.minutes * 60:
            report.details["stopped"] = f"before run {number}: the time was up"
            break
        begin = time.monotonic()
        with steps.step(f"Run {number} of {options.runs}: {len(queries)} queries") as tell:
            for query in queries:
                turns.append(_turn(sides, query, number, options.seed))
                tell(f"{query.name}: {_shown(turns[-1]['ms'])}")
        last = time.monotonic() - begin
        report.details["turns"] = turns
        report.figures |= _figures(acc, turns, report.details)
        report.save()
    with steps.step("Change 1 % of a dimension, and build what that touches"):
        report.figures |= measure_changes(acc, report.details)
    return _finish(report, steps, turns, start)


def _sides(acc: accelerator.Accelerator, workspace: RelateWorkspace) -> list[Side]:
    """Plain Spark first, whose answers are the truth."""
    spark, store = acc.spark, acc.config.store_root
    nothing = str(workspace.warehouse / "no-store")

    def ours(name: str, **settings: Any) -> Accelerated:
        return Accelerated(accelerator.attach(spark, **settings), name)

    return [
        Side(PlainSpark(spark)),
        Side(Accelerated(acc, "accelerated")),
        Side(ours("duckdb_with", store=store, engine="duckdb")),
        Side(ours("duckdb_without", store=nothing, engine="duckdb")),
        Side(ours("spark_with", store=store, engine="spark")),
        Side(Accelerated(acc, "not_clustered"), SCATTERED),
        Side(FilteringSpark(spark)),
        Side(_named(PlainSpark(spark), "spark_floor"), FEW),
    ]


def _named(system: PlainSpark, name: str) -> PlainSpark:
    system.name = name
    return system


def _turn(sides: Sequence[Side], query: Query, run: int, seed: int) -> dict[str, Any]:
    """One statement on all sides, one after the other, from another one in each run."""
    sql = query.sql(run, seed)
    ms: dict[str, float] = {}
    turned = [*sides[run % len(sides) :], *sides[: run % len(sides)]]
    for side in turned:
        begin = time.perf_counter()
        side.system.run(_over(sql, side.table))
        ms[side.system.name] = (time.perf_counter() - begin) * 1000
    truth = sides[0].system.answer()
    differences = {
        side.system.name: found
        for side in sides[1:]
        if side.table != FEW and (found := difference(truth, side.system.answer(), query.order_by))
    }
    return {
        "query": query.name,
        "run": run,
        "sql": sql,
        "rows": len(truth.rows),
        "ms": ms,
        "metrics": {s.system.name: s.system.metrics() for s in sides if s.system.metrics()},
        "differences": differences,
    }


def _over(sql: str, table: str) -> str:
    return re.sub(r"\blineorder\b", table, sql)


def _figures(
    acc: accelerator.Accelerator, turns: Sequence[Mapping[str, Any]], details: dict[str, Any]
) -> dict[str, float]:
    """Geometric means over the queries, of medians over the warm runs."""
    warm = [turn for turn in turns if turn["run"]]
    if not warm:
        return {}
    by_query: dict[str, list[Mapping[str, Any]]] = {}
    for turn in warm:
        by_query.setdefault(turn["query"], []).append(turn)

    def median(name: str, query: str) -> float:
        return statistics.median(turn["ms"][name] for turn in by_query[query])

    def speedup(slow: str, fast: str) -> float:
        return _geometric([median(slow, q) / median(fast, q) for q in by_query])

    names = list(warm[0]["ms"])
    read = {q: _bytes(acc, some) for q, some in by_query.items()}
    details["ms_by_query"] = {q: {name: median(name, q) for name in names} for q in by_query}
    details["bytes_by_query"] = {q: list(told) for q, told in read.items()}
    return {
        "bytes_ratio": _geometric([plain / ours for plain, ours, _ in read.values()]),
        "bytes_ratio_not_clustered": _geometric([plain / out for plain, _, out in read.values()]),
        "speedup_duckdb_engine": speedup("duckdb_without", "duckdb_with"),
        "speedup_spark_engine": speedup("spark", "spark_with"),
        "speedup_vs_spark": speedup("spark", "accelerated"),
        "speedup_not_clustered": speedup("spark", "not_clustered"),
        "speedup_runtime_filters": speedup("spark", "spark_runtime_filters"),
        "spark_floor_ms": _geometric([median("spark_floor", q) for q in by_query]),
        **{f"{name}_ms": _geometric([median(name, q) for q in by_query]) for name in names},
        "different": sum(1 for turn in turns if turn["differences"]),
    }


def _bytes(
    acc: accelerator.Accelerator, turns: Sequence[Mapping[str, Any]]
) -> tuple[float, float, float]:
    """Bytes of column chunks: all that plain reads, what is read clustered, what is not clustered.

    The dimensions' are in each of them, though they are kept in memory here; what isn't clustered
    is stored in other bytes, and told by its share. Where nothing is left out, plain Spark answers.
    """
    names = set(_WORD.findall(turns[0]["sql"]))
    others = sum(column_bytes(acc, table, names) for table in _DIMENSIONS)

    plain = column_bytes(acc, CLUSTERED, names)
    whole = column_bytes(acc, SCATTERED, names)

    def read(name: str, everything: int) -> float:
        told = (turn["metrics"][name] for turn in turns)
        return statistics.median(
            one["bytes_read"] if one["rewritten"] else everything for one in told
        )

    ours, out = read("accelerated", plain), read("not_clustered", whole)
    return plain + others, ours + others, (out + others) * plain / whole


def _geometric(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


@contextmanager
def _settings(spark: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def _shown(ms: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.0f} ms" for name, value in ms.items())


def _finish(report: Report, steps: Steps, turns: Sequence[Mapping[str, Any]], start: float) -> int:
    different = [turn for turn in turns if turn["differences"]]
    report.complete = "stopped" not in report.details
    report.figures["minutes"] = (time.monotonic() - start) / 60
    report.save()
    for name, value in report.figures.items():
        if isinstance(value, (int, float)):
            steps.console.print(f"  {name:<28} {value:,.4g}", highlight=False)
    for turn in different:
        steps.console.print(f"{turn['query']} run {turn['run']}: {turn['differences']}")
    steps.console.print(f"Written to {report.path}")
    return 1 if different else 0
