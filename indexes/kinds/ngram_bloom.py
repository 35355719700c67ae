"""NGRAM_BLOOM: which files and which blocks of rows may hold a piece of text.

For LIKE, ILIKE, `=` and IN over strings. `text/grams.py` says what the grams of a text are, and why
those of a pattern's literal run stand in every text that it matches; patterns and texts go through
that one analyser. The blobs are those of `bloom/block_filters.py`.

What isn't known may match: a block with a text that isn't UTF-8 or with too many grams has no
filter, a file with such a text no light blob.

Building holds the grams of one block (40 MiB at most), the file's filter (1 MiB), and the filters
of all blocks, which take about a quarter of the texts' bytes at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from indexes.bloom.block_filters import LEAST_ROWS, MOST_ROWS, BlobLayout, BlockFilters, Ways
from indexes.domains import column_properties
from indexes.hashing.xxhash64 import HASH
from indexes.kind import Blob, Clauses, IndexedColumn, Options, Read, options_over_texts
from indexes.question import Among, Like, Question
from indexes.row_verdict import RowVerdict
from indexes.text import grams
from indexes.text.gram_blocks import GramBlock, GramBlocks
from indexes.text.grams import GRAMS, LEAST_GRAM, MOST_GRAM

BLOCKS_TYPE = "acc-ngram-blocks-v1"
DEFAULTS: Options = {"gram": 3, "folded": True, "block_rows": 8192, "bits_per_gram": 10.0}
MOST_ASKED = 32
"""Grams of one text that are asked for; more would say little more."""
_MOST_ASKED_OF_ALL = 1024
_WHOLES = {
    "gram": (LEAST_GRAM, MOST_GRAM, "code points"),
    "block_rows": (LEAST_ROWS, MOST_ROWS, "rows"),
}


class NgramBloom:
    """The kind."""

    name = "NGRAM_BLOOM"

    def options(self, type_: str, given: Options) -> Options:
        """As `Kind.options` says."""
        return options_over_texts(self.name, type_, given, DEFAULTS, _WHOLES)

    def builder(self, column: IndexedColumn, options: Options) -> NgramBuilder:
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
        self, blob: Blob, read: Read, question: Question, column: IndexedColumn
    ) -> RowVerdict | None:
        """Rows of the blocks that may match; the others aren't TRUE."""
        said = blob.properties
        if blob.type != BLOCKS_TYPE or said.get("hash") != HASH or said.get("grams") != GRAMS:
            raise ValueError(f"no filters of grams that can be read: {blob.type}")
        try:
            layout = BlobLayout(said, column)
            gram, folded = int(said["gram"]), {"true": True, "false": False}[said["folded"]]
        except (KeyError, ValueError) as error:
            raise ValueError(f"properties of no filters of grams: {error}") from error
        if gram not in range(LEAST_GRAM, MOST_GRAM + 1):
            raise ValueError(f"no filters of grams of {gram} code points")
        ways = ways_of(question, gram, folded=folded) if column.type == "string" else None
        return None if ways is None else layout.verdict(ways, read)


class NgramBuilder:
    """Fills one file's filters, block after block."""

    def __init__(self, column: IndexedColumn, options: Options) -> None:
        self._type = column.type
        self._gram, self._folded = int(options["gram"]), bool(options["folded"])
        self._block_rows = int(options["block_rows"])
        self._filters = BlockFilters(float(options["bits_per_gram"]))
        self._blocks = GramBlocks(self._gram, self._folded, self._block_rows, self._filters.file)
        self._nulls = 0

    def add(self, values: pa.Array) -> None:
        """The texts of the next rows as `large_binary`."""
        self._nulls += values.null_count
        self._close(self._blocks.add(values))

    def finish(self) -> Sequence[Blob]:
        """The light blob and the heavy one, where each can skip anything."""
        self._close(self._blocks.rest())
        said = {
            "hash": HASH,
            "grams": GRAMS,
            "gram": str(self._gram),
            "folded": "true" if self._folded else "false",
            **column_properties(self._type, self._blocks.rows, self._nulls),
        }
        blobs = self._filters.light(said)
        if not blobs or len(self._filters) > 1:
            blobs += self._filters.heavy(BLOCKS_TYPE, {**said, "block_rows": str(self._block_rows)})
        return blobs

    def _close(self, blocks: Iterable[GramBlock]) -> None:
        """The blocks' rows are all there."""
        for block in blocks:
            self._filters.close(block.grams, block.bytes, valid=block.valid, lost=block.lost)


def ways_of(question: Question, gram: int, *, folded: bool) -> Ways | None:
    """The ways to match, none if nothing can; None where one of them has no gram."""
    if isinstance(question, Like):
        if question.folded and not folded:
            return None
        sure = question.folded
        runs = [grams.grams(run, gram, folded=folded, certain=sure) for run in question.runs]
        ways = [tuple(dict.fromkeys(value for run in runs for value in run))]
    elif isinstance(question, Among):
        try:
            texts = [str(value, "utf-8") for value in question.values]  # type: ignore[arg-type]
        except (TypeError, UnicodeDecodeError):  # no text, or one that only itself is equal to
            return None
        ways = [grams.grams(text, gram, folded=folded) for text in texts]
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
