"""What plain Spark would read for a query: the data files that bounds don't leave out.

Iceberg leaves out files by their bounds before Spark reads them. Of the others whole files count,
since nobody knows how much of each column Parquet's reader takes. So it's the most that it reads.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from msgspec import Struct
from sqlglot import exp

from accelerator.engines.session_settings import SessionContext
from accelerator.errors import AcceleratorError
from accelerator.iceberg import Pin, PinnedTable
from rewrite.analysis.query_form import TableReference, bound_filters, uses
from rewrite.bind.from_clause import occurrence_of
from rewrite.ir.block import Occurrence
from rewrite.reason import DeclinedError

_log = logging.getLogger("accelerator")


class ScanEstimate(Struct, frozen=True):
    """What a query would read of its tables' files at most."""

    bytes: int = 0
    files: int = 0
    rows: int = 0


class QueriedTable(Struct, frozen=True):
    """A table of the query that is an Iceberg table here."""

    use: TableReference
    occurrence: Occurrence
    pinned: PinnedTable


def named_tables(tree: exp.Expression, pin: Pin, context: SessionContext) -> Iterator[QueriedTable]:
    """The tables that the query names, as often as it does; nothing of what is no such table."""
    zone = context.settings().get("time_zone")
    for use in uses(tree):
        bare = exp.Table(**{k: use.table.args.get(k) for k in ("this", "db", "catalog")})
        parts = tuple(part.name for part in use.table.parts)
        if context.is_temporary(parts):
            continue
        bare.set("alias", use.table.args.get("alias"))
        bare.set("version", use.table.args.get("version"))
        try:
            occurrence = _occurrence(bare, pin, zone)
            pinned = pin.pinned(occurrence.parts, occurrence.at)
        except (DeclinedError, AcceleratorError):
            continue  # a view, a path, no table at all: Spark says what is wrong with it
        if pinned is not None:
            yield QueriedTable(use, occurrence, pinned)


def scanned(named: QueriedTable, zone: str | None) -> ScanEstimate | None:
    """From the manifests; None of a table whose manifests can't be read."""
    from accelerator.planning.survey import Survey  # imports Arrow's compute module

    filters = bound_filters(named.use, named.occurrence, zone)
    try:
        asked = Survey(named.pinned.statistics(), filters)
        files, rows, size = asked.counted(asked.may_pass())  # may read a manifest once more
    except AcceleratorError as error:
        _log.warning("nobody can tell what is read of %s: %s", named.pinned.facts.name, error)
        return None
    return ScanEstimate(size, files, rows)


def scanned_by(tree: exp.Expression, pin: Pin, context: SessionContext) -> ScanEstimate | None:
    """By the whole query; None where that isn't known, e.g. of a view.

    What WITH names counts as often as it's mentioned: Spark writes it in each of these places.
    """
    zone = context.settings().get("time_zone")
    found = list(named_tables(tree, pin, context))
    if len(found) < len(list(uses(tree))):
        return None
    size = files = rows = 0
    for one in found:
        told = scanned(one, zone)
        if told is None:
            return None
        times = _times(tree, one.use.table)
        size, files, rows = (
            size + times * told.bytes,
            files + times * told.files,
            rows + times * told.rows,
        )
    return ScanEstimate(size, files, rows)


def _times(tree: exp.Expression, table: exp.Expression) -> int:
    """How often a table is read, by the mentions of the WITHs around it."""
    times, node = 1, table.find_ancestor(exp.CTE)
    while node is not None:
        name = node.alias.lower()
        mentions = (one for one in tree.find_all(exp.Table) if not one.args.get("db"))
        times *= sum(one.name.lower() == name for one in mentions)
        node = node.find_ancestor(exp.CTE)
    return times


def _occurrence(table: exp.Table, pin: Pin, zone: str | None) -> Occurrence:
    """The table in its state; in its newest one where the state isn't a literal."""
    try:
        return occurrence_of(0, table, pin, zone)
    except DeclinedError as error:
        if error.declined.code != "block_unsupported":
            raise
        table.set("version", None)
        return occurrence_of(0, table, pin, zone)
