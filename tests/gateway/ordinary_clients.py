"""Clients of a gateway that runs: one statement each, or one after the other without an end."""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

from accelerator.gateway.serving import RunningGateway
from tests.gateway.support import ROWS


def until(true: Callable[[], Any], seconds: float = 120) -> None:
    """Waits until it's true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)


def sent(
    running: RunningGateway,
    method: str,
    path: str,
    body: str = "",
    *,
    user: str = "me",
    session: str = "",
    role: str = "",
) -> dict[str, Any]:
    """One request's document; {} if it has none."""
    headers = {
        "User-Agent": "Trino Python Client/tests",
        "X-Trino-User": user,
        "X-Trino-Catalog": "lake",
        "X-Trino-Schema": "shop",
        "X-Trino-Session": session,
        "X-Trino-Role": role,
    }
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(running.url).netloc, timeout=60)
    try:
        connection.request(method, path, body.encode() or None, headers)
        text = connection.getresponse().read()
        return dict(json.loads(text)) if text else {}
    finally:
        connection.close()


def path_of(document: dict[str, Any]) -> str:
    """The path of its next page."""
    return urllib.parse.urlsplit(document["nextUri"]).path


def documents(running: RunningGateway, sql: str, **more: str) -> Iterator[dict[str, Any]]:
    """All pages of a statement."""
    found = sent(running, "POST", "/v1/statement", sql, **more)
    yield found
    while "nextUri" in found:
        found = sent(running, "GET", path_of(found), **more)
        yield found


def asked(running: RunningGateway, sql: str, user: str = "me", **more: str) -> Any:
    """The first row, or the error's message."""
    rows = list(documents(running, sql, user=user, **more))
    if "error" in rows[-1]:
        return rows[-1]["error"]["message"]
    return next(row for one in rows for row in one.get("data", ()))


def count(running: RunningGateway, number: int, user: str = "other") -> Any:
    """The row of an ordinary statement: all rows of sales, and the number."""
    return asked(running, f"SELECT count(*) + {number} FROM sales", user)


class Clients:
    """Ordinary clients, who ask without an end; `wrong` has the answers that aren't right."""

    def __init__(self, running: RunningGateway, clients: int = 4) -> None:
        self._over = threading.Event()
        self.wrong: list[Any] = []
        self.answers = 0
        self._threads = [
            threading.Thread(target=self._ask, args=(running, n)) for n in range(clients)
        ]

    def _ask(self, running: RunningGateway, number: int) -> None:
        while not self._over.is_set():
            number += 100
            try:
                found = count(running, number, f"client {number % 100}")
            except (AssertionError, OSError, ValueError) as error:
                found = repr(error)
            self.answers += 1
            if found != [ROWS + number]:
                self.wrong.append(found)

    def __enter__(self) -> Clients:
        for one in self._threads:
            one.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._over.set()
        for one in self._threads:
            one.join()
