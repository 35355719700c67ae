"""A warehouse for tests of clients, made by PyIceberg: every type, a large table, a view's place.

What is in it stands here as Python's values, so that a client's answers are compared with these.
"""

from __future__ import annotations

import datetime as dt
import math
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

from tests.support.pristine import catalog_of

LARGE_ROWS = 60_000
CITIES = ("Köln", "Paris", "Rom", 'Wien "x"')

_PAIR = StructType(
    NestedField(33, "x", IntegerType(), required=False),
    NestedField(34, "y", StringType(), required=False),
)
TYPES = Schema(
    NestedField(1, "id", IntegerType(), required=True),
    NestedField(2, "truth", BooleanType(), required=False),
    NestedField(3, "whole", IntegerType(), required=False),
    NestedField(4, "large", LongType(), required=False),
    NestedField(5, "single", FloatType(), required=False),
    NestedField(6, "twice", DoubleType(), required=False),
    NestedField(7, "money", DecimalType(9, 2), required=False),
    NestedField(8, "exact", DecimalType(38, 10), required=False),
    NestedField(9, "words", StringType(), required=False, doc="Texts, of any letters"),
    NestedField(10, "day", DateType(), required=False),
    NestedField(11, "local", TimestampType(), required=False),
    NestedField(12, "moment", TimestamptzType(), required=False),
    NestedField(13, "raw", BinaryType(), required=False),
    NestedField(14, "four", FixedType(4), required=False),
    NestedField(16, "list", ListType(30, IntegerType(), element_required=False), required=False),
    NestedField(
        17,
        "pairs",
        MapType(31, StringType(), 32, IntegerType(), value_required=False),
        required=False,
    ),
    NestedField(18, "pair", _PAIR, required=False),
    NestedField(
        19,
        "deep",
        ListType(
            35,
            StructType(
                NestedField(
                    36,
                    "when",
                    ListType(37, TimestampType(), element_required=False),
                    required=False,
                ),
                NestedField(38, "price", DecimalType(12, 2), required=False),
            ),
            element_required=False,
        ),
        required=False,
    ),
)
TRINO = {
    "id": "integer",
    "truth": "boolean",
    "whole": "integer",
    "large": "bigint",
    "single": "real",
    "twice": "double",
    "money": "decimal(9, 2)",
    "exact": "decimal(38, 10)",
    "words": "varchar",
    "day": "date",
    "local": "timestamp(6)",
    "moment": "timestamp(6) with time zone",
    "raw": "varbinary",
    "four": "varbinary",
    "list": "array(integer)",
    "pairs": "map(varchar, integer)",
    "pair": 'row("x" integer, "y" varchar)',
    "deep": 'array(row("when" array(timestamp(6)), "price" decimal(12, 2)))',
}
"""Types of answers."""
UUIDS = (uuid.UUID("00112233-4455-6677-8899-aabbccddeeff"), uuid.UUID(int=0), None)

_UTC = dt.UTC
ROWS: list[dict[str, Any]] = [
    {
        "id": 0,
        "truth": True,
        "whole": 2**31 - 1,
        "large": 2**63 - 1,
        "single": 1.5,
        "twice": 0.1,
        "money": Decimal("1234567.89"),
        "exact": Decimal("1234567890123456789012345678.0123456789"),
        "words": "Grüße, 世界 🙂 'quoted' \"twice\" \\ back\nline\ttab",
        "day": dt.date(2024, 2, 29),
        "local": dt.datetime(2024, 2, 29, 23, 59, 59, 123456),
        "moment": dt.datetime(2024, 2, 29, 23, 59, 59, 123456, _UTC),
        "raw": bytes(range(256)),
        "four": b"\x00\xff'\"",
        "list": [1, None, -3],
        "pairs": {"a": 1, "b\"'": None},
        "pair": {"x": 7, "y": "seven"},
        "deep": [
            {"when": [dt.datetime(2000, 1, 1, 0, 0, 0, 1), None], "price": Decimal("0.10")},
            None,
        ],
    },
    {
        "id": 1,
        "truth": False,
        "whole": -(2**31),
        "large": -(2**63),
        "single": -0.0,
        "twice": -0.0,
        "money": Decimal("-9999999.99"),
        "exact": Decimal("-9999999999999999999999999999.9999999999"),
        "words": "",
        "day": dt.date(1, 1, 1),
        "local": dt.datetime(1, 1, 1),
        "moment": dt.datetime(1, 1, 1, tzinfo=_UTC),
        "raw": b"",
        "four": b"\x00\x00\x00\x00",
        "list": [],
        "pairs": {},
        "pair": {"x": None, "y": None},
        "deep": [],
    },
    {
        "id": 2,
        "truth": None,
        "whole": 0,
        "large": 2**53 + 1,
        "single": math.inf,
        "twice": math.nan,
        "money": Decimal("0.00"),
        "exact": Decimal("0.0000000001"),
        "words": "\u0000\u2028\u202e",
        "day": dt.date(9999, 12, 31),
        "local": dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
        "moment": dt.datetime(9999, 12, 31, 23, 59, 59, 999999, _UTC),
        "raw": b"\xc3\x28",
        "four": b"\xff\xff\xff\xff",
        "list": [2**31 - 1],
        "pairs": {"": 0},
        "pair": None,
        "deep": [{"when": None, "price": None}],
    },
    {
        "id": 3,
        "single": math.nan,
        "twice": -math.inf,
        "local": dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
        "moment": dt.datetime(1582, 10, 4, 12, 0, 0, 5, _UTC),
        "day": dt.date(1582, 10, 15),
        "deep": [],
    },
    {"id": 4, "single": 3.4028235e38, "twice": 5e-324, "deep": []},
    {"id": 5, "deep": []},
]


def filled(root: Path) -> Path:
    """The folder, with `lake.shop.kinds`, `.keys`, `.sales`, and an odd name in `lake.other`."""
    root.mkdir(parents=True, exist_ok=True)
    catalog = catalog_of(root)
    catalog.create_namespace("shop")
    catalog.create_namespace("other")
    kinds = catalog.create_table("shop.kinds", TYPES, properties={"comment": "Every type"})
    rows = [dict.fromkeys(TRINO) | row for row in ROWS]
    # PyIceberg writes a list of structs that is NULL as an empty one.
    for row in rows:
        row["pairs"] = None if row["pairs"] is None else list(row["pairs"].items())
    kinds.append(pa.Table.from_pylist(rows, schema=kinds.schema().as_arrow()))
    keys = catalog.create_table(
        "shop.keys", Schema(NestedField(1, "key", UUIDType(), required=False))
    )
    given = [None if one is None else one.bytes for one in UUIDS]
    keys.append(pa.table({"key": given}, schema=keys.schema().as_arrow()))
    sales = catalog.create_table("shop.sales", large().schema)
    sales.append(large())
    catalog.create_table("other.a b", large().schema)
    catalog.engine.dispose()
    return root


def large() -> pa.Table:
    """Many rows, the same at each call."""
    at = np.arange(LARGE_ROWS)
    return pa.table(
        {
            "id": pa.array(at, pa.int64()),
            "city": pa.array(np.array(CITIES)[at * 7919 % 4]),
            "price": pa.array((at * 104_729 % 100_000) / 100.0).cast(pa.decimal128(12, 2)),
            "day": pa.array((at % 3000).astype("int32")).cast(pa.date32()),
            "at": pa.array(at * 86_399_000_001 % 10**15).cast(pa.timestamp("us")),
            "x": pa.array(at / 7.0),
        }
    )
