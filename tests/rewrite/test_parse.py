"""Texts that the parser may read, but otherwise than Spark, aren't read at all."""

from __future__ import annotations

import pytest
from sqlglot.errors import ParseError

from rewrite.parse import UnsureError, parse


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
