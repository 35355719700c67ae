"""Names objects for DuckDB's own readers: `acc://lane/<lane>/<name>.parquet`.

DuckDB opens nothing in object stores but what a scan has named here. A lane belongs to one
statement at a time, so that its bytes are counted and its waits end with it. Lanes are used again,
since DuckDB caches footers by path.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from accelerator.common.lru_cache import Recent

if TYPE_CHECKING:
    from accelerator.iceberg.objects.object_file import ObjectFile

PROTOCOL = "acc"
OBJECTS_FOLDER = f"{PROTOCOL}://lane/"


class ByteCounter:
    """The sum of the sizes that it's called with; threads share it."""

    def __init__(self) -> None:
        self.bytes = 0
        self._lock = threading.Lock()

    def __call__(self, size: int) -> None:
        """Adds a size."""
        with self._lock:
            self.bytes += size


class Lane:
    """One statement's reading of objects; `check` raises once it was interrupted."""

    def __init__(self, number: int, check: Callable[[], None]) -> None:
        self.number, self.check = number, check
        self.count = ByteCounter()
        self.error: Exception | None = None
        """The first error of reading, which DuckDB shows as a Python traceback."""


class ObjectScans:
    """The lanes and objects of one engine; threads share it.

    Args:
        check: raises once work under a tag was interrupted.
        serve: lets DuckDB open what is named here; called before the first name is given.
    """

    def __init__(self, check: Callable[[str], None], serve: Callable[[ObjectScans], None]) -> None:
        self._check, self._serve = check, serve
        self._lanes: dict[str, Lane] = {}
        self._files: Recent[ObjectFile] = Recent(1 << 18)
        self._served = False
        self._lock = threading.Lock()

    def path(self, tag: str, file: ObjectFile) -> str:
        """The path by which DuckDB reads the object for the work of that tag."""
        if not self._served:
            self._serve(self)
            self._served = True
        name = hashlib.sha256(repr(file.identity).encode()).hexdigest()[:32]
        path = f"{OBJECTS_FOLDER}{self.lane(tag).number}/{name}.parquet"
        self._files.put(path, file)  # with this statement's credentials
        return path

    def lane(self, tag: str) -> Lane:
        """The lane of the work of that tag, the first free one if it has none yet."""
        with self._lock:
            if tag not in self._lanes:
                used = {lane.number for lane in self._lanes.values()}
                free = next(number for number in range(len(used) + 1) if number not in used)
                self._lanes[tag] = Lane(free, partial(self._check, tag))
            return self._lanes[tag]

    def bytes_read(self, tag: str) -> int | None:
        """Returns the bytes that came for the work of that tag; None if it has no lane."""
        lane = self._lanes.get(tag)
        return None if lane is None else lane.count.bytes

    def error(self, tag: str) -> Exception | None:
        """Why an object can't be read for the work of that tag; the error is forgotten then."""
        lane = self._lanes.get(tag)
        if lane is None:
            return None
        error, lane.error = lane.error, None
        return error

    def release(self, tag: str) -> None:
        """Frees the lane of work that has ended."""
        with self._lock:
            self._lanes.pop(tag, None)

    def opened(self, path: str) -> tuple[ObjectFile, Lane | None]:
        """The object of a path, and the lane of the statement that reads it. FileNotFoundError."""
        number = path.removeprefix(OBJECTS_FOLDER).partition("/")[0]
        file = self._files.get(path)
        if file is None:
            raise FileNotFoundError(path)
        with self._lock:
            lanes = (lane for lane in self._lanes.values() if str(lane.number) == number)
            return file, next(lanes, None)


class TagObjects:
    """Gives the work of one tag paths of objects, and counts their bytes."""

    def __init__(self, scans: ObjectScans, tag: str) -> None:
        self._scans, self._tag = scans, tag

    def path(self, file: ObjectFile) -> str:
        """The path by which DuckDB opens the object."""
        return self._scans.path(self._tag, file)

    def count(self, size: int) -> None:
        """Counts bytes that came from a store."""
        self._scans.lane(self._tag).count(size)
