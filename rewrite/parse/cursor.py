"""The words of statements that are read by hand, and one cursor for every such grammar.

A dialect's tokenizer cuts the text. A token may have several words (PRIMARY KEY), or a name with
its dots (db.2020_t). Promise: every word of the text has its place. Each grammar has a cursor's
class of its own, with its own names, texts and hints. Words may also be tokens of Spark's lexer
(`rewrite/text/spark_lexer.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from sqlglot import Token as SqlglotToken
from sqlglot import TokenType

from rewrite.errors import StatementError
from rewrite.text.printable import one_line, shortened
from rewrite.text.source_position import place_of
from rewrite.text.suggestions import closest, did_you_mean

if TYPE_CHECKING:
    from rewrite.text.spark_lexer import Token

_CAPITALS = re.compile(r"\b[A-Z][A-Z]+\b")
_SHOWN_MAX = 40
_PIECE = re.compile(r"\w+|[^\w\s]")
_TEXTS = frozenset((TokenType.STRING, TokenType.UNICODE_STRING))
QUOTED = _TEXTS | {
    *(TokenType.HEX_STRING, TokenType.NATIONAL_STRING, TokenType.RAW_STRING),
    TokenType.IDENTIFIER,
}
"""Kinds of tokens in quotes."""


class Word(NamedTuple):
    """A word, literal or sign. `end` is behind its last character.

    `key` is a word in capitals or the sign, to compare; it's empty in quotes. `text` is without
    quotes.
    """

    text: str
    key: str
    start: int
    end: int
    kind: TokenType

    @property
    def is_text(self) -> bool:
        """Tests whether it's a text in quotes."""
        return self.kind in _TEXTS

    @property
    def is_number(self) -> bool:
        """Tests whether it's a number without a sign."""
        return self.kind == TokenType.NUMBER

    @property
    def is_name(self) -> bool:
        """Tests whether it may be an identifier of standard SQL."""
        if self.kind == TokenType.IDENTIFIER:
            return bool(self.text)
        return bool(self.key) and (self.key[0].isalpha() or self.key[0] == "_")

    @property
    def name(self) -> str:
        """Returns the identifier: unquoted it's in lower case."""
        return self.text if self.kind == TokenType.IDENTIFIER else self.text.lower()


def words_in(
    sql: str, tokens: Iterable[SqlglotToken], start: int = 0, *, numbers: bool = True
) -> Iterator[Word]:
    """The words of the tokens, which were cut from the text behind `start`.

    Without `numbers` the dots of a number, 0x1f among them, are words of their own.
    """
    for token in tokens:
        begin, end, kind = token.start + start, token.end + 1 + start, token.token_type
        piece = sql[begin:end]
        if kind in QUOTED and (numbers or kind != TokenType.HEX_STRING or piece[0] != "0"):
            yield Word(token.text, "", begin, end, kind)
        elif kind == TokenType.NUMBER and numbers:
            yield Word(token.text, token.text.upper(), begin, end, kind)
        elif len(piece) == 1 or (piece.isascii() and piece.isidentifier()):
            yield Word(piece, piece.upper(), begin, end, kind)
        else:
            for one in _PIECE.finditer(piece):
                yield Word(one[0], one[0].upper(), begin + one.start(), begin + one.end(), kind)


T = TypeVar("T")
W = TypeVar("W", "Word", "Token")


class WordCursor(Generic[W]):
    """A cursor over the words of one statement, which begin behind `start`."""

    def __init__(self, sql: str, words: Sequence[W], start: int = 0) -> None:
        self.sql, self.next, self._start = sql, 0, start
        self.words: Sequence[W] = words
        self.example = ""
        """A statement that errors show, if any."""

    @property
    def behind(self) -> int:
        """Returns the end of the word before the next one."""
        return self.words[self.next - 1].end if self.next else self._start

    def peek(self, ahead: int = 0) -> W | None:
        """The next word, or one behind it."""
        place = self.next + ahead
        return self.words[place] if place < len(self.words) else None

    def at(self, *keys: str) -> bool:
        """Tests whether these words come next."""
        following = self.words[self.next : self.next + len(keys)]
        return [word.key for word in following] == list(keys)

    def take(self, *keys: str) -> bool:
        """Steps over these words if they come next."""
        found = self.at(*keys)
        self.next += len(keys) * found
        return found

    def take_any(self, *keys: str) -> bool:
        """Steps over one of these words if it comes next."""
        return any(self.take(key) for key in keys)

    def one_of(self, *keys: str) -> str:
        """Steps over one of these words, which must come next."""
        for key in keys:
            if self.take(key):
                return key
        raise self.error(" or ".join(keys))

    def expect(self, *keys: str) -> None:
        """Steps over these words, which must come next."""
        for key in keys:
            if not self.take(key):
                raise self.error(key)

    def end(self, expected: str = "the statement's end") -> None:
        """Raises the error if words follow."""
        if self.next < len(self.words):
            raise self.error(expected)

    def ended(self, value: T) -> T:
        """The value, if the statement ends here."""
        self.end()
        return value

    def rest(self) -> str:
        """The text from the next word to the last one; the cursor is at the end then."""
        word = self.peek()
        if word is None:
            raise self.error("a statement")
        self.next = len(self.words)
        return self.sql[word.start : self.behind]

    def error(self, expected: str, hint: str = "") -> StatementError:
        """Returns the error at the next word; its hint names close words, if no other is given."""
        word = self.peek()
        start, end = (self.behind, self.behind) if word is None else (word.start, word.end)
        found = "the end" if word is None else excerpt(self.sql[start:end])
        near = closest(found, [w for w in _CAPITALS.findall(expected) if w != found.upper()])
        return self.fault(f"expected {expected}, found {found}", start, end, near, hint)

    def fault(
        self, message: str, start: int, end: int, near: tuple[str, ...] = (), hint: str = ""
    ) -> StatementError:
        """An error of that part of the text."""
        example = f"for example: {self.example}" if self.example else ""
        return StatementError(
            message,
            hint=hint or " ".join(filter(None, (did_you_mean(near), example))),
            at=place_of(self.sql, start, end),
            suggestions=near,
        )


def excerpt(text: str) -> str:
    """Returns a piece of a statement for a message: in one line, which isn't long."""
    return one_line(shortened(text, _SHOWN_MAX))
