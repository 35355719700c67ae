"""`python -m bench tpc`: TPC-H's or TPC-DS's queries both ways, and what becomes of each.

Each query goes to plain Spark, `acc.query` and `acc.sql`; their answers are compared. The exit code
is 1 where any differs. With `--docs` the suite's table in `docs/tpc.md` is written anew.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

import accelerator
from bench.report import Report
from bench.ssb.workspace import SPARK_CONF
from bench.steps import Steps, noise_into
from bench.tpc.data import Suite, catalog_of
from bench.tpc.outcome import Outcome, ended
from bench.tpc.raw import run_raw

SCALE = 0.1
"""That of the page and of the tests."""
PAGE = Path(__file__).parents[2] / "docs" / "tpc.md"
_CELL_MAX = 160
# The tables are small: two hundred tasks for each shuffle would take most of the time.
_CONF = SPARK_CONF | {"spark.sql.shuffle.partitions": "4"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench."""
    parser.add_argument("--suite", choices=("h", "ds"), required=True)
    parser.add_argument("--scale", type=float, default=SCALE)
    parser.add_argument("--json", type=Path, help="default: build/tpc-<suite>.json")
    parser.add_argument("--docs", action="store_true", help="write the table in docs/tpc.md")
    parser.add_argument("--no-cubes", action="store_true", help="raw rows, beside other systems")


def run(options: argparse.Namespace) -> int:
    """Makes what isn't there, runs the queries, writes what became of them."""
    suite = Suite.of(options.suite, options.scale)
    if options.no_cubes:
        return run_raw(suite, options.json or Path("build") / f"tpc-{options.suite}-raw.json")
    path = options.json or Path("build") / f"tpc-{options.suite}.json"
    report = Report("tpc", path, {"suite": suite.name, "scale": options.scale})
    steps = Steps(Console())
    with steps.step(f"Generate {suite.title} at scale {options.scale:g}"):
        suite.generate()
    suite.warehouse.mkdir(parents=True, exist_ok=True)
    outcomes: list[Outcome] = []
    with (
        noise_into(suite.root / "tpc.log"),
        accelerator.open(suite.warehouse, create=True, spark_conf=_CONF) as acc,
    ):
        with steps.step("Load the tables into Iceberg") as tell:
            suite.load(catalog_of(acc.config.catalog_name, suite.warehouse), tell)
        acc.query(f"USE {suite.name}")
        with steps.step(f"Build {len(suite.cubes)} cubes") as tell:
            for name, sql in suite.cubes.items():
                tell(name)
                acc.query(sql.replace("CREATE CUBE", "CREATE OR REPLACE CUBE", 1))
        queries = suite.queries()
        with steps.step(f"Run {len(queries)} queries three ways") as tell:
            for number, sql in queries.items():
                tell(f"query {number}")
                outcomes.append(Outcome.of(acc, number, sql))
                report.details["queries"] = [one.to_dict() for one in outcomes]
                report.save()
    report.figures |= figures(outcomes)
    code = ended(report, steps, {one.number: one.wrong for one in outcomes})
    if options.docs:
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), suite, outcomes), "utf-8")
    return code


def figures(outcomes: Sequence[Outcome]) -> dict[str, float | int]:
    """How many are rewritten, equal, empty; how long they take; the reasons of the others."""
    rewritten = [one for one in outcomes if one.rewritten]
    reasons = Counter(one.code for one in outcomes if one.code is not None)
    found: dict[str, float | int] = {
        "queries": len(outcomes),
        "equal": sum(not one.wrong for one in outcomes),
        "without_rows": sum(one.rows == 0 for one in outcomes),
        "rewritten": len(rewritten),
        "rewritten_in_part": sum(one.by_spark for one in rewritten),
    }
    if rewritten:
        found["rewritten_plain_ms"] = statistics.median(one.plain_ms for one in rewritten)
        found["rewritten_query_ms"] = statistics.median(one.query_ms for one in rewritten)
    return found | {f"plain_{code}": count for code, count in reasons.most_common()}


def with_table(page: str, suite: Suite, outcomes: Sequence[Outcome]) -> str:
    """The page with this table between the suite's marks."""
    rows = [f"| {one.number} | {one.answered} | {_cell(one.reason or '')} |" for one in outcomes]
    table = "\n".join(["| query | answered | why not |", "|---|---|---|", *rows])
    begin, end = (f"<!-- {suite.name} {mark} -->" for mark in ("begins", "ends"))
    between = re.compile(f"{re.escape(begin)}.*{re.escape(end)}", re.DOTALL)
    return between.sub(lambda _: f"{begin}\n\n{table}\n\n{end}", page)


def answered_in(page: str, suite: Suite) -> dict[int, str]:
    """What the page's table says of each query."""
    table = page.partition(f"<!-- {suite.name} begins -->")[2].partition("<!--")[0]
    return {int(n): what for n, what in re.findall(r"^\| (\d+) \| (.*?) \|", table, re.MULTILINE)}


def _cell(text: str) -> str:
    """One line of a table, cut where it quotes much of a statement."""
    line = " ".join(text.split()).replace("|", "\\|")
    return line if len(line) <= _CELL_MAX else f"{line[:_CELL_MAX].rstrip()}…"
