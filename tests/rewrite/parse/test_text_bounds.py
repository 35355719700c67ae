"""Bounds before the parser: what may end or hold the process is refused, the rest is parsed."""

from __future__ import annotations

import ast
import gc
import re
import time
from contextlib import suppress
from pathlib import Path

import pytest
from sqlglot.errors import SqlglotError

from rewrite.parse.bounds import (
    CHAIN_MAX,
    DEPTH_MAX,
    TOKENS_MAX,
    TooDeepError,
    check_length,
    check_tokens,
    measured,
    tokens_of,
    type_of,
    work_of,
)
from rewrite.parse.parse import parse, unparsed

ROOT = Path(__file__).parents[3]
_MAY_PARSE = re.compile(
    r"parse_one|parse_into|maybe_parse|tokenize|\.parser\(|exp\.[a-z]|DataType\.[bf]"
)
DIALECTS = ("spark", "trino", "duckdb", "postgres", "mysql", "clickhouse", "starrocks")
DEEP = {
    "parentheses": "SELECT " + "(" * 40_000,
    "closed parentheses": "SELECT " + "(" * 300 + "1" + ")" * 300,
    "calls": "SELECT " + "f(" * 300 + "1" + ")" * 300,
    "rows": "SELECT " + "ROW(" * 40 + "1" + ")" * 40,
    "arrays": "SELECT " + "ARRAY[" * 40 + "1" + "]" * 40,
    "dates": "SELECT " + "date(" * 40 + "1" + ")" * 40,
    "quoted types": "SELECT " + "`array`(" * 40 + "1" + ")" * 40,
    "many rows": "SELECT " + ", ".join(["array(" * 8 + "1" + ")" * 8] * 1_000),
    "cases": "SELECT " + "CASE WHEN a THEN " * 300 + "1" + " END" * 300,
    "nots": "SELECT " + "NOT " * 1_000 + "a",
    "signs": "SELECT " + "- " * 1_000 + "1",
    "calls of signs": "SELECT " + "- - f(" * 100 + "1" + ")" * 100,
    "ifs": "SELECT " + "IF " * 300,
    "indexes": "SELECT a" + "[1]" * 2_000,
    "casts": "SELECT a" + "::int" * 4_000,
    "fields": "SELECT a" + ".b" * 4_000,
    "joins": "SELECT * FROM a" + " JOIN b" * 2_000,
    "types": "SELECT CAST(a AS " + "ARRAY<" * 300 + "INT" + ">" * 300 + ")",
    "words": "SELECT " + "FROM " * 1_000,
    "tokens": "SELECT 1" + ", 1" * TOKENS_MAX,
    "length": "SELECT '" + "a" * 1_000_000 + "'",
    "digits": "SELECT " + "9" * 5_000,
    "digits of a fraction": "SELECT 0." + "9" * 5_000,
    "digits of a snapshot": "SELECT * FROM t VERSION AS OF " + "9" * 5_000,
    "signs alone": "," * 900_000,
}
SOUND = {
    "digits": "SELECT " + "9" * 3_900 + " AS a, '" + "9" * 5_000 + "' AS b",
    "parentheses": "SELECT " + "(" * 190 + "1" + ")" * 190,
    "calls": "SELECT " + "abs(" * 150 + "a" + ")" * 150 + " FROM t",
    "arrays": "SELECT " + "array(" * 10 + "1" + ")" * 10,
    "list": "SELECT a FROM t WHERE b IN (" + ", ".join(map(str, range(6_000))) + ")",
    "ands": "SELECT a FROM t WHERE " + " AND ".join(["NOT b = -1"] * 500),
    "unions": "SELECT a FROM t" + " UNION ALL SELECT a FROM t" * 300,
    "cases": "SELECT " + ", ".join(["CASE WHEN a > 1 THEN 2 END"] * 300) + " FROM t",
    "comparisons": "SELECT " + ", ".join(["a < 1 AND b > 2"] * 300) + " FROM t",
    "fields": "SELECT " + ", ".join(["t.a.b.c"] * 300) + " FROM t",
    "casts": "SELECT " + ", ".join(["a::int"] * 300) + " FROM t",
    "joins": "SELECT 1 FROM a" + " JOIN b ON a.k = b.k" * 100,
    "dates": "SELECT " + ", ".join(["year(date(a))"] * 300) + " FROM t",
}


