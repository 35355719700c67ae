"""What embedded sessions are asked is in the store's log; a log that fails costs no answer."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accelerator
from accelerator import dbapi
from accelerator.errors import (
    AcceleratorError,
    CancelledError,
    GuardError,
    ParameterError,
    StatementTimeoutError,
    StoreError,
    UnknownColumnError,
)
from accelerator.query.recording import session_log
from accelerator.query.recording.redacted_values import without_values
from accelerator.query.recording.statement_recorder import _outcome
from accelerator.services.maintenance.daemon import Schedule
from accelerator.store.files.files import open_files
from accelerator.store.journals.query_log.encoding.decode import decoded
from accelerator.store.journals.query_log.encoding.encode import encoded
from accelerator.store.journals.query_log.paths import FOLDER, log_file, path_of
from accelerator.store.journals.query_log.reader import look
from tests.accelerator.store.query_log.log_samples import record

TOTALS = "SELECT k, sum(v) AS total FROM d.t GROUP BY k"


def _fill(catalog):
    catalog.create_namespace("d")
    rows = pa.table({"k": [1, 2, 2] * 100, "v": list(range(300))})
    catalog.create_table("d.t", rows.schema).append(rows)


@pytest.fixture
def folder(pristine):
    return pristine.lake(_fill, "logged")


def store(folder):
    return open_files(str(folder / ".accelerator"))


def logged(folder):
    """The rows in the order in which they were asked."""
    return look(store(folder)).rows.sort_by("started").to_pylist()


def test_a_query_is_kept_with_its_figures(folder):
    with accelerator.open(folder, user="ann", source="nightly") as acc:
        answer = acc.query(TOTALS)
        acc.query(TOTALS, user="bob")
        snapshot = acc.plan(TOTALS)[0].tables()[0].facts.snapshot_id
    first, second = logged(folder)
    assert (first["user"], second["user"], first["source"]) == ("ann", "bob", "nightly")
    assert (first["sql"], first["state"], first["process"]) == (TOTALS, "FINISHED", "session")
    assert (first["tables"], first["snapshots"]) == (["lake.d.t"], [snapshot])
    metrics = answer.metrics
    assert (first["engine"], first["reason"]) == (metrics.engine, "cubes_none")
    assert first["bytes_read"] == metrics.bytes_read
    assert (first["files_total"], first["files_planned"], first["files_read"]) == (1, 1, 1)
    assert (first["rows"], first["execution_ms"]) == (2, metrics.execution_ms)
    assert first["elapsed_ms"] >= first["planning_ms"] + first["execution_ms"] > 0
    assert first["bytes_given"] > 0
    assert first["shape"] == second["shape"] is not None
    assert first["id"] != second["id"]


def test_all_ways_to_ask_are_kept(folder):
    with accelerator.open(folder) as acc:
        acc.query(TOTALS)
        acc.stream(TOTALS).read_all()
        acc.execute("SHOW CUBES")
        acc.query("SHOW QUERIES")
    with dbapi.connect(str(folder)) as one, one.cursor() as cursor:
        cursor.execute("SELECT k FROM d.t WHERE k = ?", [41])
    found = logged(folder)
    assert [one["sql"] for one in found][:4] == [TOTALS, TOTALS, "SHOW CUBES", "SHOW QUERIES"]
    assert [one["engine"] for one in found][2:4] == [None, "none"]
    assert found[4]["sql"] == "SELECT k FROM d.t WHERE k = ?", "values of markers aren't kept"
    assert found[4]["source"] == "accelerator dbapi"


def test_failures_are_kept_with_their_codes(folder):
    with accelerator.open(folder, guard_sorts=True) as acc:
        with pytest.raises(UnknownColumnError):
            acc.query("SELECT nope FROM d.t")
        with pytest.raises(GuardError):
            acc.query("SELECT k FROM d.t ORDER BY k")
        with pytest.raises(ParameterError):
            acc.query("SELECT ?", [])
        with pytest.raises(GuardError):
            acc.stream("SELECT k FROM d.t ORDER BY k")
    found = logged(folder)
    assert {one["state"] for one in found} == {"FAILED"}
    codes = [one["error_code"] for one in found]
    assert codes == ["column_unknown", codes[1], "parameters_invalid", codes[1]]
    assert codes[1].startswith("guard")
    assert "nope" in found[0]["error_message"]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, ("FINISHED", None)),
        (CancelledError("x"), ("CANCELLED", "cancelled")),
        (StatementTimeoutError("x"), ("FAILED", "statement_timeout")),
        (KeyboardInterrupt(), ("CANCELLED", "cancelled")),
        (ValueError("[DIVIDE_BY_ZERO] by zero"), ("FAILED", "spark")),
        (ValueError("x"), ("FAILED", "internal")),
    ],
)
def test_how_a_statement_ended_has_a_state_and_a_code(error, outcome):
    assert _outcome(error)[:2] == outcome


def test_a_stream_is_kept_when_it_ends(folder):
    with accelerator.open(folder) as acc:
        rows = "SELECT a.k AS k FROM d.t a JOIN d.t b ON a.k = b.k"
        whole, left, open_ = acc.stream(rows), acc.stream(rows), acc.stream(rows)
        assert not logged(folder)
        given = whole.read_all().num_rows
        some = left.read_next_batch().num_rows
        left.close()
        left.close()
        assert acc.query_log().num_rows == 2
    found = logged(folder)
    assert [one["state"] for one in found] == ["FINISHED", "CANCELLED", "CANCELLED"]
    assert [one["rows"] for one in found] == [given, some, 0]
    assert all(one["elapsed_ms"] >= one["execution_ms"] >= 0 for one in found)
    del open_


def test_a_stream_that_fails_is_kept_with_its_error(folder, monkeypatch):
    with accelerator.open(folder) as acc:
        reader = acc.stream("SELECT a.k AS k FROM d.t a JOIN d.t b ON a.k = b.k")

        def fails():
            raise StoreError("gone")
            yield

        monkeypatch.setattr(reader._running, "_batches", fails())
        for _ in range(2):
            with pytest.raises(StoreError):
                next(reader)
    (found,) = logged(folder)
    assert (found["state"], found["error_code"]) == ("FAILED", "store_unavailable")


def test_what_the_layer_asks_itself_is_not_kept(folder):
    with accelerator.open(folder) as acc:
        acc.query(f"CREATE CUBE c AS {TOTALS}")
        acc.explain(TOTALS)
        acc.why_not(TOTALS)
    assert [one["sql"].split()[0] for one in logged(folder)] == ["CREATE"]


def test_values_for_markers_stay_out_of_messages_too(folder):
    given = "hunter2 is not for logs" + "!" * 200
    with accelerator.open(folder) as acc:
        for sql, params in (
            ("ALTER CUBE c SET REFRESH = EVERY ?", [given]),
            ("BUILD CUBE :name", {"name": given}),
            ("SELECT nope FROM d.t WHERE k = ?", [given]),
            ("SHOW QUERIES SINCE ?", [123456789012345678901234567890]),
            ("SELECT k FROM d.t WHERE k = ?", 5),
        ):
            with pytest.raises(AcceleratorError):
                acc.query(sql, params)
    found = logged(folder)
    assert [row["error_code"] for row in found][-1] == "parameters_invalid"
    told = " ".join(f"{row['error_message']} {row['reason_text']}" for row in found)
    assert "***" in told
    for text in ("hunter2", given.encode().hex().upper()[:20], "1234567890"):
        assert text not in told


@given(
    st.text("ab 1", max_size=30),
    st.lists(st.text("ab 1", min_size=4, max_size=40), max_size=3),
)
def test_a_message_is_left_without_values_wherever_they_stand(around, values):
    told = without_values(around.join(["", *values, ""]), values) or ""
    assert not any(value in told for value in values)
    assert without_values(around, None) == around


class _Mute(Exception):
    def __str__(self):
        raise _Mute  # as errors of a JVM that is gone


def test_an_error_that_cant_say_what_it_is_stays_the_error(folder, monkeypatch):
    def fail(*_, **__):
        raise _Mute

    with accelerator.open(folder) as acc:
        monkeypatch.setattr(type(acc), "answered", fail)
        with pytest.raises(_Mute):
            acc.query(TOTALS)
    (row,) = logged(folder)
    assert (row["state"], row["error_code"]) == ("FAILED", "internal")
    assert row["error_message"].startswith("_Mute: ")


def test_a_plan_that_cant_be_told_costs_no_answer(folder, monkeypatch, caplog):
    def fail(*_):
        raise ValueError

    monkeypatch.setattr(
        "accelerator.query.recording.statement_recorder.StatementRecorder._plan_figures", fail
    )
    with accelerator.open(folder) as acc:
        assert acc.query(TOTALS).num_rows == 2
    assert "a statement isn't in the query log: ValueError" in caplog.text
    assert logged(folder) == []


@pytest.mark.parametrize("setting", [{"query_log": False}, {"store_read_only": True}])
def test_nothing_is_written_where_it_is_off(folder, setting):
    with accelerator.open(folder, **setting) as acc:
        acc.query(TOTALS)
        assert acc.query_log().num_rows == 0
        assert acc.query("SHOW QUERIES").num_rows == 0
    assert not list(folder.rglob("log/**/*.parquet"))


def test_a_session_that_is_asked_nothing_writes_nothing(folder):
    with accelerator.open(folder) as acc:
        assert acc.source is None
    assert not (folder / ".accelerator" / "log").exists()


def test_a_store_that_fails_costs_the_records_alone(folder, monkeypatch, caplog):
    with accelerator.open(folder) as acc:
        files = acc.services.store.files

        def full(*_):
            raise StoreError("the disk is full")

        monkeypatch.setattr(files, "create", full)
        with caplog.at_level(logging.WARNING, "accelerator"):
            for _ in range(3):
                assert acc.query(TOTALS).num_rows == 2
                assert acc.query("SHOW QUERIES").num_rows == 0
    assert sum("query log can't be written" in one.message for one in caplog.records) == 1


def test_the_exit_does_not_wait_for_a_store_that_does_not_answer(folder, monkeypatch):
    monkeypatch.setattr(session_log, "_CLOSE_S", 0.05)
    hangs = threading.Event()
    with accelerator.open(folder) as acc:
        files = acc.services.store.files
        create = files.create

        def waits(path, data):
            return hangs.wait(60) if path.startswith(FOLDER) else create(path, data)

        monkeypatch.setattr(files, "create", waits)
        acc.query(TOTALS)
    assert not hangs.is_set(), "the session is closed, and the writer still waits"
    hangs.set()


_WRITES = """
    import os, sys, time
    import accelerator
    acc = accelerator.open(sys.argv[1], query_log_interval_s=0.1)
    acc.query("SELECT k FROM d.t WHERE k = 1")
    acc.query_log()
    acc.query("SELECT k FROM d.t WHERE k = 2")
    {end}
