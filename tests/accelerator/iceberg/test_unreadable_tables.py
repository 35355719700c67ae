"""Tables that a reader refuses whole: one typed error, or plain Spark, and no other table suffers.

Without a JVM: whoever asks Spark fails with another error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import MetaData, create_engine, inspect
from sqlalchemy.exc import SAWarning

import accelerator
from accelerator import Accelerator
from accelerator.errors import EngineError
from accelerator.iceberg import CatalogSettings, Lake, UnreadableTableError
from accelerator.iceberg.catalogs.readers import PyIcebergCatalog
from accelerator.iceberg.pins.named_table import loaded_from
from accelerator.iceberg.tables.unreadable import unparsed
from accelerator.iceberg.writes.append import appending
from accelerator.query.translation import Translation
from accelerator.services.vacuum.vacuum import VacuumScope, vacuum_stored
from tests.support import unreadable_lake as lake
from tests.support.rest_catalog import CREDENTIAL, RestCatalogServer

_SPARKS = (*lake.BY_SPARK, *lake.BY_ICEBERG)
_QUERIES = (
    "SELECT count(*) FROM lake.d.{t}",
    "SELECT sum(v) FROM lake.d.{t}",
    "SELECT min(v) FROM lake.d.{t} WHERE v > 10",
    "SELECT v FROM lake.d.{t} WHERE false",
    "SELECT v FROM lake.d.{t} ORDER BY v LIMIT 1",
    "WITH w AS (SELECT k FROM lake.d.{t}) SELECT 1 FROM w",
    "SELECT count(*) FROM lake.d.good JOIN lake.d.{t} USING (v)",
    "SELECT 1 FROM lake.d.good WHERE EXISTS (SELECT 1 FROM lake.d.{t})",
    "SELECT count(*) FROM lake.d.good UNION ALL SELECT count(*) FROM lake.d.{t}",
    "SELECT rand() FROM lake.d.{t}",
)
_OURS = (
    "CREATE CUBE c AS SELECT k, sum(v) FROM lake.d.{t} GROUP BY k",
    "EXPLAIN CREATE CUBE c AS SELECT k, sum(v) FROM lake.d.{t} GROUP BY k",
    "CREATE INDEX i ON lake.d.{t} USING BLOOM (v)",
    "ALTER TABLE lake.d.{t} ADD CONSTRAINT c UNIQUE (k) NOT ENFORCED",
    "ALTER TABLE lake.d.{t} ADD RELATE COLUMN v FROM lake.d.good.v"
    " ON lake.d.{t}.k = lake.d.good.k AS w",
    "BUILD STATISTICS ON lake.d.{t}",
    "BUILD ALL ON lake.d.{t}",
    "OPTIMIZE lake.d.{t} SORT BY k",
    "SHOW COVERAGE ON lake.d.{t}",
    "ANALYZE lake.d.{t}",
)
_ABOUT_IT = (
    "VACUUM lake.d.{t}",
    "SHOW CUBES ON lake.d.{t}",
    "SHOW INDEXES ON lake.d.{t}",
    "SHOW CONSTRAINTS ON lake.d.{t}",
    "SHOW RELATE COLUMNS ON lake.d.{t}",
)
"""These read no row: they need a table that PyIceberg reads."""


@pytest.fixture(autouse=True)
def _no_spark(no_java: None) -> None:
    """Whoever asks Spark fails with another error."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("unreadable") / "warehouse"
    catalog = lake.catalog_of(root)
    lake.add_table(catalog, "good")
    for cases in (lake.BY_SPARK, lake.BY_ICEBERG, lake.BY_PYICEBERG):
        for name, (change, _, _) in cases.items():
            lake.add_table(catalog, name, change)
    for name, change in lake.READ.items():
        lake.add_table(catalog, name, change)
    catalog.engine.dispose()
    return root


@pytest.fixture(scope="module")
def acc(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Accelerator]:
    store = str(tmp_path_factory.mktemp("unreadable-store"))
    with accelerator.open(folder, store=store) as session:
        yield session


