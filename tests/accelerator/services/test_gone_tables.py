"""A daemon's full rounds move cubes of tables that are gone to the recycle bin, and no others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.iceberg import Lake
from accelerator.services.maintenance.daemon import Schedule, Vacuumed
from accelerator.session.session import Accelerator

ROWS = pa.table({"a": pa.array([1, 2, 3], pa.int64())})


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    properties = {"uri": f"sqlite:///{tmp_path / 'catalog.db'}", "warehouse": f"file://{tmp_path}/"}
    made = SqlCatalog("lake", **properties)
    made.create_namespace("d")
    for name in ("t", "u"):
        made.create_table(f"d.{name}", ROWS.schema).append(ROWS)
    return made


@pytest.fixture
def acc(tmp_path: Path, catalog: SqlCatalog) -> Iterator[Accelerator]:
    """A session with two cubes over lake.d.t and one over lake.d.u; none is built."""
    with accelerator.open(tmp_path) as made:
        for name, table in (("one", "t"), ("two", "t"), ("other", "u")):
            select = f"SELECT a, count(*) n FROM lake.d.{table} GROUP BY a"
            made.query(f"CREATE CUBE {name} DEFERRED AS {select}")
        # So that the store knows the tables by their folders, as after a build.
        for table in ("t", "u"):
            pinned = made.services.lake.pin().table(("lake", "d", table))
            assert pinned is not None
            made.services.store.remove_segments(pinned.uuid, [])
            made.services.store.begin_job(pinned.uuid, "c" * 32)
        yield made


def _serve(acc: Accelerator, *, full: bool = True) -> list[Vacuumed]:
    told: list[Vacuumed] = []
    schedule = Schedule(0, 0, full_every=1 if full else 0)
    acc.maintain(schedule, told.append, stop=threading.Event(), rounds=1)
    assert [one.error for one in told] == [None, None]
    return told


def _binned(acc: Accelerator) -> set[str]:
    return {one.cube.name for one in acc.services.store.registry().bin}


def test_cubes_of_a_dropped_table_go_to_the_bin_and_come_back_with_it(
    acc: Accelerator, catalog: SqlCatalog
) -> None:
    location = catalog.load_table("d.t").metadata_location
    catalog.drop_table("d.t")
    _serve(acc, full=False)
    assert _binned(acc) == set()
    _serve(acc)
    assert _binned(acc) == {"one", "two"} and set(acc.services.store.registry().cubes) == {"other"}
    catalog.register_table("d.t", location)
    assert acc.undrop("one") == "one"
    _serve(acc)
    assert _binned(acc) == {"two"}


def test_so_do_those_of_a_table_that_was_made_anew(acc: Accelerator, catalog: SqlCatalog) -> None:
    catalog.drop_table("d.t")
    catalog.create_table("d.t", ROWS.schema)
    _serve(acc)
    assert _binned(acc) == {"one", "two"}


def test_a_renamed_table_keeps_its_cubes(acc: Accelerator, catalog: SqlCatalog) -> None:
    catalog.rename_table("d.t", "d.w")
    _serve(acc)
    assert _binned(acc) == set()


def test_a_catalog_that_cannot_be_trusted_costs_no_cube(
    acc: Accelerator, catalog: SqlCatalog, tmp_path: Path
) -> None:
    file = tmp_path / "catalog.db"
    file.rename(tmp_path / "away.db")  # as if it weren't mounted
    _serve(acc)
    assert _binned(acc) == set()
    (tmp_path / "away.db").rename(file)
    catalog.drop_table("d.t")
    other = catalog.create_table("d.v", ROWS.schema)
    (tmp_path / other.metadata_location.removeprefix("file://")).unlink()
    _serve(acc)  # lake.d.v might be it, under another name
    assert _binned(acc) == set()


def test_a_cube_that_is_replaced_meanwhile_stays(
    acc: Accelerator, catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is another cube's by the time that the catalog has answered."""
    asked = Lake.holds

    def holds(lake: Lake, catalog_name: str, table_uuid: str) -> bool | None:
        answer = asked(lake, catalog_name, table_uuid)
        select = "SELECT a, sum(a) s FROM lake.d.u GROUP BY a"
        acc.query(f"CREATE OR REPLACE CUBE one DEFERRED AS {select}")
        return answer

    catalog.drop_table("d.t")
    monkeypatch.setattr(Lake, "holds", holds)
    _serve(acc)
    assert _binned(acc) == {"two"} and set(acc.services.store.registry().cubes) == {"one", "other"}


def test_a_published_cube_stays(acc: Accelerator, catalog: SqlCatalog) -> None:

    acc.services.store.change_cube("one", published="lake.d.one_cube")
    catalog.drop_table("d.t")
    _serve(acc)
    assert _binned(acc) == {"two"}
