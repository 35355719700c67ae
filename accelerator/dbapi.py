"""Python's database API (PEP 249) over a session, for reading.

Example: `with connect("warehouse") as one, one.cursor() as cursor: cursor.execute("SELECT … WHERE k
= ?", [5]).fetchall()`. Statements commit by themselves, since Iceberg's tables have no transactions
over several: `commit` does nothing, `rollback` isn't supported. Threads may share the module and a
connection, not a cursor.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from datetime import time as time_of_day
from typing import TYPE_CHECKING, Any

import accelerator
from accelerator.errors import (
    AcceleratorError,
    CancelledError,
    ConfigError,
    EngineError,
    GuardError,
    ParameterError,
    SessionClosedError,
    StatementError,
    UnknownColumnError,
    UnknownTableError,
    UnrepresentableError,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from accelerator.query.results.result import Result
    from accelerator.session.session import Accelerator

apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"

Date, Time, Timestamp, Binary = date, time_of_day, datetime, bytes


def DateFromTicks(ticks: float) -> date:
    """The date of seconds since 1970, in the machine's zone."""
    return Date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> time_of_day:
    """The time of day of seconds since 1970, in the machine's zone."""
    return Time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime:
    """The time of seconds since 1970, in the machine's zone."""
    return Timestamp(*time.localtime(ticks)[:6])


class Warning(Exception):
    """Never raised."""


class Error(Exception):
    """Of this module."""


class InterfaceError(Error):
    """Of how this module is used."""


class DatabaseError(Error):
    """Of a statement, or of what it reads."""


class DataError(DatabaseError):
    """Of a value: a division by zero, a number out of its range, a date that Python hasn't."""


class OperationalError(DatabaseError):
    """Of an engine, a catalog, a store; or the statement was stopped."""


class IntegrityError(DatabaseError):
    """Never raised: nothing is written."""


class InternalError(DatabaseError):
    """Of this product."""


class ProgrammingError(DatabaseError):
    """Of the statement's text or its parameters."""


class NotSupportedError(DatabaseError):
    """Of what there isn't, or what a guard refuses."""


class _Types(frozenset[str]):
    """Names of Spark's types that count as one; equal to each of them."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return other.partition("(")[0].partition("<")[0] in self
        return super().__eq__(other)

    __hash__ = frozenset.__hash__


STRING = _Types({"string"})
BINARY = _Types({"binary"})
NUMBER = _Types({"tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "boolean"})
DATETIME = _Types({"date", "timestamp", "timestamp_ntz"})
ROWID = _Types()


def connect(
    warehouse: str | None = None, *, session: Accelerator | None = None, **settings: Any
) -> Connection:
    """A connection of its own session, by `accelerator.open`; or over a session that is open.

    That one stays open when the connection is closed.
    """
    if session is not None:
        if warehouse is not None or settings:
            raise InterfaceError("a session that is open has its settings already")
        return Connection(session, owned=False)
    with _errors():
        opened = accelerator.open(warehouse, **settings)
        opened.source = opened.source or "accelerator dbapi"
        return Connection(opened, owned=True)


class Connection:
    """One session; PEP 249's errors are its attributes too."""

    Warning, Error, InterfaceError, DatabaseError = Warning, Error, InterfaceError, DatabaseError
    DataError, OperationalError, IntegrityError = DataError, OperationalError, IntegrityError
    InternalError, ProgrammingError = InternalError, ProgrammingError
    NotSupportedError = NotSupportedError

    def __init__(self, session: Accelerator, *, owned: bool) -> None:
        self.dialect: str | None = None
        """In which statements are written, where it isn't what the session's settings say."""
        self._session: Accelerator | None = session
        self._owned = owned

    @property
    def session(self) -> Accelerator:
        """What answers; InterfaceError once the connection is closed."""
        self._check()
        assert self._session is not None
        return self._session

    @property
    def is_open(self) -> bool:
        """Whether it and its session can be asked."""
        return self._session is not None and not self._session.closed

    def _check(self) -> None:
        if self._session is None:
            raise InterfaceError("the connection is closed")

    def cursor(self) -> Cursor:
        """Another cursor."""
        return Cursor(self)

    def commit(self) -> None:
        """Nothing: each statement commits by itself."""
        self._check()

    def rollback(self) -> None:
        """NotSupportedError: what a statement did is done."""
        raise NotSupportedError("there are no transactions over several statements")

    def close(self) -> None:
        """Closes its own session; twice is an InterfaceError, as PEP 249 wants it."""
        session, self._session = self.session, None
        if self._owned:
            with _errors():
                session.close()

    def __repr__(self) -> str:
        return f"<Connection of {self._session!r}>" if self._session else "<Connection, closed>"

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_exc: object) -> None:
        if self._session is not None:
            self.close()


