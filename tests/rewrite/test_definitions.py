"""Thousands of items of WITH: names are resolved in linear time and memory."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from sqlglot import exp

from rewrite.client import Client
from rewrite.completed import completed
from rewrite.definitions import Definitions
from rewrite.dialects import translated_for
from rewrite.located import is_defined
from rewrite.parse import parse
from rewrite.query_form import cross_join, uses

ITEMS = 4_000
FLAT = ", ".join(f"c{number} AS (SELECT a FROM t)" for number in range(ITEMS))
CHAIN = ", ".join(f"c{i} AS (SELECT a FROM {f'c{i - 1}' if i else 't'})" for i in range(ITEMS))
CLIENT = Client(catalog="lake", schema="d")


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
