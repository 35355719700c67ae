"""Why PyIceberg reads rows of a plan in process that DuckDB's own, quicker reader can't."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from accelerator.errors import AcceleratorError
from accelerator.iceberg.io import local_path
from accelerator.planning.plans import CoverPlan, Plan
from accelerator.planning.sources.duckdb_text import used_columns
from rewrite.reason import Declined
from rewrite.render.readable import dotted

if TYPE_CHECKING:
    from accelerator.engines.duckdb.engine import DuckDBEngine
    from accelerator.iceberg import LiveFile, PinnedTable

_FILES_MAX = 1000
_FOOTERS = "accelerator.iceberg.rows.stored_types"


def other_reader(plan: Plan, engine: DuckDBEngine) -> tuple[tuple[str, Declined], ...]:
    """Returns the plan's tables that PyIceberg reads files of, each with the reason.

    No file is opened for it, so a footer's reason appears once a statement has read the footer. At
    most 1,000 files of a table are looked at.
    """
    return tuple(dict(_tables(plan, engine)).items())


def _tables(plan: Plan, engine: DuckDBEngine) -> Iterator[tuple[str, Declined]]:
    for leaf in plan.leaves():
        if not isinstance(leaf, CoverPlan) or leaf.engine != "duckdb" or leaf.duckdb is None:
            continue
        for _, occurrence in leaf.duckdb.raw:
            pinned = leaf.pinned[occurrence]
            is_fact = occurrence == leaf.match.fact
            try:
                files = leaf.uncovered if is_fact else pinned.live_files()
                names = used_columns(leaf.block, occurrence, pinned)
                found = _reason(pinned, names, files[:_FILES_MAX], engine)
            except (AcceleratorError, OSError):
                continue  # the statement itself meets the same error, and reports it
            if found is not None:
                yield dotted(leaf.block.occurrences[occurrence].parts), found


def _reason(
    pinned: PinnedTable, names: Sequence[str], files: Sequence[LiveFile], engine: DuckDBEngine
) -> Declined | None:
    local = [path for path in map(local_path, (one.path for one in files)) if path is not None]
    if not local:
        return _of_objects(pinned, names, files)
    readable = engine.files_of(pinned.locations)
    if readable.refused is not None:
        return readable.refused
    for path in local:
        if not readable.may_read(path) or Path(path).is_symlink():
            return Declined("file_outside", f"It is {path}.")
    if _FOOTERS not in sys.modules:  # no footer was read, and the import takes 0.4 s
        return None
    from accelerator.iceberg.rows.duckdb_readable import why_beside

    return why_beside(pinned, names, files)


def _of_objects(
    pinned: PinnedTable, names: Sequence[str], files: Sequence[LiveFile]
) -> Declined | None:
    """Returns why obstore doesn't read one of these objects, or why DuckDB doesn't."""
    from accelerator.iceberg.objects.stores import why_unread  # tables on a disk need no obstore
    from accelerator.iceberg.rows.duckdb_readable import why_beside

    for file in files:
        why = why_unread(file.path, pinned.io_properties)
        if why is not None:
            return Declined("object_by_pyiceberg", f"{why}.")
    return why_beside(pinned, names, files)
