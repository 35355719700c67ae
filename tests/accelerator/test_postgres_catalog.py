"""A SQL catalog in a PostgreSQL that runs: read, built upon, changed, gone, without a JVM."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from accelerator.errors import AcceleratorError
from accelerator.iceberg import CatalogError
from tests.support.postgres import PASSWORD, PostgresServer, binaries, running

_PROGRAMS = binaries()
pytestmark = pytest.mark.skipif(_PROGRAMS is None, reason="PostgreSQL's server isn't installed")
_SALES = pa.table({"store": pa.array([1, 2, 2], pa.int32()), "amount": pa.array([5, 7, 9])})
_STORES = pa.table({"id": pa.array([1, 2], pa.int32()), "region": ["north", "south"]})
_TOTALS = "SELECT store, sum(amount) AS total FROM shop.sales GROUP BY store"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    assert _PROGRAMS is not None
    with running(_PROGRAMS) as found:
        yield found


@pytest.fixture
def catalog(server: PostgresServer, tmp_path: Path) -> Iterator[SqlCatalog]:
    """With the tables shop.sales and shop.stores, which are gone afterwards."""
    warehouse = tmp_path / "files"
    warehouse.mkdir()
    made = SqlCatalog("prod", uri=server.uri, warehouse=warehouse.as_uri())
    made.create_namespace("shop")
    for name, rows in (("sales", _SALES), ("stores", _STORES)):
        made.create_table(f"shop.{name}", rows.schema).append(rows)
    yield made
    made.engine.dispose()  # its connections, where a test has stopped the server
    made.drop_table("shop.sales")
    made.drop_table("shop.stores")
    made.drop_namespace("shop")
    made.engine.dispose()


@pytest.fixture
def acc(catalog: SqlCatalog, server: PostgresServer, no_java: None) -> Iterator[Accelerator]:
    with accelerator.open(
        catalog_name="prod",
        catalog_uri=server.uri,
        catalog_properties={"warehouse": catalog.properties["warehouse"]},
    ) as session:
        yield session
        assert not session.spark_started


def test_it_is_read_built_upon_and_seen_to_change(acc: Accelerator, catalog: SqlCatalog) -> None:
    assert sorted(acc.query(_TOTALS).fetchall()) == [(1, 5), (2, 16)]
    acc.query(f"CREATE CUBE totals AS {_TOTALS}")
    answer = acc.query(_TOTALS)
    assert sorted(answer.fetchall()) == [(1, 5), (2, 16)]
    assert answer.metrics.cubes == ("totals",)
    catalog.load_table("shop.sales").append(_SALES)
    assert sorted(acc.query(_TOTALS).fetchall()) == [(1, 10), (2, 32)]


def test_properties_are_changed_by_a_commit_of_its_own(
    acc: Accelerator, catalog: SqlCatalog
) -> None:
    acc.query("ALTER TABLE shop.stores ADD CONSTRAINT pk PRIMARY KEY (id) NOT ENFORCED")
    acc.query(
        "ALTER TABLE shop.sales ADD RELATE COLUMN region FROM shop.stores.region"
        " ON sales.store = stores.id"
    )
    assert any("relate" in key for key in catalog.load_table("shop.sales").properties)
    found = acc.query(
        "SELECT sum(amount) AS t FROM shop.sales, shop.stores WHERE store = id AND region = 'south'"
    )
    assert found.fetchall() == [(16,)]


def test_it_stands_beside_another_catalog(
    catalog: SqlCatalog, server: PostgresServer, tmp_path: Path, no_java: None
) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    other = SqlCatalog("more", uri=f"sqlite:///{folder}/m.db", warehouse=folder.as_uri())
    other.create_namespace("shop")
    other.create_table("shop.stores", _STORES.schema).append(_STORES)
    with accelerator.open(
        catalog_name="prod",
        catalog_uri=server.uri,
        catalog_properties={"warehouse": catalog.properties["warehouse"]},
        catalogs={"more": {"uri": f"sqlite:///{folder}/m.db", "warehouse": folder.as_uri()}},
    ) as acc:
        found = acc.query(
            "SELECT region, sum(amount) AS total FROM shop.sales JOIN more.shop.stores"
            " ON store = id GROUP BY region ORDER BY region"
        )
        assert found.fetchall() == [("north", 5), ("south", 16)]
        assert found.metrics.engine == "duckdb"
    other.engine.dispose()


def test_a_wrong_password(server: PostgresServer, tmp_path: Path, no_java: None) -> None:
    with (
        accelerator.open(catalog_uri=server.uri_of("a-guess"), store=str(tmp_path / "s")) as acc,
        pytest.raises(CatalogError, match="password authentication failed") as told,
    ):
        acc.query(_TOTALS)
    assert "can't be reached" in told.value.message
    assert "a-guess" not in f"{told.value.message} {told.value.hint} {acc.config!r}"


def test_a_server_that_goes_and_comes_back(acc: Accelerator, server: PostgresServer) -> None:
    assert acc.query("SELECT count(*) AS n FROM shop.sales").fetchall() == [(3,)]
    server.stop()
    try:
        with pytest.raises(CatalogError, match="can't be reached") as told:
            acc.query(_TOTALS)
        assert PASSWORD not in f"{told.value.message} {told.value.hint}"
        with pytest.raises(AcceleratorError):
            acc.query(f"CREATE CUBE totals AS {_TOTALS}")
    finally:
        server.start()
    assert sorted(acc.query(_TOTALS).fetchall()) == [(1, 5), (2, 16)]
