"""Tokens of texts: the words that `has_token` and `match` ask for, and that indexes keep.

A token is a run of letters and decimal digits (`letters.py`) as long as it can be, of any script
but Chinese. A run of CJK ideographs (`grams.IDEOGRAPHS`) ends whatever stands before it, and is
cut into words by rjieba. All else parts tokens: spaces, marks, signs, and bytes that are no UTF-8.

*Folded* tokens have each code point replaced by the table of `grams.py`, which has no effect on
where a text is cut: so the folded tokens of a text are its tokens, folded.

`ANALYSER` names all that a token depends on: these rules, the release of Unicode, and that of
rjieba, which brings its dictionary. Texts that were cut by another analyser aren't comparable.
Where rjieba isn't installed texts with ideographs can't be cut: NotIndexableError.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct

from indexes.domains import NotIndexableError
from indexes.text.grams import IDEOGRAPHS, fold_table, folded_text
from indexes.text.letters import UNICODE, ranges


def _dictionary() -> str:
    """Which release of rjieba there is; without one only texts without ideographs are cut."""
    try:
        return version("rjieba")
    except PackageNotFoundError:
        return "none"


ANALYSER = f"tokens-1/{UNICODE}/rjieba-{_dictionary()}"
"""As formats name the rules, the table of letters and the dictionary."""
NEEDLE_HINT = "match(text, words) looks for any number of tokens, LIKE for any part of a text"
_NONE, _LETTERS, _IDEOGRAPHS = range(3)
_CODES = 0x110000


class NeedleError(ValueError):
    """What `has_token` is asked for isn't exactly one token, or no text is asked for or of."""


class Tokenized(Struct, frozen=True):
    """The tokens of n texts.

    `tokens` are distinct `large_binary` values in no order, UTF-8 always. Pair i says that the
    token `codes[i]` stands in the text `rows[i]` (both int32): each pair once, and of one token the
    rows ascend. `broken` are the rows that aren't UTF-8; they have tokens all the same.
    """

    tokens: pa.LargeBinaryArray
    codes: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int32]
    broken: npt.NDArray[np.int32]


def tokenize(
    values: pa.Array, *, folded: bool = False, wanted: Sequence[str] | None = None
) -> Tokenized:
    """Cuts texts, `large_binary` of 2^31 rows at most; a NULL has no tokens.

    With `wanted` only these tokens are to be told apart: runs of ideographs that hold none of them
    are left whole, since cutting words takes ten times as long as all else. Such a run may stand
    among the tokens again as a word of another one.

    Takes memory of nine times the texts' bytes at most, and seldom twice.
    """
    from indexes.text import token_kernels as kernels

    valid = np.empty(0, dtype=np.uint8)
    if values.null_count:
        valid = values.is_valid().to_numpy(zero_copy_only=False).view(np.uint8)
    valid.flags.writeable = False  # as Arrow's are: another type to numba otherwise
    if not len(values):
        none = np.empty(0, dtype=np.int32)
        return Tokenized(pa.array([], pa.large_binary()), none, none, none)
    offsets = np.frombuffer(values.buffers()[1], dtype=np.int64)
    offsets = offsets[values.offset : values.offset + len(values) + 1]
    text, starts, kinds, runs, rows, broken = kernels.cut(
        _bytes(values.buffers()[2]), offsets, valid, _kinds(), _fold(folded)
    )
    buffers = [None, pa.py_buffer(starts), pa.py_buffer(text)]
    found = pa.Array.from_buffers(pa.large_binary(), len(kinds), buffers)
    chinese = kinds == kernels.IDEOGRAPHS
    if wanted is not None and chinese.any():
        chinese[chinese] = _holding(found.take(pa.array(np.flatnonzero(chinese))), wanted)
    if not chinese.any():
        return Tokenized(found, runs, rows, broken)
    return _with_words(Tokenized(found, runs, rows, broken), chinese)


def tokens_of(text: str, *, folded: bool = False) -> tuple[str, ...]:
    """The tokens of one text, each once, in the order in which they stand.

    >>> tokens_of("GET /orders/17 failed: 支付失败, GET")
    ('GET', 'orders', '17', 'failed', '支付', '失败')
    """
    plain = folded_text(text) if folded else text
    found: list[str] = []
    for kind, characters in groupby(plain, _kind):
        run = "".join(characters)
        if kind == _IDEOGRAPHS:
            found += words(run)
        elif kind == _LETTERS:
            found.append(run)
    return tuple(dict.fromkeys(found))


