"""The end of an ORC file: its stripes and columns, and each stripe's bounds and numbers of NULLs.

PyArrow reads stripes but reports neither their rows nor their statistics. pyorc reports both, and
ends the process if a column's statistics lack those of its type. The footers are messages of
Protocol Buffers (ORC's specification, version 1).
"""

from __future__ import annotations

import decimal
import io
import math
import struct
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa
from msgspec import Struct
from pyarrow import orc

from accelerator.iceberg.errors import NeedsSparkError
from indexes.bounds import UNKNOWN

_BYTES_MAX = 64 << 20
"""Of the section, decompressed; of a larger one nothing is known."""
_SECOND = 1_000_000
_DIGITS = decimal.Context(prec=80)
_DIGITS_MAX = 38
_KINDS = (
    *("BOOLEAN", "BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "STRING", "BINARY"),
    *("TIMESTAMP", "LIST", "MAP", "STRUCT", "UNION", "DECIMAL", "DATE", "VARCHAR", "CHAR"),
    "TIMESTAMP_INSTANT",
)
_INTEGERS = frozenset({"BYTE", "SHORT", "INT", "LONG"})
_TEXTS = frozenset({"STRING", "VARCHAR", "CHAR"})
_TIMES = frozenset({"TIMESTAMP", "TIMESTAMP_INSTANT"})
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_NOTHING: dict[int, Any] = {}
Bounds = tuple[Any, Any]
_UNBOUNDED: Bounds = (None, None)


class OrcCompressionError(NeedsSparkError):
    """The footer is compressed in a way that isn't read here."""


class OrcType(Struct, frozen=True):
    """A column's kind by ORC's name, its number in the file, and a decimal's scale."""

    kind: str
    number: int
    scale: int


class StripePlace(Struct, frozen=True):
    """A stripe's rows, and the offset and sizes of its parts in bytes."""

    offset: int
    index: int
    data: int
    footer: int
    rows: int


class OrcFooter(Struct, frozen=True):
    """Rows, stripes in order, and the columns by their names."""

    rows: int
    stripes: list[StripePlace]
    types: dict[str, OrcType]
    compression: str
    block: int


class OrcStatistics(Struct, frozen=True):
    """A column's bounds and number of NULLs in one stripe, in the types of Parquet's statistics."""

    min_raw: Any
    max_raw: Any
    null_count: int

    @property
    def has_min_max(self) -> bool:
        """Reports if both bounds are there."""
        return self.min_raw is not None

    @property
    def has_null_count(self) -> bool:
        """Reports if the number of NULLs is there."""
        return self.null_count != UNKNOWN


def read_footer(stream: BinaryIO) -> OrcFooter:
    """Reads the footer; ValueError if it's damaged, OrcCompressionError if it isn't read here."""
    try:
        file = orc.ORCFile(stream)
        stream.seek(-(file.file_footer_length + file.file_postscript_length + 1), io.SEEK_END)
        block = min(file.compression_size, _BYTES_MAX)
        data = _decompressed(stream.read(file.file_footer_length), file.compression, block)
        stripes, types = (_repeated(data, number) for number in (3, 4))
        places = [StripePlace(*map(dict(_fields(one)).__getitem__, range(1, 6))) for one in stripes]
        found = OrcFooter(file.nrows, places, _columns(types), file.compression, block)
    except (ValueError, TypeError, LookupError, OSError, zlib.error, pa.ArrowException) as error:
        raise ValueError(f"it can't be read as ORC: {str(error)[:200]}") from error
    if sum(one.rows for one in places) != found.rows or len(places) != file.nstripes:
        raise ValueError("the rows of the stripes aren't those of the ORC file")
    return found


def _columns(types: list[Any]) -> dict[str, OrcType]:
    """The columns among a file's types; the first type is the row's."""
    root, found = types[0], {}
    numbers = [
        number
        for part in _repeated(root, 2)
        for number in ([part] if isinstance(part, int) else _varints(part))
    ]
    for name, number in zip(_repeated(root, 3), numbers, strict=True):
        own = dict(_fields(types[number]))
        kind = _KINDS[own.get(1, 0)]
        found[bytes(name).decode()] = OrcType(kind, number, own.get(6, 0))
    return found


def writer_zones(stream: BinaryIO, footer: OrcFooter) -> frozenset[str]:
    """The time zones of the processes that wrote the stripes; ValueError if one is damaged."""
    found = set[str]()
    for one in footer.stripes:
        stream.seek(one.offset + one.index + one.data)
        try:
            data = _decompressed(stream.read(one.footer), footer.compression, footer.block)
            found.add(bytes(dict(_fields(data)).get(3, b"")).decode())
        except (TypeError, zlib.error, pa.ArrowException) as error:
            raise ValueError(f"a stripe's footer can't be read as ORC: {error}") from error
    return frozenset(found)


def stripe_statistics(stream: BinaryIO) -> list[list[bytes]]:
    """Each stripe's statistics by the number of the column, still encoded; none if unreadable."""
    try:
        file = orc.ORCFile(stream)
        # Its content's length counts the file's first bytes with some writers only.
        after = file.file_footer_length + file.file_postscript_length + 1
        size = file.stripe_statistics_length
        stream.seek(-(size + after), io.SEEK_END)
        section = stream.read(size)
        data = _decompressed(section, file.compression, min(file.compression_size, _BYTES_MAX))
        return [list(map(bytes, _repeated(stripe, 1))) for stripe in _repeated(data, 1)]
    except (ValueError, TypeError, OSError, zlib.error, pa.ArrowException, OrcCompressionError):
        return []


def statistics_of(encoded: bytes, kind: str, scale: int, rows: int) -> OrcStatistics:
    """One stripe's statistics of a column of ORC's kind; bounds are None unless they are sound."""
    try:
        message = dict(_fields(encoded))
        low, high = _bounds(message, kind, scale)
    except (ValueError, TypeError, ArithmeticError, struct.error):
        return OrcStatistics(None, None, UNKNOWN)
    values = message.get(1)
    nulls = rows - values if isinstance(values, int) and 0 <= values <= rows else UNKNOWN
    if low is None or high is None or low > high:
        low = high = None
    return OrcStatistics(low, high, nulls)


def _bounds(message: dict[int, Any], kind: str, scale: int) -> Bounds:
    if kind in _INTEGERS:
        return _integers(_message(message, 2))
    if kind == "DATE":
        return _integers(_message(message, 7))
    if kind in ("FLOAT", "DOUBLE"):
        return _floats(_message(message, 3))
    if kind in _TEXTS:
        own = _message(message, 4)
        return (bytes(own[1]), bytes(own[2])) if {1, 2} <= own.keys() else _UNBOUNDED
    if kind == "DECIMAL":
        own = _message(message, 6)
        return _unscaled(own.get(1), scale), _unscaled(own.get(2), scale)
    if kind in _TIMES:
        return _times(_message(message, 9))
    if kind == "BOOLEAN":
        return _booleans(_message(message, 5), message.get(1))
    return _UNBOUNDED


def _message(message: dict[int, Any], number: int) -> dict[int, Any]:
    inner = message.get(number)
    return _NOTHING if inner is None else dict(_fields(inner))


def _integers(own: dict[int, Any]) -> Bounds:
    return _UNBOUNDED if not {1, 2} <= own.keys() else (_signed(own[1]), _signed(own[2]))


def _floats(own: dict[int, Any]) -> Bounds:
    """Floats; None if one of the stripe's is NaN. A bound of zero includes both zeros.

    Bounds of ten thousand rows are NaN if the first one is, and change nothing in the stripe's:
    only the sum shows it.
    """
    if not {1, 2, 3} <= own.keys():
        return _UNBOUNDED
    low, high, total = (struct.unpack("<d", own[number])[0] for number in (1, 2, 3))
    if any(map(math.isnan, (low, high, total))):
        return _UNBOUNDED
    return low or -0.0, high or 0.0


def _times(own: dict[int, Any]) -> Bounds:
    """Times in microseconds. Writers round to milliseconds, and times before 1970 the wrong way.

    A time within the second before 1970 comes as one within the second after it.
    """
    if not {3, 4} <= own.keys():
        return _UNBOUNDED
    low, high = _signed(own[3]) * 1000, (_signed(own[4]) + 1) * 1000
    return (low, high) if low >= _SECOND and high < 2**63 else _UNBOUNDED


def _booleans(own: dict[int, Any], values: object) -> Bounds:
    counts = own.get(1)
    trues = next(_varints(counts), None) if isinstance(counts, bytes | memoryview) else counts
    if not isinstance(trues, int) or not isinstance(values, int) or not 0 <= trues <= values != 0:
        return _UNBOUNDED
    return int(trues == values), int(trues > 0)


def _unscaled(text: Any, scale: int) -> int | None:
    """The decimal as a whole number of units of its scale; None if it has more digits."""
    value = None if text is None else decimal.Decimal(bytes(text).decode("ascii"))
    if value is None or not value.is_finite() or value.adjusted() + scale > _DIGITS_MAX:
        return None
    scaled = value.scaleb(scale, _DIGITS)
    found = int(scaled) if scaled == scaled.to_integral_value() else None
    return found if found is not None and -(2**63) <= found < 2**63 else None


def _signed(value: int) -> int:
    """A number in Protocol Buffers' zigzag form."""
    return (value >> 1) ^ -(value & 1)


def _fields(data: bytes | memoryview) -> Iterator[tuple[int, Any]]:
    """A message's fields: numbers, or bytes of the others; ValueError if it ends too early."""
    view, place = memoryview(data), 0
    while place < len(view):
        key, place = _varint(view, place)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, place = _varint(view, place)
            yield number, value
            continue
        if wire == _BYTES:
            size, place = _varint(view, place)
        else:
            size = {_FIXED64: 8, _FIXED32: 4}.get(wire, len(view))
        if size > len(view) - place:
            raise ValueError("a message of ORC that ends too early")
        yield number, view[place : place + size]
        place += size


def _repeated(data: bytes | memoryview, number: int) -> list[Any]:
    return [value for found, value in _fields(data) if found == number]


def _varint(view: memoryview, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(view):
            break
        byte = view[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), place
    raise ValueError("a message of ORC that ends too early")


def _varints(data: bytes | memoryview) -> Iterator[int]:
    view, place = memoryview(data), 0
    while place < len(view):
        value, place = _varint(view, place)
        yield value


def _decompressed(section: bytes, compression: str, block: int) -> bytes:
    """The section's chunks, decompressed; ValueError for a compression that isn't read here."""
    if compression == "UNCOMPRESSED":
        return section
    found, place = io.BytesIO(), 0
    while place + 3 <= len(section):
        header = int.from_bytes(section[place : place + 3], "little")
        chunk = section[place + 3 : place + 3 + (header >> 1)]
        place += 3 + (header >> 1)
        found.write(chunk if header & 1 else _chunk(chunk, compression, block))
        if place > len(section) or found.tell() > _BYTES_MAX:
            raise ValueError("chunks of ORC that don't end")
    return found.getvalue()


def _chunk(chunk: bytes, compression: str, block: int) -> bytes:
    if compression == "ZLIB":
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(chunk, block)
    if compression == "ZSTD":
        with pa.CompressedInputStream(pa.BufferReader(chunk), "zstd") as stream:
            return bytes(stream.read(block))
    if compression == "SNAPPY":
        size, _ = _varint(memoryview(chunk), 0)
        if size <= block:
            return bytes(pa.Codec("snappy").decompress(chunk, size, asbytes=True))
    raise OrcCompressionError(
        f"footers of ORC files in {compression} aren't read in process",
        hint="Spark reads them; the statement takes that way by itself",
    )
