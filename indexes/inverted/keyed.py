"""The part of inverted blobs that all their formats have: keys in blocks, and sets beside each.

A key is found by the directory in the blob's head and one block of the dictionary. Whatever is read
has a checksum: what is altered or cut off raises `ValueError`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy.typing as npt

from indexes.domains import Key
from indexes.inverted.dictionary import DictionaryBlock, Directory, Taker, decode
from indexes.kind import Read
from indexes.puffin import exactly

Array = npt.NDArray[Any]
Codes = tuple[int, int]
"""The values from the first code to before the second."""

_GAP = 4 << 10  # bytes that are read though they aren't needed, to save a read


def head_of(data: bytes, magic: bytes) -> Taker:
    """What stands between a head's length and its checksum. ValueError for what isn't a head."""
    if data[:4] != magic:
        raise ValueError(f"the blob begins with {data[:4]!r}")
    length = int.from_bytes(data[4:8], "little")
    if length < 12 or length > len(data):
        raise ValueError(f"a head of {length} bytes, and {len(data)} were read")
    if crc32(data[: length - 4]) != int.from_bytes(data[length - 4 : length], "little"):
        raise ValueError("the blob's head is altered")
    return Taker(data[8 : length - 4])


class Keyed:
    """Reads keys and sets of an open blob, and keeps the blocks of keys that it has read."""

    def __init__(self, directory: Directory, domain: str, levels: int, read: Read) -> None:
        self.directory, self.read = directory, read
        self._domain, self._levels = domain, levels
        self._blocks: dict[int, DictionaryBlock] = {}

    def rank(self, key: Key) -> tuple[int, bool]:
        """The code of the first value that isn't below the key, and whether it's the key."""
        at = bisect_right(self.directory.sparse, key) - 1
        return self.block(max(at, 0)).rank(key) if self.directory.sparse else (0, False)

    def block(self, number: int) -> DictionaryBlock:
        """A block of the dictionary."""
        self._load(number, number + 1)
        return self._blocks[number]

    def blocks(self, codes: Codes) -> list[DictionaryBlock]:
        """The blocks that hold values of these codes, by one read where none was read before."""
        if codes[0] >= codes[1]:
            return []
        first = bisect_right(self.directory.codes, codes[0]) - 1
        last = bisect_left(self.directory.codes, codes[1])
        self._load(first, last)
        return [self._blocks[number] for number in range(first, last)]

    def dictionary_bytes(self, codes: Codes) -> int:
        """Bytes of the blocks that hold values of these codes."""
        if codes[0] >= codes[1]:
            return 0
        first = bisect_right(self.directory.codes, codes[0]) - 1
        last = bisect_left(self.directory.codes, codes[1])
        return int(self.directory.offsets[last] - self.directory.offsets[first])

    def sets_of(self, ranges: Iterable[Codes], level: int) -> Iterator[tuple[bytes, int]]:
        """Sets of values as bytes and form, in few reads."""
        wanted: list[tuple[Array, Array, Array]] = []
        for codes in ranges:
            for block in self.blocks(codes):
                kept = block.levels[level]
                a, b = max(codes[0] - block.first, 0), min(codes[1] - block.first, len(kept.crcs))
                wanted.append((kept.offsets[a : b + 1], kept.forms[a:b], kept.crcs[a:b]))
        yield from _gathered(wanted, self.part)

    def _load(self, first: int, last: int) -> None:
        missing = [number for number in range(first, last) if number not in self._blocks]
        if not missing:
            return
        begin = int(self.directory.offsets[missing[0]])
        data = self.part(begin, int(self.directory.offsets[missing[-1] + 1]) - begin)
        for number in missing:
            a, b = (int(self.directory.offsets[number + more]) - begin for more in (0, 1))
            bases = [int(level[number]) for level in self.directory.bases[: self._levels]]
            part = checked(data[a:b], self.directory.crcs[number])
            first_code, after = self.directory.codes[number : number + 2].tolist()
            block = decode(part, first_code, self._domain, bases)
            if len(block.counts) != after - first_code:
                raise ValueError("a block of the dictionary has too few values, or too many")
            self._blocks[number] = block

    def part(self, offset: int, length: int) -> bytes:
        """Bytes of the blob."""
        return exactly(self.read, offset, length) if length else b""


def checked(data: bytes, crc: int) -> bytes:
    """The data. ValueError where the checksum is another's."""
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
                yield checked(bytes(data[a:b]), crc), form
        at = after
