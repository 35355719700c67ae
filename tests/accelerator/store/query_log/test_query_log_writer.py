"""The log's writer: it's never in the way, writes whole files once, and counts what it loses."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelerator.errors import StoreError
from accelerator.store.files import local
from accelerator.store.files.files import open_files
from accelerator.store.journals.query_log.paths import log_file
from accelerator.store.journals.query_log.reader import look, read
from accelerator.store.journals.query_log.writing.backlog import Backlog
from accelerator.store.journals.query_log.writing.writer import Limits, QueryLog
from tests.accelerator.store.query_log.log_samples import (
    DAY_US,
    FULL,
    HOUR_US,
    NOW_US,
    Clock,
    Failing,
    record,
)

NEVER = 10_000.0
"""An interval that doesn't end within a test: files are written when the test asks."""


@pytest.fixture
def files(tmp_path):
    return open_files(str(tmp_path / "store"))


@pytest.fixture
def log_of():
    made = []

    def make(files, clock=None, **limits):
        clock = clock or Clock()
        log = QueryLog(
            files,
            Limits(**{"interval_s": NEVER} | limits),
            clock=lambda: clock.seconds,
            now_us=lambda: clock.now_us,
        )
        made.append(log)
        return log

    yield make
    for one in made:
        one.close()


def ids(files):
    return sorted(read(files)["id"].to_pylist())


def test_what_was_added_is_there_after_a_flush(files, log_of):
    log = log_of(files)
    assert log.flush()
    assert files.list("log") == []
    for number in range(5):
        log.add(record(number))
    assert log.flush()
    assert ids(files) == ["q0", "q1", "q2", "q3", "q4"]
    assert log.written().records == 5


def test_a_full_batch_is_written_without_waiting(files, log_of):
    log = log_of(files, file_records=3)
    done = threading.Event()
    create = files.create
    files.create = lambda path, data: (create(path, data), done.set())[0]
    for number in range(3):
        log.add(record(number))
    assert done.wait(30)


def test_files_are_no_larger_than_they_may_be(files, log_of):
    log = log_of(files, file_records=4, file_chars=5000)
    for number in range(10):
        log.add(record(number, sql="x" * 100))
    log.add(record(10, sql="x" * 9000))
    assert log.flush()
    assert len(ids(files)) == 11
    assert log.written().files >= 3


def test_close_writes_what_waits_and_later_records_are_counted(files, log_of):
    log = log_of(files)
    log.add(record(1))
    assert log.close()
    assert ids(files) == ["q1"]
    log.add(record(2))
    assert log.close()
    assert (ids(files), log.written().lost) == (["q1"], 1)


@pytest.mark.parametrize("wrong", [None, 1, record(sql=None), record(sql=7), "text"])
def test_add_raises_nothing_whatever_it_is_given(files, log_of, wrong):
    log = log_of(files)
    log.add(wrong)
    log.add(record(1))
    assert log.flush()
    assert ids(files) == ["q1"]
    assert look(files).lost == log.written().lost == 1


def test_records_that_are_refused_are_told_once(files, log_of, caplog):
    log = log_of(files)
    for one in (record(1), record(2, rows="many"), record(3)):
        log.add(one)
    assert log.flush()
    log.add(record(4))
    assert log.flush()
    assert look(files).lost == log.written().lost == 1
    log.add(record(5, rows="many"))
    assert log.flush()
    log.add(record(6))
    assert log.flush()
    assert look(files).lost == log.written().lost == 2


def test_a_long_statement_keeps_its_length(files, log_of):
    log = log_of(files)
    log.add(record(1, sql="SELECT " + "a, " * 100_000))
    assert log.flush()
    (row,) = read(files).to_pylist()
    assert row["sql_length"] == 7 + 300_000
    assert row["shape"] is None


# A store that fails


@pytest.mark.parametrize("error", [FULL, OSError(28, "No space left on device"), MemoryError()])
def test_a_store_that_fails_is_told_once_and_loses_nothing_at_first(files, log_of, caplog, error):
    failing = Failing(files, error)
    log = log_of(failing)
    with caplog.at_level(logging.WARNING, "accelerator"):
        for number in range(3):
            log.add(record(number))
            assert not log.flush()
        failing.error = None
        assert log.flush()
    assert ids(files) == ["q0", "q1", "q2"]
    told = [one.message for one in caplog.records]
    assert len([one for one in told if "can't be written" in one]) == 1
    assert told[-1] == "the query log is written again; 0 records lost"
    assert log.written().failure is None


