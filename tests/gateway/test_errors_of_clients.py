"""What a client of the gateway reads of its mistakes, and its session's dialect, over HTTP."""

from __future__ import annotations

import re

import pytest

from accelerator.common.config.config import Config
from accelerator.gateway import serving
from tests.gateway.raw_client import Client
from tests.gateway.support import made_warehouse

pytestmark = pytest.mark.served
_SPARK = {"X-Trino-Session": "dialect=spark"}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    warehouse = made_warehouse(tmp_path_factory.mktemp("errors") / "warehouse")
    with serving.start(Config.load(None, warehouse=str(warehouse)), workers=1) as running:
        yield Client(running.url)


@pytest.mark.parametrize(
    ("sql", "name", "place"),
    [
        ("SELECT k FORM sales", "SYNTAX_ERROR", (1, 10)),
        ("EXPLAIN\nSELECT k,, city FROM sales", "SYNTAX_ERROR", (2, 10)),
        ("EXPLAIN WHY NOT\n SELECT k FORM sales", "SYNTAX_ERROR", (2, 11)),
        ("CREATE CUBE c AS SELECT k FROM", "SYNTAX_ERROR", (1, 31)),
        ("SELECT 'a", "SYNTAX_ERROR", (1, 8)),
        ("REFRESH CUBE x", "SYNTAX_ERROR", (1, 9)),
        ("SELECT nosuch(k) FROM sales", "FUNCTION_NOT_FOUND", (1, 8)),
        ("SELECT CAST(k AS nothing) FROM sales", "TYPE_NOT_FOUND", (1, 18)),
        ("SELECT city = 3 FROM sales", "NOT_SUPPORTED", (1, 8)),
        ("SELECT k FROM sales FOR VERSION AS OF 12345", "INVALID_ARGUMENTS", (1, 39)),
        ("SELECT k FROM sales FOR VERSION AS OF 'nothing'", "INVALID_ARGUMENTS", None),
        (
            "SELECT k FROM sales FOR TIMESTAMP AS OF TIMESTAMP '1999-01-01 00:00:00 UTC'",
            "INVALID_ARGUMENTS",
            None,
        ),
        (f"SELECT {'(' * 300}1{')' * 300}", "QUERY_TEXT_TOO_LARGE", None),
        (f"SELECT {'+'.join(['k'] * 4_000)} FROM sales", "QUERY_TEXT_TOO_LARGE", None),
        ("SELECT nothing FROM information_schema.tables", "COLUMN_NOT_FOUND", (1, 8)),
        ("SET SESSION dialect = 'mysql'", "INVALID_SESSION_PROPERTY", None),
    ],
)
def test_a_mistake_is_the_users(client, sql, name, place):
    error = client.error(sql)
    assert (error["errorName"], error["errorType"]) == (name, "USER_ERROR")
    at = error.get("errorLocation")
    assert (at and (at["lineNumber"], at["columnNumber"])) == place
    assert not re.search(r"sqlglot|<class|\x1b|`lake`|Anonymous|spark\.sql", error["message"])


def test_a_prepared_statement_has_no_place(client):
    prepared = {"X-Trino-Prepared-Statement": "p=SELECT+k+FORM+sales+WHERE+k+%3D+%3F"}
    error = client.error("EXECUTE p USING 1", **prepared)
    assert error["errorName"] == "SYNTAX_ERROR" and "errorLocation" not in error


def test_a_session_may_ask_in_sparks_sql(client):
    *_, (last, headers) = client.documents("SET SESSION dialect = 'spark'")
    assert headers["X-Trino-Set-Session"] == "dialect=spark" and "error" not in last
    sql = 'SELECT `k`, count(*) n FROM sales WHERE city = "Köln" GROUP BY `k` ORDER BY 1'
    assert client.rows(sql, **_SPARK) == [[0, 50], [2, 50], [4, 50], [6, 50], [8, 50]]
    assert client.rows('SELECT max("k") FROM sales') == [[9]], "in Trino's it's a name"
    assert client.rows('SELECT max("k") FROM sales', **_SPARK) == [["k"]], "and here a text"
    assert client.error("SELECT reflect('a', 'b')", **_SPARK)["errorType"] == "USER_ERROR"
    assert ["lake"] in client.rows("SHOW CATALOGS", **_SPARK)
    assert client.error("SELECT k FORM sales", **_SPARK)["errorLocation"]["columnNumber"] == 10
    assert client.error("SELECT 1", **{"X-Trino-Session": "dialect=x"})["errorName"] == (
        "INVALID_SESSION_PROPERTY"
    )
