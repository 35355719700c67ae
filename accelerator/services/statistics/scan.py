"""The live rows of a pinned table's files, sketched: one row group of a few columns at a time.

Deletes of every kind are applied, as the house reads them. Promises: memory is bounded by a few row
groups' columns; the work stops soon after `check` raises.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
from msgspec import Struct

from accelerator.common.arrow.spark_types import is_known, row_width
from accelerator.common.progress import Progress
from accelerator.errors import StatisticsError
from accelerator.iceberg import LiveFile, NeedsSparkError, PinnedTable
from accelerator.iceberg.rows.row_groups import GroupReader, OpenFile
from accelerator.services.statistics.sketches.column import ColumnSketches, SketchedColumn
from accelerator.services.statistics.sketches.hashing import kind_of
from rewrite.ir.expr import Column

_FILES_AT_ONCE = 32
_BYTES_AT_ONCE = 64 << 20
"""Of the columns of one row group that are read together, as Arrow holds them: about."""
_FAILS = (OSError, ValueError, KeyError, TypeError, pa.ArrowException)
"""What reading damaged files, or files that have gone, raises."""


class Sketching(Struct):
    """What was made of the rows: by field id, with what was read."""

    columns: dict[int, ColumnSketches]
    files: int = 0
    rows: int = 0
    bytes: int = 0


class _GroupColumns(Struct, frozen=True):
    """Some columns of one row group."""

    file: OpenFile
    group: int
    columns: Sequence[Column]


def columns_of(pinned: PinnedTable) -> tuple[list[SketchedColumn], list[SketchedColumn]]:
    """The table's columns that can be sketched, and those that can't: nested ones, or not read."""
    able: list[SketchedColumn] = []
    unable: list[SketchedColumn] = []
    for each in pinned.schema.fields:
        known = pinned.facts.column(each.name)
        layout = _digest(known.layout) if known is not None else ""
        one = SketchedColumn(each.field_id, each.name, str(each.field_type), layout)
        # Of two names that differ in case alone, the first one is read.
        is_found = known is not None and known.field_id == each.field_id
        can_be = is_found and one.can_be and is_known(_read_as(pinned, one))
        (able if can_be else unable).append(one)
    return able, unable


def _digest(layout: str) -> str:
    """Sixteen hex digits of what isn't empty."""
    return hashlib.blake2b(layout.encode(), digest_size=8).hexdigest() if layout else ""


def _read_as(pinned: PinnedTable, column: SketchedColumn) -> str:
    """Spark's type by which it's read; a UUID is read as its bytes."""
    if column.field_id in pinned.uuid_fields:
        return "binary"
    known = pinned.facts.column(column.name)
    return known.type if known is not None else ""


def sketch(
    pinned: PinnedTable,
    columns: Sequence[SketchedColumn],
    files: Sequence[LiveFile],
    check: Callable[[], None],
    progress: Progress,
) -> Sketching:
    """Sketches of these columns over the live rows of these files.

    Raises:
        CancelledError: `check` says so.
        StatisticsError: a file, or a delete, can't be read, or not in process.
    """
    made = Sketching({one.field_id: ColumnSketches.empty(one.type) for one in columns})
    asked = [Column(0, one.field_id, one.name, _read_as(pinned, one)) for one in columns]
    types = {one.field_id: one.type for one in columns}
    raw = frozenset(one.field_id for one in columns if kind_of(one.type) in ("fixed", "uuid"))
    reader = GroupReader(pinned, asked, check, raw=raw)

    def sketched(piece: _GroupColumns) -> tuple[dict[int, ColumnSketches], int]:
        table = _read(piece)
        found = {}
        for column in piece.columns:
            check()  # what takes long is this, not the reading
            one = found[column.field_id] = ColumnSketches.empty(types[column.field_id])
            one.update(table.column(column.name))
        return found, table.num_rows

    at_once = max(2, min(4, os.cpu_count() or 1))
    first = asked[0].field_id if asked else -1
    try:
        for start in range(0, len(files), _FILES_AT_ONCE):
            some = files[start : start + _FILES_AT_ONCE]
            pieces = list(_pieces(reader.open(some), asked))
            for place in range(0, len(pieces), at_once):
                for found, rows in reader.map(sketched, pieces[place : place + at_once]):
                    made.rows += rows if first in found else 0
                    for number, one in found.items():
                        made.columns[number].merge(one)
            progress.advance(len(some))
    except NeedsSparkError as error:
        raise StatisticsError(
            f"the rows of {pinned.facts.name} can't be read in process: {error.message}",
            hint="leave out the columns that it names, or have Spark make the statistics:"
            " CALL system.compute_table_stats",
        ) from error
    except _FAILS as error:
        raise StatisticsError(
            f"the rows of {pinned.facts.name} can't be read: {error}",
            hint="check that its files are there and whole; a snapshot that expired has none",
        ) from error
    made.files, made.bytes = len(files), reader.counted.bytes
    return made


def _read(piece: _GroupColumns) -> pa.Table:
    """Its rows; NeedsSparkError names the first column that can't be read here."""
    try:
        return piece.file.sought(piece.group, piece.columns)[0]
    except NeedsSparkError:
        for column in piece.columns:
            try:
                piece.file.sought(piece.group, [column])
            except NeedsSparkError as error:
                said = f"{column.name}: {error.message}"
                raise NeedsSparkError(said, hint=error.hint) from error
        raise


def _pieces(opened: Sequence[OpenFile], columns: Sequence[Column]) -> Iterator[_GroupColumns]:
    """Row group by row group, as many columns together as are about so many bytes."""
    for file in opened:
        for group, rows in enumerate(file.groups):
            chosen: list[Column] = []
            size = 0
            for column in columns:
                width = row_width([column.type or ""]) * rows
                if chosen and size + width > _BYTES_AT_ONCE:
                    yield _GroupColumns(file, group, chosen)
                    chosen, size = [], 0
                chosen.append(column)
                size += width
            if chosen:
                yield _GroupColumns(file, group, chosen)
