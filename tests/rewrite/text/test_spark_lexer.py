"""Where Spark's lexer begins and ends comments and texts, told without a parser."""

from __future__ import annotations

import pytest

from rewrite.text.first_look import comments, split_statements
from rewrite.text.spark_lexer import scanned


@pytest.mark.parametrize(
    ("sql", "keys"),
    [
        ("a /* b ** / * */ c", ["A", "C"]),
        ("a /*/ b */ c", ["A", "C"]),
        ("a /***/ c", ["A", "C"]),
        ("a -- /* b\n c", ["A", "C"]),
        ("a -- b\\\n still\n c", ["A", "C"]),
        ("a /*+ b */ c", ["A", "/*+", "B", "*/", "C"]),
        ("a /* b", ["A", "/*"]),
        ("a 'b", ["A", "'"]),
        ("r'a\\' b", ["", "B"]),
        ("_r'a\\' b'", ["_R", ""]),
        ("a /* /* b */ */ c", None),
        ("a /* b /* c", None),
        ("a $ b", None),
    ],
)
def test_words_of_spark(sql: str, keys: list[str] | None) -> None:
    """None: Spark may cut the text otherwise, as comments in comments."""
    tokens = scanned(sql)
    assert (None if tokens is None else [one.key for one in tokens]) == keys


@pytest.mark.parametrize(
    ("script", "statements"),
    [
        ("a 'b;' ; c", ["a 'b;'", "c"]),
        ("a 'b\\';' ; c", ["a 'b\\';'", "c"]),
        ("a r'b\\' ; c", ["a r'b\\'", "c"]),
        ("xr'b\\' ; c", ["xr'b\\' ; c"]),
        ("a `b;` /* ; /* ; */ ; */ ; c", ["a `b;` /* ; /* ; */ ; */", "c"]),
        ("a -- ;\n; c", ["a -- ;", "c"]),
        ('a "b; c\\', ['a "b; c\\']),
    ],
)
def test_semicolons_between_statements(script: str, statements: list[str]) -> None:
    assert split_statements(script) == statements


def test_comments_without_hints() -> None:
    assert comments("a /*+ b */ /* c /* d */ */ -- e\n 'f -- g' /* h") == [
        *("/* c /* d */ */", "-- e", "/* h"),
    ]
