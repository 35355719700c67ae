"""Whole numbers between Arrow and numpy, without a copy.

Where Arrow itself converts between Python or numpy and arrays it imports pandas first, where that
is installed: a quarter of a second and 50 MB, of which the first answer of a process needs nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers = npt.NDArray[np.int64]


def to_numpy(array: pa.Array, unknown: int) -> Numbers:
    """An int64 array's numbers, `unknown` in the place of NULLs; they may not be written to."""
    if not len(array):
        return np.empty(0, np.int64)
    known, data = array.buffers()
    values = np.frombuffer(data, np.int64, len(array), 8 * array.offset)
    if not array.null_count:
        return values
    bits = np.unpackbits(np.frombuffer(known, np.uint8), bitorder="little")
    return np.where(bits[array.offset : array.offset + len(array)] == 1, values, unknown)


def to_arrow(numbers: Numbers) -> pa.Array:
    """An int64 array of the numbers."""
    data = pa.py_buffer(np.ascontiguousarray(numbers, np.int64))
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, data])
