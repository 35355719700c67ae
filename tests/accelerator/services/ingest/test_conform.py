"""Columns that were sent as a table's own: values are the same, or the column is named."""

from __future__ import annotations

import datetime
import decimal
import uuid
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelerator.iceberg.writes.errors import IngestSchemaError
from accelerator.services.ingest.conform import Conform

POINT = pa.struct([pa.field("x", pa.int64(), nullable=False), pa.field("y", pa.large_string())])
TAGS = pa.large_list(pa.field("element", pa.int32(), nullable=False))
PRICES = pa.map_(pa.large_string(), pa.field("value", pa.float64()))


def conformed(values, wanted, *, sent=None, nullable=True):
    array = values if isinstance(values, pa.Array) else pa.array(values, sent)
    batch = pa.RecordBatch.from_arrays([array], names=["a"])
    schema = pa.schema([pa.field("a", wanted, nullable=nullable)])
    made = Conform(batch.schema, schema).batch(batch)
    made.validate(full=True)
    assert made.schema == schema
    return made.column(0).to_pylist()


@pytest.mark.parametrize(
    ("values", "sent", "wanted"),
    [
        ([1, None, 2**31 - 1], pa.int64(), pa.int32()),
        ([1, 2**63 - 1], pa.uint64(), pa.int64()),
        ([1.5, None], pa.float32(), pa.float64()),
        (["a", None], pa.string(), pa.large_string()),
        ([b"a"], pa.binary(), pa.large_binary()),
        (["a"], pa.large_string(), pa.string()),
        ([b"a"], pa.binary(1), pa.large_binary()),
        ([b"abcd", None], pa.binary(), pa.binary(4)),
        ([b"abcd", None], pa.large_binary(), pa.binary(4)),
        ([1, None, -7], pa.int64(), pa.decimal128(3, 2)),
        ([2**64 - 1], pa.uint64(), pa.decimal128(38, 18)),
        ([decimal.Decimal("7.00"), None], pa.decimal128(5, 2), pa.int32()),
        ([decimal.Decimal(-(2**63))], pa.decimal256(60, 2), pa.int64()),
        ([decimal.Decimal("1.50")], pa.decimal128(5, 2), pa.decimal128(12, 4)),
        ([decimal.Decimal("1.5000")], pa.decimal128(12, 4), pa.decimal128(5, 2)),
        ([datetime.datetime(2026, 1, 1)], pa.timestamp("ns"), pa.timestamp("us")),
        ([datetime.date(2026, 1, 1)], pa.date64(), pa.date32()),
        ([datetime.time(1, 2, 3)], pa.time32("s"), pa.time64("us")),
        ([None, None], pa.null(), pa.int32()),
        ([None], pa.null(), POINT),
        ([None], pa.null(), PRICES),
        ([{"x": 1, "y": None}, None], pa.struct({"y": pa.string(), "x": pa.int8()}), POINT),
        ([[1, 2], None, [], [3]], pa.list_(pa.int64()), TAGS),
        ([[1, 2], None], pa.list_(pa.int64(), 2), TAGS),
        ([[("k", 1.5)], None, [], [("k", None)]], pa.map_(pa.string(), pa.float32()), PRICES),
    ],
)
def test_values_stay_what_they_are(values, sent, wanted):
    assert conformed(values, wanted, sent=sent) == values
    sliced = pa.array([*values, *values], sent).slice(len(values))
    assert conformed(sliced, wanted) == values


def test_zones_are_of_the_instant_and_uuids_are_bytes():
    moment = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    sent = pa.array([moment], pa.timestamp("us", "Europe/Berlin"))
    assert conformed(sent, pa.timestamp("us", "UTC")) == [moment]
    one = uuid.uuid4()
    assert conformed([one.bytes, None], pa.uuid(), sent=pa.binary(16)) == [one, None]


