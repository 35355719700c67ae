"""A plan's figures: what an answer by it has cost, as `Metrics` tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from accelerator.metrics import Metrics
from accelerator.plan import (
    ComposedPlan,
    FilesPlan,
    PlainPlan,
    Plan,
    RowsPlan,
    decoding_of,
)

if TYPE_CHECKING:
    from accelerator.iceberg.row_groups import Counted
    from accelerator.indexing.probing import Skipped


def with_decoding(metrics: Metrics, plan: Plan, cached: bool) -> Metrics:
    """With the manifests that were decoded for the plan, if it's of this statement."""
    decoding = None if cached else decoding_of(plan)
    if decoding is None or not decoding.manifests:
        return metrics
    there = decoding.by == "spark"
    return replace(
        metrics,
        manifests_here=0 if there else decoding.manifests,
        manifests_by_spark=decoding.manifests if there else 0,
        manifests_why=decoding.why if decoding.failed is None else decoding.failed,
    )


def metrics_of(plan: Plan, counted: Counted | None) -> Metrics:
    """What the plan uses; `counted` is what was read, where that was counted."""
    if isinstance(plan, (FilesPlan, PlainPlan)):
        return Metrics(rewritten=not isinstance(plan, PlainPlan))
    if isinstance(plan, ComposedPlan):
        return _composed_metrics(plan)
    if isinstance(plan, RowsPlan):
        return _rows_metrics(plan, counted)
    filled = {s.path for s in plan.segments if s.rows}
    return Metrics(
        rewritten=True,
        cubes=() if plan.cube is None else (plan.cube,),
        indexes=_used_indexes(plan.manifests.skipped if plan.manifests else ()),
        files_total=plan.files_total,
        files_read=len(filled) + len(plan.uncovered),
        row_groups_read=0 if counted is None else len(counted.groups),
        bytes_read=plan.segment_bytes + (plan.raw_bytes if counted is None else counted.bytes),
    )


def _composed_metrics(plan: ComposedPlan) -> Metrics:
    """Of all its SELECTs."""
    inner = [metrics_of(one, None) for one in plan.parts]
    return Metrics(
        rewritten=True,
        cubes=tuple(dict.fromkeys(name for one in inner for name in one.cubes)),
        indexes=tuple(dict.fromkeys(name for one in inner for name in one.indexes)),
        files_total=sum(one.files_total for one in inner),
        files_read=sum(one.files_read for one in inner),
        bytes_read=sum(one.bytes_read for one in inner),
    )


def _rows_metrics(plan: RowsPlan, counted: Counted | None) -> Metrics:
    found = Metrics(
        rewritten=True,
        indexes=_used_indexes(plan.reading.skipped),
        files_total=plan.files_total,
        files_read=len(plan.reading),
        bytes_read=plan.reading.bytes,
    )
    if counted is None:
        return found
    return replace(
        found,
        files_read=len(counted.files),
        row_groups_read=len(counted.groups),
        bytes_read=counted.bytes,
    )


def _used_indexes(skipped: Sequence[Skipped]) -> tuple[str, ...]:
    """The indexes that let files be left out."""
    return tuple(one.index for one in skipped if one.files)
