"""Runs plans in the engines that they name, and stops them when they're told to.

Nothing here decides, nor falls back: what fails raises.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from msgspec.structs import replace

from accelerator.common.stage_timer import staged
from accelerator.engines.duckdb.engine import NO_MAX
from accelerator.errors import SparkMissingError
from accelerator.iceberg import NeedsSparkError
from accelerator.planning.plans import (
    ComposedPlan,
    ConstantsPlan,
    CoverPlan,
    MergedPlan,
    NestedPlan,
    PartialPlan,
    Plan,
    RowsPlan,
    VirtualPlan,
)
from accelerator.query.execution.cover_runner import (
    cover_frame,
    partial_frame,
    rows_frame,
    run_duckdb,
    run_merged,
    run_nested,
)
from accelerator.query.execution.streaming import PlanRun, stream_of_cover, stream_of_nested

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from accelerator.common.config.config import Config
    from accelerator.iceberg.rows.row_groups import ReadCounter
    from accelerator.query.execution.row_readers.chunks import Pieces
    from accelerator.query.runtime.services import Services


class Execution:
    """Of one session; threads share it."""

    def __init__(self, services: Services) -> None:
        self._services = services

    @staged("run")
    def run(self, plan: Plan, sql: str) -> tuple[pa.Table, str, ReadCounter | None]:
        """Runs a plan; the answer, the engine that gave it, and what was read if it was counted."""
        services, kind = self._services, type(plan)
        self.pin_snapshots(plan)
        with services.cancellation.tracked() as tag:
            needs: NeedsSparkError | None = None
            if plan.engine == "duckdb":
                try:
                    rows, counted = _HERE[kind](self, plan, tag, {})
                    return rows, "duckdb", counted
                except NeedsSparkError as error:  # equality deletes: the same cover, read by Spark
                    if kind not in _FRAMES or plan.unaided() is not None:
                        raise
                    needs = error
            try:
                with ExitStack() as leases:
                    leases.enter_context(services.engine.tagged(tag))
                    frame = _FRAMES[kind](self, plan, sql, tag, leases, services.config)
                    return frame.toArrow(), "spark", None
            except SparkMissingError:
                if needs is None:
                    raise
                raise needs from None  # the plain statement's error names it

    def frame(self, plan: Plan, sql: str, leases: ExitStack) -> DataFrame | None:
        """A lazy DataFrame of the answer; what it reads stays staged until `leases` is closed.

        None where Spark reads nothing for it.
        """
        make = _FRAMES.get(type(plan))
        if make is None:
            return None
        self.pin_snapshots(plan)
        with self._services.cancellation.tracked() as tag:
            return make(self, plan, sql, tag, leases, None)

    def streamed(self, plan: Plan, tag: str) -> PlanRun | None:
        """The run of a plan whose rows can be given piece by piece; None of any other."""
        run = _STREAMS.get(type(plan))
        return None if run is None else run(self, plan, tag)

    def pin_snapshots(self, plan: Plan) -> None:
        """Until the statement has ended, no vacuum expires a snapshot whose rows it reads."""
        for table in (t for leaf in plan.leaves() if leaf.reads_rows() for t in leaf.pinned):
            self._services.store.pin_snapshot(table.facts.uuid, table.snapshot_ms)

    # In process

    @property
    def _bytes_max(self) -> int:
        """Of an answer of DuckDB's, which is held in memory."""
        config = self._services.config
        return NO_MAX if config.engine == "duckdb" else config.given_bytes_max

    def _cover_rows(self, plan: CoverPlan, tag: str, _known: Known) -> Answer:
        services = self._services
        return run_duckdb(plan, services.duckdb, tag, services.store, self._bytes_max)

    def _merged_rows(self, plan: MergedPlan, tag: str, _known: Known) -> Answer:
        return run_merged(plan, self._services.duckdb, tag, self._services.store), None

    def _stream(self, plan: RowsPlan, tag: str) -> Pieces | None:
        # Spark could take over after the first piece only.
        ends_in_spark = plan.duckdb_declined is not None or plan.bytes_max is not None
        return None if ends_in_spark or plan.computes_all else self._pieces(plan, tag)

    def _pieces(self, plan: RowsPlan, tag: str) -> Pieces | None:
        """The run of a plan that gives its rows as they're read; None of the first of an order."""
        if plan.block.is_any:
            from accelerator.query.execution.row_readers.limit import LimitedRows

            return LimitedRows(plan, self._services.duckdb, tag)
        if plan.block.limit is not None:
            return None
        from accelerator.query.execution.row_readers.scan import SortedRows

        return SortedRows(plan, self._services.duckdb, tag)

    def _cover_stream(self, plan: CoverPlan, tag: str) -> PlanRun | None:
        return stream_of_cover(plan, self._services.duckdb, tag, self._services.store)

    def _nested_stream(self, plan: NestedPlan, tag: str) -> PlanRun | None:
        duckdb = self._services.duckdb
        return stream_of_nested(plan, duckdb, tag, lambda: self._answers(plan, tag, {}))

    @staged("rows")
    def _sorted_rows(self, plan: RowsPlan, tag: str, known: Known) -> Answer:
        if plan.computes_all:
            block = replace(plan.block, limit=None, offset=0)
            whole = dataclasses.replace(plan, block=block, computes_all=False)
            rows, counted = self._sorted_rows(whole, tag, known)
            return rows.slice(plan.block.offset, plan.block.limit), counted
        from accelerator.query.execution.row_readers.at_once import rows_at_once

        duckdb, bytes_max = self._services.duckdb, self._services.config.given_bytes_max
        found = rows_at_once(plan, duckdb, tag, bytes_max)
        if found is not None:
            return found
        pieces = self._pieces(plan, tag)
        if pieces is not None:
            return pieces.run(), pieces.counted
        from accelerator.query.execution.row_readers.top_n import (
            TopRows,  # imports Arrow's compute module
        )

        first = TopRows(plan, duckdb, tag, bytes_max)
        return first.run(), first.counted

    def _virtual_rows(self, plan: VirtualPlan, tag: str, _known: Known) -> Answer:
        from accelerator.query.virtual_tables.answer import run_virtual

        return run_virtual(plan, self._services.duckdb, tag), None

    def _constant_row(self, plan: ConstantsPlan, tag: str, _known: Known) -> Answer:
        from accelerator.planning.candidates.constants import run_constants

        return run_constants(plan, self._services.duckdb, tag), None

    def _nested_rows(self, plan: NestedPlan, tag: str, known: Known) -> Answer:
        """Each inner SELECT once, then what stands above."""
        answers = self._answers(plan, tag, known)
        return run_nested(plan, answers, self._services.duckdb, tag, self._bytes_max), None

    def _answers(self, plan: ComposedPlan, tag: str, known: Known) -> list[pa.Table]:
        for one in plan.inputs:
            if id(one) not in known:
                known[id(one)], _ = _HERE[type(one)](self, one, tag, known)
        return [known[id(one)] for one in plan.inputs]

    # By Spark

    def _cover_frame(
        self, plan: CoverPlan, sql: str, _tag: str, leases: ExitStack, _config: Config | None
    ) -> DataFrame:
        return cover_frame(plan, self._services.engine, sql, leases, self._services.store)

    def _rows_frame(
        self, plan: RowsPlan, sql: str, _tag: str, leases: ExitStack, config: Config | None
    ) -> DataFrame:
        return rows_frame(plan, self._services.engine, sql, leases, config)

    def _partial_frame(
        self, plan: PartialPlan, sql: str, tag: str, _leases: ExitStack, _config: Config | None
    ) -> DataFrame:
        return partial_frame(plan, self._answers(plan, tag, {}), self._services.engine, sql)


