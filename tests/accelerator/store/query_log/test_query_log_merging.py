"""Small files of the log become few; no row is shown twice or never, whoever dies or hurries."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelerator.store.files.files import open_files
from accelerator.store.journals.query_log.encoding.encode import encoded, file_of
from accelerator.store.journals.query_log.paths import FOLDER, log_file, path_of
from accelerator.store.journals.query_log.reader import look, read
from accelerator.store.journals.query_log.writing import merging
from accelerator.store.journals.query_log.writing.merged_parts import (
    WrittenLogFile,
    parts_of,
    parts_text,
)
from accelerator.store.journals.query_log.writing.merging import merge
from accelerator.store.journals.query_log.writing.retention import trim
from tests.accelerator.store.query_log.log_samples import DAY_US, HOUR_US, NOW_US, record

ROUND = 3 * HOUR_US


class Log:
    """A log in a folder, whose storage's clock tests turn."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.files = folder, open_files(str(folder))
        self.now_us = NOW_US
        self.numbers = 0

    def write(self, *numbers, process="a" * 32, lost=0):
        made = encoded([record(number) for number in numbers], lost)
        self.numbers += 1
        path = path_of(made.newest_us, made.oldest_us, process, self.numbers)
        assert self.files.create(path, made.data)
        self.touch()
        return path

    def touch(self, seconds: float | None = None) -> None:
        """What was written just now was written at the storage's time."""
        for file in self.folder.rglob("*.parquet"):
            if file.stat().st_mtime > 1_770_000_000:
                at = self.now_us / 1e6 if seconds is None else seconds
                os.utime(file, (at, at))

    def merge(self, pass_us=ROUND):
        """Time passes, something is written, and a round runs."""
        self.now_us += pass_us
        self.write(10_000 + self.numbers, process="f" * 32)
        done = merge(self.files, now_us=self.now_us)
        self.touch()
        return done

    def ids(self):
        """Those of the statements, but for what is written beside."""
        found = look(self.files, limit=100_000)
        rows = [one for one in found.rows["id"].to_pylist() if len(one) < 6]
        return sorted(rows, key=lambda one: int(one[1:])), found

    def paths(self):
        return sorted(one for one in self.files.list(FOLDER) if "f" * 32 not in one)


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path)


def test_small_files_become_one_and_go_later(log):
    for number in range(12):
        log.write(number, process=f"{number:032x}", lost=1)
    done = log.merge()
    assert (done.merged, done.made, done.deleted) == (12, 1, 0)
    ids, found = log.ids()
    assert ids == [f"q{number}" for number in range(12)]
    assert found.lost == 12
    assert len(log.paths()) == 13, "both stand for a while"
    assert log.merge().deleted == 12
    ids, found = log.ids()
    assert ids == [f"q{number}" for number in range(12)]
    assert found.lost == 12
    assert len(log.paths()) == 1


