"""What a client gets: latencies beside the session's own, rates, streams, tools, killed workers.

Systems that are compared take turns in one run. The result cache is off but where it's measured.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import statistics
import threading
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trino
from pyiceberg.catalog.sql import SqlCatalog
from rich.console import Console

import accelerator
from bench.gateway import rows
from bench.gateway.bi import measure as bi
from bench.gateway.bi.events import make_events
from bench.gateway.bi.statements import tool_statements
from bench.gateway.doors import asked_at_doors
from bench.gateway.hostile import attacked
from bench.gateway.raw import Counted, asked, connected
from bench.gateway.served import Served, served
from bench.report import Report
from bench.ssb.queries import NAMESPACE, QUERIES
from bench.ssb.workspace import Workspace, build_missing_cubes, open_loaded
from bench.steps import Steps, noise_into
from tests.gateway.clients.ssb_lake import calendar

_TOOLS = Path(__file__).parents[2] / "tests" / "gateway" / "clients" / "bi_statements.toml"
_SESSIONS = 1000
_KILL_S = 10.0
_OFF = {"cache_bytes": 0}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `python -m bench gateway`."""
    parser.add_argument("--scale", type=float, default=0.1, help="of SSB (default 0.1)")
    parser.add_argument("--json", type=Path, default=Path("build/gateway.json"))
    parser.add_argument("--rounds", type=int, default=20, help="of the 13 queries (default 20)")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each rate (default 10)")
    parser.add_argument("--bi-rounds", type=int, default=3, help="of the part bi (default 3)")
    parser.add_argument(
        "--bi-one-in", type=int, default=1, help="one in so many statements of the part bi"
    )
    parser.add_argument("--statements", type=int, default=10_000, help="while workers are killed")
    parser.add_argument(
        "--hostile-seconds", type=float, default=120.0, help="of the attack (default 120)"
    )
    parser.add_argument(
        "--only",
        help="parts, with commas: latency,rates,idle,stream,tools,bi,killed,hostile,doors",
    )


@dataclass(frozen=True, slots=True)
class _Bench:
    options: argparse.Namespace
    warehouse: Path
    log: Path
    report: Report


def run(options: argparse.Namespace) -> int:
    """Runs the bench; 1 where an answer differed or a statement failed."""
    workspace, steps = Workspace.of(options.scale), Steps(Console())
    settings = {"scale": options.scale, "rounds": options.rounds, "seconds": options.seconds}
    report = Report("gateway", options.json, settings)
    with noise_into(workspace.root / "stderr.log"):
        acc = open_loaded(workspace, steps)
        try:
            build_missing_cubes(acc, steps)
        finally:
            acc.close()
        with steps.step(f"Make a table of {rows.ROWS:,} rows, a calendar and events"):
            rows.make(workspace.warehouse)
            _make_small_tables(workspace)
    bench = _Bench(options, workspace.warehouse, workspace.root / "gateway.log", report)
    wanted = options.only.split(",") if options.only else list(_PARTS)
    for name in wanted:
        with steps.step(f"Measure: {name}"):
            _PARTS[name](bench)
        report.save()
    report.complete = not options.only
    report.save()
    for name, value in report.figures.items():
        print(f"{name}\t{value:g}")
    wrong = ("failed", "hostile_failed", "doors_leaking")
    is_wrong = any(report.figures.get(name) for name in wrong) or report.details.get("differ")
    return 1 if is_wrong else 0


def _make_small_tables(workspace: Workspace) -> None:
    """Makes the days of `dates` as dates, and events, which tools draw charts by."""
    folder = workspace.warehouse
    catalog = SqlCatalog(
        "lake", uri=f"sqlite:///{folder / 'catalog.db'}", warehouse=f"file://{folder}"
    )
    if not catalog.table_exists(f"{NAMESPACE}.calendar"):
        dates = catalog.load_table(f"{NAMESPACE}.dates").scan().to_arrow()
        days = calendar(dates)
        catalog.create_table(f"{NAMESPACE}.calendar", days.schema).append(days)
    make_events(catalog, NAMESPACE)
    catalog.close()


def _drawn(seed: int, rounds: int) -> list[str]:
    """The 13 queries so often, with literals that no other seed has."""
    return [query.sql(1 + number, seed) for number in range(rounds) for query in QUERIES]


def _client(at: Served) -> trino.dbapi.Connection:
    return trino.dbapi.connect(
        host=at.host, port=at.port, user="bench", catalog="lake", schema=NAMESPACE, timezone="UTC"
    )


