"""Joins, sorts and filters of queries of any form."""

from __future__ import annotations

import pytest

from rewrite.analysis.query_form import cross_join, filters_by, hides_tables, only_sorts, uses
from rewrite.parse.parse import parse

_CROSS = (
    "SELECT * FROM a, b",
    "SELECT * FROM a CROSS JOIN b",
    "SELECT * FROM a JOIN b",
    "SELECT * FROM a JOIN b ON TRUE",
    "SELECT * FROM a JOIN b ON a.k = 1 AND b.k = 1",
    "SELECT * FROM a LEFT JOIN b ON b.k = 1",
    "SELECT * FROM a, b WHERE a.k = 1 AND b.k = 1",
    "SELECT * FROM a, b, c WHERE a.k = b.k",
    "SELECT * FROM a JOIN b ON a.k = b.k, c WHERE c.k = 2",
    "SELECT * FROM s.a x, s.a y WHERE x.k = x.j",
    "SELECT * FROM (SELECT * FROM a, b) x WHERE x.k = 1",
    "WITH w AS (SELECT * FROM a, b) SELECT * FROM w",
    "SELECT k FROM a UNION ALL SELECT a.k FROM a, b",
    "SELECT * FROM a WHERE k IN (SELECT b.k FROM b, c)",
    "SELECT * FROM (a CROSS JOIN b)",
    "SELECT * FROM a, (SELECT k FROM b GROUP BY k) x",
    "SELECT * FROM a, range(10) r",
    "SELECT * FROM a, b WHERE k = 1",
    "SELECT * FROM (SELECT max(k) m FROM a) x, b, c",
    "WITH w AS (SELECT k FROM a) SELECT * FROM b, w",
    "SELECT * FROM a WHERE EXISTS (SELECT 1 FROM b, c WHERE b.k = a.k)",
    "SELECT * FROM a WHERE a.k IN (SELECT b.k FROM b, c)",
)
_JOINED = (
    "SELECT * FROM a",
    "SELECT 1",
    "VALUES (1)",
    "SELECT * FROM a, b WHERE a.k = b.k",
    "SELECT * FROM a, b WHERE (a.k = b.k AND a.j = 1) OR (a.k = b.k AND a.j = 2)",
    "SELECT * FROM a, b, c WHERE a.k = b.k AND c.k < b.k",
    "SELECT * FROM a, b WHERE a_k = b_k",
    "SELECT * FROM a CROSS JOIN b WHERE A.k = B.k",
    "SELECT * FROM s.a, s.b WHERE s.a.k = s.b.k",
    "SELECT * FROM a x JOIN a y ON x.k = y.j",
    "SELECT * FROM a JOIN b USING (k)",
    "SELECT * FROM a NATURAL JOIN b",
    "SELECT * FROM a LEFT SEMI JOIN b ON a.k = b.k",
    "SELECT * FROM a LEFT ANTI JOIN b ON b.k = 1",
    "SELECT * FROM a JOIN LATERAL (SELECT * FROM b WHERE b.k = a.k) l",
    "SELECT * FROM a, LATERAL (SELECT 1) l",
    "SELECT * FROM a LATERAL VIEW explode(x) t AS y",
    "SELECT * FROM a, explode(a.x)",
    "SELECT * FROM a CROSS JOIN (SELECT max(k) m FROM b) x",
    "SELECT * FROM a CROSS JOIN (SELECT k FROM b LIMIT 1) x",
    "SELECT * FROM (a JOIN b ON a.k = b.k) JOIN c ON c.k = a.k",
    "SELECT * FROM (a CROSS JOIN b) WHERE a.k = b.k",
    "SELECT * FROM a JOIN (b JOIN c ON b.k = c.k) ON a.k = c.k",
    "SELECT * FROM a JOIN b ON a.k = b.record.k",
    "SELECT * FROM a JOIN b ON record.k = b.k",
    "SELECT * FROM a, b LATERAL VIEW explode(a.x) e AS y WHERE e.y = b.k",
    "SELECT * FROM (SELECT max(k) m FROM a) x, b",
    "SELECT * FROM (SELECT max(k) m FROM a) x, b, c WHERE b.k = c.k",
    "WITH w AS (SELECT max(k) m FROM a) SELECT * FROM b, w",
    "WITH w AS (SELECT max(k) m FROM a) SELECT * FROM w x CROSS JOIN b",
    "SELECT * FROM a WHERE EXISTS (SELECT 1 FROM b, c WHERE b.k = a.k AND c.k = a.k)",
)


@pytest.mark.parametrize("sql", _CROSS)
def test_cross_joins(sql: str) -> None:
    assert cross_join(parse(sql)) is not None


@pytest.mark.parametrize("sql", _JOINED)
def test_what_is_joined(sql: str) -> None:
    assert cross_join(parse(sql)) is None


def test_a_cross_join_names_its_relations() -> None:
    assert cross_join(parse("SELECT * FROM s.a x JOIN b USING (k), s.c")) == "b, x and c"