def test_a_file_that_stood_though_its_writing_failed_is_not_written_again(files, log_of):
    failing = Failing(files, StoreError("timed out"), after=True)
    log = log_of(failing)
    log.add(record(1))
    assert not log.flush()
    failing.error = None
    log.add(record(2))
    assert log.flush()
    assert ids(files) == ["q1", "q2"]


def test_a_failing_store_is_asked_ever_more_seldom(files):
    clock = Clock()
    failing = Failing(files, FULL)
    log = QueryLog(
        failing, Limits(interval_s=1.0), clock=lambda: clock.seconds, now_us=lambda: clock.now_us
    )
    log._backlog.add(record(1))
    asked = []
    for _ in range(4000):
        before = failing.creates
        log._write(forced=False)
        if failing.creates > before:
            asked.append(clock.seconds)
        clock.pass_(1)
    gaps = [after - before for before, after in pairwise(asked)]
    assert gaps == sorted(gaps)
    assert gaps[0] == 2 and gaps[-1] == 600
    failing.error = None
    clock.pass_(600)
    log._write(forced=False)
    assert ids(files) == ["q1"]


def test_while_it_fails_the_newest_records_are_kept(files, log_of):
    failing = Failing(files, FULL)
    log = log_of(failing, backlog_records=10, file_records=5)
    for number in range(100):
        log.add(record(number))
    assert not log.flush()
    waiting = log.written().waiting
    assert waiting <= 15
    failing.error = None
    log.add(record(100))
    assert log.flush()
    found = look(files)
    assert "q100" in found.rows["id"].to_pylist()
    assert found.lost == log.written().lost
    assert found.rows.num_rows + found.lost == 101


@given(st.lists(st.integers(0, 5000), max_size=40), st.integers(1, 10), st.integers(1000, 20_000))
def test_a_backlog_is_bounded_and_counts(sizes, records_max, chars_max):
    backlog = Backlog(records_max, chars_max)
    taken, told = [], 0
    for number, size in enumerate(sizes):
        backlog.add(record(number, sql="x" * size))
        assert len(backlog) <= records_max
        if number % 7 == 6:
            found, lost = backlog.take(3, 4000)
            taken, told = taken + found, told + lost
    while len(backlog):
        found, lost = backlog.take(3, 4000)
        assert found
        taken, told = taken + found, told + lost
    assert len(taken) + backlog.lost == len(sizes)
    assert [one.id for one in taken] == sorted((one.id for one in taken), key=lambda i: int(i[1:]))
    assert told <= backlog.lost


