"""Whose statements of the query log a statement may see: all, or one user's of the gateway.

An embedded session sees all: who opens a store reads its files. The gateway says for each statement
whose it may see, and what is planned and read within its thread goes by that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import pyarrow as pa
import pyarrow.compute as pc

from accelerator.query_log.record import COLUMN_OF, bounded

_USER: ContextVar[str | None] = ContextVar("accelerator_log_user", default=None)
COLUMNS = ("user", "process")
"""What `own` looks at."""


@contextmanager
def shown_to(user: str | None) -> Iterator[None]:
    """What this thread reads of the log within is what that user asked; None: all."""
    token = _USER.set(user)
    try:
        yield
    finally:
        _USER.reset(token)


def whose() -> str | None:
    """The user whose statements may be seen here; None: everybody's."""
    return _USER.get()


def own(rows: pa.Table, user: str) -> pa.Table:
    """The rows of what that user asked of a gateway, which knows its users.

    Embedded sessions name themselves as they like, so theirs are nobody's. Nobody is shown rows of
    a name that the log cuts.
    """
    if bounded(user, COLUMN_OF["user"].most) != user:
        return rows.slice(0, 0)
    by_user = pc.equal(rows["user"], pa.scalar(user, pa.string()))
    by_gateway = pc.equal(rows["process"], pa.scalar("gateway", pa.string()))
    return rows.filter(pc.and_(by_user, by_gateway))
