"""Orders of files: the files that are left out never hold one of the first rows.

Strategy: files of random rows, with NULLs and NaNs, under bounds that enclose them, are cut or
aren't known. The first rows of the files that are kept must have the keys of the first rows of all.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.bounds import UNKNOWN, ColumnBounds
from indexes.order import Direction, FileOrderKey, needed, reading_order

WHOLE = st.one_of(st.integers(-3, 3), st.sampled_from([-(2**63), 2**63 - 1]))
FLOATS = st.one_of(st.sampled_from([-0.0, 0.0, math.inf, -math.inf, math.nan]), st.floats(-2, 2))
TEXTS = st.text("aü\x00z", max_size=2).map(str.encode)
DIRECTIONS = st.builds(Direction, st.booleans(), st.booleans())


@st.composite
def columns(draw, rows: list[int]):
    """One column's rows by file, its bounds, its direction."""
    kind, values = draw(
        st.sampled_from([(pa.int64(), WHOLE), (pa.float64(), FLOATS), (pa.binary(), TEXTS)])
    )
    files = [draw(st.lists(st.one_of(st.none(), values), min_size=n, max_size=n)) for n in rows]
    lower, upper, nulls, nans, counted = [], [], [], [], []
    for file in files:
        ordered = [v for v in file if v is not None and v == v]
        known = draw(st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans()))
        low, high = (min(ordered), max(ordered)) if ordered else (None, None)
        if low is not None and kind == pa.binary() and draw(st.booleans()):
            low, high = low[:1], high[:1] + b"\xff"
        if kind == pa.float64() and any(v != v for v in file) and draw(st.booleans()):
            low = high = math.nan  # as writers once did
        lower.append(low if known[0] else None)
        upper.append(high if known[1] else None)
        nulls.append(file.count(None) if known[2] else UNKNOWN)
        nans.append(sum(v != v for v in file if v is not None) if known[3] else UNKNOWN)
        counted.append(len(file))
    bounds = ColumnBounds(
        pa.array(lower, kind),
        pa.array(upper, kind),
        np.array(counted, dtype=np.int64),
        np.array(nulls, dtype=np.int64),
        np.array(nans, dtype=np.int64),
        kind == pa.float64(),
    )
    return files, bounds, draw(DIRECTIONS)


@st.composite
def cases(draw):
    rows = draw(st.lists(st.integers(0, 4), min_size=1, max_size=6))
    return rows, draw(st.lists(columns(rows), min_size=1, max_size=3))


@given(cases(), st.integers(1, 12), st.randoms(use_true_random=False))
def test_the_first_rows_are_in_the_files_that_are_kept(case, wanted, random):
    counts, found = case
    keys = [FileOrderKey(bounds, direction) for _, bounds, direction in found]
    chosen = np.array([random.random() < 0.8 for _ in counts])
    sure = np.array([n if random.random() < 0.6 else 0 for n in counts], dtype=np.int64)
    kept = needed(keys, chosen, sure, wanted)
    assert not (kept & ~chosen).any()

    def places(file):
        rows = zip(*(files[file] for files, _, _ in found), strict=True)
        directions = [direction for _, _, direction in found]
        return [tuple(d.place(v) for d, v in zip(directions, row, strict=True)) for row in rows]

    def first(files):
        # A file that isn't sure may have any of its rows, or none: at worst none.
        return sorted(p for f in files for p in places(f))[:wanted]

    surely = [f for f in np.flatnonzero(chosen) if sure[f]]
    for others in ([], [f for f in np.flatnonzero(chosen) if not sure[f]]):
        live = [*surely, *others]
        assert first(live) == first([f for f in live if kept[f]])


