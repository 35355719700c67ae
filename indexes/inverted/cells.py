"""Answers from bitmaps alone: the cells of one file, by who has which value.

A cell is a combination of values of some columns with what is counted of its rows, as segments of
cubes keep it. All is exact or not told at all: rows that pass a predicate are given, and where one
column's bitmaps keep no rows, or there would be too much to read, nothing is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct
from pyroaring import BitMap

from indexes.inverted.dictionary import to_values
from indexes.inverted.postings import decode
from indexes.inverted.reader import Inverted, keys_of, open_blob
from indexes.kind import Blob, IndexedColumn, Read

Numbers = npt.NDArray[np.int64]

PRODUCT_MAX = 1 << 15
"""Sets of rows that are brought together in one file, at most."""
SETS_MAX = 16 << 20
"""Bytes of sets that are read for one column of a file, at most; or"""
SETS_SHARE = 2
"""so many bytes for each of its rows."""
_STEP = 64  # sets that are read together while the first value is looked for
_COUNTED = frozenset({"rows", "count"})


class ColumnCells:
    """One column of one file: its distinct values in their order, and the rows that have each."""

    def __init__(self, opened: Inverted) -> None:
        self._opened = opened

    @classmethod
    def open(cls, blob: Blob, read: Read, column: IndexedColumn) -> ColumnCells | None:
        """None for values of another type than the column's; ValueError as `Kind.probe`."""
        opened = open_blob(blob, read, column)
        return None if opened is None else cls(opened)

    @property
    def rows(self) -> int:
        """Of the file."""
        return self._opened.head.rows

    @property
    def ndv(self) -> int:
        """Distinct values."""
        return self._opened.head.ndv

    @property
    def nulls(self) -> BitMap:
        """The rows that are NULL."""
        return self._opened.nulls

    @property
    def tells_rows(self) -> bool:
        """Whether rows are kept of each value, few enough to be read."""
        if not self._opened.head.row_level:
            return False
        room = max(SETS_MAX, SETS_SHARE * self.rows)
        return self.ndv <= PRODUCT_MAX and self._opened.set_bytes((0, self.ndv)) <= room

    def values(self, codes: Sequence[int] | Numbers | None = None) -> pa.Array:
        """The distinct values in their domain, or those of these codes; a code too many is NULL."""
        found = self._some((0, self.ndv))
        if codes is None:
            return found
        return pa.concat_arrays([found, pa.nulls(1, found.type)]).take(pa.array(codes))

    def counts(self) -> Numbers:
        """How many rows have each value, as the dictionary says."""
        found = [block.counts for block in self._opened.blocks((0, self.ndv))]
        return np.concatenate([np.empty(0, np.int64), *found])

    def sets(self) -> Iterator[BitMap]:
        """The rows of each value, and at last those of NULL."""
        for data, form in self._opened.sets((0, self.ndv)):
            yield decode(data, form, self.rows)
        yield self.nulls

    def end(self, chosen: BitMap | None, *, last: bool) -> pa.Array | None:
        """The least value, or the last, that one of the rows has; an array of one, NULL for none.

        None where finding it would take too much.
        """
        code: int | None = None
        if chosen is None:
            code = (self.ndv - 1 if last else 0) if self.ndv else None
        elif not self._opened.head.row_level:
            return None
        elif chosen.intersection_cardinality(self.nulls) < len(chosen):
            code = self._first(chosen, last=last)
            if code is None:
                return None
        if code is None:
            return pa.nulls(1, self._some((0, 0)).type)
        return self._some((code, code + 1))

    def _some(self, codes: tuple[int, int]) -> pa.Array:
        return to_values(keys_of(self._opened, codes), self._opened.head.domain)

    def _first(self, chosen: BitMap, *, last: bool) -> int | None:
        """The first code, from either end, of which one of the rows is."""
        left = max(SETS_MAX, SETS_SHARE * self.rows)
        for at in range(0, self.ndv, _STEP):
            codes = (at, min(at + _STEP, self.ndv))
            if last:
                codes = (self.ndv - codes[1], self.ndv - codes[0])
            left -= self._opened.set_bytes(codes)
            if left < 0:
                return None
            found = [
                number
                for number, (data, form) in enumerate(self._opened.sets(codes), codes[0])
                if decode(data, form, self.rows).intersect(chosen)
            ]
            if found:
                return found[-1] if last else found[0]
        raise ValueError("rows of the blob have no value and aren't NULL")


