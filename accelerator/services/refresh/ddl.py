"""ALTER CUBE and ALTER INDEX … SET REFRESH, and what SHOW CUBES and SHOW INDEXES tell of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from accelerator.builds.segments.builder import CubeTarget
from accelerator.common.config import refresh_schedule
from accelerator.query.statements.nodes import SetCubeRefresh, SetIndexRefresh
from accelerator.services.advisor.apply import user_changes
from accelerator.services.refresh import lag
from accelerator.services.refresh.artifacts import key_of
from accelerator.store import CubeRecord, IndexRecord
from accelerator.store.journals.run import TaskRuns

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services


def set_cube(statement: SetCubeRefresh, services: Services) -> list[dict[str, Any]]:
    """Says when the cube is refreshed. CubeNotFoundError; StoreError where it's read-only."""
    version = services.store.change_cube(statement.name, refresh=statement.when)
    user_changes.note(services, "altered", version.cubes[statement.name])
    return [{"cube": statement.name, "refresh": _schedule_text(statement.when, services)}]


def set_index(statement: SetIndexRefresh, services: Services) -> list[dict[str, Any]]:
    """Says when the index is refreshed. IndexNotFoundError; StoreError where it's read-only."""
    version = services.store.change_index(statement.name, refresh=statement.when)
    user_changes.note(services, "altered", version.indexes[statement.name])
    return [{"index": statement.name, "refresh": _schedule_text(statement.when, services)}]


def _schedule_text(said: str | None, services: Services) -> str:
    """When it's refreshed: as was said, else as the setting says."""
    return refresh_schedule.of(said, services.config.refresh).text


class Shown:
    """What the store tells of refreshes, for one statement."""

    def __init__(self, services: Services) -> None:
        self._services, self._known = services, services.refreshes.known()

    def of(self, record: CubeRecord | IndexRecord) -> dict[str, Any]:
        """When it's refreshed, its last run, and how far a run is that goes on."""
        row: dict[str, Any] = {"refresh": _schedule_text(record.refresh, self._services)}
        found = self._known.get(key_of(record), TaskRuns())
        if found.last is not None:
            row |= {"last_run": found.last.ended_ms, "last_error": found.last.error}
        if found.running is not None:
            row["progress"] = f"{found.running.done}/{found.running.total or '?'}"
        return row

    def lag_of_cube(self, target: CubeTarget) -> float:
        """Seconds by which it's behind."""
        builder = self._services.builder
        missing, record = builder.missing(target), target.record
        built = self._services.store.table(record.table_uuid).of(record.id) if missing else ()
        return lag.lag_s(lag.of_cube(target, missing, built), _now_ms())


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
