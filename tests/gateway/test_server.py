"""The gateway over HTTP, as a client that means no good speaks it: raw requests, one warehouse."""

from __future__ import annotations

import base64
import gzip
import json
import socket
import ssl
import subprocess
import threading
import time
import urllib.parse

import pyarrow as pa
import pytest

from accelerator.common.config.config import Config
from accelerator.gateway import serving
from accelerator.gateway.access.login.passwords import hash_password
from accelerator.gateway.access.login.users import User
from accelerator.gateway.settings import GatewaySettings
from accelerator.gateway.statements.statement import Statement
from accelerator.gateway.trino.requests.nodes import ClientSession
from tests.gateway.raw_client import Client
from tests.gateway.support import ROWS, catalog_of, made_warehouse, sales

pytestmark = pytest.mark.served

LONG = "SELECT count(*) FROM sales a, sales b, sales c, sales d WHERE a.id > b.id"
"""It takes hours."""


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    return made_warehouse(tmp_path_factory.mktemp("server") / "warehouse")


@pytest.fixture(scope="module")
def gateway(warehouse):
    with serving.start(Config.load(None, warehouse=str(warehouse)), workers=1) as running:
        yield running


@pytest.fixture(scope="module")
def client(gateway):
    return Client(gateway.url)


def test_a_small_answer_is_the_first_response(warehouse):
    config = Config.load(None, warehouse=str(warehouse))
    with serving.start(config, workers=1, first_answer_s=60) as running:
        found, _ = Client(running.url).post("SELECT count(*) AS n, min(city) FROM sales")
    assert found["data"] == [[ROWS, "Köln"]]
    assert [one["name"] for one in found["columns"]] == ["n", "_col1"]
    assert "nextUri" not in found
    assert found["stats"]["state"] == "FINISHED"


def test_a_large_answer_comes_in_pages_and_each_may_be_asked_again(warehouse):
    with serving.start(
        Config.load(None, warehouse=str(warehouse)), workers=1, page_bytes=8192
    ) as running:
        client = Client(running.url)
        found, _ = client.post("SELECT id, city, k, amount FROM sales")
        rows = found.get("data", [])
        pages = 0
        while "nextUri" in found:
            path = client.path(found["nextUri"])
            first, again = client.request("GET", path), client.request("GET", path)
            assert first[0] == again[0] == 200
            found = json.loads(first[2])
            if "data" not in found and client.path(found.get("nextUri", "")) == path:
                continue  # the page wasn't there within the poll
            assert found.get("data") == json.loads(again[2]).get("data")
            rows += found.get("data", [])
            pages += 1
            before = path
        assert pages > 2
        assert sorted(rows) == [
            [i, sales()["city"][i].as_py(), i % 10, f"{i}.50"] for i in range(ROWS)
        ]
        number = before.rpartition("/")[2]
        assert client.request("GET", before.removesuffix(number) + "1")[0] == 410


def test_what_a_client_keeps_is_told_by_headers(client):
    cases = [
        ("USE lake.shop", "X-Trino-Set-Schema", "shop"),
        ("SET SESSION query_max_run_time = '5m'", "X-Trino-Set-Session", "query_max_run_time=5m"),
        ("PREPARE p FROM SELECT 1 + ?", "X-Trino-Added-Prepare", "p=SELECT+1+%2B+%3F"),
        ("START TRANSACTION", "X-Trino-Started-Transaction-Id", None),
    ]
    for sql, name, value in cases:
        *_, (_, headers) = client.documents(sql)
        assert headers[name] == value or (value is None and headers[name]), sql
    assert client.error("USE lake.nowhere")["errorName"] == "SCHEMA_NOT_FOUND"
    assert client.error("SET SESSION nothing = 1")["errorName"] == "INVALID_SESSION_PROPERTY"
    prepared = {"X-Trino-Prepared-Statement": "p=SELECT+id+FROM+sales+WHERE+id+%3D+%3F"}
    assert client.rows("EXECUTE p USING 7", **prepared) == [[7]]
    # What ran stands in lists and the log, so that its shape is that of the query.
    asked = "SELECT query FROM system.runtime.queries WHERE query LIKE '%WHERE id = 7'"
    assert client.rows(asked) == [["SELECT id FROM sales WHERE id = 7"]]


