"""The 13 queries and 4 cubes: literals change, meaning doesn't, and cubes hold no literal."""

from __future__ import annotations

import re

import pytest
import sqlglot
from sqlglot import exp

from bench.ssb.cubes import CUBES, constraints
from bench.ssb.queries import QUERIES, Query

EVERY_QUERY = pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)


def test_there_are_the_papers_13() -> None:
    assert [query.name for query in QUERIES] == [
        *("Q1.1", "Q1.2", "Q1.3", "Q2.1", "Q2.2", "Q2.3"),
        *("Q3.1", "Q3.2", "Q3.3", "Q3.4", "Q4.1", "Q4.2", "Q4.3"),
    ]


@EVERY_QUERY
def test_variants_differ_only_in_literals(query: Query) -> None:
    shapes = {_without_literals(query.sql(variant)) for variant in range(20)}
    assert len(shapes) == 1
    assert len({query.sql(variant) for variant in range(20)}) > 5
    assert query.sql(3) == query.sql(3)
    assert query.sql(3, seed=1) != query.sql(3, seed=2) or query.sql(4, seed=1) != query.sql(4)


@EVERY_QUERY
def test_order_by_keys_are_where_the_query_says(query: Query) -> None:
    tree = sqlglot.parse_one(query.sql(), dialect="spark")
    order = tree.args.get("order")
    names = [e.alias_or_name for e in tree.selects]
    keys = [names.index(o.this.name) for o in order.expressions] if order else []
    assert tuple(keys) == query.order_by


def test_cubes_hold_what_their_flights_use_and_nothing_of_a_query() -> None:
    assert len(CUBES) <= 4
    for cube in CUBES:
        tree = sqlglot.parse_one(cube.select(), dialect="spark")
        assert tree.find(exp.Where) is None
        assert tree.find(exp.Literal) is None
    for query in QUERIES:
        tree = sqlglot.parse_one(query.sql(), dialect="spark")
        joined = re.compile(r"(key|orderdate)$")
        measures = {"lo_revenue", "lo_supplycost", "lo_extendedprice", "revenue"}
        used = {c.name for c in tree.find_all(exp.Column) if not joined.search(c.name)} - measures
        flight = CUBES[int(query.name[1]) - 1]
        assert used <= set(flight.dimensions)


def test_every_table_has_its_keys() -> None:
    assert [name for _, name, _ in constraints()] == [
        *("dates_pk", "customer_pk", "supplier_pk", "part_pk"),
        *("lineorder_dates", "lineorder_customer", "lineorder_supplier", "lineorder_part"),
    ]


def _without_literals(sql: str) -> str:
    return re.sub(r"'[^']*'|\b\d+\b", "?", sql)
