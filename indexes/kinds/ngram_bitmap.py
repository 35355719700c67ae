"""NGRAM_BITMAP: which blocks of rows have which pieces of texts, by a dictionary of their grams.

For the questions of NGRAM_BLOOM and by the same grams (`analyser.py`), with no gram taken for
another but by 64 bits of hash. So blocks may be small: a pattern's grams, the rarest first, leave
those that have all of them. The light blob is NGRAM_BLOOM's, a filter of the file's grams.
docs/formats/terms.md has the bytes.

What isn't known may match: a block with a text that isn't UTF-8 or with a million grams, a file
with more than 4 million of them, or with so many for its texts that blocks tell nothing.

Building holds the grams of one block (40 MiB at most), the file's filter (1 MiB), and what
`terms_writer.py` says: 420 MB at most, and the dictionary of 32 MB with its order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap

from indexes.analyser import GRAMS, LEAST_GRAM, MOST_GRAM, fold_table
from indexes.block_filters import check_whole
from indexes.domains import INT64, NotIndexableError
from indexes.hashing import HASH, Hashes
from indexes.kind import Blob, Clauses, Column, OptionError, Options, Read
from indexes.kinds.bloom import bits
from indexes.kinds.ngram import NGRAM_BLOOM, ways_of
from indexes.question import Question
from indexes.rows import RowVerdict
from indexes.sbbf import TYPE as FILTER
from indexes.sbbf import WORST_RATE, Filter, false_positive_rate
from indexes.terms import TYPE, Terms
from indexes.terms_writer import Pairs

DEFAULTS: Options = {"gram": 3, "folded": True, "block_rows": 256, "bits_per_gram": 10.0}
_LEAST_ROWS, _MOST_ROWS = 16, 1 << 20
_FILE_BLOCKS = 1 << 15
_LEAST_ROOM, _MOST_ROOM = 1 << 12, 1 << 20
_SHARE = 3
"""The heavy blob takes about so many times less than the texts at most, by larger blocks."""
_BYTES_LEAST = 64 << 10
_WAITING = 1 << 18  # grams of blocks that are put into the dictionary together
_SIGN = 1 << 63


class NgramBitmap:
    """The kind."""

    name = "NGRAM_BITMAP"

    def options(self, type_: str, given: Options) -> Options:
        """As `Kind.options` says."""
        if type_ != "string":
            raise NotIndexableError(f"NGRAM_BITMAP takes strings, no column of the type {type_}")
        if unknown := sorted(set(given) - set(DEFAULTS)):
            has = ", ".join(DEFAULTS)
            raise OptionError(f"NGRAM_BITMAP has no option {unknown[0]}; it has {has}")
        found = {**DEFAULTS, **given}
        if not isinstance(found["folded"], bool):
            raise OptionError(f"folded is true or false, not {found['folded']}")
        check_whole("gram", found["gram"], LEAST_GRAM, MOST_GRAM, "code points")
        check_whole("block_rows", found["block_rows"], _LEAST_ROWS, _MOST_ROWS, "rows")
        found["bits_per_gram"] = bits("bits_per_gram", found["bits_per_gram"])
        return found

    def builder(self, column: Column, options: Options) -> _Builder:
        """To build one file's index."""
        return _Builder(column, options)

    def asked(self, question: Question, type_: str, options: Options) -> Clauses | None:
        """As of NGRAM_BLOOM."""
        return NGRAM_BLOOM.asked(question, type_, options)

    def probe(
        self, blob: Blob, read: Read, question: Question, column: Column
    ) -> RowVerdict | None:
        """Rows of the blocks that may match; the others aren't TRUE."""
        said = blob.properties
        if blob.type != TYPE or said.get("hash") != HASH or said.get("grams") != GRAMS:
            raise ValueError(f"no dictionary of grams that can be read: {blob.type}")
        try:
            head, gram = int(said["head"]), int(said["gram"])
            folded = {"true": True, "false": False}[said["folded"]]
        except (KeyError, ValueError) as error:
            raise ValueError(f"properties of no dictionary of grams: {error}") from error
        if column.type != "string":
            return None
        ways = ways_of(question, gram, folded=folded)
        if ways is None:
            return None
        terms = Terms.open(read, head, INT64)
        if terms.head.rows != column.rows:
            raise ValueError(f"the blob is of {terms.head.rows} rows, the file has {column.rows}")
        units: BitMap | None = BitMap()
        for way in ways:
            found = terms.having_all([_key(value) for value in way])
            if found is None:
                units = None
                break
            units = found if units is None else units | found
        return terms.verdict(units, exact=False)


