"""A small shop without a JVM: orders of four months, items, customers, cubes and an index."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

import accelerator
from tests.support.pristine import catalog_of

_ORDERS = pa.schema(
    [("id", pa.int64()), ("day", pa.date32()), ("region", pa.string()), ("item", pa.int32()),
     ("customer", pa.int32()), ("quantity", pa.int32()), ("price", pa.decimal128(10, 2)),
     ("weight", pa.float64()), ("note", pa.string())]
)  # fmt: skip
_ITEMS = pa.schema([("item", pa.int32()), ("brand", pa.string()), ("category", pa.string())])
_CUSTOMERS = pa.schema([("customer", pa.int32()), ("name", pa.string()), ("city", pa.string())])
_EVENTS = pa.schema([("kind", pa.string()), ("at", pa.timestamp("us")), ("size", pa.int64())])
_REGIONS, _KINDS = ("north", "south", "east", "west"), ("click", "view", "buy")
_ROWS, _MONTHS = 2000, 4

ARTIFACTS = (
    "CREATE CUBE sales_by_region AS SELECT region, day, sum(price) AS revenue, count(*) AS orders"
    " FROM shop.orders GROUP BY region, day",
    "CREATE CUBE sales_by_brand AS SELECT i.brand, o.region, sum(o.quantity) AS pieces"
    " FROM shop.orders o JOIN shop.items i ON o.item = i.item GROUP BY i.brand, o.region",
    "CREATE CUBE sales_by_category AS SELECT i.category, sum(o.quantity) AS pieces"
    " FROM shop.orders o JOIN shop.items i ON o.item = i.item GROUP BY i.category",
    "CREATE CUBE dear_orders AS SELECT region, count(*) AS orders FROM shop.orders"
    " WHERE price > 90 GROUP BY region",
    "CREATE CUBE sales_by_customer DEFERRED AS SELECT customer, sum(quantity) AS pieces"
    " FROM shop.orders GROUP BY customer",
    "CREATE INDEX of_note ON shop.orders USING BITMAP (note)",
    "BUILD INDEX of_note",
)


def make(root: Path) -> None:
    """The warehouse, its artifacts built in process."""
    catalog = catalog_of(root)
    catalog.create_namespace("shop")
    orders = catalog.create_table("shop.orders", _ORDERS)
    for month in range(_MONTHS):
        orders.append(_orders(month))
    catalog.create_table("shop.items", _ITEMS).append(_items())
    catalog.create_table("shop.customers", _CUSTOMERS).append(_customers())
    events = catalog.create_table("shop.events", _EVENTS)
    with events.update_spec() as update:
        update.add_identity("kind")
    events.append(_events())
    with accelerator.open(root) as acc:
        for sql in ARTIFACTS:
            acc.query(sql)
        assert not acc.spark_started


def _orders(month: int) -> pa.Table:
    first = date(2024, 1 + month, 1)
    numbers = range(month * _ROWS, (month + 1) * _ROWS)
    rows = [
        (n, first + timedelta(days=n % 28), _REGIONS[n * 7 % 4], n % 50, n * 31 % 200, n % 9 + 1,
         Decimal(n * 37 % 10_000) / 100, n % 11 / 4, f"note {n * 13 % 400}")
        for n in numbers
    ]  # fmt: skip
    return pa.table(list(map(list, zip(*rows, strict=True))), _ORDERS)


def _items() -> pa.Table:
    rows = [(n, f"brand {n % 10}", f"category {n % 3}") for n in range(50)]
    return pa.table(list(map(list, zip(*rows, strict=True))), _ITEMS)


def _customers() -> pa.Table:
    rows = [(n, f"customer {n}", f"city {n % 20}") for n in range(200)]
    return pa.table(list(map(list, zip(*rows, strict=True))), _CUSTOMERS)


def _events() -> pa.Table:
    base = 1_704_067_200_000_000
    rows = [(_KINDS[n % 3], base + n * 1_000_000, n) for n in range(600)]
    return pa.table(list(map(list, zip(*rows, strict=True))), _EVENTS)
