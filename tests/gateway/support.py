"""A warehouse for the gateway's tests, made without Java."""

from __future__ import annotations

import datetime
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

from accelerator.gateway.access.grants import UserAccess
from accelerator.gateway.statements.answer_cache import AnswerCache, AnswerKey, CacheEntry

ROWS = 1000
CITIES = ("Köln", "Paris", 'Wien "x"', "Rom")


def catalog_of(folder: Path) -> SqlCatalog:
    """PyIceberg's catalog of the warehouse, which Spark's JDBC catalog can open too."""
    folder.mkdir(parents=True, exist_ok=True)
    return SqlCatalog(
        "lake",
        uri=f"sqlite:///{folder}/catalog.db",
        warehouse=folder.as_uri(),
        **{"jdbc.schema-version": "V1"},
    )


def sales(rows: int = ROWS) -> pa.Table:
    """`rows` sales: id from 0, k from 0 to 9, city, amount, at (one a second to the year's end)."""
    newest = datetime.datetime(2026, 1, 1, 20, tzinfo=datetime.UTC)
    at = [newest - datetime.timedelta(seconds=rows - 1 - i) for i in range(rows)]
    return pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "k": pa.array([i % 10 for i in range(rows)], pa.int32()),
            "city": [CITIES[i % 4] for i in range(rows)],
            "amount": pa.array([f"{i}.50" for i in range(rows)]).cast(pa.decimal128(12, 2)),
            "at": pa.array(at, pa.timestamp("us", "UTC")),
        }
    )


def filled_cache(folder: Path) -> AnswerCache:
    """A cache with two answers: the first is on disk in the folder."""
    cache = AnswerCache(6_000, 100_000, str(folder), 5_000)
    for words in ("a", "b"):
        key = AnswerKey(words, None, None, None, "", UserAccess.all())
        cache.put(key, CacheEntry((b"x" * 2_000,), {}, {}, {}, 1))
    return cache


def made_warehouse(folder: Path) -> Path:
    """A warehouse with lake.shop.sales, of two data files."""
    catalog = catalog_of(folder)
    catalog.create_namespace("shop")
    table = sales()
    made = catalog.create_table("shop.sales", table.schema)
    made.append(table.slice(0, ROWS // 2))
    made.append(table.slice(ROWS // 2))
    return folder
