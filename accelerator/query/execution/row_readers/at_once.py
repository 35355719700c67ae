"""The rows of a plan by one statement over DuckDB's own scan of local files.

DuckDB reads them several times sooner than row group after row group is read and asked. So it does
if each of the files has to be read anyway, or if they are few and small.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from accelerator.common.arrow.spark_types import conform
from accelerator.engines.duckdb.engine import FEW_ROWS, NO_MAX, DuckDBEngine
from accelerator.engines.duckdb.table_scan import table_scan, with_scans
from accelerator.iceberg import LiveFile
from accelerator.iceberg.io import local_path
from accelerator.iceberg.rows.row_groups import ReadCounter
from accelerator.iceberg.rows.stored_types import known_footer
from accelerator.planning.candidates.ordered_rows import bounded_keys
from accelerator.planning.plans import RowsPlan
from rewrite.render.row_block import rows_sql

_ROWS_MAX, _FEW_FILES = 1_000_000, 8
"""More rows or files are read in the order of their bounds, if there is one and a limit."""
_FILES_MAX = 1000


def rows_at_once(
    plan: RowsPlan, engine: DuckDBEngine, tag: str, bytes_max: int
) -> tuple[pa.Table, ReadCounter] | None:
    """The answer and what was read; None if the plan's rows are better read piece by piece.

    `bytes_max` is what may be read of files for the first rows of an order. MemoryExceededError,
    and what `table_scan` raises.
    """
    block = plan.block
    files = _files(plan, bytes_max)
    if not files:
        return None
    names = [column.name for column in block.used]
    scan = table_scan(plan.pinned[0], names, files, "acc_rows", engine, tag)
    scans = {"acc_rows": scan.text} if scan.text else {}
    text = with_scans(scans, rows_sql(block, "duckdb", "acc_rows"))
    few = block.limit is not None and block.limit <= FEW_ROWS
    rows = sum(file.record_count for file in files)
    whole = rows <= _ROWS_MAX and engine.may_make_whole(rows)
    answer = engine.run(text, scan.tables, tag=tag, bytes_max=None if few else NO_MAX, whole=whole)
    counted = ReadCounter(_row_groups(files), {file.path for file in files}, scan.file_bytes)
    types = [o.expr.type or "" for o in block.outputs]
    return conform(answer, [n or "" for n in plan.names], types), counted


def _files(plan: RowsPlan, bytes_max: int) -> list[LiveFile]:
    """The plan's files, in the order of the reading; none if they aren't to be read at once."""
    block, reading = plan.block, plan.reading
    if reading.selection is not None or not block.used or block.is_any or block.limit == 0:
        return []
    if not (block.conjuncts or block.order) or not 0 < len(reading) <= _FILES_MAX:
        return []
    if block.limit is not None and bounded_keys(block):
        rows = int(reading.known.rows[reading.files].sum())
        few = len(reading) <= _FEW_FILES and rows <= _ROWS_MAX and reading.bytes <= bytes_max
        if not block.conjuncts or not few:
            return []
    files, used = reading.live(0, len(reading)), {column.field_id for column in block.used}
    local = all(local_path(file.path) and used.isdisjoint(file.fixed) for file in files)
    return files if local else []


def _row_groups(files: Iterable[LiveFile]) -> set[tuple[str, int]]:
    """The row groups of the files; those that DuckDB leaves out by their bounds are counted too."""
    footers = ((file.path, known_footer(file)) for file in files)
    return {
        (path, number)
        for path, footer in footers
        if footer is not None
        for number in range(footer.row_groups)
    }
