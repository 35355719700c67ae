"""Requests of other sites, sent to running gateways: no route serves them, with or without a login.

The routes are those of the gateway's own table, so that a new one is checked as well.
"""

from __future__ import annotations

import base64
import http.client
import json
import re
import urllib.parse
from contextlib import contextmanager

import pytest
from argon2 import PasswordHasher

import accelerator
from accelerator.common.config.config import Config
from accelerator.gateway import serving
from accelerator.gateway.gateway import Gateway
from accelerator.gateway.http.trino_server import Server
from accelerator.gateway.monitoring.history import HistoryFilter
from accelerator.gateway.settings import GatewaySettings
from tests.gateway.support import ROWS, made_warehouse

pytestmark = pytest.mark.served

CUBE = "CREATE CUBE {name} AS SELECT city, count(*) AS n FROM lake.shop.sales GROUP BY city"
EVIL = "http://evil.example"
NAVIGATE = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
REFUSED = [
    ({"Host": "evil.example:{port}"}, 421, "host_unknown"),
    ({"Host": "evil.example:{port}", "Origin": "http://evil.example:{port}"}, 421, "host_unknown"),
    ({"Host": "evil.example", "X-Forwarded-Host": "localhost"}, 421, "host_unknown"),
    ({"Origin": EVIL}, 403, "origin_foreign"),
    ({"Origin": EVIL, "Sec-Fetch-Site": "same-origin"}, 403, "origin_foreign"),
    ({"Origin": "null"}, 403, "origin_foreign"),
    ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403, "origin_foreign"),
    ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, 403, "origin_foreign"),
]
VALUES = {"catalog": "lake", "schema": "shop", "table": "sales", "name": "page.js"}


def _routes():
    """The gateway's table of routes, as method and path."""
    server = Server(Gateway(Config.load(None), GatewaySettings()))
    for route in server.app.router.routes():
        path = route.resource.canonical
        assert route.method != "*", "a route for each method can't be checked"
        yield route.method, re.sub(r"\{(\w+)\}", lambda one: VALUES.get(one[1], "x"), path)


ROUTES = sorted(_routes())


@contextmanager
def running(warehouse, **settings):
    config = Config.load(None, warehouse=str(warehouse))
    with serving.start(config, workers=1, maintenance=False, **settings) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    folder = made_warehouse(tmp_path_factory.mktemp("sites") / "warehouse")
    with accelerator.open(str(folder)) as session:
        for name in ("by_city", "by_town"):
            session.query(CUBE.format(name=name))
    return folder


@pytest.fixture(scope="module")
def gateway(warehouse):
    with running(warehouse, trusted_proxies=("127.0.0.1",), hosts=("gw.example.com",)) as found:
        yield found


@pytest.fixture(scope="module")
def guarded(warehouse, tmp_path_factory):
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    users = tmp_path_factory.mktemp("users") / "users.toml"
    users.write_text(f'[users.ann]\npassword = "{cheap.hash("secret")}"\n')
    users.chmod(0o600)
    with running(warehouse, users=str(users)) as found:
        yield found


