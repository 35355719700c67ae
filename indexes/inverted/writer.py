"""The builder of inverted blobs: one column of one file, each value with the rows that have it.

Memory: 16 bytes a row, the dictionary, the blob twice, and some 60 MB for what is written together
(2 million rows of 1,000 values: 70 MB; 8 million of 100,000: 224 MB, 58 of them the blob). The
sets of rows take at most 4 bytes a row, those of the cuts half of what these take, or 16 KB.
"""

from __future__ import annotations

import math
import struct
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from indexes.domains import BYTES
from indexes.inverted.dictionary import Directory, cut, encode, separators, to_keys
from indexes.inverted.postings import BOUND_MAX, SMALL, Postings, encode_mask
from indexes.inverted.postings import encode as encode_sets
from indexes.inverted.reader import MAGIC, SECTIONS

Array = npt.NDArray[Any]

_FLUSH_ROWS = 1 << 18
_FLUSH_BYTES = 32 << 20
_DICTIONARY_MAX = 64 << 20  # bytes of distinct values
_CHUNK = 1 << 20  # rows
_CUTS_LEAST = 16 << 10  # bytes of cuts that are always allowed
_SETS_LEAST = 16 << 10  # bytes of sets of rows that are always worth their place
_BESIDE_KEY = 16  # bytes beside a value in a dictionary that has sets of rows and of blocks
_NULLS_INSIDE = 16 << 10  # bytes of the NULL rows' set that are read with the head


class InvertedShape(Struct, frozen=True):
    """How a blob is to be. `starts`: the blocks' first rows, and the number of rows."""

    domain: str
    starts: Array
    row_level: bool
    bins: int
    ndv_max: int


class WrittenInverted(Struct, frozen=True):
    """A blob's bytes; `head`: how many of them a reader begins with; its distinct values' keys."""

    data: bytes
    head: int
    ndv: int
    nulls: int
    keys: pa.Array


class ColumnCodes:
    """Takes a column part by part, and keeps a number a row and each value once."""

    def __init__(self, shape: InvertedShape) -> None:
        self._shape, self.rows, self.given_up = shape, 0, False
        self._pending: list[pa.Array] = []
        self._waiting = self._waiting_bytes = 0
        self._codes: list[Array] = []
        self._keys = pa.array([], pa.large_binary() if shape.domain == BYTES else pa.int64())

    def add(self, values: pa.Array) -> None:
        """Values in their domain."""
        self.rows += len(values)
        if self.given_up or not len(values):
            return
        self._pending.append(values)
        self._waiting += len(values)
        self._waiting_bytes += values.nbytes
        if self._waiting >= _FLUSH_ROWS or self._waiting_bytes >= _FLUSH_BYTES:
            self._flush()

    def finish(self) -> tuple[pa.Array, Array] | None:
        """The keys in their order, and each row's code, which is the number of keys for NULL.

        None where there are too many rows or values, or these are too large together.
        """
        self._flush()
        if self.given_up or self.rows > BOUND_MAX - 1:
            return None
        order = pc.sort_indices(self._keys).to_numpy()
        ndv = len(order)
        place = np.empty(ndv + 1, np.int32)
        place[order] = np.arange(ndv, dtype=np.int32)
        place[ndv] = ndv  # what -1, which stands for NULL, picks
        codes = [place[part] for part in self._codes]
        self._codes = []
        return self._keys.take(pa.array(order)), np.concatenate(codes or [np.empty(0, np.int32)])

    def _flush(self) -> None:
        if not self._pending or self.given_up:
            return
        keys = to_keys(pa.concat_arrays(self._pending), self._shape.domain)
        self._pending, self._waiting, self._waiting_bytes = [], 0, 0
        encoded = keys.dictionary_encode()
        own = encoded.dictionary
        known = pc.index_in(own, value_set=self._keys)
        added = own.filter(known.is_null())
        place = np.empty(len(own) + 1, np.int32)
        place[:-1] = known.fill_null(0).to_numpy()
        new = known.is_null().to_numpy(zero_copy_only=False)
        place[:-1][new] = len(self._keys) + np.arange(len(added), dtype=np.int32)
        place[-1] = -1
        self._codes.append(place[encoded.indices.fill_null(-1).to_numpy()])
        self._keys = pa.concat_arrays([self._keys, added])
        if len(self._keys) > self._shape.ndv_max or self._keys.nbytes > _DICTIONARY_MAX:
            self.given_up, self._codes, self._keys = True, [], self._keys[:0]


