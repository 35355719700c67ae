"""SHOW, DESCRIBE, USE and SET without Spark: as Spark answered, and never what isn't certain."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accelerator
from accelerator.common.config.config import Config
from accelerator.engines.session_settings import SessionContext
from accelerator.engines.spark.lazy_engine import SparkSource
from accelerator.errors import (
    AcceleratorError,
    SparkMissingError,
    StatementError,
    UnknownSchemaError,
)
from accelerator.iceberg import CatalogError
from accelerator.iceberg.spark_text.tables import is_masked
from accelerator.iceberg.spark_text.types import simple
from accelerator.iceberg.tables.metadata import NestedField, StructType
from accelerator.query.catalog_statements import nodes
from accelerator.query.catalog_statements.answer import answer
from accelerator.query.catalog_statements.parse import parse
from accelerator.query.catalog_statements.patterns import matcher
from accelerator.query.early_errors.refused_tables import typed
from rewrite.client import ClientContext
from rewrite.reason import Declined
from tests.support import shows
from tests.support.pristine import catalog_of
from tests.support.rest_catalog import CREDENTIAL, RestCatalogServer


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return shows.warehouse(tmp_path_factory.mktemp("shows") / "lake")


@pytest.fixture
def acc(folder):
    with accelerator.open(folder) as one:
        yield one
        assert not one.spark_started


def test_each_form_is_answered_without_pyspark_as_spark_answered(folder):
    assert len(shows.forms()) >= 16
    assert shows.differences(shows.without_spark(folder), shows.recorded()) == {}


def test_an_answer_that_needs_spark_counts_as_different():
    assert shows.differ({"error": "spark_missing"}, {"error": ""})
    assert shows.differ({"columns": [], "rows": []}, {"error": ""})
    assert not shows.differ({"error": "SCHEMA_NOT_FOUND"}, {"error": ""})


NOT_HERE = [
    "SHOW TABLES IN spark_catalog.default",
    "SHOW TABLES IN SHOP",
    "SHOW TABLES IN shop LIKE '[s]ales'",
    "SHOW NAMESPACES IN global_temp",
    "DESCRIBE shop.stores.files",
    "SHOW TBLPROPERTIES shop.totals (nothing)",
    "DESCRIBE EXTENDED shop.totals",
    "SET spark.sql.ansi.enabled=false",
    "SET spark.sql.session.timeZone=nowhere",
    "SET TIME ZONE 'Factory'",
    "SET TIME ZONE 'ROC'",
    "SET TIME ZONE 'America/Coyhaique'",
    "SET TIME ZONE 'localtime'",
    "SET spark.sql.shuffle.partitions=x",
    "USE spark_catalog",
]


@pytest.mark.parametrize("sql", NOT_HERE)
def test_what_is_not_certain_is_left_to_spark_with_its_reason(acc, sql):
    before = acc.services.context.catalog(), acc.services.context.namespace()
    found = answer(sql, acc.queries)
    assert isinstance(found, Declined)
    assert found.code == "catalog_needs_spark"
    assert (acc.services.context.catalog(), acc.services.context.namespace()) == before


OTHERS = [
    "SHOW TABLES IN IDENTIFIER('shop')",
    "SHOW TABLES IN shop LIKE r's'",
    "SHOW TABLES IN shop LIKE 's' 'x'",
    "SHOW TABLES IN shop extra",
    "SHOW TABLES IN a-b",
    "SHOW TABLES IN ${x}",
    "SHOW TABLE EXTENDED IN shop LIKE 's'",
    "DESCRIBE FUNCTION abs",
    "DESCRIBE TABLE shop.sales PARTITION (store = 1)",
    "DESCRIBE EXTENDED shop.sales AS JSON",
    "EXPLAIN EXTENDED SELECT 1",
    "SET",
    "SET -v",
    "SET a=b c",
    "SHOW 'tables'",
    "SHOW COLUMNS",
    "USE ``",
    "SHOW TABLES IN shop " + "/* " + "x" * 20_000 + " */",
]


@pytest.mark.parametrize("sql", OTHERS)
def test_a_text_that_only_sparks_parser_reads_is_none_of_these(sql):
    assert parse(sql) is None


def test_words_that_may_be_names_are_names():
    assert parse("DESCRIBE t.day") == nodes.DescribeTable(("t", "day"))
    assert parse("SHOW TABLES IN default") == nodes.ShowRelations(False, ("default",))
    assert parse('SHOW TABLES LIKE "a*"') == nodes.ShowRelations(False, (), "a*")
    assert parse("DESC `a``b`.`c.d`") == nodes.DescribeTable(("a`b", "c.d"))


@given(st.text("ab*|. ", max_size=6), st.text("abAB", max_size=6))
def test_patterns_match_as_regular_expressions_do(pattern, name):
    import re

    parts = re.split(r"\|", pattern.strip(" "))
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    if parts == [""] and pattern.strip(" "):
        parts = []
    flags = re.IGNORECASE | re.ASCII
    expected = any(re.fullmatch(one.replace("*", ".*"), name, flags) for one in parts)
    fits = matcher(pattern)
    assert fits is not None
    assert fits(name) == expected


def test_a_pattern_of_many_stars_takes_no_time():
    fits = matcher("*a" * 200)
    assert fits is not None
    assert not fits("a" * 199)


def test_explain_shows_this_plan_under_a_title_that_says_so(acc):
    (line,) = acc.query("EXPLAIN SELECT id FROM shop.stores").arrow()["plan"].to_pylist()
    title, _, plan = line.partition("\n")
    assert "lakehouse-accelerator" in title
    assert "Spark" in title
    assert "rows of shop.stores" in plan


def test_explaining_a_statement_that_is_no_query_logs_nothing(acc, caplog):
    assert "not_a_query" in str(acc.explain("SHOW TABLES"))
    assert [row["code"] for row in acc.why_not("SHOW TABLES")] == ["not_a_query"]
    assert caplog.records == []


def test_what_use_and_set_changed_is_handed_to_spark_once():
    context = SessionContext(Config.load(), lambda: None)
    assert context.use("lake", ("shop",))
    assert context.set("spark.sql.session.timeZone", "Europe/Berlin")
    assert context.settings()["time_zone"] == "Europe/Berlin"
    with pytest.raises(ValueError, match="no Spark"), context.handed():
        raise ValueError("no Spark")
    with context.handed() as (place, settings):
        assert place == ("lake", "shop")
        assert settings == {"spark.sql.session.timeZone": "Europe/Berlin"}
    assert not context.use("lake", ())
    assert not context.set("spark.sql.shuffle.partitions", "3")


def test_a_session_that_was_not_moved_hands_no_place():
    context = SessionContext(Config.load(), lambda: None)
    with context.handed() as (place, settings):
        assert place == ()
        assert settings == {}


def test_a_use_that_fails_changes_nothing(acc):
    acc.query("USE shop")
    with pytest.raises(UnknownSchemaError) as raised:
        acc.query("USE shpo")
    assert raised.value.suggestions == ("shop",)
    assert acc.services.context.namespace() == ("shop",)
    assert acc.query("SELECT id FROM stores WHERE id = 1").fetchall() == [(1,)]


def test_after_use_a_cached_plan_is_another_tables(acc):
    acc.query("USE shop.eu")
    assert acc.query("SELECT count(*) AS n FROM nested").fetchall() == [(0,)]
    with pytest.raises(AcceleratorError):
        acc.query("DESCRIBE stores")
    acc.query("USE shop")
    assert acc.query("SELECT count(*) AS n FROM stores").fetchall() == [(2,)]


def test_without_spark_the_error_has_the_reason(acc, monkeypatch):
    def missing() -> None:
        raise SparkMissingError("PySpark can't be imported: no", hint="install it")

    monkeypatch.setattr(acc.services.spark_source, "engine", missing)
    with pytest.raises(SparkMissingError, match="Only Spark is certain") as raised:
        acc.query("SHOW TABLES IN spark_catalog.default")
    assert raised.value.message.endswith(
        "spark_catalog is Spark's own: PySpark can't be imported: no"
    )


@pytest.mark.parametrize(
    "sql",
    ["SHOW TABLES IN shop", "DESCRIBE shop.sales", "SHOW CREATE TABLE shop.sales", "USE shop"],
)
def test_a_clients_statements_of_catalogs_never_come_here(acc, sql):
    """The gateway answers those that it knows, by rights; no other one is run for a client."""
    client = ClientContext(catalog="lake", schema="shop")
    with pytest.raises(AcceleratorError) as raised:
        acc.query(sql, client=client, dialect="spark")
    assert raised.value.code == "dialect_untranslated"
    assert "amount" not in str(raised.value)
    assert acc.services.context.namespace() == ()


def test_a_rest_catalog_is_asked_only_for_what_is_shown(folder, tmp_path):
    given = {"credential": CREDENTIAL, "warehouse": "shops"}
    catalog = catalog_of(folder)
    with (
        RestCatalogServer(catalog).running() as server,
        accelerator.open(
            catalog_name="lake",
            catalog_uri=server.uri,
            catalog_properties=given,
            store=str(tmp_path / "store"),
        ) as acc,
    ):
        assert ("shop",) in acc.query("SHOW NAMESPACES").fetchall()
        acc.query("USE shop")
        shown = acc.query("SHOW TABLES LIKE 's*'").fetchall()
        assert shown == [("shop", "sales", False), ("shop", "stores", False)]
        assert acc.query("SHOW COLUMNS IN stores").fetchall() == [("id",), ("city",)]
        with pytest.raises(UnknownSchemaError, match="nothing"):
            acc.query("SHOW TABLES IN nothing")
        assert not acc.spark_started
    catalog.engine.dispose()


def test_views_of_a_catalog_that_may_have_none_are_sparks(folder, tmp_path):
    uri = f"sqlite:///{folder / 'catalog.db'}"
    with accelerator.open(
        catalog_name="lake",
        catalog_uri=uri,
        catalog_properties={"warehouse": folder.as_uri()},
        store=str(tmp_path / "store"),
    ) as acc:
        assert isinstance(answer("SHOW VIEWS IN shop", acc.queries), Declined)
        assert not isinstance(answer("SHOW TABLES IN shop", acc.queries), Declined)


def test_once_spark_runs_it_answers(acc, monkeypatch):
    assert answer("SHOW CATALOGS", acc.queries) is not None
    monkeypatch.setattr(SparkSource, "started", True)
    assert answer("SHOW CATALOGS", acc.queries) is None


@pytest.mark.parametrize("sql", ["SHOW TABLES", "SHOW VIEWS LIKE 's*'"])
def test_with_spark_no_namespace_is_a_typed_error_too(acc, sql):
    """Iceberg's Java error, which Spark passes on, isn't shown."""
    java = "o1.sql: org.apache.iceberg.exceptions.NoSuchNamespaceException: \n\tat"
    lake, context = acc.services.lake, acc.services.context
    with pytest.raises(UnknownSchemaError) as before:
        acc.query(sql)
    with pytest.raises(UnknownSchemaError) as raised, typed(sql, lake, context):
        raise RuntimeError(java)
    assert str(raised.value) == str(before.value)
    assert raised.value.error_class == "SCHEMA_NOT_FOUND"
    assert "USE" in raised.value.hint
    with pytest.raises(RuntimeError), typed("CREATE TABLE no.t (a INT)", lake, context):
        raise RuntimeError(java)


def test_an_error_inside_explain_and_describe_has_its_place(acc):
    for sql, word in (
        ("EXPLAIN SELECT ad FROM shop.stores", "ad"),
        ("DESCRIBE QUERY\nSELECT idd FROM shop.stores", "idd"),
        ("EXPLAIN SELECT city, count(*) FROM shop.stores", "city"),
        ("EXPLAIN SELECT id FORM shop.stores", "FORM"),
    ):
        with pytest.raises(AcceleratorError) as raised:
            acc.query(sql)
        line = raised.value.line or 0
        assert sql.splitlines()[line - 1][(raised.value.column or 0) - 1 :].startswith(word)
    with pytest.raises(AcceleratorError) as raised:
        acc.query("EXPLAIN SELECT ad FROM shop.stores")
    assert raised.value.suggestions == ("id",)


def test_of_a_wide_struct_describe_shows_the_first_fields():
    fields = [NestedField(one, f"f{one}", "int") for one in range(27)]
    assert simple(StructType(tuple(fields[:25]))).endswith("f24:int>")
    assert simple(StructType(tuple(fields))).endswith("f24:int,... 2 more fields>")


def test_a_property_with_a_secret_is_masked():
    assert is_masked("api-token", "x")
    assert is_masked("note", "my Password")
    assert not is_masked("owner", "somebody")


def test_rows_of_files_with_several_row_groups_are_for_spark(tmp_path):
    rows = pa.table({"k": pa.array(range(3000), pa.int64())})
    catalog = catalog_of(tmp_path)
    catalog.create_namespace("d")
    wanted = {"write.parquet.row-group-limit": "1000"}
    catalog.create_table("d.one", rows.schema).append(rows)
    catalog.create_table("d.many", rows.schema, properties=wanted).append(rows)
    catalog.engine.dispose()
    with accelerator.open(tmp_path) as acc:
        described = acc.query("DESCRIBE EXTENDED d.one").fetchall()
        assert ("Statistics", "24000 bytes, 3000 rows", None) in described
        assert isinstance(answer("DESCRIBE EXTENDED d.many", acc.queries), Declined)


def test_the_hint_of_show_partitions_is_a_query_that_is_answered(acc):
    with pytest.raises(StatementError, match="Iceberg") as raised:
        acc.query("SHOW PARTITIONS shop.sales")
    assert acc.query(raised.value.hint).columns == ["sold_day", "store", "sum(record_count)"]
    with pytest.raises(StatementError, match="Iceberg") as raised:
        acc.query("SHOW PARTITIONS shop.stores")
    assert raised.value.hint == "the table isn't partitioned"


def test_the_hint_of_a_views_columns_is_a_statement_that_is_answered(acc):
    with pytest.raises(StatementError, match="is a view") as raised:
        acc.query("SHOW COLUMNS IN shop.totals")
    said = raised.value.hint.removesuffix(" lists its columns")
    assert [row[0] for row in acc.query(said).fetchall()] == ["store", "n"]


@pytest.mark.parametrize("raised", [KeyError("odd"), CatalogError("it can't be read", hint="no")])
def test_a_failure_here_leaves_the_statement_to_spark(acc, monkeypatch, raised):
    def fails(*_: object) -> None:
        raise raised

    def missing() -> None:
        raise SparkMissingError("PySpark can't be imported: no", hint="install it")

    monkeypatch.setattr("accelerator.query.catalog_statements.answer.parse", fails)
    monkeypatch.setattr(acc.services.spark_source, "engine", missing)
    with pytest.raises(SparkMissingError, match="couldn't be read"):
        acc.query("SHOW CATALOGS")
    assert acc.services.failures.counts == {"metadata_unavailable": 1}


TRINOS = [
    ('SHOW TABLES FROM "shop"', "SHOW TABLES FROM `shop`"),
    ("SHOW TABLES FROM lake.shop LIKE 'st_r%'", "SHOW TABLES FROM lake.shop LIKE 'st.r*'"),
    ("SHOW SCHEMAS FROM lake LIKE 'sh%'", "SHOW SCHEMAS FROM lake LIKE 'sh*'"),
    ('SHOW COLUMNS FROM "shop"."stores"', "SHOW COLUMNS FROM shop.stores"),
    ('SHOW CREATE TABLE "shop".stores', "SHOW CREATE TABLE shop.stores"),
    ('DESCRIBE "lake"."shop"."stores"', "DESCRIBE lake.shop.stores"),
    ("DESC shop.stores -- 'a' \"b\"", "DESC shop.stores"),
    ("SHOW FUNCTIONS LIKE 'abs'", "SHOW FUNCTIONS LIKE 'abs'"),
]


@pytest.mark.parametrize(("sql", "sparks"), TRINOS)
def test_trinos_words_are_answered_as_sparks(acc, sql, sparks):
    found = acc.query(sql, dialect="trino").arrow()
    assert found.num_rows
    assert found.equals(acc.query(sparks).arrow())


def test_explain_of_trinos_query_has_its_names(acc):
    sql = 'EXPLAIN SELECT "id" FROM shop.stores WHERE "city" = \'x\';'
    (line,) = acc.query(sql, dialect="trino").arrow()["plan"].to_pylist()
    assert "SELECT `id`" in line
    acc.query('USE lake."shop"', dialect="trino")
    assert acc.services.context.namespace() == ("shop",)


@pytest.mark.parametrize(
    ("sql", "code", "column"),
    [
        ("SELECT (1", "statement_invalid", 8),
        ("SELECT 1,, 2", "statement_invalid", 10),
        ("SELECT id FORM shop.stores", "statement_invalid", 11),
        ("EXPLAIN SELECT (1", "statement_invalid", 16),
        ('EXPLAIN SELECT "idd" FROM shop.stores', "column_unknown", None),
        ("EXPLAIN (TYPE LOGICAL) SELECT 1", "dialect_untranslated", 9),
        ("SHOW STATS FOR shop.stores", "dialect_untranslated", 6),
        ("SHOW CURRENT ROLES", "dialect_untranslated", 14),
        ("SHOW COLUMNS FROM shop.stores LIKE 'a%'", "dialect_untranslated", 31),
        ("SHOW TABLES FROM shop LIKE 'a!_b' ESCAPE '!'", "dialect_untranslated", 35),
        ("SHOW TABLES FROM shop LIKE 'a|b'", "dialect_untranslated", 28),
        ("DESCRIBE INPUT prepared", "dialect_untranslated", 10),
        ('SHOW TABLES FROM "shop', "statement_invalid", 18),
        ('DESCRIBE "shop"."storse"', "table_unknown", 10),
    ],
)
def test_trinos_mistakes_have_their_place(acc, sql, code, column):
    with pytest.raises(AcceleratorError) as raised:
        acc.query(sql, dialect="trino")
    assert raised.value.code == code
    assert raised.value.column == column
    assert raised.value.hint


def test_of_other_dialects_the_text_stands(acc):
    assert acc.query("SHOW TABLES IN shop", dialect="duckdb").arrow().num_rows == 2
