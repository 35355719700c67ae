"""What of a join's predicates follows for the fact alone, by relate columns; and what must not.

Strategy: the star's tables with relate columns of every form of path. Each case names the fact's
predicates that are found, as text, in which a relate column stands behind `~`. Whether they hold is
shown on rows by `tests/spark/test_relate_on_tables.py`.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rewrite.bind.select import bind_block
from rewrite.facts import At, TableFacts
from rewrite.ir.block import Block
from rewrite.ir.expr import Call, Column, Expr, columns
from rewrite.parse.parse import parse
from rewrite.render.expressions import Renderer
from rewrite.rules.push_through_joins import Related, RelateKey, RelateStep, pushed
from tests.cubes.star import Star, block

_D_BY_K = RelateStep("uuid-d", (RelateKey(0, 1, 1),))
_D_BY_I = RelateStep("uuid-d", (RelateKey(0, 4, 1),))
_O_OF_D = RelateStep("uuid-o", (RelateKey(1, 4, 1),))
_T_BY_BOTH = RelateStep("uuid-t", (RelateKey(0, 1, 1), RelateKey(0, 2, 2)))
NAME = Related(-1, "name", (_D_BY_K,), 2)
REGION = Related(-2, "region", (_D_BY_K,), 3)
REGION_I = Related(-3, "region_i", (_D_BY_I,), 3)
LAND = Related(-4, "land", (_D_BY_K, _O_OF_D), 2)
TAG = Related(-5, "tag", (_T_BY_BOTH,), 2)
ALL = (NAME, REGION, REGION_I, LAND, TAG)


def _shown(column: Column) -> str:
    return f"~{column.name}" if column.field_id < 0 else column.name


def _told(bound: Block, fact: int = 0, relates: tuple[Related, ...] = ALL) -> list[str]:
    """Predicates on the fact that relate columns or its own keys take from a dimension."""
    found = pushed(bound, fact, relates).conjuncts
    assert all(c.occurrence == fact for one in found for c in columns(one))
    text = Renderer("spark", _shown).text
    new = (one for one in found if one not in bound.conjuncts and not _is_itself(one))
    return [text(one).removeprefix("(").removesuffix(")") for one in new]


def _is_itself(one: Expr) -> bool:
    """`k = k`, which the join's own equality becomes."""
    return isinstance(one, Call) and one.op == "=" and one.args[0] == one.args[1]


_JOINED = "FROM f JOIN d ON f.k = d.k WHERE "
_COMMA = "FROM f, d WHERE f.k = d.k AND "
_LEFT = "FROM f LEFT JOIN d ON f.k = d.k WHERE "
_CHAIN = "FROM f JOIN d ON f.k = d.k JOIN o ON d.ok = o.ok WHERE "
_OUTER = "FROM f LEFT JOIN d ON f.k = d.k LEFT JOIN o ON d.ok = o.ok WHERE "
_BOTH = "FROM f JOIN t ON f.k = t.k AND f.g = t.tag WHERE "


