"""Grams of texts: short windows of code points, of which a text has all that any part of it has.

What stands in a window says alone whether it's a gram, and what gram; never what stands around it.
So every gram of a literal run of a pattern is a gram of every text that holds the run. The windows:

* two code points that are both CJK ideographs, whatever the length of the grams is;
* as many code points as grams are long, of which at most one is an ideograph.

Code points are those of valid UTF-8, never bytes or halves of surrogate pairs. No gram is made of a
text that isn't valid UTF-8: whoever indexes such a text can tell nothing of it.

*Folding* replaces each code point by one other, by the table `_FOLDS`, which no release of Unicode
changes, and looks at nothing around it either. So folded grams answer LIKE as well. For ILIKE,
which compares what the engine's `lower` makes of both sides, a gram serves only if all its code
points are *certain*: whatever is lowered to one of them, in any release of Unicode from 13 on, is
folded to it too. Not certain are letters of scripts that aren't listed here, letters without an
upper case, which a later release may give them, the dot above (İ is lowered to i and a dot) and
code points that mean nothing yet. Σ, σ and ς fold to one, so that it doesn't matter where a word
ends. That no new character is ever lowered to a letter that has its pair, or to a digit, mark or
ideograph, is taken for granted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from indexes.hashing.xxhash64 import hash_of_word

GRAMS = "windows-1"
"""As formats name these rules and the table; another table is another name."""
LEAST_GRAM, MOST_GRAM = 2, 8
MULTIPLIER = 0x9E3779B185EBCA87
IDEOGRAPHS = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))

_EVERY, _SECOND = 1, 2
# First, last, step, and what is added to each.
_FOLDS = (
    (0x0041, 0x005A, _EVERY, 32),  # Latin
    (0x00C0, 0x00D6, _EVERY, 32),
    (0x00D8, 0x00DE, _EVERY, 32),
    (0x0100, 0x012E, _SECOND, 1),
    (0x0130, 0x0130, _EVERY, -199),  # İ, to i
    (0x0132, 0x0136, _SECOND, 1),
    (0x0139, 0x0147, _SECOND, 1),
    (0x014A, 0x0176, _SECOND, 1),
    (0x0178, 0x0178, _EVERY, -121),
    (0x0179, 0x017D, _SECOND, 1),
    (0x01CD, 0x01DB, _SECOND, 1),
    (0x01DE, 0x01EE, _SECOND, 1),
    (0x01F8, 0x021E, _SECOND, 1),
    (0x0222, 0x0232, _SECOND, 1),
    (0x0246, 0x024E, _SECOND, 1),
    (0x0386, 0x0386, _EVERY, 38),  # Greek
    (0x0388, 0x038A, _EVERY, 37),
    (0x038C, 0x038C, _EVERY, 64),
    (0x038E, 0x038F, _EVERY, 63),
    (0x0391, 0x03A1, _EVERY, 32),
    (0x03A3, 0x03AB, _EVERY, 32),
    (0x03C2, 0x03C2, _EVERY, 1),  # ς, to σ
    (0x03F4, 0x03F4, _EVERY, -60),  # ϴ, to θ
    (0x0400, 0x040F, _EVERY, 80),  # Cyrillic
    (0x0410, 0x042F, _EVERY, 32),
    (0x0460, 0x0480, _SECOND, 1),
    (0x048A, 0x04BE, _SECOND, 1),
    (0x04C0, 0x04C0, _EVERY, 15),
    (0x04C1, 0x04CD, _SECOND, 1),
    (0x04D0, 0x052E, _SECOND, 1),
    (0x0531, 0x0556, _EVERY, 48),  # Armenian
    (0x1E00, 0x1E94, _SECOND, 1),  # Latin with more marks
    (0x1E9E, 0x1E9E, _EVERY, -7615),  # ẞ, to ß
    (0x1EA0, 0x1EFE, _SECOND, 1),
    (0x2126, 0x2126, _EVERY, -7517),  # the ohm sign, to ω
    (0x212A, 0x212A, _EVERY, -8383),  # the kelvin sign, to k
    (0x212B, 0x212B, _EVERY, -8262),  # the ångström sign, to å
    (0xFF21, 0xFF3A, _EVERY, 32),  # full-width Latin
)
# What has no case, and isn't what anything is lowered to.
_CASELESS = (
    (0x0000, 0x0040),
    (0x005B, 0x0060),
    (0x007B, 0x00A9),
    (0x00AB, 0x00B4),
    (0x00B6, 0x00B9),
    (0x00BB, 0x00BF),
    (0x00D7, 0x00D7),
    (0x00F7, 0x00F7),
    (0x0591, 0x06FF),  # Hebrew, Arabic
    (0x0900, 0x0E7F),  # from Devanagari to Thai
    (0x2000, 0x206F),
    (0x20A0, 0x20CF),
    (0x2190, 0x245F),
    (0x2500, 0x27BF),
    (0x2E80, 0x9FFF),  # Chinese, Japanese
    (0xAC00, 0xD7A3),  # Korean
    (0xF900, 0xFAFF),
    (0xFE00, 0xFE0F),
    (0xFF01, 0xFF20),
    (0xFF3B, 0xFF40),
    (0xFF5B, 0xFFEE),
    (0x1F300, 0x1FAFF),  # pictures
    (0x20000, 0x3FFFD),
)
_WORD = (1 << 64) - 1
_DOTTED_I = 0x0130


def _folds() -> Iterator[tuple[int, int]]:
    for first, last, step, shift in _FOLDS:
        for code in range(first, last + 1, step):
            yield code, code + shift


_FOLD = dict(_folds())
TO_ASCII = tuple(chr(code) for code, to in _FOLD.items() if to < 0x80 <= code)
"""Characters that fold to one of ASCII though they aren't of it."""
# İ is lowered to two code points.
_CERTAIN = (frozenset(_FOLD) | frozenset(_FOLD.values())) - {_DOTTED_I}


