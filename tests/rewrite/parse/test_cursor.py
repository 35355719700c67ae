"""The one cursor of grammars that are read by hand, and the words that it steps over."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.errors import TokenError

from rewrite.errors import StatementError
from rewrite.parse.bounds import tokens_of
from rewrite.parse.cursor import Word, WordCursor, words_in

_PARTS = (
    *("'it''s'", '"a"', "`b c`", "1.5", "x", "_y", "GROUP BY", "PRIMARY KEY", "2020_t", "é"),
    *("r'x'", "X'00'", "/* c */", "--\n", " ", "\n", "=>", "::", "<>", "?", "@", "%", "."),
    *("(", ")", "[", "]", "{", "}", ",", ";"),
)
_BLANK = re.compile(r"\s+|--[^\n]*\n?|/\*.*?\*/", re.DOTALL)


def _words(sql: str, dialect: str = "spark", *, numbers: bool = False) -> list[Word]:
    return list(words_in(sql, tokens_of(sql, dialect), numbers=numbers))


def _cursor(sql: str) -> WordCursor[Word]:
    return WordCursor(sql, _words(sql))


@pytest.mark.parametrize(
    ("sql", "dialect", "keys"),
    [
        ("ADD primary KEY", "spark", ["ADD", "PRIMARY", "KEY"]),
        ("db.2020_t", "spark", ["DB", ".", "2020_T"]),
        ("a.1.b", "spark", ["A", ".", "1", ".", "B"]),
        ("1.5 -2", "spark", ["1", ".", "5", "-", "2"]),
        ("`GROUP BY` 'ON' \"x\"", "spark", ["", "", ""]),
        ("r'a\\' N'b' X'00'", "spark", ["", "", ""]),
        ("\"x\" U&'\\0041' X'00'", "trino", ["", "", ""]),
        ("a /* b /* c */ d -- e\n f", "trino", ["A", "D", "F"]),
        ("x => 1", "trino", ["X", "=", ">", "1"]),
    ],
)
def test_words_of_tokens(sql: str, dialect: str, keys: list[str]) -> None:
    assert [one.key for one in _words(sql, dialect)] == keys


def test_a_number_is_one_word_if_it_is_to_be() -> None:
    [number, name] = _words("1.5e3 x", "trino", numbers=True)
    assert (number.text, number.is_number, number.is_name, name.is_name) == (
        *("1.5e3", True, False),
        True,
    )


@given(
    st.lists(
        st.sampled_from(_PARTS),
        max_size=12,
    ),
    st.sampled_from(["spark", "trino"]),
    st.booleans(),
)
def test_no_word_is_left_out(parts: list[str], dialect: str, numbers: bool) -> None:
    """Between the words there's nothing but blanks and comments."""
    sql = " ".join(parts)
    try:
        words = _words(sql, dialect, numbers=numbers)
    except TokenError:
        return
    at, rest = 0, ""
    for word in words:
        assert at <= word.start < word.end
        at, rest = word.end, rest + sql[at : word.start] + " "
    assert _BLANK.sub("", rest + sql[at:]) == ""


def test_steps_over_what_fits() -> None:
    cursor = _cursor("SOME TABLES IN a . b")
    assert cursor.at("SOME", "TABLES") and not cursor.at("SOME", "IN")
    assert not cursor.take("SOME", "IN") and cursor.take("SOME", "TABLES")
    assert cursor.behind == len("SOME TABLES")
    assert cursor.take_any("FROM", "IN") and not cursor.take_any("FROM", "IN")
    assert cursor.one_of("B", "A") == "A"
    assert cursor.rest() == ". b"
    assert cursor.ended(1) == 1 and cursor.peek() is None


@pytest.mark.parametrize(
    ("sql", "message", "suggestions", "column"),
    [
        ("a CUB", "expected CUBE, found CUB", ("CUBE",), 3),
        ("a", "expected CUBE, found the end", (), 2),
        ("a 'CUBE'", "expected CUBE, found 'CUBE'", ("CUBE",), 3),
        (f"a {'b' * 50}", f"expected CUBE, found {'b' * 39}…", (), 3),
    ],
)
def test_what_does_not_fit_has_its_place(
    sql: str, message: str, suggestions: tuple[str, ...], column: int
) -> None:
    cursor = _cursor(sql)
    cursor.expect("A")
    cursor.example = "BUILD CUBE c"
    with pytest.raises(StatementError) as raised:
        cursor.expect("CUBE")
    error = raised.value
    assert (error.message, error.suggestions, error.column) == (message, suggestions, column)
    assert error.hint.endswith("for example: BUILD CUBE c")


def test_words_that_follow_are_an_error() -> None:
    cursor = _cursor("a b")
    cursor.expect("A")
    with pytest.raises(StatementError, match="expected the statement's end, found b"):
        cursor.end()
    cursor.expect("B")
    with pytest.raises(StatementError, match="expected a statement, found the end"):
        cursor.rest()
