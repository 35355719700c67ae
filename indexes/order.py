"""Where the rows of files can stand in an order, by their bounds: the files to read for a TopN.

A *place* is a key's position in the order, as a pair: a tier (NULLs, values and NaNs are tiers of
their own) and, within the tier of values, the value. Every file has a first place that none of its
rows comes before, and a last place that none comes behind; a bound that isn't known makes them the
ends of everything. Ties are decided by what the caller knows: a place says nothing about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, total_ordering
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from indexes.bounds import ColumnBounds, Flags, Numbers, flags

_BEFORE_ALL, _NULL_FIRST, _NULL_LAST, _AFTER_ALL = -1, 0, 3, 4
_REPLACED = "\ufffd".encode()
Place = tuple[int, Any]
Tiers = npt.NDArray[np.int8]


class Direction(Struct, frozen=True):
    """How one key is sorted. NaN is the greatest value, as in Spark."""

    descending: bool
    nulls_first: bool

    @property
    def tier_of_values(self) -> int:
        """Behind NaN where the greatest comes first."""
        return 2 if self.descending else 1

    @property
    def tier_of_nans(self) -> int:
        """The tier of NaN."""
        return 1 if self.descending else 2

    @property
    def tier_of_nulls(self) -> int:
        """The tier of NULL."""
        return _NULL_FIRST if self.nulls_first else _NULL_LAST

    def place(self, value: Any) -> Place:
        """The place of a value as bounds hold it; None is NULL."""
        if value is None:
            return self.tier_of_nulls, 0
        if isinstance(value, float) and np.isnan(value):
            return self.tier_of_nans, 0
        return self.tier_of_values, self._ordered(value)

    def _ordered(self, value: Any) -> Any:
        """A value that compares as the order does."""
        if not self.descending:
            return value
        return _Falling(value) if isinstance(value, bytes) else -value


@total_ordering
@dataclass(frozen=True, slots=True)
class _Falling:
    """A text under the reversed order."""

    text: bytes

    def __lt__(self, other: _Falling) -> bool:
        return other.text < self.text

    def __le__(self, other: _Falling) -> bool:
        return other.text <= self.text


class FileOrderKey:
    """One sort key over n files: the tiers of their first and last places, and their values."""

    def __init__(self, bounds: ColumnBounds, direction: Direction) -> None:
        self._direction = direction
        down = direction.descending
        lower, upper = _usable_bounds(bounds.lower), _usable_bounds(bounds.upper)
        self._first, self._last = (upper, lower) if down else (lower, upper)
        valued, maybe_nan = direction.tier_of_values, bounds.nans != 0
        known_first, known_last = flags(self._first.is_valid()), flags(self._last.is_valid())
        first = np.where(known_first, valued, _BEFORE_ALL)
        last = np.where(known_last, valued, _AFTER_ALL)
        if bounds.floating and down:
            first[known_first & maybe_nan] = direction.tier_of_nans
        elif bounds.floating:
            last[known_last & maybe_nan] = direction.tier_of_nans
        null, maybe_null = direction.tier_of_nulls, bounds.nulls != 0
        if direction.nulls_first:
            first[maybe_null] = null
        else:
            last[maybe_null] = null
        first[bounds.always_null] = last[bounds.always_null] = null
        self.first_tiers: Tiers = first.astype(np.int8)
        self.last_tiers: Tiers = last.astype(np.int8)

    def of(self, files: Numbers) -> FileOrderKey:
        """The key over those files alone, in that order."""
        taken = copy(self)
        taken.__dict__.pop("values", None)
        places = pa.array(files)
        taken._first, taken._last = self._first.take(places), self._last.take(places)
        taken.first_tiers, taken.last_tiers = self.first_tiers[files], self.last_tiers[files]
        return taken

    @cached_property
    def values(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Numbers that compare as the first and last places' values do; 0 in the other tiers."""
        both = [self._first, self._last]
        if pa.types.is_binary(self._first.type):
            numbers = _dense_ranks(pa.concat_arrays(both))
            pair = [numbers[: len(self._first)], numbers[len(self._first) :]]
        else:
            pair = [pc.fill_null(each, pa.scalar(0, each.type)).to_numpy() for each in both]
        if self._direction.descending:
            # Of whole numbers the complement: the smallest one has no negative.
            pair = [-each if each.dtype.kind == "f" else ~each for each in pair]
        valued = self._direction.tier_of_values
        first, last = (
            np.where(tiers == valued, each, each.dtype.type(0))
            for tiers, each in zip((self.first_tiers, self.last_tiers), pair, strict=True)
        )
        return first, last

    def first(self, file: int) -> Place:
        """The first place of one file."""
        tier = int(self.first_tiers[file])
        if tier != self._direction.tier_of_values:
            return tier, 0
        return self._direction.place(self._first[file].as_py())


def needed(
    keys: Sequence[FileOrderKey], chosen: Flags, sure_rows: Numbers, wanted: int | None
) -> Flags:
    """The chosen files without those that surely hold none of the first `wanted` rows.

    `sure_rows`: rows of each file that surely pass the predicate, 0 where that isn't known. A file
    whose rows may tie with the last wanted one is kept. None wants all rows.
    """
    if wanted is None or not keys or not chosen.any():
        return chosen
    places = np.flatnonzero(chosen)
    first, last = _ranks(keys, places)
    counted = np.cumsum(sure_rows[places][order := np.argsort(last, kind="stable")])
    enough = int(np.searchsorted(counted, wanted))
    if enough == len(order):
        return chosen
    left = np.zeros(len(chosen), dtype=bool)
    left[places[first <= last[order[enough]]]] = True
    return left


def reading_order(keys: Sequence[FileOrderKey], chosen: Flags) -> Numbers:
    """The chosen files, those first whose first places come first."""
    places: Numbers = np.flatnonzero(chosen)
    columns = [c[places] for k in reversed(keys) for c in (k.values[0], k.first_tiers)]
    return places[np.lexsort(columns)] if columns else places


def _ranks(keys: Sequence[FileOrderKey], places: Numbers) -> tuple[Numbers, Numbers]:
    """Numbers that compare as the first and last places of those files do, with all keys."""
    columns = []
    for key in reversed(keys):
        for pair in (key.values, (key.first_tiers, key.last_tiers)):
            columns.append(np.concatenate([side[places] for side in pair]))
    order = np.lexsort(columns)
    differs = np.zeros(len(order), dtype=bool)
    for column in columns:
        differs[1:] |= column[order[1:]] != column[order[:-1]]
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.cumsum(differs)
    return ranks[: len(places)], ranks[len(places) :]


def _usable_bounds(bound: pa.Array) -> pa.Array:
    """Without NaNs, which writers once took for bounds, and texts that may have been altered.

    Of a text that isn't UTF-8 a writer's bound has U+FFFD for what it couldn't read.
    """
    if pa.types.is_floating(bound.type):
        odd = pc.is_nan(bound)
    elif pa.types.is_binary(bound.type):
        odd = pc.match_substring(bound, _REPLACED)
    else:
        return bound
    return pc.if_else(odd, pa.scalar(None, bound.type), bound) if pc.any(odd).as_py() else bound


def _dense_ranks(texts: pa.Array) -> Numbers:
    """Numbers that compare as the texts do; any number for a null."""
    order = pc.sort_indices(texts)
    ordered = texts.take(order)
    ranks = np.zeros(len(texts), dtype=np.int64)
    differs = flags(pc.not_equal(ordered[1:], ordered[:-1]))
    ranks[order.to_numpy()[1:]] = np.cumsum(differs)
    return ranks
