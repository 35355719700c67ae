"""Statements as the log keeps them: no secret in them, and one shape for all constants."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.store.journals.query_log.record import COLUMN_OF, bounded
from accelerator.store.journals.query_log.statement_text import READ_MAX, redact_sql

SECRET = "hunter2hunter2"
WITH_SECRETS = [
    ("spark", "SET spark.hadoop.fs.s3a.secret.key={}"),
    ("spark", "set fs.s3a.access.key = {}"),
    ("trino", "SET SESSION lake.token = '{}'"),
    ("spark", "SELECT * FROM t WHERE password = '{}'"),
    ("spark", "SELECT * FROM t WHERE u.api_key IN ('a', '{}')"),
    ("spark", "SELECT * FROM t WHERE NOT token LIKE '{}%'"),
    ("spark", 'SELECT * FROM t WHERE pwd <> "{}"'),
    ("spark", "SELECT aes_encrypt(a, '{}'), 1 FROM t"),
    ("spark", "SELECT map('secret', '{}')"),
    ("spark", "CREATE TABLE x USING jdbc OPTIONS (user 'me', password '{}')"),
    ("spark", "CREATE TABLE x TBLPROPERTIES ('s3.secret-access-key' = '{}')"),
    ("spark", "CREATE TABLE x OPTIONS (url 'jdbc:mysql://me:{}@h/db?a=1')"),
    ("spark", "CREATE TABLE x OPTIONS (url 'jdbc:sqlserver://h;user=me;password={}')"),
    ("spark", "SELECT * FROM parquet.`s3a://me:{}@bucket/x`"),
    ("spark", "ADD JAR https://me:{}@host/x.jar"),
    ("spark", "SELECT 1 /* password: {} */"),
    ("spark", "SELECT 1 -- token={}"),
    ("trino", "CREATE USER u IDENTIFIED BY '{}'"),
    ("trino", "ALTER USER u PASSWORD = {}-rest"),
    ("trino", 'SELECT * FROM t WHERE "password" = \'{}'),
    ("spark", "CALL x(secret => '{}')"),
    ("spark", "SELECT * FROM t WHERE password = X'6162' OR secret = '{}'"),
    ("spark", "SHOW TABLES; SHOW x password '{}'"),
    ("no such dialect", "SELECT password '{}'"),
]


@pytest.mark.parametrize(("dialect", "pattern"), WITH_SECRETS)
def test_secrets_go_and_the_rest_stays(dialect, pattern):
    sql = pattern.format(SECRET)
    found = redact_sql(sql, dialect)
    assert "hunter2" not in found.text
    assert "***" in found.text
    assert found.text.startswith(pattern[:6])
    assert "hunter2" not in (found.shape_text or "")
    assert "hunter2" not in found.hidden_in(f"syntax error in\n== SQL ==\n{sql}")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT key, author FROM t WHERE key = 'k' AND author = 'b'",
        "SELECT t.token FROM t JOIN u ON t.token = u.token WHERE a = 'x'",
        "SELECT 'what is a password?' FROM t WHERE a = ':' AND b = '://'",
        'WITH a AS (SELECT 1) SELECT x.`a b`, "str" FROM a -- fine',
        "CREATE CUBE sales AS SELECT region, sum(price) FROM orders GROUP BY region",
    ],
)
def test_what_is_no_secret_stays_as_it_was(sql):
    assert redact_sql(sql, "spark").text == sql


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT a FROM t WHERE b = 1", "select A\nfrom T where b = 2.5 -- c"),
        ("SELECT a FROM t WHERE b IN (1)", "SELECT a FROM t WHERE b IN (1, 2, 3)"),
        ("SELECT a FROM t WHERE b = 'x'", "SELECT a FROM t WHERE b = 'it''s';"),
        ("SELECT sum(a) FROM t LIMIT 10", "SELECT SUM ( a ) FROM t LIMIT 20"),
    ],
)
def test_statements_that_differ_in_constants_have_one_shape(one, other):
    assert redact_sql(one, "spark").shape == redact_sql(other, "spark").shape
    assert redact_sql(one, "spark").shape_text == redact_sql(other, "trino").shape_text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT a FROM t WHERE b = 1", "SELECT a FROM t WHERE c = 1"),
        ("SELECT a FROM t WHERE b = 1", "SELECT a FROM t WHERE b > 1"),
        ("SELECT a FROM t", "SELECT a, a FROM t"),
        ("SELECT `A b` FROM t", "SELECT `a b` FROM t"),
        ("(SELECT 1)", "SELECT 1"),
    ],
)
def test_other_statements_have_another(one, other):
    assert redact_sql(one, "spark").shape != redact_sql(other, "spark").shape


def test_shapes_are_stable():
    """The advisor groups by them over releases; a change of theirs is another format."""
    found = redact_sql("SELECT a, sum(b) FROM t WHERE x = 1 AND y IN ('a') LIMIT 10", "spark")
    assert found.shape == "59d310d0b8b436611f5502139ecba257"
    assert found.shape_text == "SELECT a, sum(b) FROM t WHERE x = ? AND y IN (?, …) LIMIT ?"


def test_what_is_no_query_and_what_is_long_has_no_shape():
    assert redact_sql("DROP TABLE t", "spark").shape is None
    long = "SELECT " + ", ".join(["a"] * READ_MAX)
    assert redact_sql(long, "spark").shape is None
    assert len(redact_sql(long, "spark").text.encode()) <= COLUMN_OF["sql"].most


@pytest.mark.parametrize(
    "part",
    ["?key", "://a:@", "a-", "(((", "/*", "--password:", "'", "password=", "(/**/", "\x00", "é"],
)
def test_texts_that_are_meant_to_take_long_end(part):
    """Each would take minutes by a pattern that goes back and forth."""
    text = part * (READ_MAX // len(part))
    for sql in (text, f"SELECT '{text}'", f"SET {text}", f"SELECT {text}"):
        assert len(redact_sql(sql, "spark").text.encode()) <= COLUMN_OF["sql"].most


@given(st.text(), st.sampled_from(["spark", "trino", "duckdb", "mysql"]))
def test_any_text_is_told(text, dialect):
    for sql in (text, f"SELECT {text}", f"SET {text}"):
        found = redact_sql(sql, dialect)
        found.text.encode()
        assert found.hidden_in(text) is not None


@given(
    st.from_regex(r"[a-z0-9]{8,20}", fullmatch=True),
    st.sampled_from(["password", "s3.secret-access-key", "my_token"]),
    st.sampled_from(["spark", "trino"]),
    st.text(alphabet="ab ,()=.-'", max_size=30),
)
def test_a_secret_in_properties_never_stays(value, name, dialect, before):
    """Whatever stands before it, quotes that aren't closed too."""
    secret = f"zq{value}"
    found = redact_sql(f"ALTER TABLE {before} SET TBLPROPERTIES ('{name}' = '{secret}')", dialect)
    assert secret not in found.text


@given(st.text(), st.integers(3, 40))
def test_bounded_texts_are_beginnings(text, most):
    found = bounded(text, most)
    assert len(found.encode()) <= most
    whole = text.encode("utf-8", "replace").decode()
    assert found == whole or (found.endswith("…") and whole.startswith(found[:-1]))
