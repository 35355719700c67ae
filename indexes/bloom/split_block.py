"""Split-block Bloom filters of hashes, and those of many files side by side.

A filter is z blocks of eight 32-bit words. A hash's upper half names the block, its lower half one
bit in each word; all eight are set where the hash was added. So a hash that was added is always
found, and another one seldom (`false_positive_rate`). Bytes and hashes are those of Parquet's
filters, but for the hash's seed and for z, which needn't be a power of two: docs/formats/sbbf.md.

z is always m·2^e with m in 8…15, so that filters of like files are of one size. Since the block is
⌊x·z⌋ of a fraction x, uniting neighbours gives just the filter of half the blocks: a filter is made
for as many values as there can be, and folded when it's known how many there are.

A `Bundle` is filters of one size stored by blocks: block 0 of every file, then block 1, … One hash
reads one row of it, 32 bytes of each file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from indexes.hashing.xxhash64 import HASH, Hashes
from indexes.kind import Blob, Clauses, Read

Words = npt.NDArray[np.uint32]
Flags = npt.NDArray[np.bool_]

TYPE = "acc-sbbf-v1"
"""Of blobs that hold one filter."""
BLOCK_BYTES = 32
LEAST_BLOCKS, MOST_BLOCKS = 8, 1 << 23
"""256 bytes to 256 MiB."""
WORST_RATE = 0.5
"""A filter that finds more than this share of what it doesn't hold is given up."""
_SALTS = (
    *(0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D),
    *(0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31),
)
_HALF = (1 << 32) - 1
# How far below the bits per value asked for a fold may come: the number of values is estimated.
_SLACK = 0.98


