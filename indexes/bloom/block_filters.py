"""Filters of a file's blocks of rows, side by side, and one of all of the file.

Of hashes of whatever the texts have, grams or tokens. The light blob is one filter of the whole
file. The heavy one has a filter for each block of `block_rows` rows, side by side as a bundle, so
that a hash reads one row of it. docs/formats/ngram.md has the bytes.

What isn't known may match: a block whose filter would be too full has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from zlib import crc32

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from pyroaring import BitMap

from indexes.bloom.split_block import (
    BLOCK_BYTES,
    TYPE,
    WORST_RATE,
    Bundle,
    Filter,
    blocks_for,
    blocks_within,
    false_positive_rate,
    transpose,
)
from indexes.hashing.xxhash64 import Hashes
from indexes.inverted.postings import BOUND_MAX
from indexes.kind import Blob, IndexedColumn, Read
from indexes.row_verdict import Between, RowVerdict

LEAST_ROWS, MOST_ROWS = 64, 1 << 20
"""Of a block."""
FILE_BLOCKS = 1 << 15
_CHECK = 4  # bytes of a checksum
# A block's filter has at most one byte for so many of its texts.
_SHARE = 4
# How much smaller than wanted it may be rather than twice that size.
_NEAR = 0.8

Ways = tuple[tuple[int, ...], ...]
"""Hashes of each way to match: of at least one way, all are in every text that matches."""


def file_filter(values: Filter, bits: float, said: Mapping[str, str]) -> list[Blob]:
    """The light blob of all values of a file, which `said` describes; none if it skips too little.

    The filter has `FILE_BLOCKS` until it's fitted to so many bits for each value.
    """
    distinct = values.distinct
    if false_positive_rate(distinct, FILE_BLOCKS) > WORST_RATE:
        return []
    found = values.fitted(bits)
    own = {"z": str(found.blocks), "ndv": str(round(distinct))}
    return [Blob(TYPE, found.to_bytes(), True, {**said, **own})]


class BlockFilters:
    """The filters of one file while they're filled."""

    def __init__(self, bits: float) -> None:
        self.file = Filter.of_blocks(FILE_BLOCKS)
        """Of hashes that no block takes: there are too many of them in it."""
        self._bits = bits
        self._valid = True
        self._odd = 0
        self._blocks: list[_Block | None] = []

    def __len__(self) -> int:
        """The blocks so far."""
        return len(self._blocks)

    def close(self, found: Hashes, size: int, *, valid: bool = True, lost: bool = False) -> None:
        """The next block has these hashes, each once, of texts of so many bytes.

        `valid`: there's no text in it of which nothing can be told. `lost`: some hashes went into
        the file's filter alone.
        """
        self.file.add(found)
        self._valid = self._valid and valid
        self._blocks.append(None if lost or not valid else self._filter(found, size))

    def light(self, said: Mapping[str, str]) -> list[Blob]:
        """The blob of all of the file; none where it couldn't skip it."""
        return file_filter(self.file, self._bits, said) if self._valid else []

    def heavy(self, type_: str, said: Mapping[str, str]) -> list[Blob]:
        """The filters of all blocks in one size; none where none is of use."""
        made = [block for block in self._blocks if block is not None]
        if not made:
            return []
        # The largest size that costs at most twice what each filter's own would.
        most = 2 * sum(block.filter.blocks for block in made) // len(made)
        z = max(block.filter.blocks for block in made)
        while z > most:
            z //= 2
        kept = [
            block if block and false_positive_rate(block.distinct, z) <= WORST_RATE else None
            for block in self._blocks
        ]
        filters = [block.filter.of_size(z) for block in kept if block]
        if not filters:
            return []
        flags = np.packbits([block is not None for block in kept], bitorder="little").tobytes()
        own = {"z": str(z), "blocks": str(len(kept)), "kept": str(len(filters))}
        data = _sealed(flags, len(flags)) + _sealed(transpose(filters), len(filters) * BLOCK_BYTES)
        return [Blob(type_, data, False, {**said, **own})]

    def _filter(self, found: Hashes, size: int) -> _Block | None:
        """A block's filter; None where it would be too full."""
        blocks = blocks_for(len(found), self._bits)
        most = blocks_within(size // _SHARE)
        if not self._odd:
            blocks = min(blocks, most)
        else:  # so that all can be brought to one size
            wanted, blocks = _NEAR * min(blocks, most), self._odd
            while blocks < wanted:
                blocks *= 2
        if false_positive_rate(len(found), blocks) > WORST_RATE:
            return None
        self._odd = self._odd or blocks >> (blocks.bit_length() - 4)
        filter_ = Filter.of_blocks(blocks)
        filter_.add(found)
        return _Block(filter_, len(found))


class _Block(Struct, frozen=True):
    filter: Filter
    distinct: int


class BlobLayout:
    """Where a heavy blob's bytes are."""

    def __init__(self, said: Mapping[str, str], column: IndexedColumn) -> None:
        """ValueError for properties that aren't of this column, KeyError where some are missing."""
        self.rows, self.block_rows = int(said["rows"]), int(said["block_rows"])
        self.blocks, self.kept, self.z = int(said["blocks"]), int(said["kept"]), int(said["z"])
        least = min(self.block_rows, self.z, self.kept)
        if least <= 0 or self.kept > self.blocks or self.rows >= BOUND_MAX:
            raise ValueError("sizes that can't be")
        if self.rows != column.rows or self.blocks != -(-self.rows // self.block_rows):
            raise ValueError(f"{self.blocks} filters of {self.rows} rows, not {column.rows}")

    def verdict(self, ways: Ways, read: Read) -> RowVerdict:
        """Rows of the blocks that may match; the others aren't TRUE."""
        may = self._may(ways, read)
        none, every = BitMap(), BitMap(range(self.rows))
        upper = BitMap()
        edges = np.flatnonzero(np.diff(may, prepend=False, append=False))
        for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            upper.add_range(first * self.block_rows, min(last * self.block_rows, self.rows))
        return RowVerdict(self.rows, Between(none, upper), Between(none, every))

    def _may(self, ways: Ways, read: Read) -> npt.NDArray[np.bool_]:
        """Of each block whether a row in it may match."""
        head = -(-self.blocks // 8)
        flags = np.frombuffer(_checked(read(0, head + _CHECK), head), dtype=np.uint8)
        there = np.unpackbits(flags, bitorder="little").astype(bool)
        if there.sum() != self.kept or there[self.blocks :].any():
            raise ValueError(f"flags of another number of filters than {self.kept}")
        there, bundle = there[: self.blocks], Bundle(self.z, self.kept)
        found = np.zeros(self.kept, dtype=bool)
        size = self.kept * BLOCK_BYTES

        def row(offset: int, length: int) -> bytes:
            at = head + _CHECK + offset // size * (size + _CHECK)
            return _checked(read(at, length + _CHECK), length)

        for way in ways:
            clauses = tuple((value,) for value in way)
            found |= bundle.may(clauses, row)
        may = ~there
        may[there] = found
        return may


def _sealed(data: bytes, length: int) -> bytes:
    """Each part of that length with its checksum behind it."""
    parts = (data[at : at + length] for at in range(0, len(data), length))
    return b"".join(part + crc32(part).to_bytes(_CHECK, "little") for part in parts)


def _checked(data: bytes, length: int) -> bytes:
    """Such a part without its checksum. ValueError where it's cut off or altered."""
    part, seal = data[:length], data[length:]
    if crc32(part).to_bytes(_CHECK, "little") != seal:
        raise ValueError(f"flags or a row of filters are cut off or altered: {len(data)} bytes")
    return part
