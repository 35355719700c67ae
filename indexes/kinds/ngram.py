"""NGRAM_BLOOM: which files and which blocks of rows may hold a piece of text.

For LIKE, ILIKE, `=` and IN over strings. `analyser.py` says what the grams of a text are, and why
those of a pattern's literal run stand in every text that it matches; patterns and texts go through
that one analyser. The light blob is one filter of all grams of the file. The heavy one has a filter
for each block of `block_rows` rows, side by side as a bundle, so that a gram reads one row of it.
docs/formats/ngram.md has the bytes.

What isn't known may match: a block with a text that isn't UTF-8 or with too many grams has no
filter, a file with such a text no light blob.

Building holds the grams of one block (40 MiB at most), the file's filter (1 MiB), and the filters
of all blocks, which take about a quarter of the texts' bytes at most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap

from indexes import analyser
from indexes.analyser import GRAMS, LEAST_GRAM, MOST_GRAM, fold_table
from indexes.domains import NotIndexableError
from indexes.hashing import HASH, Hashes
from indexes.kind import Blob, Clauses, Column, OptionError, Options, Read
from indexes.kinds.bloom import WORST_RATE, bits
from indexes.question import Among, Like, Question
from indexes.rows import Between, RowVerdict
from indexes.sbbf import (
    BLOCK_BYTES,
    TYPE,
    Bundle,
    Filter,
    blocks_for,
    blocks_within,
    false_positive_rate,
    transpose,
)

BLOCKS_TYPE = "acc-ngram-blocks-v1"
DEFAULTS: Options = {"gram": 3, "folded": True, "block_rows": 8192, "bits_per_gram": 10.0}
MOST_ASKED = 32
"""Grams of one text that are asked for; more would say little more."""
_MOST_ASKED_OF_ALL = 1024
_CHECK = 4  # bytes of a checksum
_LEAST_ROWS, _MOST_ROWS = 64, 1 << 20
_FILE_BLOCKS = 1 << 15
_LEAST_ROOM, _MOST_ROOM = 1 << 12, 1 << 20
# A block's filter has at most one byte for so many of its texts.
_SHARE = 4
# How much smaller than wanted it may be rather than twice that size.
_NEAR = 0.8

Ways = tuple[tuple[int, ...], ...]
"""Hashes of each way to match: of at least one way, all are in every text that matches."""


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
        _whole("gram", found["gram"], LEAST_GRAM, MOST_GRAM, "code points")
        _whole("block_rows", found["block_rows"], _LEAST_ROWS, _MOST_ROWS, "rows")
        found["bits_per_gram"] = bits("bits_per_gram", found["bits_per_gram"])
        return found

    def builder(self, column: Column, options: Options) -> NgramBuilder:
        """To build one file's filters."""
        return NgramBuilder(column, options)

    def asked(self, question: Question, type_: str, options: Options) -> Clauses | None:
        """Of each way to match one gram in every clause, so that none is missed."""
        if type_ != "string":
            return None
        ways = _ways(question, int(options["gram"]), folded=bool(options["folded"]))
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
        layout = _Layout.of(blob, column)
        if column.type != "string":
            return None
        ways = _ways(question, layout.gram, folded=layout.folded)
        if ways is None:
            return None
        may = layout.may(ways, read)
        none, every = BitMap(), BitMap(range(column.rows))
        upper = BitMap()
        edges = np.flatnonzero(np.diff(may, prepend=False, append=False))
        for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            upper.add_range(first * layout.block_rows, min(last * layout.block_rows, column.rows))
        return RowVerdict(column.rows, Between(none, upper), Between(none, every))


