"""Patterns of RLIKE: what every text that matches one must hold.

A pattern is read as Java reads it, whole or not at all: `reading_of` gives None for one with
anything that isn't surely understood, and such a pattern may be one that Java refuses. RLIKE
searches: the text needs to hold a match somewhere, not to be one.

Of what is understood, the characters that stand side by side in every match are a *run*. A run ends
at whatever may be several things or nothing: `.`, a class, an anchor, a quantified character. What
may be left out (`?`, `*`, `{0,n}`) isn't part of any run, nor is anything beside a `|`. The runs
stand in a text that matches in their order, none over another.

What is understood raises nothing, whatever the text. So groups aren't repeated: Java goes deeper
into its stack for each time, and runs out of it over a long text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

_LENGTH_MAX = 4_096
_DEPTH_MAX = 32
_REPEATED_MAX = 1_000
_FLAGS = re.compile(r"\(\?([ims]+)\)")
_REPEATED = re.compile(r"\{([0-9]{1,4})(,([0-9]{1,4})?)?\}")
_NAME = re.compile(r"\(\?<[A-Za-z][A-Za-z0-9]*>")
_CLASSES = frozenset("dDwWsS")
_ANCHORS = frozenset("bBAZz")
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_CODES = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})")
_HALVES = re.compile("[\ud800-\udfff]")  # of characters
_SPECIAL = frozenset("\\^$.|?*+()[{")
_ANY = ""
"""Among characters: anything may stand here, also nothing."""
_BEGIN = "^^"
"""Among characters: the text begins here. It's two, so that none is taken for it."""
_REPLACEMENT = "\ufffd"
"""To Spark bytes that aren't UTF-8 match this one."""


class LiteralRuns(Struct, frozen=True):
    """What a match holds. `starts`: the text begins with the first run; `folded`: in any case.

    Case is that of ASCII alone: another character of a run is the very same in the text.
    """

    runs: tuple[str, ...]
    starts: bool = False
    folded: bool = False


class _UnreadPatternError(Exception):
    pass


def reading_of(pattern: str) -> LiteralRuns | None:
    r"""None where the pattern isn't understood.

    >>> reading_of(r"^ERROR: \d+ of (?:all )?files\.")
    Reading(runs=('ERROR: ', ' of ', 'files.'), starts=True, folded=False)
    """
    flags = _FLAGS.match(pattern)
    if len(pattern) > _LENGTH_MAX or _HALVES.search(pattern):
        return None
    reader = _PatternReader(pattern, flags.end() if flags else 0)
    try:
        held = reader.alternatives(0)
        if reader.rest:
            return None
    except _UnreadPatternError:
        return None
    modes = flags[1] if flags else ""
    starts = held[:1] == [_BEGIN] and all(map(_is_sure, held[1:2])) and "m" not in modes
    return LiteralRuns(_runs(held), starts and len(held) > 1, "i" in modes)


def _runs(held: Sequence[str]) -> tuple[str, ...]:
    """The characters that stand side by side."""
    runs = [""]
    for one in held:
        if _is_sure(one):
            runs[-1] += one
        elif runs[-1]:
            runs.append("")
    return tuple(run for run in runs if run)


def _is_sure(one: str) -> bool:
    return len(one) == 1 and one != _REPLACEMENT


