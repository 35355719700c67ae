r"""Patterns of Trino's regular expressions as Java's, which Spark has.

Both read most of a pattern alike. To Trino `.` is any character but a line feed, and `$` stands at
the text's end or before a line feed there; Java knows other ends of lines, too. So these two are
written out. A pattern is translated whole or not at all: whatever isn't listed here is refused, so
are cases that are left out of account, references to groups, and what looks around.
"""

from __future__ import annotations

import re

from msgspec import Struct

_LENGTH_MAX = 1_000
_REPEATED_MAX = 1_000
_REPEATED = re.compile(r"\{([0-9]{1,4})(,([0-9]{1,4})?)?\}")
_SPECIAL = frozenset("\\^$.|?*+()[]{}")
_CLASSES = frozenset("dDwWsS")
_CONTROLS = frozenset("tnrf")
_ANY = r"[^\n]"
_END = r"(?=\n?\z)"
_ESCAPED = frozenset("\\^$.|?*+()[]{}-/'\"%&#@!~`=<>,:; _")
"""What stands for itself behind a backslash."""


class Pattern(Struct, frozen=True):
    """A pattern that means the same to Java.

    `groups` tells of each, by number, whether it's part of every match. `may_be_empty`: a match may
    have no character.
    """

    java: str
    groups: tuple[bool, ...]
    may_be_empty: bool


class _UnsureError(Exception):
    pass


def java_pattern(pattern: str) -> Pattern | None:
    r"""None for what isn't surely read alike.

    >>> java_pattern(r"(A.)\d+$")
    Pattern(java='(A[^\\n])\\d+(?=\\n?\\z)', groups=(True,), may_be_empty=False)
    """
    if len(pattern) > _LENGTH_MAX or any("\ud800" <= one <= "\udfff" for one in pattern):
        return None
    reader = _TrinoPatternReader(pattern)
    try:
        empty = reader.alternatives(sure=True)
    except _UnsureError:
        return None
    if reader.at < len(pattern):
        return None
    return Pattern("".join(reader.written), tuple(reader.groups), empty)


class _TrinoPatternReader:
    def __init__(self, pattern: str) -> None:
        self._pattern, self.at = pattern, 0
        self.written: list[str] = []
        self._begun = self._empty = False
        self.groups: list[bool] = []

    @property
    def _next(self) -> str:
        return self._pattern[self.at : self.at + 1]

    def _skip(self, text: str) -> bool:
        there = self._pattern.startswith(text, self.at)
        self.at += len(text) if there else 0
        return there

    def alternatives(self, *, sure: bool) -> bool:
        """As far as the group's end; whether it may match nothing. `sure`: each match has it."""
        first = len(self.groups)
        empty = self._sequence(sure)
        several = False
        while self._skip("|"):
            self.written.append("|")
            several = True
            empty = self._sequence(sure=False) or empty
        if several:
            self.groups[first:] = [False] * (len(self.groups) - first)
        return empty

    def _sequence(self, sure: bool) -> bool:
        empty = True
        while self._next and self._next not in "|)":
            first = len(self.groups)
            quantifiable, piece_empty = self._piece(sure)
            least = self._quantifier(quantifiable, piece_empty, has_groups=first < len(self.groups))
            if least == 0:
                self.groups[first:] = [False] * (len(self.groups) - first)
            empty = empty and (piece_empty or least == 0)
        return empty

    def _piece(self, sure: bool) -> tuple[bool, bool]:
        """Whether it may be quantified, and whether it may match nothing."""
        one = self._next
        self.at += 1
        if one == "(":
            self._group(sure)
            return True, self._empty
        if one == "[":
            self._class()
        elif one == "\\":
            self._escape()
        elif one == ".":
            self.written.append(_ANY)
        elif one in "^$":
            self.written.append("^" if one == "^" else _END)
            return False, True
        elif one in _SPECIAL:
            raise _UnsureError
        else:
            self.written.append(one)
        return True, False

    def _group(self, sure: bool) -> None:
        if self._skip("?:"):
            self.written.append("(?:")
        elif self._next == "?":
            raise _UnsureError
        else:
            self.written.append("(")
            self.groups.append(sure)
        self._empty = self.alternatives(sure=sure)
        if not self._skip(")"):
            raise _UnsureError
        self.written.append(")")

    def _quantifier(self, quantifiable: bool, piece_empty: bool, *, has_groups: bool) -> int:
        """The least number of times; 1 where none is said."""
        one = self._next
        counts = _REPEATED.match(self._pattern, self.at) if one == "{" else None
        if one and one in "?*+":
            self.at += 1
            least, text, most = int(one == "+"), one, 1 if one == "?" else _REPEATED_MAX
        elif counts is not None:
            self.at = counts.end()
            least, text = int(counts[1]), counts[0]
            most = int(counts[3] or _REPEATED_MAX) if counts[2] else least
        else:
            return 1
        if not quantifiable or not least <= most <= _REPEATED_MAX or most == 0:
            raise _UnsureError
        # A group of the last time round, and one that matches nothing, are seen differently.
        if most > 1 and (piece_empty or has_groups):
            raise _UnsureError
        self.written.append(text)
        if self._skip("?"):
            self.written.append("?")
        if self._next and self._next in "?*+{":
            raise _UnsureError
        return least

    def _escape(self) -> None:
        one = self._next
        known = one and (one in _CLASSES or one in _CONTROLS or one in _ESCAPED)
        if not known:
            raise _UnsureError
        self.at += 1
        self.written.append(f"\\{one}" if one not in " _" else one)

    def _class(self) -> None:
        self.written.append("[")
        if self._skip("^"):
            self.written.append("^")
        members = 0
        while not self._skip("]"):
            self._begun = members == 0
            first = self._member()
            self._begun = False
            members += 1
            if self._next == "-" and self._pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                self.written.append("-")
                last = self._member()
                if first is None or last is None or first > last:
                    raise _UnsureError
        if not members:
            raise _UnsureError
        self.written.append("]")

    def _member(self) -> str | None:
        """The character; None where it's several."""
        one = self._next
        if one == "-" and (self._begun or self._pattern[self.at + 1 : self.at + 2] == "]"):
            self.at += 1
            self.written.append("\\-")
            return None
        if not one or one in "[]&^-":
            raise _UnsureError
        if one == "\\":
            self.at += 1
            escaped = self._next
            self._escape()
            return escaped if escaped in _ESCAPED else None
        self.at += 1
        self.written.append(one)
        return one
