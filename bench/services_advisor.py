"""What advised cubes spare, beside those that were made by hand, on the Star Schema Benchmark.

The log has a thousand statements with literals of their own. Each of the 13 queries is measured
without cubes, with a few literals; in the log each statement has its query's time. Then the
statements run over stores with advised cubes, hand-made ones of the same bytes, and two other
choices at a tenth of them: each statement's own cube, slowest first, and such cubes at random.
Stores take turns, and of each statement the least of several runs counts: others work here too.
Indexes and orders that are advised, too, aren't made. Of TPC-DS all 99 statements count, each asked
as often as chance has it. Those that Spark finishes are timed once, and where no cube answers a
part of one its time is the one without cubes.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from sqlglot import exp

import accelerator
from accelerator import Accelerator
from accelerator.errors import AcceleratorError
from accelerator.store.journals.query_log.encoding.encode import encoded
from accelerator.store.journals.query_log.paths import path_of
from accelerator.store.journals.query_log.record import LogRecord
from bench.report import Report
from bench.ssb.cubes import CUBES
from bench.ssb.queries import QUERIES
from bench.ssb.workspace import Workspace, open_loaded
from bench.steps import Steps, Tell, noise_into
from bench.tpc.data import Suite, catalog_of
from rewrite.analysis.query_form import uses
from rewrite.client import SPARK
from rewrite.parse.parse import parse

ASKED = 1_000
VARIANTS, ROUNDS = 3, 5
SPARK_ROUNDS = 1
TENTH = 0.1
RANDOM = 3
"""Choices at random."""
_APART_US = 600_000_000
Times = Mapping[str, float]
"""Milliseconds by query."""


def of_ssb(options: argparse.Namespace, report: Report) -> None:
    """`ssb_advisor_gain_share` and what goes with it."""
    measure(report, options.scale, options.seed)


def of_tpcds(options: argparse.Namespace, report: Report) -> None:
    """`ds_advisor_gain_share`, of all 99 statements, and of those that need no Spark."""
    measure_ds(report, options.scale, options.seed)


def measure(report: Report, scale: float, seed: int) -> None:
    """Adds the advisor's figures to the report."""
    workspace, steps = Workspace.of(scale), Steps(Console())
    with noise_into(workspace.root / "stderr.log"):
        open_loaded(workspace, steps).close()
    with ExitStack() as ends:
        stores = _Stores(workspace.warehouse, workspace.root / "advisor", ends)
        _Advisor(report, stores, steps, _of_ssb(seed)).measure()


def measure_ds(report: Report, scale: float, seed: int) -> None:
    """Adds the same of TPC-DS to the report: `ds_advisor_gain_share` and what belongs to it."""
    suite, steps = Suite.of("ds", scale), Steps(Console())
    with steps.step(f"Generate {suite.title} at scale {scale:g}"):
        suite.generate()
    suite.warehouse.mkdir(parents=True, exist_ok=True)
    with ExitStack() as ends:
        stores = _Stores(suite.warehouse, suite.root / "advisor", ends)
        with accelerator.open(suite.warehouse, create=True) as acc:
            with steps.step("Load the tables into Iceberg") as tell:
                suite.load(catalog_of(acc.config.catalog_name, suite.warehouse), tell)
            own = {f"Q{number}": _named(sql, suite.name) for number, sql in suite.queries().items()}
            spark = frozenset(name for name, sql in own.items() if not _needs_no_spark(acc, sql))
        hand = {}
        for name, ddl in suite.cubes.items():
            select = ddl[ddl.upper().index("SELECT") :]
            hand[name] = f"CREATE CUBE {name} AS {_named(select, suite.name)}"
        asked = random.Random(seed).choices(sorted(own), k=ASKED)
        workload = _Workload("ds", asked, lambda name, _: own[name], 1, hand, None, spark)
        _Advisor(report, stores, steps, workload).measure()


def _named(sql: str, namespace: str) -> str:
    """The query with its tables under that namespace."""
    tree = parse(sql)
    for use in list(uses(tree)):
        if not use.table.args.get("db"):
            use.table.set("db", exp.to_identifier(namespace))
    return tree.sql(SPARK)


def _needs_no_spark(acc: Accelerator, sql: str) -> bool:
    plan = acc.plan(sql)[0]
    alone = plan.refused() is None and plan.not_in_process() is None
    return alone and plan.outer_text() is None


@dataclass(frozen=True)
class _Workload:
    """`asked` are names of queries, of which `text` gives the variant of that number.

    `hand` are the statements that make the cubes by hand, `table` is what is analyzed. `spark` are
    the queries that Spark finishes.
    """

    short: str
    asked: Sequence[str]
    text: Callable[[str, int], str]
    variants: int
    hand: Mapping[str, str]
    table: str | None
    spark: frozenset[str] = frozenset()


