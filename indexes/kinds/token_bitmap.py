"""TOKEN_BITMAP: which rows have which words, by a dictionary of their tokens.

For `has_token` and `match`, exactly: rows that have all the words are TRUE, all others that aren't
NULL are FALSE, but for those whose texts aren't UTF-8, of which nothing is told. `text/tokens.py`
says what a text's tokens are; blobs of another release of it tell nothing. The light blob is a
filter of the file's folded tokens. docs/formats/terms.md has the bytes.

A term is the folded token, a zero byte, and the token itself where it's another. So those that
`match` takes for one stand side by side, and `has_token` looks one up.

A file of more than 4 million tokens, or 64 MB of them, has its filter alone. Building takes what
`inverted/terms_writer.py` says, 420 MB at most, and what `tokenize` takes of 65,536 rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from indexes.bloom.block_filters import FILE_BLOCKS, file_filter
from indexes.bloom.split_block import Filter
from indexes.domains import BYTES, column_properties
from indexes.hashing.xxhash64 import HASH, hash_of, hashes
from indexes.inverted.terms_reader import TYPE, Terms
from indexes.inverted.terms_writer import Pairs
from indexes.kind import Blob, Clauses, IndexedColumn, Options, Read, options_over_texts
from indexes.question import Question, Tokens
from indexes.row_verdict import RowVerdict
from indexes.text.grams import folded_text
from indexes.text.tokens import ANALYSER, tokenize

DEFAULTS: Options = {"rows": True, "block_rows": 1024, "bits_per_token": 10.0}
_WHOLES = {"block_rows": (16, 1 << 20, "rows")}
_ROWS_AT_ONCE = 1 << 16
_MOST_ASKED = 32  # of a filter
_BEHIND, _AFTER = b"\0", b"\1"  # what stands behind a folded token, and behind all its terms


class TokenBitmap:
    """The kind."""

    name = "TOKEN_BITMAP"

    def options(self, type_: str, given: Options) -> Options:
        """As `Kind.options` says."""
        return options_over_texts(self.name, type_, given, DEFAULTS, _WHOLES)

    def builder(self, column: IndexedColumn, options: Options) -> _TokenBuilder:
        """To build one file's index."""
        return _TokenBuilder(column, options)

    def asked(self, question: Question, type_: str, options: Options) -> Clauses | None:  # noqa: ARG002
        """Each token, folded; None of what isn't asked for by tokens."""
        if type_ != "string" or not isinstance(question, Tokens) or not question.tokens:
            return None
        folded = list(dict.fromkeys(map(folded_text, question.tokens)))[:_MOST_ASKED]
        return tuple((hash_of(token.encode()),) for token in folded)

    def probe(
        self, blob: Blob, read: Read, question: Question, column: IndexedColumn
    ) -> RowVerdict | None:
        """The rows that have all tokens; nothing where the texts were cut otherwise."""
        said = blob.properties
        if blob.type != TYPE or "tokens" not in said:
            raise ValueError(f"no dictionary of tokens that can be read: {blob.type}")
        if said["tokens"] != ANALYSER or column.type != "string":
            return None
        if not isinstance(question, Tokens) or not question.tokens:
            return None
        try:
            head = int(said["head"])
        except (KeyError, ValueError) as error:
            raise ValueError(f"properties of no dictionary of tokens: {error}") from error
        terms = Terms.open(read, head, BYTES)
        if terms.head.rows != column.rows:
            raise ValueError(f"the blob is of {terms.head.rows} rows, the file has {column.rows}")
        if not question.folded:
            keys = [_term(folded_text(token), token) for token in question.tokens]
            return terms.verdict(terms.having_all(keys), exact=True)
        units: BitMap | None = None
        for token in question.tokens:
            folded = folded_text(token).encode()
            codes = terms.rank(folded + _BEHIND)[0], terms.rank(folded + _AFTER)[0]
            found = terms.having_any(codes)
            if found is not None:
                units = found if units is None else units & found
            if units is not None and not units:
                break
        return terms.verdict(units, exact=True)


class _TokenBuilder:
    """Gathers the tokens of one file."""

    def __init__(self, column: IndexedColumn, options: Options) -> None:
        self._type = column.type
        block_rows = int(options["block_rows"])
        self._row_level = bool(options["rows"])
        self._bits = float(options["bits_per_token"])
        self._pairs = Pairs(BYTES, 1 if self._row_level else block_rows, block_rows)
        self._file = Filter.of_blocks(FILE_BLOCKS)
        self._rows = 0
        self._nulls: list[npt.NDArray[np.bool_]] = []
        self._unknown: list[npt.NDArray[np.int64]] = []

    def add(self, values: pa.Array) -> None:
        """The texts of the next rows as `large_binary`."""
        for first in range(0, len(values), _ROWS_AT_ONCE):
            part = values.slice(first, _ROWS_AT_ONCE)
            cut = tokenize(part)
            folded, terms = _terms(cut.tokens)
            self._pairs.add(terms, cut.codes, cut.rows.astype(np.uint32) + np.uint32(self._rows))
            self._file.add(hashes(folded))
            self._unknown.append(cut.broken.astype(np.int64) + self._rows)
            self._nulls.append(part.is_null().to_numpy(zero_copy_only=False))
            self._rows += len(part)

    def finish(self) -> Sequence[Blob]:
        """The light blob and the heavy one, where each can skip anything."""
        nulls = np.concatenate([np.empty(0, dtype=bool), *self._nulls])
        unknown = np.concatenate([np.empty(0, np.int64), *self._unknown])
        own = {"hash": HASH, "tokens": ANALYSER}
        said = own | column_properties(self._type, self._rows, int(nulls.sum()))
        blobs = [] if len(unknown) else file_filter(self._file, self._bits, said)
        everywhere = self._pairs.unit > 1
        written = self._pairs.finish(self._rows, nulls, unknown, everywhere=everywhere)
        if written is not None and self._rows:
            blobs.append(written.blob(said))
        return blobs


def _terms(tokens: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The folded tokens, and the terms, of tokens."""
    texts = tokens.cast(pa.large_string())
    folded = pc.ascii_lower(texts)
    wide = pc.invert(pc.string_is_ascii(texts))
    if pc.any(wide).as_py():
        some = [folded_text(text) for text in texts.filter(wide).to_pylist()]
        folded = pc.replace_with_mask(folded, wide, pa.array(some, pa.large_string()))
    own = pc.if_else(pc.equal(folded, texts), "", texts)
    folded, own = folded.cast(pa.large_binary()), own.cast(pa.large_binary())
    return folded, pc.binary_join_element_wise(folded, own, pa.scalar(_BEHIND, pa.large_binary()))


def _term(folded: str, token: str) -> bytes:
    return folded.encode() + _BEHIND + (b"" if folded == token else token.encode())


TOKEN_BITMAP = TokenBitmap()
