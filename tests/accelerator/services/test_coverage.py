"""SHOW COVERAGE without a JVM: each live file has what covers it, or the one reason why not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import LongType

import accelerator
from accelerator import Accelerator
from accelerator.builds.loop import OpenJob
from accelerator.errors import (
    CubeNotFoundError,
    IndexNotFoundError,
    StatementError,
    UnknownTableError,
)
from accelerator.services.coverage import show as shown_module
from accelerator.store import SegmentRecord, local_path, segment_id
from tests.support.pristine import Pristine, catalog_of

CUBE = "CREATE CUBE c AS SELECT k, count(*) AS n FROM d.f GROUP BY k"
JOINED = "CREATE CUBE j AS SELECT name, count(*) AS n FROM d.f JOIN d.dim ON k = id GROUP BY name"
INDEX = "CREATE INDEX i ON d.f USING BLOOM (k)"
Row = dict[str, Any]


def rows_from(first: int) -> pa.Table:
    keys = pa.array([first, first + 1, first + 2], pa.int32())
    return pa.table({"k": keys, "s": [f"item {first}"] * 3})


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    fact = catalog.create_table("d.f", rows_from(0).schema)
    fact.append(rows_from(0))
    fact.append(rows_from(10))
    dim = pa.table({"id": pa.array([0, 1, 10], pa.int32()), "name": ["a", "b", "c"]})
    catalog.create_table("d.dim", dim.schema).append(dim)


@pytest.fixture
def acc(pristine: Pristine, no_java: None) -> Iterator[Accelerator]:
    with accelerator.open(pristine.lake(_fill)) as session:
        yield session
        assert not session.spark_started


def changed(acc: Accelerator, change: Callable[[SqlCatalog], object]) -> None:
    catalog = catalog_of(Path(acc.config.warehouse))
    change(catalog)
    catalog.engine.dispose()


def append(acc: Accelerator, first: int) -> None:
    changed(acc, lambda catalog: catalog.load_table("d.f").append(rows_from(first)))


def shown(acc: Accelerator, what: str) -> list[Row]:
    found: list[Row] = acc.query(f"SHOW COVERAGE {what}").arrow().to_pylist()
    return found


def codes(rows: list[Row]) -> list[str | None]:
    return [None if row["reason"] is None else row["reason"].split(":")[0] for row in rows]


def of(acc: Accelerator, artifact: str) -> list[SegmentRecord]:
    record = registered(acc, artifact)
    return list(acc.services.store.table(record.table_uuid).of(record.id))


def registered(acc: Accelerator, artifact: str) -> Any:
    registry = acc.services.store.registry(fresh=True)
    return registry.cubes.get(artifact) or registry.indexes[artifact]


def forge(
    acc: Accelerator, artifact: str, change: Callable[[SegmentRecord], SegmentRecord]
) -> None:
    """Every record of the artifact as another builder could have left it."""
    before = of(acc, artifact)
    made = [replace(change(one), id=segment_id()) for one in before]
    with OpenJob(acc.services.store, registered(acc, artifact)) as job:
        job.commit(lambda: ([one.id for one in before], made))


def test_what_is_covered_is_told_with_its_artifact(acc: Accelerator) -> None:
    acc.query(CUBE)
    acc.query(INDEX)
    live = {file.path for file in acc.services.lake.pin().pinned(("lake", "d", "f")).live_files()}
    for what, kind in (("OF CUBE c", "cube"), ("OF INDEX i", "BLOOM")):
        rows = shown(acc, what)
        assert {row["file"] for row in rows} == live and len(rows) == 2
        assert {(row["kind"], row["covered"], row["reason"]) for row in rows} == {
            (kind, True, None)
        }
        assert all(Path(local_path(row["segment"])).is_file() for row in rows)
        assert all(row["rows"] == 3 and row["bytes"] > 0 for row in rows)
        assert rows[0]["added"] > rows[1]["added"]
    named = [(row["artifact"], row["kind"]) for row in shown(acc, "ON d.f")]
    assert sorted(named) == [("c", "cube")] * 2 + [("i", "BLOOM")] * 2


@pytest.mark.parametrize(("made", "what"), [(CUBE, "OF CUBE c"), (INDEX, "OF INDEX i")])
def test_what_came_since_is_first_and_not_built(acc: Accelerator, made: str, what: str) -> None:
    acc.query(made)
    append(acc, 20)
    append(acc, 30)
    rows = shown(acc, what)
    assert codes(rows) == ["not_built", "not_built", None, None]
    assert rows[0]["reason"] == "not_built: No build has covered the file."
    assert [row["segment"] is None for row in rows] == [True, True, False, False]
    assert rows[0]["added"] > rows[1]["added"] > rows[2]["added"] > rows[3]["added"]
    acc.query(f"BUILD {what.removeprefix('OF ')}")
    assert codes(shown(acc, what)) == [None] * 4


def test_nothing_is_built_of_what_was_deferred(acc: Accelerator) -> None:
    acc.query(CUBE.replace(" AS SELECT", " DEFERRED AS SELECT"))
    acc.query(f"{INDEX} DEFERRED")
    assert codes(shown(acc, "ON d.f")) == ["not_built"] * 4


def test_a_file_that_deleting_has_written_anew_is_not_built(acc: Accelerator) -> None:
    acc.query(CUBE)
    changed(acc, lambda catalog: catalog.load_table("d.f").delete("k = 1"))
    fresh, old = shown(acc, "OF CUBE c")
    assert (fresh["rows"], fresh["covered"], old["covered"]) == (2, False, True)


def test_deleted_rows_that_have_changed_are_told(acc: Accelerator) -> None:
    acc.query(CUBE)
    forge(
        acc,
        "c",
        lambda one: replace(one, files=tuple(replace(f, deletes_key="x") for f in one.files)),
    )
    rows = shown(acc, "OF CUBE c")
    assert codes(rows) == ["files_changed"] * 2
    assert rows[0]["reason"].endswith("Its deleted rows have changed since.")


def test_a_file_merged_with_one_that_changed_is_told_apart(acc: Accelerator) -> None:
    acc.query(CUBE)
    every = tuple(file for one in of(acc, "c") for file in one.files)
    spoiled = (every[0], replace(every[1], size_bytes=every[1].size_bytes + 1))
    forge(acc, "c", lambda one: replace(one, files=spoiled))
    told = {row["file"]: row["reason"] for row in shown(acc, "OF CUBE c")}
    assert told[every[0].path].endswith("It's merged with another file, which has changed.")
    assert told[every[1].path].endswith("The file isn't as long as it was.")


def test_a_dimension_that_changed_is_named(acc: Accelerator) -> None:
    acc.query(JOINED)
    assert codes(shown(acc, "OF CUBE j")) == [None, None]
    dim = pa.table({"id": pa.array([0, 1, 10], pa.int32()), "name": ["a", "b", "other"]})
    changed(acc, lambda catalog: catalog.load_table("d.dim").overwrite(dim))
    first, second = shown(acc, "OF CUBE j")  # the older file has no key that changed
    assert first["reason"].startswith("dimension_changed: ")
    assert first["reason"].endswith(" It's lake.d.dim.")
    assert second["covered"] and second["segment"]


def test_an_index_on_a_relate_column_is_told_apart_by_keys(acc: Accelerator) -> None:
    acc.query("ALTER TABLE d.f ADD RELATE COLUMN name FROM d.dim.name ON d.f.k = d.dim.id")
    acc.query("CREATE INDEX r ON d.f USING BLOOM (name)")
    assert codes(shown(acc, "OF INDEX r")) == [None, None]
    keys = pa.array([0, 1, 10], pa.int32())
    same = pa.table({"id": keys, "name": ["a", "b", "c"]})
    changed(acc, lambda catalog: catalog.load_table("d.dim").overwrite(same))
    assert codes(shown(acc, "OF INDEX r")) == [None, None]  # no key has another value
    other = pa.table({"id": keys, "name": ["a", "b", "other"]})
    changed(acc, lambda catalog: catalog.load_table("d.dim").overwrite(other))
    rows = shown(acc, "OF INDEX r")
    assert codes(rows) == ["dimension_changed"] * 2
    assert rows[0]["reason"].endswith("It's lake.d.dim, and keys of the file may have changed.")
    acc.query("BUILD INDEX r")
    assert codes(shown(acc, "OF INDEX r")) == [None, None]
    changed(acc, lambda catalog: catalog.drop_table("d.dim"))
    assert codes(shown(acc, "OF INDEX r")) == ["table_unknown"] * 2


def test_a_file_that_stands_twice_is_never_built(acc: Accelerator) -> None:
    acc.query(CUBE)
    (older,) = shown(acc, "OF CUBE c")[1:]
    changed(
        acc,
        lambda catalog: catalog.load_table("d.f").add_files(
            [older["file"]], check_duplicate_files=False
        ),
    )
    rows = shown(acc, "OF CUBE c")
    told = [row["reason"] for row in rows if row["file"] == older["file"]]
    assert len(rows) == 3 and len(told) == 2
    assert all(str(one).endswith("stands twice in the table, so it never is.") for one in told)


def test_another_time_zone_is_told(pristine: Pristine, no_java: None) -> None:
    root = pristine.lake(_fill)
    with accelerator.open(root) as acc:
        times = pa.table({"t": pa.array([0, 1], pa.timestamp("us", tz="UTC"))})
        changed(acc, lambda catalog: catalog.create_table("d.t", times.schema).append(times))
        acc.query("CREATE CUBE z AS SELECT date(t) AS day, count(*) AS n FROM d.t GROUP BY date(t)")
        assert codes(shown(acc, "OF CUBE z")) == [None]
        forge(acc, "z", lambda one: replace(one, settings=(("time_zone", "Asia/Tokyo"),)))
        (row,) = shown(acc, "OF CUBE z")
        assert row["reason"].startswith("schema_changed: ") and "time zone" in row["reason"]


def test_a_column_of_another_type_is_named(acc: Accelerator) -> None:
    acc.query(CUBE)

    def widen(catalog: SqlCatalog) -> None:
        with catalog.load_table("d.f").update_schema() as update:
            update.update_column("k", field_type=LongType())

    changed(acc, widen)
    rows = shown(acc, "OF CUBE c")
    assert codes(rows) == ["schema_changed"] * 2 and rows[0]["reason"].endswith("It's k.")


def test_a_column_that_was_dropped_leaves_nothing_covered(acc: Accelerator) -> None:
    acc.query(CUBE)
    acc.query(INDEX)

    def drop(catalog: SqlCatalog) -> None:
        with catalog.load_table("d.f").update_schema() as update:
            update.delete_column("k")

    changed(acc, drop)
    rows = shown(acc, "ON d.f")
    assert codes(rows) == ["schema_changed"] * 4
    assert all("was dropped." in row["reason"] for row in rows)


def test_artifacts_that_are_gone_or_cut_cover_nothing(acc: Accelerator) -> None:
    acc.query(CUBE)
    acc.query(INDEX)
    for artifact in ("c", "i"):
        for path in {local_path(one.path) for one in of(acc, artifact)}:
            data = Path(path).read_bytes()
            Path(path).write_bytes(data[:-1])
    assert codes(shown(acc, "OF CUBE c")) == ["segment_unreadable"] * 2
    assert codes(shown(acc, "OF INDEX i")) == ["index_unreadable"] * 2
    for artifact in ("c", "i"):
        for path in {local_path(one.path) for one in of(acc, artifact)}:
            Path(path).unlink()
    rows = shown(acc, "ON d.f")
    assert sorted(map(str, codes(rows))) == ["index_unreadable"] * 2 + ["segment_unreadable"] * 2
    assert all("Its artifact is missing" in row["reason"] for row in rows)


def test_the_segment_below_a_lost_merged_one_covers(acc: Accelerator) -> None:
    acc.query(CUBE)
    acc.query("COMPACT CUBE c")
    (merged,) = {row["segment"] for row in shown(acc, "OF CUBE c")}
    Path(local_path(merged)).unlink()
    rows = shown(acc, "OF CUBE c")
    assert codes(rows) == [None, None] and merged not in {row["segment"] for row in rows}


def test_records_of_another_release_are_told(acc: Accelerator) -> None:
    acc.query(CUBE)
    acc.query(INDEX)
    for artifact in ("c", "i"):
        forge(acc, artifact, lambda one: replace(one, format=99))
    assert codes(shown(acc, "OF CUBE c")) == ["segment_unreadable"] * 2
    assert codes(shown(acc, "OF INDEX i")) == ["index_unreadable"] * 2


def test_a_file_that_an_index_keeps_nothing_of_is_told_with_why(acc: Accelerator) -> None:
    same = pa.table({"k": pa.array([5, 5], pa.int32()), "s": ["x", "x"]})
    changed(
        acc,
        lambda catalog: catalog.create_table("d.one", same.schema).append(same),
    )
    acc.query("CREATE INDEX b ON d.one USING BLOOM (k)")

    def emptied(one: SegmentRecord) -> SegmentRecord:
        told = {**one.facts["bundle"], "places": [None], "why": {"its keys\ncan't be read": 1}}
        return replace(one, facts={"bundle": told})

    forge(acc, "b", emptied)
    (row,) = shown(acc, "OF INDEX b")
    assert row["reason"].startswith("not_indexable: ") and row["segment"] is None
    assert "\n" not in row["reason"] and "Its keys" in row["reason"]


def test_one_that_is_switched_off_says_why_for_all_files(acc: Accelerator) -> None:
    acc.query(CUBE)
    acc.query(INDEX)
    acc.services.store.change_cube("c", disabled="it made an answer wrong")
    acc.services.store.change_index("i", disabled="it left out rows")
    append(acc, 20)
    told = {(row["artifact"], row["covered"], row["reason"]) for row in shown(acc, "ON d.f")}
    assert told == {
        ("c", False, "cube_disabled: The cube was switched off. it made an answer wrong"),
        ("i", False, "index_disabled: The index was switched off. it left out rows"),
    }


def test_a_dimension_that_is_gone_leaves_nothing_covered(acc: Accelerator) -> None:
    acc.query(JOINED)
    changed(acc, lambda catalog: catalog.drop_table("d.dim"))
    rows = shown(acc, "OF CUBE j")
    assert codes(rows) == ["table_unknown"] * 2 and "lake.d.dim, which is gone" in rows[0]["reason"]


def test_a_dimension_that_was_made_anew_leaves_nothing_covered(acc: Accelerator) -> None:
    acc.query(JOINED)
    keys = pa.table({"id": pa.array([0, 1], pa.int32()), "name": ["a", "b"]})

    def anew(catalog) -> None:
        catalog.drop_table("d.dim")
        catalog.create_table("d.dim", keys.schema).append(keys)

    changed(acc, anew)
    rows = shown(acc, "OF CUBE j")
    assert codes(rows) == ["table_replaced"] * 2
    assert "lake.d.dim, which was dropped and made anew" in rows[0]["reason"]


def test_a_table_that_is_gone_is_an_error(acc: Accelerator) -> None:
    acc.query(CUBE)
    acc.query(INDEX)
    changed(acc, lambda catalog: catalog.drop_table("d.f"))
    for what in ("OF CUBE c", "OF INDEX i"):
        with pytest.raises(UnknownTableError, match=r"lake\.d\.f, which is gone"):
            shown(acc, what)
    with pytest.raises(UnknownTableError, match=r"no Iceberg table d\.f"):
        shown(acc, "ON d.f")


def test_names_that_nobody_knows_are_errors_with_the_nearest(acc: Accelerator) -> None:
    acc.query(CUBE.replace("CUBE c", "CUBE sales"))
    acc.query(INDEX.replace("INDEX i", "INDEX needle"))
    for what, error, near in (
        ("OF CUBE sale", CubeNotFoundError, "sales"),
        ("OF INDEX nedle", IndexNotFoundError, "needle"),
        ("ON d.diim", UnknownTableError, "dim"),
    ):
        with pytest.raises(error) as told:
            shown(acc, what)
        assert any(near in one for one in told.value.suggestions)


def test_a_table_without_artifacts_has_no_rows(acc: Accelerator) -> None:
    found = acc.query("SHOW COVERAGE ON d.dim").arrow()
    assert found.num_rows == 0 and found.schema.names[0] == "artifact"


def test_a_snapshot_that_has_expired_has_no_time(acc: Accelerator) -> None:
    acc.query(CUBE)

    def expire(catalog: SqlCatalog) -> None:
        table = catalog.load_table("d.f")
        table.maintenance.expire_snapshots().by_id(table.snapshots()[0].snapshot_id).commit()

    changed(acc, expire)
    newer, older = shown(acc, "OF CUBE c")
    assert newer["added"] is not None and older["added"] is None


def test_more_rows_than_can_be_shown_are_refused(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    acc.query(CUBE)
    monkeypatch.setattr(shown_module, "ROWS_MAX", 1)
    with pytest.raises(StatementError, match="more than 1 files can't be shown"):
        shown(acc, "OF CUBE c")


@pytest.mark.parametrize("steps", ["ab", "abaca", "acdab", "adcbda", "dbadcab"])
def test_it_agrees_with_what_a_build_would_do(acc: Accelerator, steps: str) -> None:
    """Whatever has happened, what isn't covered is what a build then builds, and all after it."""
    acc.query(CUBE)
    acc.query(INDEX)
    for number, step in enumerate(steps):
        if step == "a":
            append(acc, 100 * (number + 1))
        elif step == "b":
            changed(acc, lambda catalog: catalog.load_table("d.f").delete("k = 1 OR k = 101"))
        elif step == "c":
            acc.query("BUILD CUBE c")
        else:
            acc.query("BUILD INDEX i")
            acc.query("COMPACT CUBE c")
    for show, name, what in (("CUBES", "cube", "CUBE c"), ("INDEXES", "index", "INDEX i")):
        rows, (row,) = shown(acc, f"OF {what}"), acc.query(f"SHOW {show}").arrow().to_pylist()
        assert row[name] == what.split(" ")[1]
        assert len(rows) == row["files_total"]
        lacking = sum(not one["covered"] for one in rows)
        assert len(rows) - lacking == row["files_covered"]
        assert [one["covered"] for one in rows] == sorted(one["covered"] for one in rows)
        (built,) = acc.query(f"BUILD {what}").arrow().to_pylist()
        assert built["files"] == lacking
        assert codes(shown(acc, f"OF {what}")) == [None] * len(rows)
