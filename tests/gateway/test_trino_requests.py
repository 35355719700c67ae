"""Statements of clients as requests: each form, in whatever blanks and comments; parameters."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sqlglot import parse_one

from accelerator.errors import AcceleratorError, ParameterError, StatementError
from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.trino.requests.cursor import words_of
from accelerator.gateway.trino.requests.nodes import ClientSession, Refused, RunStatement
from accelerator.gateway.trino.requests.parse import PreparedNotFoundError, request
from accelerator.query.statements.catalog import BEGINNINGS, FORMS

_CLIENT = ClientSession(
    user="ann",
    prepared={
        "p": "SELECT x -? FROM t WHERE a = ?",
        "q": "SELECT 1",
        "page": "SELECT a FROM t LIMIT ?",
        "shown": "SHOW TABLES LIKE 'a'",
        "nested": "EXECUTE q",
        "typed": "SELECT DATE ?",
    },
)
_CASES = [
    ("USE shop", nodes.UseSchema("shop")),
    ('USE Lake."Shop"', nodes.UseSchema("Shop", "lake")),
    ("SET SESSION a = 'x'", nodes.SetSession("a", "x")),
    ("SET SESSION lake.a = -1.5", nodes.SetSession("lake.a", "-1.5")),
    ("SET SESSION a = TRUE", nodes.SetSession("a", "true")),
    ("RESET SESSION lake.a", nodes.ResetSession("lake.a")),
    ("SET TIME ZONE LOCAL", nodes.SetTimeZone(None)),
    ("SET TIME ZONE 'Asia/Shanghai'", nodes.SetTimeZone("Asia/Shanghai")),
    (
        "SET TIME ZONE INTERVAL '1' HOUR",
        Refused("SET TIME ZONE INTERVAL", "give the offset as a text: '+01:00'"),
    ),
    ("PREPARE p FROM SELECT ? , 'a''b'", nodes.Prepare("p", "SELECT ? , 'a''b'")),
    ("DEALLOCATE PREPARE P", nodes.Deallocate("p")),
    ("START TRANSACTION", nodes.StartTransaction()),
    (
        "START TRANSACTION ISOLATION LEVEL READ UNCOMMITTED , READ WRITE",
        nodes.StartTransaction(),
    ),
    ("COMMIT WORK", nodes.Commit()),
    ("COMMIT", nodes.Commit()),
    ("ROLLBACK", nodes.Rollback()),
    ("SET ROLE all", nodes.SetRole("ALL")),
    ("SET ROLE NONE IN lake", nodes.SetRole("NONE", "lake")),
    ("SET ROLE Admin", nodes.SetRole("admin")),
    ("SET SESSION AUTHORIZATION Bob", nodes.SetAuthorization("bob")),
    ("SET SESSION AUTHORIZATION 'Bob'", nodes.SetAuthorization("Bob")),
    ("RESET SESSION AUTHORIZATION", nodes.SetAuthorization(None)),
    ("CALL system.runtime.kill_query(query_id => 'a', message => 'b')", nodes.KillQuery("a", "b")),
    ("CALL System.Runtime.kill_query('a')", nodes.KillQuery("a")),
    ("CALL system.runtime.kill_query('a', NULL)", nodes.KillQuery("a")),
    (
        "EXECUTE IMMEDIATE 'CALL system.runtime.kill_query(message => ?, query_id => ?)'"
        " USING 'b', 'a'",
        nodes.KillQuery("a", "b"),
    ),
    ("DESCRIBE INPUT q", nodes.DescribeInput("SELECT 1")),
    ("DESCRIBE OUTPUT q", nodes.DescribeOutput("SELECT 1")),
    ("DESCRIBE output", nodes.TrinoShowColumns(("output",))),
    ("DESC input.q", nodes.TrinoShowColumns(("input", "q"))),
    ("SHOW CATALOGS LIKE 'a%'", nodes.TrinoShowCatalogs("a%")),
    ("SHOW SCHEMAS IN lake LIKE 'a!_' ESCAPE '!'", nodes.ShowSchemas("lake", "a!_", "!")),
    ("SHOW TABLES", nodes.ShowTables()),
    ("SHOW TABLES FROM lake.Shop", nodes.ShowTables(("lake", "shop"))),
    ("SHOW COLUMNS FROM t", nodes.TrinoShowColumns(("t",))),
    ("SHOW CREATE TABLE a.b.c", nodes.TrinoShowCreate("TABLE", ("a", "b", "c"))),
    ("SHOW CREATE SCHEMA a", nodes.TrinoShowCreate("SCHEMA", ("a",))),
    ("SHOW STATS FOR t", nodes.ShowStats(("t",))),
    ("SHOW FUNCTIONS LIKE U&'\\0061'", nodes.TrinoShowFunctions("a")),
    ("SHOW SESSION", nodes.ShowSession()),
    ("SHOW CURRENT ROLES", nodes.ShowRoles("CURRENT ROLES")),
    ("SHOW ROLE GRANTS", nodes.ShowRoles("ROLE GRANTS")),
    ("SHOW GRANTS", nodes.ShowRoles("GRANTS")),
]


@pytest.mark.parametrize(("sql", "expected"), _CASES)
def test_forms(sql, expected):
    assert request(sql, _CLIENT) == expected
    assert request(f'/* {{"app": "dbt /* "}} */\n-- x;\n{sql} ; -- end', _CLIENT) == expected


_GAPS = st.sampled_from([" ", "\n", "\t ", " /* ; ? ' */ ", " -- it's ?\n", "/**/"])


@given(st.sampled_from(_CASES), st.data())
def test_blanks_and_comments_change_nothing(case, data):
    sql, expected = case
    assume(not sql.startswith("PREPARE"))
    words = words_of(sql)
    spaced = "".join(
        data.draw(_GAPS)
        + sql[word.start : word.end].swapcase() * _plain(word)
        + sql[word.start : word.end] * (not _plain(word))
        for word in words
    )
    assert request(spaced + data.draw(_GAPS), _CLIENT) == expected


def _plain(word):
    """Whether its case doesn't matter."""
    return bool(word.key) and word.is_name


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "  (SELECT 1) UNION SELECT 2",
        "VALUES 1, 2",
        "TABLE t",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "WITH function AS (SELECT 1) SELECT * FROM function",
        "SELECT ';?' AS \"a;?\" -- ;?",
        "ANALYZE t",
    ],
)
def test_queries_run_as_they_are(sql):
    assert request(sql, _CLIENT) == RunStatement(sql)
    assert request(sql + "\n;", _CLIENT) == RunStatement(sql + "\n")


