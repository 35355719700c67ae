"""The reader of inverted blobs: which rows, or which blocks of rows, have which values.

A probe reads the head, the dictionary's blocks that its values fall into, and the sets that it
needs; never the whole blob. Each of these has a checksum: what is altered or cut off raises
`ValueError`. `writer.py` writes them; `docs/formats/bitmap.md` has every byte.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from pyroaring import BitMap

from indexes.domains import BYTES, domain_of, scale_of
from indexes.inverted.dictionary import Directory, rising
from indexes.inverted.keyed import Codes, Keyed, checked, head_of
from indexes.inverted.postings import BOUND_MAX, of_numbers, union
from indexes.inverted.postings import decode as decode_set
from indexes.kind import Blob, IndexedColumn, Read
from indexes.puffin import exactly
from indexes.row_verdict import Between, RowVerdict

Array = npt.NDArray[Any]
TYPE = "acc-bitmap-v1"
MAGIC = b"AIX1"
SECTIONS = 6
DICTIONARY, BLOCK_SETS, MATRIX, ROW_SETS, CUT_SETS, END = range(SECTIONS)
EXACT_BYTES = 4 << 20  # of sets, that several values are answered exactly with at most, or
EXACT_ROWS = 4  # a byte for so many rows
_EDGE_BYTES = 64 << 10  # of sets of blocks, read for what bins hold in part
_HEADS_MAX = 1_024
_BLOCK_LEVEL = 0  # places in `Block.levels`
_ROW_LEVEL = 1


class InvertedHead(Struct, frozen=True):
    """What the first read gives. All arrays have one item more than what they're cut into.

    `bins`: codes at which the bins of the matrix begin. `cuts`: codes below which a set of rows is
    kept.
    """

    rows: int
    ndv: int
    row_level: bool
    domain: str
    starts: Array
    sections: Array
    null: tuple[int, int, int, int]
    directory: Directory
    bins: Array
    bin_crcs: Array
    cuts: Array
    cut_bases: Array
    cut_offsets: Array
    cut_forms: Array
    cut_crcs: Array


@lru_cache(_HEADS_MAX)
def parse_head(data: bytes, domain: str) -> InvertedHead:
    """ValueError for what isn't a head. Those of late are kept, by their bytes."""
    source = head_of(data, MAGIC)
    rows, ndv, level, text = (source.number(form) for form in "QIBB")
    if bool(text) != (domain == BYTES):
        raise ValueError(f"the blob isn't of the domain {domain}")
    starts = source.numbers(source.number("I") + 1, "<u8").astype(np.int64)
    sections = source.numbers(SECTIONS, "<u8").astype(np.int64)
    null = (source.number("Q"), source.number("Q"), source.number("B"), source.number("I"))
    directory = Directory.read_from(source, domain, 2)
    bins = source.number("I")
    bin_codes = source.numbers(bins + 1, "<u4").astype(np.int64)
    bin_crcs = source.numbers(bins, "<u4")
    cuts = source.number("I")
    cut_codes = source.numbers(cuts, "<u4").astype(np.int64)
    cut_bases = source.numbers(cuts, "<u8").astype(np.int64)
    cut_offsets = source.numbers(cuts + 1, "<u8").astype(np.int64)
    cut_forms, cut_crcs = source.numbers(cuts, "u1"), source.numbers(cuts, "<u4")
    source.end()
    _check(rows, starts, sections)
    rising(directory.codes, 0, ndv)
    rising(bin_codes, 0, ndv if bins else 0, strictly=True)
    rising(np.concatenate(([0], cut_codes, [ndv or 1])), strictly=True)
    rising(cut_offsets)
    if cuts and not bins:
        raise ValueError("cuts without bins")
    return InvertedHead(
        rows, ndv, bool(level), domain, starts, sections, null, directory, bin_codes, bin_crcs,
        cut_codes, cut_bases, cut_offsets, cut_forms, cut_crcs,
    )  # fmt: skip


