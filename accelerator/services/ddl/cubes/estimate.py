"""EXPLAIN CREATE CUBE: what a cube would cost, from building one data file's cells for real.

An estimate, and said to be one: the sampled file stands for all files, by their row counts. Beside
it, where the tables have sketches, how many cells are left at most once all segments are merged.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from accelerator.builds.segments.size_estimate import MergedCells, cell_bytes, merged_cells
from accelerator.engines.spark.lazy_engine import require_spark
from accelerator.errors import BuildError

if TYPE_CHECKING:
    from accelerator.builds.segments.builder import CubeTarget
    from accelerator.query.runtime.services import Services


def estimate(services: Services, target: CubeTarget) -> dict[str, Any]:
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
    from cubes.job_error import JobError
    from cubes.spark import count_cells
    from cubes.sql.build import OWN_SEGMENT

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


def _row(
    rows: int, size: int, minutes: float, fact: tuple[int, int], merged: MergedCells
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
