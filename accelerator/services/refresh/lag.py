"""How far a cube or index is behind: the age of the oldest commit that isn't all covered.

What isn't covered came by a commit of its own table, by one that deleted rows, or by one of a
dimension. Where the snapshot of that commit has expired, the next later one counts; tables of
format 1 number no commits, so that their newest one does.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.store import SegmentRecord

if TYPE_CHECKING:
    from accelerator.builds.segments.builder import CubeTarget
    from accelerator.builds.sidecars.builder import IndexTarget, MissingFiles

FileKey = tuple[str, int]


def lag_s(behind_ms: int | None, now_ms: int) -> float:
    """Seconds since then; 0 where nothing is behind, or a clock went back."""
    return 0.0 if behind_ms is None else max(0, now_ms - behind_ms) / 1000


def of_cube(
    target: CubeTarget, lacking: Sequence[LiveFile], built: Iterable[SegmentRecord]
) -> int | None:
    """When the oldest commit was that a cube lacks files of, in Unix ms; None: it lacks none.

    `built` are all of its segments, those too that hold no more.
    """
    if not lacking:
        return None
    fact, wanted = Commits(target.pinned[0]), {file.key for file in lacking}
    before: dict[FileKey, list[tuple[str, SegmentRecord]]] = {}
    for segment in built:
        for one in segment.files:
            key = (one.path, one.sequence_number)
            if key in wanted:
                before.setdefault(key, []).append((one.deletes_key, segment))
    return min(_since(target, fact, file, before.get(file.key, ())) for file in lacking)


def _since(
    target: CubeTarget,
    fact: Commits,
    file: LiveFile,
    before: Sequence[tuple[str, SegmentRecord]],
) -> int:
    """Since when the cube lacks that file, which those segments had."""
    if not before:
        return fact.at(file.sequence_number)
    same = [segment for key, segment in before if key == file.deletes_key]
    if not same:
        return fact.at(max((one.sequence_number for one in file.deletes), default=None))
    moved = [
        Commits(target.pinned[number]).after(snapshot)
        for segment in same
        for number, _, snapshot in segment.dimensions
        if target.pinned[number].facts.snapshot_id != snapshot
    ]
    return min(moved, default=fact.changed_ms)


def of_index(target: IndexTarget, due: MissingFiles) -> int | None:
    """The same of an index, by what a build would open."""
    fact, found = Commits(target.pinned), list[int]()
    found += (fact.at(number) for _, number in due.lacking)
    for number, one in enumerate(() if target.path is None else target.path.dimensions):
        states = {before[number][1] for before in due.doubtful.values()}
        changed = states - {one.facts.snapshot_id}
        found += (Commits(one).after(snapshot) for snapshot in changed)
    if not found and due.doubtful:
        return fact.changed_ms
    return min(found, default=None)


class Commits:
    """When a table's commits were, as far as its metadata tells."""

    def __init__(self, table: PinnedTable) -> None:
        snapshots = table.metadata.snapshots
        self.changed_ms = table.metadata.last_updated_ms or 0
        self._newest_ms = self.changed_ms if table.snapshot_ms is None else table.snapshot_ms
        numbered = sorted((s.sequence_number or 0, s.timestamp_ms) for s in snapshots)
        self._numbers = [number for number, _ in numbered]
        self._times = [time for _, time in numbered]
        self._by_id = {s.snapshot_id: s.timestamp_ms for s in snapshots}

    def at(self, number: int | None) -> int:
        """The time of the commit of that sequence number, in Unix ms; of the newest for None."""
        if not number:
            return self._newest_ms
        place = bisect_left(self._numbers, number)
        return self._times[place] if place < len(self._times) else self._newest_ms

    def after(self, snapshot_id: int | None) -> int:
        """The time of the commit that came after that snapshot, in Unix ms."""
        known = None if snapshot_id is None else self._by_id.get(snapshot_id)
        later = [time for time in self._times if known is None or time > known]
        return min(later, default=self._newest_ms)
