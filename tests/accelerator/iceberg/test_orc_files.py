"""ORC files by stripes: rows, types, bounds, and what is left to Spark."""

from __future__ import annotations

import datetime
import io
import math
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyorc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.iceberg.errors import NeedsSparkError
from accelerator.iceberg.io import LocalInputs
from accelerator.iceberg.objects.inputs import ObjectInputs
from accelerator.iceberg.objects.stores import open_bucket
from accelerator.iceberg.rows.orc import orc_footer
from accelerator.iceberg.rows.orc.orc_file import OrcFile, OrcMetadata, opener, whole_file
from accelerator.iceberg.rows.orc.orc_footer import (
    OrcCompressionError,
    read_footer,
    statistics_of,
    writer_zones,
)
from accelerator.iceberg.rows.stored_types import FIELD_ID
from accelerator.iceberg.tables.data_file import LiveFile
from tests.accelerator.store.s3_server import make_bucket, serving

GOLDEN = Path(__file__).parent / "golden"
"""`edges-0.orc` and `edges-1.orc` were written by Spark 4.1 with Iceberg 1.12: three rows each."""
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def _open(path: Path) -> OrcFile:
    return OrcFile(opener(LocalInputs(), str(path)))


def _written(
    path: Path, columns: dict[str, str], rows: list[tuple[Any, ...]], **options: Any
) -> OrcFile:
    """A file of those columns with field ids from 1, in stripes of some thousand rows."""
    schema = pyorc.Struct(**{n: pyorc.TypeDescription.from_string(t) for n, t in columns.items()})
    for number, name in enumerate(columns, 1):
        schema.fields[name].set_attributes({"iceberg.id": str(number)})
    with (
        path.open("wb") as stream,
        pyorc.Writer(stream, schema, stripe_size=1024, batch_size=64, **options) as writer,
    ):
        writer.writerows(rows)
    return _open(path)


def test_what_spark_writes() -> None:
    with _open(GOLDEN / "edges-1.orc") as file:
        assert file.schema_arrow.names == ["id", "ts", "tn", "d", "dt"]
        assert [field.metadata[FIELD_ID] for field in file.schema_arrow] == [
            *(b"1", b"2", b"3", b"4", b"5")
        ]
        assert file.schema_arrow.field("ts").type == pa.timestamp("us", "UTC")
        assert file.schema_arrow.field("tn").type == pa.timestamp("us")
        read = file.read_row_groups([0], ["tn", "dt", "d"])
        # The first was half a second before 1970, which ORC can't express: Spark reads it so, too.
        assert read["tn"].cast(pa.int64()).to_pylist() == [
            *(500_000, 9_223_372_036_854_775, 1_710_037_800_000_000)
        ]
        assert read["dt"].to_pylist() == [
            *(datetime.date(1582, 10, 15), datetime.date(1970, 1, 1), None)
        ]
        assert read["d"].to_pylist() == [math.inf, 1.0, 1.0]


@pytest.mark.parametrize(
    ("name", "column"), [("edges-0", "ts"), ("edges-0", "tn"), ("edges-1", "ts")]
)
def test_times_that_fit_no_nanoseconds_are_sparks(name: str, column: str) -> None:
    with (
        _open(GOLDEN / f"{name}.orc") as file,
        pytest.raises(NeedsSparkError, match="out of range"),
    ):
        file.read_row_groups([0], [column])


def test_statistics_of_spark() -> None:
    first = _open(GOLDEN / "edges-0.orc").metadata
    assert first.num_rows == 3 and first.num_row_groups == 1
    assert (first.statistics("id")[0].min_raw, first.statistics("id")[0].max_raw) == (1, 3)
    assert not first.statistics("d")[0].has_min_max  # the first value is NaN
    assert (first.statistics("dt")[0].min_raw, first.statistics("dt")[0].max_raw) == (
        *(-719_162, 2_932_896),
    )
    last = _open(GOLDEN / "edges-1.orc").metadata
    # Half a second before 1970 is recorded as half a second after it.
    assert not last.statistics("tn")[0].has_min_max
    assert last.statistics("ts")[0].max_raw == 9_223_386_436_855_000
    assert last.statistics("dt")[0].null_count == 1


