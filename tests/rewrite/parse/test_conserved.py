"""Token conservation: a statement that the parser reads otherwise than it's written is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.errors import ParseError

from rewrite.parse.parse import UnsureError, parse
from rewrite.reason import DeclinedError
from tests.cubes.star import block

LOST = (
    "SELECT k FROM t WHERE +s = '01'",
    "SELECT +s FROM t GROUP BY +s",
    "SELECT +sum(v) FROM t",
    "SELECT k FROM t GROUP BY +1",
    "SELECT 1 - +k FROM t",
    "SELECT k, FROM t",
    "FROM t SELECT k,",
    "SELECT * FROM (WITH a AS (SELECT 1 AS x) SELECT x, FROM a) q",
    "SELECT /*+ " + "a" * 200 + "( */ k FROM t",
    "SELECT /*+ BROADCAST(" + "a, " * 200 + " */ k FROM t",
    "FROM t SELECT +k",
    "SELECT k FROM t GROUP BY k,",
    "SELECT k FROM t ORDER BY k,",
    "SELECT count(k,) FROM t",
    "SELECT k FROM t HAVING count(*) > 1 WHERE k = 1",
    "SELECT k AS 'x' FROM t",
    "SELECT k FROM 't'",
    "SELECT k FROM t WHERE k ISNULL",
    "SELECT k FROM t WHERE k NOTNULL",
    "SELECT sum(v) FILTER (k = 1) FROM t",
    "SELECT * FROM t JOIN u USING k",
    "SELECT /*+ BROADCAST(t */ k FROM t",
    "SELECT /*+ ( */ k FROM t",
    "SELECT k FROM t WHERE k IN (1, 2,)",
    "SELECT DISTINCT ON (k) k, v FROM t",
    "SELECT TOP 3 k FROM t",
    "SELECT k FROM t FETCH FIRST 3 ROWS ONLY",
    "SELECT k FROM t FOR UPDATE",
    "SELECT substring(s, 1 FOR 2) FROM t",
    "SELECT substring(s FOR 2) FROM t",
)
"""What plain Spark reads otherwise, or not at all."""

KEPT = (
    "SELECT k, count(*) AS n FROM t WHERE s <> 'a' AND NOT k = 1 GROUP BY k HAVING count(*) > 1",
    "SELECT k n FROM t INNER JOIN u ON t.k = u.k LEFT OUTER JOIN w USING (k)",
    "SELECT k FROM t WHERE k != 1 OR s == 'x' OR k <=> NULL OR s NOT LIKE 'a%' OR !(k = 2)",
    "SELECT CAST(k AS INTEGER), k::LONG, date(d), DATE '2024-01-01', 1L, 2.5D, .5, INTERVAL 1 DAY",
    "SELECT date_trunc('month', d), trunc(d, 'year'), ifnull(k, 1), mod(k, 2), s RLIKE 'x' FROM t",
    "SELECT substring(s FROM 1 FOR 2), substr((SELECT max(s) FROM u) FROM 2) FROM t",
    "SELECT ALL k FROM t UNION DISTINCT SELECT k FROM u MINUS SELECT k FROM w",
    "SELECT k FROM t CROSS JOIN u ORDER BY k DESC NULLS LAST, s ASC NULLS FIRST LIMIT 3 OFFSET 2",
    "SELECT sum(v) OVER (PARTITION BY k ORDER BY d ROWS 2 PRECEDING) FROM t",
    "SELECT * FROM (WITH a AS (SELECT 1 AS x), b AS (SELECT 2 AS y) SELECT * FROM a, b) q",
    "WITH z AS (SELECT 1 AS y) SELECT * FROM (WITH a AS (SELECT 1 AS x) SELECT * FROM a, z) q",
    "SELECT * FROM (WITH a AS (SELECT 1 AS x) SELECT * FROM a) q"
    " JOIN (WITH b AS (SELECT 1 AS x) SELECT * FROM b) r",
    "SELECT /*+ MERGE(a)BROADCAST (b , c), COALESCE(3) REBALANCE */ k FROM t",
    "SELECT 'a' 'b', current_date(), trim(s), instr(s, 'x'), log10(v), named_struct('a', 1) FROM t",
    "SELECT /*+ BROADCAST(t), MERGE(u, w) */ k FROM t FOR VERSION AS OF 3",
    "SELECT k FROM t; ",
    "FROM t SELECT k, s WHERE k = 1",
    "(SELECT k FROM t)",
    "SELECT ((k)) FROM t WHERE (((k = 1)))",
)


@pytest.mark.parametrize("sql", LOST)
def test_what_is_dropped_or_let_pass_is_refused(sql: str) -> None:
    with pytest.raises(ParseError):
        parse(sql)


@pytest.mark.parametrize("sql", KEPT)
def test_two_ways_of_writing_are_one(sql: str) -> None:
    parse(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT g, count(*) n FROM f GROUP BY g LIMIT 2 BY g",
        "SELECT g, count(*) n FROM f GROUP BY g ORDER BY g LIMIT 10 WITH TIES",
        "SELECT g, count(*) n FROM f GROUP BY g LIMIT 100 PERCENT",
        "SELECT g, count(*) n FROM ONLY f GROUP BY g",
        "SELECT g, s, count(*) n FROM f GROUP BY (g, s)",
        "SELECT g, count(*) n FROM f GROUP BY ALL g",
        "SELECT g, count(*) n FROM f GROUP BY DISTINCT g",
        "SELECT g, count(*) n FROM f@v1 GROUP BY g",
        "SELECT g, count(*) n FROM f GROUP BY g ORDER BY g WITH FILL",
        "SELECT g, count(*) n FROM f PREWHERE v = 1 GROUP BY g",
    ],
)
def test_what_the_tree_keeps_and_nobody_reads_declines(sql: str) -> None:
    with pytest.raises((DeclinedError, ParseError)):
        block(sql)


_WHOLE = "SELECT k, - v AS n, 'x' FROM t WHERE s = '1' AND k IN (1, 2) GROUP BY k, v ORDER BY k"
_PLACES = [i for i, letter in enumerate(_WHOLE) if letter == " "]


@given(
    place=st.sampled_from(_PLACES), word=st.sampled_from(["+", ",", "'y'", "1", "BY k", "(", ")"])
)
def test_a_word_more_is_an_error_or_is_in_the_tree(place: int, word: str) -> None:
    """Wherever it's put: the parser reads it, or nobody does."""
    text = f"{_WHOLE[:place]} {word} {_WHOLE[place:]}"
    try:
        tree = parse(text)
    except ParseError:
        return
    assert tree.sql("spark") != parse(_WHOLE).sql("spark")


def test_the_place_is_told() -> None:
    with pytest.raises(UnsureError, match=r"at: \+"):
        parse("SELECT k FROM t WHERE +s = '01'")
