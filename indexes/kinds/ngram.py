"""NGRAM_BLOOM: which files and which blocks of rows may hold a piece of text.

For LIKE, ILIKE, `=` and IN over strings. `analyser.py` says what the grams of a text are, and why
those of a pattern's literal run stand in every text that it matches; patterns and texts go through
that one analyser. The blobs are those of `block_filters.py`.

What isn't known may match: a block with a text that isn't UTF-8 or with too many grams has no
filter, a file with such a text no light blob.

Building holds the grams of one block (40 MiB at most), the file's filter (1 MiB), and the filters
of all blocks, which take about a quarter of the texts' bytes at most.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indexes import analyser
from indexes.analyser import GRAMS, LEAST_GRAM, MOST_GRAM, fold_table
from indexes.block_filters import (
    LEAST_ROWS,
    MOST_ROWS,
    BlockFilters,
    Layout,
    Ways,
    check_whole,
)
from indexes.domains import NotIndexableError
from indexes.hashing import HASH, Hashes
from indexes.kind import Blob, Clauses, Column, OptionError, Options, Read
from indexes.kinds.bloom import bits
from indexes.question import Among, Like, Question
from indexes.rows import RowVerdict

BLOCKS_TYPE = "acc-ngram-blocks-v1"
DEFAULTS: Options = {"gram": 3, "folded": True, "block_rows": 8192, "bits_per_gram": 10.0}
MOST_ASKED = 32
"""Grams of one text that are asked for; more would say little more."""
_MOST_ASKED_OF_ALL = 1024
_LEAST_ROOM, _MOST_ROOM = 1 << 12, 1 << 20


class NgramBloom:
    """The kind."""

    name = "NGRAM_BLOOM"

    def options(self, type_: str, given: Options) -> Options:
        """As `Kind.options` says."""
        if type_ != "string":
            raise NotIndexableError(f"NGRAM_BLOOM takes strings, no column of the type {type_}")
        if unknown := sorted(set(given) - set(DEFAULTS)):
            has = ", ".join(DEFAULTS)
            raise OptionError(f"NGRAM_BLOOM has no option {unknown[0]}; it has {has}")
        found = {**DEFAULTS, **given}
        if not isinstance(found["folded"], bool):
            raise OptionError(f"folded is true or false, not {found['folded']}")
        check_whole("gram", found["gram"], LEAST_GRAM, MOST_GRAM, "code points")
        check_whole("block_rows", found["block_rows"], LEAST_ROWS, MOST_ROWS, "rows")
        found["bits_per_gram"] = bits("bits_per_gram", found["bits_per_gram"])
        return found

    def builder(self, column: Column, options: Options) -> NgramBuilder:
        """To build one file's filters."""
        return NgramBuilder(column, options)

    def asked(self, question: Question, type_: str, options: Options) -> Clauses | None:
        """Of each way to match one gram in every clause, so that none is missed."""
        if type_ != "string":
            return None
        ways = ways_of(question, int(options["gram"]), folded=bool(options["folded"]))
        if ways is None:
            return None
        if not ways:
            return ((),)
        count = max(len(way) for way in ways)
        return tuple(tuple(way[at % len(way)] for way in ways) for at in range(count))

    def probe(
        self, blob: Blob, read: Read, question: Question, column: Column
    ) -> RowVerdict | None:
        """Rows of the blocks that may match; the others aren't TRUE."""
        said = blob.properties
        if blob.type != BLOCKS_TYPE or said.get("hash") != HASH or said.get("grams") != GRAMS:
            raise ValueError(f"no filters of grams that can be read: {blob.type}")
        try:
            layout = Layout(said, column)
            gram, folded = int(said["gram"]), {"true": True, "false": False}[said["folded"]]
        except (KeyError, ValueError) as error:
            raise ValueError(f"properties of no filters of grams: {error}") from error
        if gram not in range(LEAST_GRAM, MOST_GRAM + 1):
            raise ValueError(f"no filters of grams of {gram} code points")
        ways = ways_of(question, gram, folded=folded) if column.type == "string" else None
        return None if ways is None else layout.verdict(ways, read)


