"""Hashes and what Spark's own `xxhash64` gives of the same values."""

from __future__ import annotations

import math

import pytest

from indexes.hashing.xxhash64 import hash_of
from indexes.question import Value
from tests.spark.conftest import SparkWarehouse

pytestmark = pytest.mark.spark

_VALUES: list[tuple[str, Value]] = [
    *((f"CAST({n} AS BIGINT)", n) for n in (0, 1, -1, 42, (1 << 63) - 1, -(1 << 62))),
    ("CAST(CAST(7 AS INT) AS BIGINT)", 7),
    ("CAST(12.34 AS DECIMAL(10, 2))", 1234),
    ("TIMESTAMP_NTZ'1970-01-01 00:00:01'", 1_000_000),
    *((f"CAST('{x}' AS DOUBLE)", float(x)) for x in ("0.0", "-0.0", "1.5", "-2.25", "1e300")),
    *((f"CAST('{x}' AS DOUBLE)", float(x)) for x in ("Infinity", "-Infinity", "NaN")),
    ("CAST(CAST(0.1 AS FLOAT) AS DOUBLE)", 0.10000000149011612),
    *((f"'{text}'", text.encode()) for text in ("", "a", "größer", "中文", "😀", "x" * 31)),
    *((f"repeat('0123456789', {n})", b"0123456789" * n) for n in (3, 4, 7, 30)),
    *((f"CAST('{text}' AS BINARY)", text.encode()) for text in ("", "abc", "y" * 100)),
    ("X'FF00FE'", b"\xff\x00\xfe"),
]


def test_as_spark_hashes(spark_warehouse: SparkWarehouse) -> None:
    texts = ", ".join(f"xxhash64({text})" for text, _ in _VALUES)
    (row,) = spark_warehouse.sql(f"SELECT {texts}")
    found = [value % (1 << 64) for value in row]
    assert found == [hash_of(value) for _, value in _VALUES]
    assert any(isinstance(value, float) and math.isnan(value) for _, value in _VALUES)
