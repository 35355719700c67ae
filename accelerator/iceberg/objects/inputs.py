"""A table's files in S3 as streams; locations that obstore doesn't reach go to PyIceberg."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import FileIO, InputFile, InputStream, load_file_io

from accelerator.iceberg.objects.object_file import (
    RANGE_CACHED,
    Count,
    ObjectFile,
    Range,
    not_counted,
)
from accelerator.iceberg.objects.stores import bucket_and_key, open_bucket


class ObjectInputs:
    """Opens the files that a table names; `count` is given the number of bytes that come."""

    def __init__(self, properties: Mapping[str, str], count: Count = not_counted) -> None:
        self._properties, self._count = properties, count

    def object(self, location: str, size: int | None = None) -> ObjectFile | None:
        """The object at that location, of that size; None if PyIceberg has to read it."""
        named = bucket_and_key(location)
        bucket = None if named is None else open_bucket(named[0], self._properties)
        if named is None or bucket is None or isinstance(bucket, str):
            return None
        return ObjectFile(bucket, named[1], location, size)

    def new_input(self, location: str) -> InputFile:
        """The file at that location, not opened yet."""
        found = self.object(location)
        if found is None:
            return _file_io(location, self._properties).new_input(location)
        return _ObjectInput(found, self._count)

    def stream(self, location: str, size: int) -> ObjectStream | None:
        """The stream of an object of that size; None if PyIceberg has to read it."""
        found = self.object(location, size)
        return None if found is None else ObjectStream(found, self._count)


def _file_io(location: str, properties: Mapping[str, str]) -> FileIO:
    return load_file_io(properties=dict(properties), location=location)


class _ObjectInput(InputFile):
    """One object."""

    def __init__(self, file: ObjectFile, count: Count) -> None:
        super().__init__(file.location)
        self._file, self._count = file, count

    def __len__(self) -> int:
        if self._file.size is None:
            self._file.tail(self._count)
        return self._file.size or 0

    def exists(self) -> bool:
        try:
            self._file.tail(self._count)
        except FileNotFoundError:
            return False
        return True

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002 - PyIceberg's signature
        return cast(InputStream, ObjectStream(self._file, self._count))


class ObjectStream(io.RawIOBase):
    """An object that is read from a position; one thread uses it."""

    def __init__(self, file: ObjectFile, count: Count = not_counted) -> None:
        super().__init__()
        self._file, self._count = file, count
        self._position = 0
        self._fetched: list[tuple[int, memoryview]] = []

    def footer(self) -> pq.FileMetaData:
        """The Parquet footer at the object's end. ArrowException, ValueError."""
        return pq.read_metadata(pa.BufferReader(self._file.tail(self._count)))

    def fetch(self, ranges: Sequence[Range]) -> None:
        """Reads those ranges at once; until others are fetched, they're in memory."""
        wanted = sorted(set(ranges))
        starts = (start for start, _ in wanted)
        self._fetched = list(zip(starts, self._file.read_all(wanted, self._count), strict=True))

    def fetch_cached(self, ranges: Sequence[Range]) -> None:
        """Reads those of the ranges that are short enough to be cached."""
        self.fetch([(start, end) for start, end in ranges if end - start <= RANGE_CACHED])

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def size(self) -> int:
        """The object's; its end is read if nothing states it."""
        if self._file.size is None:
            self._file.tail(self._count)
        return self._file.size or 0

    def tell(self) -> int:
        """The position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Moves the position, and returns it."""
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position}.get(whence)
        self._position = offset + (self.size() if origin is None else origin)
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        """Reads so many bytes, or all up to the end."""
        return cast(bytes, self._read(size))

    def readinto(self, buffer: Any) -> int:
        """Reads into those bytes, and returns how many."""
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _read(self, size: int | None) -> memoryview:
        begun = self._position
        if self._file.size is None and begun == 0 and size is not None and size > 0:
            data = self._file.first(size, self._count)
        else:
            whole = self.size()
            end = whole if size is None or size < 0 else min(whole, begun + size)
            data = self._between(begun, end) if begun < end else memoryview(b"")
        self._position += len(data)
        return data

    def _between(self, start: int, end: int) -> memoryview:
        for first, data in self._fetched:
            if first <= start and end <= first + len(data):
                return data[start - first : end - first]
        return self._file.read(start, end, self._count)
