"""Answers of queries as one stream of Arrow's, beside Trino's pages.

A query goes through what any statement does: rates, turns, rights, what is kept, the history.
Promises: a client that goes away ends it, one that reads slowly makes it wait; what fails before
the first rows is a problem, and what fails later breaks the response off, so that no client takes a
part for the whole.
"""

from __future__ import annotations

import asyncio
import io

import pyarrow as pa
from aiohttp import web

from accelerator.gateway.access.login.users import User
from accelerator.gateway.gateway import Gateway
from accelerator.gateway.http.api.routes import ARROW
from accelerator.gateway.http.web import HEADERS
from accelerator.gateway.statements.statement import Page, Statement, WorkerError
from accelerator.gateway.trino.requests.nodes import ClientSession
from accelerator.gateway.workers.api.models import QueryModel
from accelerator.gateway.workers.messages import rows_of

_POLL_S = 1.0
_INLINE_BYTES = 128 * 1024
"""Fewer bytes are written anew at once; more in a thread, so that others don't wait."""


class _Stream:
    """Pages as one stream: the schema once, then the batches, then the end."""

    def __init__(self, statement: Statement) -> None:
        self._statement, self._sink = statement, io.BytesIO()
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None

    def written(self, page: Page) -> bytes:
        """The bytes of the next page."""
        if page.data is not None:
            rows, names = rows_of(page.data), self._statement.names
            if names is not None:
                rows = rows.rename_columns(names)
            if self._writer is None:
                self._writer = pa.ipc.new_stream(self._sink, rows.schema)
            self._writer.write_table(rows)
        if page.is_last and self._writer is not None:
            self._writer.close()
        found = self._sink.getvalue()
        self._sink.seek(0)
        self._sink.truncate()
        return found


async def streamed(
    gateway: Gateway, asked: web.Request, user: User, query: QueryModel
) -> web.StreamResponse:
    """The response. WorkerError with what is wrong where nothing was sent yet."""
    client = ClientSession(
        user=user.name,
        source="api",
        catalog=query.catalog,
        schema=query.schema_,
        capabilities=frozenset(["PARAMETRIC_DATETIME"]),
    )
    statement = await gateway.submit(
        query.sql, client, user, user.name, asked.remote or "", asked.headers, arrow=True
    )
    stream = _Stream(statement)
    response = web.StreamResponse(headers=HEADERS | {"Content-Type": ARROW})
    try:
        while True:
            page = await _next(asked, statement)
            if page.is_last and statement.error is not None:
                if response.prepared:
                    _break_off(asked)
                    return response
                raise WorkerError(statement.error)
            if len(page.data or b"") > _INLINE_BYTES:
                data = await asyncio.to_thread(stream.written, page)
            else:
                data = stream.written(page)
            if not response.prepared:
                await response.prepare(asked)
            if data:
                await response.write(data)
            if page.is_last:
                await response.write_eof()
                return response
    finally:
        gateway.forget(statement)


async def _next(asked: web.Request, statement: Statement) -> Page:
    """The next page; ConnectionResetError once nobody waits for it."""
    while True:
        if asked.transport is None or asked.transport.is_closing():
            raise ConnectionResetError("the client has gone away")
        page, _ = await statement.page(statement.next_token, _POLL_S)
        if page is not None:
            return page


def _break_off(asked: web.Request) -> None:
    """Ends the connection before the response's end."""
    if asked.transport is not None:
        asked.transport.abort()
