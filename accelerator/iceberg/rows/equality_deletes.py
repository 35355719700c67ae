"""Which rows of data files equality deletes have deleted, as positions.

A row goes where all of a delete's fields have the values of one of its rows; NULL is NULL. What a
partition fixes is the value of each row of its files, whatever these hold. Promises: only deletes
are read that `check_readable` lets pass, so that they aren't more than memory holds, and nothing in
their files is trusted: what doesn't fit is a ValueError.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import BinaryIO, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField

from accelerator.iceberg.io import Inputs, inputs_for
from accelerator.iceberg.rows.arrow_scan import ScanTable, WholeFiles
from accelerator.iceberg.rows.stored_types import FIELD_ID, check_types, lacked, unread
from accelerator.iceberg.tables.data_file import DeleteRef, LiveFile

_Codes = npt.NDArray[np.int64]
_ONE_AT_A_TIME = threading.Lock()
"""Values are numbered for one file at once: that takes several times their memory."""


class EqualityDeletes:
    """Deleted positions of data files; keeps delete files while it lives."""

    def __init__(self, pinned: ScanTable) -> None:
        self._pinned = pinned
        self._io = inputs_for(pinned.metadata_location, pinned.io_properties)
        self._files: dict[Hashable, pa.Table] = {}
        self._lock = threading.Lock()

    def of(self, file: LiveFile) -> npt.NDArray[np.int64]:
        """Positions of the rows that the file's equality deletes hit, in no order."""
        by_fields: dict[tuple[int, ...], list[DeleteRef]] = defaultdict(list)
        for ref in file.deletes:
            if ref.content == "equality":
                by_fields[tuple(sorted(set(ref.equality_ids)))].append(ref)
        gone = np.zeros(file.record_count, dtype=bool)
        for ids, refs in by_fields.items():
            wanted = Schema(
                *(_optional(self._pinned.pyiceberg_schema.find_field(one)) for one in ids)
            )
            keys = self._keys(file, wanted)
            with _ONE_AT_A_TIME:
                gone |= _hit(keys, [self._rows(ref, wanted) for ref in refs])
        return np.flatnonzero(gone)

    def _keys(self, file: LiveFile, wanted: Schema) -> pa.Table:
        """The file's values of those fields, under the table's types."""
        check_types(self._io, [file], schema_to_pyarrow(wanted))
        read = WholeFiles(self._pinned, wanted).in_order(file)
        found = read.cast(schema_to_pyarrow(wanted, include_field_ids=False))
        for place, field in enumerate(wanted.fields):
            if field.field_id in file.fixed:
                told = found.schema.field(place)
                value = pa.scalar(file.fixed[field.field_id], told.type)
                found = found.set_column(place, told, pa.repeat(value, file.record_count))
        return _checked(found, file.path)

    def _rows(self, ref: DeleteRef, wanted: Schema) -> pa.Table:
        name = (ref.path, *(field.field_id for field in wanted.fields))
        with self._lock:
            known = self._files.get(name)
        if known is None:
            known = delete_file(self._io, ref, wanted)
            with self._lock:
                self._files[name] = known
        return known


def delete_file(inputs: Inputs, ref: DeleteRef, wanted: Schema) -> pa.Table:
    """The rows by which it deletes, under the table's types. OSError, ValueError."""
    fields = schema_to_pyarrow(wanted)
    with inputs.new_input(ref.path).open() as stream:
        try:
            opened = pq.ParquetFile(cast(BinaryIO, stream))
            stored = opened.schema_arrow
            ref.check_rows(opened.metadata.num_rows)
            if lacked(stored, fields) != frozenset() or unread(stored, fields) is not None:
                raise ValueError(f"{ref.path} lacks a field that it compares, or its type")
            by_id = {(field.metadata or {}).get(FIELD_ID): field.name for field in stored}
            names = [by_id[field.metadata[FIELD_ID]] for field in fields]
            table = opened.read(columns=names)
            if sorted(table.column_names) != sorted(names):
                raise ValueError(f"{ref.path} has several columns of one name")
            ref.check_rows(table.num_rows)
            table = table.select(names).rename_columns(fields.names)
        except pa.ArrowException as error:
            raise ValueError(f"{ref.path} can't be read: {error}") from error
    return _checked(table.cast(schema_to_pyarrow(wanted, include_field_ids=False)), ref.path)


def _optional(field: NestedField) -> NestedField:
    """The field, which may be NULL in a delete though it's required: that deletes nothing."""
    return NestedField(
        field.field_id,
        field.name,
        field.field_type,
        required=False,
        initial_default=field.initial_default,
    )


def _checked(table: pa.Table, path: str) -> pa.Table:
    """ValueError for texts that aren't UTF-8, of which Spark may take two for one."""
    try:
        table.validate(full=True)
    except pa.ArrowException as error:
        raise ValueError(f"{path} has values that can't be compared: {error}") from error
    return table


def _hit(keys: pa.Table, deletes: Sequence[pa.Table]) -> npt.NDArray[np.bool_]:
    """Of each row whether it's among the deletes."""
    rows = pa.concat_tables([keys, *deletes])
    codes: _Codes = np.zeros(rows.num_rows, dtype=np.int64)
    for column in rows.columns:
        own, count = _codes(column)
        codes = codes * count + own
        if rows.num_columns > 1:  # what the columns have had so far, as small numbers again
            codes = np.unique(codes, return_inverse=True)[1]
    gone = np.zeros(int(codes.max(initial=-1)) + 1, dtype=bool)
    gone[codes[keys.num_rows :]] = True
    found: npt.NDArray[np.bool_] = gone[codes[: keys.num_rows]]
    return found


def _codes(column: pa.ChunkedArray) -> tuple[_Codes, int]:
    """A number for each value, NULL's among them, and how many there are."""
    values = column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    found = values.dictionary_encode(null_encoding="encode")
    return found.indices.to_numpy(zero_copy_only=False).astype(np.int64), len(found.dictionary)
