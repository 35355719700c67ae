"""A REST catalog over PyIceberg's SQL catalog, as far as reading and setting properties goes.

It speaks Iceberg's REST specification over HTTP on a port of its own: tokens by client credentials
that end after so many requests, namespaces, tables, commits of properties and statistics; `raw` has
metadata of tables that PyIceberg refuses, as it's given; `lost` is
what is said of a commit that was made, in the place of the answer. Each
table is given with storage credentials: those that a test hands out, or ones that have a number, so
that it can tell which ones were used.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.statistics import StatisticsFile

CREDENTIAL = "reader:secret-of-the-reader"
_JSON = {"Content-Type": "application/json"}


class RestCatalogServer:
    """Serves one catalog. `asked` has each request; tokens end after `token_requests` of them."""

    def __init__(
        self,
        catalog: SqlCatalog,
        token_requests: int = 1_000_000,
        vend: Callable[[], dict[str, str]] | None = None,
    ) -> None:
        self.catalog, self.token_requests = catalog, token_requests
        self._vend = vend or (lambda: {"s3.session-token": f"vended-{self.vended}"})
        self.asked: list[str] = []
        self.tokens: dict[str, int] = {}
        self.vended = 0
        self.refuse_commits = False
        self.lost: tuple[int, Any] | None = None
        self.raw: dict[tuple[str, ...], Any] = {}
        self.lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.uri = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator[RestCatalogServer]:
        """While the block runs."""
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def token(self) -> str:
        """A new one."""
        with self.lock:
            made = f"token-{len(self.tokens)}"
            self.tokens[made] = self.token_requests
            return made

    def admits(self, authorization: str) -> bool:
        """Whether that token still counts; it's asked once for each request."""
        token = authorization.removeprefix("Bearer ")
        with self.lock:
            left = self.tokens.get(token, 0)
            self.tokens[token] = left - 1
            return left > 0

    def answer(self, method: str, parts: list[str], body: Any) -> tuple[int, Any]:
        """The status and what is said."""
        match method, parts:
            case "GET", ["config"]:
                return 200, {"defaults": {}, "overrides": {}}
            case "GET", ["namespaces"]:
                return 200, {"namespaces": [list(one) for one in self.catalog.list_namespaces()]}
            case "GET", ["namespaces", namespace]:
                found = self.catalog.list_namespaces()
                if (namespace,) not in found:
                    return 404, _error(404, "NoSuchNamespaceException", "there is none")
                return 200, {"namespace": [namespace], "properties": {}}
            case "GET", ["namespaces", namespace, "tables"]:
                named = [
                    {"namespace": [*one[:-1]], "name": one[-1]} for one in self._tables(namespace)
                ]
                return 200, {"identifiers": named}
            case "GET", ["namespaces", namespace, "tables", table]:
                return self._loaded((*namespace.split("\x1f"), table))
            case "POST", ["namespaces", namespace, "tables", table]:
                return self._committed((*namespace.split("\x1f"), table), body)
        return 404, _error(404, "NoSuchTableException", "there is nothing of that name")

    def _tables(self, namespace: str) -> list[tuple[str, ...]]:
        return list(self.catalog.list_tables(tuple(namespace.split("\x1f"))))

    def _loaded(self, identifier: tuple[str, ...]) -> tuple[int, Any]:
        if identifier in self.raw:
            given = {"metadata-location": "file:///raw.metadata.json", "config": self._vend()}
            return 200, {**given, "metadata": self.raw[identifier]}
        try:
            table = self.catalog.load_table(identifier)
        except (NoSuchTableError, NoSuchNamespaceError):
            return 404, _error(404, "NoSuchTableException", f"no table {identifier}")
        with self.lock:
            self.vended += 1
            config = self._vend()
        return 200, _table(table.metadata_location, table.metadata) | {"config": config}

    def _committed(self, identifier: tuple[str, ...], body: Any) -> tuple[int, Any]:
        if self.refuse_commits:
            return 409, _error(409, "CommitFailedException", "others are first")
        table = self.catalog.load_table(identifier)
        with table.transaction() as transaction:
            for update in body["updates"]:
                if update["action"] == "set-properties":
                    transaction.set_properties(update["updates"])
                elif update["action"] == "remove-properties":
                    transaction.remove_properties(*update["removals"])
                elif update["action"] == "set-statistics":
                    file = StatisticsFile.model_validate(update["statistics"])
                    transaction.update_statistics().set_statistics(file).commit()
                elif update["action"] == "remove-statistics":
                    gone = update["snapshot-id"]
                    transaction.update_statistics().remove_statistics(gone).commit()
                else:
                    return 400, _error(400, "BadRequestException", update["action"])
        return self.lost or (200, _table(table.metadata_location, table.metadata))


class _Handler(BaseHTTPRequestHandler):
    owner: RestCatalogServer

    def do_GET(self) -> None:
        self._serve("GET", b"")

    def do_POST(self) -> None:
        self._serve("POST", self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def do_HEAD(self) -> None:
        self._serve("GET", b"", head=True)

    def log_message(self, *args: object) -> None:
        """Nothing on stderr."""

    def _serve(self, method: str, body: bytes, *, head: bool = False) -> None:
        parts = [unquote(one) for one in urlsplit(self.path).path.split("/")[2:]]
        self.owner.asked.append(f"{method} /{'/'.join(parts)}")
        if parts == ["oauth", "tokens"]:
            given = parse_qs(body.decode())
            sent = f"{given.get('client_id', [''])[0]}:{given.get('client_secret', [''])[0]}"
            if sent != CREDENTIAL:
                self._say(401, {"error": "invalid_client", "error_description": "who are you?"})
                return
            token = {"access_token": self.owner.token(), "token_type": "bearer", "expires_in": 3600}
            self._say(200, token)
        elif not self.owner.admits(self.headers.get("Authorization", "")):
            self._say(401, _error(401, "NotAuthorizedException", "the token has expired"))
        else:
            status, said = self.owner.answer(method, parts, json.loads(body) if body else None)
            self._say(status, said, head=head)

    def _say(self, status: int, said: Any, *, head: bool = False) -> None:
        data = json.dumps(said).encode()
        self.send_response(status)
        for name, value in (_JSON | {"Content-Length": str(len(data))}).items():
            self.send_header(name, value)
        self.end_headers()
        if not head:
            self.wfile.write(data)


def _table(location: str, metadata: TableMetadata) -> dict[str, Any]:
    return {"metadata-location": location, "metadata": json.loads(metadata.model_dump_json())}


def _error(code: int, kind: str, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": code}}
