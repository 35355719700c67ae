"""OPTIMIZE … BY, run against a services: which files, in which order, and what came of it.

Incremental: files that were written by this very order stay as they are. What a statement rewrites
is ordered among itself, along the same curve as those files, so that many small ones leave many
runs, until `full` makes one of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from accelerator.common.progress import Progress, SilentProgress
from accelerator.engines.spark.lazy_engine import require_spark
from accelerator.errors import ClusteringError, UnknownTableError
from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.query.statements.nodes import OptimizeTable
from accelerator.services.clustering.options import MB, ROW_GROUP_BYTES, OptimizeOptions, order_of
from accelerator.services.clustering.order import Order
from rewrite.identifiers.qualified_name import joined

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

_FIGURES = ("files_before", "files_after", "bytes_before", "bytes_after", "rows")


class RewriteDue(Struct, frozen=True):
    """The files of a pinned table that OPTIMIZE rewrites, in which order."""

    pinned: PinnedTable
    order: Order
    options: OptimizeOptions
    files: Sequence[LiveFile]


def rewrite_due(statement: OptimizeTable, services: Services) -> RewriteDue:
    """Returns the files that the statement rewrites; changes nothing.

    Raises:
        UnknownColumnError, ClusteringError: the order or an option can't be.
        RelateColumnError, UnknownTableError: a relate column's path is broken.
        SparkMissingError: there are such files, and Spark isn't installed.
    """
    pin = services.lake.pin(fresh=True)
    pinned = pin.pinned(statement.table)
    if pinned is None:
        raise UnknownTableError(
            f"there is no Iceberg table {joined(statement.table)}",
            unknown=joined(statement.table),
            hint="tables of this session's catalogs can be clustered",
        )
    options, order = _options(statement), order_of(statement, pinned, pin)
    files = [f for f in pinned.live_files() if options.full or not order.has(f.path)]
    if files:
        require_spark(
            services.spark_source.engine,
            f"the files of {pinned.facts.name} are rewritten by Spark",
            "indexes and cubes are built over the files as they are",
        )
    return RewriteDue(pinned, order, options, files)


def optimize(
    statement: OptimizeTable, services: Services, progress: Progress | None = None
) -> dict[str, int | None]:
    """Rewrites what isn't clustered by the order yet; what it did, as a row.

    Raises:
        AcceleratorError: see `rewrite_due`.
        ClusteringError: it failed, or the table was changed meanwhile; the table is as it was.
        CancelledError: it was stopped.
    """
    due = rewrite_due(statement, services)
    if not due.files:
        nothing: dict[str, int | None] = dict.fromkeys(_FIGURES, 0)
        return nothing | {"snapshot": None}
    from accelerator.services.clustering.data_files import rewrite_files

    shown = progress or SilentProgress()
    try:
        done = rewrite_files(services, due.pinned, due.order, due.options, due.files, shown)
    finally:
        shown.finish()
    figures = (done.files_before, done.written.files, done.bytes_before, done.written.bytes)
    values: tuple[int | None, ...] = (*figures, done.written.rows)
    return dict(zip(_FIGURES, values, strict=True)) | {"snapshot": done.snapshot}


def _options(statement: OptimizeTable) -> OptimizeOptions:
    given = dict(statement.options)
    if len(given) < len(statement.options):
        raise ClusteringError("an option is given twice", hint="give each one once")
    unknown = given.keys() - {"target_file_size_mb", "row_group_mb", "full"}
    if unknown:
        raise ClusteringError(
            f"OPTIMIZE has no option {', '.join(sorted(unknown))}",
            hint="its options are target_file_size_mb, row_group_mb and full",
        )
    full = given.get("full", False)
    if not isinstance(full, bool):
        raise ClusteringError("full is true or false", hint="for example: WITH (full = true)")
    row_group = _bytes(given, "row_group_mb")
    return OptimizeOptions(_bytes(given, "target_file_size_mb"), row_group or ROW_GROUP_BYTES, full)


def _bytes(given: dict[str, str | float | bool], name: str) -> int:
    """The size that an option gives in megabytes; 0 without one."""
    if name not in given:
        return 0
    value = given[name]
    if isinstance(value, (str, bool)) or not 0 < value * MB < 2**31:
        raise ClusteringError(
            f"{name} can't be {value}", hint="give a number of megabytes, above 0 and below 2048"
        )
    return max(1, int(value * MB))
