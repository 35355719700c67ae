"""`python -m bench tpc --suite h --no-cubes`: queries over raw rows, four systems by turns.

Nothing is built: plain Spark, the accelerator, DuckDB over the very data files, and Sail over them.
Each query goes to all of them before the next one, and round *i* of each before round *i + 1* of
any; answers are compared in the first round. A second table with 5 % of its rows deleted is asked
beside the same table without deletes.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa
from rich.console import Console

import accelerator
from accelerator.iceberg.io import local_path
from accelerator.session.session import Accelerator
from bench.report import Report
from bench.ssb.workspace import SPARK_CONF
from bench.steps import Steps, noise_into
from bench.tpc.compare import differences
from bench.tpc.data import Suite, catalog_of
from bench.tpc.outcome import ended
from bench.tpc.sail import Sail, SailError, sail

ROUNDS = 4
"""The first one compares answers and isn't timed."""
_FLOOR_MS = 20.0
"""What the accelerator may add to a statement that it leaves to Spark, before it counts."""
_CONF = SPARK_CONF | {"spark.sql.shuffle.partitions": "4"}
_DELETED = 20
"""Of so many rows one is deleted."""
_DELETES = (
    "SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice * (1 - l_discount)),"
    " avg(l_discount), count(*) FROM {} WHERE l_shipdate <= DATE '1998-09-02'"
    " GROUP BY l_returnflag, l_linestatus",
    "SELECT sum(l_extendedprice * l_discount) FROM {} WHERE l_shipdate >= DATE '1994-01-01' AND"
    " l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
    "SELECT l_shipmode, count(*) FROM {} JOIN orders ON o_orderkey = l_orderkey"
    " WHERE l_receiptdate >= DATE '1994-01-01' GROUP BY l_shipmode",
)


@dataclass(slots=True)
class Measured:
    """One query: how it was answered, and milliseconds of each system by round."""

    number: int
    in_process: bool
    code: str | None
    wrong: list[str]
    ms: dict[str, list[float]] = field(default_factory=dict)

    def median(self, system: str) -> float | None:
        """Of its rounds; None of a system that can't run the query."""
        return statistics.median(self.ms[system]) if self.ms.get(system) else None

    def ratio(self, one: str, other: str) -> float | None:
        """The time of one over that of the other."""
        mine, its = self.median(one), self.median(other)
        return mine / its if mine is not None and its else None


def run_raw(suite: Suite, path: Path) -> int:
    """Makes what isn't there, asks everybody, writes the figures; 1 where an answer differs."""
    report = Report("tpc_raw", path, {"suite": suite.name, "scale": suite.scale, "cubes": False})
    steps = Steps(Console())
    with steps.step(f"Generate {suite.title} at scale {suite.scale:g}"):
        suite.generate()
    suite.warehouse.mkdir(parents=True, exist_ok=True)
    measured: list[Measured] = []
    with ExitStack() as stack:
        stack.enter_context(noise_into(suite.root / "tpc.log"))
        store = str(suite.root / "no-cubes")
        acc = stack.enter_context(
            accelerator.open(suite.warehouse, create=True, store=store, spark_conf=_CONF)
        )
        with steps.step("Load the tables into Iceberg") as tell:
            suite.load(catalog_of(acc.config.catalog_name, suite.warehouse), tell)
        acc.query(f"USE {suite.name}")
        files = {path.stem: _files(acc, suite, path.stem) for path in suite.tables}
        other = _duckdb(files)
        with steps.step("Start Sail"):
            beside = stack.enter_context(
                sail(suite.root.parent / "sail-env", suite.root, suite.root / "sail.log")
            )
            for name, paths in files.items():
                beside.view(name, paths)
        queries = suite.queries()
        with steps.step(f"Ask {len(queries)} queries of four systems, {ROUNDS} times") as tell:
            for number, sql in queries.items():
                tell(f"query {number}")
                one = _first(acc, number, sql, other, beside)
                measured.append(one)
                for _ in range(1, ROUNDS):
                    _round(acc, sql, one, other, beside)
                report.details["queries"] = [asdict(each) for each in measured]
                report.save()
        with steps.step("Ask a table of which 5 % are deleted"):
            report.figures["deleted_over_plain_scan"] = _deleted(acc, suite, report)
    report.figures = figures(measured) | report.figures
    return ended(report, steps, {one.number: one.wrong for one in measured})