class Filter(Struct, frozen=True, eq=False):
    """One filter; `words` has z rows of eight and is changed by `add`."""

    words: Words

    @classmethod
    def of_blocks(cls, blocks: int) -> Filter:
        """One that holds nothing."""
        return cls(np.zeros((blocks, 8), dtype=np.uint32))

    @classmethod
    def from_bytes(cls, data: bytes) -> Filter:
        """Of what `to_bytes` gave. ValueError for a length that no filter has."""
        if not data or len(data) % BLOCK_BYTES:
            raise ValueError(f"no split-block Bloom filter has {len(data)} bytes")
        return cls(np.frombuffer(data, dtype="<u4").reshape(-1, 8))

    def to_bytes(self) -> bytes:
        """Its blocks in order; words are little-endian."""
        return self.words.astype("<u4", copy=False).tobytes()

    @property
    def blocks(self) -> int:
        """The number z."""
        return int(self.words.shape[0])

    def add(self, hashes: Hashes) -> None:
        """Hashes that will be found from now on."""
        from indexes.hashing import kernels

        kernels.add_hashes(self.words, hashes)

    def may(self, value: int) -> bool:
        """Whether the hash may have been added; False is certain."""
        mask, row = mask_of(value), self.words[block_of(value, self.blocks)]
        return bool(((row.view(np.uint64) & mask) == mask).all())

    def may_all(self, hashes: Hashes) -> Flags:
        """`may` of each."""
        from indexes.hashing import kernels

        found = np.empty(len(hashes), dtype=np.bool_)
        kernels.may_hold(self.words, hashes, found)
        return found

    def answers(self, clauses: Clauses) -> bool:
        """Whether the file may hold a match: of each clause one hash may have been added."""
        return all(any(self.may(value) for value in clause) for clause in clauses)

    def folded(self) -> Filter:
        """The filter of half as many blocks over the same hashes; their number must be even."""
        pairs = self.words.reshape(-1, 2, 8)
        return Filter(pairs[:, 0] | pairs[:, 1])

    def of_size(self, blocks: int) -> Filter:
        """One of so many blocks, which are z times or divided by a power of two.

        Larger, it answers just as this one; smaller, it's the one that the hashes would have made.
        """
        found = self
        while found.blocks > blocks:
            found = found.folded()
        return Filter(np.repeat(found.words, blocks // found.blocks, axis=0))

    @property
    def fill(self) -> float:
        """The share of bits that are set."""
        return float(np.bitwise_count(self.words).sum()) / (256 * self.blocks)

    @property
    def distinct(self) -> float:
        """How many hashes it was made of, by its fill; infinite where every bit is set.

        Within a few per cent, better the larger the filter is.
        """
        fill = self.fill
        return math.inf if fill >= 1 else math.log1p(-fill) / math.log1p(-1 / (32 * self.blocks))

    def fitted(self, bits_per_value: float) -> Filter:
        """Folded for as long as that many bits are left for each of its hashes."""
        found, distinct = self, self.distinct
        while found.blocks % 2 == 0 and found.blocks // 2 >= LEAST_BLOCKS:
            if found.blocks * 128 < _SLACK * bits_per_value * distinct:
                break
            found = found.folded()
        return found


class Bundle(Struct, frozen=True):
    """What it takes to read filters of so many files, each of so many blocks."""

    blocks: int
    files: int

    @property
    def size(self) -> int:
        """In bytes."""
        return self.blocks * self.files * BLOCK_BYTES

    def may(self, clauses: Clauses, read: Read) -> Flags:
        """Of each file whether it may hold a match, as `Filter.answers` says.

        Reads one row for each hash, and none once no file is left. ValueError for rows that the
        bundle's bytes don't have.
        """
        left = np.ones(self.files, dtype=np.bool_)
        for clause in clauses:
            found = np.zeros(self.files, dtype=np.bool_)
            for value in clause:
                found |= self._row(value, read)
                if found.all():
                    break
            left &= found
            if not left.any():
                break
        return left

    def _row(self, value: int, read: Read) -> Flags:
        size = self.files * BLOCK_BYTES
        row = read(block_of(value, self.blocks) * size, size)
        if len(row) != size:
            raise ValueError(f"a bundle's row has {size} bytes, {len(row)} were read")
        words, mask = np.frombuffer(row, dtype="<u8").reshape(-1, 4), mask_of(value)
        missing = mask & ~words
        absent = missing[:, 0] | missing[:, 1] | missing[:, 2] | missing[:, 3]
        flags: Flags = absent == 0
        return flags


def transpose(filters: Sequence[Filter]) -> bytes:
    """The bytes of a bundle of filters of one size."""
    return np.stack([one.words.astype("<u4", copy=False) for one in filters], axis=1).tobytes()


def block_of(value: int, blocks: int) -> int:
    """The block that a hash is in."""
    return ((value >> 32) * blocks) >> 32


def mask_of(value: int) -> npt.NDArray[np.uint64]:
    """The hash's eight bits, as a block of four little-endian words of 64."""
    key = value & _HALF
    bits = [1 << ((key * salt & _HALF) >> 27) for salt in _SALTS]
    return np.array(
        [low | high << 32 for low, high in zip(bits[::2], bits[1::2], strict=True)], dtype="<u8"
    )


def blocks_for(values: float, bits_per_value: float) -> int:
    """The least number of blocks, of those allowed, that has so many bits for each value."""
    wanted = min(max(values * bits_per_value / 256, LEAST_BLOCKS), MOST_BLOCKS)
    step = 1 << (math.ceil(wanted).bit_length() - 4)
    found = math.ceil(wanted / step) * step
    return min(found, MOST_BLOCKS)


def blocks_within(size: int) -> int:
    """The largest number of blocks, of those allowed, that takes no more bytes; or the least."""
    most = min(max(size // BLOCK_BYTES, LEAST_BLOCKS), MOST_BLOCKS)
    step = most.bit_length() - 4
    return most >> step << step


def false_positive_rate(distinct: float, blocks: int) -> float:
    """How often a hash that wasn't added is found, in theory: hashes fall on blocks by chance.

    With j hashes in a block each word has a bit set with 1 − (31/32)^j, and all eight must be.
    """
    if math.isinf(distinct):
        return 1.0
    if not distinct:
        return 0.0
    load = distinct / blocks
    counts = range(int(load + 12 * math.sqrt(load) + 40))
    chances = (math.exp(j * math.log(load) - load - math.lgamma(j + 1)) for j in counts)
    return sum(chance * (1 - (31 / 32) ** j) ** 8 for j, chance in enumerate(chances))


def read_filter(blob: Blob) -> Filter:
    """The filter in a blob. ValueError for another format, hash function or length."""
    said = blob.properties
    if blob.type != TYPE or said.get("hash") != HASH:
        raise ValueError(f"no filter that can be read: {blob.type} of {said.get('hash')}")
    found = Filter.from_bytes(blob.data)
    if said.get("z") != str(found.blocks):
        raise ValueError(f"a filter of {said.get('z')} blocks has {len(blob.data)} bytes")
    return found
