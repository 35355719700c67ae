"""A statement beyond the bounds: Spark's as it stands, counted; refused where it must be parsed."""

from __future__ import annotations

import pytest
from sqlglot.errors import SqlglotError

from accelerator.errors import StatementTooDeepError
from accelerator.gateway.trino.requests.cursor import words_of
from accelerator.query.runtime.failures import Failures
from accelerator.query.statements.nodes import Other, Query
from accelerator.query.statements.parse import parse_statement
from accelerator.store.journals.query_log.statement_text import read
from rewrite.client import ClientContext
from rewrite.dialects.translate import translated, translated_for
from rewrite.parse.bounds import TOKENS_MAX
from rewrite.parse.parse import parse, unparsed
from rewrite.reason import Declined

DEEP = f"SELECT {'(' * 300}1{')' * 300}"
MANY = f"SELECT {', '.join(['1'] * (TOKENS_MAX * 6 // 5))}"


def _none(_: tuple[str, ...]) -> None:
    return None


def test_a_query_stays_a_query_of_spark() -> None:
    for sql in (DEEP, MANY):
        assert parse_statement(sql) == Query(sql, sql)
        assert translated(sql, "spark", _none) == sql
        with pytest.raises(SqlglotError) as found:
            parse(sql)
        assert unparsed(found.value).code == "statement_too_deep"


def test_what_must_be_parsed_is_refused_with_a_hint() -> None:
    for sql in (DEEP, MANY):
        with pytest.raises(StatementTooDeepError) as found:
            translated(sql, "trino", _none)
        assert found.value.code == "statement_too_deep" and "WITH" in found.value.hint
        with pytest.raises(StatementTooDeepError):
            translated_for(ClientContext(catalog="lake", schema="d"), sql, "trino", _none, ["lake"])
    with pytest.raises(StatementTooDeepError):
        parse_statement(f"CREATE CUBE c AS {MANY}")
    with pytest.raises(StatementTooDeepError):
        words_of(MANY)


def test_other_statements_are_sparks_and_the_log_reads_their_beginning() -> None:
    sql = f"CREATE TABLE t AS {MANY}"
    assert parse_statement(sql) == Other(sql)
    assert read(DEEP, "spark").shape is not None and read(MANY, "spark").text.startswith("SELECT 1")


def test_it_is_counted() -> None:
    failures = Failures()
    failures.count_declined(Declined("statement_too_deep", "It's nested."))
    assert failures.counts == {"statement_too_deep": 1}
