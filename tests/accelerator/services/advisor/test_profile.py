"""Sizes: exact where all rows are looked at, near where they're a sample."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accelerator
from accelerator.services.advisor.cubes import row_sample as module
from accelerator.services.advisor.cubes.cube_select import key_names, merged, name_of, names, star
from accelerator.services.advisor.cubes.row_sample import Distinct, Sampled, cells
from accelerator.services.advisor.cubes.table_profile import Profile
from rewrite.reason import DeclinedError

ROWS = 30_000


def _fill(catalog):
    random = np.random.default_rng(1)
    catalog.create_namespace("d")
    fact = pa.table(
        {
            "day": pa.array(np.arange(ROWS) // 1_000, pa.int32()),  # in order
            "month": pa.array(np.arange(ROWS) // 3_000, pa.int32()),
            "k": pa.array(random.integers(0, 400, ROWS), pa.int32()),
            "lost": pa.array(random.integers(0, 450, ROWS), pa.int32()),
            "g": pa.array(random.integers(0, 60, ROWS), pa.int32()),
            "v": pa.array(random.integers(0, 1000, ROWS), pa.int64()),
        }
    )
    made = catalog.create_table("d.f", fact.schema)
    for start in range(0, ROWS, 1_000):
        made.append(fact.slice(start, 1_000))
    dim = pa.table(
        {
            "id": pa.array(range(400), pa.int32()),
            "city": [f"c{i % 40}" for i in range(400)],
            "land": [f"l{i % 40 % 8}" for i in range(400)],
        }
    )
    catalog.create_table("d.dim", dim.schema).append(dim)
    twice = pa.concat_tables([dim, dim.slice(0, 1)])
    catalog.create_table("d.twice", twice.schema).append(twice)


@pytest.fixture(scope="module")
def acc(tmp_path_factory):
    from tests.support.pristine import Pristine

    root = Pristine(tmp_path_factory.mktemp("profiles")).lake(_fill)
    with accelerator.open(root) as session:
        yield session


def _star(acc, keys, joins=""):
    sql = f"SELECT {keys}, sum(v) AS s FROM d.f {joins} GROUP BY {keys}"
    return star(acc.services.planner.bind(sql)[0], 0)


def _profile(acc, whole):
    pin = acc.services.lake.pin()
    pinned = [pin.pinned(one.parts) for one in whole.occurrences]
    return Profile(whole, pinned, acc.services.duckdb, "", lambda: None)


DIM = "JOIN d.dim ON k = id"
CASES = [
    ("day", ""),
    ("city", DIM),
    ("city, land", DIM),
    ("city, land, day", DIM),
    ("land, g", DIM),
    ("day, g, k", ""),
]


@pytest.mark.parametrize("rows_max", [module.ROWS_MAX, 12_000])
def test_sizes_are_right(acc, monkeypatch, rows_max):
    """Exact of all rows; of a sample by row groups within a fifth."""
    monkeypatch.setattr(module, "ROWS_MAX", rows_max)
    stars = [_star(acc, keys, joins) for keys, joins in CASES]
    whole = stars[0]
    for one in stars[1:]:
        whole = merged(whole, one)
    found = _profile(acc, whole)
    assert found.fact_rows == ROWS and found.sampled.whole == (rows_max > ROWS)
    for (keys, joins), one in zip(CASES, stars, strict=True):
        sql = f"SELECT count(*) AS n FROM (SELECT {keys} FROM d.f {joins} GROUP BY {keys}) AS t"
        (row,) = acc.query(sql).arrow().to_pylist()
        off = 0 if found.sampled.whole else 0.25
        assert found.cells(one) == pytest.approx(row["n"], rel=off), keys


def test_sketches_bound_what_a_sample_cannot_tell(acc, monkeypatch):
    """Of ten months in an order, five row groups see five, and no two of them the same one."""
    monkeypatch.setattr(module, "ROWS_MAX", 600)
    monkeypatch.setattr(module, "GROUPS_MAX", 5)
    month = _star(acc, "month")
    assert _profile(acc, month).cells(month) > 13
    acc.build_statistics("d.f", columns=["month"])
    found = _profile(acc, month).cells(month)
    acc.query("DROP STATISTICS ON d.f")
    assert 10 <= found <= 13


def test_joins_are_counted(acc):
    joins = "JOIN d.dim ON k = dim.id JOIN d.dim AS b ON lost = b.id JOIN d.twice ON k = twice.id"
    found = _profile(acc, _star(acc, "dim.city, b.land, twice.city", joins))
    assert found.unique == {1, 2}
    assert found.complete == {1}
    assert found.cells(_star(acc, "dim.city", "JOIN d.dim ON k = dim.id")) == 40
    assert found.cells(_star(acc, "twice.city", "JOIN d.twice ON k = twice.id")) is None
    assert found.cells(_star(acc, "g")) is None  # nobody asked for it


def test_a_star_is_the_same_however_it_is_written(acc):
    one = _star(acc, "city, day", DIM)
    other = star(
        acc.services.planner.bind(
            "SELECT day, city, sum(v) AS s FROM d.dim, d.f WHERE id = k GROUP BY 1, 2"
        )[0],
        1,
    )
    assert name_of(one) == name_of(other) and set(names(one)) == set(names(other))
    both = merged(one, other)
    assert name_of(both) == name_of(one)
    left = _star(acc, "city", "LEFT JOIN d.dim ON k = id")
    assert name_of(left) != name_of(_star(acc, "city", DIM))
    assert merged(left, one).left_edges == ()  # inner where either is
    assert len(merged(left, _star(acc, "g")).left_edges) == 1
    wide = merged(one, _star(acc, "land, g", DIM))
    assert set(key_names(wide)) == {*key_names(one), *key_names(_star(acc, "land, g", DIM))}


def test_a_table_that_nothing_joins_makes_no_star(acc):
    block = acc.services.planner.bind("SELECT g, sum(v) FROM d.f, d.dim GROUP BY g")[0]
    with pytest.raises(DeclinedError):
        star(block, 0)


counts = st.integers(0, 10**6)


@given(counts, counts, counts, counts, counts, st.integers(1, 10**6), st.integers(1, 10**9))
def test_an_estimate_is_possible(seen, r1, r2, g1, g2, rows, of):
    found = Distinct(min(seen, rows), min(r1, seen), r2, min(g1, seen), g2)
    sampled = Sampled(rows, max(of, rows), 8, 20)
    for most in (1, 10**4, 10**12):
        assert found.seen <= cells(found, sampled, most) <= max(found.seen, sampled.of)
        assert cells(found, sampled, most) <= max(found.seen, most)


def test_runs_come_before_what_breaks_them(acc):
    whole = _star(acc, "g, city, land", DIM)
    found = _profile(acc, whole)
    order = [key_names(whole)[one] for one in found.order(whole, lambda _: True)]
    land, city = key_names(whole)[2], key_names(whole)[1]
    assert order.index(city) == order.index(land) + 1
    assert found.prefixes(whole, [2, 1, 0], 2_400)[0] == pytest.approx(8, abs=1)
