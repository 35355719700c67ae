"""What advised cubes spare, beside those that were made by hand, on the Star Schema Benchmark.

The log has a thousand statements with literals of their own. Each of the 13 queries is measured
without cubes, with a few literals; in the log each statement has its query's time. Then the
statements run over stores with advised cubes, hand-made ones of the same bytes, and two other
choices at a tenth of them: each statement's own cube, slowest first, and such cubes at random.
Stores take turns, and of each statement the least of several runs counts: others work here too.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

import accelerator
from accelerator import Accelerator
from accelerator.advisor.analyzing import Budget
from accelerator.errors import AcceleratorError
from accelerator.query_log.encoding import encoded
from accelerator.query_log.paths import path_of
from accelerator.query_log.record import Record
from bench.report import Report
from bench.ssb.cubes import CUBES
from bench.ssb.queries import QUERIES
from bench.ssb.workspace import Workspace, open_loaded
from bench.steps import Steps, noise_into

ASKED = 1_000
VARIANTS, ROUNDS = 3, 5
TENTH = 0.1
RANDOM = 3
"""Choices at random."""
_APART_US = 600_000_000
Times = Mapping[str, float]
"""Milliseconds by query."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench."""
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1, help="draws statements and literals")
    parser.add_argument("--json", type=Path, default=Path("build/services-advisor.json"))


def run(options: argparse.Namespace) -> int:
    """Measures, and writes the report."""
    report = Report("services", options.json, {"scale": options.scale, "seed": options.seed})
    measure(report, options.scale, options.seed)
    report.complete = True
    report.save()
    for name, value in report.figures.items():
        print(f"{name}: {value:.4f}")
    return 0


def measure(report: Report, scale: float, seed: int) -> None:
    """Adds the advisor's figures to the report."""
    workspace, steps = Workspace.of(scale), Steps(Console())
    with noise_into(workspace.root / "stderr.log"):
        open_loaded(workspace, steps).close()
    root = workspace.root / "advisor"
    shutil.rmtree(root, ignore_errors=True)
    with ExitStack() as ends:
        stores = _Stores(workspace, root, ends)
        _Advisor(report, stores, steps, seed).measure()


class _Stores:
    """Sessions over one warehouse, each with a store of its own."""

    def __init__(self, workspace: Workspace, root: Path, ends: ExitStack) -> None:
        self._workspace, self._root, self._ends = workspace, root, ends

    def session(self, name: str) -> Accelerator:
        store = str(self._root / name)
        return self._ends.enter_context(accelerator.open(self._workspace.warehouse, store=store))


