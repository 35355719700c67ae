"""SELECTs over derived tables of rows are those over their tables; the rest stays as it is."""

from __future__ import annotations

import pytest

from rewrite.bind.from_clause import unread
from rewrite.bind.join_rows import bind_above
from rewrite.facts import At, ColumnFacts, Facts, TableFacts
from rewrite.parse.parse import parse
from rewrite.reason import DeclinedError
from rewrite.rules.merge_subqueries import flattened


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        (
            "SELECT y, sum(v) AS s FROM (SELECT year(d) AS y, a * b AS v FROM t JOIN u ON t.k = u.k"
            " WHERE p > 1 OR q > 1) s WHERE y > 2000 AND s.v < 3 GROUP BY y HAVING sum(v) > 3"
            " ORDER BY y, sum(v), s LIMIT 3",
            "SELECT (YEAR(d)) AS `y`, SUM((a * b)) AS s FROM t JOIN u ON t.k = u.k"
            " WHERE (p > 1 OR q > 1) AND ((YEAR(d)) > 2000 AND (a * b) < 3) GROUP BY (YEAR(d))"
            " HAVING SUM((a * b)) > 3 ORDER BY y, SUM((a * b)), s LIMIT 3",
        ),
        (
            "WITH w AS (SELECT year(d) AS y FROM t) SELECT DISTINCT y FROM w",
            "SELECT DISTINCT (YEAR(d)) AS `y` FROM t",
        ),
        (
            "SELECT upper(x) AS x, count(*) FROM (SELECT g AS x FROM t) GROUP BY x ORDER BY x",
            "SELECT UPPER((g)) AS x, COUNT(*) AS `count(1)` FROM t GROUP BY (g) ORDER BY x",
        ),
        (
            "SELECT upper(x) AS g, count(*) AS n FROM (SELECT h AS x FROM t)"
            " GROUP BY g HAVING n > 1",
            "SELECT UPPER((h)) AS g, COUNT(*) AS n FROM t GROUP BY (UPPER((h)))"
            " HAVING (COUNT(*)) > 1",
        ),
        (
            "SELECT max(z) FROM (SELECT y AS z FROM (SELECT a + b AS y FROM t"
            " WHERE a > 1) WHERE y > 1)",
            "SELECT MAX(((a + b))) AS `max(z)` FROM t WHERE (a > 1) AND (((a + b) > 1))",
        ),
        (
            "SELECT y, z AS w FROM (SELECT x AS y, Z FROM t WHERE x > 1) WHERE y < 9 ORDER BY z, y",
            "SELECT (x) AS `y`, (Z) AS w FROM t WHERE (x > 1) AND ((x) < 9) ORDER BY (Z), y",
        ),
        (
            "SELECT * FROM (SELECT x AS y, Z FROM t) ORDER BY z LIMIT 3",
            "SELECT (x) AS `y`, (Z) AS `Z` FROM t ORDER BY (Z) LIMIT 3",
        ),
        (
            "SELECT x.y, count(*) AS n FROM (SELECT * FROM d.t WHERE t.k > 1 OR i > 1) x"
            " WHERE n < 9 OR x.n > 20 GROUP BY x.y",
            "SELECT x.y, COUNT(*) AS n FROM d.t AS `x` WHERE (`x`.k > 1 OR `x`.i > 1)"
            " AND (n < 9 OR x.n > 20) GROUP BY x.y",
        ),
        (
            "SELECT x.y, count(*) AS n FROM (SELECT * FROM t JOIN u AS o ON k = o.j LEFT JOIN v"
            " USING (i) WHERE t.p > 1) AS x WHERE b < 9 GROUP BY x.y ORDER BY n LIMIT 3",
            "SELECT y, COUNT(*) AS n FROM t JOIN u AS o ON k = o.j LEFT JOIN v USING (i)"
            " WHERE (t.p > 1) AND (b < 9) GROUP BY y ORDER BY n LIMIT 3",
        ),
        (
            "WITH w AS (SELECT * FROM t, u) SELECT max(a) FROM w",
            "SELECT MAX(a) FROM t CROSS JOIN u",
        ),
        (
            "WITH w AS (SELECT * FROM t VERSION AS OF 3 a WHERE a.k > 1) SELECT max(k) FROM w",
            "SELECT MAX(k) FROM t VERSION AS OF 3 AS `w` WHERE (`w`.k > 1)",
        ),
        (
            "SELECT y FROM (SELECT x AS y, z FROM (SELECT * FROM t))",
            "SELECT (x) AS `y` FROM t AS `acc_unnamed`",
        ),
    ],
)
def test_what_is_flattened(sql: str, wanted: str) -> None:
    assert flattened(parse(sql)).sql(dialect="spark") == wanted


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT s.* FROM (SELECT x AS y FROM t) s",
        "SELECT * EXCEPT (y) FROM (SELECT x AS y, z FROM t) s",
        "SELECT y, count(*) AS n FROM (SELECT x AS y FROM t LIMIT 3) GROUP BY y",
        "SELECT y, count(*) AS n FROM (SELECT DISTINCT x AS y FROM t) GROUP BY y",
        "SELECT y, count(*) AS n FROM (SELECT count(*) AS y FROM t) GROUP BY y",
        "SELECT y, count(*) AS n FROM (SELECT rank() OVER (ORDER BY a) AS y FROM t) GROUP BY y",
        "SELECT y, count(*) AS n FROM (SELECT explode(a) AS y FROM t) GROUP BY y",
        "SELECT y, count(*) AS n FROM (SELECT (SELECT max(a) FROM u) AS y FROM t) GROUP BY y",
        "SELECT y, count(*) AS n FROM (SELECT *, 1 AS one FROM t) GROUP BY y",
        "SELECT y, count(*) AS n FROM (SELECT * EXCEPT (x) FROM t) GROUP BY y",
        "SELECT t.y, count(*) AS n FROM (SELECT * FROM t JOIN u ON i = k) GROUP BY t.y",
        "SELECT * FROM (SELECT * FROM t JOIN u ON i = k)",
        "SELECT x.* FROM (SELECT * FROM t JOIN u ON i = k) x",
        "SELECT a AS y, count(*) AS n FROM (SELECT * FROM t JOIN u ON i = k) x GROUP BY x.y",
        "SELECT a AS Y FROM (SELECT * FROM t JOIN u ON i = k) x ORDER BY x.y",
        "SELECT y, count(*) AS n FROM (SELECT * FROM t NATURAL JOIN u) GROUP BY y",
        "SELECT y FROM (SELECT * FROM t JOIN (SELECT * FROM u) v ON i = k) GROUP BY y",
        "SELECT y, count(*) AS n FROM (SELECT * FROM t JOIN u ON i IN (SELECT 1)) GROUP BY y",
        "SELECT y, count(*) AS n FROM (SELECT * FROM t WHERE y IN (SELECT k FROM u)) GROUP BY y",
        "SELECT y, count(*) AS n FROM (SELECT * FROM t WHERE y.f > 1) GROUP BY y",
        "SELECT y, count(*) AS n FROM (SELECT * FROM t AS a (y, z)) GROUP BY y",
        "WITH u AS (SELECT 1 AS a) SELECT a FROM (SELECT * FROM u)",
        "SELECT y, count(*) AS n FROM (SELECT a AS y, b AS Y FROM t) GROUP BY y",
        "SELECT y, count(*) AS n FROM (SELECT a AS y FROM t UNION ALL SELECT 1) GROUP BY y",
        "SELECT y, count(*) AS n FROM (SELECT a AS y FROM t) JOIN u ON y = k GROUP BY y",
        "SELECT y, sum(v) AS v FROM (SELECT x AS y, v FROM t) GROUP BY y HAVING v > 3",
        "SELECT y, count(*) AS n FROM (SELECT 1 AS y FROM t) GROUP BY y",
        "SELECT count(*) AS n FROM (SELECT -1 AS y, a FROM t) GROUP BY a ORDER BY y",
        "SELECT k, count(*) AS n FROM (SELECT x AS y FROM t) GROUP BY k",
        "SELECT y.a, count(*) AS n FROM (SELECT y FROM t) s GROUP BY y.a",
        "SELECT count(*) AS n FROM (SELECT a AS y FROM t) WHERE y IN (SELECT k FROM u)",
        "WITH u AS (SELECT 1 AS a) SELECT count(y) AS n FROM (SELECT a AS y FROM u, t)",
        "SELECT sum(y) OVER () AS n FROM (SELECT a AS y FROM t)",
    ],
)
def test_what_is_not(sql: str) -> None:
    tree = parse(sql)
    assert flattened(tree) is tree


