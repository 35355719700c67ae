"""How often cubes and indexes answered, by the log: what a count of all its records gives."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelerator.errors import StoreError
from accelerator.store.files.files import open_files
from accelerator.store.journals.query_log import hits as module
from accelerator.store.journals.query_log.encoding.encode import encoded, file_of
from accelerator.store.journals.query_log.hits import ArtifactHits, Uses
from accelerator.store.journals.query_log.paths import FOLDER, path_of
from accelerator.store.journals.query_log.reader import read
from accelerator.store.journals.query_log.writing.merged_parts import WrittenLogFile
from tests.accelerator.store.query_log.log_samples import NOW_US, record

NAMES = st.lists(st.sampled_from(["c", "d", "é", ""]), max_size=2, unique=True).map(tuple)
RECORDS = st.lists(
    st.builds(lambda at, c, i: record(at, cubes=c, indexes=i), st.integers(0, 50), NAMES, NAMES),
    min_size=1,
    max_size=6,
)


def write(files, records, number):
    made = encoded(records, 0)
    path = path_of(made.newest_us, made.oldest_us, "a" * 32, number)
    files.create(path, made.data)
    return path


def naive(records, kind, name, since_us):
    found = [
        one.started_us
        for one in records
        if name in getattr(one, kind) and one.started_us >= since_us
    ]
    return ArtifactHits(len(found), max(found, default=None))


@given(st.lists(RECORDS, max_size=4), RECORDS, st.integers(-1, 51))
@settings(max_examples=25)
def test_uses_are_those_of_all_records_since_it_was_made(tmp_path_factory, groups, waiting, since):
    files = open_files(str(tmp_path_factory.mktemp("log")))
    uses, records, since_us = Uses(files, lambda: waiting), [*waiting], NOW_US + since * 1_000_000
    for number, group in enumerate(groups, start=1):
        write(files, group, number)
        records += group
        known = uses.known()
        for name in ("c", "d", "é", "", "none"):
            assert known.of_cube(name, since_us // 1000) == naive(records, "cubes", name, since_us)
            assert known.of_index(name, since_us // 1000) == naive(
                records, "indexes", name, since_us
            )


def test_a_second_look_reads_new_files_alone(tmp_path, monkeypatch):
    files, opened = open_files(str(tmp_path)), []
    read_range = files.read_range
    monkeypatch.setattr(
        files, "read_range", lambda path, *at: opened.append(path) or read_range(path, *at)
    )
    uses = Uses(files, list)
    first = write(files, [record(1, cubes=("c",))], 1)
    assert uses.known().of_cube("c", 0) == ArtifactHits(1, NOW_US + 1_000_000)
    second = write(files, [record(2, cubes=("c",))], 2)
    assert uses.known().of_cube("c", 0).hits == 2
    assert opened == [first, second]
    files.delete([first])
    assert uses.known().of_cube("c", 0).hits == 1, "what is gone counts no more"


def test_merged_files_beside_their_inputs_count_once(tmp_path):
    files = open_files(str(tmp_path))
    for number in (1, 2, 3):
        write(files, [record(number, cubes=("c",))], number)
    rows = read(files).take([2, 1, 0])
    parts = [WrittenLogFile(f"{'a' * 32}-00000{number}", 1, 0) for number in (1, 2, 3)]
    ends = NOW_US + 3_000_000, NOW_US + 1_000_000
    files.create(path_of(*ends, "b" * 32, 0), file_of(rows, 0, parts))
    files.create(path_of(*ends, "c" * 32, 0), file_of(rows.slice(0, 2), 0, parts[:2]))
    uses = Uses(files, list)
    assert uses.known().of_cube("c", 0).hits == 3
    for path in files.list(FOLDER):
        if "a" * 32 in path:
            files.delete([path])
    assert uses.known().of_cube("c", 0).hits == 3
    assert uses.known().of_cube("c", (NOW_US + 2_000_000) // 1000).hits == 2
    assert read(files).num_rows == 3


def test_what_cannot_be_read_counts_nothing(tmp_path, monkeypatch):
    files = open_files(str(tmp_path))
    assert Uses(files, list).known().of_cube("c", 0) == ArtifactHits()
    path = write(files, [record(1, cubes=("c",))], 1)
    (tmp_path / path).write_bytes(b"PAR1 nothing PAR1")
    assert Uses(files, list).known().of_cube("c", 0) == ArtifactHits()

    def fails(*_):
        raise StoreError("gone")

    monkeypatch.setattr(files, "entries", fails)
    assert Uses(files, list).known().of_index("c", 0) == ArtifactHits()


def test_what_is_too_much_for_one_look_is_read_by_the_next(tmp_path, monkeypatch):
    files = open_files(str(tmp_path))
    size = 0
    for number in (1, 2, 3):
        path = write(files, [record(number, cubes=("c",))], number)
        size = max(size, files.size(path))
    monkeypatch.setattr(module, "_READ_MAX", size)
    uses = Uses(files, list)
    assert [uses.known().of_cube("c", 0).hits for _ in range(4)] == [1, 2, 3, 3]


@pytest.mark.parametrize(
    ("use", "shown"), [(ArtifactHits(), (0, None)), (ArtifactHits(2, 1_500), (2, 1))]
)
def test_columns_are_in_milliseconds(use, shown):
    assert tuple(use.columns().values()) == shown


def test_a_file_that_cant_be_read_now_counts_later(tmp_path, monkeypatch):
    files = open_files(str(tmp_path))
    write(files, [record(1, cubes=("c",))], 1)
    uses, real = Uses(files, list), type(files).read_range

    def fail(*_):
        raise StoreError("the store is slow")

    monkeypatch.setattr(type(files), "read_range", fail)
    assert uses.known().of_cube("c", 0) == ArtifactHits()
    monkeypatch.setattr(type(files), "read_range", real)
    assert uses.known().of_cube("c", 0).hits == 1


def test_a_look_imports_no_pandas(tmp_path):
    write(open_files(str(tmp_path)), [record(1, cubes=("c",)), record(3, cubes=("c",))], 1)
    code = (
        "import sys\n"
        "from accelerator.store.journals.query_log.hits import Uses\n"
        "from accelerator.store.files.files import open_files\n"
        "known = Uses(open_files(sys.argv[1]), list).known()\n"
        f"print([known.of_cube('c', at).hits for at in (0, {NOW_US // 1000 + 2000})])\n"
        "from accelerator.store.journals.query_log.reader import read\n"
        "print(read(open_files(sys.argv[1])).num_rows)\n"
        "print('pandas' in sys.modules)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert told.stdout.split("\n")[:3] == ["[2, 1]", "2", "False"]