@pytest.mark.parametrize("form", [form for form in FORMS if form.example], ids=lambda f: f.words)
def test_statements_of_our_own_run(form):
    sql = form.example
    if form.words == "EXPLAIN ANALYZE":
        assert request(sql, _CLIENT).analyze
        sql = sql.replace("ANALYZE", "ANALYZE (FORMAT JSON)")
    assert request(sql, _CLIENT) == RunStatement(sql)


def test_comments_in_comments_are_flat_and_keep_places():
    sql = "SELECT 1 /* a /* b */, 2 -- /* */"
    found = request(sql, _CLIENT)
    assert found == RunStatement("SELECT 1 /* a    b */, 2 --    */")
    assert len(parse_one(found.sql, read="trino").expressions) == 2
    assert request("-- /*\nSELECT 1 -- */", _CLIENT).sql.endswith("\nSELECT 1 -- */")


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("CREATE OR REPLACE VIEW v AS SELECT 1", "CREATE VIEW"),
        ("CREATE MATERIALIZED VIEW v AS SELECT 1", "CREATE MATERIALIZED VIEW"),
        ("CREATE TABLE t AS SELECT 1", "CREATE TABLE"),
        ("CREATE SCHEMA IF NOT EXISTS x", "CREATE SCHEMA"),
        ("CREATE INDEX a ON t (b)", "CREATE INDEX as it's written"),
        ("CREATE ROLE r", "CREATE ROLE"),
        ("DROP TABLE IF EXISTS t", "DROP TABLE"),
        ("ALTER TABLE t RENAME TO u", "ALTER TABLE"),
        ("COMMENT ON COLUMN t.a IS 'x'", "COMMENT ON COLUMN"),
        ("INSERT INTO t SELECT 1", "INSERT"),
        ("UPDATE t SET a = 1", "UPDATE"),
        ("DELETE FROM t", "DELETE"),
        ("MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE", "MERGE"),
        ("TRUNCATE TABLE t", "TRUNCATE TABLE"),
        ("REFRESH MATERIALIZED VIEW v", "REFRESH MATERIALIZED VIEW"),
        ("CALL lake.system.rollback_to_snapshot('shop', 'sales', 1)", "CALL"),
        ("GRANT SELECT ON t TO ann", "GRANT"),
        ("REVOKE SELECT ON t FROM ann", "REVOKE"),
        ("DENY SELECT ON t TO ann", "DENY"),
        ("SET PATH a.b", "SET PATH"),
        ("SHOW STATS FOR (SELECT 1)", "SHOW STATS FOR a query"),
        ("SHOW GRANTS ON TABLE t", "SHOW GRANTS of a catalog or table"),
        ("EXPLAIN DROP TABLE t", "EXPLAIN DROP TABLE"),
        ("EXPLAIN " * 30_000 + "SELECT 1", "EXPLAIN of EXPLAIN"),
        ("EXPLAIN SHOW TABLES", "EXPLAIN of SHOW"),
    ],
)
def test_what_the_gateway_does_not_do(sql, what):
    found = request(sql, _CLIENT)
    assert isinstance(found, Refused)
    assert found.what == what


