"""SQL texts of clients, views and the query log: deep, wide and repeated ones end no process.

A text is used as far as no Spark and no warehouse is needed: read, measured, parsed, translated,
bound over a small star, logged. It's parsed or refused; what is refused has a typed error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from accelerator.errors import AcceleratorError
from accelerator.gateway.access.table_names import named
from accelerator.gateway.catalog.query import virtual_query
from accelerator.gateway.trino.requests.cursor import words_of
from accelerator.query.early_errors.check import raise_fault
from accelerator.query.explain.explanation import head
from accelerator.query.statements.parse import parse_statement
from accelerator.query.virtual_tables import log_table
from accelerator.store.journals.query_log.statement_text import read
from cubes.definition import define
from fuzz.bytes.deep_texts import deep_text
from fuzz.bytes.kinds import Format, Input, Step
from rewrite.analysis.query_form import cross_join, uses
from rewrite.analysis.syntax_errors import syntax_fault
from rewrite.bind.select import bind_block
from rewrite.client import DIALECTS, ClientContext
from rewrite.dialects.translate import translated, translated_for
from rewrite.facts import ViewFacts
from rewrite.parse.parse import PARSER_FAILS, parse
from rewrite.parse.statement_shape import shape_of
from rewrite.reason import DeclinedError
from rewrite.rules.inline_views import inlined
from rewrite.rules.splice.select_positions import SelectPositions
from rewrite.rules.splice.select_spans import Text
from rewrite.rules.split_windows import unfolded
from rewrite.text.first_look import comments, split_statements
from tests.cubes.star import Star

_CLIENT = ClientContext(catalog="lake", schema="s")
_COLUMNS: Mapping[str, str] = {"g": "string", "v": "int", "a": "int", "dt": "date"}
_QUERIES = (
    "SELECT g, sum(v) AS s FROM f WHERE v > 1 AND dt = DATE '2020-01-31' GROUP BY g ORDER BY s",
    "WITH w AS (SELECT k, CASE WHEN v > 1 THEN 'a' ELSE h END AS c FROM f JOIN d ON f.k = d.k)"
    " SELECT count(*) FROM w WHERE c IN ('a', 'b') OR c LIKE '%a%'",
    "SELECT k, row_number() OVER (PARTITION BY g ORDER BY v) FROM f UNION ALL SELECT k, 1 FROM d",
    "SELECT \"table_name\" FROM information_schema.tables WHERE table_schema LIKE '%a%'",
    "SELECT user, elapsed_ms FROM system.runtime.query_log WHERE started > TIMESTAMP '2020-01-01'",
    "SELECT CAST(ARRAY[ROW(1, 'a')] AS ARRAY(ROW(x INTEGER, y VARCHAR))) FROM f",
)
_OURS = (
    "CREATE CUBE c AS SELECT g, sum(v) FROM f GROUP BY g",
    "EXPLAIN ACCELERATE SELECT g FROM f",
    "CREATE INDEX i ON lake.s.f USING BITMAP (g) WITH (a = '1')",
    "ALTER TABLE f ADD RELATE COLUMN r AS (d.name) ON (f.k = d.k)",
    "OPTIMIZE TABLE f ORDER BY g, v",
)


def _statements() -> Sequence[Input]:
    found = [(sql, ("trino", "gateway")) for sql in (*_QUERIES, *_OURS)]
    found += [(sql, ("spark", "session")) for sql in (*_QUERIES[:3], *_OURS)]
    found += [(_QUERIES[0], (dialect, "session")) for dialect in DIALECTS]
    return [Input(sql.encode(), context=context) for sql, context in found]


def _columns(_: tuple[str, ...]) -> Mapping[str, str]:
    return _COLUMNS


def _statement_steps(given: Input) -> Iterable[Step]:
    """Reads the text as a session or as the gateway does."""
    sql, (dialect, door) = given.data.decode(errors="replace"), given.context
    yield partial(lambda: repr(parse_statement(sql, dialect))[:200])
    if door == "session":
        yield partial(lambda: (len(comments(sql)), len(split_statements(sql)), head(sql)))
        yield partial(_in_spark, sql, dialect)
        yield partial(lambda: shape_of(sql) is not None)
        yield partial(lambda: raise_fault(syntax_fault(sql)))
        yield partial(lambda: log_table.is_named(sql, ()))
        yield partial(_planned, sql)
    else:
        yield partial(lambda: len(words_of(sql)))
        yield partial(lambda: virtual_query(sql, _CLIENT, ["lake"]) is not None)
        yield partial(_of_client, sql)


def _of_client(sql: str) -> Any:
    text = translated_for(_CLIENT, sql, "trino", _columns, ["lake"], "UTC").text
    return repr(named(text))[:200], _planned(text)


def _in_spark(sql: str, dialect: str) -> Any:
    text = translated(sql, dialect, _columns)
    return text if dialect == "spark" else _planned(text)


def _planned(sql: str) -> Any:
    """Binds the text as the planner and a cube's definition do."""
    tree = parse(sql)
    used = [use.table.name for use in uses(tree)]
    try:
        found = repr(define(bind_block(tree, Star(), "UTC")))[:200]
    except DeclinedError as error:
        found = error.declined.code
    text = Text(sql)
    SelectPositions(tree)
    unfolded(text)
    return used, cross_join(tree), found, sum(1 for _ in text.selects())


def _views() -> Sequence[Input]:
    texts = ("SELECT g, v FROM f WHERE v > 1", "SELECT g, sum(v) AS v FROM s.f GROUP BY g")
    return [Input(sql.encode()) for sql in texts]


def _view_steps(given: Input) -> Iterable[Step]:
    yield partial(_inlined, given.data.decode(errors="replace"))
    yield partial(lambda: repr(named(given.data.decode(errors="replace")))[:200])


def _inlined(sql: str) -> Any:
    columns = (("g", "string"), ("v", "int"))
    view = ViewFacts(("lake", "s", "w"), sql, columns, "lake", ("s",), frozenset({"lake"}))
    query = "SELECT g, count(*) FROM w GROUP BY g"
    text = inlined(
        query, parse(query), lambda parts: view if parts == ("w",) else None, Star(), "UTC"
    )
    return None if text is None else repr(bind_block(parse(query), Star(), "UTC"))[:0] + text[:200]


def _logged() -> Sequence[Input]:
    secret = "CREATE TABLE t OPTIONS (password 'abc', url 'http://u:p@h/')"
    return [
        Input(one.encode(), context=dialect)
        for one in (*_QUERIES, secret)
        for dialect in ("spark", "trino")
    ]


def _logged_steps(given: Input) -> Iterable[Step]:
    sql = given.data.decode(errors="replace")
    yield partial(lambda: repr(read(sql, given.context))[:400])
    yield partial(_replayed, sql)


def _replayed(sql: str) -> Any:
    """Parses the text as the advisor does for a file of the log."""
    return json.dumps([use.table.name for use in uses(parse(sql))])


_ALLOWED = (AcceleratorError, DeclinedError, *PARSER_FAILS)
"""What the planner and the gateway catch: for the rest Spark answers, or the client is told."""

FORMATS = (
    Format("statement", _statements, _statement_steps, _ALLOWED, change=deep_text),
    Format("view text", _views, _view_steps, _ALLOWED, change=deep_text),
    Format("query-log text", _logged, _logged_steps, _ALLOWED, change=deep_text),
)
