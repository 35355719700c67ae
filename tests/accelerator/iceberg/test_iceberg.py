"""Reading Iceberg without a JVM: tables are made by PyIceberg in a SQLite catalog."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

from accelerator.errors import UnknownColumnError, UnknownTableError
from accelerator.iceberg import (
    CatalogError,
    CatalogReadOnlyError,
    CatalogSettings,
    DeleteRef,
    EqualityDeletesError,
    Lake,
    LiveFile,
)
from accelerator.iceberg.io import local_path
from accelerator.iceberg.tables.data_file import applying
from rewrite.facts import At

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "name": ["a", None, "c"]})


class Warehouse:
    """A SQLite catalog in a folder, written by PyIceberg and read by a Lake."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.properties = {
            "uri": f"sqlite:///{root / 'catalog.db'}",
            "warehouse": f"file://{root}/",
        }
        self.catalog = SqlCatalog("lake", **self.properties)
        self.catalog.create_namespace("d")

    def lake(self, **options: object) -> Lake:
        settings = CatalogSettings("lake", "sql", self.properties)
        return Lake([settings], "lake", lambda: ("d",), **options)  # type: ignore[arg-type]

    def table(self, name: str = "t", rows: pa.Table = ROWS) -> Table:
        table = self.catalog.create_table(f"d.{name}", rows.schema)
        table.append(rows)
        return table


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path)


def test_names_follow_sparks_rule(warehouse: Warehouse) -> None:
    warehouse.table()
    pin = warehouse.lake().pin()
    for parts in (("t",), ("d", "t"), ("lake", "d", "t")):
        facts = pin.table(parts, At())
        assert facts is not None
        assert facts.name == "lake.d.t"
    for parts in (("u",), ("lake", "t"), ("x", "d", "t"), ("spark_catalog", "t"), ("T",)):
        assert pin.table(parts, At()) is None


def test_a_name_of_another_catalog_is_not_a_namespace_of_ours(warehouse: Warehouse) -> None:
    warehouse.catalog.create_namespace("hive")
    warehouse.catalog.create_table("hive.t", ROWS.schema)
    assert warehouse.lake().pin().table(("hive", "t"), At()) is not None
    assert warehouse.lake(other_catalogs=("hive",)).pin().table(("hive", "t"), At()) is None


def test_default_names_may_change_from_pin_to_pin(warehouse: Warehouse) -> None:
    warehouse.table()
    namespace: list[tuple[str, ...]] = [()]
    settings = CatalogSettings("lake", "sql", warehouse.properties)
    lake = Lake([settings], lambda: "lake", lambda: namespace[0])
    assert lake.pin().table(("t",), At()) is None
    namespace[0] = ("d",)
    assert lake.pin().table(("t",), At()) is not None


def test_types_are_sparks_words(warehouse: Warehouse) -> None:
    expected = {
        BooleanType(): "boolean",
        IntegerType(): "int",
        LongType(): "bigint",
        FloatType(): "float",
        DoubleType(): "double",
        DecimalType(10, 2): "decimal(10,2)",
        StringType(): "string",
        UUIDType(): "string",
        BinaryType(): "binary",
        FixedType(4): "binary",
        DateType(): "date",
        TimestampType(): "timestamp_ntz",
        TimestamptzType(): "timestamp",
        ListType(90, LongType(), element_required=False): "array<bigint>",
        MapType(91, StringType(), 92, IntegerType(), value_required=False): "map<string,int>",
        StructType(NestedField(93, "a", IntegerType()), NestedField(94, "b", DateType())): (
            "struct<a:int,b:date>"
        ),
    }
    fields = [
        NestedField(place, f"c{place}", kind, required=place == 1)
        for place, kind in enumerate(expected, start=1)
    ]
    warehouse.catalog.create_table("d.types", Schema(*fields))
    facts = warehouse.lake().pin().table(("types",), At())
    assert facts is not None
    assert [column.type for column in facts.columns] == list(expected.values())
    assert [column.required for column in facts.columns] == [True] + [False] * 15
    assert facts.snapshot_id is None


