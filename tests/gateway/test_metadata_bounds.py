"""How much of a catalog a query of it asks: no more than it may need, and never less."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from accelerator.gateway.catalog import query
from accelerator.gateway.catalog.listing import Listing
from accelerator.gateway.catalog.predicate import ColumnFilter, conditions_of
from accelerator.gateway.trino.requests import nodes
from rewrite.parse.parse import parse
from tests.support.metadata_lake import OpenedLake


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> OpenedLake:
    """Both catalogs, made once."""
    return OpenedLake(tmp_path_factory.mktemp("lake"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, ...]]:
    """What was asked of the lake: the method, and of what."""
    found: Counter[tuple[str, ...]] = Counter()

    def counting(name: str) -> None:
        real = getattr(Listing, name)

        def counted(self: Listing, *parts: str) -> Any:
            if "information_schema" not in parts and "system" not in parts:
                found[(name, *parts)] += 1
            return real(self, *parts)

        monkeypatch.setattr(Listing, name, counted)

    for name in ("_namespaces", "_within", "relation", "table", "view"):
        counting(name)
    return found


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        (
            "SELECT * FROM system.jdbc.columns WHERE table_cat = 'lake' AND table_schem = 'shop'"
            " AND table_name = 'orders'",
            {("relation", "lake", "shop", "orders"), ("table", "lake", "shop", "orders")},
        ),
        (
            "SELECT * FROM system.jdbc.columns WHERE TABLE_CAT = 'lake' AND TABLE_SCHEM LIKE 'shop'"
            " ESCAPE '\\' AND TABLE_NAME LIKE 'da%' ESCAPE '\\'",
            {
                ("_namespaces", "lake"),
                ("_within", "lake", "shop"),
                ("table", "lake", "shop", "days"),
            },
        ),
        (
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'shop'",
            {("_within", "lake", "shop")},
        ),
        (
            "SELECT table_name FROM information_schema.tables",
            {
                ("_namespaces", "lake"),
                *(("_within", "lake", one) for one in ("empty", "my.own", "shop")),
            },
        ),
        (
            "SELECT * FROM information_schema.tables WHERE table_schema = 'information_schema'",
            set(),
        ),
        ("SELECT * FROM information_schema.tables WHERE table_catalog = 'bank'", set()),
        ("SELECT * FROM information_schema.columns WHERE 'a' = 'b'", set()),
        (
            "SELECT * FROM information_schema.columns WHERE (upper(table_schema) = upper('shop')"
            " AND upper(table_name) = upper('Orders')) OR (table_schema = 'shop' AND"
            " table_name = 'nothing')",
            {
                ("_namespaces", "lake"),
                ("_within", "lake", "shop"),
                ("table", "lake", "shop", "orders"),
            },
        ),
        (
            "SELECT * FROM system.metadata.table_comments WHERE catalog_name = 'bank'"
            " AND schema_name IN ('shop') AND table_name IN ('days', 'nothing')",
            {
                ("relation", "bank", "shop", "days"),
                ("relation", "bank", "shop", "nothing"),
                ("table", "bank", "shop", "days"),
            },
        ),
    ],
)
def test_what_is_asked(
    lake: OpenedLake, asked: Counter[tuple[str, ...]], sql: str, wanted: set[tuple[str, ...]]
) -> None:
    lake.rows(sql)
    assert set(asked) == wanted
    assert set(asked.values()) <= {1}


def test_show_columns_reads_one_table(lake: OpenedLake, asked: Counter[tuple[str, ...]]) -> None:
    lake.rows(nodes.TrinoShowColumns(("orders",)))
    assert {one[:4] for one in asked} == {
        ("relation", "lake", "shop", "orders"),
        ("table", "lake", "shop", "orders"),
    }


_COLUMNS = st.sampled_from(["table_schema", "table_name", "table_type", "t.table_schema", "NULL"])
_TEXTS = st.sampled_from(["shop", "orders", "Wide", "wide", "VIEW", "my.own", "o%", "_rders", "%"])
_VALUES = (
    _COLUMNS
    | _TEXTS.map(lambda one: f"'{one}'")
    | _COLUMNS.map(lambda one: f"lower({one})")
    | _COLUMNS.map(lambda one: f"coalesce(NULL, {one})")
    | _COLUMNS.map(lambda one: f"{one} || 's'")
)
_NOTS = st.sampled_from(["", "NOT "])
_TESTS = (
    st.tuples(_VALUES, st.sampled_from(["=", "<>", "<"]), _VALUES).map(" ".join)
    | st.tuples(_VALUES, _NOTS, _TEXTS).map(lambda one: f"{one[0]} {one[1]}LIKE '{one[2]}'")
    | st.tuples(_VALUES, _NOTS, _TEXTS, _TEXTS).map(
        lambda one: f"{one[0]} {one[1]}IN ('{one[2]}', '{one[3]}', NULL)"
    )
    | st.tuples(_VALUES, _NOTS).map(lambda one: f"{one[0]} IS {one[1]}NULL")
    | st.sampled_from(["true", "false", "NULL = NULL"])
)
_PREDICATES = st.recursive(
    _TESTS,
    lambda inner: (
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(
            lambda one: f"({one[0]}) {one[1]} ({one[2]})"
        )
        | inner.map(lambda one: f"NOT ({one})")
    ),
    max_leaves=4,
)
_LEFT_OF = (
    "SELECT t.* FROM information_schema.tables t LEFT JOIN (SELECT 1 AS one) o ON {where}"
    " WHERE {other}"
)
_RIGHT_OF = (
    "SELECT t.* FROM (SELECT 1 AS one) o LEFT JOIN information_schema.tables t ON {where}"
    " WHERE {other}"
)
_KEPT_RIGHT = (
    "SELECT t.* FROM information_schema.tables t RIGHT JOIN (SELECT 1 AS one) o ON {where}"
    " WHERE {other}"
)
_FROMS = st.sampled_from(
    [
        *(_LEFT_OF, _RIGHT_OF, _KEPT_RIGHT),
        "SELECT * FROM information_schema.tables t WHERE {where}",
        "SELECT t.* FROM information_schema.tables t JOIN (SELECT 1 AS one) o ON {where}",
        "SELECT t.* FROM (SELECT 1 AS one) o LEFT JOIN information_schema.tables t ON {where}",
        "SELECT t.* FROM information_schema.tables t FULL JOIN (SELECT 1 AS one) o ON {where}",
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(_FROMS, _PREDICATES, _PREDICATES)
@example(_LEFT_OF, "table_name = 'orders'", "table_schema = 'shop'")
@example(_LEFT_OF, "true", "table_name = 'orders'")
@example(_RIGHT_OF, "table_name = 'orders'", "table_name IS NULL")
@example(_KEPT_RIGHT, "table_name = 'orders'", "table_name IS NULL")
def test_rows_are_those_of_the_whole_listing(
    lake: OpenedLake, text: str, where: str, other: str
) -> None:
    sql = text.format(where=where, other=other)

    def rows() -> list[tuple[Any, ...]]:
        return sorted(lake.rows(sql), key=repr)

    some = rows()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query, "conditions_of", lambda *_: [])
        assert rows() == some


def test_conditions_of_what_isnt_its_own() -> None:
    """A column of another table, or of one around it, says nothing."""
    sql = "SELECT 1 FROM a JOIN b ON b.x = 'p' WHERE a.x = 'q' AND c.x = 'r' AND s.a.x = 'u'"
    tree = parse(sql, "trino")
    assert isinstance(tree, exp.Select)
    a, b = (ColumnFilter(conditions_of(tree, t), t.name, ["x"]) for t in tree.find_all(exp.Table))
    assert (a.exactly("x"), b.exactly("x")) == ({"q"}, {"p"})
    assert a.may({"x": "q"})
    assert not a.may({"x": "r"})
    assert a.may({})
    assert b.may({"x": "p"})
