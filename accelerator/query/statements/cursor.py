"""A cursor over the words of one statement of ours; `StatementError` for what doesn't fit.

Quotes and comments are the dialect's; texts handed on are slices of the original. An error says
where, what was expected, and shows an example.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import dropwhile, pairwise, takewhile

from sqlglot import TokenType

from accelerator.errors import StatementError
from rewrite.identifiers.quoting import HINT, REFERENCE
from rewrite.parse.bounds import tokens_of
from rewrite.parse.cursor import Word, WordCursor, words_in
from rewrite.text.first_look import QUERY_WORDS, place
from rewrite.text.printable import one_line
from rewrite.text.suggestions import closest

# Unquoted, these are never meant as a name where our statements want one.
NEVER_NAMES = frozenset(
    ("AS", "CHECK", "FOREIGN", "FROM", "IF", "IN", "ON", "PRIMARY", "SELECT", "UNIQUE", "WITH")
)


class Reader(WordCursor[Word]):
    """The words behind a statement's first one, up to its semicolon."""

    def __init__(self, sql: str, start: int, dialect: str, example: str) -> None:
        words = list(words_in(sql, tokens_of(sql[start:], dialect), start, numbers=False))
        super().__init__(sql, list(takewhile(_goes_on, words)), start)
        behind = dropwhile(_goes_on, words)
        self._beyond = next(filter(_goes_on, behind), None)
        self._replaceable: Word | None = None
        self.example = example

    def meant(self, example: str) -> None:
        """From here on the statement is known; errors show its example."""
        self.example = example

    def is_near(self, *keys: str) -> bool:
        """Whether the next word is none of these, but nearly one."""
        word = self.peek()
        return word is not None and word.key not in keys and bool(closest(word.key, keys))

    def name(self, what: str) -> str:
        """A name of one part."""
        word = self.peek()
        if word is None or not _is_name(word) or word.key in NEVER_NAMES or not word.text:
            raise self.error(what)
        self.next += 1
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
        raise self.fault(
            f"the name {one_line(word.text)} has ${{ in it, which Spark may replace by a"
            " variable's value",
            word.start,
            word.end,
            hint=HINT,
        )

    def cube(self) -> str:
        """A cube's name, which has one part."""
        name = self.name("the cube's name")
        if self.at("."):
            raise self.error("a cube's name of one part (in backticks if it has dots)")
        return name

    def table(self) -> tuple[str, ...]:
        """A table's name, in parts."""
        return self._parts("a table's name", "a name behind the dot")

    def path(self, what: str) -> tuple[str, ...]:
        """A column's name, or a field's inside it."""
        return self._parts(what, "a field's name behind the dot")

    def _parts(self, first: str, behind: str) -> tuple[str, ...]:
        parts = [self.name(first)]
        while self.take("."):
            parts.append(self.name(behind))
        return tuple(parts)

    def at_path_before(self, key: str) -> bool:
        """Whether up to that word there are but names with dots, as far as that can be told.

        Where it holds a `path` is to be read, else a `text_before` the word.
        """
        words = self.words[self.next : self._place_of(key)]
        names = [_is_name(word) for word in words]
        beside = any(one and other for one, other in pairwise(names))
        return not beside and all(_is_name(word) or word.key == "." for word in words)

    def text_before(self, key: str) -> str:
        """What stands up to that word outside of parentheses, or up to the end, as written."""
        start, self.next = self.next, self._place_of(key)
        return self.sql[self.words[start].start : self.behind]

    def _place_of(self, key: str) -> int:
        """Of the next such word outside of parentheses; behind the last one where there is none."""
        depth = 0
        for number in range(self.next, len(self.words)):
            found = self.words[number].key
            if found == key and not depth:
                return number
            depth += (found == "(") - (found == ")")
        return len(self.words)

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
        word = self.peek()
        if word is not None and word.kind == TokenType.STRING:
            return name, self.quoted("a text")
        if word is not None and word.key and _is_name(word):  # auto and the like
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
        place = self.next
        text = self._digits()
        if text is None or len(text) > 18:
            self.next = place
            raise self.error(what)
        return int(text)

    def _digits(self) -> str | None:
        word = self.peek()
        if word is None or not (word.key.isascii() and word.key.isdigit()):
            return None
        self.next += 1
        return word.text

    def quoted(self, what: str) -> str:
        """A text in quotes."""
        word = self.peek()
        if word is None or word.kind != TokenType.STRING:
            raise self.error(what)
        self.next += 1
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
        if not (self.at("(") or any(map(self.at, QUERY_WORDS))):
            raise self.error("a query (SELECT …)")
        start, self.next = self.behind, len(self.words)
        self.end()
        return self.sql[start : self.behind].strip()

    def end(self, expected: str = "the statement's end") -> None:
        """Raises the error if words follow, or a second statement does."""
        super().end(expected)
        if self._beyond is not None:
            raise self.fault(
                "a second statement begins",
                self._beyond.start,
                self._beyond.end,
                hint="give one statement at a time",
            )

    def fault(
        self, message: str, start: int, end: int, near: tuple[str, ...] = (), hint: str = ""
    ) -> StatementError:
        """An error of that part of the text, which its message names by line and column."""
        message = f"{place(self.sql, start)}: {message}"
        return super().fault(message, start, end, near, hint)

    def wrong(self, error: StatementError) -> StatementError:
        """That error, of the last word: with its place."""
        word = self.words[self.next - 1]
        return self.fault(error.message, word.start, word.end, hint=error.hint)

    def unknown(self, message: str, name: str, known: Iterable[str]) -> StatementError:
        """What the last word isn't one of; `message` says so."""
        word = self.words[self.next - 1]
        return super().fault(message, word.start, word.end, closest(name, sorted(known)))


def _goes_on(word: Word) -> bool:
    return word.kind != TokenType.SEMICOLON


def _is_name(word: Word) -> bool:
    """Whether it may be a name: Spark takes digits in front, but not digits alone."""
    if not word.key:
        return word.kind == TokenType.IDENTIFIER
    return (word.key[0].isalnum() or word.key[0] == "_") and not word.key.isdigit()
