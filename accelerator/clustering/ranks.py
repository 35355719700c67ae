"""A value's rank among its column's: the share of rows below it, from a sample.

So a skewed column counts as much on a curve as an even one, and a text as much as a number.
Ranks keep the order: of two values the greater one never has the lower rank. NULL has the lowest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indexes.domains import BYTES, domain_of, to_domain


@dataclass(frozen=True, slots=True)
class Ranking:
    """The distinct values of a sample in their order, and how many of its rows stand below each."""

    type: str
    values: npt.NDArray[Any]
    below: npt.NDArray[np.int64]
    """One more than there are values: that of a value greater than all comes last."""

    @classmethod
    def of(cls, sample: pa.Array, type_: str) -> Ranking:
        """That of the sample's values, of a Spark type with a domain."""
        kept = to_domain(sample, type_)
        values, counts = np.unique(_numpy(kept.drop_null()), return_counts=True)
        below = np.concatenate([[0], np.cumsum(counts)]) + kept.null_count
        return cls(type_, values, below.astype(np.int64))

    def ranks(self, values: pa.Array, bits: int) -> npt.NDArray[np.uint64]:
        """The values' ranks, below 2 to the power of `bits`."""
        kept = to_domain(values, self.type)
        scaled = (self.below << bits) // (self.below[-1] + 1)
        if domain_of(self.type) == BYTES:
            encoded = kept.dictionary_encode()
            places = np.searchsorted(self.values, _numpy(encoded.dictionary))
            each = np.append(scaled[places], 0)  # the last one for NULLs
            found = each[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
        else:
            places = np.searchsorted(self.values, _numpy(kept.fill_null(0)))
            found = np.where(kept.is_null().to_numpy(zero_copy_only=False), 0, scaled[places])
        return np.asarray(found, dtype=np.uint64)


def _numpy(values: pa.Array) -> npt.NDArray[Any]:
    found: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return found
