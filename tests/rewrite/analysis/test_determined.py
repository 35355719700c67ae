"""Which queries have one right answer, and queries without their limits."""

from __future__ import annotations

import pytest

from rewrite.analysis.determinism import is_cut, uncut, undetermined
from rewrite.parse.parse import parse

_DETERMINED = (
    "SELECT g, count(*) FROM t GROUP BY g ORDER BY 2 LIMIT 3 OFFSET 1",
    "(SELECT a FROM t LIMIT 3)",
    "WITH c AS (SELECT a FROM t) SELECT * FROM c LIMIT 3",
    "SELECT a FROM t UNION SELECT b FROM u ORDER BY 1 LIMIT 3",
    "SELECT CASE WHEN a > 1 AND b IN (1, 2) THEN CAST(c AS INT) END FROM t WHERE year(d) = 2024",
    "SELECT rank() OVER (ORDER BY a), sum(b) OVER (PARTITION BY c ORDER BY a) FROM t",
    "SELECT approx_count_distinct(a) FROM t",
    "SELECT g, h, row_number() OVER (PARTITION BY g ORDER BY count(*), h) FROM t GROUP BY g, h",
    "SELECT g, sum(count(*)) OVER (ORDER BY g ROWS UNBOUNDED PRECEDING) FROM t GROUP BY g",
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a)",
)
_OPEN = (
    "SELECT a FROM t WHERE rand() < 0.5",
    "SELECT uuid()",
    "SELECT current_date",
    "SELECT now() - ts FROM t",
    "SELECT current_timestamp(), a FROM t",
    "SELECT first(a), g FROM t GROUP BY g",
    "SELECT any_value(a) FROM t",
    "SELECT collect_list(a) FROM t",
    "SELECT max_by(a, b) FROM t",
    "SELECT monotonically_increasing_id() FROM t",
    "SELECT of_the_user(a) FROM t",
    "SELECT a FROM t TABLESAMPLE (10 ROWS)",
    "SELECT max(a) FROM (SELECT a FROM t ORDER BY b LIMIT 3)",
    "WITH c AS (SELECT a FROM t LIMIT 3) SELECT * FROM c",
    "(SELECT a FROM t LIMIT 3) UNION ALL SELECT b FROM u",
    "SELECT row_number() OVER (ORDER BY a) FROM t",
    "SELECT lag(a) OVER (PARTITION BY b ORDER BY c) FROM t",
    "SELECT first_value(a) IGNORE NULLS OVER (ORDER BY c) FROM t",
    "SELECT sum(a) OVER (ORDER BY c ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t",
    "SELECT g, row_number() OVER (ORDER BY count(*)) FROM t GROUP BY g",
    "SELECT g, row_number() OVER (ORDER BY g) FROM t GROUP BY ROLLUP (g, h)",
    "SELECT row_number() OVER w FROM t GROUP BY g WINDOW w AS (ORDER BY g)",
    "SELECT g, row_number() OVER (ORDER BY 1) FROM t GROUP BY 1",
)


@pytest.mark.parametrize("sql", _DETERMINED)
def test_determined(sql: str) -> None:
    assert undetermined(parse(sql)) is None


@pytest.mark.parametrize("sql", _OPEN)
def test_open(sql: str) -> None:
    assert undetermined(parse(sql))


def test_estimates_are_open_where_it_s_asked() -> None:
    assert undetermined(parse("SELECT approx_percentile(a, 0.5) FROM t"), estimates=True)


@pytest.mark.parametrize(
    ("sql", "whole", "keys"),
    [
        ("SELECT a, b FROM t LIMIT 3", "SELECT a, b FROM t", ()),
        ("SELECT a, b AS c FROM t ORDER BY C, 1 OFFSET 2", "SELECT a, b AS c FROM t", (1, 0)),
        (
            "SELECT g, sum(v) AS s FROM t GROUP BY g ORDER BY sum(v) DESC, count(*), s LIMIT 3",
            "SELECT g, SUM(v) AS s, COUNT(*) AS acc_key_1 FROM t GROUP BY g",
            (1, None, 1),
        ),
        ("SELECT * FROM t ORDER BY a LIMIT 1", "SELECT *, a AS acc_key_0 FROM t", (None,)),
        ("SELECT * FROM t ORDER BY 1 LIMIT 1", "SELECT * FROM t", (None,)),
        ("SELECT DISTINCT a FROM t ORDER BY a + 1 LIMIT 1", "SELECT DISTINCT a FROM t", (None,)),
        (
            "WITH c AS (SELECT a FROM t) SELECT a FROM c UNION SELECT b FROM u ORDER BY a LIMIT 1",
            "WITH c AS (SELECT a FROM t) SELECT a FROM c UNION SELECT b FROM u",
            (0,),
        ),
    ],
)
def test_uncut(sql: str, whole: str, keys: tuple[int | None, ...]) -> None:
    tree = parse(sql)
    assert is_cut(tree)
    found = uncut(tree)
    assert (found.sql, found.keys) == (whole, keys)
    assert tree == parse(sql)  # the tree is as it was


def test_what_is_inside_cuts_nothing() -> None:
    assert not is_cut(parse("SELECT max(a) FROM (SELECT a FROM t LIMIT 3)"))
