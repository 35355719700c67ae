"""Data files by DuckDB's own reader: the rows that PyIceberg's reader gives, whatever is asked."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
)

from accelerator.engines.duckdb.engine import DuckDBEngine
from accelerator.engines.duckdb.table_scan import (
    RowSpan,
    TableScan,
    span_scan,
    table_scan,
    with_scans,
)
from accelerator.iceberg import CatalogSettings, DeleteRef, Lake, LiveFile, PinnedTable
from accelerator.iceberg.errors import EqualityDeletesError, NeedsSparkError
from accelerator.iceberg.io import local_path
from accelerator.iceberg.rows.duckdb_readable import by_ids
from accelerator.iceberg.rows.row_groups import GroupReader
from accelerator.query.execution.row_readers.chunks import row_spans
from accelerator.query.execution.row_readers.row_group_queue import Group
from rewrite.ir.expr import Column
from tests.support.pristine import catalog_of, properties_of

_NARROW = Schema(
    NestedField(1, "i", IntegerType()),
    NestedField(2, "f", FloatType()),
    NestedField(3, "d", DoubleType()),
    NestedField(4, "p", DecimalType(5, 2)),
    NestedField(5, "s", StringType()),
    NestedField(6, "day", DateType()),
    NestedField(7, "instant", TimestamptzType()),
    NestedField(8, "local", TimestampType()),
    NestedField(9, "b", BooleanType()),
    NestedField(10, "x", BinaryType()),
)
_ARROW = pa.schema(
    [
        ("i", pa.int32()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("p", pa.decimal128(5, 2)),
        ("s", pa.string()),
        ("day", pa.date32()),
        ("instant", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("us")),
        ("b", pa.bool_()),
        ("x", pa.binary()),
    ]
)
_FLOATS = [0.0, -0.0, 1.0, 1.5, -2.0, math.nan, math.inf, -math.inf]
_NOW = datetime.datetime(2024, 2, 29, 12, 30)
_VALUES: dict[str, list[Any]] = {
    "i": [0, 1, 2, -5, 2**31 - 1, -(2**31)],
    "f": _FLOATS,
    "d": _FLOATS,
    "p": [Decimal("0.00"), Decimal("1.50"), Decimal("-999.99"), Decimal("999.99")],
    "s": ["", "a", "ab", "ä", "\U0001f600", "a" * 70],
    "day": [datetime.date(1970, 1, 1), datetime.date(1, 1, 1), datetime.date(9999, 12, 31)],
    "instant": [_NOW.replace(tzinfo=datetime.UTC), datetime.datetime(1, 1, 1, tzinfo=datetime.UTC)],
    "local": [_NOW, datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)],
    "b": [True, False],
    "x": [b"", b"\xff\x00", b"a"],
}
_TESTS = [
    "wide = 1",
    "wide > 1",
    "wide IN (0, 2147483647)",
    "f > 1.5",
    "f = CAST('nan' AS FLOAT)",
    "NOT f <= 1.0",
    "f = 0.0",
    "d > 1.5",
    "d >= CAST('nan' AS DOUBLE)",
    "d <> 1.0",
    "d < 0.0",
    "p = 1.50",
    "p > 0",
    "s = 'a'",
    "s > 'a'",
    "starts_with(s, 'a')",
    "s IS NULL",
    "day > DATE '2000-01-01'",
    "instant < TIMESTAMPTZ '2000-01-01 00:00:00+00'",
    "b",
    "x = '\\xFF\\x00'::BLOB",
    "more IS NULL",
    "wide = 1 AND d > 1.5",
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckDBEngine]:
    made = DuckDBEngine(folders=[str(tmp_path_factory.getbasetemp())])
    yield made
    made.close()


def _rows() -> st.SearchStrategy[list[dict[str, Any]]]:
    row = st.fixed_dictionaries(
        {name: st.none() | st.sampled_from(values) for name, values in _VALUES.items()}
    )
    return st.lists(row, min_size=1, max_size=12)


def _table(root: Path, files: Sequence[Sequence[dict[str, Any]]]) -> PinnedTable:
    """The first file before columns were widened, renamed, dropped and added; others behind."""
    root.mkdir()
    catalog = catalog_of(root)
    catalog.create_namespace("d")
    table = catalog.create_table(
        ("d", "t"), _NARROW, properties={"write.parquet.row-group-limit": "3"}
    )
    table.append(pa.Table.from_pylist(list(files[0]), schema=_ARROW))
    with table.update_schema() as update:
        update.update_column("i", LongType())
        update.update_column("p", DecimalType(12, 2))
        update.rename_column("i", "wide")
        update.add_column("more", StringType())
        update.delete_column("b")
    with table.update_schema() as update:
        update.add_column("b", BooleanType())
    for rows in files[1:]:
        one = [{"wide" if k == "i" else k: v for k, v in row.items()} for row in rows]
        table.append(pa.Table.from_pylist(one, schema=table.schema().as_arrow()))
    catalog.engine.dispose()
    return _pinned(root)


def _pinned(root: Path) -> PinnedTable:
    lake = Lake([CatalogSettings("lake", "sql", properties_of(root))], "lake", lambda: ("d",))
    pinned = lake.pin().pinned(("lake", "d", "t"))
    assert pinned is not None
    return pinned


def _deleting(file: LiveFile, positions: Sequence[int], folder: Path) -> LiveFile:
    path = f"{folder}/deletes-{abs(hash((file.path, tuple(positions))))}.parquet"
    rows = {"file_path": [file.path] * len(positions), "pos": pa.array(positions, pa.int64())}
    pq.write_table(pa.table(rows), path)
    return replace(file, deletes=(DeleteRef(path, "position", 9, len(positions)),))


def _said(table: pa.Table) -> Counter[str]:
    """The rows as a bag; text tells −0.0 from 0.0, and NaN is itself."""
    shown = [f.with_type(pa.timestamp("us", "UTC")) if _is_instant(f) else f for f in table.schema]
    return Counter(repr(tuple(one.values())) for one in table.cast(pa.schema(shown)).to_pylist())


def _is_instant(field: pa.Field) -> bool:
    return pa.types.is_timestamp(field.type) and field.type.tz is not None


def _asked(engine: DuckDBEngine, scan: TableScan, tail: str) -> pa.Table:
    text = f"WITH t AS NOT MATERIALIZED ({scan.text}) " if scan.text else ""
    return engine.run(f"{text}SELECT * FROM t {tail}", scan.tables)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_rows_are_those_that_the_other_reader_gives(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory, engine: DuckDBEngine
) -> None:
    folder = tmp_path_factory.mktemp("scanned")
    pinned = _table(folder / "lake", data.draw(st.lists(_rows(), min_size=2, max_size=3)))
    files = list(pinned.live_files())
    for number, file in enumerate(files):
        rows = st.sets(st.integers(0, file.record_count - 1))
        gone = sorted(data.draw(rows)) if data.draw(st.booleans()) else []
        if gone:
            files[number] = _deleting(file, gone, folder)
    names = [column.name for column in pinned.facts.columns]
    plain = pinned.arrow(names, files)
    scan = table_scan(pinned, names, files, "t", engine)
    assert "read_parquet" in scan.text
    assert not any(name.endswith("beside") for name in scan.tables)
    sizes = {
        column.name: sum(_chunk_bytes(file, column.field_id) for file in files)
        for column in pinned.facts.columns
    }
    assert scan.file_bytes == sum(sizes.values())
    for name, size in sizes.items():
        assert table_scan(pinned, [name], files, "t", engine).file_bytes == size, name
    assert _said(_asked(engine, scan, "")) == _said(plain)
    for test in _TESTS:
        wanted = engine.run(f"SELECT * FROM t WHERE {test}", {"t": plain})
        assert _said(_asked(engine, scan, f"WHERE {test}")) == _said(wanted), test


def _chunk_bytes(file: LiveFile, field_id: int) -> int:
    """Bytes of a column's chunks in the file, as they're stored."""
    footer = pq.read_metadata(local_path(file.path) or "")
    ids = [int(one.metadata[b"PARQUET:field_id"]) for one in footer.schema.to_arrow_schema()]
    groups = map(footer.row_group, range(footer.num_row_groups))
    chunks = ((n, group.column(n)) for group in groups for n in range(group.num_columns))
    return sum(chunk.total_compressed_size for n, chunk in chunks if ids[n] == field_id)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_row_groups_have_the_rows_that_the_other_reader_gives(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory, engine: DuckDBEngine
) -> None:
    folder = tmp_path_factory.mktemp("spans")
    pinned = _table(folder / "lake", data.draw(st.lists(_rows(), min_size=2, max_size=3)))
    columns = [Column(0, one.field_id, one.name, one.type) for one in pinned.facts.columns]
    reader = GroupReader(pinned, columns, lambda: None)
    every = [
        Group(file, number)
        for file in reader.open(pinned.live_files())
        for number in range(len(file.groups))
    ]
    groups = data.draw(st.lists(st.sampled_from(every), min_size=1, unique_by=id))
    names = [column.name for column in columns]
    scan = span_scan(pinned, names, row_spans(groups), engine)
    assert scan is not None
    plain = pa.concat_tables([group.sought(columns)[0] for group in groups])
    assert _said(engine.run(scan)) == _said(plain)
    for test in _TESTS:
        wanted = engine.run(f"SELECT * FROM t WHERE {test}", {"t": plain})
        found = engine.run(f"{with_scans({'t': scan}, 'SELECT * FROM t')} WHERE {test}")
        assert _said(found) == _said(wanted), test


def test_what_is_no_plain_span_is_read_by_arrow(tmp_path: Path, engine: DuckDBEngine) -> None:
    pinned = _small(tmp_path / "lake")
    file = pinned.live_files()[0]
    rows = file.record_count
    assert span_scan(pinned, ["wide"], [RowSpan(file, 0, rows, True)], engine) is not None
    for odd in (
        _deleting(file, [0], tmp_path),
        replace(file, fixed={1: 5}),
        replace(file, path="s3://bucket/x.parquet"),
    ):
        assert span_scan(pinned, ["wide"], [RowSpan(odd, 0, rows, True)], engine) is None
    many = [RowSpan(file, 0, 1, False)] * 17
    assert span_scan(pinned, ["wide"], many[:16], engine) is not None
    assert span_scan(pinned, ["wide"], many, engine) is None


def _small(root: Path) -> PinnedTable:
    row = {name: values[0] for name, values in _VALUES.items()}
    return _table(root, [[row, row | {"i": 7}], [row | {"i": 8}]])


def test_a_file_that_stands_twice_is_read_twice(tmp_path: Path, engine: DuckDBEngine) -> None:
    pinned = _small(tmp_path / "lake")
    file = pinned.live_files()[0]
    gone = _deleting(file, [0], tmp_path)
    columns = [Column(0, one.field_id, one.name, one.type) for one in pinned.facts.columns]
    opened = GroupReader(pinned, columns, lambda: None).open([file, file, gone])
    groups = [Group(one, 0) for one in opened]
    twice = span_scan(pinned, ["wide"], row_spans(groups[:2]), engine)
    assert twice is not None and engine.run(twice).num_rows == 2 * file.record_count
    assert span_scan(pinned, ["wide"], row_spans(groups[1:]), engine) is None
    for files in ([file, file], [file, gone], [gone, gone]):
        scan = table_scan(pinned, ["wide"], files, "t", engine)
        assert _said(_asked(engine, scan, "")) == _said(pinned.arrow(["wide"], files))


def test_files_outside_of_the_tables_locations_come_beside(tmp_path: Path) -> None:
    """Though DuckDB may read the other table's folder for the other table."""
    pinned, other = _small(tmp_path / "lake"), _small(tmp_path / "other")
    engine = DuckDBEngine()
    own = table_scan(other, ["wide"], other.live_files(), "t", engine)
    assert own.text and not own.tables
    files = [*pinned.live_files(), *other.live_files()]
    scan = table_scan(pinned, ["wide"], files, "t", engine)
    assert sorted(scan.tables["t_beside"].column("wide").to_pylist()) == [0, 7, 8]
    assert sorted(_asked(engine, scan, "").column("wide").to_pylist()) == [0, 0, 7, 7, 8, 8]
    engine.close()


