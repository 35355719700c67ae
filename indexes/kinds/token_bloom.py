"""TOKEN_BLOOM: which files and which blocks of rows may hold words.

For `has_token` and `match`. `text/tokens.py` says what a text's tokens are; what is asked for and
what is indexed go through that one analyser, whose release stands in the blobs: those of another
one tell nothing. Hashes are of folded tokens, so that one filter serves both tests: whoever has a
token has it folded. The blobs are those of `bloom/block_filters.py`; docs/formats/token.md has the
rest.

What isn't known may match: a block with a text that isn't UTF-8 has no filter, a file with such a
text no light blob.

Building holds the hashes of one block, the tokens of one piece of it, the file's filter (1 MiB),
and the filters of all blocks, which take about a quarter of the texts' bytes at most.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from indexes.bloom.block_filters import LEAST_ROWS, MOST_ROWS, BlobLayout, BlockFilters, Ways
from indexes.domains import column_properties
from indexes.hashing.xxhash64 import HASH, Hashes, hash_of, hashes
from indexes.kind import Blob, Clauses, IndexedColumn, Options, Read, options_over_texts
from indexes.question import Question, Tokens
from indexes.row_verdict import RowVerdict
from indexes.text.grams import folded_text
from indexes.text.tokens import ANALYSER, tokenize

BLOCKS_TYPE = "acc-token-blocks-v1"
DEFAULTS: Options = {"block_rows": 8192, "bits_per_token": 10.0}
_WHOLES = {"block_rows": (LEAST_ROWS, MOST_ROWS, "rows")}
MOST_ASKED = 32
"""Tokens that are asked for; more would say little more."""


class TokenBloom:
    """The kind."""

    name = "TOKEN_BLOOM"

    def options(self, type_: str, given: Options) -> Options:
        """As `Kind.options` says."""
        return options_over_texts(self.name, type_, given, DEFAULTS, _WHOLES)

    def builder(self, column: IndexedColumn, options: Options) -> TokenBuilder:
        """To build one file's filters."""
        return TokenBuilder(column, options)

    def asked(self, question: Question, type_: str, options: Options) -> Clauses | None:  # noqa: ARG002 - an interface
        """Each token; none of what isn't asked for by tokens."""
        ways = _ways(question) if type_ == "string" else None
        return None if ways is None else tuple((value,) for value in ways[0])

    def probe(
        self, blob: Blob, read: Read, question: Question, column: IndexedColumn
    ) -> RowVerdict | None:
        """Rows of the blocks that may match; nothing where the texts were cut otherwise."""
        said = blob.properties
        if blob.type != BLOCKS_TYPE or said.get("hash") != HASH:
            raise ValueError(f"no filters of tokens that can be read: {blob.type}")
        if said.get("tokens") != ANALYSER:
            return None
        try:
            layout = BlobLayout(said, column)
        except (KeyError, ValueError) as error:
            raise ValueError(f"properties of no filters of tokens: {error}") from error
        ways = _ways(question) if column.type == "string" else None
        return None if ways is None else layout.verdict(ways, read)


class TokenBuilder:
    """Fills one file's filters, block after block."""

    def __init__(self, column: IndexedColumn, options: Options) -> None:
        self._type = column.type
        self._block_rows = int(options["block_rows"])
        self._filters = BlockFilters(float(options["bits_per_token"]))
        self._rows = self._nulls = self._bytes = 0
        self._parts: list[Hashes] = []
        self._valid = True

    def add(self, values: pa.Array) -> None:
        """The texts of the next rows as `large_binary`."""
        self._nulls += values.null_count
        first = 0
        while first < len(values):
            left = self._block_rows - self._rows % self._block_rows
            part = values.slice(first, left)
            cut = tokenize(part, folded=True)
            self._parts.append(hashes(cut.tokens))
            self._valid = self._valid and not len(cut.broken)
            ends = np.frombuffer(part.buffers()[1], dtype=np.int64)
            self._bytes += int(ends[part.offset + len(part)] - ends[part.offset])
            self._rows += len(part)
            first += len(part)
            if self._rows % self._block_rows == 0:
                self._close()

    def finish(self) -> Sequence[Blob]:
        """The light blob and the heavy one, where each can skip anything."""
        if self._rows % self._block_rows:
            self._close()
        own = {"hash": HASH, "tokens": ANALYSER}
        said = own | column_properties(self._type, self._rows, self._nulls)
        blobs = self._filters.light(said)
        if not blobs or len(self._filters) > 1:
            blobs += self._filters.heavy(BLOCKS_TYPE, {**said, "block_rows": str(self._block_rows)})
        return blobs

    def _close(self) -> None:
        """The block's rows are all there."""
        found = np.unique(np.concatenate(self._parts))
        self._filters.close(found, self._bytes, valid=self._valid)
        self._parts, self._valid, self._bytes = [], True, 0


def _ways(question: Question) -> Ways | None:
    """The one way to match; None for other questions, and where any text does."""
    if not isinstance(question, Tokens) or not question.tokens:
        return None
    tokens = dict.fromkeys(map(folded_text, question.tokens))
    return (tuple(hash_of(token.encode()) for token in list(tokens)[:MOST_ASKED]),)


TOKEN_BLOOM = TokenBloom()
