"""HTTP requests to the gateway: its own server answers them in this process, over a socket.

Workers are stand-ins that read an order as a worker does, an upload as an append does, and refuse.
A request is answered or its connection is closed; no status says that the gateway has failed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import tempfile
from collections.abc import AsyncGenerator, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from accelerator.common.config.config import Config
from accelerator.common.records.as_dict import as_dict
from accelerator.errors import AcceleratorError, UnknownTableError
from accelerator.gateway.gateway import Gateway
from accelerator.gateway.http.trino_server import Server
from accelerator.gateway.settings import GatewaySettings
from accelerator.gateway.trino.errors import TrinoError
from accelerator.gateway.workers.pool.worker_handle import Frame
from accelerator.gateway.workers.run_statement import StatementJob
from accelerator.iceberg.writes.errors import IngestError
from accelerator.services.ingest.arrow_stream import ArrowBatches
from fuzz.bytes.kinds import Format, Input, Step, WrongError
from fuzz.bytes.mutations import damaged

_PAUSE_S, _WHOLE_S = 0.05, 4.0
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
_NUMBERS = (b"-1", b"0", b"1", b"7fffffffffffffff", b"99999999999999999999", b"1e9", b"\xc2\xb2")
_PIECES = (
    *(b"\r\n", b"\n", b"\r", b"\0", b" ", b":", b",", b"%00", b"%2e%2e/", b"//", b"?", b"#", b";"),
    *(b"Transfer-Encoding: chunked\r\n", b"Content-Length: 5\r\n", b"Expect: 100-continue\r\n"),
    *(b"Upgrade: websocket\r\nConnection: Upgrade\r\n", b"Content-Encoding: gzip\r\n"),
    *(b"Authorization: Basic ====\r\n", b"X-Forwarded-Host: x\r\n", b"Origin: null\r\n"),
    *(b"X-Trino-Session: a=b,c\r\n", b"X-Trino-Prepared-Statement: a=%zz\r\n", b"[", b'{"a":'),
    *(b"X-Trino-Time-Zone: +99:99\r\n", b"X-Trino-Role: a=ROLE{b\r\n", b"GET / HTTP/1.1\r\n\r\n"),
)
_REFUSALS = frozenset({400, 401, 403, 405, 408, 411, 413, 414, 415, 417, 421, 422, 431})
_TIMES = (1, 3, 100, 5_000)
_REQUEST_MAX = 300_000
_BASIC = "Host: localhost\r\nX-Trino-User: ann\r\nX-Trino-Catalog: lake\r\nX-Trino-Schema: s\r\n"


def _with_body(line: str, body: bytes, more: str = "") -> bytes:
    head = f"{line} HTTP/1.1\r\n{_BASIC}{more}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _requests() -> Sequence[Input]:
    prepared = (
        "X-Trino-Prepared-Statement: p=SELECT+%3F\r\nX-Trino-Session: query_max_run_time=1s\r\n"
    )
    sink = pa.BufferOutputStream()
    rows = pa.table({"id": [1, 2, 3], "city": ["a", None, "é"]})
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    sent = sink.getvalue().to_pybytes()
    append = "POST /api/v1/catalogs/lake/schemas/s/tables/t/rows"
    arrow = "Content-Type: application/vnd.apache.arrow.stream\r\nIdempotency-Key: key-00000001\r\n"
    chunked = f"{append} HTTP/1.1\r\n{_BASIC}{arrow}Transfer-Encoding: chunked\r\n\r\n".encode()
    asked = json.dumps({"sql": "SELECT 1", "catalog": "lake", "schema": "s"}).encode()
    found = [
        _with_body("POST /v1/statement", b"SELECT g, sum(v) FROM t WHERE g LIKE '%a%' GROUP BY g"),
        _with_body("POST /v1/statement", b"EXECUTE p USING 1", prepared),
        _with_body("POST /v1/statement", b"SHOW TABLES", "User-Agent: Trino Python Client/1\r\n"),
        _with_body("POST /api/v1/query", asked, "Content-Type: application/json\r\n"),
        _with_body(append, sent, arrow),
        chunked + b"%x\r\n" % len(sent) + sent + b"\r\n0\r\n\r\n",
    ]
    paths: tuple[str, ...] = (
        "/v1/statement/executing/a/b/0",
        "/v1/info",
        "/v1/status",
        "/metrics",
        "/ui/",
        "/",
    )
    paths += (
        "/api/v1/catalogs/lake/schemas?limit=5",
        "/api/v1/runs/cube.c:1",
        "/api/v1/openapi.json",
    )
    found += [f"GET {path} HTTP/1.1\r\n{_BASIC}\r\n".encode() for path in paths]
    found.append(f"DELETE /v1/query/20260101_000000_00000_abcde HTTP/1.1\r\n{_BASIC}\r\n".encode())
    return [Input(one) for one in found]


def _changed(r: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Damages a request as a hostile client would: its lines, its numbers, its body."""
    for _ in range(r.randint(1, 3)):
        match r.randrange(6):
            case 0:
                data, _ = damaged(r, data, others)
            case 1:
                lines = data.split(b"\r\n")
                place = r.randrange(len(lines))
                lines[place : place + 1] = [lines[place]] * r.choice(_TIMES)
                data = b"\r\n".join(lines)
            case 2:
                at = r.randrange(len(data) + 1)
                data = data[:at] + r.choice(_PIECES) * r.choice(_TIMES) + data[at:]
            case 3:
                numbers = list(re.finditer(rb"\d+", data))
                if numbers:
                    one = r.choice(numbers)
                    data = data[: one.start()] + r.choice(_NUMBERS) + data[one.end() :]
            case 4:
                head, _, body = data.partition(b"\r\n\r\n")
                other = r.choice(others).partition(b"\r\n\r\n")
                data = head + b"\r\n\r\n" + (other[2] or body)
            case _:
                head, _, body = data.partition(b"\r\n\r\n")
                data = head + b"\r\n\r\n" + (b"[" * r.choice(_TIMES) + body) * r.choice((1, 2))
        data = data[:_REQUEST_MAX]
    return data


