"""BUILD STATISTICS and DROP STATISTICS, run against a session's services."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from accelerator.common.progress import Progress, SilentProgress
from accelerator.iceberg import PinnedTable
from accelerator.iceberg.writes.statistics_files import StatisticsChange
from accelerator.query.statements.definitions import no_such_table
from accelerator.query.statements.nodes import BuildStatistics, DropStatistics
from accelerator.services.statistics.build import BuiltStatistics, build, change
from rewrite.identifiers.qualified_name import joined

if TYPE_CHECKING:
    from accelerator.iceberg import Pin
    from accelerator.query.runtime.services import Services


def build_statistics(
    statement: BuildStatistics, services: Services, progress: Progress | None = None
) -> BuiltStatistics:
    """Runs one; UnknownTableError, and errors as for `build.build`."""
    shown = progress or SilentProgress()
    with services.cancellation.tracked() as tag, services.store.reading():
        check = partial(services.cancellation.check, tag)
        pin, pinned = _pinned(services, statement.table)
        services.store.pin_snapshot(pinned.facts.uuid, pinned.snapshot_ms)
        try:
            return build(services, pin, pinned, statement.columns, shown, check)
        finally:
            shown.finish()


def run_drop(statement: DropStatistics, services: Services) -> list[dict[str, Any]]:
    """Takes every file of statistics out of the table's metadata; a row for each.

    The files stay: statements may read them, and VACUUM … FULL SNAPSHOTS takes orphans.
    """
    _, pinned = _pinned(services, statement.table)
    files = pinned.metadata.statistics
    if files:
        change(services, pinned, StatisticsChange(pinned.facts.uuid))
    return [
        {
            "table": pinned.facts.name,
            "snapshot_id": file.snapshot_id,
            "path": file.statistics_path,
            "bytes": file.file_size_in_bytes,
        }
        for file in files
    ]


def _pinned(services: Services, table: tuple[str, ...]) -> tuple[Pin, PinnedTable]:
    pin = services.lake.pin(fresh=True)
    pinned = pin.pinned(table)
    if pinned is None:
        raise no_such_table(services, joined(table))
    return pin, pinned
