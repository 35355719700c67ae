"""What of a relate column's index still holds once its dimensions have changed.

What was built says of which snapshots. Of others it holds for the files that have no key whose
value differs; which those are is told by what is known of the fact's keys: bounds and light
indexes here, or by a look into the file, in a build.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from msgspec import Struct, field

from accelerator.artifacts.relate.dimensions import Dimensions
from accelerator.artifacts.relate.lookup import Keys
from accelerator.artifacts.relate.path import Path, Snapshots, column_of
from accelerator.iceberg import PinnedTable
from accelerator.iceberg.statistics.file_statistics import FileStatistics
from accelerator.store import SegmentRecord
from indexes.bounds import Flags
from indexes.domains import NotIndexableError, to_domain
from indexes.question import Among, Question
from rewrite.facts import ColumnFacts

_ASKED_MAX = 1_000
"""Changed keys that light indexes are asked about, one by one."""


class Absent(Protocol):
    """A light index of a column, over the files of some statistics."""

    def absent(self, question: Question) -> Flags | None:
        """Files without a row of which it's TRUE; None where that can't be told."""
        ...


def snapshots_of(record: SegmentRecord) -> Snapshots:
    """The states of the dimensions that it was built from; none where it has no dimensions."""
    return tuple((uuid, snapshot) for _, uuid, snapshot in sorted(record.dimensions))


def dimensions_of(path: Path) -> tuple[tuple[int, str, int | None], ...]:
    """These states as records have them."""
    return tuple((i, *one) for i, one in enumerate(path.snapshots, start=1))


class PinnedRelate(Struct, frozen=True):
    """A relate column as a statement sees it: its fact, and its dimensions as they're pinned.

    `known` is by the statistics, since a statement may ask about all files of the fact, and then
    about those that a cube lacks.
    """

    path: Path
    fact: PinnedTable
    dimensions: Dimensions
    known: WeakKeyDictionary[FileStatistics, dict[Snapshots, Flags]] = field(
        default_factory=WeakKeyDictionary
    )

    @property
    def column(self) -> ColumnFacts:
        """The relate column as a column of the fact."""
        return self.path.as_column

    @property
    def key_columns(self) -> Sequence[ColumnFacts]:
        """The fact's columns by which it's looked up; none where one is gone."""
        return key_columns(self.path, self.fact) or ()

    @property
    def stale(self) -> int:
        """Files for which some of what was built doesn't hold any more, as far as was asked."""
        every = [flags for known in list(self.known.values()) for flags in known.values()]
        return max((int((~flags).sum()) for flags in every), default=0)

    @property
    def key(self) -> tuple[int, Snapshots, str]:
        """What tells it from others."""
        return self.path.column.id, self.path.snapshots, self.path.attribute.type

    def holds(
        self,
        record: SegmentRecord,
        statistics: FileStatistics,
        light: Mapping[int, Sequence[Absent]],
    ) -> Flags:
        """Files of the statistics for which the record holds if it tells of them."""
        before, known = snapshots_of(record), self.known.setdefault(statistics, {})
        if before not in known:
            known[before] = self._holds(before, statistics, light)
        return known[before]

    def _holds(
        self,
        before: Snapshots,
        statistics: FileStatistics,
        light: Mapping[int, Sequence[Absent]],
    ) -> Flags:
        if before == self.path.snapshots:
            return np.ones(len(statistics), dtype=bool)
        nothing = np.zeros(len(statistics), dtype=bool)
        changed = self.dimensions.changed(self.path, before)
        if changed is None:
            return nothing
        if not len(changed):
            return ~nothing
        columns = key_columns(self.path, self.fact)
        if columns is None:
            return nothing
        return without(changed, columns, statistics, light)


def key_columns(path: Path, fact: PinnedTable) -> list[ColumnFacts] | None:
    """The fact's columns by which the path's first dimension is reached; None where one is gone."""
    found = [column_of(fact, key.other.field_id) for key in path.column.path[0].keys]
    return None if None in found else [one for one in found if one is not None]


def without(
    keys: Keys,
    columns: Sequence[ColumnFacts],
    statistics: FileStatistics,
    light: Mapping[int, Sequence[Absent]],
) -> Flags:
    """Files that surely have none of the keys, which are in these columns."""
    found = np.zeros(len(statistics), dtype=bool)
    for values, column in zip(keys.columns, columns, strict=True):
        try:
            asked = to_domain(values.unique(), column.type)
        except NotIndexableError:
            continue
        bounds = statistics.column(column.field_id, column.type).bounds
        found |= bounds.always_null | (bounds.bounded & _between(asked, bounds.lower, bounds.upper))
        if len(asked) <= _ASKED_MAX:
            question = Among(tuple(asked.to_pylist()))
            for one in light.get(column.field_id, ()):
                absent = one.absent(question)
                if absent is not None:
                    found |= absent
    return found


def _between(values: pa.Array, lower: pa.Array, upper: pa.Array) -> Flags:
    """Whether no value lies between both bounds, which are of one domain with them."""
    ordered = np.sort(_comparable(values))
    first = np.searchsorted(ordered, _comparable(lower), "left")
    last = np.searchsorted(ordered, _comparable(upper), "right")
    none: Flags = first >= last
    return none


def _comparable(values: pa.Array) -> np.ndarray:  # of numbers or of bytes
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        return np.asarray(values.fill_null(0).to_numpy(zero_copy_only=False))
    return np.array([one or b"" for one in values.to_pylist()], dtype=object)
