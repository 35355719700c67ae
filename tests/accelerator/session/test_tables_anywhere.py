"""DuckDB reads local tables itself, whatever catalog names them; else EXPLAIN says why."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from accelerator.iceberg.pins.pinned_table import PinnedTable
from accelerator.iceberg.rows import row_groups
from tests.support.postgres import binaries, running
from tests.support.rest_catalog import CREDENTIAL, RestCatalogServer

_PROGRAMS = binaries()
_ROWS = pa.table({"k": ["a", "b", "a"], "v": pa.array([1, 2, 3], pa.int64())})
_SUMS = "SELECT k, sum(v) AS s FROM d.t GROUP BY k ORDER BY k"
_SUMMED = [{"k": "a", "s": 4}, {"k": "b", "s": 2}]


def _catalog(folder: Path, uri: str, properties: Mapping[str, str] | None = None) -> SqlCatalog:
    """With the table d.t, half of whose rows lie where its data path was before."""
    (folder / "files").mkdir()
    catalog = SqlCatalog("prod", uri=uri, warehouse=(folder / "files").as_uri())
    catalog.create_namespace("d")
    table = catalog.create_table("d.t", _ROWS.schema, properties=dict(properties or {}))
    table.append(_ROWS.slice(0, 2))
    table.append(_ROWS.slice(2))
    return catalog


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch, no_java: None) -> None:
    """Nothing comes through PyIceberg, and no table from memory."""

    def refused(*_args: object) -> None:
        raise AssertionError("read by PyIceberg")

    monkeypatch.setattr(PinnedTable, "arrow", refused)
    monkeypatch.setattr(row_groups._Cut, "_read", refused)


@pytest.fixture(params=["sqlite", "postgresql", "rest"])
def acc(request: pytest.FixtureRequest, tmp_path: Path, native: None) -> Iterator[Accelerator]:
    kind, store = request.param, str(tmp_path / "store")
    if kind == "postgresql":
        if _PROGRAMS is None:
            pytest.skip("PostgreSQL's server isn't installed")
        with running(_PROGRAMS) as server:
            _catalog(tmp_path, server.uri).engine.dispose()
            with accelerator.open(
                catalog_name="prod", catalog_uri=server.uri, store=store
            ) as session:
                yield session
        return
    uri = f"sqlite:///{tmp_path}/catalog.db"
    catalog = _catalog(tmp_path, uri)
    if kind == "sqlite":
        with accelerator.open(catalog_name="prod", catalog_uri=uri, store=store) as session:
            yield session
        return
    with (
        RestCatalogServer(catalog).running() as server,
        accelerator.open(
            catalog_name="prod",
            catalog_uri=server.uri,
            catalog_properties={"credential": CREDENTIAL},
            store=store,
        ) as session,
    ):
        yield session


def _beside(acc: Accelerator, sql: str = _SUMS) -> list[Any]:
    found: list[Any] = json.loads(acc.explain(sql, format="json"))["read_by_pyiceberg"]
    return found


def test_no_catalog_needs_pyicebergs_reader(acc: Accelerator) -> None:
    answer = acc.query(_SUMS)
    assert answer.fetchall() == [tuple(row.values()) for row in _SUMMED]
    assert answer.metrics.engine == "duckdb"
    assert _beside(acc) == []
    assert "PyIceberg" not in acc.explain(_SUMS)
    rows = acc.query("SELECT k, v FROM d.t WHERE v > 1 ORDER BY v DESC")
    assert rows.fetchall() == [("a", 3), ("b", 2)]
    assert 0 < rows.metrics.bytes_read < 1000 and rows.metrics.row_groups_read == 2
    streamed = acc.stream("SELECT v FROM d.t WHERE v > 1")
    with streamed as batches:
        assert sorted(pa.Table.from_batches(batches).column("v").to_pylist()) == [2, 3]


def test_data_paths_and_earlier_locations_are_the_tables(tmp_path: Path, native: None) -> None:
    uri = f"sqlite:///{tmp_path}/catalog.db"
    catalog = _catalog(tmp_path, uri)
    for number in range(2):
        moved = catalog.load_table("d.t").transaction()
        moved.set_properties({"write.data.path": f"file://{tmp_path}/data{number}"})
        moved.commit_transaction()
        table = catalog.load_table("d.t")
        table.append(pa.table({"k": ["c"], "v": pa.array([number], pa.int64())}))
    (location,) = {
        entry.metadata_file.rpartition("/metadata/")[0] for entry in table.metadata.metadata_log
    }
    with accelerator.open(
        catalog_name="prod", catalog_uri=uri, store=str(tmp_path / "store")
    ) as acc:
        # The first data path is named by no metadata any more but an older file's.
        (why,) = _beside(acc, "SELECT sum(v) AS s FROM d.t")
        assert why["code"] == "file_outside" and "/data0/" in why["reason"]
        assert "PyIceberg  reads d.t: " in acc.explain("SELECT sum(v) AS s FROM d.t")
    update = catalog.load_table("d.t").transaction()
    update.set_properties({"write.object-storage.path": f"{tmp_path}/data0"})
    update._apply((_located(f"file://{tmp_path}/new"),), ())
    update.commit_transaction()
    assert catalog.load_table("d.t").location() == f"file://{tmp_path}/new" != location
    with accelerator.open(
        catalog_name="prod", catalog_uri=uri, store=str(tmp_path / "store")
    ) as acc:
        assert acc.query(_SUMS).fetchall() == [("a", 4), ("b", 2), ("c", 1)]
        assert _beside(acc) == []


def _located(location: str) -> Any:
    from pyiceberg.table.update import SetLocationUpdate

    return SetLocationUpdate(location=location)


def test_a_location_that_is_not_believed_is_read_by_pyiceberg(
    tmp_path: Path, no_java: None
) -> None:
    uri = f"sqlite:///{tmp_path}/catalog.db"
    catalog = _catalog(tmp_path, uri)
    update = catalog.load_table("d.t").transaction()
    update._apply((_located(f"file://{tmp_path}"),), ())
    update.commit_transaction()
    with accelerator.open(
        catalog_name="prod", catalog_uri=uri, store=str(tmp_path / "store")
    ) as acc:
        acc.query("SELECT 1").arrow()
        with sqlite3.connect(tmp_path / "catalog.db") as made:
            assert made.execute("SELECT count(*) FROM iceberg_tables").fetchone() == (1,)
        # Its earlier location still counts as its own.
        assert acc.query(_SUMS).fetchall() == [("a", 4), ("b", 2)]
        assert _beside(acc) == []
    moved = SqlCatalog("prod", uri=uri, warehouse=f"file://{tmp_path}")
    flat = moved.create_table(
        "d.flat",
        _ROWS.schema,
        location=f"file://{tmp_path}",
        properties={"write.metadata.path": f"file://{tmp_path}/m"},
    )
    flat.append(_ROWS)
    with accelerator.open(
        catalog_name="prod", catalog_uri=uri, store=str(tmp_path / "store")
    ) as acc:
        sql = "SELECT sum(v) AS s FROM d.flat"
        assert acc.query(sql).fetchall() == [(6,)]
        (why,) = _beside(acc, "SELECT k, sum(v) AS s FROM d.flat GROUP BY k")
        assert (why["table"], why["code"]) == ("d.flat", "location_refused")
        assert "contains files of the accelerator" in why["reason"]


def test_a_tables_metadata_is_parsed_once_and_its_credentials_are_the_newest(
    tmp_path: Path, no_java: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from accelerator.iceberg.catalogs import rest

    parsed: list[object] = []
    whole = rest.TableResponse.model_validate_json

    def counted(content: bytes) -> Any:
        parsed.append(content)
        return whole(content)

    monkeypatch.setattr(rest.TableResponse, "model_validate_json", counted)
    catalog = _catalog(tmp_path, f"sqlite:///{tmp_path}/catalog.db")
    server = RestCatalogServer(catalog)
    given = {"credential": CREDENTIAL}
    with (
        server.running(),
        accelerator.open(
            catalog_name="prod",
            catalog_uri=server.uri,
            catalog_properties=given,
            store=str(tmp_path / "store"),
        ) as acc,
    ):
        tokens = []
        for _ in range(3):
            server.vended += 1
            pinned = acc.services.lake.pin().pinned(("d", "t"))
            assert pinned is not None
            tokens.append(pinned.io_properties["s3.session-token"])
        assert len(set(tokens)) == 3 and len(parsed) == 1
        catalog.load_table("d.t").append(_ROWS)
        assert acc.query("SELECT count(*) AS n FROM d.t").fetchall() == [(6,)]
        assert len(parsed) == 2
        catalog.drop_table("d.t")
        server.asked.clear()
        assert acc.services.lake.pin().pinned(("d", "t")) is None
        assert sum("/tables/t" in one for one in server.asked) == 1
