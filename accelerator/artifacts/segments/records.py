"""The records of new segments: what a job wrote, or a merge, as the store keeps it.

Pure. A record says all that is needed to tell later whether its rows are still right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from accelerator.artifacts.segments.checksums import CHECKSUM
from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.store import CoveredFile, EdgeCount, SegmentRecord, Store
from cubes.coverage import read_as
from cubes.definition import FORMAT, CubeDefinition
from rewrite.ir.expr import Column

Bounds = Mapping[tuple[str, int], dict[str, list[int]]]
"""By a file's key and a field id, as text, the least and the largest value."""
FILE_BYTES = "file_bytes"
"""The fact that has the size of the whole artifact, since `bytes` is one segment's share."""
COLUMN_BYTES = "column_bytes"
"""The fact that has each stored column's bytes, a segment's share of the artifact's."""
DERIVED_FROM = "derived_from"
"""The fact that names the cube, by its id, whose cells a segment was made of."""


class WrittenSegment(Struct, frozen=True):
    """What a job wrote of one segment; without cells it has no file."""

    uri: str
    cells: int
    raw_rows: int
    bytes: int
    file_segments: int
    file_bytes: int
    columns: Mapping[str, int]
    checksum: str

    @property
    def facts(self) -> dict[str, object]:
        """What a segment's record says of its artifact."""
        found: dict[str, object] = {
            "file_segments": self.file_segments,
            FILE_BYTES: self.file_bytes,
            COLUMN_BYTES: dict(self.columns),
        }
        return found | ({CHECKSUM: self.checksum} if self.checksum else {})


NOTHING = WrittenSegment("", 0, 0, 0, 0, 0, {}, "")


def file_sizes(segments: Iterable[SegmentRecord], store: Store) -> dict[str, int]:
    """Returns the bytes of the segments' files by URI, as recorded; if they aren't, as stored."""
    found: dict[str, int] = {}
    for one in segments:
        recorded = one.facts.get(FILE_BYTES)
        if isinstance(recorded, int):
            found[one.path] = recorded
        elif store.is_local:  # nobody needs it
            found[one.path] = 0
        elif one.path not in found:
            found[one.path] = store.artifact_size(one.path)
    return found


class Counts(Struct, frozen=True):
    """What a job counted of its joins: unique keys by edge, and missing partners by file and edge.

    `counted` are the edges whose missing partners are known; `missing` None says there are none.
    """

    unique: Mapping[int, bool | None]
    counted: frozenset[int]
    missing: Mapping[str, Mapping[int, int]] | None

    def of(self, cube: CubeDefinition, path: str) -> tuple[EdgeCount, ...]:
        """The counts of one file."""
        found = {} if self.missing is None else self.missing.get(path, {})
        return tuple(
            EdgeCount(o, found.get(o, 0) if o in self.counted else None, self.unique.get(o))
            for o in (edge.occurrence for edge in cube.edges)
        )


def built_segment(
    cube: CubeDefinition,
    cube_id: str,
    pinned: Sequence[PinnedTable],
    file: LiveFile,
    number: int,
    written: WrittenSegment,
    counts: Counts,
    bounds: Bounds,
    settings: Mapping[str, str],
    facts: Mapping[str, str] | None = None,
) -> SegmentRecord:
    """The record of one data file's segment; `facts` are more of them."""
    used = cube.fields()
    fields = tuple(
        (p.facts.uuid, c.field_id, read_as(c), c.required)
        for o, p in enumerate(pinned)
        for c in p.facts.columns
        if (o, c.field_id) in used
    )
    covered = CoveredFile(
        file.path, file.sequence_number, file.deletes_key, file.record_count, file.size_bytes
    )
    return SegmentRecord(
        id=number,
        cube_id=cube_id,
        path=written.uri,
        rows=written.cells,
        bytes=written.bytes,
        files=(covered,),
        dimensions=tuple((o, p.facts.uuid, p.facts.snapshot_id) for o, p in enumerate(pinned) if o),
        edges=counts.of(cube, file.path),
        fields=fields,
        settings=tuple(sorted(settings.items())),
        format=FORMAT,
        facts={
            **written.facts,
            "bounds": bounds.get(file.key, {}),
            **(facts or {}),
        },
    )


def merged_segment(
    segments: Sequence[SegmentRecord], number: int, written: WrittenSegment
) -> SegmentRecord:
    """The record of a merge, which covers what its inputs cover."""
    first = segments[0]
    return SegmentRecord(
        id=number,
        cube_id=first.cube_id,
        path=written.uri,
        rows=written.cells,
        bytes=written.bytes,
        files=tuple(f for s in segments for f in s.files),
        dimensions=first.dimensions,
        edges=_merged_edges(segments),
        fields=first.fields,
        settings=first.settings,
        format=FORMAT,
        inputs=tuple(s.id for s in segments),
        facts={
            **written.facts,
            "bounds": _merged_bounds(segments),
        },
    )


def bounds_of(cube: CubeDefinition, fact: PinnedTable, files: Sequence[LiveFile]) -> Bounds:
    """Proven bounds of the fact's integer columns that the cube sums, by file and field id.

    Of columns without a NULL in the file, as its manifest says; a file without rows has none.
    """
    types = {c.field_id: c.type for c in fact.facts.columns}
    summed = {
        s.argument.field_id
        for s in cube.states
        if s.kind == "sum" and isinstance(s.argument, Column) and s.argument.occurrence == 0
    }
    wanted = sorted(one for one in summed if types.get(one) in ("int", "bigint"))
    if not wanted:
        return {}
    told = fact.statistics_of(files)
    paths, numbers = told.source.keys()
    keys = list(zip(paths.to_pylist(), numbers.tolist(), strict=True))
    found: dict[tuple[str, int], dict[str, list[int]]] = {}
    for field_id in wanted:
        column = told.column(field_id, types[field_id])
        proven = column.bounds.bounded & (column.bounds.nulls == 0) & column.tight
        proven &= ~column.unproven
        if column.contradicts or column.bounds.numbers is None:
            continue
        low, high = column.bounds.numbers
        for place in (proven & (told.rows > 0)).nonzero()[0].tolist():
            found.setdefault(keys[place], {})[str(field_id)] = [int(low[place]), int(high[place])]
    return found


def _merged_edges(segments: Sequence[SegmentRecord]) -> tuple[EdgeCount, ...]:
    merged = []
    for position, edge in enumerate(segments[0].edges):
        all_edges = [s.edges[position] for s in segments]
        missing = [e.missing for e in all_edges]
        total = None if None in missing else sum(m for m in missing if m is not None)
        merged.append(EdgeCount(edge.edge, total, all(e.unique is True for e in all_edges)))
    return tuple(merged)


def _merged_bounds(segments: Sequence[SegmentRecord]) -> dict[str, list[int]]:
    """Bounds that hold in every input; one without rows has none to widen them by."""
    parts = [s.facts.get("bounds", {}) for s in segments]
    shared = set.intersection(*(set(p) for p in parts))
    return {k: [min(p[k][0] for p in parts), max(p[k][1] for p in parts)] for k in sorted(shared)}
