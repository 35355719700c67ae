"""Rows of one table: which files may hold them, and in what order to read these.

Theory: `docs/rewriting.md`, 7. A file is left out where no row of it passes the predicate, or where
its first place comes behind rows enough that surely pass. The rest is read in the order of first
places: under a limit until no file left can hold a row that comes before the last one wanted
(`top.py`), else all of it (`stream.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from accelerator.arrow_types import arrow_type
from accelerator.config import Config
from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.iceberg.question import Question
from accelerator.iceberg.statistics import FileStatistics, is_ordered
from accelerator.indexing.probing import SELECTED_MAX, RowSelection, Skipped, TableIndexes
from accelerator.plain_pruning import pruning_doubt
from accelerator.plan import MANIFESTS, PlainPlan, RowsPlan, Tried
from accelerator.pruning import judge
from cubes.manifest import may_raise, unsafe
from indexes.bounds import UNKNOWN, Numbers
from indexes.order import Direction, Key, Place, needed, reading_order
from rewrite.expr import Column
from rewrite.reason import Declined, DeclinedError
from rewrite.row_block import RowBlock
from rewrite.rows_sql import rows_sql


@dataclass(frozen=True, slots=True)
class Left:
    """What sidecars leave of files: row groups and rows as (left, of so many), and bytes.

    None where no sidecar was asked. The bytes go by the rows of the row groups that are left.
    """

    row_groups: tuple[int, int] | None
    rows: tuple[int, int] | None
    bytes: int


@dataclass(frozen=True)
class Reading:
    """The files that may hold rows of the answer, those first whose rows can come first.

    `keys` are the sort keys that bounds tell of, a prefix of the order, over these files alone;
    `files` are numbers of the statistics' files. `skipped` says what indexes have left out,
    `selection` which rows of a file may pass.
    """

    statistics: FileStatistics
    keys: tuple[Key, ...]
    files: Numbers
    skipped: tuple[Skipped, ...] = ()
    selection: RowSelection | None = None

    def __len__(self) -> int:
        return len(self.files)

    @property
    def bytes(self) -> int:
        """Of all of them."""
        return int(self.statistics.sizes[self.files].sum())

    def by_workers(self, way: str) -> bool:
        """Whether Spark's workers had better read the rows that sidecars leave.

        With the `way` of the setting `sidecar_jobs`; with `auto` where few are left, or of more
        files than are asked here, whatever they leave.
        """
        if self.selection is None or way == "never" or not len(self):
            return False
        if way == "always" or len(self) > SELECTED_MAX:
            return True
        left, rows = self.left.rows or (1, 1)
        return left * _FEW <= rows

    @cached_property
    def left(self) -> Left:
        """What sidecars leave of the files; of more than are asked here they aren't asked."""
        selection = self.selection
        if selection is None or len(self) > SELECTED_MAX:
            return Left(None, None, self.bytes)
        groups, rows, size = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64), 0
        files = self.live(0, len(self))
        for file, chosen in zip(files, selection.of_all(files), strict=True):
            cut = selection.row_groups(file)
            if chosen is None or cut is None:
                groups += 1 if cut is None else len(cut)
                rows += file.record_count
                size += file.size_bytes
                continue
            groups += (len(selection.groups(file) or ()), len(cut))
            rows += (len(chosen), file.record_count)
            size += round(file.size_bytes * selection.share(file))
        return Left((int(groups[0]), int(groups[1])), (int(rows[0]), int(rows[1])), size)

    def first(self, place: int) -> tuple[Place, ...]:
        """Where no row of the file at that place of the reading comes before."""
        return tuple(key.first(place) for key in self.keys)

    def selected(self) -> Reading:
        """Without the files of which no row may pass, as their sidecars tell."""
        if self.selection is None:
            return self
        told = self.selection.of_all(self.live(0, len(self)))
        left = np.array([rows is None or bool(rows) for rows in told], dtype=bool)
        kept = np.flatnonzero(left)
        keys = tuple(key.of(kept) for key in self.keys)
        heavy = self.selection.said(int((~left).sum()))
        return replace(self, keys=keys, files=self.files[kept], skipped=(*self.skipped, heavy))

    def live(self, begin: int, end: int) -> list[LiveFile]:
        """The files from one place to another."""
        wanted = self.files[begin:end]
        chosen = np.zeros(len(self.statistics), dtype=bool)
        chosen[wanted] = True
        found = dict(
            zip(np.sort(wanted).tolist(), self.statistics.source.live(chosen), strict=True)
        )
        return [found[number] for number in wanted.tolist()]