def test_explain_keeps_places():
    sql = "EXPLAIN (TYPE io, FORMAT json)\n SELECT a\nFROM t"
    found = request(sql, _CLIENT)
    assert (found.kind, found.format, found.analyze) == ("IO", "JSON", False)
    assert found.sql.strip() == "SELECT a\nFROM t"
    assert len(found.sql) == len(sql)
    assert found.sql.index("SELECT") == sql.index("SELECT")
    assert request("EXPLAIN ANALYZE VERBOSE (SELECT 1)", _CLIENT).analyze
    assert request("EXPLAIN (SELECT 1)", _CLIENT).sql.strip() == "(SELECT 1)"
    ours = "EXPLAIN CREATE CUBE c AS SELECT a, count(*) FROM t GROUP BY a"
    assert request(ours, _CLIENT) == RunStatement(ours)


_EXECUTED = [
    ("EXECUTE p USING 1, 'a'", "SELECT x - 1 FROM t WHERE a = 'a'"),
    ("EXECUTE p USING -1, DATE '2026-01-31'", "SELECT x - (-1) FROM t WHERE a = DATE '2026-01-31'"),
    ("EXECUTE page USING INTEGER '2'", "SELECT a FROM t LIMIT 2"),
    ("EXECUTE q", "SELECT 1"),
    ("EXECUTE IMMEDIATE 'SELECT ''?'', ?' USING 3", "SELECT '?', 3"),
    ("EXECUTE IMMEDIATE 'SELECT 1'", "SELECT 1"),
]


@pytest.mark.parametrize(("sql", "expected"), _EXECUTED)
def test_execute(sql, expected):
    assert request(sql, _CLIENT) == RunStatement(expected, placed=False)


def test_prepared_statements_that_are_no_queries():
    assert request("EXECUTE shown", _CLIENT) == nodes.ShowTables(None, "a")


