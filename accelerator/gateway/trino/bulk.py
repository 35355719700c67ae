"""Many rows as JSON by compiled code, several times as fast as Arrow's functions.

It's compiled, or loaded, by a thread when the first many rows come, and used once that is done.
Types that it doesn't know are written by `texts.py` and copied. Both give equal bytes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as t

from accelerator.gateway.trino import texts

if TYPE_CHECKING:
    from types import ModuleType

ROWS_MIN = 4096
"""Fewer are written as quickly by Arrow."""
_FIRST, _LAST = -25_567, 73_049
"""The days of the years 1900 to 2169, whose texts are kept."""
_DAY_US = 86_400_000_000
_NONE = np.empty(0, np.uint8)
_IN_64_BITS = 18
_MOST = 2**63 - 1
_UTC = np.frombuffer(b" UTC", np.uint8)

Bytes = npt.NDArray[np.uint8]
_Write = Callable[[Bytes, npt.NDArray[np.int64], int], None]


class _Kernels:
    """The compiled functions, once a thread has them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = False
        self.module: ModuleType | None = None
        self.days: Bytes = _NONE

    def wanted(self) -> ModuleType | None:
        """The functions; None until they're there, which they will be soon."""
        if self.module is None:
            with self._lock:
                if not self._asked:
                    self._asked = True
                    threading.Thread(target=self.load, name="kernels", daemon=True).start()
        return self.module

    def load(self) -> None:
        """Imports them, and has each compiled for the types that it's called with."""
        from accelerator.gateway.trino import kernels

        days = pa.array(np.arange(_FIRST, _LAST + 1, dtype=np.int32)).cast(pa.date32())
        self.days = np.frombuffer("".join(days.cast(pa.string()).to_pylist()).encode(), np.uint8)
        encoded(_sample(), True, kernels, self.days)
        self.module = kernels


KERNELS = _Kernels()


def rows(batch: pa.RecordBatch, parametric: bool) -> memoryview | None:
    """The rows with commas between them; None where few rows, or no functions yet, are there."""
    if batch.num_rows < ROWS_MIN or not batch.num_columns:
        return None
    kernels = KERNELS.wanted()
    return None if kernels is None else encoded(batch, parametric, kernels, KERNELS.days)


def encoded(batch: pa.RecordBatch, parametric: bool, kernels: Any, days: Bytes) -> memoryview:
    """The same by these functions; errors as from `texts.json`."""
    count = batch.num_rows
    width = np.zeros(count, np.int64)
    writes = [_column(kernels, days, one, parametric, width) for one in batch.columns]
    at = np.empty(count, np.int64)
    text = np.empty(kernels.places(width, at), np.uint8)
    sign = kernels.OPEN
    for write in writes:
        write(text, at, sign)
        sign = kernels.COMMA
    kernels.close_rows(text, at)
    return text.data[:-1]


def _column(
    kernels: Any, days: Bytes, column: pa.Array, parametric: bool, width: npt.NDArray[np.int64]
) -> _Write:
    """Adds to the widths; what writes its values."""
    kind, valid = column.type, _valid(column)
    if t.is_signed_integer(kind) or (t.is_decimal128(kind) and kind.precision <= _IN_64_BITS):
        scale = kind.scale if t.is_decimal128(kind) else -1
        values = _low_words(column) if scale >= 0 else _values(column, np.int64)
        if scale <= _IN_64_BITS and _within(values, valid, -_MOST, _MOST):
            kernels.decimal_widths(values, valid, scale, width)
            return lambda text, at, sign: kernels.write_decimals(
                values, valid, scale, text, at, sign
            )
    if t.is_date32(kind):
        values = _values(column, np.int32).astype(np.int64)
        if _within(values, valid, _FIRST, _LAST):
            kernels.date_widths(len(column), valid, 0, width)
            return lambda text, at, sign: kernels.write_dates(
                values, valid, _FIRST, days, text, at, sign
            )
    if t.is_timestamp(kind) and kind.unit == "us" and parametric:
        values = _values(column, np.int64)
        if _within(values, valid, _FIRST * _DAY_US, (_LAST + 1) * _DAY_US - 1):
            zone = _UTC if kind.tz else _NONE
            kernels.date_widths(len(column), valid, 16 + zone.size, width)
            return lambda text, at, sign: kernels.write_moments(
                values, valid, _FIRST, days, zone, text, at, sign
            )
    if t.is_string(kind):
        column.validate(full=True)
        own = np.zeros(len(column), np.int64)
        offsets, data = _texts(column)
        if kernels.text_widths(offsets, data, valid, 2, own):
            width += own
            return lambda text, at, sign: kernels.write_texts(
                offsets, data, valid, 2, text, at, sign
            )
    told = texts.json(column, parametric)
    quotes = 2 * len(told.quote)
    offsets, data = _texts(told.array)
    own = np.zeros(len(column), np.int64)
    kernels.text_widths(offsets, data, _NONE, 0, own)
    width += own + quotes
    return lambda text, at, sign: kernels.write_texts(offsets, data, _NONE, quotes, text, at, sign)


def _valid(column: pa.Array) -> Bytes:
    if not column.null_count:
        return _NONE
    found: Bytes = column.is_valid().cast(pa.uint8()).to_numpy(zero_copy_only=False)
    return found


def _values(column: pa.Array, kind: Any) -> npt.NDArray[Any]:
    """The fixed-width values, whatever stands where they're null."""
    width = column.type.bit_width // 8
    own = np.dtype(f"i{width}")
    found = np.frombuffer(column.buffers()[1], own, len(column), column.offset * width)
    return found.astype(kind, copy=False)


def _low_words(column: pa.Array) -> npt.NDArray[np.int64]:
    """The lower 64 bits of decimals that have no more."""
    words = np.frombuffer(column.buffers()[1], np.int64, 2 * len(column), column.offset * 16)
    return np.ascontiguousarray(words[::2])


def _texts(column: pa.Array) -> tuple[npt.NDArray[np.int64], Bytes]:
    """Where each text begins, and the bytes of all."""
    _, offsets, data = column.buffers()
    found = np.frombuffer(offsets, np.int32, len(column) + 1, column.offset * 4)
    return found.astype(np.int64), _NONE if data is None else np.frombuffer(data, np.uint8)


def _within(values: npt.NDArray[np.int64], valid: Bytes, first: int, last: int) -> bool:
    known = values if not valid.size else values[valid.astype(bool)]
    return not known.size or (int(known.min()) >= first and int(known.max()) <= last)


def _sample() -> pa.RecordBatch:
    """Rows of each type that has a function, with nulls and without."""
    whole = pa.array([1, None], pa.int64())
    found = {
        "i": whole,
        "d": pa.array(["1.5", None]).cast(pa.decimal128(12, 2)),
        "day": pa.array([1, None], pa.int32()).cast(pa.date32()),
        "at": whole.cast(pa.timestamp("us")),
        "s": pa.array(["a", None]),
        "b": pa.array([True, None]),
    }
    return pa.RecordBatch.from_arrays(list(found.values()), list(found))
