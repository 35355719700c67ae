"""Requests whose bytes are damaged: a status for their client, and nothing for anybody else."""

from __future__ import annotations

import asyncio
import base64
import logging
import socket
import time
import urllib.parse

import pytest

from accelerator.common.config.config import Config
from accelerator.gateway import serving
from accelerator.gateway.trino.headers import HeaderError, check_user
from accelerator.gateway.workers.messages import MessageError
from accelerator.gateway.workers.pool.worker_handle import Worker
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


MALFORMED = {
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: secret\r\nHost: other\r\n\r\n",
    "a port too large": b"GET http://secret:99999999/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a port of letters": b"GET http://secret:abc/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "half an address": b"GET http://[secret/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a path of bytes": b"GET /secret\xe9\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a version": b"GET /secret HTTP/9.9x\r\nHost: localhost\r\n\r\n",
    "no method": b"secret\r\n\r\n",
    "a header's name": b"GET / HTTP/1.1\r\nHost: localhost\r\nsec ret: secret\r\n\r\n",
    "a long header": b"GET / HTTP/1.1\r\nHost: localhost\r\nA: " + b"secret" * 60_000 + b"\r\n\r\n",
    "a length": b"POST /v1/statement HTTP/1.1\r\nHost: localhost\r\nContent-Length: secret\r\n\r\n",
    "a chunk": b"POST /v1/statement HTTP/1.1\r\nHost: localhost\r\nX-Trino-User: me\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nsecret\r\n\r\n",
}


@served
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_request_is_neither_logged_nor_sent_back(gateway, caplog, name):
    caplog.set_level(logging.INFO)
    found = exchanged(gateway, MALFORMED[name])
    assert found.split(b" ")[1] == b"400" and b"secret" not in found, found
    assert not caplog.records
    assert count(gateway, 1)


@served
@pytest.mark.parametrize("path", [b"/v1/statement", b"/api/v1/query"])
def test_a_body_that_breaks_off_is_not_logged(gateway, caplog, path):
    caplog.set_level(logging.INFO)
    url = urllib.parse.urlsplit(gateway.url)
    head = [b"X-Trino-User: me", b"Content-Type: application/json", b"Content-Length: 100"]
    lines = [b"POST %s HTTP/1.1" % path, b"Host: localhost", *head, b"", b"secret"]
    with socket.create_connection((url.hostname, url.port), timeout=30) as connection:
        connection.sendall(b"\r\n".join(lines))
        time.sleep(0.3)
    time.sleep(0.3)
    assert count(gateway, 1)
    assert not caplog.records
