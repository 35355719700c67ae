"""Syntax errors of Trino's clients: the place is in their own text, and no word is the parser's."""

from __future__ import annotations

import re

import pytest

from rewrite.client import ClientContext
from rewrite.dialects.translate import translated_for
from rewrite.errors import StatementError, StatementTooDeepError, UntranslatedError

_COLUMNS = {"id": "bigint", "k": "int", "city": "string", "at": "timestamp"}
_PARSERS = re.compile(
    r"sqlglot|<class|Token|Anonymous|SENTINEL|\x1b|Required keyword|Unexpected token|`lake`"
    r"|\"lake\"|Line \d|Col:|\b[A-Z][a-z]+[A-Z][a-z]+\b"
)
"""What only the parser, or the translation, has written."""


def _error(sql: str) -> StatementError:
    client = ClientContext(catalog="lake", schema="shop")
    with pytest.raises(StatementError) as caught:
        translated_for(client, sql, "trino", lambda _parts: _COLUMNS, ["lake"])
    error = caught.value
    assert not _PARSERS.search(error.message + error.hint), error
    assert error.hint
    return error


@pytest.mark.parametrize(
    ("sql", "place", "words"),
    [
        ("SELECT k FORM sales", (1, 10), "FORM"),
        ("SELECT k,, city FROM sales", (1, 10), "go on with ,"),
        ("SELECT k, FROM sales", (1, 11), "FROM"),
        ("SELECT k FROM sales,", (1, 21), "too early"),
        ("SELECT FROM sales", (1, 8), "FROM"),
        ("SELECT", (1, 7), "too early"),
        ("SELECT k\nFROM sales\nWHERE k = = 3", (3, 11), "go on with ="),
        ("  /* c */ SELECT k\n  FROM sales\n  WHERE k >", (3, 12), "behind >"),
        ("SELECT 'ö😀', k\nFROM sales GROUP", (2, 12), "GROUP"),
        ("SELECT sum(k) OVER (ORDER) FROM sales", (1, 21), "ORDER"),
        ("SELECT count(DISTINCT) FROM sales", (1, 22), "go on with )"),
        ("SELECT k FROM sales WHERE EXISTS", (1, 27), "EXISTS"),
        ("SELECT (k FROM sales", (1, 11), "FROM"),
        ("SELECT k) FROM sales", (1, 9), "none opens"),
        ("SELECT k FROM (SELECT k FROM sales", (1, 15), "isn't closed"),
        ("SELECT 'it''s FROM sales", (1, 8), "a text in quotes isn't closed"),
        ('SELECT k, "k FROM sales', (1, 11), "a name in quotes isn't closed"),
        ("SELECT k -- 'x\n /* FROM sales", (2, 2), "a comment isn't closed"),
        ("SELECT `k` FROM sales", (1, 10), "backticks"),
        ("SELECT k FROM sales WHERE k IN ()", (1, 33), "go on with )"),
        ("SELECT max(k) FILTER (k > 3) FROM sales", (1, 23), "go on with k"),
        ("SELECT k FROM sales a JOIN sales b USING k", (1, 42), "go on with k"),
        ("SELECT k FROM sales ORDER BY", (1, 29), "too early"),
        ("SELECT k FROM sales ORDER k", (1, 27), "go on with k"),
        ("SELECT k AS FROM sales", (1, 13), "go on with FROM"),
        ("SELECT * k FROM sales", (1, 10), "go on with k"),
        ("SELECT k FROM sales FOR VERSION AS OF k", (1, 39), "version can't be k"),
        ("SELECT CAST(k AS nothing) FROM sales", (1, 18), "no type nothing"),
        ("SELECT CAST(k) FROM sales", (1, 14), "go on with )"),
        ("VALUES", (1, 7), "too early"),
    ],
)
def test_a_syntax_error_has_its_place_in_the_clients_text(sql, place, words):
    error = _error(sql)
    assert not isinstance(error, UntranslatedError)
    assert (error.line, error.column) == place
    assert words in error.message


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        ("SELECT k FROM sales WHERE city LIKE 'a' ESCAPE 'bc'", "city LIKE 'a' ESCAPE 'bc'"),
        ("SELECT nosuch(k, (1)) + 1 FROM sales", "nosuch(k, (1))"),
        ("SELECT median(k) FROM sales", "median(k)"),
        ("SELECT at AT TIME ZONE 'Nowhere/X' FROM sales", "at AT TIME ZONE 'Nowhere/X'"),
        ("SELECT CAST(at AS tinyint) FROM sales", "CAST(at AS tinyint)"),
        ("SELECT 1, TIMESTAMP 'x'", "TIMESTAMP 'x'"),
        ("SELECT extract(nothing FROM at) FROM sales", "extract(nothing FROM at)"),
        ("SELECT * FROM sales NATURAL JOIN sales", "NATURAL JOIN sales"),
        ("SELECT 1 FROM UNNEST(array[1])", "UNNEST(array[1])"),
        ("SELECT k FROM sales UNION SELECT city FROM sales", None),
        ("SELECT k FROM sales LIMIT -1", "LIMIT -1"),
        ("SELECT k FROM sales TABLESAMPLE BERNOULLI (5)", "sales TABLESAMPLE BERNOULLI (5)"),
        ("SELECT k FROM sales MATCH_RECOGNIZE (x)", "MATCH_RECOGNIZE"),
    ],
)
def test_what_is_not_translated_is_shown_as_it_was_written(sql, shown):
    error = _error(sql)
    assert isinstance(error, UntranslatedError)
    shown = sql if shown is None else shown
    assert shown in error.message
    assert (error.line, error.column) == (1, sql.index(shown) + 1)


def test_a_place_is_never_one_of_a_templates_text():
    """Rules put templates in the place of operands; their constants have no place here."""
    for shown in ("nosuch(date_format(at, '%Y'), 1)", "nosuch(date_add('day', 1, at))"):
        error = _error(f"SELECT k, {shown} FROM sales")
        assert f"`{shown}`" in error.message and error.column == 11
    error = _error("SELECT date_trunc('decade', date_add('day', 1, at)) FROM sales")
    assert "`date_trunc('decade', date_add('day', 1, at))`" in error.message


def test_a_long_chain_is_too_deep():
    client = ClientContext(catalog="lake", schema="shop")
    sql = f"SELECT {'+'.join(['k'] * 9_000)} FROM sales"
    with pytest.raises(StatementTooDeepError):
        translated_for(client, sql, "trino", lambda _parts: _COLUMNS, ["lake"])


def test_words_that_only_look_reserved_are_names():
    for sql in (
        "SELECT k AS first, limit FROM sales WHERE k IS DISTINCT FROM 3",
        'SELECT k AS "order" FROM sales GROUP BY k ORDER BY "order"',
        "SELECT count(*) FILTER (WHERE k > 3) FROM sales a JOIN sales b USING (k)",
        "SELECT *, k FROM sales WHERE k IN (1)",
    ):
        columns = {**_COLUMNS, "limit": "int"}
        client = ClientContext(catalog="lake", schema="shop")
        assert translated_for(client, sql, "trino", lambda _parts, c=columns: c, ["lake"]).text