class NgramBuilder:
    """Fills one file's filters, block after block."""

    def __init__(self, column: Column, options: Options) -> None:
        self._type = column.type
        self._gram, self._folded = int(options["gram"]), bool(options["folded"])
        self._block_rows = int(options["block_rows"])
        self._filters = BlockFilters(float(options["bits_per_gram"]))
        self._fold = fold_table(self._folded)
        # Filters that a full table of grams needn't go to.
        self._nowhere = np.empty((0, 8), dtype=np.uint32)
        self._rows = self._nulls = 0
        self._room(_LEAST_ROOM)
        self._open()

    def add(self, values: pa.Array) -> None:
        """The texts of the next rows as `large_binary`."""
        if not len(values):
            return
        offsets = np.frombuffer(values.buffers()[1], dtype=np.int64)
        offsets = offsets[values.offset : values.offset + len(values) + 1]
        data = np.frombuffer(values.buffers()[2] or b"\0", dtype=np.uint8)
        valid = np.empty(0, dtype=np.uint8)
        if values.null_count:
            valid = values.is_valid().to_numpy(zero_copy_only=False).view(np.uint8)
        valid.flags.writeable = False
        self._nulls += values.null_count
        first = 0
        while first < len(values):
            last = min(first + self._block_rows - self._rows % self._block_rows, len(values))
            self._take(data, offsets, valid, first, last)
            self._bytes += int(offsets[last] - offsets[first])
            self._rows += last - first
            first = last
            if self._rows % self._block_rows == 0:
                self._close()

    def finish(self) -> Sequence[Blob]:
        """The light blob and the heavy one, where each can skip anything."""
        if self._rows % self._block_rows:
            self._close()
        said = {
            "hash": HASH,
            "grams": GRAMS,
            "gram": str(self._gram),
            "folded": "true" if self._folded else "false",
            "domain": "bytes",
            "scale": "0",
            "type": self._type,
            "rows": str(self._rows),
            "nulls": str(self._nulls),
        }
        blobs = self._filters.light(said)
        if not blobs or len(self._filters) > 1:
            blobs += self._filters.heavy(BLOCKS_TYPE, {**said, "block_rows": str(self._block_rows)})
        return blobs

    def _open(self) -> None:
        self._state = np.zeros(4, dtype=np.int64)
        self._bytes = 0
        self._table[:] = 0
        self._memo[:] = 0

    def _room(self, room: int) -> None:
        """Place for so many hashes; those that were found stay."""
        from indexes import gram_kernels as kernels

        before: Hashes = getattr(self, "_found", np.empty(0, dtype=np.uint64))
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
        from indexes import gram_kernels as kernels

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
                self._filters.file.words if largest else self._nowhere,
            )
            if first == last:
                return
            self._room(2 * len(self._found))

    def _close(self) -> None:
        """The block's rows are all there."""
        from indexes import gram_kernels as kernels

        found = self._found[: self._state[kernels.USED]]
        valid, lost = not self._state[kernels.INVALID], bool(self._state[kernels.OVERFLOWED])
        self._filters.close(found, self._bytes, valid=valid, lost=lost)
        self._open()


def ways_of(question: Question, gram: int, *, folded: bool) -> Ways | None:
    """The ways to match, none if nothing can; None where one of them has no gram."""
    if isinstance(question, Like):
        if question.folded and not folded:
            return None
        sure = question.folded
        runs = [analyser.grams(run, gram, folded=folded, certain=sure) for run in question.runs]
        ways = [tuple(dict.fromkeys(value for run in runs for value in run))]
    elif isinstance(question, Among):
        try:
            texts = [str(value, "utf-8") for value in question.values]  # type: ignore[arg-type]
        except (TypeError, UnicodeDecodeError):  # no text, or one that only itself is equal to
            return None
        ways = [analyser.grams(text, gram, folded=folded) for text in texts]
    else:
        return None
    if not all(ways):
        return None
    most = min(max(_MOST_ASKED_OF_ALL // max(len(ways), 1), 1), MOST_ASKED)
    return tuple(way if len(way) <= most else _spread(way, most) for way in ways)


def _spread(way: tuple[int, ...], count: int) -> tuple[int, ...]:
    """So many of them, from all over the text: neighbours share most of what they say."""
    return tuple(way[at * len(way) // count] for at in range(count))


NGRAM_BLOOM = NgramBloom()
