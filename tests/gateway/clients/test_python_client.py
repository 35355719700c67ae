"""The Python client and its SQLAlchemy dialect against a gateway, over tables of PyIceberg's.

Answers are compared with the values that were written, never with another answer of ours.
"""

from __future__ import annotations

import base64
import datetime as dt
import math
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.compute as pc
import pytest
import requests
import sqlalchemy as sa
import trino
from trino.auth import BasicAuthentication
from trino.exceptions import TrinoQueryError, TrinoUserError
from trino.transaction import IsolationLevel

from accelerator.common.config.config import Config
from accelerator.gateway import serving
from tests.gateway.clients.conftest import PASSWORD, Guarded
from tests.gateway.clients.typed_lake import (
    CITIES,
    LARGE_ROWS,
    ROWS,
    TRINO,
    TYPES,
    UUIDS,
    large,
)

pytestmark = pytest.mark.served


@pytest.fixture(scope="module")
def gateway(typed_warehouse: Path) -> Iterator[serving.RunningGateway]:
    """One without users, for all tests here."""
    with serving.start(
        Config.load(None, warehouse=str(typed_warehouse)), workers=1, page_bytes=64 * 1024
    ) as found:
        yield found


def connected(gateway: serving.RunningGateway | Guarded, **more: Any) -> trino.dbapi.Connection:
    """A connection of the user ann in lake.shop."""
    given = {"user": "ann", "catalog": "lake", "schema": "shop", "timezone": "UTC"} | more
    return trino.dbapi.connect(host=gateway.url, **given)


@pytest.fixture
def connection(gateway: serving.RunningGateway) -> Iterator[trino.dbapi.Connection]:
    """A fresh one."""
    with closing(connected(gateway)) as found:
        yield found


def asked(connection: trino.dbapi.Connection, sql: str, *given: Any) -> list[tuple[Any, ...]]:
    """The rows."""
    cursor = connection.cursor()
    cursor.execute(sql, given or None)
    return [tuple(row) for row in cursor.fetchall()]


def _same(found: Any, wanted: Any) -> bool:
    """Equal, where NaN equals NaN, and -0.0 isn't 0.0."""
    if isinstance(wanted, float):
        if math.isnan(wanted):
            return isinstance(found, float) and math.isnan(found)
        return bool(found == wanted) and math.copysign(1, found) == math.copysign(1, wanted)
    return bool(found == wanted) and type(found) is type(wanted)


def _plain(value: Any) -> Any:
    """Rows of the client as dicts of what was written."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if hasattr(value, "_asdict") or isinstance(value, trino.types.NamedRowTuple):
        names = value.__annotations__["names"]
        return {name: _plain(one) for name, one in zip(names, value, strict=True)}
    return value


_NESTED = ("list", "pairs", "pair", "deep")
"""Of these Spark reads the values."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=[pytest.mark.spark] * (one in _NESTED)) for one in TRINO],
)
def test_a_type(connection: trino.dbapi.Connection, name: str) -> None:
    """Each value of each type is what was written, and the type is told."""
    cursor = connection.cursor()
    cursor.execute(f'SELECT "{name}" FROM kinds ORDER BY id')
    found = [_plain(row[0]) for row in cursor.fetchall()]
    wanted = [row.get(name) for row in ROWS]
    for got, one in zip(found, wanted, strict=True):
        if isinstance(one, dt.datetime) and one.tzinfo is not None:
            assert got.utcoffset() == dt.timedelta(0)
            got = got.astimezone(dt.UTC)
        assert _same(got, one), (got, one)
    assert cursor.description[0][0] == name
    assert cursor.description[0][1] == TRINO[name]


@pytest.mark.spark
def test_uuids(connection: trino.dbapi.Connection) -> None:
    """Spark has UUIDs as texts."""
    found = [one for (one,) in asked(connection, "SELECT key FROM keys")]
    assert sorted(found, key=str) == sorted((one and str(one) for one in UUIDS), key=str)


@pytest.mark.spark
def test_all_types_at_once(connection: trino.dbapi.Connection) -> None:
    """`SELECT *` has all columns in their order, and NULL where nothing was written."""
    cursor = connection.cursor()
    cursor.execute("SELECT * FROM kinds ORDER BY id")
    rows = cursor.fetchall()
    assert [one[0] for one in cursor.description] == [one.name for one in TYPES.fields]
    assert rows[5] == [5, *([None] * (len(TRINO) - 2)), []]


