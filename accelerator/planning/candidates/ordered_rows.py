"""Rows of one table: which files may hold them, and in what order to read these.

Theory: `docs/rewriting.md`, 7. A file is left out where no row of it passes the predicate, or where
its first place comes behind rows enough that surely pass. The rest is read in the order of first
places: under a limit until no file left can hold a row that comes before the last one wanted
(`query/execution/row_readers/top_n.py`), else all of it (`query/execution/row_readers/scan.py`).
Where any n rows will do, those files come first of which rows surely pass, until they have so many
(`query/execution/row_readers/limit.py`).
"""

from __future__ import annotations

import dataclasses

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from accelerator.artifacts.sidecars.probe import SELECTED_MAX
from accelerator.common.arrow.spark_types import arrow_type
from accelerator.common.config.config import Config
from accelerator.engines.choice import EngineChoice
from accelerator.iceberg import PinnedTable
from accelerator.iceberg.pruning.column_ranges import range_of
from accelerator.iceberg.statistics.file_statistics import is_ordered
from accelerator.planning.plans import MANIFESTS, Attempt, PlainPlan, RowsPlan
from accelerator.planning.plans.read_order import ReadOrder
from accelerator.planning.survey import Believed, OverFiles, Survey, survey
from cubes.may_raise import may_raise, unsafe
from indexes.bounds import Numbers
from indexes.order import Direction, FileOrderKey, needed, reading_order
from rewrite.ir.expr import Call, Column
from rewrite.ir.integer_ranges import raises_nothing
from rewrite.ir.row_block import RowBlock
from rewrite.reason import Declined, DeclinedError
from rewrite.render.row_block import rows_sql


def plan_rows(
    block: RowBlock,
    pinned: PinnedTable,
    choice: EngineChoice,
    config: Config,
    over: OverFiles,
) -> RowsPlan | PlainPlan:
    """The plan; a plain one with a reason where neither manifests nor indexes help."""
    of_columns = range_of((pinned,))

    def sure(call: Call) -> bool:
        return raises_nothing(call, of_columns)

    declined = unsafe(block.conjuncts, sure)
    if declined is not None:
        return PlainPlan(declined, (Attempt(MANIFESTS, declined),))
    if block.limit and may_raise(block.expressions, sure):
        unlimited = replace(block, limit=None, offset=0)
        return _limited(plan_rows(unlimited, pinned, choice, config, over), block)
    known = survey(pinned, block.conjuncts, block.used, over)
    reading, decoding = _reading(block, known), known.decoding
    if isinstance(reading, Declined):
        return PlainPlan(reading, (Attempt(MANIFESTS, reading, decoding=decoding),))
    undone = _not_in_process(block)
    most = _most_read(block, reading)
    # Under a limit what is read is known only when it's read.
    few = block.limit is not None and not most.is_sure and config.engine != "spark"
    all_here = choice.in_process(most.bytes, [pinned])
    in_process = undone is None and (few or all_here)
    size = most.bytes if block.limit is None else reading.bytes
    tried = Attempt(MANIFESTS, None, size, 0, len(reading), decoding=decoding)
    whole = len(reading) == known.total or most.is_sure
    if not in_process and whole and not reading.by_workers(config.sidecar_jobs):
        unbounded = Declined("sort_not_bounded") if _is_unbounded(block) else None
        declined = undone or unbounded or Declined("metadata_no_file")
        return PlainPlan(declined, (replace(tried, declined=declined, bytes=0),))
    return RowsPlan(
        block=block,
        pinned=(pinned,),
        reading=reading,
        duckdb_declined=undone,
        engine="duckdb" if in_process else "spark",
        tried=(tried,),
        names=tuple(o.name for o in block.outputs),
        bytes_max=config.given_bytes_max if block.is_any and in_process and not all_here else None,
    )


def _limited(plan: RowsPlan | PlainPlan, block: RowBlock) -> RowsPlan | PlainPlan:
    """The plan of a limited block that computes all rows that pass, since one may raise.

    How many of them Spark computes depends on partitions. If none raises, none does there.
    """
    if isinstance(plan, PlainPlan):
        return plan
    if plan.engine == "duckdb":
        return dataclasses.replace(plan, block=block, computes_all=True)
    declined = Declined("may_raise")
    return PlainPlan(declined, (Attempt(MANIFESTS, declined),))


class _Most(Struct, frozen=True):
    """The bytes that are read at most; `is_sure`: it's known before that it won't be fewer."""

    bytes: int
    is_sure: bool = False


def _most_read(block: RowBlock, reading: ReadOrder) -> _Most:
    if _is_unbounded(block):  # each row may come first
        return _Most(reading.left.bytes, is_sure=True)
    if not block.is_any:
        return _Most(reading.bytes if block.limit is not None else reading.left.bytes)
    known, wanted, files = reading.known, _rows_needed(block) or 0, reading.files
    sure = _surely(known)[files]
    if not sure.all() and sure.sum() < wanted:
        return _Most(reading.bytes)
    taken = np.minimum(sure, wanted - np.minimum(np.cumsum(sure) - sure, wanted))
    shares = taken / np.maximum(known.rows[files], 1)
    return _Most(int((known.sizes[files] * shares).sum()), is_sure=True)


def bounded_keys(block: RowBlock) -> tuple[tuple[Column, Direction], ...]:
    """The leading sort keys that are columns of types that have bounds, and how each is sorted."""
    found = []
    for key in block.order:
        if not isinstance(key.expr, Column) or not is_ordered(key.expr.type or ""):
            break
        found.append((key.expr, Direction(key.descending, key.nulls_first)))
    return tuple(found)


def _is_unbounded(block: RowBlock) -> bool:
    """Decides whether the order has no leading key with bounds."""
    return bool(block.order) and not bounded_keys(block)


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


def _reading(block: RowBlock, asked: Survey) -> ReadOrder | Declined:
    keys_of = [column for column, _ in bounded_keys(block)]
    known = asked.believed(block.conjuncts, [*keys_of, *asked.partitioned(block.used)])
    if isinstance(known, Declined):
        return known
    sure, wanted = _surely(known), _rows_needed(block)
    bounded = ((known.of(column), direction) for column, direction in bounded_keys(block))
    keys = tuple(
        FileOrderKey(told.bounds, direction) for told, direction in bounded if told is not None
    )
    chosen = needed(keys, ~known.none_pass, sure, wanted)
    files, selection = reading_order(keys, chosen), known.selection()
    if block.is_any:
        files = _enough(files, sure, wanted or 0)
    found = ReadOrder(known, tuple(key.of(files) for key in keys), files, known.skipped, selection)
    if selection is None or wanted is not None or len(files) > SELECTED_MAX:
        return found
    return found.selected()


def _surely(known: Believed) -> Numbers:
    """The rows of each file that surely pass; 0 where that isn't known."""
    counted = known.all_pass & known.alive_known & known.stands_once
    sure: Numbers = np.where(counted, known.alive, 0)
    return sure


def _rows_needed(block: RowBlock) -> int | None:
    """Rows that are looked for, those included that OFFSET passes over; None for all."""
    if block.limit is None:
        return None
    return block.limit + block.offset if block.limit else 0


def _enough(files: Numbers, sure: Numbers, wanted: int) -> Numbers:
    """The files from which any `wanted` rows are taken: first those of which rows surely pass.

    Their order goes by the predicate alone, so that one page of rows goes on where another ended.
    """
    if not wanted:
        return files[:0]
    files = files[np.argsort(sure[files] == 0, kind="stable")]
    end = int(np.searchsorted(np.cumsum(sure[files]), wanted)) + 1
    return files[:end]
