"""Semi joins, IN and EXISTS: which become inner joins, what names mean in them, what is refused."""

from __future__ import annotations

import random
from functools import lru_cache

import duckdb
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from rewrite.bind.select import bind_block
from rewrite.bind.table_rows import bind_rows
from rewrite.facts import At, ColumnFacts, Facts, TableFacts
from rewrite.ir.block import Block
from rewrite.ir.expr import Column, Expr, canonical
from rewrite.parse.parse import parse
from rewrite.reason import DeclinedError
from rewrite.render.expressions import Renderer
from tests.cubes.star import Star, block, load
from tests.support.extent import sized


def _code(sql: str) -> str:
    with pytest.raises(DeclinedError) as caught:
        block(sql)
    return caught.value.declined.code


def _meaning(sql: str) -> tuple[object, ...]:
    """What a block is of, without the order of conjuncts and the names of tables."""
    bound = block(sql)
    tables = [o.table.name for o in bound.occurrences]
    return tables, bound.left_edges, {canonical(c) for c in bound.conjuncts}, bound.outputs


_INNER = "SELECT sum(v) s FROM f JOIN d ON f.k = d.k WHERE d.region = 'r1' AND f.i > 0"


@pytest.mark.parametrize(
    "rest",
    [
        "LEFT SEMI JOIN d ON f.k = d.k AND d.region = 'r1' WHERE f.i > 0",
        "SEMI JOIN d ON d.k = f.k AND region = 'r1' AND i > 0",
        "WHERE i > 0 AND k IN (SELECT k FROM d WHERE region = 'r1')",
        "WHERE (f.k) IN (SELECT DISTINCT d.k AS z FROM d WHERE d.region = 'r1') AND i > 0",
        "WHERE i > 0 AND (k IN (SELECT f.k FROM d f WHERE f.region = 'r1'))",
        "WHERE EXISTS (SELECT 1 FROM d WHERE d.k = f.k AND region = 'r1') AND i > 0",
        "WHERE (i > 0 AND (EXISTS (SELECT *, NULL, 'a', x.name n FROM d x WHERE (f.k = x.k)"
        " AND region = 'r1')))",
    ],
)
def test_is_the_inner_join(rest: str) -> None:
    assert _meaning(f"SELECT sum(v) s FROM f {rest}") == _meaning(_INNER)


def test_using_equals_its_columns() -> None:
    joined = block("SELECT max(k) m FROM f LEFT SEMI JOIN d USING (K)")
    assert joined.conjuncts == block("SELECT max(f.k) m FROM f JOIN d ON f.k = d.k").conjuncts
    assert joined.outputs == block("SELECT max(k) m FROM f").outputs


def test_its_columns_have_no_names_outside() -> None:
    semi = "FROM f LEFT SEMI JOIN d ON f.k = d.k"
    assert (
        block(f"SELECT max(k) m {semi} WHERE k > 1").outputs[0].expr
        == block("SELECT max(k) m FROM f").outputs[0].expr
    )
    for sql in (
        f"SELECT max(region) {semi}",
        f"SELECT max(d.k) {semi}",
        f"SELECT count(*) {semi} WHERE region = 'r1'",
        f"SELECT count(*) {semi} GROUP BY d.k",
        f"SELECT count(*) {semi} JOIN o ON o.ok = d.ok",
        f"SELECT count(*) {semi} LEFT JOIN o ON o.ok = d.ok",
        f"SELECT count(*) {semi} LEFT SEMI JOIN o ON o.ok = d.ok",
        f"SELECT count(*) {semi} WHERE EXISTS (SELECT 1 FROM o WHERE o.ok = d.ok)",
        "SELECT max(region) FROM f WHERE k IN (SELECT k FROM d)",
        "SELECT count(*) FROM f WHERE k IN (SELECT k FROM d) AND region = 'r1'",
        "SELECT count(*) FROM f WHERE k IN (SELECT k FROM d WHERE f.i = 1)",
        "SELECT count(*) FROM f WHERE k IN (SELECT g FROM d)",
    ):
        assert _code(sql) in ("column_unknown", "expression_unsupported"), sql
    assert _code("SELECT count(*) FROM f LEFT SEMI JOIN d ON k = d.k") == "name_ambiguous"


