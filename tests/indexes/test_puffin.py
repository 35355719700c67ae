"""Sidecars: what is written is read back, by PyIceberg too; what is cut off is refused."""

from __future__ import annotations

import json
from zlib import crc32

import pytest
from pyiceberg.table.puffin import PuffinFile

from indexes.kind import Blob
from indexes.puffin import BlobRange, exactly, footer_of, within, write_sidecar

BLOBS = [
    (Blob("acc-bitmap-v1", b"bitmap" * 50, False, {"rows": "7", "text": 'é "footer-crc32":"'}), 3),
    (Blob("acc-sbbf-v1", b"", True), 3),
    (Blob("acc-sbbf-v1", bytes(range(256)), True, {"z": "8"}), 11),
]


def reader(data: bytes):
    return lambda offset, length: data[offset : offset + length]


def parsed(data: bytes):
    return footer_of(reader(data), len(data))


@pytest.mark.parametrize("count", range(4))
def test_blobs_come_back(count):
    data, places = write_sidecar(BLOBS[:count], 7)
    footer = parsed(data)
    assert [(one.type, one.fields) for one in footer] == [(b.type, (f,)) for b, f in BLOBS[:count]]
    assert [BlobRange(one.offset, one.length) for one in footer] == list(places)
    assert [exactly(reader(data), p.offset, p.length) for p in places] == [
        blob.data for blob, _ in BLOBS[:count]
    ]


def test_the_footer_has_its_own_checksum():
    data, _ = write_sidecar(BLOBS, 7)
    payload = data[-12 - int.from_bytes(data[-12:-8], "little") : -12]
    seal = json.loads(payload)["properties"]["footer-crc32"]
    blank = payload.replace(f'"footer-crc32":"{seal}"'.encode(), b'"footer-crc32":"00000000"')
    assert seal == f"{crc32(blank):08x}"


def test_pyiceberg_reads_it():
    data, places = write_sidecar(BLOBS, 7)
    file = PuffinFile(data)
    assert [file.get_blob_payload(blob) for blob in file.footer.blobs] == [b.data for b, _ in BLOBS]
    for described, (blob, field), place in zip(file.footer.blobs, BLOBS, places, strict=True):
        assert (described.type, described.fields) == (blob.type, [field])
        assert (described.snapshot_id, described.sequence_number) == (-1, -1)
        assert (described.offset, described.length) == (place.offset, place.length)
        assert described.compression_codec is None
        assert described.properties == {
            **blob.properties,
            "crc32": f"{crc32(blob.data):08x}",
            "record-count": "7",
            "light": "true" if blob.light else "false",
        }


def test_a_footer_larger_than_the_tail():
    blobs = [(Blob("t", b"x", False, {"text": "y" * 1000}), field) for field in range(40)]
    assert len(parsed(write_sidecar(blobs, 1)[0])) == 40


def test_a_small_footer_takes_one_read():
    data, _ = write_sidecar([(Blob("t", bytes(1 << 20), False), 1)], 1)
    reads = []

    def read(offset, length):
        reads.append(length)
        return data[offset : offset + length]

    footer_of(read, len(data))
    assert len(reads) == 1


def test_every_cut_is_refused():
    data, _ = write_sidecar(BLOBS, 7)
    for size in range(len(data)):
        with pytest.raises(ValueError, match=r"Puffin file|cut off|footer"):
            parsed(data[:size])


def test_a_file_that_ends_early_under_its_size():
    data, places = write_sidecar(BLOBS, 7)
    with pytest.raises(ValueError, match="cut off"):
        footer_of(reader(data[:-5]), len(data))
    with pytest.raises(ValueError, match="cut off: 6 of 300"):
        exactly(reader(data[:10]), places[0].offset, places[0].length)


@pytest.mark.parametrize(
    ("tail", "says"),
    [
        (bytes([1, 0, 0, 0]) + b"PFA1", "flags"),
        (bytes([0, 1, 0, 0]) + b"PFA1", "flags"),
        (bytes(4) + b"PFA2", "doesn't end as a Puffin file does"),
        (bytes(4) + b"PAR1", "doesn't end as a Puffin file does"),
    ],
)
def test_what_the_end_says(tail, says):
    data, _ = write_sidecar(BLOBS, 7)
    with pytest.raises(ValueError, match=says):
        parsed(data[:-8] + tail)


def test_names_that_the_writer_uses_itself():
    for name in ("crc32", "record-count", "light"):
        with pytest.raises(ValueError, match=name):
            write_sidecar([(Blob("t", b"", False, {name: "x"}), 1)], 1)
    with pytest.raises(ValueError, match="footer-crc32"):
        write_sidecar([(Blob("t", b"", False, {"footer-crc32": "01234567"}), 1)], 1)


def test_reads_within_a_blob():
    data, places = write_sidecar(BLOBS, 7)
    read = within(reader(data), places[0])
    assert read(6, 6) == b"bitmap"
    assert read(0, 300) == b"bitmap" * 50
    for offset, length in ((-1, 1), (0, 301), (300, 1), (5, -1)):
        with pytest.raises(ValueError, match="of a blob of 300 bytes"):
            read(offset, length)
