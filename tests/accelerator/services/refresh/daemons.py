"""Daemons as processes of their own, over a warehouse to which others commit."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

import accelerator
from accelerator import Accelerator
from accelerator.store import Retention, Store
from tests.support.pristine import catalog_of

ROOT = Path(__file__).parents[4]
SCHEMA = pa.schema([("k", pa.int64()), ("g", pa.string())])
_COMMITS = """
import sys, pathlib
import pyarrow as pa
from tests.accelerator.services.refresh.daemons import rows
from tests.support.pristine import catalog_of
catalog = catalog_of(pathlib.Path(sys.argv[1]))
for line in sys.stdin:
    table = catalog.load_table(line.split()[0])
    table.append(rows(int(line.split()[1])))
    print("done", flush=True)
"""


def rows(number: int) -> pa.Table:
    """Ten rows, from that number on."""
    keys = range(number * 10, number * 10 + 10)
    return pa.table({"k": keys, "g": [f"g{k % 7}" for k in keys]}, schema=SCHEMA)


def made(root: Path, tables: int = 2) -> Path:
    """A warehouse with tables d.t0, d.t1, …, each with a cube and an index that follow it."""
    root.mkdir()
    catalog = catalog_of(root)
    catalog.create_namespace("d")
    for number in range(tables):
        catalog.create_table(f"d.t{number}", SCHEMA).append(rows(0))
    catalog.engine.dispose()
    with accelerator.open(root) as acc:
        for number in range(tables):
            acc.query(
                f"CREATE CUBE c{number} AS SELECT g, count(*) AS n, sum(k) AS s"
                f" FROM d.t{number} GROUP BY g"
            )
            acc.query(f"CREATE INDEX i{number} ON d.t{number} USING BLOOM (k)")
            acc.query(f"ALTER CUBE c{number} SET REFRESH = ON COMMIT")
            acc.query(f"ALTER INDEX i{number} SET REFRESH = ON COMMIT")
    return root


class Daemon:
    """`accelerator serve-maintenance --json` over a warehouse; `told` are its lines."""

    def __init__(self, root: Path, *, poll_s: float = 0.1) -> None:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "ACCELERATOR_REFRESH_POLL_S": str(poll_s),
            "JAVA_HOME": "/nowhere",
        }
        command = ["-m", "accelerator.cli.main", "serve-maintenance", "--json"]
        self._process = subprocess.Popen(
            [sys.executable, *command, "--warehouse", str(root)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.told: list[dict[str, object]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith("\n"):
                self.told.append(json.loads(line))

    @property
    def refreshed(self) -> list[dict[str, object]]:
        """Its refreshes so far."""
        return [one for one in self.told if "artifact" in one]

    def kill(self) -> None:
        """Ends it at once."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stderr is not None
        self._process.stderr.close()

    def stop(self) -> tuple[int, str]:
        """Tells it to stop: its exit code, and what it said of errors."""
        self._process.send_signal(signal.SIGTERM)
        assert self._process.stderr is not None
        errors = self._process.stderr.read()
        code = self._process.wait(timeout=60)
        self._reader.join()
        return code, errors