def test_what_is_young_or_few_is_left_alone(log):
    for number in range(12):
        log.write(number)
    assert log.merge(HOUR_US // 2).made == 0
    for path in log.paths()[:-5]:
        log.files.delete([path])
    assert log.merge(2 * HOUR_US).made == 0
    assert log.merge(DAY_US).made == 1, "their day is over"


def test_two_mergers_of_the_same_files_make_one(log):
    for number in range(20):
        log.write(number)
    log.now_us += ROUND
    log.write(500, process="f" * 32)
    threads = [threading.Thread(target=merge, args=(log.files,), kwargs={"now_us": log.now_us})]
    threads.append(threading.Thread(target=merge, args=(log.files,), kwargs={"now_us": log.now_us}))
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    merged = [one for one in log.paths() if log_file(one).is_merged]
    assert len(merged) == 1
    assert log.ids()[0] == [f"q{number}" for number in range(20)] + ["q500"]


@given(st.lists(st.sets(st.integers(0, 15), min_size=2), min_size=1, max_size=4))
@settings(max_examples=8)
def test_merged_files_that_overlap_are_read_once_and_become_one(tmp_path_factory, groups):
    log = Log(tmp_path_factory.mktemp("log"))
    paths = [log.write(number, process=f"{number:032x}") for number in range(16)]
    original = {path: log.files.read(path) for path in paths}
    for group in groups:  # mergers that saw other listings
        seen = open_files(str(tmp_path_factory.mktemp("seen")))
        for number in group:
            seen.create(paths[number], original[paths[number]])
        for path in seen.list(FOLDER):
            file = log.folder / "x" / path
            assert not file.exists()
            old = log.now_us / 1e6 - 3 * 3600
            os.utime(Path(seen.uri(path).removeprefix("file://")), (old, old))
        marker = path_of(NOW_US + DAY_US * 3, NOW_US + DAY_US * 3, "e" * 32, 1)
        seen.create(marker, encoded([record(9)], 0).data)
        merge(seen, now_us=NOW_US * 2)
        for path in seen.list(FOLDER):
            if log_file(path).is_merged:
                log.files.create(path, seen.read(path))
    log.touch()
    expected = [f"q{number}" for number in range(16)]
    assert log.ids()[0] == expected
    for _ in range(3):
        log.merge(DAY_US)
        assert log.ids()[0] == expected
    covered = set().union(*groups)
    left = [path for path in log.paths() if path in set(paths)]
    assert not covered & {paths.index(path) for path in left}


def test_a_merger_that_dies_after_any_step_loses_nothing(log, monkeypatch):
    for number in range(10):
        log.write(number)
    create, delete = log.files.create, log.files.delete

    def dies(*_):
        raise KeyboardInterrupt

    for name in ("create", "delete", "create"):
        monkeypatch.setattr(log.files, name, dies)
        log.now_us += ROUND
        with suppress(KeyboardInterrupt):
            merge(log.files, now_us=log.now_us)
        monkeypatch.setattr(log.files, "create", create)
        monkeypatch.setattr(log.files, "delete", delete)
        assert log.ids()[0] == [f"q{number}" for number in range(10)]
        log.merge()
    assert all(log_file(path).is_merged for path in log.paths())


def test_a_reader_whose_file_is_gone_looks_again(log, monkeypatch):
    for number in range(10):
        log.write(number)
    read_range, calls = log.files.read_range, []

    def merged_meanwhile(path, offset, length):
        if not calls:
            calls.append(path)
            log.merge()
            log.merge()
        return read_range(path, offset, length)

    monkeypatch.setattr(log.files, "read_range", merged_meanwhile)
    assert log.ids()[0] == [f"q{number}" for number in range(10)]
    assert len(log.paths()) == 1


def test_what_is_damaged_or_newer_stays(log, monkeypatch):
    paths = [log.write(number) for number in range(12)]
    file = log.folder / paths[3]
    os.truncate(file, file.stat().st_size - 1)
    os.utime(file, (NOW_US / 1e6, NOW_US / 1e6))
    log.merge()
    log.merge()
    assert paths[3] in log.paths()
    ids, found = log.ids()
    assert ids == [f"q{number}" for number in range(12) if number != 3]
    assert dict(found.skipped) == {"damaged": 1}


def test_a_large_merged_file_takes_its_inputs_away_too(log, monkeypatch):
    for number in range(10):
        log.write(number)
    log.merge()
    monkeypatch.setattr(
        merging, "_SMALL_BYTES", max(f.stat().st_size for f in log.folder.rglob("*0001*.parquet"))
    )
    assert log.merge().deleted == 10
    assert log.ids()[0] == [f"q{number}" for number in range(10)]


def test_a_clock_that_is_ahead_merges_nothing_young(log):
    for number in range(12):
        log.write(number)
    assert merge(log.files, now_us=log.now_us + 1000 * DAY_US).made == 0
    assert merge(log.files, now_us=0).made == 0
    assert merge(open_files(str(log.folder / "none")), now_us=log.now_us).made == 0


def test_merged_files_are_trimmed_as_others(log):
    for number in range(12):
        log.write(number)
    log.merge()
    log.merge()
    log.now_us += 30 * DAY_US
    log.write(900, process="f" * 32)
    trim(log.files, days=14, bytes_max=0, now_us=log.now_us)
    assert log.paths() == []


def test_parts_that_do_not_fit_the_rows_are_damage(log):
    rows = read(log.files).slice(0, 0)
    data = file_of(rows, 0, [WrittenLogFile("a" * 32 + "-000001", 7, 0)])
    assert log.files.create(path_of(NOW_US, NOW_US, "b" * 32, 0), data)
    assert dict(look(log.files).skipped) == {"damaged": 1}


@given(
    st.lists(
        st.tuples(st.integers(0, 2**128 - 1), st.integers(1, 10**9), st.integers(0, 2000)),
        unique_by=lambda one: one[:2],
    )
)
def test_parts_come_back(found):
    parts = tuple(
        WrittenLogFile(f"{process:032x}-{number:06d}", rows, rows // 2)
        for process, number, rows in found
    )
    assert parts_of(parts_text(parts)) == parts


@pytest.mark.parametrize(
    "text", [b"x", b"a:1", b",", b"a" * 32 + b"-000001:-1", (b"a" * 32 + b"-000001:1,") * 2 + b"x"]
)
def test_what_is_no_list_of_parts_is_refused(text):
    with pytest.raises(ValueError, match="parts"):
        parts_of(text)
