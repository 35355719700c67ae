"""Errors as RFC 9457 has them: a status, and a body that programs and people can read."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from accelerator.gateway.trino.errors import NUMBERS, TrinoError, name_of
from accelerator.gateway.workers.api.models import Problem

TYPE = "application/problem+json"
STATUS: Mapping[str, int] = {
    "access_denied": 403,
    "advice_not_found": 404,
    "append_conflict": 409,
    "append_key_used": 409,
    "append_unknown": 503,
    "append_unsupported": 422,
    "catalog_read_only": 409,
    "catalog_unavailable": 503,
    "cube_not_found": 404,
    "cursor_gone": 410,
    "gateway_busy": 503,
    "header_invalid": 400,
    "host_unknown": 421,
    "index_not_found": 404,
    "login": 401,
    "method": 405,
    "no_worker": 503,
    "object_store_unavailable": 503,
    "origin_foreign": 403,
    "not_found": 404,
    "queue_full": 503,
    "queue_timeout": 503,
    "rate_limited": 429,
    "request_invalid": 400,
    "request_media": 415,
    "request_timeout": 408,
    "run_busy": 409,
    "run_ended": 409,
    "run_not_found": 404,
    "statement_timeout": 503,
    "store_conflict": 409,
    "store_unavailable": 503,
    "table_replaced": 409,
    "snapshot_unknown": 404,
    "table_unknown": 404,
    "table_unreadable": 422,
    "too_many_attempts": 429,
    "upload_invalid": 400,
    "upload_schema": 422,
    "upload_storage": 503,
    "upload_too_large": 413,
    "worker_lost": 503,
    "workload_empty": 409,
}
"""Statuses by our codes; of others the sort of error tells."""
_SORTS = (400, 500, 503)
_SORT_SIZE = 65_536


def status_of(error: TrinoError) -> int:
    """The status of an error."""
    known = STATUS.get(error.code)
    return _SORTS[NUMBERS[name_of(error)] // _SORT_SIZE] if known is None else known


def problem(error: TrinoError) -> Problem:
    """The body that tells of an error."""
    status = status_of(error)
    return Problem(
        type=f"urn:accelerator:error:{error.code}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=error.message,
        code=error.code,
        hint=error.hint,
    )