class _PatternReader:
    """Reads a pattern from one place on. What it gives are characters, `_ANY` and `_BEGIN`."""

    def __init__(self, pattern: str, at: int) -> None:
        self._pattern, self._at = pattern, at
        self._names: set[str] = set()

    @property
    def rest(self) -> str:
        return self._pattern[self._at :]

    def alternatives(self, depth: int) -> list[str]:
        """As far as the group's end: what all of them hold, where there is but one."""
        if depth > _DEPTH_MAX:
            raise _UnreadPatternError
        held = self._sequence(depth)
        while self._skip("|"):
            self._sequence(depth)
            held = [_ANY]
        return held

    def _sequence(self, depth: int) -> list[str]:
        held: list[str] = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            if self._skip("\\Q"):
                held += self._quoted()
                continue
            most = 1 if self._next == "(" else _REPEATED_MAX
            piece, repeatable = self._piece(depth)
            held += self._quantified(piece, most) if repeatable else piece
        return held

    def _quoted(self) -> list[str]:
        """To Java what follows such a part quantifies its last character."""
        end = self._pattern.find("\\E", self._at)
        text = self._pattern[self._at : end if end >= 0 else None]
        self._at = end + 2 if end >= 0 else len(self._pattern)
        if not text:
            raise _UnreadPatternError
        return [*text[:-1], *self._quantified([text[-1]], _REPEATED_MAX)]

    def _quantified(self, piece: list[str], most: int) -> list[str]:
        """With the quantifier behind it, if there's one; of several times only if `most` is."""
        found = self._next
        least, times = 1, 1
        if found in ("?", "*", "+"):
            self._at += 1
            least, times = int(found == "+"), 1 if found == "?" else _REPEATED_MAX
        elif found == "{":
            counts = _REPEATED.match(self._pattern, self._at)
            if counts is None:
                raise _UnreadPatternError
            self._at = counts.end()
            least = int(counts[1])
            times = int(counts[3] or _REPEATED_MAX) if counts[2] else least
        else:
            return piece
        if self._next in ("?", "+"):  # reluctant, possessive
            self._at += 1
        if not least <= times <= most or self._next in ("?", "*", "+", "{"):
            raise _UnreadPatternError
        return [*piece, _ANY] if least else [_ANY]

    @property
    def _next(self) -> str | None:
        return self._pattern[self._at] if self._at < len(self._pattern) else None

    def _skip(self, text: str) -> bool:
        there = self._pattern.startswith(text, self._at)
        self._at += len(text) if there else 0
        return there

    def _piece(self, depth: int) -> tuple[list[str], bool]:
        """One thing, and whether a quantifier may follow."""
        if self._next == "(":
            return self._group(depth)
        if self._next == "[":
            return self._class(), True
        one = self._pattern[self._at]
        self._at += 1
        if one == "\\":
            return self._escaped()
        if one in "^$":
            return [_BEGIN if one == "^" else _ANY], self._not_repeated()
        if one in _SPECIAL and one != ".":
            raise _UnreadPatternError
        return [_ANY if one == "." else one], True

    def _not_repeated(self) -> bool:
        if self._next in ("?", "*", "+", "{"):
            raise _UnreadPatternError
        return False

    def _escaped(self) -> tuple[list[str], bool]:
        one = self._next
        if one is None or not one.isascii():
            raise _UnreadPatternError
        if one in _CLASSES:
            self._at += 1
            return [_ANY], True
        if one in _ANCHORS:
            self._at += 1
            return [_ANY], self._not_repeated()
        return [self._character()], True

    def _character(self) -> str:
        """What an escape of one character stands for; the backslash is taken."""
        if code := _CODES.match(self._pattern, self._at):
            self._at = code.end()
            return self._whole(chr(int(code[1] or code[2], 16)))
        one = self._next
        if one is None or not one.isascii() or (one.isalnum() and one not in _CONTROLS):
            raise _UnreadPatternError
        self._at += 1
        return _CONTROLS.get(one, one)

    @staticmethod
    def _whole(one: str) -> str:
        if _HALVES.match(one):
            raise _UnreadPatternError
        return one

    def _group(self, depth: int) -> tuple[list[str], bool]:
        """A group itself, or what only looks ahead."""
        ahead = self._skip("(?=") or self._skip("(?!")
        if not ahead and not self._skip("(?:"):
            named = _NAME.match(self._pattern, self._at)
            name = named[0] if named else "("
            if name in self._names or (not named and self._pattern.startswith("(?", self._at)):
                raise _UnreadPatternError
            self._names |= {name} - {"("}
            self._at += len(name)
        held = self.alternatives(depth + 1)
        if not self._skip(")"):
            raise _UnreadPatternError
        return ([_ANY], self._not_repeated()) if ahead else (held, True)

    def _class(self) -> list[str]:
        """One character of several; of a single one that is this one."""
        self._at += 1
        others = self._skip("^")
        members: list[str] = []
        while not self._skip("]"):
            first = self._member()
            if self._next == "-" and self._pattern[self._at + 1 : self._at + 2] != "]":
                self._at += 1
                last = self._member()
                if not len(first) == len(last) == 1 or first > last:
                    raise _UnreadPatternError
                first = _ANY
            members.append(first)
        if not members:
            raise _UnreadPatternError
        return members if len(members) == 1 and not others else [_ANY]

    def _member(self) -> str:
        one = self._next
        if one is None or one in "[]&^":
            raise _UnreadPatternError
        self._at += 1
        if one == "-" and self._next != "]":
            raise _UnreadPatternError
        if one != "\\":
            return one
        if self._next is not None and self._next in _CLASSES:
            self._at += 1
            return _ANY
        return self._character()
