"""Which range filter a file gets: those that fit a budget of bits are tried on its own keys.

Each is asked for ranges that hold no key. *Independent* ones lie anywhere between the lowest and
the highest key, of texts at what may be a text: the beginning of one key with the end of another.
They are 2^0 to 2^20 keys wide, and up to the mean gap between keys where that's wider, as ranges of
floats and of texts are. *Near* ones begin just behind a key. A filter will do where at most 1 % of
the independent ranges of each width are found, as far as so many can tell. Of those that will do
the one that finds the fewest near ranges is taken, then the smallest; where none will do the one
that finds the fewest of all widths. All draws are the same in every run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from indexes.range.filters import (
    BLOOMRF,
    BUCKET,
    GAPS,
    LAYER_BITS,
    LEAST_WORDS,
    MOST_LAYERS,
    MOST_WORDS,
    Filter,
    Keys,
    Prefixes,
    RangeCodes,
)

WIDTHS = tuple(1 << e for e in range(21))
_WIDER = range(24, 64, 4)  # exponents, up to the mean gap
GOOD_RATE, WORST_RATE = 0.01, 0.5
LEAST_BITS = 1024
"""What a filter may always have."""
_KEPT = 0.97  # of the budget: what cells of a bundle say beside codes is the rest
_NEAR = 64  # keys behind one, at most, at which a near range begins
_FEWEST, _MOST_ASKED = 128, 4096


class FalsePositiveRates(Struct, frozen=True):
    """Of empty ranges the share that is found: the worst and the mean of all widths, and near ones.

    `good`: whether the filter will do.
    """

    worst: float
    mean: float
    near: float
    good: bool


class FilterChoice(Struct, frozen=True):
    """A filter, and what it does on ranges that hold no key."""

    filter: Filter
    rates: FalsePositiveRates


def chosen(
    keys: Keys, bits_per_value: float, mode: str, *, texts: bool = False
) -> FilterChoice | None:
    """The filter of sorted, distinct keys; None where it could leave out next to nothing.

    `mode` is one of `MODES`, or `auto` for any. `texts`: the keys are of texts.
    """
    if len(keys) < 2 or int(keys[-1] - keys[0]) == len(keys) - 1:
        return None
    budget = int(max(bits_per_value * len(keys) * _KEPT, LEAST_BITS))
    makers = {BUCKET: bucket, GAPS: gaps, BLOOMRF: bloomrf}
    made = [maker(keys, budget) for name, maker in makers.items() if mode in (name, "auto")]
    asked = _EmptyRanges(keys, texts=texts)
    tried = [FilterChoice(one, rates) for one in made if one and (rates := asked.rates(one))]
    if not tried:
        return None
    good = [one for one in tried if one.rates.good]
    if good:
        return min(good, key=lambda one: (one.rates.near, one.filter.bits))
    best = min(tried, key=lambda one: one.rates.mean)
    return best if best.rates.mean <= WORST_RATE else None


def bucket(keys: Keys, budget: int) -> RangeCodes:
    """The keys without as few of their lowest bits as fit."""
    from indexes.range import kernels

    shared = np.zeros(65, dtype=np.int64)
    kernels.shared_bits(keys, shared)
    # Without s bits those neighbours are one that differ in these alone.
    counts = len(keys) - np.cumsum(shared)
    for shift in range(64):
        last = (keys[-1] >> np.uint64(shift)) - (keys[0] >> np.uint64(shift))
        if int(kernels.bit_size(np.uint64(counts[shift]), last)) <= budget:
            break
    values = keys >> np.uint64(shift)
    return RangeCodes(distinct(values) if shift else values, shift)


def gaps(keys: Keys, budget: int) -> RangeCodes | None:
    """The ends of what lies between as many of the widest gaps as fit; None where none does."""
    from indexes.range import kernels

    widths = np.diff(keys)
    last, most = keys[-1] - keys[0], int((widths > 1).sum())
    fits, beyond = 0, most + 1
    while beyond - fits > 1:
        half = (fits + beyond) // 2
        if int(kernels.bit_size(np.uint64(2 * half + 2), last)) <= budget:
            fits = half
        else:
            beyond = half
    if not fits:
        return None
    if fits == most:
        where = np.flatnonzero(widths > 1)
    else:
        where = np.sort(np.argpartition(widths, len(widths) - fits)[len(widths) - fits :])
    ends = np.empty(2 * fits + 2, dtype=np.uint64)
    ends[0], ends[-1] = keys[0], keys[-1]
    ends[1:-1:2], ends[2:-1:2] = keys[where], keys[where + 1]
    return RangeCodes(ends, gaps=True)


def bloomrf(keys: Keys, budget: int) -> Prefixes:
    """Prefixes in as many layers as tell keys apart; sizes are of few sorts, as bundles want it."""
    words = min(max(budget // 64, LEAST_WORDS), MOST_WORDS)
    step = max(words.bit_length() - 4, 0)
    span = int(keys[-1] - keys[0]).bit_length()
    layers = math.ceil((span - math.log2(len(keys))) / LAYER_BITS)
    return Prefixes.of(keys, words >> step << step, min(max(layers, 1), MOST_LAYERS))


def distinct(keys: Keys) -> Keys:
    """Sorted keys, each once."""
    if not len(keys):
        return keys
    first = np.empty(len(keys), dtype=np.bool_)
    first[0] = True
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return keys[first]


class _EmptyRanges:
    """Ranges that hold none of the keys, of several widths."""

    def __init__(self, keys: Keys, *, texts: bool = False) -> None:
        count = min(max(len(keys) // 64, _FEWEST), _MOST_ASKED)
        random = np.random.default_rng(0)
        least, most = int(keys[0]), int(keys[-1])
        gap = (most - least) // len(keys)
        widths = (*WIDTHS, *(1 << e for e in _WIDER if 1 << e <= gap))
        self._independent: list[tuple[Keys, Keys]] = []
        for width in widths:
            if width <= most - least:
                lows = random.integers(least, most - width + 1, count, np.uint64, endpoint=True)
                if texts:
                    lows = _crossed(keys, random, count)
                self._independent.append(_empty(keys, np.sort(lows), width))
        near: list[tuple[Keys, Keys]] = []
        few = max(count // 8, 16)
        for width in widths:
            from_ = keys[random.integers(0, len(keys) - 1, few)]
            lows = np.sort(from_ + random.integers(1, _NEAR, few, np.uint64, endpoint=True))
            near.append(_empty(keys, lows[lows <= most], width))
        self._near = [np.concatenate(ends) for ends in zip(*near, strict=True)]

    def rates(self, filter_: Filter) -> FalsePositiveRates | None:
        """What the filter does; None where hardly any range between the keys is empty."""
        found = [
            (int(filter_.may_all(lows, highs).sum()), len(lows))
            for lows, highs in self._independent
            if len(lows)
        ]
        if not found:
            return None
        shares = [hits / asked for hits, asked in found]
        near = float(filter_.may_all(*self._near).mean()) if len(self._near[0]) else 0.0
        return FalsePositiveRates(max(shares), sum(shares) / len(shares), near, _good(found))


def _crossed(keys: Keys, random: np.random.Generator, count: int) -> Keys:
    """Keys that begin, by whole bytes, like one of the keys, and end like another."""
    one, other = (keys[random.integers(0, len(keys), count)] for _ in range(2))
    bits = np.uint64(8) * random.integers(1, 8, count, np.uint64)
    ends: Keys = (np.uint64(1) << bits) - np.uint64(1)
    found: Keys = one & ~ends | other & ends
    return found


def _good(found: Sequence[tuple[int, int]]) -> bool:
    """Whether no share is above the good rate by more than chance."""
    expected = ((hits, asked * GOOD_RATE) for hits, asked in found)
    return all(hits <= mean + 3 * math.sqrt(mean) for hits, mean in expected)


def _empty(keys: Keys, lows: Keys, width: int) -> tuple[Keys, Keys]:
    """Those of the ranges, of so many keys' width each, that hold none of the keys."""
    highs = lows + np.uint64(width - 1)
    highs[highs < lows] = np.uint64((1 << 64) - 1)
    first = np.searchsorted(keys, lows)
    there = first < len(keys)
    none = ~there | (keys[np.where(there, first, 0)] > highs)
    return lows[none], highs[none]
