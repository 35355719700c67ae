"""How well daemons look after a store: how far cubes are behind, what is built twice, what is lost.

Daemons, and who commits, are processes of their own; what they did is read from the store. No Java.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import accelerator
from accelerator import Accelerator
from accelerator.common.config.config import Config
from bench.report import Report
from bench.ssb.cubes import CUBES
from bench.ssb.generate import TABLES, generate
from bench.ssb.queries import NAMESPACE
from bench.ssb.workspace import BUILD, Workspace
from tests.accelerator.services.refresh.daemons import (
    ROOT,
    Daemon,
    answers_equal,
    commit,
    committer,
    killed_at_random,
    made,
    wait_covered,
)
from tests.support.pristine import catalog_of

_APPENDS = 10
_SHARE = 0.01
_COMMITS = """
import sys, pathlib
import pyarrow.parquet as pq
from tests.support.pristine import catalog_of
catalog = catalog_of(pathlib.Path(sys.argv[1]))
table = catalog.load_table(sys.argv[2])
rows = pq.read_table(sys.argv[3])
for line in sys.stdin:
    start, count = map(int, line.split())
    table.refresh()
    table.append(rows.slice(start, count))
    print(table.current_snapshot().timestamp_ms, flush=True)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of these parts."""
    parser.add_argument("--scale", type=float, default=0.1, help="of SSB (default 0.1)")
    parser.add_argument("--minutes", type=float, default=10.0, help="of kills (default 10)")
    parser.add_argument("--commits", type=int, default=100, help="for two daemons (default 100)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default 1)")


def lag(options: argparse.Namespace, report: Report) -> None:
    """`lag_s`: from a commit of 1 % more rows until all cubes of SSB cover it, the worst of 10."""
    warehouse = _loaded(options.scale)
    rows = warehouse.parent / "rows.parquet"
    count = int(pq.read_metadata(rows).num_rows)
    more = max(1, int(_fact_rows(warehouse) * _SHARE))
    daemon, seen = Daemon(warehouse, poll_s=Config().refresh_poll_s), list[float]()
    process = subprocess.Popen(
        [sys.executable, "-c", _COMMITS, str(warehouse), f"{NAMESPACE}.lineorder", str(rows)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        with accelerator.open(warehouse) as acc:
            for number in range(_APPENDS + 1):  # the first one warms the daemon up
                process.stdin.write(f"{number * more % (count - more)} {more}\n")
                process.stdin.flush()
                committed = int(process.stdout.readline()) / 1000
                _wait(acc)
                seen.append(time.time() - committed)
    finally:
        process.stdin.close()
        process.wait()
        daemon.stop()
    failed = [one for one in daemon.refreshed if one["error"]]
    report.details["lag"] = {"seconds": seen, "rows": more, "cubes": len(CUBES), "failed": failed}
    report.figures["lag_s"] = max(seen[1:])


def daemons(options: argparse.Namespace, report: Report) -> None:
    """`built_twice`: data files that one of two daemons built though the other one had."""
    root = _emptied("services-daemons")
    made(root)
    both = [Daemon(root), Daemon(root)]
    with committer(root) as process, accelerator.open(root) as acc:
        for number in range(1, options.commits + 1):
            commit(process, f"d.t{number % 2}", number)
        wait_covered(acc, 300)
        ends = [one.stop() for one in both]
        answers_equal(acc, 2)
    done = [list(daemon.refreshed) for daemon in both]
    report.details["daemons"] = {
        "runs": [len(one) for one in done],
        "files": [sum(int(str(one["files"])) for one in each) for each in done],
        "failed": [one for each in done for one in each if one["error"]],
        "ends": ends,
    }
    report.figures["built_twice"] = sum(int(str(one["twice"])) for each in done for one in each)


def killed(options: argparse.Namespace, report: Report) -> None:
    """`lost`: cubes and indexes that don't cover all after daemons were killed at random."""
    root = _emptied("services-killed")
    made(root)
    found = killed_at_random(root, options.seed, seconds=options.minutes * 60)
    report.details["killed"] = found
    report.figures["lost"] = found["lost"]


def _emptied(name: str) -> Path:
    root = (BUILD / "bench" / name).resolve()
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    return root


def _loaded(scale: float) -> Path:
    """SSB in PyIceberg's tables, with cubes that follow it, and the fact's rows beside it."""
    workspace = Workspace.of(scale)
    generate(workspace.parquet, scale, report=lambda *_: None)
    root = _emptied(f"services-lag-{scale:g}")
    warehouse = root / "warehouse"
    warehouse.mkdir(parents=True)
    catalog = catalog_of(warehouse)
    catalog.create_namespace(NAMESPACE)
    for table in TABLES:
        files = sorted((workspace.parquet / table).glob("*.parquet"))
        rows = [plain(pq.read_table(path)) for path in files]
        loaded = catalog.create_table(f"{NAMESPACE}.{table}", rows[0].schema)
        for one in rows:
            loaded.append(one)
        if table == "lineorder":
            pq.write_table(rows[0], root / "rows.parquet")
    catalog.engine.dispose()
    with accelerator.open(warehouse) as acc:
        for cube in CUBES:
            acc.query(cube.create())
            acc.query(f"ALTER CUBE {cube.name} SET REFRESH = ON COMMIT")
    return warehouse


def _fact_rows(warehouse: Path) -> int:
    catalog = catalog_of(warehouse)
    try:
        return int(catalog.load_table(f"{NAMESPACE}.lineorder").scan().count())
    finally:
        catalog.engine.dispose()


def plain(table: pa.Table) -> pa.Table:
    """Without dictionaries, which Iceberg hasn't."""
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def _wait(acc: Accelerator, within_s: float = 300) -> None:
    """Returns once every cube covers the newest snapshot."""
    services, end = acc.services, time.monotonic() + within_s
    for record in services.store.registry().cubes.values():
        while services.builder.missing(services.builder.target(record)):
            if time.monotonic() > end:
                raise TimeoutError(f"{record.name} doesn't follow its table")
            threading.Event().wait(0.01)