def test_a_commit_is_seen_at_once_and_what_was_kept_is_gone(warehouse):
    with serving.start(Config.load(None, warehouse=str(warehouse)), workers=2) as running:
        client = Client(running.url)
        cache = running.gateway.answering.cache
        table = catalog_of(warehouse).create_table("shop.moving", sales(1).schema)
        text = "SELECT count(*) FROM moving"
        for commits in range(1, 4):
            table.append(sales(10))
            for _ in range(3):
                assert client.rows(text) == [[10 * commits]]
        assert (cache.hits, cache.stale) == (6, 2)
        assert client.rows("/* other id */ SELECT  count(*)\nFROM moving") == [[30]]
        assert cache.hits == 7, "comments and blanks don't count"
        assert client.rows("SELECT count(*) FROM moving", X_none=None) == [[30]]
        client.rows(text, **{"X-Trino-Session": "result_cache=false"})
        assert client.rows("SELECT count(*) FROM moving WHERE at < now()") == [[30]]
        assert len(cache) == 1


def test_a_kept_answer_is_given_to_clients_that_look_behind_the_first_response(client):
    text = "SELECT min(id), max(id) FROM sales"
    for _ in range(2):
        assert client.rows(text, **{"User-Agent": "Go-http-client/1.1"}) == [[0, ROWS - 1]]