def test_files_that_became_links_come_beside(tmp_path: Path) -> None:
    pinned, engine = _small(tmp_path / "lake"), DuckDBEngine()
    for number, file in enumerate(pinned.live_files()):
        path = Path(file.path.removeprefix("file://"))
        path.rename(tmp_path / f"{number}.parquet")
        path.symlink_to(tmp_path / f"{number}.parquet")
    scan = table_scan(pinned, ["wide"], pinned.live_files(), "t", engine)
    assert not scan.text
    assert sorted(scan.tables["t"].column("wide").to_pylist()) == [0, 7, 8]
    engine.close()


def test_files_without_field_ids_come_beside(tmp_path: Path, engine: DuckDBEngine) -> None:
    root = tmp_path / "lake"
    pinned = _small(root)
    old = tmp_path / "old.parquet"
    pq.write_table(pa.table({"wide": pa.array([41, 42], pa.int64())}), old)
    foreign = replace(
        pinned.live_files()[0],
        path=str(old),
        size_bytes=old.stat().st_size,
        record_count=2,
    )
    catalog = catalog_of(root)
    mapping = '[{"field-id": 1, "names": ["wide"]}]'
    with catalog.load_table(("d", "t")).transaction() as change:
        change.set_properties({"schema.name-mapping.default": mapping})
    catalog.engine.dispose()
    pinned = _pinned(root)
    files = [*pinned.live_files(), foreign]
    scan = table_scan(pinned, ["wide"], files, "t", engine)
    assert "t_beside" in scan.tables
    assert _said(_asked(engine, scan, "")) == _said(pinned.arrow(["wide"], files))


