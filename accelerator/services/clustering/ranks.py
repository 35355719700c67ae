"""A value's rank among its column's: the share of rows below it, from a sample.

So a skewed column counts as much on a curve as an even one, and a text as much as a number.
Ranks keep the order: of two values the greater one never has the lower rank. NULL has the lowest.
Of a sample few bounds are taken, so that they can be kept, and later rows ranked by them too.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct

from indexes.domains import BYTES, FLOAT64, domain_of, to_domain

_BOUNDS_MAX = 256
_BYTES, _BYTES_MAX = 64, 1_024
"""Of a longer text the beginning is a bound, as far as it differs from the one before."""


class Ranking(Struct, frozen=True):
    """Bounds in their order, and how many rows of a sample stand below each.

    Bounds are values of the sample, all of them where these are few, else ones between which alike
    many rows stand.
    """

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
        if len(values) > _BOUNDS_MAX:
            wanted = np.linspace(below[0], below[-1], _BOUNDS_MAX, endpoint=False)
            places = np.unique(np.searchsorted(below[:-1], wanted))
            places = places[places < len(values)]
            values, below = values[places], np.append(below[places], below[-1])
        if domain_of(type_) == BYTES:
            values, first = np.unique(_shortened(values), return_index=True)
            below = np.append(below[first], below[-1])
        return cls(type_, values, below.astype(np.int64))

    @classmethod
    def from_json(cls, type_: str, told: Any) -> Ranking:
        """That which `to_json` has told, for a type of the same domain.

        ValueError, KeyError, TypeError for anything else.
        """
        domain = domain_of(type_)
        if told["domain"] != domain:
            raise ValueError(f"bounds of {told['domain']} for {type_}")
        given, below = told["values"], np.array(told["below"], dtype=np.int64)
        if domain == BYTES:
            values = _objects([bytes.fromhex(one) for one in given])
        elif domain == FLOAT64:
            values = np.array([float.fromhex(one) for one in given], dtype=np.float64)
        else:
            values = np.array([int(one) for one in given], dtype=np.int64)
        ordered = np.array_equal(np.argsort(values, kind="stable"), np.arange(len(values)))
        falls = bool((below[1:] < below[:-1]).any()) or bool((below[:1] < 0).any())
        if len(below) != len(values) + 1 or not ordered or falls:
            raise ValueError("bounds that aren't in their order")
        return cls(type_, values, below)

    def to_json(self) -> dict[str, Any]:
        """As a value of JSON: bytes as hexadecimal digits, floats as C writes them so."""
        domain = domain_of(self.type)
        if domain == BYTES:
            values = [one.hex() for one in self.values]
        elif domain == FLOAT64:
            values = [float(one).hex() for one in self.values]
        else:
            values = [str(one) for one in self.values]
        return {"domain": domain, "values": values, "below": self.below.tolist()}

    def ranks(self, values: pa.Array, bits: int) -> npt.NDArray[np.uint64]:
        """The values' ranks, below 2 to the power of `bits`."""
        kept = to_domain(values, self.type)
        below: list[int] = self.below.tolist()  # Python's numbers don't wrap; bounds are few
        scaled = np.array([(one << bits) // (below[-1] + 1) for one in below], dtype=np.int64)
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


def _shortened(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Bytes in their order, without what nobody needs to tell them apart."""
    found, before = list[bytes](), b""
    for one in values:
        alike = takewhile(lambda pair: pair[0] == pair[1], zip(before, one, strict=False))
        needed = sum(1 for _ in alike) + 1
        found.append(one[: min(max(needed, _BYTES), _BYTES_MAX)])
        before = one
    return _objects(found)


def _objects(values: list[bytes]) -> npt.NDArray[Any]:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made
