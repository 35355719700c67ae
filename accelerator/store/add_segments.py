"""Which offered segments a table takes: the first of two that hold the same rows in one form.

Pure; what is offered again unchanged is taken for an earlier try of the same builder.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from accelerator.errors import StoreConflictError, StoreError
from accelerator.store.log.cube_state import CubeState
from accelerator.store.log.segment_map import Segments
from accelerator.store.log.table_version import TableVersion
from accelerator.store.records import CoveredKey, SegmentRecord


class Added(Struct, frozen=True):
    """What `add_segments` did: the version that holds the result, and whose segments lost.

    `lost` are ids of offered segments that aren't in the store, because another builder had
    committed the same files first. Their artifacts are the caller's to delete.
    """

    version: TableVersion
    lost: tuple[int, ...] = ()


def add_segments(
    table: TableVersion, offered: Iterable[SegmentRecord], replaces: Iterable[int]
) -> Added:
    """The state with the offered segments, less those that another builder already brought."""
    after, wanted = table.without(replaces), tuple(offered)
    by_cube: dict[str, list[SegmentRecord]] = {}
    for segment in wanted:
        by_cube.setdefault(segment.cube_id, []).append(segment)
    lost: set[int] = set()
    for cube_id, segments in by_cube.items():
        before = table.cubes.get(cube_id) or CubeState(cube_id, table.loader)
        state = after.cubes.get(cube_id) or before
        taken, beaten = _resolve(segments, state.load(), before.load())
        lost.update(beaten)
        if taken:
            after = after.changed(cube_id, (), taken)
    return Added(after, tuple(segment.id for segment in wanted if segment.id in lost))


def holds(table: TableVersion, segment: SegmentRecord) -> bool:
    """Whether the very segment is in the state; reads the chunks of its cube."""
    state = table.cubes.get(segment.cube_id)
    return state is not None and state.load().by_id.get(segment.id) == segment


def _resolve(
    offered: Sequence[SegmentRecord], known: Segments, before: Segments
) -> tuple[list[SegmentRecord], list[int]]:
    """The segments to take, and the ids of those that lose; `before` had the replaced ones too."""
    if _are_strangers(offered, known):
        for segment in offered:
            _refuse_unsound(segment, known, before)
        return list(offered), []
    taken: list[SegmentRecord] = []
    lost: list[int] = []
    for segment in offered:
        if known.by_id.get(segment.id) == segment:
            continue
        _refuse_unsound(segment, known, before)
        if _has_rival(segment, known):
            lost.append(segment.id)
            continue
        known = known.changed((), [segment])
        taken.append(segment)
    return taken, lost


def _are_strangers(offered: Sequence[SegmentRecord], known: Segments) -> bool:
    """Whether no two of all share an id or a file, as in a first build: then nobody can lose."""
    keys = [file.key for segment in offered for file in segment.files]
    ids = {segment.id for segment in offered}
    return (
        len(ids) == len(offered)
        and len(set(keys)) == len(keys)
        and not any(one in known.by_id for one in ids)
        and not any(key in known.by_file for key in keys)
    )


def _has_rival(segment: SegmentRecord, known: Segments) -> bool:
    """Whether another segment holds some of the same rows in the same form.

    A segment built again for other dimension snapshots, types or settings is another source of
    the same rows, not a double, since the old one still answers time travel; so all of these are
    part of the form. A merged segment stands one level above its inputs, which stay usable; of one
    that holds some file more than each of the others no merge is a double, since these may hold for
    older snapshots alone.
    """
    form = _form(segment, known)
    keys = {file.key for file in segment.files}
    others = (known.by_id[one] for key in keys for one in known.by_file.get(key, ()))
    rivals = (one for one in others if _form(one, known) == form)
    return any(not segment.inputs or keys <= {file.key for file in one.files} for one in rivals)


def _form(segment: SegmentRecord, known: Segments) -> tuple[object, ...]:
    return (
        _level(segment, known),
        segment.format,
        segment.dimensions,
        segment.fields,
        segment.settings,
    )


def _level(segment: SegmentRecord, known: Segments) -> int:
    """0 for a built segment, else one more than the highest input; a vacuumed input counts as 0."""
    level, below = 0, segment.inputs
    while below and level <= len(known.by_id):
        level += 1
        inputs = (known.by_id[one].inputs for one in below if one in known.by_id)
        below = tuple(one for some in inputs for one in some)
    return level


def _refuse_unsound(segment: SegmentRecord, known: Segments, before: Segments) -> None:
    """Checks what must hold before the record is written, since nobody checks it again."""
    if not 0 < segment.id < 2**63:
        raise StoreError(f"segment id {segment.id} isn't a positive 63-bit number")
    if segment.id in known.by_id:
        raise StoreError(f"segment id {segment.id} is in use by another segment")
    keys: set[CoveredKey] = {file.key for file in segment.files}
    if not keys or len(keys) != len(segment.files):
        raise StoreError(f"segment {segment.id} covers no data file, or one of them twice")
    gone = [one for one in segment.inputs if one not in known.by_id and one not in before.by_id]
    if gone:
        raise StoreConflictError(
            f"segment {segment.id} merges segments that aren't in the store any more: {gone}",
            hint="read the table's segments again and merge what is there",
        )