def test_what_only_spark_reads(tmp_path: Path, engine: DuckDBEngine) -> None:
    pinned = _small(tmp_path / "lake")
    file = pinned.live_files()[0]
    equal = replace(file, deletes=(DeleteRef("e.parquet", "equality", 9, 1),))
    with pytest.raises(EqualityDeletesError):
        table_scan(pinned, ["wide"], [equal], "t", engine)
    with pytest.raises(NeedsSparkError, match="its manifest says 3"):
        table_scan(pinned, ["wide"], [replace(file, record_count=3)], "t", engine)
    with pytest.raises(NeedsSparkError, match="avro"):
        table_scan(pinned, ["wide"], [replace(file, file_format="avro")], "t", engine)
    with pytest.raises(NeedsSparkError, match="its manifest says"):
        table_scan(pinned, ["wide"], [replace(file, size_bytes=9)], "t", engine)
    with pytest.raises(FileNotFoundError):
        gone = replace(file, path=f"{tmp_path}/lake/gone.parquet")
        table_scan(pinned, ["wide"], [gone], "t", engine)


def test_two_columns_of_one_id_are_not_told_apart(tmp_path: Path, engine: DuckDBEngine) -> None:
    pinned = _small(tmp_path / "lake")
    path = tmp_path / "twice.parquet"
    twice = [
        pa.field(name, pa.int64(), metadata={"PARQUET:field_id": "1"}) for name in ("wide", "w")
    ]
    pq.write_table(pa.table([[1], [2]], schema=pa.schema(twice)), path)
    size = path.stat().st_size
    file = replace(pinned.live_files()[0], path=str(path), size_bytes=size, record_count=1)
    try:
        scan = table_scan(pinned, ["wide"], [file], "t", engine)
    except NeedsSparkError:
        return
    assert not scan.text


