"""Tokens: compiled, plain, and by `unicodedata` alike; folding doesn't change where texts are cut.

The slow analyser here knows neither the table of letters nor the kernel: it goes by categories,
character by character, over those that Unicode 14.0 has.
"""

from __future__ import annotations

import hashlib
import sys
import unicodedata
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from itertools import groupby

import numpy as np
import pyarrow as pa
import pytest
import rjieba
from hypothesis import example, given, settings
from hypothesis import strategies as st

from indexes.text import letters
from indexes.text.grams import IDEOGRAPHS, fold_table, folded_text
from indexes.text.tokens import (
    ANALYSER,
    NeedleError,
    Tokenized,
    one_token,
    tokenize,
    tokens_of,
    words,
)
from tests.support.extent import sized

# Letters that fold to fewer bytes, digits of other scripts, marks, Korean and Japanese, ideographs
# at the edges of their ranges and beyond 16 bits, and letters beyond them.
_ODD = (
    "aAzZ09_-. İIıKÅΩẞß\u0301\u0307é٣५²Ⅷªᄀ가かカー々〇\u3400\u4dbf\u4dc0豈𠀀𲎯𐐀𝟘😀\0\ufffd\u2028"
)
_CHINESE = "订单支付失败用户登录成功中文清华大学来到北京的"
TEXTS = st.text(st.sampled_from(_ODD + _CHINESE), max_size=24) | st.text(max_size=24)
COMPOSED = "14.0.0"
CUTTER = rjieba.Jieba()


def slow(text: str) -> list[str]:
    """The rules as written, with the categories of this Python."""

    def kind(character: str) -> int:
        if any(first <= ord(character) <= last for first, last in IDEOGRAPHS):
            return 2
        category = unicodedata.category(character)
        return int(category[0] == "L" or category == "Nd")

    found = []
    for what, run in groupby(text, kind):
        part = "".join(run)
        if what:
            found += CUTTER.cut(part) if what == 2 else [part]
    return found


def pairs(cut: Tokenized, wanted: list[str] | None = None) -> list[set[str]]:
    """The tokens of each row that has any, and of those before it; those alone that are wanted.

    A run that is left whole may be a word of another run as well, if it isn't wanted.
    """
    assert cut.codes.dtype == cut.rows.dtype == cut.broken.dtype == np.int32
    names = [token.decode() for token in cut.tokens.to_pylist()]
    told = [name for name in names if wanted is None or name in wanted]
    assert len(set(told)) == len(told)
    every = list(zip(cut.codes.tolist(), cut.rows.tolist(), strict=True))
    assert len(set(every)) == len(every)
    assert {code for code, _ in every} == set(range(len(names)))
    found: list[set[str]] = [set() for _ in range(1 + max((row for _, row in every), default=-1))]
    last: dict[int, int] = {}
    for code, row in every:
        assert last.get(code, -1) < row
        last[code] = row
        found[row].add(names[code])
    return found


def array(texts: Sequence[str | bytes | None]) -> pa.Array:
    return pa.array([t.encode() if isinstance(t, str) else t for t in texts], pa.large_binary())


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), TEXTS), max_size=6), st.booleans(), st.integers(0, 3))
@example(["中文a中文", None, "", "中文 a a"], False, 1)
@example(["KELVIN Kelvin", "ẞ ß", "İ"], True, 0)
def test_compiled_as_plain(texts: list[str | None], folded: bool, first: int) -> None:
    found = pairs(tokenize(array(texts).slice(first), folded=folded))
    expected = [set(tokens_of(text or "", folded=folded)) for text in texts[first:]]
    assert found == expected[: len(found)]
    assert not any(expected[len(found) :])


@pytest.mark.skipif(unicodedata.unidata_version != COMPOSED, reason="another release of Unicode")
@settings(deadline=None, max_examples=sized(25, full=50))
@given(TEXTS)
@example("支付失败order七17号ab٣\u0301é")
def test_plain_as_by_the_rules(text: str) -> None:
    assert tokens_of(text) == tuple(dict.fromkeys(slow(text)))


@settings(deadline=None)
@given(TEXTS)
def test_folding_moves_no_edge(text: str) -> None:
    folded = dict.fromkeys(folded_text(token) for token in tokens_of(text))
    assert tokens_of(text, folded=True) == tuple(folded)
    assert tokens_of(folded_text(text)) == tuple(folded)


