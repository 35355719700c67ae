"""Sidecars: Puffin files, as Iceberg's specification has them, of one data file's indexes.

The footer isn't compressed, nor is a blob (a kind compresses what it wants itself). Every blob and
the footer carry a checksum: what is cut off, altered or of another version raises `ValueError`, and
never gives other bytes than were written. Where a sidecar lies is the store's business.
`docs/formats/sidecar.md` has every byte.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO
from zlib import crc32

from msgspec import Struct

from indexes.kind import Blob, Read

MAGIC = b"PFA1"
_END = 4 + 4 + len(MAGIC)  # the payload's length, flags, magic
_TAIL = 16 << 10  # bytes at the end that are read at once: most footers
_PAYLOAD_MAX = 64 << 20
UNKNOWN = -1  # a snapshot, or a sequence number: an index belongs to a data file, not to a snapshot

CRC32, RECORD_COUNT, LIGHT, FOOTER_CRC32 = "crc32", "record-count", "light", "footer-crc32"
_RESERVED = (CRC32, RECORD_COUNT, LIGHT)
_UNSET = "0" * 8
_UNFIT = (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError)
"""What JSON of another shape raises."""
_SEAL = re.compile(rb'"footer-crc32":"([0-9a-f]{8})"')


class BlobRange(Struct, frozen=True):
    """Where a blob lies in its file, in bytes."""

    offset: int
    length: int


class SidecarBlob(Struct, frozen=True):
    """What the footer says of a blob; `blob` has no data."""

    blob: Blob
    field_id: int
    place: BlobRange
    crc32: int
    record_count: int


class SidecarFooter(Struct, frozen=True):
    """The blobs of a file, in its order, and the file's own properties."""

    entries: tuple[SidecarBlob, ...]
    properties: Mapping[str, str]


class Writer:
    """Writes a sidecar to a binary file, blob after blob; what it has is no file before `finish`.

    `record_count`: rows of the data file. `properties`: of the file.
    """

    def __init__(
        self, file: BinaryIO, record_count: int, properties: Mapping[str, str] | None = None
    ) -> None:
        self._file, self._record_count = file, record_count
        self._properties = dict(properties or {})
        if FOOTER_CRC32 in self._properties:
            raise ValueError(f"the property {FOOTER_CRC32} is the writer's own")
        self._blobs: list[dict[str, Any]] = []
        self._at = self._put(MAGIC)

    def add(self, blob: Blob, field_id: int) -> BlobRange:
        """Appends the index of the column with that field id."""
        taken = [name for name in _RESERVED if name in blob.properties]
        if taken:
            raise ValueError(f"the property {taken[0]} is the writer's own")
        place = BlobRange(self._at, len(blob.data))
        self._at += self._put(blob.data)
        own = {
            CRC32: f"{crc32(blob.data):08x}",
            RECORD_COUNT: str(self._record_count),
            LIGHT: "true" if blob.light else "false",
        }
        described = {
            "type": blob.type,
            "fields": [field_id],
            "snapshot-id": UNKNOWN,
            "sequence-number": UNKNOWN,
            "offset": place.offset,
            "length": place.length,
            "properties": {**blob.properties, **own},
        }
        self._blobs.append(described)
        return place

    def finish(self) -> int:
        """Writes the footer; the size of the file in bytes."""
        sealed = {**self._properties, FOOTER_CRC32: _UNSET}
        payload = json.dumps(
            {"blobs": self._blobs, "properties": sealed}, separators=(",", ":")
        ).encode()
        if len(_SEAL.findall(payload)) != 1:
            raise ValueError(f"a text of the sidecar holds {FOOTER_CRC32}")
        payload = _sealed(payload, f"{crc32(payload):08x}".encode())
        size = len(payload).to_bytes(4, "little", signed=True)
        return self._at + self._put(MAGIC + payload + size + bytes(4) + MAGIC)

    def _put(self, data: bytes) -> int:
        self._file.write(data)
        return len(data)


def write(
    blobs: Sequence[tuple[Blob, int]],
    record_count: int,
    properties: Mapping[str, str] | None = None,
) -> tuple[bytes, tuple[BlobRange, ...]]:
    """A sidecar of (blob, field id) pairs as bytes, and where each blob lies in it."""
    file = io.BytesIO()
    writer = Writer(file, record_count, properties)
    places = tuple(writer.add(blob, field_id) for blob, field_id in blobs)
    writer.finish()
    return file.getvalue(), places