"""


def _process(folder, end):
    code = textwrap.dedent(_WRITES.format(end=end))
    return subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.served
def test_a_process_that_ends_without_closing_writes_what_waits(folder):
    assert _process(folder, "sys.exit(0)").wait(60) == 0
    assert [one["sql"][-1] for one in logged(folder)] == ["1", "2"]


@pytest.mark.served
def test_a_fork_writes_its_own(folder):
    end = """acc.query_log()
    if os.fork() == 0:
        acc.query("SHOW QUERIES LIMIT 3")
        acc.query_log()
        os._exit(0)
    os.wait()"""
    assert _process(folder, end).wait(60) == 0
    found = logged(folder)
    assert [one["sql"][-1] for one in found] == ["1", "2", "3"]
    assert len({one["id"] for one in found}) == 3
    names = {one.path.split("-")[-2] for one in store(folder).entries(FOLDER)}
    assert len(names) == 2


@pytest.mark.served
def test_a_process_that_is_killed_leaves_whole_files(folder):
    """It's killed while it writes file after file; what it said was written is there."""
    end = """number = 2
    while True:
        number += 1
        acc.query(f"SELECT k FROM d.t WHERE k = {number}")
        acc.query_log(limit=1)
        print(number, flush=True)"""
    process = _process(folder, end)
    said = [process.stdout.readline() for _ in range(5)]
    os.kill(process.pid, signal.SIGKILL)
    said += process.stdout.read().split()
    process.wait(60)
    process.stdout.close()
    last = max(int(one) for one in said if one.strip())
    found = look(store(folder))
    assert not found.skipped
    asked = {int(one.rpartition(" ")[2]) for one in found.rows["sql"].to_pylist()}
    assert asked >= set(range(1, last + 1))
    for entry in store(folder).entries(FOLDER):
        if entry.path.endswith(".parquet"):
            decoded((folder / ".accelerator" / entry.path).read_bytes())


