"""Parameters of statements: each is one literal of its type, wherever its marker stands."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from accelerator.errors import ParameterError, SessionClosedError, StatementError
from accelerator.query.parameters import literal, with_parameters
from tests.support.pristine import Pristine

_NAMES = ["O'Hara", "plain", "back\\slash", "ü", None]


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    rows = pa.table({"k": pa.array(range(5), pa.int32()), "name": _NAMES})
    catalog.create_table("d.t", rows.schema).append(rows)


@pytest.fixture
def acc(pristine: Pristine, no_java: None) -> Iterator[Accelerator]:
    with accelerator.open(pristine.lake(_fill)) as session:
        yield session


def _keys(found: Any) -> list[int]:
    return sorted(k for (k,) in found.fetchall())


def test_in_order_and_by_name(acc: Accelerator) -> None:
    assert _keys(acc.query("SELECT k FROM d.t WHERE name = ? OR k > ?", ["plain", 3])) == [1, 4]
    sql = "SELECT k FROM d.t WHERE k >= :low AND k < :low + :more"
    assert _keys(acc.query(sql, {"low": 1, "more": 2})) == [1, 2]
    assert acc.stream("SELECT k FROM d.t WHERE k = ?", [2]).read_all()["k"].to_pylist() == [2]
    assert "k = 2" in acc.explain("SELECT k FROM d.t WHERE k = ?", [2])
    assert _keys(acc.query("SELECT k FROM d.t", [])) == [0, 1, 2, 3, 4]
    found = acc.query("SELECT k FROM d.t ORDER BY k LIMIT ?", [2])
    assert (found.fetchall(), found.metrics.engine) == ([(0,), (1,)], "duckdb")


@pytest.mark.parametrize("k", range(4))
def test_texts_with_quotes_are_answered_in_process(acc: Accelerator, k: int) -> None:
    for sql in ("name = ?", "name IN (?, 'x')", "name >= ? AND name <= ?", "concat(name, '') = ?"):
        found = acc.query(f"SELECT k FROM d.t WHERE {sql}", [_NAMES[k]] * sql.count("?"))
        assert (_keys(found), found.metrics.engine) == ([k], "duckdb")


def test_markers_are_tokens() -> None:
    sql = "SELECT '?', `a:b`, \"?\", v:field, c::int /* ? :x */ FROM t -- :x\nWHERE a=? AND b=?"
    told = with_parameters(sql, [1, "x"])
    assert told == sql.replace("a=?", "a=1").replace("b=?", "b='x'")
    named = "SELECT :a, ':a', m[:a], t.v:a FROM t WHERE x=:a"
    assert with_parameters(named, {"a": 1}) == ("SELECT 1, ':a', m[1], t.v:a FROM t WHERE x=1")
    assert with_parameters("SELECT ? :x", None) == "SELECT ? :x"
    assert with_parameters("SELECT 1?LIMIT?", [2, 3]) == "SELECT 1 2 LIMIT 3"


@pytest.mark.parametrize(
    ("sql", "params", "message"),
    [
        ("SELECT ?", [], "1 markers and 0 values"),
        ("SELECT ?", [1, 2], "1 markers and 2 values"),
        ("SELECT ?", {"a": 1}, "don't go together"),
        ("SELECT :a", [1], "don't go together"),
        ("SELECT :a", {}, "no value for :a"),
        ("SELECT :a", {"a": 1, "b": 2}, "no :b in the statement"),
        ("SELECT :a", {"A": 1}, "no value for :a; no :A"),
        ("SELECT ?", "x", "parameters are a str"),
        ("SELECT ?", 5, "parameters are a int"),
        ("SELECT ?, '", [1], "can't be read"),
        ("SELECT ?, '${x}'", [1], "can't be read"),
        ("SELECT ?", [object()], "parameter 1 is a object"),
        ("SELECT ?", [[1]], "parameter 1 is a list"),
        ("SELECT ?", [timedelta(1)], "parameter 1 is a timedelta"),
        ("SELECT ?", bytearray(b"x"), "parameters are a bytearray"),
        ("SELECT ?", [2**63], "more than 64 bits"),
        ("SELECT ?", [Decimal("1E+999999999")], "no decimal"),
        ("SELECT ?", [np.array([1, 2])], "parameter 1 is a ndarray"),
        ("SELECT ?", [pd.Series([1])], "parameter 1 is a Series"),
        ("SELECT ?", [np.timedelta64(1, "ns")], "parameter 1 is a timedelta64"),
        ("SELECT ?", [np.datetime64(1, "ns")], "has nanoseconds"),
        ("SELECT ?", [pd.Timestamp(1)], "has nanoseconds"),
        ("SELECT ?", [np.datetime64("12000-01-01", "us")], "no time of Python's"),
        ("SELECT ?", [datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))], "in UTC before"),
        ("SELECT ?", [Decimal("NaN")], "no decimal"),
        ("SELECT ?", [Decimal(10) ** 38], "no decimal"),
        ("SELECT ?", ["\ud800"], "isn't Unicode"),
    ],
)
def test_what_does_not_fit(sql: str, params: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        with_parameters(sql, params)


def test_scalars_of_libraries() -> None:
    for value, text in (
        (np.float32(0.5), "(0.5e0D)"),
        (np.bool_(True), "TRUE"),
        (np.array(5), "5"),
        (np.str_("x"), "'x'"),
        (np.datetime64("2024-01-01"), "DATE'2024-01-01'"),
        (np.datetime64("2024-01-01", "ns"), "TIMESTAMP_NTZ'2024-01-01 00:00:00.000000'"),
        (np.datetime64("NaT"), "NULL"),
        (pd.Timestamp("2024-01-01"), "TIMESTAMP_NTZ'2024-01-01 00:00:00.000000'"),
        (pd.NaT, "NULL"),
        (pd.NA, "NULL"),
        (pa.scalar(5), "5"),
        (pa.scalar(None), "NULL"),
    ):
        assert literal(value, "it") == text


def test_subclasses_say_nothing_of_themselves() -> None:
    hostile = "1) OR (1=1"
    own: dict[str, Any] = {
        name: lambda *_, **__: hostile
        for name in ("__repr__", "__str__", "__format__", "isoformat", "encode", "hex")
    }
    for value in (5, 2**40, 1.5, Decimal("1.5"), Decimal(5), "x", "x'", date(2024, 1, 2)):
        kind = type(value)
        made = type("Own", (kind,), own)
        other = made(2024, 1, 2) if isinstance(value, date) else made(value)
        assert literal(other, "it") == literal(value, "it")
    at = type("At", (datetime,), own)(2024, 1, 2)
    assert literal(at, "it") == literal(datetime(2024, 1, 2), "it")


def test_numbers_are_answered_in_process(acc: Accelerator) -> None:
    for value in (1.5, -1.5, 1e300, Decimal("1.5"), Decimal(-5), Decimal("1E+3"), 2**40):
        found = acc.query("SELECT k, ? AS v FROM d.t WHERE k = 1", [value])
        ((_, told),) = found.fetchall()
        assert (told, type(told), found.metrics.engine) == (value, type(value), "duckdb")


def test_statements_of_our_own_take_parameters(acc: Accelerator) -> None:
    told = acc.query("EXPLAIN ACCELERATE SELECT k FROM d.t WHERE name = ?", ["O'Hara"])
    assert told.num_rows
    acc.query("CREATE CUBE c AS SELECT k, count(*) AS n FROM d.t WHERE k > ? GROUP BY k", [1])
    assert acc.query("SHOW CUBES").num_rows == 1
    acc.query("DROP CUBE c")


def test_a_statement_without_values_stays_as_it_is() -> None:
    for sql in ("", " ", "-- nothing", "SELECT '", "SELECT '${x}'"):
        assert with_parameters(sql, []) == sql


def test_what_is_no_text_is_no_statement(acc: Accelerator) -> None:
    for sql in (None, 5, b"SELECT k FROM d.t"):
        with pytest.raises(StatementError, match="the statement is a"):
            acc.query(sql)  # type: ignore[arg-type]


def test_a_closed_session_answers_nothing(pristine: Pristine, no_java: None) -> None:
    session = accelerator.open(pristine.lake(_fill))
    assert session.query("SELECT k FROM d.t").num_rows == 5
    session.close()
    session.close()
    for use in (session.query, session.stream, session.sql, session.explain, session.why_not):
        with pytest.raises(SessionClosedError, match="the session is closed"):
            use("SELECT k FROM d.t")
    with pytest.raises(SessionClosedError):
        session.query("SHOW CUBES")
    assert session.config.catalog_name == "lake"


def test_other_dialects(acc: Accelerator) -> None:
    assert acc.query("SELECT k FROM d.t", [], dialect="trino").num_rows == 5
    with pytest.raises(ParameterError, match="Spark's dialect"):
        acc.query("SELECT k FROM d.t WHERE k = ?", [1], dialect="trino")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (np.int64(5), "5"),
        (-(2**31), "(-2147483648)"),
        (2**31, "2147483648L"),
        (-(2**63), "(-9223372036854775808L)"),
        (1.5, "(1.5e0D)"),
        (-0.0, "(-0.0e0D)"),
        (1e300, "(1e+300D)"),
        (-math.inf, "CAST('-Infinity' AS DOUBLE)"),
        (Decimal("-1.50"), "(-1.50)"),
        (Decimal("1E+3"), "CAST(1000 AS DECIMAL(4,0))"),
        (Decimal("0"), "CAST(0 AS DECIMAL(1,0))"),
        (Decimal("1234567890123456789"), "(1234567890123456789BD)"),
        ("it's", "CAST(X'69742773' AS STRING)"),
        ("", "''"),
        ("${env:HOME}", "CAST(X'247b656e763a484f4d457d' AS STRING)"),
        (b"\x00'", "X'0027'"),
        (date(24, 1, 2), "DATE'0024-01-02'"),
        (datetime(2024, 1, 2, 3), "TIMESTAMP_NTZ'2024-01-02 03:00:00.000000'"),
        (
            datetime(2024, 1, 2, 3, tzinfo=timezone(timedelta(hours=1))),
            "TIMESTAMP'2024-01-02 02:00:00.000000Z'",
        ),
        (datetime(1, 1, 1, tzinfo=UTC), "TIMESTAMP'0001-01-01 00:00:00.000000Z'"),
    ],
)
def test_literals(value: Any, text: str) -> None:
    assert literal(value, "it") == text


_LITERAL = re.compile(
    r"""NULL|TRUE|FALSE|\(-\d+L?\)|\d+L?|\(-?\d[\d.e+-]*D\)|CAST\('(NaN|-?Infinity)' AS DOUBLE\)"""
    r"""|\(-?\d+\.\d+\)|\(-?\d+BD\)|CAST\(-?\d+ AS DECIMAL\(\d+,0\)\)"""
    r"""|'[^'\\$\x00-\x1f]*'|CAST\(X'[0-9a-f]*' AS STRING\)|X'[0-9a-f]*'"""
    r"""|DATE'[\d-]+'|TIMESTAMP(_NTZ)?'[\d :.-]+Z?'"""
)


@given(st.one_of(st.text(), st.binary(), st.integers(), st.floats(), st.decimals(), st.datetimes()))
def test_a_value_is_never_more_than_a_literal(value: Any) -> None:
    try:
        text = literal(value, "it")
    except ParameterError:
        return
    assert _LITERAL.fullmatch(text)
