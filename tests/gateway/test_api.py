"""The API of a live gateway, with users and a policy, and its Python client."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.parse
from base64 import b64encode
from contextlib import contextmanager
from copy import deepcopy

import pandas as pd
import pyarrow as pa
import pytest
from argon2 import PasswordHasher

import accelerator
from accelerator import client
from accelerator.client import ApiError, UnreachableError
from accelerator.client.streams import written
from accelerator.common.config.config import Config
from accelerator.gateway import serving
from accelerator.gateway.http.api.openapi import document
from accelerator.gateway.http.api.uploads import Uploads
from accelerator.gateway.workers.api import tables
from accelerator.store.journals.claims import Claims
from accelerator.store.journals.run import FinishedRun
from accelerator.store.journals.run_history import RunHistory
from tests.gateway.support import ROWS, catalog_of, made_warehouse, sales

pytestmark = pytest.mark.served

SALES_TABLE = "lake.shop.sales"
LONG = f"SELECT count(*) FROM {', '.join(f'{SALES_TABLE} {a}' for a in 'abcd')} WHERE a.id > b.id"
"""It takes hours."""
ARROW = "application/vnd.apache.arrow.stream"
SALES = "/api/v1/catalogs/lake/schemas/shop/tables/sales"
POLICY = """
[[rule]]
allow = ["read", "write", "change"]
users = ["boss"]
tables = ["lake.*.*"]
[[rule]]
allow = ["manage"]
users = ["boss"]
cubes = ["*"]
indexes = ["*"]
[[rule]]
allow = ["metrics"]
users = ["boss"]
[[rule]]
allow = ["read"]
users = ["ann"]
tables = ["lake.shop.sales"]
[[rule]]
allow = ["change"]
users = ["kim"]
tables = ["lake.shop.target"]
[[rule]]
allow = ["write"]
users = ["feed"]
tables = ["lake.shop.*"]
"""
USERS = ("boss", "ann", "feed", "eve", "kim")


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    folder = made_warehouse(tmp_path_factory.mktemp("api") / "warehouse")
    catalog = catalog_of(folder)
    catalog.create_table(
        "shop.secret", sales(1).schema, properties={"my.password": "pw-1234", "plain": "told"}
    )
    catalog.create_table("shop.target", sales(1).schema)
    catalog.engine.dispose()
    with accelerator.open(str(folder)) as acc:
        acc.query("CREATE CUBE by_city AS SELECT city, count(*) AS n FROM shop.sales GROUP BY city")
        acc.query("CREATE INDEX cities ON shop.sales USING BLOOM (city)")
    return folder


@contextmanager
def running(warehouse, **settings):
    config = Config.load(None, warehouse=str(warehouse))
    with serving.start(config, workers=1, maintenance=False, **settings) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guarded")
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    users = [f'[users.{one}]\npassword = "{cheap.hash(f"{one}-pw")}"\n' for one in USERS]
    (folder / "users.toml").write_text("".join(users))
    (folder / "users.toml").chmod(0o600)
    (folder / "policy.toml").write_text(POLICY)
    return {"users": str(folder / "users.toml"), "policy": str(folder / "policy.toml")}


@pytest.fixture(scope="module")
def uploads(tmp_path_factory):
    return tmp_path_factory.mktemp("uploads")


@pytest.fixture(scope="module")
def gateway(warehouse, files, uploads, tmp_path_factory):
    log = tmp_path_factory.mktemp("audit") / "audit.log"
    own = {"upload_bytes_max": 1_000_000, "upload_folder": str(uploads), "audit_log": str(log)}
    with running(warehouse, **files, **own) as found:
        found.log = log
        yield found


def of(gateway, user):
    return client.connect(gateway.url, user=user, password=f"{user}-pw")


@pytest.fixture(scope="module")
def boss(gateway):
    with of(gateway, "boss") as found:
        yield found


def ask(gateway, method, path, body=None, user="boss", **headers):
    """Status, headers and body, as they come over the wire."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(gateway.url).netloc, timeout=60)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if user is not None:
        given["Authorization"] = f"Basic {b64encode(f'{user}:{user}-pw'.encode()).decode()}"
    try:
        connection.request(method, path, body, given)
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def refused(call, *given, **more):
    with pytest.raises(ApiError) as found:
        call(*given, **more)
    return found.value.status, found.value.code


