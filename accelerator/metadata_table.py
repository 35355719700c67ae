"""`t$logical_iceberg_metadata`: the files of an Iceberg table as a table, in any query.

Each mention is replaced by a temporary view of what the manifests say (`iceberg/file_metadata.py`),
in the query's own text; Spark runs the rest. `docs/reference/metadata-table.md` has the columns.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import SqlglotError

from accelerator.errors import StatementError
from rewrite.bind_from import occurrence_of
from rewrite.parse import parse
from rewrite.reason import DeclinedError

if TYPE_CHECKING:
    from accelerator.engines.spark import SparkEngine
    from accelerator.iceberg import Pin, PinnedTable

SUFFIX = "$logical_iceberg_metadata"
_STATE = re.compile(
    r"\s+(?:FOR\s+)?(?:SYSTEM_)?(?:VERSION|TIMESTAMP|TIME)\s+AS\s+OF\s+"
    r"(?:TIMESTAMP\s*)?(?:'[^'\\]*'|\"[^\"\\]*\"|\d+)",
    re.IGNORECASE,
)
_HINT = f"docs/reference/metadata-table.md says how `t{SUFFIX}` is written"


def is_named(sql: str) -> bool:
    """Whether such a table may be named in the text; a quick look."""
    return SUFFIX in sql.lower()


@contextmanager
def with_views(
    sql: str, engine: SparkEngine, pin: Pin, dialect: str, zone: str | None
) -> Iterator[str]:
    """The query with views in place of such tables; they are gone when the context is left.

    DeclinedError (`table_unknown`) where one's table isn't there, StatementError where the text
    can't be read.
    """
    try:
        tree = parse(sql, dialect)
    except SqlglotError as error:
        raise StatementError(
            f"the query can't be read: {str(error).splitlines()[0]}", hint=_HINT
        ) from error
    text, wanted = sql, _wants_stats(tree)
    found = [table for table in tree.find_all(exp.Table) if _place(table) is not None]
    with ExitStack() as views:
        for table in sorted(found, key=_start, reverse=True):
            rows = _pinned(table, pin, zone).file_metadata(with_stats=wanted)
            name = f"acc_{uuid.uuid4().hex}"
            frame = engine.session.createDataFrame(rows.rows, rows.ddl)
            frame.createOrReplaceTempView(name)
            views.callback(engine.session.catalog.dropTempView, name)
            text = _replaced(text, table, name)
        yield text


def _place(table: exp.Table) -> int | None:
    """Which part of the name has the suffix; the last, or the one before the name of a state."""
    for place, part in enumerate(table.parts):
        if isinstance(part, exp.Identifier) and part.name.lower().endswith(SUFFIX):
            return place
    return None


def _wants_stats(tree: exp.Expression) -> bool:
    """Whether the query may look at the statistics: by their name, or by a star."""
    if any(name.name.lower() == "column_stats" for name in tree.find_all(exp.Identifier)):
        return True
    return any(not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star))


def _pinned(table: exp.Table, pin: Pin, zone: str | None) -> PinnedTable:
    bare = exp.Table(**{k: table.args.get(k) for k in ("this", "db", "catalog", "version")}).copy()
    for part in bare.parts:
        if part.name.lower().endswith(SUFFIX):
            part.set("this", part.name[: -len(SUFFIX)])
    occurrence = occurrence_of(0, bare, pin, zone)
    pinned = pin.pinned(occurrence.parts, occurrence.at)
    if pinned is None:
        raise DeclinedError("table_unknown", f"The table {occurrence.table.name}.")
    return pinned


def _start(table: exp.Table) -> int:
    start = table.parts[0].meta.get("start")
    if start is None:
        raise StatementError("the parser doesn't say where the table's name stands", hint=_HINT)
    return int(start)


def _replaced(sql: str, table: exp.Table, view: str) -> str:
    """The text with the name, and the state behind it, replaced by the view under its alias."""
    end = int(table.parts[-1].meta["end"]) + 1
    if table.args.get("version") is not None:
        state = _STATE.match(sql, end)
        if state is None:
            raise StatementError("the table's state isn't a literal", hint=_HINT)
        end = state.end()
    alias = "" if table.alias or table.args.get("sample") else f" AS `{table.name}`"
    return f"{sql[: _start(table)]}{view}{alias}{sql[end:]}"