@pytest.mark.parametrize(
    ("values", "sent", "wanted"),
    [
        ([2**31], pa.int64(), pa.int32()),
        ([2**63], pa.uint64(), pa.int64()),
        ([1.5], pa.float64(), pa.float32()),
        ([1], pa.int64(), pa.float64()),
        ([1.0], pa.float64(), pa.int64()),
        (["1"], pa.string(), pa.int64()),
        ([1], pa.int64(), pa.large_string()),
        ([b"\xff"], pa.binary(), pa.large_string()),
        ([decimal.Decimal("1.55")], pa.decimal128(5, 2), pa.decimal128(5, 1)),
        ([decimal.Decimal("100.0")], pa.decimal128(5, 1), pa.decimal128(3, 1)),
        ([1], pa.timestamp("ns"), pa.timestamp("us")),
        ([1], pa.timestamp("us"), pa.timestamp("us", "UTC")),
        ([1], pa.timestamp("us", "UTC"), pa.timestamp("us")),
        ([1], pa.date32(), pa.timestamp("us")),
        ([b"12345"], pa.binary(5), pa.binary(4)),
        ([b"abcd", b"abc"], pa.binary(), pa.binary(4)),
        ([b"a" * 15], pa.binary(), pa.uuid()),
        ([10], pa.int64(), pa.decimal128(3, 2)),
        ([2**64 - 1], pa.uint64(), pa.decimal128(38, 19)),
        ([decimal.Decimal("1.50")], pa.decimal128(5, 2), pa.int32()),
        ([decimal.Decimal(2**63)], pa.decimal128(38, 0), pa.int64()),
        ([1], pa.int64(), pa.date32()),
        ([0], pa.timestamp("us"), pa.date32()),
        (["x"], pa.string_view(), pa.large_string()),
        ([{"x": 1, "z": 2}], None, POINT),
        ([{"y": "a"}], None, POINT),
        ([{"x": None}], pa.struct({"x": pa.int64()}), POINT),
        ([[1, None]], pa.list_(pa.int64()), TAGS),
        ([[2**40]], pa.list_(pa.int64()), TAGS),
        ([{"x": 1}], None, TAGS),
    ],
)
def test_what_would_change_a_value_is_refused_by_the_columns_name(values, sent, wanted):
    with pytest.raises(IngestSchemaError, match=r"\ba\b"):
        conformed(values, wanted, sent=sent)


WRONG = {
    "too large": ([1, None, 2**31], pa.int64(), pa.int32()),
    "not whole": ([decimal.Decimal("1.0"), None, decimal.Decimal("1.5")], None, pa.int32()),
    "too long": ([b"abcd", None, b"abcde"], pa.binary(), pa.binary(4)),
    "no day": ([86_400_000, None, 1], pa.int64(), pa.date32()),
    "within a list": ([[1], None, [2, 2**31]], pa.list_(pa.int64()), pa.large_list(pa.int32())),
    "no year": ([1, None, 2_932_897], pa.int32(), pa.date32()),
}


@pytest.mark.parametrize("values, sent, wanted", WRONG.values(), ids=WRONG)
def test_the_row_of_a_wrong_value_is_told(values, sent, wanted):
    """From 1, over all batches; of several wrong ones the first."""
    array = pa.array([*values, values[-1]], sent)
    if pa.types.is_date(wanted):
        array = array.view(pa.date64() if sent == pa.int64() else pa.date32())
    conform = Conform(pa.schema([("a", array.type)]), pa.schema([("a", wanted)]))
    for good in (1, 2, 1, 0):
        conform.batch(pa.RecordBatch.from_arrays([array.slice(0, good)], names=["a"]))
    with pytest.raises(IngestSchemaError, match=r"\ba\b.*, in row 7\b") as found:
        conform.batch(pa.RecordBatch.from_arrays([array], names=["a"]))
    assert len(found.value.message.splitlines()) == 1


def test_a_null_names_its_row():
    with pytest.raises(IngestSchemaError, match="a is NULL, and it may not be, in row 3"):
        conformed([1, 2, None, None], pa.int32(), nullable=False)


TYPES = {
    "whole": (pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.uint64()),
    "decimal": (pa.decimal64(9, 2), pa.decimal128(9, 2), pa.decimal256(9, 2)),
    "floating": (pa.float32(), pa.float64()),
    "date": (pa.date32(), pa.date64()),
    "time": (pa.time32("s"), pa.time64("us")),
    "timestamp": (pa.timestamp("s"), pa.timestamp("us")),
    "instant": (pa.timestamp("us", "UTC"), pa.timestamp("ms", "Asia/Tokyo")),
    "text": (pa.string(), pa.large_string()),
    "bytes": (pa.binary(), pa.large_binary(), pa.binary(4)),
    "boolean": (pa.bool_(),),
}
OF_TABLES = {
    "whole": (pa.int32(), pa.int64()),
    "decimal": (pa.decimal128(9, 2), pa.decimal128(38, 0)),
    "floating": (pa.float32(), pa.float64()),
    "date": (pa.date32(),),
    "time": (pa.time64("us"),),
    "timestamp": (pa.timestamp("us"),),
    "instant": (pa.timestamp("us", "UTC"),),
    "text": (pa.large_string(),),
    "bytes": (pa.large_binary(), pa.binary(4)),
    "boolean": (pa.bool_(),),
}
CAST = {(kind, kind) for kind in TYPES} | {("whole", "decimal"), ("decimal", "whole")}
"""What docs/reference/api.md promises."""


