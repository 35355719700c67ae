"""Rows of whole data files as Arrow, by field id, whatever is deleted of them.

PyIceberg's ArrowScan reads the files, so that schema evolution holds. What else a table's rows take
(deletes, types that Spark shows otherwise) is others' business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, cast

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask
from pyiceberg.typedef import Record

from accelerator.iceberg.io import Inputs, file_io, inputs_for, local_path
from accelerator.iceberg.rows.readable import WithSchema
from accelerator.iceberg.tables.data_file import LiveFile


class ScanTable(WithSchema, Protocol):
    """What reading needs of a pinned table."""

    @property
    def metadata_location(self) -> str:
        """Where that is."""
        ...

    @property
    def pyiceberg_schema(self) -> Schema:
        """The pinned state's schema as PyIceberg has it."""
        ...

    @property
    def io_properties(self) -> Mapping[str, str]:
        """How its files are reached."""
        ...


class WholeFiles:
    """Reads files of one pinned table under a part of its schema."""

    def __init__(
        self,
        pinned: ScanTable,
        schema: Schema,
        count: Callable[[int], None] = lambda _size: None,
    ) -> None:
        self.io = _reading_io(pinned, count)
        # ArrowScan asks the current schema about the table: make it the pinned one.
        update = {"current_schema_id": pinned.schema.schema_id}
        metadata = pinned.metadata.pyiceberg.model_copy(update=update)
        self._scan = ArrowScan(metadata, cast(FileIO, self.io), schema, AlwaysTrue())
        self._specs = metadata.specs()

    def rows(self, files: Sequence[LiveFile]) -> pa.Table:
        """All rows of the files, in no promised order."""
        return self._scan.to_table([self._task(file) for file in files])

    def in_order(self, file: LiveFile) -> pa.Table:
        """One file's rows in the file's order; ValueError where its manifest says another count."""
        table = self._scan.to_table([self._task(file)])
        if table.num_rows != file.record_count:
            raise ValueError(
                f"{file.path} has {table.num_rows} rows, its manifest says {file.record_count}"
            )
        return table

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


def _reading_io(pinned: ScanTable, count: Callable[[int], None]) -> Inputs:
    """PyIceberg's own for local files; ArrowScan only opens inputs of it."""
    location, properties = pinned.metadata_location, pinned.io_properties
    if local_path(location) is not None:
        return file_io(location, properties)
    return inputs_for(location, properties, count)
