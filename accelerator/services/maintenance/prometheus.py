"""The daemon's figures for Prometheus, served over HTTP while it runs.

Promises: a registry of its own, so nothing of the process around it is told; few series, by tables,
kinds and error codes only; the port is taken before the first round, and free again at the end. A
request by a foreign host is refused, as in the gateway: a page may point its own name here.
`docs/reference/metrics.md` says what each figure means.
"""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer

from accelerator.common.http_hosts import OwnNames, parsed_host, plain_address
from accelerator.errors import ConfigError
from accelerator.services.maintenance.daemon import FinishedRound, Vacuumed
from accelerator.store import VacuumLine

_ADDRESS = re.compile(r"(?:(\[[^\[\]]+\]|[^\[\]:]+):)?(\d{1,5})")
_HOST = "127.0.0.1"
_ROUND_S = (0.1, 0.3, 1, 3, 10, 30, 60, 300, 900, 3600, 4 * 3600)
_PREFIX = "accelerator_maintenance"


class Exporter:
    """A daemon's `RoundWatch`, which keeps the figures."""

    def __init__(self, now_s: Callable[[], float] = time.time) -> None:
        self._now_s = now_s
        self.registry = own = CollectorRegistry()

        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(f"{_PREFIX}_{name}", what, labels, registry=own)

        self._rounds = counter("rounds", "Rounds that came to their end.", "outcome")
        for outcome in ("good", "failed"):
            self._rounds.labels(outcome)
        self._failures = counter("failures", "Vacuums of tables, or rounds, that failed.", "code")
        self._requests = counter("requests", "Requests that vacuums sent to the store.", "table")
        kinds = ("table", "kind")
        self._deleted = counter("deleted", "What vacuums deleted, of each kind.", *kinds)
        self._freed = counter("freed_bytes", "Bytes of what vacuums deleted.", *kinds)
        self._seconds = Histogram(
            f"{_PREFIX}_round_duration_seconds",
            "How long rounds took.",
            buckets=_ROUND_S,
            registry=own,
        )
        self._last_good = Gauge(
            f"{_PREFIX}_last_good_round_timestamp_seconds",
            "When the last round ended in which nothing failed; 0 before it.",
            registry=own,
        )
        self._tables = Gauge(f"{_PREFIX}_tables", "Tables in the store.", registry=own)
        self._binned = Gauge(
            f"{_PREFIX}_recycle_bin_cubes", "Cubes in the recycle bin.", registry=own
        )

    def vacuumed(self, done: Vacuumed, lines: tuple[VacuumLine, ...]) -> None:
        """See `RoundWatch.vacuumed`."""
        if done.code is not None:
            self._failures.labels(done.code).inc()
            return
        self._requests.labels(done.table).inc(done.requests)
        for line in lines:
            if line.action == "deleted":
                self._deleted.labels(done.table, line.what).inc(line.files)
                if line.bytes:
                    self._freed.labels(done.table, line.what).inc(line.bytes)

    def ended(self, done: FinishedRound) -> None:
        """See `RoundWatch.ended`."""
        self._rounds.labels("failed" if done.failed else "good").inc()
        self._seconds.observe(done.seconds)
        if not done.failed:
            self._last_good.set(self._now_s())
        if done.tables is not None:
            self._tables.set(done.tables)
        if done.binned is not None:
            self._binned.set(done.binned)


_LOCAL = "accelerator.local"
_Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class _Handler(WSGIRequestHandler):
    def get_environ(self) -> dict[str, Any]:
        """Adds the address that the client called, and whether it named several hosts."""
        environ = super().get_environ()
        environ[_LOCAL] = plain_address(str(self.connection.getsockname()[0])) or ""
        environ["HTTP_HOST"] = ",".join(self.headers.get_all("Host", []))
        return environ

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing."""


def checked(application: _Application, names: OwnNames) -> _Application:
    """The application for requests by a host that is the server's; 421 for others."""

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        text = str(environ.get("HTTP_HOST", ""))
        if not text and environ.get("SERVER_PROTOCOL") == "HTTP/1.0":
            return application(environ, start)  # only programs ask without a host
        host = parsed_host(text)
        if host is not None and names.has(host.name, str(environ.get(_LOCAL, ""))):
            return application(environ, start)
        start("421 Misdirected Request", [("Content-Type", "text/plain; charset=utf-8")])
        if host is None:
            return [b"the request's host is no host name\n"]
        hint = f'if it is one, add "{host.name}" to the setting hosts in [gateway]'
        return [f"the host {host.name} is no name of this server; {hint}\n".encode()]

    return answer


@contextmanager
def served(address: str, hosts: Sequence[str] = ()) -> Iterator[Exporter]:
    """Figures at `http://HOST:PORT/metrics` until the block ends.

    `address` is `[HOST:]PORT`. Clients may ask by the address, by this machine's names and by
    `hosts`. ConfigError if the address isn't one, or can't be listened at.
    """
    host, port = _parsed(address)
    exporter = Exporter()
    application = checked(make_wsgi_app(exporter.registry), OwnNames(host, hosts))
    try:
        server = _server(host, port, application)
    except OSError as error:
        raise ConfigError(
            f"metrics can't be served at {host}:{port}: {error.strerror or error}",
            hint="choose a free port, and a host name or address of this machine",
        ) from error
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield exporter
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _server(host: str, port: int, application: _Application) -> WSGIServer:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, *_, place = found[0]

    class MetricsServer(ThreadingWSGIServer):
        address_family = family

    return make_server(str(place[0]), port, application, MetricsServer, handler_class=_Handler)


def _parsed(address: str) -> tuple[str, int]:
    found = _ADDRESS.fullmatch(address)
    port = int(found[2]) if found else 0
    if found is None or not 0 < port < 2**16:
        raise ConfigError(
            f"metrics can't be served at {address!r}",
            hint="give [HOST:]PORT, for example 9464, 0.0.0.0:9464 or [::1]:9464",
        )
    return (found[1] or _HOST).strip("[]"), port
