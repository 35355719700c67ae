"""The same files under a folder's own catalog, SQLite by address, PostgreSQL and REST, by turns.

Forty statements, 27 over flights and the 13 of SSB, have new literals in each round. No session has
a cube, an index or anything else to help. DuckDB over the very files is what they're compared with.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import sqlglot
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from bench import flights
from bench.compare import Answer, difference
from bench.ssb import generate
from bench.ssb.queries import NAMESPACE as SSB
from bench.ssb.queries import QUERIES, Query
from bench.stats import geometric_mean
from tests.support.postgres import binaries, running
from tests.support.rest_catalog import CREDENTIAL, RestCatalogServer

_SEED = 65
_FOLDER, _RAW = "folder", "duckdb"
_FIXED_RUNS = 41
Ask = Callable[[str], pa.Table]


@dataclass(frozen=True)
class Statement:
    """A name, the text of a round, and the places of its ORDER BY keys."""

    name: str
    text: Callable[[int], str]
    order_by: tuple[int, ...] = ()


def measure(folder: Path, tell: Callable[[str], None], options: Any) -> dict[str, float]:
    """Ratios of times to the folder's own catalog and to DuckDB over the files, and differences."""
    warehouse = made(folder, options, tell)
    found: dict[str, float] = {"statements": len(_statements(options.rows))}
    with sessions(folder, warehouse) as (systems, accelerated):
        _compare(systems, accelerated, options, tell, found)
    return found


def fixed(folder: Path, tell: Callable[[str], None], options: Any) -> dict[str, float]:
    """Milliseconds of a count by a column over 1,000 rows, above DuckDB's own."""
    warehouse = made(folder, options, tell)
    rng, times = random.Random(_SEED), dict[str, list[float]]()
    with sessions(folder, warehouse) as (systems, _):
        for number in range(_FIXED_RUNS):
            text = flights.FEW.format(**flights.literals(rng, flights.FEW_ROWS))
            for name in turned(list(systems), number):
                times.setdefault(name, []).append(timed(systems[name], text)[0])
    own = statistics.median(times.pop(_RAW))
    found = {f"fixed_{name}_ms": statistics.median(each) - own for name, each in times.items()}
    return {"fixed_ms": found.pop(f"fixed_{_FOLDER}_ms"), "fixed_duckdb_ms": own, **found}


def _compare(
    systems: Mapping[str, Ask],
    accelerated: Mapping[str, Accelerator],
    options: Any,
    tell: Callable[[str], None],
    found: dict[str, float],
) -> None:
    over: dict[str, list[float]] = {name: [] for name in systems if name != _FOLDER}
    differences = elsewhere = 0
    for statement in _statements(options.rows):
        tell(statement.name)
        if not _in_process(accelerated, statement.text(0)):
            elsewhere += 1
            continue
        times: dict[str, list[float]] = {name: [] for name in systems}
        for number in range(options.runs + 1):  # the first one warms up
            text, answers = statement.text(number), {}
            for name in turned(list(systems), number):
                ms, answers[name] = timed(systems[name], text)
                if number:
                    times[name].append(ms)
            raw = Answer(Answer.of(answers[_RAW]).rows)
            for name in accelerated:
                if difference(raw, Answer.of(answers[name]), statement.order_by):
                    differences += 1
        medians = {name: statistics.median(each) for name, each in times.items()}
        for name, ratios in over.items():
            ratios.append(medians[name] / medians[_FOLDER])
        options.details[statement.name] = {name: round(ms, 2) for name, ms in medians.items()}
    raw_ratios = over.pop(_RAW)
    found["differences"], found["left_to_spark"] = differences, elsewhere
    found["time_over_duckdb_raw"] = 1 / geometric_mean(raw_ratios)
    for name, ratios in over.items():
        found[f"{name}_over_folder"] = geometric_mean(ratios)


def turned(names: list[str], number: int) -> list[str]:
    """Returns them in the order of a round: in as many rounds as systems, each has every place."""
    begin = number % len(names)
    return names[begin:] + names[:begin]


def _in_process(accelerated: Mapping[str, Accelerator], text: str) -> bool:
    explained = (one.explain(text, format="json") for one in accelerated.values())
    return all('"engine": "duckdb"' in one for one in explained)


def timed(ask: Ask, text: str) -> tuple[float, pa.Table]:
    start = time.perf_counter()
    answer = ask(text)
    return (time.perf_counter() - start) * 1000, answer


def _statements(rows: int) -> list[Statement]:
    def of(number: int, template: str) -> Statement:
        def text(run: int) -> str:
            return template.format(
                **flights.literals(random.Random(f"{_SEED}/{number}/{run}"), rows)
            )

        return Statement(f"f{number + 1}", text)

    found = [of(number, template) for number, template in enumerate(flights.STATEMENTS)]
    found += [Statement(query.name, partial(_of_ssb, query), query.order_by) for query in QUERIES]
    return found


