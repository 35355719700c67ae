"""Range filters of one file: whether any of its keys lies between two bounds. Never a false no.

Keys are unsigned 64-bit numbers that sort like the values: whole numbers and floats as
`inverted/dictionary.py` has them, moved up by 2^63; of texts the eight bytes behind the prefix that
all of the file's begin with. Three forms. `RangeCodes` are sorted numbers: in the mode *bucket* the
keys without their lowest bits, each once; in the mode *gaps* the first and the last key of each
stretch between the widest gaps. `Prefixes` (mode *bloomrf*) is a Bloom filter of the keys' prefixes
of several lengths, a word for each 64 neighbours. docs/formats/range.md has every byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from indexes.kind import Blob, Intervals

Keys = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]

TYPE = "acc-range-v1"
RANGES = "1"
"""The version of keys, codes and prefixes, which blobs say under the same name in small letters."""
BUCKET, GAPS, BLOOMRF = MODES = ("bucket", "gaps", "bloomrf")
MOST = (1 << 64) - 1
_HALF = 1 << 63
_CHECK = 4
LAYER_BITS = 7
MOST_LAYERS = 10
LEAST_WORDS, MOST_WORDS = 2, 1 << 25


class RangeCodes(Struct, frozen=True, eq=False):
    """Sorted numbers: keys without `shift` bits, or, where `gaps`, ends of stretches of keys."""

    values: Keys
    shift: int = 0
    gaps: bool = False

    @property
    def mode(self) -> str:
        """As options name it."""
        return GAPS if self.gaps else BUCKET

    @property
    def bits(self) -> int:
        """When encoded."""
        from indexes.range.kernels import bit_size

        last = self.values[-1] - self.values[0]
        return int(bit_size(np.uint64(len(self.values)), last))

    def may_all(self, lows: Keys, highs: Keys) -> Flags:
        """Of each range whether a key may lie in it, ends among it; False is certain."""
        by = np.uint64(self.shift)
        first = np.searchsorted(self.values, lows >> by)
        there = first < len(self.values)
        found: Flags = there & (self.values[np.where(there, first, 0)] <= highs >> by)
        return found | (first % 2 == 1) if self.gaps else found

    def to_blob(self, said: Mapping[str, str]) -> Blob:
        """With properties of the file beside its own."""
        from indexes.range import kernels

        least, most = int(self.values[0]), int(self.values[-1])
        data = np.zeros(-(-self.bits // 8), dtype=np.uint8)
        first, last = np.uint64(least), np.uint64(most - least)
        kernels.put_codes(self.values, first, last, data, np.uint64(0))
        own = {"least": str(least), "most": str(most), "count": str(len(self.values))}
        return _blob(data.tobytes(), self.mode, {**said, **own, "shift": str(self.shift)})


class Prefixes(Struct, frozen=True, eq=False):
    """bloomRF: of each key its prefixes, in layers of 7 bits, as bits of 64-bit words."""

    words: Keys
    layers: int

    @property
    def mode(self) -> str:
        """As options name it."""
        return BLOOMRF

    @property
    def bits(self) -> int:
        """When encoded."""
        return 64 * len(self.words)

    @classmethod
    def of(cls, keys: Keys, words: int, layers: int) -> Prefixes:
        """A filter of sorted keys."""
        from indexes.range import kernels

        found = np.zeros(words, dtype=np.uint64)
        kernels.add_prefixes(found, layers, keys)
        return cls(found, layers)

    def may_all(self, lows: Keys, highs: Keys) -> Flags:
        """As `RangeCodes.may_all`."""
        from indexes.range import kernels

        found = np.empty(len(lows), dtype=np.bool_)
        kernels.may_prefixes(self.words, self.layers, lows, highs, found)
        return found

    def to_blob(self, said: Mapping[str, str]) -> Blob:
        """As `RangeCodes.to_blob`."""
        own = {"words": str(len(self.words)), "layers": str(self.layers)}
        return _blob(self.words.astype("<u8", copy=False).tobytes(), BLOOMRF, {**said, **own})


Filter = RangeCodes | Prefixes


def _blob(data: bytes, mode: str, said: Mapping[str, str]) -> Blob:
    sealed = data + crc32(data).to_bytes(_CHECK, "little")
    return Blob(TYPE, sealed, True, {"ranges": RANGES, "mode": mode, **said})


def read_filter(blob: Blob) -> Filter:
    """The filter in a blob. ValueError for another format, and for what was cut off or altered."""
    said = blob.properties
    if blob.type != TYPE or said.get("ranges") != RANGES:
        raise ValueError(f"no filter that can be read: {blob.type} of {said.get('ranges')}")
    data, told = blob.data[:-_CHECK], blob.data[-_CHECK:]
    if crc32(data).to_bytes(_CHECK, "little") != told:
        raise ValueError(f"a range filter is cut off or altered: {len(blob.data)} bytes")
    try:
        return _prefixes(data, said) if said["mode"] == BLOOMRF else _codes(data, said)
    except KeyError as error:
        raise ValueError(f"a range filter without the property {error}") from None


def _prefixes(data: bytes, said: Mapping[str, str]) -> Prefixes:
    words, layers = int(said["words"]), int(said["layers"])
    if len(data) != 8 * words or not 0 < layers <= MOST_LAYERS or not words:
        raise ValueError(f"{words} words and {layers} layers of prefixes in {len(data)} bytes")
    return Prefixes(np.frombuffer(data, "<u8").astype(np.uint64), layers)


def _codes(data: bytes, said: Mapping[str, str]) -> RangeCodes:
    from indexes.range import kernels

    if said["mode"] not in (BUCKET, GAPS):
        raise ValueError(f"range filters of the mode {said['mode']}")
    least, most = int(said["least"]), int(said["most"])
    count, shift = int(said["count"]), int(said["shift"])
    if not (0 <= least <= most <= MOST and count > 0 and 0 <= shift < 64):
        raise ValueError(f"{count} codes from {least} to {most}, without {shift} bits")
    last = np.uint64(most - least)
    # Before the kernel, whose numbers would overflow: each code takes a bit at least.
    if count > 8 * len(data) or len(data) != -(-int(kernels.bit_size(np.uint64(count), last)) // 8):
        raise ValueError(f"{count} codes in {len(data)} bytes")
    values = np.empty(count, dtype=np.uint64)
    padded = np.frombuffer(data + bytes(kernels.PAD), np.uint8)
    if not kernels.get_codes(padded, np.uint64(least), last, values):
        raise ValueError(f"fewer codes than {count}")
    return RangeCodes(values, shift, said["mode"] == GAPS)


def prefix_of(said: Mapping[str, str]) -> bytes | None:
    """What all texts of a file begin with, by the properties of its blob; None for numbers."""
    found = said.get("prefix")
    return None if found is None else bytes.fromhex(found)


def answers(blob: Blob, asked: Intervals) -> bool:
    """Whether the file of a blob may hold a match; ValueError as `read_filter` says."""
    ranges = ranges_of(asked, prefix_of(blob.properties))
    if ranges is None:
        return True
    return bool(read_filter(blob).may_all(*ranges).any())


def ranges_of(asked: Intervals, prefix: bytes | None) -> tuple[Keys, Keys] | None:
    """The intervals as the lowest and highest keys of ranges, those that can hold some in order.

    `prefix`: of the file's texts, None for numbers. None where the others are asked for.
    """
    found: list[tuple[int, int]] = []
    for low, high in asked.of:
        if any(
            isinstance(end, bytes) == (prefix is None) for end in (low, high) if end is not None
        ):
            return None
        least = _number_low(low) if prefix is None else _text_low(low, prefix)
        most = _number_high(high) if prefix is None else _text_high(high, prefix)
        if least <= most:
            found.append((least, most))
    found.sort()
    lows, highs = np.array([one[0] for one in found], np.uint64), [one[1] for one in found]
    return lows, np.array(highs, np.uint64)


def _number_low(low: Any) -> int:
    return 0 if low is None else max(low + _HALF, 0)


def _number_high(high: Any) -> int:
    return MOST if high is None else min(high + _HALF, MOST)


def _text_low(low: Any, prefix: bytes) -> int:
    """Above all keys where no text that begins with the prefix is so high."""
    if low is None or low <= prefix:
        return 0
    return _key(low, prefix) if low.startswith(prefix) else MOST + 1


def _text_high(high: Any, prefix: bytes) -> int:
    """Below all keys where no text that begins with the prefix is so low."""
    if high is None or (high > prefix and not high.startswith(prefix)):
        return MOST
    return _key(high, prefix) if high >= prefix else -1


def _key(text: bytes, prefix: bytes) -> int:
    at = len(prefix)
    return int.from_bytes(text[at : at + 8].ljust(8, b"\0"), "big")
