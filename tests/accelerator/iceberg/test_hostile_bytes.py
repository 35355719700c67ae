"""Foreign files that lie about sizes and counts: a typed error before anything is expanded."""

from __future__ import annotations

import gzip
import json
import os
import resource
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace
from pyroaring import BitMap64

from accelerator.common.files.safe_files import open_file
from accelerator.iceberg.catalogs.readers import Pointer
from accelerator.iceberg.errors import CatalogError, ManifestError
from accelerator.iceberg.io import LocalInputs, read_bytes, read_metadata
from accelerator.iceberg.manifests.avro_container import read_container
from accelerator.iceberg.manifests.cache_file import Identity, encode, file_of, read_file
from accelerator.iceberg.manifests.columns import TYPES, is_of
from accelerator.iceberg.manifests.reader import decode_manifest, sized
from accelerator.iceberg.rows.position_deletes import PositionDeletes
from accelerator.iceberg.tables.data_file import DeleteRef, LiveFile
from tests.accelerator.iceberg.avro_writer import SYNC, Writer, number, text
from tests.accelerator.iceberg.manifests import entry, listed

_INPUTS = LocalInputs()
_GIB = 1 << 30


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _container(codec: bytes, rows: int, block: bytes) -> bytes:
    pairs = text(b"avro.schema") + text(b"{}") + text(b"avro.codec") + text(codec)
    return b"Obj\x01" + number(2) + pairs + number(0) + SYNC + number(rows) + text(block) + SYNC


# Manifests and their lists


def test_a_block_that_inflates_without_end_is_refused() -> None:
    packer = zlib.compressobj(9, wbits=-15)
    zeros = bytes(1 << 20)
    block = b"".join(packer.compress(zeros) for _ in range(200)) + packer.flush()
    before = _peak()
    with pytest.raises(ManifestError, match="decompressed it has more than"):
        read_container(_container(b"deflate", 1, block))
    assert _peak() - before < 200 << 20


@pytest.mark.parametrize("rows", [1 << 40, -1, 26])
def test_more_entries_than_bytes_are_refused(rows: int) -> None:
    with pytest.raises(ManifestError, match="entries"):
        read_container(_container(b"null", rows, bytes(100)))


def test_more_entries_than_the_list_counts_are_refused() -> None:
    data = Writer().file([entry(), entry()])
    counts = {"added_files_count": 1, "existing_files_count": 0, "deleted_files_count": 0}
    manifest = replace(listed(), **counts)
    with pytest.raises(ManifestError, match="2 entries, more than its list counts"):
        decode_manifest(data, manifest)
    counts["existing_files_count"] = 1
    assert decode_manifest(data, replace(listed(), **counts)).count == 2