def read_footer(read: Read, size: int) -> SidecarFooter:
    """What a sidecar of that many bytes holds, mostly by one read; its blobs aren't looked at.

    ValueError for what isn't a sidecar as `Writer` writes it.
    """
    if size < 2 * len(MAGIC) + _END:
        raise ValueError(f"the sidecar is cut off: it has {size} bytes")
    tail = _read(read, max(0, size - _TAIL), min(size, _TAIL))
    if tail[-4:] != MAGIC:
        kind = "of an unknown version" if tail[-4:-1] == MAGIC[:-1] else "no Puffin file"
        raise ValueError(f"the sidecar is cut off or {kind}: it ends with {tail[-4:]!r}")
    flags, length = tail[-8:-4], int.from_bytes(tail[-12:-8], "little", signed=True)
    if flags[0] & 1:
        raise ValueError("the sidecar's footer is compressed, which isn't read")
    if any(flags):
        raise ValueError(f"the sidecar's footer has unknown flags: {flags.hex()}")
    start = size - _END - length - len(MAGIC)
    if length < 0 or length > _PAYLOAD_MAX or start < len(MAGIC):
        raise ValueError(f"the sidecar's footer can't be {length} bytes long")
    whole = length + len(MAGIC) + _END
    footer = tail[-whole:] if whole <= len(tail) else _read(read, start, whole)
    if footer[:4] != MAGIC:
        raise ValueError("the sidecar's footer doesn't begin where its length says")
    return _parsed(footer[4:-_END], start)


def read_blob(read: Read, entry: SidecarBlob) -> Blob:
    """The whole blob. ValueError where its bytes aren't those that were written."""
    data = _read(read, entry.place.offset, entry.place.length)
    if crc32(data) != entry.crc32:
        raise ValueError(f"the blob {entry.blob.type} of field {entry.field_id} is altered")
    return Blob(entry.blob.type, data, entry.blob.light, entry.blob.properties)


def within(read: Read, place: BlobRange) -> Read:
    """Reads within a blob, as kinds want it. ValueError outside of it."""

    def inside(offset: int, length: int) -> bytes:
        if offset < 0 or length < 0 or offset + length > place.length:
            raise ValueError(f"{length} bytes at {offset} of a blob of {place.length} bytes")
        return read(place.offset + offset, length)

    return inside


def _read(read: Read, offset: int, length: int) -> bytes:
    data = read(offset, length)
    if len(data) != length:
        raise ValueError(f"the sidecar is cut off: {len(data)} of {length} bytes at {offset}")
    return data


def _sealed(payload: bytes, seal: bytes) -> bytes:
    return _SEAL.sub(b'"footer-crc32":"' + seal + b'"', payload)


def _parsed(payload: bytes, end: int) -> SidecarFooter:
    """`end`: where the blobs end."""
    seals = _SEAL.findall(payload)
    if len(seals) != 1 or crc32(_sealed(payload, _UNSET.encode())) != int(seals[0], 16):
        raise ValueError("the sidecar's footer is altered, or not of this project")
    try:
        document = json.loads(payload)
        properties = dict(document["properties"])
        entries = tuple(_entry(described, end) for described in document["blobs"])
    except _UNFIT as error:
        raise ValueError(f"the sidecar's footer can't be read: {error}") from None
    del properties[FOOTER_CRC32]
    return SidecarFooter(entries, properties)


def _entry(described: dict[str, Any], end: int) -> SidecarBlob:
    if described.get("compression-codec") is not None:
        raise ValueError("a blob is compressed")
    place = BlobRange(int(described["offset"]), int(described["length"]))
    if place.offset < len(MAGIC) or place.length < 0 or place.offset + place.length > end:
        raise ValueError(f"a blob at {place.offset} of {place.length} bytes")
    (field_id,) = described["fields"]
    properties = dict(described["properties"])
    if not all(isinstance(one, str) for one in (described["type"], *properties.values())):
        raise ValueError("a blob whose type or properties aren't texts")
    own = {name: properties.pop(name) for name in _RESERVED}
    blob = Blob(described["type"], b"", own[LIGHT] == "true", properties)
    return SidecarBlob(blob, int(field_id), place, int(own[CRC32], 16), int(own[RECORD_COUNT]))