def test_raw_values(gateway: serving.RunningGateway) -> None:
    """A client that asks for plain values gets those of the protocol."""
    with closing(connected(gateway, legacy_primitive_types=True)) as connection:
        ((raw, exact, moment),) = asked(
            connection, "SELECT raw, exact, moment FROM kinds WHERE id = 1"
        )
    assert (raw, exact) == ("", "-9999999999999999999999999999.9999999999")
    assert moment == "0001-01-01 00:00:00.000000 UTC"


def test_old_client(gateway: serving.RunningGateway) -> None:
    """A client that knows milliseconds alone is told types without a precision."""
    headers = {"X-Trino-User": "ann", "X-Trino-Catalog": "lake", "X-Trino-Schema": "shop"}
    sql = "SELECT local, moment FROM kinds WHERE id = 0"
    found = requests.post(f"{gateway.url}/v1/statement", sql, headers=headers, timeout=30).json()
    while "data" not in found:
        found = requests.get(found["nextUri"], timeout=30).json()
    assert [one["type"] for one in found["columns"]] == ["timestamp", "timestamp with time zone"]
    assert found["data"] == [["2024-02-29 23:59:59.123", "2024-02-29 23:59:59.123 UTC"]]


@pytest.mark.parametrize(
    ("agent", "at_once"),
    [("Trino Python Client/0.340.0", True), ("trino-cli", True), ("", False), ("axios/1", False)],
)
def test_first_response(gateway: serving.RunningGateway, agent: str, at_once: bool) -> None:
    """Clients that don't read rows of the first response get none there, and all of them later."""
    headers = {"X-Trino-User": "ann", "User-Agent": agent}
    url = f"{gateway.url}/v1/statement"
    found = requests.post(url, "SELECT 7 AS a", headers=headers, timeout=30).json()
    assert ("data" in found) == at_once
    wrong = requests.post(url, "SELECT nope", headers=headers, timeout=30).json()
    assert ("error" in wrong) == at_once
    while "data" not in found:
        found = requests.get(found["nextUri"], timeout=30).json()
    assert found["data"] == [[7]]


@pytest.mark.parametrize(
    ("value", "column"),
    [
        (2**31 - 1, "whole"),
        (2**63 - 1, "large"),
        (Decimal("1234567.89"), "money"),
        ("", "words"),
        (ROWS[0]["words"], "words"),
        (dt.date(1582, 10, 15), "day"),
        (dt.date(9999, 12, 31), "day"),
        (dt.datetime(2024, 2, 29, 23, 59, 59, 123456), "local"),
        (True, "truth"),
    ],
)
def test_parameters(connection: trino.dbapi.Connection, value: Any, column: str) -> None:
    """A value finds its row."""
    wanted = [(row["id"],) for row in ROWS if row.get(column) == value]
    assert wanted
    sql = f'SELECT id FROM kinds WHERE "{column}" = ? ORDER BY id'
    assert asked(connection, sql, value) == wanted


def test_parameters_are_no_sql(connection: trino.dbapi.Connection) -> None:
    """Quotes and markers of values stay theirs."""
    for text in ("' OR 1 = 1 --", "?", "\\", "';", '"', "/*", "%s", "{x}"):
        sql = "SELECT ? AS a, '?' AS b FROM kinds WHERE id = 0"
        assert asked(connection, sql, text) == [(text, "?")]


@pytest.mark.parametrize("legacy", [True, False])
def test_prepared(gateway: serving.RunningGateway, legacy: bool) -> None:
    """Both of the client's ways to prepare give one answer."""
    with closing(connected(gateway, legacy_prepared_statements=legacy)) as connection:
        sql = "SELECT id, city FROM sales WHERE id BETWEEN ? AND ? ORDER BY id"
        wanted = [(at, CITIES[at * 7919 % 4]) for at in range(10, 13)]
        assert asked(connection, sql, 10, 12) == wanted


def test_describe(connection: trino.dbapi.Connection) -> None:
    """`describe` tells the columns and their types."""
    found = connection.cursor().describe("SELECT id, price, city AS town FROM sales")
    assert [(one.name, one.type) for one in found] == [
        ("id", "bigint"),
        ("price", "decimal(12,2)"),
        ("town", "varchar"),
    ]


