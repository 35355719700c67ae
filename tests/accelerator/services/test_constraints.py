"""Declared keys: kept in Iceberg's table properties, checked on the data. No JVM: DuckDB runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from pyiceberg.types import LongType

from accelerator.errors import ConstraintError, UnknownColumnError, UnknownTableError
from accelerator.iceberg import CatalogSettings, Lake
from accelerator.query.statements.constraint import PREFIX, Constraint
from accelerator.services.ddl.constraints import declare
from accelerator.services.ddl.constraints import validate as constraint_check
from accelerator.services.ddl.constraints.validate import Example
from rewrite.facts import At
from tests.support.pristine import catalog_of, properties_of

FACT = pa.table(
    {
        "id": pa.array([1, 2, 2, 2, None, 5], pa.int64()),
        "day": pa.array([10, 10, 20, 20, 30, None], pa.int32()),
        "tag": ["a", "b", "b", "b", "c", None],
        "parts": [["x"], [], None, None, None, None],
    }
)
DATES = pa.table({"key": pa.array([10, 20, 20], pa.int64()), "year": pa.array([1, 2, 2])})
PK = Constraint("pk", "primary_key", ("id",))
UNIQUE = Constraint("u", "unique", ("id", "tag"))
FK = Constraint("fk", "foreign_key", ("day",), ("dates",), ("key",), rely=True)


class Warehouse:
    """A SQLite catalog with a fact and a dimension, and DuckDB over the pinned rows."""

    def __init__(self, root: Path) -> None:
        self.catalog = catalog_of(root)
        settings = CatalogSettings("lake", "sql", properties_of(root))
        self.lake = Lake([settings], "lake", lambda: ("d",))
        self.ran: list[str] = []

    def table(self, name="fact"):
        return self.catalog.load_table(f"d.{name}")

    def run(self, sql: str) -> pa.Table:
        """Runs Spark SQL in DuckDB: each table with its snapshot becomes an Arrow table."""
        self.ran.append(sql)
        with duckdb.connect() as connection:
            pattern = re.compile(r"`lake`\.`d`\.`(\w+)`(?: VERSION AS OF (\d+))?")
            for name, snapshot in set(pattern.findall(sql)):
                at = At(snapshot_id=int(snapshot)) if snapshot else At()
                pinned = self.lake.pin().pinned(("lake", "d", name), at)
                rows = pinned.arrow([column.name for column in pinned.facts.columns])
                connection.register(f"{name}_{snapshot}", rows)
            plain = pattern.sub(lambda m: f"`{m[1]}_{m[2] or ''}`", sql)
            return connection.sql(
                sqlglot.transpile(plain, read="spark", write="duckdb")[0]
            ).to_arrow_table()

    def validate(self, name: str, table="fact") -> constraint_check.Validation:
        found = declare.find(self.lake, (table,), name)
        return constraint_check.validate(self.lake, (table,), found, self.run)


def _fill(catalog):
    catalog.create_namespace("d")
    for name, rows in (("fact", FACT), ("dates", DATES)):
        catalog.create_table(f"d.{name}", rows.schema).append(rows)


@pytest.fixture
def warehouse(pristine):
    return Warehouse(pristine.lake(_fill))


def test_what_is_declared_is_listed_and_dropping_leaves_no_trace(warehouse):
    before = dict(warehouse.table().properties)
    for constraint in (PK, UNIQUE, FK):
        declare.add(warehouse.lake, ("fact",), constraint)
    assert set(warehouse.table().properties) - set(before) == {
        PREFIX + n for n in ("pk", "u", "fk")
    }
    listed = {one.name: one for one in declare.constraints_of(warehouse.lake, ("d", "fact"))}
    resolved = Constraint(
        "fk", "foreign_key", ("day",), ("lake", "d", "dates"), ("key",), rely=True
    )
    assert listed == {"pk": PK, "u": UNIQUE, "fk": resolved}
    assert declare.find(warehouse.lake, ("fact",), "PK") == PK
    for name in ("PK", "u", "fk"):
        assert declare.drop(warehouse.lake, ("fact",), name)
    assert dict(warehouse.table().properties) == before
    assert not declare.drop(warehouse.lake, ("fact",), "pk", if_exists=True)


def test_the_property_is_as_documented(warehouse):
    declare.add(warehouse.lake, ("fact",), FK)
    uuid = str(warehouse.table("dates").metadata.table_uuid)
    assert json.loads(warehouse.table().properties["accelerator.constraint.fk"]) == {
        "version": 1,
        "kind": "foreign_key",
        "columns": [{"id": 2, "name": "day"}],
        "rely": True,
        "references": {
            "table": ["lake", "d", "dates"],
            "uuid": uuid,
            "columns": [{"id": 1, "name": "key"}],
        },
    }


def test_names_are_resolved_without_case(warehouse):
    added = declare.add(warehouse.lake, ("fact",), Constraint("U", "unique", ("ID", "Tag")))
    assert added.columns == ("id", "tag")


def test_a_foreign_key_without_columns_means_the_primary_key_there(warehouse):
    bare = Constraint("fk", "foreign_key", ("day",), ("dates",))
    with pytest.raises(ConstraintError, match="no primary key"):
        declare.add(warehouse.lake, ("fact",), bare)
    declare.add(warehouse.lake, ("dates",), Constraint("pk", "primary_key", ("key",)))
    added = declare.add(warehouse.lake, ("fact",), bare)
    assert added.references_columns == ("key",)


@pytest.mark.parametrize(
    ("constraint", "error", "said"),
    [
        (Constraint("PK", "unique", ("id",)), ConstraintError, "has a constraint pk already"),
        (Constraint("p2", "primary_key", ("id",)), ConstraintError, "a primary key, pk already"),
        (Constraint("x", "unique", ("nope",)), UnknownColumnError, "no column nope"),
        (Constraint("x", "unique", ("id", "ID")), ConstraintError, "twice"),
        (Constraint("x", "unique", ("parts",)), ConstraintError, "can't be a key"),
        (Constraint("x", "foreign_key", ("id",), ("nope",), ("a",)), UnknownTableError, "nope"),
        (Constraint("x", "foreign_key", ("id",), ("dates",), ("a",)), UnknownColumnError, "dates"),
        (
            Constraint("x", "foreign_key", ("id", "tag"), ("dates",), ("key",)),
            ConstraintError,
            "2 columns and refers to 1",
        ),
        (
            Constraint("x", "foreign_key", ("tag",), ("dates",), ("key",)),
            ConstraintError,
            "tag is string, and key is bigint",
        ),
    ],
)
def test_a_wrong_declaration_is_refused_and_leaves_nothing(warehouse, constraint, error, said):
    declare.add(warehouse.lake, ("fact",), PK)
    before = dict(warehouse.table().properties)
    with pytest.raises(error, match=re.escape(said)) as caught:
        declare.add(warehouse.lake, ("fact",), constraint)
    assert caught.value.hint
    assert dict(warehouse.table().properties) == before


def test_an_enforced_constraint_is_refused_with_the_words_to_write(warehouse):
    with pytest.raises(ConstraintError, match="enforced") as caught:
        declare.add(warehouse.lake, ("fact",), FK, enforced=True)
    assert "FOREIGN KEY (day) REFERENCES dates (key) NOT ENFORCED RELY" in caught.value.hint


def test_unknown_tables_and_names_are_refused(warehouse):
    for call in (
        lambda: declare.add(warehouse.lake, ("nope",), PK),
        lambda: declare.drop(warehouse.lake, ("nope",), "pk"),
        lambda: declare.constraints_of(warehouse.lake, ("x", "nope")),
    ):
        with pytest.raises(UnknownTableError, match="nope"):
            call()
    with pytest.raises(ConstraintError, match=r"lake\.d\.fact has no constraint pk") as caught:
        declare.drop(warehouse.lake, ("fact",), "pk")
    assert caught.value.hint == "SHOW CONSTRAINTS ON lake.d.fact lists them"


def test_a_renamed_column_keeps_its_constraint(warehouse):
    declare.add(warehouse.lake, ("fact",), FK)
    with warehouse.table().update_schema() as update:
        update.rename_column("day", "date")
    with warehouse.table("dates").update_schema() as update:
        update.rename_column("key", "d key")
    found = declare.find(warehouse.lake, ("fact",), "fk")
    assert (found.columns, found.references_columns, found.problem) == (("date",), ("d key",), "")
    assert warehouse.validate("fk").violations == 1


def test_what_is_gone_is_a_problem_not_an_error(warehouse):
    declare.add(warehouse.lake, ("fact",), FK)
    declare.add(warehouse.lake, ("fact",), PK)
    with warehouse.table().update_schema() as update:
        update.delete_column("id")
    warehouse.catalog.drop_table("d.dates")
    gone = {one.name: one.problem for one in declare.constraints_of(warehouse.lake, ("fact",))}
    assert gone == {
        "fk": "there is no table lake.d.dates any more",
        "pk": "lake.d.fact has no column id any more",
    }
    with pytest.raises(ConstraintError, match="can't be checked"):
        warehouse.validate("pk")
    warehouse.catalog.create_table("d.dates", DATES.schema)
    assert "another table" in declare.find(warehouse.lake, ("fact",), "fk").problem


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "[]",
        "{}",
        '{"version": 2}',
        '{"version": 1, "kind": "check", "columns": [], "rely": false}',
        '{"version": 1, "kind": ["x"], "columns": [], "rely": false}',
        '{"version": 1, "kind": "unique", "columns": [7], "rely": false}',
        '{"version": 1, "kind": "unique", "columns": [{"id": [], "name": "a"}], "rely": false}',
        '{"version": 1, "kind": "foreign_key", "columns": [], "rely": false}',
    ],
)
def test_a_damaged_property_is_shown_and_can_be_dropped(warehouse, text):
    with warehouse.table().transaction() as transaction:
        transaction.set_properties({PREFIX + "bad": text})
    (found,) = declare.constraints_of(warehouse.lake, ("fact",))
    assert (found.kind, bool(found.problem)) == ("unknown", True)
    declare.add(warehouse.lake, ("fact",), PK)
    assert declare.drop(warehouse.lake, ("fact",), "bad")
    assert declare.constraints_of(warehouse.lake, ("fact",)) == (PK,)


def test_a_primary_key_forbids_null_and_doubles(warehouse):
    declare.add(warehouse.lake, ("fact",), PK)
    found = warehouse.validate("pk")
    assert (found.ok, found.checked_rows, found.violations) == (False, 6, 3)
    assert found.examples == (Example((2,), 3, "duplicate"), Example((None,), 1, "null"))
    snapshot = warehouse.table().current_snapshot().snapshot_id
    assert found.snapshot_ids == {"lake.d.fact": snapshot}
    assert all(f"VERSION AS OF {snapshot}" in sql for sql in warehouse.ran)
    row = found.row()
    assert row["examples"] == ["(2): duplicate, 3 rows", "(NULL): null, 1 row"]
    assert (row["table"], row["ok"], row["violations"]) == ("lake.d.fact", False, 3)


def test_unique_leaves_rows_with_null_out(warehouse):
    declare.add(warehouse.lake, ("fact",), Constraint("u", "unique", ("tag",)))
    warehouse.table().append(FACT.slice(5))
    found = warehouse.validate("u")
    assert (found.checked_rows, found.violations) == (7, 2)
    assert found.examples == (Example(("b",), 3, "duplicate"),)


def test_several_columns_are_one_key(warehouse):
    declare.add(warehouse.lake, ("fact",), Constraint("u", "unique", ("id", "day")))
    assert warehouse.validate("u").examples == (Example((2, 20), 2, "duplicate"),)


def test_a_foreign_key_must_be_found_unless_null(warehouse):
    declare.add(warehouse.lake, ("fact",), FK)
    found = warehouse.validate("fk")
    # 20 stands twice among the dates, and must not count twice.
    assert (found.checked_rows, found.violations) == (6, 1)
    assert found.examples == (Example((30,), 1, "not_found"),)
    assert set(found.snapshot_ids) == {"lake.d.fact", "lake.d.dates"}
    warehouse.table("dates").append(pa.table({"key": [30], "year": [3]}))
    assert warehouse.validate("fk").ok
    assert not warehouse.validate("fk").examples


def test_a_table_without_rows_keeps_every_constraint(warehouse):
    warehouse.catalog.create_table("d.empty", FACT.schema)
    declare.add(warehouse.lake, ("empty",), PK)
    found = warehouse.validate("pk", "empty")
    assert (found.ok, found.checked_rows, found.snapshot_ids) == (True, 0, {"lake.d.empty": None})
    empty = Constraint("fk", "foreign_key", ("id",), ("empty",), ("id",))
    declare.add(warehouse.lake, ("fact",), empty)
    assert warehouse.validate("fk").violations == 5


def test_a_column_younger_than_the_snapshot_is_read_from_the_newest_state(warehouse):
    with warehouse.table().update_schema() as update:
        update.add_column("later", LongType())
    declare.add(warehouse.lake, ("fact",), Constraint("pk", "primary_key", ("later",)))
    assert warehouse.validate("pk").violations == 6
    assert not any("VERSION" in sql for sql in warehouse.ran)


def test_a_table_that_moves_on_while_it_is_read_so_is_read_again(warehouse):
    with warehouse.table().update_schema() as update:
        update.rename_column("id", "number")
    declare.add(warehouse.lake, ("fact",), Constraint("u", "unique", ("number",)))
    late, answers = FACT.slice(1, 1).rename_columns(["number", "day", "tag", "parts"]), []

    def run_and_write_once(sql):
        answers.append(warehouse.run(sql))
        if len(answers) == 1:
            warehouse.table().append(late)
        return answers[-1]

    found = declare.find(warehouse.lake, ("fact",), "u")
    once = declare.validate(warehouse.lake, ("fact",), found, run_and_write_once)
    assert (once.checked_rows, once.violations) == (7, 3)
    snapshot = warehouse.table().current_snapshot().snapshot_id
    assert once.snapshot_ids == {"lake.d.fact": snapshot}


def test_at_most_five_examples_the_commonest_first(warehouse):
    keys = [n for n in range(9) for _ in range(n + 1)]
    rows = pa.table({"key": pa.array(keys, pa.int64()), "year": pa.array(keys, pa.int64())})
    warehouse.table("dates").overwrite(rows)
    declare.add(warehouse.lake, ("dates",), Constraint("pk", "primary_key", ("key",)))
    found = warehouse.validate("pk", "dates")
    assert (found.checked_rows, found.violations) == (45, 36)
    assert [example.key for example in found.examples] == [(8,), (7,), (6,), (5,), (4,)]


def test_show_lists_one_table_or_all(warehouse):
    declare.add(warehouse.lake, ("fact",), FK)
    declare.add(warehouse.lake, ("dates",), Constraint("pk", "primary_key", ("key",)))
    shown = declare.show(warehouse.lake)
    assert [(row["table"], row["name"], row["kind"]) for row in shown] == [
        ("lake.d.dates", "pk", "PRIMARY KEY"),
        ("lake.d.fact", "fk", "FOREIGN KEY"),
    ]
    (row,) = declare.show(warehouse.lake, ("fact",))
    assert (row["references"], row["references_columns"]) == ("lake.d.dates", ["key"])
    assert (row["rely"], row["problem"]) == (True, None)
    declare.drop(warehouse.lake, ("fact",), "fk")
    assert not declare.show(warehouse.lake, ("fact",))
