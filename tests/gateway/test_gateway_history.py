"""The history of statements: bounded, printable, and each user's own."""

from __future__ import annotations

import json
import math
from collections import Counter

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.errors import CancelledError
from accelerator.gateway.access.login.users import User
from accelerator.gateway.monitoring.history import (
    History,
    HistoryFilter,
    StatementRecord,
    slow_line,
)
from accelerator.gateway.monitoring.timeline import STEP_S, Timeline, _percentile, _step
from accelerator.gateway.statements.statement import Statement
from accelerator.gateway.trino.errors import trino_error
from accelerator.gateway.trino.requests.nodes import ClientSession
from rewrite.text.printable import CONTROLS

texts = st.text(st.characters(codec=None), max_size=60)


def statement(sql="SELECT 1", number=0, user="me", principal=None, **client):
    session = ClientSession(user=user, **client)
    return Statement(sql, session, User(user), principal or user, number, "127.0.0.1")


def ended(history, one, state="FINISHED", error=None, **metrics):
    history.record(one)
    one.figures.state, one.figures.ended = state, one.figures.created + 0.25
    one.figures.metrics = metrics
    one.error = None if error is None else trino_error(error)
    return history.ended(one)


def test_a_statement_from_its_beginning_to_its_end():
    history, one = History(10), statement("SELECT a FROM t", source="cli", client_tags=("x", "y"))
    history.record(one)
    assert history.running == 1
    found = history.find(one.id)
    assert (found.state, found.sql, found.tags) == ("QUEUED", "SELECT a FROM t", ("x", "y"))
    one.assign(77, 5)
    assert history.find(one.id).state == "RUNNING"
    one.figures.ended, one.figures.state = one.figures.created + 1.5, "FINISHED"
    one.figures.tables = [("lake", "shop", "a.b")]
    one.figures.metrics = {"engine": "duckdb", "cubes": ["c"], "files_total": 9, "bytes_read": 7}
    record = history.ended(one)
    assert history.running == 0 and history.find(one.id) is record and record.is_over
    assert record.elapsed_ms == pytest.approx(1500, abs=1)
    assert (record.worker, record.engine, record.cubes, record.files_total) == (
        77,
        "duckdb",
        ("c",),
        9,
    )
    assert record.tables == ("lake.shop.`a.b`",)
    one.assign(78, 6)
    assert one.figures.state == "FINISHED"


def test_what_failed_and_what_was_cancelled():
    history = History(10)
    failed = ended(history, statement(number=1), "FAILED", ValueError("it broke"))
    assert failed.state == "FAILED" and failed.error == "GENERIC_INTERNAL_ERROR"
    assert "it broke" in failed.error_message
    stopped = ended(history, statement(number=2), "FAILED", CancelledError("stopped"))
    assert (stopped.state, stopped.error) == ("CANCELLED", "USER_CANCELED")


def test_so_many_are_kept_and_so_many_bytes():
    history = History(3)
    ids = [ended(history, statement(number=n)).id for n in range(5)]
    assert [one.id for one in history.newest()(HistoryFilter())] == ids[:1:-1]
    assert history.find(ids[0]) is None and len(history) == 3
    small = History(100, bytes_max=50_000)
    for number in range(50):
        ended(small, statement("SELECT " + "x" * 4000, number))
    assert 1 <= len(small) <= 5
    none = History(0)
    assert ended(none, statement()).state == "FINISHED" and len(none) == 0


def test_who_sees_what():
    history = History(10)
    own = ended(history, statement(number=1, user="ann")).id
    lent = ended(history, statement(number=2, user="ann", principal="bi")).id
    other = ended(history, statement(number=3, user="bob")).id
    select = history.newest()

    def seen(**wanted):
        return {one.id for one in select(HistoryFilter(**wanted))}

    assert seen() == {own, lent, other}
    assert seen(of="ann") == {own, lent}
    assert seen(of="bi") == {lent}
    assert seen(of="") == seen(of="an") == set()
    assert seen(of="ann", user="bob") == set()


def test_filters():
    history = History(10)
    a = ended(history, statement("SELECT * FROM Sales", 1, "Ann"), cubes=["by_city"]).id
    b = ended(history, statement("nope", 2, "bob"), "FAILED", ValueError("Gone")).id
    running = statement("SELECT 2", 3, "bob")
    history.record(running)
    select = history.newest()

    def found(**wanted):
        return [one.id for one in select(HistoryFilter(**wanted))]

    assert found() == [running.id, b, a]
    assert found(limit=1) == [running.id] and found(limit=0) == []
    assert found(user="ANN") == [a] and found(user="b") == [running.id, b]
    assert found(state="running") == [running.id] and found(state="failed") == [b]
    assert found(text="sales") == found(text="by_c") == [a]
    assert found(text="gone") == [b] and found(text="internal_error") == [b]


