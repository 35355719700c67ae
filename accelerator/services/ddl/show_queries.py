"""SHOW QUERIES: the newest statements of the log, as rows of a few columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from accelerator.errors import StatementError
from accelerator.query.statements.nodes import ShowQueries
from accelerator.store.journals.query_log.reader import LIMIT_MAX, read

if TYPE_CHECKING:
    from accelerator.query.runtime.services import Services

_HOURS_MAX = 24 * 366 * 50


def shown(statement: ShowQueries, services: Services) -> Iterator[Mapping[str, Any]]:
    """Its rows; StatementError for hours or a limit that can't be."""
    hours, limit = statement.hours, statement.limit
    if hours is not None and not hours <= _HOURS_MAX:
        raise StatementError(
            f"the query log doesn't go back {hours:.0f} hours",
            hint="leave SINCE out for all that it has",
        )
    if limit > LIMIT_MAX:
        raise StatementError(
            f"{limit} statements are more than can be shown",
            hint=f"give {LIMIT_MAX:,} at most, or read them by Accelerator.query_log(until=…)",
        )
    since = None if hours is None else datetime.now(UTC) - timedelta(hours=hours)
    services.log.unwritten()
    return (_row(one) for one in read(services.store.files, since, None, limit).to_pylist())


def _row(found: Mapping[str, Any]) -> Mapping[str, Any]:
    told = [one for one in (found["error_code"], found["error_message"]) if one]
    return {**found, "error": ": ".join(told) or None}