def _refused(acc: Accelerator, sql: str) -> UnreadableTableError:
    with pytest.raises(UnreadableTableError) as raised:
        acc.query(sql)
    assert raised.value.code == "table_unreadable"
    assert raised.value.hint
    return raised.value


@pytest.mark.parametrize("table", _SPARKS)
def test_what_spark_refuses_is_one_error_with_the_column(acc: Accelerator, table: str) -> None:
    _, column, type_ = (lake.BY_SPARK | lake.BY_ICEBERG)[table]  # type: ignore[operator]
    for text in _QUERIES:
        error = _refused(acc, text.format(t=table))
        assert (error.refusal.column, error.refusal.type) == (column, type_), text
        assert f"lake.d.{table}" in error.message
        assert column in error.message and type_ in error.message
        assert error.by_spark
    assert acc.services.failures.counts == {}


@pytest.mark.parametrize("table", ["pair", "time", "future", "variant", "version_4"])
def test_statements_of_ours_over_one_are_that_error(acc: Accelerator, table: str) -> None:
    for text in (*_OURS, *(() if table in ("pair", "time") else _ABOUT_IT)):
        error = _refused(acc, text.format(t=table))
        assert f"lake.d.{table}" in error.message, text
    for text in _ABOUT_IT if table in ("pair", "time") else ():
        acc.query(text.format(t=table))
    for prefix in ("EXPLAIN ACCELERATE ", "EXPLAIN WHY NOT ", "VERIFY "):
        if table in ("pair", "time"):
            _refused(acc, f"{prefix}SELECT count(*) FROM lake.d.{table}")
    assert acc.services.failures.counts == {}


@pytest.mark.parametrize("table", lake.BY_PYICEBERG)
def test_what_pyiceberg_alone_refuses_goes_to_spark_with_a_reason(
    acc: Accelerator, table: str
) -> None:
    for text in _QUERIES:
        sql = text.format(t=table)
        plan, _ = acc.plan(sql)
        refused = plan.refused()
        assert refused is not None and refused.code == "table_needs_spark", sql
        assert f"lake.d.{table}" in refused.sentence
        with pytest.raises(EngineError, match="Java"):
            acc.query(sql)
    assert acc.services.failures.counts == {}
    assert "table_needs_spark" in str(acc.explain(f"SELECT count(*) FROM lake.d.{table}"))


def test_a_state_is_refused_by_its_own_schema(acc: Accelerator, folder: Path) -> None:
    def answered(sql: str) -> list[tuple[object, ...]]:
        return acc.query(sql).fetchall()

    def first(table: str) -> int:
        found = acc.services.lake.pin().described(("lake", "d", table))
        assert found is not None
        return int(found.metadata.snapshots[0].snapshot_id)

    for table in lake.READ:
        assert answered(f"SELECT count(*), sum(v) FROM lake.d.{table}") == [(6, 120)], table
    counted = "SELECT count(*), sum(v) FROM lake.d."
    # By its own schema the newest state, a branch too; a snapshot or tag by the snapshot's.
    assert answered(f"{counted}old_time VERSION AS OF 'branched'") == [(3, 60)]
    assert answered(f"{counted}old_time.branch_branched") == [(3, 60)]
    assert answered(f"{counted}new_time VERSION AS OF {first('new_time')}") == [(3, 60)]
    assert answered(f"{counted}new_time.tag_tagged") == [(3, 60)]
    assert answered(f"{counted}new_pair.tag_tagged") == [(3, 60)]
    for state in (
        *("old_time VERSION AS OF 'tagged'", "old_time.tag_tagged"),
        *(f"old_time VERSION AS OF {first('old_time')}", "new_time VERSION AS OF 'branched'"),
        *(f"old_time.snapshot_id_{first('old_time')}", "new_time.branch_main"),
        # Spark compares names where a name has the state, and not behind VERSION AS OF.
        *("new_pair.branch_branched", "old_pair.tag_tagged"),
        f"old_pair.snapshot_id_{first('old_pair')}",
    ):
        _refused(acc, counted + state)
    assert answered(f"{counted}new_pair VERSION AS OF 'branched'") == [(3, 60)]
    assert answered(f"{counted}old_pair VERSION AS OF {first('old_pair')}") == [(3, 60)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM lake.d.sigma",
        "SELECT `ς` FROM lake.d.sigma",
        "SELECT * FROM lake.d.dotless",
        "SELECT i FROM lake.d.dotless",
        "SELECT * FROM lake.d.new_pair VERSION AS OF 'main'",
        "SELECT k FROM lake.d.new_pair VERSION AS OF 'main'",
    ],
)
def test_columns_that_spark_takes_for_one_another_are_sparks(acc: Accelerator, sql: str) -> None:
    assert acc.plan(sql)[0].refused() is not None