Answer = tuple[pa.Table, "ReadCounter | None"]
"""The rows, and what was read if it was counted."""
Known = dict[int, pa.Table]
"""The answers so far, by the identity of their plans."""
_HERE: dict[type[Plan], Callable[[Execution, Any, str, Known], Answer]] = {
    CoverPlan: Execution._cover_rows,
    RowsPlan: Execution._sorted_rows,
    ConstantsPlan: Execution._constant_row,
    NestedPlan: Execution._nested_rows,
    MergedPlan: Execution._merged_rows,
    VirtualPlan: Execution._virtual_rows,
}
"""Who runs which kind of plan in process; this is the one place where that is asked."""
_FRAMES: dict[
    type[Plan], Callable[[Execution, Any, str, str, ExitStack, Config | None], DataFrame]
] = {
    CoverPlan: Execution._cover_frame,
    RowsPlan: Execution._rows_frame,
    PartialPlan: Execution._partial_frame,
}
"""Who runs it by Spark. With the settings workers may read positions; else, and where a file is
other than was thought, it fails, and the caller has the plain statement in its place."""
_STREAMS: dict[type[Plan], Callable[[Execution, Any, str], PlanRun | None]] = {
    CoverPlan: Execution._cover_stream,
    NestedPlan: Execution._nested_stream,
    RowsPlan: Execution._stream,
}
"""Who gives its rows piece by piece."""
