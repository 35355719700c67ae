"""Fields of structs are read by their ids: of NULL structs, of files that lack them or all ids."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.types import LongType, StringType

import accelerator
from accelerator import Accelerator
from accelerator.iceberg.rows.duckdb_readable import _missing
from accelerator.query.explain.suggest_index import suggested_index
from tests.support.pristine import catalog_of

_CLIENT = pa.struct(
    [
        ("ip", pa.string()),
        ("agent", pa.struct([("name", pa.string()), ("version", pa.int32())])),
    ]
)
_SCHEMA = pa.schema([("id", pa.int64()), ("client", _CLIENT)])
_OLD: list[dict[str, Any]] = [
    {"id": 1, "client": {"ip": "a", "agent": {"name": "x", "version": 1}}},
    {"id": 2, "client": None},
    {"id": 3, "client": {"ip": None, "agent": None}},
    {"id": 4, "client": {"ip": "b", "agent": {"name": None, "version": 4}}},
]


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """A catalog with a namespace."""
    found = catalog_of(tmp_path)
    found.create_namespace("d")
    yield found
    found.engine.dispose()


def _answer(root: Path, sql: str) -> list[dict[str, Any]]:
    with accelerator.open(root, store=str(root / "store")) as session:
        assert _engine(session, sql) == "duckdb"
        return session.query(sql).arrow().to_pylist()


def _engine(session: Accelerator, sql: str) -> str:
    told: str = json.loads(session.explain(sql, format="json"))["engine"]
    return told


def _rows(rows: list[dict[str, Any]], schema: pa.Schema = _SCHEMA) -> pa.Table:
    return pa.Table.from_pylist(rows, schema)


def _evolve(table: Table) -> None:
    """Renames `ip`, adds `engine`, and widens `version`."""
    with table.update_schema() as change:
        change.rename_column(("client", "ip"), "address")
        change.update_column(("client", "agent", "version"), LongType())
        change.add_column(("client", "agent", "engine"), StringType())


def _add_ip(table: Table) -> None:
    """Adds another field of the name that one had before."""
    with table.update_schema() as change:
        change.add_column(("client", "ip"), StringType())


_FIELDS = ("address", "ip", "name", "version", "engine")
_NEW = pa.schema(
    [
        ("id", pa.int64()),
        (
            "client",
            pa.struct(
                [
                    ("address", pa.string()),
                    (
                        "agent",
                        pa.struct(
                            [
                                ("name", pa.string()),
                                ("version", pa.int64()),
                                ("engine", pa.string()),
                            ]
                        ),
                    ),
                    ("ip", pa.string()),
                ]
            ),
        ),
    ]
)
_LATER: list[dict[str, Any]] = [
    {
        "id": 5,
        "client": {
            "address": "c",
            "agent": {"name": "y", "version": 1 << 40, "engine": "e"},
            "ip": "z",
        },
    },
    {"id": 6, "client": None},
]


def _check(root: Path, rows: list[dict[str, Any]], asked: Sequence[str] = _FIELDS) -> None:
    """Asks for all fields as rows, in groups, and by a predicate."""

    def field(row: dict[str, Any], *names: str) -> Any:
        value: Any = row["client"]
        for name in names:
            value = None if value is None else value.get(name)
        return value

    paths = {
        "address": ("address",),
        "ip": ("ip",),
        "name": ("agent", "name"),
        "version": ("agent", "version"),
        "engine": ("agent", "engine"),
    }
    names = {name: paths[name] for name in asked}
    items = ", ".join(f"client.{'.'.join(path)} AS {name}" for name, path in names.items())
    found = _answer(root, f"SELECT id, {items} FROM d.t ORDER BY id LIMIT 100")
    wanted = [
        {"id": row["id"]} | {name: field(row, *path) for name, path in names.items()}
        for row in rows
    ]
    assert found == wanted
    for name, path in names.items():
        full = f"client.{'.'.join(path)}"
        counts = {one[name]: sum(o[name] == one[name] for o in wanted) for one in wanted}
        grouped = _answer(root, f"SELECT {full} AS k, count(*) AS n FROM d.t GROUP BY {full}")
        assert {one["k"]: one["n"] for one in grouped} == counts
        (gone,) = _answer(root, f"SELECT count(*) AS n, count({full}) AS c FROM d.t")
        assert gone == {"n": len(rows), "c": sum(one[name] is not None for one in wanted)}
    (nulls,) = _answer(
        root,
        "SELECT count(*) AS n, count(client.agent) AS a FROM d.t WHERE client IS NOT NULL",
    )
    there = [row for row in rows if row["client"] is not None]
    assert nulls == {"n": len(there), "a": sum(field(row, "agent") is not None for row in there)}


def _as_new(row: dict[str, Any]) -> dict[str, Any]:
    client = row["client"]
    return {
        "id": row["id"],
        "client": None if client is None else {"address": client["ip"], "agent": client["agent"]},
    }


def test_evolved_fields_are_read_by_their_ids(catalog: Catalog, tmp_path: Path) -> None:
    table = catalog.create_table(("d", "t"), _SCHEMA)
    table.append(_rows(_OLD))
    _evolve(table)
    _add_ip(table)
    table.append(_rows(_LATER, _NEW))
    rows = [*map(_as_new, _OLD), *_LATER]
    _check(tmp_path, rows)
    table.delete("id = 4")
    _check(tmp_path, [row for row in rows if row["id"] != 4])


def test_files_without_field_ids_are_read_by_mapped_names(catalog: Catalog, tmp_path: Path) -> None:
    table = catalog.create_table(("d", "t"), _SCHEMA)
    path = f"{tmp_path}/added.parquet"
    pq.write_table(_rows(_OLD), path)
    table.add_files([path])
    _evolve(table)
    _check(tmp_path, list(map(_as_new, _OLD)), ("address", "name", "version", "engine"))
    _add_ip(table)  # from now on it's what files without ids have under that name
    table.append(_rows(_LATER, _NEW))
    _check(tmp_path, [*_OLD, *_LATER], ("ip", "name", "version", "engine"))


def _field(name: str, field_id: int, type_: pa.DataType) -> pa.Field:
    return pa.field(name, type_, metadata={"PARQUET:field_id": str(field_id)})


def test_a_field_in_another_struct_is_not_read_by_its_id() -> None:
    name = _field("name", 5, pa.string())
    agent = _field("agent", 4, pa.struct([name]))
    wanted = pa.schema([_field("client", 2, pa.struct([agent]))])
    assert _missing(wanted, wanted) == frozenset()
    assert _missing(pa.schema([_field("client", 2, pa.struct([name]))]), wanted) is None
    other = _field("other", 6, pa.int32())
    lacks = pa.schema([_field("client", 2, pa.struct([_field("agent", 4, pa.struct([other]))]))])
    assert _missing(lacks, wanted) == {5}
    unnamed = pa.schema([_field("client", 2, pa.struct([pa.field("agent", pa.struct([name]))]))])
    assert _missing(unnamed, wanted) is None
    twice = pa.schema([_field("client", 2, pa.struct([agent, agent.with_name("b")]))])
    assert _missing(twice, wanted) is None


def test_no_index_is_suggested_for_a_field(catalog: Catalog, tmp_path: Path) -> None:
    inner = pa.struct([("id", pa.int64())])
    schema = pa.schema([("id", pa.int64()), ("client", inner)])
    rows = [{"id": n, "client": {"id": n % 7}} for n in range(100)]
    catalog.create_table(("d", "t"), schema).append(_rows(rows, schema))
    with accelerator.open(tmp_path, store=str(tmp_path / "store")) as session:
        for column, suggested in (("id", True), ("t.id", True), ("client.id", False)):
            sql = f"SELECT count(*) FROM d.t WHERE {column} = 5"
            assert (suggested_index(sql, session.services) is not None) == suggested, column