# What is told of tables


def test_a_table_is_told_of_as_it_is(boss, warehouse):
    catalog = catalog_of(warehouse)
    real = catalog.load_table("shop.sales")
    found = boss.table("lake.shop.sales").info()
    assert found["uuid"] == str(real.metadata.table_uuid)
    assert found["snapshot_id"] == real.metadata.current_snapshot_id
    assert [one["name"] for one in found["columns"]] == ["id", "k", "city", "amount", "at"]
    assert found["columns"][3]["iceberg_type"] == "decimal(12, 2)"
    assert found["sizes"]["rows"] == ROWS
    table = boss.table("lake.shop.sales")
    assert [one["id"] for one in table.snapshots()] == [
        one.snapshot_id for one in reversed(real.metadata.snapshots)
    ]
    assert [one["name"] for one in table.refs()] == ["main"]
    known = {task.file.file_path: task.file.record_count for task in real.scan().plan_files()}
    assert {one["path"]: one["rows"] for one in table.files()} == known
    (part,) = table.partitions()
    assert (part["rows"], part["files"], part["delete_files"]) == (ROWS, 2, 0)
    assert [(one["cube"], one["status"]) for one in table.cubes()] == [("by_city", "complete")]
    assert [one["index"] for one in table.indexes()] == ["cities"]
    covered = list(table.coverage())
    assert len(covered) == 4
    assert all(one["covered"] for one in covered)
    assert {one["artifact"] for one in table.coverage(index="cities")} == {"cities"}
    assert [one["column"] for one in table.statistics()] == ["id", "k", "city", "amount", "at"]
    assert list(table.recommendations()) == []
    catalog.engine.dispose()


def test_a_key_of_one_user_is_not_anothers(gateway, boss):
    with of(gateway, "feed") as feed:
        first, other = (one.table("lake.shop.target") for one in (feed, boss))
        assert not first.append(sales(2), key="key-of-two-users").repeated
        assert not other.append(sales(3), key="key-of-two-users").repeated
        assert first.append(sales(2), key="key-of-two-users").repeated
        assert other.append(sales(3), key="key-of-two-users").repeated
        assert refused(first.append, sales(3), key="key-of-two-users") == (409, "append_key_used")


def test_secrets_are_hidden(boss):
    assert boss.table("lake.shop.secret").info()["properties"] == {
        "my.password": "***",
        "plain": "told",
    }


def test_lists_are_told_part_by_part(boss):
    path, found, cursor = f"{SALES}/statistics".removeprefix("/api/v1"), [], None
    while True:
        part = boss._http.get(path, limit=2, cursor=cursor)
        found += [one["column"] for one in part["items"]]
        cursor = part["next"]
        if cursor is None:
            break
    assert found == ["id", "k", "city", "amount", "at"]
    first = boss._http.get("/catalogs/lake/schemas/shop/tables", limit=1)
    assert first["items"][0]["name"] == "sales"
    assert refused(boss._http.get, path, cursor=first["next"]) == (410, "cursor_gone")


def test_partitions_and_files_are_of_one_snapshot_throughout(boss, warehouse):
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.transforms import IdentityTransform

    catalog = catalog_of(warehouse)
    schema = catalog.load_table("shop.sales").schema()
    spec = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "city"))
    made = catalog.create_table("shop.parted", schema, partition_spec=spec)
    made.append(sales(8))
    table = boss.table("lake.shop.parted")
    path = "/catalogs/lake/schemas/shop/tables/parted/files"
    before = list(table.files())
    first = boss._http.get(path, limit=1)
    made.append(sales(8))
    rest = boss._http.get(path, cursor=first["next"])
    assert [*first["items"], *rest["items"]] == before
    assert {one["partition"]["city"] for one in before} == set(sales(4)["city"].to_pylist())
    parts = list(table.partitions())
    assert {one["values"]["city"]: (one["rows"], one["files"]) for one in parts} == dict.fromkeys(
        set(sales(4)["city"].to_pylist()), (4, 2)
    )
    catalog.engine.dispose()


# Who may what


def test_decimals_of_partitions_are_told_without_exponents():
    told = tables._texts(
        pa.chunked_array([pa.array(["0", "-1E-10", None], pa.string()).cast(pa.decimal128(38, 10))])
    )
    assert told.to_pylist() == ["0.0000000000", "-0.0000000001", None]


