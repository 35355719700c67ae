"""Puffin files, as Iceberg's specification has them: blobs, and a footer that lists them.

Written are blobs as they're given behind a footer that isn't compressed. Promises: a reader takes
no more than the file's size and the limits allow; a file of another form is a ValueError.
`docs/formats/sidecar.md` has every byte of a sidecar.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Annotated, Any
from zlib import crc32

from msgspec import Meta, Struct, convert, field

from indexes.kind import Blob, Read

MAGIC = b"PFA1"
_END = 4 + 4 + len(MAGIC)  # the payload's length, flags, magic
_FOOTER_MAX = 16 << 20
_BLOBS_MAX = 100_000
_TAIL = 64 << 10  # bytes at the end that are read at once: most footers
UNKNOWN = -1  # a snapshot, or a sequence number: an index belongs to a data file, not to a snapshot
_FOOTER_CRC32, _UNSET = "footer-crc32", "0" * 8
_SEAL = re.compile(rb'"footer-crc32":"([0-9a-f]{8})"')
_UNFIT = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What JSON of another shape raises."""


_Whole = Annotated[int, Meta(gt=-(2**63), le=2**63 - 1)]


class PuffinBlob(Struct, frozen=True):
    """What a footer says of a blob; `length` bytes at `offset`, compressed where `codec` says."""

    type: str
    fields: tuple[_Whole, ...]
    snapshot_id: _Whole = field(name="snapshot-id")
    sequence_number: _Whole = field(name="sequence-number")
    properties: Mapping[str, str] = field(default_factory=dict)
    codec: str | None = field(default=None, name="compression-codec")
    offset: _Whole = 0
    length: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0

    def metadata(self, **place: int) -> dict[str, Any]:
        """Returns the form of a table's metadata, or with its place that of the footer."""
        return {
            "type": self.type,
            "fields": list(self.fields),
            "snapshot-id": self.snapshot_id,
            "sequence-number": self.sequence_number,
            **place,
            "properties": dict(self.properties),
        }


def written(
    blobs: Sequence[tuple[PuffinBlob, bytes]],
    properties: Mapping[str, str],
    seal: Callable[[bytes], bytes] = bytes,
) -> tuple[bytes, int]:
    """A file of these blobs, and how many bytes of it are the footer.

    Blobs aren't compressed here, and their offsets and lengths are made anew. `seal` writes the
    checksum of the footer's JSON.
    """
    body, described = bytearray(MAGIC), []
    for one, data in blobs:
        codec = {} if one.codec is None else {"compression-codec": one.codec}
        described.append(one.metadata(offset=len(body), length=len(data)) | codec)
        body += data
    document = {"blobs": described, "properties": dict(properties)}
    payload = seal(json.dumps(document, separators=(",", ":")).encode())
    footer = MAGIC + payload + len(payload).to_bytes(4, "little", signed=True) + bytes(4) + MAGIC
    return bytes(body) + footer, len(footer)


def footer_of(read: Read, size: int) -> tuple[PuffinBlob, ...]:
    """The blobs of a file of that many bytes; mostly by one read. ValueError."""
    if size < 2 * len(MAGIC) + _END:
        raise ValueError(f"a Puffin file can't have {size} bytes")
    tail = exactly(read, max(0, size - _TAIL), min(size, _TAIL))
    if tail[-4:] != MAGIC:
        raise ValueError("the file doesn't end as a Puffin file does")
    length, flags = int.from_bytes(tail[-12:-8], "little", signed=True), tail[-8:-4]
    if any(flags):
        raise ValueError(f"the footer has flags that aren't read here: {flags.hex()}")
    start = size - _END - length - len(MAGIC)
    if not 0 <= length <= _FOOTER_MAX or start < len(MAGIC):
        raise ValueError(f"the footer can't have {length} bytes")
    whole = length + len(MAGIC) + _END
    footer = tail[-whole:] if whole <= len(tail) else exactly(read, start, whole)
    if footer[:4] != MAGIC:
        raise ValueError("the footer doesn't begin where its length says")
    try:
        blobs = json.loads(footer[4:-_END])["blobs"]
        if not isinstance(blobs, list) or len(blobs) > _BLOBS_MAX:
            raise ValueError("the footer has no list of blobs, or too long a one")
        return tuple(_described(one, start) for one in blobs)
    except _UNFIT as error:
        raise ValueError(f"the footer can't be read: {error!r}") from None


def _described(one: Mapping[str, Any], end: int) -> PuffinBlob:
    blob = convert({**one, "properties": one.get("properties") or {}}, PuffinBlob)
    if blob.offset < len(MAGIC) or blob.offset + blob.length > end:
        raise ValueError(f"a blob of {blob.length} bytes at {blob.offset}")
    return blob


def exactly(read: Read, offset: int, length: int) -> bytes:
    """Reads so many bytes from an offset; ValueError if there are fewer."""
    data = read(offset, length)
    if len(data) != length:
        raise ValueError(f"the file is cut off: {len(data)} of {length} bytes at {offset}")
    return data


class BlobRange(Struct, frozen=True):
    """Where a blob lies in its file, in bytes."""

    offset: int
    length: int


def write_sidecar(
    blobs: Sequence[tuple[Blob, int]], record_count: int
) -> tuple[bytes, tuple[BlobRange, ...]]:
    """A sidecar of (blob, field id) pairs as bytes, and where each blob lies in it.

    That is a file of one data file's indexes. The store's records say where a sidecar and its blobs
    lie. Neither the footer nor a blob is compressed, and each has a checksum.

    `record_count`: rows of the data file.
    """
    described: list[tuple[PuffinBlob, bytes]] = []
    for blob, field_id in blobs:
        own = {
            "crc32": f"{crc32(blob.data):08x}",
            "record-count": str(record_count),
            "light": "true" if blob.light else "false",
        }
        if taken := own.keys() & blob.properties:
            raise ValueError(f"the property {min(taken)} is the writer's own")
        properties = {**blob.properties, **own}
        about = PuffinBlob(blob.type, (field_id,), UNKNOWN, UNKNOWN, properties)
        described.append((about, blob.data))
    data, _ = written(described, {_FOOTER_CRC32: _UNSET}, _sealed)
    starts = accumulate((len(blob.data) for blob, _ in blobs), initial=len(MAGIC))
    places = zip(starts, blobs, strict=False)  # the last one starts the footer
    return data, tuple(BlobRange(start, len(blob.data)) for start, (blob, _) in places)


def within(read: Read, place: BlobRange) -> Read:
    """Reads within a blob, as kinds want it. ValueError outside of it."""

    def inside(offset: int, length: int) -> bytes:
        if offset < 0 or length < 0 or offset + length > place.length:
            raise ValueError(f"{length} bytes at {offset} of a blob of {place.length} bytes")
        return read(place.offset + offset, length)

    return inside


def _sealed(payload: bytes) -> bytes:
    if len(_SEAL.findall(payload)) != 1:
        raise ValueError(f"a text of the sidecar contains {_FOOTER_CRC32}")
    return _SEAL.sub(f'"{_FOOTER_CRC32}":"{crc32(payload):08x}"'.encode(), payload)
