"""The gateway's end of a worker's socket: whole messages, whose long bodies are read in place.

Belongs to one event loop. What is read is bounded and checked as by `messages`; a socket that says
something else is closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import cast

from accelerator.gateway.workers import messages
from accelerator.gateway.workers.messages import Header, MessageError

_log = logging.getLogger("accelerator.gateway")
_STAGE_BYTES = 64 * 1024
"""Messages of fewer bytes are read several at once."""

Body = bytes | bytearray


class SocketLink(asyncio.BufferedProtocol):
    """`take` is given each message, `lost` is called once, when nothing comes any more."""

    def __init__(self, take: Callable[[Header, Body], None], lost: Callable[[], None]) -> None:
        self._take, self._lost = take, lost
        self._stage = bytearray(_STAGE_BYTES)
        self._view = memoryview(self._stage)
        self._staged = 0
        self._header: Header | None = None
        self._body = bytearray()
        self._read = 0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.BaseProtocol`."""
        self._transport = cast(asyncio.Transport, transport)

    def send(self, header: Header) -> None:
        """Says something; nothing, where the socket is closed."""
        if self._transport is not None and not self._transport.is_closing():
            head, body = messages.packed(header)
            self._transport.write(head + bytes(body))

    def close(self) -> None:
        """Closes the socket; what comes of it still is lost."""
        if self._transport is not None:
            self._transport.close()

    def connection_lost(self, _error: Exception | None) -> None:
        """See `asyncio.BaseProtocol`."""
        self._lost()

    def get_buffer(self, _sizehint: int) -> memoryview:
        """Where the next bytes go: into a long body itself, or where several messages have room."""
        if self._header is not None:
            return memoryview(self._body)[self._read :]
        return self._view[self._staged :]

    def buffer_updated(self, count: int) -> None:
        """So many bytes more are there."""
        try:
            self._updated(count)
        except MessageError as error:
            _log.warning("a worker's messages can't be read: %s", error)
            self.close()

    def _updated(self, count: int) -> None:
        if self._header is not None:
            self._read += count
            if self._read == len(self._body):
                header, body = self._header, self._body
                self._header, self._body, self._read = None, bytearray(), 0
                self._take(header, body)
            return
        self._staged += count
        begin = 0
        while (end := self._message(begin)) is not None:
            begin = end
        left = self._staged - begin
        if begin and left:
            self._stage[:left] = self._stage[begin : self._staged]
        self._staged = left
        if not left and len(self._stage) > _STAGE_BYTES:
            self._stage = bytearray(_STAGE_BYTES)
            self._view = memoryview(self._stage)

    def _message(self, begin: int) -> int | None:
        """Takes the message that begins there, or begins its body; where the next one does."""
        at = begin + messages.LENGTHS
        if self._staged < at:
            return None
        text, body = messages.lengths(self._view[begin:at])
        end = at + text
        if self._staged < end:
            if messages.LENGTHS + text > len(self._stage):
                self._grow(messages.LENGTHS + text)
            return None
        header = messages.header_of(self._view[at:end])
        there = min(body, self._staged - end)
        if there == body:
            self._take(header, bytes(self._view[end : end + body]))
            return end + body
        self._header, self._body, self._read = header, bytearray(body), there
        self._body[:there] = self._view[end : end + there]
        return end + there

    def _grow(self, size: int) -> None:
        """Makes room for a header that is longer than all that there is."""
        stage = bytearray(self._staged + size)
        stage[: self._staged] = self._view[: self._staged]
        self._stage, self._view = stage, memoryview(stage)