def _asked_by_client(connection: trino.dbapi.Connection, sql: str) -> tuple[list[Any], float]:
    begin = time.perf_counter()
    cursor = connection.cursor()
    cursor.execute(sql)
    found = cursor.fetchall()
    return found, (time.perf_counter() - begin) * 1000


def _latency(bench: _Bench) -> None:
    """The same statements by the session itself and by Python's client, in turns."""
    figures, details = bench.report.figures, bench.report.details
    own: list[float] = []
    theirs: list[float] = []
    differ: list[str] = []
    with (
        accelerator.open(bench.warehouse, session_time_zone="UTC") as acc,
        served(bench.warehouse, bench.log, **_OFF) as at,
    ):
        client = _client(at)
        for sql in _drawn(7, 4):  # each worker has seen each query
            acc.query(sql)
            _asked_by_client(client, sql)
        for sql in _drawn(11, bench.options.rounds):
            begin = time.perf_counter()
            answer = acc.query(sql).fetchall()
            own.append((time.perf_counter() - begin) * 1000)
            found, took = _asked_by_client(client, sql)
            theirs.append(took)
            if sorted(map(tuple, found)) != sorted(answer):
                differ.append(sql)
        ones = [_asked_by_client(client, "SELECT 1")[1] for _ in range(300)]
        figures["cube_p50_ms"] = statistics.median(theirs)
        figures["cube_own_p50_ms"] = statistics.median(own)
        figures["cube_added_p50_ms"] = statistics.median(
            there - here for here, there in zip(own, theirs, strict=True)
        )
        figures["select1_p50_ms"] = statistics.median(ones)
        details["java_started"] = at.has_java()
    details["differ"] = differ


def _rates(bench: _Bench) -> None:
    seconds, figures, details = bench.options.seconds, bench.report.figures, bench.report.details
    with served(bench.warehouse, bench.log, **_OFF) as at:
        asked(at.host, at.port, _drawn(3, 4), connections=4, most=13 * 8)
        found = asked(at.host, at.port, _drawn(5, 400), connections=16, seconds=seconds)
        figures["cube_qps"] = found.rate
        details["cube_qps"] = _told(found)
    with served(bench.warehouse, bench.log) as at:
        once = _drawn(3, 1)
        asked(at.host, at.port, once, connections=1, most=26)
        found = asked(at.host, at.port, once, connections=16, seconds=seconds)
        figures["cache_qps"] = found.rate
        details["cache_qps"] = _told(found)