def _of_ssb(seed: int) -> _Workload:
    drawn, by_name = random.Random(seed), {query.name: query for query in QUERIES}
    asked = [drawn.choice(QUERIES).name for _ in range(ASKED)]
    hand = {cube.name: cube.create() for cube in CUBES}

    def text(name: str, number: int) -> str:
        return by_name[name].sql(number, seed)

    return _Workload("ssb", asked, text, VARIANTS, hand, "ssb.lineorder")


class _Stores:
    """Sessions over one warehouse, each with a store of its own."""

    def __init__(self, warehouse: Path, root: Path, ends: ExitStack) -> None:
        shutil.rmtree(root, ignore_errors=True)
        self._warehouse, self._root, self._ends = warehouse, root, ends

    def session(self, name: str) -> Accelerator:
        store = str(self._root / name)
        return self._ends.enter_context(accelerator.open(self._warehouse, store=store))


class _Advisor:
    def __init__(self, report: Report, stores: _Stores, steps: Steps, workload: _Workload) -> None:
        self._report, self._stores, self._steps = report, stores, steps
        self._workload = workload
        self._times = Counter(workload.asked)
        self._names = sorted(self._times)

    @property
    def _prefix(self) -> str:
        return "" if self._workload.short == "ssb" else f"{self._workload.short}_"

    def measure(self) -> None:
        """All of it."""
        sessions = {"raw": self._stores.session("raw"), "hand": self._stores.session("hand")}
        with self._steps.step("Build the cubes made by hand"):
            for name, ddl in self._workload.hand.items():
                _create(sessions["hand"], ddl, name)
        bytes_max = _bytes(sessions["hand"])
        with self._steps.step(f"Measure the {len(self._names)} queries without cubes") as tell:
            raw = self._measured({"raw": sessions["raw"]}, tell)["raw"]
        sessions["advised"] = self._advised("advised", raw, bytes_max, is_first=True)
        if self._workload.short == "ssb":
            sessions |= self._at_a_tenth(sessions["raw"], raw, bytes_max * TENTH)
        with self._steps.step("Ask the statements over each store in turns") as tell:
            found = self._measured(sessions, tell, raw)
        self._tell(found, {name: _bytes(one) for name, one in sessions.items()})

    def _at_a_tenth(self, session: Accelerator, raw: Times, tenth: float) -> dict[str, Accelerator]:
        """Advised cubes of so many bytes, and what others would choose of them."""
        sessions = {}
        sessions["advised_tenth"] = self._advised("advised_tenth", raw, int(tenth), is_first=False)
        own = self._own_cubes(session, raw)
        with self._steps.step("Build each statement's own cube, slowest first, and at random"):
            sessions["per_statement"] = self._filled("per_statement", own, tenth)
            for number in range(RANDOM):
                mixed = list(own)
                random.Random(number).shuffle(mixed)
                sessions[f"random_{number}"] = self._filled(f"random_{number}", mixed, tenth)
        return sessions

    def _advised(self, name: str, raw: Times, most: int, *, is_first: bool) -> Accelerator:
        session = self._stores.session(name)
        spark = self._workload.spark
        engines = {name: "spark" if name in spark else "duckdb" for name in raw}
        log_of(session, [(sql, raw[name], engines[name]) for name, sql in self._statements()])
        with self._steps.step(f"Advise cubes of {most / 1e6:.1f} MB, and make them"):
            began = time.perf_counter()
            advice = session.analyze(self._workload.table, bytes=most)
            seconds = time.perf_counter() - began
            cubes = [one for one in advice.recommendations if one.cube]
            for one in cubes:
                session.apply(one.id)
        if is_first:
            self._report.figures[f"{self._prefix}advisor_s"] = seconds
            self._report.figures[f"{self._prefix}advised_cubes"] = len(cubes)
        self._report.details[name] = [
            {"cube": one.cube, "bytes": one.bytes, "gain_share": one.gain_share, "ddl": one.ddl}
            for one in cubes
        ]
        return session

    def _statements(self) -> Iterator[tuple[str, str]]:
        for number, name in enumerate(self._workload.asked, 1):
            yield name, self._workload.text(name, number)

    def _own_cubes(self, session: Accelerator, raw: Times) -> list[str]:
        """What EXPLAIN suggests for each query, those first that take most time together."""
        order = sorted(self._names, key=lambda name: -raw[name] * self._times[name])
        found: list[str] = []
        for name in order:
            rows = session.why_not(self._workload.text(name, 1))
            found += [one["ddl"] for one in rows if one["ddl"]]
        return list(dict.fromkeys(found))

    def _filled(self, name: str, ddl: Sequence[str], most: float) -> Accelerator:
        """A store with as many of these cubes, in their order, as the bytes hold."""
        session = self._stores.session(name)
        for number, one in enumerate(ddl):
            cube = f"c{number}"
            words = one.split(" ", 3)
            _create(session, f"CREATE CUBE {cube} {words[3]}", cube)
            if _bytes(session) > most:
                session.query(f"DROP CUBE {cube} FORCE")
        return session

    def _measured(
        self, sessions: Mapping[str, Accelerator], tell: Tell, raw: Times | None = None
    ) -> dict[str, Times]:
        """Of each query its time: the least of several rounds, the mean of its literals.

        What Spark finishes without any cube takes what it took before, by `raw`.
        """
        least: dict[tuple[str, str, int], float] = {}
        known = self._known(sessions, raw or {})
        for number in range(ROUNDS + 1):
            for query in self._names:
                if query in self._workload.spark and number > SPARK_ROUNDS:
                    continue
                tell(f"round {number}: {query}")
                for variant in range(1, self._workload.variants + 1):
                    sql = self._workload.text(query, variant)
                    for name, session in sessions.items():
                        if (name, query) in known:
                            least[name, query, variant] = known[name, query]
                            continue
                        began = time.perf_counter()
                        session.query(sql).arrow()
                        ms = (time.perf_counter() - began) * 1000
                        if number:  # the first one reads metadata and files anew
                            key = name, query, variant
                            least[key] = min(ms, least.get(key, ms))
        return {
            name: {
                query: statistics.fmean(
                    least[name, query, variant] for variant in range(1, self._workload.variants + 1)
                )
                for query in self._names
            }
            for name in sessions
        }

    def _known(
        self, sessions: Mapping[str, Accelerator], raw: Times
    ) -> dict[tuple[str, str], float]:
        """Times that needn't be measured once more."""
        return {
            (name, query): raw[query]
            for name, session in sessions.items()
            for query in self._names
            if query in self._workload.spark and query in raw
            if not session.plan(self._workload.text(query, 1))[0].figures().cubes
        }

    def _tell(self, found: Mapping[str, Times], sizes: Mapping[str, int]) -> None:
        total = {
            name: sum(ms[query] * times for query, times in self._times.items())
            for name, ms in found.items()
        }
        spared = {name: total["raw"] - ms for name, ms in total.items()}
        figures: dict[str, float] = {
            "hand_spared_share": spared["hand"] / total["raw"],
            "advised_spared_share": spared["advised"] / total["raw"],
            "hand_bytes": sizes["hand"],
            "advised_bytes": sizes["advised"],
            "queries": len(self._names),
        }
        if "advised_tenth" in spared:
            chance = statistics.fmean(spared[f"random_{number}"] for number in range(RANDOM))
            least = total["raw"] / 1000  # what spares nothing is beaten any number of times
            tenth = spared["advised_tenth"]
            figures |= {
                "gain_over_random": tenth / max(chance, least),
                "gain_over_per_statement": tenth / max(spared["per_statement"], least),
                "advised_tenth_spared_share": tenth / total["raw"],
                "advised_tenth_bytes": sizes["advised_tenth"],
            }
        self._report.figures[f"{self._workload.short}_advisor_gain_share"] = (
            spared["advised"] / spared["hand"]
        )
        if self._workload.spark:
            self._tell_here(found)
        for name, value in figures.items():
            self._report.figures[f"{self._prefix}{name}"] = value
        self._report.details |= {
            "ms": found,
            "bytes": dict(sizes),
            "log": f"{ASKED} statements, each with the measured time of its query without cubes",
        }

    def _tell_here(self, found: Mapping[str, Times]) -> None:
        """The same, of the statements alone that need no Spark."""
        here = {one: n for one, n in self._times.items() if one not in self._workload.spark}
        total = {
            name: sum(ms[query] * times for query, times in here.items())
            for name, ms in found.items()
        }
        figures = self._report.figures
        figures[f"{self._prefix}queries_without_spark"] = len(here)
        figures[f"{self._prefix}gain_share_without_spark"] = (total["raw"] - total["advised"]) / (
            total["raw"] - total["hand"]
        )


def _create(session: Accelerator, ddl: str, name: str) -> None:
    session.query(ddl)
    session.query(f"COMPACT CUBE {name}")


def _bytes(session: Accelerator) -> int:
    return sum(row["bytes"] or 0 for row in session.query("SHOW CUBES").arrow().to_pylist())


def log_of(session: Accelerator, statements: Sequence[tuple[str, float, str]]) -> None:
    """The statements as if they had been asked one after the other, without cubes.

    Each with the milliseconds that it took, and the engine that finished it.
    """
    now = int(time.time() * 1_000_000)
    records = [
        LogRecord(
            id=f"q{number}",
            started_us=now - number * _APART_US,
            state="FINISHED",
            sql=sql,
            process="session",
            elapsed_ms=ms,
            execution_ms=ms,
            engine=engine,
        )
        for number, (sql, ms, engine) in enumerate(statements)
    ]
    made = encoded(records, 0)
    path = path_of(made.newest_us, made.oldest_us, "a" * 32, 1)
    if not session.services.store.files.create(path, made.data):
        raise AcceleratorError("the log is there already")
