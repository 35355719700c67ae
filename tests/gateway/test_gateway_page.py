"""The gateway's page and its JSON: what is shown, to whom, and what a browser is told to refuse."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import trino
from argon2 import PasswordHasher

import accelerator
from accelerator.common.config.config import Config
from accelerator.gateway import serving
from accelerator.gateway.http.web import _TYPES, HEADERS
from tests.gateway.support import made_warehouse

pytestmark = pytest.mark.served

PAGE = Path(accelerator.__file__).parent / "gateway" / "http" / "page"
CUBE = """CREATE CUBE by_city AS
SELECT city, sum(amount) AS amount, count(*) AS n FROM lake.shop.sales GROUP BY city"""
BY_CUBE = "SELECT city, sum(amount) FROM sales GROUP BY city"


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    folder = made_warehouse(tmp_path_factory.mktemp("page") / "warehouse")
    with accelerator.open(str(folder)) as session:
        session.query(CUBE)
    return folder


@contextmanager
def running(warehouse, **settings):
    config = Config.load(None, warehouse=str(warehouse))
    with serving.start(config, workers=1, maintenance=False, **settings) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def gateway(warehouse):
    with running(warehouse) as found:
        yield found


def ask(gateway, path, *, user=None, **headers):
    """Status, headers and body."""
    request = urllib.request.Request(gateway.url + path, headers=headers)
    if user is not None:
        told = base64.b64encode(f"{user}:{user}-password".encode()).decode()
        request.add_header("Authorization", f"Basic {told}")
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def told(gateway, path, **more):
    status, _, body = ask(gateway, path, **more)
    assert status == 200, body
    return json.loads(body)


def client(gateway, user="me", **more):
    host, port = gateway.url.removeprefix("http://").split(":")
    return trino.dbapi.connect(
        host=host, port=int(port), user=user, catalog="lake", schema="shop", **more
    )


def run(gateway, sql, user="me", **more):
    """The rows, and the statement's id."""
    with client(gateway, user, **more) as connection:
        cursor = connection.cursor()
        cursor.execute(sql)
        return cursor.fetchall(), cursor.query_id


def posted(gateway, sql, user):
    """The statement's id; what it gives isn't read."""
    return _document(gateway, gateway.url + "/v1/statement", user, sql)["id"]


def rows_of(gateway, sql, user):
    """The rows that it gives to who has logged in; Trino's own client logs in by TLS alone."""
    rows, error = _read(gateway, sql, user)
    assert error is None, error
    return rows


def error_of(gateway, sql, user):
    """The error that it ends with."""
    return _read(gateway, sql, user)[1]


def _read(gateway, sql, user):
    found, rows = _document(gateway, gateway.url + "/v1/statement", user, sql), []
    while True:
        rows += found.get("data", [])
        if "nextUri" not in found:
            return rows, found.get("error")
        path = urllib.parse.urlsplit(found["nextUri"]).path
        found = _document(gateway, gateway.url + path, user)