def test_a_table_without_snapshots_is_empty(warehouse: Warehouse) -> None:
    warehouse.catalog.create_table("d.t", ROWS.schema)
    pinned = warehouse.lake().pin().pinned(("t",), At())
    assert pinned is not None
    assert pinned.live_files() == ()
    assert pinned.arrow(["id"]).num_rows == 0
    assert warehouse.lake().pin().pinned(("t",), At(ref="main")) is not None


def test_live_files_and_their_bounds(warehouse: Warehouse) -> None:
    table = warehouse.table()
    table.append(ROWS.slice(0, 1))
    pinned = warehouse.lake().pin().pinned(("t",), At())
    assert pinned is not None
    newer, older = pinned.live_files()
    listed = table.inspect.files().to_pylist()
    assert {newer.path, older.path} == {each["file_path"] for each in listed}
    assert (newer.sequence_number, older.sequence_number) == (2, 1)
    assert (newer.record_count, older.record_count) == (1, 3)
    told = pinned.statistics_of([older]).column(1, "int").bounds
    assert (told.lower.to_pylist(), told.upper.to_pylist()) == ([1], [3])
    assert told.nulls.tolist() == [0]
    assert pinned.without_nan([older], {1}) == {older.key: frozenset()}
    assert older.key == (older.path, 1)
    assert older.deletes_key == ""
    assert len({newer, older, replace(older)}) == 2


def test_a_fresh_pin_sees_the_newest_commit_and_an_old_one_does_not(warehouse: Warehouse) -> None:
    table = warehouse.table()
    lake = warehouse.lake()
    pin = lake.pin()
    before = pin.pinned(("t",), At())
    table.append(ROWS)
    assert pin.pinned(("d", "t"), At()) is before
    after = lake.pin().pinned(("t",), At())
    assert before is not None
    assert after is not None
    assert (before.arrow(["id"]).num_rows, after.arrow(["id"]).num_rows) == (3, 6)


def test_metadata_max_age_relaxes_freshness(warehouse: Warehouse) -> None:
    table = warehouse.table()
    now = [0.0]
    lake = warehouse.lake(metadata_max_age_s=10, clock=lambda: now[0])
    before = lake.pin().table(("t",), At())
    table.append(ROWS)
    assert lake.pin().table(("t",), At()) is before
    now[0] = 11
    assert lake.pin().table(("t",), At()) is not before


def test_a_dropped_table_and_a_replaced_catalog_file_are_seen(warehouse: Warehouse) -> None:
    warehouse.table()
    lake = warehouse.lake()
    assert lake.pin().table(("t",), At()) is not None
    warehouse.catalog.drop_table("d.t")
    assert lake.pin().table(("t",), At()) is None
    warehouse.catalog.engine.dispose()
    shutil.rmtree(warehouse.root)
    assert lake.pin().table(("t",), At()) is None
    warehouse.root.mkdir()
    Warehouse(warehouse.root).table()
    assert lake.pin().table(("t",), At()) is not None


def test_a_catalog_that_is_not_there_yet_is_empty_and_stays_unmade(tmp_path: Path) -> None:
    file = tmp_path / "none.db"
    settings = CatalogSettings("lake", "sql", {"uri": f"sqlite:///{file}"})
    lake = Lake([settings], "lake", lambda: ("d",))
    assert lake.pin().table(("t",), At()) is None
    assert list(lake.tables()) == []
    assert not file.exists()
    sqlite3.connect(file).close()
    assert lake.pin().table(("t",), At()) is None


def test_a_file_that_is_no_database_is_a_typed_error(tmp_path: Path) -> None:
    file = tmp_path / "bad.db"
    file.write_bytes(b"not a database at all" * 100)
    settings = CatalogSettings("lake", "sql", {"uri": f"sqlite:///{file}"})
    with pytest.raises(CatalogError, match="lake"):
        Lake([settings], "lake", lambda: ("d",)).pin().table(("t",), At())


