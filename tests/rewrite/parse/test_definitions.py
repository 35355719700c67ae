"""Thousands of items of WITH: names are resolved in linear time and memory."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from sqlglot import exp

from rewrite.analysis.query_form import cross_join, uses
from rewrite.client import ClientContext
from rewrite.dialects.qualify_names import completed
from rewrite.dialects.translate import translated_for
from rewrite.errors import StatementTooDeepError
from rewrite.parse.parse import parse
from rewrite.parse.with_definitions import Definitions
from rewrite.rules.splice.select_positions import is_defined

ITEMS = 4_000
FLAT = ", ".join(f"c{number} AS (SELECT a FROM t)" for number in range(ITEMS))
CHAIN = ", ".join(f"c{i} AS (SELECT a FROM {f'c{i - 1}' if i else 't'})" for i in range(ITEMS))
CLIENT = ClientContext(catalog="lake", schema="d")


@pytest.mark.parametrize("items", [FLAT, CHAIN], ids=["flat", "chain"])
def test_thousands_of_items_take_no_square(items: str) -> None:
    tree = parse(f"WITH {items} SELECT a FROM c{ITEMS - 1}, t", "trino")
    known = Definitions()
    tracemalloc.start()
    began = time.thread_time()
    named = [use.table.name for use in uses(tree)]
    defined = [one.name for one in tree.find_all(exp.Table) if is_defined(one, known)]
    assert cross_join(tree) is not None
    found = completed(tree, "trino", CLIENT, ["lake"])
    assert time.thread_time() - began < 5
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()
    assert found == (("lake", "d", "t"),)
    assert set(named) == {"t"} and len(defined) == (ITEMS if items == CHAIN else 1)


def test_an_item_sees_those_before_it() -> None:
    sql = """
        WITH a AS (SELECT 1 FROM a), B AS (SELECT 1 FROM A JOIN c JOIN b), c AS (
            WITH b AS (SELECT 1 FROM B) SELECT 1 FROM b JOIN d
        ) SELECT 1 FROM a JOIN b JOIN c JOIN d JOIN x.a
    """
    tree = parse(sql, "trino")
    free = [use.table.sql("trino").lower() for use in uses(tree)]
    assert sorted(free) == ["a", "b", "c", "d", "d", "x.a"]
    assert sorted(
        one.sql("trino").lower() for one in tree.find_all(exp.Table) if not is_defined(one)
    ) == sorted(free)
    recursive = parse("WITH RECURSIVE a AS (SELECT 1 FROM a) SELECT 1 FROM a")
    assert not list(uses(recursive)) and all(map(is_defined, recursive.find_all(exp.Table)))


def test_names_of_a_client_are_completed_where_nothing_defines_them() -> None:
    tree = parse("WITH a AS (SELECT 1 FROM a), b AS (SELECT 1 FROM a) SELECT 1 FROM b, c", "trino")
    assert completed(tree, "trino", CLIENT, ["lake"]) == (("lake", "d", "a"), ("lake", "d", "c"))


def test_thousands_of_unions_take_no_square() -> None:
    tree = parse("SELECT a FROM t" + " UNION ALL SELECT a FROM t" * ITEMS)
    known = Definitions()
    began = time.thread_time()
    assert len(list(uses(tree))) == ITEMS + 1
    assert not any(is_defined(one, known) for one in tree.find_all(exp.Table))
    assert time.thread_time() - began < 5


@pytest.mark.parametrize("output", ["1", "k + 1 AS k"])
def test_thousands_of_terms_take_no_square(output: str) -> None:
    sql = f"SELECT {output} FROM t WHERE " + " AND ".join(["k = 1"] * ITEMS)
    began = time.thread_time()
    translated_for(CLIENT, sql, "trino", lambda _: {"k": "int"}, ["lake"], "UTC")
    assert time.thread_time() - began < 10


@pytest.mark.parametrize(
    ("sql", "count"),
    [
        ("SELECT 1", 0),
        ("SELECT 1 FROM a, b.a", 2),
        ("WITH a AS (SELECT 1 FROM t, t) SELECT 1 FROM a, a, t", 5),
        ("WITH a AS (SELECT 1) SELECT 1 FROM a, a", 2),
        ("WITH RECURSIVE a AS (SELECT 1 FROM t UNION ALL SELECT 1 FROM a) SELECT 1 FROM a, a", 4),
        ("WITH RECURSIVE a AS (WITH b AS (SELECT 1 FROM a) SELECT 1 FROM b, b) SELECT 1 FROM a", 2),
        (
            "WITH a AS (SELECT 1 FROM t), b AS (WITH a AS (SELECT 1 FROM a, a) SELECT 1 FROM a, a)"
            " SELECT 1 FROM b, b, c.a",
            9,
        ),
        ("SELECT 1 FROM (WITH a AS (SELECT 1 FROM a, a) SELECT 1 FROM a) WHERE 1 IN (TABLE a)", 3),
    ],
)
def test_tables_are_counted_as_if_each_item_were_written_in_its_place(sql, count) -> None:
    assert Definitions().references(parse(sql, "trino")) == count


def test_items_that_name_each_other_too_often_are_refused_before_anything_is_looked_up() -> None:
    def doubled(levels: int) -> str:
        items = ", ".join(f"w{n} AS (SELECT 1 FROM w{n - 1}, w{n - 1})" for n in range(1, levels))
        return f"WITH w0 AS (SELECT 1 FROM t), {items} SELECT 1 FROM w{levels - 1}"

    assert completed(parse(doubled(14), "trino"), "trino", CLIENT, ["lake"])
    with pytest.raises(StatementTooDeepError, match=r"10,000 tables") as error:
        completed(parse(doubled(15), "trino"), "trino", CLIENT, ["lake"])
    assert "WITH" in error.value.message and error.value.hint
    many = parse("SELECT 1 FROM " + ", ".join(["t"] * 10_001), "trino")
    assert completed(many, "trino", CLIENT, ["lake"]) == (("lake", "d", "t"),)