class Cursor:
    """Statements one after the other, and the rows of the last one."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self._result: Result | None = None
        self._closed = False

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        """Of each column: name, type, then display and internal size, precision, scale, NULLs."""
        if self._result is None:
            return None
        return [_described(field) for field in self._result.schema] or None

    @property
    def rowcount(self) -> int:
        """Rows of the answer; -1 before there is one."""
        return -1 if self._result is None or not self._result.columns else self._result.num_rows

    def execute(
        self, operation: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None
    ) -> Cursor:
        """Runs a statement; itself."""
        self._check()
        self._result = None
        with _errors():
            session, dialect = self.connection.session, self.connection.dialect
            self._result = session.query(operation, parameters, dialect=dialect)
        return self

    def executemany(
        self, operation: str, seq_of_parameters: Iterable[Sequence[Any] | Mapping[str, Any]]
    ) -> Cursor:
        """Runs it for each of the parameters; ProgrammingError of statements that give rows."""
        self._check()
        self._result = None
        if not isinstance(seq_of_parameters, Iterable):
            raise ProgrammingError("executemany takes a sequence of parameters")
        for parameters in seq_of_parameters:
            if self.execute(operation, parameters).rowcount > 0:
                self._result = None
                raise ProgrammingError("executemany is for statements that give no rows")
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; None behind the last."""
        with _errors():
            return self._rows().fetchone()

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """So many further rows, by default `arraysize`."""
        with _errors():
            return self._rows().fetchmany(self.arraysize if size is None else size)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows that weren't fetched yet."""
        with _errors():
            return self._rows().fetchall()

    def close(self) -> None:
        """Frees the rows; any later call is an InterfaceError."""
        self._check()
        self._closed, self._result = True, None

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Nothing."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Nothing."""

    def __iter__(self) -> Cursor:
        return self

    def __next__(self) -> tuple[Any, ...]:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def __repr__(self) -> str:
        if self._closed:
            return "<Cursor, closed>"
        return (
            f"<Cursor on {self._result!r}>"
            if self._result is not None
            else "<Cursor without an answer>"
        )

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_exc: object) -> None:
        if not self._closed:
            self.close()

    def _rows(self) -> Result:
        self._check()
        if self._result is None or not self._result.columns:
            raise ProgrammingError("no statement has given rows yet")
        return self._result

    def _check(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed")
        self.connection._check()


def _described(field: pa.Field) -> tuple[Any, ...]:
    import pyarrow.types as t

    from accelerator.common.display import type_name

    kind = field.type
    digits = (kind.precision, kind.scale) if t.is_decimal(kind) else (None, None)
    return field.name, type_name(kind), None, None, *digits, field.nullable


_SORTED: tuple[tuple[type[Exception] | tuple[type[Exception], ...], type[Error]], ...] = (
    (SessionClosedError, InterfaceError),
    (UnrepresentableError, DataError),
    (
        (ConfigError, ParameterError, StatementError, UnknownColumnError, UnknownTableError),
        ProgrammingError,
    ),
    (GuardError, NotSupportedError),
    ((EngineError, CancelledError), OperationalError),
    (AcceleratorError, DatabaseError),
)
_OF_SPARK = {
    **dict.fromkeys(("ParseException", "AnalysisException"), ProgrammingError),
    **dict.fromkeys(
        ("ArithmeticException", "NumberFormatException", "DateTimeException"), DataError
    ),
}
"""By the names of PySpark's classes, which needn't be installed."""


class _errors:
    """Ours and Spark's errors as PEP 249 sorts them."""

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        for kinds, ours in _SORTED:
            if isinstance(error, kinds):
                raise ours(str(error)) from error
        if error is not None and type(error).__module__.startswith("pyspark."):
            raise _OF_SPARK.get(type(error).__name__, DatabaseError)(str(error)) from error