def test_aliases_may_stand_again() -> None:
    twice = block(
        "SELECT count(*) FROM f LEFT SEMI JOIN d ON f.k = d.k LEFT SEMI JOIN d ON f.i = d.k"
        " WHERE f.v IN (SELECT k FROM d)"
    )
    assert [o.table.name for o in twice.occurrences] == ["lake.s.f", *["lake.s.d"] * 3]
    assert [o.index for o in twice.occurrences] == [0, 1, 2, 3]
    assert len(twice.classes._parent) == 3
    assert _code("SELECT count(*) FROM f LEFT SEMI JOIN d f ON f.k = f.k") == "name_ambiguous"
    assert _code("SELECT count(*) FROM f JOIN d f ON f.k = f.k") == "name_ambiguous"


def _joined(sql: str) -> set[frozenset[tuple[int, str]]]:
    """Pairs of columns that conjuncts equal, by occurrence and name."""
    pairs = [c.args for c in block(sql).conjuncts if getattr(c, "op", "") == "="]
    return {frozenset((c.occurrence, c.name) for c in p if isinstance(c, Column)) for p in pairs}


def test_names_in_exists_are_its_own_tables_first() -> None:
    assert _joined("SELECT 1, count(*) FROM f WHERE EXISTS (SELECT 1 FROM d WHERE k = i)") == {
        frozenset({(1, "k"), (0, "i")})
    }
    # The inner alias hides the outer one: both columns are the dimension's, so nothing joins.
    own = "SELECT count(*) FROM f WHERE EXISTS (SELECT 1 FROM d f WHERE f.k = k)"
    assert _code(own) == "semi_not_unique"
    # To Spark these may be a field of a column, a function, or a column that has no name here.
    for condition in ("d.v = d.k", "name.k = d.k", "current_key = d.k", "user = d.k", "_pos = d.k"):
        with pytest.raises(DeclinedError, match="could mean"):
            bind_block(
                parse(
                    f"SELECT count(*) FROM f name WHERE EXISTS (SELECT 1 FROM d WHERE {condition})"
                ),
                _Wide(),
            )
    path = "SELECT count(*) FROM f WHERE EXISTS (SELECT 1 FROM d {0} WHERE s.f.i = {0}.k)"
    assert _joined(path.format("e")) == {frozenset({(1, "k"), (0, "i")})}
    assert _code(path.format("s")) == "name_ambiguous"
    two = "FROM f, o WHERE EXISTS (SELECT 1 FROM d WHERE d.k = ok)"
    assert _code(f"SELECT count(*) {two}") == "semi_not_unique"
    assert _code(two.join(("SELECT count(*) ", " AND d.ok = land"))) == "column_unknown"
    two = "FROM f, t WHERE EXISTS (SELECT 1 FROM o WHERE o.ok = k)"
    assert _code(f"SELECT count(*) {two}") == "name_ambiguous"


class _Wide(Star):
    """The star, its fact with columns under names that Spark reads otherwise in a subquery."""

    def table(self, parts: tuple[str, ...], at: At) -> TableFacts | None:
        found = super().table(parts, at)
        if found is None or parts[-1] != "f":
            return found
        more = ("current_key", "user", "_pos")
        columns = (ColumnFacts(50 + i, name, "int", False) for i, name in enumerate(more))
        return TableFacts(found.name, found.uuid, 1, 0, (*found.columns, *columns))