@given(
    texts,
    texts,
    texts,
    st.dictionaries(
        st.sampled_from(
            ["engine", "cubes", "files_total", "planning_ms", "fallback", "rewritten", "made_by"]
        ),
        st.one_of(
            texts, st.integers(), st.floats(), st.none(), st.lists(st.one_of(texts, st.none()))
        ),
    ),
)
def test_whatever_comes_is_shown_as_plain_json(sql, source, user, metrics):
    """Halves of characters, controls, other types: nothing of it gets out."""
    history = History(2)
    history.record(one := statement(sql, user=user, source=source, client_tags=(source,)))
    one.figures.metrics, one.figures.ended = metrics, one.figures.created
    shown = history.ended(one).to_dict(sees_all=True, whole=True)
    again = orjson.loads(orjson.dumps(shown))
    assert not CONTROLS.search(again["sql"] + again["user"] + again["source"] + again["reason"])
    assert isinstance(again["engine"], str) and isinstance(again["files_total"], int)
    assert all(isinstance(name, str) for name in again["cubes"])


def test_texts_are_bounded():
    record = ended(
        History(2),
        statement("x" * 10**6, user="u" * 5000, client_tags=("t" * 999,) * 99),
        fallback="r" * 10**5,
        cubes=["c" * 999] * 999,
    )
    assert record.sql_length == 10**6 and len(record.sql) == 10_000
    assert len(orjson.dumps(record.to_dict(sees_all=True, whole=True))) < 50_000
    assert len(record.to_dict(sees_all=True)["sql"]) == 400


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'jdbc:x://me:hush99@h'",
        "SELECT * FROM t WHERE password = 'hush99'",
        "CREATE USER u IDENTIFIED BY 'hush99'",
        "SELECT aes_encrypt(a, 'hush99') FROM t",
    ],
)
def test_secrets_arent_shown(sql):
    history = History(2)
    record = ended(history, statement(sql), "FAILED", ValueError(f"it fails: {sql}"))
    record.explain({"text": f"└─ {sql}\x1b", "reasons": [{"reason": sql, "nearest": True}]})
    assert "***" in record.sql
    assert "hush99" not in json.dumps(record.to_dict(sees_all=True, whole=True)) + json.dumps(
        slow_line(record)
    )
    assert history.newest()(HistoryFilter(text="hush99")) == []
    assert history.newest()(HistoryFilter(text=sql.lower()[:12])) == [record]


@given(texts, texts)
def test_a_slow_statement_is_one_line(sql, user):
    record = ended(History(2), statement(f"SELECT\n{sql}\r\n", user=user))
    line = json.dumps(slow_line(record))
    assert line.isascii() and line.isprintable() and json.loads(line)["id"] == record.id


# The time line


@given(st.lists(st.floats(0.1, 1e7), min_size=1, max_size=60), st.sampled_from([0.5, 0.95]))
def test_percentiles_are_right_to_a_step(durations, share):
    counts = Counter(map(_step, durations))
    exact = sorted(durations)[math.ceil(share * len(durations)) - 1]
    assert _percentile(counts, share) == pytest.approx(exact, rel=0.06)


def test_pieces_of_time():
    line = Timeline()
    for at, ms, failed, cached in ((1000, 5, False, True), (1001, 7, True, False), (1006, 9, 0, 0)):
        line.ended(at, ms, failed=failed, cached=cached)
    line.running(1006, 4)
    found = line.to_dict(1012, 20)
    assert found["at"] == [990, 995, 1000, 1005]
    assert found["rate"] == [0, 0, 2 / STEP_S, 1 / STEP_S]
    assert found["failed"] == [0, 0, 1 / STEP_S, 0] and found["running"] == [0, 0, 0, 4]
    assert found["p50"][:2] == [None, None] and found["p95"][3] == pytest.approx(9, rel=0.06)
    recent = line.summary(1012, 60)
    assert (recent["statements"], recent["failed"], recent["cached"]) == (3, 1, 1)
    assert Timeline().summary(1012, 60) == {
        "statements": 0,
        "rate": 0.0,
        "failed": 0,
        "cached": 0,
        "p50": None,
        "p95": None,
    }


def test_a_clock_that_is_set_back_breaks_nothing():
    line = Timeline()
    for at in (1000, 400, 1001):
        line.ended(at, 1, failed=False, cached=False)
    assert sum(line.to_dict(1010, 20)["rate"]) * STEP_S == pytest.approx(3)
    assert all(len(one) == 4 for one in line.to_dict(1010, 20).values())


def test_an_hour_at_most():
    line = Timeline()
    for at in range(0, 20_000, STEP_S):
        line.ended(at, 1, failed=False, cached=False)
    assert len(line.to_dict(20_000, 10**6)["at"]) == 720


def test_only_public_fields_are_shown():
    assert "number" not in StatementRecord.of(statement()).to_dict(sees_all=True, whole=True)
