"""The log's reader: the newest first, exactly, however files lie; and what isn't sound is told."""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelerator.errors import QueryLogError, StoreError
from accelerator.store.files.files import open_files
from accelerator.store.journals.query_log import reader
from accelerator.store.journals.query_log.encoding import encode
from accelerator.store.journals.query_log.encoding.encode import encoded
from accelerator.store.journals.query_log.paths import FOLDER, day_of, log_file, micros_of, path_of
from accelerator.store.journals.query_log.reader import look, read
from accelerator.store.journals.query_log.record import TIME_MAX, arrow_schema
from tests.accelerator.store.query_log.log_samples import DAY_US, HOUR_US, NOW_US, record

PROCESS = "a" * 32


@pytest.fixture
def files(tmp_path):
    return open_files(str(tmp_path / "store"))


def write(files, number, *records, late_us=0, data=None):
    """A file as a writer makes it, so long after its newest statement began."""
    made = encoded(records, 0)
    path = path_of(made.newest_us + late_us, made.oldest_us, PROCESS, number)
    assert files.create(path, made.data if data is None else data)
    return path


def at(time_us):
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_us)


def test_a_store_without_a_log_has_no_rows(files):
    found = look(files)
    assert found.rows.schema.equals(arrow_schema())
    assert (found.rows.num_rows, found.files, found.skipped) == (0, 0, {})


STARTS = st.lists(
    st.lists(st.integers(NOW_US - 3 * DAY_US, NOW_US), min_size=1, max_size=5), max_size=8
)


@given(STARTS, st.data())
@settings(max_examples=60, deadline=None)
def test_rows_are_the_newest_in_order(tmp_path_factory, starts, data):
    files = open_files(str(tmp_path_factory.mktemp("store")))
    number = 0
    times = {}
    for place, one in enumerate(starts):
        records = []
        for start in one:
            records.append(record(number, started_us=start))
            times[f"q{number}"] = start
            number += 1
        write(files, place, *records, late_us=data.draw(st.integers(0, DAY_US)))
    bounds = sorted(data.draw(st.tuples(*[st.integers(NOW_US - 4 * DAY_US, NOW_US + 1)] * 2)))
    limit = data.draw(st.integers(0, 30))
    since, until = (None, None) if data.draw(st.booleans()) else map(at, bounds)
    first, last = (0, TIME_MAX) if since is None else bounds
    wanted = [(start, one) for one, start in times.items() if first <= start < last]
    rows = read(files, since, until, limit).to_pylist()
    found = [(micros_of(row["started"]), row["id"]) for row in rows]
    assert found == sorted(wanted, reverse=True)[:limit]


def test_only_files_that_may_have_rows_are_opened(files):
    for hour in range(100):
        write(files, hour, record(hour, started_us=NOW_US - hour * HOUR_US))
    assert look(files, limit=3).files == 3
    found = look(files, since=at(NOW_US - 12 * HOUR_US), until=at(NOW_US - 10 * HOUR_US))
    assert found.rows["id"].to_pylist() == ["q11", "q12"]
    assert found.files <= 3


def test_much_is_cut_down_while_it_is_read(files, monkeypatch):
    for place in range(30):
        write(files, place, *(record(place * 100 + n, late=0) for n in range(0)), record(place))
    monkeypatch.setattr(reader, "BYTES_MAX", 2000)
    found = look(files)
    assert found.is_cut
    assert 0 < found.rows.num_rows < 30
    assert found.rows["id"][0].as_py() == "q29"


@pytest.mark.parametrize("limit", [-1, reader.LIMIT_MAX + 1])
def test_limits_out_of_bounds_are_errors(files, limit):
    with pytest.raises(QueryLogError, match="can't be read"):
        read(files, limit=limit)


def test_a_time_without_a_zone_is_an_error(files):
    with pytest.raises(QueryLogError, match="without a zone"):
        read(files, since=datetime(2026, 1, 1))


# What isn't sound


