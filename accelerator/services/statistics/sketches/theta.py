"""Theta sketches: how many distinct values, as the smallest hashes of all and where they end.

The bytes are those of Apache DataSketches' compact sketch, ordered, which Iceberg keeps as
`apache-datasketches-theta-v1`. Promises: a sketch holds every hash below its `theta` that it was
given, each once, and at most 4,096 hashes after an update; up to that many distinct values are
counted exactly. What is read is checked: ValueError for all but what a sketch can be.
"""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from accelerator.services.statistics.sketches.hashing import Hashes

THETA = "apache-datasketches-theta-v1"
NOMINAL = 4096
_WHOLE = 1 << 63
"""`theta` of a sketch that has every hash."""
_HEAD = struct.Struct("<BBBBBBH")
_COUNT = struct.Struct("<If")
_END = struct.Struct("<Q")
_VERSION, _FAMILY, _SEED_HASH = 3, 3, 37836
_READ_ONLY, _EMPTY, _COMPACT, _ORDERED = 2, 4, 8, 16
_AT_ONCE = 1 << 15
"""Hashes of one step: the first ones bring `theta` down, so that few of the others are sorted."""
_RETAINED_MAX = 1 << 17
"""Hashes of a sketch that is read: other writers' tables hold up to twice their nominal entries."""


class Theta(Struct, frozen=True):
    """A sketch: `hashes` ascend, all are below `theta`."""

    hashes: Hashes
    theta: int = _WHOLE

    @property
    def is_exact(self) -> bool:
        """Whether it holds the hash of every value."""
        return self.theta == _WHOLE

    @property
    def estimate(self) -> float:
        """About how many distinct values there were."""
        return len(self.hashes) / (self.theta / _WHOLE)

    def updated(self, hashes: Hashes) -> Theta:
        """With these hashes too, of which some may come again."""
        found = self
        for start in range(0, len(hashes), _AT_ONCE):
            part = hashes[start : start + _AT_ONCE]
            below = part[part < np.uint64(found.theta)]
            if len(below):
                fresh: Hashes = pc.unique(pa.array(below)).to_numpy()
                found = _smallest(np.concatenate([found.hashes, fresh]), found.theta)
        return found

    def merged(self, other: Theta) -> Theta:
        """Of the values of both."""
        theta = min(self.theta, other.theta)
        both = np.concatenate([self.hashes, other.hashes])
        return _smallest(both[both < np.uint64(theta)], theta)

    def to_bytes(self) -> bytes:
        """As DataSketches' compact sketch, ordered."""
        flags = _READ_ONLY | _COMPACT | _ORDERED
        count = len(self.hashes)
        if not count and self.is_exact:
            return _HEAD.pack(1, _VERSION, _FAMILY, 0, 0, flags | _EMPTY, _SEED_HASH)
        hashes = self.hashes.astype("<u8").tobytes()
        if count == 1 and self.is_exact:
            return _HEAD.pack(1, _VERSION, _FAMILY, 0, 0, flags, _SEED_HASH) + hashes
        words = 2 if self.is_exact else 3
        head = _HEAD.pack(words, _VERSION, _FAMILY, 0, 0, flags, _SEED_HASH)
        end = b"" if self.is_exact else _END.pack(self.theta)
        return head + _COUNT.pack(count, 0.0) + end + hashes


EMPTY = Theta(np.empty(0, np.uint64))


def _smallest(hashes: Hashes, theta: int) -> Theta:
    found = np.unique(hashes)
    if len(found) > NOMINAL:
        theta = int(found[NOMINAL])
        found = found[:NOMINAL]
    return Theta(found, theta)


def parsed(data: bytes) -> Theta:
    """The sketch of an ordered compact one's bytes; ValueError where they aren't those of one."""
    if len(data) < _HEAD.size:
        raise ValueError("a theta sketch is cut off")
    words, version, family, _, _, flags, seed = _HEAD.unpack_from(data)
    if (version, family) != (_VERSION, _FAMILY) or words not in (1, 2, 3):
        raise ValueError("a theta sketch of another form or version")
    if not flags & _COMPACT or not flags & _ORDERED or flags & 1:
        raise ValueError("a theta sketch isn't compact and ordered")
    if flags & _EMPTY:
        if len(data) != 8 * words:
            raise ValueError("an empty theta sketch holds something")
        return EMPTY
    if seed != _SEED_HASH:
        raise ValueError("a theta sketch of another seed")
    count, theta = (1, _WHOLE) if words == 1 else (_count(data, words), _theta(data, words))
    if count > _RETAINED_MAX or len(data) != 8 * (words + count):
        raise ValueError(f"a theta sketch of {len(data)} bytes says that it has {count} hashes")
    hashes = np.frombuffer(data, "<u8", count, 8 * words).astype(np.uint64)
    if len(hashes) and (
        hashes[0] == 0 or hashes[-1] >= np.uint64(theta) or (hashes[1:] <= hashes[:-1]).any()
    ):
        raise ValueError("a theta sketch whose hashes don't ascend, or go beyond its end")
    return Theta(hashes, theta)


def _count(data: bytes, words: int) -> int:
    if len(data) < 8 * words:
        raise ValueError("a theta sketch is cut off")
    return int(_COUNT.unpack_from(data, 8)[0])


def _theta(data: bytes, words: int) -> int:
    theta = _WHOLE if words == 2 else int(_END.unpack_from(data, 16)[0])
    if not 0 < theta <= _WHOLE:
        raise ValueError("a theta sketch that ends nowhere")
    return theta
