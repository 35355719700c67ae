"""A statement cut into the SELECT above and those below it."""

from __future__ import annotations

import pytest
from sqlglot.errors import SqlglotError

from rewrite.facts import At, ColumnFacts
from rewrite.parse.parse import parse
from rewrite.reason import DeclinedError
from rewrite.rules.derived_tables import Answers, DerivedTable, nested


def _cut(sql):
    found = nested(parse(sql))
    if found is None:
        return None
    inner = [select.sql("spark") for select in found.inner.values()]
    return found.outer.sql("spark"), inner


def test_derived_tables_keep_their_aliases() -> None:
    outer, inner = _cut(
        "SELECT a.x FROM (SELECT k AS x FROM t GROUP BY k) a JOIN (SELECT 1 AS y) ON x = y"
    )
    assert outer == "SELECT a.x FROM acc_answer_0 AS a JOIN acc_answer_1 ON x = y"
    assert inner == ["SELECT k AS x FROM t GROUP BY k", "SELECT 1 AS y"]


def test_columns_get_names_by_their_places() -> None:
    outer, inner = _cut("WITH c(a, B) AS (SELECT k, 1 FROM t UNION SELECT 2, x) SELECT b FROM c")
    assert outer == "SELECT b FROM acc_answer_0 AS c"
    assert inner == [
        "SELECT `k` AS a, `acc_column_1` AS B FROM"
        " (SELECT k, 1 AS acc_column_1 FROM t UNION SELECT 2, x) AS acc_named"
    ]
    outer, _ = _cut("SELECT y FROM (SELECT 1 AS x FROM t) AS a(y)")
    assert outer == "SELECT y FROM acc_answer_0 AS a"


def test_a_table_beside_has_the_columns_that_are_named() -> None:
    columns = [ColumnFacts(1, "K", "int", False), ColumnFacts(2, "g", "string", False)]

    def beside(sql):
        (found,) = nested(parse(sql)).beside.values()
        return found.select(columns).sql("spark")

    answer = "(SELECT k, count(*) AS n FROM t GROUP BY k) a"
    assert beside(f"SELECT n FROM {answer} JOIN c.d.u ON a.k = u.k") == (
        "SELECT `K` FROM `c`.`d`.`u`"
    )
    assert beside(f"SELECT n FROM u JOIN {answer} USING (k) WHERE g = 'x'") == (
        "SELECT `K`, `g` FROM `u`"
    )
    assert beside(f"SELECT count(*) FROM {answer}, u") == "SELECT `K` FROM `u`"
    for stars in ("SELECT *", "SELECT u.*", "SELECT count(DISTINCT u.*)"):
        assert beside(f"{stars} FROM {answer}, u") == "SELECT `K`, `g` FROM `u`"
    assert beside(f"SELECT n FROM {answer} NATURAL JOIN u") == "SELECT `K`, `g` FROM `u`"


def test_a_name_of_with_is_one_answer_however_often_it_is_read() -> None:
    sql = "WITH c AS (SELECT k FROM t GROUP BY k) SELECT * FROM c JOIN C AS d ON c.k = d.k"
    outer, inner = _cut(sql)
    assert outer == "SELECT * FROM acc_answer_0 AS c JOIN acc_answer_0 AS d ON c.k = d.k"
    assert inner == ["SELECT k FROM t GROUP BY k"]


def test_an_inner_select_has_the_with_that_it_needs() -> None:
    sql = (
        "WITH a AS (SELECT 1 AS x FROM t), b AS (SELECT 2 AS y FROM t), c AS (SELECT x FROM a)"
        " SELECT * FROM (SELECT * FROM c) s"
    )
    outer, inner = _cut(sql)
    assert outer == "SELECT * FROM acc_answer_0 AS s"
    assert inner == ["WITH a AS (SELECT 1 AS x FROM t), c AS (SELECT x FROM a) SELECT * FROM c"]


def test_an_item_of_with_sees_only_those_before_it() -> None:
    _, inner = _cut("WITH a AS (SELECT x FROM b), b AS (SELECT 1 AS x FROM t) SELECT * FROM a")
    assert inner == ["SELECT x FROM b"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT x FROM t",
        "WITH c AS (SELECT 1) SELECT x FROM t",
        "WITH c AS (SELECT 1) SELECT x FROM lake.c",
        "WITH c AS (SELECT 1) SELECT x FROM t WHERE k IN (SELECT * FROM c)",
        "SELECT 1",
        "SELECT k FROM t UNION ALL SELECT k FROM u",
    ],
)
def test_no_select_stands_in_from(sql) -> None:
    assert _cut(sql) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM (SELECT 1 AS x) a JOIN t VERSION AS OF 7 ON x = k",
        "SELECT * FROM (SELECT 1 AS x) a JOIN t TABLESAMPLE (5 ROWS) ON x = k",
        "SELECT * FROM (SELECT 1 AS x) a JOIN range(5) t ON x = id",
        "SELECT * FROM (SELECT 1 AS x FROM t) AS a(y, z)",
        "WITH c(y) AS (SELECT t.* FROM t) SELECT * FROM c",
        "WITH RECURSIVE c AS (SELECT 1 AS x) SELECT * FROM c",
        "WITH c AS (SELECT 1 AS x), c AS (SELECT 2 AS x) SELECT * FROM c",
        "WITH c AS (SELECT 1 AS x) SELECT * FROM (WITH c AS (SELECT x FROM c) SELECT * FROM c)",
        "SELECT * FROM (SELECT 1 AS x) TABLESAMPLE (50 PERCENT)",
        "SELECT * FROM (SELECT 1 AS x) (y)",
        "SELECT y FROM (SELECT 1 AS x) a JOIN t AS u (y)",
        "SELECT * FROM (SELECT x, y FROM t) PIVOT (sum(x) FOR y IN (1, 2))",
    ],
)
def test_what_is_not_understood_is_declined(sql) -> None:
    with pytest.raises((DeclinedError, SqlglotError)):
        _cut(sql)


def test_two_columns_of_one_name_are_ambiguous() -> None:
    with pytest.raises(DeclinedError, match="two columns"):
        Answers({"a": DerivedTable([("x", "int"), ("X", "int")])})


def test_groups_are_unique_by_their_keys() -> None:
    columns = [("k", "int"), ("n", "bigint")]
    answers = Answers({"a": DerivedTable(columns, frozenset({0})), "b": DerivedTable(columns)})
    assert answers.unique(("a",), At(), frozenset({0, 1}))
    assert not answers.unique(("a",), At(), frozenset({1}))
    assert not answers.unique(("b",), At(), frozenset({0, 1}))
    assert not answers.unique(("c",), At(), frozenset({0}))