_TIMES = st.datetimes(datetime.datetime(1960, 1, 1), datetime.datetime(1980, 1, 1))
_ROW = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.floats(),
    st.none()
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=9),
    st.none() | st.dates(datetime.date(1600, 1, 1)),
    st.none() | _TIMES.map(lambda t: t.replace(tzinfo=datetime.UTC)),
    st.none() | st.decimals(-(10**8), 10**8, places=2),
    st.none() | st.booleans(),
)
_COLUMNS = {
    "i": "bigint",
    "d": "double",
    "s": "string",
    "dt": "date",
    "ts": "timestamp with local time zone",
    "n": "decimal(38,2)",
    "b": "boolean",
}


@given(st.lists(_ROW, min_size=1, max_size=40))
def test_rows_and_bounds_of_any_rows(tmp_path_factory: Any, rows: list[tuple[Any, ...]]) -> None:
    path = tmp_path_factory.mktemp("orc") / "a.orc"
    with _written(path, _COLUMNS, rows) as file:
        read = file.read_row_groups(range(file.metadata.num_row_groups), list(_COLUMNS))
        for place, name in enumerate(_COLUMNS):
            values = [row[place] for row in rows]
            assert _same(read[name].to_pylist(), values)
            (told,) = file.metadata.statistics(name)
            assert told.null_count == values.count(None)
            if told.has_min_max:
                raw = [_raw(value) for value in values if value is not None and value == value]
                assert all(told.min_raw <= value <= told.max_raw for value in raw)


def _same(left: list[Any], right: list[Any]) -> bool:
    nan = "NaN"
    return [nan if v != v else v for v in left] == [nan if v != v else v for v in right]


def _raw(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, datetime.datetime):
        return (value - _EPOCH) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return value.toordinal() - _EPOCH.toordinal()
    return int(value * 100) if isinstance(value, Decimal) else value


def test_stripes_are_read_one_by_one(tmp_path: Path) -> None:
    rows = [(number, f"a text of some length {number}") for number in range(20_000)]
    with _written(tmp_path / "a.orc", {"i": "bigint", "s": "string"}, rows) as file:
        metadata = file.metadata
        assert metadata.num_row_groups > 3
        bounds = metadata.statistics("i")
        assert [one.min_raw for one in bounds] == sorted(one.min_raw for one in bounds)
        last = metadata.num_row_groups - 1
        read = file.read_row_groups([last], ["i"])["i"].to_pylist()
        assert read == list(range(bounds[last].min_raw, 20_000))
        assert len(read) == metadata.row_group(last).num_rows
        batches = list(file.iter_batches(100, row_groups=[0, 1], columns=["i"]))
        assert max(map(len, batches)) == 100
        assert sum(map(len, batches)) == sum(metadata.row_group(g).num_rows for g in (0, 1))


@pytest.mark.parametrize("compression", ["NONE", "ZLIB", "SNAPPY", "ZSTD"])
def test_statistics_are_decompressed(tmp_path: Path, compression: str) -> None:
    kind = pyorc.CompressionKind[compression]
    columns = {f"s{number}": "string" for number in range(30)}  # fewer aren't compressed
    rows = [(f"{number} " + "and always the same " * 20,) * 30 for number in range(9)]
    with _written(tmp_path / "a.orc", columns, rows, compression=kind) as file:
        (told,) = file.metadata.statistics("s29")
        assert (told.min_raw[:2], told.max_raw[:2]) == (b"0 ", b"8 ")


def test_a_nan_leaves_no_bounds(tmp_path: Path) -> None:
    """Bounds of ten thousand rows that begin with NaN lack the greater numbers behind it."""
    rows = [(1.0,)] * 10_000 + [(math.nan,), (100.0,)]
    with _written(tmp_path / "a.orc", {"d": "double"}, rows) as file:
        assert not any(one.has_min_max for one in file.metadata.statistics("d"))
    with _written(tmp_path / "b.orc", {"d": "double"}, [(1.0,), (None,), (100.0,)]) as file:
        (told,) = file.metadata.statistics("d")
        assert (told.min_raw, told.max_raw, told.null_count) == (1.0, 100.0, 1)