def fold_table(folded: bool) -> npt.NDArray[np.uint32]:
    """What each code point below 65,536 becomes; those above stay."""
    table = np.arange(1 << 16, dtype=np.uint32)
    if folded:
        table[list(_FOLD)] = list(_FOLD.values())
    table.flags.writeable = False
    return table


def folded_text(text: str) -> str:
    """The text with each code point replaced.

    >>> folded_text("ΣÅK 日志")
    'σåk 日志'
    """
    return text.translate(_FOLD)


def is_certain(code: int) -> bool:
    """Whether a gram of ILIKE may have the code point; so may what it's folded to."""
    return code in _CERTAIN or any(first <= code <= last for first, last in _CASELESS)


def grams(text: str, gram: int, *, folded: bool, certain: bool = False) -> tuple[int, ...]:
    """Hashes of a text's grams, each once, in the order in which they stand.

    None at all of a text with half a surrogate pair, which no other text has. `certain`: only grams
    of code points for which `is_certain` holds.
    """
    plain = [ord(character) for character in text]
    if any(0xD800 <= code <= 0xDFFF for code in plain):
        return ()
    codes = [_FOLD.get(code, code) for code in plain] if folded else plain
    usable = [not certain or is_certain(code) for code in plain]
    found = (
        _hash(codes[first:last])
        for first, last in _windows([is_ideograph(code) for code in codes], gram)
        if all(usable[first:last])
    )
    return tuple(dict.fromkeys(found))


def _windows(ideographs: Sequence[bool], gram: int) -> Iterator[tuple[int, int]]:
    for last in range(2, len(ideographs) + 1):
        if all(ideographs[last - 2 : last]):
            yield last - 2, last
        elif last >= gram and sum(ideographs[last - gram : last]) <= 1:
            yield last - gram, last


def is_ideograph(code: int) -> bool:
    """Whether the code point is a CJK ideograph, which nothing else folds to."""
    return any(first <= code <= last for first, last in IDEOGRAPHS)


def _hash(codes: Sequence[int]) -> int:
    """Of the code points as digits of a number, so that a loop may go from one to the next."""
    word = 0
    for code in codes:
        word = word * MULTIPLIER + code + 1 & _WORD
    return hash_of_word(word)
