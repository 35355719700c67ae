"""Many rows as JSON by compiled code, ten times as fast as Arrow's functions.

It's compiled, or loaded, by a thread when the first many rows come, and used once that is done.
Values that it doesn't know are written by `columns.py` and copied. Both give equal bytes.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as t

from accelerator.gateway.trino.json import columns as json_columns

if TYPE_CHECKING:
    from types import ModuleType

ROWS_MIN = 4096
"""Fewer are written as quickly by Arrow."""
_FIRST, _LAST = -25_567, 73_049
"""The days of the years 1900 to 2169, whose texts are kept."""
_IN_64_BITS = 18
_UNITS = [10**scale for scale in range(_IN_64_BITS + 1)]
_WIDEST = 26
"""Bytes of a number, a date or a time at most, with its sign, its quotes and a comma."""
_MOMENT = 35

Bytes = npt.NDArray[np.uint8]


class _Kernels:
    """The compiled functions, once a thread has them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = False
        self.module: ModuleType | None = None
        self.days: Bytes = np.empty(0, np.uint8)

    def if_ready(self) -> ModuleType | None:
        """The functions; None until they're there, which they will be soon."""
        if self.module is None:
            with self._lock:
                if not self._asked:
                    self._asked = True
                    if sys.byteorder == "little":
                        threading.Thread(target=self.load, name="kernels", daemon=True).start()
        return self.module

    def load(self) -> None:
        """Imports them, and has them compiled."""
        from accelerator.gateway.trino.json import kernels

        days = pa.array(np.arange(_FIRST, _LAST + 1, dtype=np.int32)).cast(pa.date32())
        ends = '"' + " " * (kernels.DAY_BYTES - 11)
        joined = "".join(one + ends for one in days.cast(pa.string()).to_pylist())
        self.days = np.frombuffer(joined.encode(), np.uint8)
        encoded(_sample(), True, kernels, self.days)
        self.module = kernels


KERNELS = _Kernels()


def rows(batch: pa.RecordBatch, parametric: bool) -> memoryview | None:
    """The rows with commas between them; None where few rows, or no functions yet, are there."""
    if batch.num_rows < ROWS_MIN or not batch.num_columns:
        return None
    kernels = KERNELS.if_ready()
    return None if kernels is None else encoded(batch, parametric, kernels, KERNELS.days)


def encoded(batch: pa.RecordBatch, parametric: bool, kernels: Any, days: Bytes) -> memoryview:
    """The same by these functions; errors as from `json_columns.json`."""
    columns = [_EncodedColumn(kernels, one, parametric) for one in batch.columns]
    while True:
        told = np.array([one.told for one in columns], np.int64)
        units = np.array([one.unit for one in columns], np.uint64)
        most = sum(one.bytes_max for one in columns) + 2 * batch.num_rows + kernels.SLACK
        text = np.empty(most, np.uint8)
        places = days.ctypes.data, text.ctypes.data
        size = kernels.write(batch.num_rows, told, units, _FIRST, _LAST, *places)
        if size >= 0:
            return text.data[: size - 1]
        columns[-1 - size].by_text()


class _EncodedColumn:
    """What the functions are told of one column, and how many bytes it comes to at most.

    The buffers stay as long as this does.
    """

    def __init__(self, kernels: Any, column: pa.Array, parametric: bool) -> None:
        self._kernels, self._column, self._parametric = kernels, column, parametric
        self.unit, self.bytes_max = 1, _WIDEST * len(column)
        kind, first = column.type, column.offset
        if t.is_signed_integer(kind):
            size = kind.bit_width // 8
            self._tell(kernels.WHOLE, size * first, size)
        elif t.is_decimal128(kind) and kind.precision <= _IN_64_BITS and kind.scale >= 0:
            self.unit = _UNITS[kind.scale]
            self._tell(kernels.DECIMAL, 16 * first, kind.scale)
        elif t.is_date32(kind):
            self._tell(kernels.DAY, 4 * first, 0)
        elif t.is_timestamp(kind) and kind.unit == "us" and parametric:
            self.bytes_max = _MOMENT * len(column)
            self._tell(kernels.MOMENT, 8 * first, int(kind.tz is not None))
        elif t.is_string(kind):
            column.validate(full=True)
            self._tell_texts(kernels.TEXT, 0)
        else:
            self.by_text()

    def by_text(self) -> None:
        """Its values are written by Arrow, and copied."""
        found = json_columns.json(self._column, self._parametric)
        self._column = found.array
        self._tell_texts(self._kernels.WRITTEN, len(found.quote))

    def _tell_texts(self, kind: int, more: int) -> None:
        column = self._column
        self._tell(kind, 0, more)
        offsets = np.frombuffer(column.buffers()[1], np.int32, len(column) + 1, 4 * column.offset)
        self.told[4] = offsets.ctypes.data
        self.bytes_max = 8 * len(column) + int(offsets[-1]) - int(offsets[0])

    def _tell(self, kind: int, begin: int, more: int) -> None:
        """See `kernels.write`; the values begin so many bytes behind the buffer's own beginning."""
        column = self._column
        buffers = column.buffers()
        valid = buffers[0].address if column.null_count else 0
        values = 0 if buffers[-1] is None else buffers[-1].address + begin
        self.told = [kind, values, valid, column.offset, 0, more]


def _sample() -> pa.RecordBatch:
    """Rows with and without nulls."""
    return pa.RecordBatch.from_pydict({"i": [1, None], "s": ["a", None], "b": [True, None]})
