"""EXPLAIN CREATE CUBE: what a cube would cost, from building one data file's cells for real.

An estimate, and said to be one: the sampled file stands for all files, by their row counts.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pyarrow as pa

from accelerator.errors import BuildError
from cubes.definition import CubeDefinition

if TYPE_CHECKING:
    from accelerator.builds.builder import Target
    from accelerator.session import Accelerator

_STATE_BYTES = 5  # measured on SSB cubes: zstd Parquet, sorted
_DIMENSION_BYTES = 1
_NUMBER_BYTES = 8
_SKETCH_ITEMS = 3  # times its size: what a KLL sketch of very many rows holds


def estimate(session: Accelerator, target: Target) -> pa.Table:
    """Cells, bytes and build minutes of a cube over all of its fact's live files."""
    from cubes.build_sql import OWN_SEGMENT
    from cubes.spark import JobError, count_cells

    live = target.pinned[0].live_files()
    rows_total = sum(f.record_count for f in live)
    if not live:
        return _table(0, 0, 0.0, 0, 0)
    sample = sorted(live, key=lambda f: f.record_count)[len(live) // 2]
    engine = session.engine
    with ExitStack() as stack:
        tag = stack.enter_context(session.tracked())
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
    size = rows * _width(target.cube, sample.record_count / max(cells, 1))
    return _table(rows, round(size), seconds * share / 60, len(live), rows_total)


def _width(cube: CubeDefinition, rows_per_cell: float) -> float:
    """Bytes of one cell. A sketch keeps a small cell's numbers whole, and hardly packs."""
    plain = _STATE_BYTES * len(cube.states) + _DIMENSION_BYTES * len(cube.dimensions)
    sketches = [s.size for s in cube.states if s.size]
    return plain + sum(
        _NUMBER_BYTES * min(rows_per_cell, _SKETCH_ITEMS * size) for size in sketches
    )


def _table(rows: int, size: int, minutes: float, files: int, fact_rows: int) -> pa.Table:
    return pa.table(
        {
            "rows": pa.array([rows], pa.int64()),
            "bytes": pa.array([size], pa.int64()),
            "minutes": pa.array([round(minutes, 2)], pa.float64()),
            "files": pa.array([files], pa.int64()),
            "fact_rows": pa.array([fact_rows], pa.int64()),
        }
    )
