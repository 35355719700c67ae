"""ADD, DROP and SHOW RELATE COLUMN over a SQLite catalog, without a JVM: what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator.artifacts.relate.declaration import PREFIX
from accelerator.errors import (
    AcceleratorError,
    RelateColumnError,
    RelateKeyError,
    UnknownColumnError,
    UnknownTableError,
)
from accelerator.session.session import Accelerator
from tests.support.pristine import Pristine, catalog_of

_INT = pa.int32()
TABLES = {
    "f": pa.table(
        {
            "k": pa.array([1, 2, 3, None], _INT),
            "w": pa.array([1, 2, 3, 4], pa.int64()),
            "s": ["a", "b", "c", None],
            "x": [1.0, 2.0, 3.0, 4.0],
            "v": pa.array([1, 2, 3, 4], _INT),
        }
    ),
    "a": pa.table(
        {
            "k": pa.array([1, 2, 3, None, None], _INT),
            "ok": pa.array([1, 1, 2, 2, 2], _INT),
            "name": ["x", "y", None, "z", "z"],
            "twice": pa.array([7, 7, 8, 8, 9], _INT),
            "x": [1.0, 2.0, 3.0, 4.0, 5.0],
        }
    ),
    "o": pa.table(
        {"ok": pa.array([1, 2], _INT), "land": ["l", "m"], "far": pa.array([5, 6], _INT)}
    ),
    "p": pa.table({"far": pa.array([5, 6], _INT), "sea": ["n", "e"]}),
    "c": pa.table({"k": pa.array([1, 1, 2], _INT), "s": ["a", "b", "a"], "tag": ["t", "u", "v"]}),
}


def _fill(catalog: SqlCatalog) -> None:
    for namespace in ("d", "e"):
        catalog.create_namespace(namespace)
    for name, rows in TABLES.items():
        catalog.create_table(f"d.{name}", rows.schema).append(rows)
    catalog.create_table("e.a", TABLES["a"].schema).append(TABLES["a"])


@pytest.fixture
def root(pristine: Pristine) -> Path:
    return pristine.lake(_fill)


@pytest.fixture
def catalog(root: Path) -> SqlCatalog:
    return catalog_of(root)


@pytest.fixture
def acc(root: Path) -> Iterator[Accelerator]:
    with accelerator.open(root) as session:
        yield session
        assert not session.spark_started


def _add(acc: Accelerator, rest: str) -> str:
    (row,) = acc.execute(f"ALTER TABLE d.f ADD RELATE COLUMN {rest}").to_pylist()
    return row["relate_column"]


def _shown(acc: Accelerator, rest: str = "") -> list[dict[str, object]]:
    return acc.execute(f"SHOW RELATE COLUMNS{rest}").to_pylist()


def _properties(catalog: SqlCatalog) -> set[str]:
    known = catalog.load_table("d.f").properties
    return {key.removeprefix(PREFIX) for key in known if key.startswith(PREFIX)}


def test_what_is_added_is_shown_and_dropping_leaves_no_trace(acc, catalog) -> None:
    assert _add(acc, "name FROM d.a.name ON d.f.k = d.a.k") == "name"
    assert _add(acc, "TAG FROM lake.d.c.tag ON f.k = c.k AND d.c.S = f.S AS `my tag`") == "my tag"
    assert _properties(catalog) == {"name", "my tag"}
    first, second = _shown(acc, " ON d.f")
    assert first == {
        "table": "lake.d.f",
        "name": "my tag",
        "type": "string",
        "attribute": "lake.d.c.tag",
        "joins": ["lake.d.f.k = lake.d.c.k", "lake.d.f.s = lake.d.c.s"],
        "indexes": [],
        "status": "ok",
    }
    assert (second["name"], second["joins"]) == ("name", ["lake.d.f.k = lake.d.a.k"])
    assert _shown(acc) == [first, second]
    for name in ("MY TAG", "name"):
        acc.execute(f"ALTER TABLE d.f DROP RELATE COLUMN `{name}`")
    assert (_properties(catalog), _shown(acc)) == (set(), [])
    assert acc.execute("ALTER TABLE d.f DROP RELATE COLUMN IF EXISTS name").num_rows == 0


@pytest.mark.parametrize(
    ("rest", "joins"),
    [
        ("land FROM d.o.land ON d.f.k = d.a.k AND d.a.ok = d.o.ok", ["f.k = a.k", "a.ok = o.ok"]),
        ("land FROM d.o.land ON d.o.ok = d.a.ok AND d.a.k = d.f.k", ["f.k = a.k", "a.ok = o.ok"]),
        (
            "sea FROM d.p.sea ON d.f.k = d.a.k AND d.a.ok = d.o.ok AND d.o.far = d.p.far",
            ["f.k = a.k", "a.ok = o.ok", "o.far = p.far"],
        ),
        ("sea FROM d.p.sea ON d.f.v = d.p.far", ["f.v = p.far"]),
        ("tag FROM d.c.tag ON d.f.k = d.c.k AND d.c.s = d.f.s", ["f.k = c.k", "f.s = c.s"]),
        ("name FROM d.a.name ON v = a.k", ["f.v = a.k"]),
        ("far FROM d.o.far ON v = ok", ["f.v = o.ok"]),
        ("name FROM e.a.name ON d.f.k = e.a.k", ["f.k = a.k"]),
    ],
)
def test_paths(acc, rest: str, joins: list[str]) -> None:
    _add(acc, rest)
    (row,) = _shown(acc)
    assert [re.sub(r"lake\.[de]\.", "", one) for one in row["joins"]] == joins


@pytest.mark.parametrize(
    ("rest", "error", "said"),
    [
        ("name FROM d.a.name ON d.f.k = d.a.twice", RelateKeyError, "(7) × 2, (8) × 2"),
        ("tag FROM d.c.tag ON d.f.k = d.c.k", RelateKeyError, "(1) × 2"),
        (
            "land FROM d.o.land ON d.f.k = d.a.twice AND d.a.ok = d.o.ok",
            RelateKeyError,
            "the key (twice) of lake.d.a isn't unique",
        ),
        ("name FROM d.a.name ON d.f.w = d.a.k", RelateColumnError, "w is bigint, and k is int"),
        ("name FROM d.a.name ON d.f.s = d.a.k", RelateColumnError, "s is string, and k is int"),
        ("name FROM d.a.name ON d.f.x = d.a.x", RelateColumnError, "x is double, which can't"),
        ("x FROM d.a.x ON d.f.k = d.a.k", RelateColumnError, "lake.d.f has a column x"),
        ("name FROM d.a.name ON d.f.k = d.a.k AS V", RelateColumnError, "has a column V"),
        ("nope FROM d.a.nope ON d.f.k = d.a.k", UnknownColumnError, "lake.d.a has no column nope"),
        ("name FROM d.a.name ON d.f.nope = d.a.k", UnknownColumnError, "d.f has no column nope"),
        ("name FROM d.a.name ON d.f.k = d.a.nope", UnknownColumnError, "d.a has no column nope"),
        ("name FROM d.a.name ON k = d.a.k", UnknownColumnError, "both tables have a column k"),
        ("name FROM d.a.name ON nope = d.a.k", UnknownColumnError, "neither table has a column"),
        ("name FROM d.nope.name ON d.f.k = d.nope.k", UnknownTableError, "lake.d.nope|d.nope"),
        ("name FROM d.a.name ON d.f.k = d.z.k", UnknownTableError, "d.z"),
        ("name FROM d.a.name ON d.a.k = d.a.ok", RelateColumnError, "don't begin at the fact"),
        ("land FROM d.o.land ON d.a.ok = d.o.ok", RelateColumnError, "don't begin at the fact"),
        ("name FROM d.a.name ON d.f.k = d.f.v", RelateColumnError, "go round in a circle"),
        (
            "land FROM d.o.land ON d.f.k = d.a.k AND d.a.ok = d.o.ok AND d.o.far = d.f.v",
            RelateColumnError,
            "",
        ),
        (
            "name FROM d.a.name ON d.f.k = d.a.k AND d.a.ok = d.o.ok",
            RelateColumnError,
            "no join leads on to lake.d.a",
        ),
        ("land FROM d.o.land ON d.f.k = d.a.k", RelateColumnError, "no join leads on to lake.d.o"),
        ("k FROM d.f.k ON d.f.k = d.f.v AS other", RelateColumnError, ""),
        ("name FROM e.a.name ON d.a.ok = e.a.k AND f.k = a.k", RelateColumnError, "several tables"),
    ],
)
def test_a_wrong_one_is_refused_and_leaves_nothing(acc, catalog, rest, error, said) -> None:
    with pytest.raises(error) as caught:
        _add(acc, rest)
    assert caught.value.hint
    assert any(one in caught.value.message for one in said.split("|")), caught.value.message
    assert _properties(catalog) == set()


def test_a_name_that_is_taken(acc) -> None:
    _add(acc, "name FROM d.a.name ON d.f.k = d.a.k")
    with pytest.raises(RelateColumnError, match="has a relate column NAME already") as caught:
        _add(acc, "ok FROM d.a.ok ON d.f.k = d.a.k AS NAME")
    assert "DROP RELATE COLUMN" in caught.value.hint


def test_dropping_what_is_not_there(acc) -> None:
    with pytest.raises(RelateColumnError, match=r"lake\.d\.f has no relate column x") as caught:
        acc.execute("ALTER TABLE d.f DROP RELATE COLUMN x")
    assert caught.value.hint == "SHOW RELATE COLUMNS ON lake.d.f lists them"


def test_renamed_columns_stay_and_what_is_gone_is_told(acc, catalog) -> None:
    _add(acc, "name FROM d.a.name ON d.f.k = d.a.k")
    _add(acc, "land FROM d.o.land ON d.f.k = d.a.k AND d.a.ok = d.o.ok")
    for table, old, new in (("f", "k", "key"), ("a", "name", "called"), ("a", "ok", "out")):
        with catalog.load_table(f"d.{table}").update_schema() as update:
            update.rename_column(old, new)
    assert [row["status"] for row in _shown(acc)] == ["ok", "ok"]
    with catalog.load_table("d.a").update_schema() as update:
        update.delete_column("out")
    status = {row["name"]: row["status"] for row in _shown(acc)}
    assert status == {"name": "ok", "land": "lake.d.a has no column ok any more"}
    with catalog.load_table("d.f").update_schema() as update:
        update.delete_column("key")
    assert {row["status"] for row in _shown(acc)} == {"lake.d.f has no column k any more"}
    catalog.drop_table("d.a")
    assert all("the dimension lake.d.a is gone" in str(row["status"]) for row in _shown(acc))
    catalog.create_table("d.a", TABLES["a"].schema).append(TABLES["a"])
    assert all("another table" in str(row["status"]) for row in _shown(acc))
    for name in ("name", "land"):
        acc.execute(f"ALTER TABLE d.f DROP RELATE COLUMN {name}")
    assert _shown(acc) == []


def test_a_damaged_one_is_shown_and_can_be_dropped(acc, catalog) -> None:
    _add(acc, "name FROM d.a.name ON d.f.k = d.a.k")
    good = catalog.load_table("d.f").properties[PREFIX + "name"]
    for text in ("{}", good.replace('"of": 0', '"of": 5'), good.replace('"of": 0', '"of": -1')):
        with catalog.load_table("d.f").transaction() as transaction:
            transaction.set_properties({PREFIX + "bad": text})
        bad, name = _shown(acc)
        assert (bad["name"], bad["type"], name["status"]) == ("bad", None, "ok")
        assert bad["status"]
        with pytest.raises(AcceleratorError, match="bad can't be used"):
            acc.execute("CREATE INDEX i ON d.f USING BITMAP (bad)")
        acc.execute("ALTER TABLE d.f DROP RELATE COLUMN bad")
    assert [row["name"] for row in _shown(acc)] == ["name"]


def test_a_dimension_without_rows(acc, catalog) -> None:
    catalog.create_table("d.empty", TABLES["a"].schema)
    _add(acc, "name FROM d.empty.name ON d.f.k = d.empty.k")
    assert [row["status"] for row in _shown(acc)] == ["ok"]
