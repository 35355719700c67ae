"""Messages between the gateway and a worker: a JSON header and bytes behind it, over a socket.

Both ends are of one release and one machine; still what is read is bounded and checked by type.
"""

from __future__ import annotations

import socket
import struct
from typing import Any

import orjson
import pyarrow as pa

from accelerator.errors import AcceleratorError

VERSION = 3
_LENGTHS = struct.Struct("!IQ")
LENGTHS = _LENGTHS.size
"""Bytes before a message's header."""
HEADER_MAX = 64 * 1024**2
BODY_MAX = 4 * 1024**3

Header = dict[str, Any]


class MessageError(AcceleratorError):
    """What came over the socket is no message."""

    code = "worker_message"


def packed(header: Header, body: bytes | pa.Buffer = b"") -> tuple[bytes, bytes | pa.Buffer]:
    """The message in two pieces, to be written one after the other; MessageError if it's none."""
    try:
        text = orjson.dumps(header)
    except orjson.JSONEncodeError as error:
        raise MessageError(f"a message can't be written: {error}") from error
    return _LENGTHS.pack(len(text), len(body)) + text, body


def received(connection: socket.socket) -> tuple[Header, bytes] | None:
    """The next message; None at the end of the socket. Waits for it."""
    head = _exactly(connection, LENGTHS)
    if head is None:
        return None
    text, body = _checked(*_LENGTHS.unpack(head))
    header = _exactly(connection, text)
    rest = _exactly(connection, body) if body else b""
    if header is None or rest is None:
        return None
    return header_of(header), bytes(rest)


def lengths(head: bytes | memoryview) -> tuple[int, int]:
    """How long header and body are, by a message's first `LENGTHS` bytes; MessageError."""
    return _checked(*_LENGTHS.unpack(head))


def _checked(text: int, body: int) -> tuple[int, int]:
    if text > HEADER_MAX or body > BODY_MAX:
        raise MessageError(f"a message of {text:,} and {body:,} bytes is none")
    return text, body


def header_of(text: bytes | bytearray | memoryview) -> Header:
    """A message's header; MessageError where it's none."""
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


def rows_of(body: bytes | bytearray) -> pa.Table:
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
