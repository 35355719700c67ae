"""`python -m bench everyday`: everyday statements in process, beside plain Spark and DuckDB.

Each of the 300 statements goes to a session without cubes and indexes, attached to Spark, to
plain Spark, and to DuckDB over the tables' files. Each round has new literals, and the systems take
turns.
A statement that the session leaves to Spark in its first round isn't timed.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog
from rich.console import Console
from rich.table import Table

import accelerator
from bench.everyday import requests
from bench.everyday.outcomes import Outcome, Reply, details, figures
from bench.everyday.statements import KINDS, Statement, order_by, statements
from bench.everyday.systems import DuckDB, Ours, PlainSpark, System
from bench.everywhere_tables import made, raw_duckdb, turned
from bench.report import Report
from bench.ssb.workspace import SPARK_CONF
from bench.steps import Steps, noise_into
from tests.rewrite.functions import in_process as grid

_LOG = Path("build/everyday.log")
Systems = Mapping[str, System]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench."""
    parser.add_argument("--json", type=Path, default=Path("build/bench-everyday.json"))
    parser.add_argument("--only", default=",".join(KINDS), help="kinds, with commas between")
    parser.add_argument("--rows", type=int, default=2_000_000, help="of flights")
    parser.add_argument("--scale", type=float, default=0.1, help="of SSB")
    parser.add_argument("--runs", type=int, default=3, help="of each statement, after the first")
    parser.add_argument("--folder", type=Path, help="where to work; by default a temporary folder")


def run(options: argparse.Namespace) -> int:
    """Asks all statements and writes the figures after each kind: 1 if an answer differs."""
    only = options.only.split(",")
    if unknown := sorted(set(only) - set(KINDS)):
        raise SystemExit(f"--only {unknown[0]}: there is {', '.join(KINDS)}")
    settings = {"rows": options.rows, "scale": options.scale, "runs": options.runs, "only": only}
    report = Report("everyday", options.json, settings)
    folder = Path(tempfile.mkdtemp(prefix="bench-everyday-", dir=options.folder))
    steps = Steps(Console())
    try:
        _measure(folder, only, options, report, steps)
    finally:
        shutil.rmtree(folder)
    report.complete = set(only) == set(KINDS)
    report.save()
    _show(steps.console, report)
    return int(report.figures["differences"] > 0)


def _measure(
    folder: Path, only: list[str], options: argparse.Namespace, report: Report, steps: Steps
) -> None:
    with steps.step("Write flights, SSB and requests") as tell:
        warehouse = made(folder, options, tell)
        catalog = SqlCatalog(
            "lake", uri=f"sqlite:///{warehouse / 'catalog.db'}", warehouse=warehouse.as_uri()
        )
        requests.write(catalog, requests.rows_beside(options.rows), tell)
        catalog.close()
    with (
        steps.step("Compare the functions' grid with plain Spark's record"),
        grid.database() as grids,
    ):
        report.figures["functions_proven"] = len(grid.names())
        report.figures["grid_differences"] = grid.differences(grids)
    wanted = [statement for statement in statements() if statement.kind in only]
    outcomes: list[Outcome] = []
    with noise_into(_LOG), ExitStack() as stack:
        with steps.step("Start Spark"):
            zones = {statement.zone for statement in wanted}
            systems = stack.enter_context(_systems(folder, warehouse, zones))
        with steps.step(f"Ask {len(wanted)} statements") as tell:
            for number, statement in enumerate(wanted, 1):
                outcomes.append(_ask(statement, systems[statement.zone], options))
                tell(f"{number} of {len(wanted)}, {statement.kind}")
                if number == len(wanted) or wanted[number].kind != statement.kind:
                    report.figures |= figures(outcomes)
                    report.details |= details(outcomes)
                    report.save()


@contextmanager
def _systems(folder: Path, warehouse: Path, zones: set[str]) -> Iterator[Mapping[str, Systems]]:
    """Yields the three systems for each time zone; one Spark runs for all."""
    with ExitStack() as stack:
        store = str(folder / "store")
        opened = accelerator.open(warehouse, store=store, spark_conf=SPARK_CONF)
        stack.enter_context(opened)
        opened.spark.sparkContext.setLogLevel("ERROR")
        found: dict[str, Systems] = {}
        for zone in sorted(zones):
            spark = opened.spark.newSession()
            spark.conf.set("spark.sql.session.timeZone", zone)
            session = stack.enter_context(accelerator.attach(spark, store=store))
            connection = stack.enter_context(closing(raw_duckdb(warehouse)))
            connection.execute(f"SET TimeZone = '{zone}'")
            named: list[System] = [Ours(session), PlainSpark(spark), DuckDB(connection)]
            found[zone] = {system.name: system for system in named}
        yield found


def _ask(statement: Statement, systems: Systems, options: Any) -> Outcome:
    """Asks a statement in so many rounds; the first round warms up."""
    outcome = Outcome(statement.kind, statement.name)
    for number in range(options.runs + 1):
        text = statement.text(number, options.rows)
        replies: dict[str, Reply] = {}
        for name in turned(list(systems), number):
            replies[name] = systems[name].ask(text)
        outcome.add(text, replies, order_by(text), timed=number > 0)
        if not outcome.in_process:
            break
    return outcome


def _show(console: Console, report: Report) -> None:
    table = Table("kind", "in process", "reasons")
    for kind, share in report.details["in_process_of"].items():
        reasons = report.details["reasons_of"][kind]
        told = ", ".join(f"{count} {code}" for code, count in reasons.items())
        table.add_row(kind, f"{share:.0%}", told)
    console.print(table)
    for name, value in report.figures.items():
        console.print(f"{name} {value:.4g}", highlight=False)