def plan_rows(
    block: RowBlock,
    pinned: PinnedTable,
    config: Config,
    indexes_over: Callable[[FileStatistics], TableIndexes | None],
) -> RowsPlan | PlainPlan:
    """The plan; a plain one with a reason where neither manifests nor indexes help."""
    declined = _unsafe(block)
    if declined is not None:
        return PlainPlan(declined, (Tried(MANIFESTS, declined),))
    statistics, decoding = pinned.statistics_for(Question.of(block.conjuncts, block.used))
    indexes = indexes_over(statistics)
    reading = _reading(block, statistics, indexes)
    if isinstance(reading, Declined):
        return PlainPlan(reading, (Tried(MANIFESTS, reading, decoding=decoding),))
    undone = _not_in_process(block)
    # Under a limit what is read is known only when it's read.
    size = reading.bytes if block.limit is not None else reading.left.bytes
    small = block.limit is not None or size <= config.duckdb_bytes_max
    wanted = config.engine == "duckdb" or (config.engine != "spark" and small)
    in_process = undone is None and wanted
    tried = Tried(MANIFESTS, None, size, 0, len(reading), decoding=decoding)
    whole = len(reading) == len(statistics) + statistics.left_out
    if not in_process and whole and not reading.by_workers(config.sidecar_jobs):
        declined = undone or Declined("metadata_no_file")
        return PlainPlan(declined, (replace(tried, declined=declined, bytes=0),))
    return RowsPlan(
        block=block,
        pinned=(pinned,),
        reading=reading,
        duckdb_declined=undone,
        engine="duckdb" if in_process else "spark",
        tried=(tried,),
        names=tuple(o.name for o in block.outputs),
    )


def bounded_keys(block: RowBlock) -> tuple[tuple[Column, Direction], ...]:
    """The leading sort keys that are columns of types that have bounds, and how each is sorted."""
    found = []
    for key in block.order:
        if not isinstance(key.expr, Column) or not is_ordered(key.expr.type or ""):
            break
        found.append((key.expr, Direction(key.descending, key.nulls_first)))
    return tuple(found)


def _unsafe(block: RowBlock) -> Declined | None:
    """Why files can't be left out: that would hide an error, or there is no order to go by."""
    if may_raise(block.expressions):
        return Declined("may_raise")
    unbounded = block.order and not bounded_keys(block)
    return unsafe(block.conjuncts) or (Declined("sort_not_bounded") if unbounded else None)


def _not_in_process(block: RowBlock) -> Declined | None:
    """Why only Spark can run it."""
    if any(o.name is None for o in block.outputs):
        return Declined("expression_not_proven", "Only Spark knows an output's name.")
    for expr in (*block.used, *(o.expr for o in block.outputs)):
        try:
            arrow_type(expr.type or "")
        except KeyError:
            return Declined("expression_not_proven", f"The type {expr.type}.")
    try:
        rows_sql(block, "duckdb", "t")
    except DeclinedError as error:
        return error.declined
    return None


def _reading(
    block: RowBlock, statistics: FileStatistics, indexes: TableIndexes | None
) -> Reading | Declined:
    alive, skipped = statistics.alive, tuple[Skipped, ...]()
    if indexes is None:
        verdict = judge(block.conjuncts, statistics)
    else:
        statistics = indexes.filled(statistics)
        verdict, skipped = indexes.judged(block.conjuncts, statistics)
    doubt = pruning_doubt(block.conjuncts, statistics)
    if doubt is not None:
        return doubt
    chosen = ~(verdict.none_true | (alive == 0))
    for column in block.used:
        # Which rows Spark finds there depends on how it plans the predicate.
        if statistics.column(column.field_id, column.type or "unknown").contradicts:
            return Declined("metadata_contradicts")
    sure = np.where(verdict.all_true & (alive != UNKNOWN) & statistics.source.single, alive, 0)
    wanted = None if block.limit is None else block.limit + block.offset
    keys = tuple(
        Key(statistics.column(column.field_id, column.type or "").bounds, direction)
        for column, direction in bounded_keys(block)
    )
    chosen = needed(keys, chosen, sure, wanted)
    files = reading_order(keys, chosen)
    selection = None if indexes is None else indexes.selection(block.conjuncts)
    found = Reading(statistics, tuple(key.of(files) for key in keys), files, skipped, selection)
    if selection is None or wanted is not None or len(files) > SELECTED_MAX:
        return found
    return found.selected()


_FEW = 50
"""Of so many rows at most one may be left, so that Spark's own reader isn't the faster one."""
