"""Spark's error for a table that Spark refuses whole, as the typed error with the column.

Spark names neither the table nor, of a type, the column: "Spark does not support time fields". The
tables are those that the statement's text and its views name. Promise: an error stays Spark's own
unless Spark has just refused, and the lake proves why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from types import TracebackType

from sqlglot import exp

from accelerator.engines.session_settings import SessionContext
from accelerator.errors import AcceleratorError, UnknownSnapshotError
from accelerator.iceberg import Lake, Pin, UnreadableTableError
from accelerator.iceberg.tables.unreadable import Reader
from rewrite.analysis.query_form import uses
from rewrite.bind.from_clause import occurrence_of
from rewrite.facts import ViewFacts
from rewrite.parse.parse import PARSER_FAILS, parse
from rewrite.reason import DeclinedError
from rewrite.text.spark_lexer import scanned

_SAID = re.compile(
    r"Spark does not support \w+ fields|Cannot convert unsupported type to Spark"
    r"|COLUMN_ALREADY_EXISTS|Cannot build lower case index|Invalid projection for field"
    r"|unknown transforms|unsupported transforms|Cannot parse type string to primitive"
    r"|Cannot parse missing int: source-id"
)
"""What Spark and Iceberg's library say of tables that they refuse whole."""
_NO_NAMESPACE = "NoSuchNamespaceException"
_NAMES_MAX, _VIEWS_MAX = 256, 8
_NAMED = ("keyword", "plain", "quoted")
_PARTS = ("catalog", "db", "this")
_SPARKS: tuple[Reader, ...] = ("Spark", "Iceberg")
ITSELF: tuple[Reader, ...] = ("Spark",)
"""Spark without Iceberg's library, of which a session may have a newer one."""
Full = Callable[[tuple[str, ...]], tuple[str, ...]]


def check_tables(
    sql: str, pin: Pin, context: SessionContext, readers: Collection[Reader] = _SPARKS
) -> None:
    """Raises UnreadableTableError for the first table of a query whose state Spark refuses.

    UnknownSnapshotError for a state that its table doesn't have.

    For a Spark of the release that is known here, which isn't started for the error. Tables that
    views read count. Nothing else of the statement does: not what its cubes and indexes rest on.
    """
    waiting: list[tuple[str, Full]] = [(sql, tuple)]
    zone, views = context.settings().get("time_zone"), 0
    while waiting:
        text, full = waiting.pop(0)
        try:
            tree = parse(text)
        except PARSER_FAILS:
            continue
        # A name of four parts, as `c.d.t.tag_x`, is no table's own.
        several = (one for one in tree.find_all(exp.Table) if isinstance(one.this, exp.Dot))
        for table in (*(use.table for use in uses(tree)), *several):
            parts = full(tuple(part.name for part in table.parts))
            if full is tuple and context.is_temporary(parts):
                continue
            try:
                occurrence_of(0, _bare(table, parts), pin, zone)
            except UnreadableTableError as error:
                if error.refusal.reader in readers:
                    raise
            except UnknownSnapshotError:
                if table.args.get("version") is not None:
                    raise
            except (DeclinedError, AcceleratorError):  # Spark says what is wrong with it
                view = _view(pin, parts) if views < _VIEWS_MAX else None
                if view is not None:
                    views += 1
                    waiting.append((view.sql, view.full))


class typed:
    """Raises UnreadableTableError for Spark's error about a table that Spark refuses whole.

    UnknownSchemaError for Iceberg's Java error about a namespace, which Spark passes on.
    """

    def __init__(self, sql: str, lake: Lake, context: SessionContext) -> None:
        self._sql, self._lake, self._context = sql, lake, context

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not isinstance(error, Exception) or isinstance(error, AcceleratorError):
            return
        said = str(error)
        if _NO_NAMESPACE in said:
            # Imports all statements about catalogs.
            from accelerator.query.catalog_statements.names import no_such_namespace

            unknown = no_such_namespace(self._sql, self._lake, self._context)
            if unknown is not None:
                raise unknown from error
        if _SAID.search(said):
            found = _refused(self._sql, self._lake.pin(), self._context)
            if found is not None:
                raise found from error


def _refused(sql: str, pin: Pin, context: SessionContext) -> UnreadableTableError | None:
    """The error for the first table of the statement that Spark refuses."""
    waiting, seen = [(sql, 0)], set[tuple[str, ...]]()
    while waiting:
        text, depth = waiting.pop(0)
        for parts in _names(text):
            if parts in seen or len(seen) >= _NAMES_MAX or context.is_temporary(parts):
                continue
            seen.add(parts)
            # Behind a table's name may stand a state of it, or a table of its metadata.
            for name in (parts, parts[:-1]):
                try:
                    view = pin.view(name) if name and pin.pinned(name) is None else None
                except UnreadableTableError as error:
                    if error.by_spark:
                        return error
                except AcceleratorError:
                    pass  # of a name that isn't a table's
                else:
                    if view is not None and depth < _VIEWS_MAX:
                        waiting.append((view.sql, depth + 1))
    return None


def _bare(table: exp.Table, parts: tuple[str, ...]) -> exp.Table:
    """The table by its full name in its state, without an alias and what else FROM has there."""
    given = {key: table.args.get(key) for key in ("this", "db", "catalog")}
    if len(parts) == len(_PARTS):  # a view completes the names in its text
        given = {
            key: exp.to_identifier(part, quoted=True)
            for key, part in zip(_PARTS, parts, strict=True)
        }
    return exp.Table(**given, version=table.args.get("version"))


def _view(pin: Pin, parts: tuple[str, ...]) -> ViewFacts | None:
    try:
        return pin.view(parts)
    except AcceleratorError:
        return None


def _names(sql: str) -> Iterator[tuple[str, ...]]:
    """Every dotted name in a text, a table's or not; a keyword may be a table's name."""
    tokens = [one for one in scanned(sql) or () if one.kind in _NAMED or one.key == "."]
    parts: list[str] = []
    end = -1
    for token in tokens:
        if token.key == ".":
            end = token.end
            continue
        if parts and end < 0:
            yield tuple(parts)
            parts = []
        parts.append(token.name(sql))
        end = -1
    if parts:
        yield tuple(parts)
