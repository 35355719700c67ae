"""SELECTs over derived tables of rows are those over their tables; the rest stays as it is."""

from __future__ import annotations

import pytest
from sqlglot import exp

from rewrite.bind.from_clause import unread
from rewrite.bind.join_rows import bind_above
from rewrite.bind.table_rows import bind_rows
from rewrite.facts import At, ColumnFacts, Facts, TableFacts
from rewrite.ir.expr import Column
from rewrite.parse.parse import parse
from rewrite.reason import DeclinedError
from rewrite.rules.derived_tables import copied, unread_queries
from rewrite.rules.merge_subqueries import flattened, over_rows


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
        (
            "SELECT count(*) AS n FROM (SELECT 1 FROM t WHERE NOT a > 1) AS found",
            "SELECT COUNT(*) AS n FROM t WHERE (NOT a > 1)",
        ),
        (
            "SELECT count(*) AS n FROM (WITH c AS (SELECT * FROM t), b AS (SELECT * FROM c"
            " WHERE a > 1) SELECT * FROM b) AS found",
            "SELECT COUNT(*) AS n FROM t AS `found` WHERE ((`found`.a > 1))",
        ),
        (
            "WITH o AS (SELECT k FROM u) SELECT count(*) AS n FROM (WITH c AS (SELECT a AS x FROM t"
            " WHERE a > 1) SELECT x FROM c LEFT JOIN o ON c.x = o.k WHERE o.k IS NULL) AS found",
            "SELECT COUNT(*) AS n FROM (SELECT a AS x FROM t WHERE a > 1) AS `c`"
            " LEFT JOIN (SELECT k FROM u) AS `o` ON c.x = o.k WHERE (o.k IS NULL)",
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
        "SELECT y FROM (SELECT * FROM t JOIN (SELECT max(k) AS k FROM u) v ON i = k) GROUP BY y",
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


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        (
            "WITH a AS (SELECT * FROM t), b (x, y) AS (SELECT k, z FROM a WHERE z > 1)"
            " SELECT * FROM b JOIN u AS o ON b.x = o.k",
            "SELECT * FROM (SELECT (k) AS x, (z) AS y FROM t AS `a` WHERE (z > 1)) AS `b`"
            " JOIN u AS o ON b.x = o.k",
        ),
        (
            "SELECT x.k FROM (SELECT t.k FROM t JOIN (SELECT k FROM v) w ON t.k = w.k) x, u",
            "SELECT x.k FROM (SELECT t.k FROM t JOIN (SELECT k FROM v) AS `w` ON t.k = w.k) AS `x`"
            " CROSS JOIN u",
        ),
        (
            "WITH u AS (SELECT k FROM t), t AS (SELECT k FROM v) SELECT * FROM u JOIN t ON u.k = 1",
            "SELECT * FROM (SELECT k FROM t) AS `u` JOIN (SELECT k FROM v) AS `t` ON u.k = 1",
        ),
    ],
)
def test_selects_of_columns_stay_in_a_join(sql: str, wanted: str) -> None:
    assert over_rows(flattened(parse(sql))).sql(dialect="spark") == wanted


@pytest.mark.parametrize(
    "joined",
    [
        *("u", "(SELECT max(k) AS k FROM u) x", "(SELECT k FROM u LIMIT 1) x"),
        *("(SELECT DISTINCT k FROM u) x", "(SELECT k FROM u)", "(SELECT k + 1 AS k FROM u) x"),
        *("(SELECT k FROM u UNION SELECT 1) x", "(SELECT k FROM u WHERE k IN (SELECT 1)) x"),
        *("(SELECT k FROM u) TABLESAMPLE (1 PERCENT)", "range(3)"),
        *("(SELECT k FROM u ORDER BY k) x", "(SELECT explode(k) AS k FROM u) x", "c"),
        *("(SELECT k FROM u) x WHERE k IN (SELECT k FROM c)", "(SELECT k FROM c) x", "(u) x"),
        "(SELECT max(k) OVER () AS k FROM u) x",
    ],
)
def test_other_joins_stay_as_they_are(joined: str) -> None:
    tree = parse(f"WITH c AS (SELECT count(*) AS k FROM t) SELECT 1 FROM t JOIN {joined}")
    assert over_rows(flattened(tree)) is None


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
    item = f"(WITH c AS {derived} SELECT {{}} FROM c)"
    for text in (derived, f"(SELECT x, y AS z FROM {derived})", item.format("x"), item.format("*")):
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


