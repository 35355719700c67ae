"""What clients ask of catalogs: SHOW, information_schema and system, over real warehouses."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from accelerator.errors import (
    AcceleratorError,
    MissingCatalogError,
    MissingSchemaError,
    StatementError,
    UnknownCatalogError,
    UnknownColumnError,
    UnknownTableError,
    UntranslatedError,
)
from accelerator.gateway.catalog import GatewayFacts, Metadata, UnknownSchemaError
from accelerator.gateway.catalog.schemas import virtual_schemas
from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.trino.requests.nodes import ClientSession
from accelerator.iceberg import CatalogError, Lake
from accelerator.query.virtual_tables.log_table import TYPES
from tests.support.metadata_lake import OpenedLake


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> OpenedLake:
    """Both catalogs, made once."""
    return OpenedLake(tmp_path_factory.mktemp("lake"))


@pytest.fixture
def lake(shared: OpenedLake) -> Iterator[OpenedLake]:
    """The same, where all is seen."""
    shared.hidden = set()
    yield shared
    shared.hidden = set()


# SHOW


def test_show_catalogs(lake: OpenedLake) -> None:
    found = lake.ask(nodes.TrinoShowCatalogs())
    assert found is not None
    assert found.to_pydict() == {"Catalog": ["bank", "lake", "system"]}
    assert lake.rows(nodes.TrinoShowCatalogs("l_k%")) == [("lake",)]
    lake.hidden = {("bank",)}
    assert lake.rows(nodes.TrinoShowCatalogs()) == [("lake",), ("system",)]


def test_show_schemas(lake: OpenedLake) -> None:
    names = ["empty", "information_schema", "my.own", "shop"]
    assert lake.rows(nodes.ShowSchemas()) == [(one,) for one in names]
    assert lake.rows(nodes.ShowSchemas("bank", "s%")) == [("shop",)]
    own = [("information_schema",), ("jdbc",), ("metadata",), ("runtime",)]
    assert lake.rows(nodes.ShowSchemas("system")) == own
    with pytest.raises(UnknownCatalogError):
        lake.ask(nodes.ShowSchemas("hive"))
    with pytest.raises(MissingCatalogError):
        lake.ask(nodes.ShowSchemas(), ClientSession(user="ann"))
    lake.hidden = {("lake", "shop")}
    assert ("shop",) not in lake.rows(nodes.ShowSchemas())


def test_show_tables(lake: OpenedLake) -> None:
    names = [("Wide",), ("counted",), ("days",), ("orders",)]
    assert lake.rows(nodes.ShowTables()) == names
    assert lake.rows(nodes.ShowTables(("bank", "shop"), "%d%s")) == [("days",), ("orders",)]
    assert lake.rows(nodes.ShowTables(("my.own",))) == [("orders",)]
    assert lake.rows(nodes.ShowTables(("empty",))) == []
    assert ("queries",) in lake.rows(nodes.ShowTables(("system", "runtime")))
    assert ("columns",) in lake.rows(nodes.ShowTables(("information_schema",)))
    lake.hidden = {("lake", "shop", "orders")}
    assert ("orders",) not in lake.rows(nodes.ShowTables())


def test_patterns_with_an_escape(lake: OpenedLake) -> None:
    assert lake.rows(nodes.ShowTables(None, "o\\_ders", "\\")) == []
    assert lake.rows(nodes.ShowTables(None, "o_ders")) == [("orders",)]
    for pattern, escape in (("o!rders", "!"), ("orders!", "!"), ("o", "!!"), ("o", "")):
        with pytest.raises(StatementError):
            lake.ask(nodes.ShowTables(None, pattern, escape))


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (nodes.ShowTables(("nothing",)), UnknownSchemaError),
        (nodes.ShowTables(("a", "b", "c")), StatementError),
        (nodes.TrinoShowColumns(("nothing",)), UnknownTableError),
        (nodes.TrinoShowColumns(("nothing", "t")), UnknownSchemaError),
        (nodes.TrinoShowColumns(("hive", "a", "b")), UnknownCatalogError),
        (nodes.TrinoShowColumns(("orders$files",)), UntranslatedError),
        (nodes.TrinoShowColumns(("system", "jdbc", "nothing")), UnknownTableError),
        (nodes.TrinoShowCreate("TABLE", ("counted",)), UntranslatedError),
        (nodes.TrinoShowCreate("VIEW", ("orders",)), UntranslatedError),
        (nodes.TrinoShowCreate("TABLE", ("information_schema", "tables")), UntranslatedError),
        (nodes.TrinoShowCreate("SCHEMA", ("nothing",)), UnknownSchemaError),
        (nodes.ShowStats(("nothing",)), UnknownTableError),
        (nodes.ShowStats(("counted",)), UntranslatedError),
    ],
)
def test_what_isnt_there(
    lake: OpenedLake, request_: nodes.Request, error: type[AcceleratorError]
) -> None:
    with pytest.raises(error) as raised:
        lake.ask(request_)
    assert raised.value.hint


def test_without_a_schema(lake: OpenedLake) -> None:
    for request in (nodes.ShowTables(), nodes.TrinoShowColumns(("orders",))):
        with pytest.raises(MissingSchemaError):
            lake.ask(request, ClientSession(user="ann", catalog="lake"))


def test_what_isnt_seen_isnt_there(lake: OpenedLake) -> None:
    lake.hidden = {("lake", "shop", "orders"), ("lake", "my.own"), ("bank",)}
    for request in (
        nodes.TrinoShowColumns(("orders",)),
        nodes.TrinoShowCreate("TABLE", ("orders",)),
        nodes.ShowStats(("orders",)),
        nodes.TrinoShowColumns(("my.own", "orders")),
        nodes.ShowTables(("my.own",)),
        nodes.ShowTables(("bank", "shop")),
    ):
        with pytest.raises((UnknownTableError, UnknownSchemaError)):
            lake.ask(request)
    for table in ("system.jdbc.columns", "system.jdbc.tables", "information_schema.columns"):
        found = lake.ask(f"SELECT * FROM {table}")
        assert found is not None
        seen = set(zip(*(found.column(at).to_pylist() for at in range(3)), strict=True))
        assert ("lake", "shop", "days") in seen
        assert ("lake", "shop", "orders") not in seen
        assert not any(one[0] == "bank" or one[1] == "my.own" for one in seen)
    with pytest.raises(UnknownCatalogError):
        lake.ask("SELECT 1 FROM bank.information_schema.tables")


def test_show_columns(lake: OpenedLake) -> None:
    rows = lake.rows(nodes.TrinoShowColumns(("Wide",)))
    assert rows == [
        ("id", "bigint", "", "the key"),
        ("at", "timestamp(6) with time zone", "", ""),
        ("price", "decimal(10,2)", "", ""),
        ("who", 'row("First name" varchar, age bigint)', "", ""),
        ("tags", "array(varchar)", "", ""),
        ("more", "map(varchar, varbinary)", "", ""),
    ]
    assert lake.rows(nodes.TrinoShowColumns(("Wide",), "%a%")) == [r for r in rows if "a" in r[0]]
    assert lake.rows(nodes.TrinoShowColumns(("counted",))) == [("n", "bigint", "", "")]
    told = lake.rows(nodes.TrinoShowColumns(("system", "runtime", "nodes")))
    assert ("node_groups", "array(varchar)", "", "") in told


def test_show_create(lake: OpenedLake) -> None:
    ((sql,),) = lake.rows(nodes.TrinoShowCreate("TABLE", ("Wide",)))
    location = f"'{lake.root.as_uri()}/lake/shop/Wide'"
    assert sql == (
        'CREATE TABLE lake.shop."Wide" (\n'
        "   id bigint NOT NULL COMMENT 'the key',\n"
        "   at timestamp(6) with time zone,\n"
        "   price decimal(10,2),\n"
        '   who row("First name" varchar, age bigint),\n'
        "   tags array(varchar),\n"
        "   more map(varchar, varbinary)\n"
        ")\n"
        "WITH (\n"
        "   format = 'PARQUET',\n"
        "   format_version = 2,\n"
        f"   location = {location},\n"
        "   partitioning = ARRAY['day(at)','bucket(id, 8)','price'],\n"
        "   sorted_by = ARRAY['id DESC NULLS LAST']\n"
        ")"
    )
    ((sql,),) = lake.rows(nodes.TrinoShowCreate("TABLE", ("days",)))
    assert "\nCOMMENT 'it''s the days'\n" in sql
    assert lake.rows(nodes.TrinoShowCreate("SCHEMA", ("my.own",))) == [
        ('CREATE SCHEMA lake."my.own"',)
    ]
    view = "CREATE VIEW lake.shop.counted SECURITY INVOKER AS\nSELECT count(*) AS n FROM orders"
    assert lake.rows(nodes.TrinoShowCreate("VIEW", ("counted",))) == [(view,)]


def test_show_stats(lake: OpenedLake) -> None:
    found = lake.ask(nodes.ShowStats(("orders",)))
    assert found is not None
    assert found.column_names == [
        *("column_name", "data_size", "distinct_values_count", "nulls_fraction", "row_count"),
        *("low_value", "high_value"),
    ]
    rows = lake.rows(nodes.ShowStats(("orders",)))
    third = pytest.approx(1 / 3)
    assert rows == [
        ("k", None, None, third, None, "1", "2"),
        ("s", None, None, third, None, None, None),
        (None, None, None, None, 3.0, None, None),
    ]
    assert lake.rows(nodes.ShowStats(("days",)))[-1][4] == 0


def test_what_the_gateway_tells(lake: OpenedLake) -> None:
    given = GatewayFacts(
        queries=[{"query_id": "q1", "state": "RUNNING", "user": "ann", "resource_group_id": ["g"]}],
        nodes=[{"node_id": "n", "coordinator": True}],
        properties=[("a_b", "1", "0", "integer", "A"), ("axb", "1", "0", "integer", "B")],
        roles=["reader", "admin"],
        own_roles=["reader", "writer"],
        enabled_roles=["reader"],
    )
    session = lake.rows(nodes.ShowSession("a!_%", "!"), given=given)
    assert session == [("a_b", "1", "0", "integer", "A")]
    assert lake.rows(nodes.ShowRoles("ROLES"), given=given) == [("admin",), ("reader",)]
    assert lake.rows(nodes.ShowRoles("CURRENT ROLES"), given=given) == [("reader",)]
    assert lake.rows(nodes.ShowRoles("GRANTS"), given=given) == []
    sql = "SELECT query_id, resource_group_id, created FROM system.runtime.queries"
    assert lake.rows(sql, given=given) == [("q1", ["g"], None)]
    sql = "SELECT count(*) FROM system.runtime.nodes WHERE coordinator"
    assert lake.rows(sql, given=given) == [(1,)]
    sql = "SELECT * FROM information_schema.applicable_roles"
    own = [("ann", "USER", "reader", "NO"), ("ann", "USER", "writer", "NO")]
    assert lake.rows(sql, given=given) == own
    sql = "SELECT role_name FROM information_schema.enabled_roles"
    assert lake.rows(sql, given=given) == [("reader",)]


def test_show_functions(lake: OpenedLake) -> None:
    rows = lake.rows(nodes.TrinoShowFunctions("approx!_d%", "!"))
    assert [one[:5] for one in rows] == [
        ("approx_distinct", "bigint", arguments, "aggregate", True)
        for arguments in ("T", "T, double")
    ]


def test_other_statements_are_others(lake: OpenedLake) -> None:
    for sql in (
        "SELECT 1",
        "SELECT * FROM orders",
        "SELECT * FROM orders WHERE s = 'system'",
        "SELECT system FROM orders",
        "BUILD CUBE system",
        "SELECT ( FROM system.jdbc.tables",
        "SELECT version()",
    ):
        assert lake.ask(sql) is None
    assert lake.ask(nodes.UseSchema("shop")) is None
    assert lake.ask(nodes.Explain("SELECT 1 FROM system.jdbc.types")) is None


def test_use(lake: OpenedLake) -> None:
    assert lake.metadata.exists("lake", "shop")
    assert lake.metadata.exists("system", "jdbc")
    assert lake.metadata.exists("bank", "information_schema")
    assert not lake.metadata.exists("lake", "nothing")
    assert not lake.metadata.exists("hive", "shop")
    assert not lake.metadata.exists("lake", "shop", lambda c, s, t: s != "shop")


# Queries


def test_every_virtual_table_has_its_columns(lake: OpenedLake) -> None:
    for catalog in ("lake", "system"):
        for schema, tables in virtual_schemas(catalog).items():
            for name, table in tables.items():
                found = lake.ask(f"SELECT * FROM {catalog}.{schema}.{name}")
                if name == "query_log":  # listed here, and answered as a table is
                    assert found is None and list(table.columns) == list(TYPES)
                    continue
                assert found is not None
                assert found.column_names == list(table.shown)
                wanted = table.schema(hidden=False)
                if found.num_rows:
                    assert found.schema.types == wanted.types, (schema, name)


def test_tables_of_a_catalog(lake: OpenedLake) -> None:
    sql = "SELECT * FROM information_schema.tables WHERE table_schema = 'shop' ORDER BY table_name"
    assert lake.rows(sql) == [
        ("lake", "shop", "Wide", "BASE TABLE"),
        ("lake", "shop", "counted", "VIEW"),
        ("lake", "shop", "days", "BASE TABLE"),
        ("lake", "shop", "orders", "BASE TABLE"),
    ]
    own = "SELECT count(*) FROM information_schema.tables WHERE table_schema LIKE 'info%'"
    assert lake.rows(own) == [(8,)]


def test_names_are_as_the_client_wrote_them(lake: OpenedLake) -> None:
    found = lake.ask(
        "SELECT TABLE_CAT, Table_Cat || 'x', count(*) FROM system.jdbc.catalogs GROUP BY 1, 2"
    )
    assert found is not None
    assert found.column_names == ["TABLE_CAT", "_col1", "_col2"]


def test_session_functions(lake: OpenedLake) -> None:
    sql = (
        "SELECT DISTINCT current_user, current_schema, version() FROM information_schema.schemata"
        " WHERE catalog_name = current_catalog"
    )
    assert lake.rows(sql) == [("ann", "shop", "480")]


def test_a_catalog_of_the_client(lake: OpenedLake) -> None:
    jdbc = ClientSession(user="ann", catalog="system", schema="jdbc")
    assert lake.rows("SELECT table_type FROM table_types", client=jdbc) == [("TABLE",), ("VIEW",)]
    own = ClientSession(user="ann", catalog="bank", schema="information_schema")
    assert lake.rows("SELECT DISTINCT catalog_name FROM schemata", client=own) == [("bank",)]


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT * FROM information_schema.tables, orders", UntranslatedError),
        ("SELECT * FROM system.runtime.query_log, orders", UntranslatedError),
        ("SELECT * FROM orders, system.runtime.query_log", UntranslatedError),
        ("SELECT * FROM system.runtime.query_log, system.runtime.queries", UntranslatedError),
        (
            "SELECT * FROM orders WHERE s IN (SELECT table_name FROM system.jdbc.tables)",
            UntranslatedError,
        ),
        ("SELECT * FROM information_schema.nothing", UnknownTableError),
        ("SELECT * FROM system.nothing.at_all", UnknownTableError),
        ("SELECT * FROM hive.information_schema.tables", UnknownCatalogError),
        ("SELECT nothing FROM information_schema.tables", UnknownColumnError),
        ("SELECT regexp_like(table_name, 'a') FROM information_schema.tables", UntranslatedError),
        ("SELECT read_text('/etc/passwd') FROM information_schema.tables", UntranslatedError),
        ("SELECT * FROM information_schema.tables, UNNEST(ARRAY[1])", UntranslatedError),
        ("SELECT * FROM information_schema.tables, TABLE(f(1))", UntranslatedError),
        ("SELECT CAST(table_name AS varchar(3)) FROM information_schema.tables", UntranslatedError),
        ("SELECT 1.5 FROM information_schema.tables", UntranslatedError),
        ("SELECT *, comment FROM information_schema.columns", UntranslatedError),
        ("SELECT current_date FROM information_schema.tables", UntranslatedError),
        (
            "WITH RECURSIVE t (n) AS (SELECT table_name FROM system.jdbc.tables UNION ALL"
            " SELECT n FROM t) SELECT * FROM t",
            UntranslatedError,
        ),
        (
            "SELECT * FROM system.jdbc.tables JOIN system.jdbc.columns USING (table_name)",
            UntranslatedError,
        ),
    ],
)
def test_queries_that_are_refused(
    lake: OpenedLake, sql: str, error: type[AcceleratorError]
) -> None:
    with pytest.raises(error) as raised:
        lake.ask(sql)
    assert raised.value.hint


# Catalogs and tables that can't be read


@pytest.fixture
def broken(tmp_path: Path) -> OpenedLake:
    """A catalog that is no catalog beside one that is."""
    opened = OpenedLake(tmp_path)
    (tmp_path / "bank" / "catalog.db").write_bytes(b"this is no database" * 100)
    opened.metadata = Metadata(Lake(opened.settings, "lake", tuple))
    return opened


def test_a_catalog_that_cant_be_asked(broken: OpenedLake, caplog: pytest.LogCaptureFixture) -> None:
    everything = broken.rows("SELECT table_catalog, table_schem FROM system.jdbc.schemas")
    assert {one[0] for one in everything} == {"lake", "system"}
    assert "without bank" in caplog.text
    for request in (
        "SELECT * FROM system.jdbc.schemas WHERE table_catalog = 'bank'",
        "SELECT * FROM bank.information_schema.tables",
        nodes.ShowSchemas("bank"),
        nodes.ShowTables(("bank", "shop")),
        nodes.TrinoShowColumns(("bank", "shop", "orders")),
    ):
        with pytest.raises(CatalogError):
            broken.ask(request)
    assert broken.rows("SELECT 1 FROM system.jdbc.schemas WHERE table_catalog = 'lake'")
    assert broken.rows(nodes.TrinoShowCatalogs()) == [("bank",), ("lake",), ("system",)]


def test_a_table_that_cant_be_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    opened = OpenedLake(tmp_path)
    for one in (tmp_path / "lake").glob("shop/days/metadata/*.json"):
        one.write_text("{")
    sql = "SELECT DISTINCT table_name FROM information_schema.columns WHERE table_schema = 'shop'"
    assert ("orders",) in opened.rows(sql)
    assert ("days",) not in opened.rows(sql)
    assert "shop.days" in caplog.text
    comments = (
        "SELECT table_name FROM system.metadata.table_comments"
        " WHERE schema_name = 'shop' AND catalog_name = 'lake'"
    )
    assert ("orders",) in opened.rows(comments)
    assert ("days",) not in opened.rows(comments)
    with pytest.raises(CatalogError):
        opened.rows(f"{comments} AND table_name = 'days'")
    with pytest.raises(CatalogError):
        opened.rows(f"{sql} AND table_name = 'days'")
    with pytest.raises(CatalogError):
        opened.ask(nodes.TrinoShowColumns(("days",)))
    assert ("days",) in opened.rows(nodes.ShowTables())


def test_threads_share_it(lake: OpenedLake) -> None:
    names = ["orders", "days", "Wide", "counted"] * 5
    sql = "SELECT column_name FROM information_schema.columns WHERE table_name = '{}'"
    alone = [lake.rows(sql.format(one)) for one in names]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda one: lake.rows(sql.format(one)), names)) == alone


def test_a_closed_one_answers_again(lake: OpenedLake) -> None:
    lake.metadata.close()
    assert lake.rows("SELECT count(*) FROM system.jdbc.catalogs") == [(3,)]