@pytest.mark.parametrize(
    ("rest", "code"),
    [
        # Not proven to have each key once.
        ("LEFT SEMI JOIN t ON f.k = t.k", "semi_not_unique"),
        ("LEFT SEMI JOIN d", "semi_not_unique"),
        ("LEFT SEMI JOIN d ON d.region = 'r1'", "semi_not_unique"),
        ("LEFT SEMI JOIN d ON f.i = d.ok", "semi_not_unique"),
        ("WHERE k IN (SELECT k FROM t)", "semi_not_unique"),
        ("WHERE i IN (SELECT ok FROM d)", "semi_not_unique"),
        ("WHERE EXISTS (SELECT 1 FROM d)", "semi_not_unique"),
        ("WHERE EXISTS (SELECT 1 FROM d WHERE d.k = 1)", "semi_not_unique"),
        ("WHERE EXISTS (SELECT 1 FROM t WHERE t.k = f.k)", "semi_not_unique"),
        ("WHERE EXISTS (SELECT 1 FROM d WHERE d.ok = f.k)", "semi_not_unique"),
        # Other joins.
        ("LEFT ANTI JOIN d ON f.k = d.k", "join_unsupported"),
        ("RIGHT SEMI JOIN d ON f.k = d.k", "join_unsupported"),
        ("NATURAL LEFT SEMI JOIN d", "join_unsupported"),
        ("FULL JOIN o ON f.i = o.ok LEFT SEMI JOIN d ON f.k = d.k", "join_unsupported"),
        ("RIGHT JOIN o ON f.i = o.ok LEFT SEMI JOIN d ON f.k = d.k", "join_unsupported"),
        ("LEFT SEMI JOIN d ON f.k = d.k AND f.i < d.ok", "join_unsupported"),
        ("LEFT SEMI JOIN d ON f.k = d.k OR f.i = d.k", "join_unsupported"),
        ("LEFT SEMI JOIN d ON f.w = d.k", "join_unsupported"),
        ("LEFT SEMI JOIN d ON f.k <=> d.k", "join_unsupported"),
        ("LEFT SEMI JOIN d ON f.k + 0 = d.k", "join_unsupported"),
        ("WHERE w IN (SELECT k FROM d)", "join_unsupported"),
        ("WHERE EXISTS (SELECT 1 FROM d WHERE d.k = f.k AND d.ok < f.i)", "join_unsupported"),
        ("WHERE EXISTS (SELECT 1 FROM d WHERE d.k = f.w)", "join_unsupported"),
        # Conditions that aren't conjuncts of WHERE, or more than TRUE counts in.
        ("WHERE k NOT IN (SELECT k FROM d)", "expression_unsupported"),
        ("WHERE NOT k IN (SELECT k FROM d)", "expression_unsupported"),
        ("WHERE NOT EXISTS (SELECT 1 FROM d WHERE d.k = f.k)", "expression_unsupported"),
        ("WHERE i > 1 OR k IN (SELECT k FROM d)", "expression_unsupported"),
        ("WHERE i > 1 OR EXISTS (SELECT 1 FROM d WHERE d.k = f.k)", "expression_unsupported"),
        ("WHERE k IN (SELECT k FROM d) = b", "expression_unsupported"),
        ("WHERE b = k IN (SELECT k FROM d)", "expression_unsupported"),
        ("WHERE (k IN (SELECT k FROM d)) IS NULL", "expression_unsupported"),
        ("WHERE (k, i) IN (SELECT k, ok FROM d)", "expression_unsupported"),
        ("WHERE k + 0 IN (SELECT k FROM d)", "expression_unsupported"),
        ("WHERE 1 IN (SELECT k FROM d)", "expression_unsupported"),
        ("WHERE k = ANY (SELECT k FROM d)", "expression_unsupported"),
        ("WHERE k = (SELECT k FROM d)", "expression_unsupported"),
        ("HAVING max(k) IN (SELECT k FROM d)", "expression_unsupported"),
        ("JOIN o ON i = o.ok AND k IN (SELECT k FROM d)", "expression_unsupported"),
        ("WHERE (k IN (SELECT k FROM d) OR b) AND i > 1", "expression_unsupported"),
        # Subqueries of another form.
        ("WHERE k IN (SELECT k + 0 FROM d)", "expression_unsupported"),
        ("WHERE k IN (SELECT k, ok FROM d)", "expression_unsupported"),
        ("WHERE k IN (SELECT * FROM d)", "expression_unsupported"),
        ("WHERE k IN (SELECT max(k) FROM d)", "expression_unsupported"),
        ("WHERE k IN (SELECT k FROM d GROUP BY k)", "expression_unsupported"),
        ("WHERE k IN (SELECT k FROM d HAVING k > 1)", "expression_unsupported"),
        ("WHERE k IN (SELECT k FROM d ORDER BY k)", "expression_unsupported"),
        ("WHERE k IN (SELECT k FROM d LIMIT 1)", "expression_unsupported"),
        ("WHERE k IN (SELECT k FROM d OFFSET 1)", "expression_unsupported"),
        ("WHERE k IN (SELECT k FROM d UNION SELECT ok FROM o)", "expression_unsupported"),
        ("WHERE k IN (SELECT k FROM d, o)", "expression_unsupported"),
        ("WHERE k IN (SELECT d.k FROM d JOIN o ON d.ok = o.ok)", "expression_unsupported"),
        ("WHERE k IN (WITH d AS (SELECT 1 k) SELECT k FROM d)", "expression_unsupported"),
        ("WHERE k IN (SELECT row_number() OVER (ORDER BY k) FROM d)", "expression_unsupported"),
        ("WHERE k IN (SELECT k FROM d WHERE d.k = f.k)", "expression_unsupported"),
        ("WHERE k IN (SELECT k FROM d WHERE ok IN (SELECT ok FROM o))", "expression_unsupported"),
        ("WHERE k IN (SELECT k FROM d WHERE (TRUE))", "expression_unsupported"),
        ("WHERE k IN ((SELECT k FROM d))", "expression_unsupported"),
        ("WHERE k IN (SELECT k FROM (SELECT k FROM d))", "block_unsupported"),
        ("WHERE k IN (SELECT k FROM d TABLESAMPLE (1 ROWS))", "block_unsupported"),
        ("WHERE k IN (SELECT k FROM d WHERE max(ok) = 1)", "block_unsupported"),
        ("WHERE k IN (SELECT k FROM nothing)", "table_unknown"),
        ("WHERE EXISTS (SELECT count(*) FROM d WHERE d.k = f.k)", "expression_unsupported"),
        ("WHERE EXISTS (SELECT max(d.ok) FROM d WHERE d.k = f.k)", "expression_unsupported"),
        ("WHERE EXISTS (SELECT nothing FROM d WHERE d.k = f.k)", "expression_unsupported"),
        ("WHERE EXISTS (SELECT f.v FROM d WHERE d.k = f.k)", "expression_unsupported"),
        ("WHERE EXISTS (SELECT 1 / 0 FROM d WHERE d.k = f.k)", "expression_unsupported"),
        ("WHERE EXISTS (SELECT DISTINCT k FROM d WHERE d.k = f.k)", "expression_unsupported"),
        ("WHERE EXISTS (SELECT 1 FROM d WHERE d.k = f.k LIMIT 0)", "expression_unsupported"),
        ("WHERE EXISTS (SELECT 1 FROM d WHERE d.k = f.k GROUP BY d.ok)", "expression_unsupported"),
        ("WHERE EXISTS (SELECT 1 FROM d WHERE d.k = f.k AND f.i = 1)", "expression_unsupported"),
        ("WHERE EXISTS (SELECT 1 WHERE f.k = 1)", "expression_unsupported"),
        (
            "WHERE EXISTS (SELECT explode(array(1)) FROM d WHERE d.k = f.k)",
            "expression_unsupported",
        ),
    ],
)
def test_left_to_spark(rest: str, code: str) -> None:
    assert _code(f"SELECT count(*) FROM f {rest}") == code


