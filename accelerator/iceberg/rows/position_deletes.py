"""Which rows of data files position deletes and deletion vectors have deleted.

Nothing in their files is trusted: before anything is expanded, its size is compared with what the
manifests say. What doesn't fit is a ValueError.
"""

from __future__ import annotations

import threading
import zlib

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import InputStream
from pyroaring import BitMap64

from accelerator.iceberg.errors import NeedsSparkError
from accelerator.iceberg.io import Inputs
from accelerator.iceberg.rows.orc.orc_file import OrcFile, opener
from accelerator.iceberg.tables.data_file import DeleteRef, LiveFile

Positions = npt.NDArray[np.int64]
_DV_BYTES = 1 << 16
"""A bitmap of n rows has n / 8 bytes at most, and some around them."""
_COLUMNS = ["file_path", "pos"]
_DV_MAGIC = b"\xd1\xd3\x39\x64"


class PositionDeletes:
    """Deleted positions of data files; keeps position delete files while it lives."""

    def __init__(self, io: Inputs) -> None:
        self._io = io
        self._files: dict[str, dict[str, Positions]] = {}
        self._lock = threading.Lock()

    def of(self, file: LiveFile) -> Positions:
        """Positions that these deletes name in the file, in no order, some maybe twice."""
        found = [self._positions(ref, file) for ref in file.deletes if ref.content != "equality"]
        positions = np.concatenate([np.empty(0, dtype=np.int64), *found])
        if len(positions) and not 0 <= positions.min() <= positions.max() < file.record_count:
            raise ValueError(f"deletes of {file.path} name rows that it hasn't")
        return positions

    def _positions(self, ref: DeleteRef, file: LiveFile) -> Positions:
        if ref.content == "dv":
            return self._vector(ref, file.record_count)
        with self._lock:
            if ref.path not in self._files:
                self._files[ref.path] = self._position_file(ref)
            by_path = self._files[ref.path]
        return by_path.get(file.path, np.empty(0, dtype=np.int64))

    def _position_file(self, ref: DeleteRef) -> dict[str, Positions]:
        """Deleted positions by data file path."""
        path = ref.path
        if path.endswith(".orc"):
            with OrcFile(opener(self._io, path)) as stripes:
                ref.check_rows(stripes.metadata.num_rows)
                table = _orc_columns(stripes, path)
        elif path.endswith(".parquet"):
            with self._io.new_input(path).open() as stream, _opened(stream, path) as opened:
                ref.check_rows(opened.metadata.num_rows)
                table = _read_columns(opened, path)
        else:
            raise NeedsSparkError(
                f"position deletes in {path} are neither Parquet nor ORC",
                hint="Spark reads them; the statement takes that way by itself",
            )
        ref.check_rows(table.num_rows)
        if table.schema.field("pos").type != pa.int64() or table.column("pos").null_count:
            raise ValueError(f"{path} has positions that aren't whole numbers")
        paths = table.column("file_path").combine_chunks().dictionary_encode()
        if isinstance(paths, pa.ChunkedArray):
            paths = paths.combine_chunks()
        codes = paths.indices.to_numpy()
        order = np.argsort(codes, kind="stable")
        positions = table.column("pos").to_numpy().astype(np.int64)[order]
        names = paths.dictionary.to_pylist()
        ends = np.cumsum(np.bincount(codes, minlength=len(names)))
        return dict(zip(names, np.split(positions, ends[:-1]), strict=True)) if names else {}

    def _vector(self, ref: DeleteRef, rows: int) -> Positions:
        """A deletion vector: length, magic, 64-bit roaring bitmap, checksum (Puffin's framing)."""
        if ref.content_offset is None or ref.content_size is None:
            raise ValueError(f"the deletion vector in {ref.path} has no offset or no size")
        if ref.content_offset < 0 or not 0 <= ref.content_size <= rows // 4 + _DV_BYTES:
            raise ValueError(f"the deletion vector in {ref.path} is larger than its file's rows")
        with self._io.new_input(ref.path).open() as stream:
            stream.seek(ref.content_offset)
            blob = bytes(stream.read(ref.content_size))
        payload, checksum = blob[4:-4], int.from_bytes(blob[-4:], "big")
        told = int.from_bytes(blob[:4], "big") == len(payload) == ref.content_size - 8
        if not told or payload[:4] != _DV_MAGIC or zlib.crc32(payload) != checksum:
            raise ValueError(f"the deletion vector in {ref.path} is damaged")
        try:
            bitmap = BitMap64.deserialize(payload[4:])
        except (ValueError, IndexError) as error:
            raise ValueError(f"the deletion vector in {ref.path} is damaged") from error
        if not len(bitmap) == ref.record_count <= rows:
            raise ValueError(f"the deletion vector in {ref.path} has another count than is told")
        return np.array(bitmap.to_array(), dtype=np.int64)


def _opened(stream: InputStream, path: str) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(stream)
    except pa.ArrowException as error:
        raise ValueError(f"{path} isn't Parquet: {error}") from error


def _read_columns(opened: pq.ParquetFile, path: str) -> pa.Table:
    """The deletes' two columns; ValueError where they aren't there, or can't be read."""
    try:
        table = opened.read(columns=_COLUMNS)
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} can't be read: {error}") from error
    if table.column_names != _COLUMNS:
        raise ValueError(f"{path} isn't of position deletes")
    return table


def _orc_columns(stripes: OrcFile, path: str) -> pa.Table:
    """The same of an ORC file."""
    schema = stripes.schema_arrow
    if not set(_COLUMNS) <= set(schema.names) or schema.field("file_path").type != pa.string():
        raise ValueError(f"{path} isn't of position deletes")
    table = stripes.read_row_groups(range(stripes.metadata.num_row_groups), _COLUMNS)
    table.validate(full=True)
    return table.select(_COLUMNS)