_LEFT = (
    "SELECT x.c, y.c AS d FROM (SELECT a AS c FROM t WHERE g = 'x') x LEFT JOIN {} y ON x.c = {}"
)


def test_a_derived_table_of_columns_is_its_table() -> None:
    derived = "(SELECT g AS b, a AS c FROM u WHERE a > 1)"
    tree = over_rows(parse(_LEFT.format(derived, "y.c")))
    block = bind_above(tree, _Tables())
    assert [o.parts for o in block.occurrences] == [("t",), ("u",)]
    assert [o.name for o in block.outputs] == ["c", "d"]
    assert [o.expr for o in block.outputs] == [Column(0, 0, "a", "int"), Column(1, 0, "a", "int")]
    assert [o.expr.name for o in block.outputs] == ["a", "a"]
    assert len(block.conjuncts) == 1
    (edge,) = block.left_edges
    assert (edge.occurrence, len(edge.on)) == (1, 2)


def test_a_derived_join_of_columns_is_its_tables() -> None:
    joined = "(SELECT t.g, u.a FROM t LEFT JOIN u ON t.a = u.a WHERE u.g IS NULL)"
    sql = f"SELECT * FROM {joined} x JOIN (SELECT * FROM u) y ON x.a = y.a"
    block = bind_above(over_rows(parse(sql)), _Tables())
    assert [o.index for o in block.occurrences] == [0, 1, 2]
    assert [edge.occurrence for edge in block.left_edges] == [1]
    assert [(o.name, o.expr.occurrence) for o in block.outputs] == [
        *(("g", 0), ("a", 1), ("a", 2), ("g", 2)),
    ]


@pytest.mark.parametrize(
    ("derived", "name"),
    [
        *(("(SELECT a FROM u)", "y.g"), ("(SELECT a FROM u)", "u.a"), ("(SELECT a FROM u)", "g")),
        *(("(SELECT a AS g FROM u)", "y.a"), ("(SELECT a, g AS a FROM u)", "y.a")),
        *(("(SELECT nowhere FROM u)", "1"), ("(SELECT a FROM u WHERE x.c > 1)", "y.a")),
        ("(SELECT u.a FROM u JOIN t ON u.a = t.a)", "y.a"),
    ],
)
def test_a_derived_table_shows_its_columns_alone(derived: str, name: str) -> None:
    with pytest.raises(DeclinedError):
        bind_above(over_rows(parse(_LEFT.format(derived, name))), _Tables())


def test_rows_of_a_derived_join_are_not_those_of_one_table() -> None:
    tree = over_rows(flattened(parse("SELECT z.* FROM (SELECT t.a FROM t JOIN u ON t.a = u.a) z")))
    with pytest.raises(DeclinedError, match="A join in a derived table"):
        bind_rows(tree, _Tables())


@pytest.mark.parametrize(
    ("outputs", "keys", "is_merged"),
    [
        *(("x.p", "x.q", False), ("p + 1", "x.q", False), ("x.p + 1", "x.r", False)),
        *(("q, count(*)", "x.p", False), ("x.p", "ROLLUP (q)", False), ("x.P AS z", "q, s", False)),
        *(("x.p, max(x.q)", "p", True), ("x.p AS z, sum(r)", "z", True), ("x.r", "x.R", True)),
        *(("x.p, q", "1, 2", True), ("p", "ALL", True), ("x.p", "p HAVING q > 1", False)),
        *(("x.p", "p ORDER BY x.q", False), ("x.p AS z", "z HAVING z > 1 ORDER BY p, z", True)),
        ("p, count(*) FILTER (WHERE q > 1), percentile(r, 0.5)", "GROUPING SETS ((p), ())", True),
    ],
)
def test_two_names_of_a_column_are_two_keys(outputs: str, keys: str, is_merged: bool) -> None:
    """Spark refuses an output that isn't a key by its name, though both be one column."""
    derived = "(SELECT a AS p, a AS q, a + 1 AS r, g AS s FROM t) x"
    tree = parse(f"SELECT {outputs} FROM {derived} GROUP BY {keys}")
    assert (flattened(tree) is not tree) is is_merged
    joined = "(SELECT a AS p, a AS q, g AS r, g AS s FROM t) x JOIN u ON x.p = u.a"
    tree = parse(f"SELECT {outputs} FROM {joined} GROUP BY {keys}")
    assert (over_rows(tree) is not None) is is_merged


