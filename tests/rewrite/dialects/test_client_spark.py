"""A client's query in Spark SQL: names are completed, and nothing reaches beyond its tables."""

from __future__ import annotations

import pytest

from rewrite.client import ClientContext, Translated
from rewrite.dialects.translate import translated_for
from rewrite.errors import AcceleratorError, StatementError, UntranslatedError


def _translated(sql: str) -> Translated:
    client = ClientContext(catalog="lake", schema="shop", user="me")
    return translated_for(client, sql, "spark", lambda _parts: None, ["lake"])


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT `k`, 1 FROM sales", "SELECT `k`, 1 FROM `lake`.`shop`.`sales`"),
        (
            "WITH x AS (SELECT 1 a) SELECT * FROM x JOIN t USING (a)",
            "WITH x AS (SELECT 1 AS a) SELECT * FROM x JOIN `lake`.`shop`.`t` USING (a)",
        ),
        ('SELECT "a\'b" FROM t', "SELECT 'a\\'b' FROM `lake`.`shop`.`t`"),
        ("SELECT a FROM parquet.`/x`", "SELECT a FROM `lake`.`parquet`.`/x`"),
        ("SELECT exists(SELECT 1 FROM b.u)", "SELECT EXISTS(SELECT 1 FROM `lake`.`b`.`u`)"),
    ],
)
def test_names_are_completed(sql, text):
    found = _translated(sql)
    assert found.text == text and found.names is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT TRANSFORM(a) USING 'cat' FROM t",
        "SELECT reflect('java.lang.System', 'exit', 1)",
        "SELECT system.builtin.java_method('a', 'b')",
        "SELECT `try_reflect`('a', 'b')",
        "SELECT xpath_string(a, 'b') FROM t",
        "SELECT input_file_name() FROM t",
        "SELECT current_user()",
        "SELECT user FROM t",
        "SELECT current_catalog",
        "SELECT version()",
        "SELECT * FROM range(4)",
        "SELECT * FROM IDENTIFIER('t')",
        "SELECT IDENTIFIER('a') FROM t",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM parquet.a.`/x`",
        "SELECT * FROM lake.shop.t.files",
        "SELECT my_own(a) FROM t",
        "SELECT a FROM t WHERE b = ?",
        "SELECT a FROM t WHERE b = :b",
        "SELECT '${env:HOME}'",
        "SELECT a FROM t; DROP TABLE t",
        "INSERT INTO t SELECT 1",
        "FROM t INSERT INTO u SELECT 1",
        "CREATE TABLE u AS SELECT 1",
        "SET a = 1",
        "SELECT a FROM",
        "(" * 5_000,
    ],
)
def test_what_is_refused(sql):
    with pytest.raises(AcceleratorError) as caught:
        _translated(sql)
    assert caught.value.hint and "\x1b" not in str(caught.value)


def test_a_misspelt_word_has_its_place():
    with pytest.raises(StatementError) as caught:
        _translated("SELECT a,\n b FORM t WHERE")
    error = caught.value
    assert not isinstance(error, UntranslatedError)
    assert (error.line, error.column, error.hint) == (2, 4, "did you mean FROM?")