def test_uses_are_counted_over_all_sessions(folder):
    with accelerator.open(folder) as acc:
        acc.query(f"CREATE CUBE c AS {TOTALS}")
        acc.query("CREATE INDEX i ON d.t USING BLOOM (k)")
        acc.query(TOTALS)
    with accelerator.open(folder) as acc:
        acc.query(TOTALS)
        first = acc.query("SHOW CUBES").arrow().to_pylist()[0]
        assert first["hits"] == 2
        acc.query(TOTALS)
        again = acc.query("SHOW CUBES").arrow().to_pylist()[0]
        assert (again["hits"], again["last_use"] > first["last_use"]) == (3, True)
        (index,) = acc.query("SHOW INDEXES").arrow().to_pylist()
        assert (index["hits"], index["last_use"]) == (0, None)
        time_made = again["created"]
        acc.query("DROP CUBE c FORCE")
        acc.query(f"CREATE CUBE c AS {TOTALS}")
        made = acc.query("SHOW CUBES").arrow().to_pylist()[0]
        assert (made["hits"], made["last_use"]) == (0, None), "another cube of that name"
        assert made["created"] >= time_made
        acc.query(TOTALS)
        assert acc.query("SHOW CUBES").arrow().to_pylist()[0]["hits"] == 1


def test_uses_that_cannot_be_written_count_too(folder, monkeypatch):
    with accelerator.open(folder) as acc:
        acc.query(f"CREATE CUBE c AS {TOTALS}")

        def full(*_):
            raise StoreError("the disk is full")

        monkeypatch.setattr(acc.services.store.files, "create", full)
        acc.query(TOTALS)
        assert acc.query("SHOW CUBES").arrow().to_pylist()[0]["hits"] == 1