_INTEGERS = b"\x08\x03\x12\x06\x08\x08\x10\x0c\x18\x1eP\x00"
"""Statistics of `id` in `edges-1.orc`: three values, from 4 to 6."""


def test_row_indexes_are_not_read() -> None:
    """A column's may lack statistics of its type; pyorc ends the process then."""
    data = (GOLDEN / "edges-1.orc").read_bytes()
    assert data.count(_INTEGERS) == 1
    data = data.replace(_INTEGERS, _INTEGERS.replace(b"\x12", b"\x7a"))
    (told,) = OrcMetadata(lambda: io.BytesIO(data), io.BytesIO(data)).statistics("id")
    assert told is not None and (told.min_raw, told.max_raw) == (4, 6)


def test_statistics_without_those_of_the_type() -> None:
    told = statistics_of(_INTEGERS, "LONG", 0, 3)
    assert (told.min_raw, told.max_raw, told.null_count) == (4, 6, 0)
    told = statistics_of(_INTEGERS.replace(b"\x12", b"\x7a"), "LONG", 0, 3)
    assert (told.min_raw, told.max_raw, told.null_count) == (None, None, 0)


_KINDS = ("LONG", "DATE", "DOUBLE", "STRING", "DECIMAL", "TIMESTAMP", "BOOLEAN", "LIST")


@given(st.binary(max_size=60), st.sampled_from(_KINDS))
def test_any_bytes_as_statistics(data: bytes, kind: str) -> None:
    for encoded in (data, *(bytes([8, 3, n << 3 | 2, len(data)]) + data for n in range(2, 10))):
        told = statistics_of(encoded, kind, 2, 3)
        for bound in (told.min_raw, told.max_raw):
            assert bound is None or isinstance(bound, bytes | float) or -(2**63) <= bound < 2**63


