"""Many rows as JSON by compiled code: the same bytes as by Arrow's functions, or the same error."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelerator.errors import UnrepresentableError
from accelerator.gateway.trino.json import bulk, encode, kernels

bulk.KERNELS.load()

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_COLUMNS = {
    "i64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "i32": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "i8": (pa.int8(), st.integers(-128, 127)),
    "d0": (pa.decimal128(18, 0), st.decimals(-(10**17), 10**17, places=0)),
    "d2": (pa.decimal128(12, 2), st.decimals(-(10**9), 10**9, places=2)),
    "d18": (pa.decimal128(18, 18), st.decimals("-0.9", "0.9", places=18)),
    "wide": (pa.decimal128(38, 4), st.decimals(-(10**30), 10**30, places=4)),
    "day": (pa.date32(), st.integers(-800_000, 3_000_000)),
    "near": (pa.date32(), st.integers(-25_567, 73_049)),
    "at": (pa.timestamp("us"), st.integers(-(10**15), 4 * 10**15)),
    "zoned": (pa.timestamp("us", "UTC"), st.integers(0, 10**15)),
    "text": (pa.string(), _TEXT),
    "plain": (pa.string(), st.text("abc é", max_size=8)),
    "flag": (pa.bool_(), st.booleans()),
    "real": (pa.float64(), st.floats(allow_nan=True)),
    "bytes": (pa.binary(), st.binary(max_size=6)),
    "list": (pa.list_(pa.int32()), st.lists(st.integers(-5, 5), max_size=3)),
}


@st.composite
def batches(draw):
    names = draw(st.lists(st.sampled_from(sorted(_COLUMNS)), min_size=1, max_size=5))
    count = draw(st.integers(1, 12))
    columns = []
    for name in names:
        kind, value = _COLUMNS[name]
        nulls = draw(st.booleans())
        cells = st.none() | value if nulls else value
        given = draw(st.lists(cells, min_size=count, max_size=count))
        if pa.types.is_date32(kind):
            columns.append(pa.array(given, pa.int32()).cast(kind))
        elif pa.types.is_timestamp(kind):
            columns.append(pa.array(given, pa.int64()).cast(kind))
        else:
            columns.append(pa.array(given, kind))
    batch = pa.RecordBatch.from_arrays(columns, [f"c{i}" for i in range(len(columns))])
    first = draw(st.integers(0, count - 1))
    return batch.slice(first)


def _by_arrow(batch, parametric):
    return bytes(encode._by_python(batch, parametric))


@settings(max_examples=300, deadline=None)
@given(batch=batches(), parametric=st.booleans())
def test_both_ways_give_the_same_bytes_in_bulk(batch, parametric):
    found = bytes(bulk.encoded(batch, parametric, kernels, bulk.KERNELS.days))
    assert found == _by_arrow(batch, parametric)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([-(2**63), 2**63 - 1, 0, -1, None]),
        pa.array([0, 9, 10, 99, 100, 999, 1000, 9999, 10_000, 99_999_999, 100_000_000]),
        pa.array(["0.00", "-0.01", "0.10", "-1.00", "99.99"]).cast(pa.decimal128(4, 2)),
        pa.array(["0.05", "-0.05"]).cast(pa.decimal128(2, 2)),
        pa.array(["", "\x1f", '"', "\\", "ä", None]),
        pa.array([None, None], pa.string()),
        pa.array([None], pa.int64()),
        pa.array([], pa.int64()),
    ],
)
def test_the_ends_of_each_kind(column):
    batch = pa.RecordBatch.from_arrays([column], ["c"])
    if not len(column):
        return
    found = bytes(bulk.encoded(batch, True, kernels, bulk.KERNELS.days))
    assert found == _by_arrow(batch, True)


def test_what_is_no_text_is_told():
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
    )
    batch = pa.RecordBatch.from_arrays([broken], ["c"])
    many = pa.Table.from_batches([batch] * bulk.ROWS_MIN).combine_chunks().to_batches()[0]
    with pytest.raises(UnrepresentableError, match="UTF-8"):
        encode.encode(many)


def test_many_rows_take_this_way():
    many = pa.RecordBatch.from_pydict({"a": list(range(bulk.ROWS_MIN)), "b": ["x"] * bulk.ROWS_MIN})
    assert bulk.rows(many, True) is not None
    assert bulk.rows(many.slice(1), True) is None
    assert encode.encode(many).startswith(b'[[0,"x"],[1,"x"]')
