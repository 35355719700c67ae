"""The protocol's answer to a request, as bytes: rows that are encoded already go in as they are.

Promise: the keys that clients can't do without are always there (`id`, `infoUri`, `stats`,
`warnings`); what is absent means what its absence means to them, as `nextUri` the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import orjson
from msgspec import Struct

State = Literal["QUEUED", "PLANNING", "RUNNING", "FINISHING", "FINISHED", "FAILED"]


class StatementStats(Struct, frozen=True, kw_only=True):
    """How far a statement is. Times are milliseconds, `progress` is a per cent or None."""

    state: State
    elapsed_ms: int = 0
    queued_ms: int = 0
    planning_ms: int = 0
    cpu_ms: int = 0
    wall_ms: int = 0
    rows: int = 0
    bytes_read: int = 0
    physical_bytes: int = 0
    peak_memory_bytes: int = 0
    spilled_bytes: int = 0
    nodes: int = 1
    splits: int = 1
    splits_done: int = 0
    progress: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """The protocol's `stats`."""
        is_queued, is_running = self.state == "QUEUED", self.state in ("RUNNING", "FINISHING")
        is_over = self.state == "FINISHED"
        done = self.splits if is_over else min(self.splits_done, self.splits)
        left = self.splits - done
        found: dict[str, Any] = {
            "state": self.state,
            "queued": is_queued,
            "scheduled": is_running or is_over,
            "nodes": self.nodes,
            "totalSplits": self.splits,
            "queuedSplits": 0 if is_running or is_over else left,
            "runningSplits": left if is_running else 0,
            "completedSplits": done,
            "planningTimeMillis": self.planning_ms,
            "analysisTimeMillis": self.planning_ms,
            "cpuTimeMillis": self.cpu_ms,
            "wallTimeMillis": self.wall_ms,
            "queuedTimeMillis": self.queued_ms,
            "elapsedTimeMillis": self.elapsed_ms,
            "finishingTimeMillis": 0,
            "physicalInputTimeMillis": 0,
            "processedRows": self.rows,
            "processedBytes": self.bytes_read,
            "physicalInputBytes": self.physical_bytes,
            "physicalWrittenBytes": 0,
            "internalNetworkInputBytes": 0,
            "peakMemoryBytes": self.peak_memory_bytes,
            "spilledBytes": self.spilled_bytes,
        }
        progress = 100.0 if is_over else self.progress
        if progress is not None:
            found["progressPercentage"] = min(100.0, max(0.0, progress))
            found["runningPercentage"] = 0.0 if is_over else found["progressPercentage"]
        return found


def document(
    id: str,
    info_uri: str,
    *,
    stats: StatementStats,
    next_uri: str | None = None,
    columns: Sequence[Mapping[str, Any]] | None = None,
    data: bytes | None = None,
    error: Mapping[str, Any] | None = None,
    update_type: str | None = None,
) -> bytes:
    """The answer as JSON in UTF-8. `data` is what `encode.encode` gives, and isn't parsed again.

    Rows come with their columns: ValueError where these lack. `data` without any row is left out,
    as clients expect it.
    """
    found: dict[str, Any] = {"id": id, "infoUri": info_uri}
    if next_uri is not None:
        found["nextUri"] = next_uri
    if columns is not None:
        found["columns"] = columns
    if data is not None and data != b"[]":
        if columns is None:
            raise ValueError("rows without their columns")
        found["data"] = orjson.Fragment(data)
    found["stats"] = stats.as_dict()
    if error is not None:
        found["error"] = error
    if update_type is not None:
        found["updateType"] = update_type
    found["warnings"] = []
    return orjson.dumps(found, default=_plain)


def _plain(value: object) -> Any:
    """Mappings and sequences that aren't dict and list, as results may hold them."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(type(value).__name__)
