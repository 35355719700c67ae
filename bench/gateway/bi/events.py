"""The table `events`: what people did in a shop, with a date and times with and without a zone.

The Star Schema Benchmark has no column of these types, and tools group by them.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
from pyiceberg.catalog import Catalog

NAME = "events"
ROWS = 20_000
_FIRST, _DAYS = dt.date(2024, 1, 1), 1096
_KINDS = ("view", "click", "cart", "buy", "refund")
_COUNTRIES = ("DE", "FR", "US", "JP", "BR", None)
_COMMENTS = ("", "it's fine", "50% off", "wants snake_case", "Größe fehlt", "a\\b", None)


def events(rows: int = ROWS) -> pa.Table:
    """Returns the rows; the same number gives the same rows."""
    draw = np.random.default_rng(51)
    seconds = np.sort(draw.integers(0, _DAYS * 86_400, rows))
    micros = seconds * 1_000_000 + draw.integers(0, 1_000_000, rows)
    local = np.datetime64(_FIRST, "us") + micros.astype("timedelta64[us]")
    seen = local + draw.integers(0, 3_600_000_000, rows).astype("timedelta64[us]")
    kinds = draw.integers(0, len(_KINDS), rows)
    cents = draw.integers(100, 2_000_000, rows)
    buys = kinds >= _KINDS.index("buy")
    amounts = [Decimal(int(c)) / 100 if b else None for c, b in zip(cents, buys, strict=True)]
    return pa.table(
        {
            "e_id": pa.array(np.arange(1, rows + 1)),
            "e_user": pa.array(draw.integers(1, 500, rows).astype(np.int32)),
            "e_kind": _drawn(_KINDS, kinds),
            "e_country": _drawn(_COUNTRIES, draw.integers(0, len(_COUNTRIES), rows)),
            "e_day": pa.array(local.astype("datetime64[D]")),
            "e_at": pa.array(local),
            "e_seen": pa.array(seen).cast(pa.timestamp("us", "UTC")),
            "e_amount": pa.array(amounts, pa.decimal128(12, 2)),
            "e_score": pa.array(draw.normal(50.0, 15.0, rows)),
            "e_done": pa.array(draw.random(rows) < 0.7),
            "e_comment": _drawn(_COMMENTS, draw.integers(0, len(_COMMENTS), rows)),
        }
    )


def make_events(catalog: Catalog, namespace: str) -> None:
    """Creates the table, unless the namespace has it."""
    name = f"{namespace}.{NAME}"
    if not catalog.table_exists(name):
        rows = events()
        catalog.create_table(name, rows.schema).append(rows)


def _drawn(values: tuple[str | None, ...], which: np.ndarray) -> pa.Array:
    return pa.array([values[one] for one in which], pa.string())
