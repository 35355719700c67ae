"""Rows of Arrow or pandas as a file of Arrow's stream format, as the gateway takes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from tempfile import SpooledTemporaryFile
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.compute as pc

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
    """The type without dictionaries, runs and views, at any depth: the gateway takes none."""
    types = pa.types
    if types.is_dictionary(type_) or types.is_run_end_encoded(type_):
        return _plain(type_.value_type)
    if types.is_string_view(type_):
        return pa.large_string()
    if types.is_binary_view(type_):
        return pa.large_binary()
    if types.is_struct(type_):
        return pa.struct([_plain_field(one) for one in type_])
    if types.is_list(type_):
        return pa.list_(_plain_field(type_.value_field))
    if types.is_fixed_size_list(type_):
        return pa.list_(_plain_field(type_.value_field), type_.list_size)
    if types.is_large_list(type_) or types.is_list_view(type_) or types.is_large_list_view(type_):
        return pa.large_list(_plain_field(type_.value_field))
    if types.is_map(type_):
        fields = map(_plain_field, (type_.key_field, type_.item_field))
        return pa.map_(*fields, keys_sorted=type_.keys_sorted)
    return type_


def _plain_field(field: pa.Field) -> pa.Field:
    return field.with_type(_plain(field.type))


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    pairs = zip(batch.columns, schema.types, strict=True)
    return pa.RecordBatch.from_arrays([_as_type(*pair) for pair in pairs], schema=schema)


def _as_type(values: pa.Array, plain: pa.DataType) -> pa.Array:
    """The values under their plain type. Arrow's own cast lacks dictionaries of views, and runs."""
    types, kind = pa.types, values.type
    if kind == plain:
        return values
    if types.is_dictionary(kind):
        return _as_type(values.dictionary, plain).take(values.indices)
    if types.is_run_end_encoded(kind):
        return _as_type(pc.run_end_decode(values), plain)
    if types.is_struct(kind):
        inner = [_as_type(one, to.type) for one, to in zip(values.flatten(), plain, strict=True)]
        return pa.StructArray.from_arrays(inner, fields=list(plain), mask=pc.is_null(values))
    if types.is_list_view(kind) or types.is_large_list_view(kind):
        ends = pc.cumulative_sum(pc.fill_null(pc.list_value_length(values), 0).cast(pa.int64()))
        offsets = pa.concat_arrays([pa.array([0], pa.int64()), ends])
        inner = _as_type(values.flatten(), plain.value_type)
        return pa.LargeListArray.from_arrays(offsets, inner, type=plain, mask=pc.is_null(values))
    if types.is_map(kind):
        key, item = _as_type(values.keys, plain.key_type), _as_type(values.items, plain.item_type)
        pairs = pa.StructArray.from_arrays([key, item], fields=[plain.key_field, plain.item_field])
        return _over(values, pairs, plain)
    if types.is_nested(kind):
        return _over(values, _as_type(values.values, plain.value_type), plain)
    return values.cast(plain)


def _over(values: pa.Array, inner: pa.Array, plain: pa.DataType) -> pa.Array:
    """The same lists, over other values of the same places."""
    own = values.buffers()[: 1 if pa.types.is_fixed_size_list(plain) else 2]
    return pa.Array.from_buffers(plain, len(values), own, offset=values.offset, children=[inner])