def write(keys: pa.Array, codes: Array, shape: InvertedShape) -> WrittenInverted:
    """The blob of rows with those codes; the number of keys is the code of NULL."""
    ndv, rows = len(keys), len(codes)
    positions, counts = _sorted(codes, ndv)
    valued = rows - int(counts[ndv])
    null_form, null = _null_set(positions[valued:], rows)
    positions, counts = positions[:valued], counts[:ndv]
    edges = _edges(counts, shape.bins)
    blocks = len(shape.starts) - 1
    block_of = np.repeat(np.arange(blocks, dtype=np.uint32), np.diff(shape.starts))
    by_block = _block_sets(positions, counts, block_of, blocks)
    matrix = _matrix(codes, edges, block_of, blocks)
    del block_of
    levels, cuts = [by_block], _Cuts.none()
    if shape.row_level:
        by_row = encode_sets(positions, counts, rows)
        levels.append(by_row)
        cuts = _cuts(codes, edges, counts, by_row)
    del positions
    begins = cut(keys)
    offsets = [level.offsets for level in levels]
    parts = [
        encode(keys[a:b], counts[a:b], [level.part(a, b) for level in levels])
        for a, b in pairwise(begins.tolist())
    ]
    sections = [
        b"".join(parts),
        by_block.data,
        b"".join(row.tobytes() for row in matrix),
        levels[1].data if shape.row_level else b"",
        cuts.data,
    ]
    bases = [at[begins] for at in offsets] + [np.zeros(len(begins), np.int64)] * (2 - len(levels))
    text = shape.domain == BYTES
    sparse = separators(keys, begins)

    def head(length: int) -> bytes:
        """The sections' places depend on the head's own length, not the other way round."""
        places = np.cumsum([length + len(null), *map(len, sections)])
        data = [
            MAGIC,
            struct.pack("<IQIBB", length, rows, ndv, shape.row_level, text),
            _counted(len(shape.starts) - 1),
            shape.starts.astype("<u8").tobytes(),
            places.astype("<u8").tobytes(),
            struct.pack("<QQBI", length, len(null), null_form, crc32(null)),
        ]
        ends = np.cumsum([0, *map(len, parts)])
        starts = (bases[0] + places[1], bases[1] + places[3])
        crcs = np.array([crc32(part) for part in parts], "<u4")
        directory = Directory(sparse, begins, ends + places[0], starts, crcs)
        data.append(directory.to_bytes(shape.domain))
        data += [_counted(len(edges) - 1), edges.astype("<u4").tobytes()]
        data.append(np.array([crc32(row.tobytes()) for row in matrix], "<u4").tobytes())
        data += [_counted(len(cuts.codes)), cuts.codes.astype("<u4").tobytes()]
        if shape.row_level:
            data.append((offsets[1][cuts.codes] + places[3]).astype("<u8").tobytes())
        data.append((cuts.offsets + places[4]).astype("<u8").tobytes())
        data += [cuts.forms.astype("u1").tobytes(), cuts.crcs.astype("<u4").tobytes()]
        return b"".join(data)

    assert len(sections) + 1 == SECTIONS
    length = len(head(0)) + 4
    start = head(length)
    start += struct.pack("<I", crc32(start))
    first = length + (len(null) if len(null) <= _NULLS_INSIDE else 0)
    return WrittenInverted(b"".join((start, null, *sections)), first, ndv, rows - valued, keys)


