"""A cube's match and coverage as a candidate plan: its cost in bytes, and its DuckDB text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from accelerator.builds.segment_records import COLUMN_BYTES
from accelerator.engines.duckdb import parquet_scan
from accelerator.engines.hot_segments import Copy
from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.plans import CELLS, Beside, DuckDBRun, Manifests, Tried
from accelerator.store import CubeRecord, SegmentRecord
from accelerator.store.files import local_path
from cubes.build_sql import SEGMENT, cells_count, rolled_select
from cubes.cover_sql import RawSource, SegmentSource, answer_sql
from cubes.definition import CubeDefinition
from cubes.freshness import Coverage
from cubes.plan import Match
from rewrite.block import Block
from rewrite.expr import Column, columns
from rewrite.join_elimination import Reduced
from rewrite.reason import Declined, DeclinedError

_COPIED_WHOLE = 4 * 1024 * 1024
"""Bytes of segment files that are copied as they are. Of a larger one Parquet's statistics and
Bloom filters leave fewer rows to read than a whole copy would."""

_STAGES = (
    "fact_not_in_query",
    "table_not_in_cube",
    "fact_null_supplying",
    "join_differs",
    "join_not_counted",
    "column_not_in_cube",
    "predicate_not_implied",
    "aggregate_not_in_cube",
)
"""Reasons of a match in the order in which a cube nears an answer; any other is nearer still."""


@dataclass(frozen=True)
class Candidate:
    """A cube, or the manifests, that answer the block, with what would be read.

    Where it's `reduced`, that's the block which is answered in place of the statement's.
    """

    title: str
    cube_id: str | None
    cube: CubeDefinition
    match: Match
    coverage: Coverage
    segment_bytes: int
    raw_bytes: int
    tried: Tried
    manifests: Manifests | None = None
    reduced: Reduced | None = None
    beside: Beside | None = None


def candidate(
    record: CubeRecord,
    cube: CubeDefinition,
    match: Match,
    coverage: Coverage,
    pinned: Sequence[PinnedTable],
) -> Tried | Candidate:
    """The candidate; `Tried` with a reason where not a single segment is valid."""
    refused = tuple(sorted(coverage.refused.items()))
    if not coverage.segments:
        shown = ", ".join(f"{count} × {code}" for code, count in refused)
        code = refused[0][0] if len(refused) == 1 else "cover_unavailable"
        detail = f"Segments refused: {shown}." if shown else "It has no segment."
        return Tried(record.name, Declined(code, detail), 0, 0, len(coverage.uncovered), refused)
    segment_bytes = bytes_read(coverage.segments, match.stored | {SEGMENT})
    raw_bytes = raw_bytes_of(match, coverage, pinned)
    tried = Tried(
        record.name,
        None,
        segment_bytes + raw_bytes,
        len(coverage.segments),
        len(coverage.uncovered),
        refused,
    )
    return Candidate(record.name, record.id, cube, match, coverage, segment_bytes, raw_bytes, tried)


def raw_bytes_of(match: Match, coverage: Coverage, pinned: Sequence[PinnedTable]) -> int:
    """Bytes of the raw files and of the tables that are read beside them."""
    size: int = sum(f.size_bytes for f in coverage.uncovered)
    for number in read_beside(match, coverage, pinned):
        size += sum(f.size_bytes for f in pinned[number].live_files())
    return size


def read_beside(match: Match, coverage: Coverage, pinned: Sequence[PinnedTable]) -> Iterator[int]:
    """The occurrences of which all rows are read: those joined to cells or to the raw files."""
    for number in range(len(pinned)):
        if number in match.joined or (coverage.uncovered and number != match.fact):
            yield number


def has_equality_deletes(files: Iterable[LiveFile]) -> bool:
    """Which only Spark applies."""
    return any(d.content == "equality" for f in files for d in f.deletes)


def check_raw(block: Block, best: Candidate, pinned: Sequence[PinnedTable]) -> None:
    """DeclinedError where rows can't be read in process as Spark has them."""
    _check_partitions(block, best, pinned)
    _check_deletes(best, pinned)


def _check_deletes(best: Candidate, pinned: Sequence[PinnedTable]) -> None:
    """DeclinedError where a table that is read beside the fact has equality deletes."""
    for number in read_beside(best.match, best.coverage, pinned):
        if has_equality_deletes(pinned[number].live_files()):
            raise DeclinedError("equality_deletes")


def _check_partitions(block: Block, best: Candidate, pinned: Sequence[PinnedTable]) -> None:
    """DeclinedError where raw files may hold other values than their partitions say.

    What reads files here takes the files' own values, Spark takes the partition's.
    """
    from accelerator.survey import Survey  # imports Arrow's compute module

    fact = (best.match.fact,) if best.coverage.uncovered else ()
    for number in (*fact, *read_beside(best.match, best.coverage, pinned)):
        table = pinned[number]
        used = [c for c in fields_used(block, number) if c.field_id in table.fixed_fields]
        if not used:
            continue
        told = (
            table.statistics_of(best.coverage.uncovered) if number in fact else table.statistics()
        )
        known = Survey(told, ()).believed((), used)
        if isinstance(known, Declined):
            raise DeclinedError(known.code, known.detail)
        unproven = known.unproven()
        if unproven is not None:
            raise DeclinedError("metadata_contradicts", f"The column {unproven.name}.")


