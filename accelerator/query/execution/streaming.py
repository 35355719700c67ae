"""Answers batch by batch, as DuckDB computes them: no more is in memory than the reader asks for.

They may be larger than what `query` holds. Nothing here decides or falls back; what fails
raises, before the first batch or after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from accelerator.common.arrow.spark_types import arrow_type, conform, is_known
from accelerator.engines.duckdb.engine import DuckDBEngine, NoSuchTableError
from accelerator.errors import EngineError
from accelerator.planning.plans import CoverPlan, NestedPlan
from accelerator.query.execution.cover_runner import Way, may_be_large, read_for, ways

if TYPE_CHECKING:
    from accelerator.planning.plans import Plan
    from accelerator.store import Store


class PlanRun(Protocol):
    """One run of a plan, under a tag."""

    @property
    def plan(self) -> Plan:
        """Whose run it is."""

    @property
    def schema(self) -> pa.Schema:
        """Of every piece: Spark's names and types."""

    def pieces(self) -> Iterator[pa.Table]:
        """The rows; closing the iterator ends the reading."""


class _Computed:
    """What DuckDB computes; `read` gives the ways to it, once what it's computed from is read."""

    def __init__(
        self,
        plan: CoverPlan | NestedPlan,
        engine: DuckDBEngine,
        tag: str,
        read: Callable[[], Sequence[Way]],
    ) -> None:
        self.plan, self._tag = plan, tag
        self._engine, self._read = engine, read
        self._names = [name or "" for name in plan.names]
        self._types = [one.expr.type or "" for one in plan.block.outputs]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(list(map(pa.field, self._names, map(arrow_type, self._types))))

    def pieces(self) -> Iterator[pa.Table]:
        found = self._read()
        for way in found:
            given = False
            try:
                for batch in self._engine.stream(way.sql, way.tables, tag=self._tag):
                    given = True
                    yield conform(pa.Table.from_batches([batch]), self._names, self._types)
                return
            except NoSuchTableError:
                if given or way is found[-1]:
                    raise


def stream_of_cover(
    plan: CoverPlan, engine: DuckDBEngine, tag: str, store: Store
) -> PlanRun | None:
    """The run of a plan of which DuckDB may give many rows; None of any other."""
    run = plan.duckdb
    if run is None or plan.engine != "duckdb" or not may_be_large(plan) or not _has_types(plan):
        return None

    def read() -> Sequence[Way]:
        return ways(run, engine, read_for(plan, run.raw, engine, tag, store))

    return _Computed(plan, engine, tag, read)


def stream_of_nested(
    plan: NestedPlan, engine: DuckDBEngine, tag: str, answers: Callable[[], Sequence[pa.Table]]
) -> PlanRun | None:
    """The same of a SELECT over others, whose `answers` are whole before it begins."""
    if plan.block.limit is not None or not _has_types(plan):
        return None

    def read() -> Sequence[Way]:
        inputs = answers()
        tables = {name: inputs[occurrence] for name, occurrence in plan.duckdb.raw}
        return [Way(plan.duckdb.sql, tables)]

    return _Computed(plan, engine, tag, read)


def _has_types(plan: CoverPlan | NestedPlan) -> bool:
    return all(is_known(one.expr.type) for one in plan.block.outputs)


def whole(table: pa.Table, schema: pa.Schema) -> list[pa.RecordBatch]:
    """An answer that came at once, for a reader that was promised that schema.

    Spark's own differs from it in columns that can't be NULL.
    """
    if table.schema.names != schema.names or table.schema.types != schema.types:
        shown = ", ".join(f"{one.name} {one.type}" for one in table.schema)
        raise EngineError(
            f"the answer has other columns than when the stream was opened: {shown}",
            hint="open the stream again",
        )
    batches: list[pa.RecordBatch] = table.cast(schema).to_batches()
    return batches
