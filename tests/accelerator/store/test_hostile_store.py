"""Files that somebody else has put into a store: refused by typed errors, and never waited for."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from accelerator.artifacts.segments.checksums import altered
from accelerator.artifacts.sidecars.probe import IndexFiles
from accelerator.errors import ConfigError, StoreError
from accelerator.store import Retention, SegmentRecord, Store
from accelerator.store.files.files import open_files
from accelerator.store.log.chunks import compact_json, read_json
from fuzz.bytes.seals import version_sealed

_GOLDEN = Path(__file__).parent / "golden" / "v2"
_AGES = Retention(0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(shutil.copytree(_GOLDEN, tmp_path / "store"))


@pytest.fixture
def table(root: Path) -> str:
    (found,) = (one.name for one in (root / "tables").iterdir())
    return found


def _newest(root: Path, table: str) -> Path:
    return max((root / "tables" / table / "versions").iterdir())


def _change(root: Path, table: str, change: Callable[[Any], object]) -> None:
    path = _newest(root, table)
    whole = json.loads(path.read_bytes())
    change(whole["state"])
    line = json.dumps(whole, separators=(",", ":")).encode() + b"\n"
    path.write_bytes(version_sealed(Random(0), line))


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _dangling(path: Path) -> None:
    path.symlink_to(path.with_name("nowhere"))


@pytest.mark.parametrize("made", [_pipe, _loop, _dangling, Path.mkdir])
@pytest.mark.parametrize("ahead", [1, 90])
def test_what_is_no_file_is_no_version(
    made: Callable[[Path], None], ahead: int, root: Path, table: str
) -> None:
    def made_there(newest: Path) -> None:
        made(newest.with_name(f"v{int(newest.stem[1:]) + ahead:020d}.json"))

    def numbers(store: Store) -> tuple[int, int]:
        return store.registry().number, store.table(table).number

    before = Store.open(str(root))
    expected = numbers(before)
    made_there(max((root / "registry").iterdir()))
    made_there(_newest(root, table))
    after = Store.open(str(root))
    assert numbers(after) == numbers(before) == expected
    if ahead == 1:  # that number is taken
        with pytest.raises(StoreError):
            after.drop_cube(next(iter(after.registry().cubes)))


def test_artifacts_that_are_pipes(root: Path) -> None:
    store, pipe = Store.open(str(root)), root / "pipe"
    os.mkfifo(pipe)
    for facts in ({}, {"crc32": "0"}, {"crc32": []}):
        segment = SegmentRecord(7, "c", f"file://{pipe}", 1, 1, (), facts=facts)
        altered([segment], store)
    with pytest.raises(OSError, match="isn't a file"):
        IndexFiles(store, print).reader(f"file://{pipe}")


def test_a_range_is_no_longer_than_its_file(root: Path) -> None:
    (root / "x").write_bytes(b"abc")
    assert Store.open(str(root)).read_range(f"file://{root}/x", 1, 2**60) == b"bc"
    assert Store.open(str(root)).read_range(f"file://{root}/x", 9, 2**60) == b""


@pytest.mark.parametrize(
    ("key", "value"), [("prev_garbage", None), ("floor", -5 * 10**9), ("floor", 2**62)]
)
def test_numbers_that_no_version_has(key: str, value: Any, root: Path, table: str) -> None:
    """The one before serves, and nothing is vacuumed."""
    number = int(_newest(root, table).name[1:21])
    _change(root, table, lambda state: state.__setitem__(key, number if value is None else value))
    store = Store.open(str(root))
    assert store.table(table).number < number
    with pytest.raises(StoreError):
        store.vacuum(table, _AGES)


@pytest.mark.parametrize("number", [99_999_999_999_999_999_999, 10**18])
def test_a_number_that_nobody_comes_to_is_nobodys(number: int, root: Path, table: str) -> None:
    sound = Store.open(str(root)).table(table).number
    path = _newest(root, table)
    (path.parent / f"v{number:020d}.json").write_bytes(path.read_bytes())
    folder = root / "tables" / table / "floors"
    folder.mkdir(exist_ok=True)
    (folder / f"{number:020d}.json").write_text("{}")
    store = Store.open(str(root))
    assert store.table(table).number == sound
    left = next(iter(store.table(table).segments))
    assert store.remove_segments(table, [left]).number == sound + 1
    assert left not in Store.open(str(root)).table(table).segments


def test_a_large_number_makes_no_work(root: Path, table: str) -> None:
    """Version files in between are listed, not counted."""
    path, number = _newest(root, table), 10**12
    whole = json.loads(path.read_bytes()) | {"number": number}
    line = json.dumps(whole, separators=(",", ":")).encode() + b"\n"
    (path.parent / f"v{number:020d}.json").write_bytes(version_sealed(Random(0), line))
    store = Store.open(str(root))
    assert store.table(table).number == number
    store.vacuum(table, _AGES)
    assert Store.open(str(root)).table(table).number >= number


_JOB = {"id": "a" * 32, "cube_id": "c" * 32, "started_ms": 1, "process": ""}


@pytest.mark.parametrize(
    "changed",
    [
        *({"started_ms": v} for v in ("x", None, [], {}, 1.5, 2**70)),
        *({"process": v} for v in ([], {}, "\ud800")),
        *({"id": v} for v in ([], {}, "\ud800", "../../x", "\0", "x" * 300, "b" * 32)),
        *({"cube_id": v} for v in ([], "..", "\0")),
        {"table_uuid": "another"},
        "[" * 100_000,
        "[]",
        "7",
    ],
    ids=lambda v: repr(v)[:40],
)
def test_logs_of_builds(changed: Any, root: Path, table: str) -> None:
    """What isn't a whole log of its own name is none; another's isn't ended by it."""
    folder = root / "tables" / table / "jobs"
    folder.mkdir(exist_ok=True)
    store = Store.open(str(root))
    living = store.begin_job(table, "c" * 32)
    before = {job.id for job in store.jobs(table)}
    sound = _JOB | {"table_uuid": table}
    text = changed if isinstance(changed, str) else json.dumps(sound | changed)
    (folder / f"{_JOB['id']}.json").write_text(text)
    assert {job.id for job in store.jobs(table)} == before
    for full in (False, True):
        store.vacuum(table, Retention(3_600_000), full=full)
    assert living.id in {job.id for job in store.jobs(table)}


