"""VACUUM of one table, from the lake to the store: snapshots, then segments, then files.

In that order, so that one pass makes garbage of what the lake no longer holds. Nothing of the store
is deleted where a part before it failed. One that is cancelled stops before its next request, with
whatever it has done; the next vacuum goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct

from accelerator.artifacts.segments.checksums import CHECKSUM, altered
from accelerator.common.config.config import Config
from accelerator.errors import CubeNotFoundError, IndexNotFoundError
from accelerator.iceberg import PinnedTable, UnreadableTableError
from accelerator.query.early_errors.refused_tables import typed
from accelerator.services.ddl.cubes.recycle_bin import recycle_of_gone_table
from accelerator.services.refresh.artifacts import COMPACT
from accelerator.services.vacuum.dead_segments import LakeGarbage
from accelerator.services.vacuum.snapshots import ExpiryReport, vacuum_lake
from accelerator.store import (
    BESIDE,
    CubeRecord,
    IndexRecord,
    Report,
    Retention,
    SegmentRecord,
    Store,
)
from accelerator.store.journals.claims import Claims
from accelerator.store.journals.run import REFRESH
from rewrite.identifiers.qualified_name import joined

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

_LEFT_MS = 86_400_000


class VacuumScope(Struct, frozen=True):
    """How much one vacuum does. `hours` None: the session's setting, and the table's own rule."""

    full: bool = False
    snapshots: bool = False
    hours: float | None = None
    dry_run: bool = False


def retention_of(config: Config, hours: float | None = None) -> Retention:
    """What a vacuum keeps by the settings, or for other hours than they say."""
    kept = config.vacuum_retain_hours if hours is None else hours
    return Retention(
        grace_ms=int(kept * 3_600_000),
        versions_min=config.vacuum_versions_min,
        batch=config.vacuum_min_batch_delete_size,
        threads=config.vacuum_delete_threads,
        deletes_per_s=config.vacuum_deletes_per_second,
    )


def vacuum(
    services: Services,
    table: PinnedTable,
    scope: VacuumScope,
    *,
    ctrl_c: bool = True,
    then: Callable[[], None] | None = None,
) -> Report:
    """Vacuums a table that is there; CancelledError where it's cancelled meanwhile.

    `ctrl_c`: Ctrl-C cancels it too, and is raised once it has stopped. `then` is done last, unless
    it was cancelled or only asked what it would do.
    """
    if not scope.dry_run:
        services.store.check_writable()  # before a snapshot has gone
    with services.cancellation.tracked(ctrl_c=ctrl_c) as tag:
        served = ExpiryReport(scope.dry_run)
        if scope.snapshots:
            with typed(joined(table.parts), services.lake, services.context):
                served = vacuum_lake(
                    services,
                    table,
                    hours=scope.hours,
                    full=scope.full,
                    dry_run=scope.dry_run,
                    tag=tag,
                )
        gone = served.gone if scope.dry_run else ()
        check = partial(services.cancellation.check, tag)
        if not scope.dry_run:
            _drop_abandoned(services.store, table.facts.uuid)
        gone_keys = _forget(services, check) if scope.full and not scope.dry_run else 0
        damaged = _damaged(services, table.facts.uuid, scope, check) if scope.full else 0
        report = services.store.vacuum(
            table.facts.uuid,
            retention_of(services.config, scope.hours),
            full=scope.full,
            dry_run=scope.dry_run,
            unusable=LakeGarbage(
                services.lake, table.parts, table.facts.uuid, gone, check=check
            ).unusable,
            check=check,
        )
        if then is not None and not scope.dry_run:
            check()
            then()
    served.tell(report)
    report.deleted("claim", "its cube or index is gone, or its writer", gone_keys)
    report.deleted("segment", "its file isn't what was written", damaged)
    return report


def _drop_abandoned(store: Store, table_uuid: str) -> None:
    """Drops the cubes and indexes of a table whose replacing was stopped a day ago."""
    registry, before = store.registry(fresh=True), time.time() * 1000 - _LEFT_MS

    def is_abandoned(record: CubeRecord | IndexRecord) -> bool:
        is_old = record.name.endswith(BESIDE) and record.created_ms < before
        return is_old and record.table_uuid == table_uuid

    for cube in filter(is_abandoned, registry.cubes.values()):
        with suppress(CubeNotFoundError):
            store.drop_cube(cube.name, cube_id=cube.id)
    for index in filter(is_abandoned, registry.indexes.values()):
        with suppress(IndexNotFoundError):
            store.drop_index(index.name)


def _forget(services: Services, check: Callable[[], None]) -> int:
    """Deletes the claims of work on cubes and indexes that are gone; how many files that was.

    Those in the recycle bin may come back. What killed writers left half-written goes too.
    """
    claims, gone = Claims(services.store.files), 0
    check()
    keys = [key for key in claims.known_keys() if key.startswith((REFRESH, COMPACT))]
    check()
    owned = services.store.registry(fresh=True).owned if keys else frozenset()
    for key in keys:
        if key.removeprefix(REFRESH).removeprefix(COMPACT) not in owned:
            check()
            gone += claims.forget((key,))
    check()
    gone += claims.drop_drafts()
    check()
    return gone


def _damaged(
    services: Services, table_uuid: str, scope: VacuumScope, check: Callable[[], None]
) -> int:
    """Reads every artifact that has a checksum, and forgets the segments of those that differ.

    The next BUILD CUBE makes them anew.
    """
    by_path: dict[str, list[SegmentRecord]] = {}
    version = services.store.table(table_uuid)
    for segment in chain.from_iterable(map(version.of, version.cubes)):
        if CHECKSUM in segment.facts:
            by_path.setdefault(segment.path, []).append(segment)
    found: list[int] = []
    for segments in by_path.values():
        check()
        found += [one.id for one in altered(segments, services.store, anew=True)]
    if found and not scope.dry_run:
        services.store.remove_segments(table_uuid, found)
    return len(found)


def vacuum_stored(
    services: Services, table_uuid: str, parts: tuple[str, ...], scope: VacuumScope
) -> Report:
    """Vacuums what the store has of a table; of one that is gone from the lake, that alone.

    `parts` are its name by its cubes, none where it has no cube. A full vacuum moves the cubes of
    a table that is gone to the recycle bin first. Ctrl-C is the caller's business.
    """
    table, unread = None, ""
    try:
        table = services.lake.pin(fresh=True).described(parts) if len(parts) > 1 else None
    except UnreadableTableError as error:  # which files it has isn't known, what garbage is here is
        unread = error.message
    if table is not None and table.facts.uuid == table_uuid:
        return vacuum(services, table, scope, ctrl_c=False)
    moved: list[str] = []
    if len(parts) > 1 and scope.full and not scope.dry_run and not unread:
        moved = recycle_of_gone_table(services, table_uuid, parts[0])
    retention = retention_of(services.config, scope.hours)
    with services.cancellation.tracked(ctrl_c=False) as tag:
        report = services.store.vacuum(
            table_uuid,
            retention,
            full=scope.full,
            dry_run=scope.dry_run,
            check=partial(services.cancellation.check, tag),
        )
    report.kept("cube", "moved to the recycle bin, since its table is gone", len(moved))
    report.kept("table", unread, int(bool(unread)))
    return report