def test_equal_statements_at_once_are_run_once(warehouse):
    with serving.start(Config.load(None, warehouse=str(warehouse)), workers=1) as running:
        client = Client(running.url)
        text = "SELECT city, count(*), sum(amount) FROM sales GROUP BY city ORDER BY city"
        found = []

        def ask():
            found.append(client.rows(text))

        threads = [threading.Thread(target=ask) for _ in range(12)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        cache = running.gateway.answering.cache
        assert len(found) == 12 and all(one == found[0] for one in found)
        assert cache.hits + cache.misses == 12 and cache.misses <= 2


def test_cancelling_ends_the_statement_and_its_pages(gateway, client):
    found, _ = client.post(LONG)
    path = client.path(found["nextUri"])
    assert client.request("HEAD", path)[0] == 200
    assert client.request("DELETE", path)[0] == 204
    assert client.request("GET", path)[0] == 404
    assert client.request("DELETE", path)[0] == 404
    while any(state.running for state in gateway.gateway.pool.states()):
        time.sleep(0.01)
    assert client.rows("SELECT 1") == [[1]]


def test_explain_tells_which_tables_are_read(client):
    text = "EXPLAIN (TYPE IO, FORMAT JSON) SELECT k, count(*) FROM sales GROUP BY k"
    ((found,),) = client.rows(text)
    plan = json.loads(found)
    (info,) = plan["inputTableColumnInfos"]
    assert info["table"] == {
        "catalog": "lake",
        "schemaTable": {"schema": "shop", "table": "sales"},
    }
    assert info["constraint"] == {"none": False, "columnConstraints": []}
    assert plan["estimate"] == info["estimate"]
    assert float(plan["estimate"]["outputRowCount"]) != 0
    assert client.rows("EXPLAIN (TYPE VALIDATE) SELECT k FROM sales") == [[True]]
    for kind in ("LOGICAL", "DISTRIBUTED"):
        ((found,),) = client.rows(f"EXPLAIN (TYPE {kind}) SELECT k FROM sales")
        assert found
    for kind in ("IO", "VALIDATE"):
        error = client.error(f"EXPLAIN (TYPE {kind}) SELECT 1 FROM nothing")
        assert error["errorName"] == "TABLE_NOT_FOUND"


def test_the_gateway_is_the_one_node(gateway, client):
    assert client.rows("SELECT * FROM system.runtime.nodes") == [
        ["gateway", gateway.url, "476", True, "active", []]
    ]
    assert client.rows("SELECT node_id, splits FROM system.runtime.tasks") == []


def test_a_query_of_metadata_ends_in_time_and_when_nobody_wants_it(gateway, client):
    tables = ", ".join(f"information_schema.columns c{at}" for at in range(8))
    text = f"SELECT count(*) FROM {tables}"
    error = client.error(text, **{"X-Trino-Session": "query_max_run_time=300ms"})
    assert error["errorName"] == "EXCEEDED_TIME_LIMIT"
    found, _ = client.post(text)
    assert client.request("DELETE", client.path(found["nextUri"]))[0] == 204
    while any(state.running for state in gateway.gateway.pool.states()):
        time.sleep(0.01)
    assert client.rows("SELECT count(*) FROM information_schema.schemata") == [[2]]


def test_rates_are_asked_before_a_statement_is_read(warehouse, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(
        '[[rule]]\nallow = ["read"]\nusers = ["*"]\ntables = ["*.*.*"]\n'
        '[[limit]]\nname = "slowly"\nper = "user"\nper_minute = 3\n'
    )
    config = Config.load(None, warehouse=str(warehouse))
    with serving.start(config, workers=1, policy=str(policy)) as running:
        client = Client(running.url)
        assert client.rows("SELECT 1") == client.rows("SELECT 1") == [[1]]
        assert client.error("no statement")["errorName"] == "SYNTAX_ERROR"
        for sql in ("no statement", "SELECT 1", "SET SESSION accelerate = false"):
            assert client.error(sql)["errorName"] == "GENERIC_INSUFFICIENT_RESOURCES"
        assert client.rows("SELECT 1", **{"X-Trino-User": "other"}) == [[1]]


def test_a_statement_is_killed_by_its_id(gateway, client):
    found, _ = client.post(LONG)
    id = found["id"]
    kill = f"CALL system.runtime.kill_query(query_id => '{id}', message => 'too long')"
    assert client.error(kill, **{"X-Trino-User": "other"})["errorName"] == "NOT_FOUND"
    *_, (last, _) = client.documents(kill)
    assert (last["data"], last["updateType"]) == ([[True]], "CALL")
    while "error" not in found:
        found = json.loads(client.request("GET", client.path(found["nextUri"]))[2])
    error = found["error"]
    assert error["errorName"] == "ADMINISTRATIVELY_KILLED"
    assert error["message"] == "Query killed. Message: too long"
    again = client.error(kill)
    assert (again["errorName"], again["message"]) == (
        "NOT_SUPPORTED",
        f"Target query is not running: {id}",
    )
    unknown = client.error("CALL system.runtime.kill_query('x')")
    assert (unknown["errorName"], unknown["message"]) == ("NOT_FOUND", "Target query not found: x")
    wrong = client.error("CALL system.runtime.kill_query(message => 'x')")
    assert wrong["errorName"] == "INVALID_ARGUMENTS"
    while any(state.running for state in gateway.gateway.pool.states()):
        time.sleep(0.01)


def test_a_statement_whose_client_is_gone_ends(warehouse):
    with serving.start(
        Config.load(None, warehouse=str(warehouse)), workers=1, client_timeout_s=0.1
    ) as running:
        client = Client(running.url)
        found, _ = client.post(LONG)
        assert "nextUri" in found
        while running.gateway.statements or any(s.running for s in running.gateway.pool.states()):
            time.sleep(0.05)


def test_a_uri_that_was_made_up_gives_nothing(client):
    found, _ = client.post(LONG)
    path = client.path(found["nextUri"])
    *front, id, slug, token = path.split("/")
    forged = [
        (id, "x" * len(slug), token),
        (id, slug[:-1], token),
        (id, slug.swapcase(), token),
        (id[:-1] + "_", slug, token),
        (id, slug, "99"),
        (id, slug, "-1"),
        (id, slug, "1e9"),
        (id, slug, "1" * 400),
        (id, slug, "%00"),
        ("..", "..", ".."),
    ]
    for one in forged:
        status, _, body = client.request("GET", "/".join([*front, *one]))
        assert status in (404, 410), (one, status, body)
        assert b"Traceback" not in body
    assert client.request("DELETE", path)[0] == 204


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X-Trino-User": None}, 400),
        ({"X-Trino-Session": "a"}, 400),
        ({"X-Trino-Time-Zone": "Nowhere/Here"}, 400),
        ({"Content-Encoding": "gzip"}, 415),
    ],
)
def test_what_is_no_request_is_told(client, headers, status):
    found, _, body = client.request("POST", "/v1/statement", b"SELECT 1", headers)
    assert found == status and body and b"Traceback" not in body


