"""Records who answers each statement, under the code that PYTHONPATH names.

The bench starts this file as a script, once for an earlier commit's code and once for today's. So
it imports from the project only modules and functions that both have, and nothing beside itself. A
statement is planned; if the plan runs in process, it is run as well, since a run may still decline.
Lines on stdout that begin with `MARK` report progress as JSON; the outcomes go into a file.
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib
import json
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from duckdb import Error as DuckDBError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from accelerator.errors import AcceleratorError

MARK = "@reach "
SOURCES = ("ssb", "gateway", "tpch", "tpcds", "statements")
_SSB_SCALE, TPC_SCALE = 0.01, 0.01
_CONF = {"spark.ui.showConsoleProgress": "false"}
FAILURES = (
    *(AcceleratorError, PySparkException, Py4JError, DuckDBError, pa.ArrowException),
    *(ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RuntimeError),
    *(TypeError, ValueError),
)
"""What a statement may raise, by a mistake of ours as well: each is an outcome."""
_NOW = dt.datetime(2026, 11, 27, 12, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The source of one statement's answer: cube, index, manifest, metadata or rows, in `by`.

    A statement without an answer of ours is `plain`, `refused` or `error`, and `code` is the
    reason. `spark`: Spark finishes the answer. `own`: the base tree lacks the statement's suite.
    """

    source: str
    suite: str
    statement: str
    state: str
    by: str
    code: str = ""
    spark: bool = False
    own: bool = False


@dataclass(frozen=True, slots=True)
class Places:
    """The folders that the recorder reads and writes, and the sources that are wanted."""

    tree: Path
    base: Path
    data: Path
    work: Path
    only: tuple[str, ...]

    def wants(self, source: str) -> bool:
        """Decides whether a part of the source is wanted."""
        return not self.only or any(one.split("/")[0] == source for one in self.only)

    def wants_suite(self, source: str, suite: str) -> bool:
        """Decides whether that suite of the source is wanted."""
        return not self.only or source in self.only or f"{source}/{suite}" in self.only


class Progress:
    """Counts outcomes, and reports the count now and then."""

    def __init__(self, total: int) -> None:
        self.done, self.total = 0, total

    def report(self, source: str) -> None:
        """Counts one more statement."""
        self.done += 1
        if self.done % 10 == 0 or self.done >= self.total:
            told = {"done": self.done, "total": max(self.total, self.done), "source": source}
            print(MARK + json.dumps(told), flush=True)


def outcome_of(session: Any, sql: str) -> dict[str, Any]:
    """Plans a statement, and runs it if its plan runs in process; fields of `Outcome`."""
    try:
        plan = session.plan(sql)[0]
        found = of_plan(plan)
        if found["by"] != "plain" and not found["spark"]:
            answer = session.query(sql)
            answer.arrow()
            return of_metrics(answer.metrics, answer.metrics.engine)
        return found
    except FAILURES as error:
        return failure(error)


def of_plan(plan: Any) -> dict[str, Any]:
    """Returns the source of an answer by that plan."""
    declined = plan.refused()
    if declined is not None:
        return {"by": "plain", "code": declined.code}
    return of_metrics(plan.figures(), plan.engine)


def of_metrics(metrics: Any, engine: str) -> dict[str, Any]:
    """Returns the source by the figures of an answer or of its plan."""
    if not metrics.rewritten:
        return {"by": "plain", "code": _code(metrics.fallback or "none")}
    spark = engine == "spark"
    if metrics.cubes:
        return {"by": "cube", "spark": spark}
    if metrics.indexes:
        return {"by": "index", "spark": spark}
    if metrics.all_rows is not None:
        return {"by": "rows", "code": _code(metrics.all_rows), "spark": spark}
    return {"by": "rows" if metrics.files_read else "manifest", "spark": spark}


def failure(error: BaseException) -> dict[str, Any]:
    """Describes an error: `refused` with a code of ours, else `error` with Spark's condition."""
    code = getattr(error, "code", None)
    if isinstance(code, str):
        return {"by": "refused", "code": code}
    condition = getattr(error, "getCondition", lambda: None)()
    return {"by": "error", "code": str(condition or type(error).__name__)}


def _code(line: str) -> str:
    return line.partition(":")[0]


# --- tests/statements


def _support(name: str) -> Any:
    """A module of `tests.support`; nobody checks the types of these."""
    return importlib.import_module(f"tests.support.{name}")


