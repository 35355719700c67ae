"""Artifacts beside their checksums: any altered bit is noticed, and nothing else is."""

from __future__ import annotations

import os
from pathlib import Path
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.artifacts.segments import checksums
from accelerator.artifacts.segments.checksums import CHECKSUM, altered, check, checksum
from accelerator.errors import EngineError
from accelerator.store import SegmentRecord, Store


def _segment(path: Path, recorded: str | None, number: int = 1, rows: int = 5) -> SegmentRecord:
    facts = {} if recorded is None else {CHECKSUM: recorded}
    return SegmentRecord(number, "c", f"file://{path}", rows, 1, (), facts=facts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("artifacts")


@pytest.fixture(scope="module")
def store(folder: Path) -> Store:
    return Store.open(str(folder))


@given(st.binary(min_size=1, max_size=200), st.data())
def test_one_bit_is_noticed(
    folder: Path, store: Store, content: bytes, data: st.DataObject
) -> None:
    path = folder / f"{crc32(content)}-{len(content)}"
    path.write_bytes(content)
    sound = _segment(path, checksum(str(path)))
    check([sound], store)
    bit = data.draw(st.integers(0, 8 * len(content) - 1))
    harmed = bytearray(content)
    harmed[bit // 8] ^= 1 << bit % 8
    other = path.with_suffix(".harmed")
    other.write_bytes(harmed)
    wrong = _segment(other, sound.facts[CHECKSUM])
    assert altered([sound, wrong], store) == [wrong]
    with pytest.raises(EngineError, match="checksum") as raised:
        check([sound, wrong], store)
    assert "BUILD CUBE" in raised.value.hint


def test_what_cannot_be_told_is_not_altered(folder: Path, store: Store) -> None:
    path = folder / "file"
    path.write_bytes(b"abc")
    missing = _segment(folder / "missing", "00000000")
    assert altered([_segment(path, None), _segment(path, "00000000", rows=0), missing], store) == []


def test_what_is_elsewhere_is_not_opened(
    folder: Path, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it taken for altered: it may be another's, who has the store at another path."""
    path = tmp_path / "secret"
    path.write_bytes(b"abc")
    monkeypatch.setattr(checksums, "_state", lambda one: pytest.fail(f"{one} is looked at"))
    odd = [path, f"{folder}/../{tmp_path.name}/secret", "\0", f"{folder}/\0"]
    segments = [_segment(Path(str(one)), recorded) for one in odd for recorded in (None, "0")]
    assert altered(segments, store) == []
    assert altered(segments, store, anew=True) == []


def test_a_bit_that_a_disk_lost_is_found_by_reading_anew(folder: Path, store: Store) -> None:
    """It changes neither size nor time, by which a process knows what it has read."""
    path = folder / "lost"
    path.write_bytes(b"abc")
    segment = _segment(path, checksum(str(path)))
    times = path.stat()
    path.write_bytes(b"abb")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert altered([segment], store) == []
    assert altered([segment], store, anew=True) == altered([segment], store) == [segment]


@pytest.mark.parametrize("several", [1, 1000])
def test_a_file_is_looked_at_once_for_all_its_segments(
    folder: Path, store: Store, several, monkeypatch
) -> None:
    path = folder / "shared.parquet"
    pq.write_table(pa.table({"segment": pa.array(range(several), pa.int64())}), path)
    recorded, looked = checksum(str(path)), []
    state = checksums._state
    monkeypatch.setattr(checksums, "_state", lambda one: looked.append(one) or state(one))
    assert altered((_segment(path, recorded, number, 1) for number in range(several)), store) == []
    assert len(looked) == 1


def test_a_large_file_is_read_in_pieces(folder: Path) -> None:
    path = folder / "large"
    content = bytes(range(256)) * 10_000
    path.write_bytes(content)
    assert checksum(str(path)) == f"{crc32(content):08x}"


@given(st.lists(st.integers(1, 5), max_size=30), st.integers(1, 6), st.integers(1, 30))
def test_a_segment_that_is_not_in_its_file_is_noticed(
    folder: Path, store: Store, ids: list[int], number: int, rows: int
) -> None:
    """Read by its condition, it would be a segment without cells."""
    path = folder / f"{crc32(repr(ids).encode())}.parquet"
    pq.write_table(pa.table({"segment": pa.array(ids, pa.int64()), "s0": ids}), path)
    segment = _segment(path, checksum(str(path)), number, rows)
    assert altered([segment], store) == ([] if ids.count(number) == rows else [segment])
    assert altered([_segment(path, None, number, rows)], store) == (
        [] if ids.count(number) == rows else [_segment(path, None, number, rows)]
    )
