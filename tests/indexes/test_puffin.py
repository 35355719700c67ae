"""Sidecars: what is written is read back, by PyIceberg too; the rest is refused."""

from __future__ import annotations

import io
import json
from zlib import crc32

import pytest
from pyiceberg.table.puffin import PuffinFile

from indexes.kind import Blob
from indexes.sidecar import BlobRange, SidecarBlob, Writer, read_blob, read_footer, within, write

BLOBS = [
    (Blob("acc-bitmap-v1", b"bitmap" * 50, False, {"rows": "7", "text": 'é "footer-crc32":"'}), 3),
    (Blob("acc-sbbf-v1", b"", True), 3),
    (Blob("acc-sbbf-v1", bytes(range(256)), True, {"z": "8"}), 11),
]


def reader(data: bytes):
    return lambda offset, length: data[offset : offset + length]


def parsed(data: bytes):
    footer = read_footer(reader(data), len(data))
    return footer, [read_blob(reader(data), entry) for entry in footer.entries]


def resealed(data: bytes, change) -> bytes:
    """The file with another footer, whose own checksum holds."""
    size = int.from_bytes(data[-12:-8], "little")
    document = json.loads(data[-12 - size : -12])
    change(document)
    document["properties"]["footer-crc32"] = "0" * 8
    payload = json.dumps(document, separators=(",", ":")).encode()
    seal = f"{crc32(payload):08x}".encode()
    payload = payload.replace(b'"footer-crc32":"00000000"', b'"footer-crc32":"' + seal + b'"')
    return data[: -12 - size] + payload + len(payload).to_bytes(4, "little") + data[-8:]


@pytest.mark.parametrize("count", range(4))
def test_blobs_come_back(count):
    data, places = write(BLOBS[:count], 7, {"created-by": "tests"})
    footer, blobs = parsed(data)
    assert blobs == [blob for blob, _ in BLOBS[:count]]
    assert [entry.field_id for entry in footer.entries] == [field for _, field in BLOBS[:count]]
    assert tuple(entry.place for entry in footer.entries) == places
    assert all(entry.record_count == 7 and not entry.blob.data for entry in footer.entries)
    assert footer.properties == {"created-by": "tests"}
    assert [data[p.offset : p.offset + p.length] for p in places] == [b.data for b in blobs]


def test_a_stream_is_the_same_file():
    file = io.BytesIO()
    writer = Writer(file, 7)
    places = tuple(writer.add(*pair) for pair in BLOBS)
    size = writer.finish()
    assert (file.getvalue(), places) == write(BLOBS, 7)
    assert size == len(file.getvalue())


def test_pyiceberg_reads_it():
    data, places = write(BLOBS, 7, {"created-by": "tests"})
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
    assert len(parsed(write(blobs, 1)[0])[1]) == 40


def test_a_small_footer_takes_one_read():
    data, _ = write([(Blob("t", bytes(1 << 20), False), 1)], 1)
    reads = []

    def read(offset, length):
        reads.append(length)
        return data[offset : offset + length]

    read_footer(read, len(data))
    assert len(reads) == 1


def test_every_cut_is_refused():
    data, _ = write(BLOBS, 7)
    for size in range(len(data)):
        with pytest.raises(ValueError, match=r"sidecar"):
            parsed(data[:size])


def test_every_flipped_byte_is_refused_or_harmless():
    data, _ = write(BLOBS, 7)
    right = parsed(data)
    harmless = 0
    for at in range(len(data)):
        for bit in (1, 0x80):
            flipped = data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]
            try:
                assert parsed(flipped) == right
                harmless += 1
            except ValueError as error:
                assert str(error)
    assert harmless == 8  # the first magic, which says nothing that the last one doesn't


def test_a_file_that_ends_early_under_its_size():
    data, _ = write(BLOBS, 7)
    with pytest.raises(ValueError, match="cut off"):
        read_footer(reader(data[:-5]), len(data))
    entry = read_footer(reader(data), len(data)).entries[0]
    with pytest.raises(ValueError, match="cut off: 6 of 300"):
        read_blob(reader(data[:10]), entry)


@pytest.mark.parametrize(
    ("tail", "says"),
    [
        (bytes([1, 0, 0, 0]) + b"PFA1", "compressed"),
        (bytes([0, 1, 0, 0]) + b"PFA1", "unknown flags"),
        (bytes(4) + b"PFA2", "unknown version"),
        (bytes(4) + b"PAR1", "no Puffin file"),
    ],
)
def test_what_the_end_says(tail, says):
    data, _ = write(BLOBS, 7)
    with pytest.raises(ValueError, match=says):
        parsed(data[:-8] + tail)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.pop("blobs"),
        lambda document: document["blobs"][0].pop("offset"),
        lambda document: document["blobs"][0].update(offset=-1),
        lambda document: document["blobs"][0].update(length=1 << 40),
        lambda document: document["blobs"][0].update(fields=[1, 2]),
        lambda document: document["blobs"][0].update({"compression-codec": "zstd"}),
        lambda document: document["blobs"][0]["properties"].pop("crc32"),
        lambda document: document["blobs"].append(None),
    ],
)
def test_a_footer_that_makes_no_sense(change):
    data, _ = write(BLOBS, 7)
    assert parsed(resealed(data, lambda document: None)) == parsed(data)
    with pytest.raises(ValueError, match="footer can't be read"):
        parsed(resealed(data, change))


def test_a_puffin_file_of_others_is_refused():
    payload = b'{"blobs":[],"properties":{}}'
    data = b"PFA1PFA1" + payload + len(payload).to_bytes(4, "little") + bytes(4) + b"PFA1"
    assert PuffinFile(data).footer.blobs == []
    with pytest.raises(ValueError, match="not of this project"):
        parsed(data)


def test_names_that_the_writer_uses_itself():
    for name in ("crc32", "record-count", "light"):
        with pytest.raises(ValueError, match=name):
            write([(Blob("t", b"", False, {name: "x"}), 1)], 1)
    with pytest.raises(ValueError, match="footer-crc32"):
        write([], 1, {"footer-crc32": "x"})
    with pytest.raises(ValueError, match="footer-crc32"):
        write([(Blob("t", b"", False, {"footer-crc32": "01234567"}), 1)], 1)


def test_reads_within_a_blob():
    data, places = write(BLOBS, 7)
    read = within(reader(data), places[0])
    assert read(6, 6) == b"bitmap"
    assert read(0, 300) == b"bitmap" * 50
    for offset, length in ((-1, 1), (0, 301), (300, 1), (5, -1)):
        with pytest.raises(ValueError, match="of a blob of 300 bytes"):
            read(offset, length)


def test_an_altered_blob_says_which():
    data, places = write(BLOBS, 7)
    entry = read_footer(reader(data), len(data)).entries[0]
    wrong = SidecarBlob(entry.blob, 3, BlobRange(places[0].offset + 1, 300), entry.crc32, 7)
    with pytest.raises(ValueError, match="acc-bitmap-v1 of field 3 is altered"):
        read_blob(reader(data), wrong)
