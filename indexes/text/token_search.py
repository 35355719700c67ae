"""`has_token` and `match` over many texts at once, as Spark and DuckDB call them.

Texts and what is asked for are Arrow strings, row by row; NULL in either gives NULL. Both are cut
by `tokens.py`. A text that isn't UTF-8 has the tokens that stand between the bytes that aren't.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indexes.text.grams import TO_ASCII, is_ideograph
from indexes.text.tokens import NeedleError, one_token, tokenize, tokens_of

_FEW = 32
Test = Callable[[pa.Array, pa.Array], pa.Array]


def has_token(texts: pa.Array, needles: pa.Array) -> pa.Array:
    """Where the needle is one of the text's tokens, case and all.

    NeedleError for a needle that isn't exactly one token, and for other than texts.
    """
    return _matches(texts, needles, lambda needle: (one_token(needle),), folded=False)


def match(texts: pa.Array, words: pa.Array) -> pa.Array:
    """Where all tokens of the words are among the text's, whatever their case and order.

    TRUE of any text where the words have none. NeedleError for other than texts.
    """
    return _matches(texts, words, lambda needle: tokens_of(needle, folded=True), folded=True)


TESTS: Mapping[str, Test] = MappingProxyType({"has_token": has_token, "match": match})
"""By their names in SQL."""


def _matches(
    texts: pa.Array,
    needles: pa.Array,
    cut: Callable[[str], tuple[str, ...]],
    *,
    folded: bool,
) -> pa.Array:
    if not _are_texts(texts) or not _are_texts(needles):
        raise NeedleError(f"has_token and match take texts, not {texts.type} and {needles.type}")
    coded = needles.cast(pa.large_string()).dictionary_encode()
    asked = [cut(needle) for needle in coded.dictionary.to_pylist()]
    known = pc.and_(texts.is_valid(), needles.is_valid()).to_numpy(zero_copy_only=False)
    values = texts.cast(pa.large_binary())
    rows = np.flatnonzero(known)
    if len(asked) == 1:  # a search of bytes is several times as fast
        rows = np.flatnonzero(known & _may_have(texts, values, asked[0], folded=folded))
    which = coded.indices.fill_null(0).to_numpy(zero_copy_only=False)[rows]
    found = np.zeros(len(texts), dtype=bool)
    found[rows] = _have_all(values.take(pa.array(rows)), which, asked, folded=folded)
    return pa.array(found, mask=~known)


def _are_texts(values: pa.Array) -> bool:
    kind = values.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.null())


def _may_have(
    texts: pa.Array, values: pa.Array, tokens: Sequence[str], *, folded: bool
) -> npt.NDArray[np.bool_]:
    """Whether the tokens' bytes are in each text at all, wherever they stand."""
    if not folded:
        return _have(values, tokens[0])
    found = np.ones(len(texts), dtype=bool)
    plain = [t for t in tokens if t.isascii() or all(is_ideograph(ord(one)) for one in t)]
    if plain:
        lowered = pc.ascii_lower(texts).cast(pa.large_binary())
        for token in plain:
            found &= _have(lowered, token)
        for character in TO_ASCII:
            found |= _have(values, character)
    return found


def _have(values: pa.Array, part: str) -> npt.NDArray[np.bool_]:
    held = pc.match_substring(values, part.encode())
    flags: npt.NDArray[np.bool_] = held.fill_null(False).to_numpy(zero_copy_only=False)
    return flags


def _have_all(
    values: pa.Array,
    which: npt.NDArray[np.int64],
    asked: Sequence[tuple[str, ...]],
    *,
    folded: bool,
) -> npt.NDArray[np.bool_]:
    """Of each text whether it has all tokens of `asked[which]`."""
    every = [token for tokens in asked for token in tokens]
    # Of very many tokens looking for each would take longer than cutting words.
    cut = tokenize(values, folded=folded, wanted=every if len(every) <= _FEW else None)
    owner = np.repeat(np.arange(len(asked)), [len(tokens) for tokens in asked])
    flat = pa.array([token.encode() for token in every], pa.large_binary())
    code = pc.index_in(flat, cut.tokens).fill_null(-1).to_numpy(zero_copy_only=False)
    # Pairs of what is asked for and a token of it, and such pairs as the texts have.
    wanted = owner[code >= 0] * np.int64(len(cut.tokens)) + code[code >= 0]
    mine = which[cut.rows].astype(np.int64) * len(cut.tokens) + cut.codes
    hits = np.bincount(cut.rows[np.isin(mine, wanted)], minlength=len(values))
    needed = np.array([len(tokens) for tokens in asked] or [0])
    all_there: npt.NDArray[np.bool_] = hits == needed[which]
    return all_there
