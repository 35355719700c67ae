"""Each log record of a gateway is one line, even with a client's text in it."""

from __future__ import annotations

import io
import json
import logging
import socket
import subprocess
import sys
import threading
import urllib.parse
import urllib.request

import pytest

from accelerator.common.config.config import Config
from accelerator.common.log_lines import LineFormatter, in_one_line
from accelerator.gateway import serving
from tests.gateway.support import made_warehouse

FORGED = "x\r\n2026-01-01 00:00:00 ERROR accelerator: forged \x1b[2J\u2028\u202e\x85 end"
BREAKS = "\r\n\x0b\x0c\x1b\x85\u2028\u2029\u202e"


def _has_no_break(text):
    return not [one for one in text if one in BREAKS]


def _failed(kind=ValueError):
    try:
        raise kind(FORGED)
    except kind:
        return sys.exc_info()


@pytest.mark.parametrize("exc_info", [None, _failed()])
def test_a_record_is_one_line_by_our_formatter_and_by_any(exc_info):
    def record():
        args = (FORGED, {"key": FORGED})
        return logging.LogRecord("x", logging.ERROR, "x", 1, "%s failed: %s", args, exc_info)

    ours = LineFormatter("%(levelname)s %(message)s").format(record())
    filtered = record()
    assert in_one_line(filtered)
    theirs = logging.Formatter("%(levelname)s %(message)s").format(filtered)
    for text in (ours, theirs):
        assert _has_no_break(text)
        assert text.startswith("ERROR x\\u000d\\n2026") and "forged" in text
        assert ("ValueError" in text) is (exc_info is not None)


def test_the_gateways_logger_has_the_filter():
    out = io.StringIO()
    handler, log = logging.StreamHandler(out), logging.getLogger("accelerator.gateway")
    log.addHandler(handler)
    try:
        log.error("a request of %s failed", FORGED, exc_info=_failed())
    finally:
        log.removeHandler(handler)
    (line,) = out.getvalue().splitlines()
    assert "Traceback" in line and _has_no_break(line)


@pytest.mark.parametrize("sql", ["ALTER TABLE secret EXECUTE optimize", "EXPLAIN ANALYZE secret"])
def test_the_parser_logs_no_texts_of_clients(sql):
    code = "from accelerator.gateway.workers import fork_server;"
    code += " from rewrite.parse.bounds import tree_of;"
    command = [sys.executable, "-c", f"{code} print(type(tree_of({sql!r}, 'trino')).__name__)"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert (ran.stdout, ran.stderr) == ("Command\n", "")


def raw(url, data):
    """Sends the bytes; what comes back until the gateway closes."""
    with socket.create_connection((url.hostname, url.port), timeout=30) as one:
        one.sendall(data)
        return b"".join(iter(lambda: one.recv(65536), b""))


BROKEN = (
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET /\x0b\x1b[2J HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST /v1/statement HTTP/1.1\r\nHost: localhost\r\nX-A\x0bB: c\r\n\r\n",
    b"POST /v1/statement HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n",
    b"POST /v1/statement HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\n2\r\n\r\n",
)


@pytest.mark.served
def test_broken_requests_and_failures_are_lines(tmp_path, caplog, monkeypatch):
    folder = made_warehouse(tmp_path / "warehouse")
    config = Config.load(None, warehouse=str(folder))

    async def broken(_self, _asked):
        raise RuntimeError(FORGED)

    monkeypatch.setattr("accelerator.gateway.http.trino_server.Server._info", broken)
    with serving.start(config, workers=1, maintenance=False) as running:
        url = urllib.parse.urlsplit(running.url)
        for data in BROKEN:
            assert b" 400 " in raw(url, data).partition(b"\r\n")[0]
        data = f"GET /v1/info HTTP/1.1\r\nHost: {url.netloc}\r\nConnection: close\r\n\r\n"
        answer = raw(url, data.encode())
        assert b" 500 " in answer.partition(b"\r\n")[0] and b"forged" not in answer
        assert b"no-store" in answer
    errors = [one for one in caplog.records if one.levelno >= logging.ERROR]
    assert len(errors) == 1 and "RuntimeError" in errors[0].getMessage(), "no broken request's"
    assert {one.name for one in errors} == {"accelerator.gateway"}
    for one in errors:
        assert _has_no_break(one.getMessage()) and not one.exc_info


@pytest.mark.served
def test_the_command_and_its_workers_log_lines(tmp_path):
    folder = made_warehouse(tmp_path / "warehouse")
    command = [sys.executable, "-c", "from accelerator.cli.main import main; main()"]
    command += ["serve", "--warehouse", str(folder), "--port", "0", "--workers", "1", "--json"]
    ran = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = []
    listening = threading.Thread(target=lambda: said.extend(ran.stderr))
    listening.start()
    try:
        url = urllib.parse.urlsplit(json.loads(ran.stdout.readline())["url"])
        for data in BROKEN:
            raw(url, data)
        sql = f'SELECT "{FORGED}" FROM lake.shop.sales'
        request = urllib.request.Request(
            f"{url.geturl()}/v1/statement",
            sql.encode(),
            {"X-Trino-User": "ann", "X-Forwarded-For": "10.0.0.1"},
        )
        with urllib.request.urlopen(request) as response:
            assert response.status == 200
    finally:
        ran.terminate()
        ran.wait(60)
        listening.join(60)
        ran.stdout.close()
        ran.stderr.close()
    assert any("X-Forwarded headers" in line for line in said), said
    for line in said:
        assert line.startswith("20") and " accelerator" in line, said
        assert _has_no_break(line.rstrip("\n"))