def test_each_sees_what_they_may(gateway, boss):
    with of(gateway, "ann") as ann, of(gateway, "feed") as feed, of(gateway, "eve") as eve:
        assert [one.name for one in ann.tables()] == ["sales"]
        assert "secret" in [one.name for one in feed.tables()]
        assert list(eve.tables()) == []
        assert refused(ann.table("lake.shop.secret").info) == (403, "access_denied")
        # One that isn't there is alike.
        assert refused(ann.table("lake.shop.nothing").info) == (403, "access_denied")
        assert refused(ann.table("nowhere.shop.sales").info) == (403, "access_denied")
        assert refused(feed.table("lake.shop.sales").info) == (403, "access_denied")
        assert refused(ann.table("lake.shop.sales").append, sales(1)) == (403, "access_denied")
        assert refused(ann.start, "refresh", cube="by_city") == (403, "access_denied")
        assert refused(ann.start, "vacuum", table="lake.shop.sales") == (403, "access_denied")
        assert refused(ann.start, "analyze", table="lake.shop.sales") == (403, "access_denied")
        assert refused(ann.start, "refresh", cube="nothing") == (403, "access_denied")
    assert refused(boss.start, "refresh", cube="nothing") == (403, "access_denied")
    told = [json.loads(line) for line in gateway.log.read_text().splitlines()]
    assert any("append_rows" in str(one) and "ann" in str(one) for one in told)


def test_strangers_are_told_to_log_in(gateway):
    for method, path in (("GET", SALES), ("POST", f"{SALES}/rows"), ("GET", "/api/v1/runs")):
        status, headers, body = ask(gateway, method, path, user=None)
        assert (status, headers["Content-Type"]) == (401, "application/problem+json")
        assert headers["WWW-Authenticate"].startswith("Basic")
        assert json.loads(body)["code"] == "login"
    status, _, _ = ask(gateway, "GET", "/api/v1/openapi.json", user=None)
    assert status == 200


def test_pages_of_other_sites_do_nothing(gateway):
    for site in ("cross-site", "same-site"):
        status, _, _ = ask(gateway, "POST", "/api/v1/runs", b"{}", Sec_Fetch_Site=site)
        assert status == 403


def test_what_no_route_has_is_a_problem(gateway):
    for method, path, status in (
        ("GET", "/api/v1/nothing", 404),
        ("DELETE", SALES, 405),
        ("GET", f"{SALES}?x=1", 400),
        ("GET", f"{SALES}/files?limit=0", 400),
        ("GET", f"{SALES}/files?limit=1&limit=2", 400),
        ("GET", f"{SALES}/files?cursor=%2E%2E", 400),
        ("GET", "/api/v1/catalogs/lake/schemas/shop/tables/" + 300 * "a", 400),
        ("GET", "/api/v1/catalogs/lake/schemas/shop/tables/a%00b", 400),
        ("GET", "/api/v1/catalogs/lake/schemas/%2E%2E/tables/x", 403),
        ("GET", "/api/v1/catalogs/lake/schemas/a%2Fb/tables/x%22%27%3B--", 403),
        ("GET", "/api/v1/runs/..%2Fx:1", 400),
        ("GET", "/api/v1/runs/refresh-x:1", 404),
    ):
        got, headers, body = ask(gateway, method, path)
        assert (got, headers["Content-Type"]) == (status, "application/problem+json"), path
        assert json.loads(body)["status"] == status


# Appends


def held(warehouse, name="shop.target"):
    catalog = catalog_of(warehouse)
    found = catalog.load_table(name).scan().to_arrow().num_rows
    catalog.engine.dispose()
    return found


