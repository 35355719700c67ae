"""A file that a client has sent, as batches of Arrow's stream format; nothing of it is trusted.

Promises: nothing is expanded beyond the bytes that were sent, since compressed buffers and
dictionaries are refused; offsets and texts are checked before anything looks at a value; a stream
that is cut short, or that something follows, isn't taken for a whole one. The file is mapped, so
that memory doesn't grow with it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from accelerator.iceberg.writes.errors import IngestError

_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"
_SCHEMA_MAX = 4 * 1024**2
_HEADER, _COMPRESSION = 2, 3
"""The numbers of fields in Arrow's Message and RecordBatch."""
_HINT = "send Arrow's stream format: pyarrow.ipc.new_stream, closed at the end"


class ArrowBatches:
    """The batches of one file; `schema` is what was sent. Use it by `with`.

    IngestError where the file isn't such a stream, now or as batches are read.
    """

    def __init__(self, path: Path) -> None:
        self._size = path.stat().st_size
        if self._size < len(_END):
            raise _invalid("it's empty")
        self._file = pa.memory_map(str(path))
        try:
            self._check_end()
            self._messages = pa.ipc.MessageReader.open_stream(self._file)
            self.schema = self._schema()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> ArrowBatches:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._file.close()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The batches, once."""
        rows = 0
        while (message := self._next()) is not None:
            if message.type != "record batch":
                raise _invalid(f"it has a {message.type}", "send columns' values themselves")
            if is_compressed(message.metadata.to_pybytes()):
                raise _invalid("its buffers are compressed", "send them without compression")
            try:
                batch = pa.ipc.read_record_batch(message, self.schema)
                batch.validate(full=True)
            except (pa.ArrowException, OSError, ValueError) as error:
                raise _invalid(f"a batch can't be read: {error}") from error
            if batch.nbytes > message.body.size:
                raise _invalid("buffers of a batch are used more than once")
            rows += batch.num_rows
            if rows > 8 * self._size:  # of types that take no bytes
                raise _invalid("it has more rows than bits")
            if sum(map(_weightless, batch.columns)) > self._size:
                raise _invalid("its lists have more values than it has bytes")
            yield batch
        if self._file.tell() != self._size:
            raise _invalid("something stands behind its end")

    def _check_end(self) -> None:
        self._file.seek(self._size - len(_END))
        if self._file.read(len(_END)) != _END:
            raise _invalid("it has no end: a part of it was lost")
        self._file.seek(0)

    def _schema(self) -> pa.Schema:
        message = self._next()
        if message is None or message.type != "schema":
            raise _invalid("it doesn't begin with a schema")
        if message.metadata.size > _SCHEMA_MAX:
            raise _invalid("its schema is too long")
        try:
            schema = pa.ipc.read_schema(message)
            _check_texts(schema)
            return schema
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _invalid(f"its schema can't be read: {error}") from error

    def _next(self) -> pa.ipc.Message | None:
        try:
            return self._messages.read_next_message()
        except StopIteration:
            return None
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _invalid(f"it can't be read: {error}") from error


def _check_texts(fields: Iterable[pa.Field]) -> None:
    """UnicodeDecodeError if a name or time zone, at any depth, isn't UTF-8; Arrow checks none."""
    waiting = list(fields)
    while waiting:
        one = waiting.pop()
        _ = one.name, getattr(one.type, "tz", None)
        waiting += (one.type.field(place) for place in range(one.type.num_fields))


def _weightless(array: pa.Array) -> int:
    """How many values lists have, at any depth, of types that take no bytes."""
    types, kind = pa.types, array.type
    if types.is_struct(kind):
        return sum(_weightless(array.field(place)) for place in range(kind.num_fields))
    if types.is_map(kind):
        inner = [array.keys, array.items]
    elif types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind):
        inner = [array.values]
    else:
        return 0
    return sum(_weightless(one) + (len(one) if _has_no_bytes(one.type) else 0) for one in inner)


def _has_no_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_struct(kind):
        return all(_has_no_bytes(field.type) for field in kind)
    if types.is_fixed_size_list(kind):
        return kind.list_size == 0 or _has_no_bytes(kind.value_type)
    return bool(types.is_null(kind) or (types.is_fixed_size_binary(kind) and kind.byte_width == 0))


def is_compressed(metadata: bytes) -> bool:
    """Whether a message of a record batch, by its flatbuffer, has compressed buffers.

    IngestError where it can't be told.
    """
    try:
        message = _table(metadata, 0)
        header = _field(metadata, message, _HEADER)
        if header is None:
            raise _invalid("a batch has no header")
        return _field(metadata, _table(metadata, header), _COMPRESSION) is not None
    except struct.error as error:
        raise _invalid("a batch has no header") from error


def _table(data: bytes, at: int) -> int:
    """Where the table is to which the offset there leads."""
    return at + _unsigned("<I", data, at)


def _field(data: bytes, table: int, number: int) -> int | None:
    """Where a table's field of that number is; None where it has none."""
    (back,) = struct.unpack_from("<i", data, table)
    layout = table - back
    if not 0 <= layout < len(data):
        raise struct.error("outside")
    if 4 + 2 * number >= _unsigned("<H", data, layout):
        return None
    offset = _unsigned("<H", data, layout + 4 + 2 * number)
    return table + offset if offset else None


def _unsigned(format: str, data: bytes, at: int) -> int:
    found: int = struct.unpack_from(format, data, at)[0]
    return found


def _invalid(why: str, hint: str = _HINT) -> IngestError:
    return IngestError(f"what was sent isn't a stream that is read here: {why}", hint=hint)
