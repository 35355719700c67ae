"""Quantiles and heavy hitters: what they promise of rows, in whatever parts these come."""

from __future__ import annotations

import json
import struct
from collections import Counter
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from datasketches import kll_doubles_sketch
from hypothesis import given, settings
from hypothesis import strategies as st

from accelerator.services.statistics.sketches import heavy_hitters, quantiles
from accelerator.services.statistics.sketches.column import ColumnSketches, as_texts
from accelerator.services.statistics.sketches.heavy_hitters import BYTES_MAX, HELD, HeavyHitters
from accelerator.services.statistics.sketches.quantiles import SHARES, SIZE, Quantiles

SKEWED = st.builds(
    lambda seed, rows, spread: np.random.default_rng(seed).zipf(1.3, rows) % spread,
    st.integers(0, 10_000),
    st.integers(0, 3000),
    st.sampled_from([5, 400, 1_000_000]),
)


@given(st.lists(SKEWED, max_size=5))
@settings(max_examples=40, deadline=None)
def test_counts_are_within_the_error(parts):
    true: Counter[str] = Counter()
    found = HeavyHitters()
    for number, one in enumerate(parts):
        true.update(map(str, one.tolist()))
        updated = pc.value_counts(pa.array(one, pa.int64()))
        found = (
            found.updated(updated) if number % 2 else found.merged(HeavyHitters().updated(updated))
        )
    assert found.rows == true.total() and len(found.values) <= HELD
    for value, count in true.items():
        held = found.values.get(value, 0)
        assert held <= count <= held + found.error
    assert set(found.values) <= set(true)
    assert found.error <= found.rows / (HELD + 1) + len(parts) * 2
    assert heavy_hitters.parsed(found.to_bytes()) == found


def test_few_values_are_counted_exactly_and_long_texts_told():
    long, short = "x" * (BYTES_MAX + 1), "ä" * (BYTES_MAX // 2)
    texts = pa.array([long, short, short, long, long + "y"])
    found = HeavyHitters().updated(pc.value_counts(texts))
    assert found == HeavyHitters(rows=5, error=0, long=3, values={short: 2})
    assert list(found.merged(found).values.items()) == [(short, 4)]


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[]",
        b"\xff",
        b"{}",
        b"[" * 100_000,
        {"rows": 1},
        {"rows": 1, "error": 0, "long": 0, "values": [["a", 2]]},
        {"rows": 5, "error": 9, "long": 0, "values": []},
        {"rows": 5, "error": 0, "long": 6, "values": []},
        {"rows": 5, "error": 0, "long": 0, "values": [["a", 1], ["a", 1]]},
        {"rows": 5, "error": 0, "long": 0, "values": [["a", 0]]},
        {"rows": 5, "error": 0, "long": 0, "values": [["a", True]]},
        {"rows": 5, "error": 0, "long": 0, "values": [["a" * 300, 1]]},
        {"rows": 5, "error": 0, "long": 0, "values": [[1, 1]]},
        {"rows": 5, "error": 0, "long": 0, "values": [["a"]]},
        {"rows": 5, "error": 0, "long": 0, "values": 3},
        {"rows": 5, "error": 0, "long": 0, "values": [["\ud800", 1]]},
        {"rows": 1 << 70, "error": 0, "long": 0, "values": []},
        {"rows": 999, "error": 0, "long": 0, "values": [[str(n), 1] for n in range(300)]},
    ],
)
def test_other_heavy_hitters_are_refused(document):
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    with pytest.raises(ValueError):
        heavy_hitters.parsed(data)


