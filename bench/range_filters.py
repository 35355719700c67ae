"""What RANGE gets wrong: empty ranges that it keeps, beside two rivals, and never a key missed.

No table and no Spark. Rates are of ranges that hold no key, at ten bits a key: those really used by
the bytes of a bundle. Independent ranges lie anywhere between a file's lowest and highest key, near
ones begin 1 to 64 behind a key. Grafite is our own, from its published formulas, for comparison.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from indexes.kind import Blob, IndexedColumn, Intervals
from indexes.kinds import KINDS
from indexes.range.bundle import RangeGroup, shape_of, write_group
from indexes.range.choose import bloomrf
from indexes.range.filters import Flags, Keys, read_filter

_KEYS = 200_000
_FILES = 8
_PROBES = 20_000
"""Of each file and width."""
_BITS = 10
_WIDTHS = tuple(range(21))
_PRESENT = 2_400_000
_GROUPED = 1_000
_ASKED = 200
_MANY_FILES = 1_000


@dataclass(frozen=True, slots=True)
class Grafite:
    """Keys hashed into a small universe, such that neighbours stay neighbours; sorted codes."""

    codes: Keys
    size: int
    factor: int
    term: int

    _PRIME = (1 << 61) - 1

    @classmethod
    def of(cls, keys: Keys, bits: float) -> Grafite:
        """For sorted keys: its codes in the form of Elias and Fano take so many bits each."""
        size = int(len(keys) * 2 ** (bits - 2))
        random = np.random.default_rng(0)
        empty = cls(
            np.empty(0, np.uint64),
            size,
            int(random.integers(1, cls._PRIME)),
            int(random.integers(0, cls._PRIME)),
        )
        return cls(np.unique(empty.hashed(keys)), size, empty.factor, empty.term)

    def hashed(self, keys: Keys) -> Keys:
        """Of each key its code."""
        blocks, where = np.unique(keys // np.uint64(self.size), return_inverse=True)
        shifts = [(self.factor * b + self.term) % self._PRIME % self.size for b in blocks.tolist()]
        moved = np.array(shifts, np.uint64)[where] + keys % np.uint64(self.size)
        return moved % np.uint64(self.size)

    def may_all(self, lows: Keys, highs: Keys) -> Flags:
        """Whether a key may lie in each range; ranges over two blocks are taken as found."""
        size = np.uint64(self.size)
        found = lows // size != highs // size
        least, most = self.hashed(lows), self.hashed(highs)
        first = np.searchsorted(self.codes, least)
        there = first < len(self.codes)
        straight = there & (self.codes[np.where(there, first, 0)] <= most)
        around = there | (self.codes[0] <= most)
        kept: Flags = found | np.where(least <= most, straight, around)
        return kept


def rates(scale: float) -> dict[str, Any]:
    """The worst rate over all widths and both sorts of keys, and all rates."""
    found: dict[str, Any] = {}
    for name, draw in (("uniform", _uniform), ("bursts", _bursts)):
        files = [
            draw(np.random.default_rng(n), max(5_000, round(_KEYS * scale))) for n in range(_FILES)
        ]
        found[name] = _rates(files, max(1_000, round(_PROBES * scale)))
    return {"worst": max(one["worst"] for one in found.values()), **found}


def _rates(files: Sequence[Keys], probes: int) -> dict[str, Any]:
    kind = KINDS["RANGE"]
    options = kind.options("bigint", {"bits_per_value": _BITS})
    blobs: list[Blob] = []
    for keys in files:
        builder = kind.builder(IndexedColumn("bigint", (len(keys),)), options)
        builder.add(pa.array((keys ^ np.uint64(1 << 63)).view(np.int64)))
        blobs += builder.finish()
    shapes = sorted({shape_of(blob) for blob in blobs}, key=str)
    written = [write_group([b for b in blobs if shape_of(b) == shape])[0] for shape in shapes]
    ours = [read_filter(blob) for blob in blobs]
    total = sum(len(keys) for keys in files)
    bits = 8 * sum(map(len, written)) / total
    budget = [int(_BITS * len(keys)) for keys in files]
    rivals: dict[str, list[Callable[[Keys, Keys], Flags]]] = {
        "range": [one.may_all for one in ours],
        "bloomrf": [bloomrf(k, b).may_all for k, b in zip(files, budget, strict=True)],
        "grafite": [Grafite.of(keys, _BITS).may_all for keys in files],
    }
    told: dict[str, Any] = {
        "modes": sorted({blob.properties["mode"] for blob in blobs}),
        "bits_per_key": bits,
        "keys": total,
        "probes": probes * len(files) * len(_WIDTHS),
    }
    for sort, draw in (("independent", _anywhere), ("near", _near)):
        told[sort] = {
            name: [_rate(files, may, draw, 1 << e, probes) for e in _WIDTHS]
            for name, may in rivals.items()
        }
    told["worst"] = max(rate for rate in told["independent"]["range"] if rate is not None)
    if bits > _BITS:
        raise SystemExit(f"{bits} bits a key, not {_BITS}")
    return told


def _rate(
    files: Sequence[Keys],
    filters: Sequence[Callable[[Keys, Keys], Flags]],
    draw: Callable[[np.random.Generator, Keys, int], Keys],
    width: int,
    probes: int,
) -> float | None:
    """Of empty ranges of that many keys the share that is kept; None where hardly any is empty."""
    random, kept, asked = np.random.default_rng(width), 0, 0
    for keys, may in zip(files, filters, strict=True):
        lows = draw(random, keys, probes)
        highs = lows + np.uint64(width - 1)
        first = np.searchsorted(keys, lows)
        empty = (first == len(keys)) | (keys[np.minimum(first, len(keys) - 1)] > highs)
        kept += int(may(lows[empty], highs[empty]).sum())
        asked += int(empty.sum())
    return kept / asked if asked >= 1_000 else None


def _anywhere(random: np.random.Generator, keys: Keys, count: int) -> Keys:
    return random.integers(keys[0], keys[-1], count, dtype=np.uint64)


def _near(random: np.random.Generator, keys: Keys, count: int) -> Keys:
    behind = random.integers(1, 65, count, dtype=np.uint64)
    return keys[random.integers(0, len(keys) - 1, count)] + behind


def _uniform(random: np.random.Generator, count: int) -> Keys:
    return np.unique(random.integers(0, 1 << 62, count, dtype=np.uint64))


def _bursts(random: np.random.Generator, count: int) -> Keys:
    """Microseconds of events that come in bursts: gaps of a Pareto law, a minute at most."""
    gaps = np.minimum((random.pareto(1.2, count) + 1) * 1_000, 60e6)
    return np.unique(np.uint64(1_700_000_000_000_000) + np.cumsum(gaps).astype(np.uint64))


def lost(scale: float) -> dict[str, Any]:
    """How many ranges around keys are taken as empty: alone in every mode, and side by side."""
    kind, missed, probes = KINDS["RANGE"], 0, 0
    rows = max(10_000, round(_PRESENT * scale / 8))
    for number, mode in enumerate(("auto", "bucket", "gaps", "bloomrf")):
        options = kind.options("bigint", {"bits_per_value": 24, "mode": mode})
        for draw in (_uniform, _bursts):
            keys = draw(np.random.default_rng(number), rows)
            builder = kind.builder(IndexedColumn("bigint", (len(keys),)), options)
            builder.add(pa.array((keys ^ np.uint64(1 << 63)).view(np.int64)))
            for blob in builder.finish():
                random = np.random.default_rng(number)
                before = random.integers(0, 1 << 22, len(keys), dtype=np.uint64)
                behind = random.integers(0, 1 << 22, len(keys), dtype=np.uint64)
                lows = np.where(keys > before, keys - before, 0).astype(np.uint64)
                missed += int((~read_filter(blob).may_all(lows, keys + behind)).sum())
                probes += len(keys)
                stored, shape = write_group([blob])
                group, read = RangeGroup(shape), _reader(stored)
                for key in keys[:_GROUPED].tolist():
                    asked = Intervals(((key - (1 << 63), key - (1 << 63)),))
                    may = group.may(asked, read)
                    missed += int(may is None or not may[0])
                    probes += 1
    return {"kind": "RANGE", "probes": probes, "lost": missed}


def probe_ms(scale: float) -> dict[str, Any]:
    """How long one range takes over the filters of a thousand files, in milliseconds."""
    kind, count = KINDS["RANGE"], max(50, round(_MANY_FILES * scale))
    options = kind.options("bigint", {})
    blobs: list[Blob] = []
    for number in range(count):
        keys = _uniform(np.random.default_rng(number), 10_000)
        builder = kind.builder(IndexedColumn("bigint", (len(keys),)), options)
        builder.add(pa.array(keys.view(np.int64)))
        blobs += builder.finish()
    stored, shape = write_group([b for b in blobs if shape_of(b) == shape_of(blobs[0])])
    group, read, took = RangeGroup(shape), _reader(stored), []
    random = np.random.default_rng(1)
    for low in random.integers(0, 1 << 62, _ASKED).tolist():
        began = time.perf_counter()
        group.may(Intervals(((low, low + (1 << 20)),)), read)
        took.append(1_000 * (time.perf_counter() - began))
    return {
        "files": shape.files,
        "bytes": len(stored),
        "median_ms": median(took),
        "most_ms": max(took[5:]),
    }


def _reader(data: bytes) -> Callable[[int, int], bytes]:
    return lambda offset, length: data[offset : offset + length]