def test_arrow_and_pandas_are_appended_once_for_a_key(boss, warehouse):
    table, before = boss.table("lake.shop.target"), held(warehouse)
    first = table.append(sales(10), key="key-00000001")
    assert (first.rows, first.repeated) == (10, False)
    again = table.append(sales(10), key="key-00000001")
    assert (again.snapshot_id, again.repeated) == (first.snapshot_id, True)
    assert refused(table.append, sales(9), key="key-00000001") == (409, "append_key_used")
    frame = pd.DataFrame(
        {
            "id": [1, 2],
            "city": pd.Categorical(["Bern", None]),
            "at": pd.to_datetime(["2026-01-01", "2026-01-02"], utc=True),
        }
    )
    assert table.append(frame).rows == 2
    reader = pa.RecordBatchReader.from_batches(sales(1).schema, sales(30).to_batches())
    assert table.append(reader).rows == 30
    assert table.append(sales(0)).snapshot_id is None
    assert held(warehouse) == before + 42
    assert next(table.snapshots())["summary"]["accelerator.append-key"]


def test_who_may_only_write_does(gateway, warehouse):
    before = held(warehouse)
    with of(gateway, "feed") as feed:
        assert feed.table("lake.shop.target").append(sales(1)).rows == 1
        assert refused(feed.table("lake.other.x").append, sales(1))[0] == 403
    assert held(warehouse) == before + 1


def test_what_does_not_fit_names_its_column(boss, warehouse):
    before = held(warehouse)
    table = boss.table("lake.shop.target")
    wrong = sales(3).set_column(0, "id", pa.array(["1", "2", "3"]))
    with pytest.raises(ApiError, match="column id is int64") as found:
        table.append(wrong)
    assert (found.value.status, found.value.code) == (422, "upload_schema")
    assert refused(table.append, sales(3).append_column("x", pa.nulls(3))) == (422, "upload_schema")
    with pytest.raises(TypeError):
        table.append("text")
    assert held(warehouse) == before


def test_bodies_that_are_no_streams_are_refused(gateway, warehouse, uploads):
    before = held(warehouse)
    path = f"{SALES.replace('sales', 'target')}/rows"
    good = written(sales(5)).read()
    sent = {"Content_Type": ARROW, "Idempotency_Key": "key-00000002"}
    for body, headers, status, code in (
        (b"", sent, 400, "upload_invalid"),
        (good[:-8], sent, 400, "upload_invalid"),
        (good + b"x", sent, 400, "upload_invalid"),
        (b"\0" * 1_000_001, sent, 413, "upload_too_large"),
        (good, {"Content_Type": ARROW}, 400, "request_invalid"),
        (good, sent | {"Idempotency_Key": "a b"}, 400, "request_invalid"),
        (good, sent | {"Content_Type": "text/csv"}, 415, "request_media"),
        (good, sent | {"Content_Encoding": "gzip"}, 415, "request_media"),
    ):
        got, _, told = ask(gateway, "POST", path, body, **headers)
        assert (got, json.loads(told)["code"]) == (status, code)
    assert held(warehouse) == before
    assert not list(uploads.iterdir())


def test_a_body_in_chunks_is_taken_and_one_that_is_too_long_is_not(gateway, warehouse):
    before = held(warehouse)
    path = f"{SALES.replace('sales', 'target')}/rows"
    good = written(sales(5)).read()
    pieces = [good[i : i + 100] for i in range(0, len(good), 100)]
    sent = {"Content_Type": ARROW, "Idempotency_Key": "key-00000003"}
    assert ask(gateway, "POST", path, iter(pieces), **sent)[0] == 200
    many = iter([b"\0" * 100_000] * 11)
    got, _, told = ask(gateway, "POST", path, many, **sent)
    assert (got, json.loads(told)["code"]) == (413, "upload_too_large")
    assert held(warehouse) == before + 5


def test_an_upload_that_breaks_off_leaves_nothing(gateway, warehouse, uploads):
    before, path = held(warehouse), f"{SALES.replace('sales', 'target')}/rows"
    good = written(sales(5)).read()
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(gateway.url).netloc, timeout=60)
    connection.putrequest("POST", path)
    connection.putheader("Authorization", f"Basic {b64encode(b'boss:boss-pw').decode()}")
    connection.putheader("Content-Type", ARROW)
    connection.putheader("Idempotency-Key", "key-00000004")
    connection.putheader("Content-Length", str(len(good)))
    connection.endheaders(good[:-1])
    until = time.monotonic() + 30
    while not list(uploads.iterdir()):
        assert time.monotonic() < until
        time.sleep(0.01)
    connection.close()
    while list(uploads.iterdir()):
        assert time.monotonic() < until
        time.sleep(0.01)
    assert held(warehouse) == before


