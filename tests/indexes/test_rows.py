"""The law of row verdicts, row by row.

Strategy: rows are TRUE, FALSE or NULL at random, in files of up to a dozen of them; each verdict is
loosened at random, so that it encloses its rows in every degree of certainty. Trees of AND, OR and
NOT, and what two verdicts prove of one predicate, are evaluated row by row in three-valued logic.

Invariants: a verdict made from enclosing verdicts encloses; from exact ones it's exact.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from indexes.row_verdict import Between, Certainty, RowVerdict

Truth = list[bool | None]


@dataclass(frozen=True)
class Told:
    """A predicate's rows, and a verdict on them."""

    rows: Truth
    verdict: RowVerdict


def these(truth: Truth, value: bool | None) -> BitMap:
    return BitMap([row for row, held in enumerate(truth) if held is value])


def exact(truth: Truth) -> RowVerdict:
    return RowVerdict.exactly(len(truth), these(truth, True), these(truth, None))


@st.composite
def loosened(draw, truth: Truth) -> RowVerdict:
    """A verdict that encloses those rows."""
    every = BitMap(range(len(truth)))
    flags = st.lists(st.booleans(), min_size=len(truth), max_size=len(truth))

    def some() -> BitMap:
        degree = draw(st.sampled_from(["none", "some", "all"]))
        if degree == "some":
            return BitMap([row for row, flag in enumerate(draw(flags)) if flag])
        return every if degree == "all" else BitMap()

    def between(rows: BitMap) -> Between:
        return Between(rows - some(), rows | some())

    return RowVerdict(len(truth), between(these(truth, True)), between(these(truth, False)))


@st.composite
def told(draw, rows: int) -> Told:
    truth = draw(st.lists(st.sampled_from([True, False, None]), min_size=rows, max_size=rows))
    return Told(truth, draw(st.one_of(st.just(exact(truth)), loosened(truth))))


def both(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def negated(one: bool | None) -> bool | None:
    return None if one is None else not one


def either(one: bool | None, other: bool | None) -> bool | None:
    return negated(both(negated(one), negated(other)))


def trees(rows: int):
    def extended(inner):
        return st.one_of(
            inner.map(lambda t: Told([negated(one) for one in t.rows], ~t.verdict)),
            st.tuples(inner, inner).map(
                lambda p: Told([*map(both, p[0].rows, p[1].rows)], p[0].verdict & p[1].verdict)
            ),
            st.tuples(inner, inner).map(
                lambda p: Told([*map(either, p[0].rows, p[1].rows)], p[0].verdict | p[1].verdict)
            ),
        )

    return st.recursive(told(rows), extended, max_leaves=8)


def encloses(verdict: RowVerdict, truth: Truth) -> bool:
    return verdict.rows == len(truth) and all(
        between.lower <= these(truth, value) <= between.upper
        for between, value in ((verdict.true, True), (verdict.false, False))
    )


@given(st.integers(0, 12).flatmap(trees))
def test_trees_enclose(tree):
    assert encloses(tree.verdict, tree.rows)


@given(st.data(), st.integers(0, 12))
def test_two_verdicts_of_one_predicate(data, rows):
    truth = data.draw(st.lists(st.sampled_from([True, False, None]), min_size=rows, max_size=rows))
    one, other = data.draw(loosened(truth)), data.draw(loosened(truth))
    joint = one.also(other)
    assert encloses(joint, truth)
    for part in (one, other):
        assert part.true.lower <= joint.true.lower
        assert joint.true.upper <= part.true.upper
        assert part.false.lower <= joint.false.lower
        assert joint.false.upper <= part.false.upper
    assert one.also(exact(truth)) == exact(truth)


@given(st.lists(st.sampled_from([True, False, None]), max_size=12).flatmap(
    lambda truth: st.tuples(
        st.just(truth), st.permutations(truth), st.sampled_from(["and", "or", "not"])
    )
))  # fmt: skip
def test_exact_ones_stay_exact(drawn):
    truth, permuted, how = drawn
    one, other = exact(truth), exact(permuted)
    if how == "not":
        assert ~one == exact([negated(held) for held in truth])
    elif how == "and":
        assert one & other == exact([*map(both, truth, permuted)])
    else:
        assert one | other == exact([*map(either, truth, permuted)])


@given(st.integers(0, 12))
def test_constants(rows):
    for value in (True, False, None):
        assert RowVerdict.constant(rows, value) == exact([value] * rows)
    unknown = RowVerdict.unknown(rows)
    for value in (True, False, None):
        assert encloses(unknown, [value] * rows)


def test_how_certain():
    every, some, none = BitMap(range(4)), BitMap([1]), BitMap()

    def certainty(lower: BitMap, upper: BitMap) -> Certainty:
        return RowVerdict(4, Between(lower, upper), Between(none, every)).certainty

    assert certainty(some, some) is Certainty.EXACT
    assert certainty(none, some) is Certainty.AT_MOST
    assert certainty(some, every) is Certainty.AT_LEAST
    assert certainty(some, BitMap([1, 2])) is Certainty.BETWEEN
