"""How much memory a statement is thought to take: what those of its shape took before.

Nobody knows that before a statement is planned, and it waits for its turn before that. What one
took is what it read and gave, in bytes; of a shape that wasn't seen yet it's a setting.
"""

from __future__ import annotations

import hashlib

from accelerator.common.lru_cache import Recent
from accelerator.gateway.statements.statement import Statement
from accelerator.store.journals.query_log.statement_text import redact_sql

_SHAPES_MAX = 4096
_FADING = 0.75
"""What is left of the most that a shape took, each time that it takes less."""


class Estimates:
    """Of one gateway; belongs to its event loop."""

    def __init__(self, unknown: int) -> None:
        """`unknown`: bytes of a statement whose shape wasn't seen yet."""
        self._unknown = unknown
        self._taken: Recent[int] = Recent(_SHAPES_MAX)

    def of(self, statement: Statement) -> int:
        """Bytes that the statement is thought to take."""
        known = self._taken.get(_key(statement))
        return self._unknown if known is None else known

    def learn(self, statement: Statement, taken: int) -> None:
        """It took so many bytes."""
        key = _key(statement)
        before = self._taken.get(key)
        faded = 0 if before is None else int(before * _FADING)
        self._taken.put(key, max(taken, faded, 1))


def _key(statement: Statement) -> bytes:
    """Few bytes, however long a statement is; of one without a shape they go by its text."""
    client, sql = statement.client, statement.runs
    parts = client.catalog, client.schema, redact_sql(sql, "trino").shape or sql
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()
