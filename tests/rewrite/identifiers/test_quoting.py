"""Quoting for Spark: names, constants, and built texts in which Spark replaces no `${…}`."""

from __future__ import annotations

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from rewrite.errors import StatementError
from rewrite.identifiers.quoting import backticked, text_constant, unexpanded
from rewrite.ir.expr import Literal
from rewrite.parse.to_spark_sql import spark_text
from rewrite.render.expressions import literal

_TEXTS = st.text(st.sampled_from("${}`'\\\"ab:\n\0é"), max_size=12)


@given(_TEXTS)
def test_a_constant_means_its_text_and_names_no_variable(text: str) -> None:
    quoted = text_constant(text)
    assert "${" not in quoted
    tree = sqlglot.parse_one(f"SELECT {quoted}", read="spark")
    assert [one.this for one in tree.find_all(sqlglot.exp.Literal)] == [text]
    assert literal(Literal(text, "string"), "spark") == quoted


@given(_TEXTS, _TEXTS)
def test_a_text_keeps_its_meaning_or_is_refused(name: str, text: str) -> None:
    tree = sqlglot.exp.select(sqlglot.exp.Literal.string(text)).from_(
        sqlglot.exp.to_identifier(f"t{name}", quoted=True)
    )
    if "${" in name:
        with pytest.raises(StatementError):
            spark_text(tree.copy())
        return
    written = spark_text(tree.copy())
    assert "${" not in written
    again = sqlglot.parse_one(written, read="spark")
    assert [one.this for one in again.find_all(sqlglot.exp.Literal)] == [text]
    assert [one.name for one in again.find_all(sqlglot.exp.Table)] == [f"t{name}"]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1", "SELECT 1"),
        ("SELECT '$' , `{a}`", "SELECT '$' , `{a}`"),
        ("SELECT '${a}', '${b}${c'", r"SELECT '\u0024{a}', '\u0024{b}\u0024{c'"),
        (r"SELECT '\\${a}', 'it\'s ${a}'", r"SELECT '\\\u0024{a}', 'it\'s \u0024{a}'"),
        ("SELECT '`', '${a}' AS `'`", r"SELECT '`', '\u0024{a}' AS `'`"),
    ],
)
def test_constants_of_a_built_text(sql: str, expected: str) -> None:
    assert unexpanded(sql) == expected


@pytest.mark.parametrize(
    "sql", ["SELECT `${a}`", "SELECT ${a}", r"SELECT '\${a}'", "SELECT '${a", "SELECT 1 -- '\n${"]
)
def test_what_has_no_escape_is_refused(sql: str) -> None:
    with pytest.raises(StatementError, match="variable's value") as caught:
        unexpanded(sql)
    assert "without ${" in caught.value.hint


def test_names() -> None:
    assert backticked("a`b${c}") == "`a``b${c}`"
