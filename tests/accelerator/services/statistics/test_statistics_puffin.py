"""Puffin files of statistics: read by PyIceberg as well, and by nobody where they're damaged."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.table.puffin import Footer

from accelerator.services.statistics import read as reading
from accelerator.services.statistics.read import content
from indexes.puffin import PuffinBlob, footer_of, written

BLOBS = [
    (PuffinBlob("apache-datasketches-theta-v1", (3,), 7, 2, {"ndv": "5"}), b"abc"),
    (PuffinBlob("of-nobody", (1, 2), -1, -1, {}), b""),
]


def reader(data: bytes):
    return lambda offset, length: data[offset : offset + length]


def footer(data: bytes):
    return footer_of(reader(data), len(data))


def zstd(data: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(data, asbytes=True))


def test_what_is_written_is_read():
    data, size = written(BLOBS, {"created-by": "me"})
    found = footer(data)
    assert [(one.type, one.fields, one.properties) for one in found] == [
        (one.type, one.fields, one.properties) for one, _ in BLOBS
    ]
    assert [content(reader(data), one) for one in found] == [blob for _, blob in BLOBS]
    payload = data[-size + 4 : -12]
    known = json.loads(payload)
    known["blobs"] = known["blobs"][:1]
    assert Footer.model_validate(known).blobs[0].length == 3  # as PyIceberg has it


def test_a_compressed_blob_and_one_that_expands_too_far(monkeypatch):
    theirs = PuffinBlob("t", (1,), 1, 1, {}, "zstd")
    data, _ = written([(theirs, zstd(b"x" * 1000))], {})
    (one,) = footer(data)
    assert content(reader(data), one) == b"x" * 1000
    monkeypatch.setattr(reading, "BLOB_MAX", 999)
    with pytest.raises(ValueError, match="more than"):
        content(reader(data), one)
    with pytest.raises(ValueError, match="decompressed"):
        content(reader(b"PFA1" + b"z" * 50), PuffinBlob("t", (1,), 1, 1, {}, "zstd", 4, 20))
    with pytest.raises(ValueError, match="lz4"):
        content(reader(data), PuffinBlob("t", (1,), 1, 1, {}, "lz4", 4, 2))


@pytest.mark.parametrize(
    "change",
    [
        {"fields": 3},
        {"fields": [True]},
        {"fields": ["1"]},
        {"type": 1},
        {"properties": {"a": 1}},
        {"properties": [1]},
        {"offset": 0},
        {"offset": -5},
        {"length": -1},
        {"length": 10**6},
        {"length": 1.0},
        {"snapshot-id": 1 << 70},
        {"compression-codec": 5},
        {"type": None},
    ],
)
def test_footers_of_another_form_are_refused(change):
    blob = {**BLOBS[0][0].metadata(), "offset": 4, "length": 3, **change}
    payload = json.dumps({"blobs": [blob]}).encode()
    data = b"PFA1abcPFA1" + payload + len(payload).to_bytes(4, "little") + bytes(4) + b"PFA1"
    with pytest.raises(ValueError):
        footer(data)


@given(st.data())
@settings(max_examples=200)
def test_altered_files_raise_value_errors_alone(data):
    made, _ = written(BLOBS, {"created-by": "me"})
    altered = bytearray(made)
    for _ in range(data.draw(st.integers(1, 3))):
        altered[data.draw(st.integers(0, len(made) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(made)))
    for one in (bytes(altered), made[:end], made[end:]):
        try:
            for blob in footer(one):
                content(reader(one), blob)
        except ValueError:
            pass


def test_a_large_footer_is_read_by_two_reads():
    many = [(PuffinBlob("t", (n,), 1, 1, {"k": "v" * 50}), b"") for n in range(2000)]
    data, size = written(many, {})
    asked = []

    def read(offset: int, length: int) -> bytes:
        asked.append(length)
        return data[offset : offset + length]

    assert len(footer_of(read, len(data))) == 2000 and len(asked) == 2 and asked[1] == size
