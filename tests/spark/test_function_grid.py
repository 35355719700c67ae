"""The grid's record is what plain Spark says: all values where no row raises, and where rows do."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rewrite.render.expressions import Renderer
from tests.rewrite.functions import grid, record
from tests.rewrite.functions.in_process import bound
from tests.spark.conftest import SparkWarehouse

pytestmark = pytest.mark.spark
LIVE = True


@pytest.fixture(scope="module")
def grids(
    spark_warehouse: SparkWarehouse, tmp_path_factory: pytest.TempPathFactory
) -> SparkSession:
    """A session of its own with the grid's table."""
    own: SparkSession = spark_warehouse.spark.newSession()
    record.make_views(own, Path(tmp_path_factory.mktemp("grid")))
    return own


@pytest.mark.parametrize("written", ["as it stands", "as it's rendered for Spark"])
def test_values_are_recorded(grids: SparkSession, written: str) -> None:
    """Types and values of the expressions that raise for no row, by one query for each zone.

    What builds of cubes send to Spark is rendered of the bound expression, and means the same.
    """
    by_zone = defaultdict[str, list[str]](list)
    for line, said in grid.recorded().items():
        if [grid.RAISES] not in said["values"]:
            by_zone[grid.zone_of(line)[0]].append(line)
    assert sum(map(len, by_zone.values())) > 200
    render = Renderer("spark", lambda column: column.name)
    for zone, lines in by_zone.items():
        grids.conf.set("spark.sql.session.timeZone", zone)
        texts = [
            grid.zone_of(line)[1] if written == "as it stands" else render.text(bound(line))
            for line in lines
        ]
        items = [f"{text} AS c{i}" for i, text in enumerate(texts)]
        rows = grids.sql(f"SELECT {', '.join(items)} FROM grid ORDER BY id")
        types, table = [field.dataType.simpleString() for field in rows.schema], rows.toArrow()
        for i, line in enumerate(lines):
            said = grid.recorded()[line]
            values = [grid.plain(value) for value in grid.values_of(table[f"c{i}"])]
            assert (line, types[i], values) == (line, said["type"], said["values"])


@pytest.mark.long
def test_rows_that_raise_are_recorded(grids: SparkSession) -> None:
    """If some row raises: the other rows' values, and that one of these rows raises."""
    raising = [line for line, said in grid.recorded().items() if [grid.RAISES] in said["values"]]
    assert len(raising) > 30
    for line in raising:
        zone, expression = grid.zone_of(line)
        grids.conf.set("spark.sql.session.timeZone", zone)
        values = grid.recorded()[line]["values"]
        told = [i for i, value in enumerate(values) if value != [grid.RAISES]]
        sql = (
            f"SELECT {expression} AS q FROM grid WHERE array_contains(array({{}}), id) ORDER BY id"
        )
        rows = grids.sql(sql.format(", ".join(map(str, told)))).toArrow()["q"]
        found = [grid.plain(value) for value in grid.values_of(rows)]
        assert (line, found) == (line, [values[i] for i in told])
        with pytest.raises((PySparkException, Py4JJavaError)):  # the latter from Java's own
            grids.sql(sql.format(values.index([grid.RAISES]))).collect()
