"""A small lake that is asked the same again and again, and its log, made without Java."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

from accelerator import Accelerator
from accelerator.store.journals.query_log.encoding.encode import encoded
from accelerator.store.journals.query_log.paths import path_of
from accelerator.store.journals.query_log.record import LogRecord

ROWS = 20_000
DAY_US = 86_400_000_000
REGIONS = "SELECT region, sum(price) AS s FROM d.f JOIN d.shops ON shop = id GROUP BY region"
KINDS = "SELECT kind, region, count(*) AS n, sum(price) AS s FROM d.f JOIN d.shops ON shop = id"
BY_KIND = f"{KINDS} WHERE kind = 'k1' GROUP BY kind, region"
TOTAL = "SELECT count(*) AS n, max(price) AS m FROM d.f WHERE kind = 'k2'"


def fill(catalog: SqlCatalog) -> None:
    """The tables d.f, of two data files, and d.shops."""
    catalog.create_namespace("d")
    rows = range(ROWS)
    fact = pa.table(
        {
            "line": pa.array(rows, pa.int64()),
            "shop": pa.array([i % 50 for i in rows], pa.int32()),
            "kind": [f"k{i % 7}" for i in rows],
            "price": pa.array([(i * 7919) % 10007 for i in rows], pa.int64()),
        }
    )
    made = catalog.create_table("d.f", fact.schema)
    for start in (0, ROWS // 2):
        made.append(fact.slice(start, ROWS // 2))
    shops = pa.table(
        {"id": pa.array(range(50), pa.int32()), "region": [f"r{i % 5}" for i in range(50)]}
    )
    catalog.create_table("d.shops", shops.schema).append(shops)


class Asked(NamedTuple):
    """One statement of the log: its text, when it began in Unix microseconds, how long it took."""

    sql: str
    at_us: int
    ms: float = 100.0
    cubes: tuple[str, ...] = ()


def log(
    acc: Accelerator,
    *asked: tuple[str, int],
    days_ago: float = 0.0,
    ms: float = 100.0,
    cubes: tuple[str, ...] = (),
    **fields: Any,
) -> None:
    """Writes each text so often, of so many milliseconds each, that many days ago."""
    at_us = int(time.time() * 1_000_000) - int(days_ago * DAY_US)
    texts = [sql for sql, times in asked for _ in range(times)]
    log_each(acc, [Asked(sql, at_us - n, ms, cubes) for n, sql in enumerate(texts)], **fields)


def log_each(acc: Accelerator, asked: Sequence[Asked], **fields: Any) -> None:
    """Writes these."""
    given: dict[str, Any] = {"engine": "duckdb", "process": "session", **fields}
    records = [
        LogRecord(
            id=f"q{number}",
            started_us=one.at_us,
            state="FINISHED",
            sql=one.sql,
            **{"execution_ms": one.ms, "cubes": one.cubes, **given},
        )
        for number, one in enumerate(asked)
    ]
    made = encoded(records, 0)
    name = f"{len(acc.services.store.files.list('log')):032x}"
    path = path_of(made.newest_us, made.oldest_us, name, 1)
    assert acc.services.store.files.create(path, made.data)