def test_a_table_behind_a_name_of_with_or_of_a_view_of_the_session(acc: Accelerator) -> None:
    text = "WITH time AS (SELECT k FROM lake.d.good) SELECT count(*) FROM time"
    assert acc.query(text).fetchall() == [(6,)]


def test_a_damaged_file_is_no_refused_table(folder: Path) -> None:
    error = ValueError("x")
    for content in (b"", b"{", b"[]", b"{}", b'{"location": 1, "format-version": 2}', b"\xff"):
        assert unparsed("f", content, error) is None
    assert unparsed("f", b"[" * 100_000, error) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                (
                    *("schemas", "schema", "fields", "type", "name", "element", "key", "value"),
                    *("partition-specs", "transform", "source-ids", "properties", "snapshots"),
                    *("manifest-list", "metadata-log", "metadata-file", "current-schema-id"),
                )
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(
        st.sampled_from(
            (
                "schemas",
                "partition-specs",
                "properties",
                "schema",
                "snapshots",
                "metadata-log",
                "table-uuid",
                "current-schema-id",
            )
        ),
        _JSON,
    )
)
def test_no_json_breaks_the_reading_of_a_refused_table(parts: dict[str, object]) -> None:
    content = json.dumps({"location": "file:/t", "format-version": 2, **parts}).encode()
    found = unparsed("f", content, ValueError("a sentence"))
    assert found is not None
    assert found.raw.location == "file:/t"
    error = found.newest.error("lake.d.t")
    assert error.hint and "\n" not in error.message and len(error.message) < 1000


def test_listings_go_on_and_name_the_tables_that_were_left_out(acc: Accelerator) -> None:
    refused = {f"lake.d.{name}" for name in ("future", *lake.BY_PYICEBERG)}
    refused.add("lake.d.both")
    refused.add("lake.d.transform_several")
    acc.execute("ALTER TABLE lake.d.good ADD CONSTRAINT uk UNIQUE (k) NOT ENFORCED")
    try:
        rows = acc.execute("SHOW CONSTRAINTS").to_pylist()
    finally:
        acc.execute("ALTER TABLE lake.d.good DROP CONSTRAINT uk")
    assert [row["table"] for row in rows if row["problem"] is None] == ["lake.d.good"]
    assert {row["table"] for row in rows if row["problem"] is not None} == refused
    assert all(row["name"] is None for row in rows if row["problem"] is not None)
    relates = acc.execute("SHOW RELATE COLUMNS").to_pylist()
    assert {row["table"] for row in relates} == refused
    assert all("can't be read by" in row["status"] for row in relates)
    for text in ("SHOW CUBES", "SHOW INDEXES", "SHOW RECYCLE BIN", "SHOW RECOMMENDATIONS"):
        assert acc.execute(text).num_rows == 0


def test_other_catalogs_give_the_metadata_of_a_refused_table_too(tmp_path: Path) -> None:
    catalog = lake.catalog_of(tmp_path / "warehouse")
    change = lake.BY_PYICEBERG["variant"][0]
    metadata = lake.add_table(catalog, "variant", change)
    uri = f"sqlite:///{tmp_path / 'warehouse' / 'catalog.db'}"
    by_sql = PyIcebergCatalog(CatalogSettings("lake", "sql", {"uri": uri}))
    found = by_sql.pointer(("d", "variant"))
    assert found is not None
    assert loaded_from(found).uuid == metadata["table-uuid"]
    with RestCatalogServer(catalog).running() as server:
        server.raw["d", "refused"] = metadata
        properties = {"uri": f"{server.uri}/", "credential": CREDENTIAL}
        rest = Lake([CatalogSettings("lake", "rest", properties)], "lake", lambda: ("d",))
        with pytest.raises(UnreadableTableError, match="column t is variant"):
            rest.pin().pinned(("lake", "d", "refused"))
        raw = rest.pin().raw(("lake", "d", "refused"))
        assert raw is not None
        assert (raw.table_uuid, raw.location) == (metadata["table-uuid"], metadata["location"])
        assert rest.pin().pinned(("lake", "d", "base")) is not None
    catalog.engine.dispose()


