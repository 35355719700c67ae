"""Chosen data files of a table as a relation in DuckDB's text, read by DuckDB's own reader.

Columns are taken by field ids, so that renamed, added and dropped ones are what the table says, and
types are the table's. Deleted rows are left out by their positions. Files that DuckDB's reader
can't take so come as an Arrow table beside, with the same columns.

DuckDB passes over row groups by their bounds, which say nothing of NaN, and NaN is above all
numbers. So floating columns come through an expression of which it knows no bounds but NaN's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from msgspec import Struct

from accelerator.engines.duckdb.engine import path_list
from accelerator.engines.duckdb.scan_schema import ScanColumns, scan_columns
from accelerator.iceberg.io import inputs_for, object_file
from rewrite.render.expressions import quote

if TYPE_CHECKING:
    from accelerator.engines.duckdb.engine import DuckDBEngine
    from accelerator.iceberg import LiveFile, PinnedTable
    from accelerator.iceberg.rows.duckdb_readable import ByIds
    from accelerator.iceberg.rows.read import Hold


_SPANS_MAX = 16
"""Parts of files that are read by one text; more of them are planned longer than they're read."""


class TableScan(Struct, frozen=True):
    """`text` is a SELECT over the files and over these `tables`; it's empty if one table is all.

    `file_bytes`: of columns in files that aren't objects, or of such files that are read whole.
    """

    text: str
    tables: dict[str, pa.Table]
    file_bytes: int


def with_scans(scans: Mapping[str, str], text: str) -> str:
    """The text with the scans under their names; each is planned as a part of the statement."""
    if not scans:
        return text
    named = ", ".join(f"{name} AS NOT MATERIALIZED ({scan})" for name, scan in scans.items())
    return f"WITH {named} {text}"


def table_scan(
    pinned: PinnedTable,
    names: Sequence[str],
    files: Sequence[LiveFile],
    name: str,
    engine: DuckDBEngine,
    tag: str = "",
    numbered: FileNumberColumn | None = None,
) -> TableScan:
    """Those columns of the files' rows, under their names; `name` begins the names of its tables.

    `numbered` adds a column. CancelledError once what runs under the tag was told to stop;
    MemoryExceededError where it may not hold what is read here;
    NeedsSparkError where only Spark reads them; CatalogError, OSError, ValueError where nobody can.
    """
    columns, hold = _columns(pinned, names), partial(engine.held.hold, tag)
    if columns is None or not files:
        return _in_arrow(pinned, names, files, name, numbered, hold, engine.objects(tag).count)
    from accelerator.iceberg.rows.duckdb_readable import by_ids  # imports PyArrow's dataset half

    readable, objects = engine.files_of(pinned.locations), engine.objects(tag)
    found = by_ids(pinned, names, files, readable.may_read, lambda: engine.check(tag), objects)
    if len(found.others) == len(files):
        return _in_arrow(pinned, names, files, name, numbered, hold, objects.count)
    tables: dict[str, pa.Table] = {}
    parts: list[str] = []
    file_bytes = found.file_bytes
    if found.whole:
        parts.append(_select(columns, found.whole, found.files, numbered))
    if found.deleted:
        deletes = f"{name}_deleted"
        tables[deletes] = _deleted(found)
        hold(tables[deletes].nbytes)
        paths = [path for path, _ in found.deleted]
        parts.append(
            f"{_select(columns, paths, found.files, numbered)} AS s ANTI JOIN {deletes} AS d"
            " ON d.file = s.file_index AND d.pos = s.file_row_number"
        )
    if found.others:
        beside = _in_arrow(
            pinned, names, found.others, f"{name}_beside", numbered, hold, objects.count
        )
        tables.update(beside.tables)
        shown = [quote(one, "duckdb") for one in columns.names]
        shown += [] if numbered is None else [numbered.column]
        from_ = f"({beside.text})" if beside.text else f"{name}_beside"
        parts.append(f"SELECT {', '.join(shown)} FROM {from_}")
        file_bytes += beside.file_bytes
    return TableScan(" UNION ALL ".join(parts), tables, file_bytes)


class RowSpan(Struct, frozen=True):
    """Rows of a file from the number `first` to the number before `end`; all of them if `whole`."""

    file: LiveFile
    first: int
    end: int
    whole: bool