def bytes_read(segments: Iterable[SegmentRecord], names: Collection[str]) -> int:
    """Bytes of those columns in the segments' files; statistics may leave out some of them."""
    total = 0
    for segment in segments:
        columns: Mapping[str, int] | None = segment.facts.get(COLUMN_BYTES)
        if columns is None:  # of a release that didn't count them
            total += segment.bytes
        else:
            total += sum(columns.get(name, 0) for name in names)
    return total


def cheapest(candidates: Iterable[Candidate]) -> Candidate | None:
    """The one that reads the fewest bytes; ties by name, so that plans are stable."""
    return min(candidates, key=lambda c: (c.tried.bytes, c.title), default=None)


def nearest(tried: Iterable[Tried]) -> Declined | None:
    """The reason of the cube that came nearest to answering; ties go to the first."""

    def stage(declined: Declined) -> int:
        return _STAGES.index(declined.code) if declined.code in _STAGES else len(_STAGES)

    return max((t.declined for t in tried if t.declined is not None), key=stage, default=None)


def segment_condition(segments: Sequence[SegmentRecord]) -> str:
    """The condition that picks these segments out of their files; empty where they are all."""
    chosen = Counter(s.path for s in segments)
    if all(s.facts.get("file_segments") == chosen[s.path] for s in segments):
        return ""
    return f"{SEGMENT} IN ({', '.join(str(s.id) for s in sorted(segments, key=lambda s: s.id))})"


def segment_paths(segments: Iterable[SegmentRecord]) -> list[str]:
    """The distinct files of segments, as local paths."""
    return sorted({local_path(s.path) for s in segments})


def duckdb_run(block: Block, best: Candidate) -> DuckDBRun:
    """The DuckDB text; DeclinedError where DuckDB isn't proven to mean the same."""
    if any(o.name is None for o in block.outputs):
        raise DeclinedError("expression_not_proven", "Only Spark knows an output's name.")
    filled = [s for s in best.coverage.segments if s.rows]
    paths = segment_paths(filled)
    scan = parquet_scan(paths) if filled else ""
    sources = []
    if filled:
        sources.append(SegmentSource(scan, segment_condition(filled)))
    raw: RawSource | None = None
    tables: tuple[tuple[str, int], ...] = ()
    if best.manifests is not None and best.manifests.cells is not None:
        sources.append(SegmentSource(CELLS, ""))
    if best.beside is not None and best.beside.manifests.cells is not None:
        sources.append(SegmentSource(CELLS, "", best.beside.match))
    names = tuple(f"raw_{o.index}" for o in block.occurrences)
    if best.coverage.uncovered or not sources:
        if has_equality_deletes(best.coverage.uncovered):
            raise DeclinedError("equality_deletes")
        raw = RawSource(names)
        tables = tuple((name, index) for index, name in enumerate(names))
    elif best.match.delta:
        raw = RawSource(names, fact=False)
        tables = tuple((names[number], number) for number in sorted(best.match.joined))
    text = answer_sql(block, best.match, "duckdb", sources, raw)
    return DuckDBRun(text, tables, scan, _copy(best, filled, scan) if filled else None)


def _copy(best: Candidate, segments: Sequence[SegmentRecord], scan: str) -> Copy | None:
    """What of the segments' files is worth keeping in memory for statements of this shape."""
    size, rows = sum(s.bytes for s in segments), sum(s.rows for s in segments)
    if size <= _COPIED_WHOLE:
        return Copy(f"FROM {scan}", size, rows)
    if segment_condition(segments):
        return None  # the files hold segments that aren't valid now
    names = best.match.stored
    rolled = rolled_select(best.cube, names, scan)
    return None if rolled is None else Copy(rolled, size, rows, cells_count(names, scan))


def types_now(block: Block, match: Match) -> dict[tuple[int, int], str]:
    """Types of columns in the cube's occurrences that the block has, where it knows them."""
    pairs = ((0, match.fact), *match.needs.named)
    return {
        (theirs, column.field_id): column.type
        for theirs, mine in pairs
        for column in block.occurrences[mine].table.columns
    }


def fields_used(block: Block, occurrence: int) -> set[Column]:
    """The columns of a table occurrence that the block uses."""
    exprs = [*block.conjuncts, *block.keys, *block.results]
    exprs += [c for edge in block.left_edges for c in edge.on]
    return {c for e in exprs for c in columns(e) if c.occurrence == occurrence}


def used_columns(block: Block, occurrence: int) -> list[str]:
    """Their names; one at least."""
    names = sorted({c.name for c in fields_used(block, occurrence)})
    return names or [block.occurrences[occurrence].table.columns[0].name]
