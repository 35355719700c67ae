"""A client that costs next to nothing: requests as bytes over many connections, answers counted.

It runs in a process of its own, so that the gateway is measured and not the bench.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import dataclass

HEADERS = {
    "Host": "localhost",
    "Content-Type": "text/plain; charset=utf-8",
    "User-Agent": "Trino Python Client/bench",  # reads rows of the first response, as that one
    "X-Trino-User": "bench",
    "X-Trino-Source": "bench",
    "X-Trino-Catalog": "lake",
    "X-Trino-Schema": "ssb",
    "X-Trino-Time-Zone": "UTC",
    "X-Trino-Client-Capabilities": "PARAMETRIC_DATETIME",
}
_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


@dataclass(frozen=True, slots=True)
class Counted:
    """What came of it. Latencies in seconds, and when each answer came, in no order."""

    answers: int
    failed: int
    seconds: float
    latencies: tuple[float, ...]
    first_failure: str = ""
    moments: tuple[float, ...] = ()
    """Seconds after the start, one for each latency."""

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.answers / self.seconds


def request(sql: str) -> bytes:
    """A POST of the statement."""
    body = sql.encode()
    lines = [f"{name}: {value}" for name, value in HEADERS.items()]
    head = ["POST /v1/statement HTTP/1.1", *lines, f"Content-Length: {len(body)}"]
    return "\r\n".join(head).encode() + _END + body


class Connection:
    """One connection, on which one request is sent after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, sent: bytes) -> bytes:
        """The answer's body."""
        self._writer.write(sent)
        head = await self._reader.readuntil(_END)
        at = head.lower().index(_LENGTH) + len(_LENGTH)
        length = int(head[at : head.index(b"\r\n", at)])
        body = await self._reader.readexactly(length)
        if not head.startswith(b"HTTP/1.1 200"):
            raise ValueError(f"{head[:60]!r} {body[:200]!r}")
        return body

    async def rows(self, sql: str) -> int:
        """Asks a statement and reads all of it; how many bytes came. ValueError if it failed."""
        body = await self.ask(request(sql))
        size = len(body)
        while b'"nextUri":"' in body[:2000]:
            at = body.index(b'"nextUri":"') + len(b'"nextUri":"')
            uri = body[at : body.index(b'"', at)]
            path = uri[uri.index(b"/v1/") :]
            lines = [f"{name}: {value}" for name, value in HEADERS.items()]
            head = [f"GET {path.decode()} HTTP/1.1", *lines]
            body = await self.ask("\r\n".join(head).encode() + _END)
            size += len(body)
        if b'"error":{' in body[-4000:]:
            raise ValueError(json.loads(body)["error"]["message"])
        return size

    def close(self) -> None:
        """Leaves."""
        self._writer.close()


async def connected(host: str, port: int) -> Connection:
    """A connection to the gateway."""
    reader, writer = await asyncio.open_connection(host, port, limit=2**24)
    return Connection(reader, writer)


async def _loop(
    host: str, port: int, statements: Sequence[str], connections: int, seconds: float, most: int
) -> Counted:
    latencies: list[float] = []
    moments: list[float] = []
    failures: list[str] = []
    turn = iter(range(most))
    end = time.perf_counter() + seconds

    async def one() -> None:
        connection = await connected(host, port)
        for number in turn:
            begin = time.perf_counter()
            if begin >= end:
                break
            try:
                await connection.rows(statements[number % len(statements)])
            except (ValueError, OSError, asyncio.IncompleteReadError) as error:
                failures.append(f"{type(error).__name__}: {error}")
                connection.close()
                connection = await connected(host, port)
                continue
            moments.append(time.perf_counter() - began)
            latencies.append(time.perf_counter() - begin)
        connection.close()

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(connections)))
    spent = time.perf_counter() - began
    first = failures[0] if failures else ""
    return Counted(len(latencies), len(failures), spent, tuple(latencies), first, tuple(moments))


def _work(pipe: multiprocessing.connection.Connection, *given: object) -> None:
    import uvloop

    pipe.send(uvloop.run(_loop(*given)))  # type: ignore[arg-type]


def asked(
    host: str,
    port: int,
    statements: Sequence[str],
    *,
    connections: int,
    seconds: float = 3600.0,
    most: int = 10**9,
) -> Counted:
    """Asks them in turn over so many connections, for so long or so often."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    arguments = (theirs, host, port, statements, connections, seconds, most)
    process = context.Process(target=_work, args=arguments)
    process.start()
    theirs.close()
    try:
        found: Counted = ours.recv()
    finally:
        process.join()
    return found
