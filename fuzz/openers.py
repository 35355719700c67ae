"""Looks for words with which sqlglot's parser doubles its time: `python -m fuzz.openers`.

Each word that a dialect's tokenizer or parser knows is repeated with each kind of bracket behind
it, closed and unclosed, and parsed within the product's bounds (`rewrite/parse/bounds.py`). What
takes longer than a quarter of a second is printed; then the bounds lack something.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from sqlglot.dialects import Dialect

from rewrite.client import DIALECTS
from rewrite.parse.bounds import tree_of
from rewrite.parse.parse import PARSER_FAILS

LIMIT_S = 0.25
_DEPTHS = (13, 60, 190)
_BRACKETS = (
    *(("(", ")"), ("[", "]"), ("<", ">"), ("{", "}"), (" ", ""), ("((", "))"), ("([", "])")),
    *(("(a, ", ")"), ("(1 ", ")"), (" a ", ""), ("(a AS ", ")"), (" x (", ")"), ("(a FROM ", ")")),
)
_HEADS = ("SELECT ", "SELECT * FROM ", "SELECT CAST(a AS ")
_PHRASES = (
    *(
        "",
        "a",
        "1",
        "'a'",
        "a.",
        "@",
        "{fn ",
        "-",
        "~",
        "NOT",
        "x ->",
        "(x) ->",
        "a :=",
        "a =",
        "a IN",
    ),
    *("a BETWEEN", "a BETWEEN 1 AND", "a LIKE", "a ||", "a::", "CASE WHEN", "CASE WHEN a THEN"),
    *("SELECT", "SELECT * FROM", "SELECT 1 UNION", "a JOIN", "a,", "WITH x AS", "VALUES"),
    *("EXTRACT(DAY FROM", "CAST(a AS", "CAST(a AS ARRAY", "sum(a) OVER", "sum(a) FILTER"),
    *("LATERAL VIEW explode", "INTERVAL '1'", "DATE '1'", "DECIMAL(1,", "a ? b :", "LAMBDA x:"),
    *("TIMESTAMP WITH TIME ZONE", "INT UNSIGNED", "DOUBLE PRECISION", '"array"', "`array`"),
)


def words_of(dialect: str) -> list[str]:
    """Returns the words that mean something to the dialect's tokenizer or parser."""
    known = Dialect.get_or_raise(dialect)
    parser = known.parser_class
    words = {one for one in known.tokenizer_class.KEYWORDS if one.strip() and "{" not in one}
    for table in (parser.FUNCTION_PARSERS, parser.NO_PAREN_FUNCTION_PARSERS, parser.FUNCTIONS):
        words |= set(map(str, table))
    return sorted(words | set(_PHRASES))


def texts(word: str) -> Iterator[str]:
    """Yields the word repeated in each way."""
    for head in _HEADS:
        for begin, end in _BRACKETS:
            for depth in _DEPTHS:
                deep = f"{head}{(word + begin) * depth}"
                yield deep
                yield f"{deep}1{end * depth}"
                yield f"{deep} x {end * depth} y y"


def seconds(sql: str, dialect: str) -> float:
    """Returns how long the parser works on it, whatever comes of it."""
    began = time.thread_time()
    with suppress(*PARSER_FAILS):
        tree_of(sql, dialect)
    return time.thread_time() - began


def slow(dialects: Sequence[str], words: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """Returns the slow texts with their dialects, each measured twice; one a word."""
    found = []
    for dialect in dialects:
        for word in words or words_of(dialect):
            for sql in texts(word):
                if (
                    min(seconds(sql, dialect), LIMIT_S) == LIMIT_S
                    and seconds(sql, dialect) > LIMIT_S
                ):
                    found.append((dialect, sql))
                    print(
                        dialect, repr(word), f"{seconds(sql, dialect):.2f} s", sql[:60], flush=True
                    )
                    break
    return found


def main(arguments: Sequence[str]) -> int:
    """Searches in the dialects that are given, or in all; 1 if anything is slow."""
    return int(bool(slow(arguments or DIALECTS)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