@pytest.mark.parametrize("told", [0, -1, 9, 11, 2**62])
def test_a_file_of_another_length_than_is_told(told: int, tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(bytes(10))
    assert sized(_INPUTS, str(path), 10) == bytes(10)
    with pytest.raises(ManifestError, match="bytes"):
        sized(_INPUTS, str(path), told)


def test_what_is_no_file_is_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(OSError, match="isn't a file"):
            read_bytes(_INPUTS, str(path))
        with pytest.raises(OSError, match="isn't a file"):
            open_file(path)


def test_metadata_that_inflates_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "1.gz.metadata.json"
    path.write_bytes(gzip.compress(b'{"a":"' + bytes(50 << 20) + b'"}'))
    monkeypatch.setattr("accelerator.iceberg.io.METADATA_BYTES_MAX", 1 << 20)
    with pytest.raises(CatalogError, match="more than 1,048,576 bytes when decompressed"):
        Pointer(str(path), {}).parse()


def test_metadata_whose_compressed_bytes_are_padded_or_come_in_members(tmp_path: Path) -> None:
    path = tmp_path / "1.gz.metadata.json"
    for data in (gzip.compress(b"{}") + bytes(512), gzip.compress(b"{") + gzip.compress(b"}")):
        path.write_bytes(data)
        assert read_metadata(str(path), {}) == b"{}"


@pytest.mark.parametrize("data", [b"", b"\x1f\x8b", b"[" * 100_000, b"\xff", b"{}", b"null"])
def test_metadata_that_is_none(data: bytes, tmp_path: Path) -> None:
    for name in ("1.metadata.json", "1.gz.metadata.json"):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(CatalogError, match="can't be read"):
            Pointer(str(tmp_path / name), {}).parse()


# Deletion vectors and position deletes


def _file(rows: int, *deletes: DeleteRef) -> LiveFile:
    return LiveFile("f", 1, 1, rows, "parquet", 0, deletes)


def _vector(path: Path, bitmap: bytes, count: int, **changed: Any) -> DeleteRef:
    payload = b"\xd1\xd3\x39\x64" + bitmap
    blob = struct.pack(">I", changed.pop("length", len(payload))) + payload
    blob += struct.pack(">I", changed.pop("crc", zlib.crc32(payload)))
    path.write_bytes(b"PFA1" + blob)
    told = {"content_offset": 4, "content_size": len(blob)} | changed
    return DeleteRef(str(path), "dv", 1, count, **told)


def _deleted(file: LiveFile) -> list[int]:
    return sorted(PositionDeletes(_INPUTS).of(file).tolist())


def test_a_sound_deletion_vector(tmp_path: Path) -> None:
    ref = _vector(tmp_path / "dv", BitMap64([0, 3]).serialize(), 2)
    assert _deleted(_file(5, ref)) == [0, 3]


@pytest.mark.parametrize(
    ("positions", "count", "changed"),
    [
        (range(30_000_000), 30_000_000, {}),  # 6 kB, of a file of five rows
        (range(30_000_000), 2, {}),
        ([0, 5], 2, {}),
        ([0, 1 << 40], 2, {}),
        ([0, 3], 1, {}),
        ([0, 3], 3, {}),
        ([0, 3], 2, {"length": 7}),
        ([0, 3], 2, {"length": 2**32 - 1}),
        ([0, 3], 2, {"crc": 1}),
        ([0, 3], 2, {"content_offset": -1}),
        ([0, 3], 2, {"content_offset": 1 << 40}),
        ([0, 3], 2, {"content_size": 0}),
        ([0, 3], 2, {"content_size": -9}),
        ([0, 3], 2, {"content_size": 1 << 40}),
        ([0, 3], 2, {"content_size": None}),
    ],
)
def test_a_deletion_vector_that_lies(
    positions: Any, count: int, changed: dict[str, Any], tmp_path: Path
) -> None:
    bitmap = BitMap64(positions)
    bitmap.run_optimize()
    ref = _vector(tmp_path / "dv", bitmap.serialize(), count, **changed)
    before = _peak()
    with pytest.raises(ValueError, match=r"deletion vector|rows that it hasn't"):
        _deleted(_file(5, ref))
    assert _peak() - before < 100 << 20


def _positions(path: Path, columns: dict[str, Any], count: int) -> DeleteRef:
    pq.write_table(pa.table(columns), path)
    return DeleteRef(str(path), "position", 1, count)


@pytest.mark.parametrize(
    ("pos", "count"),
    [
        (pa.array([0, -1]), 2),  # from the end, to numpy
        (pa.array([0, 5]), 2),
        (pa.array([0, None]), 2),
        (pa.array([0.0, 1.0]), 2),
        (pa.array(["0", "1"]), 2),
        (pa.array([0, 1]), 3),
        (pa.array(np.zeros(10**6, dtype=np.int64)), 2),
    ],
)
def test_position_deletes_that_lie(pos: pa.Array, count: int, tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    ref = _positions(path, {"file_path": ["f"] * len(pos), "pos": pos}, count)
    with pytest.raises(ValueError, match=r"positions|rows"):
        _deleted(_file(5, ref))


def test_sound_position_deletes(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    ref = _positions(path, {"file_path": ["f", "g", "f"], "pos": [4, 99, 0]}, 3)
    assert _deleted(_file(5, ref)) == [0, 4]


# Files of the manifest cache, whose checksums whoever may write there can make


def _planted(folder: Path, **changed: pa.Array) -> list[Any]:
    """What is answered of a file that has other columns than its manifest."""
    manifest, data = listed(), Writer().file([entry(), entry()])
    sound = decode_manifest(data, manifest)
    columns = {name: sound.source.column(name) for name in ("partition", *TYPES)} | changed

    class Planted:
        nbytes = 0

        def column(self, name: str) -> pa.Array:
            return columns[name]

    from accelerator.iceberg.manifests.columns import ManifestColumns

    identity = Identity.of(manifest)
    file_of(folder, identity).write_bytes(encode(identity, ManifestColumns(2, (), Planted())))
    kept = read_file(folder, identity, lambda: sound)
    assert kept is not None
    return [kept.source.column(name).to_pylist() for name in columns]


def _beyond(type_: pa.DataType) -> pa.Array:
    """Two values whose offsets point beyond their bytes."""
    offsets = np.array([0, 1 << 30, 1], dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"x")]
    return pa.Array.from_buffers(type_, 2, buffers)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("path", _beyond(pa.string())),
        ("path", pa.array([1, 2])),
        ("path", pa.array(["a", "b", "c"])),
        ("path", pa.array([], pa.string())),
        ("key_metadata", _beyond(pa.binary())),
        ("record_count", pa.array([1.0, 2.0])),
        ("record_count", pa.array(["1", "2"]).dictionary_encode()),
        ("split_offsets", pa.array([[1], [2]], pa.list_(pa.int32()))),
        ("partition", pa.array([{"1000": ["x"]}, None])),
    ],
)
def test_a_planted_column_isnt_used(name: str, column: pa.Array, tmp_path: Path) -> None:
    (tmp_path / "sound").mkdir()
    assert _planted(tmp_path, **{name: column}) == _planted(tmp_path / "sound")
    assert not is_of("stats.1", column.type)


# A process that reads such files lives on


_READS = """
import sys
from accelerator.iceberg.errors import AcceleratorError
from accelerator.iceberg.io import LocalInputs
from accelerator.iceberg.manifests.reader import read_list
for path in sys.argv[1:]:
    try:
        read_list(LocalInputs(), path)
    except AcceleratorError as error:
        print(error.code)
"""


def test_a_list_with_lying_lengths_doesnt_end_the_process(tmp_path: Path) -> None:
    schema = {"type": "record", "name": "m", "fields": [
        {"name": "manifest_path", "type": "string", "field-id": 500},
        {"name": "manifest_length", "type": "long", "field-id": 501},
        {"name": "partition_spec_id", "type": "int", "field-id": 502},
    ]}  # fmt: skip
    paths = []
    for place, length in enumerate((1 << 62, -5, 1 << 31, 40)):
        pairs = text(b"avro.schema") + text(json.dumps(schema).encode())
        block = number(length) + b"abc" + number(1) + number(0)
        data = b"Obj\x01" + number(1) + pairs + number(0) + SYNC + number(1) + text(block) + SYNC
        (tmp_path / f"{place}.avro").write_bytes(data)
        paths.append(str(tmp_path / f"{place}.avro"))
    done = subprocess.run(
        [sys.executable, "-c", _READS, *paths], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout.split()) == (0, ["manifest_unreadable"] * 4), done.stderr
