"""Builds on S3 that are killed at random points: what the next full vacuum doesn't find of them.

The server is in a process of its own (`bench/s3_server.py`), and so is each builder, which is
killed by SIGKILL. A builder makes a segment for each of several data files, with a commit each. The
vacuum's clock is an hour ahead, since a dead process's lease counts for ten minutes.

`python -m bench.killed_builds CATALOG ENDPOINT` is a builder: it prints when its build begins.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

import accelerator
from accelerator.store import Retention, Store
from bench.s3_server import BUCKET, KEYS, REGION, WAREHOUSE, S3Server, s3_server

BUILDS = 50
_FILES, _ROWS, _SEED = 8, 2_000, 11
_FIGURES = ("", "_unfinished", "_lost", "_orphans", "_uploads", "_differences")
_HOUR_MS = 3_600_000
_ROOT = f"{WAREHOUSE}/.accelerator"
_CUBE = "CREATE CUBE c DEFERRED AS SELECT a, b, count(*) AS n, sum(v) AS s FROM d.t GROUP BY a, b"
_ASKED = "SELECT a, count(*) AS n, sum(v) AS s FROM d.t GROUP BY a ORDER BY a"


def measure(folder: Path, tell: Callable[[str], None], builds: int = BUILDS) -> dict[str, float]:
    """Counts killed builds of which a file stayed that no version names, and wrong answers."""
    found = dict.fromkeys(map("killed_builds{}".format, _FIGURES), 0)
    with s3_server() as server:
        endpoint = server.endpoint
        catalog_uri = f"sqlite:///{folder / 'catalog.db'}"
        catalog = SqlCatalog("lake", uri=catalog_uri, **S3Server(endpoint).catalog_properties)
        catalog.create_namespace("d")
        rows = _rows(random.Random(_SEED), 10)
        table = catalog.create_table("d.t", rows.schema)
        table.append(rows)
        with _open(catalog_uri, endpoint, folder) as acc:
            acc.query(_CUBE)
        chance = random.Random(_SEED)
        _append(table, chance)
        lasts = _kill(catalog_uri, endpoint, folder, None) or 0.0
        for number in range(builds):
            tell(f"build {number + 1} of {builds}")
            _append(table, chance)
            took = _kill(catalog_uri, endpoint, folder, chance.uniform(0, lasts))
            found["killed_builds"] += 1
            found["killed_builds_unfinished"] += took is None
            orphans, left = _vacuumed(str(table.metadata.table_uuid), endpoint)
            found["killed_builds_orphans"] += orphans
            found["killed_builds_lost"] += left > 0
            found["killed_builds_uploads"] += _uploads(endpoint)
            found["killed_builds_differences"] += not _is_right(catalog_uri, endpoint, folder)
        catalog.engine.dispose()
    return {name: float(value) for name, value in found.items()}


def _append(table: Table, chance: random.Random) -> None:
    for _ in range(_FILES):
        table.append(_rows(chance, _ROWS))


def _rows(chance: random.Random, count: int) -> pa.Table:
    return pa.table(
        {
            "a": pa.array([chance.randrange(20) for _ in range(count)], pa.int64()),
            "b": pa.array([chance.randrange(2_000) for _ in range(count)], pa.int64()),
            "v": pa.array([chance.randrange(1_000) for _ in range(count)], pa.int64()),
        }
    )


def _open(catalog_uri: str, endpoint: str, folder: Path, **more: Any) -> accelerator.Accelerator:
    return accelerator.open(
        catalog_name="lake",
        catalog_uri=catalog_uri,
        catalog_properties=S3Server(endpoint).catalog_properties,
        segment_cache_folder=str(folder / "copies"),
        build_files_per_job=1,
        **more,
    )


def _kill(catalog_uri: str, endpoint: str, folder: Path, after_s: float | None) -> float | None:
    """Runs a builder, and kills it so long after its build began; None: it lives.

    Returns the seconds of a build that ended before it was killed, else None.
    """
    command = [sys.executable, "-m", "bench.killed_builds", catalog_uri, endpoint, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as builder:
        assert builder.stdout is not None
        if builder.stdout.readline() != "begins\n":
            raise RuntimeError("the builder didn't begin")
        began = time.monotonic()
        if after_s is not None:
            time.sleep(after_s)
            os.kill(builder.pid, signal.SIGKILL)
        done = builder.stdout.readline() == "done\n"
        return time.monotonic() - began if done else None


def _vacuumed(table_uuid: str, endpoint: str) -> tuple[int, int]:
    """Vacuums once; how many orphans it deleted, and how many files stay that nobody names."""
    store = Store.open(
        _ROOT,
        options=S3Server(endpoint).store_options,
        now_ms=lambda: int(time.time() * 1000) + _HOUR_MS,
    )
    report = store.vacuum(table_uuid, Retention(0, versions_min=1), full=True)
    orphans = sum(one.files for one in report.lines if "orphan" in one.reason)
    version = store.table(table_uuid)
    named = {segment.path for cube in version.cubes for segment in version.of(cube)}
    prefix = f"tables/{table_uuid}"
    files = {store.files.uri(path) for path in store.files.list(f"{prefix}/cubes")}
    return orphans, len(files - named) + len(store.files.list(f"{prefix}/jobs"))


def _uploads(endpoint: str) -> int:
    """Incomplete multipart uploads, which no listing of files shows."""
    import boto3

    client = boto3.client("s3", endpoint_url=endpoint, region_name=REGION, **KEYS)
    return len(client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", []))


def _is_right(catalog_uri: str, endpoint: str, folder: Path) -> bool:
    """Whether the cube and the rows beside it give what the rows alone do."""
    with _open(catalog_uri, endpoint, folder) as acc:
        found = acc.query(_ASKED)
        by_cube = found.metrics.cubes == ("c",)
        whole = list(found)
    with _open(catalog_uri, endpoint, folder, store=str(folder / "no cubes")) as acc:
        return by_cube and whole == list(acc.query(_ASKED))


def main(catalog_uri: str, endpoint: str, folder: str) -> None:
    """Builds what the cube lacks."""
    with _open(catalog_uri, endpoint, Path(folder)) as acc:
        acc.query("SELECT count(*) AS n FROM d.t")
        print("begins", flush=True)
        acc.query("BUILD CUBE c")
        print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:4])