def test_floats_are_no_keys() -> None:
    class Floats(Star):
        def unique(self, parts: tuple[str, ...], at: At, field_ids: frozenset[int]) -> bool:
            return True

    for sql in ("WHERE x IN (SELECT x FROM f)", "LEFT SEMI JOIN f g ON f.x = g.x"):
        with pytest.raises(DeclinedError, match="one type"):
            bind_block(parse(f"SELECT count(*) FROM f {sql}"), Floats())
    bind_block(parse("SELECT count(*) FROM f WHERE c IN (SELECT c FROM f)"), Floats())


def test_without_a_key_nothing_is_asked() -> None:
    class Sure(Star):
        def unique(self, parts: tuple[str, ...], at: At, field_ids: frozenset[int]) -> bool:
            return True

    for sql in ("LEFT SEMI JOIN d", "WHERE EXISTS (SELECT 1 FROM d WHERE region = 'r1')"):
        with pytest.raises(DeclinedError, match="each key once"):
            bind_block(parse(f"SELECT count(*) FROM f {sql}"), Sure())


def test_what_is_asked_is_the_state_and_all_key_columns() -> None:
    asked = []

    class Asked(Star):
        def unique(self, parts: tuple[str, ...], at: At, field_ids: frozenset[int]) -> bool:
            asked.append((parts, at, field_ids))
            return True

    for sql in (
        "LEFT SEMI JOIN s.t.branch_b t ON f.k = t.k AND t.tag = f.g AND t.k = f.i",
        "WHERE k IN (SELECT k FROM lake.s.t VERSION AS OF 7 WHERE tag = 'a')",
        "WHERE EXISTS (SELECT 1 FROM t WHERE t.k = f.k AND g = tag AND tag <> 'b')",
    ):
        bind_block(parse(f"SELECT count(*) FROM f {sql}"), Asked())
    assert asked == [
        (("s", "t"), At(branch="b", selected=True), frozenset({1, 2})),
        (("lake", "s", "t"), At(snapshot_id=7), frozenset({1})),
        (("t",), At(), frozenset({1, 2})),
    ]


def test_nothing_is_unique_unless_facts_know() -> None:
    class Unknowing(Facts):
        def table(self, parts: tuple[str, ...], at: At) -> TableFacts | None:
            return Star().table(parts, at)

    with pytest.raises(DeclinedError, match="each key once"):
        bind_block(parse("SELECT count(*) FROM f WHERE k IN (SELECT k FROM d)"), Unknowing())