@pytest.mark.parametrize(
    ("rest", "wanted"),
    [
        # forms of joins
        (_JOINED + "d.region = 'r'", ["~region = 'r'"]),
        ("FROM d JOIN f ON d.k = f.k WHERE region = 'r'", ["~region = 'r'"]),
        ("FROM f JOIN d ON f.k = d.k AND d.region = 'r'", ["~region = 'r'"]),
        (_COMMA + "d.region = 'r'", ["~region = 'r'"]),
        ("FROM f CROSS JOIN d WHERE d.k = f.k AND d.region = 'r'", ["~region = 'r'"]),
        ("FROM f JOIN d USING (k) WHERE region = 'r'", ["~region = 'r'"]),
        ("FROM f AS a JOIN d AS b ON a.k = b.k WHERE b.region = 'r'", ["~region = 'r'"]),
        ("FROM d RIGHT JOIN f ON d.k = f.k WHERE region = 'r'", ["~region = 'r'"]),
        ("FROM f LEFT JOIN d USING (k) WHERE region = 'r'", ["~region = 'r'"]),
        # equal by way of another column of the fact
        ("FROM f, d WHERE f.i = f.k AND f.i = d.k AND name = 'n'", ["~name = 'n'"]),
        # predicates
        (_JOINED + "d.region IN ('r', 's')", ["~region IN ('r', 's')"]),
        (_JOINED + "d.region LIKE 'r%'", ["~region LIKE 'r%'"]),
        (_JOINED + "d.region IS NULL", ["~region IS NULL"]),
        (_JOINED + "d.region IS NOT NULL", ["NOT (~region IS NULL)"]),
        (_JOINED + "NOT (d.region = 'r')", ["NOT (~region = 'r')"]),
        (_JOINED + "d.region BETWEEN 'r' AND 's'", ["~region >= 'r'", "~region <= 's'"]),
        (_JOINED + "d.region = 'r' AND d.name = 'n'", ["~region = 'r'", "~name = 'n'"]),
        (_JOINED + "d.region = 'r' OR d.name = 'n'", ["(~region = 'r') OR (~name = 'n')"]),
        (_JOINED + "d.region = 'r' OR f.v > 5", ["(~region = 'r') OR (v > 5)"]),
        (_JOINED + "d.region <> f.g", ["~region <> g"]),
        (
            _JOINED + "(d.region = 'r' AND f.v = 1) OR (d.name = 'n' AND f.v = 2)",
            ["((~region = 'r') AND (v = 1)) OR ((~name = 'n') AND (v = 2))"],
        ),
        # several dimensions: of a conjunction what is known, of a disjunction all
        (
            "FROM f JOIN d ON f.k = d.k JOIN t ON f.v = t.k WHERE region = 'r' OR"
            " (name = 'n' AND tag = 'a')",
            ["(~region = 'r') OR (~name = 'n')"],
        ),
        (
            "FROM f JOIN d a ON f.k = a.k JOIN d b ON f.i = b.k WHERE a.region = 'r' AND"
            " b.region = 's'",
            ["~region = 'r'", "~region_i = 's'"],
        ),
        (
            "FROM f JOIN d a ON f.k = a.k JOIN d b ON f.i = b.k WHERE a.region = 'r' OR"
            " b.region = 's'",
            ["(~region = 'r') OR (~region_i = 's')"],
        ),
        # one dimension twice by one key: both are the one partner
        (
            "FROM f JOIN d a ON f.k = a.k JOIN d b ON f.k = b.k WHERE a.region = 'r' AND"
            " b.name = 'n'",
            ["~region = 'r'", "~name = 'n'"],
        ),
        # keys of the dimension are the fact's own
        (_JOINED + "d.k = 5", ["k = 5"]),
        (_JOINED + "d.k = 5 OR d.region = 'r'", ["(k = 5) OR (~region = 'r')"]),
        # composite keys
        (_BOTH + "t.tag = 'a'", ["g = ~tag", "~tag = 'a'"]),
        # chains
        (_CHAIN + "o.land = 'x'", ["~land = 'x'"]),
        (_CHAIN + "o.land = 'x' OR d.region = 'r'", ["(~land = 'x') OR (~region = 'r')"]),
        (_OUTER + "o.land = 'x'", ["~land = 'x'"]),
        ("FROM o, d, f WHERE o.ok = d.ok AND d.k = f.k AND land = 'x'", ["~land = 'x'"]),
        (
            "FROM f JOIN d ON f.k = d.k LEFT JOIN o ON d.ok = o.ok WHERE land IS NULL",
            ["~land IS NULL"],
        ),
        # left joins whose ON is the join alone: the relate column is NULL where they pad
        (_LEFT + "d.region IS NULL", ["~region IS NULL"]),
        (_LEFT + "NOT (d.region = 'r')", ["NOT (~region = 'r')"]),
        (_LEFT + "coalesce(d.region, 'r') = 'r'", ["coalesce(~region, 'r') = 'r'"]),
        # left joins that may pad a row that has a partner: only what isn't TRUE of NULL
        (
            "FROM f LEFT JOIN d ON f.k = d.k AND d.name = 'n' WHERE d.region = 'r'",
            ["~region = 'r'"],
        ),
        (
            "FROM f LEFT JOIN d ON f.k = d.k AND f.v > 5 WHERE d.region IN ('r') OR f.v = 1",
            ["(~region IN ('r')) OR (v = 1)"],
        ),
        (
            "FROM f LEFT JOIN d ON f.k = d.k AND f.v > 5 LEFT JOIN o ON d.ok = o.ok"
            " WHERE o.land = 'x'",
            ["~land = 'x'"],
        ),
    ],
)
def test_fires(rest: str, wanted: list[str]) -> None:
    bound = block(f"SELECT count(*) {rest}")
    fact = next(o.index for o in bound.occurrences if o.table.uuid == "uuid-f")
    assert _told(bound, fact) == wanted


