"""The choice: within the budgets, as good as any on small instances, whatever the order."""

from __future__ import annotations

from itertools import combinations
from math import e

from hypothesis import given
from hypothesis import strategies as st

from accelerator.services.advisor.choose import Option, choose, saved

INF = float("inf")


@st.composite
def options(draw, most=7):
    """A few options over a few questions."""
    number = draw(st.integers(0, most))
    return [
        Option(
            f"o{i}",
            draw(st.integers(0, 20)),
            draw(st.integers(0, 20)),
            draw(st.dictionaries(st.integers(0, 5), st.integers(1, 30), max_size=4)),
        )
        for i in range(number)
    ]


def _fits(picked, bytes_max, build_s_max):
    return (
        sum(o.bytes for o in picked) <= bytes_max and sum(o.build_s for o in picked) <= build_s_max
    )


def _best(given, bytes_max, build_s_max):
    sets = (s for n in range(len(given) + 1) for s in combinations(given, n))
    return max(saved(s) for s in sets if _fits(s, bytes_max, build_s_max))


def _picked(given, choice):
    return [one for one in given if one.name in choice.names]


@given(options(), st.integers(0, 50), st.integers(0, 50))
def test_it_is_the_best_choice_of_few_options(given, bytes_max, build_s_max):
    found = choose(given, bytes_max, build_s_max)
    picked = _picked(given, found)
    assert _fits(picked, bytes_max, build_s_max)
    assert found.saved == saved(picked)
    assert found.is_best and found.saved == _best(given, bytes_max, build_s_max)


@given(options(9), st.integers(0, 60))
def test_greedy_alone_is_good_too(given, bytes_max):
    found = choose(given, bytes_max, INF, steps=0)
    assert _fits(_picked(given, found), bytes_max, INF)
    assert not found.is_best
    assert found.saved >= (1 - 1 / e) * _best(given, bytes_max, INF)


@given(options(9), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_more_budget_never_saves_less(given, less, more, build_s):
    assert choose(given, less, build_s).saved <= choose(given, less + more, build_s).saved


@given(options(), st.integers(0, 50), st.randoms(use_true_random=False))
def test_the_order_of_options_does_not_matter(given, bytes_max, random):
    mixed = list(given)
    random.shuffle(mixed)
    assert choose(given, bytes_max, INF) == choose(mixed, bytes_max, INF)


@given(options(), st.integers(0, 50))
def test_nothing_idle_is_taken(given, bytes_max):
    found = choose(given, bytes_max, INF)
    picked = _picked(given, found)
    for one in picked:
        assert saved([o for o in picked if o is not one]) < found.saved


def test_fixed_ones_are_taken_and_count():
    fixed = Option("kept", 8, 0, {1: 10}, fixed=True)
    found = choose([fixed, Option("a", 5, 0, {1: 12}), Option("b", 2, 0, {1: 11})], 10, INF)
    assert found.names == ("b", "kept") and found.saved == 11
    assert choose([fixed, Option("a", 5, 0, {2: 12})], 4, INF).names == ("kept",)


def test_many_options_end():
    many = [Option(f"o{i:03}", 10 + i % 7, 1, {i % 40: 5 + i % 11}) for i in range(300)]
    found = choose(many, 200, INF)
    assert 0 < len(found.names) <= 20


def test_hundreds_of_options_end_within_the_budget():
    many = [Option(f"o{i:04}", 500 + i * 37 % 500, 1, {i: 1 + i * 7919 % 97}) for i in range(600)]
    found = choose(many, 300_000, INF, steps=1)
    assert 0 < sum(one.bytes for one in _picked(many, found)) <= 300_000
    assert len(found.names) > 300
