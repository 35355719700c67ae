"""Which segments of a cube still hold after a dimension has changed.

Those of files without a key whose row in the dimension differs in what the cube uses of it. Only
for dimensions that are joined to the fact itself, by columns of one type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from accelerator.artifacts.relate.dimensions import Dimensions
from accelerator.artifacts.relate.index_validity import without
from accelerator.artifacts.relate.path import column_of
from rewrite.ir.block import joins_by_identity
from rewrite.ir.expr import Column

if TYPE_CHECKING:
    from accelerator.artifacts.sidecars.probe import TableIndexes
    from accelerator.iceberg import PinnedTable
    from cubes.coverage import Segment
    from cubes.definition import CubeDefinition

FileKey = tuple[str, int]


class SegmentsThatHold:
    """What is known of one cube's segments under one pin; `pinned` is by the cube's occurrences."""

    def __init__(
        self,
        cube: CubeDefinition,
        pinned: Mapping[int, PinnedTable],
        dimensions: Dimensions,
        indexes: Callable[[], TableIndexes | None],
    ) -> None:
        self._cube, self._pinned = cube, pinned
        self._dimensions, self._indexes = dimensions, indexes
        self._known: dict[tuple[int, int | None], frozenset[FileKey]] = {}

    def __call__(self, segment: Segment, occurrence: int, snapshot: int | None) -> bool:
        """Whether the segment holds, which was built from that snapshot of the dimension."""
        name = occurrence, snapshot
        if name not in self._known:
            self._known[name] = self._files(occurrence, snapshot)
        holding = self._known[name]
        return all((f.path, f.sequence_number) in holding for f in segment.files)

    def _files(self, occurrence: int, snapshot: int | None) -> frozenset[FileKey]:
        """The fact's files that surely have no key that has changed since."""
        edge = next((e for e in self._cube.edges if e.occurrence == occurrence), None)
        fact, dimension = self._pinned[0], self._pinned[occurrence]
        if edge is None or snapshot is None:
            return frozenset()
        own, mine = [], []
        for column, other in edge.keys:
            key = column_of(dimension, column.field_id)
            here = column_of(fact, other.field_id) if isinstance(other, Column) else None
            of_fact = isinstance(other, Column) and other.occurrence == 0
            if not of_fact or key is None or here is None:
                return frozenset()
            if not joins_by_identity(key.type, here.type):
                return frozenset()
            own.append(key.field_id)
            mine.append(here)
        used = {field for at, field in self._cube.fields() if at == occurrence}
        changed = self._dimensions.changed_rows(dimension, snapshot, tuple(own), frozenset(used))
        if changed is None:
            return frozenset()
        statistics, indexes = fact.statistics(), self._indexes()
        if len(changed):
            light = {} if indexes is None else indexes.by_field
            left = without(changed, mine, statistics, light)
        else:
            left = np.ones(len(statistics), dtype=bool)
        return frozenset(f.key for f in statistics.source.live(left))
