"""Rows of chosen data files as Arrow, position deletes and deletion vectors applied.

PyIceberg's ArrowScan reads the files (by field id, so that schema evolution holds); the deletes are
applied here, because ArrowScan applies every delete it has read to every file of that path, and
reads a whole Puffin file for one vector in it. Equality deletes are left to Spark, by a typed
error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
import pyarrow as pa
from pyiceberg.exceptions import ResolveError
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan, schema_to_pyarrow
from pyiceberg.manifest import DataFile, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import Record

from accelerator.errors import UnknownColumnError
from accelerator.iceberg.errors import NeedsSparkError
from accelerator.iceberg.files import LiveFile
from accelerator.iceberg.io import file_io
from accelerator.iceberg.position_deletes import PositionDeletes
from accelerator.iceberg.readable import check_readable
from accelerator.iceberg.stored_types import check_types
from rewrite.facts import TableFacts

# Spark shows these otherwise than Arrow holds them, or PyIceberg can't read them.
_SPARK_ONLY_TYPES = ("uuid", "variant", "unknown", "time", "geometry", "geography")
_THREADS_MAX = 8


class Pinned(Protocol):
    """What reading needs of a pinned table."""

    @property
    def facts(self) -> TableFacts:
        """Its name and columns."""
        ...

    @property
    def schema(self) -> Schema:
        """That of the pinned state."""
        ...

    @property
    def metadata(self) -> TableMetadata:
        """Iceberg's own."""
        ...

    @property
    def metadata_location(self) -> str:
        """Where that is."""
        ...

    @property
    def io_properties(self) -> Mapping[str, str]:
        """How its files are reached."""
        ...


def read_rows(pinned: Pinned, columns: Sequence[str], files: Sequence[LiveFile]) -> pa.Table:
    """The rows of those files with those columns, in no promised order."""
    check_readable(files)
    schema = projection(pinned, columns or [field.name for field in pinned.schema.fields[:1]])
    # Batches may differ in string width from file to file; the answer's schema may not.
    target = schema_to_pyarrow(schema, include_field_ids=False)
    try:
        reader = _Reader(pinned, schema)
        check_types(reader.io, files, schema_to_pyarrow(schema))
        pieces = reader.read(files)
        table = pa.concat_tables([target.empty_table(), *(piece.cast(target) for piece in pieces)])
        for column in table.columns:
            # DuckDB takes texts for UTF-8, which they need not be.
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                column.validate(full=True)
    except (ValueError, ResolveError, NotImplementedError) as error:
        raise NeedsSparkError(
            f"files of {pinned.facts.name} can't be read in process: {error}",
            hint="Spark reads them; the statement takes that way by itself",
        ) from error
    return table if columns else table.select([])


def projection(pinned: Pinned, columns: Sequence[str]) -> Schema:
    """The pinned schema's fields of those names, in the order that was asked for."""
    fields = []
    for name in columns:
        known = pinned.facts.column(name)
        if known is None:
            raise UnknownColumnError(
                f"{pinned.facts.name} has no column {name}",
                hint=f"its columns are {', '.join(each.name for each in pinned.facts.columns)}",
            )
        field = pinned.schema.find_field(known.field_id)
        if re.split(r"\W", str(field.field_type))[0] in _SPARK_ONLY_TYPES:
            raise NeedsSparkError(
                f"{pinned.facts.name}.{name} is of Iceberg's type {field.field_type}",
                hint="Spark reads it; the statement takes that way by itself",
            )
        fields.append(field)
    return Schema(*fields, schema_id=pinned.schema.schema_id)


class _Reader:
    """Reads files of one pinned table."""

    def __init__(self, pinned: Pinned, schema: Schema) -> None:
        self.io = file_io(pinned.metadata_location, pinned.io_properties)
        # ArrowScan asks the current schema about the table: make it the pinned one.
        update = {"current_schema_id": pinned.schema.schema_id}
        metadata = pinned.metadata.model_copy(update=update)
        self._scan = ArrowScan(metadata, self.io, schema, AlwaysTrue())
        self._specs = metadata.specs()
        self._deletes = PositionDeletes(self.io)

    def read(self, files: Sequence[LiveFile]) -> list[pa.Table]:
        """One table of the files without deletes, and one for each file with some."""
        plain = [self._task(file) for file in files if not file.deletes]
        pieces = [self._scan.to_table(plain)] if plain else []
        deleted = [file for file in files if file.deletes]
        if deleted:
            with ThreadPoolExecutor(_THREADS_MAX) as pool:
                pieces.extend(pool.map(self._read_deleted, deleted))
        return pieces

    def _read_deleted(self, file: LiveFile) -> pa.Table:
        table = self._scan.to_table([self._task(file)])  # one file's rows come in the file's order
        if table.num_rows != file.record_count:
            raise ValueError(
                f"{file.path} has {table.num_rows} rows, its manifest says {file.record_count}"
            )
        kept = np.ones(table.num_rows, dtype=bool)
        positions = self._deletes.of(file)
        kept[positions[positions < table.num_rows]] = False
        return table.filter(pa.array(kept))

    def _task(self, file: LiveFile) -> FileScanTask:
        """Of the partition PyIceberg takes what the spec keeps as it is, and nothing else."""
        fields = self._specs[file.spec_id].fields
        kept = (file.fixed.get(f.source_id) for f in fields)
        data = DataFile.from_args(
            file_path=file.path,
            file_format=FileFormat(file.file_format.upper()),
            partition=Record(*kept),
            record_count=file.record_count,
            file_size_in_bytes=file.size_bytes,
        )
        data.spec_id = file.spec_id
        return FileScanTask(data)
