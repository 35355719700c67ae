"""Curves through grids, and the ranks that make cells of values."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.services.clustering.curves import CURVES, bits_of, hilbert, zorder
from accelerator.services.clustering.order import PROPERTY, Order, OrderKey
from accelerator.services.clustering.ranks import Ranking

GRIDS = [(1, 5), (2, 1), (2, 2), (2, 5), (3, 1), (3, 4), (4, 3), (5, 2), (8, 1)]


def cells(dimensions: int, bits: int) -> list[Any]:
    """Every cell of a grid, a column for each dimension."""
    every = np.array(list(itertools.product(range(1 << bits), repeat=dimensions)), dtype=np.uint64)
    return list(every.T)


@pytest.mark.parametrize(("dimensions", "bits"), GRIDS)
@pytest.mark.parametrize("curve", CURVES)
def test_a_curve_visits_each_cell_once(curve: str, dimensions: int, bits: int) -> None:
    places = CURVES[curve](cells(dimensions, bits), bits)
    assert np.array_equal(np.sort(places), np.arange(1 << (dimensions * bits)))


@pytest.mark.parametrize(("dimensions", "bits"), GRIDS)
def test_hilbert_makes_one_step_at_a_time(dimensions: int, bits: int) -> None:
    grid = cells(dimensions, bits)
    order = np.argsort(hilbert(grid, bits))
    along = np.stack(grid, axis=1)[order].astype(np.int64)
    assert (np.abs(np.diff(along, axis=0)).sum(axis=1) == 1).all()


@given(
    st.integers(2, 4).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 2**15 - 2), min_size=n, max_size=n), min_size=1)
    )
)
def test_hilbert_steps_in_a_grid_too_large_to_visit(points: list[list[int]]) -> None:
    dimensions = len(points[0])
    bits = bits_of(dimensions)
    wide = np.array(points, dtype=np.uint64)
    places = hilbert(list(wide.T), bits)
    # A neighbour in the grid that comes next on the curve exists: one of those a step away.
    found = np.zeros(len(points), dtype=bool)
    for axis, step in itertools.product(range(dimensions), (1, -1)):
        near = wide.astype(np.int64)
        near[:, axis] += step
        inside = near[:, axis] >= 0
        there = hilbert(list(np.maximum(near, 0).astype(np.uint64).T), bits)
        found |= inside & (np.abs(there - places) == 1)
    assert found.all()


def test_zorder_interleaves() -> None:
    x, y = np.array([0b11, 0b00, 0b10], np.uint64), np.array([0b00, 0b11, 0b01], np.uint64)
    assert zorder([x, y], 2).tolist() == [0b1010, 0b0101, 0b1001]


def test_arguments_stay_as_they_are() -> None:
    x, y = np.array([3, 1], np.uint64), np.array([2, 2], np.uint64)
    for curve in CURVES.values():
        curve([x, y], 2)
    assert (x.tolist(), y.tolist()) == ([3, 1], [2, 2])


VALUES = {
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_nan=False),
    "string": st.text(max_size=3),
    "binary": st.binary(max_size=3),
    "boolean": st.booleans(),
}


@pytest.mark.parametrize("type_", VALUES)
def test_ranks_keep_the_order(type_: str) -> None:
    @given(st.lists(st.none() | VALUES[type_]), st.lists(VALUES[type_], min_size=1))
    def check(sampled: list[Any], values: list[Any]) -> None:
        kind = pa.array(values).type
        ranking = Ranking.of(pa.array(sampled, kind), type_)
        ordered = sorted(values, key=lambda v: v.encode() if isinstance(v, str) else v)
        ranks = ranking.ranks(pa.array([None, *ordered], kind), 7).astype(int).tolist()
        assert ranks == sorted(ranks) and ranks[0] == 0 and ranks[-1] < 128

    check()


def test_ranks_are_shares_of_rows() -> None:
    ranking = Ranking.of(pa.array(["a"] * 50 + ["b"] * 25 + ["c"] * 25), "string")
    ranks = ranking.ranks(pa.array(["c", "a", None, "b", "aa"]), 8)
    assert [round(one / 256, 1) for one in ranks.tolist()] == [0.7, 0, 0, 0.5, 0.5]
    halves = Ranking.of(pa.array([None, 1, None, 1]), "bigint")
    assert halves.ranks(pa.array([None, 1]), 10).tolist()[0] == 0
    assert halves.ranks(pa.array([1]), 10).tolist()[0] > 400
    floats = Ranking.of(pa.array([1.0, float("nan"), -0.0, 0.0]), "double")
    nan, zero, minus = floats.ranks(pa.array([float("nan"), 0.0, -0.0]), 8).tolist()
    assert zero == minus == 0 and nan > 128
    assert Ranking.of(pa.array([], pa.int32()), "int").ranks(pa.array([5, None]), 8).tolist() == [
        0,
        0,
    ]


def kept(ranking: Ranking, type_: str) -> Ranking:
    """As it comes back from a table's property."""
    return Ranking.from_json(type_, json.loads(json.dumps(ranking.to_json())))


