"""Set operations as lists of queries under one operator, with what sorts them above."""

from __future__ import annotations

import pytest

from rewrite.parse.parse import parse
from rewrite.reason import DeclinedError
from rewrite.rules.set_operations import above, set_operation


@pytest.mark.parametrize(
    ("sql", "operator", "queries"),
    [
        (
            "SELECT a FROM t UNION ALL (SELECT b FROM u) UNION ALL SELECT 1",
            "UNION ALL",
            ["SELECT a FROM t", "SELECT b FROM u", "SELECT 1"],
        ),
        (
            "SELECT a FROM t UNION SELECT b FROM u UNION ALL SELECT 1",
            "UNION ALL",
            ["SELECT a FROM t UNION SELECT b FROM u", "SELECT 1"],
        ),
        (
            "SELECT a FROM t UNION ALL SELECT b FROM u UNION SELECT 1",
            "UNION",
            ["SELECT a FROM t UNION ALL SELECT b FROM u", "SELECT 1"],
        ),
        (
            "SELECT a FROM t UNION ALL SELECT b FROM u INTERSECT SELECT 1",
            "UNION ALL",
            ["SELECT a FROM t", "SELECT b FROM u INTERSECT SELECT 1"],
        ),
        (
            "SELECT a FROM t EXCEPT SELECT b FROM u EXCEPT SELECT 1",
            "EXCEPT",
            ["SELECT a FROM t EXCEPT SELECT b FROM u", "SELECT 1"],
        ),
        (
            "WITH w AS (SELECT 2 AS a) SELECT a FROM w MINUS ALL SELECT b FROM u",
            "EXCEPT ALL",
            ["WITH w AS (SELECT 2 AS a) SELECT a FROM w", "SELECT b FROM u"],
        ),
    ],
)
def test_queries_and_their_operator(sql: str, operator: str, queries: list[str]) -> None:
    found = set_operation(parse(sql))
    assert found.operator == operator
    assert [query.sql("spark") for query in found.queries] == queries


def test_what_sorts_all_rows_stands_above() -> None:
    sql = "WITH w AS (SELECT 1 AS a) SELECT a FROM w UNION SELECT b FROM u"
    select = above(parse(f"{sql} ORDER BY a DESC LIMIT 3"))
    assert select is not None and select.sql("spark") == (
        "WITH w AS (SELECT 1 AS a) SELECT * FROM (SELECT a FROM w UNION SELECT b FROM u) AS acc_set"
        " ORDER BY a DESC LIMIT 3"
    )
    assert above(parse(sql)) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t UNION BY NAME SELECT b FROM u",
        "SELECT a FROM t LIMIT 1 UNION ALL SELECT b FROM u",
        "SELECT a FROM t ORDER BY a UNION ALL SELECT b FROM u",
        "SELECT a FROM t UNION ALL SELECT b FROM u LIMIT 1 UNION ALL SELECT c FROM v",
        "SELECT a FROM t UNION ALL WITH w AS (SELECT 1 AS b) SELECT b FROM w",
        " UNION ALL ".join(["SELECT a FROM t"] * 2000),
    ],
)
def test_what_is_left(sql: str) -> None:
    with pytest.raises(DeclinedError):
        found = set_operation(parse(sql))
        assert [above(q) for q in found.queries]


def test_a_branch_is_named() -> None:
    with pytest.raises(DeclinedError):
        above(parse("SELECT a FROM t UNION SELECT b FROM u ORDER BY t.a"))