def test_a_lease_without_end_is_none(root: Path, table: str) -> None:
    folder = root / "tables" / table / "pins"
    folder.mkdir(exist_ok=True)
    lease = folder / f"{0:020d}-{10**15 - 1:015d}-{'a' * 32}-1.json"
    lease.write_text("{}")
    Store.open(str(root)).vacuum(table, _AGES)
    assert not lease.exists()


@pytest.mark.parametrize(
    "address", ["memory://[", "abfss://[::1", "/tmp/\0", "/tmp/\ud800", "s3x://me:hush@b/x"]
)
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_files(address)
    assert "hush" not in str(caught.value)


def test_an_address_shows_no_password() -> None:
    files = open_files("s3://me:hush@b/x?sig=hush", {"region": "x", "skip_signature": "true"})
    with pytest.raises(StoreError) as caught:
        files.create("tables//x", b"")
    assert "hush" not in str(caught.value)


def test_objects_that_cannot_be() -> None:
    files = open_files("memory:///")
    for path in ("tables//x", "tables/./x", "tables/a\x01b", "tables/\ud800"):
        with pytest.raises(StoreError):
            files.create(path, b"")
    files.create("x", b"abc")
    assert files.read_range("x", 0, 0) == b""
    for offset, length in ((-1, 2), (0, -1), (2**64, 1), (0, 2**64)):
        with pytest.raises(StoreError):
            files.read_range("x", offset, length)


def test_texts_and_numbers_of_records() -> None:
    assert read_json('"\\ud83d\\ude00"') == "\U0001f600"
    for text in ('"\\ud800"', '{"a":["\\uDC00"]}', '{"\\ud800":1}'):
        with pytest.raises(ValueError, match="surrogates"):
            read_json(text)
    with pytest.raises(StoreError, match="isn't plain JSON"):
        compact_json(["\ud800"])
