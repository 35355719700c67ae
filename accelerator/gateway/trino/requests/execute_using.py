"""Constants of EXECUTE … USING: which expressions are some, and how they take a marker's place.

Promise: a parameter's text is a slice of what the client wrote and is a constant through and
through; in the other text it's one operand, whatever stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from msgspec import Struct
from sqlglot import TokenType

from accelerator.errors import AcceleratorError, ParameterError, StatementError
from accelerator.gateway.trino.requests.cursor import TrinoCursor
from rewrite.parse.cursor import Word, excerpt
from rewrite.text.source_position import place_of

TYPED = frozenset(
    (
        *("BIGINT", "BOOLEAN", "CHAR", "DATE", "DECIMAL", "DOUBLE", "INT", "INTEGER", "JSON"),
        *("REAL", "SMALLINT", "TIME", "TIMESTAMP", "TINYINT", "UUID", "VARBINARY", "VARCHAR"),
    )
)
"""Names of types that a text may follow, as in DATE '2026-01-31'."""
_FIELDS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
_KEYWORDS = ("NULL", "TRUE", "FALSE")
_FUNCTIONS = ("NAN", "INFINITY")
_WHOLE = ("BIGINT", "INT", "INTEGER", "SMALLINT", "TINYINT")
_COUNTED = ("LIMIT", "OFFSET", "FIRST", "NEXT")
"""Behind these stands a number of rows."""
_APART = frozenset(("", " ", "\n", "\t", "(", ")", "[", "]", ","))
"""What may stand beside a constant without becoming part of it."""
_DEPTH_MAX = 32
_COUNT_MAX = 10_000
_CHARACTERS_MAX = 16_000_000


class Constant(Struct, frozen=True):
    """A parameter's text; `bare` where no sign in front may run into another one.

    `whole` is a typed whole number without its type, which LIMIT may not have: INTEGER '2'.
    """

    text: str
    bare: bool = True
    whole: str = ""


def constants(cursor: TrinoCursor) -> list[Constant]:
    """The constants up to the end, with commas between; StatementError where one is none."""
    found = [_parameter(cursor)]
    while cursor.take(","):
        found.append(_parameter(cursor))
        if len(found) > _COUNT_MAX:
            raise ParameterError(f"there are more than {_COUNT_MAX:,} parameters")
    return cursor.ended(found)


def scalar(cursor: TrinoCursor) -> str:
    """The text of a constant that is a text, number or boolean: a session property's value."""
    word = cursor.peek()
    if word is not None and word.is_text:
        return cursor.text("a text")
    if cursor.at("TRUE") or cursor.at("FALSE"):
        return cursor.one_of("TRUE", "FALSE").lower()
    sign = "-" if cursor.take("-") else ""
    word = cursor.peek()
    if word is None or not word.is_number:
        raise cursor.error("a number, true, false or a text in quotes")
    cursor.next += 1
    return sign + word.text


def _parameter(cursor: TrinoCursor) -> Constant:
    first = cursor.next
    bare = not (cursor.at("-") or cursor.at("+"))
    _constant(cursor, 0)
    words = cursor.words[first : cursor.next]
    typed = len(words) == 2 and words[0].key in _WHOLE and words[1].text.isascii()
    whole = words[1].text if typed and words[1].text.isdecimal() else ""
    return Constant(cursor.sql[words[0].start : words[-1].end], bare, whole)


def _constant(cursor: TrinoCursor, depth: int) -> None:
    """Steps over one."""
    if depth > _DEPTH_MAX:
        raise cursor.error(f"a constant of no more than {_DEPTH_MAX} levels")
    word = cursor.peek()
    if word is None:
        raise cursor.error("a constant")
    if word.is_text:
        cursor.text("a text")
    elif word.is_number:
        cursor.next += 1
    elif word.kind == TokenType.HEX_STRING and cursor.sql[word.start] in "xX":
        _hexadecimal(cursor, word)
    elif word.key in TYPED:
        _typed(cursor, depth)
    elif word.key in _FORMS:
        _FORMS[word.key](cursor, depth)
    else:
        raise _no_constant(cursor)


def _signed(cursor: TrinoCursor, depth: int) -> None:
    cursor.one_of("-", "+")
    word = cursor.peek()
    if word is not None and word.key in _FUNCTIONS:
        _function(cursor, depth)
    elif word is not None and word.key in TYPED:
        _typed(cursor, depth)
    elif word is not None and word.is_number:
        cursor.next += 1
    else:
        raise _no_constant(cursor)


def _typed(cursor: TrinoCursor, _: int) -> None:
    cursor.next += 1
    cursor.take("PRECISION")
    word = cursor.peek()
    if word is None or not word.is_text:
        cursor.next -= 1
        raise _no_constant(cursor)
    cursor.text("a text")


def _function(cursor: TrinoCursor, _: int) -> None:
    cursor.next += 1
    cursor.expect("(", ")")