class _Tables(Facts):
    def table(self, parts, at):
        if parts not in (("t",), ("u",)) or at != At():
            return None
        columns = (("a", "int"), ("g", "string"))
        own = tuple(ColumnFacts(i, n, t, False) for i, (n, t) in enumerate(columns))
        return TableFacts(parts[0], parts[0], 1, 0, own)


@pytest.mark.parametrize(
    "column",
    [
        *("gone", "t.gone", "other.a", "f(a)", "g + DATE'2024-01-01'", "x + 1", "sum(a)"),
        *("g > DATE'2024-01-01'", "g IN (1, DATE'2024-01-01')", "a BETWEEN 1 AND g", "NOT a"),
        "CASE WHEN a LIKE 'b' THEN 1 END",
    ],
)
@pytest.mark.parametrize("outer", ["sum(x)", "x", "count(*)"])
def test_what_is_not_read_must_be_there(column: str, outer: str) -> None:
    """Spark refuses a derived table for any of its columns."""
    derived = f"(SELECT a AS x, {column} AS y FROM t)"
    for text in (derived, f"(SELECT x, y AS z FROM {derived})"):
        with pytest.raises(DeclinedError):
            bind_above(flattened(parse(f"SELECT {outer} FROM {text}")), _Tables())


def test_what_is_not_read() -> None:
    inner = "SELECT a AS x, a + 1 AS y, g AS z, a > 1 AND g LIKE 'b%' AS w FROM t"
    tree = flattened(parse(f"SELECT sum(x) FROM (SELECT x, y * 2 AS y FROM ({inner})) WHERE x > 1"))
    assert [one.sql() for one in unread(tree)] == ["(a + 1) * 2", "g", "a > 1 AND g LIKE 'b%'"]
    assert len(bind_above(tree, _Tables()).outputs) == 1
    joined = "SELECT sum(x) FROM (SELECT t.a AS x, {} AS y FROM t JOIN u ON t.g = u.g)"
    bind_above(flattened(parse(joined.format("u.a"))), _Tables())
    with pytest.raises(DeclinedError, match="column name a"):
        bind_above(flattened(parse(joined.format("a"))), _Tables())