def ask(gateway, method, path, body=None, headers=(), *, login=False, version=None):
    """Status, headers and body of the answer to these headers and no others."""
    url = urllib.parse.urlsplit(gateway.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    if version is not None:
        connection._http_vsn, connection._http_vsn_str = version
    given = {"Host": url.netloc, **dict(headers)}
    if login:
        given["Authorization"] = "Basic " + base64.b64encode(b"ann:secret").decode()
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in given.items():
            if value is not None:
                connection.putheader(name, value.format(port=url.port))
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def answer(gateway, sql, headers=(), *, login=False):
    """The rows, or the error's name, of a statement that a driver sends."""
    own = {"X-Trino-User": "ann", "User-Agent": "trino-cli", "Content-Type": "text/plain"}
    found = ask(gateway, "POST", "/v1/statement", sql.encode(), own | dict(headers), login=login)
    rows = []
    while True:
        assert found[0] == 200, found
        document = json.loads(found[2])
        if "error" in document:
            return document["error"]["errorName"]
        rows += document.get("data", [])
        if "nextUri" not in document:
            return rows
        path = urllib.parse.urlsplit(document["nextUri"]).path
        found = ask(gateway, "GET", path, headers=headers, login=login)


def cubes(gateway, **more):
    return {row[0] for row in answer(gateway, "SHOW CUBES", **more)}


# Each route


def test_the_table_of_routes_is_whole():
    paths = {path for _, path in ROUTES}
    assert {"/v1/statement", "/v1/query/x", "/v1/info", "/metrics", "/ui/", "/"} <= paths
    assert "/api/v1/catalogs/lake/schemas/shop/tables/sales/rows" in paths and len(ROUTES) > 30


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_no_route_serves_another_site(gateway, method, path):
    for headers, status, code in REFUSED:
        body = b"DROP CUBE by_city" if method == "POST" else None
        found, given, text = ask(gateway, method, path, body, headers)
        assert found == status, (headers, text)
        assert given["Cache-Control"] == "no-store"
        assert not [name for name in given if name.startswith("Access-Control-")]
        if method == "HEAD":
            continue
        if path.startswith("/api/"):
            problem = json.loads(text)
            assert (problem["status"], problem["code"]) == (status, code)
            assert problem["detail"] and problem["hint"]
        else:
            assert given["Content-Type"].startswith("text/plain")
            assert b"\n" not in text and b"; " in text, text
    if method != "GET" or path.startswith("/v1/"):
        link = {"Sec-Fetch-Site": "cross-site", **NAVIGATE}
        assert ask(gateway, method, path, headers=link)[0] == 403


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_each_route_serves_programs_and_the_own_page(gateway, method, path):
    own = {"X-Trino-User": "ann"}
    port = urllib.parse.urlsplit(gateway.url).port
    body = b"SELECT 1" if method == "POST" else None
    for headers in (
        {},
        {"Host": f"localhost:{port}", "Sec-Fetch-Site": "none", **NAVIGATE},
        {"Origin": gateway.url, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"},
        {"Host": "gw.example.com", "Origin": "https://gw.example.com"},
    ):
        status, given, text = ask(gateway, method, path, body, own | headers)
        assert status not in (403, 421) and status < 500, text
        assert given["Cache-Control"] == "no-store"


def test_paths_without_a_route_and_preflights_are_checked_too(gateway):
    for path in ("/v2/nothing", "/api/v1/nothing", "/ui/nothing/x"):
        assert ask(gateway, "GET", path)[0] == 404
        assert ask(gateway, "GET", path, headers={"Host": "evil.example"})[0] == 421
    preflight = {"Origin": EVIL, "Access-Control-Request-Method": "POST"}
    for path in ("/v1/statement", "/api/v1/runs", "/ui/"):
        status, headers, _ = ask(gateway, "OPTIONS", path, headers=preflight)
        assert status == 403
        assert not [name for name in headers if name.startswith("Access-Control-")]


def test_a_login_is_not_looked_at_for_another_site(guarded):
    """Another site can't guess passwords through a visitor's browser."""
    guess = {"Authorization": "Basic " + base64.b64encode(b"ann:guess").decode(), "Origin": EVIL}
    for _ in range(30):
        assert ask(guarded, "POST", "/v1/statement", b"SELECT 1", guess)[0] == 403
    assert answer(guarded, "SELECT 1", login=True) == [[1]]
    count = guarded.gateway.monitoring.text("")[0].decode()
    assert 'requests_refused_total{reason="origin"} ' in count
    assert 'logins_total{outcome="failed"} 0.0' in count


def test_old_clients_and_probes_ask_without_a_host(gateway):
    old = (10, "HTTP/1.0")
    for path in ("/v1/status", "/v1/info"):
        assert ask(gateway, "GET", path, headers={"Host": None}, version=old)[0] == 200
        assert ask(gateway, "GET", path, headers={"Host": None})[0] == 400
        assert ask(gateway, "GET", path, headers={"Host": "evil.example"}, version=old)[0] == 421


# What other sites did


def test_a_page_of_another_site_drops_nothing_by_the_visitors_login(guarded):
    """A form's or a script's POST of plain text needs no preflight, and carries the login."""
    sent = {"Content-Type": "text/plain;charset=UTF-8", "X-Trino-User": None}
    sites = (
        {"Origin": EVIL, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        {"Origin": EVIL},  # a browser without Sec-Fetch, or an address without TLS
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},  # a page in a sandbox
        {"Sec-Fetch-Site": "cross-site", **NAVIGATE},  # a form
        {"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site"},
    )
    for site in sites:
        for sql in (b"DROP CUBE by_city", b"OPTIMIZE lake.shop.sales", b"SELECT 1"):
            status, *_ = ask(guarded, "POST", "/v1/statement", sql, sent | site, login=True)
            assert status == 403, site
        assert ask(guarded, "POST", "/api/v1/runs", b"{}", sent | site, login=True)[0] == 403
    assert {"by_city", "by_town"} <= cubes(guarded, login=True)
    assert answer(guarded, "DROP CUBE by_town", login=True) != "PERMISSION_DENIED"
    assert "by_town" not in cubes(guarded, login=True)


def test_a_page_of_another_site_ends_no_statement(guarded):
    own = {"X-Trino-User": "ann"}
    tables = ", ".join(f"lake.shop.sales {one}" for one in "abcd")
    sql = f"SELECT count(*) FROM {tables} WHERE a.id > b.id"
    _, _, body = ask(guarded, "POST", "/v1/statement", sql.encode(), own, login=True)
    id = json.loads(body)["id"]
    path = urllib.parse.urlsplit(json.loads(body)["nextUri"]).path
    for target in (path, f"/v1/query/{id}"):
        found = ask(guarded, "DELETE", target, headers={"Origin": EVIL}, login=True)
        assert found[0] == 403
    assert id in guarded.gateway.statements
    assert ask(guarded, "DELETE", path, login=True)[0] == 204


def test_a_rebound_name_reads_no_rows_of_a_gateway_without_users(gateway):
    """The page's own name leads to the gateway, so that the browser calls it same-origin."""
    rebound = {"Host": "evil.example:{port}", "Origin": "http://evil.example:{port}"}
    rebound |= {"Sec-Fetch-Site": "same-origin", "X-Trino-User": "ann"}
    tricks = (
        {},
        {"Origin": None},  # a GET of the own site has none
        {"Host": "evil.example."},
        {"X-Forwarded-Host": "localhost:8080", "X-Forwarded-For": "127.0.0.1"},
        {"Host": "localhost.evil.example"},
    )
    for trick in tricks:
        sent = rebound | trick
        status, _, body = ask(
            gateway, "POST", "/v1/statement", b"SELECT * FROM lake.shop.sales", sent
        )
        assert status == 421 and b"data" not in body
        for path in ("/ui/api/statements", "/api/v1/catalogs", "/metrics", "/v1/info"):
            assert ask(gateway, "GET", path, headers=sent)[0] == 421
    assert answer(gateway, "SELECT count(*) FROM lake.shop.sales") == [[ROWS]]


# Behind a proxy


def test_next_uri_has_the_address_that_the_client_called(gateway, guarded):
    def address(of, **headers):
        own = {"X-Trino-User": "ann", **{name.replace("_", "-"): v for name, v in headers.items()}}
        status, _, body = ask(of, "POST", "/v1/statement", b"SELECT 1", own, login=True)
        assert status == 200, body
        document = json.loads(body)
        next, info = (urllib.parse.urlsplit(document[key]) for key in ("nextUri", "infoUri"))
        assert next[:2] == info[:2]
        return f"{next.scheme}://{next.netloc}"

    https = {"X_Forwarded_Proto": "https"}
    assert address(gateway) == gateway.url
    assert address(gateway, **https) == gateway.url.replace("http:", "https:")
    assert address(gateway, X_Forwarded_Host="gw.example.com", **https) == "https://gw.example.com"
    assert address(gateway, Host="gw.example.com:8443") == "http://gw.example.com:8443"
    # Nobody said that this machine is a proxy of the other gateway.
    assert address(guarded, X_Forwarded_Host="gw.example.com", **https) == guarded.url


def test_a_statement_is_read_to_its_end_behind_a_proxy(gateway):
    proxy = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "gw.example.com"}
    proxy |= {"X-Forwarded-For": "203.0.113.5", "User-Agent": "Go-http-client/1.1"}
    rows = answer(gateway, "SELECT id FROM lake.shop.sales", proxy)
    assert len(rows) == ROWS
    # A statement of the test before may end, and be recorded, behind this one.
    records = gateway.gateway.history.newest()(HistoryFilter())
    assert "203.0.113.5" in {record.address for record in records}
