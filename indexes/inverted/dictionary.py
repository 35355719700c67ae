"""Sorted dictionaries in blocks: the distinct values of a column, with what stands beside each.

Keys are what is kept of values: whole numbers as they are, floats as the whole numbers that sort
like them, bytes as bytes (unsigned). A value's *code* is its place among all, from 0. A block has
about 16 KB, so that finding a value costs one read. `docs/formats/bitmap.md` has every byte.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct

from indexes.domains import BYTES, FLOAT64, INT64, Key
from indexes.inverted.postings import BOUND_MAX, Postings
from indexes.question import Value

Array = npt.NDArray[Any]
BLOCK_SIZE = 16 << 10
_BESIDE = 20  # bytes beside a value that a block is planned with
_SET_BYTES_MAX = 1 << 36  # of one value's set: no form takes more
_KEPT_MAX, _KEPT_BYTES = 512, 4096  # blocks, and bytes of each
_SIGN = np.int64(0x7FFF_FFFF_FFFF_FFFF)
_NAN = 0x7FF8_0000_0000_0000
_WIDTHS = (1, 2, 4, 8)


class SetRanges(Struct, frozen=True):
    """Where the sets of a block's values lie: one item a value, offsets one more, and absolute."""

    offsets: Array
    forms: Array
    crcs: Array


class DictionaryBlock(Struct, frozen=True):
    """Values that follow each other. `counts`: rows that have each; `levels`: as they were given"""

    first: int
    keys: Array | list[bytes]
    counts: Array
    levels: tuple[SetRanges, ...]

    def rank(self, key: Key) -> tuple[int, bool]:
        """The code of the first value that isn't below the key, and whether it's the key."""
        at = bisect_left(self.keys, key)
        return self.first + at, at < len(self.keys) and self.keys[at] == key


def to_keys(values: pa.Array, domain: str) -> pa.Array:
    """The keys of values in their domain; NULLs stay."""
    if domain != FLOAT64:
        return values
    numbers = values.fill_null(0.0).to_numpy(zero_copy_only=False)
    bits = np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.int64)
    bits = np.where(np.isnan(numbers), np.int64(_NAN), bits ^ ((bits >> 63) & _SIGN))
    nulls = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    return pa.array(bits, pa.int64(), mask=nulls)


def to_values(keys: Array | Sequence[bytes], domain: str) -> pa.Array:
    """The values of keys."""
    if domain == BYTES:
        return pa.array(keys, pa.large_binary())
    bits = np.asarray(keys, np.int64)
    if domain == INT64:
        return pa.array(bits, pa.int64())
    return pa.array((bits ^ ((bits >> 63) & _SIGN)).view(np.float64), pa.float64())


def key_of(value: Value, domain: str) -> Key | None:
    """The key of one value; None where the domain has no such values."""
    if domain == BYTES:
        return value if isinstance(value, bytes) else None
    if domain == INT64:
        return int(value) if isinstance(value, int) else None
    if not isinstance(value, float):
        return None
    (key,) = to_keys(pa.array([value], pa.float64()), FLOAT64).to_pylist()
    return int(key)


def cut(keys: pa.Array, size: int = BLOCK_SIZE) -> Array:
    """Codes at which blocks of about so many bytes begin, and the number of codes."""
    if not len(keys):
        return np.zeros(1, np.int64)
    if pa.types.is_large_binary(keys.type):
        sizes = np.diff(_offsets(keys)) + _BESIDE
    else:
        sizes = np.full(len(keys), 8 + _BESIDE)
    numbers = (np.cumsum(sizes) - sizes) // size
    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    return np.append(begins, len(keys))


