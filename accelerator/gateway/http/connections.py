"""The gateway's HTTP connections: what becomes of bytes that are no HTTP request.

Promise: nothing of them, which come before any login, is written to the log or sent back.
"""

from __future__ import annotations

import logging

from aiohttp import web

_log = logging.getLogger("accelerator.gateway")
_MALFORMED = "the request is malformed"


class _Connection(web.RequestHandler):
    """One connection. aiohttp's own class logs a traceback, and sends the damaged line back."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """See `aiohttp.web.RequestHandler`; a status below 500 is for what isn't HTTP."""
        if status >= 500:
            return super().handle_error(request, status, exc, message)
        _log.debug("%s of %s: %s", _MALFORMED, request.remote, type(exc).__name__)
        if request.writer.output_size > 0:
            raise ConnectionError("a part of the response is sent already")
        response = web.Response(status=status, text=_MALFORMED)
        response.force_close()
        return response


class _Server(web.Server):
    """Makes a `_Connection` for each connection."""

    def __init__(self, made: web.Server) -> None:
        vars(self).update(vars(made))

    def __call__(self) -> _Connection:
        return _Connection(self, loop=self._loop, **self._kwargs)


class ConnectionRunner(web.AppRunner):
    """Runs an application with these connections."""

    __slots__ = ()

    async def _make_server(self) -> web.Server:
        return _Server(await super()._make_server())
