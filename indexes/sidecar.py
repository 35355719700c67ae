"""Sidecars: Puffin files, as Iceberg's specification has them, of one data file's indexes.

Neither the footer nor a blob is compressed (a kind compresses what it wants itself), and each has a
checksum. The store's records say where a sidecar and its blobs lie. `docs/formats/sidecar.md` has
every byte.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from zlib import crc32

from msgspec import Struct

from indexes.kind import Blob, Read
from indexes.puffin import MAGIC, PuffinBlob, written

UNKNOWN = -1  # a snapshot, or a sequence number: an index belongs to a data file, not to a snapshot
_FOOTER_CRC32, _UNSET = "footer-crc32", "0" * 8
_SEAL = re.compile(rb'"footer-crc32":"([0-9a-f]{8})"')


class BlobRange(Struct, frozen=True):
    """Where a blob lies in its file, in bytes."""

    offset: int
    length: int


def write(
    blobs: Sequence[tuple[Blob, int]], record_count: int
) -> tuple[bytes, tuple[BlobRange, ...]]:
    """A sidecar of (blob, field id) pairs as bytes, and where each blob lies in it.

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