_CONSTANTS = st.sampled_from(
    [
        *("1", "-1", "+1.5", "1e5", "'a'", "'it''s ?'", "TRUE", "null", "X'00ff'", "U&'\\00e9'"),
        *("DATE '2026-01-31'", "TIMESTAMP '2026-01-31 00:00:00.000 UTC'", "INTEGER '2'"),
        *("DECIMAL '-1.50'", "DOUBLE PRECISION '1'", "UUID 'x'", "INTERVAL -'3' DAY", "(1)"),
        *("INTERVAL '1-2' YEAR TO MONTH", "CAST('1' AS decimal(3, 2))", "CAST(NULL AS ROW(a int))"),
        *("ARRAY[1, NULL, 'x']", "ARRAY[]", "ROW(1, 'a')", "MAP(ARRAY['k'], ARRAY[1])"),
        *("infinity()", "-infinity()", "nan()"),
    ]
)


@given(st.lists(_CONSTANTS, min_size=1, max_size=4), st.data())
def test_constants_are_one_operand_each(given_, data):
    around = st.sampled_from(
        ["x -?", "?", "(?)", "f(?,?)", "a=?", "- ?", "?-- c\n", "?/* ? */", "'?' || ?", "x IN (?)"]
    )
    parts = data.draw(st.lists(around, min_size=1, max_size=4))
    sql = f"SELECT {', '.join(parts)} FROM t"
    count = sum(word.key == "?" for word in words_of(sql))
    client = ClientSession(user="a", prepared={"s": sql})
    values = [given_[number % len(given_)] for number in range(count)]
    found = request(f"EXECUTE s USING {', '.join(values)}", client)
    words = iter(words_of(found.sql))
    for word in words_of(sql):  # nothing else has changed
        if word.key != "?":
            assert next(words).text == word.text
            continue
        value = values.pop(0)
        expected = [one.text for one in words_of(value)]
        taken = [next(words).text for _ in expected] if value[0] not in "+-" else None
        if taken is None:
            expected = ["(", *expected, ")"]
            taken = [next(words).text for _ in expected]
        assert taken == expected
    assert next(words, None) is None
    assert not values


