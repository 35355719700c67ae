"""Hashes of values against Iceberg's own bytes of them, and MurmurHash3 of another library."""

from __future__ import annotations

import uuid
from datetime import date, datetime, timedelta
from decimal import Decimal

import mmh3
import numpy as np
import pyarrow as pa
import pytest
from datasketches import compact_theta_sketch, update_theta_sketch
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.conversions import to_bytes
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from accelerator.services.statistics.sketches import theta
from accelerator.services.statistics.sketches.hashing import can_hash, hashes

_MAX = 2**63
_LONGS = st.integers(-_MAX, _MAX - 1)
_DAYS = st.integers(-700_000, 2_900_000)
_MICROS = st.integers(-(10**17), 10**17)
KINDS: dict[str, tuple[IcebergType, pa.DataType, st.SearchStrategy]] = {
    "boolean": (BooleanType(), pa.bool_(), st.booleans()),
    "int": (IntegerType(), pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "long": (LongType(), pa.int64(), _LONGS),
    "float": (FloatType(), pa.float32(), st.floats(width=32, allow_nan=False)),
    "double": (DoubleType(), pa.float64(), st.floats(allow_nan=False)),
    "decimal": (
        DecimalType(38, 4),
        pa.decimal128(38, 4),
        st.one_of(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(-40_000, 40_000)),
    ),
    "date": (DateType(), pa.int32(), _DAYS),
    "time": (TimeType(), pa.int64(), st.integers(0, 86_400_000_000 - 1)),
    "timestamp": (TimestampType(), pa.int64(), _MICROS),
    "timestamptz": (TimestamptzType(), pa.int64(), _MICROS),
    "string": (StringType(), pa.string(), st.text(max_size=40)),
    "large": (StringType(), pa.large_string(), st.text(max_size=40)),
    "binary": (BinaryType(), pa.binary(), st.binary(max_size=40)),
    "fixed": (FixedType(7), pa.binary(7), st.binary(min_size=7, max_size=7)),
    "fixed as bytes": (FixedType(7), pa.binary(), st.binary(min_size=7, max_size=7)),
    "uuid": (UUIDType(), pa.binary(16), st.binary(min_size=16, max_size=16)),
}
_VIEWS = {
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
}


def decimal(unscaled: int) -> Decimal:
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -4))


def reference(data: bytes) -> int:
    return mmh3.hash64(data, seed=9001, signed=False)[0] >> 1


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_value_is_hashed_as_iceberg_writes_it(kind, data):
    type_, arrow, values = KINDS[kind]
    drawn = data.draw(st.lists(st.one_of(st.none(), values), max_size=20))
    start = data.draw(st.integers(0, len(drawn)))
    if kind == "decimal":
        numbers = [None if one is None else decimal(one) for one in drawn]
        array = pa.array(numbers, arrow)
    else:
        array = pa.array(drawn, arrow)
    array = array.view(_VIEWS[kind]) if kind in _VIEWS else array
    wanted = []
    for one in drawn[start:]:
        if one is None:
            continue
        written = one
        if kind == "decimal":
            written = decimal(one)
        elif kind == "uuid":
            written = uuid.UUID(bytes=one)
        serialised = to_bytes(type_, written)
        if serialised:  # DataSketches passes over empty ones
            wanted.append(reference(serialised))
    assert hashes(array.slice(start), str(type_)).tolist() == wanted


def test_nanoseconds_are_eight_bytes_and_other_units_are_refused():
    values = pa.array([1, -1], pa.int64())
    wanted = [reference(n.to_bytes(8, "little", signed=True)) for n in (1, -1)]
    for zone in (None, "UTC"):
        found = hashes(values.view(pa.timestamp("ns", zone)), "timestamptz_ns")
        assert found.tolist() == wanted
    with pytest.raises(ValueError, match="can't be"):
        hashes(values.view(pa.timestamp("ns")), "timestamp")
    with pytest.raises(ValueError, match="can't be"):
        hashes(values, "int")
    with pytest.raises(ValueError, match="can't be"):
        hashes(pa.array(["1"]), "long")
    with pytest.raises(ValueError, match="aren't hashed"):
        hashes(values, "struct<1: a: int>")
    assert not can_hash("list<int>") and can_hash("decimal(9, 2)") and can_hash("fixed[3]")


