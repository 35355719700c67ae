"""The builder of inverted blobs of terms: of one column of one file, where each term stands.

A row has many terms. What is kept of a term is the set of *units* in which it stands: single rows,
or blocks of as many rows each. Where there would be too many pairs of a term and a unit, units are
made larger. Where a term may be told of at most (`everywhere`) and stands in more than half of the
units, its set isn't kept.

Memory: 8 bytes a pair while they're gathered and 17 more where they're put in order, for 16 million
pairs at most: 420 MB; beside them the terms, 4 million or 64 MB at most, and the blob.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from indexes.domains import BYTES, INT64
from indexes.inverted.dictionary import Directory, cut, encode, separators
from indexes.inverted.postings import BOUND_MAX, Postings, encode_mask
from indexes.inverted.postings import encode as encode_sets
from indexes.inverted.terms_reader import MAGIC, NULLS_INSIDE, TYPE
from indexes.kind import Blob

Array = npt.NDArray[Any]

PAIRS_MAX = 1 << 24
TERMS_MAX = 1 << 22
_TERMS_BYTES_MAX = 64 << 20
_BLOCK_BYTES = 4 << 10  # of the dictionary: terms are asked for one by one
_CHUNK = 1 << 20  # pairs
_TERM_BYTES, _PAIR_BYTES = 16, 2  # about what each takes in a blob
_LEAST_UNITS = 4  # fewer would tell next to nothing


class WrittenTerms(Struct, frozen=True):
    """A blob's bytes; `head`: how many of them a reader begins with; `unit`: rows of a unit."""

    data: bytes
    head: int
    terms: int
    unit: int

    def blob(self, said: Mapping[str, str]) -> Blob:
        """Returns the heavy blob with these properties and its own."""
        own = {"head": str(self.head), "terms": str(self.terms), "unit": str(self.unit)}
        return Blob(TYPE, self.data, False, {**said, **own})