def test_each_pin_sees_what_another_connection_has_committed(warehouse: Warehouse) -> None:
    """Look-ups are kept only while the catalog file's own counter of changes stands still."""
    table, lake = warehouse.table(), warehouse.lake()

    def location(name: str = "t") -> str | None:
        pinned = lake.pin().pinned((name,), At())
        return pinned and pinned.metadata_location

    for _ in range(3):
        assert location() == location() == table.metadata_location
        table.append(ROWS)
    assert location("u") is None
    other = warehouse.table("u")
    assert location("u") == other.metadata_location
    warehouse.catalog.rename_table("d.u", "d.w")
    assert (location("u"), location("w")) == (None, other.metadata_location)
    # What this very connection writes, the counter doesn't tell it.
    lake.set_properties(("t",), {"mine": "1"})
    assert location() == warehouse.catalog.load_table("d.t").metadata_location


def test_missing_metadata_is_a_typed_error(warehouse: Warehouse) -> None:
    table = warehouse.table()
    Path(str(local_path(table.metadata_location))).unlink()
    with pytest.raises(CatalogError, match="metadata"):
        warehouse.lake().pin().table(("t",), At())


def test_time_travel_by_snapshot_tag_branch_and_time(warehouse: Warehouse) -> None:
    table = warehouse.table()
    first = table.current_snapshot()
    assert first is not None
    table.manage_snapshots().create_tag(first.snapshot_id, "v1").commit()
    table.manage_snapshots().create_branch(first.snapshot_id, "b").commit()
    with table.update_schema() as update:
        update.rename_column("name", "title")
        update.add_column("extra", LongType())
    time.sleep(0.002)
    table.append(pa.table({"id": pa.array([9], pa.int32()), "title": ["z"], "extra": [1]}))
    pin = warehouse.lake().pin()

    def state(at: At) -> tuple[list[str], int]:
        pinned = pin.pinned(("t",), at)
        assert pinned is not None
        names = [column.name for column in pinned.facts.columns]
        return names, pinned.arrow(names).num_rows

    assert state(At()) == (["id", "title", "extra"], 4)
    assert state(At(snapshot_id=first.snapshot_id)) == (["id", "name"], 3)
    assert state(At(ref="v1")) == (["id", "name"], 3)
    assert state(At(ref="b")) == (["id", "title", "extra"], 3)
    assert state(At(timestamp_ms=first.timestamp_ms)) == (["id", "name"], 3)


@pytest.mark.parametrize(
    ("at", "named", "hint"),
    [
        (At(snapshot_id=5), "snapshot 5", "newest snapshots are"),
        (At(ref="nope"), "'nope'", "main"),
        (At(timestamp_ms=1), "as old as 1", "begins at"),
    ],
)
def test_unknown_states_are_named(warehouse: Warehouse, at: At, named: str, hint: str) -> None:
    warehouse.table()
    with pytest.raises(UnknownTableError) as caught:
        warehouse.lake().pin().table(("t",), at)
    assert named in caught.value.message
    assert hint in caught.value.hint


def test_rows_of_chosen_files_under_an_evolved_schema(warehouse: Warehouse) -> None:
    table = warehouse.table()
    with table.update_schema() as update:
        update.rename_column("name", "title")
        update.add_column("extra", LongType())
        update.update_column("id", LongType())
    table.append(pa.table({"id": [9], "title": ["z"], "extra": [1]}))
    pinned = warehouse.lake().pin().pinned(("t",), At())
    assert pinned is not None
    newer, older = pinned.live_files()
    rows = pinned.arrow(["extra", "TITLE", "id"], [older])
    assert rows.column_names == ["extra", "title", "id"]
    assert rows.to_pylist()[0] == {"extra": None, "title": "a", "id": 1}
    assert pinned.arrow(["id"], [newer])["id"].to_pylist() == [9]
    assert pinned.arrow([]).num_rows == 4
    with pytest.raises(UnknownColumnError, match="name"):
        pinned.arrow(["name"])