def figures(measured: Sequence[Measured]) -> dict[str, float | int]:
    """Geometric means are over the queries that are answered in process."""
    here = [one for one in measured if one.in_process]
    found: dict[str, float | int] = {
        "queries": len(measured),
        "in_process": len(here),
        "differences": sum(bool(one.wrong) for one in measured),
    }
    for name, one, other in (
        ("speedup_vs_spark", "spark", "ours"),
        ("time_over_duckdb_raw", "ours", "duckdb"),
        ("time_over_sail", "ours", "sail"),
    ):
        ratios = [ratio for m in here if (ratio := m.ratio(one, other)) is not None]
        if ratios:
            found[name] = statistics.geometric_mean(ratios)
    every = [
        max(ours - _FLOOR_MS, 0.0) / spark
        for m in measured
        if (ours := m.median("ours")) is not None and (spark := m.median("spark"))
    ]
    return found | ({"slowest_vs_spark": max(every)} if every else {})


def _files(acc: Accelerator, suite: Suite, table: str) -> list[str]:
    pinned = acc.services.lake.pin().pinned((acc.config.catalog_name, suite.name, table))
    if pinned is None:
        raise SystemExit(f"there is no table {table}")
    return [local_path(file.path) or file.path for file in pinned.live_files()]


def _duckdb(files: dict[str, list[str]]) -> duckdb.DuckDBPyConnection:
    """One of its own, with views over the very files."""
    made = duckdb.connect()
    made.execute("SET TimeZone = 'UTC'")
    made.execute("SET parquet_metadata_cache = true")
    for name, paths in files.items():
        listed = ", ".join(f"'{path}'" for path in paths)
        made.execute(f"CREATE VIEW {name} AS FROM read_parquet([{listed}])")
    return made


def _first(
    acc: Accelerator, number: int, sql: str, other: duckdb.DuckDBPyConnection, beside: Sail
) -> Measured:
    """Warms every system up; ours is compared with plain Spark's."""
    answers: dict[str, pa.Table] = {}

    def plain(text: str) -> pa.Table:
        if text not in answers:
            answers[text] = acc.services.plain_table(text)
        return answers[text]

    result = acc.query(sql)
    wrong = differences(sql, plain, lambda text: acc.query(text).arrow())
    metrics = result.metrics
    here = metrics.rewritten and metrics.engine == "duckdb"
    code = (metrics.fallback or "").partition(":")[0] or None
    one = Measured(number, here, code, wrong)
    other.execute(_for_duckdb(sql)).to_arrow_table()
    try:
        beside.rows(sql)
    except SailError as error:
        one.ms["sail"] = []
        one.code = one.code or f"sail: {error}"[:100]
    return one


def _round(
    acc: Accelerator, sql: str, one: Measured, other: duckdb.DuckDBPyConnection, beside: Sail
) -> None:
    def timed(system: str, ask: Callable[[], object]) -> None:
        began = time.perf_counter()
        ask()
        one.ms.setdefault(system, []).append((time.perf_counter() - began) * 1000)

    timed("spark", lambda: acc.services.plain_table(sql))
    timed("ours", lambda: acc.query(sql).arrow())
    timed("duckdb", lambda: other.execute(_for_duckdb(sql)).to_arrow_table())
    if one.ms.get("sail", True):
        one.ms.setdefault("sail", []).append(beside.run(sql) * 1000)


def _for_duckdb(sql: str) -> str:
    return sql.replace("`", '"')


def _deleted(acc: Accelerator, suite: Suite, report: Report) -> float:
    """The time over a table with deletes, over that of the same table without: geometric mean."""
    catalog = acc.config.catalog_name
    spark = acc.services.engine.session
    table = f"{catalog}.{suite.name}_deleted.lineitem"
    if not spark.catalog.tableExists(table):
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {catalog}.{suite.name}_deleted")
        spark.sql(
            f"CREATE TABLE {table} USING iceberg TBLPROPERTIES ('write.delete.mode' ="
            f" 'merge-on-read') AS SELECT * FROM {catalog}.{suite.name}.lineitem"
        )
        gone = f"hash(l_orderkey, l_linenumber) % {_DELETED} = 0"
        spark.sql(f"DELETE FROM {table} WHERE {gone}")
    whole = f"{catalog}.{suite.name}_whole.lineitem"
    if not spark.catalog.tableExists(whole):
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {catalog}.{suite.name}_whole")
        spark.sql(
            f"CREATE TABLE {whole} USING iceberg AS SELECT * FROM {catalog}.{suite.name}.lineitem"
        )
    ratios: list[float] = []
    for text in _DELETES:
        took: dict[str, list[float]] = {table: [], whole: []}
        for number in range(ROUNDS):
            for name, times in took.items():
                began = time.perf_counter()
                result = acc.query(text.format(name))
                result.arrow()
                if number:
                    times.append((time.perf_counter() - began) * 1000)
                elif result.metrics.engine != "duckdb":
                    raise SystemExit(f"not in process: {text.format(name)}")
        ratios.append(statistics.median(took[table]) / statistics.median(took[whole]))
        report.details.setdefault("deleted", []).append(took)
    return statistics.geometric_mean(ratios)