@given(st.lists(_LONGS, max_size=300), st.lists(st.text(max_size=20), max_size=50))
@settings(max_examples=40, deadline=None)
def test_a_sketch_has_the_library_s_own_bytes(numbers, texts):
    longs, strings = update_theta_sketch(12), update_theta_sketch(12)
    for number in numbers:
        longs.update(number)
    for text in texts:
        strings.update(text)
    found = theta.EMPTY.updated(hashes(pa.array(numbers, pa.int64()), "long"))
    assert found.to_bytes() == longs.compact().serialize()
    found = theta.EMPTY.updated(hashes(pa.array(texts, pa.string()), "string"))
    assert found.to_bytes() == strings.compact().serialize()


@given(st.lists(st.tuples(st.integers(0, 30_000), st.integers(0, 20_000)), max_size=6))
@settings(max_examples=25, deadline=None)
def test_parts_of_rows_in_any_order_are_one_sketch(ranges):
    parts = []
    for start, count in ranges:
        values = pa.array(np.arange(start, start + count))
        parts.append(theta.EMPTY.updated(hashes(values, "long")))
    together, back = theta.EMPTY, theta.EMPTY
    for one in parts:
        together = together.merged(one)
    for one in reversed(parts):
        back = one.merged(back)
    assert together.to_bytes() == back.to_bytes()
    distinct = len(set().union(*(range(start, start + count) for start, count in ranges)))
    told = compact_theta_sketch.deserialize(together.to_bytes())
    assert told.get_estimate() == together.estimate
    if distinct <= theta.NOMINAL and together.is_exact:
        assert together.estimate == distinct
    assert abs(together.estimate - distinct) <= 0.08 * distinct  # five times the standard error
    again = theta.parsed(together.to_bytes())
    assert again.to_bytes() == together.to_bytes()
    for one in parts:  # what it has already changes nothing
        assert together.merged(one).to_bytes() == together.to_bytes()


def test_other_writers_sketches_are_read():
    ours = theta.EMPTY.updated(hashes(pa.array(np.arange(50_000)), "long"))
    theirs = update_theta_sketch(13)
    for number in range(50_000):
        theirs.update(number)
    read = theta.parsed(theirs.compact().serialize())
    assert len(read.hashes) > theta.NOMINAL  # they keep more
    below = read.hashes[read.hashes < np.uint64(ours.theta)]
    assert below.tolist() == ours.hashes.tolist()
    assert ours.merged(read).to_bytes() == ours.to_bytes()


@given(st.binary(max_size=80))
def test_bytes_that_are_no_sketch_are_refused(data):
    try:
        found = theta.parsed(data)
    except ValueError:
        return
    assert theta.parsed(found.to_bytes()).to_bytes() == found.to_bytes()


@given(st.integers(0, 3), st.data())
@settings(max_examples=150)
def test_altered_sketches_are_refused_or_sketches(size, data):
    rows = (0, 1, 30, 6000)[size]
    made = theta.EMPTY.updated(hashes(pa.array(np.arange(rows)), "long")).to_bytes()
    place = data.draw(st.integers(0, min(len(made) - 1, 40)))
    altered = bytearray(made)
    altered[place] = data.draw(st.integers(0, 255))
    for one in (bytes(altered), made[:place], made + b"\0"):
        try:
            found = theta.parsed(one)
        except ValueError:
            continue
        assert (np.diff(found.hashes.astype(object)) > 0).all()
        assert not len(found.hashes) or int(found.hashes[-1]) < found.theta


def test_dates_and_times_are_the_same_as_numbers():
    days = pa.array([date(1969, 12, 31), date(2026, 1, 1)])
    moments = pa.array([datetime(1970, 1, 1) + timedelta(microseconds=5)], pa.timestamp("us"))
    assert hashes(days, "date").tolist() == hashes(days.view(pa.int32()), "int").tolist()
    assert (
        hashes(moments, "timestamp").tolist() == hashes(pa.array([5], pa.int64()), "long").tolist()
    )