def test_each_bound_is_exact() -> None:
    # First, because without a bound the next tests would hold the process, or end it.
    def code(sql: str) -> bool:
        try:
            measured(sql, "spark")
        except TooDeepError:
            return False
        return True

    # SELECT is a word before the first level, as a prefix would be.
    depth = DEPTH_MAX - 1
    assert code("SELECT " + "(" * depth) and not code("SELECT " + "(" * (depth + 1))
    assert code("SELECT a" + ".b" * CHAIN_MAX) and not code("SELECT a" + ".b" * (CHAIN_MAX + 1))
    assert code("SELECT 1" + ", 1" * (TOKENS_MAX // 2 - 1))
    assert not code("SELECT 1" + ", 1" * (TOKENS_MAX // 2))
    nested = "array(" * 3 + "1, 2" + ")" * 3
    assert work_of(measured(f"SELECT {nested}", "spark")[0]) == 1 + (2 + 4 + 8 + 3 * 8 + 8 + 4 + 2)


@pytest.mark.parametrize("name", DEEP)
def test_a_text_beyond_a_bound_is_refused_before_it_is_parsed(name: str) -> None:
    own = "trino" if name == "rows" else "spark"  # ROW is no type's name to others
    for dialect in (own,) if len(DEEP[name]) > 10_000 else DIALECTS:
        began = time.thread_time()
        error: SqlglotError | None = None
        try:
            parse(DEEP[name], dialect)
        except SqlglotError as found:
            error = found
        assert time.thread_time() - began < 10, dialect
        if dialect == own:
            assert isinstance(error, TooDeepError), error
            assert unparsed(error).code == "statement_too_deep"


@pytest.mark.parametrize("name", SOUND)
def test_a_text_within_the_bounds_is_parsed(name: str) -> None:
    parse(SOUND[name])


def test_a_tree_that_the_writer_can_not_recurse_into_is_too_deep() -> None:
    with pytest.raises(TooDeepError):
        parse("SELECT a" + " + a - a" * 4_000)


def test_types_of_tables_are_measured_too() -> None:
    assert type_of("array<struct<a: int>>", "spark").expressions
    with pytest.raises(TooDeepError):
        type_of("array<" * 300 + "int" + ">" * 300, "spark")


def test_a_long_line_of_dashes_takes_no_time() -> None:
    began = time.thread_time()
    with pytest.raises(SqlglotError):
        parse("SELECT '\\\\' /* " + "-" * 300_000)
    assert time.thread_time() - began < 10


def test_nothing_else_calls_the_tokenizer_or_the_parser() -> None:
    found = []
    for room in ("accelerator", "cubes", "rewrite"):
        for path in sorted((ROOT / room).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            if name == "rewrite/parse/bounds.py" or not _MAY_PARSE.search(path.read_text()):
                continue
            found += [
                f"{name}:{node.lineno}"
                for node in ast.walk(ast.parse(path.read_text()))
                if _parses(node)
            ]
    # Its own tokenizer reads on behind words that are commands to sqlglot; nothing is parsed.
    assert [one for one in found if "trino/requests/cursor.py" not in one] == []


def _parses(node: ast.AST) -> bool:
    """Whether it calls sqlglot's tokenizer, its parser, or a builder that parses texts."""
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    if isinstance(called, ast.Name):
        return called.id in {"parse_one", "maybe_parse", "tokenize", "parse_into"}
    if not isinstance(called, ast.Attribute):
        return False
    if called.attr in {"tokenize", "parser", "parse_one", "maybe_parse", "parse_into", "condition"}:
        return True
    of = called.value
    is_exp = isinstance(of, ast.Name) and of.id in {"exp", "sqlglot"}
    if isinstance(of, ast.Attribute) and of.attr == "DataType":
        return called.attr in {"build", "from_str"}
    return is_exp and called.attr in {"parse", "select", "from_", "union", "and_", "or_", "not_"}


@pytest.mark.parametrize(
    "sql",
    [
        "'" + "\\'" * 190_000,
        '"' + '\\"' * 190_000 + "\\",
        "/* " * 130_000,
        "*/ /*" * 79_000,
        "--\n" * 130_000,
        "a" * 999_999,
        "'a' " * 99_000,
        "`" * 390_000,
    ],
    ids=range(8),
)
def test_counting_the_tokens_of_a_long_text_takes_no_square(sql: str) -> None:
    began = time.thread_time()
    with suppress(TooDeepError):
        check_length(sql)
        check_tokens(sql)
    assert time.thread_time() - began < 10


def test_a_long_text_of_few_tokens_is_cut() -> None:
    words = "a, (b) ; " * 35_000
    for few in (f"SELECT '{words}'", f"SELECT 1 /* {words} */", f"SELECT 1 -- {words}"):
        assert len(measured(few, "spark")[0]) == 2
    for much in (words, "a " * 130_000, f"'{words[:90_000]}' {words}"):
        with pytest.raises(TooDeepError, match=f"more than {TOKENS_MAX} tokens"):
            measured(much, "spark")


@pytest.mark.parametrize("text", ["b:" * 90_000, "1.5+" * 60_000, "a b " * 60_000, "a||" * 90_000])
def test_many_words_are_counted_before_they_are_cut(text, monkeypatch):
    monkeypatch.setattr("rewrite.parse.bounds.dialect_of", lambda _: pytest.fail("it was cut"))
    with pytest.raises(TooDeepError, match="tokens"):
        tokens_of(text, "spark")


def test_a_long_list_of_decimals_is_parsed():
    values = ", ".join(f"{n}.5e-3" for n in range(TOKENS_MAX // 2 - 10))
    assert work_of(tokens_of(f"SELECT {values}", "spark")) < TOKENS_MAX


@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_collector_does_not_run_while_a_text_is_parsed(is_enabled) -> None:
    """The collector takes twice as long as the parser over a long text."""
    runs: list[str] = []

    def count(phase: str, _: object) -> None:
        runs.append(phase)

    gc.callbacks.append(count)
    try:
        if not is_enabled:
            gc.disable()
        parse(f"SELECT a FROM t WHERE a IN ({', '.join(map(str, range(5_000)))})")
        with suppress(TooDeepError):
            tokens_of("'a' " * 50_000, "spark")
        parsed = len(runs)
        assert gc.isenabled() is is_enabled
    finally:
        gc.enable()
        gc.callbacks.remove(count)
    assert parsed == 0 if not is_enabled else parsed <= 4
