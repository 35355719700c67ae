"""Rows as the protocol's JSON, against a reference that goes through Python, value by value."""

from __future__ import annotations

import base64
import json
import math
import struct
import uuid
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trino.mapper import RowMapperFactory

from accelerator.errors import UnrepresentableError
from accelerator.gateway.trino.json import encode as json_encode
from accelerator.gateway.trino.json.encode import encode, estimate, pages
from accelerator.gateway.trino.types import columns

_TEXTS = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ['"', "\\", "\n", "\x00", "\x1f", "é", "😀", "\u2028", '{"a": "b\\n"}', ""]
)


def _decimals(precision, scale):
    most = 10**precision - 1
    return st.integers(-most, most).map(lambda one: Decimal(one).scaleb(-scale, _wide()))


def _wide():
    import decimal

    return decimal.Context(prec=60)


_SCALARS = {
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-128, 127),
    pa.int16(): st.integers(-(2**15), 2**15 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats() | st.sampled_from([0.0, -0.0, 1.0, 1e20, 1e22, 1e-5, 1e-7, 5e-324]),
    pa.decimal128(18, 2): _decimals(18, 2),
    pa.decimal128(38, 0): _decimals(38, 0),
    pa.decimal128(38, 38): _decimals(38, 38) | st.just(Decimal("1E-38")),
    pa.decimal128(12, 9): _decimals(12, 9) | st.just(Decimal(0)),
    pa.string(): _TEXTS,
    pa.large_string(): _TEXTS,
    pa.string_view(): _TEXTS,
    pa.binary(): st.binary(max_size=9),
    pa.binary(3): st.binary(min_size=3, max_size=3),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("us", tz="UTC"): st.datetimes(timezones=st.just(UTC)),
    pa.timestamp("ms"): st.datetimes().map(lambda one: one.replace(microsecond=0)),
    pa.time64("us"): st.times(),
    pa.duration("ms"): st.integers(-(10**12), 10**12).map(lambda one: timedelta(milliseconds=one)),
    pa.null(): st.none(),
}
_KEYS = [one for one in _SCALARS if one != pa.null() and not pa.types.is_floating(one)]


def _typed_values(inner):
    """Pairs of a type and a strategy of its values, nested."""
    of, type_ = inner[1], inner[0]
    return [
        (pa.list_(type_), st.lists(of, max_size=3)),
        (pa.large_list(type_), st.lists(of, max_size=3)),
        (pa.list_(type_, 2), st.lists(of, min_size=2, max_size=2)),
        (pa.struct([("a", type_), ("b", pa.int8())]), st.fixed_dictionaries({"a": of, "b": _INT})),
    ]


_INT = st.none() | st.integers(-128, 127)


@st.composite
def _columns(draw, rows):
    type_ = draw(st.sampled_from(list(_SCALARS)))
    of = st.none() | _SCALARS[type_]
    for _ in range(draw(st.integers(0, 2))):
        type_, inner = draw(st.sampled_from(_typed_values((type_, of))))
        of = st.none() | inner
    if draw(st.integers(0, 3)) == 0:
        key = draw(st.sampled_from(_KEYS))
        entries = st.lists(st.tuples(_SCALARS[key], of), max_size=3, unique_by=lambda one: one[0])
        type_, of = pa.map_(key, type_), st.none() | entries
    if draw(st.booleans()):
        found = draw(st.lists(of, min_size=rows, max_size=rows))
    else:  # of few values many rows
        some = draw(st.lists(of, min_size=1, max_size=3))
        found = [some[number % len(some)] for number in range(rows)]
    return pa.array(found, type_)


@st.composite
def _batches(draw):
    rows = draw(st.sampled_from([0, 1, 2, 3, 7, 50, 100]))
    found = draw(st.lists(_columns(rows), min_size=1, max_size=3))
    batch = pa.record_batch(found, names=[f"c{number}" for number in range(len(found))])
    start = draw(st.integers(0, rows))
    return batch.slice(start, draw(st.integers(0, rows - start)))