def test_many_pages(connection: trino.dbapi.Connection) -> None:
    """A large answer comes whole, in many pages, whatever size the client fetches."""
    cursor = connection.cursor()
    cursor.arraysize = 977
    cursor.execute("SELECT id, city, price, day, at, x FROM sales")
    found: list[list[Any]] = []
    while rows := cursor.fetchmany():
        found.extend(rows)
    wanted = large().to_pylist()
    found.sort()
    assert len(found) == LARGE_ROWS
    assert [tuple(row) for row in found] == [tuple(row.values()) for row in wanted]
    assert cursor.stats["state"] == "FINISHED"
    assert cursor.stats["processedRows"] == LARGE_ROWS


def test_cancelled(connection: trino.dbapi.Connection) -> None:
    """A statement whose client cancels ends, and the gateway forgets it."""
    cursor = connection.cursor()
    cursor.execute("SELECT * FROM sales a")
    assert cursor.fetchone() is not None
    next_uri = cursor._query._next_uri
    cursor.cancel()
    assert requests.head(next_uri, timeout=30).status_code == 404
    assert asked(connection, "SELECT 1") == [(1,)]


def test_killed_by_its_id(
    gateway: serving.RunningGateway, connection: trino.dbapi.Connection
) -> None:
    """Who began a statement ends it by its id; nobody else does, and all are told the same."""
    cursor = connection.cursor()
    cursor.execute("SELECT * FROM sales a")
    next_uri, url = cursor._query._next_uri, f"{gateway.url}/v1/query/{cursor.query_id}"
    for user, status in (("bob", 200), ("ann", 404), ("ann", 404)):
        assert requests.delete(url, headers={"X-Trino-User": user}, timeout=30).status_code == 204
        assert requests.head(next_uri, timeout=30).status_code == status


def test_heartbeat(connection: trino.dbapi.Connection) -> None:
    """HEAD of the next page keeps a statement."""
    cursor = connection.cursor()
    cursor.execute("SELECT * FROM sales a")
    next_uri = cursor._query._next_uri
    assert requests.head(next_uri, timeout=30).status_code == 200
    gone = f"{next_uri.rsplit('/', 2)[0]}/another/1"
    assert requests.head(gone, timeout=30).status_code == 404
    cursor.cancel()
    assert requests.head(next_uri, timeout=30).status_code == 404


@pytest.mark.parametrize(
    ("sql", "name", "line", "column"),
    [
        ("SELECT\n  nope FROM sales", "COLUMN_NOT_FOUND", 2, 3),
        ("SELEC 1", "SYNTAX_ERROR", 1, 1),
        ("SELECT 1 +", None, None, None),
        ("SELECT * FROM sales; SELECT 2", "SYNTAX_ERROR", 1, 22),
        ("SELECT * FROM nope", "TABLE_NOT_FOUND", None, None),
        ("SELECT * FROM nope.x.y", "CATALOG_NOT_FOUND", None, None),
        ("SELECT nofunction(1)", None, None, None),
        ("SET SESSION nope = 1", "INVALID_SESSION_PROPERTY", None, None),
        ("SET SESSION query_max_run_time = 'x'", "INVALID_SESSION_PROPERTY", None, None),
        ("USE lake.nope", "SCHEMA_NOT_FOUND", None, None),
        ("EXECUTE nope", "NOT_FOUND", 1, 9),
        ("COMMIT WORKS", "SYNTAX_ERROR", 1, 8),
    ],
)
def test_error(
    connection: trino.dbapi.Connection,
    sql: str,
    name: str | None,
    line: int | None,
    column: int | None,
) -> None:
    """What is wrong has Trino's name, and a place where there is one."""
    with pytest.raises(TrinoUserError) as error:
        asked(connection, sql)
    if name is not None:
        assert error.value.error_name == name
    told = error.value._error.get("errorLocation") or {}
    if line is not None:
        assert (told["lineNumber"], told["columnNumber"]) == (line, column)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t (a int)",
        "CREATE VIEW v AS SELECT 1 AS a",
        "INSERT INTO sales VALUES (1)",
        "DELETE FROM sales",
        "UPDATE sales SET id = 1",
        "MERGE INTO sales USING kinds ON true WHEN MATCHED THEN DELETE",
        "DROP TABLE sales",
        "ALTER TABLE sales ADD COLUMN a int",
        "GRANT SELECT ON sales TO bob",
        "CALL lake.system.rollback_to_snapshot('shop', 'sales', 1)",
        'SELECT * FROM "sales$files"',
        "SELECT * FROM sales TABLESAMPLE BERNOULLI (10)",
        "SELECT * FROM UNNEST(ARRAY[1]) AS t (a)",
        "SELECT * FROM TABLE(sequence(1, 3))",
        "SELECT * FROM sales MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS true)",
        "SET TIME ZONE 'UTC'",
    ],
)
def test_refused_by_name(connection: trino.dbapi.Connection, sql: str) -> None:
    """What isn't answered is refused with a sentence, and nothing is changed."""
    with pytest.raises(TrinoUserError) as error:
        asked(connection, sql)
    assert error.value.error_name in ("NOT_SUPPORTED", "SYNTAX_ERROR"), error.value
    assert "Hint" in str(error.value)
    assert asked(connection, "SELECT count(*) FROM sales") == [(LARGE_ROWS,)]