def test_rows_have_no_semi_joins_yet() -> None:
    with pytest.raises(DeclinedError, match="A subquery in IN"):
        bind_rows(parse("SELECT v FROM f WHERE k IN (SELECT k FROM d) ORDER BY v"), Star())


_FROM = (
    "f",
    "f LEFT SEMI JOIN d ON f.k = d.k",
    "f JOIN d ON f.k = d.k LEFT SEMI JOIN o ON o.ok = d.ok AND land = 'x'",
    "f LEFT SEMI JOIN d ON f.i = d.k AND f.v > 0 LEFT JOIN t ON f.k = t.k",
    "f LEFT JOIN d ON f.k = d.k AND d.ok > 0 LEFT SEMI JOIN o ON d.ok = o.ok",
    "f LEFT JOIN t ON f.k = t.k LEFT SEMI JOIN d ON t.k = d.k AND d.region IS NULL",
    "t RIGHT JOIN f ON f.k = t.k",
    "f LEFT SEMI JOIN f g ON f.n = g.n AND f.k = g.k AND f.w = g.w",
)
_TERMS = (
    "f.k IN (SELECT k FROM d)",
    "f.k IN (SELECT k FROM d WHERE region = 'r1' OR region IS NULL)",
    "f.i IN (SELECT ok FROM o WHERE land = 'x')",
    "f.v IN (SELECT DISTINCT d.k FROM d)",
    "EXISTS (SELECT 1 FROM d WHERE d.k = f.k AND name IN ('n1', 'n2'))",
    "EXISTS (SELECT * FROM d f2 WHERE f2.k = v)",
    "EXISTS (SELECT 1 FROM o WHERE o.ok = f.k AND o.ok = f.i)",
    "EXISTS (SELECT 1 FROM o WHERE i = ok AND ok = f.v)",
    "f.b",
    "f.g = 'a' AND (f.v > 1 OR f.w IS NULL)",
)


@lru_cache
def _loaded(seed: int) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    load(connection, random.Random(seed), missing=True)
    return connection


@given(
    from_=st.sampled_from(_FROM),
    terms=st.lists(st.sampled_from(_TERMS), max_size=3),
    seed=st.integers(0, 7),
)
@settings(max_examples=sized(80, full=240), deadline=None)
def test_the_block_has_the_statements_rows(from_: str, terms: list[str], seed: int) -> None:
    """A block as its definition reads, against the statement, both in DuckDB."""
    where = f" WHERE {' AND '.join(terms)}" if terms else ""
    sql = f"SELECT f.g, count(*) n, sum(f.v) s FROM {from_}{where} GROUP BY f.g"

    class Known(Star):
        def unique(self, parts: tuple[str, ...], at: At, field_ids: frozenset[int]) -> bool:
            table = self.tables[parts[-1]]
            names = [c.name for c in table.columns if c.field_id in field_ids]
            present = " AND ".join(f"{n} IS NOT NULL" for n in names)
            grouped = f"SELECT 1 FROM {parts[-1]} WHERE {present} GROUP BY {', '.join(names)}"
            return not connection.execute(f"{grouped} HAVING count(*) > 1").fetchall()

    connection = _loaded(seed)
    try:
        bound = bind_block(parse(sql), Known())
    except DeclinedError as error:
        assert error.declined.code == "semi_not_unique"
        assert "g.w" in from_  # the fact's own key, which may stand twice
        return
    plain = sqlglot.transpile(sql, read="spark", write="duckdb")[0]
    wanted, found = (connection.execute(q).fetchall() for q in (plain, _text(bound)))
    assert sorted(found, key=repr) == sorted(wanted, key=repr)


def _text(bound: Block) -> str:
    """The product of inner occurrences, then left edges, then all conjuncts."""
    render = Renderer("duckdb", lambda c: f't{c.occurrence}."{c.name}"')

    def all_of(conditions: tuple[Expr, ...]) -> str:
        return " AND ".join(render.text(c) for c in conditions) or "TRUE"

    named = {o.index: f"{o.table.name.split('.')[-1]} t{o.index}" for o in bound.occurrences}
    inner = [text for index, text in named.items() if index not in bound.null_supplied]
    left = [f"LEFT JOIN {named[e.occurrence]} ON {all_of(e.on)}" for e in bound.left_edges]
    return (
        f'SELECT t0."g", count(*), sum(t0."v") FROM {" CROSS JOIN ".join(inner)} {" ".join(left)}'
        f' WHERE {all_of(bound.conjuncts)} GROUP BY t0."g"'
    )