@pytest.mark.parametrize(("key", "is_merged"), [("x.q", False), ("x.p", True), ("z", True)])
def test_rows_that_are_distinct_are_sorted_by_themselves(key: str, is_merged: bool) -> None:
    derived = "(SELECT a AS p, a AS q FROM t) x"
    tree = parse(f"SELECT DISTINCT x.p AS z FROM {derived} ORDER BY {key}")
    assert (flattened(tree) is not tree) is is_merged
    tree = parse(f"SELECT DISTINCT x.p AS z FROM {derived} JOIN u ON x.p = u.a ORDER BY {key}")
    assert (over_rows(tree) is not None) is is_merged


def test_using_of_a_column_with_two_names() -> None:
    """Spark finds the other name, and the derived table's column alone is hidden."""
    sql = "SELECT {} FROM t JOIN (SELECT a, a AS g FROM u) y USING (a)"
    for output in ("g", "y.g"):
        with pytest.raises(DeclinedError, match="two names"):
            bind_above(over_rows(parse(sql.format(output))), _Tables())


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("SELECT a FROM t", []),
        ("WITH c AS (SELECT a FROM t) SELECT a FROM c", []),
        ("WITH t AS (SELECT a FROM t) SELECT a FROM u", ["SELECT a FROM t"]),
        ("WITH c AS (SELECT a FROM t) SELECT a FROM u WHERE a IN (SELECT a FROM C)", []),
        (
            "WITH c AS (SELECT a FROM t), e (x) AS (SELECT a FROM c), o AS (SELECT g FROM u)"
            " SELECT g FROM o UNION SELECT g FROM o",
            [
                "WITH c AS (SELECT a FROM t) SELECT `a` AS x FROM (SELECT a FROM c) AS acc_named",
            ],
        ),
    ],
)
def test_what_nothing_reads(sql: str, wanted: list[str]) -> None:
    assert [one.sql(dialect="spark") for one in unread_queries(parse(sql))] == wanted


_GROUPED, _PLAIN = "SELECT k FROM t GROUP BY k", "SELECT k FROM t"
_TWICE = "SELECT a.k FROM c{0} a JOIN c{0} b USING (k)"


def _chained(item: str, base: str, length: int = 60) -> str:
    chain = ", ".join(f"c{number + 1} AS ({item.format(number)})" for number in range(length))
    return f"WITH c0 AS ({base}), {chain} SELECT * FROM c{length}"


@pytest.mark.parametrize(
    ("item", "base"),
    [(_TWICE, _PLAIN), (_TWICE, _GROUPED), ("SELECT * FROM c{0}", _GROUPED)],
)
def test_a_long_chain_that_cant_be_merged_stays_as_it_is(item: str, base: str) -> None:
    """Trying to merge each link must not double the time of the one before."""
    tree = parse(_chained(item, base))
    assert flattened(tree) is tree and over_rows(tree) is None


def test_a_long_chain_of_all_columns_is_its_table() -> None:
    tree = flattened(parse(_chained("SELECT * FROM c{0}", _PLAIN)))
    assert [table.name for table in tree.find_all(exp.Table)] == ["t"]


@pytest.mark.parametrize("base", [_PLAIN, _GROUPED, "SELECT k FROM t LIMIT 3"])
@pytest.mark.parametrize(
    "around",
    [
        "SELECT a.k FROM ({0}) a JOIN t b ON a.k = b.k",
        "SELECT * FROM ({0}) a",
        "SELECT b.k FROM t b LEFT JOIN ({0}) a ON a.k = b.k WHERE b.k > 1",
        "WITH c AS ({0}) SELECT a.k FROM c a JOIN c b ON a.k = b.k",
    ],
)
def test_selects_in_one_another_are_looked_at_once(around: str, base: str) -> None:
    sql = base
    for _ in range(24):
        sql = around.format(sql)
    tree = flattened(parse(sql))
    is_merged = base == _PLAIN and not around.startswith("WITH")
    assert (over_rows(tree) is not None) == is_merged


def test_what_is_found_of_a_relation_is_forgotten_if_it_changes() -> None:
    tree = parse(
        "SELECT sum(v) FROM (SELECT a + 1 AS v FROM (SELECT a FROM t WHERE a < 5) AS y) AS x"
    )
    assert "a < 5" in flattened(tree).sql("spark")
    five = next(one for one in tree.find_all(exp.Literal) if one.name == "5")
    changed = copied(tree, {id(five): exp.Literal.number(7)})
    assert "a < 7" in flattened(changed).sql("spark")
    assert "a < 5" in flattened(copied(tree, {})).sql("spark")