@pytest.mark.parametrize("type_", VALUES)
def test_kept_bounds_rank_alike(type_: str) -> None:
    @given(st.lists(st.none() | VALUES[type_]), st.lists(VALUES[type_], min_size=1))
    def check(sampled: list[Any], values: list[Any]) -> None:
        kind = pa.array(values).type
        ranking, asked = Ranking.of(pa.array(sampled, kind), type_), pa.array([None, *values], kind)
        again = kept(ranking, type_)
        assert again.ranks(asked, 7).tolist() == ranking.ranks(asked, 7).tolist()

    check()


def test_bounds_are_few_and_even() -> None:
    rows = [f"{'long ' * 20}{i:05}" for i in range(3000)] + [
        f"{i:05} and more" for i in range(3000)
    ]
    for sample, type_, most in (
        (pa.array(range(50_000)), "bigint", 256),
        (pa.array([*range(3000), *[7] * 3000, None]), "bigint", 256),
        (pa.array(rows), "string", 256),
        (pa.array([*np.linspace(-5, 5, 1000), float("nan"), float("inf")]), "double", 256),
    ):
        ranking = Ranking.of(sample, type_)
        assert 100 < len(ranking.values) <= most
        assert len(json.dumps(ranking.to_json())) < 50_000
        again = kept(ranking, type_)
        nulls = pa.nulls(sample.null_count, sample.type)
        ordered = pa.concat_arrays([nulls, sample.drop_null().sort()])
        ranks = again.ranks(ordered, 10).astype(int)
        assert (np.diff(ranks) >= 0).all()
        if not sample.null_count:
            counts = np.unique(ranks, return_counts=True)[1]
            assert counts.max() <= 3 * len(sample) / len(counts)


@pytest.mark.parametrize(
    "told",
    [
        None,
        {},
        {"domain": "bytes", "values": [], "below": [0]},
        {"domain": "int64", "values": ["1", "2"], "below": [0, 1]},
        {"domain": "int64", "values": ["2", "1"], "below": [0, 1, 2]},
        {"domain": "int64", "values": ["1", "2"], "below": [0, 2, 1]},
        {"domain": "int64", "values": ["x"], "below": [0, 1]},
        {"domain": "int64", "values": [str(2**70)], "below": [0, 1]},
    ],
)
def test_what_is_not_bounds(told: Any) -> None:
    order = Order("uuid", "zorder", (OrderKey(1, "a", "bigint"),))
    good = json.loads(order.to_property([Ranking.of(pa.array([1, 2]), "bigint")]))
    assert len(order.rankings({PROPERTY: json.dumps(good)})) == 1
    good["bounds"] = [told]
    for damaged in (json.dumps(good), "[]", "{", json.dumps({**good, "bounds": 5})):
        assert order.rankings({PROPERTY: damaged}) == ()
    other = Order("uuid", "hilbert", order.keys)
    assert other.rankings({PROPERTY: order.to_property([Ranking.of(pa.array([1]), "int")])}) == ()


@pytest.mark.parametrize("below", [[0, 2**62], [0, 2**63 - 1], [2**50, 2**50]])
def test_ranks_of_counts_that_no_sample_has(below: list[int]) -> None:
    """A table's property may say anything: what is multiplied doesn't wrap."""
    ranking = Ranking.from_json("bigint", {"domain": "int64", "values": ["5"], "below": below})
    ranks = ranking.ranks(pa.array([None, 4, 5, 6]), 16)
    assert ranks.tolist() == sorted(ranks.tolist())
    assert ranks[-1] == (1 << 16) - 1  # as many rows as there are stand below it
