"""Ranges of one object, whose content never changes.

The end of an object, in which its footer is, and small ranges are cached under its name and size.
Every answer of the store is checked: an object whose size isn't the expected one, or that was
replaced since the first look at it, is never read on. Cached bytes are given to those credentials
alone by which the store has sent something of the object's folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

from accelerator.common.interrupts import look_up
from accelerator.common.lru_cache import Recent
from accelerator.common.redaction import redacted
from accelerator.iceberg.errors import NeedsSparkError, ObjectStoreError
from accelerator.iceberg.objects.stores import Bucket

_TAIL = 64 * 1024
"""Bytes of an object's end that are read at once; Arrow reads as many."""
_TAIL_CACHED = 16 * 1024
"""Of them so many are cached unless the footer is longer. DuckDB asks for as many first."""
RANGE_CACHED = 1 << 20
"""Bytes of the longest range that is cached."""
_CACHED_BYTES = 64 * 1024**2
_HOLE = 8 * 1024
"""Two ranges with fewer bytes between them are read as one, as Arrow does."""
_LOOK_S = 0.05
_MAGIC = (b"PAR1", b"PARE")
_THREADS = ThreadPoolExecutor(32, "objects")
"""Each waits for one answer of a store."""
_RANGES: Recent[memoryview] = Recent(1 << 16, lambda _, data: len(data), _CACHED_BYTES)
"""By the object's identity and the range's start, or `None` for the object's end."""
_VERSIONS: Recent[str] = Recent(1 << 18)
"""What the store called an object's version when it was first read, by the object's identity."""
_REFUSED = ("ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "TokenRefreshRequired")
"""S3's codes for credentials that are no longer good, which come as a bad request."""

Count = Callable[[int], None]
Range = tuple[int, int]
"""The first byte, and the one behind the last."""


def not_counted(_size: int) -> None:
    """Counts nothing."""


class ObjectFile:
    """An object in a bucket; `size` is what its manifest states, None if nothing does."""

    def __init__(self, bucket: Bucket, key: str, location: str, size: int | None = None) -> None:
        self.location, self.size = location, size
        self._bucket, self._key, self._folder = bucket, key, key.rpartition("/")[0]

    @property
    def identity(self) -> tuple[str, str, int | None]:
        """Differs from that of any other content."""
        return self._bucket.place, self._key, self.size

    def read(self, start: int, end: int, count: Count = not_counted) -> memoryview:
        """The bytes of the range; `count` is given how many bytes the store sent.

        Raises:
            NeedsSparkError: the object isn't what it was.
            ObjectStoreError: the store fails, refuses, or sends too little.
            FileNotFoundError: the object is gone.
        """
        if self.size is not None and end == self.size and end - start <= _TAIL:  # for its footer
            data = self.tail(count)
            first = self.size - len(data)
            if start >= first:
                return data[start - first :]
        return self.read_all([(start, end)], count)[0]

    def read_all(self, ranges: Sequence[Range], count: Count = not_counted) -> list[memoryview]:
        """The bytes of each range, read side by side; neighbours are read at once."""
        found: dict[Range, memoryview] = {}
        for one in ranges:
            cached = self._cached(*one)
            if cached is not None:
                found[one] = cached
        lacking = sorted(set(ranges) - found.keys())
        asked = {one: _THREADS.submit(self._fetch, one, count) for one in merged(lacking)}
        _wait_for(asked.values())
        for (first, last), future in asked.items():
            data = future.result()
            for start, end in lacking:
                if first <= start and end <= last:
                    found[start, end] = part = data[start - first : end - first]
                    if len(part) <= RANGE_CACHED:
                        _RANGES.put((self.identity, start), memoryview(bytes(part)))
        return [found[one] for one in ranges]

    def tail(self, count: Count = not_counted) -> memoryview:
        """The object's last bytes, with the whole footer if it's a Parquet file.

        It sets `size`.
        """
        known = self._end()
        if known is not None:
            return known
        future = _THREADS.submit(self._fetch, None, count)
        _wait_for([future])
        data, size = future.result(), self.size or 0
        needed = _TAIL_CACHED
        if data[-4:] in _MAGIC:
            needed = max(needed, min(int.from_bytes(data[-8:-4], "little") + 8, size))
        if len(data) < min(needed, size):
            rest = self.read_all([(size - needed, size - len(data))], count)[0]
            data = memoryview(bytes(rest) + bytes(data))
        is_short = needed <= _TAIL_CACHED < len(data) < size
        cached = data[-_TAIL_CACHED:] if is_short else data
        _RANGES.put((self.identity, None), memoryview(bytes(cached)))
        return data

    def first(self, length: int, count: Count = not_counted) -> memoryview:
        """Reads so many of its first bytes, or all if it has fewer. It sets `size`."""
        future = _THREADS.submit(self._fetch, (0, length), count)
        _wait_for([future])
        return future.result()

    def check_right(self, count: Count = not_counted) -> None:
        """Reads the object's end if the store hasn't let these credentials read in its folder."""
        if not self._is_readable():
            self.tail(count)

    def _is_readable(self) -> bool:
        return self._bucket.read.get(self._folder) is not None

    def _end(self) -> memoryview | None:
        return _RANGES.get((self.identity, None)) if self._is_readable() else None

    def _cached(self, start: int, end: int) -> memoryview | None:
        if self.size is None or not self._is_readable():
            return None
        known = _RANGES.get((self.identity, start))
        if known is not None and len(known) >= end - start:
            return known[: end - start]
        known = self._end()
        first = self.size if known is None else self.size - len(known)
        return None if known is None or start < first else known[start - first : end - first]

    def _fetch(self, wanted: Range | None, count: Count) -> memoryview:
        """The range, or the end of the object, by one request, which is repeated if it fails."""
        try:
            options = {"range": wanted or {"suffix": _TAIL}}
            got = obstore.get(self._bucket.store, self._key, options=options)  # type: ignore[arg-type]
            data = memoryview(got.bytes())
        except (BaseError, OSError, ValueError, OverflowError) as error:
            raise self._error(error) from error
        self._check(got.meta)
        size = int(got.meta["size"])
        start, end = wanted or (max(0, size - _TAIL), size)
        if len(data) != min(end, size) - start:
            raise ObjectStoreError(
                f"{self.location} was cut off: {len(data):,} bytes came of {start:,} to {end:,}",
                hint="the store may fail at the moment; ask again",
            )
        count(len(data))
        self._bucket.read.put(self._folder, True)
        return data

    def _check(self, meta: Any) -> None:
        """NeedsSparkError if the object isn't the one that a manifest, or an earlier look, saw."""
        size, version = int(meta["size"]), str(meta["e_tag"] or meta["last_modified"])
        if self.size is None:
            self.size = size
        if size != self.size:
            raise NeedsSparkError(
                f"{self.location} has {size} bytes, its manifest states {self.size}",
                hint="Spark reads it; the statement takes that way by itself",
            )
        if _VERSIONS.get_or(self.identity, lambda: version) != version:
            raise NeedsSparkError(
                f"{self.location} was replaced since it was first read",
                hint="data files never change; Spark reads what is there now",
            )

    def _error(self, error: Exception) -> Exception:
        if isinstance(error, FileNotFoundError):
            return FileNotFoundError(f"{self.location} is gone")
        text = str(error)
        said = redacted(text.partition("\n")[0], self._bucket.properties)
        refused = isinstance(error, PermissionDeniedError | UnauthenticatedError)
        if refused or any(code in text for code in _REFUSED):
            return ObjectStoreError(
                f"the store refuses {self.location}: {said}",
                hint="the credentials may have expired; ask again, or check the catalog's",
            )
        return ObjectStoreError(
            f"{self.location} can't be read: {said}", hint="check the store and the network"
        )


def merged(ranges: Sequence[Range]) -> list[Range]:
    """Joins ascending ranges that have a small hole between them.

    >>> merged([(0, 10), (20, 30), (20_000, 20_001)])
    [(0, 30), (20000, 20001)]
    """
    found: list[Range] = []
    for start, end in ranges:
        if found and start - found[-1][1] <= _HOLE:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _wait_for(futures: Any) -> None:
    """Until all have ended; raises what the work is to end with, and doesn't wait on."""
    left: set[Future[memoryview]] = set(futures)
    try:
        while left:
            left = wait(left, _LOOK_S).not_done
            if left:
                look_up()
    finally:
        for future in left:  # those that no thread has begun would still be read
            future.cancel()
