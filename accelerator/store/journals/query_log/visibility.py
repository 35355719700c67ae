"""Whose statements of the query log a statement may see: all, or one user's of the gateway.

An embedded session sees all: who opens a store reads its files. The gateway says for each statement
whose it may see, and what is planned and read within its thread goes by that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import pyarrow as pa
import pyarrow.compute as pc

from accelerator.store.journals.query_log.record import COLUMN_OF, bounded

_USER: ContextVar[str | None] = ContextVar("accelerator_log_user", default=None)
Knows = Callable[[str, str], bool]
"""Whether the reader may know of a cube or an index: by its column (`cubes`, …) and its name."""
_KNOWS: ContextVar[Knows | None] = ContextVar("accelerator_log_knows", default=None)
_NAMES = ("cubes", "indexes")
COLUMNS = ("user", "process")
"""What `own` looks at."""


@contextmanager
def shown_to(user: str | None, knows: Knows | None = None) -> Iterator[None]:
    """Limits what this thread reads of the log within to what that user asked; None: all.

    Names of cubes and indexes that `knows` refuses are omitted from the user's statements.
    """
    token, names = _USER.set(user), _KNOWS.set(knows)
    try:
        yield
    finally:
        _USER.reset(token)
        _KNOWS.reset(names)


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
    return _without_unknown(rows.filter(pc.and_(by_user, by_gateway)))


def _without_unknown(rows: pa.Table) -> pa.Table:
    """The rows without names of cubes and indexes that the reader may not know of."""
    knows = _KNOWS.get()
    if knows is None:
        return rows
    for kind in _NAMES:
        place = rows.schema.get_field_index(kind)
        if place < 0:
            continue
        column = rows.column(place)
        names = pc.unique(pc.list_flatten(column)).to_pylist()
        hidden = {one for one in names if one is not None and not knows(kind, one)}
        if hidden:
            shown = [
                None if one is None else [name for name in one if name not in hidden]
                for one in column.to_pylist()
            ]
            rows = rows.set_column(place, rows.schema.field(place), [pa.array(shown, column.type)])
    return rows