@contextmanager
def committer(root: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that commits to the tables; see `commit`."""
    process = subprocess.Popen(
        [sys.executable, "-c", _COMMITS, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        yield process
    finally:
        process.stdin.close()  # type: ignore[union-attr]
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]


def commit(process: subprocess.Popen[str], table: str, number: int) -> None:
    """Appends `rows(number)` to the table, and waits for that."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{table} {number}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"


def lacking(acc: Accelerator) -> list[str]:
    """The cubes and indexes that don't cover their tables."""
    found = []
    for kind, what in (("cube", "CUBES"), ("index", "INDEXES")):
        for row in acc.query(f"SHOW {what}").arrow().to_pylist():
            if row["status"] != "complete" or row["lag_s"]:
                found.append(f"{kind} {row[kind]}: {row['status']} {row['last_error']}")
    return found


def wait_covered(acc: Accelerator, within_s: float = 60) -> None:
    """Returns once all are up to date."""
    end = time.monotonic() + within_s
    while left := lacking(acc):
        assert time.monotonic() < end, left
        threading.Event().wait(0.05)


def orphans(acc: Accelerator) -> list[str]:
    """Files of the store that nothing names, of all but version files and leases."""
    store = acc.services.store
    registry = store.registry(fresh=True)
    named = set()
    for uuid in store.tables():
        version = store.table(uuid)
        for one in registry.building:
            named |= {segment.path for segment in version.of(one)}
    found = []
    for path in store.files.list("tables"):
        folder = path.split("/")[2]
        if folder == "jobs" or (folder == "cubes" and store.files.uri(path) not in named):
            found.append(path)
    ids = {f"refresh-{one}" for one in registry.building}
    ids |= {f"vacuum-{uuid}" for uuid in store.tables()} | {"query-log"}
    services = store.files.list("services/v1")
    found += [path for path in services if path.split("/")[2] not in ids]
    return found + services[8 * len(ids) :]


def vacuumed_later(acc: Accelerator) -> None:
    """Full vacuums, once the leases of killed processes have ended."""
    later = time.time_ns() // 1_000_000 + 3_600_000
    store = Store.open(acc.config.store_root, now_ms=lambda: later)
    for uuid in store.tables():
        for _ in range(3):  # versions must come between garbage and its end
            store.vacuum(uuid, Retention(0, versions_min=1), full=True)


def answers_equal(acc: Accelerator, tables: int) -> None:
    """Compares with what was committed."""
    for number in range(tables):
        committed = catalog_of(Path(acc.config.warehouse))
        rows = committed.load_table(f"d.t{number}").scan().to_arrow()
        committed.engine.dispose()
        expected = rows.group_by("g").aggregate([("k", "count"), ("k", "sum")]).to_pylist()
        found = acc.query(
            f"SELECT g, count(*) AS n, sum(k) AS s FROM d.t{number} GROUP BY g ORDER BY g"
        )
        assert found.metrics.cubes == (f"c{number}",)
        assert found.arrow().to_pylist() == sorted(
            ({"g": r["g"], "n": r["k_count"], "s": r["k_sum"]} for r in expected),
            key=lambda r: r["g"],
        )


def killed_at_random(
    root: Path, seed: int, *, seconds: float = 0, least: int = 2, tables: int = 2
) -> dict[str, int]:
    """Kills daemons at random moments while another process commits; all is covered in the end.

    For so many seconds, and `least` so many.
    Gives how many commits, kills and files built twice there were, and files `lost`: not covered.
    """
    chance = random.Random(seed)
    number = kills = twice = 0
    end = time.monotonic() + seconds
    with committer(root) as process, accelerator.open(root) as acc:
        while kills < least or time.monotonic() < end:
            daemon = Daemon(root)
            began, until = time.monotonic(), 0.0
            while not until or time.monotonic() < until:
                if not until and (daemon.refreshed or time.monotonic() > began + 10):
                    until = time.monotonic() + chance.uniform(0, 1.5)
                number += 1
                commit(process, f"d.t{chance.randrange(tables)}", number)
                threading.Event().wait(chance.uniform(0, 0.3))
            daemon.kill()
            kills += 1
            twice += sum(int(str(one["twice"])) for one in daemon.refreshed)
        last = Daemon(root)  # it goes on at once with what the killed ones had begun
        commit(process, "d.t0", number := number + 1)
        wait_covered(acc)
        code, errors = last.stop()
        assert (code, errors) == (0, ""), errors
        lost = len(lacking(acc))
        answers_equal(acc, tables)
        vacuumed_later(acc)
        assert orphans(acc) == []
        answers_equal(acc, tables)
        assert not acc.spark_started
    return {"commits": number, "kills": kills, "twice": twice, "lost": lost}
