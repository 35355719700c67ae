"""VACUUM … SNAPSHOTS: old snapshots of a lake table, and files that none of its metadata names.

Iceberg's procedures do it. Promises: a snapshot stays that a running statement or build of any
session has pinned, that a branch or tag needs, or that is within the retention; nothing goes from a
table with `gc.enabled` false; no file goes that a store, a catalog, another table or a view needs
(`SharedFiles`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field

from accelerator.engines.spark.lazy_engine import require_spark
from accelerator.errors import VacuumRefusedError
from accelerator.iceberg import PinnedTable
from accelerator.iceberg.catalogs.sqlite import sqlite_file
from accelerator.iceberg.tables.places import SearchFolder, folder_of
from accelerator.services.vacuum.shared_files import LakeCatalogs, SharedFiles
from accelerator.store import Report

if TYPE_CHECKING:
    from accelerator.engines.spark.procedures import Procedures
    from accelerator.query.runtime.services import Services

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


class ExpiryReport(Struct):
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
    services: Services,
    table: PinnedTable,
    *,
    hours: float | None,
    full: bool,
    dry_run: bool,
    tag: str,
) -> ExpiryReport:
    """Expires snapshots; with `full` removes orphan files too. `hours` None: the table's own rule.

    Stopped under the tag it ends between two procedures, or in a job of one. Spark is started only
    where something may go.
    """
    served, snapshots = ExpiryReport(dry_run), table.metadata.snapshots
    # Iceberg takes every other word for false.
    if table.properties.get("gc.enabled", "true").lower() != "true":
        served.kept.append(("snapshot", "the table has gc.enabled false", len(snapshots)))
        return served
    shared = shared_files(services, table, tag)
    if full:
        _check_own_files(services, table)
        shared.check_folder(table.location)
    now_ms = int(time.time() * 1000)
    cut = _older_than(now_ms, table.properties, hours)
    pinned = services.store.oldest_snapshot_ms(table.facts.uuid)
    before = cut if pinned is None else min(cut, pinned)
    held = sum(before <= one.timestamp_ms < cut for one in snapshots)
    served.kept.append(("snapshot", "pinned by a statement or build", held))
    current = table.metadata.current_snapshot_id
    if any(s.timestamp_ms < before and s.snapshot_id != current for s in snapshots):
        _expire(_procedures(services, tag), shared, table, (before, pinned), served)
    left = len(snapshots) - len(served.gone) - held
    reason = "within the retention, or of a branch or tag"
    served.kept.append(("snapshot", reason, max(0, left)))
    if full:
        kept = _ORPHAN_HOURS if hours is None else max(hours, _ORPHAN_HOURS_MIN)
        procedures = _procedures(services, tag)
        found = procedures.remove_orphans(table.parts, _before(now_ms, kept), dry_run=dry_run)
        served.deleted.append(("orphan file", "no metadata of the table names it", found))
    return served


def _procedures(services: Services, tag: str) -> Procedures:
    engine = require_spark(
        services.spark_source.engine,
        "snapshots are expired, and orphan files removed, by Spark",
        "VACUUM without SNAPSHOTS works",
    )
    from accelerator.engines.spark.procedures import Procedures

    return Procedures(engine, tag, partial(services.cancellation.check, tag))


def _expire(
    procedures: Procedures,
    shared: SharedFiles,
    table: PinnedTable,
    times: tuple[int, int | None],
    served: ExpiryReport,
) -> None:
    """Expires what is older than the first time, and nothing at all of the pinned one or later.

    A branch may have an age of its own for its snapshots, which is shorter.
    """
    before, pinned = times
    gone = procedures.expirable(table.parts, before)
    newest = max(
        (x.timestamp_ms for x in table.metadata.snapshots if x.snapshot_id in gone), default=0
    )
    if pinned is not None and newest >= pinned:
        served.kept.append(("snapshot", "pinned by a statement or build", len(gone)))
        return
    if gone and shared.check_snapshots(gone) and procedures.expirable(table.parts, before) != gone:
        raise VacuumRefusedError(
            f"{table.facts.name} was changed while its files were compared with other tables'",
            hint="nothing has expired; VACUUM again",
        )
    served.gone = gone
    served.deleted.append(("snapshot", "older than the retention", len(served.gone)))
    if not served.gone or served.dry_run:
        return
    for kind, count in procedures.expire(table.parts, before).items():
        served.deleted.append((_WHAT.get(kind, kind), "no snapshot holds it", count))


def _older_than(now_ms: int, properties: Mapping[str, str], hours: float | None) -> int:
    """Snapshots from that time on are within the retention."""
    if hours is not None:
        return _before(now_ms, hours)
    try:
        return min(now_ms, now_ms - int(properties.get(_AGE, _AGE_MS)))
    except ValueError:
        return now_ms - _AGE_MS


def _before(now_ms: int, hours: float) -> int:
    """That many hours ago, and never a time before 1970, which procedures don't all take."""
    return max(0, now_ms - int(hours * _HOUR_MS))


def shared_files(services: Services, table: PinnedTable, tag: str) -> SharedFiles:
    """Compares the table's files with those of all tables of the session's catalogs.

    Of catalogs that only Spark can list, the table's own one is listed.
    """

    def listed(catalog: str) -> list[tuple[str, ...]]:
        if catalog != table.parts[0] or settings[catalog].type != "jvm":
            return []
        return _procedures(services, tag).tables(catalog)

    settings = {one.name: one for one in services.lake.settings}
    catalogs = LakeCatalogs(services.lake.catalogs, settings, listed)
    check = partial(services.cancellation.check, tag)
    return SharedFiles(catalogs, services.footprints, table.parts, check)


def _check_own_files(services: Services, table: PinnedTable) -> None:
    """VacuumRefusedError if the store, or a catalog's file, lies under the table's location."""
    location, root = SearchFolder(table.location), services.config.store_root
    own = [(f"the store {root}", root)]
    for settings in services.lake.settings:
        file = sqlite_file(settings)
        if file is not None:
            own.append((f"the file {file} of the catalog {settings.name}", folder_of(str(file))))
    for what, folder in own:
        if location.has(SearchFolder(folder)):
            raise VacuumRefusedError(
                f"{what} lies inside {table.facts.name}'s location {table.location}",
                hint="it would be deleted as an orphan; move one of both, or leave FULL out",
            )
