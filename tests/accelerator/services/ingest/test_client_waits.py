"""The Python client before a busy gateway: it waits, as long as it may, and appends once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
import requests

from accelerator import client
from accelerator.client import ApiError, UnreachableError
from accelerator.client import http as of_http

GOOD = {"snapshot_id": 1, "rows": 1, "files": 1, "bytes": 1, "repeated": False}
ROWS = pa.table({"a": [1]})


class Gateway:
    """Answers in turn, and notes what came and how long was waited; the last answer stays."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: Any) -> None:
        self._answers: Iterator[Any] = iter(answers)
        self.asked: list[tuple[str, str, bytes]] = []
        self.waits: list[float] = []
        self.now = 0.0
        clock = SimpleNamespace(monotonic=lambda: self.now, sleep=self._sleep)
        monkeypatch.setattr(of_http, "time", clock)
        monkeypatch.setattr(requests.Session, "request", self._request)

    def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def _request(self, method: str, url: str, **given: Any) -> requests.Response:
        data = given["data"].read() if given.get("data") else b""
        key = (given.get("headers") or {}).get("Idempotency-Key", "")
        self.asked.append((method, key, data))
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        status, body, headers = answer
        made = requests.Response()
        made.status_code, made._content = status, json.dumps(body).encode()
        made.raw = BytesIO()
        made.headers.update(headers)
        return made


def busy(code: str = "gateway_busy", status: int = 503, after: str = "1") -> Any:
    headers = {"Retry-After": after} if after else {}
    return status, {"code": code, "detail": f"it's {code}", "hint": "later"}, headers


def connected(**more: Any) -> client.Client:
    return client.connect("http://gateway", user="ann", **more)


def append(**more: Any) -> Any:
    with connected(**more) as gateway:
        return gateway.table("lake.shop.t").append(ROWS)


def test_the_ninth_upload_waits_for_its_turn(monkeypatch):
    """Longer than a few tries would, each time as long as it's told, under one key."""
    gateway = Gateway(monkeypatch, *[busy()] * 12, (200, GOOD, {}))
    assert append().rows == 1
    assert len(gateway.asked) == 13 and len(set(gateway.asked)) == 1
    ((_, key, data),) = set(gateway.asked)
    assert len(key) == 32 and pa.ipc.open_stream(data).read_all() == ROWS
    assert all(1.0 <= one <= 6.0 for one in gateway.waits)
    assert len(set(gateway.waits)) > 5  # many clients don't come at one moment


def test_the_wait_has_an_end(monkeypatch):
    gateway = Gateway(monkeypatch, *[busy()] * 1000)
    with pytest.raises(ApiError) as found:
        append(busy_wait_s=10)
    assert found.value.code == "gateway_busy" and 5 < gateway.now <= 10
    gateway = Gateway(monkeypatch, *[busy(after="3600")] * 2)
    with pytest.raises(ApiError):
        append()
    assert gateway.waits == []  # it's no use to wait
    gateway = Gateway(monkeypatch, *[busy()] * 2)
    with pytest.raises(ApiError):
        append(busy_wait_s=0)
    assert gateway.waits == []


@pytest.mark.parametrize("after", ["", "soon", "-1", "1e9", "\u00b2", "9" * 400])
def test_what_is_no_number_of_seconds_is_passed_over(monkeypatch, after):
    gateway = Gateway(monkeypatch, busy(after=after), (200, GOOD, {}))
    assert append().rows == 1 and gateway.now < 1


@pytest.mark.parametrize(
    ("code", "status"),
    [("gateway_busy", 503), ("queue_full", 503), ("queue_timeout", 503), ("rate_limited", 429)],
)
def test_what_wasnt_begun_is_asked_again_whatever_it_is(monkeypatch, code, status):
    run = {"id": "r", "action": "refresh", "of": "c", "state": "running"}
    gateway = Gateway(monkeypatch, *[busy(code, status)] * 9, (201, run, {}))
    with connected() as made:
        assert made.start("refresh", cube="c").state == "running"
    assert len(gateway.asked) == 10
    sink = pa.BufferOutputStream()
    pa.ipc.new_stream(sink, ROWS.schema).close()
    monkeypatch.setattr(
        requests.Response, "iter_content", lambda *_: [sink.getvalue().to_pybytes()]
    )
    gateway = Gateway(monkeypatch, *[busy(code, status)] * 9, (200, {}, {}))
    with connected() as made:
        assert made.query("SELECT 1").schema == ROWS.schema
    assert len(gateway.asked) == 10


@pytest.mark.parametrize("code", ["worker_lost", "statement_timeout", "store_unavailable"])
def test_what_may_have_been_begun_is_repeated_only_if_it_may_be(monkeypatch, code):
    gateway = Gateway(monkeypatch, *[busy(code)] * 9)
    with connected() as made, pytest.raises(ApiError):
        made.start("refresh", cube="c")
    assert len(gateway.asked) == 1
    gateway = Gateway(monkeypatch, *[busy(code)] * 9)
    with connected() as made, pytest.raises(ApiError):
        made.query("SELECT 1")
    assert len(gateway.asked) == 1
    gateway = Gateway(monkeypatch, *[busy(code)] * 9)
    with pytest.raises(ApiError):
        append()
    assert len(gateway.asked) == 5


def test_a_broken_connection_between_refusals_is_tried_again(monkeypatch):
    lost = requests.ConnectionError("broken pipe")
    gateway = Gateway(monkeypatch, busy(), lost, busy(), lost, (200, GOOD, {}))
    assert append().rows == 1 and len(set(gateway.asked)) == 1
    gateway = Gateway(monkeypatch, *[lost] * 9)
    with pytest.raises(UnreachableError) as found:
        append()
    assert len(gateway.asked) == 5 and found.value.__cause__ is lost
    gateway = Gateway(monkeypatch, *[lost] * 9)
    with connected() as made, pytest.raises(UnreachableError):
        made.start("refresh", cube="c")
    assert len(gateway.asked) == 1


@pytest.mark.parametrize(
    "error", [requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError]
)
def test_a_query_whose_rows_break_off_may_be_asked_again(monkeypatch, error):
    def broken(*_: Any) -> Iterator[bytes]:
        yield b"rows"
        raise error("incorrect data")

    monkeypatch.setattr(requests.Response, "iter_content", broken)
    gateway = Gateway(monkeypatch, (200, {}, {}))
    with connected() as made, pytest.raises(UnreachableError) as found:
        made.query("SELECT 1")
    assert "broke off" in found.value.message and found.value.hint.startswith("ask again")
    assert len(gateway.asked) == 1
