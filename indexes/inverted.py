"""The reader of inverted blobs: which rows, or which blocks of rows, have which values.

A probe reads the head, the dictionary's blocks that its values fall into, and the sets that it
needs; never the whole blob. Each of these has a checksum: what is altered or cut off raises
`ValueError`. `inverted_writer.py` writes them; `docs/formats/bitmap.md` has every byte.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from indexes.dictionary import Block, Key, Taker, decode
from indexes.domains import BYTES
from indexes.kind import Read
from indexes.postings import decode as decode_set
from indexes.postings import of_numbers, union
from indexes.rows import Between, RowVerdict

Array = npt.NDArray[Any]
Codes = tuple[int, int]
"""The values from the first code to before the second."""

MAGIC = b"AIX1"
SECTIONS = 6
DICTIONARY, BLOCK_SETS, MATRIX, ROW_SETS, CUT_SETS, END = range(SECTIONS)
EXACT_BYTES = 4 << 20  # of sets, that several values are answered exactly with at most, or
EXACT_ROWS = 4  # a byte for so many rows
_EDGE_BYTES = 64 << 10  # of sets of blocks, read for what bins hold in part
_GAP = 4 << 10  # bytes that are read though they aren't needed, to save a read
_BLOCK_LEVEL = 0  # places in `Block.levels`
_ROW_LEVEL = 1


@dataclass(frozen=True, slots=True)
class Head:
    """What the first read gives. All arrays have one item more than what they're cut into.

    `sparse`: keys that separate the dictionary's blocks; `codes`, `offsets`, `block_bases`,
    `row_bases`: where each begins, in codes and in bytes of the three sections. `bins`: codes at
    which the bins of the matrix begin. `cuts`: codes below which a set of rows is kept.
    """

    rows: int
    ndv: int
    row_level: bool
    domain: str
    starts: Array
    sections: Array
    null: tuple[int, int, int, int]
    sparse: list[Any]
    codes: Array
    offsets: Array
    block_bases: Array
    row_bases: Array
    crcs: Array
    bins: Array
    bin_crcs: Array
    cuts: Array
    cut_bases: Array
    cut_offsets: Array
    cut_forms: Array
    cut_crcs: Array


def parse_head(data: bytes, domain: str) -> Head:
    """ValueError for what isn't a head."""
    if data[:4] != MAGIC:
        raise ValueError(f"the blob begins with {data[:4]!r}")
    length = int.from_bytes(data[4:8], "little")
    if length < 12 or length > len(data):
        raise ValueError(f"a head of {length} bytes, and {len(data)} were read")
    if crc32(data[: length - 4]) != int.from_bytes(data[length - 4 : length], "little"):
        raise ValueError("the blob's head is altered")
    source = Taker(data[8 : length - 4])
    rows, ndv, level, text = (source.number(form) for form in "QIBB")
    if bool(text) != (domain == BYTES):
        raise ValueError(f"the blob isn't of the domain {domain}")
    starts = source.numbers(source.number("I") + 1, "<u8").astype(np.int64)
    sections = source.numbers(SECTIONS, "<u8").astype(np.int64)
    null = (source.number("Q"), source.number("Q"), source.number("B"), source.number("I"))
    blocks = source.number("I")
    sparse: list[Any]
    if text:
        sizes = source.numbers(blocks, "<u4").tolist()
        sparse = [source.take(size) for size in sizes]
    else:
        sparse = source.numbers(blocks, "<i8").tolist()
    codes = source.numbers(blocks + 1, "<u4").astype(np.int64)
    offsets, block_bases, row_bases = (
        source.numbers(blocks + 1, "<u8").astype(np.int64) for _ in range(3)
    )
    crcs = source.numbers(blocks, "<u4")
    bins = source.number("I")
    bin_codes = source.numbers(bins + 1, "<u4").astype(np.int64)
    bin_crcs = source.numbers(bins, "<u4")
    cuts = source.number("I")
    cut_codes = source.numbers(cuts, "<u4").astype(np.int64)
    cut_bases = source.numbers(cuts, "<u8").astype(np.int64)
    cut_offsets = source.numbers(cuts + 1, "<u8").astype(np.int64)
    cut_forms, cut_crcs = source.numbers(cuts, "u1"), source.numbers(cuts, "<u4")
    source.end()
    return Head(
        rows, ndv, bool(level), domain, starts, sections, null,
        sparse, codes, offsets, block_bases, row_bases, crcs, bin_codes, bin_crcs,
        cut_codes, cut_bases, cut_offsets, cut_forms, cut_crcs,
    )  # fmt: skip