def _check(rows: int, starts: Array, sections: Array) -> None:
    """ValueError where blocks of rows, or sections, aren't one behind the other."""
    if rows >= BOUND_MAX:
        raise ValueError(f"{rows} rows")
    rising(starts, 0, rows)
    rising(sections)


class Inverted(Keyed):
    """An open blob; it keeps what it has read. `data`: its first bytes, the head at least."""

    def __init__(self, head: InvertedHead, data: bytes, read: Read) -> None:
        super().__init__(head.directory, head.domain, 1 + head.row_level, read)
        self.head, self.data = head, data

    @classmethod
    def open(cls, read: Read, length: int, domain: str) -> Inverted:
        """`length`: bytes to begin with, as the blob's properties have it."""
        data = exactly(read, 0, length)
        return cls(parse_head(data, domain), data, read)

    @cached_property
    def nulls(self) -> BitMap:
        """The rows that are NULL."""
        offset, length, form, crc = self.head.null
        inside = offset + length <= len(self.data)
        found = self.data[offset : offset + length] if inside else self.part(offset, length)
        return decode_set(checked(found, crc), form, self.head.rows)

    @cached_property
    def valued(self) -> BitMap:
        """The rows that aren't NULL."""
        return BitMap(range(self.head.rows)) - self.nulls

    def verdict(self, ranges: Sequence[Codes]) -> RowVerdict:
        """What is known of the rows whose values have these codes; ranges ascend and part."""
        ranges = [codes for codes in ranges if codes[0] < codes[1]]
        if not ranges:
            return self._verdict(Between.exactly(BitMap()))
        if ranges == [(0, self.head.ndv)]:
            return self._verdict(Between.exactly(self.valued))
        if not self.head.row_level:
            return self.by_blocks(ranges)
        one = len(ranges) == 1
        found = self._between(ranges[0]) if one else self._chosen(ranges)
        return self.by_blocks(ranges) if found is None else self._verdict(found)

    def by_blocks(self, ranges: Sequence[Codes]) -> RowVerdict:
        """The same by blocks of rows alone, which takes less to read and is less exact."""
        true = self._rows(self._block_set(ranges))
        false = self._rows(self._matrix_set(_others(ranges, self.head.ndv)))
        upper, lower = true & self.valued, self.valued - false
        return self._verdict(Between(lower & upper, upper))

    def sets(self, codes: Codes) -> Iterator[tuple[bytes, int]]:
        """The rows of each value, as bytes and form. Only where the blob has rows."""
        return self.sets_of([codes], _ROW_LEVEL)

    def set_bytes(self, codes: Codes) -> int:
        """About how many bytes the rows of these values take to read, with their dictionary."""
        return self._cost(codes)

    def _verdict(self, true: Between) -> RowVerdict:
        false = Between(self.valued - true.upper, self.valued - true.lower)
        return RowVerdict(self.head.rows, true, false)

    def _between(self, codes: Codes) -> Between | None:
        """Rows of a range of values, by the sets of its values or of the cuts: what is less."""
        direct = self._cost(codes)
        low, high = (self._below(code) for code in codes)
        if min(direct, low.cost + high.cost) > self._exact_bytes:
            if low.known + high.known >= direct or not len(self.head.cuts):
                return None
            lower = self._cut(high.floor) - self._cut(low.ceiling)
            return Between(lower, self._cut(high.ceiling) - self._cut(low.floor))
        if direct <= low.cost + high.cost:
            return Between.exactly(self._union([codes]))
        return Between.exactly(high.rows() - low.rows())

    def _below(self, code: int) -> _Below:
        """The ways to the rows of values below a code."""
        cuts = [0, *self.head.cuts.tolist(), self.head.ndv]
        floor, ceiling = bisect_right(cuts, code) - 1, bisect_left(cuts, code)
        ceiling = min(ceiling, len(cuts) - 1)
        floor = min(floor, len(cuts) - 1)
        up, down = (cuts[floor], code), (code, cuts[ceiling])
        by_floor = self._cut_size(floor) + self._cost(up)
        by_ceiling = self._cut_size(ceiling) + self._cost(down)
        known = self._cut_size(floor) + self._cut_size(ceiling)
        if by_floor <= by_ceiling:
            return _Below(
                by_floor, floor, ceiling, known, lambda: self._cut(floor) | self._union([up])
            )
        return _Below(
            by_ceiling, floor, ceiling, known, lambda: self._cut(ceiling) - self._union([down])
        )

    def _chosen(self, ranges: Sequence[Codes]) -> Between | None:
        """Rows of several ranges of values, or of all others where these take less to read."""
        others = _others(ranges, self.head.ndv)
        size, rest = (sum(self._cost(codes) for codes in some) for some in (ranges, others))
        if min(size, rest) > self._exact_bytes:
            return None
        if size <= rest:
            return Between.exactly(self._union(ranges))
        return Between.exactly(self.valued - self._union(others))

    def _cost(self, codes: Codes) -> int:
        """About how many bytes the rows of these values take to read."""
        if codes[0] >= codes[1]:
            return 0
        unread = self.dictionary_bytes(codes) if codes[1] - codes[0] > 1 else 0
        return self._offset(codes[1], _ROW_LEVEL) - self._offset(codes[0], _ROW_LEVEL) + unread

    def _offset(self, code: int, level: int) -> int:
        """Where the set of a value begins."""
        codes = self.directory.codes
        at = bisect_right(codes, code) - 1
        if codes[at] == code:
            return int(self.directory.bases[level][at])
        known = bisect_left(self.head.cuts, code)
        if level == _ROW_LEVEL and known < len(self.head.cuts) and self.head.cuts[known] == code:
            return int(self.head.cut_bases[known])
        return int(self.block(at).levels[level].offsets[code - codes[at]])

    @property
    def _exact_bytes(self) -> int:
        return max(EXACT_BYTES, self.head.rows // EXACT_ROWS)

    def _cut_size(self, number: int) -> int:
        """Of the cuts, before which stands one of nothing, and after which one of everything."""
        if number in (0, len(self.head.cuts) + 1):
            return 0
        return int(self.head.cut_offsets[number] - self.head.cut_offsets[number - 1])

    def _cut(self, number: int) -> BitMap:
        if number == 0:
            return BitMap()
        if number > len(self.head.cuts):
            return self.valued
        at = number - 1
        offset = int(self.head.cut_offsets[at])
        data = self.part(offset, self._cut_size(number))
        form = int(self.head.cut_forms[at])
        return decode_set(checked(data, self.head.cut_crcs[at]), form, self.head.rows)

    def _union(self, ranges: Sequence[Codes]) -> BitMap:
        return union(self.sets_of(ranges, _ROW_LEVEL), self.head.rows)

    def _block_set(self, ranges: Sequence[Codes]) -> BitMap:
        """Blocks that may hold the values: by their own sets, or by bins with edges refined."""
        bound, width = len(self.head.starts) - 1, self._bin_width
        sets: list[Codes] = []
        bins: list[Codes] = []
        for codes in ranges:
            size = self._block_cost(codes)
            first, last = self._bins(codes)
            if not width or size <= max(_EDGE_BYTES // 4, (last - first) * width):
                sets.append(codes)
                continue
            if last - first > 1:
                low, high = (codes[0], self._bin(first + 1)), (self._bin(last - 1), codes[1])
                if codes[0] > self._bin(first) and self._block_cost(low) <= _EDGE_BYTES:
                    sets.append(low)
                    first += 1
                if codes[1] < self._bin(last) and self._block_cost(high) <= _EDGE_BYTES:
                    sets.append(high)
                    last -= 1
            bins.append((first, last))
        found = union(self.sets_of(sets, _BLOCK_LEVEL), bound)
        return found | self._bin_set(bins)

    def _matrix_set(self, ranges: Sequence[Codes]) -> BitMap:
        """Blocks that may hold the values, by whole bins; all blocks where there are none."""
        ranges = [codes for codes in ranges if codes[0] < codes[1]]
        if ranges and not self._bin_width:
            return BitMap(range(len(self.head.starts) - 1))
        return self._bin_set([self._bins(codes) for codes in ranges])

    @property
    def _bin_width(self) -> int:
        """Bytes of a bin's flags, one a block; 0 where there are no bins."""
        return (len(self.head.starts) + 6) // 8 if len(self.head.bin_crcs) else 0

    def _bin(self, number: int) -> int:
        return int(self.head.bins[number])

    def _bins(self, codes: Codes) -> Codes:
        """The bins that hold values of these codes, in part at least."""
        first = bisect_right(self.head.bins, codes[0]) - 1
        return first, bisect_left(self.head.bins, codes[1])

    def _bin_set(self, bins: Sequence[Codes]) -> BitMap:
        width, bound = self._bin_width, len(self.head.starts) - 1
        found = BitMap()
        for first, last in bins:
            if first >= last:
                continue
            base = int(self.head.sections[MATRIX]) + first * width
            data = self.part(base, (last - first) * width)
            for at, crc in enumerate(self.head.bin_crcs[first:last].tolist()):
                checked(data[at * width : (at + 1) * width], crc)
            rows = np.frombuffer(data, np.uint8).reshape(-1, width)
            flags = np.bitwise_or.reduce(rows, axis=0)
            found |= of_numbers(np.flatnonzero(np.unpackbits(flags, bitorder="little")[:bound]))
        return found

    def _block_cost(self, codes: Codes) -> int:
        if codes[0] >= codes[1]:
            return 0
        return self._offset(codes[1], _BLOCK_LEVEL) - self._offset(codes[0], _BLOCK_LEVEL)

    def _rows(self, blocks: BitMap) -> BitMap:
        """The rows of blocks."""
        found = BitMap()
        for number in blocks:
            found.add_range(int(self.head.starts[number]), int(self.head.starts[number + 1]))
        return found


class _Below(Struct, frozen=True):
    """How the rows below a code are had: by the cut before it or by the one after it.

    `cost`: about how many bytes that takes to read; `known`: what both cuts alone take.
    """

    cost: int
    floor: int
    ceiling: int
    known: int
    rows: Callable[[], BitMap]


def _others(ranges: Sequence[Codes], ndv: int) -> list[Codes]:
    """All other codes; ranges ascend and part."""
    edges = [0, *(code for codes in ranges for code in codes), ndv]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]


def open_blob(blob: Blob, read: Read, column: IndexedColumn) -> Inverted | None:
    """The blob opened; None for values of another type than the column's. ValueError as `probe`."""
    if blob.type != TYPE:
        raise ValueError(f"a blob of type {blob.type}, not {TYPE}")
    try:
        length, domain = int(blob.properties["head"]), blob.properties["domain"]
        scale = int(blob.properties["scale"])
    except KeyError as error:
        raise ValueError(f"the blob has no property {error}") from None
    if (domain, scale) != (domain_of(column.type), scale_of(column.type)):
        return None
    opened = Inverted.open(read, length, domain)
    if opened.head.rows != column.rows:
        raise ValueError(f"the blob is of {opened.head.rows} rows, the file has {column.rows}")
    return opened


def keys_of(opened: Inverted, codes: tuple[int, int]) -> Any:
    """The keys of these codes: a list of bytes, or an array of numbers."""
    parts = [
        block.keys[max(codes[0] - block.first, 0) : codes[1] - block.first]
        for block in opened.blocks(codes)
    ]
    if opened.head.domain == BYTES:
        return [key for part in parts for key in part]
    return np.concatenate([np.empty(0, np.int64), *parts])