def _document(gateway, url, user, sql=None):
    login = base64.b64encode(f"{user}:{user}-password".encode()).decode()
    headers = {
        "Authorization": f"Basic {login}",
        "X-Trino-User": user,
        "X-Trino-Client-Capabilities": "PARAMETRIC_DATETIME",
    }
    request = urllib.request.Request(url, None if sql is None else sql.encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.loads(response.read())


# What is shown


def test_a_statement_with_its_plan(gateway):
    rows, id = run(gateway, BY_CUBE, source="it", client_tags=["a", "b"])
    assert len(rows) == 4
    found = told(gateway, f"/ui/api/statements/{id}")
    assert (found["state"], found["user"], found["source"]) == ("FINISHED", "me", "it")
    assert (found["engine"], found["cubes"], found["tables"]) == (
        "duckdb",
        ["by_city"],
        ["lake.shop.sales"],
    )
    assert found["sql"] == BY_CUBE and found["rows"] == 4 and found["worker"] > 1
    shown = found["explanation"]
    assert "cube by_city" in shown["text"]
    assert shown["tables"][0]["sources"] == {"segment": 2}
    assert {"metadata_lacks"} <= {one["code"] for one in shown["reasons"]}
    listed = told(gateway, "/ui/api/statements")["statements"]
    assert listed[0]["id"] == id and "explanation" not in listed[0]


def test_a_funnel_of_files(gateway):
    _, id = run(gateway, "SELECT id, city FROM sales WHERE id = 7")
    (table,) = told(gateway, f"/ui/api/statements/{id}")["explanation"]["tables"]
    assert table["table"] == "lake.shop.sales"
    assert table["funnel"][:2] == [["data files", 1.0, "2"], ["left by bounds", 0.5, "1 of 2"]]


def test_an_answer_out_of_the_cache_names_its_first_one(gateway):
    sql = "SELECT city, count(*) FROM sales GROUP BY city ORDER BY 1"
    _, first = run(gateway, sql)
    _, again = run(gateway, f"{sql} /* again */")
    found = told(gateway, f"/ui/api/statements/{again}")
    assert found["cached"] and found["made_by"] == first
    assert "by_city" in found["explanation"]["text"]
    assert again in {
        one["id"] for one in told(gateway, "/ui/api/statements?state=cached")["statements"]
    }


def test_one_that_runs(gateway):
    with client(gateway) as connection:
        cursor = connection.cursor()
        # Its rows are more than the pages that are made ahead.
        cursor.execute(
            "SELECT a.id, a.city, a.at, b.at AS t, b.amount FROM sales a JOIN sales b ON a.k = b.k"
        )
        found = told(gateway, f"/ui/api/statements/{cursor.query_id}")
        assert found["state"] == "RUNNING" and found["rows"] > 0
        assert found["explanation"]["tables"]
        assert (
            told(gateway, "/ui/api/statements?state=running")["statements"][0]["state"] == "RUNNING"
        )
        assert told(gateway, "/ui/api/figures")["running"] == 1
        cursor.cancel()
    assert told(gateway, "/ui/api/statements?state=cancelled")["statements"]


def test_what_failed(gateway):
    with pytest.raises(trino.exceptions.TrinoUserError):
        run(gateway, "SELECT nope FROM sales")
    one, *_ = told(gateway, "/ui/api/statements?state=failed&text=nope")["statements"]
    assert one["error"] == "COLUMN_NOT_FOUND" and "nope" in one["error_message"]


def test_a_plan_that_nobody_knows_any_more(gateway):
    _, id = run(gateway, "SELECT count(*) FROM sales WHERE k < 3")
    record = gateway.gateway.history.find(id)
    record.worker = 1  # as if that worker had been replaced
    assert told(gateway, f"/ui/api/statements/{id}")["explanation"] is None


def test_figures_and_their_time_line(gateway):
    run(gateway, BY_CUBE)
    found = told(gateway, "/ui/api/figures?span=300")
    assert found["all"] and found["cache"]["misses"] >= 1 and found["workers"][0]["pid"] > 1
    assert found["limits"][0]["concurrent_max"] == 100
    assert {len(column) for column in found["timeline"].values()} == {60}
    assert found["recent"]["statements"] >= 1


def test_nothing_new_is_no_body(gateway):
    changes = told(gateway, "/ui/api/statements")["changes"]
    assert ask(gateway, f"/ui/api/statements?changes={changes}")[0] == 204
    run(gateway, "SELECT 1")
    assert ask(gateway, f"/ui/api/statements?changes={changes}")[0] == 200


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/ui/api/statements?limit=0", 400),
        ("/ui/api/statements?limit=x", 400),
        ("/ui/api/statements?limit=" + "9" * 40, 400),
        ("/ui/api/statements?state=nope", 400),
        ("/ui/api/figures?span=-1", 400),
        ("/ui/api/statements/nope", 404),
        ("/ui/nope.html", 404),
        ("/ui/..%2Fsettings.py", 404),
        ("/ui/NOTICE", 404),
    ],
)
def test_what_isnt_there(gateway, path, status):
    code, headers, _ = ask(gateway, path)
    assert code == status
    assert headers["Content-Security-Policy"] == HEADERS["Content-Security-Policy"]


# What a browser does with it


@pytest.mark.parametrize("path", ["/ui/", *(f"/ui/{name}" for name in _TYPES), "/ui/api/figures"])
def test_no_script_but_ours_runs(gateway, path):
    status, headers, _ = ask(gateway, path)
    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and "http" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in headers