def test_properties_are_set_and_removed(warehouse: Warehouse) -> None:
    warehouse.table()
    lake = warehouse.lake(metadata_max_age_s=60)
    lake.pin().table(("t",), At())
    lake.set_properties(("t",), {"a.b": "1", "c": "2"})
    lake.set_properties(("lake", "d", "t"), {"c": None})
    pinned = lake.pin().pinned(("t",), At())
    assert pinned is not None
    assert (pinned.properties.get("a.b"), pinned.properties.get("c")) == ("1", None)
    with pytest.raises(UnknownTableError, match="nope"):
        lake.set_properties(("nope",), {"a": "1"})


def test_racing_writers_of_properties_all_land(warehouse: Warehouse) -> None:
    warehouse.table()
    lake = warehouse.lake()
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda n: lake.set_properties(("t",), {f"k{n}": str(n)}), range(3)))
    pinned = lake.pin().pinned(("t",), At())
    assert pinned is not None
    assert {key for key in pinned.properties if key.startswith("k")} == {"k0", "k1", "k2"}
    folder = Path(str(local_path(pinned.metadata_location))).parent
    assert len(list(folder.glob("*.metadata.json"))) == 2 + 3  # created, appended to, three sets


def test_a_write_protected_catalog_refuses_and_leaves_nothing(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = warehouse.table()
    folder = Path(str(local_path(table.metadata_location))).parent
    before = set(folder.iterdir())
    opened = sqlite3.connect

    def read_only(path: str, **options: object) -> sqlite3.Connection:
        return opened(path.replace("mode=rw", "mode=ro"), **options)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(sqlite3, "connect", read_only)
    lake = warehouse.lake()
    assert lake.pin().table(("t",), At()) is not None
    with pytest.raises(CatalogReadOnlyError, match="readonly"):
        lake.set_properties(("t",), {"a": "1"})
    assert set(folder.iterdir()) == before


def test_a_catalog_known_only_to_the_jvm_reads_but_does_not_write(warehouse: Warehouse) -> None:
    table = warehouse.table()
    asked: list[tuple[str, ...]] = []

    def located(parts: tuple[str, ...]) -> tuple[str, str] | None:
        asked.append(parts)
        if parts[-1] != "t":
            return None
        return table.metadata_location, str(table.metadata.table_uuid)

    lake = Lake([CatalogSettings("h", "jvm")], "h", lambda: ("x",), jvm_located=located)
    pinned = lake.pin().pinned(("t",), At())
    assert pinned is not None
    assert pinned.arrow(["id"]).num_rows == 3
    assert asked == [("h", "x", "t")]
    assert lake.pin().table(("u",), At()) is None
    with pytest.raises(CatalogReadOnlyError):
        lake.set_properties(("t",), {"a": "1"})


def test_a_table_made_anew_may_call_its_metadata_file_as_before(warehouse: Warehouse) -> None:
    """A Hadoop catalog begins at `v1.metadata.json` again."""
    tables = [warehouse.table("t"), warehouse.table("u", ROWS.slice(1))]
    newest = warehouse.root / "v1.metadata.json"

    def make(which: int) -> str:
        shutil.copy(local_path(tables[which].metadata_location), newest)
        return str(tables[which].metadata.table_uuid)

    uuid = make(0)
    lake = Lake(
        [CatalogSettings("h", "jvm")],
        "h",
        lambda: ("x",),
        jvm_located=lambda _: (f"file://{newest}", uuid),
    )

    def ids() -> list[int]:
        pinned = lake.pin().pinned(("t",), At())
        assert pinned is not None
        return pinned.arrow(["id"])["id"].to_pylist()

    assert ids() == [1, 2, 3]
    uuid = make(1)
    assert ids() == [2, 3]
    make(0)
    uuid = str(tables[1].metadata.table_uuid) + "0"  # the JVM kept an older one than the file
    with pytest.raises(CatalogError, match="another table's by now"):
        ids()


def test_tables_lists_every_table(warehouse: Warehouse) -> None:
    warehouse.table()
    warehouse.table("u")
    lake = warehouse.lake()
    assert list(lake.tables()) == [("lake", "d", "t"), ("lake", "d", "u")]


def test_a_warm_pin_is_quick(warehouse: Warehouse) -> None:
    warehouse.table()
    lake = warehouse.lake()
    lake.pin().table(("t",), At())
    started = time.perf_counter()
    for _ in range(500):
        lake.pin().table(("t",), At())
    assert (time.perf_counter() - started) / 500 < 0.0005  # 0.03 ms on an idle core


@pytest.mark.served
def test_metadata_of_local_tables_needs_no_dataset_import(warehouse: Warehouse) -> None:
    warehouse.table()
    script = f"""
import sys
from accelerator.iceberg import CatalogSettings, Lake
from rewrite.facts import At
lake = Lake([CatalogSettings("lake", "sql", {warehouse.properties!r})], "lake", lambda: ("d",))
assert len(lake.pin().pinned(("t",), At()).live_files()) == 1
print([name for name in ("pyiceberg.io.pyarrow", "sqlalchemy", "pyspark") if name in sys.modules])
"""
    root = Path(__file__).parents[3]
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=root, check=True
    )
    assert ran.stdout.strip() == "[]"


