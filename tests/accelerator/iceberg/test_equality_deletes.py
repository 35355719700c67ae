"""Equality deletes as positions: what is equal, which deletes are Spark's, and files that lie."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
)

from accelerator.iceberg import CatalogSettings, DeleteRef, Lake, LiveFile, PinnedTable
from accelerator.iceberg.errors import EqualityDeletesError, NeedsSparkError
from accelerator.iceberg.rows.equality_deletes import _hit
from tests.support.pristine import catalog_of, properties_of

_SCHEMA = Schema(
    NestedField(1, "i", IntegerType()),
    NestedField(2, "s", StringType()),
    NestedField(3, "x", DoubleType()),
    NestedField(4, "f", FloatType()),
    NestedField(5, "p", DecimalType(9, 2)),
    NestedField(6, "d", DateType()),
    NestedField(7, "t", TimestampType()),
    NestedField(8, "b", BinaryType()),
    NestedField(9, "l", ListType(10, IntegerType(), element_required=False)),
)
_COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int32(), [1, 2, None, 2, 5]),
    "s": (pa.string(), ["a", None, "b", "a", ""]),
    "x": (pa.float64(), [0.0, -0.0, math.nan, None, 1.5]),
    "f": (pa.float32(), [-0.0, 0.0, None, math.nan, 2.5]),
    "p": (pa.decimal128(9, 2), [Decimal("1.50"), None, Decimal("-1.50"), Decimal(0), Decimal(7)]),
    "d": (pa.date32(), [date(2026, 1, 1), None, date(1900, 1, 1), date(2026, 1, 1), None]),
    "t": (pa.timestamp("us"), [0, None, -1, 10**15, 0]),
    "b": (pa.binary(), [b"", None, b"\xff", b"a", b"a"]),
    "l": (pa.list_(pa.int32()), [[1], None, [], [1], [2]]),
}
_IDS = {name: number for number, name in enumerate(_COLUMNS, 1)}


@pytest.fixture
def pinned(tmp_path: Path) -> Iterator[PinnedTable]:
    catalog = catalog_of(tmp_path)
    catalog.create_namespace("d")
    rows = {name: pa.array(values, type_) for name, (type_, values) in _COLUMNS.items()}
    catalog.create_table("d.t", _SCHEMA).append(pa.table(rows))
    catalog.engine.dispose()
    yield _pinned(tmp_path)


def _pinned(root: Path) -> PinnedTable:
    lake = Lake([CatalogSettings("lake", "sql", properties_of(root))], "lake", lambda: ("d",))
    found = lake.pin().pinned(("lake", "d", "t"))
    assert found is not None
    return found


def _delete(
    path: Path, values: dict[str, list[Any]], *, types: dict[str, pa.DataType] | None = None
) -> DeleteRef:
    """A delete file of those values, as a streaming writer makes it."""
    fields = [
        pa.field(
            name,
            (types or {}).get(name, _COLUMNS[name][0]),
            metadata={b"PARQUET:field_id": b"%d" % _IDS[name]},
        )
        for name in values
    ]
    arrays = [pa.array(one, field.type) for one, field in zip(values.values(), fields, strict=True)]
    pq.write_table(pa.table(arrays, schema=pa.schema(fields)), path)
    ids = tuple(_IDS[name] for name in values)
    return DeleteRef(str(path), "equality", 9, len(arrays[0]), equality_ids=ids)


def _file(pinned: PinnedTable, *refs: DeleteRef) -> LiveFile:
    return replace(pinned.live_files()[0], deletes=refs)


def _left(pinned: PinnedTable, *refs: DeleteRef) -> list[int]:
    """Places of the rows that are left, the same by each reader."""
    file = _file(pinned, *refs)
    gone = set(pinned.deletes().of(file).tolist())
    left = [place for place in range(5) if place not in gone]
    table = pinned.arrow(["i", "s"], [file])
    kept = [(_COLUMNS["i"][1][place], _COLUMNS["s"][1][place]) for place in left]
    assert [tuple(row.values()) for row in table.to_pylist()] == kept
    return left


@pytest.mark.parametrize(
    ("values", "left"),
    [
        ({"i": [2]}, [0, 2, 4]),
        ({"i": [None]}, [0, 1, 3, 4]),
        ({"i": []}, [0, 1, 2, 3, 4]),
        ({"i": [1, 1, 9]}, [1, 2, 3, 4]),
        ({"s": ["a", ""]}, [1, 2]),
        ({"p": [Decimal("-1.50"), Decimal("0.00")]}, [0, 1, 4]),
        ({"d": [date(2026, 1, 1)]}, [1, 2, 4]),
        ({"t": [0]}, [1, 2, 3]),
        ({"b": [b"a", None]}, [0, 2]),
        ({"i": [2, 2], "s": ["a", "b"]}, [0, 1, 2, 4]),
        ({"s": [None, "b"], "i": [2, None]}, [0, 3, 4]),
    ],
)
def test_what_is_equal(
    pinned: PinnedTable, tmp_path: Path, values: dict[str, list[Any]], left: list[int]
) -> None:
    assert _left(pinned, _delete(tmp_path / "e.parquet", values)) == left


def test_deletes_of_several_fields_and_kinds(pinned: PinnedTable, tmp_path: Path) -> None:
    """Each compares its own fields; beside them positions."""
    one = _delete(tmp_path / "one.parquet", {"i": [5]})
    two = _delete(tmp_path / "two.parquet", {"i": [1]})
    both = _delete(tmp_path / "both.parquet", {"i": [2, 5], "s": [None, "x"]})
    assert _left(pinned, one, two, both) == [2, 3]
    path = pinned.live_files()[0].path
    gone = {"file_path": [path], "pos": pa.array([2], pa.int64())}
    pq.write_table(pa.table(gone), tmp_path / "gone.parquet")
    places = DeleteRef(str(tmp_path / "gone.parquet"), "position", 9, 1)
    assert _left(pinned, one, places) == [0, 1, 3]


def test_a_widened_column_and_one_that_files_lack(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path)
    catalog.create_namespace("d")
    schema = Schema(NestedField(1, "i", IntegerType()), NestedField(2, "s", StringType()))
    table = catalog.create_table("d.t", schema)
    table.append(pa.table({"i": pa.array([1, 2, None], pa.int32()), "s": ["a", "b", "c"]}))
    with table.update_schema() as update:
        update.update_column("i", LongType())
        update.rename_column("i", "wide")
        update.add_column("more", StringType())
    catalog.engine.dispose()
    pinned = _pinned(tmp_path)
    old = _delete(tmp_path / "old.parquet", {"i": [2]})
    new = _delete(tmp_path / "new.parquet", {"i": [1, 2**40]}, types={"i": pa.int64()})
    assert pinned.arrow(["wide"], [_file(pinned, old, new)]).to_pylist() == [{"wide": None}]
    field = pa.field("more", pa.string(), metadata={b"PARQUET:field_id": b"3"})
    path = str(tmp_path / "more.parquet")
    pq.write_table(pa.table([pa.array([None], pa.string())], schema=pa.schema([field])), path)
    lacking = DeleteRef(path, "equality", 9, 1, equality_ids=(3,))
    assert pinned.arrow(["s"], [_file(pinned, lacking)]).num_rows == 0


@pytest.mark.parametrize("ids", [(), (99,), (9,), (10,), (1, 99), (3,), (1, 4)])
def test_fields_that_are_not_compared_here(pinned: PinnedTable, ids: tuple[int, ...]) -> None:
    """None at all, one that's gone, a list, what is inside of it, one of two, and floats."""
    ref = DeleteRef("e.parquet", "equality", 9, 1, equality_ids=ids)
    with pytest.raises(EqualityDeletesError, match="compare fields that aren't compared here"):
        pinned.arrow(["i"], [_file(pinned, ref)])
    with pytest.raises(EqualityDeletesError, match="aren't Parquet"):
        avro = DeleteRef("e.avro", "equality", 9, 1, equality_ids=(1,))
        pinned.arrow(["i"], [_file(pinned, avro)])


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def _others_id(path: Path) -> None:
    field = pa.field("i", pa.int32(), metadata={b"PARQUET:field_id": b"2"})
    pq.write_table(pa.table([pa.array([2], pa.int32())], schema=pa.schema([field])), path)


