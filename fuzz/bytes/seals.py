"""Checksums made right again, as who damages a file on purpose would make them."""

from __future__ import annotations

import hashlib
import re
import struct
from random import Random
from zlib import crc32

_HEADS = re.compile(rb"AI[XT]1")


def trailing(_: Random, data: bytes) -> bytes:
    """The CRC-32 of all before it in the last four bytes."""
    return data[:-4] + crc32(data[:-4]).to_bytes(4, "little") if len(data) > 4 else data


def keyed_sealed(_: Random, data: bytes) -> bytes:
    """The heads of inverted blobs, wherever they stand in a file."""
    found = bytearray(data)
    for match in _HEADS.finditer(data):
        at = match.start()
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        if 12 <= length <= len(data) - at:
            end = at + length
            found[end - 4 : end] = crc32(bytes(found[at : end - 4])).to_bytes(4, "little")
    return bytes(found)


def vector_sealed(_: Random, data: bytes) -> bytes:
    """A deletion vector in its frame: length, magic and bitmap, checksum."""
    length = int.from_bytes(data[:4], "big")
    if length > len(data) - 8:
        length = max(len(data) - 8, 0)
    payload = data[4 : 4 + length]
    return struct.pack(">I", length) + payload + struct.pack(">I", crc32(payload))


_STATE = re.compile(rb'(\{"format":\d+,.*?"sha256":")([0-9a-f]{64})(","state":)(.*)\}\n', re.DOTALL)


def version_sealed(_: Random, data: bytes) -> bytes:
    """A version file of the store: the SHA-256 of its state."""
    match = _STATE.fullmatch(data)
    if match is None:
        return data
    digest = hashlib.sha256(match[4]).hexdigest().encode()
    return match[1] + digest + match[3] + match[4] + b"}\n"
