"""Answers batch by batch: what `query` gives, never all of it in memory, and nothing left open."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from accelerator.engines.duckdb.engine import DuckDBEngine
from accelerator.errors import CancelledError, ConfigError, EngineError, StatementTimeoutError
from accelerator.iceberg.errors import NeedsSparkError
from accelerator.query.runtime import cancellation
from accelerator.query.runtime.cancellation import TimeBudget
from accelerator.query.runtime.services import Services
from tests.support.pristine import Pristine

_ROWS = 400_000
_JOIN = "SELECT f.k AS k, d.name AS name FROM d.f f JOIN d.dims d ON f.id = d.id"
_GROUPS = "SELECT f.k AS k, count(*) AS n FROM d.f f JOIN d.dims d ON f.id = d.id GROUP BY f.k"
_NESTED = f"SELECT g.k AS k, g.n AS n FROM ({_GROUPS}) g WHERE g.n > 0"
_SLOW = "SELECT f.k AS k FROM d.f f, d.f g WHERE f.k + g.k < 0"


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    keys = pa.array(range(_ROWS), pa.int64())
    rows = pa.table({"k": keys, "id": pa.array([n % 3 for n in range(_ROWS)], pa.int32())})
    catalog.create_table("d.f", rows.schema).append(rows)
    names = pa.table({"id": pa.array([0, 1, 2], pa.int32()), "name": ["a", "b", None]})
    catalog.create_table("d.dims", names.schema).append(names)


@pytest.fixture(scope="module")
def acc(pristine: Pristine) -> Iterator[Accelerator]:
    with accelerator.open(pristine.lake(_fill)) as session:
        yield session
        assert not session.spark_started


@pytest.fixture(autouse=True)
def _nothing_left(acc: Accelerator) -> Iterator[None]:
    yield
    assert not acc.spark_started
    assert not acc.services.duckdb._running
    assert not acc.services.cancellation._tags
    acc.services.failures.counts.clear()
    acc.services.planner._left._values.clear()  # what a test has left to Spark


@pytest.mark.parametrize("sql", [_JOIN, _GROUPS, _NESTED])
def test_a_stream_is_the_answer_of_the_query(acc: Accelerator, sql: str) -> None:
    whole = acc.query(sql).arrow()
    batches = list(acc.stream(sql))
    assert len(batches) > 2
    found = pa.Table.from_batches(batches)
    assert found.schema == whole.schema
    assert found.sort_by("k").equals(whole.sort_by("k"))


def test_a_stream_in_an_order_is_in_it(acc: Accelerator) -> None:
    keys = acc.stream(f"{_JOIN} ORDER BY k DESC").read_all()["k"].to_pylist()
    assert keys == list(range(_ROWS - 1, -1, -1))


def test_no_row_is_a_stream_of_the_same_columns(acc: Accelerator) -> None:
    found = acc.stream(f"{_JOIN} WHERE f.k < 0").read_all()
    assert found.schema.names == ["k", "name"]
    assert not found.num_rows


def test_an_answer_that_is_too_large_for_query_comes_as_a_stream(
    pristine: Pristine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with accelerator.open(pristine.lake(_fill), duckdb_bytes_max=3_000_000) as small:
        monkeypatch.setattr(Services, "plain_table", lambda *_: pa.table({"plain": [1]}))
        assert small.stream(_JOIN).read_all().num_rows == _ROWS
        asked = small.query(_JOIN)
        assert asked.metrics.engine == "spark"
        assert "the answer has more than" in (asked.metrics.fallback or "")


def test_other_statements_run_between_two_batches(acc: Accelerator) -> None:
    with acc.stream(_JOIN) as one, acc.stream(_GROUPS) as two:
        counts = [next(one).num_rows, next(two).num_rows]
        assert acc.query("SELECT count(*) AS n FROM d.f").fetchall() == [(_ROWS,)]
        counts += [sum(b.num_rows for b in one), sum(b.num_rows for b in two)]
    assert counts[0] + counts[2] == counts[1] + counts[3] == _ROWS


def test_a_reader_that_is_closed_early_frees_what_it_has(acc: Accelerator) -> None:
    held = []
    reading = acc.services.store.reading

    @contextmanager
    def counted() -> Iterator[None]:
        with reading():
            held.append(1)
            try:
                yield
            finally:
                held.pop()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(acc.services.store, "reading", counted)
        reader = acc.stream(_JOIN)
        next(reader)
        assert held
        reader.close()
        assert not held
        assert not acc.services.duckdb.held._users
        with pytest.raises(EngineError, match="the reader was closed"):
            next(reader)
        with acc.stream(_JOIN) as another:
            next(another)
        assert not held
        left = [acc.stream(_JOIN)]
        next(left[0])
        left.append(left)  # in a circle, which only a collection of garbage finds
        del left
        gc.collect()
        assert held
        acc.query("SELECT count(*) AS n FROM d.f")  # the next statement frees it
        assert not held


def test_whoever_reads_arrow_reads_it(acc: Accelerator) -> None:
    found = pa.RecordBatchReader.from_stream(acc.stream(_JOIN)).read_all()
    assert found.num_rows == _ROWS
    assert found.schema == acc.query(_JOIN).arrow().schema


def test_threads_share_a_reader(acc: Accelerator) -> None:
    counts: list[int] = []
    with acc.stream(_JOIN) as reader:
        threads = [
            threading.Thread(target=lambda: counts.extend(b.num_rows for b in reader))
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(counts) == _ROWS


def _failing(after: int, error: Exception) -> Callable[..., Iterator[pa.RecordBatch]]:
    given = DuckDBEngine.stream

    def stream(self: DuckDBEngine, *args: Any, **named: Any) -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(given(self, *args, **named)):
            if number == after:
                raise error
            yield batch

    return stream


@pytest.mark.parametrize("error", [EngineError("odd"), NeedsSparkError("odd"), KeyError("odd")])
def test_a_failure_before_the_first_batch_is_answered_by_spark(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    plain = acc.query(_JOIN).arrow()
    monkeypatch.setattr(DuckDBEngine, "stream", _failing(0, error))
    monkeypatch.setattr(Services, "plain_table", lambda *_: plain.slice(0, 7))
    assert acc.stream(_JOIN).read_all().num_rows == 7
    # It isn't tried in vain again.
    monkeypatch.undo()
    monkeypatch.setattr(Services, "plain_table", lambda *_: plain.slice(0, 8))
    assert acc.query(_JOIN).arrow().num_rows == 8


@pytest.mark.parametrize("error", [EngineError("odd"), OSError("odd"), KeyError("odd")])
def test_a_failure_after_the_first_batch_is_an_error(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(DuckDBEngine, "stream", _failing(1, error))
    reader = acc.stream(_JOIN)
    next(reader)
    for _ in range(2):  # no part is taken for the whole
        with pytest.raises(EngineError, match="after the first ones can't be read") as raised:
            reader.read_all()
        assert "`query` gives all rows or none" in raised.value.hint
    assert not acc.fallbacks  # nothing answered in its place


def test_a_stream_that_takes_too_long_is_stopped(acc: Accelerator) -> None:
    with pytest.raises(StatementTimeoutError, match=r"longer than 0\.5 s"):
        acc.stream(_SLOW, timeout_s=0.5).read_all()
    assert not acc.fallbacks
    with pytest.raises(ConfigError, match="timeout_s"):
        acc.stream(_JOIN, timeout_s=-1)


def test_the_time_of_who_reads_it_is_not_counted(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A clock that shows 100, 103 (a piece), 150, 151 (another one).
    shown = iter([100.0, 103.0, 150.0, 151.0])
    budget = TimeBudget(acc.services.cancellation, 10)
    monkeypatch.setattr(cancellation, "time", SimpleNamespace(monotonic=lambda: next(shown)))
    for _ in range(2):
        with budget.spent():
            pass
    assert budget._left == 6


def test_a_piece_that_ended_as_its_time_did_is_the_last_one(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = iter([100.0, 111.0])
    budget = TimeBudget(acc.services.cancellation, 10)
    monkeypatch.setattr(cancellation, "time", SimpleNamespace(monotonic=lambda: next(shown)))
    with budget.spent():
        pass
    with pytest.raises(StatementTimeoutError, match="longer than 10 s"), budget.spent():
        pytest.fail("a piece has begun after the last")


def test_an_interrupt_that_comes_late_does_not_stop_the_next_statement(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would have, between the look at what runs and the call: a thread's cursor goes on."""
    engine = acc.services.duckdb
    interrupted: list[bool] = []

    class Cursor:
        def interrupt(self) -> None:
            ended = threading.Thread(target=end)
            ended.start()
            ended.join(0.2)
            interrupted.append(running.is_set())

    running, may_end = threading.Event(), threading.Event()
    running.set()

    def run() -> None:
        with engine._tracked(Cursor(), "acc-late"):  # type: ignore[arg-type]
            may_end.wait(30)
        running.clear()

    def end() -> None:
        may_end.set()
        thread.join(30)

    thread = threading.Thread(target=run)
    thread.start()
    while "acc-late" not in engine._running:
        thread.join(0.01)
    engine.interrupt("acc-late")
    thread.join(30)
    assert interrupted == [True]


