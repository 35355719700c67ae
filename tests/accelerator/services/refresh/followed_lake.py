"""A lake with a table that is followed, and one pass of a daemon over it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pyarrow as pa

from accelerator import Accelerator
from accelerator.services.maintenance.daemon import Schedule
from accelerator.services.refresh.service import Refreshed
from accelerator.store.journals.claims import Claims
from tests.support.pristine import catalog_of

SCHEMA = pa.schema([("k", pa.int64()), ("g", pa.string())])
CUBE = "CREATE CUBE c AS SELECT g, count(*) AS n, sum(k) AS s FROM d.f GROUP BY g"
ONCE = Schedule(3600, 0, 0)


def rows(number: int, count: int = 10) -> pa.Table:
    table = {"k": range(number, number + count), "g": [f"g{i % 3}" for i in range(count)]}
    return pa.table(table, schema=SCHEMA)


def fill(catalog) -> None:
    catalog.create_namespace("d")
    catalog.create_table("d.f", SCHEMA).append(rows(0))
    catalog.create_table("d.other", SCHEMA).append(rows(0))


def append(acc: Accelerator, *numbers: int, table: str = "d.f") -> None:
    catalog = catalog_of(Path(acc.config.warehouse))
    for number in numbers:
        catalog.load_table(table).append(rows(number))
    catalog.engine.dispose()


def refreshed(acc: Accelerator, schedule: Schedule = ONCE) -> list[Refreshed]:
    """What one pass does."""
    told: list[Refreshed] = []
    acc.maintain(
        schedule, lambda _: None, stop=threading.Event(), rounds=1, tell_refresh=told.append
    )
    return told


def shown(acc: Accelerator, kind: str = "CUBES") -> dict[str, object]:
    (row,) = acc.query(f"SHOW {kind}").arrow().to_pylist()
    return row


def age(acc: Accelerator, seconds: float, key: str) -> None:
    """Makes the last run of a key look so much older."""
    files = acc.services.store.files
    later = Claims(files, now_ms=lambda: time.time_ns() // 1_000_000)
    claim = later.claim(key)
    assert claim is not None and claim.last is not None
    moved = {name: claim.last[name] - int(seconds * 1000) for name in ("began_ms", "ended_ms")}
    claim.end(claim.last | moved)


def key(acc: Accelerator) -> str:
    return f"refresh-{acc.services.store.registry(fresh=True).cubes['c'].id}"