def _hexadecimal(cursor: TrinoCursor, word: Word) -> None:
    try:
        bytes.fromhex(word.text)
    except ValueError:
        raise cursor.error("pairs of hexadecimal digits") from None
    cursor.next += 1


def _interval(cursor: TrinoCursor, _: int) -> None:
    cursor.expect("INTERVAL")
    if not cursor.take("-"):
        cursor.take("+")
    cursor.text("an interval's text in quotes")
    cursor.one_of(*_FIELDS)
    if cursor.take("TO"):
        cursor.one_of(*_FIELDS)


def _cast(cursor: TrinoCursor, depth: int) -> None:
    cursor.next += 1
    cursor.expect("(")
    _constant(cursor, depth + 1)
    cursor.expect("AS")
    if cursor.at(")"):
        raise cursor.error("a type")
    opened = 0
    while opened or not cursor.at(")"):  # a type: names, numbers, commas, parentheses
        word = cursor.peek()
        if word is None or not (word.is_name or word.is_number or word.key in ("(", ")", ",")):
            raise cursor.error("a type")
        opened += (word.key == "(") - (word.key == ")")
        cursor.next += 1
    cursor.expect(")")


def _collection(cursor: TrinoCursor, depth: int) -> None:
    """ARRAY[…], ROW(…), or MAP(…) of two arrays."""
    kind = cursor.one_of("ARRAY", "ROW", "MAP")
    closing = "]" if kind == "ARRAY" else ")"
    cursor.expect("[" if kind == "ARRAY" else "(")
    if not cursor.at(closing):
        _constant(cursor, depth + 1)
        while cursor.take(","):
            _constant(cursor, depth + 1)
    cursor.expect(closing)


def _keyword(cursor: TrinoCursor, _: int) -> None:
    cursor.next += 1


def _enclosed(cursor: TrinoCursor, depth: int) -> None:
    cursor.expect("(")
    _constant(cursor, depth + 1)
    cursor.expect(")")


_FORMS: dict[str, Callable[[TrinoCursor, int], None]] = {
    **dict.fromkeys(_KEYWORDS, _keyword),
    **dict.fromkeys(_FUNCTIONS, _function),
    **dict.fromkeys(("+", "-"), _signed),
    **dict.fromkeys(("CAST", "TRY_CAST"), _cast),
    **dict.fromkeys(("ARRAY", "ROW", "MAP"), _collection),
    "(": _enclosed,
    "INTERVAL": _interval,
}
"""What steps over a constant that begins with that word."""


def _no_constant(cursor: TrinoCursor) -> AcceleratorError:
    word = cursor.peek()
    if word is None:
        return cursor.error("a constant")
    return ParameterError(
        f"a parameter is a constant, and {excerpt(cursor.sql[word.start : word.end])} is none",
        hint="give a literal, CAST of one, or ARRAY[…] of some",
        at=place_of(cursor.sql, word.start, word.end),
    )


def markers(words: Sequence[Word]) -> list[Word]:
    """The words that are markers; `??` is two of them."""
    found = [word for word in words if word.key == "?"]
    return [word for word in found if word.kind in (TokenType.PLACEHOLDER, TokenType.DQMARK)]


def spliced(sql: str, words: Sequence[Word], values: Sequence[Constant]) -> str:
    """The text with constants in the places of its markers, nothing else changed.

    ParameterError where there are not as many of them as markers, StatementError where one would
    become part of another literal.
    """
    places = markers(words)
    if len(places) != len(values):
        raise ParameterError(
            f"the statement has {len(places)} parameters, and {len(values)} are given",
            hint="EXECUTE … USING gives one for each ?",
        )
    size = len(sql) + sum(len(one.text) + 4 for one in values)
    if size > _CHARACTERS_MAX:
        raise ParameterError(f"with its parameters it's longer than {_CHARACTERS_MAX:,} characters")
    before = {word.start: earlier for earlier, word in pairwise(words)}
    pieces: list[str] = []
    at = 0
    for word, value in zip(places, values, strict=True):
        ahead = sql[max(0, word.start - 1) : word.start]
        lead = "" if ahead in _APART or at == word.start else " "
        tail = "" if sql[word.end : word.end + 1] in _APART else " "
        earlier = before.get(word.start)
        _check_operand(sql, earlier, word)
        text = value.text if value.bare else f"({value.text})"
        if value.whole and earlier is not None and earlier.key in _COUNTED:
            text = value.whole
        pieces.extend((sql[at : word.start], lead, text, tail))
        at = word.end
    return "".join((*pieces, sql[at:]))


def _check_operand(sql: str, before: Word | None, marker: Word) -> None:
    """A text behind a type's name would be a literal of that type, which the marker isn't."""
    if before is not None and (before.key in TYPED or before.key in ("INTERVAL", "PRECISION")):
        name = sql[before.start : before.end]
        raise StatementError(
            f"{excerpt(name)} can't stand before a parameter",
            hint=f"CAST(? AS {excerpt(name).upper()}), or ? * INTERVAL '1' DAY",
            at=place_of(sql, marker.start, marker.end),
        )
