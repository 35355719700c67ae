"""Puffin files of blobs that tell of a table, as Iceberg's specification has them.

`indexes/sidecar.py` has those of one data file's indexes, which are sealed; these are open to every
reader and come from any writer. Written are plain blobs behind a plain footer. Read are those, and
blobs compressed by Zstandard. Promises: nothing is read beyond what the file's size and the limits
allow, and nothing expands beyond its limit; what isn't as the specification has it is a ValueError.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from accelerator.errors import UNFIT
from accelerator.iceberg.io import decompressed

Read = Callable[[int, int], bytes]
"""So many bytes from an offset."""

MAGIC = b"PFA1"
_END = 4 + 4 + len(MAGIC)
FOOTER_MAX = 16 << 20
BLOB_MAX = 16 << 20
_BLOBS_MAX = 100_000
_TAIL = 64 << 10
_INT_MAX = 1 << 63


@dataclass(frozen=True, slots=True)
class PuffinBlob:
    """What a footer says of a blob; `length` bytes at `offset`, compressed where `codec` says."""

    type: str
    fields: tuple[int, ...]
    snapshot_id: int
    sequence_number: int
    properties: Mapping[str, str] = field(default_factory=dict)
    codec: str | None = None
    offset: int = 0
    length: int = 0

    def metadata(self) -> dict[str, Any]:
        """As a table's metadata names it."""
        return {
            "type": self.type,
            "snapshot-id": self.snapshot_id,
            "sequence-number": self.sequence_number,
            "fields": list(self.fields),
            "properties": dict(self.properties),
        }


def written(blobs: Sequence[tuple[PuffinBlob, bytes]], created_by: str) -> tuple[bytes, int]:
    """A file of these blobs, each as it is given, and how many bytes of it are the footer.

    Where a blob lies is set here, whatever it was given with; its codec is told as it is.
    """
    body, described = bytearray(MAGIC), []
    for one, data in blobs:
        place = {"offset": len(body), "length": len(data)}
        codec = {} if one.codec is None else {"compression-codec": one.codec}
        described.append({**one.metadata(), **place, **codec})
        body += data
    document = {"blobs": described, "properties": {"created-by": created_by}}
    payload = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    if len(payload) > FOOTER_MAX:
        raise ValueError(f"a footer of {len(payload):,} bytes")
    footer = MAGIC + payload + len(payload).to_bytes(4, "little", signed=True) + bytes(4) + MAGIC
    return bytes(body) + footer, len(footer)


def footer_of(read: Read, size: int) -> tuple[PuffinBlob, ...]:
    """The blobs of a file of that many bytes; mostly by one read. ValueError."""
    if size < 2 * len(MAGIC) + _END:
        raise ValueError(f"a Puffin file can't have {size} bytes")
    tail = _exactly(read, max(0, size - _TAIL), min(size, _TAIL))
    if tail[-4:] != MAGIC:
        raise ValueError("the file doesn't end as a Puffin file does")
    length, flags = int.from_bytes(tail[-12:-8], "little", signed=True), tail[-8:-4]
    if any(flags):
        raise ValueError(f"the footer has flags that aren't read here: {flags.hex()}")
    start = size - _END - length - len(MAGIC)
    if not 0 <= length <= FOOTER_MAX or start < len(MAGIC):
        raise ValueError(f"the footer can't have {length} bytes")
    whole = length + len(MAGIC) + _END
    footer = tail[-whole:] if whole <= len(tail) else _exactly(read, start, whole)
    if footer[:4] != MAGIC:
        raise ValueError("the footer doesn't begin where its length says")
    try:
        blobs = json.loads(footer[4:-_END])["blobs"]
        if not isinstance(blobs, list) or len(blobs) > _BLOBS_MAX:
            raise ValueError("the footer has no list of blobs, or too long a one")
        return tuple(_described(one, start) for one in blobs)
    except UNFIT as error:
        raise ValueError(f"the footer can't be read: {error!r}") from None


def _described(one: Mapping[str, Any], end: int) -> PuffinBlob:
    properties = dict(one.get("properties") or {})
    codec = one.get("compression-codec")
    texts = (one["type"], *properties, *properties.values(), codec or "")
    fields = one["fields"]
    if not all(isinstance(text, str) for text in texts) or not isinstance(fields, list):
        raise ValueError("a blob whose type, fields, codec or properties are of another form")
    offset, length = _whole(one["offset"]), _whole(one["length"])
    if offset < len(MAGIC) or length < 0 or offset + length > end:
        raise ValueError(f"a blob of {length} bytes at {offset}")
    return PuffinBlob(
        one["type"],
        tuple(map(_whole, fields)),
        _whole(one["snapshot-id"]),
        _whole(one["sequence-number"]),
        properties,
        codec,
        offset,
        length,
    )


def _whole(number: object) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or abs(number) >= _INT_MAX:
        raise ValueError(f"{number!r} is no whole number")
    return number


def stored(read: Read, blob: PuffinBlob) -> bytes:
    """The blob's bytes as the file has them; ValueError where they're too many, or fewer."""
    if blob.length > BLOB_MAX:
        raise ValueError(f"a blob of {blob.length:,} bytes")
    return _exactly(read, blob.offset, blob.length)


def content(read: Read, blob: PuffinBlob) -> bytes:
    """The blob's bytes, decompressed; ValueError as for `stored`, and for other codecs."""
    if blob.codec not in (None, "zstd"):
        raise ValueError(f"a blob compressed by {blob.codec}, which isn't read here")
    return decompressed(stored(read, blob), blob.codec or "null", BLOB_MAX)


def _exactly(read: Read, offset: int, length: int) -> bytes:
    data = read(offset, length)
    if len(data) != length:
        raise ValueError(f"the file is cut off: {len(data)} of {length} bytes at {offset}")
    return data