@pytest.mark.parametrize(
    ("sql", "sorts"),
    [
        ("SELECT * FROM a ORDER BY k", True),
        ("SELECT * FROM a ORDER BY k LIMIT ALL", True),
        ("SELECT * FROM a ORDER BY k OFFSET 5", True),
        ("(SELECT * FROM a ORDER BY k)", True),
        ("WITH w AS (SELECT 1 x) SELECT * FROM w ORDER BY x", True),
        ("SELECT k FROM a UNION ALL SELECT k FROM b ORDER BY k", True),
        ("SELECT k, sum(v) OVER (PARTITION BY k) FROM a ORDER BY k", True),
        ("SELECT k, (SELECT max(k) FROM b) m FROM a ORDER BY k", True),
        ("SELECT * FROM a ORDER BY k LIMIT 10", False),
        ("SELECT * FROM (SELECT * FROM a ORDER BY k) LIMIT 5", False),
        ("SELECT k, count(*) FROM a GROUP BY k ORDER BY 2", False),
        ("SELECT max(k) + 1 FROM a ORDER BY 1", False),
        ("SELECT * FROM a SORT BY k", False),
        ("SELECT * FROM a", False),
        ("(SELECT * FROM a) ORDER BY k", True),
        ("((SELECT * FROM a ORDER BY k) LIMIT 5)", False),
        ("(SELECT * FROM a ORDER BY k) LIMIT ALL", True),
        ("(SELECT k FROM a LIMIT 5) ORDER BY k", False),
        ("SELECT DISTINCT k FROM a ORDER BY k", False),
        ("SELECT sum(v) FILTER (WHERE v > 1) OVER () FROM a ORDER BY k", True),
        ("SELECT first(v) IGNORE NULLS OVER (ORDER BY k) FROM a ORDER BY k", True),
        ("SELECT sum(count(*)) OVER (ORDER BY max(k)) FROM a ORDER BY 1", False),
    ],
)
def test_only_sorts(sql: str, sorts: bool) -> None:
    assert only_sorts(parse(sql)) is sorts


@pytest.mark.parametrize(
    ("sql", "filtered"),
    [
        ("SELECT * FROM t WHERE p = 1", [True]),
        ("SELECT * FROM t WHERE T.P > 1 AND x = 2", [True]),
        ("SELECT * FROM s.t WHERE s.t.p IN (1, 2)", [True]),
        ("SELECT * FROM t WHERE p = 1 OR x = 2", [False]),
        ("SELECT * FROM t WHERE (p = 1 AND x = 2) OR p = 3", [True]),
        ("SELECT * FROM t WHERE x = 1", [False]),
        ("SELECT p FROM t", [False]),
        ("SELECT * FROM t HAVING p = 1", [False]),
        ("SELECT * FROM t WHERE x IN (SELECT p FROM u)", [False, False]),
        ("SELECT * FROM t a JOIN t b ON a.k = b.k WHERE a.p = 1", [True, False]),
        ("SELECT * FROM t a JOIN t b ON a.k = b.k AND b.p = 1 WHERE a.p = 1", [True, True]),
        ("SELECT * FROM (SELECT * FROM t) x WHERE x.p = 1", [False]),
        ("WITH w AS (SELECT * FROM t WHERE p = 1) SELECT * FROM w", [True]),
        ("SELECT * FROM t WHERE p = 1 UNION SELECT * FROM t", [True, False]),
        ("SELECT * FROM (a JOIN t ON a.k = t.k) WHERE t.p = 1", [False, True]),
        ("WITH t AS (SELECT * FROM t) SELECT * FROM t WHERE p = 1", [False]),
        ("SELECT * FROM (t) x WHERE x.p = 1", [True]),
        ("SELECT * FROM (a JOIN t ON a.k = t.k) x WHERE x.p = 1 AND y.k = 2", [True, True]),
        ("WITH a AS (SELECT * FROM t), t AS (SELECT 1) SELECT * FROM a, t", [False]),
        ("WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT * FROM t) SELECT * FROM t", []),
        ("WITH t AS (SELECT 1 p) SELECT * FROM (WITH b AS (SELECT * FROM t) SELECT * FROM b)", []),
        ("SELECT * FROM t WHERE " + " OR ".join(["p = 1"] * 3000), [True]),
    ],
)
def test_filters_where_a_table_is_named(sql: str, filtered: list[bool]) -> None:
    found = sorted(uses(parse(sql)), key=lambda u: sql.find(u.table.sql(dialect="spark")))
    assert sorted(filters_by(use, ["p"]) for use in found) == sorted(filtered)


def test_filters_of_padded_rows_prune_nothing() -> None:
    sql = "SELECT * FROM a LEFT JOIN b ON a.k = b.k WHERE b.x IS NULL AND a.x = 1"
    filters = {use.table.name: len(use.filters) for use in uses(parse(sql))}
    assert filters == {"a": 2, "b": 0}
    full = sql.replace("LEFT", "FULL")
    assert not any(use.filters for use in uses(parse(full)))


def test_filters_of_padded_rows_in_parentheses() -> None:
    sql = "SELECT * FROM a JOIN (b LEFT JOIN c ON b.k = c.k) ON a.k = b.k WHERE c.x IS NULL"
    assert {use.table.name: len(use.filters) for use in uses(parse(sql))} == {
        "a": 1,
        "b": 1,
        "c": 0,
    }


def test_a_table_that_is_mentioned_twice_alike() -> None:
    sql = "SELECT * FROM t LEFT JOIN (SELECT k FROM t) b ON t.k = b.k WHERE t.p = 1"
    assert sorted(len(use.filters) for use in uses(parse(sql))) == [0, 1]


def test_hidden_tables() -> None:
    assert hides_tables(parse("SELECT * FROM a JOIN identifier('b') x ON a.k = x.k"))
    assert hides_tables(parse("SELECT * FROM f(TABLE(b))"))
    assert not hides_tables(parse("SELECT identifier('k') FROM a, range(3), f(g(1))"))