@pytest.mark.parametrize(
    ("sql", "kind", "text"),
    [
        ("", StatementError, "no statement"),
        ("-- nothing", StatementError, "no statement"),
        (";", StatementError, "no statement"),
        ("SELECT 1; SELECT 2", StatementError, "a second statement begins"),
        ("SELECT 1;;", StatementError, "a second statement begins"),
        ("SELECT 'a;", StatementError, "isn't closed"),
        ("SELEKT 1", StatementError, "no statement begins with SELEKT"),
        ("OPTIMIZE", StatementError, "expected a table's name, found the end"),
        ("OPTIMIZE 1", StatementError, "expected a table's name, found 1"),
        ("COMPACT 1", StatementError, "expected CUBE or a table's name, found 1"),
        ("UNDROP x", StatementError, "expected CUBE, found x"),
        ("PURGE 1", StatementError, "no statement begins with PURGE"),
        ("SHOW TABELS", StatementError, "found TABELS"),
        ("USE a.b.c", StatementError, "expected the statement's end, found ."),
        ("SET SESSION a = b", StatementError, "expected a number, true, false"),
        ("SET SESSION a = 1 + 1", StatementError, "found +"),
        ("SET SESSION a.b.c = 1", StatementError, "one part, or two"),
        ("SET TIME ZONE 'Nowhere'", StatementError, "no time zone Nowhere"),
        ('SET ROLE "ALL"', StatementError, "other than ALL"),
        ("PREPARE p FROM EXECUTE q", StatementError, "none is prepared twice"),
        ("PREPARE p FROM SELECT 1; SELECT 2", StatementError, "a second statement"),
        ("PREPARE p FROM", StatementError, "found the end"),
        ("EXECUTE nope", PreparedNotFoundError, "no statement is prepared as nope"),
        ("DESCRIBE INPUT nope", PreparedNotFoundError, "nope"),
        ("DEALLOCATE PREPARE nope", PreparedNotFoundError, "nope"),
        ("EXECUTE nested", StatementError, "EXECUTE can't be executed"),
        ("EXECUTE IMMEDIATE 'PREPARE a FROM SELECT 1'", StatementError, "can't be executed"),
        ("EXECUTE p USING 1", ParameterError, "has 2 parameters, and 1 are given"),
        ("EXECUTE q USING 1", ParameterError, "has 0 parameters, and 1 are given"),
        ("EXECUTE p", ParameterError, "has 2 parameters, and 0 are given"),
        ("EXECUTE typed USING '2026-01-31'", StatementError, "DATE can't stand before"),
        ("SELECT ?", ParameterError, "has 1 parameters, and 0 are given"),
        ("EXECUTE p USING a, 1", ParameterError, "a is none"),
        ("EXECUTE p USING (SELECT 1), 1", ParameterError, "SELECT is none"),
        ("EXECUTE p USING 1 + 1, 1", StatementError, "found +"),
        ("EXECUTE p USING -(1), 1", ParameterError, "( is none"),
        ("EXECUTE p USING --1\n, 1", ParameterError, "constant"),
        ("EXECUTE p USING - -1, 1", ParameterError, "- is none"),
        ("EXECUTE p USING X'0', 1", StatementError, "hexadecimal"),
        ("EXECUTE p USING CAST(1 AS (SELECT 1)), now()", ParameterError, "now is none"),
        ("EXECUTE p USING ARRAY[a], 1", ParameterError, "a is none"),
        ("EXECUTE p USING DATE, 1", ParameterError, "DATE is none"),
        ("EXECUTE p USING " + "(" * 50 + "1" + ")" * 50, StatementError, "32 levels"),
        ("WITH FUNCTION f() RETURNS int RETURN 1 SELECT f()", StatementError, "WITH FUNCTION"),
        ("CREATE CUBE", StatementError, "the cube's name"),
        ("CREATE FOO x", StatementError, "found FOO"),
        ("START TRANSACTION READ", StatementError, "ONLY or WRITE"),
        ("SHOW TABLES LIKE 'a' ESCAPE 'bc'", StatementError, "one character"),
        ("SHOW TABLES LIKE a", StatementError, "a pattern in quotes"),
        ("SET SESSION a = U&'\\d800'", StatementError, "numbers of characters"),
        ("\x1b[2J", StatementError, "begins with"),
    ],
)
def test_errors(sql, kind, text):
    with pytest.raises(kind) as caught:
        request(sql, _CLIENT)
    assert text in caught.value.message
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", str(caught.value))


def test_errors_have_places_in_what_the_client_sent():
    with pytest.raises(StatementError) as caught:
        request("SHOW\n  TABELS", _CLIENT)
    assert (caught.value.line, caught.value.column) == (2, 3)
    with pytest.raises(StatementError) as caught:
        request("EXECUTE typed USING 1", _CLIENT)
    assert (caught.value.line, caught.value.column) == (None, None)


@given(st.text(st.sampled_from("SELECTUHOWEXPRMVID?;'\"-/*()[],. \n1a=")) | st.text())
def test_any_text_is_a_request_or_an_error_of_ours(sql):
    try:
        found = request(sql, _CLIENT)
    except AcceleratorError:
        return
    assert isinstance(found, nodes.Request)


@pytest.mark.parametrize("word", BEGINNINGS)
def test_no_word_is_suggested_in_its_own_place(word):
    for sql in (word, f"{word} 1"):
        with pytest.raises(StatementError) as found:
            request(sql, ClientSession(user="x"))
        assert f"mean {word}" not in found.value.hint
        assert word not in found.value.suggestions


def test_a_word_that_lacks_its_table_has_an_example():
    with pytest.raises(StatementError) as found:
        request("OPTIMIZE", ClientSession(user="x"))
    assert "for example: OPTIMIZE orders SORT BY" in found.value.hint
