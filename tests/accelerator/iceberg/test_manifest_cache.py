"""The manifest cache: one decode, its budget, its files and what may happen to them."""

from __future__ import annotations

import io
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from accelerator.common.files.cache_folder import trim
from accelerator.iceberg.errors import CatalogError, ManifestError
from accelerator.iceberg.manifests import cache_file as manifest_file
from accelerator.iceberg.manifests.cache import ManifestCache
from accelerator.iceberg.manifests.cache_file import Identity, encode, file_of
from accelerator.iceberg.manifests.columns import TYPES, ManifestColumns
from accelerator.iceberg.manifests.manifest_file import ManifestFile
from accelerator.iceberg.manifests.reader import decode_manifest
from tests.accelerator.iceberg.avro_writer import Layout, Writer
from tests.accelerator.iceberg.manifests import listed, told

GOLDEN = Path(__file__).parent / "golden"
LAYOUT = Layout(partition=((1000, "int"), (1001, "string")))


def manifest_bytes(rows: int = 3, name: str = "f") -> bytes:
    entries: list[dict[str, Any]] = []
    for at in range(rows):
        file: dict[str, Any] = {
            "content": 0,
            "file_path": f"s3://b/{name}{at}.parquet",
            "file_format": "PARQUET",
            "partition": (at, None if at == 1 else f"p{at}"),
            "record_count": 10 + at,
            "file_size_in_bytes": 1000 * at,
            "column_sizes": None,
            "value_counts": {1: 10 + at, 2: 10},
            "null_value_counts": {1: 0} if at else None,
            "nan_value_counts": None,
            "lower_bounds": {1: at.to_bytes(8, "little"), 2: b"a" * at},
            "upper_bounds": {1: (at + 9).to_bytes(8, "little")},
            "key_metadata": None,
            "split_offsets": [4] * at,
            "sort_order_id": None if at == 2 else 1,
            "first_row_id": None,
        }
        numbers = {"snapshot_id": None, "sequence_number": None, "file_sequence_number": None}
        entries.append({"status": 1, **numbers, "data_file": file})
    return Writer(LAYOUT).file(entries)


class Served:
    """Manifests by path; notes what is opened."""

    def __init__(self, **files: bytes) -> None:
        self.files = files
        self.opened: list[str] = []

    def new_input(self, location: str) -> Any:
        served = self

        class Input:
            def open(self) -> io.BytesIO:
                served.opened.append(location)
                if location not in served.files:
                    raise FileNotFoundError(location)
                return io.BytesIO(served.files[location])

        return Input()


def whole(path: str = "m", sequence_number: int = 7, rows: int = 3) -> ManifestFile:
    """The manifest of so many rows, as a list has it; its name has one letter."""
    return listed(path, sequence_number, len(manifest_bytes(rows)))


def plainly(path: str = "m") -> ManifestColumns:
    return decode_manifest(manifest_bytes(), listed(path))


def test_a_manifest_is_decoded_once_however_many_ask() -> None:
    served = Served(m=manifest_bytes())
    cache = ManifestCache(1 << 20)
    asked = threading.Barrier(8)

    def ask(_: int) -> ManifestColumns:
        asked.wait()
        return cache.columns(served, whole())

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(ask, range(8)))
    assert served.opened == ["m"]
    assert all(one is found[0] for one in found)
    assert told(found[0]) == told(plainly())
    assert cache.nbytes == found[0].nbytes > 0