def test_no_code_point_is_folded_to_another_kind_or_to_more_bytes() -> None:
    table = fold_table(True)
    for code in np.flatnonzero(table != np.arange(len(table))).tolist():
        before, behind = chr(code), chr(int(table[code]))
        assert tokens_of(before) == (before,)
        assert tokens_of(behind) == (behind,)
        assert len(behind.encode()) <= len(before.encode())


def test_many_rows_and_tokens() -> None:
    texts = [
        f"row {i} of {i % 7}: id{i:08x} 订单{i % 5}支付失败 {'x' * (i % 40)}" for i in range(6000)
    ]
    found = pairs(tokenize(array(texts)))
    assert found == [set(tokens_of(text)) for text in texts]


def test_one_long_text_of_new_tokens() -> None:
    text = " ".join(str(number) for number in range(20_000))
    assert pairs(tokenize(array(["", text]))) == [set(), set(text.split())]


@pytest.mark.parametrize(
    "broken",
    [
        b"\x80",
        b"\xc2",
        b"\xc0\x80",
        b"\xe0\x81\x81",
        b"\xe4\xb8",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xff",
    ],
)
def test_bytes_that_are_no_utf8_part_tokens(broken: bytes) -> None:
    cut = tokenize(array([b"ab" + broken + b"cd", "ab", broken, None]))
    assert pairs(cut) == [{"ab", "cd"}, {"ab"}]
    assert cut.broken.tolist() == [0, 2]


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=4), st.lists(st.sampled_from(["a", "支付", "失败", "订单", "的"])))
@example(["订单支付失败", "支付 用户登录"], ["支付", "登"])
@example(["㐀", "㐀的"], ["的"])
def test_wanted_tokens_alone(texts: list[str], wanted: list[str]) -> None:
    found = pairs(tokenize(array(texts), wanted=wanted), wanted)
    for row, text in enumerate(texts):
        held = found[row] if row < len(found) else set()
        assert held & set(wanted) == set(tokens_of(text)) & set(wanted)


def test_words_are_their_run() -> None:
    every = "".join(chr(code) for first, last in IDEOGRAPHS for code in range(first, last + 1, 97))
    assert "".join(words(every)) == every
    assert words("我来到北京清华大学") == ["我", "来到", "北京", "清华大学"]


def test_words_of_others_are_not_ours() -> None:
    rjieba.add_word("来到北京", 10**9, "n")  # which stays; nobody else here uses that one
    assert tokens_of("我来到北京") == ("我", "来到", "北京")


def test_words_in_threads() -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(words, ["我来到北京清华大学"] * 64))
    assert found == [["我", "来到", "北京", "清华大学"]] * 64


def test_letters_are_those_of_unicode_14() -> None:
    """The generator: prints what `letters._LENGTHS` has to be."""
    ranges = letters.ranges()
    if unicodedata.unidata_version == COMPOSED:
        kinds = [unicodedata.category(chr(code)) for code in range(sys.maxunicode + 1)]
        inside = [kind[0] == "L" or kind == "Nd" for kind in kinds]
        edges = np.flatnonzero(np.diff(inside, prepend=False, append=False)).tolist()
        lengths = np.diff(edges, prepend=0).tolist()
        made = " ".join(np.base_repr(length, 36).lower() for length in lengths)
        assert made.split() == letters._LENGTHS.split(), made
    assert hashlib.sha256(repr(ranges).encode()).hexdigest()[:16] == "7bca9bb7168f4931"


def test_the_analyser_is_named_with_its_dictionary() -> None:
    assert ANALYSER.split("/") == ["tokens-1", "unicode-14.0", f"rjieba-{version('rjieba')}"]


@pytest.mark.parametrize("needle", ["x", "17", "支付", "é", "٣", "Kelvin"])
def test_one_token(needle: str) -> None:
    assert one_token(needle) == needle


@pytest.mark.parametrize(
    "needle", ["", " ", "a b", " a", "a ", "a-b", "支付失败", "a支", "\udcff", "e\u0301"]
)
def test_no_one_token(needle: str) -> None:
    with pytest.raises(NeedleError, match="exactly one token"):
        one_token(needle)