def test_the_page_loads_nothing_from_elsewhere():
    for name in _TYPES:
        text = (PAGE / name).read_text(encoding="utf-8")
        known = {"http://www.w3.org/2000/svg", "https://github.com/leeoniya/uPlot"}
        assert set(re.findall(r"https?://[\w./-]+", text)) <= known, name
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<script(?![^>]*src=)|\son\w+=|\sstyle=|<style", html)
    script = (PAGE / "page.js").read_text(encoding="utf-8")
    unsafe = ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(")
    assert not [one for one in unsafe if one in script]


def test_what_is_of_others_is_as_its_notice_says():
    notice = (PAGE / "NOTICE").read_text(encoding="utf-8")
    for name in ("uPlot.iife.min.js", "uPlot.min.css", "uPlot.LICENSE"):
        digest = hashlib.sha256((PAGE / name).read_bytes()).hexdigest()
        assert re.search(rf"{digest} +{re.escape(name)}", notice)


@pytest.mark.parametrize("path", ["/", "/ui"])
def test_the_way_to_the_page(gateway, path):
    class Stays(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            return None

    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.build_opener(Stays).open(gateway.url + path)
    assert (caught.value.code, caught.value.headers["Location"]) == (302, "/ui/")


@pytest.mark.parametrize("path", ["/ui/", "/ui/api/statements", "/metrics"])
def test_a_site_whose_name_leads_here_gets_nothing(gateway, path):
    port = gateway.url.rpartition(":")[2]
    assert ask(gateway, path, Host=f"evil.example:{port}")[0] == 421
    assert ask(gateway, path, Host=f"localhost:{port}")[0] == 200
    assert (
        ask(gateway, path, **{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"})[0] == 403
    )
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert ask(gateway, path, **link)[0] == 200


# Who sees it


POLICY = """
[[rule]]
allow = ["read"]
users = ["*"]
tables = ["lake.*.*"]
[[rule]]
allow = ["metrics"]
users = ["boss"]
"""


@pytest.fixture(scope="module")
def guarded(warehouse, tmp_path_factory):
    folder = tmp_path_factory.mktemp("guarded")
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    users = [
        f'[users.{one}]\npassword = "{cheap.hash(f"{one}-password")}"\n'
        for one in ("ann", "bob", "boss")
    ]
    (folder / "users.toml").write_text("".join(users))
    (folder / "users.toml").chmod(0o600)
    (folder / "policy.toml").write_text(POLICY)
    with running(
        warehouse, users=str(folder / "users.toml"), policy=str(folder / "policy.toml")
    ) as found:
        yield found


def test_strangers_see_nothing(guarded):
    for path in ("/ui/", "/ui/page.js", "/ui/api/statements", "/ui/api/figures", "/metrics"):
        status, headers, body = ask(guarded, path)
        assert status == 401 and headers["WWW-Authenticate"].startswith("Basic")
        assert b"<" not in body


def test_each_sees_their_own(guarded):
    own, other = posted(guarded, "SELECT 'of ann'", "ann"), posted(guarded, "SELECT 1", "bob")
    seen = {one["id"] for one in told(guarded, "/ui/api/statements", user="ann")["statements"]}
    assert own in seen and other not in seen
    assert ask(guarded, f"/ui/api/statements/{own}", user="ann")[0] == 200
    assert ask(guarded, f"/ui/api/statements/{other}", user="ann")[0] == 404
    assert told(guarded, "/ui/api/statements?user=bob", user="ann")["statements"] == []
    boss = {one["id"] for one in told(guarded, "/ui/api/statements", user="boss")["statements"]}
    assert {own, other} <= boss
    assert ask(guarded, f"/ui/api/statements/{other}", user="boss")[0] == 200


def test_each_reads_their_own_of_the_query_log(guarded):
    """By SHOW QUERIES, by SELECT and by EXPLAIN ANALYZE; who sees metrics reads all of it."""

    asked = partial(rows_of, guarded)
    asked("SELECT 'by ann'", "ann"), asked("SELECT 'by bob'", "bob")
    log = "system.runtime.query_log"
    for user, seen in (("ann", {"ann"}), ("bob", {"bob"}), ("boss", {"ann", "bob"})):
        sql = f"SELECT \"user\", count(*) AS n FROM {log} WHERE sql LIKE 'SELECT _by%' GROUP BY 1"
        assert {name for name, _ in asked(sql, user)} == seen
        texts = [row[-1] for row in asked("SHOW QUERIES LIMIT 1000", user)]
        assert {one for one in ("ann", "bob") if any(f"'by {one}'" in t for t in texts)} == seen
    [[count]] = asked(f"SELECT count(*) FROM {log} WHERE \"user\" <> 'ann'", "ann")
    assert count == 0
    # An answer that changes by itself is never kept.
    one, two = (asked(f"SELECT count(*) FROM {log}", "ann") for _ in range(2))
    assert two[0][0] > one[0][0]
    for user, said in (("ann", True), ("boss", False)):
        explained = str(asked(f"EXPLAIN SELECT sql FROM {log}", user))
        assert "the query log" in explained and ("own statements" in explained) is said
    error = error_of(guarded, f"SELECT count(*) FROM {log} q, lake.shop.sales s", "ann")
    assert "can't be queried beside" in error["message"]
    assert ["cubes", "array(varchar)", "", ""] in [list(r) for r in asked(f"DESCRIBE {log}", "ann")]


def test_figures_of_the_gateway_are_for_who_may(guarded):
    found = told(guarded, "/ui/api/figures", user="ann")
    assert (found["user"], found["all"]) == ("ann", False)
    assert not {"workers", "limits", "timeline", "cache"} & set(found)
    assert told(guarded, "/ui/api/figures", user="boss")["workers"]
    assert ask(guarded, "/metrics", user="ann")[0] == 403
    assert ask(guarded, "/metrics", user="boss")[0] == 200


def test_wrong_logins_are_counted(guarded):
    assert ask(guarded, "/ui/", user="nobody")[0] == 401
    text = ask(guarded, "/metrics", user="boss")[2].decode()
    assert re.search(r'accelerator_gateway_logins_total\{outcome="failed"\} [1-9]', text)


def test_metrics_may_be_open(warehouse, tmp_path):
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    users = tmp_path / "users.toml"
    users.write_text(f'[users.ann]\npassword = "{cheap.hash("x")}"\n')
    users.chmod(0o600)
    with running(warehouse, users=str(users), metrics_open=True) as gateway:
        assert ask(gateway, "/metrics")[0] == 200
        assert ask(gateway, "/ui/api/figures")[0] == 401


# What the log and traces say


def test_a_slow_statement_is_in_the_log_and_explained_at_once(warehouse, caplog, monkeypatch):
    monkeypatch.setattr("accelerator.gateway.gateway._EXPLAINED_MS", 0.0)
    with running(warehouse, slow_s=0.000_001) as gateway:
        sql = "SELECT city /* x\r\nERROR forged */ FROM sales WHERE id = 3"
        _, id = run(gateway, sql, source="it\tself")
        told(gateway, f"/ui/api/statements/{id}")  # behind what its end has begun
        record = gateway.gateway.history.find(id)
        assert record.explanation["tables"]
    (line,) = [one.getMessage() for one in caplog.records if "slow statement" in one.getMessage()]
    shown = json.loads(line.removeprefix("slow statement "))
    assert "\n" not in line and "\r" not in line
    assert (shown["id"], shown["sql"]) == (id, sql.replace("\r", "\\u000d"))


def test_spans_of_a_gateway(warehouse, monkeypatch):
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from accelerator.gateway.monitoring.tracing import Tracing

    exporter, provider = InMemorySpanExporter(), trace.TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(Tracing, "of", classmethod(lambda cls, _endpoint: cls(provider)))
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with running(warehouse) as gateway:
        for _ in range(2):
            run(gateway, BY_CUBE, http_headers={"traceparent": parent})
    made, kept = exporter.get_finished_spans()
    assert made.attributes["accelerator.cubes"] == ("by_city",)
    assert kept.attributes["accelerator.engine"] == "cache"
    assert f"{made.parent.span_id:016x}" == f"{kept.parent.span_id:016x}" == "b7ad6b7169203331"