def test_what_is_too_long_or_no_text_is_refused(client, gateway):
    longest = gateway.gateway.settings.statement_bytes_max
    assert client.request("POST", "/v1/statement", b"x" * (longest + 1))[0] == 413
    assert client.request("POST", "/v1/statement", b"SELECT '\xff'")[0] == 400
    status, *_ = client.request("POST", "/v1/statement", b"SELECT 1", {"X-Long": "x" * 300_000})
    assert status == 400
    assert client.request("POST", "/v1/statement", b"SELECT 1", {"X-Long": "x" * 60_000})[0] == 200
    assert client.rows("SELECT 1") == [[1]]


def test_a_bomb_is_not_unpacked(client):
    bomb = gzip.compress(b" " * (64 * 1024 * 1024))
    status, *_ = client.request("POST", "/v1/statement", bomb, {"Content-Encoding": "gzip"})
    assert status == 415
    assert client.request("POST", "/v1/statement", bomb)[0] == 400


def test_headers_cannot_be_split(client):
    evil = "PREPARE p FROM SELECT 'x\r\nX-Evil: 1\r\n\r\n'"
    *_, (_, headers) = client.documents(evil)
    assert "X-Evil" not in headers and "\n" not in headers["X-Trino-Added-Prepare"]
    error = client.error('SELECT * FROM "x\r\nX-Evil: 1"')
    assert error["errorName"]
    _, headers, _ = client.request("POST", "/v1/statement", b"SELECT 1", {"Host": 'a"b<x>'})
    assert "X-Evil" not in headers


def test_a_host_that_is_none_is_not_told_back(client):
    status, headers, body = client.request(
        "POST", "/v1/statement", b"SELECT 1", {"Host": "evil/../<script>"}
    )
    assert status == 421 and b"script" not in body and "script" not in str(headers)


def test_slow_and_broken_clients_keep_nobody_waiting(gateway, client):
    url = urllib.parse.urlsplit(gateway.url)
    held = []
    for _ in range(50):
        one = socket.create_connection((url.hostname, url.port))
        one.sendall(b"POST /v1/statement HTTP/1.1\r\nHost: x\r\nX-Trino-User: a\r\nX")
        held.append(one)
    for broken in (b"\0" * 100, b"GET / HTTP/9.9\r\n\r\n", b"POST /v1/statement HTTP/1.1\r\n" * 3):
        one = socket.create_connection((url.hostname, url.port))
        one.sendall(broken)
        held.append(one)
    assert client.rows("SELECT 1") == [[1]]
    for one in held:
        one.close()
    assert client.rows("SELECT 1") == [[1]]


