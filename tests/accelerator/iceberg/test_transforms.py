"""What partition values say of the values that they were made from, against PyIceberg's transforms.

Strategy: hypothesis draws values of each type and a transform; the partition's value is made by
PyIceberg. Invariants: the value is in the range that is told, and in the bucket that is its own.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    MonthTransform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import (
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from accelerator.iceberg.statistics.file_statistics import arrow_kind
from accelerator.iceberg.tables.transforms import Derived, Transform, bucket_of, range_of
from tests.support.extent import sized

TYPES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "int": (IntegerType(), st.integers(-(2**31) + 100, 2**31 - 1)),
    "bigint": (LongType(), st.integers(-(2**63) + 100, 2**63 - 1)),
    "date": (DateType(), st.integers(-200_000, 200_000)),
    "timestamp": (TimestamptzType(), st.integers(-(10**16), 10**16)),
    "timestamp_ntz": (TimestampType(), st.integers(-(10**10), 10**10)),
    "decimal(18,3)": (DecimalType(18, 3), st.integers(-(10**17), 10**17)),
    "string": (StringType(), st.text(max_size=6)),
}
_TIMES = {
    "year": YearTransform(),
    "month": MonthTransform(),
    "day": DayTransform(),
    "hour": HourTransform(),
}


@settings(max_examples=sized(120, full=400), deadline=None)
@given(st.data())
def test_a_value_is_in_the_range_of_its_partition(data: st.DataObject) -> None:
    type_ = data.draw(st.sampled_from(sorted(TYPES)))
    value = data.draw(TYPES[type_][1])
    if type_ in ("date", "timestamp", "timestamp_ntz"):
        kinds = ["year", "month", "day"] + (["hour"] if type_ != "date" else [])
        transform = Transform(data.draw(st.sampled_from(kinds)))
        made = _TIMES[transform.kind].transform(TYPES[type_][0])(value)
    else:
        transform = Transform("truncate", data.draw(st.integers(1, 100)))
        made = _truncated(value, type_, transform.width)
    lower, upper = _range(transform, made, type_)
    kept = value.encode() if isinstance(value, str) else value
    assert lower is None or lower <= kept
    assert upper is None or kept <= upper
    if type_ not in ("int", "bigint") or abs(value) < 2**30:
        assert lower is not None
        assert upper is not None


@pytest.mark.parametrize(
    ("transform", "made", "type_", "told"),
    [
        (Transform("year"), 1, "date", (365, 729)),
        (Transform("month"), 2, "date", (59, 89)),
        (Transform("day"), 1, "date", (1, 1)),
        (Transform("day"), 1, "timestamp", (86_400_000_000, 172_799_999_999)),
        (Transform("hour"), 1, "timestamp_ntz", (3_600_000_000, 7_199_999_999)),
        # Old writers rounded up before 1970.
        (Transform("day"), 0, "timestamp", (-86_400_000_000, 86_399_999_999)),
        (Transform("year"), -1, "date", (-731, -1)),
        (Transform("day"), -1, "date", (-1, -1)),
        (Transform("truncate", 10), 20, "int", (20, 29)),
        (Transform("truncate", 10), 2**31 - 5, "int", (None, None)),
        (Transform("truncate", 2), "xy", "string", (b"xy", b"xy\xff")),
        (Transform("truncate", 2), "é", "string", ("é".encode(), "é".encode())),
        (Transform("identity"), float("nan"), "double", (None, None)),
        (Transform("identity"), 2.5, "double", (2.5, 2.5)),
        (Transform("day"), 2**31 - 1, "timestamp", (None, None)),
        (Transform("year"), None, "date", (None, None)),
    ],
)
def test_ranges(transform: Transform, made: Any, type_: str, told: tuple[Any, Any]) -> None:
    assert _range(transform, made, type_) == told


@settings(max_examples=sized(60, full=200), deadline=None)
@given(st.data())
def test_a_value_is_in_its_bucket(data: st.DataObject) -> None:
    type_ = data.draw(st.sampled_from(sorted(TYPES)))
    iceberg, values = TYPES[type_]
    value = data.draw(values)
    buckets = data.draw(st.integers(1, 1000))
    plain = Decimal(value).scaleb(-3) if type_.startswith("decimal") else value
    expected = BucketTransform(buckets).transform(iceberg)(plain)
    kept = value.encode() if isinstance(value, str) else value
    assert bucket_of(kept, type_, buckets) == expected


def _truncated(value: Any, type_: str, width: int) -> Any:
    transform = TruncateTransform(width).transform(TYPES[type_][0])
    if type_.startswith("decimal"):
        return int(transform(Decimal(value).scaleb(-3)).scaleb(3))
    return transform(value)


def _range(transform: Transform, made: Any, type_: str) -> tuple[Any, Any]:
    made = made.encode() if isinstance(made, str) else made
    values = pa.array([made], arrow_kind(type_))
    found = range_of(Derived(transform, np.ones(1, dtype=bool), values), type_)
    assert found is not None
    return found.lower[0].as_py(), found.upper[0].as_py()