class _Workers:
    """In place of the pool: an order is read as a worker reads it, and isn't done."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    async def run(self, job: dict[str, Any], **_: Any) -> AsyncGenerator[Frame, None]:
        order = json.loads(json.dumps(job))
        if "call" not in order:
            StatementJob.from_dict(order)
        file = order.get("body", {}).get("file") if "call" in order else None
        error = None if file is None else await asyncio.to_thread(_read, Path(file))
        if "call" in order and error is None:
            yield Frame("rows", {"metrics": {}}, b"{}")
        else:
            refused = error or UnknownTableError("nothing runs here")
            yield Frame("error", {"error": as_dict(TrinoError(refused.code, refused.message))})

    async def apart(self, job: dict[str, Any]) -> AsyncGenerator[Frame, None]:
        async for frame in self.run(job):
            yield frame


def _read(file: Path) -> IngestError | None:
    try:
        with ArrowBatches(file) as stream:
            for batch in stream.batches():
                batch.validate(full=True)
    except IngestError as error:
        return error
    return None


class _Served:
    """A gateway of this process, which listens at a port of its own."""

    def __init__(self) -> None:
        logging.getLogger("accelerator").setLevel(logging.CRITICAL)
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)
        self.loop = asyncio.new_event_loop()
        self._folder = tempfile.TemporaryDirectory(prefix="fuzz-bytes")
        config = Config(warehouse=self._folder.name, query_log=False)
        settings = GatewaySettings(
            port=0, workers=1, maintenance=False, upload_folder=self._folder.name
        )
        self.port = self.loop.run_until_complete(self._started(config, settings))

    async def _started(self, config: Config, settings: GatewaySettings) -> int:
        self.gateway = Gateway(config, settings)
        workers: Any = _Workers(self.gateway.pool)
        self.gateway.pool = workers
        self.gateway.answering._pool = workers
        self._server = Server(self.gateway)
        self._server._api._started._pool = workers
        return await self._server.start()

    def asked(self, data: bytes) -> list[int]:
        """The statuses of the responses; WrongError if there's none, and the connection stays."""
        return self.loop.run_until_complete(self._asked(data))

    @property
    def _works(self) -> bool:
        """Whether a request has come whole, and is being answered."""
        runner = self._server._runner
        handlers: Any = [] if runner is None or runner.server is None else runner.server.connections
        requests = (one._current_request for one in handlers)
        return any(one is not None and one.content.is_eof() for one in requests)

    async def _asked(self, data: bytes) -> list[int]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        found = bytearray()
        try:
            writer.write(data)
            for _ in range(int(_WHOLE_S / _PAUSE_S)):
                try:
                    piece = await asyncio.wait_for(reader.read(1 << 20), _PAUSE_S)
                except TimeoutError:
                    if not self._works:
                        break
                else:
                    found += piece
                    if not piece:
                        break
            if not reader.at_eof():
                writer.write_eof()
                found += await asyncio.wait_for(reader.read(), _WHOLE_S)
        except (ConnectionError, OSError):
            pass
        except TimeoutError:
            raise WrongError("the connection stays open without a response") from None
        finally:
            writer.close()
            for statement in list(self.gateway.statements.values()):
                self.gateway.forget(statement)
        statuses = [int(one) for one in _STATUS.findall(found)]
        failed = [one for one in statuses if one >= 500 and one != 503]
        if failed:
            raise WrongError(f"the gateway failed: {bytes(found[:400])!r}")
        return statuses


@cache
def _served() -> _Served:
    return _Served()


def _request_steps(given: Input) -> Iterable[Step]:
    yield partial(_statuses, given.data)


def _statuses(data: bytes) -> str | None:
    """The first response's status, unless the request isn't understood."""
    found = _served().asked(data)
    return None if not found or found[0] in _REFUSALS else str(found[0])


FORMATS = (Format("HTTP request", _requests, _request_steps, (AcceleratorError,), change=_changed),)
