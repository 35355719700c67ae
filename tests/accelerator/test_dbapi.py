"""The read half of PEP 249 over a seeded table: what a caller of any driver relies on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import dbapi
from accelerator.query.runtime.services import Services
from tests.support.pristine import Pristine

_BEERS = ["Cooper's", "Boag's Draught", "Carlton Cold", "Victoria Bitter", "XXXX"]


def _fill(catalog: SqlCatalog) -> None:
    catalog.create_namespace("d")
    rows = pa.table(
        {
            "name": pa.array(_BEERS),
            "price": pa.array([Decimal("1.50")] * 5, pa.decimal128(9, 2)),
            "n": pa.array([1, 2, 3, 4, None], pa.int64()),
            "since": pa.array([date(1862, 1, 1)] * 5),
            "at": pa.array([datetime(2024, 1, 2, 3)] * 5, pa.timestamp("us")),
            "raw": pa.array([b"\x00\x01"] * 5),
        }
    )
    catalog.create_table("d.booze", rows.schema).append(rows)


@pytest.fixture
def connection(pristine: Pristine, no_java: None) -> Iterator[dbapi.Connection]:
    with dbapi.connect(str(pristine.lake(_fill))) as made:
        yield made


def _names(rows: Any) -> list[str]:
    return sorted(name for (name,) in rows)


_ALL = "SELECT name FROM d.booze"


def test_the_module() -> None:
    assert (dbapi.apilevel, dbapi.paramstyle, dbapi.threadsafety) == ("2.0", "qmark", 2)
    kinds = (dbapi.InterfaceError, dbapi.DatabaseError)
    assert all(issubclass(one, dbapi.Error) for one in kinds)
    for name in ("Data", "Operational", "Integrity", "Internal", "Programming", "NotSupported"):
        assert issubclass(getattr(dbapi, f"{name}Error"), dbapi.DatabaseError)
        assert getattr(dbapi.Connection, f"{name}Error") is getattr(dbapi, f"{name}Error")
    assert dbapi.Date(2024, 1, 2) == date(2024, 1, 2)
    assert dbapi.DateFromTicks(dbapi.TimestampFromTicks(0).timestamp()) == date(1970, 1, 1)
    assert dbapi.TimeFromTicks(0) == dbapi.TimestampFromTicks(0).time()
    assert dbapi.Binary(b"x") == b"x"


def test_rows_are_fetched(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    assert (cursor.description, cursor.rowcount) == (None, -1)
    with pytest.raises(dbapi.ProgrammingError, match="no statement"):
        cursor.fetchone()
    assert cursor.execute(_ALL) is cursor
    assert cursor.rowcount == 5
    found = [cursor.fetchone(), *cursor.fetchmany(), *cursor.fetchmany(2), *cursor.fetchall()]
    assert _names(found) == sorted(_BEERS)
    assert (cursor.fetchone(), cursor.fetchmany(9), cursor.fetchall()) == (None, [], [])
    cursor.arraysize = 4
    assert len(cursor.execute(_ALL).fetchmany()) == 4
    assert _names(cursor.execute(_ALL)) == sorted(_BEERS)
    cursor.execute(f"{_ALL} WHERE n > 99")
    assert (cursor.rowcount, cursor.fetchone(), cursor.fetchall()) == (0, None, [])


def test_parameters(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute(f"{_ALL} WHERE name = ? OR n = ?", ["Cooper's", 3])
    assert _names(cursor.fetchall()) == ["Carlton Cold", "Cooper's"]
    cursor.execute(f"{_ALL} WHERE name = :name", {"name": "XXXX"})
    assert cursor.fetchall() == [("XXXX",)]
    with pytest.raises(dbapi.ProgrammingError, match="1 markers and 2 values"):
        cursor.execute(f"{_ALL} WHERE n = ?", [1, 2])
    with pytest.raises(dbapi.ProgrammingError):
        cursor.fetchall()
    with pytest.raises(dbapi.ProgrammingError, match="give no rows"):
        cursor.executemany(f"{_ALL} WHERE n = ?", [[1], [2]])
    cursor.executemany(f"{_ALL} WHERE n = ?", [[98], [99]])


def test_the_description(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute("SELECT name, price, n, since, at, raw FROM d.booze WHERE n = 1")
    told = cursor.description
    assert told is not None
    assert [one[0] for one in told] == ["name", "price", "n", "since", "at", "raw"]
    assert all(len(one) == 7 for one in told)
    assert told[1][1:] == ("decimal(9,2)", None, None, 9, 2, True)
    types = (dbapi.STRING, dbapi.NUMBER, dbapi.NUMBER, dbapi.DATETIME, dbapi.DATETIME)
    for one, kind in zip(told, (*types, dbapi.BINARY), strict=True):
        assert one[1] == kind
        assert kind == one[1]
        assert one[1] != dbapi.ROWID
    (row,) = cursor.fetchall()
    assert row == (
        "Cooper's",
        Decimal("1.50"),
        1,
        date(1862, 1, 1),
        datetime(2024, 1, 2, 3),
        b"\x00\x01",
    )


def test_statements_of_our_own_and_transactions(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute("CREATE CUBE c AS SELECT n, count(*) AS m FROM d.booze GROUP BY n")
    cursor.execute("SHOW CUBES")
    assert cursor.rowcount == 1
    connection.commit()
    with pytest.raises(dbapi.NotSupportedError):
        connection.rollback()
    cursor.setinputsizes([1])
    cursor.setoutputsize(1)
    cursor.setoutputsize(1, 0)


def test_a_cursor_is_an_iterator(connection: dbapi.Connection) -> None:
    cursor = connection.cursor().execute(f"{_ALL} WHERE n = ?", (1,))
    assert iter(cursor) is cursor
    assert next(cursor) == ("Cooper's",)
    with pytest.raises(StopIteration):
        next(cursor)


def test_what_is_no_statement_and_no_parameters(connection: dbapi.Connection) -> None:
    cursor = connection.cursor().execute(_ALL)
    for sql, values in ((None, None), (b"x", None), (5, ()), (_ALL, 5), (_ALL, {1})):
        with pytest.raises(dbapi.ProgrammingError):
            cursor.execute(sql, values)  # type: ignore[arg-type]
    with pytest.raises(dbapi.ProgrammingError, match="1 markers and 0 values"):
        cursor.execute(f"{_ALL} WHERE n = ?", ())
    with pytest.raises(dbapi.ProgrammingError, match="takes a sequence"):
        cursor.executemany(_ALL, None)  # type: ignore[arg-type]
    cursor.execute(_ALL)
    cursor.executemany(_ALL, [])
    assert (cursor.description, cursor.rowcount) == (None, -1)


def test_values_that_python_has_not_are_errors_of_data(connection: dbapi.Connection) -> None:
    late = connection.session.query(_ALL)
    late._table = pa.table({"c": pa.array([4_000_000], pa.int32()).cast(pa.date32())})
    cursor = connection.cursor()
    cursor._result = late
    with pytest.raises(dbapi.DataError, match="9999"):
        cursor.fetchall()


def test_a_statement_without_columns_gives_no_rows(
    connection: dbapi.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Services, "plain_table", lambda *_: pa.table({}))
    cursor = connection.cursor().execute("CREATE TABLE d.other (a INT) USING iceberg")
    assert (cursor.description, cursor.rowcount) == (None, -1)
    with pytest.raises(dbapi.ProgrammingError, match="no statement has given rows"):
        cursor.fetchone()


def test_what_is_closed(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute(_ALL)
    cursor.close()
    for use in (cursor.fetchone, cursor.fetchall, cursor.close, lambda: cursor.execute(_ALL)):
        with pytest.raises(dbapi.InterfaceError, match="cursor is closed"):
            use()
    with connection.cursor() as other:
        other.execute(_ALL)
    open_one = connection.cursor()
    open_one.execute(_ALL)
    connection.close()
    for use in (open_one.fetchone, connection.commit, connection.close):
        with pytest.raises(dbapi.InterfaceError, match="connection is closed"):
            use()
    with pytest.raises(dbapi.InterfaceError, match="connection is closed"):
        connection.cursor().execute(_ALL)


def test_over_a_session_that_is_open(pristine: Pristine, no_java: None) -> None:
    with accelerator.open(pristine.lake(_fill)) as session:
        with dbapi.connect(session=session) as made, made.cursor() as cursor:
            assert made.session is session
            assert len(cursor.execute(_ALL).fetchall()) == 5
        assert session.query(_ALL).num_rows == 5
        with pytest.raises(dbapi.InterfaceError, match="its settings already"):
            dbapi.connect("x", session=session)
        left = dbapi.connect(session=session).cursor()
    with pytest.raises(dbapi.InterfaceError, match="session is closed"):
        left.execute(_ALL)


def test_errors_are_those_of_the_standard(
    connection: dbapi.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor = connection.cursor()
    with pytest.raises(dbapi.OperationalError, match="Spark needs Java"):
        cursor.execute("CREATE TABLE d.more (a INT) USING iceberg")
    with pytest.raises(dbapi.ProgrammingError, match=r"there is no table d\.no_such_table"):
        cursor.execute("SELECT * FROM d.no_such_table")
    with pytest.raises(dbapi.DatabaseError, match="no cube"):
        cursor.execute("DROP CUBE nobody")
    from pyspark.errors import AnalysisException, ArithmeticException, PySparkValueError

    for raised, kind in (
        (AnalysisException("no column"), dbapi.ProgrammingError),
        (ArithmeticException("by zero"), dbapi.DataError),
        (PySparkValueError("odd"), dbapi.DatabaseError),
    ):

        def fails(*_: object, raised: Exception = raised) -> None:
            raise raised

        monkeypatch.setattr(Services, "plain_table", fails)
        with pytest.raises(kind) as told:
            cursor.execute("SELECT rand()")
        assert told.value.__cause__ is raised
    with pytest.raises(dbapi.ProgrammingError, match="/no/such/warehouse"):
        dbapi.connect("/no/such/warehouse")