@pytest.mark.parametrize(
    ("sql", "name", "word"),
    [
        ("CREATE VIEW v AS SELECT 1", "NOT_SUPPORTED", "CREATE VIEW"),
        ("INSERT INTO sales VALUES (1)", "NOT_SUPPORTED", "INSERT"),
        ("SELECT nope FROM sales", "COLUMN_NOT_FOUND", "nope"),
        ("SELECT * FROM nosuch", "TABLE_NOT_FOUND", "nosuch"),
        ("SELECT * FROM other.shop.sales", "CATALOG_NOT_FOUND", "other"),
        ("SELEC 1", "SYNTAX_ERROR", "SELECT"),
        ("SELECT 1; SELECT 2", "SYNTAX_ERROR", "second statement"),
        ("SELECT soundex(city) FROM sales", "NOT_SUPPORTED", "SOUNDEX"),
        ('SELECT * FROM parquet."/etc/passwd"', "TABLE_NOT_FOUND", "/etc/passwd"),
        ("EXECUTE p", "NOT_FOUND", "p"),
    ],
)
def test_refusals_say_what_and_what_to_do(client, sql, name, word):
    error = client.error(sql)
    assert error["errorName"] == name, error
    assert word.lower() in error["message"].lower(), error


def test_places_of_errors_are_those_of_the_text(client):
    error = client.error("SELECT id,\n  nope FROM sales")
    assert error["errorLocation"] == {"lineNumber": 2, "columnNumber": 3}


def test_our_own_statements_pass(client):
    *_, (found, _) = client.documents("SHOW CUBES")
    assert found["columns"][0]["name"] == "cube"
    assert "updateType" not in found, "to JDBC's driver it would have no rows"
    plan = client.rows("EXPLAIN SELECT count(*) FROM sales")[0][0]
    assert "table metadata" in plan


def test_what_runs_and_ran_can_be_asked_for(client):
    text = "SELECT state, query FROM system.runtime.queries WHERE query LIKE '%can be asked%'"
    assert client.rows("SELECT 'this can be asked for'")
    found = client.rows(text)
    assert ["FINISHED", "SELECT 'this can be asked for'"] in found
    assert ["RUNNING", text] in found or ["PLANNING", text] in found


@pytest.fixture(scope="module")
def secured(warehouse, tmp_path_factory):
    folder = tmp_path_factory.mktemp("secured")
    made = catalog_of(warehouse).create_table("shop.secret", sales(3).schema)
    made.append(sales(3))
    users = folder / "users.toml"
    lines = []
    for name in ("ann", "bob"):
        hashed = hash_password(f"{name}'s password")
        lines.append(f'[users.{name}]\npassword = "{hashed}"')
    lines.append('roles = ["admin", "clerk"]\n')
    users.write_text("\n".join(lines))
    users.chmod(0o600)
    policy = folder / "policy.toml"
    policy.write_text(
        '[[rule]]\nallow = ["read"]\nusers = ["ann"]\ntables = ["lake.shop.sales"]\n'
        '[[rule]]\nallow = ["read", "change", "manage"]\nroles = ["admin"]\ntables = ["*.*.*"]\n'
        'cubes = ["*"]\nindexes = ["*"]\n'
        '[[rule]]\nallow = ["read"]\nroles = ["clerk"]\ntables = ["lake.shop.sales"]\n'
        '[[rule]]\nallow = ["manage"]\nusers = ["ann"]\ncubes = ["audited", "nothing"]\n'
        '[[rule]]\nallow = ["impersonate", "kill"]\nroles = ["admin"]\nwhom = ["*"]\n'
        '[[limit]]\nname = "memory"\nmemory_mb = 1000\n'
    )
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    made += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    made += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    subprocess.run(made, check=True, capture_output=True)
    settings = GatewaySettings(
        port=0,
        workers=1,
        users=str(users),
        policy=str(policy),
        audit_log=str(folder / "audit.jsonl"),
        tls_certificate=str(folder / "cert.pem"),
        tls_key=str(folder / "key.pem"),
    )
    with serving.start(Config.load(None, warehouse=str(warehouse)), settings) as running:
        context = ssl.create_default_context(cafile=str(folder / "cert.pem"))
        yield running, context, folder


def known(secured, name, password=None):
    running, context, _ = secured
    return Client(running.url, password=(name, password or f"{name}'s password"), context=context)


