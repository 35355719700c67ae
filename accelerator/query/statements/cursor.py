"""A cursor over the words of one statement: takes what fits, else raises `StatementError`.

sqlglot's tokenizer finds the words, so that comments and quotes are the dialect's; texts handed on
are slices of the original. An error says where, what was expected, and shows an example.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple, TypeVar

from sqlglot import Token, TokenType

from accelerator.errors import StatementError
from rewrite.identifiers.quoting import HINT, REFERENCE
from rewrite.parse.bounds import tokens_of
from rewrite.text.first_look import QUERY_WORDS, place
from rewrite.text.printable import one_line
from rewrite.text.source_position import place_of
from rewrite.text.suggestions import closest, did_you_mean

_T = TypeVar("_T")

# A tokenizer's word may hold several of ours (PRIMARY KEY), or a name with its dots (db.2020_t).
_PIECE = re.compile(r"\w+|[^\w\s]")
_CAPITALS = re.compile(r"\b[A-Z][A-Z]+\b")
# Unquoted, these are never meant as a name where our statements want one.
NEVER_NAMES = frozenset(
    ("AS", "CHECK", "FOREIGN", "FROM", "IF", "IN", "ON", "PRIMARY", "SELECT", "UNIQUE", "WITH")
)


class Word(NamedTuple):
    """A word or sign: `text` without quotes, `key` in capitals to compare (empty where quoted)."""

    text: str
    key: str
    start: int
    end: int
    is_name: bool


class Reader:
    """The words behind a statement's first one, up to its semicolon."""

    def __init__(self, sql: str, start: int, dialect: str, example: str) -> None:
        self._sql, self._example = sql, example
        self._words: list[Word] = []
        self._beyond: Word | None = None
        self._replaceable: Word | None = None
        self._next, self._previous_end = 0, start
        self._read(tokens_of(sql[start:], dialect), start)

    def _read(self, tokens: list[Token], start: int) -> None:
        ended = False
        for token in tokens:
            if token.token_type == TokenType.SEMICOLON:
                ended = True
            elif not ended:
                self._words.extend(_words(self._sql, token, start))
            else:
                self._beyond = self._beyond or _words(self._sql, token, start)[0]

    def meant(self, example: str) -> None:
        """From here on the statement is known; errors show its example."""
        self._example = example

    def at(self, *keys: str) -> bool:
        """Whether these words come next."""
        following = self._words[self._next : self._next + len(keys)]
        return len(following) == len(keys) and all(
            word.key == key for word, key in zip(following, keys, strict=True)
        )

    def is_near(self, *keys: str) -> bool:
        """Whether the next word is none of these, but nearly one."""
        word = self._words[self._next] if self._next < len(self._words) else None
        return word is not None and word.key not in keys and bool(closest(word.key, keys))

    def take(self, *keys: str) -> bool:
        """Steps over these words if they come next."""
        if not self.at(*keys):
            return False
        self._next += len(keys)
        self._previous_end = self._words[self._next - 1].end
        return True

    def expect(self, *keys: str) -> None:
        """Steps over these words, which must come next."""
        for key in keys:
            if not self.take(key):
                raise self.error(key)

    def name(self, what: str) -> str:
        """A name of one part."""
        word = self._words[self._next] if self._next < len(self._words) else None
        if word is None or not word.is_name or word.key in NEVER_NAMES or not word.text:
            raise self.error(what)
        self._next += 1
        self._previous_end = word.end
        if REFERENCE in word.text:
            self._replaceable = word
        return word.text

    def check_names(self) -> None:
        """StatementError if a name was read that Spark may replace by a variable's value.

        To be called once the statement is ours: in others it means what Spark says.
        """
        word = self._replaceable
        if word is None:
            return
        raise StatementError(
            f"{place(self._sql, word.start)}: the name {one_line(word.text)} has ${{ in it, which"
            " Spark may replace by a variable's value",
            hint=HINT,
            at=place_of(self._sql, word.start, word.end),
        )

    def cube(self) -> str:
        """A cube's name, which has one part."""
        name = self.name("the cube's name")
        if self.at("."):
            raise self.error("a cube's name of one part (in backticks if it has dots)")
        return name

    def table(self) -> tuple[str, ...]:
        """A table's name, in parts."""
        parts = [self.name("a table's name")]
        while self.take("."):
            parts.append(self.name("a name behind the dot"))
        return tuple(parts)

    def path(self, what: str) -> tuple[str, ...]:
        """A column's name, or a field's inside it."""
        parts = [self.name(what)]
        while self.take("."):
            parts.append(self.name("a field's name behind the dot"))
        return tuple(parts)

    def at_path_before(self, key: str) -> bool:
        """Whether up to that word there are but names with dots, as far as that can be told.

        Where it holds a `path` is to be read, else a `text_before` the word.
        """
        words = self._words[self._next : self._place_of(key)]
        names = [word.is_name for word in words]
        beside = any(one and other for one, other in pairwise(names))
        return not beside and all(word.is_name or word.key == "." for word in words)

    def text_before(self, key: str) -> str:
        """What stands up to that word outside of parentheses, or up to the end, as written."""
        start, end = self._next, self._place_of(key)
        self._next, self._previous_end = end, self._words[end - 1].end
        return self._sql[self._words[start].start : self._previous_end]

    def _place_of(self, key: str) -> int:
        """Of the next such word outside of parentheses; behind the last one where there is none."""
        depth = 0
        for number in range(self._next, len(self._words)):
            found = self._words[number].key
            if found == key and not depth:
                return number
            depth += (found == "(") - (found == ")")
        return len(self._words)

    def options(self) -> tuple[tuple[str, str | float | bool], ...]:
        """`(name = value, …)`: numbers, true, false, texts in quotes, words without."""
        self.expect("(")
        found = [self._option()]
        while self.take(","):
            found.append(self._option())
        if not self.take(")"):
            raise self.error(", or )")
        return tuple(found)

    def _option(self) -> tuple[str, str | float | bool]:
        name = self.name("an option's name").lower()
        self.expect("=")
        if self.take("TRUE"):
            return name, True
        if self.take("FALSE"):
            return name, False
        word = self._words[self._next] if self._next < len(self._words) else None
        if word is not None and not word.key and not word.is_name:  # in quotes
            self._next += 1
            self._previous_end = word.end
            return name, word.text
        if word is not None and word.is_name and word.key:  # auto and the like
            return name, self.name("a word").lower()
        sign = -1 if self.take("-") else 1
        return name, sign * self.number("a number, true, false or a text in quotes")

    def number(self, what: str) -> float:
        """A number without a sign; its digits, dot and digits are words of their own."""
        text = self._digits()
        if text is None:
            raise self.error(what)
        if self.take("."):
            text += f".{self._digits() or ''}"
        return float(text)

    def whole(self, what: str) -> int:
        """A whole number without a sign, of 18 digits at most."""
        place = self._next
        text = self._digits()
        if text is None or len(text) > 18:
            self._next = place
            raise self.error(what)
        return int(text)

    def _digits(self) -> str | None:
        word = self._words[self._next] if self._next < len(self._words) else None
        if word is None or not (word.key.isascii() and word.key.isdigit()):
            return None
        self._next += 1
        self._previous_end = word.end
        return word.text

    def quoted(self, what: str) -> str:
        """A text in quotes."""
        word = self._words[self._next] if self._next < len(self._words) else None
        if word is None or word.key or word.is_name:
            raise self.error(what)
        self._next += 1
        self._previous_end = word.end
        return word.text

    def columns(self) -> tuple[str, ...]:
        """Column names in parentheses."""
        self.expect("(")
        names = [self.name("a column's name")]
        while self.take(","):
            names.append(self.name("a column's name"))
        if not self.take(")"):
            raise self.error(", or )")
        return tuple(names)

    def query(self) -> str:
        """The rest, which must be a query, as written."""
        if not (self.at("(") or any(self.at(word) for word in QUERY_WORDS)):
            raise self.error("a query (SELECT …)")
        start, self._next = self._previous_end, len(self._words)
        self._previous_end = self._words[-1].end
        self.end()
        return self._sql[start : self._previous_end].strip()

    def end(self, expected: str = "the statement's end") -> None:
        """Nothing may follow but semicolons."""
        if self._next < len(self._words):
            raise self.error(expected)
        if self._beyond is not None:
            raise StatementError(
                f"{place(self._sql, self._beyond.start)}: a second statement begins",
                hint="give one statement at a time",
                at=place_of(self._sql, self._beyond.start, self._beyond.end),
            )

    def ended(self, value: _T) -> _T:
        """The value, if the statement ends here."""
        self.end()
        return value

    def error(self, expected: str) -> StatementError:
        """What is wrong at the next word."""
        found, position, end = "the end", self._previous_end, self._previous_end
        if self._next < len(self._words):
            word = self._words[self._next]
            found, position, end = self._sql[word.start : word.end], word.start, word.end
        words = [one for one in _CAPITALS.findall(expected) if one != found.upper()]
        near = closest(found, words)
        meant = f"{did_you_mean(near)} " if near else ""
        return StatementError(
            f"{place(self._sql, position)}: expected {expected}, found {found}",
            hint=f"{meant}for example: {self._example}",
            at=place_of(self._sql, position, end),
            suggestions=near,
        )

    def wrong(self, error: StatementError) -> StatementError:
        """That error, of the last word: with its place."""
        word = self._words[self._next - 1]
        return StatementError(
            f"{place(self._sql, word.start)}: {error.message}",
            hint=error.hint,
            at=place_of(self._sql, word.start, word.end),
        )

    def unknown(self, message: str, name: str, known: Iterable[str]) -> StatementError:
        """What the last word isn't one of; `message` says so."""
        word = self._words[self._next - 1]
        near = closest(name, sorted(known))
        meant = f"{did_you_mean(near)} " if near else ""
        return StatementError(
            message,
            hint=f"{meant}for example: {self._example}",
            at=place_of(self._sql, word.start, word.end),
            suggestions=near,
        )


def _words(sql: str, token: Token, offset: int) -> list[Word]:
    """The token's words, with positions in the whole text."""
    start, end = token.start + offset, token.end + 1 + offset
    if token.token_type in (TokenType.IDENTIFIER, TokenType.STRING):
        is_name = token.token_type == TokenType.IDENTIFIER
        return [Word(token.text, "", start, end, is_name)]
    whole = sql[start:end]
    if len(whole) == 1 or (whole.isascii() and whole.isidentifier()):
        return [Word(whole, whole.upper(), start, end, _named(whole))]
    return [
        Word(
            piece[0], piece[0].upper(), start + piece.start(), start + piece.end(), _named(piece[0])
        )
        for piece in _PIECE.finditer(whole)
    ] or [Word(token.text, "", start, end, False)]


def _named(piece: str) -> bool:
    """Whether it may be an unquoted name: Spark takes digits in front, but not digits alone."""
    return (piece[0].isalnum() or piece[0] == "_") and not piece.isdigit()
