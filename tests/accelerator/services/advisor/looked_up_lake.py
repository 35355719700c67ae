"""A table in which single rows are looked up, and the log of that, made without Java."""

from __future__ import annotations

import hashlib

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

from accelerator import Accelerator
from tests.accelerator.services.advisor.asked_lake import log

FILES, EACH = 8, 2_000


def code(i: int) -> str:
    """A text of its own for each row, in no order."""
    return hashlib.blake2b(str(i).encode(), digest_size=8).hexdigest()


def lookup(i: int) -> str:
    """A statement that finds the row of that number."""
    return f"SELECT code, price FROM d.f WHERE code = '{code(i)}'"


def fill(catalog: SqlCatalog) -> None:
    """The table d.f, of eight data files."""
    catalog.create_namespace("d")
    rows = range(FILES * EACH)
    table = pa.table(
        {
            "code": [code(i) for i in rows],
            "price": pa.array([i % 101 for i in rows], pa.int64()),
        }
    )
    fact = catalog.create_table("d.f", table.schema)
    for file in range(FILES):
        fact.append(table.slice(file * EACH, EACH))


def log_lookups(acc: Accelerator, times: int = 30, **fields: object) -> None:
    """Writes so many lookups, of ten seconds each unless `ms` says otherwise."""
    given = {"ms": 10_000.0, **fields}
    log(acc, *((lookup(i), 1) for i in range(100, 100 + times)), **given)  # type: ignore[arg-type]
