"""Queries of virtual tables that could run without end, or make texts without end, are refused."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

from accelerator.errors import StatementTimeoutError, StatementTooDeepError
from accelerator.gateway.catalog import catalog, query
from accelerator.gateway.catalog.growth import MADE_MAX, TextGrowthError, check_growth
from rewrite.parse.parse import parse
from tests.support.metadata_lake import OpenedLake

TABLES = "information_schema.tables"
SHORTER = "replace({}, 'aa', 'b')"
_LETTER = " || 'a'"


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return OpenedLake(tmp_path_factory.mktemp("growth"))


def nested(levels, text="table_name", call="replace({}, 'a', 'aaaaaaaaaa')"):
    for _ in range(levels):
        text = call.format(text)
    return text


def steps(step, levels=25):
    """WITH whose items each do the step to the text of the one before."""
    items = [f"a0 AS (SELECT table_name AS x FROM {TABLES})"]
    items += [f"a{n} AS (SELECT {step} AS x FROM a{n - 1})" for n in range(1, levels)]
    return f"WITH {', '.join(items)} SELECT count(*) FROM a{levels - 1} WHERE x LIKE '%b'"


SUBQUERIES = nested(25, TABLES, "(SELECT table_name || table_name AS table_name FROM {} t)")
LATERAL = ", ".join(f"x{n - 1} || x{n - 1} AS x{n}" for n in range(1, 25))
GROWING = {
    "replace": f"SELECT count(*) FROM {TABLES} WHERE {nested(20)} LIKE '%b'",
    "replace by a column": f"SELECT {nested(8, call='replace({}, table_name, table_type)')}"
    f" FROM {TABLES}",
    "replace in a pattern": f"SELECT 1 FROM {TABLES} WHERE 'b' LIKE {nested(20)}",
    "replace in a CASE": f"SELECT CASE WHEN true THEN {nested(20)} END FROM {TABLES}",
    "replace in an order": f"SELECT 1 FROM {TABLES} ORDER BY {nested(20)}",
    "replace in a group": f"SELECT count(*) FROM {TABLES} GROUP BY {nested(20)}",
    "replace in a join": f"SELECT 1 FROM {TABLES} a JOIN {TABLES} b ON"
    f" {nested(20, 'a.table_name')} = b.table_name",
    "replace of the outer query": f"SELECT (SELECT {nested(20, 't.table_name')}) FROM {TABLES} t",
    "replace in an aggregate": f"SELECT max({nested(20)}) FROM {TABLES}",
    "signs": f"SELECT {nested(12, call='({0} || {0})')} FROM {TABLES}",
    "concat": f"SELECT {nested(12, call='concat({0}, {0})')} FROM {TABLES}",
    "steps of signs": steps("x || x"),
    "steps of concat": steps("concat(x, x)"),
    "steps of replace": steps("replace(x, 'a', 'aa')"),
    "steps through IN": f"SELECT 1 FROM {TABLES} WHERE 'b' IN (SELECT x FROM ({steps('x || x')}))",
    "subqueries": f"SELECT count(*) FROM {SUBQUERIES} t WHERE table_name LIKE '%b'",
    "lateral": f"SELECT table_name AS x0, {LATERAL} FROM {TABLES}",
    "union": f"SELECT x || x FROM (SELECT 'a' AS x UNION ALL SELECT {nested(9)} FROM {TABLES}) t",
    "other case": f"SELECT {nested(3, call='upper(lower(concat({0}, {0}, {0}, {0}, {0}, {0})))')}"
    f" FROM {TABLES}",
}


@pytest.mark.parametrize("name", GROWING)
def test_texts_that_grow_without_end_are_refused(lake, name):
    with pytest.raises(TextGrowthError) as caught:
        lake.rows(GROWING[name])
    assert caught.value.hint


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT {nested(2)} FROM {TABLES} WHERE table_name = 'orders'",
        f"SELECT {nested(20, call=SHORTER)} FROM {TABLES}",
        "SELECT table_schema || '.' || table_name, concat(table_catalog, '.', table_schema),"
        f" upper(replace(table_name, '_', '__')) FROM {TABLES} ORDER BY table_schema || table_name",
        f"SELECT table_name{_LETTER * 100} FROM {TABLES}",
        f"SELECT {', '.join(['table_schema || table_name'] * 100)} FROM {TABLES}",
        "WITH a AS (SELECT table_schema || '.' || table_name AS x FROM information_schema.tables)"
        " SELECT x || '!' FROM a UNION ALL SELECT x FROM a ORDER BY 1",
    ],
)
def test_ordinary_texts_are_made(lake, sql):
    assert lake.rows(sql)


def test_a_long_text_of_the_tables_may_be_put_together_with_others():
    tree = parse("SELECT x || '.' || y FROM t", "trino")
    long = pa.table({"x": ["x" * MADE_MAX], "y": ["y"]})
    with pytest.raises(TextGrowthError):
        check_growth(parse("SELECT x || x || x || x || x FROM t", "trino"), [long])
    check_growth(parse("SELECT x FROM t", "trino"), [long])
    check_growth(tree, [pa.table({"x": ["x" * 20_000], "y": ["y"]})])


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.large_string(), pa.binary()])
def test_texts_of_other_types_are_measured(kind):
    value = ["x" * 10_000] if pa.types.is_list(kind) else "x" * 10_000
    given = pa.table({"x": pa.array([value], kind)})
    texts = " || ".join(["CAST(x AS VARCHAR)"] * 8)
    with pytest.raises(TextGrowthError):
        check_growth(parse(f"SELECT {texts} FROM t", "trino"), [given])


def test_a_query_has_a_time_limit_of_its_own(lake, monkeypatch):
    monkeypatch.setattr(query, "_LIMIT_S", 0.05)  # before it has filled its memory
    tables = ", ".join(f"{TABLES} t{n}" for n in range(20))
    began = time.monotonic()
    with pytest.raises(StatementTimeoutError) as caught:
        lake.rows(f"SELECT count(*) FROM {tables} WHERE t0.table_name || t19.table_name LIKE '%b'")
    assert caught.value.hint and time.monotonic() - began < 20
    assert lake.rows(f"SELECT count(*) FROM {TABLES}"), "others go on"


@pytest.mark.parametrize("sign", ["OR", "AND"])
@pytest.mark.parametrize("count", [500, 2000])
def test_long_chains_of_conditions_are_answered(lake, sign, count):
    test = "=" if sign == "OR" else "<>"
    where = f" {sign} ".join(f"table_name {test} 'x{n}'" for n in range(count))
    rows = lake.rows(f"SELECT table_name FROM {TABLES} WHERE table_name = 'orders' {sign} {where}")
    assert set(rows) == {("orders",)}


def test_long_chains_of_signs_end_in_a_code_of_their_own(lake):
    for where in ("table_name", "'b'"):
        with pytest.raises((TextGrowthError, StatementTooDeepError)):
            lake.rows(f"SELECT 1 FROM {TABLES} WHERE {where}{_LETTER * 2000} = 'b'")


def test_a_query_that_is_too_deep_is_told_so(lake, monkeypatch):
    def fails(*_):
        raise RecursionError("maximum recursion depth exceeded")

    monkeypatch.setattr(catalog, "virtual_query", fails)
    with pytest.raises(StatementTooDeepError) as caught:
        lake.rows(f"SELECT 1 FROM {TABLES}")
    assert caught.value.hint
