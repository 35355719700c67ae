"""Set and sketch states that SQL can't merge: bitmaps of integers, HLL and KLL sketches.

The same functions serve DuckDB (Arrow scalar functions over lists) and Spark (scalar functions over
arrays). A bitmap is a serialised 64-bit roaring bitmap of `value + 2^63`, so that its order is the
integers' own; HLL and KLL sketches are Apache DataSketches' own bytes, which Spark reads and writes
too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

_OFFSET = np.uint64(1 << 63)
_HLL_BITS = 14


@dataclass(frozen=True, slots=True)
class Function:
    """One function of a list to a value; `argument` and `result` are DuckDB's type texts.

    `more` are the types of further arguments, one value beside each list. Spark has the functions
    of its own where `duckdb_only` says so. A dataclass, since Spark's workers are sent this module
    by value, and cloudpickle can't send a struct's class so.
    """

    of_list: Callable[..., Any]
    argument: str
    result: str
    type: pa.DataType
    values: bool = False
    more: tuple[str, ...] = ()
    duckdb_only: bool = False

    def arrow(
        self, column: pa.ChunkedArray | pa.Array, *beside: pa.ChunkedArray | pa.Array
    ) -> pa.Array:
        """The function over a list column; a NULL list gives what an empty one gives."""
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        ends = array.offsets.to_numpy()
        items = array.values
        # Without the fill NumPy would hold integers beside a NULL as floats, and lose digits.
        plain = items.fill_null(0).to_numpy() if self.values else items.to_pylist()
        valid = items.is_valid().to_numpy(zero_copy_only=False)
        present = array.is_valid().to_numpy(zero_copy_only=False)
        others = [o.to_pylist() for o in beside]
        results = []
        for index, (start, end) in enumerate(pairwise(ends)):
            stop = end if present[index] else start
            if self.values:
                part: Any = plain[start:stop][valid[start:stop]]
            else:
                part = [v for v in plain[start:stop] if v is not None]
            results.append(self.of_list(part, *(o[index] for o in others)))
        return pa.array(results, self.type)


def bitmap_of(values: Any) -> bytes:
    """The bitmap of integers."""
    numbers = np.asarray(values).astype(np.int64).view(np.uint64) ^ _OFFSET
    bitmap = BitMap64(numbers.tolist())
    return bytes(bitmap.serialize())


def _union(bitmaps: Sequence[bytes]) -> BitMap64:
    parts = [BitMap64.deserialize(b) for b in bitmaps]
    return BitMap64.union(*parts) if len(parts) > 1 else (parts[0] if parts else BitMap64())


def bitmap_union(bitmaps: Sequence[bytes]) -> bytes:
    """The union of bitmaps."""
    return bytes(_union(bitmaps).serialize())


def bitmap_count(bitmaps: Sequence[bytes]) -> int:
    """How many values the union of bitmaps has."""
    return len(_union(bitmaps))


def hll_of(values: Any) -> bytes:
    """The sketch of whole numbers or texts, which Spark makes with the same hashes."""
    from datasketches import hll_sketch, tgt_hll_type

    sketch = hll_sketch(_HLL_BITS, tgt_hll_type.HLL_8)
    for value in values.tolist() if isinstance(values, np.ndarray) else values:
        sketch.update(value)
    # As Spark's aggregate ends: the estimate of a union doesn't depend on the order of rows.
    return hll_union([sketch.serialize_updatable()])


def _hll(sketches: Sequence[bytes]) -> Any:
    from datasketches import hll_sketch, hll_union

    union = hll_union(_HLL_BITS)
    for sketch in sketches:
        union.update(hll_sketch.deserialize(sketch))
    return union


def hll_count(sketches: Sequence[bytes]) -> int:
    """The estimate of the union of sketches, rounded as Spark rounds it."""
    return round(_hll(sketches).get_estimate()) if len(sketches) else 0


def hll_union(sketches: Sequence[bytes]) -> bytes:
    """The union of sketches."""
    from datasketches import tgt_hll_type

    return bytes(_hll(sketches).get_result(tgt_hll_type.HLL_8).serialize_updatable())


def kll_of(values: Any, size: int) -> bytes:
    """The sketch of numbers; it takes no NaN."""
    from datasketches import kll_doubles_sketch

    sketch = kll_doubles_sketch(size)
    if len(values):
        sketch.update(np.asarray(values, np.float64))
    return bytes(sketch.serialize())


def _kll(sketches: Sequence[bytes]) -> Any:
    from datasketches import kll_doubles_sketch

    parts = [kll_doubles_sketch.deserialize(s) for s in sketches]
    union = kll_doubles_sketch(max(part.k for part in parts))
    for part in parts:
        union.merge(part)
    return union


def kll_union(sketches: Sequence[bytes]) -> bytes | None:
    """The sketch of all rows of the sketches, as large as they are."""
    return bytes(_kll(sketches).serialize()) if len(sketches) else None


def kll_quantile(
    sketches: Sequence[bytes], share: float, accuracy: int, rows: int | None
) -> float | None:
    """The value at the rank that Spark's approx_percentile takes among `rows` sorted values.

    `rows` counts NaN, which the sketches lack and Spark sorts last. With no more rows than the
    sketch is large it's the very value: half a rank below `rank` no rounding can miss it.
    """
    if not rows:
        return None
    union = _kll(sketches)
    low, high = share <= 1 / accuracy, share >= 1 - 1 / accuracy
    rank = 1 if low else rows if high else math.ceil(share * rows)
    if rank > union.n:
        return math.nan
    if low or high:
        return float(union.get_min_value() if low else union.get_max_value())
    return float(union.get_quantile((rank - 0.5) / union.n))


FUNCTIONS: dict[str, Function] = {
    "acc_bitmap": Function(bitmap_of, "BIGINT[]", "BLOB", pa.binary(), values=True),
    "acc_bitmap_union": Function(bitmap_union, "BLOB[]", "BLOB", pa.binary()),
    "acc_bitmap_count": Function(bitmap_count, "BLOB[]", "BIGINT", pa.int64()),
    "acc_hll": Function(hll_of, "BIGINT[]", "BLOB", pa.binary(), values=True, duckdb_only=True),
    "acc_hll_texts": Function(hll_of, "VARCHAR[]", "BLOB", pa.binary(), duckdb_only=True),
    "acc_hll_union": Function(hll_union, "BLOB[]", "BLOB", pa.binary(), duckdb_only=True),
    "acc_hll_count": Function(hll_count, "BLOB[]", "BIGINT", pa.int64(), duckdb_only=True),
    "acc_kll": Function(
        kll_of, "DOUBLE[]", "BLOB", pa.binary(), values=True, more=("INTEGER",), duckdb_only=True
    ),
    "acc_kll_union": Function(kll_union, "BLOB[]", "BLOB", pa.binary(), duckdb_only=True),
    "acc_kll_quantile": Function(
        kll_quantile, "BLOB[]", "DOUBLE", pa.float64(), more=("DOUBLE", "BIGINT", "BIGINT")
    ),
}