def encode(keys: pa.Array, counts: Array, levels: Sequence[Postings]) -> bytes:
    """A block of these values."""
    parts = [struct.pack("<I", len(keys))]
    if pa.types.is_large_binary(keys.type):
        texts: list[bytes] = keys.to_pylist()
        shared = _shared(texts[0], texts[-1])
        parts += [struct.pack("<I", shared), texts[0][:shared]]
        parts.append(_column(np.array([len(text) - shared for text in texts], np.uint64)))
        parts += [text[shared:] for text in texts]
    else:
        numbers = keys.to_numpy().view(np.uint64)
        parts += [struct.pack("<Q", int(numbers[0])), _column(numbers - numbers[0])]
    parts.append(_column(counts.astype(np.uint64)))
    for level in levels:
        described = level.lengths.astype(np.uint64) << np.uint64(2) | level.forms
        parts += [_column(described), level.crcs.astype("<u4").tobytes()]
    return b"".join(parts)


def decode(data: bytes, first: int, domain: str, bases: Sequence[int]) -> DictionaryBlock:
    """A block as it was encoded; `bases`: where the sets of its first value lie, by level.

    ValueError for what isn't a block. Whether it's what was written, a checksum must have said.
    Small blocks of late are kept, by their bytes.
    """
    try:
        make = _cached if len(data) <= _KEPT_BYTES else _decoded
        return make(data, first, domain, tuple(bases))
    except (struct.error, IndexError, ValueError) as error:
        raise ValueError(f"no block of a dictionary: {error}") from None


def separators(keys: pa.Array, begins: Array) -> list[Any]:
    """For each block a key above all before it, and not above its own first: short for bytes."""
    found: list[Any] = []
    for at in begins[:-1].tolist():
        key = keys[at].as_py()
        if isinstance(key, bytes):
            key = key[: _shared(keys[at - 1].as_py(), key) + 1] if at else b""
        found.append(key)
    return found


class Directory(Struct, frozen=True):
    """Where the blocks of a dictionary are; all but `sparse` and `crcs` have one item more.

    `sparse`: keys that separate the blocks; `codes`, `offsets`: where each begins, in codes and in
    bytes; `bases`: for each level where the sets of its values begin.
    """

    sparse: list[Any]
    codes: Array
    offsets: Array
    bases: tuple[Array, ...]
    crcs: Array

    def to_bytes(self, domain: str) -> bytes:
        """As a head has them."""
        data = [struct.pack("<I", len(self.sparse))]
        if domain == BYTES:
            lengths = np.array([len(key) for key in self.sparse], "<u4")
            data += [lengths.tobytes(), *self.sparse]
        else:
            data.append(np.array(self.sparse, "<i8").tobytes())
        data.append(self.codes.astype("<u4").tobytes())
        data += [some.astype("<u8").tobytes() for some in (self.offsets, *self.bases)]
        data.append(self.crcs.astype("<u4").tobytes())
        return b"".join(data)

    @classmethod
    def read_from(cls, source: Taker, domain: str, levels: int) -> Directory:
        """What `to_bytes` gave. ValueError where it's cut off."""
        blocks = source.number("I")
        sparse: list[Any]
        if domain == BYTES:
            sizes = source.numbers(blocks, "<u4").tolist()
            sparse = [source.take(size) for size in sizes]
        else:
            sparse = source.numbers(blocks, "<i8").tolist()
        codes = source.numbers(blocks + 1, "<u4").astype(np.int64)
        offsets, *bases = (
            source.numbers(blocks + 1, "<u8").astype(np.int64) for _ in range(1 + levels)
        )
        found = cls(sparse, codes, offsets, tuple(bases), source.numbers(blocks, "<u4"))
        found.check()
        return found

    def check(self) -> None:
        """ValueError where its numbers don't ascend as those of a dictionary do."""
        rising(self.codes, 0, strictly=True)
        for some in (self.offsets, *self.bases):
            rising(some)
        if any(one >= other for one, other in pairwise(self.sparse)):
            raise ValueError("keys between a dictionary's blocks aren't in their order")


def rising(
    numbers: Array, first: int | None = None, last: int | None = None, *, strictly: bool = False
) -> None:
    """ValueError where numbers fall, one is below 0, or the ends aren't those that they must be.

    Of offsets and codes out of a file: whoever has checked them may cut by them.
    """
    steps = np.diff(numbers)
    ends = (int(numbers[0]), int(numbers[-1]))
    if (
        ends[0] < 0
        or (steps < (1 if strictly else 0)).any()
        or first not in (None, ends[0])
        or last not in (None, ends[1])
    ):
        raise ValueError(f"numbers from {ends[0]} to {ends[1]} that can't be")