def test_session(gateway: serving.RunningGateway) -> None:
    """Properties and USE are kept by the client, and hold for its next statements."""
    with closing(connected(gateway, schema=None)) as connection:
        with pytest.raises(TrinoQueryError, match="schema"):
            asked(connection, "SELECT count(*) FROM sales")
        asked(connection, "USE lake.shop")
        assert asked(connection, "SELECT count(*) FROM sales") == [(LARGE_ROWS,)]
        assert asked(connection, "SELECT current_catalog, current_schema, current_user") == [
            ("lake", "shop", "ann")
        ]
        asked(connection, "SET SESSION result_cache = false")
        asked(connection, "SET SESSION query_max_run_time = '5m'")
        shown = {name: value for name, value, *_ in asked(connection, "SHOW SESSION")}
        assert (shown["result_cache"], shown["query_max_run_time"]) == ("false", "5m")
        assert asked(connection, "SELECT count(*) FROM sales") == [(LARGE_ROWS,)]
        asked(connection, "RESET SESSION result_cache")
        shown = {name: value for name, value, *_ in asked(connection, "SHOW SESSION")}
        assert shown["result_cache"] == "true"
    given = {"result_cache": "false"}
    with closing(connected(gateway, session_properties=given)) as connection:
        assert ("result_cache", "false") in [
            row[:2] for row in asked(connection, "SHOW SESSION LIKE 'result%'")
        ]
    with (
        closing(connected(gateway, session_properties={"nope": "1"})) as connection,
        pytest.raises(TrinoUserError, match="nope"),
    ):
        asked(connection, "SELECT 1")


def test_transactions(gateway: serving.RunningGateway) -> None:
    """A client that begins a transaction reads in it, and commits or rolls back."""
    with closing(connected(gateway, isolation_level=IsolationLevel.READ_COMMITTED)) as connection:
        assert asked(connection, "SELECT count(*) FROM sales") == [(LARGE_ROWS,)]
        assert connection.transaction is not None
        connection.commit()
        assert asked(connection, "SELECT 1") == [(1,)]
        connection.rollback()
    with (
        pytest.raises(TrinoUserError),
        connected(gateway, isolation_level=IsolationLevel.SERIALIZABLE) as connection,
    ):
        asked(connection, "SELECT nope FROM sales")


def test_roles(gateway: serving.RunningGateway) -> None:
    """Roles that a client sends are read; those that it sets are told back."""
    with closing(connected(gateway, roles={"lake": "ALL", "system": "ALL"})) as connection:
        assert asked(connection, "SELECT 1") == [(1,)]
        asked(connection, "SET ROLE NONE")
        assert connection._client_session.roles["system"] == "NONE"
        asked(connection, "SET ROLE ALL IN lake")
        for role in ("analyst", "analyst IN lake"):  # nobody has one here
            with pytest.raises(TrinoUserError) as error:
                asked(connection, f"SET ROLE {role}")
            assert error.value.error_name == "ROLE_NOT_FOUND"


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu", "UTC"])
def test_zones(gateway: serving.RunningGateway, zone: str) -> None:
    """Moments are the same in each zone, local times have none."""
    with closing(connected(gateway, timezone=zone)) as connection:
        ((local, moment, here),) = asked(
            connection, "SELECT local, moment, current_timezone() FROM kinds WHERE id = 0"
        )
        assert local == ROWS[0]["local"]
        assert moment.astimezone(dt.UTC) == ROWS[0]["moment"]
        assert here == zone


