"""A statement's text as the words of Trino's lexer, and a cursor over them.

sqlglot's tokenizer of that dialect finds them, so that quotes and comments are Trino's. Promise: no
word of the text is left out, each has its place, and only the text's own end is its end.
"""

from __future__ import annotations

import re
from typing import ClassVar

from sqlglot import TokenType
from sqlglot.dialects.trino import Trino
from sqlglot.errors import TokenError

from accelerator.errors import StatementTooDeepError
from rewrite.dialects.trino.syntax_errors import unread
from rewrite.parse.bounds import HINT, TooDeepError, check_count, check_tokens
from rewrite.parse.cursor import Word, WordCursor, words_in

_CHARACTERS_MAX = 4_000_000
_COMMENT = re.compile(r"--[^\n]*+|/\*.*?(?:\*/|\Z)", re.DOTALL)


class _Tokenizer(Trino.Tokenizer):
    """Trino's, which reads on behind words that are commands to sqlglot."""

    COMMANDS: ClassVar[set[TokenType]] = set()


def words_of(sql: str) -> list[Word]:
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
    return list(words_in(sql, tokens))


def flat_comments(sql: str, words: list[Word]) -> str:
    """The text with comments in which no other one opens, of the same length.

    Trino's end where the first one ends; for a reader to whom they nest, what stands behind would
    be a comment too.
    """
    pieces: list[str] = []
    at = 0
    for word in words:
        pieces += (_COMMENT.sub(_flat, sql[at : word.start]), sql[word.start : word.end])
        at = word.end
    return "".join((*pieces, _COMMENT.sub(_flat, sql[at:])))


def _flat(comment: re.Match[str]) -> str:
    return comment[0][:2] + comment[0][2:].replace("/*", "  ")


class TrinoCursor(WordCursor[Word]):
    """Reads the words of one statement; raises StatementError if one doesn't fit."""

    def name(self, what: str) -> Word:
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


_ESCAPE = re.compile(r"\\(?:(\\)|\+([0-9a-fA-F]{6})|([0-9a-fA-F]{4})|())")


def unescaped(word: Word, cursor: TrinoCursor) -> str:
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
