"""Requests whose bytes are damaged: a status for their client, and nothing for anybody else."""

from __future__ import annotations

import asyncio
import base64
import socket
import urllib.parse

import pytest

from accelerator.config import Config
from accelerator.gateway import serving
from accelerator.gateway.trino.headers import HeaderError, check_user
from accelerator.gateway.workers.messages import MessageError
from accelerator.gateway.workers.worker import Worker
from tests.gateway.ordinary_clients import count
from tests.gateway.support import made_warehouse

served = pytest.mark.served
CUT = [b"a\xe9", b"\xff", b"a\x00b", b"a\x85"]
"""Names that are no UTF-8, or have controls."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    folder = made_warehouse(tmp_path_factory.mktemp("broken") / "warehouse")
    config = Config.load(None, warehouse=str(folder))
    with serving.start(config, workers=1, maintenance=False) as running:
        yield running


def exchanged(gateway, data):
    """All that the gateway sends back to these bytes."""
    url = urllib.parse.urlsplit(gateway.url)
    with socket.create_connection((url.hostname, url.port), timeout=30) as connection:
        connection.sendall(data)
        found = b""
        while more := connection.recv(65_536):
            found += more
    return found


def request(method, path, *headers, body=b"", host=b"localhost"):
    """The bytes of a request; `headers` are whole lines."""
    lines = [b"%s %s HTTP/1.1" % (method, path), b"Host: %s" % host, *headers]
    lines += [b"Content-Length: %d" % len(body), b"Connection: close"]
    return b"\r\n".join([*lines, b"", body])


@served
@pytest.mark.parametrize("name", [CUT[0], CUT[1]])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        (b"POST", b"/v1/statement"),
        (b"GET", b"/api/v1/catalogs"),
        (b"GET", b"/api/v1/runs"),
        (b"POST", b"/api/v1/query"),
        (b"GET", b"/ui/api/statements"),
    ],
)
def test_a_users_name_that_is_no_text_is_refused(gateway, method, path, name):
    body = b"SELECT count(*) FROM lake.shop.sales" if b"statement" in path else b""
    pid = gateway.gateway.pool.states()[0].pid
    login = b"Authorization: Basic " + base64.b64encode("a\x85:x".encode())
    for line in (b"X-Trino-User: " + name, login):
        found = exchanged(gateway, request(method, path, line, body=body))
        assert found.startswith(b"HTTP/1.1 400 "), found
        assert b"user's name" in found
    worker = gateway.gateway.pool.states()[0]
    assert (worker.pid, worker.running) == (pid, 0)


@served
def test_a_login_that_is_no_ascii_is_none(gateway):
    lines = b"Authorization: Basic \xe9\xe9", b"X-Trino-User: me"
    found = exchanged(gateway, request(b"GET", b"/api/v1/catalogs", *lines))
    assert found.startswith(b"HTTP/1.1 200 "), found
    assert count(gateway, 1)


@pytest.mark.parametrize("name", CUT)
def test_names_that_are_no_text(name):
    with pytest.raises(HeaderError) as caught:
        check_user(name.decode("utf-8", "surrogateescape"))
    assert caught.value.hint
    check_user("Ünï 名")


def test_a_worker_books_no_stop_for_an_order_that_it_never_got():
    class Transport(asyncio.Transport):
        sent = b""

        def is_closing(self):
            return False

        def write(self, data):
            self.sent += bytes(data)

    async def run():
        worker = Worker(1, None, None, spark=False, silence_s=10)
        worker.link.connection_made(transport := Transport())
        with pytest.raises(MessageError):
            async for _frame in worker.run(7, {"op": "run", "user": "a\udce9"}):
                pass
        assert (worker.load, worker._orders, transport.sent) == (0, {}, b"")

    asyncio.run(run())
