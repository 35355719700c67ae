"""Rows of chosen data files as Arrow, position deletes and deletion vectors applied.

PyIceberg's ArrowScan reads the files (by field id, so that schema evolution holds); the deletes are
applied here, because ArrowScan applies every delete it has read to every file of that path, and
reads a whole Puffin file for one vector in it. Equality deletes are left to Spark, by a typed
error.
"""

from __future__ import annotations

import re
import threading
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.exceptions import ResolveError
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan, schema_to_pyarrow
from pyiceberg.manifest import DataFile, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask
from pyiceberg.typedef import Record
from pyroaring import BitMap64

from accelerator.errors import UnknownColumnError
from accelerator.iceberg.errors import EqualityDeletesError, NeedsSparkError
from accelerator.iceberg.files import DeleteRef, LiveFile
from accelerator.iceberg.io import file_io

if TYPE_CHECKING:
    from accelerator.iceberg import PinnedTable

Positions = npt.NDArray[np.int64]

_READABLE_FORMATS = ("parquet", "orc")
# Spark shows these otherwise than Arrow holds them, or PyIceberg can't read them.
_SPARK_ONLY_TYPES = ("uuid", "variant", "unknown", "time", "geometry", "geography")
_DV_MAGIC = b"\xd1\xd3\x39\x64"
_THREADS_MAX = 8


def read_rows(pinned: PinnedTable, columns: Sequence[str], files: Sequence[LiveFile]) -> pa.Table:
    """The rows of those files with those columns, in no promised order."""
    _check_readable(files)
    schema = _projection(pinned, columns or [field.name for field in pinned.schema.fields[:1]])
    # Batches may differ in string width from file to file; the answer's schema may not.
    target = schema_to_pyarrow(schema, include_field_ids=False)
    try:
        pieces = _Reader(pinned, schema).read(files)
        table = pa.concat_tables([target.empty_table(), *(piece.cast(target) for piece in pieces)])
    except (ValueError, ResolveError, NotImplementedError) as error:
        raise NeedsSparkError(
            f"files of {pinned.facts.name} can't be read in process: {error}",
            hint="Spark reads them; the statement takes that way by itself",
        ) from error
    return table if columns else table.select([])


def _check_readable(files: Sequence[LiveFile]) -> None:
    for file in files:
        if any(ref.content == "equality" for ref in file.deletes):
            raise EqualityDeletesError(
                f"equality deletes apply to {file.path}",
                hint="Spark applies them; compacting the table removes them",
            )
        if file.file_format not in _READABLE_FORMATS:
            raise NeedsSparkError(
                f"{file.path} is an {file.file_format} file",
                hint="Spark reads it; the statement takes that way by itself",
            )


def _projection(pinned: PinnedTable, columns: Sequence[str]) -> Schema:
    """The pinned schema's fields of those names, in the order that was asked for."""
    fields = []
    for name in columns:
        known = pinned.facts.column(name)
        if known is None:
            raise UnknownColumnError(
                f"{pinned.facts.name} has no column {name}",
                hint=f"its columns are {', '.join(each.name for each in pinned.facts.columns)}",
            )
        field = pinned.schema.find_field(known.field_id)
        if re.split(r"\W", str(field.field_type))[0] in _SPARK_ONLY_TYPES:
            raise NeedsSparkError(
                f"{pinned.facts.name}.{name} is of Iceberg's type {field.field_type}",
                hint="Spark reads it; the statement takes that way by itself",
            )
        fields.append(field)
    return Schema(*fields, schema_id=pinned.schema.schema_id)


class _Reader:
    """Reads files of one pinned table; keeps position delete files while it lives."""

    def __init__(self, pinned: PinnedTable, schema: Schema) -> None:
        self._io = file_io(pinned.metadata_location, pinned.io_properties)
        # ArrowScan asks the current schema about the table: make it the pinned one.
        update = {"current_schema_id": pinned.schema.schema_id}
        metadata = pinned.metadata.model_copy(update=update)
        self._scan = ArrowScan(metadata, self._io, schema, AlwaysTrue())
        self._positions: dict[str, dict[str, Positions]] = {}
        self._lock = threading.Lock()

    def read(self, files: Sequence[LiveFile]) -> list[pa.Table]:
        """One table of the files without deletes, and one for each file with some."""
        plain = [_task(file) for file in files if not file.deletes]
        pieces = [self._scan.to_table(plain)] if plain else []
        deleted = [file for file in files if file.deletes]
        if deleted:
            with ThreadPoolExecutor(_THREADS_MAX) as pool:
                pieces.extend(pool.map(self._read_deleted, deleted))
        return pieces

    def _read_deleted(self, file: LiveFile) -> pa.Table:
        table = self._scan.to_table([_task(file)])  # one file's rows come in the file's order
        if table.num_rows != file.record_count:
            raise ValueError(
                f"{file.path} has {table.num_rows} rows, its manifest says {file.record_count}"
            )
        kept = np.ones(table.num_rows, dtype=bool)
        for ref in file.deletes:
            positions = self._deleted_positions(ref, file.path)
            kept[positions[positions < table.num_rows]] = False
        return table.filter(pa.array(kept))

    def _deleted_positions(self, ref: DeleteRef, path: str) -> Positions:
        if ref.content == "dv":
            return self._vector(ref)
        with self._lock:
            if ref.path not in self._positions:
                self._positions[ref.path] = self._position_file(ref.path)
            by_path = self._positions[ref.path]
        return by_path.get(path, np.empty(0, dtype=np.int64))

    def _position_file(self, path: str) -> dict[str, Positions]:
        """Deleted positions by data file path."""
        if not path.endswith(".parquet"):
            raise ValueError(f"position deletes in {path} aren't Parquet")
        with self._io.new_input(path).open() as stream:
            table = pq.read_table(stream, columns=["file_path", "pos"])
        paths = table.column("file_path").combine_chunks().dictionary_encode()
        if isinstance(paths, pa.ChunkedArray):
            paths = paths.combine_chunks()
        codes = paths.indices.to_numpy()
        order = np.argsort(codes, kind="stable")
        positions = table.column("pos").to_numpy().astype(np.int64)[order]
        names = paths.dictionary.to_pylist()
        ends = np.cumsum(np.bincount(codes, minlength=len(names)))
        return dict(zip(names, np.split(positions, ends[:-1]), strict=True)) if names else {}

    def _vector(self, ref: DeleteRef) -> Positions:
        """A deletion vector: length, magic, 64-bit roaring bitmap, checksum (Puffin's framing)."""
        if ref.content_offset is None or ref.content_size is None:
            raise ValueError(f"the deletion vector in {ref.path} has no offset or no size")
        with self._io.new_input(ref.path).open() as stream:
            stream.seek(ref.content_offset)
            blob = bytes(stream.read(ref.content_size))
        length = int.from_bytes(blob[:4], "big")
        payload = blob[4 : 4 + length]
        checksum = int.from_bytes(blob[4 + length : 8 + length], "big")
        if payload[:4] != _DV_MAGIC or zlib.crc32(payload) != checksum:
            raise ValueError(f"the deletion vector in {ref.path} is damaged")
        return np.array(BitMap64.deserialize(payload[4:]).to_array(), dtype=np.int64)


def _task(file: LiveFile) -> FileScanTask:
    data = DataFile.from_args(
        file_path=file.path,
        file_format=FileFormat(file.file_format.upper()),
        partition=Record(*file.partition),
        record_count=file.record_count,
        file_size_in_bytes=file.size_bytes,
    )
    data.spec_id = file.spec_id
    return FileScanTask(data)
