"""One embedded Spark session, over one warehouse in a temporary folder, for all Spark tests."""

from __future__ import annotations

import fcntl
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

import accelerator
from accelerator.engines.spark import SparkEngine, SparkSettings
from accelerator.iceberg import CatalogSettings, Lake, PinnedTable
from accelerator.session import Accelerator
from rewrite.facts import At

MERGE_ON_READ = (
    "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read',"
    " 'write.merge.mode'='merge-on-read'"
)


@dataclass
class SparkWarehouse:
    """The engine, the lake over the same catalog, and fresh table names."""

    root: Path
    engine: SparkEngine
    lake: Lake
    numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def spark(self) -> SparkSession:
        return self.engine.session

    def sql(self, text: str) -> list[Row]:
        return self.spark.sql(text).collect()

    def table(
        self, columns: str, *, version: int = 2, clauses: str = "", properties: str = ""
    ) -> str:
        """Make an empty merge-on-read table; returns its name."""
        name = f"t{next(self.numbers)}"
        listed = ", ".join(
            part for part in (f"'format-version'='{version}'", MERGE_ON_READ, properties) if part
        )
        self.sql(
            f"CREATE TABLE lake.d.{name} ({columns}) USING iceberg {clauses}"
            f" TBLPROPERTIES ({listed})"
        )
        return name

    def pinned(self, name: str, at: At = At()) -> PinnedTable:  # noqa: B008 - immutable
        found = self.lake.pin().pinned(("lake", "d", name), at)
        assert found is not None
        return found


@pytest.fixture(scope="session")
def spark_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkWarehouse]:
    root = tmp_path_factory.mktemp("warehouse")
    settings = SparkSettings(
        master="local[2]",
        driver_memory="2g",
        conf={
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "UTC",
            # Compiling a plan takes longer than interpreting it over so few rows.
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        },
    )
    engine = SparkEngine.embedded(f"file://{root}/", "lake", str(root / "catalog.db"), settings)
    assert not engine.started
    properties = {"uri": f"sqlite:///{root / 'catalog.db'}", "warehouse": f"file://{root}/"}
    lake = Lake([CatalogSettings("lake", "sql", properties)], "lake", lambda: ("d",))
    warehouse = SparkWarehouse(root, engine, lake)
    with (root.parent.parent / "spark.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the first one of several processes fetches Spark's jars
        warehouse.sql("CREATE NAMESPACE lake.d")
    yield warehouse
    engine.stop()


@pytest.fixture(scope="session")
def acc(
    spark_warehouse: SparkWarehouse, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Accelerator]:
    """A session attached to the one Spark session, with a store of its own."""
    store = tmp_path_factory.mktemp("store")
    with accelerator.attach(spark_warehouse.spark, store=str(store)) as session:
        yield session
