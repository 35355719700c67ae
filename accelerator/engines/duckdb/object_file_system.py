"""The file system through which DuckDB reads objects: streams of obstore's ranges."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from fsspec import AbstractFileSystem

from accelerator.common.interrupts import looking
from accelerator.engines.duckdb.object_scans import OBJECTS_FOLDER, PROTOCOL, Lane, ObjectScans
from accelerator.errors import AcceleratorError
from accelerator.iceberg.objects.inputs import ObjectStream
from accelerator.iceberg.objects.object_file import ObjectFile, not_counted

_CHANGED = datetime(2000, 1, 1)
"""Of every object: a name never gets other content."""


class ObjectFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """A file system for DuckDB, over the objects that scans have named."""

    protocol = PROTOCOL
    cachable = False

    def __init__(self, scans: ObjectScans) -> None:
        super().__init__()
        self._scans = scans

    def open(self, path: str, *_modes: Any, **_options: Any) -> _LaneStream:
        """The object's stream, of one that the statement's credentials may read.

        DuckDB may take the footer, and with it counts, from its own cache.
        """
        stream = _LaneStream(*self._scans.opened(_whole(path)))
        stream.check_right()
        return stream

    def glob(self, path: str, **_options: Any) -> list[str]:
        """The path alone if a scan has named it: such names have no wildcards."""
        return [_whole(path)] if self.exists(path) else []

    def info(self, path: str, **_options: Any) -> dict[str, Any]:
        """The object's size, as its manifest states it."""
        file, _ = self._scans.opened(_whole(path))
        return {"name": path, "size": file.size, "type": "file"}

    def exists(self, path: str, **_options: Any) -> bool:
        """Returns whether a scan has named the path."""
        try:
            self._scans.opened(_whole(path))
        except FileNotFoundError:
            return False
        return True

    isfile = exists

    def isdir(self, _path: str) -> bool:
        """Never."""
        return False

    def modified(self, _path: str) -> datetime:
        """The same for each, so that DuckDB's cached footers stay good."""
        return _CHANGED


class _LaneStream(ObjectStream):
    """An object that DuckDB reads; the statement's lane gets its errors."""

    def __init__(self, file: ObjectFile, lane: Lane | None) -> None:
        super().__init__(file, not_counted if lane is None else lane.count)
        self._lane = lane

    def read(self, size: int | None = -1) -> bytes:
        """Reads as `ObjectStream.read` does, into bytes that DuckDB copies."""
        with self._failing():
            return bytes(self._read(size))

    def check_right(self) -> None:
        """Fails if the store doesn't let the statement's credentials read the object."""
        with self._failing():
            self._file.check_right(self._count)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        if self._lane is None:
            yield
            return
        try:
            with looking(self._lane.check):
                yield
        except (AcceleratorError, OSError) as error:
            self._lane.error = self._lane.error or error
            raise


def _whole(path: str) -> str:
    return path if path.startswith(OBJECTS_FOLDER) else f"{PROTOCOL}://{path}"
