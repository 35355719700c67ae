"""How much of a sample of files statements read: by bounds, of row groups too, and by indexes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from accelerator.iceberg.pruning.predicates import BoundsAlone, judge
from accelerator.iceberg.rows.row_groups import GroupReader
from accelerator.iceberg.statistics.file_statistics import unknown_bounds
from indexes.bounds import Flags
from rewrite.ir.expr import Column, Expr

if TYPE_CHECKING:
    from accelerator.artifacts.sidecars.probe import TableIndexes
    from accelerator.iceberg import PinnedTable
    from accelerator.iceberg.rows.row_groups import OpenFile
    from accelerator.services.advisor.indexes.trial_build import FileSample


class Touched(Struct, frozen=True):
    """Bytes of the sample's files that a statement reads, by row groups, of so many files."""

    bytes: float
    files: int


class _RowGroupStatistics:
    """What a file's footer says of its row groups, as statistics."""

    def __init__(self, opened: OpenFile, named: Mapping[int, Column]) -> None:
        self._opened, self._named = opened, named

    def __len__(self) -> int:
        return len(self._opened.groups)

    def column(self, field_id: int, type_: str) -> BoundsAlone:
        """See `EvidenceTable`; of relate columns footers say nothing."""
        known = self._named.get(field_id)
        if known is not None:
            return BoundsAlone(self._opened.bounds(known))
        return BoundsAlone(unknown_bounds(len(self), type_))


class Reach:
    """How much of a sample statements read: by bounds of files and row groups, and by indexes.

    `named` are the fact's columns that predicates name. Opens the files on being made, and reads
    their footers; raises as `GroupReader.open`.
    """

    def __init__(
        self,
        pinned: PinnedTable,
        sample: FileSample,
        named: Sequence[Column],
        check: Callable[[], None],
    ) -> None:
        self._sample = sample
        self._opened = GroupReader(pinned, named, check).open(sample.files)
        self._named = {one.field_id: one for one in named}
        self._groups: dict[tuple[tuple[Expr, ...], int], Flags] = {}

    def touched(self, own: Sequence[Expr], indexes: TableIndexes | None) -> Touched:
        """What is read under these predicates."""
        statistics = self._sample.statistics
        if indexes is None:
            verdict, selection = judge(own, statistics), None
        else:
            verdict = indexes.judged(own, statistics)[0]
            selection = indexes.selection(own)
        passes = np.flatnonzero(~verdict.none_true & (statistics.alive != 0))
        size, files = 0.0, 0
        for place in passes.tolist():
            file = self._sample.files[place]
            chosen = self._may(tuple(own), place).copy()
            rows = np.array(self._opened[place].groups, dtype=np.int64)
            groups = None if selection is None else selection.groups(file)
            if groups is not None and max(groups, default=0) < len(chosen):
                told = np.zeros(len(chosen), dtype=bool)
                told[groups] = True
                chosen &= told
            if chosen.any():
                files += 1
                size += file.size_bytes * int(rows[chosen].sum()) / max(int(rows.sum()), 1)
        return Touched(size, files)

    def _may(self, own: tuple[Expr, ...], place: int) -> Flags:
        """Row groups of the file that may hold a match, by its footer."""
        key = own, place
        if key not in self._groups:
            groups = _RowGroupStatistics(self._opened[place], self._named)
            self._groups[key] = ~judge(own, groups).none_true
        return self._groups[key]


def share(now: Touched, then: Touched, *, whole: bool) -> float:
    """Which part of the bytes that are read now would be read.

    Of a sample one more file counts as read than was seen: what no file of a few holds, one of many
    may.

    >>> share(Touched(100.0, 10), Touched(10.0, 1), whole=True)
    0.1
    >>> share(Touched(100.0, 10), Touched(0.0, 0), whole=False)
    0.09090909090909091
    """
    if not now.bytes or not now.files:
        return 1.0
    more = 0.0 if whole else now.bytes / now.files
    return min(1.0, (then.bytes + more) / (now.bytes + more))