def test_what_is_not_sound_is_passed_over_and_told(files, caplog, monkeypatch):
    write(files, 1, record(1))
    write(files, 2, record(2), data=b"garbage")
    write(files, 3, record(3), data=b"")
    monkeypatch.setattr(encode, "VERSION", 2)
    write(files, 4, record(4))
    monkeypatch.undo()
    day = day_of(NOW_US)
    files.create(f"{FOLDER}/{day}/notes.txt", b"x")
    files.create(f"{FOLDER}/{day}/deeper/{'x' * 50}.parquet", b"x")
    files.create(f"{FOLDER}/elsewhere/x.parquet", b"x")
    files.create("log/v2/2026-01-01/x.parquet", b"x")
    with caplog.at_level(logging.WARNING, "accelerator"):
        found = look(files)
    assert found.rows["id"].to_pylist() == ["q1"]
    assert found.skipped == {"damaged": 2, "newer": 1, "foreign": 2}
    assert [one.message for one in caplog.records] == [
        "files of the query log were passed over: 2 damaged, 2 foreign, 1 newer"
    ]


def test_a_file_that_is_too_large_is_not_read(files, monkeypatch):
    write(files, 1, record(1))
    monkeypatch.setattr(reader, "FILE_BYTES_MAX", 100)
    monkeypatch.setattr(files, "read_range", None)
    assert look(files).skipped == {"damaged": 1}


def test_files_that_go_while_they_are_read_are_gone(files):
    paths = [write(files, number, record(number)) for number in range(4)]
    real = files.read_range

    def reading(path, offset, length):
        files.delete(paths[:2])
        return real(path, offset, length)

    files.read_range = reading
    found = look(files)
    assert found.rows["id"].to_pylist() == ["q3", "q2"]
    assert found.skipped == {}


def test_a_file_that_cannot_be_read_is_told_and_the_others_are(files):
    write(files, 1, record(1))
    unreadable = write(files, 2, record(2))
    real = files.read_range

    def reading(path, offset, length):
        if path == unreadable:
            raise StoreError("permission denied")
        return real(path, offset, length)

    files.read_range = reading
    found = look(files)
    assert (found.rows["id"].to_pylist(), found.skipped) == (["q1"], {"unreadable": 1})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_in_the_log_stops_nobody(files, tmp_path):
    path = write(files, 1, record(1))
    other = path.replace("-000001", "-000002")
    os.mkfifo(tmp_path / "store" / other)
    found = look(files)
    assert found.rows["id"].to_pylist() == ["q1"]
    assert set(found.skipped) <= {"damaged", "unreadable"}


# Names


@given(st.integers(0, TIME_MAX), st.integers(0, TIME_MAX), st.integers(0, 10**9))
def test_names_are_read_as_they_are_written(one, other, number):
    oldest, newest = sorted((one, other))
    path = path_of(newest, oldest, PROCESS, number)
    found = log_file(path, 7)
    assert (found.newest_us, found.oldest_us, found.bytes) == (newest, oldest, 7)


@given(st.lists(st.integers(0, TIME_MAX), min_size=2, max_size=9))
def test_names_in_order_are_times_in_order(times):
    paths = [path_of(one, 0, PROCESS, 1) for one in times]
    assert [log_file(path).newest_us for path in sorted(paths)] == sorted(times)


SOUND = path_of(NOW_US, NOW_US - 1, PROCESS, 1)


@pytest.mark.parametrize(
    "path",
    [
        "",
        SOUND.replace("v1", "v2"),
        SOUND + "#123",
        SOUND + "\n",
        "x/" + SOUND,
        SOUND.replace("2025", "2024", 1),
        SOUND.replace("T", "U"),
        SOUND.replace("aaaa", "AAAA"),
        SOUND.replace("T14", "T25"),
        SOUND.replace("-000001", "-1"),
        SOUND.replace("2", "²"),
        path_of(NOW_US - 1, NOW_US, PROCESS, 1),
    ],
)
def test_other_names_are_nobodys(path):
    assert log_file(SOUND) is not None
    assert log_file(path) is None


@given(st.text())
def test_any_text_is_a_name_or_none(text):
    assert log_file(text) is None
    assert log_file(f"{FOLDER}/{text}.parquet") is None
