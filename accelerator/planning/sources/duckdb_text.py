"""A cover as DuckDB's text over its sources, and whether what it reads may be read in process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from accelerator.common.arrow.spark_types import is_known
from accelerator.engines.duckdb.engine import parquet_scan
from accelerator.engines.duckdb.segment_cache import Copy
from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.iceberg.pruning.column_ranges import range_of
from accelerator.iceberg.rows.readable import sparks_deletes
from accelerator.planning.plans import CoverPlan
from accelerator.planning.plans.candidate import CELLS, DuckDBRun
from accelerator.planning.plans.cover_value import Cover
from accelerator.planning.sources.cube import read_beside
from accelerator.store import SegmentRecord
from accelerator.store.files.files import local_path
from cubes.match_result import Match
from cubes.may_raise import may_raise, proving_parts
from cubes.merge.slot_layout import SlotLayout
from cubes.sql.answer import RawSource, SegmentSource, answer_sql, summed
from cubes.sql.build import SEGMENT, cells_count, rolled_select
from cubes.states import rows_that_fit
from rewrite.facts import ColumnFacts
from rewrite.ir.block import Block
from rewrite.ir.expr import Column, Expr, columns, occurrences
from rewrite.ir.integer_ranges import RangeOf, raises_nothing, whole_range
from rewrite.reason import Declined, DeclinedError
from rewrite.render.expressions import Renderer, quote

_COPIED_WHOLE = 4 * 1024 * 1024
"""Bytes of segment files that are copied as they are. Of a larger one Parquet's statistics and
Bloom filters leave fewer rows to read than a whole copy would."""


def check_deletes(table: PinnedTable, files: Iterable[LiveFile]) -> None:
    """DeclinedError where only Spark applies some of the files' equality deletes."""
    why = sparks_deletes(table, files)
    if why is not None:
        raise DeclinedError("equality_deletes", f"{why[0].upper()}{why[1:]}.")


def check_raw(block: Block, cover: Cover, pinned: Sequence[PinnedTable]) -> None:
    """DeclinedError where rows can't be read in process as Spark has them."""
    beside = tuple(read_beside(cover.match, pinned, raw=bool(cover.uncovered)))
    fact = (cover.match.fact,) if cover.uncovered else ()
    for number in (*fact, *beside):
        files = cover.uncovered if number == cover.match.fact else None
        check_columns(pinned[number], fields_used(block, number), files)
    for number in beside:
        check_deletes(pinned[number], pinned[number].live_files())


def check_columns(
    table: PinnedTable, used: Iterable[Column], files: Sequence[LiveFile] | None = None
) -> None:
    """DeclinedError where these columns of the files, all by default, aren't read as Spark does.

    It shows some as texts that files hold otherwise. And what reads files here takes the files' own
    values, where Spark takes the partition's.
    """
    fixed = []
    for column in used:
        if column.field_id in table.uuid_fields:
            raise DeclinedError("expression_not_proven", f"The column {column.name}: a UUID.")
        if column.field_id in table.fixed_fields:
            fixed.append(column)
    if not fixed:
        return
    from accelerator.planning.survey import Survey  # answers from cubes have no use for it

    told = table.statistics() if files is None else table.statistics_of(files)
    known = Survey(told, ()).believed((), fixed)
    if isinstance(known, Declined):
        raise DeclinedError(known.code, known.detail)
    unproven = known.unproven()
    if unproven is not None:
        raise DeclinedError("metadata_contradicts", f"The column {unproven.name}.")


def segment_condition(segments: Sequence[SegmentRecord]) -> str:
    """The condition that picks these segments out of their files; empty where they are all."""
    chosen = Counter(s.path for s in segments)
    if all(s.facts.get("file_segments") == chosen[s.path] for s in segments):
        return ""
    return f"{SEGMENT} IN ({', '.join(str(s.id) for s in sorted(segments, key=lambda s: s.id))})"


def segment_paths(segments: Iterable[SegmentRecord]) -> list[str]:
    """The distinct files of segments, as local paths."""
    return sorted({local_path(s.path) for s in segments})


def duckdb_run(block: Block, cover: Cover, pinned: Sequence[PinnedTable]) -> DuckDBRun:
    """The DuckDB text; DeclinedError where DuckDB isn't proven to mean the same."""
    if any(o.name is None for o in block.outputs):
        raise DeclinedError("expression_not_proven", "Only Spark knows an output's name.")
    found = _read(block, cover, pinned)
    text = answer_sql(block, cover.match, "duckdb", found.segments, found.raw)
    return DuckDBRun(text, found.tables, found.copies, _tests(block, cover, pinned))


def tested_parts(block: Block, pinned: Sequence[PinnedTable]) -> tuple[Expr, ...] | None:
    """What of a join is to be tested of all rows of its table, so that no condition raises on any.

    Nor any column of its rows. None where nothing proves that.
    """
    known = range_of(pinned)
    exprs = (*block.conditions, *(block.results if block.rows else ()))
    return proving_parts(exprs, lambda call: raises_nothing(call, known), block.null_supplied)


def _tests(
    block: Block, cover: Cover, pinned: Sequence[PinnedTable]
) -> tuple[tuple[int, str], ...]:
    if cover.own is None or len(pinned) == 1:
        return ()
    parts = tested_parts(block, pinned)
    if parts is None or (parts and not cover.is_whole):
        raise DeclinedError("may_raise")
    render = Renderer("duckdb", lambda c: f"tested.{quote(c.name, 'duckdb')}")
    by_occurrence: dict[int, list[str]] = {}
    for part in parts:
        (occurrence,) = occurrences(part)
        # Of a count DuckDB computes no value that surely isn't NULL; of a hash it has to.
        by_occurrence.setdefault(occurrence, []).append(f"bit_xor(hash({render.text(part)}))")
    return tuple((o, f"SELECT {', '.join(by_occurrence[o])}") for o in sorted(by_occurrence))


