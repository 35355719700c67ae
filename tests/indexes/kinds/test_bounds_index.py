"""BOUNDS: what a file's blob says, against its values, and bounds of many files side by side."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexes.domains import NotIndexableError, domain_of, to_domain
from indexes.inverted.dictionary import key_of
from indexes.kind import IndexedColumn, OptionError
from indexes.kinds.bounds import BOUNDS, LONGEST, TYPE, gathered, read_bounds

GOLDEN = Path(__file__).parents[1] / "golden" / "v1"
TYPES = {
    "bigint": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "double": (pa.float64(), st.floats()),
    "string": (pa.string(), st.text(max_size=4)),
    "binary": (pa.binary(), st.binary(max_size=4)),
    "boolean": (pa.bool_(), st.booleans()),
    "date": (pa.date32(), st.integers(-9999, 9999)),
}


def built(type_: str, values, parts: int = 1):
    stored = to_domain(pa.array(values, TYPES[type_][0]), type_)
    builder = BOUNDS.builder(IndexedColumn(type_, (len(values),)), BOUNDS.options(type_, {}))
    each = max(1, -(-len(stored) // parts))
    for at in range(0, len(stored), each):
        builder.add(stored.slice(at, each))
    (blob,) = builder.finish()
    assert (blob.type, blob.light) == (TYPE, True)
    return blob


def told(blob) -> dict:
    (row,) = read_bounds(blob.data).to_pylist()
    return row


@settings(deadline=None)
@given(st.data(), st.sampled_from(sorted(TYPES)), st.integers(1, 3))
def test_bounds_enclose_and_count(data, type_, parts):
    values = data.draw(st.lists(st.none() | TYPES[type_][1], max_size=12))
    row = told(built(type_, values, parts))
    held = [v for v in values if v is not None]
    numbers = [v for v in held if not (isinstance(v, float) and math.isnan(v))]
    assert row["nulls"] == len(values) - len(held)
    assert row["nans"] == len(held) - len(numbers)
    if not numbers:
        assert row["lower"] is row["upper"] is None
        return
    domain = domain_of(type_)
    plain = to_domain(pa.array(numbers, TYPES[type_][0]), type_).to_pylist()
    keys = [key_of(v, domain) for v in plain]
    assert key_of(row["lower"], domain) == min(keys)
    assert key_of(row["upper"], domain) == max(keys)
    assert row["tight"]


def test_long_texts_are_cut():
    long = "é" * LONGEST
    row = told(built("string", ["b", long]))
    assert (row["lower"], row["upper"], row["tight"]) == (b"b", None, False)
    row = told(built("string", [long]))
    assert long.encode().startswith(row["lower"]) and len(row["lower"]) == LONGEST
    assert not row["tight"]


def test_texts_that_are_none_only_enclose():
    builder = BOUNDS.builder(IndexedColumn("string", (2,)), {})
    builder.add(pa.array([b"\xff", b"a"], pa.large_binary()))
    (blob,) = builder.finish()
    assert told(blob)["upper"] == b"\xff" and not told(blob)["tight"]


def test_bounds_of_many_files_are_those_of_each():
    blobs = [built("bigint", values) for values in ([3, 1], [None], [], [7])]
    found = read_bounds(gathered(blobs))
    assert found.column("lower").to_pylist() == [1, None, None, 7]
    assert found.column("nulls").to_pylist() == [0, 1, 0, 0]


def test_what_is_no_table_of_bounds_is_refused():
    blob = built("string", ["a", "b"])
    for size in range(0, len(blob.data) - 8, 7):
        with pytest.raises(ValueError):
            read_bounds(blob.data[:size])
    with pytest.raises(ValueError):
        read_bounds(b"x" * 200)
    with pytest.raises(OptionError):
        BOUNDS.options("bigint", {"bits": 1})
    with pytest.raises(NotIndexableError):
        BOUNDS.options("array<int>", {})


def test_bytes_of_format_1_stay_readable():
    """Never change these bytes, add others."""
    path = GOLDEN / "bounds.bin"
    found = read_bounds(path.read_bytes())
    row = {"lower": b"a", "upper": b"\xc3\xa9", "nulls": 1, "nans": 0, "tight": True}
    assert found.to_pylist() == [row]
