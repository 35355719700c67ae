"""A table's rows in an order, simulated: which parts of it predicates would touch. Pure.

Rows of a sample are sorted, or put along a curve by the same ranks as OPTIMIZE takes, and cut into
as many parts as the table would have row groups. Each part has the bounds that its footer would
have, and a predicate touches the parts that bounds can't leave out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct

from accelerator.iceberg.pruning.predicates import BoundsAlone, judge
from accelerator.iceberg.statistics.file_statistics import arrow_kind, unknown_bounds
from accelerator.services.clustering.curves import CURVES, bits_of
from accelerator.services.clustering.order import Curve
from accelerator.services.clustering.ranks import Ranking
from indexes.bounds import UNKNOWN, ColumnBounds
from indexes.domains import BYTES, domain_of, to_domain
from rewrite.ir.expr import Expr

PART_ROWS_MIN = 20
"""Of the sample: parts of fewer have closer bounds than the table's would."""
_CURVED_MAX = 4
_FLOATS = frozenset({"float", "double"})


class ClusteringOrder(Struct, frozen=True):
    """An order, by ids of columns."""

    curve: Curve
    keys: tuple[int, ...]


def layouts(keys: Sequence[int]) -> Iterator[ClusteringOrder]:
    """Orders to try of columns, those that are asked for most first.

    >>> [(one.curve, one.keys) for one in layouts([3, 5])]
    [('sort', (3,)), ('sort', (5,)), ('hilbert', (3, 5))]
    """
    yield from (ClusteringOrder("sort", (key,)) for key in keys)
    for size in range(2, min(len(keys), _CURVED_MAX) + 1):
        for some in combinations(keys[:_CURVED_MAX], size):
            yield ClusteringOrder("hilbert", some)


class Values:
    """A sample's columns by field id, each an array of the table's type with its Spark type."""

    def __init__(self, columns: Mapping[int, tuple[pa.Array, str]]) -> None:
        self._types = {number: type_ for number, (_, type_) in columns.items()}
        self._arrays = {number: values for number, (values, _) in columns.items()}
        self._codes = {number: _coded(*each) for number, each in columns.items()}
        self.rows = len(next(iter(self._arrays.values()), ()))

    def touched(
        self, layout: ClusteringOrder, parts: int, asked: Sequence[Sequence[Expr]]
    ) -> list[float]:
        """Under each of these conjunctions the share of the parts that are read."""
        count = max(1, min(parts, self.rows // PART_ROWS_MIN))
        statistics = self._cut(self._order(layout), count)
        return [float((~judge(own, statistics).none_true).mean()) for own in asked]

    def _order(self, layout: ClusteringOrder) -> npt.NDArray[np.int64]:
        """The rows' numbers as they would lie."""
        if layout.curve == "sort":
            codes = [self._codes[key].codes for key in reversed(layout.keys)]
            return np.lexsort(codes)
        bits = bits_of(len(layout.keys))
        ranks = []
        for key in layout.keys:
            type_, values = self._types[key], self._arrays[key]
            if type_.startswith("decimal"):
                type_, values = "double", values.cast(pa.float64())
            ranks.append(Ranking.of(values, type_).ranks(values, bits))
        return np.argsort(CURVES[layout.curve](ranks, bits), kind="stable")

    def _cut(self, order: npt.NDArray[np.int64], count: int) -> _Parts:
        starts = np.linspace(0, len(order), count, endpoint=False).astype(np.int64)
        rows = np.diff([*starts, len(order)]).astype(np.int64)
        told = {
            number: one.bounds(order, starts, rows, self._types[number])
            for number, one in self._codes.items()
        }
        return _Parts(count, told)


class _Coded(Struct, frozen=True):
    """A column as numbers in its values' order, -1 for NULL and NaN."""

    values: npt.NDArray[Any]
    codes: npt.NDArray[np.int64]

    def bounds(
        self,
        order: npt.NDArray[np.int64],
        starts: npt.NDArray[np.int64],
        rows: npt.NDArray[np.int64],
        type_: str,
    ) -> ColumnBounds:
        """Those of parts of the rows in an order."""
        codes = self.codes[order]
        high = np.maximum.reduceat(codes, starts)
        low = np.minimum.reduceat(np.where(codes < 0, len(self.values), codes), starts)
        nulls = np.add.reduceat((codes < 0).astype(np.int64), starts)
        none = high < 0
        kind = arrow_kind(type_)
        lower, upper = (
            pa.array([None if n else self.values[c] for n, c in zip(none, code, strict=True)], kind)
            for code in (low, high)
        )
        floating = type_ in _FLOATS
        nans = np.full(len(rows), UNKNOWN) if floating else np.zeros(len(rows), dtype=np.int64)
        return ColumnBounds(lower, upper, rows, nulls, nans, floating)


def _coded(values: pa.Array, type_: str) -> _Coded:
    kept = to_domain(values, type_)
    missing = kept.is_null().to_numpy(zero_copy_only=False)
    if domain_of(type_) == BYTES:
        encoded = kept.dictionary_encode()
        words = np.array(encoded.dictionary.to_pylist(), dtype=object)
        order = np.argsort(words, kind="stable")
        places = np.empty(len(order), dtype=np.int64)
        places[order] = np.arange(len(order))
        codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        found = places[codes] if len(places) else np.zeros(len(kept), dtype=np.int64)
        return _Coded(words[order], np.where(missing, -1, found))
    filled = kept.fill_null(0).to_numpy(zero_copy_only=False)
    if type_ in _FLOATS:
        missing = missing | np.isnan(filled)
        filled = np.where(missing, 0.0, filled)
    distinct, codes = np.unique(filled, return_inverse=True)
    return _Coded(distinct, np.where(missing, -1, codes.astype(np.int64)))


class _Parts:
    """Statistics of parts; of columns that the sample lacks nothing is known."""

    def __init__(self, count: int, told: Mapping[int, ColumnBounds]) -> None:
        self._count, self._told = count, told

    def __len__(self) -> int:
        return self._count

    def column(self, field_id: int, type_: str) -> BoundsAlone:
        """See `EvidenceTable`."""
        known = self._told.get(field_id)
        return BoundsAlone(unknown_bounds(self._count, type_) if known is None else known)
