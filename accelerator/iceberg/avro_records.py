"""The records of an Avro file, as PyIceberg's readers make them, on a decoder of our own.

PyIceberg's compiled decoder reads a double as if it were a float, and believes every length. This
one reads what the specification says, and nothing beyond the bytes that are there. Promises: what
is damaged raises `ManifestError`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any

from pyiceberg.avro.decoder import BinaryDecoder
from pyiceberg.avro.reader import Reader
from pyiceberg.avro.resolver import resolve_reader
from pyiceberg.exceptions import ResolveError
from pyiceberg.schema import Schema
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from accelerator.iceberg.io import METADATA_BYTES_MAX, Inputs, read_bytes
from accelerator.iceberg.manifests.container import Container, damaged, read_container, unsupported

_INT64 = 1 << 64
FAULTS = (
    ArithmeticError,
    EOFError,
    LookupError,
    ResolveError,
    TypeError,
    ValueError,
    struct.error,
)
"""What readers raise over bytes that aren't what their schema says."""


class Decoder(BinaryDecoder):
    """Reads a part of bytes; IndexError or EOFError where a value goes beyond it."""

    def __init__(self, data: bytes, start: int, end: int) -> None:
        self._data = data
        self._at = start
        self._end = end

    def tell(self) -> int:
        return self._at

    def read(self, n: int) -> bytes:
        self.skip(n)
        return self._data[self._at - n : self._at]

    def skip(self, n: int) -> None:
        if not 0 <= n <= self._end - self._at:
            raise EOFError("an entry is cut off")
        self._at += n

    def read_int(self) -> int:
        at = self._at
        byte = self._data[at]
        at += 1
        value = byte & 127
        shift = 7
        while byte > 127:
            byte = self._data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
        if at > self._end or value >= _INT64:
            raise EOFError("a number is cut off or too long")
        self._at = at
        return (value >> 1) ^ -(value & 1)

    def read_boolean(self) -> bool:
        byte = self.read(1)[0]
        if byte > 1:
            raise ValueError("a boolean is neither 0 nor 1")
        return byte == 1

    def read_bytes(self) -> bytes:
        return self.read(self.read_int())

    def skip_int(self) -> None:
        self.read_int()


def decoded(container: Container, reader: Reader) -> Iterator[Any]:
    """What PyIceberg's reader makes of each record; one of `FAULTS` where bytes are damaged."""
    data = bytes(container.data)
    for block in container.blocks:
        decoder = Decoder(data, block.start, block.end)
        for _ in range(block.rows):
            yield reader.read(decoder)
        if decoder.tell() != block.end:
            raise ValueError("a block has bytes behind its last entry")


def sized(inputs: Inputs, location: str, size: int | None) -> bytes:
    """The file's bytes; ManifestError where it hasn't so many, of which no more are read."""
    most = METADATA_BYTES_MAX if size is None else min(max(size, 0), METADATA_BYTES_MAX)
    try:
        data = read_bytes(inputs, location, most)
    except ValueError as error:
        raise damaged(f"{error}") from error
    if size is not None and len(data) != size:
        raise damaged(f"{location} has {len(data):,} bytes, and {size:,} are told of it")
    return data


def records(
    inputs: Inputs,
    location: str,
    schema: Schema,
    types: Mapping[int, Callable[..., Any]],
    enums: Mapping[int, Callable[..., Enum]],
    size: int | None = None,
) -> Iterator[Any]:
    """The records of the file at that location, under the schema, in its order.

    `types` and `enums` are what PyIceberg makes of a field's id, `size` how many bytes the file
    has, where that is told. ManifestError where the file is damaged, or has types that PyIceberg
    doesn't know.
    """
    container = read_container(sized(inputs, location, size))
    try:
        written = AvroSchemaConversion().avro_to_iceberg(json.loads(container.schema))
        reader = resolve_reader(written, schema, dict(types), dict(enums))
    except FAULTS as error:
        raise unsupported(f"{location}: {error}") from error
    try:
        yield from decoded(container, reader)
    except FAULTS as error:
        raise damaged(f"{location}: {error}") from error