@dataclass
class Inverted:
    """An open blob; it keeps what it has read. `data`: its first bytes, the head at least."""

    head: Head
    data: bytes
    read: Read
    _blocks: dict[int, Block] = field(default_factory=dict)

    @classmethod
    def open(cls, read: Read, length: int, domain: str) -> Inverted:
        """`length`: bytes to begin with, as the blob's properties have it."""
        data = read(0, length)
        if len(data) != length:
            raise ValueError(f"the blob is cut off: {len(data)} of {length} bytes")
        return cls(parse_head(data, domain), data, read)

    @cached_property
    def nulls(self) -> BitMap:
        """The rows that are NULL."""
        offset, length, form, crc = self.head.null
        inside = offset + length <= len(self.data)
        found = self.data[offset : offset + length] if inside else self._read(offset, length)
        return decode_set(_checked(found, crc), form, self.head.rows)

    @cached_property
    def valued(self) -> BitMap:
        """The rows that aren't NULL."""
        return BitMap(range(self.head.rows)) - self.nulls

    def rank(self, key: Key) -> tuple[int, bool]:
        """The code of the first value that isn't below the key, and whether it's the key."""
        at = bisect_right(self.head.sparse, key) - 1
        return self.block(max(at, 0)).rank(key) if self.head.sparse else (0, False)

    def block(self, number: int) -> Block:
        """A block of the dictionary."""
        self._load(number, number + 1)
        return self._blocks[number]

    def blocks(self, codes: Codes) -> list[Block]:
        """The blocks that hold values of these codes, by one read where none was read before."""
        if codes[0] >= codes[1]:
            return []
        first = bisect_right(self.head.codes, codes[0]) - 1
        last = bisect_left(self.head.codes, codes[1])
        self._load(first, last)
        return [self._blocks[number] for number in range(first, last)]

    def dictionary_bytes(self, codes: Codes) -> int:
        """Bytes of the blocks that hold values of these codes."""
        if codes[0] >= codes[1]:
            return 0
        first = bisect_right(self.head.codes, codes[0]) - 1
        last = bisect_left(self.head.codes, codes[1])
        return int(self.head.offsets[last] - self.head.offsets[first])

    def verdict(self, ranges: Sequence[Codes]) -> RowVerdict:
        """What is known of the rows whose values have these codes; ranges ascend and part."""
        ranges = [codes for codes in ranges if codes[0] < codes[1]]
        if not ranges:
            return self._told(Between.exactly(BitMap()))
        if ranges == [(0, self.head.ndv)]:
            return self._told(Between.exactly(self.valued))
        if not self.head.row_level:
            return self.by_blocks(ranges)
        one = len(ranges) == 1
        found = self._between(ranges[0]) if one else self._chosen(ranges)
        return self.by_blocks(ranges) if found is None else self._told(found)

    def by_blocks(self, ranges: Sequence[Codes]) -> RowVerdict:
        """The same by blocks of rows alone, which takes less to read and is less exact."""
        true = self._rows(self._block_set(ranges))
        false = self._rows(self._matrix_set(_others(ranges, self.head.ndv)))
        upper, lower = true & self.valued, self.valued - false
        return self._told(Between(lower & upper, upper))

    def sets(self, codes: Codes) -> Iterator[tuple[bytes, int]]:
        """The rows of each value, as bytes and form. Only where the blob has rows."""
        return self._sets([codes], _ROW_LEVEL)

    def set_bytes(self, codes: Codes) -> int:
        """About how many bytes the rows of these values take to read, with their dictionary."""
        return self._cost(codes)

    def _told(self, true: Between) -> RowVerdict:
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
        bases = self.head.row_bases if level == _ROW_LEVEL else self.head.block_bases
        at = bisect_right(self.head.codes, code) - 1
        if self.head.codes[at] == code:
            return int(bases[at])
        known = bisect_left(self.head.cuts, code)
        if level == _ROW_LEVEL and known < len(self.head.cuts) and self.head.cuts[known] == code:
            return int(self.head.cut_bases[known])
        return int(self.block(at).levels[level].offsets[code - self.head.codes[at]])

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
        data = self._read(offset, self._cut_size(number))
        form = int(self.head.cut_forms[at])
        return decode_set(_checked(data, self.head.cut_crcs[at]), form, self.head.rows)

    def _union(self, ranges: Sequence[Codes]) -> BitMap:
        return union(self._sets(ranges, _ROW_LEVEL), self.head.rows)

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
        found = union(self._sets(sets, _BLOCK_LEVEL), bound)
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
            data = self._read(base, (last - first) * width)
            flags = np.zeros(width, np.uint8)
            for number in range(first, last):
                row = data[(number - first) * width : (number - first + 1) * width]
                flags |= np.frombuffer(_checked(row, self.head.bin_crcs[number]), np.uint8)
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

    def _sets(self, ranges: Iterable[Codes], level: int) -> Iterator[tuple[bytes, int]]:
        """Sets of values as bytes and form, in few reads."""
        wanted: list[tuple[Array, Array, Array]] = []
        for codes in ranges:
            for block in self.blocks(codes):
                kept = block.levels[level]
                a, b = max(codes[0] - block.first, 0), min(codes[1] - block.first, len(kept.crcs))
                wanted.append((kept.offsets[a : b + 1], kept.forms[a:b], kept.crcs[a:b]))
        yield from _gathered(wanted, self._read)

    def _load(self, first: int, last: int) -> None:
        missing = [number for number in range(first, last) if number not in self._blocks]
        if not missing:
            return
        head, begin = self.head, int(self.head.offsets[missing[0]])
        data = self._read(begin, int(head.offsets[missing[-1] + 1]) - begin)
        for number in missing:
            a, b = (int(head.offsets[number + more]) - begin for more in (0, 1))
            bases = [int(head.block_bases[number])]
            if head.row_level:
                bases.append(int(head.row_bases[number]))
            part = _checked(data[a:b], head.crcs[number])
            block = decode(part, int(head.codes[number]), head.domain, bases)
            if len(block.counts) != head.codes[number + 1] - head.codes[number]:
                raise ValueError("a block of the dictionary has too few values, or too many")
            self._blocks[number] = block

    def _read(self, offset: int, length: int) -> bytes:
        data = self.read(offset, length) if length else b""
        if len(data) != length:
            raise ValueError(f"the blob is cut off: {len(data)} of {length} bytes at {offset}")
        return data


@dataclass(frozen=True, slots=True)
class _Below:
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


def _checked(data: bytes, crc: int) -> bytes:
    if crc32(data) != crc:
        raise ValueError("a part of the blob is altered")
    return data


def _gathered(
    wanted: Sequence[tuple[Array, Array, Array]], read: Callable[[int, int], bytes]
) -> Iterator[tuple[bytes, int]]:
    """The sets of (offsets, forms, checksums), checked; those that lie near by one read."""
    at = 0
    while at < len(wanted):
        begin, end, after = int(wanted[at][0][0]), int(wanted[at][0][-1]), at + 1
        while after < len(wanted) and 0 <= int(wanted[after][0][0]) - end <= _GAP:
            end, after = int(wanted[after][0][-1]), after + 1
        data = memoryview(read(begin, end - begin))
        for offsets, forms, crcs in wanted[at:after]:
            places = (offsets - begin).tolist()
            for (a, b), form, crc in zip(
                pairwise(places), forms.tolist(), crcs.tolist(), strict=True
            ):
                yield _checked(bytes(data[a:b]), crc), form
        at = after
