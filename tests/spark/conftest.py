"""What tests of tables and Spark are given: a recorded warehouse for each module, or real Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accelerator.session.session import Accelerator
from tests.support.warehouse import (
    MERGE_ON_READ,
    SparkWarehouse,
    live_warehouse,
    recorded_warehouse,
)

__all__ = ["MERGE_ON_READ", "SparkWarehouse"]


@pytest.fixture(scope="module")
def spark_warehouse(request: pytest.FixtureRequest) -> Iterator[SparkWarehouse]:
    """Recorded, of this module alone; real where the module sets `LIVE`."""
    if getattr(request.module, "LIVE", False):
        yield live_warehouse()
        return
    with recorded_warehouse(request.module.__name__.rpartition(".")[2]) as warehouse:
        yield warehouse


@pytest.fixture(scope="module")
def acc(
    spark_warehouse: SparkWarehouse, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Accelerator]:
    """A session over the warehouse, with a store of its own."""
    with spark_warehouse.attach(store=str(tmp_path_factory.mktemp("store"))) as session:
        yield session


@pytest.fixture
def live_acc(spark_warehouse: SparkWarehouse, acc: Accelerator) -> Iterator[Accelerator]:
    """As `acc`, with its store, over a session of real Spark that is the test's alone."""
    with spark_warehouse.live(store=acc.config.store) as session:
        yield session