class MergedValueCells(Struct, frozen=True):
    """One row for each combination of values: keys in their domains, and states."""

    keys: tuple[pa.Array, ...]
    states: tuple[pa.Array, ...]


State = tuple[str, ColumnCells | None]
"""`rows`; `count`, `min` or `max` of a column's values."""


def cells_of(
    dimensions: Sequence[ColumnCells], states: Sequence[State], rows: int, chosen: BitMap | None
) -> MergedValueCells | None:
    """The cells of the file's rows, or of those chosen; None where they can't be told.

    Without dimensions one cell, if there is a row; none is without rows. `rows`: of the file.
    ValueError for blobs of another number of rows.
    """
    held = [*dimensions, *(one for _, one in states if one is not None)]
    if any(one.rows != rows for one in held):
        raise ValueError(f"a blob is of other rows than {rows}")
    counted = all(kind == "rows" for kind, _ in states)
    if len(dimensions) == 1 and chosen is None and counted:
        return _by_dictionary(dimensions[0], len(states))
    if dimensions and not all(one.tells_rows for one in dimensions):
        return None
    if counted and len(dimensions) == 1:
        return _by_sets(dimensions[0], len(states), chosen)
    groups = _groups(dimensions, BitMap(range(rows)) if chosen is None else chosen)
    if groups is None:
        return None
    whole = chosen is None and not dimensions
    made = [_state(kind, one, [g for _, g in groups], whole=whole) for kind, one in states]
    if any(one is None for one in made):
        return None
    codes = np.array([codes for codes, _ in groups], np.int64).reshape(len(groups), len(dimensions))
    keys = tuple(one.values(codes[:, place]) for place, one in enumerate(dimensions))
    return MergedValueCells(keys, tuple(one for one in made if one is not None))


def _by_dictionary(dimension: ColumnCells, states: int) -> MergedValueCells:
    """How many rows have each value, without a look at which."""
    counts = np.append(dimension.counts(), len(dimension.nulls))
    return _counted(dimension, counts, states, dimension.rows)


def _by_sets(dimension: ColumnCells, states: int, chosen: BitMap | None) -> MergedValueCells:
    """The same of some rows."""
    found: Any = (
        (len(one) if chosen is None else one.intersection_cardinality(chosen))
        for one in dimension.sets()
    )
    every = dimension.rows if chosen is None else len(chosen)
    return _counted(dimension, np.fromiter(found, np.int64, dimension.ndv + 1), states, every)


def _counted(dimension: ColumnCells, counts: Numbers, states: int, rows: int) -> MergedValueCells:
    """ValueError where so many rows aren't each counted once."""
    if counts.sum() != rows:
        raise ValueError(f"a blob counts {counts.sum()} rows of {rows}")
    codes = np.flatnonzero(counts)
    return MergedValueCells((dimension.values(codes),), (pa.array(counts[codes]),) * states)


Group = tuple[tuple[int, ...], BitMap]


def _groups(dimensions: Sequence[ColumnCells], chosen: BitMap) -> list[Group] | None:
    """The rows by the codes of their values, without those that have none; None for too many."""
    groups: list[Group] = [((), chosen)] if chosen else []
    for one in dimensions:
        if len(groups) * (one.ndv + 1) > PRODUCT_MAX:
            return None
        sets = list(one.sets())
        groups = [
            ((*codes, code), both)
            for codes, rows in groups
            for code, held in enumerate(sets)
            if (both := rows & held)
        ]
    if sum(len(rows) for _, rows in groups) != len(chosen):
        raise ValueError("rows of a blob have several values, or none")
    return groups


def _state(
    kind: str, held: ColumnCells | None, groups: Sequence[BitMap], *, whole: bool
) -> pa.Array | None:
    """The state of each group; `whole`: the only one is all rows of the file."""
    if held is None or kind in _COUNTED:
        nulls = BitMap() if held is None else held.nulls
        found = [len(rows) - rows.intersection_cardinality(nulls) for rows in groups]
        return pa.array(found, pa.int64())
    ends = [held.end(None if whole else rows, last=kind == "max") for rows in groups]
    known = [one for one in ends if one is not None]
    if len(known) < len(ends):
        return None
    return pa.concat_arrays(known) if known else held.values()[:0]
