"""Runs plans in the engines that they name, and stops them when they're told to.

Nothing here decides, nor falls back: what fails raises.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pyarrow as pa

from accelerator.iceberg import NeedsSparkError
from accelerator.plan import (
    ComposedPlan,
    CoverPlan,
    FilesPlan,
    NestedPlan,
    PartialPlan,
    Plan,
    RowsPlan,
)
from accelerator.running import partial_frame, run_duckdb, run_nested, spark_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from accelerator.iceberg.row_groups import Counted
    from accelerator.rows.stream import SortedRows
    from accelerator.services import Services

Runnable = CoverPlan | RowsPlan | FilesPlan | NestedPlan | PartialPlan


class Execution:
    """Of one session; threads share it."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def run(self, plan: Runnable, sql: str) -> tuple[pa.Table, str, Counted | None]:
        """Runs a plan; the answer, the engine that gave it, and what was read if it was counted."""
        services = self._services
        if isinstance(plan, NestedPlan):
            with services.cancellation.tracked() as tag:
                return self._nested_rows(plan, tag, {}), plan.engine, None
        if isinstance(plan, PartialPlan):
            with services.cancellation.tracked() as tag, services.engine.tagged(tag):
                return self._partial(plan, sql, tag).toArrow(), plan.engine, None
        if isinstance(plan, FilesPlan):
            from accelerator.metadata_query import run_files

            with services.cancellation.tracked() as tag:
                return run_files(plan, services.duckdb, tag), plan.engine, None
        self.pin_snapshots(plan)
        with services.cancellation.tracked() as tag:
            if plan.engine == "duckdb":
                try:
                    rows, counted = self._in_process(plan, tag)
                    return rows, "duckdb", counted
                except NeedsSparkError:
                    pass  # equality deletes: the same cover, read by Spark
            with ExitStack() as leases:
                engine = services.engine
                leases.enter_context(engine.tagged(tag))
                frame = spark_frame(plan, engine, sql, leases, services.store, services.config)
                return frame.toArrow(), "spark", None

    def frame(
        self, plan: CoverPlan | RowsPlan | PartialPlan, sql: str, leases: ExitStack
    ) -> DataFrame:
        """A lazy DataFrame of the answer; what it reads stays staged until `leases` is closed."""
        if isinstance(plan, PartialPlan):
            with self._services.cancellation.tracked() as tag:
                return self._partial(plan, sql, tag)
        self.pin_snapshots(plan)
        return spark_frame(plan, self._services.engine, sql, leases, self._services.store)

    def streamed(self, plan: Plan) -> SortedRows | None:
        """The run of a plan whose rows can be given piece by piece."""
        if not isinstance(plan, RowsPlan) or plan.block.limit is not None or plan.duckdb_declined:
            return None
        from accelerator.rows.stream import SortedRows

        return SortedRows(plan, self._services.duckdb)

    def pin_snapshots(self, plan: CoverPlan | RowsPlan) -> None:
        """Until the statement has ended, no vacuum expires a snapshot whose rows it reads."""
        if (
            isinstance(plan, RowsPlan)
            or plan.uncovered
            or (plan.manifests is None and not any(s.rows for s in plan.segments))
        ):
            for table in plan.pinned:
                self._services.store.pin_snapshot(table.facts.uuid, table.snapshot_ms)

    def _nested_rows(self, plan: NestedPlan, tag: str, known: dict[int, pa.Table]) -> pa.Table:
        """Each inner SELECT once, then what stands above; `known` are answers so far."""
        return run_nested(plan, self._answers(plan, tag, known), self._services.duckdb, tag)

    def _partial(self, plan: PartialPlan, sql: str, tag: str) -> DataFrame:
        return partial_frame(plan, self._answers(plan, tag, {}), self._services.engine, sql)

    def _answers(self, plan: ComposedPlan, tag: str, known: dict[int, pa.Table]) -> list[pa.Table]:
        for one in plan.inputs:
            if id(one) in known:
                continue
            if isinstance(one, NestedPlan):
                known[id(one)] = self._nested_rows(one, tag, known)
            else:
                self.pin_snapshots(one)
                known[id(one)], _ = self._in_process(one, tag)
        return [known[id(one)] for one in plan.inputs]

    def _in_process(self, plan: CoverPlan | RowsPlan, tag: str) -> tuple[pa.Table, Counted | None]:
        """The answer by DuckDB; NeedsSparkError where it can't read the rows."""
        if isinstance(plan, CoverPlan):
            return run_duckdb(plan, self._services.duckdb, tag, self._services.store)
        return self._sorted_rows(plan, tag)

    def _sorted_rows(self, plan: RowsPlan, tag: str) -> tuple[pa.Table, Counted | None]:
        everything = self.streamed(plan)
        if everything is not None:
            everything.tag = tag
            return everything.run(), everything.counted
        from accelerator.rows.top import TopRows  # imports Arrow's compute module

        bytes_max = self._services.config.duckdb_bytes_max
        first = TopRows(plan, self._services.duckdb, tag, bytes_max)
        return first.run(), first.counted
