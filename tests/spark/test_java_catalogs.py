"""What an embedded session tells Spark of its catalogs: Spark finds the same tables there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.engines.spark.catalogs.java import java_catalog
from accelerator.errors import ConfigError
from accelerator.iceberg import CatalogSettings
from tests.support.recording.live import LIVE as SPARK
from tests.support.rest_catalog import CREDENTIAL, RestCatalogServer

pytestmark = pytest.mark.spark
LIVE = True


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    found = SqlCatalog("odd", uri=f"sqlite:///{tmp_path / 'm.sqlite'}", warehouse=tmp_path.as_uri())
    found.create_namespace("shop")
    rows = pa.table({"k": pa.array([1, 2, 2], pa.int32()), "s": ["a", "b", None]})
    found.create_table("shop.sales", rows.schema).append(rows)
    yield found
    found.engine.dispose()


def _session(settings: CatalogSettings) -> Any:
    session = SPARK.engine.session.newSession()
    for key, value in java_catalog(settings).properties.items():
        session.conf.set(f"spark.sql.catalog.{settings.name}{key and '.'}{key}", value)
    session.conf.set("spark.sql.defaultCatalog", settings.name)
    return session


def _counted(session: Any) -> list[tuple[int, int]]:
    found = session.sql("SELECT k, count(*) AS n FROM shop.sales GROUP BY k ORDER BY k").collect()
    return [tuple(row) for row in found]


def test_sqlite_under_another_name(catalog: SqlCatalog, tmp_path: Path) -> None:
    """The store is beside the warehouse, and what Spark has committed is there."""
    properties = {"uri": catalog.properties["uri"], "warehouse": tmp_path.as_uri()}
    session = _session(CatalogSettings("odd", "sql", properties))
    assert _counted(session) == [(1, 1), (2, 2)]
    session.sql("INSERT INTO shop.sales VALUES (3, 'c')")
    with accelerator.attach(session) as acc:
        assert acc.config.store == f"{tmp_path.as_uri()}/.accelerator"
        answer = acc.query("SELECT count(*) AS n FROM shop.sales")
        assert answer.arrow().to_pylist() == [{"n": 4}]
        assert answer.metrics.rewritten


def test_rest(catalog: SqlCatalog) -> None:
    with RestCatalogServer(catalog).running() as server:
        properties = {"uri": server.uri, "credential": CREDENTIAL}
        session = _session(CatalogSettings("far", "rest", properties))
        assert _counted(session) == [(1, 1), (2, 2)]
        with pytest.raises(ConfigError, match="where the catalog far has its warehouse"):
            accelerator.attach(session)


def test_which_catalog_has_the_store(catalog: SqlCatalog, tmp_path: Path) -> None:
    properties = {"uri": catalog.properties["uri"], "warehouse": tmp_path.as_uri()}
    session = _session(CatalogSettings("odd", "sql", properties))
    session.conf.set("spark.sql.defaultCatalog", "spark_catalog")
    with pytest.raises(ConfigError, match="Spark's Iceberg catalogs are lake, odd"):
        accelerator.attach(session)


@pytest.mark.parametrize(("name", "inside"), [("wh 3#a%20b", False), ("wh 3 ü[x]*", True)])
def test_a_warehouse_with_odd_characters_in_its_path(
    tmp_path: Path, name: str, inside: bool
) -> None:
    """Spark has the very file that is read here, not what its name would be decoded to."""
    folder = tmp_path / name
    with accelerator.open(folder, create=True) as acc:
        settings = acc.services.lake.settings[0]
        session = _session(settings)
        session.sql(f"CREATE NAMESPACE {settings.name}.shop")
        session.sql(f"CREATE TABLE {settings.name}.shop.sales AS SELECT 1 AS k")
        answer = acc.query("SELECT count(*) AS n FROM shop.sales")
        assert answer.arrow().to_pylist() == [{"n": 1}]
        assert not acc.spark_started
    assert (folder / "shop" / "sales" / "data").is_dir() is inside