def _column(values: Array) -> bytes:
    """Whole numbers in the narrowest of 1, 2, 4 and 8 bytes, which the first byte says."""
    largest = int(values.max()) if len(values) else 0
    width = next(w for w in _WIDTHS if largest < 1 << 8 * w)
    return bytes([width]) + values.astype(f"<u{width}").tobytes()


def _offsets(keys: pa.Array) -> Array:
    buffer = keys.buffers()[1]
    found: Array = np.frombuffer(buffer, np.int64, len(keys) + 1, keys.offset * 8)
    return found


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes two texts begin with alike."""
    least = min(len(one), len(other))
    for at in range(0, least, 64):
        if one[at : at + 64] != other[at : at + 64]:
            pairs = zip(one[at:], other[at:], strict=False)
            return at + next((i for i, (a, b) in enumerate(pairs) if a != b), least - at)
    return least


class Taker:
    """Takes parts of bytes in turn. ValueError where they're cut off."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, length: int) -> bytes:
        data = self._data[self._at : self._at + length]
        if length < 0 or len(data) != length:
            raise ValueError(f"{length} bytes at {self._at} of {len(self._data)}")
        self._at += length
        return data

    def number(self, form: str) -> int:
        """By a format character of `struct`."""
        (number,) = struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))
        return int(number)

    def numbers(self, count: int, type_: str) -> Array:
        return np.frombuffer(self.take(count * np.dtype(type_).itemsize), type_)

    def column(self, count: int) -> Array:
        """As `_column` wrote it."""
        (width,) = self.take(1)
        if width not in _WIDTHS:
            raise ValueError(f"numbers of {width} bytes")
        return self.numbers(count, f"<u{width}").astype(np.uint64)

    def end(self) -> None:
        if self._at != len(self._data):
            raise ValueError(f"{len(self._data) - self._at} bytes too many")


def _below(numbers: Array, bound: int) -> Array:
    """Unsigned numbers as signed ones, whose sum can't overflow. ValueError where one is larger."""
    if len(numbers) and int(numbers.max()) >= bound:
        raise ValueError(f"the number {numbers.max()}, and all should be below {bound}")
    return numbers.astype(np.int64)


@lru_cache(_KEPT_MAX)
def _cached(data: bytes, first: int, domain: str, bases: tuple[int, ...]) -> DictionaryBlock:
    return _decoded(data, first, domain, bases)


def _decoded(data: bytes, first: int, domain: str, bases: Sequence[int]) -> DictionaryBlock:
    source = Taker(data)
    count = source.number("I")
    keys: Array | list[bytes]
    if domain == BYTES:
        prefix = source.take(source.number("I"))
        ends = np.cumsum(_below(source.column(count), len(data) + 1)).tolist()
        text = source.take(ends[-1] if ends else 0)
        # A block is cut behind so many bytes of keys, so that only its last one goes beyond.
        if count * len(prefix) + len(text) > BLOCK_SIZE + len(data):
            raise ValueError(f"{count} keys that begin with the same {len(prefix)} bytes")
        keys = [prefix + text[a:b] for a, b in pairwise([0, *ends])]
    else:
        least = np.uint64(source.number("Q"))
        keys = (source.column(count) + least).view(np.int64)
        if (keys[1:] <= keys[:-1]).any():
            raise ValueError("keys that aren't in their order")
    counts = _below(source.column(count), BOUND_MAX)
    levels = []
    for base in bases:
        described = source.column(count)
        lengths = _below(described >> np.uint64(2), _SET_BYTES_MAX)
        offsets = np.concatenate(([0], np.cumsum(lengths))) + base
        forms = (described & np.uint64(3)).astype(np.uint8)
        levels.append(SetRanges(offsets, forms, source.numbers(count, "<u4")))
    source.end()
    return DictionaryBlock(first, keys, counts, tuple(levels))