def _no_id(path: Path) -> None:
    pq.write_table(pa.table({"i": pa.array([2], pa.int32())}), path)


def _other_type(path: Path) -> None:
    field = pa.field("i", pa.string(), metadata={b"PARQUET:field_id": b"1"})
    pq.write_table(pa.table([pa.array(["2"])], schema=pa.schema([field])), path)


def _more_rows(path: Path) -> None:
    field = pa.field("i", pa.int32(), metadata={b"PARQUET:field_id": b"1"})
    pq.write_table(pa.table([pa.array([2, 5], pa.int32())], schema=pa.schema([field])), path)


@pytest.mark.parametrize("harm", [_truncated, _others_id, _no_id, _other_type, _more_rows])
def test_files_that_lie(pinned: PinnedTable, tmp_path: Path, harm: Any) -> None:
    ref = _delete(tmp_path / "e.parquet", {"i": [2]})
    harm(tmp_path / "e.parquet")
    with pytest.raises((NeedsSparkError, OSError)):
        pinned.arrow(["i"], [_file(pinned, ref)])


def test_texts_that_are_not_utf8(pinned: PinnedTable, tmp_path: Path) -> None:
    """Spark may take two of them for one."""
    ref = _delete(tmp_path / "e.parquet", {"s": [b"\xff"]}, types={"s": pa.binary()})
    with pytest.raises(NeedsSparkError):
        pinned.arrow(["i"], [_file(pinned, ref)])


