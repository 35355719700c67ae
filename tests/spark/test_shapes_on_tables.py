"""Statements that differ in constants: the shared plan answers as plain Spark, whatever changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import accelerator
import accelerator.planning.planner
from accelerator.common.statement_metrics import Metrics
from accelerator.services.verification.compare import differ
from accelerator.session.session import Accelerator

pytestmark = pytest.mark.spark


class Trips:
    """A table of trips with a cube over it, and what the accelerator and Spark say of them."""

    def __init__(self, wh, acc: Accelerator) -> None:
        self.wh, self.acc = wh, acc
        self.table = f"lake.d.{wh.table('day DATE, city STRING, km INT, c DECIMAL(9,2)')}"
        self.append()
        acc.query(
            f"CREATE CUBE trips AS SELECT day, city, km, sum(c) AS s, count(*) AS n"
            f" FROM {self.table} GROUP BY day, city, km"
        )

    def append(self) -> None:
        self.wh.sql(
            f"INSERT INTO {self.table} SELECT date_add(DATE '2024-01-01', CAST(id % 40 AS INT)),"
            " element_at(array('Bern', 'Zürich', 'St. Gallen', NULL), CAST(id % 4 AS INT) + 1),"
            " CAST(id % 23 AS INT), id / 8 FROM range(400)"
        )

    def ask(self, day: str, city: str, km: int, limit: int = 5, *, table: str = "") -> Metrics:
        sql = (
            f"SELECT city, sum(c) AS s, count(*) AS n FROM {table or self.table} WHERE day >="
            f" '{day}' AND (city <> '{city}' OR km IN ({km}, 3)) GROUP BY city ORDER BY n, city"
            f" LIMIT {limit}"
        )
        mine = self.acc.query(sql)
        assert differ(mine.arrow(), self.acc.spark.sql(sql).toArrow()) == [], sql
        return mine.metrics


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the planner searched for: a statement, or a shape."""
    seen: list[str] = []
    search = accelerator.planning.planner.CubeSearch
    for name in ("plan", "plan_shape"):
        real = getattr(search, name)

        def spied(*args, name=name, real=real):
            seen.append(name)
            return real(*args)

        monkeypatch.setattr(search, name, spied)
    return seen


@pytest.fixture
def trips(spark_warehouse, tmp_path: Path) -> Iterator[Trips]:
    acc = spark_warehouse.attach(store=str(tmp_path / "store"))
    yield Trips(spark_warehouse, acc)
    acc.close()


def test_the_third_statement_of_a_shape_is_searched_for_no_more(trips: Trips, searches) -> None:
    assert trips.ask("2024-01-05", "Bern", 7).rewritten
    assert trips.ask("2024-01-06", "Zürich", 8).rewritten
    assert searches == ["plan", "plan_shape"]
    for number in range(5):
        metrics = trips.ask(f"2024-01-1{number}", "St. Gallen", number)
        assert (metrics.rewritten, metrics.plan_cached) == (True, False)
    assert trips.ask("2024-01-14", "St. Gallen", 4).plan_cached
    assert searches == ["plan", "plan_shape"]
    assert trips.ask("2024-01-14", "St. Gallen", 4, limit=2).rewritten  # LIMIT is no parameter


def test_a_shape_follows_its_table(trips: Trips) -> None:
    for day in range(1, 4):
        trips.ask(f"2024-01-0{day}", "Bern", day)
    trips.append()
    before = trips.ask("2024-01-05", "Bern", 1)  # the new file is read raw
    assert before.rewritten
    assert before.files_total == trips.ask("2024-01-06", "Bern", 2).files_total
    trips.acc.query("BUILD CUBE trips")
    trips.ask("2024-01-07", "Zürich", 3)
    trips.wh.sql(f"DELETE FROM {trips.table} WHERE km = 3")
    assert trips.ask("2024-01-08", "Bern", 4).all_rows  # every file has other deletes
    trips.acc.query("BUILD CUBE trips")
    assert trips.ask("2024-01-08", "Zürich", 4).rewritten
    trips.wh.sql(f"ALTER TABLE {trips.table} RENAME COLUMN km TO kilometres")
    trips.wh.sql(f"ALTER TABLE {trips.table} ADD COLUMN km INT")
    assert trips.ask("2024-01-09", "Zürich", 4).all_rows  # another column of that name
    trips.acc.query("DROP CUBE trips")
    assert trips.ask("2024-01-10", "Zürich", 4).all_rows


def test_a_cube_with_a_filter_is_matched_by_value(trips: Trips, searches) -> None:
    trips.acc.query(
        f"CREATE CUBE near AS SELECT city, sum(c) AS s FROM {trips.table} WHERE km < 9"
        " GROUP BY city"
    )
    select = f"SELECT city, sum(c) AS s FROM {trips.table} WHERE km < {{}} GROUP BY city"
    used = []
    for km in (8, 9, 10, 9):
        mine = trips.acc.query(select.format(km))
        assert differ(mine.arrow(), trips.wh.spark.sql(select.format(km)).toArrow()) == []
        used.append(mine.metrics.cubes)
    assert used == [("trips",), ("near",), ("trips",), ("near",)]


def test_a_temporary_view_takes_the_name(spark_warehouse, live_acc: Accelerator) -> None:
    trips = Trips(spark_warehouse, live_acc)
    name = trips.table.rpartition(".")[2]
    live_acc.spark.sql("USE lake.d")
    for km in range(4):
        assert trips.ask("2024-01-05", "Bern", km, table=name).rewritten
    live_acc.spark.sql(
        f"CREATE TEMPORARY VIEW {name} AS SELECT DATE '2024-02-01' AS day, 'Bern' AS city,"
        " 1 AS km, CAST(1 AS DECIMAL(9,2)) AS c"
    )
    try:
        assert not trips.ask("2024-01-05", "Bern", 5, table=name).rewritten
    finally:
        live_acc.spark.sql(f"DROP VIEW {name}")
    assert trips.ask("2024-01-05", "Bern", 6, table=name).rewritten


def test_frames_are_of_the_shape_too(trips: Trips) -> None:
    select = f"SELECT city, sum(c) AS s FROM {trips.table} WHERE km = {{}} GROUP BY city"
    for km in range(4):
        rows = trips.acc.sql(select.format(km)).toArrow()
        assert differ(rows, trips.wh.spark.sql(select.format(km)).toArrow()) == []