def _file(path: str = "a", sequence_number: int = 5) -> LiveFile:
    return LiveFile(path, sequence_number, 1, 1, "parquet", 0)


def _ref(content: str, sequence_number: int, path: str = "x") -> DeleteRef:
    return DeleteRef(path, content, sequence_number, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "sequence_number", "applies"),
    [
        ("position", 4, False),
        ("position", 5, True),
        ("equality", 5, False),
        ("equality", 6, True),
        ("dv", 5, True),
    ],
)
def test_deletes_apply_by_sequence_number(
    content: str, sequence_number: int, applies: bool
) -> None:
    assert bool(applying([_ref(content, sequence_number)], 5)) == applies


def test_a_vector_replaces_position_deletes_and_not_equality_deletes() -> None:
    refs = [_ref("dv", 9, "v"), _ref("position", 7, "p"), _ref("equality", 8, "e")]
    assert [ref.path for ref in applying(refs, 5)] == ["e", "v"]


def test_the_deletes_key_changes_with_the_deletes() -> None:
    first, second = _ref("position", 1, "p"), _ref("dv", 2, "v")
    keys = {
        replace(_file(), deletes=deletes).deletes_key
        for deletes in ((), (first,), (second,), (first, second))
    }
    assert len(keys) == 4
    assert (
        replace(_file(), deletes=(first, second)).deletes_key
        == replace(_file(), deletes=(second, first)).deletes_key
    )


def test_equality_deletes_are_left_to_spark(warehouse: Warehouse) -> None:
    warehouse.table()
    pinned = warehouse.lake().pin().pinned(("t",), At())
    assert pinned is not None
    (file,) = pinned.live_files()
    with pytest.raises(EqualityDeletesError) as caught:
        pinned.arrow(["id"], [replace(file, deletes=(_ref("equality", 9),))])
    assert caught.value.code == "equality_deletes_need_spark"


def test_pyicebergs_models_are_compiled_when_they_are_used() -> None:
    """Not when PyIceberg is imported, which a first answer would wait for; and each of them can."""
    probe = """
import accelerator.iceberg
import pyiceberg.catalog.rest
from pyiceberg.typedef import IcebergBaseModel, IcebergRootModel
models, left = [], [IcebergBaseModel, IcebergRootModel]
while left:
    left += (found := left.pop().__subclasses__())
    models += found
early = sum(one.__pydantic_complete__ for one in models)
for one in models:
    one.model_rebuild()
print(len(models) > 150, early < len(models) / 3, all(one.__pydantic_complete__ for one in models))
"""
    ran = subprocess.run(
        [sys.executable, "-c", probe],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout == "True True True\n", ran.stderr
