"""A gateway with as many uploads as it takes: the next one is told to wait, and our client does."""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.parse
from contextlib import ExitStack, closing

import pytest

from accelerator import client
from accelerator.client.streams import written
from accelerator.common.config.config import Config
from accelerator.gateway import serving
from tests.gateway.support import catalog_of, made_warehouse, sales

pytestmark = pytest.mark.served

PATH = "/api/v1/catalogs/lake/schemas/shop/tables/sales/rows"
ARROW = "application/vnd.apache.arrow.stream"
AT_ONCE = 8


def test_the_ninth_upload_is_told_to_wait_and_does(tmp_path):
    """Eight are held open on the way; the ninth is refused until one of them has ended."""
    warehouse, uploads = made_warehouse(tmp_path / "warehouse"), tmp_path / "uploads"
    uploads.mkdir()
    config = Config.load(None, warehouse=str(warehouse))
    good = written(sales(5)).read()
    with (
        serving.start(config, workers=1, maintenance=False, upload_folder=str(uploads)) as gateway,
        client.connect(gateway.url, user="ann") as ours,
        ExitStack() as held_open,
    ):
        netloc = urllib.parse.urlsplit(gateway.url).netloc

        def sent(key: str, rows: bytes) -> http.client.HTTPConnection:
            connection = http.client.HTTPConnection(netloc, timeout=60)
            connection.putrequest("POST", PATH)
            connection.putheader("X-Trino-User", "ann")
            connection.putheader("Content-Type", ARROW)
            connection.putheader("Idempotency-Key", key)
            connection.putheader("Content-Length", str(len(good)))
            connection.endheaders(rows)
            return connection

        on_the_way = [sent(f"key-held-{number:04d}", good[:-1]) for number in range(AT_ONCE)]
        for one in on_the_way:
            held_open.callback(one.close)
        until = time.monotonic() + 60
        while len(list(uploads.iterdir())) < AT_ONCE:
            assert time.monotonic() < until
            time.sleep(0.02)
        with closing(sent("key-refused", good)) as refused:
            response = refused.getresponse()
            assert json.loads(response.read())["code"] == "gateway_busy"
            assert (response.status, int(response.headers["Retry-After"])) == (503, 1)
        began = time.monotonic()
        threading.Timer(3.0, on_the_way[0].close).start()  # longer than five quick tries take
        found = ours.table("lake.shop.sales").append(sales(7), key="key-the-ninth")
        assert (found.rows, found.repeated) == (7, False) and time.monotonic() - began > 2.9
    catalog = catalog_of(warehouse)
    snapshot = catalog.load_table("shop.sales").current_snapshot()
    catalog.engine.dispose()
    assert snapshot.summary["accelerator.append-key"] == "key-the-ninth"
    assert snapshot.summary["added-records"] == "7"
