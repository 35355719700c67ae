"""EXPLAIN CREATE CUBE: what a cube would cost, from building one data file's cells for real.

An estimate, and said to be one: the sampled file stands for all files, by their row counts. Beside
it, where the tables have sketches, how many cells are left at most once all segments are merged.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import log2, prod
from typing import TYPE_CHECKING, Any

from accelerator.engines.source import require_spark
from accelerator.errors import BuildError
from accelerator.iceberg import Sketched
from cubes.definition import CubeDefinition
from rewrite.expr import Column, columns

if TYPE_CHECKING:
    from accelerator.builds.builder import Target
    from accelerator.services import Services

# Measured on SSB cubes, merged or not: zstd Parquet, sorted by the dimensions.
_STATE_BYTES = 5
_DIMENSION_BYTES = 0.2
_COUNT_BYTES = 0.15
"""Of a count of rows, beside the bits of a cell's rows."""
_COUNTS = frozenset({"rows", "count"})
_NUMBER_BYTES = 8
_SKETCH_ITEMS = 3  # times its size: what a KLL sketch of very many rows holds


@dataclass(frozen=True, slots=True)
class Merged:
    """Cells of the merged cube at most, as sketches say; None where one is missing.

    `basis` says what that rests on, or what is missing.
    """

    cells_max: int | None
    basis: str


def estimate(services: Services, target: Target) -> dict[str, Any]:
    """Cells, bytes and build minutes of a cube over all of its fact's live files."""
    live = target.pinned[0].live_files()
    rows_total = sum(f.record_count for f in live)
    merged = merged_cells(target.cube, [p.sketched() for p in target.pinned])
    if not live:
        return _row(0, 0, 0.0, (0, 0), merged)
    sample = sorted(live, key=lambda f: f.record_count)[len(live) // 2]
    engine = require_spark(
        services.spark_source.engine,
        "EXPLAIN CREATE CUBE builds one data file's cells by Spark",
        "CREATE CUBE builds the cube if it can be built in this process",
    )
    from cubes.build_sql import OWN_SEGMENT
    from cubes.job_error import JobError
    from cubes.spark import count_cells

    with ExitStack() as stack:
        tag = stack.enter_context(services.cancellation.tracked())
        stack.enter_context(engine.tagged(tag))
        engine.register_functions()
        staged = stack.enter_context(engine.stage(target.pinned[0], [sample])).sql
        sources = [f"(SELECT f.*, 0L AS {OWN_SEGMENT} FROM {staged} AS f)"]
        for pinned in target.pinned[1:]:
            sources.append(stack.enter_context(engine.stage(pinned, pinned.live_files())).sql)
        started = time.perf_counter()
        try:
            cells = count_cells(engine.session, target.cube, sources)
        except JobError as error:
            raise BuildError(
                f"cube {target.record.name} can't be estimated: {error}",
                hint="a sample of its fact is built for the estimate; mend what failed there",
            ) from error
        seconds = time.perf_counter() - started
    share = rows_total / max(sample.record_count, 1)
    rows = round(cells * share)
    size = rows * cell_bytes(target.cube, sample.record_count / max(cells, 1))
    return _row(rows, round(size), seconds * share / 60, (len(live), rows_total), merged)


def cell_bytes(cube: CubeDefinition, rows_per_cell: float) -> float:
    """Bytes of one cell. A sketch keeps a small cell's numbers whole, and hardly packs."""
    count = _COUNT_BYTES + log2(max(rows_per_cell, 1)) / 8
    plain = _DIMENSION_BYTES * len(cube.dimensions)
    plain += sum(count if one.kind in _COUNTS else _STATE_BYTES for one in cube.states)
    sketches = [s.size for s in cube.states if s.size]
    return plain + sum(
        _NUMBER_BYTES * min(rows_per_cell, _SKETCH_ITEMS * size) for size in sketches
    )


def merged_cells(cube: CubeDefinition, sketched: Sequence[Mapping[int, Sketched]]) -> Merged:
    """The product of the distinct values of the columns that the dimensions are made of.

    `sketched`: of each of the cube's tables. Every column counts once, and NULL as a value of it:
    files and outer joins may have it.
    """
    used: dict[tuple[int, int], Column] = {}
    for dimension in cube.dimensions:
        for column in sorted(columns(dimension.expr), key=lambda c: (c.occurrence, c.field_id)):
            used.setdefault((column.occurrence, column.field_id), column)
    found = {key: sketched[key[0]].get(key[1]) for key in used}
    missing = [used[key].name for key, one in found.items() if one is None]
    if missing:
        return Merged(None, f"no sketch of {', '.join(missing)}")
    told = {key: one for key, one in found.items() if one is not None}
    basis = [
        f"{used[key].name} {one.distinct}"
        + ("" if one.pinned else f" (as of snapshot {one.snapshot_id})")
        for key, one in told.items()
    ]
    return Merged(prod(one.distinct + 1 for one in told.values()), ", ".join(basis))


def _row(
    rows: int, size: int, minutes: float, fact: tuple[int, int], merged: Merged
) -> dict[str, Any]:
    files, fact_rows = fact
    cells = merged.cells_max
    if cells is not None:
        cells = min(cells, 2**63 - 1)
    return {
        "rows": rows,
        "bytes": size,
        "minutes": round(minutes, 2),
        "files": files,
        "fact_rows": fact_rows,
        "merged_rows_max": cells,
        "distinct_values": merged.basis,
    }
