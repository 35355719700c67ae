"""Messages between the gateway and a worker: a JSON header and bytes behind it, over a socket.

Both ends are of one release and one machine; still what is read is bounded and checked by type.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

import orjson
import pyarrow as pa

from accelerator.errors import AcceleratorError

VERSION = 1
_LENGTHS = struct.Struct("!IQ")
HEADER_MAX = 64 * 1024**2
BODY_MAX = 4 * 1024**3

Header = dict[str, Any]


class MessageError(AcceleratorError):
    """What came over the socket is no message."""

    code = "worker_message"


def packed(header: Header, body: bytes | pa.Buffer = b"") -> tuple[bytes, bytes | pa.Buffer]:
    """The message in two pieces, to be written one after the other."""
    text = orjson.dumps(header)
    return _LENGTHS.pack(len(text), len(body)) + text, body


def received(connection: socket.socket) -> tuple[Header, bytes] | None:
    """The next message; None at the end of the socket. Waits for it."""
    lengths = _exactly(connection, _LENGTHS.size)
    if lengths is None:
        return None
    text, body = _checked(*_LENGTHS.unpack(lengths))
    header = _exactly(connection, text)
    rest = _exactly(connection, body) if body else b""
    if header is None or rest is None:
        return None
    return _header(header), bytes(rest)


async def awaited(reader: asyncio.StreamReader) -> tuple[Header, bytes]:
    """The same without a thread; IncompleteReadError at the end."""
    text, body = _checked(*_LENGTHS.unpack(await reader.readexactly(_LENGTHS.size)))
    header = await reader.readexactly(text)
    return _header(header), await reader.readexactly(body) if body else b""


def _checked(text: int, body: int) -> tuple[int, int]:
    if text > HEADER_MAX or body > BODY_MAX:
        raise MessageError(f"a message of {text:,} and {body:,} bytes is none")
    return text, body


def _header(text: bytes | bytearray) -> Header:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise MessageError(f"a message has no header: {error}") from error
    if not isinstance(found, dict):
        raise MessageError("a message's header is no object")
    return found


def _exactly(connection: socket.socket, length: int) -> bytearray | None:
    buffer = bytearray(length)
    view, read = memoryview(buffer), 0
    while read < length:
        more = connection.recv_into(view[read:])
        if not more:
            return None
        read += more
    return buffer


def rows_of(body: bytes) -> pa.Table:
    """The rows of a message's body; MessageError where it has none."""
    try:
        with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
            return reader.read_all()
    except (pa.ArrowInvalid, OSError) as error:
        raise MessageError(f"a message has no rows: {error}") from error


def bytes_of(table: pa.Table) -> pa.Buffer:
    """Rows as a message's body: Arrow's stream format."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