def test_each_pair_of_types_is_cast_or_refused_as_is_promised():
    for (of, sent), (to, wanted) in product(flat(TYPES), flat(OF_TABLES)):
        may = (of, to) in CAST and not (sent == pa.float64() and wanted == pa.float32())
        value = b"abcd" if of == "bytes" else None  # a NULL is of each type
        try:
            assert may == (conformed([value], wanted, sent=sent) == [value]), (sent, wanted)
        except IngestSchemaError:
            assert not may, (sent, wanted)


def flat(types):
    return [(kind, one) for kind, some in types.items() for one in some]


def unchecked(kind, *children):
    """Two lists, or maps, over children whose NULLs the type denies."""
    offsets = pa.array([0, 1, 2], pa.int64() if pa.types.is_large_list(kind) else pa.int32())
    return pa.Array.from_buffers(kind, 2, [None, offsets.buffers()[1]], children=list(children))


STRICT = pa.map_(pa.large_string(), pa.field("value", pa.int64(), nullable=False))
PAIRS = pa.StructArray.from_arrays(
    [pa.array(["a", "b"], pa.large_string()), pa.array([1, None])],
    fields=[STRICT.key_field, STRICT.item_field],
)
POINTS = pa.StructArray.from_arrays(
    [pa.array([1, None]), pa.nulls(2, pa.large_string())], fields=list(POINT)
)


@pytest.mark.parametrize(
    "sent",
    [
        POINTS,
        unchecked(TAGS, pa.array([1, None], pa.int32())),
        unchecked(STRICT, PAIRS),
        unchecked(pa.large_list(pa.field("element", POINT)), POINTS),
        pa.StructArray.from_arrays([POINTS], fields=[pa.field("p", POINT)]),
    ],
    ids=["struct", "list", "map", "structs in a list", "struct in a struct"],
)
def test_a_type_that_denies_nulls_is_not_believed(sent):
    with pytest.raises(IngestSchemaError, match=r"a\b.*is NULL"):
        conformed(sent, sent.type)


DAY, TIME = pa.date32(), pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        *((DAY, one) for one in (-719_163, 2_932_897, -(2**31))),
        *((TIME, one) for one in (-62_135_596_800_000_001, 253_402_300_800_000_000, 2**63 - 1)),
    ],
)
def test_times_that_no_figure_can_be_written_of_are_refused(kind, number):
    sent = pa.array([number, None], pa.int32() if kind == DAY else pa.int64()).view(kind)
    for array in (sent, pa.StructArray.from_arrays([sent], fields=[pa.field("t", kind)])):
        with pytest.raises(IngestSchemaError, match="years from 1 to 9999"):
            conformed(array, array.type)


@pytest.mark.parametrize(("kind", "whole"), [(DAY, pa.int32()), (TIME, pa.int64())])
def test_the_first_and_the_last_times_are_taken(kind, whole):
    numbers = {DAY: (-719_162, 2_932_896), TIME: (-62_135_596_800_000_000, 253_402_300_799_999_999)}
    found = conformed(pa.array(numbers[kind], whole).view(kind), kind)
    assert [(one.year, one.month, one.day) for one in found] == [(1, 1, 1), (9999, 12, 31)]


def test_columns_go_by_name():
    wanted = pa.schema([pa.field("a", pa.int32(), nullable=False), pa.field("b", pa.int32())])
    sent = pa.RecordBatch.from_pydict({"b": [1], "a": [2]})
    assert Conform(sent.schema, wanted).batch(sent).to_pylist() == [{"a": 2, "b": 1}]
    sent = pa.RecordBatch.from_pydict({"a": [2]})
    assert Conform(sent.schema, wanted).batch(sent).to_pylist() == [{"a": 2, "b": None}]
    for names, why in ((["A"], "no column A"), (["b"], "a is missing"), (["a", "a"], "two")):
        with pytest.raises(IngestSchemaError, match=why):
            Conform(pa.schema([(name, pa.int32()) for name in names]), wanted)
    with pytest.raises(IngestSchemaError, match="a is NULL"):
        conformed([None], pa.int32(), sent=pa.int32(), nullable=False)


NAMES = st.text(min_size=1, max_size=300)


@settings(deadline=None, max_examples=50)
@given(NAMES)
def test_names_are_told_in_one_line(name):
    with pytest.raises(IngestSchemaError) as found:
        Conform(pa.schema([(name, pa.string())]), pa.schema([(f"{name}x", pa.string())]))
    assert len(found.value.message.splitlines()) == 1
    assert len(found.value.message) < 300


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.one_of(st.none(), st.lists(st.one_of(st.none(), st.integers(-9, 9))))),
    st.integers(0, 3),
)
def test_lists_of_lists_stay_what_they_are(values, offset):
    wanted = pa.large_list(pa.field("element", pa.int64()))
    sent = pa.array(values, pa.list_(pa.int16())).slice(offset)
    assert conformed(sent, wanted) == values[offset:]
