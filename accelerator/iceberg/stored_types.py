"""What types data files have for a table's columns, and which of them are read in process.

Promises: a column is read only where its file has it as Iceberg's specification (appendix A) says
for its type, or in a narrower type of the same kind that it was promoted from. Files that others
wrote and a table took over may have more: INT96, whose days Arrow wraps outside 1677 to 2262, times
in milli- or nanoseconds, whole numbers without a sign. These are Spark's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from accelerator.iceberg.files import LiveFile
from accelerator.iceberg.io import Inputs, local_path
from accelerator.recent import Recent

FIELD_ID = b"PARQUET:field_id"
_THREADS_MAX = 8
_SCHEMAS: Recent[pa.Schema] = Recent(4096)
"""By path and size: data files never change."""


def check_types(inputs: Inputs, files: Sequence[LiveFile], wanted: pa.Schema) -> None:
    """ValueError for a file that has a column in a type that isn't read in process.

    `wanted` is the table's schema in Arrow's types, with field ids. Footers are read once.
    """
    if any(file.file_format == "orc" for file in files) and any(
        pa.types.is_timestamp(leaf) for field in wanted for leaf in _leaves(field.type)
    ):
        raise ValueError("an ORC file's times are read in nanoseconds")
    parquet = [file for file in files if file.file_format == "parquet"]
    schemas = [_SCHEMAS.get((file.path, file.size_bytes)) for file in parquet]
    fresh = [file for file, known in zip(parquet, schemas, strict=True) if known is None]
    found = {file.path: known for file, known in zip(parquet, schemas, strict=True) if known}
    if len(fresh) == 1:
        found[fresh[0].path] = _schema(inputs, fresh[0])
    elif fresh:
        with ThreadPoolExecutor(min(_THREADS_MAX, len(fresh))) as pool:
            read = pool.map(lambda file: _schema(inputs, file), fresh)
            found |= {file.path: schema for file, schema in zip(fresh, read, strict=True)}
    for path, schema in found.items():
        name = unread(schema, wanted)
        if name is not None:
            raise ValueError(f"{path} has {name} as {schema.field(name).type}")


def unread(stored: pa.Schema, wanted: pa.Schema) -> str | None:
    """The first column of a file that isn't read in process; a missing one is none.

    >>> old = pa.schema([pa.field("t", pa.timestamp("ns"))])
    >>> unread(old, pa.schema([pa.field("t", pa.timestamp("us"))]))
    't'
    """
    by_id = {field.metadata[FIELD_ID]: field for field in stored if _has_id(field)}
    by_name = {field.name.lower(): field for field in stored}
    for field in wanted:
        if by_id:
            found = by_id.get(field.metadata[FIELD_ID]) if _has_id(field) else None
        else:
            found = by_name.get(field.name.lower())
        if found is not None and not _fits(found.type, field.type):
            return str(found.name)
    if not by_id:  # names are mapped: any column may be one of those that are wanted
        return next((str(f.name) for f in stored if not all(map(_known, _leaves(f.type)))), None)
    return None


def _has_id(field: pa.Field) -> bool:
    return FIELD_ID in (field.metadata or {})


def _schema(inputs: Inputs, file: LiveFile) -> pa.Schema:
    path = local_path(file.path)
    if path is not None:
        schema = pq.read_schema(path)
    else:
        with inputs.new_input(file.path).open() as stream:
            schema = pq.read_schema(cast(BinaryIO, stream))
    return _SCHEMAS.get_or((file.path, file.size_bytes), lambda: schema)


def _leaves(type_: pa.DataType) -> Iterator[pa.DataType]:
    if pa.types.is_nested(type_):
        for place in range(type_.num_fields):
            yield from _leaves(type_.field(place).type)
    else:
        yield type_


def _known(leaf: pa.DataType) -> bool:
    """Whether some type of Iceberg's is written so."""
    if pa.types.is_timestamp(leaf):
        return bool(leaf.unit == "us")
    return not pa.types.is_unsigned_integer(leaf)


def _fits(stored: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_dictionary(stored):
        stored = stored.value_type
    if stored == wanted:
        return all(map(_known, _leaves(stored)))
    if pa.types.is_nested(wanted):
        return pa.types.is_nested(stored) and all(map(_known, _leaves(stored)))
    if pa.types.is_timestamp(wanted):
        timed = pa.types.is_timestamp(stored) and stored.unit == wanted.unit == "us"
        return bool(timed and (stored.tz is None) == (wanted.tz is None))
    if pa.types.is_decimal(wanted):
        narrow = pa.types.is_decimal(stored) and stored.scale == wanted.scale
        return bool(narrow and stored.precision <= wanted.precision)
    if pa.types.is_signed_integer(wanted):
        narrow = pa.types.is_signed_integer(stored)
        return bool(narrow and stored.bit_width <= wanted.bit_width)
    if pa.types.is_float64(wanted):
        return bool(pa.types.is_float32(stored))
    text = (pa.types.is_string, pa.types.is_large_string)
    data = (pa.types.is_binary, pa.types.is_large_binary)
    return any(
        any(one(stored) for one in kinds) and any(one(wanted) for one in kinds)
        for kinds in (text, data)
    )
