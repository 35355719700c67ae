"""A table of very many data files that exist in its metadata alone.

One manifest entry is written by PyIceberg; every other is its bytes with another path and other
bounds, made by numpy for a whole manifest at once.
"""

from __future__ import annotations

import struct
import time
import uuid
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io import load_file_io
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    SetSnapshotRefUpdate,
)
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField

ROWS = 400_000
SPAN = 1_000
"""Values of the first column in a file; file n has those from n · SPAN on."""
FILES_IN_MANIFEST = 2_500
_FILES_IN_BLOCK = 20
_DIGITS = 9
_SENTINEL = 0x7D00000000000000


class BigTable:
    """The table `b.t` of a warehouse, with columns `c0`, `c1`, … of bigint."""

    def __init__(self, warehouse: Path, columns: int) -> None:
        self.columns, self.files = columns, 0
        properties = {
            "uri": f"sqlite:///{warehouse / 'catalog.db'}",
            "warehouse": f"file://{warehouse}",
        }
        self._catalog = SqlCatalog("lake", **properties)
        self._io = load_file_io(properties)
        self._catalog.create_namespace_if_not_exists("b")
        fields = (NestedField(i + 1, f"c{i}", LongType()) for i in range(columns))
        self._catalog.create_table("b.t", Schema(*fields), properties={"format-version": "2"})
        self._manifests: list[ManifestFile] = []

    def append(self, files: int, tell: Callable[[str], None] = lambda _: None) -> None:
        """One commit of so many data files."""
        table = self._catalog.load_table("b.t")
        snapshot_id = table.metadata.new_snapshot_id()
        metadata: Any = table.metadata  # of format version 2, which has numbers
        number = (metadata.last_sequence_number or 0) + 1
        template = _Template(table, self._io, snapshot_id, self.columns)
        for first in range(self.files, self.files + files, FILES_IN_MANIFEST):
            last = min(first + FILES_IN_MANIFEST, self.files + files)
            path = f"{table.location()}/metadata/{uuid.uuid4()}-m0.avro"
            data = template.manifest(first, last)
            with self._io.new_output(path).create() as stream:
                stream.write(data)
            self._manifests.append(_listed(path, len(data), number, snapshot_id, last - first))
            tell(f"{last:,} of {self.files + files:,} files")
        self.files += files
        self._commit(table, snapshot_id, number)

    def _commit(self, table: Table, snapshot_id: int, number: int) -> None:
        current = table.current_snapshot()
        parent = None if current is None else current.snapshot_id
        listed = f"{table.location()}/metadata/snap-{snapshot_id}.avro"
        output = self._io.new_output(listed)
        with write_manifest_list(2, output, snapshot_id, parent, number, "deflate") as writer:
            writer.add_manifests(self._manifests)
        # By the names that the models have in Python; a type checker knows those of JSON.
        told: Any = {
            "snapshot_id": snapshot_id,
            "parent_snapshot_id": parent,
            "sequence_number": number,
            "timestamp_ms": int(time.time() * 1000),
            "manifest_list": listed,
            "summary": Summary(Operation.APPEND),
            "schema_id": 0,
        }
        reference: Any = {"ref_name": "main", "type": "branch", "snapshot_id": snapshot_id}
        before: Any = {"ref": "main", "snapshot_id": parent}
        self._catalog.commit_table(
            table,
            (AssertRefSnapshotId(**before),),
            (AddSnapshotUpdate(snapshot=Snapshot(**told)), SetSnapshotRefUpdate(**reference)),
        )


class _Template:
    """An entry's bytes, and where in them path and bounds stand."""

    def __init__(self, table: Table, io: Any, snapshot_id: int, columns: int) -> None:
        self._columns = columns
        path = f"{table.location()}/data/part-{'0' * _DIGITS}.parquet"
        ids = range(1, columns + 1)
        lower = {i: struct.pack("<q", _SENTINEL + 2 * i) for i in ids}
        upper = {i: struct.pack("<q", _SENTINEL + 2 * i + 1) for i in ids}
        file = DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=path,
            file_format=FileFormat.PARQUET,
            partition=Record(),
            record_count=ROWS,
            file_size_in_bytes=256 * 1024 * 1024,
            column_sizes=dict.fromkeys(ids, 2_000_000),
            value_counts=dict.fromkeys(ids, ROWS),
            null_value_counts=dict.fromkeys(ids, 0),
            nan_value_counts={},
            lower_bounds=lower,
            upper_bounds=upper,
        )
        entry = ManifestEntry.from_args(
            status=ManifestEntryStatus.ADDED, snapshot_id=snapshot_id, data_file=file
        )
        output = io.new_output(f"{table.location()}/metadata/template-{uuid.uuid4()}.avro")
        with write_manifest(2, table.spec(), table.schema(), output, snapshot_id, "null") as writer:
            writer.add_entry(entry)
        with output.to_input_file().open() as stream:
            data = stream.read()
        io.delete(output.location)
        self._sync = data[-16:]
        end = data.index(self._sync) + 16
        self._header = data[:end].replace(b"\x14avro.codec\x08null", b"\x14avro.codec\x0edeflate")
        block = data[end:-16]
        self._entry = np.frombuffer(block[_varints(block, 2) :], dtype=np.uint8)
        whole = self._entry.tobytes()
        self._path = whole.index(b"part-") + len(b"part-")
        self._lower = [whole.index(lower[i]) for i in ids]
        self._upper = [whole.index(upper[i]) for i in ids]

    def manifest(self, first: int, last: int) -> bytes:
        """The manifest of the files with these numbers."""
        numbers = np.arange(first, last, dtype=np.int64)
        entries = np.tile(self._entry, (len(numbers), 1))
        for digit in range(_DIGITS):
            place = 10 ** (_DIGITS - 1 - digit)
            entries[:, self._path + digit] = numbers // place % 10 + ord("0")
        for column in range(self._columns):
            low = numbers * SPAN if column == 0 else numbers * 7919 * column % 1_000_003
            high = low + (SPAN - 1 if column == 0 else ROWS)
            for at, values in ((self._lower[column], low), (self._upper[column], high)):
                entries[:, at : at + 8] = values.astype("<i8").view(np.uint8).reshape(-1, 8)
        return self._header + b"".join(self._blocks(entries))

    def _blocks(self, entries: Any) -> Iterator[bytes]:
        for first in range(0, len(entries), _FILES_IN_BLOCK):
            block = entries[first : first + _FILES_IN_BLOCK]
            packer = zlib.compressobj(6, zlib.DEFLATED, -15)
            data = packer.compress(block.tobytes()) + packer.flush()
            yield _varint(len(block)) + _varint(len(data)) + data + self._sync


def _listed(path: str, length: int, number: int, snapshot_id: int, files: int) -> ManifestFile:
    return ManifestFile.from_args(
        manifest_path=path,
        manifest_length=length,
        partition_spec_id=0,
        content=ManifestContent.DATA,
        sequence_number=number,
        min_sequence_number=number,
        added_snapshot_id=snapshot_id,
        added_files_count=files,
        existing_files_count=0,
        deleted_files_count=0,
        added_rows_count=files * ROWS,
        existing_rows_count=0,
        deleted_rows_count=0,
        partitions=[],
    )


def _varint(value: int) -> bytes:
    """Avro's long, of a number that isn't negative."""
    value, out = value << 1, bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _varints(data: bytes, count: int) -> int:
    """How many bytes so many longs at the start take."""
    place = 0
    for _ in range(count):
        while data[place] > 127:
            place += 1
        place += 1
    return place