@pytest.mark.spark
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu"])
def test_hours_of_moments(gateway: serving.RunningGateway, zone: str) -> None:
    """Parts of a table's moment go by UTC, wherever the client is; as Trino's over Iceberg do."""
    wanted = ROWS[0]["moment"].astimezone(dt.UTC)
    sql = "SELECT hour(moment), minute(moment), day(moment) FROM kinds WHERE id = 0"
    with closing(connected(gateway, timezone=zone)) as connection:
        assert asked(connection, sql) == [(wanted.hour, wanted.minute, wanted.day)]


def test_unknown_zone(gateway: serving.RunningGateway) -> None:
    """A zone that there isn't is told by name."""
    with closing(connected(gateway)) as connection:
        connection._client_session._timezone = "Mars/Olympus"
        with pytest.raises(trino.exceptions.HttpError, match="Mars/Olympus"):
            asked(connection, "SELECT 1")


def test_shows(connection: trino.dbapi.Connection) -> None:
    """What SHOW and DESCRIBE tell is what was made."""
    assert asked(connection, "SHOW CATALOGS") == [("lake",), ("system",)]
    assert asked(connection, "SHOW SCHEMAS") == [("information_schema",), ("other",), ("shop",)]
    assert asked(connection, "SHOW TABLES") == [("keys",), ("kinds",), ("sales",)]
    assert asked(connection, "SHOW TABLES LIKE 'ki%'") == [("kinds",)]
    found = asked(connection, "DESCRIBE kinds")
    row = "row(x integer, y varchar)"
    told = TRINO | {"money": "decimal(9,2)", "exact": "decimal(38,10)", "pair": row}
    told["deep"] = "array(row(when array(timestamp(6)), price decimal(12,2)))"
    assert {name: kind.replace('"', "") for name, kind, *_ in found} == told
    assert found[8][3] == "Texts, of any letters"
    ((created,),) = asked(connection, "SHOW CREATE TABLE kinds")
    assert created.startswith("CREATE TABLE lake.shop.kinds (")
    assert asked(connection, 'SELECT count(*) FROM lake.other."a b"') == [(0,)]


def test_aggregates(connection: trino.dbapi.Connection) -> None:
    """Sums by group are Arrow's."""
    table = large()
    wanted = table.group_by("city").aggregate([("price", "sum"), ("id", "max"), ("x", "count")])
    found = asked(
        connection,
        "SELECT city, sum(price), max(id), count(x) FROM sales GROUP BY city ORDER BY city",
    )
    assert found == sorted(tuple(row.values()) for row in wanted.to_pylist())
    day = dt.date(1975, 1, 1)
    kept = pc.sum(pc.greater_equal(table["day"], day)).as_py()
    assert asked(connection, "SELECT count(*) FROM sales WHERE day >= ?", day) == [(kept,)]


# SQLAlchemy and pandas


@pytest.fixture(scope="module")
def engine(gateway: serving.RunningGateway) -> Iterator[sa.Engine]:
    """An engine of SQLAlchemy's, as Superset makes it."""
    address = gateway.url.removeprefix("http://")
    found = sa.create_engine(f"trino://ann@{address}/lake/shop")
    yield found
    found.dispose()


def test_inspection(engine: sa.Engine) -> None:
    """What SQLAlchemy asks of a database is what was made."""
    inspector = sa.inspect(engine)
    assert sorted(inspector.get_schema_names()) == ["information_schema", "other", "shop"]
    assert sorted(inspector.get_table_names()) == ["keys", "kinds", "sales"]
    assert inspector.get_table_names(schema="other") == ["a b"]
    assert inspector.get_view_names() == []
    assert inspector.has_table("kinds") and not inspector.has_table("nope")
    assert inspector.get_table_comment("kinds") == {"text": "Every type"}
    assert inspector.get_table_comment("sales") == {"text": None}
    assert inspector.get_pk_constraint("kinds")["constrained_columns"] == []
    assert inspector.get_foreign_keys("kinds") == []
    (index,) = inspector.get_indexes("kinds")  # so the dialect takes the columns of $partitions
    assert index["column_names"] == ["record_count", "file_count", "total_size", "data"]
    columns = {one["name"]: one for one in inspector.get_columns("kinds")}
    assert list(columns) == list(TRINO)
    assert columns["words"]["comment"] == "Texts, of any letters"
    assert not columns["id"]["nullable"] and columns["whole"]["nullable"]
    assert isinstance(columns["exact"]["type"], sa.DECIMAL)
    assert (columns["exact"]["type"].precision, columns["exact"]["type"].scale) == (38, 10)
    with pytest.raises(sa.exc.NoSuchTableError):
        inspector.get_columns("nope")
    dialect: Any = engine.dialect
    with engine.connect() as connection:
        assert dialect.get_catalog_names(connection) == ["lake", "system"]
        assert dialect.has_schema(connection, "shop")
        assert not dialect.has_schema(connection, "nope")