class _Advisor:
    def __init__(self, report: Report, stores: _Stores, steps: Steps, seed: int) -> None:
        self._report, self._stores, self._steps, self._seed = report, stores, steps, seed
        drawn = random.Random(seed)
        self._asked = [drawn.choice(QUERIES).name for _ in range(ASKED)]
        self._times = Counter(self._asked)

    def measure(self) -> None:
        sessions = {"raw": self._stores.session("raw"), "hand": self._stores.session("hand")}
        with self._steps.step("Build the cubes made by hand"):
            for cube in CUBES:
                _create(sessions["hand"], cube.create(), cube.name)
        bytes_max = _bytes(sessions["hand"])
        with self._steps.step("Measure the 13 queries without cubes"):
            raw = self._measured({"raw": sessions["raw"]})["raw"]
        for name, most in (("advised", bytes_max), ("advised_tenth", int(bytes_max * TENTH))):
            sessions[name] = self._advised(name, raw, most, is_first=name == "advised")
        tenth = bytes_max * TENTH
        own = self._own_cubes(sessions["raw"], raw)
        with self._steps.step("Build each statement's own cube, slowest first, and at random"):
            sessions["per_statement"] = self._filled("per_statement", own, tenth)
            for number in range(RANDOM):
                mixed = list(own)
                random.Random(f"{self._seed}/{number}").shuffle(mixed)
                sessions[f"random_{number}"] = self._filled(f"random_{number}", mixed, tenth)
        with self._steps.step("Ask the statements over each store in turns"):
            found = self._measured(sessions)
        self._tell(found, {name: _bytes(one) for name, one in sessions.items()})

    def _advised(self, name: str, raw: Times, most: int, *, is_first: bool) -> Accelerator:
        session = self._stores.session(name)
        _log(session, self._statements(), raw)
        with self._steps.step(f"Advise cubes of {most / 1e6:.1f} MB, and make them"):
            began = time.perf_counter()
            advice = session.analyze("ssb.lineorder", bytes=most, days=Budget().days)
            seconds = time.perf_counter() - began
            session.apply(table="ssb.lineorder")
        if is_first:
            self._report.figures["advisor_s"] = seconds
            self._report.figures["advised_cubes"] = len(advice.recommendations)
        self._report.details[name] = [
            {"cube": one.cube, "bytes": one.bytes, "gain_share": one.gain_share, "ddl": one.ddl}
            for one in advice.recommendations
        ]
        return session

    def _statements(self) -> Iterator[tuple[str, str]]:
        by_name = {query.name: query for query in QUERIES}
        for number, name in enumerate(self._asked, 1):
            yield name, by_name[name].sql(number, self._seed)

    def _own_cubes(self, session: Accelerator, raw: Times) -> list[str]:
        """What EXPLAIN suggests for each query, those first that take most time together."""
        order = sorted(QUERIES, key=lambda query: -raw[query.name] * self._times[query.name])
        found = []
        for query in order:
            found += [one["ddl"] for one in session.why_not(query.sql()) if one["ddl"]]
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

    def _measured(self, sessions: Mapping[str, Accelerator]) -> dict[str, Times]:
        """Of each query its time: the least of several rounds, the mean of its literals."""
        least: dict[tuple[str, str, int], float] = {}
        for number in range(ROUNDS + 1):
            for query in QUERIES:
                for variant in range(1, VARIANTS + 1):
                    sql = query.sql(variant, self._seed)
                    for name, session in sessions.items():
                        began = time.perf_counter()
                        session.query(sql).arrow()
                        ms = (time.perf_counter() - began) * 1000
                        if number:  # the first one reads metadata and files anew
                            key = name, query.name, variant
                            least[key] = min(ms, least.get(key, ms))
        return {
            name: {
                query.name: statistics.fmean(
                    least[name, query.name, variant] for variant in range(1, VARIANTS + 1)
                )
                for query in QUERIES
            }
            for name in sessions
        }

    def _tell(self, found: Mapping[str, Times], sizes: Mapping[str, int]) -> None:
        total = {
            name: sum(ms[query] * times for query, times in self._times.items())
            for name, ms in found.items()
        }
        spared = {name: total["raw"] - ms for name, ms in total.items()}
        by_chance = statistics.fmean(spared[f"random_{number}"] for number in range(RANDOM))
        least = total["raw"] / 1000  # what spares nothing is beaten by any number of times
        self._report.figures |= {
            "ssb_advisor_gain_share": spared["advised"] / spared["hand"],
            "gain_over_random": spared["advised_tenth"] / max(by_chance, least),
            "gain_over_per_statement": spared["advised_tenth"]
            / max(spared["per_statement"], least),
            "hand_spared_share": spared["hand"] / total["raw"],
            "advised_spared_share": spared["advised"] / total["raw"],
            "advised_tenth_spared_share": spared["advised_tenth"] / total["raw"],
            "hand_bytes": sizes["hand"],
            "advised_bytes": sizes["advised"],
            "advised_tenth_bytes": sizes["advised_tenth"],
        }
        self._report.details |= {
            "ms": found,
            "bytes": dict(sizes),
            "log": f"{ASKED} statements, each with the measured time of its query without cubes",
        }


def _create(session: Accelerator, ddl: str, name: str) -> None:
    session.query(ddl)
    session.query(f"COMPACT CUBE {name}")


def _bytes(session: Accelerator) -> int:
    return sum(row["bytes"] or 0 for row in session.query("SHOW CUBES").arrow().to_pylist())


def _log(session: Accelerator, statements: Iterator[tuple[str, str]], raw: Times) -> None:
    """The statements as if they had been asked one after the other, without cubes."""
    now = int(time.time() * 1_000_000)
    size = next(t for t in [session.services.lake.pin().pinned(("ssb", "lineorder"))] if t)
    records = [
        Record(
            id=f"q{number}",
            started_us=now - number * _APART_US,
            state="FINISHED",
            sql=sql,
            process="session",
            elapsed_ms=raw[name],
            execution_ms=raw[name],
            engine="duckdb",
            bytes_read=size.size_bytes,
        )
        for number, (name, sql) in enumerate(statements)
    ]
    made = encoded(records, 0)
    path = path_of(made.newest_us, made.oldest_us, "a" * 32, 1)
    if not session.services.store.files.create(path, made.data):
        raise AcceleratorError("the log is there already")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    raise SystemExit(run(parser.parse_args()))
