"""Rows of Arrow or pandas as a file of Arrow's stream format, as the gateway takes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from tempfile import SpooledTemporaryFile
from typing import IO, Any, cast

import pyarrow as pa

_MEMORY_BYTES = 8 * 1024**2
_BATCH_ROWS = 65_536
_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"


def written(rows: Any) -> IO[bytes]:
    """The rows in a file, which is on disk where they're many; the caller closes it.

    `rows` are a table, batches or a reader of Arrow's, a frame of pandas (whose index isn't sent),
    or whatever gives a stream of Arrow's, as frames of polars do. TypeError for others.
    """
    schema, batches = _batches(rows)
    plain = pa.schema([field.with_type(_plain(field.type)) for field in schema])
    file = SpooledTemporaryFile(max_size=_MEMORY_BYTES)  # noqa: SIM115 - the caller's to close
    try:
        with pa.ipc.new_stream(file, plain) as writer:
            for batch in batches:
                writer.write_batch(batch if schema == plain else _cast(batch, plain))
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return cast(IO[bytes], file)


def read(file: IO[bytes]) -> pa.Table:
    """The rows of a whole stream in a file; ValueError where its end is missing."""
    file.seek(0)
    text = file.read()
    if not text.endswith(_END):
        raise ValueError("the stream has no end")
    with pa.ipc.open_stream(pa.py_buffer(text)) as reader:
        return reader.read_all()


def _batches(rows: Any) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    if isinstance(rows, pa.RecordBatch):
        return rows.schema, [rows]
    if isinstance(rows, pa.RecordBatchReader):
        return rows.schema, rows
    if type(rows).__module__.partition(".")[0] == "pandas" and hasattr(rows, "columns"):
        rows = pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata()
    if not isinstance(rows, pa.Table):
        if not hasattr(rows, "__arrow_c_stream__"):
            raise TypeError(
                "rows are a table, batches or a reader of Arrow's, or a frame of pandas or polars,"
                f" not {type(rows).__name__}"
            )
        rows = pa.RecordBatchReader.from_stream(rows)
        return rows.schema, rows
    return rows.schema, _cut(rows)


def _cut(table: pa.Table) -> Iterator[pa.RecordBatch]:
    yield from table.to_batches(max_chunksize=_BATCH_ROWS)


def _plain(type_: pa.DataType) -> pa.DataType:
    """The type without dictionaries and views, which the gateway doesn't take."""
    types = pa.types
    if types.is_dictionary(type_):
        return _plain(type_.value_type)
    if types.is_string_view(type_):
        return pa.string()
    if types.is_binary_view(type_):
        return pa.binary()
    return type_


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    pairs = zip(batch.columns, schema.types, strict=True)
    return pa.RecordBatch.from_arrays([one.cast(type_) for one, type_ in pairs], schema=schema)