def span_scan(
    pinned: PinnedTable,
    names: Sequence[str],
    spans: Sequence[RowSpan],
    engine: DuckDBEngine,
    tag: str = "",
    numbered: FileNumberColumn | None = None,
) -> str | None:
    """Returns a SELECT of these columns of the spans' rows; None if DuckDB can't read a file alone.

    DuckDB prunes the row groups outside of a span. `numbered` adds its columns. NeedsSparkError as
    of `table_scan`.
    """
    columns = _columns(pinned, names)
    ids = {path[-1].field_id for path in map(pinned.facts.path, names) if path}
    if columns is None or not names or not spans:
        return None
    if sum(not one.whole for one in spans) > _SPANS_MAX:
        return None
    if any(one.file.deletes or not ids.isdisjoint(one.file.fixed) for one in spans):
        return None
    from accelerator.iceberg.rows.duckdb_readable import by_ids  # imports PyArrow's dataset half

    files = list({one.file.path: one.file for one in spans}.values())
    readable = engine.files_of(pinned.locations)
    found = by_ids(pinned, names, files, readable.may_read, lambda: engine.check(tag))
    if found.others:
        return None
    paths = dict(zip((file.path for file in files), found.whole, strict=True))
    whole = [paths[one.file.path] for one in spans if one.whole]
    parts = [_select(columns, whole, found.files, numbered)] if whole else []
    parts += (
        f"{_select(columns, [paths[one.file.path]], found.files, numbered)}"
        f" WHERE file_row_number BETWEEN {one.first} AND {one.end - 1}"
        for one in spans
        if not one.whole
    )
    return " UNION ALL ".join(parts)


def _columns(pinned: PinnedTable, names: Sequence[str]) -> ScanColumns | None:
    """The columns as DuckDB reads them; None if it can't, or there are none of these names."""
    found = [path for path in map(pinned.facts.path, names) if path]
    return scan_columns(found) if len(found) == len(names) else None


class FileNumberColumn(Struct, frozen=True):
    """A column beside the table's own that has a number for each data file, by its path.

    `row` names another one, of the row's number in its file.
    """

    column: str
    numbers: Mapping[str, int]
    row: str | None = None


def _in_arrow(
    pinned: PinnedTable,
    names: Sequence[str],
    files: Sequence[LiveFile],
    name: str,
    numbered: FileNumberColumn | None,
    hold: Hold,
    count: Callable[[int], None],
) -> TableScan:
    """Reads the files into Arrow: one table, or with numbers one for each file."""
    inputs = inputs_for(pinned.metadata_location, pinned.io_properties)
    uncounted = (f for f in files if object_file(inputs, f.path, f.size_bytes) is None)
    size = sum(file.size_bytes for file in uncounted)
    if numbered is None or not files:
        return TableScan("", {name: pinned.arrow(names, files, hold, count)}, size)
    tables = {
        f"{name}_{n}": pinned.arrow(names, [file], hold, count) for n, file in enumerate(files)
    }
    parts = (
        f"SELECT *, CAST({numbered.numbers[file.path]} AS BIGINT) AS {numbered.column} FROM {one}"
        for one, file in zip(tables, files, strict=True)
    )
    return TableScan(" UNION ALL ".join(parts), tables, size)


def _select(
    columns: ScanColumns,
    paths: Sequence[str],
    origins: Mapping[str, str],
    numbered: FileNumberColumn | None,
) -> str:
    shown = list(columns.items)
    if numbered is not None:
        listed = ", ".join(str(numbered.numbers[origins[path]]) for path in paths)
        shown.append(
            f"CAST([{listed}][CAST(file_index AS BIGINT) + 1] AS BIGINT)"
            f" AS {quote(numbered.column, 'duckdb')}"
        )
        if numbered.row is not None:
            shown.append(f"CAST(file_row_number AS BIGINT) AS {quote(numbered.row, 'duckdb')}")
    scan = f"read_parquet({path_list(list(paths))}, schema = {columns.schema}"
    return f"SELECT {', '.join(shown)} FROM {scan}, hive_partitioning = false)"


def _deleted(found: ByIds) -> pa.Table:
    """Deleted positions, by the number of their file among those with deletes."""
    positions = [places for _, places in found.deleted]
    numbers = np.repeat(np.arange(len(positions), dtype=np.uint64), list(map(len, positions)))
    return pa.table({"file": numbers, "pos": np.concatenate(positions)})