def test_without_a_password_nothing_is_told(secured):
    running, context, _ = secured
    stranger = Client(running.url, context=context)
    status, headers, body = stranger.request("POST", "/v1/statement", b"SELECT 1")
    assert status == 401 and headers["WWW-Authenticate"].startswith("Basic")
    for wrong in (
        "Basic",
        "Basic !!!",
        "Bearer " + base64.b64encode(b"ann:ann's password").decode(),
        "Basic " + base64.b64encode(b"ann").decode(),
        "Basic " + base64.b64encode(b"ann:\xff").decode(),
        "Basic " + base64.b64encode(b"ANN:ann's password").decode(),
        "Basic " + base64.b64encode(b":").decode(),
    ):
        status, _, body = stranger.request(
            "POST", "/v1/statement", b"SELECT 1", {"Authorization": wrong}
        )
        assert status == 401, (wrong, status)
        assert b"data" not in body


def test_a_user_reads_what_the_policy_allows_and_sees_no_more(secured):
    ann, bob = known(secured, "ann"), known(secured, "bob")
    assert ann.rows("SELECT count(*) FROM sales") == [[ROWS]]
    assert bob.rows("SELECT count(*) FROM secret") == [[3]]
    hidden, absent = ann.error("SELECT * FROM secret"), ann.error("SELECT * FROM sekret")
    assert hidden["errorName"] == absent["errorName"] == "PERMISSION_DENIED"
    assert hidden["message"].replace("secret", "sekret") == absent["message"]
    assert ["secret"] in bob.rows("SHOW TABLES") and ["secret"] not in ann.rows("SHOW TABLES")
    shown = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'shop'"
    assert ["secret"] not in ann.rows(shown)


def test_what_a_shape_took_is_what_the_next_one_is_thought_to_take(secured):
    ann, gateway = known(secured, "ann"), secured[0].gateway
    client = ClientSession(user="ann", catalog="lake", schema="shop")
    asked = [f"SELECT max(city) FROM sales WHERE id > {n}" for n in (1, 2)]
    first, second = (Statement(sql, client, User("ann"), "ann", 0) for sql in asked)
    unknown = gateway.estimates.of(first)
    ann.rows(asked[0])
    assert 0 < gateway.estimates.of(second) < unknown
    assert gateway.admission.load.memory_bytes == 0


def test_metadata_of_a_table_is_told_to_who_may_read_it(secured):
    ann, bob = known(secured, "ann"), known(secured, "bob")
    for kind in ("snapshots", "partitions", "properties"):
        text = f'SELECT count(*) FROM "secret${kind}"'
        assert bob.rows(text)
        hidden, absent = ann.error(text), ann.error(text.replace("secret", "sekret"))
        assert hidden["errorName"] == absent["errorName"] == "PERMISSION_DENIED"
        assert hidden["message"].replace("secret", "sekret") == absent["message"]
        assert ann.error(f'DESCRIBE "secret${kind}"')["errorName"] == "PERMISSION_DENIED"
        assert ann.rows(f'SELECT count(*) > 0 AS some FROM "sales${kind}"')
    assert bob.rows('SELECT record_count FROM "secret$partitions"') == [[3]]