def rows_pay(keys: pa.Array, codes: Array) -> bool:
    """Whether a blob with sets of rows would be no larger than the column is.

    The column is taken as a dictionary of its values and log2 of their number of bits a row, and
    the blob as a dictionary with more in it and the sets, each in its smallest form.
    """
    ndv, rows = len(keys), len(codes)
    counts, runs = np.zeros(ndv + 1, np.int64), np.zeros(ndv + 1, np.int64)
    for at in range(0, rows, _CHUNK):
        part = codes[at : at + _CHUNK]
        counts += np.bincount(part, minlength=ndv + 1)
        begins = np.append(at == 0 or part[0] != codes[at - 1], part[1:] != part[:-1])
        runs += np.bincount(part[begins], minlength=ndv + 1)
    counts, runs = counts[:ndv], runs[:ndv]
    if rows <= SMALL:
        sizes = np.minimum(np.minimum(2 * counts, 4 * runs), rows // 8)
    else:
        containers = np.minimum(runs, -(-rows // SMALL))
        roaring = 8 + 8 * containers + np.minimum(2 * counts, rows // 8)
        sizes = np.minimum(np.minimum(4 * counts, 8 * runs), roaring)
    sets = int(sizes.sum())
    column = rows * math.log2(max(ndv, 1)) / 8
    return sets <= _SETS_LEAST or sets + _BESIDE_KEY * ndv <= column


def _counted(count: int) -> bytes:
    return struct.pack("<I", count)


def _sorted(codes: Array, ndv: int) -> tuple[Array, Array]:
    """The rows by their codes, ascending within each, and how many have each."""
    counts = np.zeros(ndv + 1, np.int64)
    for at in range(0, len(codes), _CHUNK):
        counts += np.bincount(codes[at : at + _CHUNK], minlength=ndv + 1)
    positions = np.empty(len(codes), np.uint32)
    place = np.cumsum(counts) - counts
    for at in range(0, len(codes), _CHUNK):
        part = codes[at : at + _CHUNK].astype(np.uint64)
        keys = part << np.uint64(32) | np.arange(at, at + len(part), dtype=np.uint64)
        keys.sort()
        here = np.bincount(codes[at : at + _CHUNK], minlength=ndv + 1)
        shift = np.repeat(place - (np.cumsum(here) - here), here)
        positions[np.arange(len(keys)) + shift] = keys.astype(np.uint32)
        place += here
    return positions, counts


def _null_set(positions: Array, rows: int) -> tuple[int, bytes]:
    mask = np.zeros(rows, dtype=bool)
    mask[positions] = True
    data, form = encode_mask(mask)
    return form, data


def _edges(counts: Array, bins: int) -> Array:
    """Codes at which bins of about as many rows begin, and the number of codes."""
    ndv = len(counts)
    if not bins or not ndv:
        return np.zeros(1, np.int64)
    ends = np.cumsum(counts)
    targets = np.arange(bins) * int(ends[-1]) // bins
    return np.append(np.unique(np.searchsorted(ends, targets, "right")), ndv)


def _block_sets(positions: Array, counts: Array, block_of: Array, blocks: int) -> Postings:
    """For each value the blocks that have it; `block_of`: of each row."""
    ends = np.cumsum(counts)
    found, sizes = [], np.zeros(len(counts), np.int64)
    before = (-1, -1)
    for at in range(0, len(positions), _CHUNK):
        part = positions[at : at + _CHUNK]
        held = block_of[part]
        first, last = np.searchsorted(ends, (at, at + len(part) - 1), "right").tolist()
        within = np.diff(np.clip(ends[first : last + 1], at, at + len(part)), prepend=at)
        owner = np.repeat(np.arange(first, last + 1), within)
        new = np.ones(len(part), dtype=bool)
        new[1:] = (held[1:] != held[:-1]) | (owner[1:] != owner[:-1])
        new[0] = (int(owner[0]), int(held[0])) != before
        before = int(owner[-1]), int(held[-1])
        found.append(held[new])
        sizes += np.bincount(owner[new], minlength=len(counts))
    numbers = np.concatenate(found or [np.empty(0, np.uint32)])
    return encode_sets(numbers, sizes, blocks)


def _bin_of(edges: Array, ndv: int) -> Array:
    """The bin of each code; that of NULL is above all."""
    bins = len(edges) - 1
    sizes = np.append(np.diff(edges), 1 if bins else ndv + 1)
    return np.repeat(np.arange(bins + 1, dtype=np.uint16), sizes)


def _matrix(codes: Array, edges: Array, block_of: Array, blocks: int) -> Array:
    """For each bin a flag a block, whether a row of the block is in it, as packed bits."""
    bins = len(edges) - 1
    flags = np.zeros(blocks * (bins + 1), dtype=bool)
    bin_of = _bin_of(edges, int(edges[-1])).astype(np.int64)
    for at in range(0, len(codes) if bins else 0, _CHUNK):
        part = codes[at : at + _CHUNK]
        flags[block_of[at : at + _CHUNK] * np.int64(bins + 1) + bin_of[part]] = True
    of_bins = flags.reshape(blocks, bins + 1)[:, :bins].T
    return np.packbits(of_bins, axis=1, bitorder="little")


class _Cuts(Struct, frozen=True):
    """Sets of the rows below some codes."""

    codes: Array
    data: bytes
    offsets: Array
    forms: Array
    crcs: Array

    @classmethod
    def none(cls) -> _Cuts:
        nothing = np.zeros(0, np.int64)
        return cls(nothing, b"", np.zeros(1, np.int64), nothing, nothing)


def _cuts(codes: Array, edges: Array, counts: Array, by_row: Postings) -> _Cuts:
    """At every edge between bins, or every second, fourth … as far as there's room for them."""
    inner = edges[1:-1]
    if not len(inner):
        return _Cuts.none()
    bin_of_row = _bin_of(edges, len(counts))[codes]
    below = np.cumsum(counts)[inner - 1]
    sizes = np.minimum(8 * _runs_below(bin_of_row, len(edges) - 1), 4 * below)
    sizes = np.minimum(sizes, len(codes) // 8)
    room = max(len(by_row.data) // 2, _CUTS_LEAST)
    step = 1
    while step < len(inner) and sizes[step - 1 :: step].sum() > room:
        step *= 2
    chosen = np.arange(step - 1, len(inner), step)
    if sizes[chosen].sum() > room:
        return _Cuts.none()
    sets = [encode_mask(bin_of_row <= number) for number in chosen.tolist()]
    data = [one for one, _ in sets]
    offsets = np.cumsum([0, *map(len, data)])
    forms = np.array([form for _, form in sets])
    return _Cuts(inner[chosen], b"".join(data), offsets, forms, np.array([*map(crc32, data)]))


def _runs_below(bin_of_row: Array, bins: int) -> Array:
    """For each inner edge, how many runs the rows of the bins below it are."""
    changes = np.zeros(bins + 2, np.int64)
    for at in range(0, len(bin_of_row), _CHUNK):
        part = bin_of_row[max(at - 1, 0) : at + _CHUNK]
        low, high = np.minimum(part[1:], part[:-1]), np.maximum(part[1:], part[:-1])
        changes += np.bincount(low + 1, minlength=bins + 2)
        changes -= np.bincount(high + 1, minlength=bins + 2)
    ends = np.zeros(bins + 2, np.int64)
    for row in (bin_of_row[0], bin_of_row[-1]):
        ends[int(row) + 1 :] += 1
    runs: Array = (np.cumsum(changes) + ends)[1:bins] // 2
    return runs
