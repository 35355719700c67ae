"""The grams of a file's texts, block of rows after block: what both kinds over grams build from.

Holds the grams of one block (40 MiB at most). Those of a block with more than a million go to the
file's filter as they come, and the block is told of as lost.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct

from indexes.bloom.split_block import Filter
from indexes.hashing.xxhash64 import Hashes
from indexes.text.grams import fold_table

_LEAST_ROOM, _MOST_ROOM = 1 << 12, 1 << 20


class GramBlock(Struct, frozen=True):
    """Rows from `begin` on: the hashes of their grams, each once, and their texts' bytes.

    `grams` is overwritten by the next block. `valid`: all texts are UTF-8. `lost`: there were more
    grams than are kept; the others are in the file's filter.
    """

    begin: int
    grams: Hashes
    bytes: int
    valid: bool
    lost: bool


class GramBlocks:
    """Cuts texts into blocks of as many rows and gathers their grams; `file` takes what is lost."""

    def __init__(self, gram: int, folded: bool, block_rows: int, file: Filter) -> None:
        self.rows = 0
        self._gram, self._block_rows, self._file = gram, block_rows, file
        self._fold = fold_table(folded)
        # Filters that a full table of grams needn't go to.
        self._nowhere = np.empty((0, 8), dtype=np.uint32)
        self._found: Hashes = np.empty(0, dtype=np.uint64)
        self._room(_LEAST_ROOM)
        self._open()

    def add(self, values: pa.Array) -> Iterator[GramBlock]:
        """The texts of the next rows as `large_binary`; the blocks that are whole with them."""
        if not len(values):
            return
        offsets = np.frombuffer(values.buffers()[1], dtype=np.int64)
        offsets = offsets[values.offset : values.offset + len(values) + 1]
        data = np.frombuffer(values.buffers()[2] or b"\0", dtype=np.uint8)
        valid = np.empty(0, dtype=np.uint8)
        if values.null_count:
            valid = values.is_valid().to_numpy(zero_copy_only=False).view(np.uint8)
        valid.flags.writeable = False
        first = 0
        while first < len(values):
            last = min(first + self._block_rows - self.rows % self._block_rows, len(values))
            self._take(data, offsets, valid, first, last)
            self._bytes += int(offsets[last] - offsets[first])
            self.rows += last - first
            first = last
            if self.rows % self._block_rows == 0:
                yield self._closed()

    def rest(self) -> Iterator[GramBlock]:
        """The last block, where it isn't whole."""
        if self.rows % self._block_rows:
            yield self._closed()

    def _open(self) -> None:
        self._state = np.zeros(4, dtype=np.int64)
        self._bytes = 0
        self._table[:] = 0
        self._memo[:] = 0

    def _room(self, room: int) -> None:
        """Place for so many hashes; those that were found stay."""
        from indexes.text import gram_kernels as kernels

        before = self._found
        self._found = np.empty(room, dtype=np.uint64)
        self._found[: len(before)] = before
        self._table = np.zeros(2 * room, dtype=np.uint64)
        self._memo = np.zeros(kernels.MEMO, dtype=np.uint64)
        kernels.put_again(self._found, len(before), self._table)

    def _take(
        self,
        data: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int64],
        valid: npt.NDArray[np.uint8],
        first: int,
        last: int,
    ) -> None:
        from indexes.text import gram_kernels as kernels

        while True:
            largest = len(self._found) == _MOST_ROOM
            first = kernels.take_rows(
                data,
                offsets,
                valid,
                first,
                last,
                self._gram,
                self._fold,
                self._memo,
                self._table,
                self._found,
                self._state,
                self._file.words if largest else self._nowhere,
            )
            if first == last:
                return
            self._room(2 * len(self._found))

    def _closed(self) -> GramBlock:
        """The block, whose rows are all there."""
        from indexes.text import gram_kernels as kernels

        state = self._state
        begin = (self.rows - 1) // self._block_rows * self._block_rows
        grams = self._found[: state[kernels.USED]]
        valid, lost = not state[kernels.INVALID], bool(state[kernels.OVERFLOWED])
        found = GramBlock(begin, grams, self._bytes, valid, lost)
        self._open()
        return found
