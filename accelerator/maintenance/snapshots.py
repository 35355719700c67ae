"""VACUUM … SNAPSHOTS: old snapshots of a lake table, and files that none of its metadata names.

Iceberg's procedures do it. Promises: a snapshot stays that a running statement or build of any
session has pinned, that a branch or tag needs, or that is within the retention; nothing goes from a
table with `gc.enabled` false; a store inside the table's location is never taken for orphans.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from accelerator.errors import StatementError
from accelerator.iceberg import PinnedTable
from accelerator.store import Report, local_path

if TYPE_CHECKING:
    from accelerator.engines.procedures import Procedures
    from accelerator.session import Accelerator

_HOUR_MS = 3_600_000
_AGE = "history.expire.max-snapshot-age-ms"
_AGE_MS = 5 * 24 * _HOUR_MS  # Iceberg's default for it
_ORPHAN_HOURS, _ORPHAN_HOURS_MIN = 72.0, 24.0
"""Iceberg's defaults: a running writer's files are in no metadata yet."""
_WHAT = {
    "data_files": "data file",
    "position_delete_files": "position delete file",
    "equality_delete_files": "equality delete file",
    "manifest_files": "manifest",
    "manifest_lists": "manifest list",
    "statistics_files": "statistics file",
}


@dataclass
class Served:
    """What was done, or would be by a dry run: lines of a report, and ids of snapshots."""

    dry_run: bool
    deleted: list[tuple[str, str, int]] = field(default_factory=list)
    kept: list[tuple[str, str, int]] = field(default_factory=list)
    gone: frozenset[int] = frozenset()

    def tell(self, report: Report) -> None:
        """Adds the lines to a report."""
        for what, reason, files in self.deleted:
            report.deleted(what, reason, files)
        for what, reason, files in self.kept:
            report.kept(what, reason, files)


def vacuum_lake(
    session: Accelerator,
    table: PinnedTable,
    *,
    hours: float | None,
    full: bool,
    dry_run: bool,
) -> Served:
    """Expires snapshots; with `full` removes orphan files too. `hours` None: the table's own rule.

    Spark is started only where something may go.
    """
    if full:
        _check_place(session.config.store_root, table)
    served, snapshots = Served(dry_run), table.metadata.snapshots
    if table.properties.get("gc.enabled", "true").strip().lower() == "false":
        served.kept.append(("snapshot", "the table has gc.enabled false", len(snapshots)))
        return served
    from accelerator.engines.procedures import Procedures

    now_ms = int(time.time() * 1000)
    with session.tracked() as tag:
        cut = _older_than(now_ms, table.properties, hours)
        pinned = session.store.oldest_snapshot_ms(table.facts.uuid)
        before = cut if pinned is None else min(cut, pinned)
        held = sum(before <= one.timestamp_ms < cut for one in snapshots)
        served.kept.append(("snapshot", "pinned by a statement or build", held))
        current = table.metadata.current_snapshot_id
        if any(s.timestamp_ms < before and s.snapshot_id != current for s in snapshots):
            _expire(Procedures(session.engine, tag), table, before, served)
        left = len(snapshots) - len(served.gone) - held
        reason = "within the retention, or of a branch or tag"
        served.kept.append(("snapshot", reason, max(0, left)))
        if full:
            kept = _ORPHAN_HOURS if hours is None else max(hours, _ORPHAN_HOURS_MIN)
            procedures = Procedures(session.engine, tag)
            found = procedures.remove_orphans(
                table.parts, now_ms - int(kept * _HOUR_MS), dry_run=dry_run
            )
            served.deleted.append(("orphan file", "no metadata of the table names it", found))
    return served


def _expire(procedures: Procedures, table: PinnedTable, before: int, served: Served) -> None:
    served.gone = procedures.expirable(table.parts, before)
    served.deleted.append(("snapshot", "older than the retention", len(served.gone)))
    if not served.gone or served.dry_run:
        return
    for kind, count in procedures.expire(table.parts, before).items():
        served.deleted.append((_WHAT.get(kind, kind), "no snapshot holds it", count))


def _older_than(now_ms: int, properties: Mapping[str, str], hours: float | None) -> int:
    """Snapshots from that time on are within the retention."""
    if hours is not None:
        return now_ms - int(hours * _HOUR_MS)
    try:
        return now_ms - int(properties.get(_AGE, _AGE_MS))
    except ValueError:
        return now_ms - _AGE_MS


def _check_place(store_root: str, table: PinnedTable) -> None:
    root, place = (local_path(one).rstrip("/") + "/" for one in (store_root, table.location))
    if root.startswith(place):
        raise StatementError(
            f"the store {store_root} lies inside {table.facts.name}'s location {table.location}",
            hint="orphan files can't be told from the store's there; move the store elsewhere,"
            " or leave FULL out",
        )
