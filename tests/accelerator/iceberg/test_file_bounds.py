"""Bounds of manifests as columns of values, against each value by itself."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.conversions import from_bytes
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

from accelerator.iceberg.tables.files_table import _bounds, _Leaf

KINDS = (
    *(BinaryType(), BooleanType(), DateType(), DoubleType(), FloatType(), IntegerType()),
    *(LongType(), StringType(), TimestampType(), TimestamptzType(), UUIDType()),
    *(DecimalType(9, 2), DecimalType(18, 0), DecimalType(19, 4), DecimalType(38, 38)),
)
EDGES = [
    *(n.to_bytes(16, "big", signed=True) for n in (10**19 - 1, 10**19, -(10**19), 1 - 10**19)),
    *(n.to_bytes(16, "big", signed=True) for n in (10**38 - 1, 10**38, -(10**38), 1 - 10**38)),
    *(
        b"\xff",
        b"\x80",
        b"\x00\x80",
        b"",
        b"\x01" * 17,
        b"\xff\xfe",
        "é€".encode(),
        b"\xed\xa0\x80",
    ),
    *(struct.pack("<d", -0.0), struct.pack("<f", float("nan")), struct.pack("<i", -1), b"\x02"),
]


def _expected(raw: bytes | None, kind: PrimitiveType) -> Any:
    """One value as PyIceberg has it; None where the bytes aren't one."""
    widths = {IntegerType: (4,), DateType: (4,), FloatType: (4,), BooleanType: (1,)}
    widths |= {LongType: (4, 8), DoubleType: (4, 8), UUIDType: (16,)}
    widths |= {TimestampType: (8,), TimestamptzType: (8,), DecimalType: tuple(range(1, 17))}
    if raw is None or len(raw) not in widths.get(type(kind), (len(raw),)):
        return None
    try:
        value = from_bytes(kind, raw)
    except UnicodeDecodeError:
        return None
    if isinstance(kind, DecimalType) and len(value.as_tuple().digits) > kind.precision:
        return None
    return value


def _plain(values: pa.Array) -> list[Any]:
    if pa.types.is_date(values.type):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    return values.to_pylist()


@pytest.mark.parametrize("kind", KINDS, ids=str)
@settings(deadline=None)
@given(drawn=st.lists(st.none() | st.sampled_from(EDGES) | st.binary(max_size=18), max_size=12))
def test_bounds_are_those_of_each_value(kind: PrimitiveType, drawn: list[bytes | None]) -> None:
    for raw in (drawn, EDGES):
        found = _bounds(pa.array(raw, pa.binary()), _Leaf("x", 1, kind))
        found.validate(full=True)
        expected = [_expected(one, kind) for one in raw]
        if isinstance(kind, UUIDType):
            expected = [one and f"{one.hex()[:8]}-{one.hex()[8:12]}" for one in expected]
            assert [one and one[:13] for one in found.to_pylist()] == expected
        else:
            assert list(map(repr, _plain(found))) == list(map(repr, expected))


def test_a_slice_of_bounds() -> None:
    raw = pa.array([b"\x01", None, b"\x7f\xff", b"\xff"], pa.binary()).slice(1)
    leaf = _Leaf("x", 1, DecimalType(10, 2))
    assert _bounds(raw, leaf).to_pylist() == [None, Decimal("327.67"), Decimal("-0.01")]