def suite_files(places: Places) -> Iterator[tuple[Path, bool]]:
    """Lists the base tree's suites, then this tree's suites that differ from them, as `own`."""
    if not places.wants("statements"):
        return
    base = places.base / "tests" / "statements"
    for path in sorted(base.glob("*.slt")):
        if places.wants_suite("statements", path.stem):
            yield path, False
    if places.tree == places.base:
        return
    for path in sorted((places.tree / "tests" / "statements").glob("*.slt")):
        if places.wants_suite("statements", path.stem) and not _unchanged(path, places):
            yield path, True


def _unchanged(path: Path, places: Places) -> bool:
    """Decides whether the base tree has the same suite over the same world."""
    read = _support("statements").read
    world = f"tests/worlds/{read(path).world}.sql"
    pairs = [(path, places.base / path.relative_to(places.tree))]
    pairs.append((places.tree / world, places.base / world))
    return all(b.exists() and a.read_bytes() == b.read_bytes() for a, b in pairs)


def _blocks(suite: Any, states: Iterable[str]) -> Iterator[tuple[str, Any]]:
    for state in states:
        for block in suite.asked:
            if block.kind != "refused" and block.expectation(state):
                yield state, block


def _suite_outcomes(path: Path, own: bool) -> Iterator[Outcome]:
    """Asks each statement of a suite at each state; all are errors if the world fails."""
    statements, worlds = _support("statements"), _support("worlds")
    worlds.FOLDER = path.parents[1] / "worlds"
    suite = statements.read(path)
    every = suite.states or tuple(worlds.statements(worlds.FOLDER / f"{suite.world}.sql"))
    run, broken = None, None
    try:
        for state, block in _blocks(suite, every):
            if broken is None:
                try:
                    run = statements.Run(suite) if run is None else run
                    run.go_to(state)
                except FAILURES as error:
                    print(f"{path.name} at {state}: {error}", file=sys.stderr)
                    broken = {"by": "error", "code": type(error).__name__}
            assert run is not None or broken is not None
            found = broken or outcome_of(run.session, block.text)  # type: ignore[union-attr]
            yield Outcome("statements", path.stem, block.text, state, own=own, **found)
    finally:
        if run is not None:
            run.close()


def _suite_count(path: Path) -> int:
    statements, worlds = _support("statements"), _support("worlds")
    suite = statements.read(path)
    world = path.parents[1] / "worlds" / f"{suite.world}.sql"
    return sum(1 for _ in _blocks(suite, suite.states or tuple(worlds.statements(world))))


# --- SSB and the statements of the gateway's tools


def _ssb_outcomes(places: Places) -> Iterator[Outcome]:
    """Asks SSB's queries and the tools' statements over bare tables, then beside four cubes."""
    import accelerator
    from bench.ssb.cubes import CUBES, constraints
    from bench.ssb.queries import QUERIES
    from tests.gateway.clients.ssb_lake import filled

    root = filled(places.work / "ssb", _SSB_SCALE)
    with accelerator.open(root, session_time_zone="UTC", spark_conf=_CONF) as session:
        for state in ("raw", "cubes"):
            if state == "cubes":
                for _, _, sql in constraints():
                    session.query(sql)
                for cube in CUBES:
                    session.query(cube.create())
            for query in QUERIES if places.wants("ssb") else ():
                found = outcome_of(session, query.sql())
                yield Outcome("ssb", "ssb", query.sql(), state, **found)
            if places.wants("gateway"):
                yield from _tool_outcomes(places, session, state, [q.sql() for q in QUERIES])


def _tool_outcomes(places: Places, session: Any, state: str, more: list[str]) -> Iterator[Outcome]:
    """Asks the tools' statements and `more`, in Trino's dialect, as a gateway does."""
    ask = trino_asker(session)
    asked = {("ssb", sql): False for sql in more}
    asked |= dict.fromkeys(_tools(places.base), False)
    for key in _tools(places.tree):
        asked.setdefault(key, True)
    for (tool, sql), own in asked.items():
        yield Outcome("gateway", tool, sql, state, own=own, **ask(sql))


def _tools(tree: Path) -> list[tuple[str, str]]:
    path = tree / "tests" / "gateway" / "clients" / "bi_statements.toml"
    return [(one["tool"], one["sql"]) for one in tomllib.loads(path.read_text())["statement"]]


