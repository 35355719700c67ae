"""NGRAM_BITMAP: which blocks of rows have which pieces of texts, by a dictionary of their grams.

For the questions of NGRAM_BLOOM and by the same grams (`text/grams.py`), with no gram taken for
another but by 64 bits of hash. So blocks may be small: a pattern's grams, the rarest first, leave
those that have all of them. The light blob is NGRAM_BLOOM's, a filter of the file's grams.
docs/formats/terms.md has the bytes.

What isn't known may match: a block with a text that isn't UTF-8 or with a million grams, a file
with more than 4 million of them, or with so many for its texts that blocks tell nothing.

Building holds the grams of one block (40 MiB at most), the file's filter (1 MiB), and what
`inverted/terms_writer.py` says: 420 MB at most, and the dictionary of 32 MB with its order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap

from indexes.bloom.block_filters import FILE_BLOCKS, file_filter
from indexes.bloom.split_block import Filter
from indexes.domains import INT64, column_properties
from indexes.hashing.xxhash64 import HASH, Hashes
from indexes.inverted.terms_reader import TYPE, Terms
from indexes.inverted.terms_writer import Pairs
from indexes.kind import Blob, Clauses, IndexedColumn, Options, Read, options_over_texts
from indexes.kinds.ngram_bloom import NGRAM_BLOOM, ways_of
from indexes.question import Question
from indexes.row_verdict import RowVerdict
from indexes.text.gram_blocks import GramBlock, GramBlocks
from indexes.text.grams import GRAMS, LEAST_GRAM, MOST_GRAM

DEFAULTS: Options = {"gram": 3, "folded": True, "block_rows": 256, "bits_per_gram": 10.0}
_WHOLES = {
    "gram": (LEAST_GRAM, MOST_GRAM, "code points"),
    "block_rows": (16, 1 << 20, "rows"),
}
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
        return options_over_texts(self.name, type_, given, DEFAULTS, _WHOLES)

    def builder(self, column: IndexedColumn, options: Options) -> _GramBuilder:
        """To build one file's index."""
        return _GramBuilder(column, options)

    def asked(self, question: Question, type_: str, options: Options) -> Clauses | None:
        """As of NGRAM_BLOOM."""
        return NGRAM_BLOOM.asked(question, type_, options)

    def probe(
        self, blob: Blob, read: Read, question: Question, column: IndexedColumn
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


class _GramBuilder:
    """Gathers the grams of one file, block after block."""

    def __init__(self, column: IndexedColumn, options: Options) -> None:
        self._type = column.type
        self._gram, self._folded = int(options["gram"]), bool(options["folded"])
        self._block_rows = int(options["block_rows"])
        self._bits = float(options["bits_per_gram"])
        self._file = Filter.of_blocks(FILE_BLOCKS)
        self._blocks = GramBlocks(self._gram, self._folded, self._block_rows, self._file)
        self._pairs = Pairs(INT64, self._block_rows, self._block_rows)
        self._waiting: list[tuple[int, Hashes]] = []
        self._bytes, self._invalid = 0, False
        self._nulls: list[npt.NDArray[np.bool_]] = []
        self._unknown: list[int] = []

    def add(self, values: pa.Array) -> None:
        """The texts of the next rows as `large_binary`."""
        if len(values):
            self._nulls.append(values.is_null().to_numpy(zero_copy_only=False))
        self._close(self._blocks.add(values))

    def finish(self) -> Sequence[Blob]:
        """The light blob and the heavy one, where each can skip anything."""
        self._close(self._blocks.rest())
        self._flush()
        rows = self._blocks.rows
        nulls = np.concatenate([np.empty(0, dtype=bool), *self._nulls])
        said = {
            "hash": HASH,
            "grams": GRAMS,
            "gram": str(self._gram),
            "folded": "true" if self._folded else "false",
            **column_properties(self._type, rows, int(nulls.sum())),
        }
        blobs = [] if self._invalid else file_filter(self._file, self._bits, said)
        if blobs and rows <= self._block_rows:
            return blobs
        unknown = np.array(self._unknown, np.int64)
        most = max(self._bytes // _SHARE, _BYTES_LEAST)
        written = self._pairs.finish(rows, nulls, unknown, everywhere=True, bytes_max=most)
        if written is not None and rows:
            blobs.append(written.blob(said))
        return blobs

    def _close(self, blocks: Iterable[GramBlock]) -> None:
        """The blocks' rows are all there."""
        for block in blocks:
            self._bytes += block.bytes
            self._invalid |= not block.valid
            if block.lost or not block.valid:
                self._unknown.append(block.begin)
                self._file.add(block.grams)
                continue
            self._waiting.append((block.begin, block.grams.copy()))
            if sum(len(some) for _, some in self._waiting) >= _WAITING:
                self._flush()

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