class Pairs:
    """Takes terms and the rows that they stand in, and keeps each term once."""

    def __init__(self, domain: str, unit: int, coarse: int, pairs_max: int = PAIRS_MAX) -> None:
        """`unit`: rows of a unit; `coarse`: of one where single rows are too many."""
        self.unit, self.given_up = unit, False
        self._domain, self._coarse, self._most = domain, coarse, pairs_max
        self._terms = pa.array([], pa.large_binary() if domain == BYTES else pa.int64())
        self._parts: list[tuple[Array, Array]] = []
        self._count = 0

    def add(self, terms: pa.Array, codes: Array, rows: Array) -> pa.Array:
        """Pairs of a term, by its place among those distinct ones, and a row (uint32).

        Returns the terms that are new; all of them once there have been too many.
        """
        if self.given_up:
            return terms
        known = pc.index_in(terms, value_set=self._terms)
        added = terms.filter(known.is_null())
        place = known.fill_null(0).to_numpy().astype(np.int32)
        new = known.is_null().to_numpy(zero_copy_only=False)
        place[new] = len(self._terms) + np.arange(len(added), dtype=np.int32)
        self._terms = pa.concat_arrays([self._terms, added])
        self._parts.append((place[codes], (rows // self.unit).astype(np.uint32)))
        self._count += len(codes)
        if len(self._terms) > TERMS_MAX or self._terms.nbytes > _TERMS_BYTES_MAX:
            self.given_up, self._parts, self._terms = True, [], self._terms[:0]
            self._count = 0
        while self._count > self._most and self._count > len(self._terms):
            self._coarsen()
        return added

    def finish(
        self,
        rows: int,
        nulls: Array,
        unknown: Array,
        *,
        everywhere: bool,
        bytes_max: int | None = None,
    ) -> WrittenTerms | None:
        """The blob; None where there are too many rows or terms.

        `nulls`: flags of the file's rows; `unknown`: rows of which nothing may be told. Units are
        made larger until about `bytes_max` bytes are enough; None where the terms alone take more.
        """
        if self.given_up or rows > BOUND_MAX - 1:
            return None
        left = None if bytes_max is None else bytes_max - _TERM_BYTES * len(self._terms)
        if left is not None and left < 0:
            return None
        order = pc.sort_indices(self._terms).to_numpy()
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        pairs = self._gathered(place)
        while True:
            bound = -(-rows // self.unit)
            counts = _counts(pairs, len(order))
            kept = np.where(counts > bound // 2, 0, counts) if everywhere else counts
            if left is None or bound < _LEAST_UNITS or _PAIR_BYTES * int(kept.sum()) <= left:
                break
            self.unit *= 2
            pairs = _doubled(pairs)
        if everywhere:
            pairs = pairs[np.repeat(kept > 0, counts)]
        sets = encode_sets(pairs.astype(np.uint32), kept, bound)
        del pairs
        odd = np.zeros(bound, dtype=bool)
        odd[np.unique(unknown // self.unit)] = True
        terms = self._terms.take(pa.array(order))
        return _written(terms, counts, sets, (rows, self.unit), nulls, odd)

    def _coarsen(self) -> None:
        """Larger units, so that there are fewer pairs."""
        times = self._coarse if self.unit == 1 and self._coarse > 1 else 2
        self.unit *= times
        self._parts = [(codes, units // np.uint32(times)) for codes, units in self._parts]
        pairs = self._gathered(None)
        self._count = len(pairs)
        codes = (pairs >> np.uint64(32)).astype(np.int32)
        self._parts = [(codes, pairs.astype(np.uint32))]

    def _gathered(self, place: Array | None) -> Array:
        """All pairs as one number each, ascending, each once; by codes put in another place."""
        pairs = np.empty(self._count, np.uint64)
        at = 0
        while self._parts:
            codes, units = self._parts.pop()
            held = codes if place is None else place[codes]
            pairs[at : at + len(codes)] = held.astype(np.uint64) << np.uint64(32) | units
            at += len(codes)
        pairs.sort()
        return pairs[np.append(True, pairs[1:] != pairs[:-1])] if len(pairs) else pairs


def _doubled(pairs: Array) -> Array:
    """The pairs in units of twice as many rows."""
    half = np.uint64((1 << 32) - 1)
    found = (pairs & ~half) | ((pairs & half) >> np.uint64(1))
    return found[np.append(True, found[1:] != found[:-1])] if len(found) else found


def _counts(pairs: Array, terms: int) -> Array:
    counts = np.zeros(terms, np.int64)
    for at in range(0, len(pairs), _CHUNK):
        codes = (pairs[at : at + _CHUNK] >> np.uint64(32)).astype(np.int64)
        counts += np.bincount(codes, minlength=terms) if terms < _CHUNK else 0
        if terms >= _CHUNK:
            found, times = np.unique(codes, return_counts=True)
            counts[found] += times
    return counts


def _written(
    terms: pa.Array,
    counts: Array,
    sets: Postings,
    size: tuple[int, int],
    nulls: Array,
    unknown: Array,
) -> WrittenTerms:
    """`size`: rows, and rows of a unit."""
    begins = cut(terms, _BLOCK_BYTES)
    text = pa.types.is_large_binary(terms.type)
    parts = [
        encode(terms[a:b], counts[a:b], [sets.part(a, b)]) for a, b in pairwise(begins.tolist())
    ]
    null, odd = encode_mask(nulls), encode_mask(unknown)
    sparse = separators(terms, begins)
    crcs = np.array([crc32(part) for part in parts], "<u4")
    ends = np.cumsum([0, *map(len, parts)])

    def head(length: int) -> bytes:
        """Places depend on the head's own length, not the other way round."""
        at = np.cumsum([length, len(odd[0]), len(null[0]), int(ends[-1])]).tolist()
        data = [
            MAGIC,
            struct.pack("<IQIIB", length, *size, len(terms), text),
            *(_described(one, place) for one, place in ((odd, at[0]), (null, at[1]))),
        ]
        directory = Directory(sparse, begins, ends + at[2], (sets.offsets[begins] + at[3],), crcs)
        return b"".join((*data, directory.to_bytes(BYTES if text else INT64)))

    length = len(head(0)) + 4
    start = head(length)
    start += struct.pack("<I", crc32(start))
    first = length + len(odd[0])
    first += len(null[0]) if len(null[0]) <= NULLS_INSIDE else 0
    data: Sequence[bytes] = (start, odd[0], null[0], *parts, sets.data)
    return WrittenTerms(b"".join(data), first, len(terms), size[1])


def _described(made: tuple[bytes, int], place: int) -> bytes:
    data, form = made
    return struct.pack("<QQBI", place, len(data), form, crc32(data))
