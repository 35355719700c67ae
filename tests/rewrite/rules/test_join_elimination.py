"""Which joins a statement can do without, which it can't, and that its answer stays.

Strategy: the star's tables. What goes is named case by case. Then statements put together at random
are answered by DuckDB as they are and without their joins, over rows with NULLs and keys without a
partner; relate columns are made for it by joins of their own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import duckdb
import pytest
from msgspec.structs import replace

from cubes.degenerate.block_cube import itself
from cubes.sql.answer import RawSource, answer_sql
from rewrite.bind.join_rows import bind_joined, joins_rows
from rewrite.ir.block import Block
from rewrite.ir.expr import Column
from rewrite.parse.parse import parse
from rewrite.render.expressions import Renderer, quote
from rewrite.rules.eliminate_joins import JoinElimination, PinnedFacts, Reduced
from rewrite.rules.push_through_joins import Related, RelateKey, RelateStep
from tests.cubes.star import Star, block, load
from tests.support.extent import sized

_D_BY_K = RelateStep("uuid-d", (RelateKey(0, 1, 1),))
_D_BY_I = RelateStep("uuid-d", (RelateKey(0, 4, 1),))
_O_OF_D = RelateStep("uuid-o", (RelateKey(1, 4, 1),))
ALL = (
    Related(-1, "name", (_D_BY_K,), 2),
    Related(-2, "region", (_D_BY_K,), 3),
    Related(-3, "region_i", (_D_BY_I,), 3),
    Related(-4, "land", (_D_BY_K, _O_OF_D), 2),
    Related(-5, "ok", (_D_BY_K,), 4),
)
_VALUES = {
    -1: "SELECT name FROM d WHERE d.k = f.k",
    -2: "SELECT region FROM d WHERE d.k = f.k",
    -3: "SELECT region FROM d WHERE d.k = f.i",
    -4: "SELECT land FROM d, o WHERE d.k = f.k AND d.ok = o.ok",
    -5: "SELECT d.ok FROM d WHERE d.k = f.k",
}
_NEVER_NULL = {-1, -5}
"""Names and numbers of the dimension's rows are all there, regions and lands aren't."""


def _known(bound: Block) -> PinnedFacts:
    def unique(occurrence: int, fields: frozenset[int]) -> bool:
        one = bound.occurrences[occurrence]
        return Star().unique(one.parts, one.at, fields)

    return PinnedFacts(unique, lambda number, through: number in _NEVER_NULL and bool(through))


def _bound(sql: str) -> Block:
    tree = parse(sql)
    return bind_joined(tree, Star()) if joins_rows(tree) else block(sql)


def _reduced(sql: str, *, results: bool = False, fact: str = "f") -> Reduced | None:
    bound = _bound(sql)
    number = next(o.index for o in bound.occurrences if o.table.name == f"lake.s.{fact}")
    return JoinElimination(bound, number, ALL, _known(bound)).reduced(results=results)


def _shown(column: Column) -> str:
    return f"~{column.name}" if column.field_id < 0 else column.name


def _selected(found: Reduced) -> list[str]:
    texts = map(Renderer("spark", _shown).text, found.selected)
    return sorted(one.removeprefix("(").removesuffix(")") for one in texts)


_F_D = "SELECT sum(v) FROM f JOIN d ON f.k = d.k WHERE "
_F_D_O = "SELECT sum(v) FROM f JOIN d ON f.k = d.k JOIN o ON d.ok = o.ok WHERE "


@pytest.mark.parametrize(
    ("sql", "kept", "selected"),
    [
        (_F_D + "d.region = 'r'", "f", ["~region = 'r'"]),
        (_F_D + "d.region = 'r' AND v > 1", "f", ["~region = 'r'"]),
        (_F_D + "d.region = 'r' OR d.name = 'n'", "f", None),  # name tells the partner
        (_F_D + "d.region = 'r' OR d.region IS NULL", "f", None),
        (_F_D + "(d.region = 'r' OR v > 1) AND d.name LIKE 'n%'", "f", None),
        (_F_D + "NOT (d.region = 'r')", "f", ["NOT (~region = 'r')"]),
        (_F_D + "d.region <> f.g", "f", ["~region <> g"]),
        (_F_D + "d.k > 3 AND d.region = 'r'", "f", ["~region = 'r'"]),
        (_F_D + "v > 1", "f", ["NOT (~name IS NULL)"]),
        (_F_D + "d.region IS NULL", "f", ["NOT (~name IS NULL)", "~region IS NULL"]),
        # semi joins
        (
            "SELECT sum(v) FROM f WHERE k IN (SELECT k FROM d WHERE region = 'r')",
            "f",
            ["~region = 'r'"],
        ),
        (
            "SELECT v FROM f WHERE EXISTS (SELECT 1 FROM d WHERE d.k = f.k AND region = 'r')",
            "f",
            ["~region = 'r'"],
        ),
        # chains
        (_F_D_O + "o.land = 'x'", "f", ["~land = 'x'"]),
        (_F_D_O + "o.land = 'x' AND d.region = 'r'", "f", ["~land = 'x'", "~region = 'r'"]),
        (_F_D_O + "d.region = 'r'", "fdo", None),  # a land may be NULL
        # keys of the dimension are the fact's
        (
            "SELECT d.k, sum(v) FROM f JOIN d ON f.k = d.k WHERE d.region = 'r' GROUP BY d.k",
            "f",
            ["~region = 'r'"],
        ),
        # attributes that are shown keep their dimension
        (
            "SELECT d.name, sum(v) FROM f JOIN d ON f.k = d.k WHERE d.region = 'r' GROUP BY d.name",
            "fd",
            None,
        ),
        # one of two
        (
            "SELECT a.name, sum(v) FROM f JOIN d a ON f.k = a.k JOIN d b ON f.i = b.k"
            " WHERE b.region = 'r' GROUP BY a.name",
            "fd",
            ["~region_i = 'r'"],
        ),
        # by a key of no path
        ("SELECT sum(v) FROM f JOIN d ON f.n = d.k WHERE d.region = 'r'", "fd", None),
        # a partner of whom more is asked
        (
            "SELECT sum(v) FROM f JOIN d ON f.k = d.k AND f.i = d.ok WHERE d.region = 'r'",
            "f",
            ["i = ~ok", "~region = 'r'"],
        ),
        # two roles of a dimension that meet each other
        (
            "SELECT sum(v) FROM f, d, d AS e WHERE f.k = d.k AND d.k = e.k AND d.region = 'r'",
            "f",
            ["~region = 'r'"],
        ),
        # a table that meets the dimension, not the fact
        (
            "SELECT sum(v) FROM f JOIN d ON f.k = d.k JOIN t ON t.tag = d.region"
            " WHERE d.region = 'r'",
            "fdt",
            None,
        ),
        (
            "SELECT sum(v) FROM f JOIN d ON f.k = d.k JOIN t ON t.k = d.k WHERE d.region = 'r'",
            "ft",
            ["~region = 'r'"],
        ),
        # left joins
        ("SELECT sum(v) FROM f LEFT JOIN d ON f.k = d.k", "f", []),
        ("SELECT sum(v) FROM f LEFT JOIN d ON f.n = d.k AND d.region = 'r'", "f", []),
        ("SELECT sum(v) FROM f LEFT JOIN t ON f.k = t.k", "ft", None),
        ("SELECT sum(v) FROM f LEFT JOIN d ON f.k < d.k", "fd", None),
        ("SELECT sum(v) FROM f LEFT JOIN d ON f.k = d.k WHERE d.region IS NULL", "f", None),
        ("SELECT count(d.k) FROM f LEFT JOIN d ON f.k = d.k", "fd", None),
        (
            "SELECT sum(v) FROM f LEFT JOIN d ON f.k = d.k AND d.name = 'n' WHERE d.region IS NULL",
            "fd",
            None,
        ),
        (
            "SELECT sum(v) FROM f LEFT JOIN d ON f.k = d.k LEFT JOIN t ON t.tag = d.region",
            "fdt",
            None,
        ),
        # an inner dimension behind one that is padded
        (
            "SELECT sum(v) FROM f LEFT JOIN d ON f.k = d.k JOIN o ON d.ok = o.ok"
            " WHERE o.land = 'x'",
            "fdo",
            None,
        ),
        # a NULL in a list of which another is found
        (
            "SELECT sum(v) FROM f JOIN d ON f.k = d.k WHERE 'a' IN ('a', d.region)",
            "f",
            ["'a' IN ('a', ~region)", "NOT (~name IS NULL)"],
        ),
        # no unique key and no path
        ("SELECT sum(v) FROM f JOIN t ON f.k = t.k WHERE tag = 'a'", "ft", None),
    ],
)
def test_what_goes(sql: str, kept: str, selected: list[str] | None) -> None:
    found = _reduced(sql)
    names = "" if found is None else "".join(o.alias[0] for o in found.block.occurrences)
    names = names.replace("a", "d").replace("b", "d")
    if found is None:
        assert len(kept) == len(_bound(sql).occurrences)
        return
    assert names == kept
    if selected is not None:
        assert _selected(found) == selected


def test_a_left_join_stays_where_its_key_is_not_counted() -> None:
    """A relate column says what a key had, not that it stands once now."""
    bound = block("SELECT sum(v) FROM f LEFT JOIN d ON f.k = d.k")
    known = replace(_known(bound), unique=lambda *_: False)
    assert JoinElimination(bound, 0, ALL, known).reduced() is None


def test_a_key_is_counted_only_for_a_join_that_could_go() -> None:
    def unique(*_: object) -> bool:
        raise AssertionError("the dimension is read")

    for sql in (
        "SELECT d.name, sum(v) FROM f LEFT JOIN d ON f.k = d.k GROUP BY d.name",
        "SELECT sum(v) FROM f LEFT JOIN d ON f.k = d.k LEFT JOIN t ON t.tag = d.region"
        " WHERE t.k > 1",
    ):
        bound = block(sql)
        known = replace(_known(bound), unique=unique)
        assert JoinElimination(bound, 0, ALL, known).reduced() is None


def test_a_partner_by_other_keys_proves_nothing() -> None:
    both = RelateStep("uuid-d", (RelateKey(0, 1, 1), RelateKey(0, 4, 4)))
    bound = block("SELECT sum(v) FROM f JOIN d ON f.k = d.k AND f.i = d.ok WHERE d.region = 'r'")
    relates = (Related(-9, "n", (both,), 2), Related(-2, "region", (_D_BY_K,), 3))
    assert JoinElimination(bound, 0, relates, _known(bound)).reduced() is None


def test_what_outputs_show_comes_from_relate_columns_if_all_joins_go() -> None:
    sql = "SELECT d.region, count(*) FROM f JOIN d ON f.k = d.k GROUP BY d.region"
    found = _reduced(sql, results=True)
    assert found is not None
    assert [c.field_id for c in found.block.keys if isinstance(c, Column)] == [-2]
    assert found.through == {-1: (1,), -2: (1,)}
    other = "SELECT t.tag, count(*) FROM f JOIN t ON f.k = t.k GROUP BY t.tag"
    assert _reduced(other, results=True) is None


_FROMS = (
    "f JOIN d ON f.k = d.k",
    "f JOIN d ON f.i = d.k",
    "d JOIN f ON d.k = f.k",
    "f JOIN d ON f.k = d.k AND f.i = d.ok",
    "f JOIN d ON f.k = d.k AND f.i = d.k",
    "f LEFT JOIN d ON f.k = d.k",
    "f LEFT JOIN d ON f.k = d.k AND d.region = 'r0'",
    "f LEFT JOIN d ON f.k = d.k AND f.v > 0",
    "f JOIN d ON f.k = d.k JOIN o ON d.ok = o.ok",
    "f JOIN d ON f.k = d.k LEFT JOIN o ON d.ok = o.ok",
    "f LEFT JOIN d ON f.k = d.k LEFT JOIN o ON d.ok = o.ok",
    "f JOIN d ON f.k = d.k JOIN o ON d.ok = o.ok JOIN t ON t.k = d.k",
    "f LEFT JOIN d ON f.k = d.k JOIN o ON d.ok = o.ok",
    "f JOIN d ON f.k = d.k JOIN d AS e ON f.i = e.k",
    "f JOIN d ON f.k = d.k JOIN d AS e ON f.k = e.k",
    "f JOIN d ON f.k = d.k JOIN d AS e ON e.k = d.k",
    "f JOIN d ON f.k = d.k LEFT JOIN d AS e ON e.k = d.k",
)
_PREDICATES = (
    "f.v > 0",
    "f.g = 'a'",
    "d.region = 'r0'",
    "d.region IN ('r0', NULL)",
    "d.region IS NULL",
    "d.region IS NOT NULL",
    "d.region <> 'r0'",
    "NOT (d.region IN ('r0', 'x'))",
    "d.region = 'r0' OR d.name = 'n1'",
    "d.region = 'r0' OR f.v > 0",
    "d.region = 'r0' OR d.region IS NULL",
    "d.name LIKE 'n%'",
    "coalesce(d.name, 'z') <> 'n1'",
    "d.k > 3",
    "d.ok = f.i",
    "d.ok = 1",
    "d.region <=> 'r1'",
)
_MORE = {"o": ("o.land = 'x'", "o.land IS NULL"), "e": ("e.region = 'r1'", "e.name <> d.name")}
_OUTPUTS = (
    ("count(*) AS n, sum(f.v) AS s", ""),
    ("f.g, count(*) AS n", " GROUP BY f.g"),
    ("d.region, count(*) AS n, min(f.v) AS m", " GROUP BY d.region"),
    ("d.k, count(d.name) AS n", " GROUP BY d.k"),
    ("f.n, f.v", ""),
)


def _statements(r: random.Random, count: int) -> Iterator[str]:
    for joined, (outputs, rest) in product(_FROMS, _OUTPUTS):
        more = [p for name, some in _MORE.items() if f" {name} ON" in joined for p in some]
        for _ in range(count):
            chosen = r.sample([*_PREDICATES, *more], r.randrange(4))
            where = " AND ".join(f"({one})" for one in chosen)
            yield f"SELECT {outputs} FROM {joined}{' WHERE ' + where if where else ''}{rest}"


def _answer(
    connection: duckdb.DuckDBPyConnection, bound: Block, fact: int, over: str
) -> list[tuple[object, ...]]:
    found = itself(bound, fact)
    assert isinstance(found, tuple), found
    names = [o.table.name.rpartition(".")[2] for o in bound.occurrences]
    names[fact] = over
    text = answer_sql(bound, found[1], "duckdb", (), RawSource(tuple(names)))
    return sorted(connection.execute(text).fetchall(), key=repr)


def _over_selected(connection: duckdb.DuckDBPyConnection, found: Reduced) -> str:
    """The fact's rows of which the selected are TRUE."""
    text = Renderer("duckdb", lambda c: quote(c.name, "duckdb")).text
    where = " AND ".join(map(text, found.selected)) or "TRUE"
    connection.execute(f"CREATE OR REPLACE VIEW chosen AS SELECT * FROM related WHERE {where}")
    return "chosen"


