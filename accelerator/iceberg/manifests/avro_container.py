"""The container of an Avro file, opened: its metadata, its schema and its decompressed blocks.

Nothing in the file is trusted. What is cut off, altered or unknown raises `ManifestError`. No file
becomes more than `BYTES_MAX`, nor many times its own size: sound manifests shrink to a tenth or so.
A file that ends behind a block is whole, as the format has it: it doesn't say how many there are.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from msgspec import Struct

from accelerator.iceberg.errors import ManifestError
from accelerator.iceberg.io import ExpandedError, decompressed

BYTES_MAX = 2**31 - 1  # offsets into the decompressed bytes are 32 bits wide
_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_VARINT_BYTES_MAX = 10
_CODECS = {b"null": "null", b"deflate": "deflate", b"snappy": "snappy", b"zstandard": "zstd"}
_INFLATED = 256
"""A file may become so many times larger, as one of entries that are all alike does."""
_INFLATED_BYTES = 1 << 26
"""And any file so large."""
_ENTRY_BYTES_MIN = 4
"""Of an entry of a manifest or of a list of them: two numbers, a path, what it's made of."""


class AvroBlock(Struct, frozen=True):
    """`rows` records in the bytes `start` to `end` of `Container.data`."""

    rows: int
    start: int
    end: int


class Container(Struct, frozen=True):
    """An Avro file. `schema` is the writer's, as JSON text; `data` all blocks, decompressed."""

    metadata: Mapping[str, bytes]
    schema: str
    data: bytes | bytearray
    blocks: tuple[AvroBlock, ...]

    @property
    def rows(self) -> int:
        """Records in all blocks."""
        return sum(block.rows for block in self.blocks)


def read_container(data: bytes) -> Container:
    """Open the bytes of an Avro file; ManifestError where they aren't one, whole and sound."""
    if not data.startswith(_MAGIC):
        raise damaged("it doesn't begin as an Avro file does")
    reader = _ByteReader(data, len(_MAGIC))
    metadata = _metadata(reader)
    sync = reader.take(_SYNC_BYTES)
    named = metadata.get("avro.codec", b"null")
    codec = _CODECS.get(named)
    if codec is None:
        raise unsupported(f"its codec is {named.decode(errors='replace')!r}")
    try:
        schema = metadata["avro.schema"].decode()
    except (KeyError, UnicodeDecodeError) as error:
        raise damaged("its header has no schema") from error
    most = min(max(_INFLATED * len(data), _INFLATED_BYTES), BYTES_MAX)
    plain = bytearray()
    blocks: list[AvroBlock] = []
    while reader.left:
        rows = reader.varint()
        part = _unpacked(reader.take(reader.varint()), codec, most - len(plain))
        if reader.take(_SYNC_BYTES) != sync:
            raise damaged("a block doesn't end where it should")
        if not 0 <= rows * _ENTRY_BYTES_MIN <= len(part):
            raise damaged(f"a block of {len(part)} bytes says that it has {rows} entries")
        blocks.append(AvroBlock(rows, len(plain), len(plain) + len(part)))
        plain += part
    return Container(metadata, schema, plain, tuple(blocks))


def damaged(reason: str) -> ManifestError:
    """The error for bytes that no sound writer writes. The caller adds whose they are."""
    return ManifestError(
        f"the manifest is damaged: {reason}",
        hint="restore the file, or roll the table back to a snapshot without it",
    )


def unsupported(reason: str) -> ManifestError:
    """The error for what may be sound, but isn't known here."""
    return ManifestError(
        f"the manifest can't be read: {reason}",
        hint="rewrite the table's manifests with Iceberg's procedure rewrite_manifests",
    )


class _ByteReader:
    """A place in bytes; never goes beyond their end."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, size: int) -> bytes:
        if not 0 <= size <= self.left:
            raise damaged("it is cut off")
        self._at += size
        return self._data[self._at - size : self._at]

    def varint(self) -> int:
        """A whole number in Avro's zigzag form."""
        value = 0
        for place in range(_VARINT_BYTES_MAX):
            byte = self.take(1)[0]
            value |= (byte & 127) << (7 * place)
            if byte < 128:
                return (value >> 1) ^ -(value & 1)
        raise damaged("a number is longer than 64 bits")


def _metadata(reader: _ByteReader) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    while count := reader.varint():
        if count < 0:
            count = -count
            reader.varint()  # the block's size in bytes, for those who skip it
        if count > reader.left:
            raise damaged("it is cut off")
        for _ in range(count):
            key = reader.take(reader.varint())
            found[key.decode(errors="replace")] = reader.take(reader.varint())
    return found


def _unpacked(block: bytes, codec: str, size_max: int) -> bytes:
    """The plain bytes of a block, at most so many."""
    snappy = codec == "snappy"  # whose blocks end with a checksum
    try:
        plain = decompressed(block[:-4] if snappy else block, codec, size_max)
    except ExpandedError as error:
        raise unsupported(
            f"decompressed it has more than {BYTES_MAX:,} bytes, or more than {_INFLATED} times"
            " its own"
        ) from error
    except ValueError as error:
        raise damaged("a block can't be decompressed") from error
    if snappy and zlib.crc32(plain) != int.from_bytes(block[-4:], "big"):
        raise damaged("a block isn't what its checksum says")
    return plain
