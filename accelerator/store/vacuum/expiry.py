"""The end of what nothing can use; a vacuum's first step.

That is: cubes past their time in the recycle bin, what drops that died by half have left, and
segments of data files that are in no snapshot.

Promises: what hasn't been in the bin for as long as was promised stays, and so does what UNDROP
CUBE brought back. Two commits: the cube leaves the registry, then its segments leave the table's
state and are garbage. A crash in between leaves segments that no cube owns: nothing reads them, and
the next vacuum goes on with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from accelerator.store.log.chunks import Damaged
from accelerator.store.log.registry import RegistryVersion
from accelerator.store.log.table_version import TableVersion
from accelerator.store.log.versioned_log import VersionedLog
from accelerator.store.records import DroppedCube, SegmentRecord
from accelerator.store.vacuum.vacuum import VacuumContext, doubt, newest

Unusable = Callable[[Iterable[SegmentRecord]], Iterable[int] | None]
"""The ids of those segments that no statement can use any more, whatever snapshot it reads.

None where the lake can't be read. All segments are taken; a cube's are never in memory at once.
"""


def expire(
    scene: VacuumContext, log: VersionedLog[RegistryVersion], unusable: Unusable | None = None
) -> TableVersion:
    """Ends what is past its time, a dry run only tells; the table's newest version then.

    That is read first: where it's damaged, cubes leave the registry no more than files go; and so
    `unusable` sees snapshots that are newer than the segments, never a segment of a newer snapshot.
    """
    version, registry = newest(scene), sound_registry(log)
    ended = registry.expired(scene.table_uuid, scene.now_ms)
    if ended and not scene.dry_run:
        registry, ended = _end(scene, log)
    scene.report.deleted("cube", "its time in the recycle bin is over", len(ended))
    gone = {one.cube.id for one in ended}
    kept = [one for one in registry.bin if one.cube.id not in gone]
    ours = sum(one.cube.table_uuid == scene.table_uuid for one in kept)
    scene.report.kept("cube", "in the recycle bin", ours)
    found = unowned(version, registry)
    scene.report.deleted("cube", "dropped by halves", len(set(found) - gone))
    if found and not scene.dry_run:
        version = _forget(scene, log)
    return version if unusable is None else _forget_unusable(scene, version, unusable)


def sound_registry(log: VersionedLog[RegistryVersion]) -> RegistryVersion:
    """The newest registry; StoreError where it's damaged, since what it owns is unknown."""
    registry = log.listed()
    if log.damage:
        raise doubt(log.damage)
    return registry


def unowned(version: TableVersion, registry: RegistryVersion) -> list[str]:
    """Cubes that are neither registered nor in the bin; the registry is asked after the table.

    Who lost a whole registry mustn't lose the cubes' files too.
    """
    if not registry.number:
        return []
    owned = registry.owned
    return [one for one in version.cubes if one not in owned]


def _end(
    scene: VacuumContext, log: VersionedLog[RegistryVersion]
) -> tuple[RegistryVersion, tuple[DroppedCube, ...]]:
    """Takes out of the bin what is past its time; what was undropped meanwhile isn't there."""
    ended: tuple[DroppedCube, ...] = ()

    def change(registry: RegistryVersion) -> RegistryVersion:
        nonlocal ended
        ended = registry.expired(scene.table_uuid, scene.now_ms)
        return registry.without_dropped(ended)

    return log.commit(change), ended


def _forget_unusable(
    scene: VacuumContext, version: TableVersion, unusable: Unusable
) -> TableVersion:
    """Makes garbage of segments; ids are random, so none of them can have come to mean another."""
    found: dict[str, set[int]] = {}
    for cube_id, state in version.cubes.items():
        segments = _SegmentCounts(state.each())
        try:
            told = unusable(segments)
        except Damaged:
            scene.report.kept("cube", "its segments can't be read")
            continue
        if told is None:
            reason = "what the table's snapshots hold can't be read"
            scene.report.kept("segment", reason, segments.count)
            continue
        ids = set(told)
        scene.report.deleted("segment", "its data files are in no snapshot", len(ids))
        if ids:
            found[cube_id] = ids

    def change(table: TableVersion) -> TableVersion:
        for cube_id, ids in found.items():
            left = table.cubes.get(cube_id)
            here = [one for one in sorted(ids) if left and one in left.load().by_id]
            table = table.changed(cube_id, here, ()) if here else table
        return table

    return scene.log.commit(change) if found and not scene.dry_run else version


class _SegmentCounts:
    """Segments, and how many of them were taken."""

    def __init__(self, segments: Iterator[SegmentRecord]) -> None:
        self._segments, self.count = segments, 0

    def __iter__(self) -> Iterator[SegmentRecord]:
        for one in self._segments:
            self.count += 1
            yield one


def _forget(scene: VacuumContext, log: VersionedLog[RegistryVersion]) -> TableVersion:
    """Makes garbage of the segments that no cube owns; reads none of them."""

    def change(table: TableVersion) -> TableVersion:
        for cube_id in unowned(table, sound_registry(log)):
            table = table.without_cube(cube_id)
        return table

    return scene.log.commit(change)
