"""Rows of chosen data files as Arrow, deletes of every kind applied.

The deletes are applied here, because PyIceberg's ArrowScan applies every delete it has read to
every file of that path, reads a whole Puffin file for one vector in it, and no equality deletes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
import pyarrow as pa
from pyiceberg.exceptions import ResolveError
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema

from accelerator.common.arrow.spark_types import row_width
from accelerator.errors import UnknownColumnError
from accelerator.iceberg.errors import NeedsSparkError
from accelerator.iceberg.io import Inputs
from accelerator.iceberg.rows.arrow_scan import ScanTable, WholeFiles
from accelerator.iceberg.rows.deleted_rows import DeletedRows
from accelerator.iceberg.rows.nested_fields import as_columns, has_nested, pruned
from accelerator.iceberg.rows.orc.orc_file import whole_file
from accelerator.iceberg.rows.orc.orc_footer import OrcCompressionError
from accelerator.iceberg.rows.readable import check_readable
from accelerator.iceberg.rows.stored_types import check_types
from accelerator.iceberg.tables.data_file import LiveFile
from rewrite.facts import TableFacts

# Spark shows these otherwise than Arrow holds them, or PyIceberg can't read them.
_SPARK_ONLY_TYPES = ("uuid", "variant", "unknown", "time", "geometry", "geography")
_THREADS_MAX = 8


class Pinned(ScanTable, Protocol):
    """What reading needs of a pinned table."""

    @property
    def facts(self) -> TableFacts:
        """Its name and columns."""
        ...


Hold = Callable[[int], None]
"""Is told how many bytes more are held, or fewer, and raises where they're too many."""


def read_rows(
    pinned: Pinned,
    columns: Sequence[str],
    files: Sequence[LiveFile],
    hold: Hold | None = None,
    count: Callable[[int], None] = lambda _size: None,
) -> pa.Table:
    """The rows of those files with those columns, in no promised order.

    `hold` is told an estimate of their bytes before they're read, and how far that was off.
    `count` is given the number of bytes that an object store sends.
    """
    check_readable(pinned, files)
    types = (one.type for one in map(pinned.facts.field, columns) if one is not None)
    expected = sum(file.record_count for file in files) * row_width(types)
    if hold is not None:
        hold(expected)
    names = columns or [field.name for field in pinned.schema.fields[:1]]
    schema, nested = projection(pinned, names), has_nested(pinned.facts, names)
    # Batches may differ in string width from file to file; the answer's schema may not.
    target = schema_to_pyarrow(schema, include_field_ids=False)
    try:
        pieces = _pieces(pinned, schema, files, count)
        table = pa.concat_tables([target.empty_table(), *(piece.cast(target) for piece in pieces)])
        table = as_columns(table, pinned.facts, names) if nested else table
        for column in table.columns:
            # DuckDB takes texts for UTF-8, which they need not be.
            kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_struct)
            if any(one(column.type) for one in kinds):
                column.validate(full=True)
    except (ValueError, ResolveError, NotImplementedError) as error:
        raise NeedsSparkError(
            f"files of {pinned.facts.name} can't be read in process: {error}",
            hint="Spark reads them; the statement takes that way by itself",
        ) from error
    if hold is not None:
        hold(table.nbytes - expected)
    return table if columns else table.select([])


def projection(pinned: Pinned, columns: Sequence[str]) -> Schema:
    """The pinned schema's columns of those names, in their order.

    Instead of a struct's field it has the struct, with no more fields than are needed.
    """
    fields = []
    for name in columns:
        known = pinned.facts.field(name)
        if known is None:
            raise UnknownColumnError(
                f"{pinned.facts.name} has no column {name}",
                hint=f"its columns are {', '.join(each.name for each in pinned.facts.columns)}",
            )
        field = pinned.pyiceberg_schema.find_field(known.field_id)
        if re.split(r"\W", str(field.field_type))[0] in _SPARK_ONLY_TYPES:
            raise NeedsSparkError(
                f"{pinned.facts.name}.{name} is of Iceberg's type {field.field_type}",
                hint="Spark reads it; the statement takes that way by itself",
            )
        fields.append(field)
    if has_nested(pinned.facts, columns):
        return pruned(pinned.pyiceberg_schema, pinned.facts, columns)
    return Schema(*fields, schema_id=pinned.schema.schema_id)


def _pieces(
    pinned: Pinned, schema: Schema, files: Sequence[LiveFile], count: Callable[[int], None]
) -> list[pa.Table]:
    """One table of the files without deletes, and one for each file with some."""
    whole, deletes = WholeFiles(pinned, schema, count), DeletedRows(pinned)
    wanted = schema_to_pyarrow(schema)
    stripes = _orc_files(whole.io, files, wanted)
    check_types(whole.io, [file for file in files if file.path not in stripes], wanted)

    def undeleted(file: LiveFile) -> pa.Table:
        table = stripes.get(file.path)
        table = whole.in_order(file) if table is None else table
        kept = np.ones(table.num_rows, dtype=bool)
        kept[deletes.of(file)] = False
        return table.filter(pa.array(kept))

    plain = [file for file in files if not file.deletes and file.path not in stripes]
    pieces = [whole.rows(plain)] if plain else []
    pieces.extend(stripes[file.path] for file in files if file.path in stripes and not file.deletes)
    deleted = [file for file in files if file.deletes]
    if deleted:
        with ThreadPoolExecutor(_THREADS_MAX) as pool:
            pieces.extend(pool.map(undeleted, deleted))
    return pieces


def _orc_files(inputs: Inputs, files: Sequence[LiveFile], wanted: pa.Schema) -> dict[str, pa.Table]:
    """The rows of the ORC files by path, without those that PyIceberg has to read."""
    written = [file for file in files if file.file_format == "orc"]
    if not written:
        return {}
    with ThreadPoolExecutor(_THREADS_MAX) as pool:
        tables = list(pool.map(lambda file: _orc_file(inputs, file, wanted), written))
    return {
        file.path: table for file, table in zip(written, tables, strict=True) if table is not None
    }


def _orc_file(inputs: Inputs, file: LiveFile, wanted: pa.Schema) -> pa.Table | None:
    try:
        return whole_file(inputs, file, wanted)
    except OrcCompressionError:
        return None
