"""A statement without PySpark answers, or raises a typed error and changes nothing."""

from __future__ import annotations

import re
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
    stores = pa.table({"id": pa.array([1, 2], pa.int32()), "region": ["east", "west"]})
    logs = pa.table({"trace_id": ["x", "y"]})
    catalog.create_namespace("shop")
    for name, table in (("orders", orders), ("stores", stores), ("logs", logs)):
        made = catalog.create_table(f"shop.{name}", table.schema)
        made.append(table)
        made.append(table)


def _sound(outcomes: list[Outcome]) -> None:
    assert not [one for one in outcomes if one.raised or one.left]
    for one in outcomes:
        if one.code:
            assert one.hint, one
        if one.code == "spark_missing":
            assert "PySpark can't be imported" in one.message
            assert "lakehouse-accelerator[spark]" in one.hint


def _refused(outcomes: list[Outcome]) -> list[str]:
    return [one.sql.partition(" SELECT")[0] for one in outcomes if one.code == "spark_missing"]


@pytest.mark.parametrize("price", _PRICES)
def test_every_example_of_the_reference(tmp_path: Path, price: str) -> None:
    folder = Pristine(tmp_path).lake(lambda catalog: _lake(price, catalog))
    outcomes = run(folder, EXAMPLES)
    assert len(outcomes) >= 41
    _sound(outcomes)
    needs_spark = _refused(outcomes)
    assert "PUBLISH CUBE sales AS shop.sales_cube" in needs_spark or price == "double"
    print(*outcomes, sep="\n")