# Killed, forked, beside others


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("at", ["write_synced", "link", "sync_directory"])
def test_a_kill_at_any_moment_leaves_whole_files_and_the_last_batch_at_risk(
    files, log_of, monkeypatch, at
):
    log = log_of(files)
    log.add(record(1))
    assert log.flush()

    def killed(*args):
        if at == "write_synced":
            Path(args[0]).write_bytes(args[1][: len(args[1]) // 2])
        raise Killed

    dying = QueryLog(files, Limits(interval_s=NEVER))
    dying._backlog.add(record(2))
    if at == "link":
        monkeypatch.setattr(local.os, "link", killed)
        monkeypatch.setattr(Path, "unlink", lambda *_, **__: None)
    else:
        monkeypatch.setattr(local, at, killed)
    with pytest.raises(Killed):
        dying._write(forced=True)
    monkeypatch.undo()
    found = look(files)
    assert found.skipped == {}
    assert found.rows["id"].to_pylist() in (["q1"], ["q2", "q1"])
    log.add(record(3))
    assert log.flush()
    assert {"q1", "q3"} <= set(ids(files))


def test_several_threads_lose_nothing(files, log_of):
    log = log_of(files, file_records=50)

    def work(first):
        for number in range(first, first + 200):
            log.add(record(number))

    threads = [threading.Thread(target=work, args=(n * 200,)) for n in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert log.flush(30)
    assert len(set(ids(files))) == 800


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_forks_child_has_a_log_of_its_own(files, log_of):
    log = log_of(files)
    log.add(record(1))
    child = os.fork()
    if child == 0:
        log.add(record(2))
        os._exit(0 if log.close() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert ids(files) == ["q2"]
    assert log.flush()
    assert ids(files) == ["q1", "q2"]


OTHER = """
import sys
from accelerator.store.journals.query_log.writing.writer import Limits, QueryLog
from accelerator.store.files.files import open_files
from tests.accelerator.store.query_log.log_samples import record
log = QueryLog(open_files(sys.argv[1]), Limits(interval_s=1000, file_records=7))
for number in range(int(sys.argv[2]), int(sys.argv[2]) + 100):
    log.add(record(number))
sys.exit(0 if log.close(60) else 1)
"""


@pytest.mark.served
def test_several_processes_write_at_once(files, tmp_path):
    home = Path(__file__).parents[4]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", OTHER, str(tmp_path / "store"), str(first)], cwd=home
        )
        for first in (0, 100)
    ]
    assert [one.wait(120) for one in running] == [0, 0]
    assert len(set(ids(files))) == 200


# Names and times


@given(st.lists(st.integers(-3 * DAY_US, 3 * DAY_US), min_size=1, max_size=8), st.data())
@settings(max_examples=25, deadline=None)
def test_names_hold_all_times_whatever_the_clock_does(tmp_path_factory, jumps, data):
    """The clock goes ahead and back; nobody who asks for a time misses a row of it."""
    files = open_files(str(tmp_path_factory.mktemp("store")))
    clock = Clock()
    log = QueryLog(files, Limits(), clock=lambda: clock.seconds, now_us=lambda: clock.now_us)
    times = []
    for number, jump in enumerate(jumps):
        clock.now_us = NOW_US + jump
        times.append(clock.now_us - data.draw(st.integers(0, 3 * HOUR_US)))
        log._backlog.add(record(number, started_us=times[-1]))
        if data.draw(st.booleans()):
            log._write(forced=True)
    log._write(forced=True)
    for path in files.list("log"):
        assert log_file(path) is not None
    found = [int(one[1:]) for one in read(files)["id"].to_pylist()]
    assert sorted(found, key=lambda n: (-times[n], -n)) == sorted(
        range(len(times)), key=lambda n: (-times[n], -n)
    )
    for limit in range(1, len(times) + 1):
        newest = read(files, limit=limit)["started"].cast("int64").to_pylist()
        assert newest == sorted(times, reverse=True)[:limit]


def test_a_clock_that_went_back_before_the_file_was_made_names_it_by_its_records(files, log_of):
    clock = Clock()
    log = log_of(files, clock)
    log.add(record(1, started_us=NOW_US + 1))
    clock.now_us -= 2 * HOUR_US
    log.add(record(2, started_us=clock.now_us))
    assert log.flush()
    (path,) = files.list("log")
    found = log_file(path)
    assert found.oldest_us == NOW_US - 2 * HOUR_US
    assert found.newest_us >= NOW_US + 1


def test_a_record_of_the_far_future_does_not_take_the_others_along(files, log_of):
    log = log_of(files)
    log.add(record(1, started_us=NOW_US + 400 * DAY_US))
    assert log.flush()
    log.add(record(2))
    assert log.flush()
    earlier, later = (log_file(path).newest_us for path in files.list("log"))
    assert earlier <= NOW_US + HOUR_US < later
    assert read(files)["id"].to_pylist() == ["q1", "q2"]


def test_a_full_disk_leaves_no_halves(files, log_of, monkeypatch, tmp_path):
    def full(path, data):
        path.write_bytes(data[:10])
        raise OSError(28, "No space left on device")

    log = log_of(files)
    monkeypatch.setattr(local, "write_synced", full)
    log.add(record(1))
    for _ in range(3):
        assert not log.flush()
    assert [one for one in (tmp_path / "store").rglob("*") if one.is_file()] == []
    monkeypatch.undo()
    assert log.flush()
    assert ids(files) == ["q1"]
