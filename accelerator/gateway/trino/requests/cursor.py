"""A statement's text as the words of Trino's lexer, and a cursor over them.

sqlglot's tokenizer of that dialect finds them, so that quotes and comments are Trino's. Promise: no
word of the text is left out, each has its place, and only the text's own end is its end.
"""

from __future__ import annotations

import re
from typing import ClassVar, NamedTuple

from sqlglot import Token, TokenType
from sqlglot.dialects.trino import Trino
from sqlglot.errors import TokenError

from accelerator.errors import StatementError, StatementTooDeepError
from rewrite.dialects.trino.syntax_errors import unread
from rewrite.parse.bounds import HINT, TooDeepError, check_count, check_tokens
from rewrite.text.printable import one_line
from rewrite.text.source_position import place_of
from rewrite.text.suggestions import closest, did_you_mean

_PIECE = re.compile(r"\w+|[^\w\s]")
_TEXTS = frozenset((TokenType.STRING, TokenType.UNICODE_STRING))
_QUOTED = (*_TEXTS, TokenType.HEX_STRING, TokenType.NATIONAL_STRING, TokenType.IDENTIFIER)
_SHOWN_MAX = 40
_CHARACTERS_MAX = 4_000_000


class _Tokenizer(Trino.Tokenizer):
    """Trino's, which reads on behind words that are commands to sqlglot."""

    COMMANDS: ClassVar[set[TokenType]] = set()


class TrinoWord(NamedTuple):
    """A word, literal or sign. `end` is behind its last character.

    `key` is a word in capitals or the sign, to compare; empty of what stands in quotes. `text` is
    without quotes.
    """

    text: str
    key: str
    start: int
    end: int
    kind: TokenType

    @property
    def is_text(self) -> bool:
        """Whether it's a text in quotes."""
        return self.kind in _TEXTS

    @property
    def is_number(self) -> bool:
        """Whether it's a number without a sign."""
        return self.kind == TokenType.NUMBER

    @property
    def is_name(self) -> bool:
        """Whether it may be an identifier."""
        if self.kind == TokenType.IDENTIFIER:
            return bool(self.text)
        return bool(self.key) and (self.key[0].isalpha() or self.key[0] == "_")

    @property
    def name(self) -> str:
        """As an identifier: unquoted it's in lower case."""
        return self.text if self.kind == TokenType.IDENTIFIER else self.text.lower()


def words_of(sql: str) -> list[TrinoWord]:
    """All words of the text, semicolons among them; StatementError where a quote isn't closed."""
    if len(sql) > _CHARACTERS_MAX:
        raise StatementTooDeepError(
            f"the statement is longer than {_CHARACTERS_MAX:,} characters", hint=HINT
        )
    try:
        check_tokens(sql)
        tokens = _Tokenizer(dialect="trino").tokenize(sql)
        check_count(tokens)
    except TooDeepError as error:
        raise StatementTooDeepError(f"the statement isn't read: {error}", hint=HINT) from error
    except TokenError as error:
        raise unread(sql, error) from error
    return [word for token in tokens for word in _words(sql, token)]


def _words(sql: str, token: Token) -> list[TrinoWord]:
    """Of one token, which may hold several: GROUP BY, DOUBLE PRECISION."""
    start, end, kind = token.start, token.end + 1, token.token_type
    if kind in _QUOTED:
        return [TrinoWord(token.text, "", start, end, kind)]
    if kind == TokenType.NUMBER:
        return [TrinoWord(token.text, token.text.upper(), start, end, kind)]
    piece = sql[start:end]
    if len(piece) == 1 or (piece.isascii() and piece.isidentifier()):
        return [TrinoWord(piece, piece.upper(), start, end, kind)]
    return [
        TrinoWord(one[0], one[0].upper(), start + one.start(), start + one.end(), kind)
        for one in _PIECE.finditer(piece)
    ]


def flat_comments(sql: str, words: list[TrinoWord]) -> str:
    """The text with comments in which no other one opens, of the same length.

    Trino's end where the first one ends; for a reader to whom they nest, what stands behind would
    be a comment too.
    """
    pieces: list[str] = []
    at = 0
    for word in words:
        pieces.extend((_flat(sql[at : word.start]), sql[word.start : word.end]))
        at = word.end
    return "".join((*pieces, _flat(sql[at:])))


