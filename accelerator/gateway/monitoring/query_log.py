"""The gateway's statements for the query log in the store, which services and people read.

Promise: a store that can't be written costs nothing but the records; nobody waits for it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from accelerator.common.config.config import Config
from accelerator.gateway.monitoring.history import StatementRecord as Seen
from accelerator.store.files.files import open_files
from accelerator.store.journals.query_log.record import LogRecord, State, reason_of
from accelerator.store.journals.query_log.writing.writer import Limits, QueryLog

_ENDED: tuple[State, ...] = ("FINISHED", "CANCELLED")
_OTHERS = {"queued_ms", "reason", "state", "user", "worker"}
_SHARED = set(LogRecord.__struct_fields__) & {one.name for one in fields(Seen)} - _OTHERS
"""Fields of the same name and meaning in both; a text that isn't known is empty in the history."""


def opened(config: Config) -> QueryLog:
    """The log of that store, of which nothing is read or written yet."""
    return QueryLog(open_files(config.store_root, config.store_options), Limits.of(config))


def record(seen: Seen) -> LogRecord:
    """A statement that has ended."""
    shared: dict[str, Any] = {
        name: None if (value := getattr(seen, name)) == "" else value for name in _SHARED
    }
    code, text = reason_of(seen.reason or seen.all_rows)
    return LogRecord(
        **shared,
        started_us=int(seen.created * 1_000_000),
        state=next((one for one in _ENDED if one == seen.state), "FAILED"),
        sql=seen.written,
        process="gateway",
        user=seen.user,
        client_tags=seen.tags,
        queued_ms=float(seen.queued_ms),
        error_code=seen.error or None,
        reason=code,
        reason_text=None if seen.is_private else text,
        bytes_given=seen.bytes,
        worker=seen.worker or None,
    )
