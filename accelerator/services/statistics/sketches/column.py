"""All sketches of one column: made from its rows piece by piece, merged, and as blobs of a file.

A column has a theta sketch; one of numbers and times a KLL sketch besides, one of texts, whole
numbers, dates and booleans its heavy hitters. Promise: what is merged is of one type, so that
equal values have equal hashes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct, field

from accelerator.services.statistics.sketches import heavy_hitters, quantiles, theta
from accelerator.services.statistics.sketches.hashing import can_hash, hashes, kind_of
from accelerator.services.statistics.sketches.heavy_hitters import (
    HEAVY_HITTERS,
    HeavyHitters,
    has_heavy_hitters,
)
from accelerator.services.statistics.sketches.quantiles import KLL, Quantiles, has_quantiles
from accelerator.services.statistics.sketches.theta import THETA, Theta

TYPES = (THETA, KLL, HEAVY_HITTERS)
_FEW = 0.5
"""Where so many times fewer values than rows stand in a batch, the values are hashed, not rows."""


class SketchedColumn(Struct, frozen=True):
    """A column to be sketched: its field id, name, and Iceberg's text of its type.

    `layout` tells what else decides its values in a file, shortly: `ColumnFacts.layout`, hashed.
    """

    field_id: int
    name: str
    type: str
    layout: str = ""

    @property
    def can_be(self) -> bool:
        """Whether there are sketches for its type."""
        return can_hash(self.type)


class ColumnSketches(Struct):
    """Of the rows that it was given; `type` is Iceberg's text."""

    type: str
    theta: Theta = theta.EMPTY
    quantiles: Quantiles | None = None
    heavy: HeavyHitters | None = None
    nulls: int = field(default=0)

    @classmethod
    def empty(cls, type_: str) -> ColumnSketches:
        """Of no rows yet."""
        kind = kind_of(type_)
        kll = Quantiles() if has_quantiles(kind) else None
        return cls(type_, quantiles=kll, heavy=HeavyHitters() if has_heavy_hitters(kind) else None)

    def update(self, column: pa.ChunkedArray) -> None:
        """Takes these rows too; ValueError where they aren't of the type."""
        self.nulls += column.null_count
        for chunk in column.chunks:
            values = chunk.drop_null() if chunk.null_count else chunk
            if len(values):
                self._update(values)

    def _update(self, values: pa.Array) -> None:
        distinct = values
        if self.heavy is not None:
            counted = pc.value_counts(values)
            self.heavy = self.heavy.updated(counted)
            if len(counted) < _FEW * len(values):
                distinct = counted.field("values")
        self.theta = self.theta.updated(hashes(distinct, self.type))
        if self.quantiles is not None:
            self.quantiles.update(quantiles.doubles(values))

    def merge(self, other: ColumnSketches) -> None:
        """Takes the other one's rows too, which are others."""
        assert self.type == other.type  # whoever merges has looked
        self.theta = self.theta.merged(other.theta)
        self.nulls += other.nulls
        if self.quantiles is not None and other.quantiles is not None:
            self.quantiles.merge(other.quantiles)
        if self.heavy is not None and other.heavy is not None:
            self.heavy = self.heavy.merged(other.heavy)

    def blobs(self) -> dict[str, bytes]:
        """By type of blob."""
        found = {THETA: self.theta.to_bytes()}
        if self.quantiles is not None:
            found[KLL] = self.quantiles.to_bytes()
        if self.heavy is not None:
            found[HEAVY_HITTERS] = self.heavy.to_bytes()
        return found

    @classmethod
    def parsed(cls, type_: str, blobs: Mapping[str, bytes], nulls: int = 0) -> ColumnSketches:
        """Of the blobs of one column, of the type; ValueError where one lacks or is no sketch."""
        wanted = cls.empty(type_)
        lacking = wanted.blobs().keys() - blobs.keys()
        if lacking:
            raise ValueError(f"a column of {type_} lacks {', '.join(sorted(lacking))}")
        wanted.theta, wanted.nulls = theta.parsed(blobs[THETA]), nulls
        if wanted.quantiles is not None:
            wanted.quantiles = quantiles.parsed(blobs[KLL])
        if wanted.heavy is not None:
            wanted.heavy = heavy_hitters.parsed(blobs[HEAVY_HITTERS])
        return wanted


def as_texts(values: list[float], type_: str) -> list[str]:
    """Values of a KLL sketch as SHOW STATISTICS shows values of the type; times are UTC.

    Of whole numbers, dates and times the nearest whole ones; ValueError where one is none.
    """
    kind = kind_of(type_)
    if kind in ("float", "double", "decimal"):
        return [repr(one) for one in values]
    target = {
        "date": pa.date32(),
        "timestamp": pa.timestamp("us"),
        "timestamptz": pa.timestamp("us", tz="UTC"),
    }.get(kind, pa.int64())
    width = pa.int32() if kind == "date" else pa.int64()
    limits = np.iinfo(width.to_pandas_dtype())
    try:
        whole = [min(max(round(one), int(limits.min)), int(limits.max)) for one in values]
        return list(pa.array(whole, width).cast(target).cast(pa.string()).to_pylist())
    except (OverflowError, pa.ArrowException) as error:
        raise ValueError(f"a quantile is no {type_}: {error}") from None
