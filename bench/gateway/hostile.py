"""One client without rights sends every hostile input over and over, while others ask SSB.

An ordinary statement counts as failed if it fails, or takes longer than two seconds.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.gateway.raw import Counted, asked
from bench.gateway.served import Served, served
from tests.gateway import hostile

USER = "hostile"
_CLIENTS = 8
_AT_ONCE = 8
"""Connections of the hostile client. Every other one leaves its statements alone."""
_SLOW_S = 2.0
_PATIENCE_S = 5.0
"""The hostile client cancels what takes longer, and goes on."""
_POLICY = """
[[rule]]
allow = ["read"]
users = ["bench"]
tables = ["*.*.*"]
"""
_NEXT = b'"nextUri":"'


@dataclass(slots=True)
class Outcome:
    """What came of the hostile inputs: how many, each one's worst time, ends of statements."""

    asked: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    worst_s: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, seconds: float, end: str) -> None:
        """One was answered, or wasn't."""
        self.asked += 1
        self.ends[end] += 1
        self.worst_s[name] = max(seconds, self.worst_s.get(name, 0.0))


async def _sent(at: Served, request: bytes, *, follows: bool) -> str:
    """Sends a request on a connection of its own; how that ended.

    A client that `follows` asks for the statement's pages; the other one leaves it alone.
    """
    reader, writer = await asyncio.open_connection(at.host, at.port, limit=2**24)
    path = b""
    try:
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                writer.write(request)
                await writer.drain()
                status, body = await _response(reader)
                if _NEXT in body[:2000] and not follows:
                    return "left"
                if _NEXT not in body[:2000]:
                    return "error" if b'"error":{' in body[-20_000:] else status
                begin = body.index(_NEXT) + len(_NEXT)
                uri = body[begin : body.index(b'"', begin)]
                path = uri[uri.index(b"/v1/") :]
                request = _bare(at, "GET", path)
    except TimeoutError:
        if path:
            await _cancelled(at, path)
        return "cancelled" if path else "no answer"
    except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return "closed"
    finally:
        writer.close()


async def _cancelled(at: Served, path: bytes) -> None:
    """Cancels a statement, on a connection that isn't taken by its poll."""
    with suppress(OSError, ValueError, asyncio.IncompleteReadError):
        reader, writer = await asyncio.open_connection(at.host, at.port)
        try:
            async with asyncio.timeout(_PATIENCE_S):
                writer.write(_bare(at, "DELETE", path))
                await reader.readuntil(b"\r\n\r\n")
        finally:
            writer.close()


async def _response(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    lower = head.lower()
    at = lower.index(b"content-length:") + len(b"content-length:")
    body = await reader.readexactly(int(head[at : head.index(b"\r\n", at)]))
    return head[9:12].decode("latin-1"), body


def _bare(at: Served, method: str, path: bytes) -> bytes:
    first = f"{method} {path.decode()} HTTP/1.1"
    lines = [first, f"Host: {at.host}", f"X-Trino-User: {USER}", "", ""]
    return "\r\n".join(lines).encode()


async def _attack(at: Served, over: threading.Event, outcome: Outcome) -> None:
    inputs = list(hostile.requests(at.host, USER).items())
    number = 0

    async def send(*, follows: bool) -> None:
        nonlocal number
        while not over.is_set():
            name, request = inputs[number % len(inputs)]
            number += 1
            began = time.monotonic()
            try:
                end = await _sent(at, request, follows=follows)
            except OSError:
                end = "no connection"
            outcome.add(name, time.monotonic() - began, end)

    await asyncio.gather(*(send(follows=bool(one % 2)) for one in range(_AT_ONCE)))


@dataclass(frozen=True, slots=True)
class Attacked:
    """What ordinary clients got, and what came of the hostile inputs."""

    ordinary: Counted
    outcome: Outcome
    workers_ended: int

    @property
    def failed(self) -> int:
        """Ordinary statements that failed or were slow."""
        return self.ordinary.failed + sum(one > _SLOW_S for one in self.ordinary.latencies)

    def figures(self) -> Mapping[str, float]:
        """For the report."""
        return {
            "hostile_failed": self.failed,
            "hostile_asked": self.outcome.asked,
            "hostile_worst_s": max(self.ordinary.latencies, default=0.0),
            "hostile_answers": self.ordinary.answers,
        }

    def details(self) -> Mapping[str, Any]:
        """For the report: how hostile inputs ended, and which took longest."""
        slowest = sorted(self.outcome.worst_s.items(), key=lambda one: -one[1])[:20]
        return {
            "ends": dict(self.outcome.ends),
            "slowest": {name: round(seconds, 2) for name, seconds in slowest},
            "workers_ended": self.workers_ended,
            "first_failure": self.ordinary.first_failure,
            "slow": sorted(round(s, 2) for s in self.ordinary.latencies if s > _SLOW_S)[-20:],
            "worst_at_s": _worst_at(self.ordinary),
        }


def _worst_at(found: Counted) -> list[tuple[float, float]]:
    """The longest latencies with the second in which each ended, in the order of time."""
    longest = sorted(zip(found.latencies, found.moments, strict=True))[-20:]
    return sorted((round(at, 1), round(took, 2)) for took, at in longest)


def attacked(
    warehouse: Path,
    folder: Path,
    warm: Sequence[str],
    statements: Sequence[str],
    *,
    seconds: float,
    clients: int = _CLIENTS,
) -> Attacked:
    """A gateway over the warehouse under attack; its log and its policy are in the folder."""
    policy = folder / "hostile-policy.toml"
    policy.write_text(_POLICY)
    log = folder / "hostile-gateway.log"
    over, outcome = threading.Event(), Outcome()
    with served(warehouse, log, cache_bytes=0, policy=str(policy)) as at:
        asked(at.host, at.port, warm, connections=4, most=max(1, len(warm)))
        before = set(at.workers())
        attacking = threading.Thread(target=lambda: asyncio.run(_attack(at, over, outcome)))
        attacking.start()
        try:
            found = asked(at.host, at.port, statements, connections=clients, seconds=seconds)
        finally:
            over.set()
            attacking.join()
        ended = len(before - set(at.workers()))
    return Attacked(found, outcome, ended)
