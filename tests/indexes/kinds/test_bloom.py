"""BLOOM: no file that holds a value is told to lack it, and others seldom are told to have it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexes.bloom.split_block import false_positive_rate, read_filter
from indexes.domains import NotIndexableError, to_domain
from indexes.kind import Blob, IndexedColumn, OptionError, Options
from indexes.kinds import bloom
from indexes.kinds.bloom import BLOOM, answers, fits
from indexes.question import Among, Compare, IsNull, Like, Question, Value
from tests.support.extent import sized

GOLDEN = Path(__file__).parents[1] / "golden" / "v1"
NAN = float("nan")
BOTH = pytest.mark.parametrize("filter_", ["sbbf", "pybloom"])
TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int": (pa.int32(), st.integers(-(1 << 31), (1 << 31) - 1)),
    "bigint": (pa.int64(), st.integers(-(1 << 63), (1 << 63) - 1)),
    "float": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats()),
    "string": (pa.string(), st.text(max_size=40)),
    "binary": (pa.binary(), st.binary(max_size=40)),
}


def build(type_: str, chunks: Sequence[pa.Array], options: Options) -> Sequence[Blob]:
    builder = BLOOM.builder(IndexedColumn(type_, tuple(len(one) for one in chunks)), options)
    for one in chunks:
        builder.add(to_domain(one, type_))
    return builder.finish()


def may(blob: Blob, value: Value, type_: str) -> bool:
    clauses = BLOOM.asked(Among((value,)), type_, BLOOM.options(type_, {}))
    assert clauses is not None
    return answers(blob, clauses)


@BOTH
@pytest.mark.parametrize("type_", TYPES)
@given(st.data())
@settings(max_examples=sized(12, full=25), deadline=None)
def test_what_a_file_holds_is_found(type_: str, filter_: str, data: st.DataObject) -> None:
    stored, values = TYPES[type_]
    chunks = data.draw(st.lists(st.lists(st.none() | values, max_size=30), max_size=3))
    arrays = [pa.array(chunk, stored) for chunk in chunks]
    blobs = build(type_, arrays, BLOOM.options(type_, {"filter": filter_}))
    held = [v for one in arrays for v in to_domain(one, type_).to_pylist() if v is not None]
    for blob in blobs:
        assert all(may(blob, value, type_) for value in held)
        assert blob.properties["rows"] == str(sum(len(one) for one in chunks))
    assert len(blobs) == 1


@BOTH
def test_promotions_and_odd_floats(filter_: str) -> None:
    narrow = pa.array([1, 2, None], pa.int32())
    (blob,) = build("int", [narrow], BLOOM.options("int", {"filter": filter_}))
    assert may(blob, 2, "bigint") and not may(blob, 3, "bigint")
    assert fits(blob.properties, "bigint") and not fits(blob.properties, "double")
    floats = pa.array([-0.0, NAN, 0.1], pa.float32())
    (blob,) = build("float", [floats], BLOOM.options("float", {"filter": filter_}))
    assert all(may(blob, v, "double") for v in (0.0, -0.0, NAN, -NAN, float(np.float32(0.1))))
    assert not may(blob, 0.1, "double") and not may(blob, math.inf, "double")


def test_other_units_and_scales_do_not_fit() -> None:
    (blob,) = build("date", [pa.array([1], pa.date32())], BLOOM.options("date", {}))
    assert fits(blob.properties, "date") and not fits(blob.properties, "timestamp")
    options = BLOOM.options("decimal(9,2)", {})
    (blob,) = build("decimal(9,2)", [pa.array([1], pa.decimal128(9, 2))], options)
    assert fits(blob.properties, "decimal(18, 2)") and not fits(blob.properties, "decimal(9,3)")
    assert not fits({}, "int")


@BOTH
def test_an_empty_file_holds_nothing(filter_: str) -> None:
    for chunks in ([], [pa.array([], pa.int64())], [pa.nulls(5, pa.int64())]):
        (blob,) = build("bigint", chunks, BLOOM.options("bigint", {"filter": filter_}))
        assert not any(may(blob, value, "bigint") for value in (0, 42, -1))


def test_what_can_skip_nothing_has_no_blob(monkeypatch: pytest.MonkeyPatch) -> None:
    options = BLOOM.options("boolean", {})
    assert not build("boolean", [pa.array([True, False, None])], options)
    (blob,) = build("boolean", [pa.array([True, None])], options)
    assert may(blob, 1, "boolean") and not may(blob, 0, "boolean")
    full = pa.array(np.arange(100_000))
    monkeypatch.setattr("indexes.bloom.split_block.MOST_BLOCKS", 8)
    assert not build("bigint", [full], BLOOM.options("bigint", {}))


@pytest.mark.parametrize("kept", [True, False])
def test_filters_shrink_to_the_values_there_are(
    kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kept:
        monkeypatch.setattr(bloom, "KEPT_HASHES", 1000)
    values = pa.array(np.arange(300_000) % 7000)
    (blob,) = build("bigint", [values[:1000], values[1000:]], BLOOM.options("bigint", {}))
    per_value = 8 * len(blob.data) / 7000
    assert 10.5 <= per_value <= 12 if kept else 13 <= per_value <= 21
    assert int(blob.properties["ndv"]) == pytest.approx(7000, rel=0.01)
    found = read_filter(blob)
    absent = sum(may(blob, value, "bigint") for value in range(7000, 27_000)) / 20_000
    assert absent <= 1.3 * false_positive_rate(7000, found.blocks)


def test_pybloom_is_of_few_values_only(monkeypatch: pytest.MonkeyPatch) -> None:
    import pybloom_live

    values, options = pa.array(np.arange(2000)), BLOOM.options("int", {"filter": "pybloom"})
    (blob,) = build("bigint", [values], options)
    assert blob.type == "acc-pybloom-v1" and blob.properties["ndv"] == "2000"
    assert isinstance(bloom.read_pybloom(blob), pybloom_live.BloomFilter)
    assert sum(may(blob, value, "bigint") for value in range(2000, 12_000)) <= 130
    monkeypatch.setattr(bloom, "PYBLOOM_VALUES", 1999)
    (blob,) = build("bigint", [values], options)
    assert blob.type == "acc-sbbf-v1" and may(blob, 7, "bigint")


def test_bytes_that_are_no_filter_of_pybloom() -> None:
    (blob,) = build(
        "int", [pa.array([1, 2], pa.int32())], BLOOM.options("int", {"filter": "pybloom"})
    )
    said, data = blob.properties, blob.data
    for bad in (b"", data[:39], data[:-1], data + b"\0", b"\xff" * len(data), bytes(len(data))):
        with pytest.raises(ValueError, match="pybloom_live of"):
            answers(Blob(blob.type, bad, True, said), ((1,),))
    with pytest.raises(ValueError, match="no filter"):
        answers(Blob(blob.type, data, True, {}), ((1,),))
    with pytest.raises(ValueError, match="acc-other"):
        answers(Blob("acc-other", data, True, said), ((1,),))


def test_questions_that_it_answers() -> None:
    def asked(question: Question, type_: str = "bigint") -> Any:
        return BLOOM.asked(question, type_, BLOOM.options(type_, {}))

    ((one, two),) = asked(Among((1, 2)))
    assert one != two
    assert asked(Among(())) == ((),)
    for question in (IsNull(), Compare("<", 1), Like(("a",)), Among((b"a",)), Among((1.0,))):
        assert asked(question) is None
    assert asked(Among((1, 1 << 63))) is None
    for type_, value in (("double", 1), ("string", 1), ("string", 1.0), ("double", b"")):
        assert asked(Among((value,)), type_) is None
    assert BLOOM.asked(Among((1,)), "array<int>", {}) is None
    column = IndexedColumn("bigint", (1,))
    assert BLOOM.probe(Blob("", b"", False), lambda *_: b"", Among((1,)), column) is None


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"bits_per_value": 3.9}, "4 to 40"),
        ({"bits_per_value": 41}, "4 to 40"),
        ({"bits_per_value": math.nan}, "4 to 40"),
        ({"bits_per_value": "10"}, "4 to 40"),
        ({"bits_per_value": True}, "4 to 40"),
        ({"filter": "cuckoo"}, "sbbf or pybloom"),
        ({"bits": 4}, "no option bits"),
    ],
)
def test_options_out_of_range(given_: Options, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        BLOOM.options("int", given_)


def test_options() -> None:
    assert BLOOM.options("int", {}) == {"bits_per_value": 10.5, "filter": "sbbf"}
    assert BLOOM.options("int", {"bits_per_value": 20})["bits_per_value"] == 20
    with pytest.raises(NotIndexableError, match="array<int>"):
        BLOOM.options("array<int>", {})


def test_golden_bytes() -> None:
    values = pa.array([b"a", b"", None, "größer".encode(), "中文".encode(), b"a" * 100])
    for filter_ in ("sbbf", "pybloom"):
        (blob,) = build("string", [values], BLOOM.options("string", {"filter": filter_}))
        kept = (GOLDEN / f"bloom-{filter_}.bin").read_bytes()
        assert blob.data == kept
        assert may(Blob(blob.type, kept, True, blob.properties), "中文".encode(), "string")
        assert not may(Blob(blob.type, kept, True, blob.properties), b"b", "string")