@pytest.mark.parametrize(
    "rest",
    [
        # the predicate decides who is padded, not who is left
        "FROM f LEFT JOIN d ON f.k = d.k AND d.region = 'r'",
        "FROM d RIGHT JOIN f ON f.k = d.k AND d.region = 'r' WHERE f.v > 5",
        # padded beside their partner: a predicate that may be TRUE of NULL
        "FROM f LEFT JOIN d ON f.k = d.k AND d.name = 'n' WHERE d.region IS NULL",
        "FROM f LEFT JOIN d ON f.k = d.k AND f.v > 5 WHERE NOT (d.region = 'r')",
        "FROM f LEFT JOIN d ON f.k = d.k AND f.v > 5 WHERE NOT (d.region = 'r' AND f.v = 1)",
        "FROM f LEFT JOIN d ON f.k = d.k AND f.v > 5 WHERE coalesce(d.region, 'r') = 'r'",
        "FROM f LEFT JOIN d ON f.k = d.k AND f.v > 5 WHERE d.region <=> NULL",
        "FROM f LEFT JOIN d ON f.k = d.k AND f.v > 5 WHERE d.region IS NULL OR d.region = 'r'",
        "FROM f LEFT JOIN d ON f.k = d.k AND d.name = 'n' LEFT JOIN o ON d.ok = o.ok"
        " WHERE o.land IS NULL",
        "FROM f LEFT JOIN d ON f.k = d.k LEFT JOIN o ON d.ok = o.ok AND d.name = 'n'"
        " WHERE o.land IS NULL",
        "FROM f LEFT JOIN d ON f.k = d.k AND f.v > 5 WHERE f.g IN (d.region, 'r')",
        # joined by something else
        "FROM f JOIN d ON f.v = d.k WHERE d.region = 'r'",
        "FROM f JOIN d ON f.k = d.ok WHERE d.region = 'r'",
        "FROM f JOIN d ON f.k < d.k WHERE d.region = 'r'",
        "FROM f, d WHERE d.region = 'r'",
        "FROM f JOIN d ON f.k <=> d.k WHERE d.region = 'r'",
        "FROM f JOIN d ON f.w = d.k WHERE d.region = 'r'",
        "FROM f JOIN d ON CAST(f.k AS BIGINT) = d.k WHERE d.region = 'r'",
        "FROM f JOIN d ON f.k + 1 = d.k WHERE d.region = 'r'",
        "FROM f JOIN d ON f.k = d.k OR f.v = 1 WHERE d.region = 'r'",
        "FROM f LEFT JOIN d ON f.k + 1 = d.k WHERE d.region = 'r'",
        "FROM f LEFT JOIN d ON f.k <=> d.k WHERE d.region = 'r'",
        # a key of two columns, of which one is joined
        "FROM f JOIN t ON f.g = t.tag WHERE t.k IS NULL AND t.tag LIKE 'a%' OR f.v = t.k",
        "FROM f LEFT JOIN t ON f.k = t.k WHERE t.tag = 'a'",
        "FROM f JOIN t ON f.k = t.k WHERE t.tag = 'a'",
        # of a chain only the outer end, or another way to it
        "FROM f JOIN o ON f.k = o.ok WHERE o.land = 'x'",
        "FROM f JOIN d ON f.v = d.k JOIN o ON d.ok = o.ok WHERE o.land = 'x'",
        "FROM f JOIN d ON f.k = d.k JOIN o ON f.v = o.ok WHERE o.land = 'x'",
        # one arm is of something that isn't known
        "FROM f JOIN d ON f.k = d.k JOIN t ON f.v = t.k WHERE d.region = 'r' OR t.tag = 'a'",
        "FROM f JOIN d ON f.k = d.k JOIN t ON f.v = t.k WHERE d.region = t.tag",
        "FROM f JOIN d ON f.k = d.k JOIN t ON f.v = t.k WHERE NOT (d.region = 'r' AND t.tag = 'a')",
        "FROM f JOIN d ON f.k = d.k WHERE d.region = 'r' OR d.ok = 1",
    ],
)
def test_must_not(rest: str) -> None:
    bound = block(f"SELECT count(*) {rest}")
    fact = next(o.index for o in bound.occurrences if o.table.uuid == "uuid-f")
    found = [one for one in _told(bound, fact) if "~" in one]
    assert found == []


@pytest.mark.parametrize(
    "rest",
    [
        "FROM d LEFT JOIN f ON f.k = d.k WHERE d.region = 'r'",
        "FROM d LEFT JOIN f ON f.k = d.k WHERE f.v IS NULL",
        "FROM f RIGHT JOIN d ON f.k = d.k WHERE d.region = 'r' AND f.v = 1",
    ],
)
def test_nothing_of_a_fact_that_is_padded(rest: str) -> None:
    bound = block(f"SELECT count(*) {rest}")
    fact = next(o.index for o in bound.occurrences if o.table.uuid == "uuid-f")
    found = pushed(bound, fact, ALL)
    assert (found.conjuncts, dict(found.through)) == ((), {})


