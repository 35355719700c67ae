"""Statements of clients: the session's own catalog and namespace don't matter to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import DoubleType

import accelerator
from accelerator.errors import (
    AcceleratorError,
    MissingSchemaError,
    UnknownCatalogError,
    UnknownTableError,
    UntranslatedError,
)
from accelerator.query.statements.nodes import AddConstraint, AddRelateColumn, PublishCube, Query
from accelerator.session.session import Accelerator
from rewrite.client import ClientContext
from tests.support.pristine import Pristine, catalog_of, properties_of

_SHOP = ClientContext(catalog="lake", schema="shop", user="ann", version="1")
_BANK = ClientContext(catalog="bank", schema="shop", user="ann", version="1")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Accelerator]:
    """Two catalogs, in each of which there is a table `shop.orders`."""
    pristine = Pristine(tmp_path_factory.mktemp("clients"))

    def fill(rows: int) -> Path:
        def filled(catalog: object) -> None:
            table = pa.table({"k": pa.array(range(rows), pa.int64()), "s": ["x"] * rows})
            found = catalog_of(root) if catalog is None else catalog
            for name in ("shop", "Odd.one"):
                found.create_namespace(name)  # type: ignore[attr-defined]
            for name in ("shop.orders", "shop.a/b", "shop.days"):
                found.create_table(name, table.schema).append(table)  # type: ignore[attr-defined]

        root = pristine.lake(filled, rows)
        return root

    lake, bank = fill(3), fill(5)
    other = {"bank": {"type": "sql", **properties_of(bank)}}
    # The other catalog's tables stand under its own name in the file.
    named = SqlCatalog("bank", **properties_of(bank))
    named.create_namespace("shop")
    rows = pa.table({"k": pa.array(range(5), pa.int64()), "s": ["x"] * 5})
    named.create_table("shop.orders", rows.schema, location=f"file://{bank}/own").append(rows)
    named.engine.dispose()
    with accelerator.open(lake, catalogs=other) as found:
        yield found


def _rows(
    session: Accelerator, sql: str, client: ClientContext = _SHOP
) -> list[tuple[object, ...]]:
    return session.query(sql, dialect="trino", client=client).fetchall()


@pytest.mark.parametrize(
    ("sql", "client", "n"),
    [
        ("SELECT count(*) FROM orders", _SHOP, 3),
        ("SELECT count(*) FROM ORDERS", _SHOP, 3),
        ("SELECT count(*) FROM orders", _BANK, 5),
        ("SELECT count(*) FROM bank.shop.orders", _SHOP, 5),
        ("SELECT count(*) FROM lake.shop.orders", _BANK, 3),
        ("SELECT count(*) FROM shop.orders", _BANK, 5),
        ("WITH orders AS (SELECT k FROM orders WHERE k < 2) SELECT count(*) FROM orders", _BANK, 2),
        ('SELECT count(*) FROM "a/b"', _SHOP, 3),
        ('SELECT count(*) FROM "orders$logical_iceberg_metadata"', _SHOP, 1),
    ],
)
def test_whose_rows(session: Accelerator, sql: str, client: ClientContext, n: int) -> None:
    for _ in range(2):  # what is kept of a statement is one client's
        assert _rows(session, sql, client) == [(n,)]


def test_a_stream_of_rows(session: Accelerator) -> None:
    with session.stream("SELECT k FROM orders", dialect="trino", client=_BANK) as reader:
        assert reader.read_all().num_rows == 5


def test_names_and_tables_of_a_query(session: Accelerator) -> None:
    sql = "SELECT *, k + 1, 'ann' = current_user AS me FROM orders"
    found = session.queries.read(sql, "trino", _SHOP)
    assert isinstance(found, Query)
    assert found.names == ("k", "s", None, "me")
    assert found.tables == (("lake", "shop", "orders"),)


@pytest.mark.parametrize(
    ("sql", "client", "error"),
    [
        ("SELECT 1 FROM orders", ClientContext(catalog="lake"), MissingSchemaError),
        ("SELECT 1 FROM hive.shop.orders", _SHOP, UnknownCatalogError),
        ("SELECT 1 FROM spark_catalog.shop.orders", _SHOP, UnknownCatalogError),
        ('SELECT 1 FROM parquet."/etc/x"', _SHOP, UnknownTableError),
        ('SELECT 1 FROM "x/y"', _SHOP, UnknownTableError),
        ('SELECT 1 FROM "shop.orders"', _SHOP, UnknownTableError),
        ("SELECT 1 FROM nothing", _SHOP, UnknownTableError),
        ('SELECT 1 FROM "nothing$logical_iceberg_metadata"', _SHOP, AcceleratorError),
        ("SELECT foo(k) FROM orders", _SHOP, UntranslatedError),
        ("SHOW TABLES", _SHOP, UntranslatedError),
        ("DROP TABLE orders", _SHOP, UntranslatedError),
        ("SET spark.sql.ansi.enabled=false", _SHOP, UntranslatedError),
        ("BUILD ALL ON hive.shop.orders", _SHOP, UnknownCatalogError),
        ("ALTER TABLE nothing DROP CONSTRAINT c", _SHOP, UnknownTableError),
        ("OPTIMIZE nothing SORT BY k", _SHOP, AcceleratorError),
        (
            "ALTER TABLE orders ADD RELATE COLUMN y FROM year(days.s) ON k = days.k",
            _SHOP,
            UntranslatedError,
        ),
    ],
)
def test_what_is_refused(
    session: Accelerator, sql: str, client: ClientContext, error: type[AcceleratorError]
) -> None:
    with pytest.raises(error):
        _rows(session, sql, client)
    assert not session.spark_started


def test_our_own_statements(session: Accelerator) -> None:
    _rows(session, "CREATE CUBE c AS SELECT s, count(*) AS n FROM orders GROUP BY s", _BANK)
    _rows(session, "CREATE INDEX i ON orders USING BLOOM (k)", _BANK)
    assert [row[1] for row in _rows(session, "SHOW CUBES ON orders", _BANK)] == ["bank.shop.orders"]
    assert len(_rows(session, "SHOW INDEXES ON orders", _BANK)) == 1
    assert not _rows(session, "SHOW INDEXES ON orders", _SHOP)
    assert _rows(session, "BUILD ALL ON orders", _BANK)
    grouped = "SELECT s, count(*) AS n FROM orders GROUP BY s"
    told = "\n".join(str(row[0]) for row in _rows(session, f"EXPLAIN ACCELERATE {grouped}", _BANK))
    assert "cube c " in told
    assert not session.query(grouped, dialect="trino", client=_BANK).metrics.all_rows
    assert session.query(grouped, dialect="trino", client=_SHOP).metrics.all_rows


def test_constraints_and_relate_columns(session: Accelerator) -> None:
    key = session.queries.read(
        "ALTER TABLE orders ADD CONSTRAINT f FOREIGN KEY (k) REFERENCES days (k) NOT ENFORCED",
        "trino",
        _SHOP,
    )
    assert isinstance(key, AddConstraint)
    assert key.table == ("lake", "shop", "orders")
    assert key.constraint.references == ("lake", "shop", "days")
    relate = session.queries.read(
        "ALTER TABLE orders ADD RELATE COLUMN FROM days.s ON orders.k = days.k AND k = other.k",
        "trino",
        _SHOP,
    )
    assert isinstance(relate, AddRelateColumn)
    assert relate.source == ("lake", "shop", "days", "s")
    assert relate.equalities == (
        (("orders", "k"), ("days", "k")),
        (("k",), ("lake", "shop", "other", "k")),
    )


@pytest.mark.parametrize(
    ("client", "full"),
    [(_SHOP, ("lake", "shop", "cube_of_k")), (_BANK, ("bank", "shop", "cube_of_k"))],
)
def test_a_published_table_has_the_clients_catalog_and_schema(
    session: Accelerator, client: ClientContext, full: tuple[str, ...]
) -> None:
    found = session.queries.read("PUBLISH CUBE c AS cube_of_k", "trino", client)
    assert found == PublishCube("c", full)


@pytest.mark.parametrize(
    "texts", [["k / 2 = 1 AND s = 'a'"] * 3, ["s = 'a'", "s = 'b'", "s = 'c'"]]
)
def test_a_translation_is_made_anew_once_its_columns_are_of_other_types(
    tmp_path: Path, texts: list[str]
) -> None:
    """`/` is of integers first, and of doubles later; by the text and by the shape."""
    rows = pa.table({"k": pa.array([3], pa.int64()), "s": ["a"]})

    def filled(catalog: SqlCatalog) -> None:
        catalog.create_namespace("shop")
        catalog.create_table("shop.orders", rows.schema).append(rows)

    root = Pristine(tmp_path).lake(filled)
    with accelerator.open(root) as session:

        def written() -> list[str]:
            asked = [f"SELECT max(k / 2) FROM orders WHERE {one}" for one in texts]
            read = (session.queries.read(sql, "trino", _SHOP) for sql in asked)
            return [one.sql for one in read if isinstance(one, Query)]

        assert all("DIV" in one for one in written())
        table = catalog_of(root).load_table("shop.orders")
        with table.update_schema(allow_incompatible_changes=True) as update:
            update.delete_column("k")
        with table.update_schema() as update:
            update.add_column("k", DoubleType())
        again = written()
        assert len(again) == len(texts)
        assert not any("DIV" in one for one in again)