class _Builder:
    """Gathers the grams of one file, block after block."""

    def __init__(self, column: Column, options: Options) -> None:
        self._type = column.type
        self._gram, self._folded = int(options["gram"]), bool(options["folded"])
        self._block_rows = int(options["block_rows"])
        self._bits = float(options["bits_per_gram"])
        self._fold = fold_table(self._folded)
        self._file = Filter.of_blocks(_FILE_BLOCKS)
        # Filters that a full table of grams needn't go to.
        self._nowhere = np.empty((0, 8), dtype=np.uint32)
        self._pairs = Pairs(INT64, self._block_rows, self._block_rows)
        self._waiting: list[tuple[int, Hashes]] = []
        self._found = np.empty(0, dtype=np.uint64)
        self._rows, self._bytes, self._invalid = 0, 0, False
        self._nulls: list[npt.NDArray[np.bool_]] = []
        self._unknown: list[int] = []
        self._room(_LEAST_ROOM)
        self._open()

    def add(self, values: pa.Array) -> None:
        """The texts of the next rows as `large_binary`."""
        if not len(values):
            return
        offsets = np.frombuffer(values.buffers()[1], dtype=np.int64)
        offsets = offsets[values.offset : values.offset + len(values) + 1]
        data = np.frombuffer(values.buffers()[2] or b"\0", dtype=np.uint8)
        null = values.is_null().to_numpy(zero_copy_only=False)
        self._nulls.append(null)
        valid = (~null if values.null_count else null[:0]).view(np.uint8)
        valid.flags.writeable = False
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
        self._flush()
        nulls = np.concatenate([np.empty(0, dtype=bool), *self._nulls])
        said = {
            "hash": HASH,
            "grams": GRAMS,
            "gram": str(self._gram),
            "folded": "true" if self._folded else "false",
            "domain": "bytes",
            "scale": "0",
            "type": self._type,
            "rows": str(self._rows),
            "nulls": str(int(nulls.sum())),
        }
        blobs = []
        distinct = self._file.distinct
        if not self._invalid and false_positive_rate(distinct, _FILE_BLOCKS) <= WORST_RATE:
            found = self._file.fitted(self._bits)
            own = {"z": str(found.blocks), "ndv": str(round(distinct))}
            blobs.append(Blob(FILTER, found.to_bytes(), True, {**said, **own}))
        if blobs and self._rows <= self._block_rows:
            return blobs
        unknown = np.array(self._unknown, np.int64)
        most = max(self._bytes // _SHARE, _BYTES_LEAST)
        written = self._pairs.finish(self._rows, nulls, unknown, everywhere=True, bytes_max=most)
        if written is not None and self._rows:
            own = {
                "head": str(written.head),
                "terms": str(written.terms),
                "unit": str(written.unit),
            }
            blobs.append(Blob(TYPE, written.data, False, {**said, **own}))
        return blobs

    def _open(self) -> None:
        self._state = np.zeros(4, dtype=np.int64)
        self._table[:] = 0
        self._memo[:] = 0

    def _room(self, room: int) -> None:
        """Place for so many hashes; those that were found stay."""
        from indexes import gram_kernels as kernels

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
        from indexes import gram_kernels as kernels

        while True:
            words = self._file.words if len(self._found) == _MOST_ROOM else self._nowhere
            tables = self._memo, self._table, self._found
            first = kernels.take_rows(
                data,
                offsets,
                valid,
                first,
                last,
                self._gram,
                self._fold,
                *tables,
                self._state,
                words,
            )
            if first == last:
                return
            self._room(2 * len(self._found))

    def _close(self) -> None:
        """The block's rows are all there."""
        from indexes import gram_kernels as kernels

        begin = (self._rows - 1) // self._block_rows * self._block_rows
        found = self._found[: self._state[kernels.USED]].copy()
        self._invalid |= bool(self._state[kernels.INVALID])
        if self._state[kernels.INVALID] or self._state[kernels.OVERFLOWED]:
            self._unknown.append(begin)
            self._file.add(found)
        else:
            self._waiting.append((begin, found))
            if sum(len(some) for _, some in self._waiting) >= _WAITING:
                self._flush()
        self._open()

    def _flush(self) -> None:
        if not self._waiting:
            return
        rows = np.repeat(
            np.array([begin for begin, _ in self._waiting], np.uint32),
            [len(found) for _, found in self._waiting],
        )
        hashes = np.concatenate([found for _, found in self._waiting])
        self._waiting = []
        encoded = pa.array(hashes.view(np.int64)).dictionary_encode()
        added = self._pairs.add(encoded.dictionary, encoded.indices.to_numpy(), rows)
        self._file.add(added.to_numpy().view(np.uint64))


def _key(value: int) -> int:
    """A hash as the signed number that it's kept as."""
    return value - 2 * _SIGN if value >= _SIGN else value


NGRAM_BITMAP = NgramBitmap()