def test_a_role_that_is_set_narrows_what_its_client_may(secured):
    bob = known(secured, "bob")
    text = "SELECT count(*) FROM secret"
    assert bob.rows(text) == bob.rows(text) == [[3]]
    *_, (last, headers) = bob.documents("SET ROLE clerk")
    assert (last["updateType"], headers["X-Trino-Set-Role"]) == (
        "SET ROLE",
        "system=ROLE%7Bclerk%7D",
    )
    clerk = {"X-Trino-Role": headers["X-Trino-Set-Role"]}
    assert bob.error(text, **clerk)["errorName"] == "PERMISSION_DENIED"
    assert bob.rows("SELECT count(*) FROM sales", **clerk) == [[ROWS]]
    assert ["secret"] not in bob.rows("SHOW TABLES", **clerk)
    assert bob.rows("SHOW CURRENT ROLES", **clerk) == [["clerk"]]
    assert bob.rows("SHOW ROLES", **clerk) == [["admin"], ["clerk"]]
    none = {"X-Trino-Role": "system=NONE"}
    assert bob.error("SELECT count(*) FROM sales", **none)["errorName"] == "CATALOG_NOT_FOUND"
    assert bob.rows(text, **{"X-Trino-Role": "system=ALL,lake=ALL"}) == [[3]]
    for role in ("system=ROLE%7Bking%7D", "lake=ROLE%7Badmin%7D"):
        given = {"X-Trino-Role": role}
        assert bob.error("SELECT 1", **given)["errorName"] == "ROLE_NOT_FOUND"
        *_, (_, headers) = bob.documents("SET ROLE ALL", **given)
        assert headers["X-Trino-Set-Role"] == "system=ALL"
    for sql in ("SET ROLE king", "SET ROLE admin IN lake"):
        assert bob.error(sql)["errorName"] == "ROLE_NOT_FOUND"
    assert known(secured, "ann").error("SET ROLE clerk")["errorName"] == "ROLE_NOT_FOUND"


def test_what_one_user_was_answered_is_not_given_to_another(secured):
    ann, bob = known(secured, "ann"), known(secured, "bob")
    text = "SELECT sum(id) FROM secret"
    assert bob.rows(text) == bob.rows(text) == [[3]]
    assert ann.error(text)["errorName"] == "PERMISSION_DENIED"


def test_a_page_is_given_to_who_asked_alone(secured):
    ann, bob = known(secured, "ann"), known(secured, "bob")
    found, _ = ann.post(LONG)
    path = ann.path(found["nextUri"])
    assert bob.request("GET", path)[0] == 404
    assert bob.request("DELETE", path)[0] == 404
    assert ann.request("GET", path, headers={"Authorization": None})[0] == 401
    assert ann.request("DELETE", path)[0] == 204


def test_statements_of_others_are_ended_by_who_may(secured):
    running, *_ = secured
    ann, bob = known(secured, "ann"), known(secured, "bob")
    statements = running.gateway.statements
    ids = [who.post(LONG)[0]["id"] for who in (ann, ann, bob)]
    for id in (ids[2], "x"):
        error = ann.error(f"CALL system.runtime.kill_query('{id}')")
        assert error["message"] == f"Target query not found: {id}"
    assert ann.request("DELETE", f"/v1/query/{ids[2]}")[0] == 204
    assert ids[2] in statements and not statements[ids[2]].is_over
    kill = f"CALL system.runtime.kill_query('{ids[0]}')"
    clerk = {"X-Trino-Role": "system=ROLE%7Bclerk%7D"}
    assert bob.error(kill, **clerk)["errorName"] == "NOT_FOUND"
    assert bob.rows(kill) == [[True]]
    assert bob.request("DELETE", f"/v1/query/{ids[1]}")[0] == 204
    assert bob.request("DELETE", f"/v1/query/{ids[2]}")[0] == 204
    assert ids[1] not in statements and ids[2] not in statements


def test_asking_as_another_one_needs_a_right(secured):
    ann, bob = known(secured, "ann"), known(secured, "bob")
    status, *_ = ann.request("POST", "/v1/statement", b"SELECT 1", {"X-Trino-User": "bob"})
    assert status == 403
    as_ann = {"X-Trino-User": "ann"}
    assert bob.error("SELECT * FROM secret", **as_ann)["errorName"] == "PERMISSION_DENIED"
    assert bob.rows("SELECT current_user", **as_ann) == [["ann"]]


def test_decisions_are_in_the_audit_log(secured):
    (running, _, folder), ann = secured, known(secured, "ann")
    ann.rows("SELECT count(*) FROM sales")
    ann.error("SELECT 'x\n\"}{' FROM secret")
    running.gateway.audit.flush()
    lines = [json.loads(one) for one in (folder / "audit.jsonl").read_text().splitlines()]
    denied = (one for one in lines if not one["allowed"])
    assert any(one["user"] == "ann" and "secret" in one["object"] for one in denied)
    assert any(one["allowed"] and one["object"] == "table lake.shop.sales" for one in lines)


