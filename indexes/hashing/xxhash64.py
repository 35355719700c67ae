"""XXH64 with seed 42 of values in their domain: bit for bit what Spark's `xxhash64` gives.

Spark's of `bigint`, `double`, `string` and `binary`, that is; a narrower type is widened to its
domain first (`domains.py`), so that a promotion changes no hash. Whole numbers and floats are their
eight bytes, little-endian; texts and binaries their bytes. −0.0 hashes as 0.0 does, all NaNs alike.

What a query hashes is a literal or two: that is done by the package xxhash, without numba.
"""

from __future__ import annotations

import math
import struct

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indexes.question import Value

Hashes = npt.NDArray[np.uint64]
HASH = "xxh64-s42"
"""As formats name this function."""
SEED = 42

_NAN = 0x7FF8000000000000


def hashes(values: pa.Array) -> Hashes:
    """Of the values that aren't NULL, in their order: `int64`, `float64` or `large_binary`.

    TypeError for any other type.
    """
    from indexes.hashing import kernels

    kept = values.drop_null() if values.null_count else values
    found = np.empty(len(kept), dtype=np.uint64)
    if not len(kept):
        return found
    if pa.types.is_large_binary(kept.type):
        bounds = np.frombuffer(kept.buffers()[1], dtype=np.int64)
        bounds = bounds[kept.offset : kept.offset + len(kept) + 1]
        kernels.hash_bytes(_bytes(kept.buffers()[2]), bounds, found)
    elif pa.types.is_int64(kept.type):
        kernels.hash_words(kept.to_numpy().view(np.uint64), found)
    elif pa.types.is_float64(kept.type):
        with np.errstate(invalid="ignore"):  # of a NaN that signals
            numbers = kept.to_numpy() + 0.0  # which makes −0.0 0.0
        words = numbers.view(np.uint64)
        words[np.isnan(numbers)] = _NAN
        words.flags.writeable = False  # as Arrow's are: another type to numba otherwise
        kernels.hash_words(words, found)
    else:
        raise TypeError(f"values of no domain: {kept.type}")
    return found


def _bytes(buffer: pa.Buffer | None) -> npt.NDArray[np.uint8]:
    """Read-only, as all of Arrow's; where every text is empty there may be no buffer at all."""
    if buffer is None or not buffer.size:
        buffer = pa.py_buffer(b"\0")
    return np.frombuffer(buffer, dtype=np.uint8)


def hash_of(value: Value) -> int:
    """Of one value. OverflowError for a whole number of more than 64 bits."""
    if isinstance(value, bytes):
        return xxh64(value)
    if isinstance(value, float):
        word = _NAN if math.isnan(value) else struct.unpack("<Q", struct.pack("<d", value + 0.0))[0]
        return hash_of_word(word)
    return xxh64(int(value).to_bytes(8, "little", signed=True))


def hash_of_word(word: int) -> int:
    """Of the eight bytes of an unsigned number."""
    return xxh64(word.to_bytes(8, "little"))


def xxh64(data: bytes, seed: int = SEED) -> int:
    """XXH64 of any bytes."""
    from xxhash import xxh64_intdigest

    return xxh64_intdigest(data, seed)
