"""Bounds of manifest entries as numbers, and what fixes or contradicts them."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelerator.iceberg.files import DeleteRef, LiveFile
from accelerator.iceberg.identity import Place
from accelerator.iceberg.statistics import ColumnStatistics, FileStatistics, ListedFiles

A = 1
"""The field id of the one column."""


def _file(
    bounds: tuple[bytes, bytes] | None,
    *,
    rows: int = 3,
    nulls: int | None = 0,
    partition: tuple[object, ...] = (),
    deletes: tuple[DeleteRef, ...] = (),
    path: str = "",
) -> LiveFile:
    return LiveFile(
        path=path or f"f{id(bounds)}{partition}{rows}",
        sequence_number=1,
        size_bytes=10,
        record_count=rows,
        file_format="parquet",
        spec_id=1 if partition else 0,
        deletes=deletes,
        null_counts={} if nulls is None else {A: nulls},
        nan_counts={A: 0},
        value_counts={A: rows},
        lower={} if bounds is None else {A: bounds[0]},
        upper={} if bounds is None else {A: bounds[1]},
        partition=partition,
    )


def _column(files: list[LiveFile], type_: str) -> ColumnStatistics:
    return FileStatistics(ListedFiles(files, {0: {}, 1: {A: Place(0, 1000)}})).column(A, type_)


@pytest.mark.parametrize(
    ("type_", "lower", "upper", "values"),
    [
        ("int", struct.pack("<i", -5), struct.pack("<i", 7), (-5, 7)),
        ("bigint", struct.pack("<i", -5), struct.pack("<q", 2**40), (-5, 2**40)),
        ("date", struct.pack("<i", -1), struct.pack("<i", 19000), (-1, 19000)),
        ("timestamp", struct.pack("<q", -1), struct.pack("<q", 5), (-1, 5)),
        ("decimal(10,2)", b"\xff", b"\x01\x00", (-1, 256)),
        ("decimal(18,0)", b"\x80" + bytes(7), b"\x7f" + b"\xff" * 7, (-(2**63), 2**63 - 1)),
        ("decimal(38,2)", b"\xff", b"\x01", (None, None)),
        ("double", struct.pack("<f", 0.5), struct.pack("<d", 2.25), (0.5, 2.25)),
        ("string", b"a", "ä".encode(), (b"a", "ä".encode())),
        ("int", struct.pack("<q", 5), b"", (None, None)),
        ("timestamp", struct.pack("<i", 5), struct.pack("<q", 6), (None, 6)),
        ("boolean", b"\x00", b"\x01", (0, 1)),
        ("binary", b"\x00", b"\x01", (None, None)),
    ],
)
def test_bounds_are_read_by_type_and_width(
    type_: str, lower: bytes, upper: bytes, values: tuple[Any, Any]
) -> None:
    bounds = _column([_file(None), _file((lower, upper)), _file(None)], type_).bounds
    assert bounds.lower.to_pylist() == [None, values[0], None]
    assert bounds.upper.to_pylist() == [None, values[1], None]


@settings(deadline=None)
@given(st.lists(st.none() | st.integers(-(10**18) + 1, 10**18 - 1), max_size=6))
def test_decimals_of_any_width(values: list[int | None]) -> None:
    def text(value: int) -> bytes:
        return value.to_bytes(max(1, (value.bit_length() + 8) // 8), "big", signed=True)

    files = [_file(None if v is None else (text(v), text(v))) for v in values]
    found = _column(files, "decimal(18,4)")
    assert found.bounds.lower.to_pylist() == values
    assert found.fixed.tolist() == [v is not None for v in values]


def test_a_partition_fixes_the_value_whatever_the_bounds() -> None:
    seven = struct.pack("<i", 7)
    right = _column([_file((seven, seven), partition=(7,)), _file(None, partition=(None,))], "int")
    assert right.bounds.lower.to_pylist() == [7, None]
    assert right.bounds.nulls.tolist() == [0, 3]
    assert (right.fixed.tolist(), right.contradicts) == ([True, True], False)
    assert _column([_file((seven, seven), partition=(8,))], "int").contradicts
    assert _column([_file((seven, seven), partition=(None,))], "int").contradicts


def test_a_partition_is_proven_by_bounds_of_the_file() -> None:
    seven = struct.pack("<i", 7)
    files = [
        _file((seven, seven), partition=(7,)),
        _file(None, partition=(7,)),
        _file(None, partition=(None,), nulls=3),
        _file(None, partition=(None,), nulls=None),
        _file(None),
    ]
    assert _column(files, "int").unproven.tolist() == [False, True, False, True, False]
    one, nine = struct.pack("<i", 1), struct.pack("<i", 9)
    wide = _column([_file((one, nine), partition=(7,)), _file((seven, seven), nulls=2)], "int")
    assert wide.unproven.tolist() == [True, False] and not wide.contradicts
    some = _column([_file((seven, seven), partition=(7,), nulls=1)], "int")
    assert some.unproven.tolist() == [True]


def test_a_partition_of_floats_claims_nothing() -> None:
    two = struct.pack("<d", 2.0)
    found = _column([_file((two, two), partition=(2.0,)), _file((two, two))], "double")
    assert found.bounds.bounded.tolist() == [False, True]
    assert found.fixed.tolist() == [False, False]  # −0.0 and NaN may hide behind a bound


def test_a_partition_of_booleans_claims_nothing() -> None:
    true = b"\x01"
    files = [_file((true, true), partition=(True,)), _file((true, true), partition=(None,))]
    found = _column(files, "boolean")
    assert found.fixed.tolist() == [False, False]
    assert found.unproven.tolist() == [True, True]


def test_counts_that_miss_rows_say_nothing() -> None:
    file = _file(None, nulls=3)
    short = LiveFile(**{**_fields(file), "value_counts": {A: 2}, "path": "short"})
    found = _column([file, short], "int")
    assert found.bounds.always_null.tolist() == [True, False]
    assert found.bounds.nulls.tolist() == [3, -1]


def test_rows_that_are_left() -> None:
    vector = DeleteRef("p", "dv", 2, 2)
    position = DeleteRef("q", "position", 2, 1)
    files = [
        _file(None, path="a"),
        _file(None, path="b", deletes=(vector,)),
        _file(None, path="c", deletes=(position,)),
        _file(None, path="d", deletes=(vector, position)),
        _file(None, path="a"),
    ]
    statistics = FileStatistics(ListedFiles(files, {0: {}}))
    assert statistics.alive.tolist() == [3, 1, -1, -1, 3]
    assert statistics.source.single.tolist() == [False, True, True, True, False]
    chosen = np.array([True, False, True, False, False])
    assert [f.path for f in statistics.source.live(chosen)] == ["a", "c"]


def test_no_file_at_all() -> None:
    found = _column([], "int")
    assert found.bounds.lower.type == pa.int64()
    assert len(found.fixed) == 0


def _fields(file: LiveFile) -> dict[str, Any]:
    return {name: getattr(file, name) for name in LiveFile.__slots__}