def _flat(gap: str) -> str:
    """What stands between two words: blanks and comments."""
    pieces: list[str] = []
    at = 0
    while (start := gap.find("/*", at)) >= 0:
        line = gap.find("--", at, start)
        if line >= 0:  # a comment up to its line's end, in which the other one is nothing
            end = gap.find("\n", line)
            end = len(gap) if end < 0 else end
            pieces.append(gap[at:line] + gap[line:end].replace("/*", "  "))
        else:
            end = gap.find("*/", start + 2)
            end = len(gap) if end < 0 else end + 2
            pieces.append(gap[at : start + 2] + gap[start + 2 : end].replace("/*", "  "))
        at = end
    return "".join((*pieces, gap[at:]))


class TrinoCursor:
    """Over the words of one statement; takes what fits, else raises StatementError."""

    def __init__(self, sql: str, words: list[TrinoWord]) -> None:
        self.sql, self.words, self.next = sql, words, 0

    def peek(self, ahead: int = 0) -> TrinoWord | None:
        """The next word, or one behind it."""
        place = self.next + ahead
        return self.words[place] if place < len(self.words) else None

    def at(self, *keys: str) -> bool:
        """Whether these words come next."""
        following = self.words[self.next : self.next + len(keys)]
        return [word.key for word in following] == list(keys)

    def take(self, *keys: str) -> bool:
        """Steps over these words if they come next."""
        found = self.at(*keys)
        self.next += len(keys) * found
        return found

    def one_of(self, *keys: str) -> str:
        """Steps over one of these words."""
        for key in keys:
            if self.take(key):
                return key
        raise self.error(" or ".join(keys))

    def expect(self, *keys: str) -> None:
        """Steps over these words, which must come next."""
        for key in keys:
            if not self.take(key):
                raise self.error(key)

    def name(self, what: str) -> TrinoWord:
        """An identifier of one part."""
        word = self.peek()
        if word is None or not word.is_name:
            raise self.error(what)
        self.next += 1
        return word

    def path(self, what: str) -> tuple[str, ...]:
        """An identifier of one or more parts."""
        parts = [self.name(what).name]
        while self.take("."):
            parts.append(self.name("a name behind the dot").name)
        return tuple(parts)

    def text(self, what: str) -> str:
        """A text in quotes."""
        word = self.peek()
        if word is None or not word.is_text:
            raise self.error(what)
        self.next += 1
        return unescaped(word, self)

    def ended(self) -> None:
        """Nothing may follow."""
        if self.next < len(self.words):
            raise self.error("the statement's end")

    def rest(self) -> str:
        """What follows, as written; it's at the end then."""
        if self.next >= len(self.words):
            raise self.error("a statement")
        start, self.next = self.words[self.next].start, len(self.words)
        return self.sql[start : self.words[-1].end]

    def error(self, expected: str, hint: str = "") -> StatementError:
        """What is wrong at the next word; a word that is near is the hint, if no other is given."""
        word = self.peek()
        if word is None:
            end = self.words[-1].end if self.words else len(self.sql)
            return StatementError(
                f"expected {expected}, found the end", hint=hint, at=place_of(self.sql, end, end)
            )
        found = shown(self.sql[word.start : word.end])
        near = closest(found, [w for w in expected.split() if w.isupper() and w != word.key])
        return StatementError(
            f"expected {expected}, found {found}",
            hint=hint or did_you_mean(near),
            at=place_of(self.sql, word.start, word.end),
            suggestions=near,
        )


def shown(text: str) -> str:
    """A piece of a statement as a message has it: in a line, and not a long one."""
    return one_line(text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…")


_ESCAPE = re.compile(r"\\(?:(\\)|\+([0-9a-fA-F]{6})|([0-9a-fA-F]{4})|())")


def unescaped(word: TrinoWord, cursor: TrinoCursor) -> str:
    """A text's characters; those of U&'…' may be written by their numbers, behind backslashes."""
    if word.kind != TokenType.UNICODE_STRING:
        return word.text
    if cursor.at("UESCAPE"):
        raise cursor.error("no UESCAPE (write the characters by \\XXXX)")

    def character(found: re.Match[str]) -> str:
        if found[1]:
            return "\\"
        number = int(found[2] or found[3] or "110000", 16)
        if number > 0x10FFFF or 0xD800 <= number < 0xE000:
            cursor.next -= 1
            raise cursor.error("numbers of characters behind the backslashes")
        return chr(number)

    return _ESCAPE.sub(character, word.text)