class _Layout:
    """Where a heavy blob's bytes are."""

    def __init__(self, said: Mapping[str, str]) -> None:
        self.gram, self.rows = int(said["gram"]), int(said["rows"])
        self.block_rows, self.blocks = int(said["block_rows"]), int(said["blocks"])
        self.kept, self.z = int(said["kept"]), int(said["z"])
        self.folded = {"true": True, "false": False}[said["folded"]]
        sizes = min(self.block_rows, self.z, self.kept) > 0
        if not sizes or self.kept > self.blocks or self.gram not in range(2, MOST_GRAM + 1):
            raise ValueError("sizes that can't be")

    @classmethod
    def of(cls, blob: Blob, column: Column) -> _Layout:
        """ValueError for another format, and for properties that aren't of this column."""
        said = blob.properties
        if blob.type != BLOCKS_TYPE or said.get("hash") != HASH or said.get("grams") != GRAMS:
            raise ValueError(f"no filters of grams that can be read: {blob.type}")
        try:
            found = cls(said)
        except (KeyError, ValueError) as error:
            raise ValueError(f"properties of no filters of grams: {error}") from error
        if found.rows != column.rows or found.blocks != -(-found.rows // found.block_rows):
            raise ValueError(f"{found.blocks} filters of {found.rows} rows, not {column.rows}")
        return found

    def may(self, ways: Ways, read: Read) -> npt.NDArray[np.bool_]:
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


class NgramBuilder:
    """Fills one file's filters, block after block."""

    def __init__(self, column: Column, options: Options) -> None:
        self._type = column.type
        self._gram, self._folded = int(options["gram"]), bool(options["folded"])
        self._block_rows = int(options["block_rows"])
        self._bits = float(options["bits_per_gram"])
        self._fold = fold_table(self._folded)
        self._file = Filter.of_blocks(_FILE_BLOCKS)
        # Filters that a full table of grams needn't go to.
        self._nowhere = np.empty((0, 8), dtype=np.uint32)
        self._valid = True
        self._odd = 0
        self._rows = self._nulls = 0
        self._blocks: list[_Block | None] = []
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
        blobs = []
        distinct = self._file.distinct
        if self._valid and false_positive_rate(distinct, _FILE_BLOCKS) <= WORST_RATE:
            found = self._file.fitted(self._bits)
            own = {"z": str(found.blocks), "ndv": str(round(distinct))}
            blobs.append(Blob(TYPE, found.to_bytes(), True, {**said, **own}))
        if not blobs or len(self._blocks) > 1:
            blobs += self._heavy(said)
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
                self._file.words if largest else self._nowhere,
            )
            if first == last:
                return
            self._room(2 * len(self._found))

    def _close(self) -> None:
        """The block's rows are all there."""
        from indexes import gram_kernels as kernels

        found = self._found[: self._state[kernels.USED]]
        self._file.add(found)
        if self._state[kernels.INVALID]:
            self._valid = False
        lost = self._state[kernels.INVALID] or self._state[kernels.OVERFLOWED]
        self._blocks.append(None if lost else self._filter(found))
        self._open()

    def _filter(self, found: Hashes) -> _Block | None:
        """A block's filter; None where it would be too full."""
        blocks = blocks_for(len(found), self._bits)
        most = blocks_within(self._bytes // _SHARE)
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

    def _heavy(self, said: Mapping[str, str]) -> list[Blob]:
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
        own = {
            "z": str(z),
            "blocks": str(len(kept)),
            "kept": str(len(filters)),
            "block_rows": str(self._block_rows),
        }
        data = _sealed(flags, len(flags)) + _sealed(transpose(filters), len(filters) * BLOCK_BYTES)
        return [Blob(BLOCKS_TYPE, data, False, {**said, **own})]


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


@dataclass(frozen=True, slots=True)
class _Block:
    filter: Filter
    distinct: int


def _ways(question: Question, gram: int, *, folded: bool) -> Ways | None:
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


def _whole(name: str, given: object, least: int, most: int, unit: str) -> None:
    if type(given) is not int or not least <= given <= most:
        raise OptionError(f"{name} is a number of {unit} from {least} to {most}, not {given}")


NGRAM_BLOOM = NgramBloom()
