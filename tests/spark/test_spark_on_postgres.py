"""Spark over a catalog in PostgreSQL and one behind REST, in a process that starts it for them.

What Spark has to answer is answered; what it commits is seen in process, and the other way round.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.processes import agreed
from tests.support.postgres import binaries

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(binaries() is None, reason="PostgreSQL's server isn't installed"),
]

_SCRIPT = """
import sys
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from tests.support import postgres
from tests.support.rest_catalog import CREDENTIAL, RestCatalogServer

folder = Path(sys.argv[1])
SALES = pa.table({"store": pa.array([1, 2, 2], pa.int32()), "amount": pa.array([5, 7, 9])})
STORES = pa.table({"id": pa.array([1, 2], pa.int32()), "region": ["north", "south"]})
JOIN = '''SELECT region, sum(amount) AS total FROM shop.sales JOIN more.shop.stores ON store = id
WHERE spark_partition_id() >= 0 GROUP BY region ORDER BY region'''
TOTALS = "SELECT store, sum(amount) AS total FROM shop.sales GROUP BY store ORDER BY store"


def fill(catalog, name, rows):
    catalog.create_namespace("shop")
    catalog.create_table(f"shop.{name}", rows.schema).append(rows)
    return catalog


with postgres.running(postgres.binaries()) as server:
    files = (folder / "files").as_uri()
    prod = fill(SqlCatalog("prod", uri=server.uri, warehouse=files), "sales", SALES)
    behind = {"uri": f"sqlite:///{folder / 'b.db'}", "warehouse": (folder / "b").as_uri()}
    more = fill(SqlCatalog("behind", **behind), "stores", STORES)
    with RestCatalogServer(more, token_requests=50).running() as rest, accelerator.open(
        catalog_name="prod",
        catalog_uri=server.uri,
        catalog_properties={"warehouse": files},
        catalogs={"more": {"type": "rest", "uri": rest.uri, "credential": CREDENTIAL}},
        store=str(folder / "store"),
        spark_master="local[1]",
        spark_conf={"spark.ui.enabled": "false", "spark.log.level": "ERROR"},
    ) as acc:
        found = acc.query(JOIN)
        assert found.metrics.engine == "spark", found.metrics
        assert [tuple(row.values()) for row in found.arrow().to_pylist()] == [
            ("north", 5), ("south", 16)
        ]
        acc.query(f"CREATE CUBE totals AS {TOTALS.partition(' ORDER')[0]}")
        acc.spark.sql("INSERT INTO shop.sales VALUES (1, 100)")
        prod.load_table("shop.sales").append(SALES)
        acc.query("BUILD CUBE totals")
        found = acc.query(TOTALS)
        assert found.metrics.cubes == ("totals",)
        assert [tuple(row.values()) for row in found.arrow().to_pylist()] == [(1, 110), (2, 32)]
        acc.query("ALTER TABLE shop.sales ADD COLUMN note STRING")
        assert acc.query("SELECT count(note) AS n FROM shop.sales").arrow().to_pylist() == [
            {"n": 0}
        ]
    prod.engine.dispose()
print("agreed")
"""


@pytest.mark.long
def test_what_spark_answers_and_commits(tmp_path: Path) -> None:
    agreed(_SCRIPT, tmp_path)