def merged_run(block: Block, layout: SlotLayout, parts: Sequence[CoverPlan]) -> DuckDBRun:
    """The text over the sources of all parts, each of which has some of the block's aggregates.

    Tables of a part are named by its number. DeclinedError as of `duckdb_run`.
    """
    if any(o.name is None for o in block.outputs):
        raise DeclinedError("expression_not_proven", "Only Spark knows an output's name.")
    segments: list[SegmentSource] = []
    raw: list[RawSource] = []
    tables: list[tuple[str, int]] = []
    copies: list[tuple[str, Copy]] = []
    for number, (part, places) in enumerate(zip(parts, layout.places, strict=True)):
        found = _read(part.block, part.cover, part.pinned, part_name(number))
        match = part.match
        beside = () if found.raw is None else found.raw.tables
        segments += [
            replace(one, match=one.match or match, places=places, beside=beside)
            for one in found.segments
        ]
        if found.raw is not None and found.raw.fact:
            raw.append(replace(found.raw, part=(part.block, match), places=places))
        tables += found.tables
        copies += found.copies
    text = answer_sql(block, layout.match, "duckdb", segments, None, *raw)
    return DuckDBRun(text, tuple(tables), tuple(copies))


def part_name(number: int) -> str:
    """What the names of a part's tables begin with."""
    return f"part_{number}_"


class _TextInputs(Struct, frozen=True):
    """What a cover's text reads: its sources, and the rows behind their names by occurrence."""

    segments: list[SegmentSource]
    raw: RawSource | None
    tables: tuple[tuple[str, int], ...]
    copies: tuple[tuple[str, Copy], ...]


def _read(
    block: Block, cover: Cover, pinned: Sequence[PinnedTable], prefix: str = ""
) -> _TextInputs:
    """DeclinedError where a file has deletes that only Spark applies."""
    filled = [s for s in cover.segments if s.rows]
    segments: list[SegmentSource] = []
    copies: tuple[tuple[str, Copy], ...] = ()
    if filled:
        scan = parquet_scan(segment_paths(filled))
        segments.append(SegmentSource(scan, segment_condition(filled)))
        copy = _copy(cover, filled, scan)
        copies = () if copy is None else ((scan, copy),)
    if cover.cells_read is not None:
        segments.append(SegmentSource(prefix + CELLS, "", other_match(cover)))
    names = tuple(f"{prefix}raw_{o.index}" for o in block.occurrences)
    if cover.uncovered or not segments:
        check_deletes(pinned[cover.match.fact], cover.uncovered)
        every = tuple((name, index) for index, name in enumerate(names))
        fit, raises = _that_fit(cover, pinned), _may_raise(block, cover, pinned)
        raw = RawSource(names, fit=fit, raises=raises)
        return _TextInputs(segments, raw, every, copies)
    if cover.match.delta:
        joined = tuple((names[number], number) for number in sorted(cover.match.joined))
        return _TextInputs(segments, RawSource(names, fact=False), joined, copies)
    return _TextInputs(segments, None, (), copies)


def _may_raise(block: Block, cover: Cover, pinned: Sequence[PinnedTable]) -> bool:
    """Whether a condition may raise on some row of the one table that is read whole."""
    if len(pinned) > 1 or not cover.is_whole:
        return False
    known = range_of(pinned)
    return may_raise(block.conjuncts, lambda call: raises_nothing(call, known))


def _that_fit(cover: Cover, pinned: Sequence[PinnedTable]) -> frozenset[Expr]:
    """Arguments of sums that stay in the sum's type whichever of the tables' rows meet.

    That rests on how many rows there are, and of bigints on the files' bounds.
    """
    added = summed(cover.match)
    if not added:
        return frozenset()
    known, rows = range_of(pinned), 1
    for table in pinned:
        told = table.statistics().rows
        if (told < 0).any():
            return frozenset()
        rows *= max(1, int(told.sum()))
    return frozenset(one for one in added if _fits(one, rows, known))


def _fits(expr: Expr, rows: int, known: RangeOf) -> bool:
    most = rows_that_fit(expr.type or "")
    if most is not None:
        return rows < most
    between = whole_range(expr, known)
    return between is not None and max(-between[0], between[1]) * rows < 2**63


def other_match(cover: Cover) -> Match | None:
    """By which the cover's cells answer, where these are of another cube than its segments."""
    cells = cover.cells
    return None if cells is None or cells.cube is cover.cube else cells.match


def _copy(cover: Cover, segments: Sequence[SegmentRecord], scan: str) -> Copy | None:
    """What of the segments' files is worth keeping in memory for statements of this shape."""
    size, rows = sum(s.bytes for s in segments), sum(s.rows for s in segments)
    if size <= _COPIED_WHOLE:
        return Copy(f"FROM {scan}", size, rows)
    if segment_condition(segments):
        return None  # the files hold segments that aren't valid now
    names = cover.match.stored
    rolled = rolled_select(cover.cube, names, scan)
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


def used_columns(block: Block, occurrence: int, pinned: PinnedTable) -> list[str]:
    """Their names; one at least, which may be read in process where there is such a one."""
    names = sorted({c.name for c in fields_used(block, occurrence)})
    return names or [some_column(pinned).name]


def some_column(pinned: PinnedTable) -> ColumnFacts:
    """A column to read where none is needed; one that may be read in process, if there is any."""
    every = pinned.facts.columns
    fits = (c for c in every if is_known(c.type) and c.field_id not in pinned.uuid_fields)
    return next(fits, every[0])