def test_a_path_with_stars_and_values_is_that_path(tmp_path: Path, engine: DuckDBEngine) -> None:
    pinned = _small(tmp_path / "wide=5[a]*")
    scan = table_scan(pinned, ["wide"], pinned.live_files(), "t", engine)
    assert scan.text
    assert sorted(_asked(engine, scan, "").column("wide").to_pylist()) == [0, 7, 8]


class _Defaulted:
    """The table, where a column has a value in files that lack it."""

    def __init__(self, pinned: PinnedTable, field_id: int) -> None:
        self._pinned, self.defaulted_fields = pinned, frozenset({field_id})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pinned, name)


def test_files_that_lack_a_column_with_a_value_come_beside(tmp_path: Path) -> None:
    pinned = _small(tmp_path / "lake")
    more = pinned.facts.column("more")
    assert more is not None
    lacking = min(pinned.live_files(), key=lambda file: file.sequence_number)
    fixed = replace(lacking, fixed={more.field_id: "p"})
    null = replace(lacking, fixed={more.field_id: None})
    for table, file, stays in (
        (pinned, lacking, False),
        (pinned, null, False),
        (pinned, fixed, True),
        (_Defaulted(pinned, more.field_id), lacking, True),
    ):
        found = by_ids(table, ["wide", "more"], [file], lambda _: True)  # type: ignore[arg-type]
        assert found.others == ((file,) if stays else ())
        # A column that isn't wanted may have what value it will.
        assert not by_ids(table, ["wide"], [file], lambda _: True).others  # type: ignore[arg-type]


def test_a_required_column_that_a_file_lacks_is_no_null(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    _small(root)
    catalog = catalog_of(root)
    with catalog.load_table(("d", "t")).update_schema(allow_incompatible_changes=True) as update:
        update.add_column("must", StringType(), required=True)
    catalog.engine.dispose()
    pinned = _pinned(root)
    assert by_ids(pinned, ["must"], pinned.live_files(), lambda _: True).others
    assert not by_ids(pinned, ["wide"], pinned.live_files(), lambda _: True).others
