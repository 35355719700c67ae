"""Grams: compiled and plain alike, and those of a part are always those of the whole."""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from indexes.hashing.xxhash64 import hash_of_word
from indexes.text import gram_kernels
from indexes.text import grams as text_grams
from indexes.text.grams import fold_table, grams, is_certain
from tests.support.extent import sized

# Letters that fold in odd ways, ideographs at the edges of their ranges, pictures beyond 16 bits.
_ODD = (
    "aAiIıİ\u0307kKKåÅΣσςßẞöÖЖжԱա𐐀中文\u33ff\u3400\u4dbf\u4dc0豈𠀀𲎯😀é\u0301 1%_\0かか́ǅǆſ\ua7dcƛ"
)
TEXTS = st.text(st.sampled_from(_ODD), max_size=30) | st.text(max_size=30)
GRAM = st.integers(2, 8)


def compiled(
    texts: list[bytes | None],
    gram: int,
    *,
    folded: bool = False,
    fold: npt.NDArray[np.uint32] | None = None,
) -> tuple[list[int], bool]:
    room = 1 << 10
    array = pa.array(texts, pa.large_binary())
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int64)[: len(texts) + 1]
    data = np.frombuffer(array.buffers()[2] or b"\0", dtype=np.uint8)
    valid = np.array([text is not None for text in texts], dtype=np.uint8)
    valid.flags.writeable = False
    found, state = np.zeros(room, np.uint64), np.zeros(gram_kernels.STATE_SIZE, np.int64)
    done = gram_kernels.take_rows(
        data,
        offsets,
        valid,
        0,
        len(texts),
        gram,
        fold_table(folded) if fold is None else fold,
        np.zeros(gram_kernels.MEMO, np.uint64),
        np.zeros(2 * room, np.uint64),
        found,
        state,
        np.empty((0, 8), np.uint32),
    )
    assert done == len(texts)
    used = int(state[gram_kernels.USED])
    return found[:used].tolist(), bool(state[gram_kernels.INVALID])


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=5), GRAM, st.booleans())
@example(["aaaa", "AAAA", "", "a"], 3, True)
@example(["中文a中文", "中中中"], 3, False)
def test_compiled_as_plain(texts: list[str], gram: int, folded: bool) -> None:
    expected: dict[int, None] = {}
    for text in texts:
        expected.update(dict.fromkeys(grams(text, gram, folded=folded)))
    coded: list[bytes | None] = [text.encode() for text in texts]
    assert compiled([*coded, None], gram, folded=folded) == (list(expected), False)


@given(TEXTS, TEXTS, TEXTS, GRAM, st.booleans())
@example("中", "文字", "a", 3, True)
@example("", "ab中", "文", 3, True)
def test_a_part_has_no_gram_that_the_whole_lacks(
    before: str, part: str, behind: str, gram: int, folded: bool
) -> None:
    whole = set(grams(before + part + behind, gram, folded=folded))
    assert set(grams(part, gram, folded=folded)) <= whole
    assert set(grams(part, gram, folded=folded, certain=True)) <= whole


@settings(max_examples=sized(150, full=500))
@given(TEXTS, st.integers(0, 30), st.integers(1, 12), GRAM)
@example("xΑΣ", 1, 2, 2)
@example("ΟΔΟΣ ΟΔΟΣ", 0, 4, 3)
@example("abİb", 0, 4, 3)
@example("ⅰKeKe", 1, 4, 3)
def test_a_part_of_the_lowered_text_has_no_gram_that_the_text_lacks(
    text: str, first: int, length: int, gram: int
) -> None:
    """As ILIKE compares, here by Python's Unicode; the pattern in any case."""
    held = set(grams(text, gram, folded=True))
    part = text.lower()[first : first + length]
    for pattern in (part, part.upper(), part.swapcase(), part.title()):
        if pattern.lower() in text.lower():
            assert set(grams(pattern, gram, folded=True, certain=True)) <= held


def test_a_window_whose_number_is_zero() -> None:
    """Tables hold 0 where they hold nothing. It takes a made-up fold to come to such a window."""
    digits = (1, 2_037_453_193, 3_182_646_160)
    word = 0
    for digit in digits:
        word = (word * text_grams.MULTIPLIER + digit) % (1 << 64)
    assert word == 0
    fold = fold_table(False).copy()
    fold[[ord(one) for one in "abc"]] = [digit - 1 for digit in digits]
    fold.flags.writeable = False
    assert compiled([b"abc"], 3, fold=fold)[0] == [hash_of_word(0)]


def test_windows_of_ideographs_and_others() -> None:
    def same(text: str, *windows: str) -> None:
        expected = {value for w in windows for value in grams(w, len(w), folded=False)}
        assert set(grams(text, 3, folded=False)) == expected
        assert len(expected) == len(windows)

    same("日志错误", "日志", "志错", "错误")
    same("ab错cd", "ab错", "b错c", "错cd")
    same("ab错误cd", "ab错", "错误", "误cd")
    same("错a误", *())
    same("𠀀𠀁", "𠀀𠀁")
    same("a😀b", "a😀b")
    same("ab", *())
    assert grams("错误", 8, folded=True) == grams("错误", 2, folded=True)
    assert grams("abc\ud83d", 3, folded=False) == ()


def test_the_table_agrees_with_unicode() -> None:
    """Whatever is lowered to a certain code point is folded to it, and no other is."""
    for code in range(sys.maxunicode + 1):
        if 0xD800 <= code <= 0xDFFF:
            continue
        folded, lower = text_grams._FOLD.get(code, code), chr(code).lower()
        if folded == code and lower == chr(code):
            continue
        lowered = [ord(character) for character in lower]
        if code == 0x130:
            assert folded == ord("i") and lowered == [ord("i"), 0x307]
            continue
        assert all(one == folded for one in lowered if is_certain(one)) or code == 0x3C2
        if is_certain(code):
            assert folded == (0x3C3 if code == 0x3C2 else lowered[0]) and len(lowered) == 1
            assert is_certain(folded)
    for code in (0x307, 0x130, 0x131, 0xB5, 0x17F, 0x19B, 0x264, 0x10428, 0x10D0, 0x24D0, 0x378):
        assert not is_certain(code)
    assert all(is_certain(ord(one)) for one in "aZ09 é中かüÜЖжΣς😀한ไ")


@pytest.mark.parametrize(
    "text",
    [
        b"ab\xff",
        b"ab\xc0\x80",  # longer than need be
        b"\xe0\x80\xaf",
        b"\xf0\x80\x80\xaf",
        b"ab\xed\xa0\x80",  # half a surrogate pair
        b"\xf4\x90\x80\x80",  # beyond the last code point
        b"\xf5\x80\x80\x80",
        b"\x80",
        b"\xe4\xb8",  # cut off
        b"\xf0\x9f\x98",
        b"\xe4\xb8a",
        b"\xc3(",
    ],
)
def test_what_is_not_utf8_is_told(text: bytes) -> None:
    with pytest.raises(UnicodeDecodeError):
        text.decode()
    assert compiled([b"abc", text, b"xyz"], 3, folded=True)[1]
    assert not compiled(
        [b"abc", b"xyz", "\U0010ffff\ud7ff\ue000\u0080\u0800".encode()], 3, folded=True
    )[1]


@settings(deadline=None, max_examples=sized(100, full=300))
@given(st.binary(max_size=6))
def test_valid_as_python_says(text: bytes) -> None:
    try:
        text.decode()
        valid = True
    except UnicodeDecodeError:
        valid = False
    assert compiled([text], 2, folded=False)[1] is not valid