def test_times_of_another_zone_are_sparks(tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    row = (datetime.datetime(2020, 7, 1, 12),)
    zone = ZoneInfo("America/New_York")
    _written(path, {"t": "timestamp"}, [row], timezone=zone).close()
    wanted = pa.schema([pa.field("t", pa.timestamp("us"), metadata={FIELD_ID: "1"})])
    with pytest.raises(ValueError, match=r"a\.orc has t as timestamp"):
        whole_file(LocalInputs(), _live(path), wanted)


def _live(path: Path, rows: int = 1, **more: Any) -> LiveFile:
    return LiveFile(str(path), 1, path.stat().st_size, rows, "orc", 0, **more)


def test_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    _written(path, {"a": "int", "p": "int"}, [(1, 5), (2, 5)]).close()

    def wanted(**types: pa.DataType) -> pa.Schema:
        numbers = {"a": "1", "p": "2", "new": "3"}
        return pa.schema(
            [pa.field(n, t, metadata={FIELD_ID: numbers[n]}) for n, t in types.items()]
        )

    read = whole_file(LocalInputs(), _live(path, 2), wanted(p=pa.int32(), a=pa.int64()))
    assert read is not None
    assert read.to_pydict() == {"p": [5, 5], "a": [1, 2]} and read["a"].type == pa.int64()
    fixed = _live(path, 2, fixed={2: 7})
    read = whole_file(LocalInputs(), fixed, wanted(p=pa.int32()))
    assert read is not None and read.to_pydict() == {"p": [7, 7]}
    assert whole_file(LocalInputs(), _live(path, 2), wanted(new=pa.int32())) is None
    with pytest.raises(ValueError, match="not the 3 of its manifest"):
        whole_file(LocalInputs(), _live(path, 3), wanted(a=pa.int32()))
    with pytest.raises(ValueError, match="has a as int32"):
        whole_file(LocalInputs(), _live(path, 2), wanted(a=pa.string()))


def test_a_compression_that_only_arrow_reads() -> None:
    """pyorc and PyArrow write footers in LZ4 as they are; Java compresses them."""
    chunk = (8 << 1).to_bytes(3, "little") + bytes(8)
    with pytest.raises(OrcCompressionError, match="LZ4"):
        orc_footer._decompressed(chunk, "LZ4", 100)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_footers_are_as_pyorc_reads_them(tmp_path: Path, zone: str) -> None:
    columns = {
        "a": "map<string,array<struct<x:int,y:decimal(12,4)>>>",
        "b": "decimal(20,7)",
        "c": "timestamp",
        "d.e": "struct<f:bigint>",
        "g": "varchar(9)",
        "h": "binary",
    }
    row = ({}, Decimal("1.5"), datetime.datetime(2020, 1, 1), (5,), "g", b"h")
    path = tmp_path / "a.orc"
    _written(path, columns, [row] * 9_000, timezone=ZoneInfo(zone)).close()
    with path.open("rb") as stream:
        told, reader = read_footer(stream), pyorc.Reader(stream)
        stripes = list(reader.iter_stripes())
        assert told.rows == 9_000
        assert [one.rows for one in told.stripes] == list(map(len, stripes))
        assert [one.index + one.data + one.footer for one in told.stripes] == [
            one.bytes_length for one in stripes
        ]
        assert writer_zones(stream, told) == {one.writer_timezone for one in stripes} == {zone}
        fields = reader.schema.fields
        assert {name: one.number for name, one in told.types.items()} == {
            name: field.column_id for name, field in fields.items()
        }
        assert [one.kind for one in told.types.values()] == [
            field.kind.name for field in fields.values()
        ]
        assert told.types["b"].scale == 7


def test_a_file_is_opened_once_until_statistics_are_asked_for(tmp_path: Path) -> None:
    _written(tmp_path / "a.orc", {"id": "bigint"}, [(4,), (6,)]).close()
    opened: list[Path] = []

    def source() -> io.BufferedReader:
        opened.append(tmp_path / "a.orc")
        return opened[-1].open("rb")

    with OrcFile(source) as file:
        column = file.metadata.row_group(0).column(0)
        assert column.total_compressed_size > 0
        file.read_row_groups([0], ["id"])
        assert len(opened) == 1
        assert column.statistics is not None and column.statistics.max_raw == 6
        assert len(opened) == 2


def test_stripes_in_an_object_store() -> None:
    import obstore

    with serving() as (_, endpoint):
        make_bucket(endpoint, "lake")
        properties = {
            "s3.endpoint": endpoint,
            "s3.region": "us-east-1",
            "s3.access-key-id": "k",
            "s3.secret-access-key": "s",
        }
        data = (GOLDEN / "edges-1.orc").read_bytes()
        bucket = open_bucket("lake", properties)
        assert not isinstance(bucket, str)
        obstore.put(bucket.store, "a.orc", data)
        for size in (len(data), None):
            inputs = ObjectInputs(properties)
            with OrcFile(opener(inputs, "s3://lake/a.orc", size)) as file:
                assert file.read_row_groups([0], ["id"])["id"].to_pylist() == [4, 5, 6]
                assert file.metadata.statistics("id")[0].max_raw == 6


@pytest.mark.parametrize("change", ["cut", "zeros", "other"])
def test_bytes_that_are_no_orc_file(tmp_path: Path, change: str) -> None:
    data = (GOLDEN / "edges-0.orc").read_bytes()
    path = tmp_path / "a.orc"
    path.write_bytes(
        {"cut": data[:-9], "zeros": data[:-200] + bytes(200), "other": b"PAR1" * 9}[change]
    )
    with pytest.raises(ValueError, match="can't be read as ORC"):
        _open(path)


@given(st.integers(0, 789), st.integers(0, 255))
def test_a_damaged_byte_raises_what_callers_catch(place: int, byte: int) -> None:
    data = bytearray((GOLDEN / "edges-1.orc").read_bytes())
    data[place] = byte
    try:
        with OrcFile(lambda: io.BytesIO(bytes(data))) as file:
            for name in file.schema_arrow.names:
                file.metadata.statistics(name)
            file.read_row_groups(range(file.metadata.num_row_groups), ["id", "d", "dt"])
    except (ValueError, OSError, NeedsSparkError):
        pass
