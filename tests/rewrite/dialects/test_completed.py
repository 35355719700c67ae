"""Names of a client's queries: completed by its catalog and schema, or refused; never handed on."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from rewrite.client import ClientContext, Translated
from rewrite.dialects.output_names import shown_names
from rewrite.dialects.qualify_names import full_name
from rewrite.dialects.translate import translated_for
from rewrite.errors import (
    AcceleratorError,
    MissingCatalogError,
    MissingSchemaError,
    StatementError,
    UnknownCatalogError,
    UntranslatedError,
)
from rewrite.parse.parse import parse

_CATALOGS = ("lake", "other")
_CLIENT = ClientContext(
    catalog="lake",
    schema="d",
    user="o'hara",
    time_zone="Asia/Tokyo",
    version="480",
    now=datetime(2024, 2, 29, 20, 15, 1, 234567, UTC),
)
_COLUMNS = {"a": "int", "b": "string"}


def _translated(sql: str, client: ClientContext = _CLIENT) -> Translated:
    return translated_for(client, sql, "trino", lambda _: _COLUMNS, _CATALOGS)


def _tables(sql: str) -> list[str]:
    return [".".join(one) for one in _translated(sql).tables]


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("SELECT a FROM t", ["lake.d.t"]),
        ("SELECT a FROM T, s.T, other.s.T", ["lake.d.t", "lake.s.t", "other.s.t"]),
        ('SELECT a FROM "T"', ["lake.d.T"]),
        ("TABLE t", ["lake.d.t"]),
        ("SELECT 1", []),
        ("VALUES (1)", []),
        # what WITH names, and where it's seen
        ("WITH t AS (SELECT a FROM u) SELECT a FROM t", ["lake.d.u"]),
        ("WITH t AS (SELECT a FROM t) SELECT a FROM t", ["lake.d.t"]),
        ('WITH "T" AS (SELECT 1 AS a) SELECT a FROM t', []),
        ("WITH t AS (SELECT 1 AS a) SELECT a FROM d.t", ["lake.d.t"]),
        ("WITH x AS (SELECT a FROM y), y AS (SELECT a FROM x) SELECT a FROM y", ["lake.d.y"]),
        ("WITH t AS (SELECT 1 AS a) SELECT a FROM t UNION SELECT a FROM t", []),
        ("(WITH t AS (SELECT 1 AS a) SELECT a FROM t) UNION SELECT a FROM t", ["lake.d.t"]),
        ("WITH t AS (SELECT 1 AS a) SELECT a FROM u WHERE a IN (SELECT a FROM t)", ["lake.d.u"]),
        (
            "SELECT a FROM (WITH t AS (SELECT 1 AS a) SELECT a FROM t) x JOIN t USING (a)",
            ["lake.d.t"],
        ),
        (
            "WITH x AS (WITH y AS (SELECT a FROM z) SELECT a FROM y) SELECT x.a FROM x, y",
            ["lake.d.z", "lake.d.y"],
        ),
        (
            "SELECT (SELECT max(a) FROM u) FROM t WHERE EXISTS (SELECT 1 FROM v)",
            ["lake.d.t", "lake.d.u", "lake.d.v"],
        ),
        # names that must be quoted
        ('SELECT a FROM "my.table"', ["lake.d.my.table"]),
        ('SELECT a FROM "s`x"."t""y"', ['lake.s`x.t"y']),
        ('SELECT a FROM "t$logical_iceberg_metadata"', ["lake.d.t$logical_iceberg_metadata"]),
    ],
)
def test_tables_by_their_full_names(sql: str, tables: list[str]) -> None:
    assert sorted(_tables(sql)) == sorted(tables)


def test_what_is_quoted() -> None:
    assert (
        _translated('SELECT a FROM "my.table" x').text == "SELECT a FROM `lake`.`d`.`my.table` AS x"
    )
    assert '`s``x`.`t"y`' in _translated('SELECT a FROM "s`x"."t""y"').text


def test_a_column_behind_its_tables_name() -> None:
    found = _translated("SELECT t.a, d.t.a FROM t WHERE lake.d.t.a > 1")
    assert found.text == "SELECT t.a, d.t.a FROM `lake`.`d`.`t` WHERE lake.d.t.a > 1"


@pytest.mark.parametrize(
    ("sql", "client", "error"),
    [
        ("SELECT a FROM t", ClientContext(catalog="lake"), MissingSchemaError),
        ("SELECT a FROM t", ClientContext(), MissingSchemaError),
        ("SELECT a FROM d.t", ClientContext(), MissingCatalogError),
        ("SELECT a FROM t", ClientContext(catalog="lakes", schema="d"), UnknownCatalogError),
        ("SELECT a FROM spark_catalog.d.t", _CLIENT, UnknownCatalogError),
        ('SELECT a FROM "Lake".d.t', _CLIENT, UnknownCatalogError),
        ("SELECT a FROM a.b.c.d", _CLIENT, StatementError),
        ('SELECT a FROM ""', _CLIENT, StatementError),
        ("SELECT * FROM sequence(1, 2)", _CLIENT, UntranslatedError),
        ("SELECT * FROM TABLE(sequence(1, 2))", _CLIENT, UntranslatedError),
        ("SELECT * FROM UNNEST(ARRAY[1])", _CLIENT, UntranslatedError),
        ("SELECT a FROM read_parquet('/etc/x')", _CLIENT, UntranslatedError),
        ("INSERT INTO t SELECT a FROM u", _CLIENT, StatementError),
        ("WITH x AS (SELECT 1) INSERT INTO t SELECT a FROM x", _CLIENT, UntranslatedError),
        ("DROP TABLE t", _CLIENT, UntranslatedError),
        ("SELECT a FROM t; SELECT a FROM u", _CLIENT, StatementError),
        ("SELECT ( FROM t", _CLIENT, StatementError),
        ("SELECT a FROM t WHERE b = '${x}'", _CLIENT, UntranslatedError),
        *(
            (f'SELECT * FROM "t{end}"', _CLIENT, UntranslatedError)
            for end in ("$partitions", "$files", "$snapshots", "$history", "$PROPERTIES")
        ),
        ('SELECT * FROM other.s."t$manifests"', _CLIENT, UntranslatedError),
    ],
)
def test_what_is_refused(sql: str, client: ClientContext, error: type[AcceleratorError]) -> None:
    with pytest.raises(error) as raised:
        _translated(sql, client)
    assert raised.value.hint


def test_the_closest_catalog_is_named() -> None:
    with pytest.raises(UnknownCatalogError) as raised:
        _translated("SELECT a FROM laek.d.t")
    assert raised.value.suggestions == ("lake",)
    with pytest.raises(UnknownCatalogError) as raised:
        _translated("SELECT a FROM hive.d.t")
    assert raised.value.hint == "there are lake, other"


def test_sparks_own_sql_is_completed_too() -> None:
    found = translated_for(_CLIENT, "SELECT a FROM t", "spark", lambda _: None, _CATALOGS)
    assert found.text == "SELECT a FROM `lake`.`d`.`t`"


@pytest.mark.parametrize("value", ["${x}", "a\nb", "\x1b"])
def test_a_clients_words_arent_trusted(value: str) -> None:
    for field in ("catalog", "schema", "user", "time_zone", "version"):
        with pytest.raises(StatementError):
            ClientContext(**{field: value})


@pytest.mark.parametrize(
    ("sql", "spark"),
    [
        ("SELECT current_user, current_catalog, current_schema", "'o\\'hara', 'lake', 'd'"),
        ("SELECT current_timezone(), version()", "'Asia/Tokyo', '480'"),
        ("SELECT current_date", "DATE '2024-03-01'"),
        ("SELECT current_date - INTERVAL '7' DAY", "DATE '2024-03-01' - INTERVAL '7' DAY"),
        ("SELECT now()", "TIMESTAMP '2024-03-01 05:15:01.234+09:00'"),
        ("SELECT current_timestamp", "TIMESTAMP '2024-03-01 05:15:01.234+09:00'"),
        ("SELECT localtimestamp", "TIMESTAMP_NTZ '2024-03-01 05:15:01.234'"),
    ],
)
def test_session_functions_are_constants(sql: str, spark: str) -> None:
    found = _translated(sql)
    assert found.text == f"SELECT {spark}"
    assert found.timed == ("20" in spark)
    assert found.names == (None,) * (spark.count("',") + 1)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT user",
        "SELECT a FROM t WHERE b <> session_user",
        'SELECT "current_date"',
        'SELECT a FROM t ORDER BY "CURRENT_USER"',
        "SELECT a FROM (SELECT a, b FROM t) x WHERE b = user",
        "SELECT count(*) FROM t GROUP BY a, b HAVING grouping__id = 0",
    ],
)
def test_no_name_is_a_function_of_sparks_session(sql: str) -> None:
    with pytest.raises(UntranslatedError, match="no column has that name"):
        _translated(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT b AS user FROM t ORDER BY user",
        "SELECT user FROM (SELECT b AS user FROM t) x",
        "WITH w (user) AS (SELECT b FROM t) SELECT user FROM w",
        "SELECT x.user FROM (SELECT b AS user FROM t) x",
    ],
)
def test_an_output_may_have_such_a_name(sql: str) -> None:
    assert "user" in _translated(sql).text


def test_a_column_may_have_such_a_name() -> None:
    sql = "SELECT user FROM t WHERE user = 'a'"
    known = translated_for(_CLIENT, sql, "trino", lambda _: {"User": "string"}, _CATALOGS)
    assert known.text == "SELECT user FROM `lake`.`d`.`t` WHERE user = 'a'"
    unknown = translated_for(_CLIENT, "SELECT user FROM t", "trino", lambda _: None, _CATALOGS)
    assert unknown.text == "SELECT user FROM `lake`.`d`.`t`"


def test_what_isnt_set_is_null() -> None:
    assert _translated("SELECT current_schema", ClientContext()).text == "SELECT NULLIF('', '')"


def test_a_quoted_column_is_no_function() -> None:
    assert _translated('SELECT "current_schema" FROM t').text.startswith("SELECT `current_schema`")


@pytest.mark.parametrize("sql", ["SELECT current_time", "SELECT localtime", "SELECT now(6)"])
def test_times_that_are_refused(sql: str) -> None:
    with pytest.raises(UntranslatedError):
        _translated(sql)


def test_without_a_moment_times_are_refused() -> None:
    with pytest.raises(UntranslatedError):
        _translated("SELECT current_date", ClientContext(catalog="lake"))


def test_an_unknown_zone() -> None:
    client = ClientContext(time_zone="Mars/Olympus", now=datetime(2024, 1, 1, tzinfo=UTC))
    with pytest.raises(StatementError, match="Mars"):
        _translated("SELECT current_date", client)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT a, b AS c, a + 1, (a), count(*) FROM t GROUP BY 1", "a c _col2 a _col4"),
        ("SELECT Foo, t.Bar, d.t.Baz FROM t", "Foo Bar Baz"),
        ("SELECT * FROM t", "a b"),
        ("SELECT 1, t.*, 2 FROM t", "_col0 a b _col3"),
        ("SELECT * FROM (SELECT count(*) FROM t)", "_col0"),
        ("SELECT * FROM (SELECT count(*), a FROM t GROUP BY 2) AS x (n, m)", "n m"),
        ("WITH x (n) AS (SELECT a + 1 FROM t) SELECT *, n + 1 FROM x", "n _col1"),
        ("WITH x AS (SELECT a + 1 FROM t) TABLE x", "_col0"),
        ("SELECT * FROM t AS x, (SELECT 1) AS y", "a b _col2"),
        ("SELECT a FROM t UNION ALL SELECT a + 1 FROM t", "a"),
        ("VALUES (1, 2), (3, 4)", "_col0 _col1"),
        ("VALUES 1", "_col0"),
        ("SELECT * FROM t JOIN u USING (a)", None),
    ],
)
def test_names_of_outputs(sql: str, names: str | None) -> None:
    found = _translated(sql).names
    assert (None if found is None else " ".join(shown_names(found))) == names


_WORDS = st.sampled_from(
    ["t", "u", "lake", "other", "d", "parquet", "spark_catalog", "/etc/x", "a.b", "`", '"', "T"]
)
_NAMES = st.lists(_WORDS, min_size=1, max_size=4)


def _quoted(parts: list[str]) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


@st.composite
def _queries(draw: st.DrawFn, depth: int = 0) -> str:
    def inner() -> str:
        return draw(_queries(depth + 1)) if depth < 2 else "SELECT 1 AS a"

    source = draw(_NAMES.map(_quoted) | st.sampled_from(["t", "u", "T"]))
    if depth < 2 and draw(st.booleans()):
        source = f"({inner()}) AS x"
    text = f"SELECT 1 AS a FROM {source}"
    if draw(st.booleans()):
        text += f" WHERE 1 IN ({inner()})"
    if draw(st.booleans()):
        text = f"WITH {draw(st.sampled_from('tu'))} AS ({inner()}) {text}"
    if draw(st.booleans()):
        text = f"({text}) UNION ALL {inner()}"
    return text


@given(_queries())
def test_nothing_but_tables_of_catalogs_reaches_spark(sql: str) -> None:
    """Read again as Spark reads it, each name has three parts and a catalog, or is one of WITH."""
    try:
        found = _translated(sql)
    except AcceleratorError:
        return
    tree = parse(found.text)
    defined = {one.alias.lower() for one in tree.find_all(exp.CTE)}
    named = set()
    for table in tree.find_all(exp.Table):
        assert isinstance(table.this, exp.Identifier)
        parts = tuple(part.name for part in table.parts)
        if len(parts) == 1:
            assert parts[0].lower() in defined
            continue
        assert len(parts) == 3
        assert parts[0] in _CATALOGS
        named.add(parts)
    assert named == set(found.tables)


@given(_NAMES, st.none() | _WORDS, st.none() | _WORDS)
def test_a_full_name_is_one_of_a_catalog(
    parts: list[str], catalog: str | None, schema: str | None
) -> None:
    try:
        found = full_name(tuple(parts), ClientContext(catalog=catalog, schema=schema), _CATALOGS)
    except AcceleratorError:
        return
    assert found[0] in _CATALOGS
    assert found[-len(parts) :] == tuple(parts)
