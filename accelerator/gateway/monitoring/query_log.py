"""The gateway's statements for the query log in the store, which services and people read.

Promise: a store that can't be written costs nothing but the records; nobody waits for it.
"""

from __future__ import annotations

from accelerator.common.config.config import Config
from accelerator.gateway.monitoring.history import StatementRecord as Seen
from accelerator.store.files.files import open_files
from accelerator.store.journals.query_log.record import LogRecord, State, reason_of
from accelerator.store.journals.query_log.writing.writer import Limits, QueryLog

_STATES: dict[str, State] = {
    "FINISHED": "FINISHED",
    "FAILED": "FAILED",
    "CANCELLED": "CANCELLED",
}


def opened(config: Config) -> QueryLog:
    """The log of that store, of which nothing is read or written yet."""
    return QueryLog(open_files(config.store_root, config.store_options), Limits.of(config))


def record(seen: Seen) -> LogRecord:
    """A statement that has ended."""
    code, text = reason_of(seen.reason or seen.all_rows)
    return LogRecord(
        id=seen.id,
        started_us=int(seen.created * 1_000_000),
        state=_STATES.get(seen.state, "FAILED"),
        sql=seen.written,
        sql_length=seen.sql_length,
        process="gateway",
        user=seen.user,
        source=seen.source or None,
        client_tags=seen.tags,
        queued_ms=float(seen.queued_ms),
        elapsed_ms=seen.elapsed_ms,
        planning_ms=seen.planning_ms,
        execution_ms=seen.execution_ms,
        error_code=seen.error or None,
        error_message=seen.error_message or None,
        dialect=seen.dialect,
        catalog=seen.catalog or None,
        schema=seen.schema or None,
        engine=seen.engine or None,
        cached=seen.cached,
        rewritten=seen.rewritten,
        cubes=seen.cubes,
        indexes=seen.indexes,
        tables=seen.tables,
        reason=code,
        reason_text=None if seen.is_private else text,
        files_total=seen.files_total,
        files_read=seen.files_read,
        row_groups_read=seen.row_groups_read,
        bytes_read=seen.bytes_read,
        rows=seen.rows,
        bytes_given=seen.bytes,
        worker=seen.worker or None,
    )
