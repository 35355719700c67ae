"""Long statements: a process that runs nothing else reads them, and nobody sees a difference."""

from __future__ import annotations

import pytest

from accelerator.common.config.config import Config
from accelerator.gateway import serving
from accelerator.gateway.gateway import _size
from accelerator.gateway.settings import GatewaySettings
from accelerator.gateway.statements.answers import LONG
from accelerator.gateway.trino.requests.nodes import ClientSession
from tests.gateway.ordinary_clients import asked, documents, until
from tests.gateway.support import ROWS, made_warehouse

pytestmark = pytest.mark.served
FILLING = " " * LONG


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    warehouse = made_warehouse(tmp_path_factory.mktemp("long") / "warehouse")
    settings = GatewaySettings(port=0, workers=1, maintenance=False)
    with serving.start(Config.load(None, warehouse=str(warehouse)), settings) as gateway:
        yield gateway


def last(running, sql, **more):
    return list(documents(running, sql, **more))[-1]


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT count(*) FROM sales WHERE id IN ({', '.join(map(str, range(4_000)))})",
        f"SELECT count(*) {FILLING} FROM sales",
        f"/* {FILLING} */ SELECT count(*) FROM sales",
        f"EXECUTE IMMEDIATE 'SELECT count(*) {FILLING} FROM sales WHERE id >= ?' USING 0",
        f"EXPLAIN (TYPE VALIDATE) SELECT count(*) {FILLING} FROM sales",
        f"SHOW {FILLING} SCHEMAS LIKE 'shop'",
    ],
)
def test_a_long_statement_is_answered_as_a_short_one(running, sql):
    short = [ROWS] if "count(*)" in sql else ["shop"]
    workers = {one.pid for one in running.gateway.pool.states()}
    found = list(documents(running, sql))
    rows = [row for one in found for row in one.get("data", ())]
    assert rows == [[True] if "VALIDATE" in sql else short]
    record = running.gateway.history.find(found[0]["id"])
    assert record.worker not in workers
    assert running.gateway.pool.states()[0].pid in workers, "nobody was replaced"


def test_a_long_statement_of_the_session_is_answered(running):
    prepared = f"SELECT count(*) {FILLING} FROM sales"
    found = last(running, f"PREPARE one FROM {prepared}")
    assert found["updateType"] == "PREPARE" and "error" not in found
    assert last(running, f"SET SESSION {FILLING} no_such = 1")["error"]["errorName"] == (
        "INVALID_SESSION_PROPERTY"
    )
    assert (
        "isn't supported"
        in last(running, f"GRANT {FILLING} SELECT ON sales TO a")["error"]["message"]
    )


@pytest.mark.parametrize("filling", ["", " " * 100, FILLING])
def test_a_fault_is_shown_in_its_place(running, filling):
    error = last(running, f"\nSELECT 1;{filling} SELECT 2")["error"]
    assert error["errorName"] == "SYNTAX_ERROR" and "second statement" in error["message"]
    place = {"lineNumber": 2, "columnNumber": 11 + len(filling)}
    assert error["errorLocation"] == place


def test_a_text_beyond_a_bound_is_refused(running):
    error = last(running, "SELECT " + "(" * 50_000)["error"]
    assert error["errorName"] == "QUERY_TEXT_TOO_LARGE" and "40000 tokens" in error["message"]


def test_an_answer_to_a_long_statement_is_kept(running):
    sql = f"SELECT count(*) + 1 {FILLING} FROM sales"
    assert asked(running, sql) == [ROWS + 1]
    hits = running.gateway.answering.cache.hits
    assert asked(running, sql.replace(FILLING, FILLING * 2)) == [ROWS + 1]
    assert asked(running, sql.replace(FILLING, "")) == [ROWS + 1]
    assert running.gateway.answering.cache.hits == hits + 2


def test_a_client_that_leaves_frees_the_reader(running):
    pool = running.gateway.pool
    for _ in range(5):
        next(documents(running, f"SELECT count(*) {'+ 1' * 5_000} FROM sales"))
    for statement in list(running.gateway.statements.values()):
        running._loop.call_soon_threadsafe(running.gateway.forget, statement)
    until(lambda: not pool._long._turns.taken and not pool._long._turns._waiting)
    assert asked(running, f"SELECT count(*) {FILLING} FROM sales") == [ROWS]


@pytest.mark.parametrize("filling", ["", FILLING])
def test_what_execute_runs_is_recorded(running, filling):
    inner = f"SELECT count(*) {filling} FROM sales WHERE id >= ?"
    found = list(documents(running, f"EXECUTE IMMEDIATE '{inner}' USING 0"))
    record = running.gateway.history.find(found[0]["id"])
    assert record.written == inner.replace("?", "0")
    assert record.sql_length == len(record.written)


@pytest.mark.parametrize("filling", ["", FILLING])
def test_a_role_that_is_no_more_is_refused_and_mended(running, filling):
    role = "system=ROLE{gone}"
    error = last(running, f"SELECT 1 {filling}", role=role)["error"]
    assert "there is no role gone" in error["message"]
    assert "error" not in last(running, f"SET ROLE {filling} ALL", role=role)


LONG_ONE = ClientSession(user="me", prepared={"one": "SELECT 1" + " + 1" * LONG, "two": "SELECT 2"})


@pytest.mark.parametrize(
    "sql",
    [
        "EXECUTE one",
        "DESCRIBE OUTPUT one",
        "EXPLAIN EXECUTE one",
        "/* /* */ EXECUTE one",
        "/* /* */ EXECUTE one -- */ SELECT 1",
        "-- \rEXECUTE one",
        "/*+ hint */ EXECUTE one",
    ],
)
def test_a_statement_that_may_name_a_long_one_is_long(sql):
    assert _size(sql, LONG_ONE) > LONG


def test_a_statement_is_as_long_as_the_one_that_it_may_name():
    assert _size("SELECT 1", LONG_ONE) == 8
    many = ClientSession(user="me", prepared={str(n): "SELECT" + " " * 1_000 for n in range(50)})
    assert _size("EXECUTE one", many) < LONG, "short statements beside it don't count"
