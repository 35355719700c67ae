"""Arrow's arrays of Python's values, made of their buffers.

Arrow's own way imports pandas first, where that is installed: a quarter of a second, which the end
of a session that asked one statement would take longer for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from accelerator.store.journals.query_log.record import Kind, arrow_type


def array(kind: Kind, values: Sequence[Any]) -> pa.Array:
    """An array of that kind's type; a value is of Python's type for it, or None.

    ValueError or OverflowError for a text that has no bytes of UTF-8, or a number beyond 64 bits.
    """
    type_ = arrow_type(kind)
    valid = _valid(values)
    if kind in ("texts", "counts"):
        lists = [one or () for one in values]
        inner = array("text" if kind == "texts" else "count", list(chain.from_iterable(lists)))
        offsets = _offsets(map(len, lists), len(lists))
        return pa.Array.from_buffers(type_, len(values), [valid, offsets], children=[inner])
    return pa.Array.from_buffers(type_, len(values), [valid, *_BUFFERS[kind](values)])


def _valid(values: Sequence[Any]) -> pa.Buffer | None:
    """The bits of values that are there; None where all are."""
    if None not in values:
        return None
    return _bits([one is not None for one in values])


def _bits(flags: Sequence[bool]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(np.array(flags, np.bool_), bitorder="little"))


def _offsets(lengths: Iterable[int], count: int) -> pa.Buffer:
    found = np.zeros(count + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, count), out=found[1:])
    if found[-1] >= 2**31:
        raise OverflowError("more than Arrow's lists have room for")
    return pa.py_buffer(found.astype(np.int32))


def _texts(values: Sequence[str | None]) -> list[pa.Buffer]:
    encoded = [b"" if one is None else one.encode() for one in values]
    return [_offsets(map(len, encoded), len(encoded)), pa.py_buffer(b"".join(encoded))]


def _whole(values: Sequence[int | None]) -> list[pa.Buffer]:
    return [pa.py_buffer(np.array([0 if one is None else one for one in values], np.int64))]


def _numbers(values: Sequence[float | None]) -> list[pa.Buffer]:
    return [pa.py_buffer(np.array([0.0 if one is None else one for one in values], np.float64))]


_BUFFERS: dict[str, Callable[[Sequence[Any]], list[pa.Buffer]]] = {
    "text": _texts,
    "count": _whole,
    "time": _whole,
    "number": _numbers,
    "flag": lambda values: [_bits([bool(one) for one in values])],
}