def trino_asker(session: Any) -> Callable[[str], dict[str, Any]]:
    """Returns a function that asks one statement of Trino's, by metadata or by a plan."""
    from accelerator.gateway import catalog
    from accelerator.gateway.access.grants import UserAccess
    from accelerator.gateway.trino.requests import nodes
    from accelerator.gateway.trino.requests.parse import request
    from rewrite.client import ClientContext

    metadata = catalog.Metadata(session.services.lake, version="476")
    facts = vars(catalog).get("GatewayFacts") or vars(catalog)["Given"]  # its name till 118c97ea
    capable = frozenset(("PARAMETRIC_DATETIME",))
    asks = nodes.ClientSession(user="ann", catalog="lake", schema="ssb", capabilities=capable)
    client = ClientContext(
        catalog="lake", schema="ssb", user="ann", time_zone="UTC", version="476", now=_NOW
    )
    sees = UserAccess.all().sees

    def ask(sql: str) -> dict[str, Any]:
        try:
            asked = request(sql, asks)
            if isinstance(asked, nodes.Refused | nodes.KillQuery):
                return {"by": "refused", "code": type(asked).__name__}
            if isinstance(asked, nodes.Explain):
                asked = nodes.RunStatement(asked.sql)
            if isinstance(asked, nodes.OfSession):
                return {"by": "metadata"}
            if metadata.answer(asked, asks, sees, facts(), lambda _full: None) is not None:
                return {"by": "metadata"}
            if not isinstance(asked, nodes.RunStatement):
                return {"by": "refused", "code": type(asked).__name__}
            statement = session.queries.read(asked.sql, "trino", client)
            return of_plan(session.queries.plan(statement)[0])
        except FAILURES as error:
            return failure(error)

    return ask


# --- TPC-H and TPC-DS


def _tpc_outcomes(places: Places, short: str) -> Iterator[Outcome]:
    """Asks a suite's queries over bare tables, then beside the base tree's cubes."""
    import accelerator
    from bench.tpc import data

    suite = data.Suite.of(short, TPC_SCALE)
    suite = data.Suite(short, suite.name, suite.title, TPC_SCALE, places.data / suite.root.name)
    warehouse = places.work / suite.name
    warehouse.mkdir()
    with accelerator.open(
        warehouse, create=True, session_time_zone="UTC", spark_conf=_CONF
    ) as session:
        suite.load(data.catalog_of(session.config.catalog_name, warehouse), lambda _table: None)
        session.query(f"USE {suite.name}")
        for state in ("raw", "cubes"):
            if state == "cubes":
                text = (places.base / "bench" / "tpc" / f"{suite.name}.sql").read_text()
                for sql, _name in data._CUBE.findall(text):
                    session.query(sql)
            for sql in suite.queries().values():
                found = outcome_of(session, sql)
                yield Outcome(suite.name, suite.name, sql, state, **found)


# --- all of them


def outcomes(places: Places) -> Iterator[Outcome]:
    """Asks the statements of every source that is wanted."""
    if places.wants("ssb") or places.wants("gateway"):
        yield from _ssb_outcomes(places)
    for short in ("h", "ds"):
        if places.wants(f"tpc{short}"):
            yield from _tpc_outcomes(places, short)
    for path, own in suite_files(places):
        yield from _suite_outcomes(path, own)


def total(places: Places) -> int:
    """Counts the outcomes before any is there."""
    counts = {
        "ssb": 26,
        "gateway": 2 * (len(_tools(places.tree)) + 13),
        "tpch": 44,
        "tpcds": 198,
    }
    fixed = sum(count for source, count in counts.items() if places.wants(source))
    return fixed + sum(_suite_count(path) for path, _ in suite_files(places))


def main(words: list[str] | None = None) -> int:
    """The script."""
    parser = argparse.ArgumentParser(prog="recorder", description=__doc__)
    for name in ("tree", "base", "data", "work", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--only", default="")
    told = parser.parse_args(words)
    only = tuple(told.only.split(",")) if told.only else ()
    given = Places(told.tree.resolve(), told.base.resolve(), told.data, told.work, only)
    import accelerator

    imported = Path(accelerator.__file__).resolve()
    if not imported.is_relative_to(given.tree):
        raise SystemExit(f"the code of {given.tree} was wanted, and {imported} is imported")
    progress, found = Progress(total(given)), []
    for outcome in outcomes(given):
        found.append(asdict(outcome))
        progress.report(outcome.source)
    told.out.write_text(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
