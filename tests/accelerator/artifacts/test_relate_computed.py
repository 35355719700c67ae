"""Relate columns that are expressions, without a JVM: property, values, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import LongType

import accelerator
from accelerator.artifacts.relate.declaration import (
    PREFIX,
    from_property,
    relate_columns,
    to_property,
)
from accelerator.artifacts.relate.path import named, path_of
from accelerator.errors import (
    AcceleratorError,
    RelateColumnError,
    UnknownColumnError,
    UnknownTableError,
)
from accelerator.session.session import Accelerator
from rewrite.ir.expr import Call, Column, Literal
from tests.support.pristine import Pristine, catalog_of

_INT = pa.int32()
TABLES = {
    "f": pa.table({"k": pa.array([1, 2, 3, None], _INT), "v": pa.array([1, 2, 3, 4], _INT)}),
    "d": pa.table(
        {
            "k": pa.array([1, 2, 3, 4, None], _INT),
            "ok": pa.array([1, 1, 7, 2, 1], _INT),
            "city": ["x", None, "z", "w", "v"],
            "w": pa.array([2, 3, 4, None, 9], _INT),
            "h": pa.array([5, 6, 7, 8, 9], _INT),
            "big": pa.array([2**62, 1, 2, 3, 4], pa.int64()),
            "price": pa.array([1, 2, 3, 4, 5], pa.decimal128(8, 2)),
            "x": [1.0, 2.0, 3.0, float("nan"), 5.0],
        }
    ),
    "o": pa.table({"ok": pa.array([1, 2], _INT), "land": ["l", "m"]}),
}
_ON = "ON d.f.k = d.d.k"
_CHAIN = "ON d.f.k = d.d.k AND d.d.ok = d.o.ok"


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    for name, rows in TABLES.items():
        catalog.create_table(f"d.{name}", rows.schema).append(rows)


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


def _values(acc: Accelerator, name: str) -> dict[Any, Any]:
    """What it has for each key."""
    pin = acc.services.lake.pin(fresh=True)
    fact = pin.pinned(("d", "f"))
    assert fact is not None
    column = named(fact, name)
    assert column is not None
    lookup = acc.services.dimensions.lookup(path_of(column, pin))
    return dict(zip(lookup.keys.columns[0].to_pylist(), lookup.values.to_pylist(), strict=True))


def _property(catalog: SqlCatalog, name: str) -> str:
    return catalog.load_table("d.f").properties[PREFIX + name]


@pytest.mark.parametrize(
    ("text", "on", "type_", "values"),
    [
        ("(d.d.w * d.d.h)", _ON, "int", {1: 10, 2: 18, 3: 28, 4: None}),
        (
            "concat(d.d.city, ', ', d.o.land)",
            _CHAIN,
            "string",
            {1: "x, l", 2: None, 3: None, 4: "w, m"},
        ),
        (
            "coalesce(d.o.land, d.d.city)",
            _CHAIN,
            "string",
            {1: "l", 2: "l", 3: "z", 4: "m"},
        ),
        ("coalesce(d.d.city, 'none')", _ON, "string", {1: "x", 2: "none", 3: "z", 4: "w"}),
        ("d.d.w IS NULL", _ON, "boolean", {1: False, 2: False, 3: False, 4: True}),
        ("d.d.w / 2", _ON, "double", {1: 1.0, 2: 1.5, 3: 2.0, 4: None}),
        ("d.d.x * 2D", _ON, "double", {1: 2.0, 2: 4.0, 3: 6.0}),
        (
            "CASE WHEN d.d.price >= 3 THEN d.d.price END",
            _ON,
            "decimal(8,2)",
            {1: None, 2: None, 3: 3, 4: 4},
        ),
        ("CAST(d.d.w AS BIGINT) * d.d.h", _ON, "bigint", {1: 10, 2: 18, 3: 28, 4: None}),
    ],
)
def test_values_and_what_is_shown(acc, text: str, on: str, type_: str, values: dict) -> None:
    assert _add(acc, f"FROM {text} {on} AS one") == "one"
    (row,) = acc.execute("SHOW RELATE COLUMNS").to_pylist()
    assert (row["name"], row["type"], row["status"]) == ("one", type_, "ok")
    found = _values(acc, "one")
    assert {key: found[key] for key in values} == values
    assert len(found) == 4
    attribute = row["attribute"]
    acc.execute("ALTER TABLE d.f DROP RELATE COLUMN one")
    # What is shown can be declared, and is the same.
    _add(acc, f"other FROM {attribute} {on}")
    assert acc.execute("SHOW RELATE COLUMNS").to_pylist()[0]["attribute"] == attribute
    assert {key: _values(acc, "other")[key] for key in values} == values


def test_the_property_is_as_documented(acc, catalog) -> None:
    _add(acc, f"FROM (d.d.w * d.d.h) {_ON} AS area")
    raw = json.loads(_property(catalog, "area"))
    number, uuid = raw.pop("id"), raw["path"][0].pop("uuid")
    assert -(2**30) <= number < 0
    assert uuid == str(catalog.load_table("d.d").metadata.table_uuid)
    assert raw == {
        "version": 2,
        "path": [
            {
                "table": ["lake", "d", "d"],
                "keys": [{"of": 0, "other": {"id": 1, "name": "k"}, "own": {"id": 1, "name": "k"}}],
            }
        ],
        "expression": [
            "call",
            "*",
            [["column", 1, 4, "w", "int"], ["column", 1, 5, "h", "int"]],
            "int",
        ],
    }
    text = _property(catalog, "area")
    column = from_property("area", text)
    assert to_property(column) == text
    product = Call("*", (Column(1, 4, "w", "int"), Column(1, 5, "h", "int")), "int")
    assert column.expression == column.related.expression == product
    assert [one.field_id for one in column.columns] == [4, 5]


def test_a_column_in_parentheses_is_an_attribute(acc, catalog) -> None:
    """Of the first format, which earlier releases read."""
    _add(acc, f"FROM (d.d.city) {_ON} AS town")
    _add(acc, f"FROM d.d.city {_ON}")
    assert json.loads(_property(catalog, "town"))["version"] == 1
    rows = acc.execute("SHOW RELATE COLUMNS").to_pylist()
    assert [(row["name"], row["attribute"]) for row in rows] == [
        ("city", "lake.d.d.city"),
        ("town", "lake.d.d.city"),
    ]


def _hostile(column: list[Any]) -> Iterator[list[Any]]:
    """Operands that would be more than one if they were written as they are."""
    sql = "1); COPY (SELECT 1) TO 'acc_hostile'; SELECT (1"
    for type_ in ("int", "bigint", "double", "decimal(3,1)", "date", "timestamp", "boolean"):
        yield ["literal", sql, type_]
        yield ["literal", f"2020-01-01' || {sql} || '", type_]
    yield ["literal", "1", sql]
    yield ["call", "cast", [column, ["literal", sql, "type"]], "int"]
    yield ["call", "trunc", [["literal", sql, "unit"], column], "date"]
    yield ["call", "hour", [column, ["literal", sql, "zone"]], "int"]
    yield ["call", sql, [column], "int"]
    yield ["literal", "int", "type"]


def _damaged(catalog: SqlCatalog) -> Iterator[str]:
    good = json.loads(_property(catalog, "area"))
    column, literal = ["column", 1, 4, "w", "int"], ["literal", "1", "int"]
    for expression in (
        None,
        [],
        7,
        ["column", 2, 4, "w", "int"],
        ["column", 0, 4, "w", "int"],
        ["column", 1, "4", "w", "int"],
        ["column", 1, 4, "w", None],
        literal,
        ["call", "rand", [column], "int"],
        ["call", ["*"], [column], "int"],
        ["call", "*", [column, literal], None],
        ["call", "*", [column, ["literal", 1, "int"]], "int"],
        ["call", "*", [column, ["agg", "sum", [column], False, None, "int"]], "int"],
        ["call", "*", None, "int"],
        *(["call", "*", [column, one], "int"] for one in _hostile(column)),
    ):
        yield json.dumps({**good, "expression": expression})
    yield json.dumps({**good, "version": 1})
    yield json.dumps({**good, "version": 3})
    yield json.dumps({**good, "version": "2"})
    yield json.dumps({key: value for key, value in good.items() if key != "expression"})


def test_a_damaged_one_has_a_problem(acc, catalog) -> None:
    _add(acc, f"FROM (d.d.w * d.d.h) {_ON} AS area")
    for text in _damaged(catalog):
        found = from_property("area", text)
        assert (found.problem != "", found.path, found.expression) == (True, (), None), text
        assert relate_columns({PREFIX + "area": text})[0].columns


@pytest.mark.parametrize(
    ("rest", "error", "said"),
    [
        # names
        (f"FROM (w * d.d.h) {_ON} AS a", RelateColumnError, "w without its table's name"),
        (f"FROM (d.d.w * d.d.nope) {_ON} AS a", UnknownColumnError, "has no column nope"),
        (f"FROM (d.d.w * d.nope.h) {_ON} AS a", UnknownTableError, "d.nope"),
        (f"FROM (d.d.w * d.f.v) {_ON} AS a", RelateColumnError, "can't be its own dimension"),
        (f"FROM (d.f.v + 1) {_ON} AS a", RelateColumnError, "can't be its own dimension"),
        (f"FROM (d.d.w * d.d.h) {_ON} AS v", RelateColumnError, "lake.d.f has a column v"),
        # joins
        (f"FROM concat(d.d.city, d.o.land) {_ON} AS a", RelateColumnError, "leads on to lake.d.o"),
        (f"FROM (d.d.w * d.d.h) {_CHAIN} AS a", RelateColumnError, "no join leads on to lake.d.d"),
        (
            "FROM concat(d.d.city, d.o.land) ON d.f.k = d.d.k AND d.f.v = d.o.ok AS a",
            RelateColumnError,
            "joined to the fact beside another dimension",
        ),
        # what it may be
        (f"FROM (d.d.w *) {_ON} AS a", RelateColumnError, "can't be read"),
        (f"FROM (1 + 1) {_ON} AS a", RelateColumnError, "has no column"),
        (f"FROM d.d.w, d.d.h {_ON} AS a", RelateColumnError, "More than one expression"),
        (f"FROM (d.d.w * d.d.h) b {_ON} AS a", RelateColumnError, "b behind it"),
        (f"FROM d.d.w * d.d.h FROM d.d {_ON} AS a", RelateColumnError, "More than one expression"),
        (f"FROM (SELECT d.d.w) {_ON} AS a", RelateColumnError, "[expression_unsupported]"),
        (f"FROM sum(d.d.w) {_ON} AS a", RelateColumnError, "has an aggregate"),
        (f"FROM (sum(d.d.w) + 1) {_ON} AS a", RelateColumnError, ""),
        (f"FROM (d.d.w + rand()) {_ON} AS a", RelateColumnError, "[expression_unsupported]"),
        (f"FROM has_token(d.d.city, 'x') {_ON} AS a", RelateColumnError, "isn't Spark's"),
        (f"FROM nope(d.d.w) {_ON} AS a", RelateColumnError, "[expression_unsupported]"),
        (f"FROM CAST(d.d.city AS INT) {_ON} AS a", RelateColumnError, "[expression_not_proven]"),
        (f"FROM upper(d.d.city) {_ON} AS a", RelateColumnError, "[expression_not_proven]"),
        (f"FROM (d.d.price * 2) {_ON} AS a", RelateColumnError, "[may_raise]"),
        (f"FROM coalesce(NULL, d.d.city, 1) {_ON} AS a", RelateColumnError, ""),
        # what may raise
        (f"FROM (d.d.big * 2) {_ON} AS a", RelateColumnError, "[may_raise]"),
        (f"FROM (d.d.big * d.d.w) {_ON} AS a", RelateColumnError, "[may_raise]"),
        (f"FROM (1 / (d.d.h - 5)) {_ON} AS a", RelateColumnError, "[may_raise]"),
        (f"FROM left(d.d.city, 1) {_ON} AS a", RelateColumnError, "[expression_not_proven]"),
        # keys
        ("FROM (d.d.w * d.d.h) ON d.f.k = d.d.big AS a", RelateColumnError, "big is bigint"),
    ],
)
def test_a_wrong_one_is_refused_and_leaves_nothing(acc, catalog, rest, error, said) -> None:
    with pytest.raises(error) as caught:
        _add(acc, rest)
    assert caught.value.hint
    assert said in caught.value.message, caught.value.message
    assert not any(key.startswith(PREFIX) for key in catalog.load_table("d.f").properties)


def test_columns_that_are_renamed_made_wider_or_dropped(acc, catalog) -> None:
    _add(acc, f"FROM (d.d.w * d.d.h) {_ON} AS area")
    with catalog.load_table("d.d").update_schema() as update:
        update.rename_column("w", "width")
    assert _values(acc, "area")[1] == 10
    with catalog.load_table("d.d").update_schema() as update:
        update.update_column("h", field_type=LongType())
    (row,) = acc.execute("SHOW RELATE COLUMNS").to_pylist()
    assert row["status"] == "h was int when area was declared, and is bigint now"
    with pytest.raises(AcceleratorError, match="h was int"):
        acc.execute("CREATE INDEX i ON d.f USING BITMAP (area)")
    with catalog.load_table("d.d").update_schema() as update:
        update.delete_column("width")
    (row,) = acc.execute("SHOW RELATE COLUMNS").to_pylist()
    assert row["status"] == "lake.d.d has no column w any more"


def test_rows_of_which_it_raises(acc, catalog) -> None:
    """What came to the dimension later."""
    _add(acc, f"FROM (d.d.w * d.d.h) {_ON} AS area")
    rows = TABLES["d"].slice(0, 1).to_pylist()
    more = pa.Table.from_pylist([{**rows[0], "k": 99, "w": 2**30}], schema=TABLES["d"].schema)
    catalog.load_table("d.d").append(more)
    with pytest.raises(RelateColumnError, match="area can't be computed"):
        _values(acc, "area")
    with pytest.raises(AcceleratorError, match="area can't be computed"):
        acc.execute("CREATE INDEX i ON d.f USING BITMAP (area)")


def test_literals_side_by_side() -> None:
    """A constant keeps its quote and its type."""
    one = Call("concat", (Column(1, 3, "city", "string"), Literal("it's", "string")), "string")
    text = json.dumps(
        {
            "version": 2,
            "id": -5,
            "path": [
                {
                    "table": ["d"],
                    "uuid": "u",
                    "keys": [
                        {"of": 0, "other": {"id": 1, "name": "k"}, "own": {"id": 1, "name": "k"}}
                    ],
                }
            ],
            "expression": [
                "call",
                "concat",
                [["column", 1, 3, "city", "string"], ["literal", "it's", "string"]],
                "string",
            ],
        }
    )
    assert from_property("x", text).expression == one
