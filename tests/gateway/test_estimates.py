"""What a statement is thought to take: as those of its shape have."""

from __future__ import annotations

import tracemalloc

from accelerator.gateway.access.login.users import User
from accelerator.gateway.admission.memory_estimates import Estimates
from accelerator.gateway.statements.statement import Statement
from accelerator.gateway.trino.requests.nodes import ClientSession
from accelerator.store.journals.query_log.statement_text import _redacted_prefix


def _asked(sql: str, schema: str = "s") -> Statement:
    client = ClientSession(user="ann", catalog="lake", schema=schema)
    return Statement(sql, client, User("ann"), "ann", 1)


def test_a_shape_is_thought_to_take_what_it_took_most() -> None:
    known = Estimates(1000)
    one, other = (_asked(f"SELECT a FROM t WHERE b = {n}") for n in (1, 2))
    assert known.of(one) == 1000
    known.learn(one, 80)
    assert known.of(other) == 80
    known.learn(other, 400)
    assert known.of(one) == 400
    for _ in range(3):
        known.learn(one, 100)
    assert 100 < known.of(one) < 400
    for _ in range(20):
        known.learn(one, 100)
    assert known.of(one) == 100


def test_other_shapes_and_other_schemas_are_not_known_by_it() -> None:
    known = Estimates(7)
    known.learn(_asked("SELECT a FROM t"), 80)
    assert known.of(_asked("SELECT b FROM t")) == 7
    assert known.of(_asked("SELECT a FROM t", schema="other")) == 7
    assert known.of(_asked("no SQL '")) == 7


def test_a_prepared_statement_is_known_by_what_runs() -> None:
    known = Estimates(7)
    one, other = (_asked(f"EXECUTE p USING {n}") for n in (1, 2))
    one.runs, other.runs = (f"SELECT a FROM t WHERE b = {n}" for n in (1, 2))
    known.learn(one, 80)
    assert known.of(other) == 80
    assert known.of(_asked("EXECUTE p USING 1")) == 7


def test_nothing_takes_nothing() -> None:
    known = Estimates(7)
    known.learn(_asked("SELECT 1"), 0)
    assert known.of(_asked("SELECT 1")) == 1


def test_a_long_statement_is_known_by_few_bytes() -> None:
    """4096 of some megabytes each would be all the memory that there is."""
    known = Estimates(7)
    tracemalloc.start()
    one, other = (_asked(f"SELECT {n}{' ' * 5_000_000}") for n in (1, 2))
    known.learn(one, 80)
    known.learn(other, 90)
    one_sql, other_sql = one.sql, other.sql
    del one, other
    assert known.of(_asked(one_sql)) == 80
    assert known.of(_asked(other_sql)) == 90
    _redacted_prefix.cache_clear()
    del one_sql, other_sql
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1_000_000
