"""Processes that end after one statement keep the log's files few, and nobody waits for it."""

from __future__ import annotations

import os
import threading
from functools import partial

import pytest

from accelerator.errors import StoreError
from accelerator.store.files.files import open_files
from accelerator.store.journals.claims import Claims
from accelerator.store.journals.query_log.hits import Uses
from accelerator.store.journals.query_log.paths import FOLDER, log_file
from accelerator.store.journals.query_log.reader import look
from accelerator.store.journals.query_log.writing import close, merging
from accelerator.store.journals.query_log.writing.close import KEY, looks, tidy_crowd
from accelerator.store.journals.query_log.writing.merging import crowd
from accelerator.store.journals.query_log.writing.writer import Limits, QueryLog, tidy
from tests.accelerator.store.query_log.log_samples import HOUR_US, NOW_US, record

MINUTE_US = 60_000_000


class Store:
    """A store whose clock is turned, and whose files are as old as that says."""

    def __init__(self, folder):
        self.folder, self.files = folder, open_files(str(folder))
        self.now_us, self.asked = NOW_US, 0

    def pass_(self, us):
        """So much later; files that have no time yet were written before."""
        self._stamp()
        self.now_us += us

    def _stamp(self):
        for file in (self.folder / FOLDER).rglob("*.parquet"):
            if file.stat().st_mtime > NOW_US / 1e6 + 30 * 24 * 3600:
                os.utime(file, (self.now_us / 1e6, self.now_us / 1e6))

    def one_shot(self):
        """A process that asks one statement, at this time, and ends."""
        log = QueryLog(self.files, now_us=lambda: self.now_us)
        log.add(record(self.asked, started_us=self.now_us, cubes=("c",)))
        self.asked += 1
        assert log.close(timeout_s=60)
        self._stamp()
        self.now_us += 1_000_000

    @property
    def paths(self):
        return self.files.list(FOLDER)

    def check(self):
        """Every statement is there once, by reading it and by counting uses."""
        ids = look(self.files, limit=100_000).rows["id"].to_pylist()
        assert sorted(ids, key=lambda one: int(one[1:])) == [f"q{n}" for n in range(self.asked)]
        assert Uses(self.files, list).known().of_cube("c", 0).hits == self.asked


CROWD = 12
"""Few, so that tests are quick."""


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(close, "CROWD", CROWD)
    return Store(tmp_path)


def _tidy(store):
    tidied = partial(tidy, store.files, Limits(log_days=0), now_us=store.now_us)
    found = tidy_crowd(store.files, tidied, now_us=store.now_us)
    store._stamp()
    return found


def test_one_shots_keep_the_files_few(store, monkeypatch):
    """However many there were, and though each of them lives for one statement."""
    monkeypatch.setattr(close, "_READ_MAX", 12)
    monkeypatch.setattr(close, "_LOOKS", 2)
    counts = []
    for _ in range(5):
        for _ in range(14):
            store.one_shot()
        store.pass_(11 * MINUTE_US)
        counts.append(len(store.paths))
    assert max(counts) < 60, counts
    assert any(one.is_merged for one in map(log_file, store.paths))
    store.check()
    assert Claims(store.files).known_keys() == (KEY,)


def test_few_or_young_files_are_left_alone(store, monkeypatch):
    monkeypatch.setattr(close, "looks", lambda _process: False)
    for _ in range(CROWD - 1):
        store.one_shot()
    store.pass_(2 * MINUTE_US)
    assert not _tidy(store)
    for _ in range(10):
        store.one_shot()
    before = store.paths
    assert not _tidy(store), "the last ten aren't a minute old"
    assert store.paths == before


def test_what_was_merged_lately_is_no_crowd(store, monkeypatch):
    monkeypatch.setattr(close, "looks", lambda _process: False)
    for _ in range(CROWD + 5):
        store.one_shot()
    store.pass_(2 * MINUTE_US)
    store.one_shot()
    assert _tidy(store)
    count = len(store.paths)
    assert crowd(store.files, now_us=store.now_us, age_us=0) < CROWD
    assert not _tidy(store)
    store.pass_(HOUR_US)
    store.one_shot()
    assert _tidy(store), "now the inputs go"
    assert len(store.paths) < count - CROWD
    store.check()


def test_one_at_a_time_and_few_files(store, monkeypatch):
    monkeypatch.setattr(close, "looks", lambda _process: False)
    monkeypatch.setattr(close, "_READ_MAX", 10)
    for _ in range(CROWD + 3):
        store.one_shot()
    store.pass_(2 * MINUTE_US)
    store.one_shot()
    reads = []
    monkeypatch.setattr(
        merging,
        "_read",
        lambda files, file, *more, read=merging._read: (
            reads.append(file.path) or read(files, file, *more)
        ),
    )
    other = Claims(store.files, process="another")
    held = other.claim(KEY)
    assert not _tidy(store) and reads == []
    held.end({"began_ms": 1})
    assert _tidy(store)
    assert len(set(reads)) == 10
    assert other.seen(KEY).last == {"began_ms": 1}, "a service's own last run stays"
    store.check()


def test_a_store_that_fails_ends_quietly(store, monkeypatch):
    monkeypatch.setattr(close, "looks", lambda _process: False)
    for _ in range(CROWD + 1):
        store.one_shot()
    store.pass_(2 * MINUTE_US)
    store.one_shot()

    def fail(*_args, **_more):
        raise StoreError("the store at /x can't be used: Read-only file system")

    with monkeypatch.context() as patched:
        patched.setattr(type(store.files), "create", fail)
        assert not _tidy(store)
    store.check()


def test_nobody_waits_longer_than_for_the_writing(store, monkeypatch):
    """Tidying that hangs holds no closing up beyond its time, and flushing not at all."""
    begun, go = threading.Event(), threading.Event()

    def hang(*_args, **_more):
        begun.set()
        go.wait(30)

    monkeypatch.setattr(close, "looks", lambda _process: True)
    monkeypatch.setattr(close, "tidy_crowd", hang)
    log = QueryLog(store.files, now_us=lambda: store.now_us)
    log.add(record(0))
    assert log.flush()
    assert not begun.is_set()
    assert log.close(timeout_s=0.2), "all is written"
    assert begun.wait(10)
    go.set()


def test_some_processes_look():
    found = sum(looks(f"{number:08x}{'0' * 24}") for number in range(800))
    assert found == 800 // close._LOOKS