def _told(found: Counted) -> dict[str, Any]:
    ordered = sorted(found.latencies) or [0.0]
    return {
        "answers": found.answers,
        "failed": found.failed,
        "first_failure": found.first_failure,
        "seconds": round(found.seconds, 2),
        "p50_ms": round(ordered[len(ordered) // 2] * 1000, 2),
        "p99_ms": round(ordered[len(ordered) * 99 // 100] * 1000, 2),
    }


def _idle(bench: _Bench) -> None:
    """What the gateway holds for clients that have asked once, and stay connected."""

    async def opened(at: Served, count: int) -> list[Any]:
        held = []
        for _ in range(count):
            connection = await connected(at.host, at.port)
            await connection.rows("SELECT 1")
            held.append(connection)
        return held

    async def measured(at: Served) -> float:
        first = await opened(at, 50)
        before = at.kilobytes("gateway")
        held = await opened(at, _SESSIONS)
        await asyncio.sleep(1.0)
        after = at.kilobytes("gateway")
        for one in (*first, *held):
            one.close()
        return (after - before) / _SESSIONS

    with served(bench.warehouse, bench.log, **_OFF) as at:
        bench.report.figures["idle_session_kb"] = asyncio.run(measured(at))


def _stream(bench: _Bench) -> None:
    """All rows, to a client that throws its bytes away; beside the session's own batches."""
    own, theirs, grown, size = [], [], [], 0

    async def discarded(at: Served) -> int:
        connection = await connected(at.host, at.port)
        try:
            return await connection.rows(rows.STATEMENT)
        finally:
            connection.close()

    with (
        accelerator.open(bench.warehouse) as acc,
        served(bench.warehouse, bench.log, **_OFF) as at,
    ):
        asyncio.run(discarded(at))
        for _ in range(3):
            begin, count = time.perf_counter(), 0
            with acc.stream(rows.STATEMENT) as reader:
                for batch in reader:
                    count += batch.num_rows
            own.append(count / (time.perf_counter() - begin))
            before, peak, over = at.kilobytes(), [0], threading.Event()

            def watch(peak: list[int] = peak, over: threading.Event = over) -> None:
                while not over.wait(0.1):
                    peak.append(at.kilobytes())

            watching = threading.Thread(target=watch)
            watching.start()
            begin = time.perf_counter()
            size = asyncio.run(discarded(at))
            theirs.append(count / (time.perf_counter() - begin))
            over.set()
            watching.join()
            grown.append((max(peak) - before) / 1024)
    figures = bench.report.figures
    figures["stream_rows_per_s"] = statistics.median(theirs)
    figures["stream_share"] = statistics.median(theirs) / statistics.median(own)
    figures["stream_growth_mb"] = max(grown)
    bench.report.details["stream"] = {"own_rows_per_s": own, "growths_mb": grown, "bytes": size}


def _tools(bench: _Bench) -> None:
    """The statements that tools send, and the 13 queries: how many are answered as by Trino.

    Some of them Trino answers by an error, which the file names.
    """
    tools = tomllib.loads(_TOOLS.read_text())["statement"]
    statements = [(one["tool"], one["sql"], one.get("error", "")) for one in tools]
    statements += [("ssb", query.sql(), "") for query in QUERIES]
    failed: list[dict[str, str]] = []
    by_spark: list[str] = []
    with served(bench.warehouse, bench.log) as at:
        client = _client(at)
        for tool, sql, expected in statements:
            before = at.has_java()
            name, said = "", ""
            try:
                _asked_by_client(client, sql)
            except trino.exceptions.TrinoQueryError as error:
                name, said = error.error_name or "?", str(error)[:400]
            except trino.exceptions.Error as error:
                name, said = "?", str(error)[:400]
            if name != expected:
                failed.append({"tool": tool, "sql": sql, "error": said or f"no {expected}"})
            if at.has_java() and not before:
                by_spark.append(sql)
    figures = bench.report.figures
    figures["tools_statements"] = len(statements)
    figures["tools_answered"] = 1 - len(failed) / len(statements)
    bench.report.details["tools"] = {"failed": failed, "started_java": by_spark}


def _bi(bench: _Bench) -> None:
    """Sends the statements that dashboards need: how many are answered, by what, how fast."""
    with served(bench.warehouse, bench.log, **_OFF) as at:
        statements = tool_statements()[:: bench.options.bi_one_in]
        found = bi.ask(at, _client, statements, bench.options.bi_rounds)
    bench.report.figures.update(bi.figures_of(found))
    bench.report.details["bi"] = bi.details_of(found)


def _killed(bench: _Bench) -> None:
    """Workers die every ten seconds while 32 clients ask."""
    over, killed = threading.Event(), [0]
    draw = random.Random(1)
    with served(bench.warehouse, bench.log, **_OFF) as at:
        statements = _drawn(9, 40)

        def kill() -> None:
            while not over.wait(_KILL_S):
                alive = at.workers()
                if alive:
                    os.kill(draw.choice(alive), signal.SIGKILL)
                    killed[0] += 1

        killing = threading.Thread(target=kill)
        killing.start()
        try:
            most = bench.options.statements
            found = asked(at.host, at.port, statements, connections=32, most=most)
        finally:
            over.set()
            killing.join()
    bench.report.figures["failed"] = found.failed
    bench.report.figures["killed_workers"] = killed[0]
    bench.report.details["killed"] = _told(found)


def _hostile(bench: _Bench) -> None:
    """One client without rights attacks while eight ask."""
    seconds = bench.options.hostile_seconds
    found = attacked(
        bench.warehouse, bench.log.parent, _drawn(3, 8), _drawn(15, 400), seconds=seconds
    )
    bench.report.figures.update(found.figures())
    bench.report.details["hostile"] = dict(found.details())


def _doors(bench: _Bench) -> None:
    """Users who may not read a table ask about it in every way."""
    found = asked_at_doors(bench.log.parent)
    bench.report.figures["doors_asked"] = found.asked
    bench.report.figures["doors_leaking"] = found.leaking
    bench.report.details["doors"] = {"seconds": round(found.seconds, 1), "leaks": found.leaks}


_PARTS: dict[str, Callable[[_Bench], None]] = {
    "latency": _latency,
    "rates": _rates,
    "idle": _idle,
    "stream": _stream,
    "tools": _tools,
    "bi": _bi,
    "killed": _killed,
    "hostile": _hostile,
    "doors": _doors,
}
