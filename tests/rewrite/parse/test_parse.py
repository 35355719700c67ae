"""Texts that the parser may read, but otherwise than Spark, aren't read at all."""

from __future__ import annotations

from contextlib import suppress

import pytest
from sqlglot.errors import ParseError

import rewrite.parse.parse
from rewrite.parse.bounds import trees_of
from rewrite.parse.parse import UnsureError, parse


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT ä FROM t",
        "SELECT t.ä FROM t",
        "SELECT a FROM größe",
        "SELECT a FROM t AS größe",
        "SELECT a AS größe FROM t",
        "WITH größe AS (SELECT a FROM t) SELECT a FROM t",
    ],
)
def test_letters_that_spark_takes_only_in_backticks(sql: str) -> None:
    with pytest.raises(UnsureError, match="only in backticks"):
        parse(sql)


def test_letters_in_backticks_texts_and_comments() -> None:
    parse("SELECT `ä`, t.`ä` AS `größe`, 'größe' AS b FROM `größe` AS t -- größe")
    parse("SELECT ä FROM t", dialect="postgres")


@pytest.mark.parametrize("sql", ["SELECT a b c FROM t", "SELECT (1", "SELECT a FROM t WHERE"])
def test_errors_have_no_codes_for_a_terminal(sql: str) -> None:
    with pytest.raises(ParseError) as found:
        parse(sql)
    assert "\x1b" not in str(found.value)
    assert "Line 1" in str(found.value)


@pytest.mark.parametrize(
    ("sql", "trees"),
    [
        ("SELECT g FROM t UNION ALL SELECT h FROM u", 2),
        ("SELECT g FROM t UNION ALL VALUES (1), (2)", 1),  # refused: the parser makes it a SELECT
        ("SELECT a b c FROM t", 1),
        ("DROP TABLE t", 1),
    ],
)
def test_a_refused_text_is_read_once_and_a_query_twice(sql: str, trees: int, monkeypatch) -> None:
    """Reading a long text takes half a second."""
    texts: list[str] = []

    def counted(tokens, sql, dialect, work):
        texts.append(sql)
        return trees_of(tokens, sql, dialect, work)

    monkeypatch.setattr(rewrite.parse.parse, "trees_of", counted)
    with suppress(ParseError):
        parse(sql)
    assert texts == [sql] * trees


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT FROM t",
        "SELECT /* all */ FROM shop.t",
        "SELECT a FROM t WHERE EXISTS (SELECT FROM u)",
    ],
)
def test_a_select_without_columns_is_refused(sql: str) -> None:
    with pytest.raises(UnsureError):
        parse(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT CAST(x AS TIMESTAMP WITHOUT TIME ZONE) AS a, 'x' AS b FROM t",
        "SELECT 'it''s' AS a, CAST(x AS TIMESTAMP WITH TIME ZONE) AS b, '' AS c FROM t",
        "SELECT CAST(x AS TIMESTAMP /* it's */ WITH LOCAL TIME ZONE) AS b, 'x' AS c FROM t",
    ],
)
def test_times_with_words_of_zones(sql: str) -> None:
    with pytest.raises(UnsureError, match="WITHOUT TIME ZONE"):
        parse(sql)


def test_texts_may_have_words_of_zones() -> None:
    """The door writes Trino's names of types as constants."""
    found = parse("SELECT 'timestamp(6) with time zone' AS a FROM t")
    assert found.expressions[0].this.name == "timestamp(6) with time zone"