def test_expressions(engine: sa.Engine) -> None:
    """A reflected table, and a statement that SQLAlchemy writes over it."""
    with pytest.warns(sa.exc.SAWarning, match="index key '"):  # of $partitions
        sales = sa.Table("sales", sa.MetaData(), autoload_with=engine)
    statement = (
        sa.select(sales.c.city, sa.func.count().label("n"))
        .where(sales.c.id < 100, sales.c.city.in_(["Rom", "Paris"]))
        .group_by(sales.c.city)
        .order_by(sa.desc("n"), sales.c.city)
        .limit(10)
    )
    table = large().slice(0, 100)
    counts = {city: pc.sum(pc.equal(table["city"], city)).as_py() for city in ("Rom", "Paris")}
    with engine.connect() as connection:
        assert [tuple(row) for row in connection.execute(statement)] == sorted(
            counts.items(), key=lambda one: (-one[1], one[0])
        )
        assert connection.scalar(sa.text("SELECT version()")) == "476"


def test_pandas(engine: sa.Engine) -> None:
    """`read_sql` gives a frame of the same values."""
    sql = "SELECT id, city, x FROM sales WHERE id < 1000 ORDER BY id"
    with engine.connect() as connection:
        found = pd.read_sql(sa.text(sql), connection)
    wanted = large().slice(0, 1000).select(["id", "city", "x"]).to_pandas()
    pd.testing.assert_frame_equal(found, wanted, check_dtype=False)


# Who may ask


@pytest.fixture(autouse=True)
def _own_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but what a test says is trusted."""
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)


def test_password(guarded: Guarded) -> None:
    """Who knows the password asks; all pages are given to them."""
    gateway, certificate = guarded, guarded.certificate
    assert gateway.url.startswith("https://")
    auth = BasicAuthentication("ann", PASSWORD)
    with closing(connected(gateway, auth=auth, verify=str(certificate))) as connection:
        assert asked(connection, "SELECT current_user") == [("ann",)]
        assert len(asked(connection, "SELECT id FROM sales")) == LARGE_ROWS


@pytest.mark.parametrize("auth", [None, ("ann", "wrong"), ("bob", PASSWORD), ("ann", "")])
def test_wrong_password(guarded: Guarded, auth: tuple[str, str] | None) -> None:
    """Who doesn't isn't answered, whatever is wrong."""
    gateway, certificate = guarded, guarded.certificate
    given = None if auth is None else BasicAuthentication(*auth)
    with (
        closing(connected(gateway, auth=given, verify=str(certificate))) as connection,
        pytest.raises(trino.exceptions.HttpError, match=r"401|429"),
    ):
        asked(connection, "SELECT 1")


def test_another_user(guarded: Guarded) -> None:
    """A user with a password doesn't ask as another one."""
    gateway, certificate = guarded, guarded.certificate
    pair = base64.b64encode(f"ann:{PASSWORD}".encode()).decode()
    headers = {"Authorization": f"Basic {pair}", "X-Trino-User": "bob"}
    found = requests.post(
        f"{gateway.url}/v1/statement",
        "SELECT 1",
        headers=headers,
        verify=str(certificate),
        timeout=30,
    )
    assert found.status_code in (200, 403)
    if found.status_code == 200:
        assert found.json()["error"]["errorName"] == "PERMISSION_DENIED"


def test_plain_http_is_refused(guarded: Guarded) -> None:
    """Nothing is answered without TLS."""
    gateway = guarded
    with pytest.raises(requests.exceptions.ConnectionError):
        requests.get(f"{gateway.url.replace('https', 'http')}/v1/info", timeout=30)
