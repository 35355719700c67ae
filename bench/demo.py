"""`make demo`: the 13 SSB queries plain in Spark and from cubes, each pair compared row by row.

Makes the data on its first run and uses it again later. Prints a table, writes `build/demo.json`,
and ends with 1 if any two answers differ.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import accelerator
from bench.s3_server import s3_server
from bench.ssb.queries import QUERIES
from bench.ssb.systems import Accelerated, PlainSpark, System
from bench.ssb.turns import Samples, take_turns
from bench.ssb.workspace import BUILD, Workspace, build_missing_cubes, open_loaded
from bench.stats import mean_ratio, medians
from bench.steps import Steps, noise_into

RUNS = 3
SEED = 1
_ASKED = (
    "SELECT d_year, sum(lo_revenue) AS revenue FROM ssb.lineorder"
    " JOIN ssb.dates ON lo_orderdate = d_datekey GROUP BY d_year"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the demo."""
    parser.add_argument("--scale", type=float, default=0.1, help="of 6 million rows (default 0.1)")
    parser.add_argument(
        "--s3",
        action="store_true",
        help="warehouse and store on an S3 server (moto's, in a process of its own)",
    )


def run(options: argparse.Namespace) -> int:
    """Runs the demo; 1 if any two answers differed."""
    console = Console()
    console.print(_intro(options.scale), highlight=False)
    with noise_into(BUILD / "demo.log"), s3_server() if options.s3 else nullcontext() as server:
        endpoint = None if server is None else server.endpoint
        samples = _prepare_and_query(Workspace.of(options.scale), Steps(console), endpoint)
    outcome = _outcome(options.scale, samples) | {"s3": options.s3}
    target = BUILD / ("demo-s3.json" if options.s3 else "demo.json")
    target.write_text(json.dumps(outcome, indent=1) + "\n")
    _show(console, outcome, target)
    if not options.s3:  # whose server has ended
        console.print(
            _next_steps(Workspace.of(options.scale).warehouse), highlight=False, soft_wrap=True
        )
    for turn in samples.turns:
        if turn.differences:
            console.print(f"{turn.query}: {turn.differences}\n{turn.sql}", markup=False)
    return 0 if all(query["equal"] for query in outcome["queries"]) else 1


def _intro(scale: float) -> str:
    return (
        f"[bold]Star Schema Benchmark, scale {scale:g}[/]: {round(6_000_000 * scale):,} lines of "
        "orders with four dimensions, in Apache Iceberg.\n"
        "Four cubes (pre-aggregations) are built from them. Then 13 queries run both ways: "
        "plain in Spark, and through the accelerator.\n"
        "The SQL is the same both ways, and so must be the answers.\n"
    )


def _next_steps(warehouse: Path) -> str:
    """Three commands that go on with the demo's warehouse."""
    folder = shlex.quote(os.path.relpath(warehouse))
    program = shlex.quote(os.path.relpath(Path(sys.executable).with_name("accelerator")))
    lines = (
        f"{program} show cubes --warehouse {folder}",
        f'{program} explain --warehouse {folder} "{_ASKED}"',
        f"{program} shell --warehouse {folder}",
    )
    return "Try next:\n" + "\n".join(f"  {line}" for line in lines)


def _megabytes(count: int) -> str:
    """The bytes as megabytes.

    >>> _megabytes(1_192_251)
    '1.19 MB'
    """
    return f"{count / 1e6:,.2f} MB"


def _prepare_and_query(workspace: Workspace, steps: Steps, s3: str | None) -> Samples:
    acc = open_loaded(workspace, steps, s3)
    try:
        build_missing_cubes(acc, steps)
        return _query(acc, steps)
    finally:
        acc.close()


def _query(acc: accelerator.Accelerator, steps: Steps) -> Samples:
    """A warm-up and RUNS runs, each with literals of its own, so no plan or answer is kept."""
    with steps.step("Start Spark for the plain queries"):
        systems: list[System] = [PlainSpark(acc.spark), Accelerated(acc)]
    samples = Samples()
    for run in range(RUNS + 1):
        what = f"13 queries both ways, run {run} of {RUNS}" if run else "13 queries, to warm up"
        with steps.step(what) as tell:
            for turn in take_turns(systems, run, SEED):
                samples.add(turn)
                tell(turn.query)
    return samples


def _outcome(scale: float, samples: Samples) -> dict[str, Any]:
    """What goes into demo.json."""
    plain, fast = medians(samples.times("spark")), medians(samples.times("accelerated"))
    queries = []
    for query in QUERIES:
        metrics = [t.metrics["accelerated"] for t in samples.turns if t.query == query.name]
        queries.append(
            {
                "name": query.name,
                "plain_ms": round(plain[query.name], 2),
                "accelerated_ms": round(fast[query.name], 2),
                "equal": samples.equal(query.name),
                "engine": metrics[-1]["engine"],
                "cube": ", ".join(metrics[-1]["cubes"]) or None,
                "bytes_read": round(statistics.median(run["bytes_read"] for run in metrics[1:])),
            }
        )
    return {
        "scale": scale,
        "queries": queries,
        "geomean_speedup": round(mean_ratio(plain, fast), 2),
    }


def _show(console: Console, outcome: dict[str, Any], target: Path) -> None:
    table = Table(caption=f"Medians of {RUNS} warm runs, other literals in each; all runs compared")
    table.add_column("query")
    for heading in ("plain ms", "fast ms", "speed-up", "read"):
        table.add_column(heading, justify="right")
    for heading in ("cube", "equal"):
        table.add_column(heading)
    for query in outcome["queries"]:
        plain, fast = query["plain_ms"], query["accelerated_ms"]
        numbers = (f"{plain:,.0f}", f"{fast:,.1f}", f"{plain / fast:,.0f}x")
        equal = "[green]✓[/]" if query["equal"] else "[red]differs[/]"
        words = (query["cube"] or "none", equal)
        table.add_row(query["name"], *numbers, _megabytes(query["bytes_read"]), *words)
    console.print(table)
    console.print(f"Geometric mean of the speed-ups: [bold]{outcome['geomean_speedup']:,.0f}x[/]")
    console.print(f"Written to {target}", highlight=False)


def main(arguments: list[str] | None = None) -> int:
    """`python -m bench.demo` is the same as `python -m bench demo`."""
    parser = argparse.ArgumentParser(prog="python -m bench.demo", description=__doc__)
    add_arguments(parser)
    return run(parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