READ = ("read", "table lake.shop.sales", True)
AUDITED = {
    "SELECT count(*) FROM sales WHERE amount > 3": [READ],
    "EXPLAIN SELECT count(*) FROM sales": [READ],
    "SHOW STATS FOR sales": [READ],
    'SELECT * FROM "sales$partitions"': [READ],
    "DESCRIBE sales": [("describe", "table lake.shop.sales", True)],
    "DESCRIBE secret": [("describe", "table lake.shop.secret", False)],
    "EXPLAIN SELECT * FROM secret": [("read", "table lake.shop.secret", False)],
    "CREATE CUBE audited AS SELECT k, count(*) AS n FROM sales GROUP BY k": [
        ("manage", "cube audited", True),
        READ,
        ("CREATE CUBE", "", True),
    ],
    "DROP CUBE audited": [("manage", "cube audited", True), READ, ("DROP CUBE", "", True)],
    "DROP CUBE nothing": [("manage", "cube nothing", False)],
    "SELECT 1 +": [("statement", "statement_invalid", True)],
    "SHOW SCHEMAS": [("statement", "", True)],
}


@pytest.mark.parametrize("sql", AUDITED)
def test_each_kind_of_statement_is_audited_by_its_needs(secured, sql):
    running, _, folder = secured
    begun = (folder / "audit.jsonl").stat().st_size
    list(known(secured, "bob").documents(sql, **{"X-Trino-User": "ann"}))
    running.gateway.audit.flush()
    with (folder / "audit.jsonl").open() as file:
        file.seek(begun)
        lines = [one for line in file if (one := json.loads(line))["action"] != "impersonate"]
    needs = [(one["action"], one["object"], one["allowed"]) for one in lines]
    assert sorted(needs) == sorted(AUDITED[sql])
    [(user, login, _)] = {(one["user"], one["login"], one["statement"]) for one in lines}
    assert (user, login) == ("ann", "bob")


def test_a_policy_that_breaks_leaves_the_one_before(secured):
    running, _, folder = secured
    ann = known(secured, "ann")
    file = folder / "policy.toml"
    good = file.read_text()
    try:
        file.write_text('[[rule]]\nallow = ["everything"]\n')
        running.gateway._reload()
        assert ann.error("SELECT * FROM secret")["errorName"] == "PERMISSION_DENIED"
        assert ann.rows("SELECT count(*) FROM sales") == [[ROWS]]
        file.write_text(good.replace('users = ["ann"]', 'users = ["nobody"]'))
        running.gateway._reload()
        assert ann.error("SELECT count(*) FROM sales")["errorName"] == "CATALOG_NOT_FOUND"
    finally:
        file.write_text(good)
        running.gateway._reload()
    assert ann.rows("SELECT count(*) FROM sales") == [[ROWS]]


def test_types_have_the_forms_of_the_protocol(warehouse):
    table = pa.table({"t": pa.array([0], pa.timestamp("us"))})
    made = catalog_of(warehouse).create_table("shop.times", table.schema)
    made.append(table)
    with serving.start(Config.load(None, warehouse=str(warehouse)), workers=1) as running:
        new = Client(running.url, Client_Capabilities="PARAMETRIC_DATETIME")
        old = Client(running.url)
        for client, type_, text in (
            (new, "timestamp(6)", "1970-01-01 00:00:00.000000"),
            (old, "timestamp", "1970-01-01 00:00:00.000"),
        ):
            documents = [one for one, _ in client.documents("SELECT t FROM times")]
            assert {one["columns"][0]["type"] for one in documents if "columns" in one} == {type_}
            assert [row for one in documents for row in one.get("data", ())] == [[text]]