def test_the_statement_s_time_is_of_this_day(folder):
    before = time.time()
    with accelerator.open(folder) as acc:
        acc.query(TOTALS)
    (found,) = logged(folder)
    assert before - 1 <= found["started"].timestamp() <= time.time() + 1


def _old_files(folder):
    """A dozen files of yesterday, of other processes, as the storage has them too."""
    then = time.time() - 26 * 3600
    for number in range(12):
        made = encoded([record(number, started_us=int(then * 1e6) + number)], 0)
        path = path_of(made.newest_us, made.oldest_us, f"{number:032x}", 1)
        store(folder).create(path, made.data)
        os.utime(folder / ".accelerator" / path, (then, then))


def _merged(folder):
    return [one for one in store(folder).list(FOLDER) if log_file(one).is_merged]


@pytest.mark.parametrize("logs", [True, False])
def test_a_vacuum_and_the_daemon_merge_small_files(folder, logs):
    with accelerator.open(folder, query_log=logs) as acc:
        acc.query(f"CREATE CUBE c AS {TOTALS}")
        _old_files(folder)
        make = encoded(
            [record(1, started_us=time.time_ns() // 1000)], 0
        )  # the storage's newest file tells its clock
        store(folder).create(path_of(make.newest_us, make.oldest_us, "e" * 32, 1), make.data)
        acc.query("VACUUM d.t DRY RUN")
        assert not _merged(folder)
        acc.query("VACUUM d.t")
        assert len(_merged(folder)) == 1
        for path in _merged(folder):
            store(folder).delete([path])
        acc.maintain(Schedule(), lambda _done: None, stop=threading.Event(), rounds=1)
        assert len(_merged(folder)) == 1


def test_a_log_that_cannot_be_tidied_up_fails_no_vacuum(folder, monkeypatch, caplog):
    with accelerator.open(folder) as acc:
        acc.query(f"CREATE CUBE c AS {TOTALS}")

        def fails(*_, **__):
            raise StoreError("gone")

        monkeypatch.setattr(session_log, "tidy", fails)
        assert acc.query("VACUUM d.t").metrics.engine == "none"
    assert "couldn't be tidied up" in caplog.text
