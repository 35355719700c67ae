"""A statement without PySpark answers, or raises a typed error and changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.support.base_install import Outcome, run
from tests.support.pristine import Pristine

pytestmark = pytest.mark.served

_DOCS = Path(__file__).parents[2] / "docs" / "reference" / "sql.md"
_BLOCKS = re.findall(r"```sql\n(.*?)```", _DOCS.read_text(encoding="utf-8"), re.DOTALL)
_TABLE = re.compile(r"\b(orders|stores|logs)\b")
EXAMPLES = [
    _TABLE.sub(r"shop.\1", line) for block in _BLOCKS for line in block.strip().splitlines()
]
_FINE = "SELECT region, count(*) AS n FROM shop.orders GROUP BY region"
_PRICES = {"decimal": pa.decimal128(9, 2), "double": pa.float64()}


def _lake(price: str, catalog: SqlCatalog) -> None:
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


def _sound(outcomes: list[Outcome]) -> None:
    assert not [one for one in outcomes if one.raised or one.left]
    for one in outcomes:
        if one.code:
            assert one.hint, one
        if one.code == "spark_missing":
            assert "PySpark isn't installed" in one.message
            assert "lakehouse-accelerator[spark]" in one.hint


def _refused(outcomes: list[Outcome]) -> list[str]:
    return [one.sql for one in outcomes if one.code == "spark_missing"]


def _with_objects(examples: list[str]) -> Iterator[str]:
    """Yields each example behind the statements that make what it names, or make room for it."""
    for one in examples:
        if "sales" in one:
            if one.startswith(("CREATE", "UNDROP")):
                yield "DROP CUBE IF EXISTS sales"
            else:
                yield f"CREATE CUBE IF NOT EXISTS sales AS {_FINE}"
        if "needle" in one:
            if one.startswith("CREATE"):
                yield "DROP INDEX IF EXISTS needle"
            else:
                yield "CREATE INDEX IF NOT EXISTS needle ON shop.logs USING BLOOM (trace_id)"
        if "VALIDATE" in one:
            key = "PRIMARY KEY (order_id) NOT ENFORCED"
            yield f"ALTER TABLE shop.orders ADD CONSTRAINT orders_pk {key}"
        yield one


def test_every_example_of_the_reference(tmp_path: Path) -> None:
    folder = Pristine(tmp_path).lake(lambda catalog: _lake("double", catalog))
    outcomes = run(folder, [*_with_objects(EXAMPLES)])
    assert len(_BLOCKS) >= 41
    assert set(EXAMPLES) <= {one.sql for one in outcomes}
    _sound(outcomes)
    assert [one.split()[0] for one in _refused(outcomes)] == [
        *("PUBLISH", "OPTIMIZE", "ALTER", "VERIFY", "SELECT", "SELECT"),
    ]
    # The log has no query yet, and the table has a column `region`.
    others = {one.sql: one.code for one in outcomes if one.code not in ("", "spark_missing")}
    assert sorted(others.values()) == ["relate_invalid", "workload_empty"]


_SKETCH = "SELECT region, approx_count_distinct(customer) AS n FROM shop.orders GROUP BY region"
_REFUSED = [
    f"CREATE CUBE sketch AS {_SKETCH}",
    f"CREATE OR REPLACE CUBE fine AS {_SKETCH}",
    f"EXPLAIN CREATE CUBE sketch AS {_SKETCH}",
    "CREATE CUBE texts AS SELECT upper(region) AS r, count(*) AS n FROM shop.orders GROUP BY 1",
    "CREATE CUBE f AS SELECT region, sum(price * 2) AS s FROM shop.orders GROUP BY region",
    "BUILD CUBE later",
    "PUBLISH CUBE fine",
    "OPTIMIZE shop.orders ZORDER BY (region, order_id) WITH (full = true)",
    "VACUUM shop.orders FULL SNAPSHOTS RETAIN 0 HOURS",
    "ALTER TABLE shop.orders ADD RELATE COLUMN town FROM shop.stores.town"
    " ON shop.orders.store_id = shop.stores.id",
]


def test_what_needs_spark_changes_nothing(tmp_path: Path) -> None:
    folder = Pristine(tmp_path).lake(lambda catalog: _lake("double", catalog))
    prepared = [f"CREATE CUBE fine AS {_FINE}", f"CREATE CUBE later DEFERRED AS {_SKETCH}"]
    outcomes = run(folder, [*prepared, *_REFUSED, _FINE], relate_lookup_rows_max=1)
    _sound(outcomes)
    assert _refused(outcomes) == _REFUSED
    assert outcomes[-1].engine == "duckdb"


def test_what_is_too_large_changes_nothing(tmp_path: Path) -> None:
    folder = Pristine(tmp_path).lake(lambda catalog: _lake("decimal", catalog))
    statements = [
        f"CREATE CUBE fine AS {_FINE}",
        "CREATE INDEX i ON shop.orders USING BLOOM (region)",
        "CREATE OR REPLACE INDEX i ON shop.orders USING BLOOM (region)",
    ]
    later = [
        f"CREATE CUBE fine DEFERRED AS {_FINE}",
        "CREATE INDEX i ON shop.orders USING BLOOM (region) DEFERRED",
    ]
    build = ["BUILD CUBE fine", "BUILD INDEX i", "BUILD ALL ON shop.orders"]
    outcomes = run(folder, [*statements, *later, *build], build_in_process_bytes_max=0)
    _sound(outcomes)
    assert _refused(outcomes) == [*statements, *build]
    assert all("build_in_process_bytes_max" in one.hint for one in outcomes if one.code)