@given(cases())
def test_no_row_stands_before_its_files_first_place(case):
    counts, found = case
    keys = [FileOrderKey(bounds, direction) for _, bounds, direction in found]
    order = reading_order(keys, np.ones(len(counts), dtype=bool)).tolist()
    assert sorted(order) == list(range(len(counts)))
    firsts = [tuple(key.first(file) for key in keys) for file in order]
    taken = [key.of(np.array(order)) for key in keys]
    assert firsts == [tuple(key.first(place) for key in taken) for place in range(len(order))]
    assert firsts == sorted(firsts)
    assert all(one <= other for one, other in pairwise(firsts))
    for (files, _, direction), key in zip(found, keys, strict=True):
        for number, rows in enumerate(files):
            assert all(not direction.place(row) < key.first(number) for row in rows)


@pytest.mark.parametrize("direction", [Direction(a, b) for a in (0, 1) for b in (0, 1)])
@pytest.mark.parametrize("extreme", [math.nan, -(2**63)])
def test_all_pairs_of_small_files(direction, extreme):
    """Every two files of up to two rows: random ones seldom come close enough."""
    kind = pa.float64() if extreme != extreme else pa.int64()
    values = (None, 1, 2, extreme)
    contents = [c for n in range(3) for c in combinations_with_replacement(values, n)]
    for pair in product(contents, contents):
        key = FileOrderKey(_exact(pair, kind), direction)
        places = [sorted(direction.place(v) for v in rows) for rows in pair]
        counts = np.array([len(rows) for rows in pair], dtype=np.int64)
        for wanted in (1, 2, 3):
            kept = needed([key], np.array([True, True]), counts, wanted)
            left = sorted(p for file, k in zip(places, kept, strict=True) if k for p in file)
            assert left[:wanted] == sorted([*places[0], *places[1]])[:wanted], (pair, wanted)


def _exact(files, kind) -> ColumnBounds:
    solid = [[v for v in rows if v is not None and v == v] for rows in files]
    count = np.array([len(rows) for rows in files], dtype=np.int64)
    nulls = np.array([rows.count(None) for rows in files], dtype=np.int64)
    valued = np.array([len(rows) for rows in solid], dtype=np.int64)
    return ColumnBounds(
        pa.array([min(rows, default=None) for rows in solid], kind),
        pa.array([max(rows, default=None) for rows in solid], kind),
        count,
        nulls,
        count - nulls - valued,
        kind == pa.float64(),
    )


def test_places_stand_as_spark_sorts():
    rows = [None, -math.inf, -1.5, 0.0, math.inf, math.nan]
    for descending in (False, True):
        valued = rows[:0:-1] if descending else rows[1:]
        for nulls_first in (False, True):
            wanted = [None, *valued] if nulls_first else [*valued, None]
            direction = Direction(descending, nulls_first)
            assert [str(v) for v in sorted(rows, key=direction.place)] == [str(v) for v in wanted]
    assert Direction(True, False).place(-0.0) == Direction(True, False).place(0.0)


def test_a_nan_is_no_bound():
    """Writers once took it for one; the file's other values may stand anywhere."""
    nan, two = pa.array([math.nan]), np.array([2], dtype=np.int64)
    for direction in (Direction(False, False), Direction(True, True)):
        key = FileOrderKey(ColumnBounds(nan, nan, two, two * 0, two // 2, True), direction)
        assert key.first(0) <= min(direction.place(v) for v in (-math.inf, math.inf))
        assert key.last_tiers[0] > max(direction.place(v)[0] for v in (math.inf, math.nan))


def test_a_text_that_was_altered_is_no_bound():
    """What isn't UTF-8 is U+FFFD in a writer's bounds: the text itself may stand anywhere."""
    altered, one = pa.array(["\ufffd".encode()]), np.array([1], dtype=np.int64)
    for direction in (Direction(False, False), Direction(True, True)):
        key = FileOrderKey(ColumnBounds(altered, altered, one, one * 0, one * 0), direction)
        assert key.first(0) < min(direction.place(v) for v in (b"", b"\xff"))
        assert key.last_tiers[0] > direction.place(b"")[0]


def test_places_of_texts_compare_by_every_operator():
    first, last = (Direction(True, True).place(text) for text in (b"b", b"a"))
    assert first < last and first <= last and last > first and last >= first
    assert first <= first and not last <= first and max(first, last) == last
