"""Sets as bytes: whatever the form, they come back; both ways to write them give the same bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from indexes.inverted import postings
from indexes.inverted.postings import BITS, PLAIN, ROARING, RUNS, decode, encode, encode_mask, union
from tests.support.extent import sized

BOUNDS = st.sampled_from([1, 5, 16, 17, 128, 65_535, 65_536, 65_537, 200_000])


@st.composite
def sets(draw, bound: int) -> np.ndarray:
    """A set below the bound: empty, few, runs, dense, or all."""
    seed = np.random.default_rng(draw(st.integers(0, 2**32)))
    how = draw(st.sampled_from(["none", "few", "range", "runs", "dense", "all"]))
    if how == "range":
        return np.arange(*sorted(seed.integers(0, bound + 1, 2)))
    if how == "runs":
        found = np.unique(seed.integers(0, bound, 9)[:, None] + np.arange(draw(st.integers(1, 40))))
        return found[found < bound]
    share = {"none": 0.0, "few": 10 / bound, "dense": draw(st.floats(0, 1)), "all": 1.0}[how]
    return np.flatnonzero(seed.random(bound) < share)


@settings(max_examples=sized(25, full=50), deadline=None)
@given(st.data(), BOUNDS, st.booleans())
def test_sets_come_back(data, bound, small_slices):
    some = data.draw(st.lists(sets(bound), max_size=6))
    numbers = np.concatenate([np.empty(0, np.int64), *some]).astype(np.uint32)
    with pytest.MonkeyPatch.context() as patch:
        if small_slices:
            patch.setattr(postings, "_LARGE", 1000)
            patch.setattr(postings, "_SLICE", 3000)
        written = encode(numbers, np.array([len(one) for one in some], np.int64), bound)
    offsets = written.offsets.tolist()
    parts = [
        (written.data[a:b], int(form))
        for a, b, form in zip(offsets, offsets[1:], written.forms, strict=False)
    ]
    assert offsets[-1] == len(written.data)
    for one, (part, form) in zip(some, parts, strict=True):
        assert decode(part, form, bound) == BitMap(one.tolist())
        mask = np.zeros(bound, dtype=bool)
        mask[one] = True
        assert encode_mask(mask) == (part, form)
    assert union(parts, bound) == BitMap(numbers.tolist())


@pytest.mark.parametrize(
    ("numbers", "bound", "form", "size"),
    [
        ([], 10, PLAIN, 0),
        ([3, 9], 10, BITS, 2),
        (range(2, 900), 1000, RUNS, 4),
        ([1, 40_000], 65_536, PLAIN, 4),
        ([1, 40_000], 65_537, PLAIN, 8),
        (range(7, 65_000), 100_000, RUNS, 8),
        (range(0, 100_000, 2), 100_000, ROARING, 8 + 2 * 8 + 2 * 8192),
        (range(0, 10_000, 20), 100_000, ROARING, 8 + 8 + 2 * 500),
    ],
)
def test_the_smallest_form_is_taken(numbers, bound, form, size):
    chosen = np.array([*numbers], np.uint32)
    written = encode(chosen, np.array([len(chosen)]), bound)
    assert (written.forms.tolist(), written.lengths.tolist()) == ([form], [size])


def test_a_roaring_set_is_the_portable_format():
    numbers = np.concatenate([np.arange(0, 60_000, 2), np.arange(70_000, 90_000, 3)])
    written = encode(numbers.astype(np.uint32), np.array([len(numbers)]), 100_000)
    assert written.forms.tolist() == [ROARING]
    assert written.data == BitMap(numbers.tolist()).serialize()


@pytest.mark.parametrize(
    ("data", "form", "bound"),
    [
        (b"\x01", PLAIN, 10),
        (b"\x01\0\x02", RUNS, 10),
        (b"\x01", BITS, 10),
        (b"\x01\0\0\0", BITS, 10),
        (b"\0\x80", BITS, 10),
        (b"\x0a\0", PLAIN, 10),
        (b"\x05\0\x09\0", RUNS, 10),
        (b"\x01\0", ROARING, 10),
        (b"nonsense", ROARING, 100_000),
        (BitMap([100_000]).serialize(), ROARING, 100_000),
        (b"", 4, 10),
    ],
)
def test_what_is_no_set_is_refused(data, form, bound):
    with pytest.raises(ValueError):
        decode(data, form, bound)