def test_what_a_killed_gateway_has_left_of_uploads_goes(tmp_path):
    text = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from accelerator.engines.duckdb.spill import Spill\n"
        "own = Spill(sys.argv[1], 'accelerator-upload-')\n"
        "(Path(own.path) / 'rows').write_bytes(b'rows')\n"
        "print(flush=True)\n"
        "time.sleep(600)\n"
    )
    command = [sys.executable, "-c", text, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        Uploads(10, str(tmp_path))
        assert len(list(tmp_path.iterdir())) == 1  # it lives
        other.kill()
    Uploads(10, str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_without_a_folder_for_uploads_the_sender_is_told(warehouse, tmp_path):
    with running(warehouse, upload_folder=str(tmp_path / "none")) as gateway:
        path = f"{SALES.replace('sales', 'target')}/rows"
        sent = {"Content_Type": ARROW, "Idempotency_Key": "key-00000009"}
        got, _, told = ask(gateway, "POST", path, written(sales(1)).read(), user=None, **sent)
    told = json.loads(told)
    assert (got, told["code"]) == (503, "upload_storage")
    assert str(tmp_path) not in told["detail"]


def test_cubes_stay_right_and_tell_what_they_lack(boss, warehouse):
    boss.table("lake.shop.sales").append(sales(7))
    lacking = list(boss.table("lake.shop.sales").coverage(cube="by_city"))
    assert [one["covered"] for one in lacking] == [False, True, True]
    with accelerator.open(str(warehouse)) as acc:
        query = "SELECT city, count(*) AS n FROM shop.sales GROUP BY city"
        found = acc.query(query).arrow().to_pylist()
    assert sum(row["n"] for row in found) == ROWS + 7


# Runs


def test_work_is_started_followed_and_remembered(boss):
    boss.table("lake.shop.sales").append(sales(7))
    told = []
    run = boss.start("refresh", cube="by_city").wait(lambda *now: told.append(now), timeout_s=60)
    assert (run.state, run.info["by"], run.info["of"]) == ("done", "boss", "cube by_city")
    assert run.info["done"] >= 1
    assert run.id in [one.id for one in boss.runs()]
    assert boss.run(run.id).state == "done"
    assert all(one["covered"] for one in boss.table("lake.shop.sales").coverage(cube="by_city"))
    again = boss.start("refresh", cube="by_city").wait(timeout_s=60)
    assert again.state == "not_due"
    assert refused(run.cancel) == (409, "run_ended")
    vacuum = boss.start("vacuum", table="lake.shop.sales").wait(timeout_s=60)
    assert (vacuum.state, vacuum.info["action"]) == ("done", "vacuum")
    assert boss.start("compact", cube="by_city").wait(timeout_s=60).state == "done"
    failed = boss.start("analyze", table="lake.shop.sales").wait(timeout_s=60)
    assert failed.state in ("done", "failed")  # the log may have nothing


def test_work_on_a_table_that_the_store_has_nothing_of_is_told_to_who_started_it(gateway, boss):
    with of(gateway, "kim") as kim, of(gateway, "eve") as eve:
        run = kim.start("vacuum", table="lake.shop.target").wait(timeout_s=60)
        assert (run.state, run.info["by"]) == ("done", "kim")
        assert run.id in [one.id for one in kim.runs()]
        assert run.id not in [one.id for one in eve.runs()]
        assert refused(eve.run, run.id) == (404, "run_not_found")
        assert refused(run.cancel) == (409, "run_ended")
    assert boss.run(run.id).state == "done"


@pytest.mark.parametrize(
    "body",
    [
        {"action": "refresh"},
        {"action": "refresh", "cube": "a", "index": "b"},
        {"action": "compact", "index": "a"},
        {"action": "vacuum", "cube": "a"},
        {"action": "vacuum", "table": ["lake", "shop"]},
        {"action": "refresh", "cube": "by_city", "full": True},
        {"action": "drop", "cube": "a"},
        {"action": "refresh", "cube": "a", "more": 1},
        {"action": "refresh", "cube": "a\0"},
        [],
    ],
)
def test_work_that_is_none_is_refused(gateway, body):
    got, _, told = ask(
        gateway, "POST", "/api/v1/runs", json.dumps(body), Content_Type="application/json"
    )
    assert (got, json.loads(told)["code"]) == (400, "request_invalid")


def test_bodies_of_other_types_start_nothing(gateway):
    body = json.dumps({"action": "refresh", "cube": "by_city"})
    assert ask(gateway, "POST", "/api/v1/runs", body, Content_Type="text/plain")[0] == 415
    long = json.dumps({"action": 70_000 * "x"})
    assert ask(gateway, "POST", "/api/v1/runs", long, Content_Type="application/json")[0] == 413


def test_a_run_of_another_daemon_is_told_and_stopped(gateway, boss, warehouse):
    with accelerator.open(str(warehouse)) as acc:
        claims = Claims(acc.services.store.files)
        (record,) = acc.services.store.registry().cubes.values()
        claim = claims.claim(f"refresh-{record.id}")
        (run,) = [one for one in boss.running() if one.info["key"] == claim.key]
        assert (run.state, run.info["of"], run.info["by"]) == ("running", "cube by_city", "")
        assert refused(boss.start, "refresh", cube="by_city") == (409, "run_busy")
        with pytest.raises(UnreachableError):
            run.wait(timeout_s=0)
        with of(gateway, "ann") as ann:
            assert ann.run(run.id).state == "running"
            assert refused(ann.run(run.id).cancel) == (403, "access_denied")
        with of(gateway, "eve") as eve:
            assert eve.running() == []
            assert refused(eve.run, run.id) == (404, "run_not_found")
        assert claim.asked_to_stop() is None
        assert run.cancel().state == "running"
        assert claim.asked_to_stop() == "boss"
        now = time.time_ns() // 1_000_000
        ended = FinishedRun(began_ms=now, ended_ms=now, failures=1, error="e", code="cancelled")
        claim.end(ended.to_json())
        RunHistory(acc.services.store.files).add(claim.key, claim.epoch, ended)
    assert run.wait(timeout_s=60).state == "cancelled"


def test_a_process_that_was_killed_over_its_run_is_lost_and_followed(boss, warehouse):
    boss.table("lake.shop.sales").append(sales(7))
    text = (
        "import sys, time, accelerator\n"
        "from accelerator.store.journals.claims import Claims\n"
        f"acc = accelerator.open({str(warehouse)!r})\n"
        "(record,) = acc.services.store.registry().cubes.values()\n"
        "print(Claims(acc.services.store.files).claim(f'refresh-{record.id}').epoch, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE) as other:
        epoch = int(other.stdout.readline())
        (run,) = [one for one in boss.running() if one.info["action"] == "refresh"]
        assert run.id.endswith(f":{epoch}")
        os.kill(other.pid, signal.SIGKILL)
    assert run.refresh().state == "lost"
    assert boss.start("refresh", cube="by_city").wait(timeout_s=60).state == "done"


def test_a_lost_worker_appends_once_all_the_same(warehouse, monkeypatch):
    """A gateway without users; its worker is killed while rows are on their way."""
    before = held(warehouse)
    with running(warehouse) as gateway, client.connect(gateway.url) as found:
        table = found.table("lake.shop.target")
        (pid,) = [one.pid for one in gateway.gateway.pool.states()]
        killer = threading.Timer(0.02, os.kill, (pid, signal.SIGKILL))
        killer.start()
        rows = [table.append(sales(5), key=f"killed-{number:04}").rows for number in range(8)]
        killer.join()
    assert rows == [5] * 8
    assert held(warehouse) == before + 40


def test_the_client_needs_no_engine():
    text = (
        "import sys, accelerator.client\n"
        "bad = {'duckdb', 'pyspark', 'pyiceberg', 'pandas', 'sqlglot', 'pydantic'}\n"
        "sys.exit(sorted(bad & set(sys.modules)) or 0)\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True)


def test_nobody_at_the_address_is_told(monkeypatch):
    monkeypatch.setattr("accelerator.client.http._WAIT_S", 0.0)
    with pytest.raises(UnreachableError):
        client.connect("http://127.0.0.1:1").catalogs()


def test_requests_are_counted(gateway, boss):
    value = gateway.gateway.monitoring.registry.get_sample_value
    labels = {"operation": "get_table", "status": "200"}
    before = value("accelerator_gateway_api_requests_total", labels) or 0
    boss.table("lake.shop.sales").info()
    assert value("accelerator_gateway_api_requests_total", labels) == before + 1


# Queries


def test_rows_of_a_query_are_arrows(boss):
    sql = "SELECT city, k, amount, at, id + 1 FROM sales WHERE id >= 500 ORDER BY id"
    found = boss.query(sql, catalog="lake", schema="shop")
    assert found.column_names == ["city", "k", "amount", "at", "_col4"]
    (real,) = sales().slice(500, 1).to_pylist()
    assert found.slice(0, 1).to_pylist() == [
        {name: real[name] for name in ("city", "k", "amount", "at")} | {"_col4": 501}
    ]
    none = boss.query("SELECT id FROM lake.shop.sales WHERE id < 0")
    assert (none.num_rows, none.schema.types) == (0, [pa.int64()])
    assert boss.query(sql, catalog="lake", schema="shop") == found  # kept


def test_long_answers_come_whole(boss, warehouse):
    found = boss.query("SELECT a.id, b.city FROM lake.shop.sales a, lake.shop.sales b")
    assert found.num_rows == held(warehouse, "shop.sales") ** 2


def test_queries_that_are_wrong_are_problems(gateway, boss):
    assert refused(boss.query, "SELEC 1") == (400, "statement_invalid")
    assert refused(boss.query, "SELECT nothing FROM lake.shop.sales") == (400, "column_unknown")
    assert refused(boss.query, "SET SESSION accelerate = false") == (400, "dialect_untranslated")
    assert refused(boss.query, "SET ROLE ALL") == (400, "dialect_untranslated")
    with of(gateway, "ann") as ann:
        assert refused(ann.query, "SELECT * FROM lake.shop.secret") == (403, "access_denied")
        assert ann.query("SELECT count(*) AS n FROM lake.shop.sales").num_rows == 1
    assert ask(gateway, "POST", "/api/v1/query", b"{}", user=None)[0] == 401


def test_a_client_that_goes_away_ends_its_query(gateway):
    body = json.dumps({"sql": LONG})
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(gateway.url).netloc, timeout=60)
    told = {"Authorization": f"Basic {b64encode(b'boss:boss-pw').decode()}"}
    connection.request("POST", "/api/v1/query", body, told | {"Content-Type": "application/json"})
    statements, until = gateway.gateway.statements, time.monotonic() + 30
    while not any(one.sql == LONG for one in list(statements.values())):
        assert time.monotonic() < until
        time.sleep(0.01)
    connection.sock.shutdown(2)
    connection.close()
    while any(one.sql == LONG for one in list(statements.values())):
        assert time.monotonic() < until
        time.sleep(0.01)


# The document against the gateway


@pytest.fixture(scope="module")
def described(gateway):
    schemathesis = pytest.importorskip("schemathesis")

    @schemathesis.serializer(ARROW)
    def as_it_is(_context, value):
        return value if isinstance(value, bytes) else str(value).encode()

    raw = deepcopy(document())
    # Names that are there, beside all others.
    for path in raw["paths"].values():
        for operation in path.values():
            for one in operation["parameters"]:
                known = {"catalog": "lake", "schema": "shop", "table": "sales"}.get(one["name"])
                if one["in"] == "path" and known is not None:
                    one["schema"] = {"anyOf": [{"const": known}, one["schema"]]}
    schema = schemathesis.openapi.from_dict(raw)
    schema.config.update(base_url=gateway.url)
    return schema


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [one["operationId"] for path in document()["paths"].values() for one in path.values()]
)
def test_the_gateway_does_what_its_document_says(described, name):
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

    operation = described.find_operation_by_id(name)
    auth = {"Authorization": f"Basic {b64encode(b'boss:boss-pw').decode()}"}

    @settings(
        max_examples=15,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )
    @given(case=operation.as_strategy())
    def conforms(case):
        response = case.call(headers=auth)
        # Wrong passwords are tried again and again by the first, which makes it wait.
        left_out = [ignored_auth]
        if name in ("append_rows", "query") or "cursor" in (
            case.query or {}
        ):  # not any of that form will do
            left_out.append(positive_data_acceptance)
        case.validate_response(response, headers=auth, excluded_checks=left_out)
        assert response.status_code < 500
        # 400: the name in the generated header is no text.
        assert case.call().status_code in (400, 401, 429)

    conforms()