@pytest.mark.parametrize("table", ["time", "variant"])
def test_what_rests_on_a_refused_dimension_stops_no_other_query(tmp_path: Path, table: str) -> None:
    """A cube and a relate column's index of a fact, whose dimension is refused since."""
    catalog = lake.catalog_of(tmp_path)
    lake.add_table(catalog, "fact")
    lake.add_table(catalog, "dim", _first_commit)
    with accelerator.open(tmp_path) as acc:
        acc.execute(
            "CREATE CUBE c AS SELECT d.v, sum(f.v) AS s FROM lake.d.fact f JOIN lake.d.dim d"
            " ON f.k = d.k GROUP BY d.v"
        )
        change = (lake.BY_SPARK | lake.BY_PYICEBERG)[table][0]  # type: ignore[operator]
        lake.change_metadata(catalog, "dim", change)
        assert acc.query("SELECT sum(v), count(*) FROM lake.d.fact").fetchall() == [(120, 6)]
        assert acc.query("SELECT k, v FROM lake.d.fact LIMIT 0").num_rows == 0
        shown = acc.execute("SHOW CUBES").to_pylist()
        assert "lake.d.dim can't be read" in shown[0]["status"]
        report = acc.vacuum("lake.d.fact", full=True)
        assert report is not None
        uuid = acc.services.lake.pin().named(("lake", "d", "dim")).uuid  # type: ignore[union-attr]
        stored = vacuum_stored(acc.services, uuid, ("lake", "d", "dim"), VacuumScope(full=True))
        told = [line for line in stored.lines if line.what == "table"]
        assert bool(told) == (table == "variant")
        assert acc.services.lake.holds("lake", uuid) is True
        assert acc.services.lake.holds("lake", "another") is False
        assert acc.services.failures.counts == {}
    catalog.engine.dispose()


def _first_commit(metadata: lake.Metadata) -> None:
    """The first commit alone, in which each key is once."""
    metadata["current-snapshot-id"] = metadata["snapshots"][0]["snapshot-id"]
    metadata["refs"]["main"]["snapshot-id"] = metadata["current-snapshot-id"]


def test_reflecting_all_tables_goes_on(folder: Path, acc: Accelerator) -> None:
    engine = create_engine("accelerator://", connect_args={"session": acc})
    found = MetaData()
    with pytest.warns(SAWarning, match="can't be read by"):
        found.reflect(engine, schema="d")
    assert {"d.good", "d.time", "d.pair"} <= set(found.tables)
    assert "d.variant" not in found.tables
    assert inspect(engine).has_table("variant", schema="d")


def test_an_append_to_one_is_that_error(acc: Accelerator) -> None:
    for table in ("time", "variant"):
        with pytest.raises(UnreadableTableError):
            appending(acc.services.lake, ("lake", "d", table), "key", "digest")


@pytest.mark.parametrize("table", ["time", "pair", "variant", "geometry", "version_4"])
def test_a_trino_statement_over_it_is_translated_by_its_columns(
    acc: Accelerator, table: str
) -> None:
    raw = acc.services.lake.pin().raw(("lake", "d", table))
    if raw is not None and raw.columns:
        assert {"k": "bigint", "v": "bigint"}.items() <= raw.columns.items()
    found = Translation(acc.services.lake, acc.services.context).statement(
        f"SELECT sum(v) AS s, v + 1 AS n FROM lake.d.{table} GROUP BY v", "trino"
    )
    assert "SUM(v)" in found.bare