def test_what_was_used_least_recently_goes_first() -> None:
    files = {name: manifest_bytes(name=name) for name in "abc"}
    served = Served(**files)
    size = plainly().nbytes
    cache = ManifestCache(2 * size + size // 2)
    for name in "abac":
        cache.columns(served, whole(name))
    assert cache.nbytes <= 2 * size + size // 2
    served.opened.clear()
    for name in "acb":
        cache.columns(served, whole(name))
    assert served.opened == ["b"]


def test_one_that_is_larger_than_the_budget_is_not_kept() -> None:
    served = Served(m=manifest_bytes())
    cache = ManifestCache(10)
    for _ in range(2):
        assert cache.columns(served, whole()).count == 3
    assert served.opened == ["m", "m"]
    assert cache.nbytes == 0


def test_a_failure_is_not_kept() -> None:
    served = Served()
    cache = ManifestCache(1 << 20)
    with pytest.raises(CatalogError, match="the manifest m can't be read"):
        cache.columns(served, whole())
    served.files["m"] = b"Obj"
    with pytest.raises(ManifestError):
        cache.columns(served, whole())
    assert not cache._entries
    served.files["m"] = manifest_bytes()
    assert cache.columns(served, whole()).count == 3


def test_what_the_list_says_is_part_of_what_is_kept(tmp_path: Path) -> None:
    """A list of other numbers is another manifest: entries inherit from it."""
    served = Served(m=manifest_bytes())
    cache = ManifestCache(1 << 20, tmp_path)
    for number in (7, 8, 7):
        columns = cache.columns(served, whole(sequence_number=number))
        assert columns.sequence_number.to_pylist() == [number] * 3


# On disk


def test_another_process_reads_the_file_alone(tmp_path: Path) -> None:
    served = Served(m=manifest_bytes())
    ManifestCache(1 << 20, tmp_path / "a" / "b").columns(served, whole())
    again = ManifestCache(1 << 20, tmp_path / "a" / "b").columns(served, whole())
    assert served.opened == ["m"]
    assert told(again) == told(plainly())
    assert again.stats(99).lower.null_count == 3


def test_only_columns_in_use_take_memory(tmp_path: Path) -> None:
    served = Served(m=manifest_bytes(1000))
    cache = ManifestCache(1 << 30, tmp_path)
    columns = cache.columns(served, whole(rows=1000))
    untouched = columns.nbytes
    columns.record_count  # noqa: B018 - a property that reads
    assert 8000 < columns.nbytes - untouched < 10_000
    cache.columns(served, whole(rows=1000))
    assert cache.nbytes == columns.nbytes


def test_a_file_may_go_at_any_time(tmp_path: Path) -> None:
    served = Served(m=manifest_bytes())
    cache = ManifestCache(1 << 20, tmp_path)
    columns = cache.columns(served, whole())
    file_of(tmp_path, Identity.of(whole())).unlink()
    assert told(columns) == told(plainly())
    assert served.opened == ["m", "m"]
    ManifestCache(1 << 20, tmp_path).columns(served, whole())
    assert served.opened == ["m", "m"]  # it was written anew


def test_a_file_may_be_cut_short_at_any_time(tmp_path: Path) -> None:
    """Of a mapped one the process would die, by SIGBUS."""
    served = Served(m=manifest_bytes(1000))
    columns = ManifestCache(1 << 20, tmp_path).columns(served, whole(rows=1000))
    os.truncate(file_of(tmp_path, Identity.of(whole(rows=1000))), 100)
    assert columns.record_count.to_pylist() == list(range(10, 1010))
    assert columns.stats(1).lower.null_count == 0


def _damages() -> dict[str, Callable[[bytes], bytes]]:
    return {
        "empty": lambda _: b"",
        "cut off": lambda data: data[:-1],
        "halved": lambda data: data[: len(data) // 2],
        "without its end": lambda data: data[:-40],
        "older": lambda data: data.replace(b"LAMANIF2", b"LAMANIF0"),
        "newer inside": lambda data: data.replace(b'"format":2', b'"format":3'),
        "of another count": lambda data: data.replace(b'"count":3', b'"count":4'),
        "something else": lambda _: b"x" * 4096,
    }


@pytest.mark.parametrize("name", _damages())
def test_a_file_that_is_not_sound_is_replaced(name: str, tmp_path: Path) -> None:
    served = Served(m=manifest_bytes())
    ManifestCache(1 << 20, tmp_path).columns(served, whole())
    path = file_of(tmp_path, Identity.of(whole()))
    sound = path.read_bytes()
    path.write_bytes(_damages()[name](sound))
    assert told(ManifestCache(1 << 20, tmp_path).columns(served, whole())) == told(plainly())
    assert served.opened == ["m", "m"]
    assert path.read_bytes() == sound
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_no_altered_byte_changes_an_answer(tmp_path: Path) -> None:
    """Every 37th byte of the file, one at a time."""
    served = Served(m=manifest_bytes())
    ManifestCache(1 << 20, tmp_path).columns(served, whole())
    path = file_of(tmp_path, Identity.of(whole()))
    sound = path.read_bytes()
    right = told(plainly())
    noticed = 0
    for at in range(0, len(sound), 37):
        path.write_bytes(sound[:at] + bytes([sound[at] ^ 0x55]) + sound[at + 1 :])
        served.opened.clear()
        assert told(ManifestCache(1 << 20, tmp_path).columns(served, whole())) == right
        if served.opened:
            noticed += 1
            assert path.read_bytes() == sound
    assert noticed > len(sound) // 37 // 2  # what isn't noticed is padding


def test_a_file_of_another_manifest_is_not_used(tmp_path: Path) -> None:
    served = Served(m=manifest_bytes(), n=manifest_bytes(2))
    cache = ManifestCache(1 << 20, tmp_path)
    cache.columns(served, whole("m"))
    files = [file_of(tmp_path, Identity.of(whole(name))) for name in "mn"]
    files[0].rename(files[1])
    assert cache.columns(served, whole("n", rows=2)).count == 2


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    served = Served(m=manifest_bytes())
    columns = ManifestCache(1 << 20, tmp_path / "file").columns(served, whole())
    assert told(columns) == told(plainly())


def test_a_full_disk_is_no_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    served = Served(m=manifest_bytes())
    columns = ManifestCache(1 << 20, tmp_path).columns(served, whole())
    assert told(columns) == told(plainly())
    assert list(tmp_path.iterdir()) == []


def test_golden_bytes_of_format_2(tmp_path: Path) -> None:
    """Written anew by `write_golden`, for a new format alone."""
    assert manifest_file.FORMAT == 2
    kept = (GOLDEN / "manifest-2.columns").read_bytes()
    path = file_of(tmp_path, Identity.of(listed("golden")))
    path.write_bytes(kept)
    served = Served()
    assert told(ManifestCache(1 << 20, tmp_path).columns(served, listed("golden"))) == told(
        plainly("golden")
    )
    assert encode(Identity.of(listed("golden")), plainly("golden")) == kept


def write_golden() -> None:
    data = encode(Identity.of(listed("golden")), plainly("golden"))
    GOLDEN.mkdir(exist_ok=True)
    (GOLDEN / "manifest-2.columns").write_bytes(data)


def test_every_column_has_a_section(tmp_path: Path) -> None:
    served = Served(m=manifest_bytes())
    columns = ManifestCache(1 << 20, tmp_path).columns(served, whole())
    assert set(TYPES) <= set(ManifestColumns.__dict__)
    for name, type_ in TYPES.items():
        assert getattr(columns, name).type == type_


def test_a_folder_keeps_to_its_bytes(tmp_path: Path) -> None:
    """What was used longest ago goes first; a dead writer's draft goes, a young one stays."""
    for number in range(4):
        one = tmp_path / f"{number}.columns"
        one.write_bytes(b"x" * 100)
        os.utime(one, (number, number))
    for name, age in (("old.columns#1", 0), ("young.columns#2", time.time())):
        (tmp_path / name).write_bytes(b"x")
        os.utime(tmp_path / name, (age, age))
    (tmp_path / "another file").write_bytes(b"x" * 1000)
    trim(tmp_path, ".columns", 250)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["2.columns", "3.columns", "another file", "young.columns#2"]
    trim(tmp_path / "not there", ".columns", 0)


def test_a_cache_trims_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trimmed: list[int] = []
    monkeypatch.setattr(
        "accelerator.iceberg.manifests.cache.trim",
        lambda _, __, bytes_max: trimmed.append(bytes_max),
    )
    cache = ManifestCache(10**6, tmp_path, 1600)
    cache._look_after(tmp_path, 99)
    assert trimmed == []
    cache._look_after(tmp_path, 1)
    assert trimmed == [1600]
