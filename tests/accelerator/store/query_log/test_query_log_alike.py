"""Statements that differ in constants alone are told alike without being cut into words again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelerator.store.journals.query_log import statement_text
from accelerator.store.journals.query_log.statement_text import read, redact_sql
from accelerator.store.journals.query_log.text_shape import without_constants

_WORDS = [
    *("SELECT", "a", "b1", "t", "FROM", "WHERE", "=", "<", "(", ")", ",", ".", "IN", "AND", "-"),
    *(
        "1",
        "25",
        "1.5",
        "1e5",
        ".5",
        "7.",
        "0x1F",
        "5L",
        "x5",
        "`q r`",
        "`q`",
        "`7`",
        '"q"',
        "`it's`",
    ),
    *("'x'", "''", "'a b'", "'2024-01-01'", "'password'", "'api'", "key", "password", "'it''s'"),
    *(
        "'aes_encrypt'",
        "'k=v;password=hunter2'",
        "'s3://me:pw@h'",
        "r'a'",
        "X'41'",
        "DATE'2024-01-01'",
    ),
    *(
        "'a\\'b'",
        "--",
        "/*",
        "*/",
        "?",
        ":n",
        "$",
        "{{",
        "\n",
        "é",
        "'é'",
        "٣",
        "'",
        '"',
        "`",
        ";",
        "LIKE",
    ),
    *(
        "IDENTIFIED",
        "SET",
        "secret",
        "'token'",
        "aes_encrypt",
        "||",
        "::",
        "[",
        "]",
        "=>",
        "INTERVAL",
    ),
]
STATEMENTS = st.builds(
    lambda first, words, gap: f"{first} {gap.join(words)}",
    st.sampled_from(["SELECT", "select", "WITH", "(SELECT", "FROM", "CALL", "VALUES", "SET"]),
    st.lists(st.sampled_from(_WORDS), max_size=14),
    st.sampled_from([" ", " ", ""]),
)


@given(STATEMENTS, st.sampled_from(["spark", "trino"]))
@settings(max_examples=400)
def test_what_is_told_is_what_the_words_say(sql, dialect):
    assert redact_sql(sql, dialect) == read(sql, dialect)


def test_fresh_constants_are_not_read_again(monkeypatch):
    redact_sql("SELECT a FROM fresh WHERE b = 'x' AND c IN (1, 2)", "spark")
    monkeypatch.setattr(statement_text, "read", None)
    found = redact_sql("SELECT a FROM fresh WHERE b = 'y' AND c IN (3, 4)", "spark")
    assert found.text == "SELECT a FROM fresh WHERE b = 'y' AND c IN (3, 4)"
    assert found.shape_text == "SELECT a FROM fresh WHERE b = ? AND c IN (?, …)"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 -- a",
        "SELECT /*+ x */ 1",
        "SELECT 'a\\'b'",
        "SELECT 'it''s'",
        'SELECT "a"',
        "SELECT `a b`",
        "SELECT r'a'",
        "SELECT 'password', 'hunter2'",
        "SELECT 'https://h/'",
        "SELECT 'a",
        "SELECT '${x}'",
    ],
)
def test_where_only_the_tokenizer_can_tell_nothing_is_said(sql):
    assert without_constants(sql, "spark") is None


def test_of_other_dialects_nothing_is_said():
    assert without_constants("SELECT 1", "mysql") is None
