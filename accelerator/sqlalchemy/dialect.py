"""The dialect: what SQLAlchemy asks of a database, by the lake of a session.

One session serves an engine, whose threads share it. Nothing is ever begun, so a commit or a
rollback does nothing. `connect_args={"session": acc}` takes a session that is open.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import pool
from sqlalchemy import types as t
from sqlalchemy.engine import default
from sqlalchemy.exc import ArgumentError, NoSuchTableError, UnreflectableTableError
from sqlalchemy.sql.compiler import IdentifierPreparer

from accelerator import dbapi
from accelerator.iceberg import UnreadableTableError
from accelerator.sqlalchemy.compiler import NoDdl, SparkNames, SparkSql
from accelerator.sqlalchemy.reflection import Reflected
from accelerator.sqlalchemy.types import SparkInterval, SparkTypes

if TYPE_CHECKING:
    from types import ModuleType

    from sqlalchemy.engine import URL, Connection


class AcceleratorDialect(default.DefaultDialect):
    """Spark SQL over Iceberg's tables, read by the accelerator."""

    name = "accelerator"
    driver = "accelerator"
    statement_compiler = SparkSql
    ddl_compiler = NoDdl
    type_compiler_cls = SparkTypes
    preparer: type[IdentifierPreparer] = SparkNames

    default_paramstyle = "qmark"
    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_alter = False
    supports_sane_rowcount = False
    supports_sane_multi_rowcount = False
    supports_default_values = False
    supports_sequences = False
    postfetch_lastrowid = False
    div_is_floordiv = False
    colspecs = {t.Interval: SparkInterval}  # noqa: RUF012 - SQLAlchemy declares it for instances
    requires_name_normalize = False
    max_identifier_length = 255

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        return dbapi

    @classmethod
    def get_pool_class(cls, url: URL) -> type[pool.Pool]:  # noqa: ARG003
        """One connection, since it's one session."""
        return pool.StaticPool

    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        """`accelerator:///path` is the warehouse /path, `?name=value` a setting of the session."""
        if url.host or url.username or url.password or url.port:
            raise ArgumentError(
                "write accelerator:///path/of/the/warehouse, and the address of a catalog as"
                " ?catalog_uri=…"
            )
        settings: dict[str, Any] = {}
        for key, value in url.query.items():
            if not isinstance(value, str):
                raise ArgumentError(f"the setting {key} is given more than once")
            settings[key] = value
        if url.database:
            settings["warehouse"] = "/" + url.database.lstrip("/")
        return [], settings

    def connect(self, *cargs: Any, **cparams: Any) -> Any:
        """A connection whose statements are in Spark's dialect, as they're compiled."""
        made = dbapi.connect(*cargs, **cparams)
        made.dialect = "spark"
        if "session" not in cparams and made.session.config.source is None:
            made.session.source = "accelerator sqlalchemy"
        return made

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Nothing: nothing was begun."""

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Whether its session is open; no statement is run for that."""
        return dbapi_connection.is_open is True

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:  # noqa: ARG002
        return isinstance(e, dbapi.InterfaceError) and "is closed" in str(e)

    def get_isolation_level_values(self, dbapi_conn: Any) -> list[Any]:  # noqa: ARG002
        return ["AUTOCOMMIT"]

    def get_isolation_level(self, dbapi_connection: Any) -> Any:  # noqa: ARG002
        return "AUTOCOMMIT"

    def set_isolation_level(self, dbapi_connection: Any, level: Any) -> None:
        """Nothing: there is one alone."""

    def _get_server_version_info(self, connection: Connection) -> Any:  # noqa: ARG002
        return None

    def _get_default_schema_name(self, connection: Connection) -> Any:
        return self._reflected(connection).default_schema()

    def get_schema_names(self, connection: Connection, **_: Any) -> list[str]:
        """Namespaces as statements name them: those of other catalogs with the catalog's name."""
        return self._reflected(connection).schemas()

    def get_table_names(
        self, connection: Connection, schema: str | None = None, **_: Any
    ) -> list[str]:
        return self._reflected(connection).tables(schema)

    def get_view_names(
        self, connection: Connection, schema: str | None = None, **_: Any
    ) -> list[str]:
        return self._reflected(connection).views(schema)

    def has_table(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: Any
    ) -> bool:
        """Whether there is a table or a view of that name."""
        try:
            return self._reflected(connection).columns(table_name, schema) is not None
        except UnreadableTableError:
            return True

    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: Any
    ) -> list[Any]:
        with _reflecting():
            found = self._reflected(connection).columns(table_name, schema)
        if found is None:
            raise NoSuchTableError(table_name)
        return found

    def get_view_definition(
        self, connection: Connection, view_name: str, schema: str | None = None, **_: Any
    ) -> str:
        found = self._reflected(connection).view_text(view_name, schema)
        if found is None:
            raise NoSuchTableError(view_name)
        return found

    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: Any
    ) -> Any:
        """The declared one; none is enforced."""
        for one in self._keys(connection, table_name, schema, "primary_key"):
            return {"constrained_columns": list(one.columns), "name": one.name}
        return {"constrained_columns": [], "name": None}

    def get_unique_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: Any
    ) -> list[Any]:
        found = self._keys(connection, table_name, schema, "unique")
        return [{"name": one.name, "column_names": list(one.columns)} for one in found]

    def get_foreign_keys(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: Any
    ) -> list[Any]:
        reflected = self._reflected(connection)
        found = self._keys(connection, table_name, schema, "foreign_key")
        return [reflected.foreign_key(one) for one in found if one.references]

    def get_check_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: Any
    ) -> list[Any]:
        """None: there are none in Iceberg."""
        self._check(connection, table_name, schema)
        return []

    def get_indexes(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: Any
    ) -> list[Any]:
        """None that SQLAlchemy could have a use for."""
        self._check(connection, table_name, schema)
        return []

    def get_table_comment(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: Any
    ) -> Any:
        self._check(connection, table_name, schema)
        with _reflecting():
            return {"text": self._reflected(connection).comment(table_name, schema)}

    def _keys(
        self, connection: Connection, table_name: str, schema: str | None, kind: str
    ) -> list[Any]:
        self._check(connection, table_name, schema)
        with _reflecting():
            found = self._reflected(connection).constraints(table_name, schema)
        return [one for one in found if one.kind == kind and not one.problem]

    def _check(self, connection: Connection, table_name: str, schema: str | None) -> None:
        if not self.has_table(connection, table_name, schema):
            raise NoSuchTableError(table_name)

    def _reflected(self, connection: Connection) -> Reflected:
        made: dbapi.Connection = connection.connection.dbapi_connection  # type: ignore[assignment]
        services = made.session.services
        return Reflected(services.lake, services.context.namespace())


@contextmanager
def _reflecting() -> Iterator[None]:
    """UnreflectableTableError, which lists of tables go on after, for a table that isn't read."""
    try:
        yield
    except UnreadableTableError as error:
        raise UnreflectableTableError(str(error)) from error
