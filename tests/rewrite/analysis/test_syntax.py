"""Faults of syntax that Spark surely has: which are found, and that valid statements have none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewrite.analysis.syntax_errors import syntax_fault
from rewrite.text.source_position import place_of
from rewrite.text.spark_lexer import scanned
from rewrite.text.suggestions import closest
from tests.support.statements import FOLDER, read

_HOUSE = Path(__file__).parents[3]
_CORPUS = _HOUSE / "tests" / "spark" / "corpus"
_MARK = re.compile(r"^%%(.*)$", re.MULTILINE)


def _valid() -> list[str]:
    """What Spark answers in suites and in the corpus of its grammar."""
    found = [
        block.text
        for path in sorted(FOLDER.glob("*.slt"))
        for block in read(path).blocks
        if block.kind == "query"
    ]
    for path in sorted(_CORPUS.glob("*.sql")):
        _, *parts = _MARK.split(path.read_text())
        marks, texts = parts[::2], parts[1::2]
        found += [
            text.strip()
            for mark, text in zip(marks, texts, strict=True)
            if text.strip() and not re.search(r"raises|clash", mark)
        ]
    return found


def test_valid_statements_have_no_fault() -> None:
    statements = _valid()
    assert len(statements) > 2000
    ours = re.compile(r"\s*(VACUUM|BUILD|VERIFY|PUBLISH|COMPACT|OPTIMIZE|UNDROP)", re.IGNORECASE)
    refused = [one for one in statements if not ours.match(one) and syntax_fault(one) is not None]
    assert not refused


@pytest.mark.parametrize(
    ("sql", "word", "near"),
    [
        ("SELECT count(*) FORM t", "FORM", ("FROM",)),
        ("SELECT * FORM t", "FORM", ("FROM",)),
        ("SELECT 1 FORM t", "FORM", ("FROM",)),
        ("SELECT 'a' FORM t", "FORM", ("FROM",)),
        ("SELECT a FROM t LEFT JION u ON a = b", "JION", ("JOIN",)),
        ("SELECT a FROM t WHERE a = 1 ADN b = 2", "ADN", ("AND",)),
        ("SELECT a FROM t ODER BY a", "ODER", ("ORDER",)),
        ("WITH c AS (SELECT a FORM t) SELECT a FROM c", "FORM", ("FROM",)),
        ("EXPLAIN SELECT a FORM t", "FORM", ("FROM",)),
        ("SELECT a b c", "c", ()),
        ("DELETE FORM t", "FORM", ("DELETE FROM",)),
        ("CREATE OR REPLACE TABEL t (a INT)", "TABEL", ("CREATE TABLE",)),
    ],
)
def test_a_misspelt_word_is_found(sql: str, word: str, near: tuple[str, ...]) -> None:
    fault = syntax_fault(sql)
    assert fault is not None
    assert fault.at is not None
    assert fault.at.column == sql.index(f" {word}") + 2
    assert fault.suggestions == near


@pytest.mark.parametrize(
    "sql",
    [
        *(
            "SELECT a FORM",
            "SELECT a FROM t x",
            "SELECT a b, c d FROM t u",
            *("SELECT a * b c FROM t", "ALTER TABLE t ADD PARTITION FIELD a)", "CALL f(1"),
        ),
        *("SELECT a, FROM t", "SET a = (", "ADD JAR /a'b", "lbl: BEGIN SELECT 1; END"),
        *("BEGIN SELECT a FORM t; END", "SELECT ${x FROM t", "SELECT a;;", "SELECT $$(a$$"),
        *("SELECT /*+ a b c */ 1", "SELECT c FROM t LATERAL VIEW f(a) b c", "SHOW MINE FUNCTIONS"),
        *("SELECT INTERVAL 1 a b", "SELECT x 'a', y 'b' FROM t", "SELECT a.b c, d.e f"),
        *("SELECT 1 /* a /* b */", "FROM t |> AS u |> SELECT a b c", "SELECT a.1 b"),
    ],
)
def test_what_may_be_right_has_no_fault(sql: str) -> None:
    assert syntax_fault(sql) is None


@pytest.mark.parametrize(
    ("sql", "column"),
    [
        ("SELECT a; SELECT 1", 11),
        ("SHOW TABLES; SHOW TABLES", 14),
        ("SELECT a, FROM s.t", 9),
        ("SELECT FROM s.t", 1),
        ("SELECT f(a,)", 12),
        ("SELECT a,, b", 10),
        ("SELECT a WHERE a = = 1", 20),
        ("SELECT a WHERE a =", 18),
        ("SELECT a FROM t GROUP BY", 17),
        ("SELECT CASE WHEN a = 1 THEN 2 FROM t", 8),
        ("SELECT TOP 5 a FROM t", 8),
        ("SELECT a FROM t LIMIT 5, 10", 17),
        ("SELECT [a] FROM t", 8),
    ],
)
def test_what_lacks_or_is_foreign_is_found(sql: str, column: int) -> None:
    fault = syntax_fault(sql)
    assert fault is not None
    assert fault.at is not None
    assert fault.at.column == column


@given(st.text(max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_any_text_has_tokens_and_places(text: str, start: int, length: int) -> None:
    for token in scanned(text) or []:
        assert 0 <= token.start < token.end <= len(text)
    syntax_fault(f"SELECT {text}")
    at = min(start, len(text))
    place = place_of(text, at, min(len(text), at + length))
    shown, mark = place.shown.split("\n")
    assert set(mark) <= {" ", "^"}
    assert "^" in mark
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e]", shown)


def test_a_long_line_is_cut_around_its_mark() -> None:
    sql = f"SELECT {', '.join(f'column_{n}' for n in range(500))} FORM t"
    fault = syntax_fault(sql)
    assert fault is not None
    shown, mark = fault.at.shown.split("\n")
    assert len(shown) <= 80
    assert shown[mark.index("^") :].startswith("FORM")


def test_the_nearest_comes_first_and_no_others() -> None:
    names = ["store", "Region", "regions", "reason", "amount", *(f"c{n}" for n in range(5000))]
    assert closest("regoin", names) == ("Region", "regions")
    assert closest("AMUONT", names) == ("amount",)
    assert closest("nothing_like_it", names) == ()
    assert len(closest("c12", names)) == 3
    assert closest("x" * 10_000, names) == ()
    assert closest("sales", ["sal\x1bes", "sa\u202eles"]) == ("sal\\u001bes", "sa\\u202eles")


@pytest.mark.parametrize(
    "sql", ["EXPLAIN SET spark.sql.some.key=(", "EXPLAIN EXTENDED SET a='b(", "EXPLAIN RESET a`b"]
)
def test_settings_in_explain_take_any_text(sql: str) -> None:
    assert syntax_fault(sql) is None