def _of_ssb(query: Query, run: int) -> str:
    return query.sql(run + 1, _SEED)


def made(folder: Path, options: Any, tell: Callable[[str], None]) -> Path:
    """The warehouse, with flights and SSB; made once for all parts."""
    warehouse = folder / "warehouse"
    if warehouse.exists():
        return warehouse
    warehouse.mkdir()
    catalog = SqlCatalog(
        "lake", uri=f"sqlite:///{warehouse / 'catalog.db'}", warehouse=warehouse.as_uri()
    )
    flights.write(catalog, options.rows, tell)
    generate.generate(folder / "ssb", options.scale)
    catalog.create_namespace(SSB)
    for name in generate.TABLES:
        files = sorted((folder / "ssb" / name).glob("*.parquet"))
        table = None
        for file in files:
            rows = pq.read_table(file)
            table = table or catalog.create_table(f"{SSB}.{name}", rows.schema)
            table.append(rows)
        tell(name)
    catalog.close()
    return warehouse


@contextlib.contextmanager
def sessions(
    folder: Path, warehouse: Path
) -> Iterator[tuple[Mapping[str, Ask], Mapping[str, Accelerator]]]:
    """Whoever answers, by name, and the sessions among them; PostgreSQL if it's installed."""
    with contextlib.ExitStack() as stack:
        given: dict[str, dict[str, Any]] = {
            "sqlite": {"catalog_uri": _named_anew(warehouse, f"sqlite:///{folder}/named.db")}
        }
        programs = binaries()
        if programs is not None:
            server = stack.enter_context(running(programs))
            given["postgres"] = {"catalog_uri": _named_anew(warehouse, server.uri)}
        uri = stack.enter_context(_rest(f"sqlite:///{folder}/named.db"))
        given["rest"] = {"catalog_uri": uri, "catalog_properties": {"credential": CREDENTIAL}}
        found = {_FOLDER: accelerator.open(warehouse, store=str(folder / "store"))}
        stack.enter_context(found[_FOLDER])
        for name, settings in given.items():
            store = str(folder / f"store-{name}")
            found[name] = stack.enter_context(
                accelerator.open(store=store, catalog_name="named", **settings)
            )
        raw = stack.enter_context(contextlib.closing(raw_duckdb(warehouse)))

        def ask_raw(text: str) -> pa.Table:
            return raw.execute(sqlglot.transpile(text, "spark", "duckdb")[0]).to_arrow_table()

        systems: dict[str, Ask] = {name: _asking(one) for name, one in found.items()}
        yield {**systems, _RAW: ask_raw}, found


def _asking(session: Accelerator) -> Ask:
    return lambda text: session.query(text).arrow()


def _named_anew(warehouse: Path, uri: str) -> str:
    """Names the warehouse's tables in another catalog, which knows of no warehouse."""
    own = SqlCatalog("lake", uri=f"sqlite:///{warehouse / 'catalog.db'}")
    other = SqlCatalog("named", uri=uri)
    for namespace in own.list_namespaces():
        other.create_namespace_if_not_exists(namespace)
        for name in own.list_tables(namespace):
            if not other.table_exists(name):
                other.register_table(name, own.load_table(name).metadata_location)
    own.close()
    other.close()
    return uri


@contextlib.contextmanager
def _rest(uri: str) -> Iterator[str]:
    """A REST catalog in a process of its own."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=_serve, args=(uri, there), daemon=True)
    server.start()
    try:
        yield here.recv()
    finally:
        here.send(None)
        server.join()


def _serve(uri: str, pipe: Connection) -> None:
    catalog: Catalog = SqlCatalog("named", uri=uri)
    assert isinstance(catalog, SqlCatalog)
    with RestCatalogServer(catalog, vend=dict).running() as server:
        pipe.send(server.uri)
        pipe.recv()


def raw_duckdb(warehouse: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB over the tables' files, which keeps their footers."""
    connection = duckdb.connect()
    connection.execute("SET parquet_metadata_cache = true")
    catalog = SqlCatalog("lake", uri=f"sqlite:///{warehouse / 'catalog.db'}")
    for (namespace,) in catalog.list_namespaces():
        connection.execute(f"CREATE SCHEMA {namespace}")
        for _, name in catalog.list_tables(namespace):
            tasks = catalog.load_table((namespace, name)).scan().plan_files()
            files = [task.file.file_path.removeprefix("file://") for task in tasks]
            connection.execute(
                f"CREATE VIEW {namespace}.{name} AS SELECT * FROM read_parquet({files!r})"
            )
    catalog.close()
    return connection
