"""Names and patterns of names: `*` stands for any letters of one part, everything else for itself.

Promises: a match takes time linear in the name, whatever the pattern. Two ways of comparing are
told apart, since a doubt counts against the asker. `narrow`, for what allows: only A to Z have two
cases. `broad`, for what denies: whatever some catalog may take for the same name is the same.
"""

from __future__ import annotations

import unicodedata

from msgspec import Struct

LENGTH_MAX = 512
"""Characters of a pattern, or of a part of a name."""
_LOWER = {ord(upper): upper.lower() for upper in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def narrow(text: str) -> str:
    """The text with A to Z in lower case; no other letter becomes one of these.

    >>> narrow("Orders"), narrow("\u212aeys") == "keys"
    ('orders', False)
    """
    return text.lower() if text.isascii() else text.translate(_LOWER)


def broad(text: str) -> str:
    """The text without case, accents, forms of letters, and blanks at its ends.

    Catalogs differ: Java's comparison takes dotted and dotless i for one letter, some databases
    leave out accents and blanks at the end.

    >>> broad("\u212aEYS "), broad("\u017fecret"), broad("\u0130d"), broad("\u00e9tat")
    ('keys', 'secret', 'id', 'etat')
    """
    return _folded(text).strip()


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    kept = (letter for letter in parts if unicodedata.category(letter) not in ("Mn", "Cf"))
    return "".join(kept).replace("\u0131", "i")


class Levels(Struct, frozen=True):
    """A pattern of a namespace for rules that allow: level by level, so that no `*` crosses one.

    >>> [Levels.of("shop.*").matches(one) for one in ("shop.eu", "shop", "shop.eu.old")]
    [True, False, False]
    """

    globs: tuple[Glob, ...]

    @classmethod
    def of(cls, pattern: str) -> Levels:
        """Compiles a pattern for texts that `narrow` has folded."""
        return cls(tuple(map(Glob.of, pattern.split("."))))

    @property
    def is_any(self) -> bool:
        """Returns whether the pattern is `*`, which matches namespaces of one level."""
        return len(self.globs) == 1 and self.globs[0].is_any

    def matches(self, text: str) -> bool:
        """Returns whether the namespace has as many levels, each matching its pattern."""
        levels = text.split(".")
        return len(levels) == len(self.globs) and all(
            glob.matches(level) for glob, level in zip(self.globs, levels, strict=True)
        )


class Glob(Struct, frozen=True):
    """A pattern, compiled: the texts between its stars, in one of the two foldings."""

    pieces: tuple[str, ...]

    @classmethod
    def of(cls, pattern: str, *, broadly: bool = False) -> Glob:
        """For texts that went through `broad`, or else through `narrow`."""
        pieces = [_folded(one) if broadly else narrow(one) for one in pattern.split("*")]
        if broadly:
            pieces[0], pieces[-1] = pieces[0].lstrip(), pieces[-1].rstrip()
        return cls(tuple(pieces))

    @classmethod
    def exact(cls, pattern: str) -> Glob:
        """For texts as they are: names of users have their case."""
        return cls(tuple(pattern.split("*")))

    @property
    def is_any(self) -> bool:
        """Whether it's `*`."""
        return len(self.pieces) > 1 and not any(self.pieces)

    def matches(self, text: str) -> bool:
        """Whether the whole text is of the pattern.

        >>> [Glob.of("sales_*_v*").matches(one) for one in ("sales_x_v2", "sales_v2")]
        [True, False]
        """
        first, *middle = self.pieces
        if not middle:
            return text == first
        last = middle.pop()
        if len(text) < len(first) + len(last):
            return False
        if not (text.startswith(first) and text.endswith(last)):
            return False
        at, end = len(first), len(text) - len(last)
        for piece in middle:
            found = text.find(piece, at, end)
            if found < 0:
                return False
            at = found + len(piece)
        return True