def test_a_left_on_says_nothing_of_the_keys_it_pads() -> None:
    """`d.k` is NULL where the join pads: what is TRUE of NULL isn't told of the fact's own key."""
    for on in ("f.k = d.k", "f.k = d.k AND f.v > 5"):
        bound = block(f"SELECT count(*) FROM f LEFT JOIN d ON {on} WHERE d.k IS NULL")
        assert _told(bound) == []


def test_a_fact_twice_is_two_facts() -> None:
    bound = block(
        "SELECT count(*) FROM f a JOIN f b ON a.v = b.v JOIN d ON a.k = d.k WHERE region = 'r'"
    )
    assert _told(bound, 0) == ["~region = 'r'"]
    assert [one for one in _told(bound, 1) if "~" in one] == []
    assert pushed(bound, 0, ALL).through == {-2: (2,)}


def test_which_occurrences_are_the_path() -> None:
    bound = block(f"SELECT count(*) {_CHAIN} land = 'x' AND name = 'n'")
    assert pushed(bound, 0, ALL).through == {-4: (1, 2), -1: (1,)}
    assert pushed(bound, 0, (REGION,)).through == {}


class _States(Star):
    """The star, whose tables have another snapshot at another time; `d` once lacked its region."""

    def table(self, parts: tuple[str, ...], at: At) -> TableFacts | None:
        found = super().table(parts, at)
        if found is None or at == At():
            return found
        number = at.snapshot_id or 0
        columns = found.columns[:2] if number == 7 else found.columns
        return replace(found, snapshot_id=number, columns=columns)


def _travelled(rest: str) -> Block:
    return bind_block(parse(f"SELECT count(*) {rest}"), _States())


def test_a_dimension_in_another_state_is_the_one_taken() -> None:
    bound = _travelled("FROM f JOIN d VERSION AS OF 5 b ON f.k = b.k WHERE b.region = 'r'")
    assert _told(bound) == ["~region = 'r'"]
    bound = _travelled("FROM f JOIN d VERSION AS OF 7 b ON f.k = b.k WHERE b.name = 'n'")
    assert _told(bound) == ["~name = 'n'"]


def test_a_dimension_in_two_states_is_taken_in_one() -> None:
    both = "FROM f JOIN d a ON f.k = a.k JOIN d VERSION AS OF 5 b ON f.k = b.k WHERE "
    assert _told(_travelled(both + "a.region = 'r' AND b.region = 's'")) == ["~region = 'r'"]
    assert _told(_travelled(both + "a.region = 'r' OR b.region = 's'")) == []
    assert pushed(_travelled(both + "b.region = 's'"), 0, ALL).through == {}


def test_a_chain_through_two_states_of_its_first_dimension() -> None:
    bound = _travelled(
        "FROM f JOIN d a ON f.k = a.k JOIN d VERSION AS OF 5 b ON f.k = b.k"
        " JOIN o ON b.ok = o.ok WHERE o.land = 'x' AND a.region = 'r'"
    )
    found = pushed(bound, 0, ALL)
    assert found.through == {-4: (2, 3), -2: (1,)}  # each relate column has its own path


def test_columns_that_are_gone_are_no_keys_and_no_attributes() -> None:
    bound = block(f"SELECT count(*) {_JOINED} region = 'r'")
    for broken in (
        replace(REGION, attribute=99),
        replace(REGION, path=(RelateStep("uuid-d", (RelateKey(0, 99, 1),)),)),
        replace(REGION, path=(RelateStep("uuid-d", (RelateKey(0, 1, 99),)),)),
        replace(REGION, path=(RelateStep("uuid-x", (RelateKey(0, 1, 1),)),)),
        replace(REGION, path=(RelateStep("uuid-d", (RelateKey(0, 1, 1), RelateKey(0, 4, 4))),)),
    ):
        assert _told(bound, relates=(broken,)) == []
    padded = block(f"SELECT count(*) {_LEFT} region = 'r'")
    for key in (RelateKey(0, 99, 4), RelateKey(0, 4, 99)):
        broken = replace(REGION, path=(RelateStep("uuid-d", (RelateKey(0, 1, 1), key)),))
        assert _told(padded, relates=(broken,)) == []