def test_more_deletes_than_are_kept_in_memory(pinned: PinnedTable) -> None:
    ref = DeleteRef("e.parquet", "equality", 9, 1 << 40, equality_ids=(1,))
    with pytest.raises(EqualityDeletesError, match="more equality deletes apply"):
        pinned.arrow(["i"], [_file(pinned, ref)])


def test_the_partition_says_what_a_files_rows_have(pinned: PinnedTable, tmp_path: Path) -> None:
    """Whatever stands in the file: it was added to the partition as it was."""
    ref = _delete(tmp_path / "e.parquet", {"i": [7]})
    other = _delete(tmp_path / "f.parquet", {"i": [2]})
    file = _file(pinned, ref)
    assert pinned.deletes().of(file).tolist() == []
    moved = tmp_path / "moved.parquet"
    moved.write_bytes(Path(file.path.removeprefix("file://")).read_bytes())
    fixed = replace(file, path=str(moved), fixed={1: 7})
    assert pinned.deletes().of(fixed).tolist() == [0, 1, 2, 3, 4]
    assert pinned.deletes().of(replace(fixed, deletes=(other,))).tolist() == []


def test_a_null_in_a_delete_of_a_required_column(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path)
    catalog.create_namespace("d")
    schema = Schema(NestedField(1, "i", IntegerType(), required=True))
    rows = pa.table(
        {"i": pa.array([1, 2], pa.int32())}, schema=pa.schema([pa.field("i", pa.int32(), False)])
    )
    catalog.create_table("d.t", schema).append(rows)
    catalog.engine.dispose()
    pinned = _pinned(tmp_path)
    ref = _delete(tmp_path / "e.parquet", {"i": [None, 2]})
    assert pinned.arrow(["i"], [_file(pinned, ref)]).to_pylist() == [{"i": 1}]


_VALUES = st.lists(st.tuples(st.sampled_from([None, 0, 1, -1]), st.sampled_from([None, "", "a"])))


@given(_VALUES, st.lists(_VALUES, max_size=3))
def test_as_a_set_of_rows(rows: list[Any], deletes: list[list[Any]]) -> None:
    def table(some: list[Any]) -> pa.Table:
        names = ("i", "s")
        types = (pa.int32(), pa.string())
        columns = zip(names, types, range(2), strict=True)
        return pa.table({n: pa.array([row[at] for row in some], t) for n, t, at in columns})

    gone = {row for some in deletes for row in some}
    found = _hit(table(rows), list(map(table, deletes)))
    assert found.dtype == np.bool_
    assert found.tolist() == [row in gone for row in rows]
