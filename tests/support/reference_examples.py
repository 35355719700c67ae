"""The examples of `docs/reference/sql.md`, and a lake with the tables that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

_DOCS = Path(__file__).parents[2] / "docs" / "reference" / "sql.md"
BLOCKS = re.findall(r"```sql\n(.*?)```", _DOCS.read_text(encoding="utf-8"), re.DOTALL)
_TABLE = re.compile(r"\b(orders|stores|logs)\b")
FINE = "SELECT region, count(*) AS n FROM shop.orders GROUP BY region"
_PRICES = {"decimal": pa.decimal128(9, 2), "double": pa.float64()}


def statements_of(block: str) -> list[str]:
    """Returns a block's statements, one a line, over the tables of `lake`."""
    return [_TABLE.sub(r"shop.\1", line) for line in block.strip().splitlines()]


EXAMPLES = [one for block in BLOCKS for one in statements_of(block)]


def lake(price: str, catalog: SqlCatalog) -> None:
    """Fills the tables; the column `price` has that type, `decimal` or `double`."""
    rows = range(4)
    orders = pa.table(
        {
            "order_id": pa.array(rows, pa.int64()),
            "region": ["east", "west", "east", None],
            "customer": ["a", "b", "a", "c"],
            "store_id": pa.array([1, 2, 1, None], pa.int32()),
            "placed": pa.array(
                [datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in rows], pa.timestamp("us", "UTC")
            ),
            "ordered_at": pa.array(rows, pa.int32()),
            "price": pa.array([Decimal("1.5"), Decimal(2), None, Decimal(3)]).cast(_PRICES[price]),
        }
    )
    stores = pa.table(
        {
            "id": pa.array([1, 2], pa.int32()),
            "region": ["east", "west"],
            "town": ["x", "y"],
        }
    )
    logs = pa.table({"trace_id": ["x", "y"]})
    catalog.create_namespace("shop")
    for name, table in (("orders", orders), ("stores", stores), ("logs", logs)):
        made = catalog.create_table(f"shop.{name}", table.schema)
        made.append(table)
        if name != "stores":  # whose key is unique
            made.append(table)


def with_objects(examples: Sequence[str]) -> Iterator[str]:
    """Yields each example behind the statements that make what it names, or make room for it."""
    for one in examples:
        if "sales" in one:
            if one.startswith(("CREATE", "UNDROP")):
                yield "DROP CUBE IF EXISTS sales"
            else:
                yield f"CREATE CUBE IF NOT EXISTS sales AS {FINE}"
        if "needle" in one:
            if one.startswith("CREATE"):
                yield "DROP INDEX IF EXISTS needle"
            else:
                yield "CREATE INDEX IF NOT EXISTS needle ON shop.logs USING BLOOM (trace_id)"
        if "VALIDATE" in one:
            key = "PRIMARY KEY (order_id) NOT ENFORCED"
            yield f"ALTER TABLE shop.orders ADD CONSTRAINT orders_pk {key}"
        yield one