@given(st.lists(st.integers(0, 4000), max_size=8), st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_quantiles_are_within_the_error_however_rows_come(sizes, seed):
    random, found, every = np.random.default_rng(seed), Quantiles(), []
    for number, size in enumerate(sizes):
        rows = random.normal(number, 3, size)
        every.append(rows)
        part = Quantiles()
        part.update(rows)
        found.merge(part)
    rows = np.sort(np.concatenate([*every, []]))
    assert found.rows == len(rows)
    again = quantiles.parsed(found.to_bytes())
    assert again.at() == found.at()
    if not len(rows):
        assert found.at() == []
        return
    values = found.at()
    assert (values[0], values[-1]) == (rows[0], rows[-1])
    for share, value in zip(SHARES, values, strict=True):
        low, high = (
            np.searchsorted(rows, [value, value], "left")[0],
            np.searchsorted(rows, value, "right"),
        )
        # Ten times what the sketch says: it's right 99 times of 100 only.
        assert low / len(rows) - 10 * found.error <= share <= high / len(rows) + 10 * found.error


@given(st.integers(0, 5000), st.data())
@settings(max_examples=150, deadline=None)
def test_altered_quantiles_are_refused_or_quantiles(rows, data):
    made = Quantiles()
    made.update(np.arange(rows, dtype=np.float64))
    written = made.to_bytes()
    place = data.draw(st.integers(0, min(len(written) - 1, 80)))
    altered = bytearray(written)
    altered[place] = data.draw(st.integers(0, 255))
    for one in (bytes(altered), written[:place], written + bytes(8)):
        try:
            found = quantiles.parsed(one)
        except ValueError:
            continue
        assert found.at() == sorted(found.at())


def test_quantiles_of_another_size_and_nan_are_refused():
    other = kll_doubles_sketch(SIZE // 2)
    other.update(np.arange(10.0))
    with pytest.raises(ValueError, match="another form or size"):
        quantiles.parsed(other.serialize())
    made = Quantiles()
    made.update(np.arange(3.0))
    for values in ([np.nan] * 3, [0.0, 3.0, 1.0], [-1.0, 0.0, 2.0]):
        with pytest.raises(ValueError, match="values that are none"):
            quantiles.parsed(made.to_bytes()[:-24] + np.array(values).tobytes())
    single = Quantiles()
    single.update(np.array([1.0]))
    assert quantiles.parsed(single.to_bytes()).at() == [1.0] * 5
    with pytest.raises(ValueError, match="values that are none"):
        quantiles.parsed(single.to_bytes()[:-8] + np.array([np.nan]).tobytes())


@pytest.mark.parametrize(
    "counts",
    [
        [10, *[0] * 59],  # more levels than so many rows can have
        [1, 1, 1, 0],
        [*[1] * 59, 31],  # as many rows as wrap around
        [0] * 59 + [30],
    ],
)
def test_levels_that_a_merge_would_not_foresee_are_refused(counts):
    """The library would write beyond its memory as it merges such a sketch, and end the process."""
    rows = sum(count << level for level, count in enumerate(counts))
    end = quantiles._capacity(len(counts))
    begins = [end - sum(counts[level:]) for level in range(len(counts))]
    data = struct.pack("<BBBBHBB", 5, 1, 15, 0, SIZE, 8, 0)
    data += struct.pack(f"<QHBB{len(counts)}I", rows, SIZE, len(counts), 0, *begins)
    data += struct.pack(f"<{2 + sum(counts)}d", *[0.0] * (2 + sum(counts)))
    with pytest.raises(ValueError, match="levels says that it has"):
        quantiles.parsed(data)


def test_a_column_leaves_out_null_and_nan():
    column = ColumnSketches.empty("double")
    column.update(pa.chunked_array([pa.array([1.0, None, float("nan"), -0.0])]))
    assert (column.nulls, column.quantiles.rows) == (1, 2)
    assert column.theta.estimate == 3  # NaN is a value that rows have
    again = ColumnSketches.parsed("double", column.blobs(), 1)
    assert again.theta.to_bytes() == column.theta.to_bytes()
    assert again.quantiles.at() == column.quantiles.at() == [0.0, 0.0, 1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="lacks"):
        ColumnSketches.parsed("double", {}, 0)


def test_quantiles_as_texts():
    assert as_texts([1.5, -2.0], "double") == ["1.5", "-2.0"]
    assert as_texts([1e30, -1e30], "long") == [str(2**63 - 1), str(-(2**63))]
    day = (date(2026, 3, 4) - date(1970, 1, 1)).days
    assert as_texts([float(day)], "date") == ["2026-03-04"]
    assert as_texts([86_400e6], "timestamp") == ["1970-01-02 00:00:00.000000"]
    assert as_texts([0.0], "timestamptz") == ["1970-01-01 00:00:00.000000Z"]
    with pytest.raises(ValueError):
        as_texts([float("inf")], "long")
