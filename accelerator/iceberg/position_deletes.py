"""Which rows of data files position deletes and deletion vectors have deleted."""

from __future__ import annotations

import threading
import zlib

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from accelerator.iceberg.files import DeleteRef, LiveFile
from accelerator.iceberg.io import Inputs

Positions = npt.NDArray[np.int64]
_DV_MAGIC = b"\xd1\xd3\x39\x64"


class PositionDeletes:
    """Deleted positions of data files; keeps position delete files while it lives."""

    def __init__(self, io: Inputs) -> None:
        self._io = io
        self._files: dict[str, dict[str, Positions]] = {}
        self._lock = threading.Lock()

    def of(self, file: LiveFile) -> Positions:
        """Positions of the file's deleted rows, in no order, some maybe twice."""
        found = [self._positions(ref, file.path) for ref in file.deletes]
        return np.concatenate([np.empty(0, dtype=np.int64), *found])

    def _positions(self, ref: DeleteRef, path: str) -> Positions:
        if ref.content == "dv":
            return self._vector(ref)
        with self._lock:
            if ref.path not in self._files:
                self._files[ref.path] = self._position_file(ref.path)
            by_path = self._files[ref.path]
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
