"""DROP, UNDROP and SHOW RECYCLE BIN through a session, without a JVM."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import accelerator
from accelerator.errors import (
    CubeExistsError,
    CubeNotFoundError,
    StoreError,
    UnknownTableError,
)
from tests.accelerator.store.samples import segment

SELECT = "SELECT a, count(*) AS n FROM lake.d.t GROUP BY a"


def _fill(catalog):
    catalog.create_namespace("d")
    for name in ("t", "u"):
        catalog.create_table(f"d.{name}", pa.schema([("a", pa.int64())]))


@pytest.fixture
def folder(pristine):
    return pristine.lake(_fill)


@pytest.fixture
def acc(folder):
    with accelerator.open(folder) as session:
        create(session, "sales")
        yield session
        assert not session.spark_started


def create(session, name):
    """A cube with one segment, as a build would leave it."""
    session.query(f"CREATE CUBE {name} DEFERRED AS {SELECT}")
    record = session.services.store.registry().cubes[name]
    id = len(session.services.store.table(record.table_uuid).segments) + 1
    session.services.store.add_segments(record.table_uuid, [segment(id, id, cube_id=record.id)])
    return record


def rows(session, sql):
    return session.query(sql).arrow().to_pylist()


def test_a_dropped_cube_is_in_the_bin_and_comes_back(acc):
    record = acc.services.store.registry().cubes["sales"]
    assert rows(acc, "DROP CUBE sales") == [{"cube": "sales"}]
    assert rows(acc, "SHOW CUBES") == []
    (shown,) = rows(acc, "SHOW RECYCLE BIN")
    assert list(shown) == ["name", "table", "kind", "id", "dropped_at", "expires_at", "bytes"]
    dropped = shown.pop("dropped_at")
    assert abs(datetime.now(UTC) - dropped) < timedelta(minutes=1)
    assert shown.pop("expires_at") - dropped == timedelta(hours=24)
    named = {"name": "sales", "table": "lake.d.t", "kind": "cube", "id": record.id}
    assert shown == named | {"bytes": 512}
    for statement in ("BUILD CUBE sales", "COMPACT CUBE sales", "PUBLISH CUBE sales"):
        with pytest.raises(CubeNotFoundError) as raised:
            acc.query(statement)
        assert raised.value.hint == "it's in the recycle bin: UNDROP CUBE sales"
    assert rows(acc, "UNDROP CUBE sales") == [{"cube": "sales"}]
    assert acc.services.store.registry().cubes == {"sales": record}
    assert rows(acc, "SHOW RECYCLE BIN") == []
    assert [row["cube"] for row in rows(acc, "SHOW CUBES")] == ["sales"]


def test_cubes_in_the_bin_are_not_considered_by_queries(acc):
    assert acc.why_not("SELECT sum(a) FROM lake.d.t")[0]["cube"] == "sales"
    acc.query("DROP CUBE sales")
    assert "sales" not in [row["cube"] for row in acc.why_not("SELECT sum(a) FROM lake.d.t")]
    acc.undrop("sales")
    assert acc.why_not("SELECT sum(a) FROM lake.d.t")[0]["cube"] == "sales"


def test_a_name_in_use_again_wants_another(acc):
    acc.query("DROP CUBE sales")
    create(acc, "sales")
    with pytest.raises(CubeExistsError) as raised:
        acc.query("UNDROP CUBE sales")
    assert " AS " in raised.value.hint
    assert acc.undrop("sales", as_="sales before") == "sales before"
    assert [row["cube"] for row in rows(acc, "SHOW CUBES")] == ["sales", "sales before"]
    with pytest.raises(CubeNotFoundError, match="recycle bin"):
        acc.undrop("sales")


def test_show_recycle_bin_is_newest_first_and_of_one_table(acc):
    create(acc, "other")
    acc.query("DROP CUBE other")
    acc.query("DROP CUBE sales")
    assert [row["name"] for row in rows(acc, "SHOW RECYCLE BIN ON lake.d.t")] == ["sales", "other"]
    assert rows(acc, "SHOW RECYCLE BIN ON lake.d.u") == []
    with pytest.raises(UnknownTableError):
        acc.query("SHOW RECYCLE BIN ON lake.d.nothing")


def test_force_and_replacing_leave_nothing_in_the_bin(acc):
    uuid = acc.services.store.registry().cubes["sales"].table_uuid
    acc.query(f"CREATE OR REPLACE CUBE sales DEFERRED AS {SELECT}")
    assert not acc.services.store.table(uuid).segments
    acc.query("DROP CUBE sales FORCE")
    assert rows(acc, "DROP CUBE IF EXISTS sales FORCE") == []
    create(acc, "sales")
    acc.query("DROP CUBE sales FORCE")
    assert not acc.services.store.table(uuid).segments
    assert rows(acc, "SHOW RECYCLE BIN") == []


def test_what_was_published_while_it_was_dropped_goes_too(acc, monkeypatch):
    """Else nobody would know of the table any more."""
    dropped = []

    def drop_published(_, record):
        dropped.append(record.published)
        if len(dropped) == 1:
            acc.services.store.change_cube(record.name, published="lake.d.published")

    monkeypatch.setattr("accelerator.services.publish.drop_published", drop_published)
    acc.query("DROP CUBE sales")
    assert dropped == [None, "lake.d.published"]


def test_without_hours_every_drop_is_at_once(folder):
    with accelerator.open(folder, recycle_bin_hours=0) as acc:
        create(acc, "sales")
        acc.query("DROP CUBE sales")
        assert rows(acc, "SHOW RECYCLE BIN") == []
        with pytest.raises(CubeNotFoundError):
            acc.query("UNDROP CUBE sales")


def test_a_very_long_time_is_a_hundred_years(folder):
    with accelerator.open(folder, recycle_bin_hours=1e15) as acc:
        create(acc, "sales")
        acc.query("DROP CUBE sales")
        (shown,) = rows(acc, "SHOW RECYCLE BIN")
        assert shown["expires_at"] - shown["dropped_at"] == timedelta(days=36500)


def test_the_time_is_the_one_of_the_drop_and_no_retention_shortens_it(acc, folder):
    acc.query("DROP CUBE sales")
    with accelerator.open(folder, recycle_bin_hours=0, vacuum_versions_min=1) as other:
        for sql in ("VACUUM lake.d.t RETAIN 0 HOURS", "VACUUM lake.d.t FULL RETAIN 0 HOURS"):
            (line,) = [row for row in rows(other, sql) if row["what"] == "cube"]
            assert (line["action"], line["reason"]) == ("kept", "in the recycle bin")
    assert acc.undrop("sales") == "sales"


def test_a_vacuum_ends_what_is_past_its_time(folder):
    with accelerator.open(folder, vacuum_versions_min=1) as acc:
        create(acc, "sales")
        acc.services.store.recycle_cube("sales", 0)
        over = "its time in the recycle bin is over"
        for action, dry in (("would delete", " DRY RUN"), ("deleted", "")):
            found = [row for row in rows(acc, f"VACUUM lake.d.t{dry}") if row["what"] == "cube"]
            assert [(row["action"], row["reason"]) for row in found] == [(action, over)]
        assert rows(acc, "SHOW RECYCLE BIN") == []


def test_a_read_only_session_drops_and_undrops_nothing(acc, folder):
    acc.query("DROP CUBE sales")
    with accelerator.open(folder, store_read_only=True) as reader:
        assert [row["name"] for row in rows(reader, "SHOW RECYCLE BIN")] == ["sales"]
        with pytest.raises(StoreError, match="read-only"):
            reader.query("UNDROP CUBE sales")


def test_if_exists_asks_what_is_there_now(acc, folder):
    """Another session made or dropped the cube since this one last looked."""
    with accelerator.open(folder, store_max_age_s=600) as late:
        assert [row["cube"] for row in rows(late, "SHOW CUBES")] == ["sales"]
        acc.query("DROP CUBE sales")
        assert rows(late, "DROP CUBE IF EXISTS sales") == []
        create(acc, "other")
        (made,) = rows(late, f"CREATE CUBE IF NOT EXISTS other DEFERRED AS {SELECT}")
        assert made["cube"] == "other"
        create(acc, "third")
        assert rows(late, "DROP CUBE IF EXISTS third") == [{"cube": "third"}]
    assert "third" not in acc.services.store.registry().cubes


def test_one_damaged_table_hides_no_other_cubes(acc, folder):
    create(acc, "kept")
    acc.query("DROP CUBE sales")
    acc.query(f"CREATE CUBE other DEFERRED AS {SELECT.replace('.t', '.u')}")
    record = acc.services.store.registry().cubes["other"]
    for id in (1, 2):
        acc.services.store.add_segments(record.table_uuid, [segment(id, id, cube_id=record.id)])
    for file in folder.glob(f".accelerator/tables/{record.table_uuid}/versions/*"):
        file.write_bytes(b"damaged")
    with accelerator.open(folder) as late:
        by_name = {row["cube"]: row for row in rows(late, "SHOW CUBES")}
        assert by_name["kept"]["status"] == "complete" and "damaged" in by_name["other"]["status"]
        late.query("DROP CUBE other")
        found = [(row["name"], row["bytes"]) for row in rows(late, "SHOW RECYCLE BIN")]
        assert found == [("other", None), ("sales", 512)]