def _reference(value, type_):
    """What `json.loads` gives of the protocol's form, numbers of floats as they are."""
    t = pa.types
    if value is None:
        return None
    if t.is_map(type_):
        return {_key(key, type_.key_type): _reference(one, type_.item_type) for key, one in value}
    if t.is_list(type_) or t.is_large_list(type_) or t.is_fixed_size_list(type_):
        return [_reference(one, type_.value_type) for one in value]
    if t.is_struct(type_):
        return [_reference(value[field.name], field.type) for field in type_]
    if t.is_floating(type_):
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        return value
    if t.is_decimal(type_):
        return f"{value:f}"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        digits = 6 if type_.unit == "us" else 3
        fraction = f"{value.microsecond:06}"[:digits]
        text = f"{_day(value)} {value:%H:%M:%S}.{fraction}"
        return f"{text} UTC" if value.tzinfo else text
    if isinstance(value, date):
        return _day(value)
    if isinstance(value, time):
        return f"{value:%H:%M:%S}.{value.microsecond:06}"
    if isinstance(value, timedelta):
        whole = abs(value)
        seconds = whole.seconds
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        sign = "-" if value < timedelta(0) else ""
        return f"{sign}{whole.days} {clock}.{whole.microseconds // 1000:03}"
    return value


def _day(value):
    return f"{value.year:04}-{value.month:02}-{value.day:02}"


def _key(value, type_):
    found = _reference(value, type_)
    return found if isinstance(found, str) else json.dumps(found)


def _equal(one, other, type_):
    t = pa.types
    if one is None or other is None:
        return one is other
    if t.is_floating(type_) and not isinstance(other, str):
        if not isinstance(one, float):  # Java's client takes no whole number
            return False
        if t.is_float32(type_):
            one = struct.unpack("f", struct.pack("f", one))[0]
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    if t.is_map(type_):
        return list(one) == list(other) and all(
            _equal(one[key], other[key], type_.item_type) for key in one
        )
    if t.is_struct(type_):
        return all(_equal(a, b, f.type) for a, b, f in zip(one, other, type_, strict=True))
    if isinstance(one, list):
        return len(one) == len(other) and all(
            _equal(a, b, type_.value_type) for a, b in zip(one, other, strict=True)
        )
    return type(one) is type(other) and one == other


@settings(max_examples=150, deadline=None)
@given(_batches())
def test_rows_are_those_of_the_reference(batch):
    found = json.loads(encode(batch))
    assert len(found) == batch.num_rows
    pairs = [column.to_pylist() for column in batch.columns]
    for number, row in enumerate(found):
        for one, values_, field in zip(row, pairs, batch.schema, strict=True):
            assert _equal(one, _reference(values_[number], field.type), field.type), (one, field)


@settings(max_examples=150, deadline=None)
@given(_batches(), st.booleans())
def test_both_ways_give_the_same_bytes(batch, parametric):
    if not batch.num_rows:
        return
    assert bytes(json_encode._by_arrow(batch, parametric)) == json_encode._by_python(
        batch, parametric
    )


@settings(max_examples=100, deadline=None)
@given(_batches(), st.integers(1, 4000))
def test_pages_are_the_rows_in_order(batch, target):
    found = list(pages([batch, batch.slice(0, 0), batch], target))
    whole = pa.Table.from_batches([batch, batch])
    assert all(page.num_rows for page in found)
    rows = [row for page in found for row in json.loads(encode(page))]
    assert rows == json.loads(encode(whole))
    assert all(page.num_rows == 1 or estimate(page) <= 2 * target for page in found)


def test_pages_are_about_as_large_as_asked():
    batch = pa.record_batch({"a": range(100_000), "b": ["x" * 20] * 100_000})
    sizes = [len(encode(page)) for page in pages([batch], 1_000_000)]
    assert len(sizes) > 2
    assert all(300_000 < size < 1_000_000 for size in sizes[:-1])


def test_rows_of_different_widths_are_cut_into_even_pages():
    batch = pa.record_batch({"a": ["x"] * 999 + ["y" * 1_000_000] * 5})
    sizes = [len(encode(page)) for page in pages([batch], 1_100_000)]
    assert max(sizes) < 1_700_000


def _text(array, parametric=True):
    batch = pa.record_batch([array], names=["a"])
    found = encode(batch, parametric_datetime=parametric)
    assert bytes(json_encode._by_arrow(batch, parametric)) == json_encode._by_python(
        batch, parametric
    )
    return [row[0] for row in json.loads(found)]


