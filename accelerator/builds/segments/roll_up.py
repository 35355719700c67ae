"""Which files of a build need no data read: the segments of finer cubes that their cells come of.

Only valid segments of one data file each count, as a statement would read them under the build's
own pins and settings, of cubes that aren't switched off; those with the fewest cells first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from msgspec import Struct

from accelerator.artifacts.segments.records import COLUMN_BYTES, Counts
from accelerator.builds.loop import parts
from accelerator.builds.segments.repair import broken_segments
from accelerator.common.config.config import Config
from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.store import BESIDE, CubeRecord, SegmentRecord, Store
from cubes.coverage import cover
from cubes.definition import CubeDefinition, from_dict
from cubes.match.roll_up import Derivation, derive
from cubes.match_result import Needs
from rewrite.reason import Declined

_SMALL_BYTES = 16 * 1024 * 1024  # of cells: whatever they weigh, Spark takes longer


class RollUpSource(Struct, frozen=True):
    """A finer cube, by its id, and those of its segments that files' cells are made of."""

    cube_id: str
    derivation: Derivation
    segments: tuple[SegmentRecord, ...]

    def parts(self, config: Config) -> Iterator[RollUpSource]:
        """The same in jobs as large as a build's, and as DuckDB is given to read.

        A segment that is larger alone is in none.
        """
        most = min(config.build_bytes_per_job, config.given_bytes_max)
        some = (one for one in self.segments if one.bytes <= most)
        files_max = config.build_files_per_job
        for part in parts(some, files_max=files_max, weigh=lambda one: one.bytes, most=most):
            yield RollUpSource(self.cube_id, self.derivation, tuple(part))

    def counts(self) -> Counts:
        """What is known of the coarser cube's joins: the finer one's counters of them."""
        edges = self.derivation.edges
        missing: dict[str, dict[int, int]] = {}
        for segment in self.segments:
            counted = {e.edge: e.missing or 0 for e in segment.edges}
            missing[segment.files[0].path] = {mine: counted[theirs] for mine, theirs in edges}
        mine = [own for own, _ in edges]
        return Counts(dict.fromkeys(mine, True), frozenset(mine), missing)


def sources(
    store: Store,
    record: CubeRecord,
    cube: CubeDefinition,
    pinned: Sequence[PinnedTable],
    files: Sequence[LiveFile],
    settings: Mapping[str, str],
) -> list[RollUpSource]:
    """Returns the sources of the cube's segments of these files; each file is in one at most.

    The cube that this one replaces gives none, because it may be replaced for its errors.
    """
    found = []
    replaced = record.name.removesuffix(BESIDE) if record.name.endswith(BESIDE) else None
    others = [one for one in definitions(store, record.table_uuid) if one[0].name != replaced]
    for other in finer(others, record, cube, pinned, settings):
        segments = _segments(store, other[0], other[1], pinned, files, dict(settings))
        if segments:
            found.append(RollUpSource(other[0].id, other[1], segments))
    found.sort(key=lambda s: sum(one.rows for one in s.segments) / len(s.segments))
    taken: set[str] = set()
    chosen = []
    for source in found:
        own = tuple(s for s in source.segments if s.files[0].path not in taken)
        taken |= {s.files[0].path for s in own}
        if own:
            chosen.append(RollUpSource(source.cube_id, source.derivation, own))
    return chosen


def definitions(store: Store, table_uuid: str) -> list[tuple[CubeRecord, CubeDefinition]]:
    """The cubes of a table that others may be made of, each read once."""
    found = []
    for record in store.registry().cubes.values():
        if record.table_uuid != table_uuid or record.disabled:
            continue
        try:
            found.append((record, from_dict(dict(record.definition))))
        except ValueError:  # of a later release
            continue
    return found


def finer(
    others: Sequence[tuple[CubeRecord, CubeDefinition]],
    record: CubeRecord,
    cube: CubeDefinition,
    pinned: Sequence[PinnedTable],
    settings: Mapping[str, str],
) -> Iterator[tuple[CubeRecord, Derivation]]:
    """Those of a table's cubes whose cells give this one's, whatever they have built."""
    tables = [p.facts for p in pinned]
    for other, definition in others:
        if other.id == record.id:
            continue
        derivation = derive(cube, definition, tables, settings.get("time_zone"))
        if not isinstance(derivation, Declined):
            yield other, derivation


def _segments(
    store: Store,
    other: CubeRecord,
    derivation: Derivation,
    pinned: Sequence[PinnedTable],
    files: Sequence[LiveFile],
    settings: Mapping[str, str],
) -> tuple[SegmentRecord, ...]:
    """The finer cube's segments of single files that hold under these pins, and are whole."""
    needs = derivation.match.needs
    mapped = {0: pinned[0].facts, **{theirs: pinned[mine].facts for theirs, mine in needs.named}}
    counted = frozenset(theirs for _, theirs in derivation.edges)
    needs = Needs(needs.complete, needs.unique | counted, needs.named, needs.bounded)
    single = [s for s in store.table(other.table_uuid).of(other.id) if len(s.files) == 1]
    chosen = cover(derivation.finer, single, files, mapped, needs, settings).segments
    known = [
        s
        for s in chosen
        if all(e.missing is not None for e in s.edges if e.edge in counted)
        and is_lighter(s, derivation.match.stored)
    ]
    broken = set(broken_segments(store, known))
    return tuple(s for s in known if s.id not in broken)


def is_lighter(segment: SegmentRecord, stored: Set[str]) -> bool:
    """Whether those of its columns that are read are less than its data file; small ones are."""
    columns = segment.facts.get(COLUMN_BYTES, {})
    read = sum(columns.get(name, 0) for name in stored)
    return bool(read <= max(segment.files[0].size_bytes, _SMALL_BYTES))
