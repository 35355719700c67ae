"""What of the log is deleted, by whom, and that nobody else takes it for garbage."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelerator.store import Retention, Store
from accelerator.store.files.files import open_files
from accelerator.store.journals.query_log.paths import FOLDER, path_of
from accelerator.store.journals.query_log.reader import look
from accelerator.store.journals.query_log.writing.retention import trim
from accelerator.store.journals.query_log.writing.writer import Limits, QueryLog
from tests.accelerator.store.query_log.log_samples import (
    DAY_US,
    FULL,
    NOW_US,
    Clock,
    Failing,
    record,
)
from tests.accelerator.store.samples import TABLE, cube

PROCESS = "b" * 32
NOTHING = Retention(0, versions_min=1)


def written(files, root, *days, size=10):
    """A file for each number of days ago; the storage's times are the names'."""
    paths = []
    for number, day in enumerate(days):
        time_us = NOW_US - int(day * DAY_US)
        path = path_of(time_us, time_us, PROCESS, number)
        files.create(path, b"x" * size)
        os.utime(root / path, (time_us / 1e6, time_us / 1e6))
        paths.append(path)
    return paths


@given(
    st.lists(st.floats(0, 30), max_size=12),
    st.sampled_from([0, 1, 7.5, 20]),
    st.sampled_from([0, 5, 10, 35, 1000]),
)
@settings(max_examples=60, deadline=None)
def test_what_is_old_goes_and_then_the_oldest(tmp_path_factory, days, days_max, bytes_max):
    root = tmp_path_factory.mktemp("store")
    files = open_files(str(root))
    paths = written(files, root, *days)
    done = trim(files, days=days_max, bytes_max=bytes_max, now_us=NOW_US)
    newest_us = max((NOW_US - int(day * DAY_US) for day in days), default=NOW_US)
    left = sorted(paths)
    if days_max:
        oldest = path_of(max(0, int(newest_us - days_max * DAY_US)), 0, "0" * 32, 0)
        left = [one for one in left if one >= oldest]
    if bytes_max:
        left = left[max(0, len(left) - bytes_max // 10) :]
    assert files.list(FOLDER) == left
    assert (done.files, done.bytes) == (len(paths) - len(left), 10 * (len(paths) - len(left)))
    assert trim(files, days=days_max, bytes_max=bytes_max, now_us=NOW_US).files == 0


def test_a_clock_that_is_wrong_by_years_deletes_nothing(tmp_path):
    files = open_files(str(tmp_path))
    written(files, tmp_path, 0, 1, 2)
    assert trim(files, days=14, bytes_max=0, now_us=NOW_US + 3650 * DAY_US).files == 0
    assert trim(files, days=14, bytes_max=0, now_us=0).files == 0


def test_names_of_the_far_future_end_as_others_do(tmp_path):
    files = open_files(str(tmp_path))
    later = NOW_US + 9000 * DAY_US
    path = path_of(later, NOW_US, PROCESS, 1)
    files.create(path, b"x")
    os.utime(tmp_path / path, (NOW_US / 1e6, NOW_US / 1e6))
    (newest,) = written(files, tmp_path, -20)
    trim(files, days=14, bytes_max=0, now_us=NOW_US + 20 * DAY_US)
    assert files.list(FOLDER) == [newest]


def test_what_is_not_the_logs_stays_and_old_drafts_go(tmp_path):
    files = open_files(str(tmp_path))
    (path,) = written(files, tmp_path, 0)
    kept = [f"{FOLDER}/2020-01-01/notes.txt", "log/v2/2020-01-01/x.parquet", "registry/x"]
    for one in kept:
        files.create(one, b"x" * 1000)
    young, old = tmp_path / f"{path}#12", tmp_path / f"{path}#13"
    for draft, days in ((young, 0), (old, 2)):
        draft.write_bytes(b"half")
        time_s = NOW_US / 1e6 - days * 86400
        os.utime(draft, (time_s, time_s))
    trim(files, days=1, bytes_max=1, now_us=NOW_US)
    assert all(files.exists(one) for one in kept)
    assert young.exists() and not old.exists()


def test_several_may_trim_at_once(tmp_path):
    files = open_files(str(tmp_path))
    written(files, tmp_path, *range(30))
    real, others = files.delete, []

    def deleting(paths):
        paths = list(paths)
        if not others:
            others.append(True)
            trim(files, days=10, bytes_max=0, now_us=NOW_US)
        real(paths)

    files.delete = deleting
    trim(files, days=10, bytes_max=0, now_us=NOW_US)
    assert len(files.list(FOLDER)) == 11


def test_the_writer_trims_now_and_then_and_a_failure_stops_nothing(tmp_path):
    files = open_files(str(tmp_path))
    clock = Clock()
    failing = Failing(files)
    log = QueryLog(
        failing,
        Limits(log_days=3, interval_s=1),
        clock=lambda: clock.seconds,
        now_us=lambda: clock.now_us,
    )
    old = written(files, tmp_path, 10)

    def round_(number):
        log._backlog.add(record(number, started_us=clock.now_us))
        log._write(forced=True)
        for path in files.list(FOLDER):
            time_s = clock.now_us / 1e6
            os.utime(tmp_path / path, (time_s, time_s))
        log._trim()

    def refused(_prefix):
        raise FULL

    failing.entries = refused
    round_(1)
    assert files.exists(old[0])
    del failing.entries
    clock.pass_(600)
    round_(2)
    assert files.exists(old[0])
    clock.pass_(3600)
    round_(3)
    assert not files.exists(old[0])
    assert len(look(files).rows) == 3


@pytest.mark.parametrize("full", [False, True])
def test_no_vacuum_of_the_store_takes_the_log_or_looks_at_it(tmp_path, full):
    files = open_files(str(tmp_path))
    store = Store(files)
    store.create_cube(cube())
    log = QueryLog(files, Limits(interval_s=1000))
    log.add(record(1))
    assert log.close()
    before = files.list(FOLDER)
    assert len(before) == 1
    looked = []
    listing, entries = files.list, files.entries
    files.list = lambda prefix: (looked.append(prefix), listing(prefix))[1]
    files.entries = lambda prefix: (looked.append(prefix), entries(prefix))[1]
    store.vacuum(TABLE, NOTHING, full=full)
    assert looked
    assert not any(one == "" or one.startswith("log") for one in looked)
    del files.list, files.entries
    assert files.list(FOLDER) == before
    assert store.tables() == (TABLE,) or store.tables() == ()
    assert store.damages() == ()