def test_a_stream_can_be_cancelled(acc: Accelerator) -> None:
    threading.Timer(0.3, acc.cancel).start()
    with pytest.raises(CancelledError):
        acc.stream(_SLOW).read_all()
    assert not acc.fallbacks


def test_a_session_that_was_closed_ends_its_streams(pristine: Pristine) -> None:
    session = accelerator.open(pristine.lake(_fill))
    readers = [session.stream(sql) for sql in (_JOIN, "SELECT k FROM d.f ORDER BY k", _JOIN)]
    for reader in readers[:2]:
        next(reader)
    session.close()
    for reader in readers:
        with pytest.raises(EngineError, match="the session was closed"):
            reader.read_all()


def test_a_session_that_is_closed_while_a_thread_reads(pristine: Pristine) -> None:
    session = accelerator.open(pristine.lake(_fill))
    reader = session.stream(_SLOW)
    raised: list[BaseException] = []

    def read() -> None:
        try:
            reader.read_all()
        except (CancelledError, EngineError) as error:
            raised.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    while not session.services.duckdb._running:
        thread.join(0.01)
    session.close()
    thread.join(30)
    assert len(raised) == 1


def test_a_table_that_is_another_one_by_the_first_batch(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is turned into the type that was promised."""
    monkeypatch.setattr(DuckDBEngine, "stream", _failing(0, EngineError("odd")))
    other = pa.table({"k": ["1"], "name": ["x"]})
    monkeypatch.setattr(Services, "plain_table", lambda *_: other)
    with pytest.raises(EngineError, match="other columns than when the stream was opened"):
        acc.stream(_JOIN).read_all()


def test_a_failed_stream_holds_nothing_while_spark_answers(
    acc: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, held = acc.query(_JOIN).arrow(), acc.services.duckdb.held
    seen: list[dict[str, int]] = []

    def answered(*_: object) -> pa.Table:
        seen.append(dict(held._users))
        return plain

    monkeypatch.setattr(DuckDBEngine, "stream", _failing(0, EngineError("odd")))
    monkeypatch.setattr(Services, "plain_table", answered)
    assert acc.stream(_JOIN).read_all().num_rows == _ROWS
    assert seen == [{}]


def test_planning_counts_as_time_too(acc: Accelerator, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = acc.services.planner.plan

    def slow(*args: Any, **named: Any) -> Any:
        threading.Event().wait(0.5)
        return planned(*args, **named)

    monkeypatch.setattr(acc.services.planner, "plan", slow)
    with pytest.raises(StatementTimeoutError):
        acc.stream(_JOIN, timeout_s=0.2).read_all()
