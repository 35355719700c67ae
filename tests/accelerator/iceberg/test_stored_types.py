"""Which types of a file's columns are read in process: those of the specification, and narrower."""

from __future__ import annotations

import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accelerator.iceberg.io import LocalInputs
from accelerator.iceberg.rows.stored_types import check_types, unread
from accelerator.iceberg.tables.data_file import LiveFile

_UTC = pa.timestamp("us", "UTC")


def _schema(type_: pa.DataType, name: str = "c", number: int | None = 1) -> pa.Schema:
    metadata = None if number is None else {"PARQUET:field_id": str(number)}
    return pa.schema([pa.field(name, type_, metadata=metadata)])


@pytest.mark.parametrize(
    ("stored", "wanted", "is_read"),
    [
        (pa.int32(), pa.int32(), True),
        (pa.int32(), pa.int64(), True),
        (pa.int8(), pa.int32(), True),
        (pa.int64(), pa.int32(), False),
        (pa.uint32(), pa.int64(), False),
        (pa.uint8(), pa.int32(), False),
        (pa.float32(), pa.float64(), True),
        (pa.float64(), pa.float32(), False),
        (pa.decimal128(5, 2), pa.decimal128(9, 2), True),
        (pa.decimal128(5, 1), pa.decimal128(9, 2), False),
        (pa.string(), pa.large_string(), True),
        (pa.dictionary(pa.int32(), pa.string()), pa.large_string(), True),
        (pa.binary(), pa.large_string(), False),
        (pa.binary(), pa.large_binary(), True),
        (pa.date32(), pa.date32(), True),
        (pa.int32(), pa.date32(), False),
        (_UTC, _UTC, True),
        (pa.timestamp("us"), _UTC, False),
        (_UTC, pa.timestamp("us"), False),
        (pa.timestamp("ns"), _UTC, False),
        (pa.timestamp("ms", "UTC"), _UTC, False),
        (pa.list_(pa.int32()), pa.large_list(pa.int64()), True),
        (pa.list_(pa.timestamp("ns")), pa.large_list(_UTC), False),
        (pa.struct({"a": pa.uint16()}), pa.struct({"a": pa.int32()}), False),
        (pa.int32(), pa.struct({"a": pa.int32()}), False),
    ],
)
def test_what_is_read(stored: pa.DataType, wanted: pa.DataType, is_read: bool) -> None:
    for number in (1, None):  # with field ids, and by names alone
        found = unread(_schema(stored, number=number), _schema(wanted))
        assert found == (None if is_read else "c")


def test_columns_are_found_as_iceberg_finds_them() -> None:
    nanos = pa.timestamp("ns")
    assert unread(_schema(nanos, "old", 1), _schema(_UTC, "new", 1)) == "old"
    assert unread(_schema(nanos, "c", 2), _schema(_UTC, "c", 1)) is None
    assert unread(_schema(nanos, "C", None), _schema(_UTC, "c", 1)) == "C"
    assert unread(_schema(nanos, "mapped", None), _schema(_UTC, "c", 1)) == "mapped"


def test_days_that_int96_has_and_nanoseconds_lack(tmp_path: Path) -> None:
    path = str(tmp_path / "old.parquet")
    last = datetime.datetime(2200, 12, 31, tzinfo=datetime.UTC)
    rows = pa.table({"c": pa.array([last], _UTC)})
    pq.write_table(rows, path, use_deprecated_int96_timestamps=True)
    size = Path(path).stat().st_size
    file = LiveFile(path, 1, size, 1, "parquet", 0)
    for _ in range(2):  # the second time its footer is known
        with pytest.raises(ValueError, match=r"old.parquet has c as timestamp\[ns\]"):
            check_types(LocalInputs(), [file], _schema(_UTC))
    orc = LiveFile("a.orc", 1, 1, 1, "orc", 0)
    check_types(LocalInputs(), [orc], _schema(pa.int32()))
    with pytest.raises(ValueError, match="nanoseconds"):
        check_types(LocalInputs(), [orc], _schema(_UTC))
