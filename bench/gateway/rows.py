"""Ten million rows, which a client asks for and throws away."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import DateType, DecimalType, IntegerType, LongType, NestedField, StringType

from bench.made_table import make_table

ROWS = 10_000_000
_FILES = 10
_CITIES = np.array([f"CITY {number:04d}" for number in range(1000)])
SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "amount", IntegerType(), required=False),
    NestedField(3, "price", DecimalType(12, 2), required=False),
    NestedField(4, "city", StringType(), required=False),
    NestedField(5, "day", DateType(), required=False),
)
STATEMENT = "SELECT id, amount, price, city, day FROM bench.many"


def _made(number: int) -> pa.Table:
    count = ROWS // _FILES
    draw = np.random.default_rng(number)
    cents = pa.array(draw.integers(0, 10_000_000, count)).cast(pa.decimal128(19, 0))
    return pa.table(
        {
            "id": np.arange(number * count, (number + 1) * count),
            "amount": draw.integers(0, 1_000_000, count).astype(np.int32),
            "price": pa.compute.multiply(
                cents, pa.scalar("0.01", pa.string()).cast(pa.decimal128(3, 2))
            ).cast(pa.decimal128(12, 2)),
            "city": _CITIES[draw.integers(0, len(_CITIES), count)],
            "day": draw.integers(8000, 11000, count).astype("datetime64[D]"),
        }
    )


def make(warehouse: Path) -> None:
    """The table bench.many, where it isn't there yet."""
    marker = warehouse / "rows-made"
    if marker.exists():
        return
    make_table(warehouse, "many", SCHEMA, _made, files=_FILES, group_rows=200_000)
    marker.touch()
