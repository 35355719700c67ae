"""One cube's segments in memory, as maps that share their parts with the version before.

A change costs what it changes, not what is there: the maps are persistent tries. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from immutables import Map, MapMutation
from msgspec import Struct

from accelerator.store.records import CoveredKey, SegmentRecord


class Segments(Struct, frozen=True):
    """Segments by id, their ids by covered file, and how many of them each artifact holds."""

    by_id: Map[int, SegmentRecord] = Map()
    by_file: Map[CoveredKey, tuple[int, ...]] = Map()
    by_path: Map[str, int] = Map()

    def ordered(self) -> tuple[SegmentRecord, ...]:
        """All of them, by id."""
        return tuple(self.by_id[one] for one in sorted(self.by_id))

    def changed(self, removed: Iterable[int], added: Iterable[SegmentRecord]) -> Segments:
        """First some segments fewer, unknown ids ignored, then others more or in their place."""
        ids, files, paths = self.by_id.mutate(), self.by_file.mutate(), self.by_path.mutate()
        for one in removed:
            _remove(one, ids, files, paths)
        for segment in added:
            _remove(segment.id, ids, files, paths)
            ids[segment.id] = segment
            paths[segment.path] = paths.get(segment.path, 0) + 1
            for file in segment.files:
                files[file.key] = (*files.get(file.key, ()), segment.id)
        return Segments(ids.finish(), files.finish(), paths.finish())


def _remove(
    one: int,
    ids: MapMutation[int, SegmentRecord],
    files: MapMutation[CoveredKey, tuple[int, ...]],
    paths: MapMutation[str, int],
) -> None:
    segment = ids.get(one)
    if segment is None:
        return
    del ids[one]
    left = paths[segment.path] - 1
    if left:
        paths[segment.path] = left
    else:
        del paths[segment.path]
    for file in segment.files:
        rest = tuple(other for other in files[file.key] if other != one)
        if rest:
            files[file.key] = rest
        else:
            del files[file.key]
