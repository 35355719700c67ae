"""KLL sketches of numbers, dates and times: about which value stands at which share of the rows.

A sketch is of doubles: the value itself, of a date the days since 1970, of a time its microseconds
(a whole number beyond 2^53 loses its last digits). Apache DataSketches makes, merges and writes it.
Promises: NULL and NaN are left out; least and greatest are exact to a double. Bytes that are read
are measured before the library gets them: ValueError for all but the form that it writes here.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from datasketches import kll_doubles_sketch

KLL = "lakehouse-accelerator-kll-v1"
SIZE = 400
"""The library's `k`: one rank is off by 0.7 % at most, 99 times of 100."""
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
_KINDS = frozenset(
    ("int", "long", "float", "double", "decimal", "date", "timestamp", "timestamptz")
)
_HEAD = struct.Struct("<BBBBHBB")
_MORE = struct.Struct("<QHBB")
_LEVELS_AT = 10
_FAMILY, _LOWEST = 15, 8
_EMPTY, _SINGLE = 1, 4
_LEVELS_MAX = 60
_ITEMS_MAX = 1 << 14
_ROWS_MAX = 1 << 60
"""Of a sketch that is read: the library counts in 64 bits, whatever is merged with it."""


def has_quantiles(kind: str) -> bool:
    """Whether a column of Iceberg's type of that word gets such a sketch."""
    return kind in _KINDS


def doubles(values: pa.Array) -> npt.NDArray[np.float64]:
    """The values that are neither NULL nor NaN as a sketch takes them."""
    given = values.drop_null() if values.null_count else values
    if pa.types.is_temporal(given.type):
        given = given.view(pa.int32() if given.type.bit_width == 32 else pa.int64())
    if pa.types.is_decimal(given.type):
        given = given.cast(pa.float64())
    found: npt.NDArray[np.float64] = given.to_numpy(zero_copy_only=False).astype(np.float64)
    return found[~np.isnan(found)] if pa.types.is_floating(given.type) else found


class Quantiles:
    """The sketch of some rows; it grows in place."""

    def __init__(self, sketch: kll_doubles_sketch | None = None) -> None:
        self._sketch = kll_doubles_sketch(SIZE) if sketch is None else sketch

    @property
    def rows(self) -> int:
        """How many values it was given."""
        return int(self._sketch.n)

    @property
    def error(self) -> float:
        """By how much a rank is off at most, as a share of the rows, 99 times of 100."""
        return float(self._sketch.normalized_rank_error(False))

    def update(self, values: npt.NDArray[np.float64]) -> None:
        """Takes these values too."""
        if len(values):
            self._sketch.update(values)

    def merge(self, other: Quantiles) -> None:
        """Takes the other one's rows too."""
        if other.rows:
            self._sketch.merge(other._sketch)

    def at(self, shares: Sequence[float] = SHARES) -> list[float]:
        """The values at these shares of the rows; none of no rows."""
        ends = {0.0: self._sketch.get_min_value, 1.0: self._sketch.get_max_value}
        if not self.rows:
            return []
        return [
            float(ends[one]() if one in ends else self._sketch.get_quantile(one)) for one in shares
        ]

    def to_bytes(self) -> bytes:
        """As DataSketches writes it."""
        return bytes(self._sketch.serialize())


def parsed(data: bytes) -> Quantiles:
    """The sketch of these bytes; ValueError where they aren't those of one."""
    _measure(data)
    try:
        sketch = kll_doubles_sketch.deserialize(data)
        found = Quantiles(sketch)
        least_first = found.at()
    except (RuntimeError, ValueError, IndexError, OverflowError) as error:
        raise ValueError(f"a KLL sketch can't be read: {error}") from None
    if any(math.isnan(one) for one in least_first) or least_first != sorted(least_first):
        raise ValueError("a KLL sketch whose quantiles don't ascend")
    return found


def _measure(data: bytes) -> None:
    """ValueError for bytes whose own figures don't give their length, or whose values are NaN.

    The library's sort goes beyond its memory where one is.
    """
    if len(data) < _HEAD.size:
        raise ValueError("a KLL sketch is cut off")
    words, version, family, flags, size, lowest, _ = _HEAD.unpack_from(data)
    if (family, size, lowest) != (_FAMILY, SIZE, _LOWEST):
        raise ValueError("a KLL sketch of another form or size")
    if flags & _EMPTY:
        wanted = (2, 1, _HEAD.size)
    elif flags & _SINGLE:
        wanted = (2, 2, _HEAD.size + 8)
    else:
        wanted = (5, 1, _levels(data))
    if (words, version, len(data)) != wanted:
        raise ValueError(f"a KLL sketch of {len(data)} bytes, which should have {wanted[2]}")
    values = np.frombuffer(data[_HEAD.size :] if words == 2 else data[_values_at(data) :], "<f8")
    if np.isnan(values).any() or (len(values) > 1 and not _within(values)):
        raise ValueError("a KLL sketch of values that are none, or beyond its ends")


def _within(values: npt.NDArray[np.float64]) -> bool:
    """Whether none is smaller than the first, or greater than the second."""
    return bool(values[0] <= values.min() and values.max() <= values[1])


def _values_at(data: bytes) -> int:
    """Where the least and the greatest value stand, and the others behind them."""
    levels: int = data[_HEAD.size + _LEVELS_AT]
    return _HEAD.size + _MORE.size + 4 * levels


def _levels(data: bytes) -> int:
    """How many bytes a sketch has by its levels."""
    start = _HEAD.size + _MORE.size
    if len(data) < start:
        raise ValueError("a KLL sketch is cut off")
    rows, least_size, levels, _ = _MORE.unpack_from(data, _HEAD.size)
    if not 1 <= levels <= _LEVELS_MAX or not 0 < least_size <= SIZE:
        raise ValueError(f"a KLL sketch of {levels} levels")
    # By the rows the library reckons how many levels a merge can come to; it writes beyond its
    # memory where there are more.
    if rows > _ROWS_MAX or levels > rows.bit_length():
        raise ValueError(f"a KLL sketch of {levels} levels says that it has {rows} rows")
    if len(data) < start + 4 * levels:
        raise ValueError("a KLL sketch is cut off")
    begins = struct.unpack_from(f"<{levels}I", data, start)
    # The levels end where the library's own capacity for them does.
    capacity = _capacity(levels)
    ends = (*begins, capacity)
    if list(ends) != sorted(ends) or capacity > _ITEMS_MAX:
        raise ValueError("a KLL sketch whose levels don't ascend")
    held = sum((end - begin) << level for level, (begin, end) in enumerate(pairwise(ends)))
    if held != rows:
        raise ValueError(f"a KLL sketch of {held} rows says that it has {rows}")
    held_items = capacity - int(begins[0])
    return start + 4 * int(levels) + 8 * (2 + held_items)


def _capacity(levels: int) -> int:
    """Items of a sketch of that many levels, as the library lays them out."""
    return sum(_of_level(levels - level - 1) for level in range(levels))


def _of_level(depth: int) -> int:
    """Items of the level so far below the top: two thirds of the one above it, rounded."""
    if depth > 30:
        half = depth // 2
        return max(_LOWEST, _shrunk(_shrunk(SIZE, half), depth - half))
    return max(_LOWEST, _shrunk(SIZE, depth))


def _shrunk(size: int, depth: int) -> int:
    return (((size << 1) << depth) // int(3**depth) + 1) >> 1
