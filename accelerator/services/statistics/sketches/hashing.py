"""Values as theta sketches hash them: Iceberg's bytes of single values, by MurmurHash3.

Promises: the hash is that of Apache DataSketches with its default seed over the bytes that
Iceberg's specification has for a single value, so sketches of other writers merge with ours. A
`uuid` is its 16 bytes, as the specification says (Spark hashes its text instead). DataSketches
passes over empty bytes, and so is done here: an empty text is no value to a sketch.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.uint64]
_WIDTH = 16
"""Bytes of a decimal in Arrow."""
_FIXED: dict[str, np.dtype[Any]] = {
    "boolean": np.dtype(np.uint8),
    "int": np.dtype("<i4"),
    "date": np.dtype("<i4"),
    "long": np.dtype("<i8"),
    "float": np.dtype("<f4"),
    "double": np.dtype("<f8"),
    "time": np.dtype("<i8"),
    **{
        name: np.dtype("<i8")
        for name in ("timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns")
    },
}
_TEXTS = ("string", "binary")


def kind_of(type_: str) -> str:
    """Iceberg's word of a type without its numbers.

    >>> kind_of("decimal(9, 2)"), kind_of("fixed[4]")
    ('decimal', 'fixed')
    """
    return type_.partition("(")[0].partition("[")[0]


def can_hash(type_: str) -> bool:
    """Whether values of Iceberg's type of that text can be hashed."""
    return kind_of(type_) in _FIXED or kind_of(type_) in (*_TEXTS, "decimal", "fixed", "uuid")


def hashes(values: pa.Array, type_: str) -> Hashes:
    """The hash of each value that isn't NULL, of Iceberg's type of that text, in their order.

    Empty texts and bytes have none. ValueError where Arrow holds them otherwise than Iceberg does.
    """
    kind = kind_of(type_)
    given = values.drop_null() if values.null_count else values
    if kind in _FIXED:
        data = _numbers(given, kind)
        starts, lengths = _places(len(data), data.dtype.itemsize)
        return _hashed(data.view(np.uint8), starts, lengths)
    if kind == "decimal" and pa.types.is_decimal128(given.type):
        return _decimals(given)
    if kind in ("uuid", "fixed") and pa.types.is_fixed_size_binary(given.type):
        width = given.type.byte_width
        raw = np.frombuffer(given.buffers()[1] or b"", np.uint8)
        raw = raw[given.offset * width : (given.offset + len(given)) * width]
        return _hashed(raw, *_places(len(given), width))
    if kind in (*_TEXTS, "fixed", "uuid"):
        return _texts(given)
    raise ValueError(f"values of {type_} aren't hashed as {given.type}")


def _places(count: int, width: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    return np.arange(count, dtype=np.int64) * width, np.full(count, width, dtype=np.int64)


def _hashed(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> Hashes:
    from accelerator.services.statistics.sketches.murmur3 import hash_spans  # imports numba

    out = np.empty(len(starts), np.uint64)
    hash_spans(data, starts, lengths, out)
    return out


def _numbers(values: pa.Array, kind: str) -> npt.NDArray[Any]:
    """One number for each value, as its bytes are written."""
    wanted = _FIXED[kind]
    if kind == "boolean":
        if not pa.types.is_boolean(values.type):
            raise ValueError(f"a boolean can't be {values.type}")
        flags: npt.NDArray[np.uint8] = values.cast(pa.uint8()).to_numpy(zero_copy_only=False)
        return flags
    arrow = values.type
    if pa.types.is_temporal(arrow):
        unit = "ns" if kind.endswith("_ns") else "us"
        if kind != "date" and getattr(arrow, "unit", None) != unit:
            raise ValueError(f"a {kind} can't be {arrow}")
        whole = pa.int32() if wanted.itemsize == 4 else pa.int64()
        values = values.view(whole)
    elif kind not in ("int", "long", "float", "double"):
        raise ValueError(f"a {kind} can't be {arrow}")
    found: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
    if found.dtype != wanted.newbyteorder("="):
        raise ValueError(f"a {kind} can't be {arrow}")
    return np.ascontiguousarray(found, wanted)


def _decimals(values: pa.Array) -> Hashes:
    from accelerator.services.statistics.sketches.murmur3 import shortest

    buffer = values.buffers()[1]
    raw = np.frombuffer(buffer or b"", np.uint8)
    raw = raw[values.offset * _WIDTH : (values.offset + len(values)) * _WIDTH]
    rows = raw.reshape(-1, _WIDTH)
    big = np.ascontiguousarray(rows[:, ::-1] if sys.byteorder == "little" else rows).reshape(-1)
    starts, lengths = _places(len(rows), _WIDTH)
    shortest(big, _WIDTH, starts, lengths)
    return _hashed(big, starts, lengths)


def _texts(values: pa.Array) -> Hashes:
    wide = pa.types.is_large_string(values.type) or pa.types.is_large_binary(values.type)
    if not (wide or pa.types.is_string(values.type) or pa.types.is_binary(values.type)):
        raise ValueError(f"a text or bytes can't be {values.type}")
    buffers = values.buffers()
    if not len(values):
        return np.empty(0, np.uint64)
    raw = np.frombuffer(buffers[1], np.dtype(np.int64 if wide else np.int32))
    ends = raw[values.offset : values.offset + len(values) + 1].astype(np.int64)
    lengths = ends[1:] - ends[:-1]
    full = lengths > 0
    data = np.frombuffer(buffers[2] or b"", np.uint8)
    return _hashed(data, ends[:-1][full], lengths[full])