def one_token(needle: str) -> str:
    """What `has_token` asks for. NeedleError where that isn't one token and nothing else."""
    found = tokens_of(needle)
    if found == (needle,):
        return needle
    shown = needle if len(needle) <= 60 else needle[:60] + "…"
    what = f"is {len(found)} tokens" if len(found) > 1 else "is none"
    raise NeedleError(f"has_token looks for exactly one token, and {shown!r} {what}")


def words(run: str) -> list[str]:
    """Of a run of ideographs; they are the run when put together."""
    found: list[str] = _cutter().cut(run)
    return found


@cache
def _cutter():  # type: ignore[no-untyped-def]  # rjieba has no types
    """One of our own: words may be added to the one that the module gives everybody."""
    try:
        from rjieba import Jieba
    except ImportError as error:
        raise NotIndexableError(
            "Chinese text is cut into words by rjieba, which isn't installed:"
            " pip install 'lakehouse-accelerator[text]'"
        ) from error

    return Jieba()


def _holding(runs: pa.Array, wanted: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which runs have one of the tokens in them."""
    import pyarrow.compute as pc

    found = np.zeros(len(runs), dtype=bool)
    for token in wanted:
        if _kind(token[0]) == _IDEOGRAPHS:
            held = pc.match_substring(runs, token.encode())
            found |= held.to_numpy(zero_copy_only=False)
    return found


def _with_words(cut: Tokenized, chinese: npt.NDArray[np.bool_]) -> Tokenized:
    """With the words of runs of ideographs in place of those runs."""
    # The other tokens move together, and words come behind them.
    others = np.flatnonzero(~chinese)
    moved = np.cumsum(~chinese, dtype=np.int32) - 1
    numbers: dict[str, int] = {}
    lists = [
        [numbers.setdefault(word, len(numbers)) for word in dict.fromkeys(words(run.decode()))]
        for run in cut.tokens.take(pa.array(np.flatnonzero(chinese))).to_pylist()
    ]
    lengths = np.array([len(one) for one in lists], dtype=np.int64)
    flat = np.array([number for one in lists for number in one], dtype=np.int64)
    begins = np.cumsum(lengths) - lengths
    mine = chinese[cut.codes]
    run = (np.cumsum(chinese) - 1)[cut.codes[mine]]
    many = lengths[run]
    # Pair i becomes many[i] pairs, with the words begins[run[i]], and those behind it.
    steps = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
    word = flat[np.repeat(begins[run], many) + steps]
    row = np.repeat(cut.rows[mine].astype(np.int64), many)
    pairs = np.unique(row << 32 | word + len(others))
    found = pa.array([word.encode() for word in numbers], pa.large_binary())
    return Tokenized(
        pa.concat_arrays([cut.tokens.take(pa.array(others)), found]),
        np.concatenate([moved[cut.codes[~mine]], (pairs & 0xFFFFFFFF).astype(np.int32)]),
        np.concatenate([cut.rows[~mine], (pairs >> 32).astype(np.int32)]),
        cut.broken,
    )


def _bytes(buffer: pa.Buffer | None) -> npt.NDArray[np.uint8]:
    """Where every text is empty there may be no buffer at all."""
    return np.frombuffer(buffer if buffer is not None and buffer.size else b"\0", dtype=np.uint8)


@cache
def _kinds() -> npt.NDArray[np.uint8]:
    """Of each code point what it is."""
    table = np.zeros(_CODES, dtype=np.uint8)
    for first, behind in ranges():
        table[first:behind] = _LETTERS
    for first, last in IDEOGRAPHS:
        table[first : last + 1] = _IDEOGRAPHS
    table.flags.writeable = False
    return table


@cache
def _fold(folded: bool) -> npt.NDArray[np.uint32]:
    return fold_table(folded)


@cache
def _edges() -> list[int]:
    return [edge for both in ranges() for edge in both]


def _kind(character: str) -> int:
    code = ord(character)
    if any(first <= code <= last for first, last in IDEOGRAPHS):
        return _IDEOGRAPHS
    return _LETTERS if bisect_right(_edges(), code) % 2 else _NONE