@pytest.mark.parametrize("number", range(4))
def test_answers_stay(number: int) -> None:
    """Of some hundred statements that lose joins, a third at least."""
    r, count = random.Random(number), sized(1, full=3)
    connection = duckdb.connect()
    load(connection, r, missing=True)
    if number % 2:  # the only names that are all there are those of partners
        connection.execute("DELETE FROM d WHERE k IN (2, 5)")
    values = ", ".join(f"({_VALUES[one.field_id]}) AS {one.name}" for one in ALL)
    connection.execute(f"CREATE VIEW related AS SELECT f.*, {values} FROM f")
    lost = {False: 0, True: 0}
    for sql in _statements(r, count):
        bound = _bound(sql)
        fact = next(o.index for o in bound.occurrences if o.alias == "f")
        wanted = _answer(connection, bound, fact, "f")
        for results in (False, True):
            found = JoinElimination(bound, fact, ALL, _known(bound)).reduced(results=results)
            if found is None:
                continue
            lost[results] += 1
            over = "related" if results else _over_selected(connection, found)
            assert _answer(connection, found.block, found.fact, over) == wanted, sql
    assert min(lost.values()) > 20 * count, lost


def test_a_fact_that_is_padded_keeps_its_joins() -> None:
    bound = block("SELECT count(*) FROM d LEFT JOIN f ON f.k = d.k WHERE d.region = 'r'")
    fact = next(o.index for o in bound.occurrences if o.alias == "f")
    assert JoinElimination(bound, fact, ALL, _known(bound)).reduced() is None


@pytest.mark.parametrize("first", ["JOIN d ON f.k = d.k", "LEFT JOIN d ON f.k = d.k AND f.v > 5"])
def test_a_dimension_in_two_states_has_one_relate_column(first: str) -> None:
    """The first state that `pushed` finds as well, though one that may be padded."""
    sql = (
        f"SELECT count(*) FROM f {first} JOIN d AS e ON f.k = e.k"
        " WHERE d.region = 'r' AND e.name = 'n' AND e.region = 's'"
    )
    bound = block(sql)
    older = [
        replace(o, table=replace(o.table, snapshot_id=7)) if o.alias == "e" else o
        for o in bound.occurrences
    ]
    old = replace(bound, occurrences=tuple(older))
    found = JoinElimination(old, 0, ALL, _known(old)).reduced()
    assert found is None or "e" in [o.alias for o in found.block.occurrences]