def test_years_beyond_four_digits_have_a_sign():
    days = pa.array([2_932_896, 2_932_897, -719_528, -719_529, 2**31 - 1, -(2**31)], pa.int32())
    assert _text(days.cast(pa.date32())) == [
        *("9999-12-31", "+10000-01-01", "0000-01-01", "-0001-12-31"),
        *("+5881580-07-11", "-5877641-06-23"),
    ]
    ticks = pa.array([253402300800000000, -62167219200000001, 2**63 - 1, -(2**63)], pa.int64())
    assert _text(ticks.cast(pa.timestamp("us", "UTC"))) == [
        "+10000-01-01 00:00:00.000000 UTC",
        "-0001-12-31 23:59:59.999999 UTC",
        "+294247-01-10 04:00:54.775807 UTC",
        "-290308-12-21 19:59:05.224192 UTC",
    ]


def test_times_of_legacy_clients_are_rounded_to_milliseconds():
    ticks = pa.array([1_499, 1_500, -500, -501, -1_500, None], pa.int64())
    assert _text(ticks.cast(pa.timestamp("us")), False) == [
        *("1970-01-01 00:00:00.001", "1970-01-01 00:00:00.002", "1970-01-01 00:00:00.000"),
        *("1969-12-31 23:59:59.999", "1969-12-31 23:59:59.999", None),
    ]
    last = pa.array([time(23, 59, 59, 999_500), time(1, 2, 3)], pa.time64("us"))
    assert _text(last, False) == ["00:00:00.000", "01:02:03.000"]
    assert _text(pa.array([1], pa.timestamp("s"))) == ["1970-01-01 00:00:01"]
    assert _text(pa.array([1], pa.timestamp("s")), False) == ["1970-01-01 00:00:01.000"]


def test_uuids_and_dictionaries():
    one = uuid.uuid4()
    assert _text(pa.array([one.bytes, None], pa.uuid())) == [str(one), None]
    assert _text(pa.array(["a", None, "a"]).dictionary_encode()) == ["a", None, "a"]


def test_what_has_no_form_is_an_error_with_the_columns_name():
    bad = pa.array([b"\xff\xfe"], pa.binary()).view(pa.string())
    for count in (1, 100):
        batch = pa.record_batch({"ok": [1] * count, "odd": pa.concat_arrays([bad] * count)})
        with pytest.raises(UnrepresentableError, match="odd has a text that isn't UTF-8"):
            encode(batch)
    finer = pa.array([1], pa.duration("us"))
    with pytest.raises(UnrepresentableError, match=r"column a: .*millisecond"):
        encode(pa.record_batch({"a": finer}))
    nested = pa.array([[([1], 2)]], pa.map_(pa.list_(pa.int8()), pa.int8()))
    with pytest.raises(UnrepresentableError, match="a map with keys"):
        encode(pa.record_batch({"a": nested}))
    with pytest.raises(UnrepresentableError):
        encode(pa.record_batch({"a": pa.array([1], pa.uint8())}))


def test_maps_with_keys_that_are_floats():
    kind = pa.map_(pa.float64(), pa.float64())
    found = _text(pa.array([[(1.0, 2.0), (float("nan"), float("inf"))], None], kind))
    assert found == [{"1.0": 2.0, "NaN": "Infinity"}, None]


def test_no_columns_and_no_rows():
    assert encode(pa.table({"a": pa.array([], pa.int8())})) == b"[]"
    empty = pa.RecordBatch.from_struct_array(pa.array([{}, {}], pa.struct([])))
    assert encode(empty) == b"[[],[]]"


@settings(max_examples=100, deadline=None)
@given(_batches())
def test_trinos_python_client_reads_the_rows(batch):
    """Its mapper is made of the signatures and takes each value."""
    mapper = RowMapperFactory().create(columns(batch.schema), False)
    rows = json.loads(encode(batch))
    found = mapper.map(rows)
    assert len(found) == batch.num_rows
    for place, field in enumerate(batch.schema):
        if pa.types.is_decimal(field.type) or pa.types.is_binary(field.type):
            assert [row[place] for row in found] == batch.column(place).to_pylist()
