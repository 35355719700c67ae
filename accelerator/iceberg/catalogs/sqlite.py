"""A SQLite catalog file, read directly: one indexed lookup on a connection that stays open.

PyIceberg's own catalog imports SQLAlchemy (0.3 s) and parses the metadata anew for every statement.
Promises: what another process has committed is seen by the next lookup; a file that isn't there
yet, or has no tables yet, is an empty catalog; nothing is created by reading.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyiceberg.exceptions import CommitStateUnknownException

from accelerator.iceberg.catalogs.readers import (
    SWAP,
    CatalogSettings,
    Pointer,
    PyIcebergCatalog,
    unavailable,
)
from accelerator.iceberg.catalogs.views import ViewPointer

_BUSY_TIMEOUT_S = 10.0
_POINTER = (
    "SELECT * FROM iceberg_tables"  # V0 catalogs have no iceberg_type to select
    " WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?"
)
_WITHIN = "SELECT * FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ?"
_TABLES = "SELECT table_namespace, table_name FROM iceberg_tables WHERE catalog_name = ?"
_MADE = "SELECT DISTINCT namespace FROM iceberg_namespace_properties WHERE catalog_name = ?"
_KEPT_OF = (
    "SELECT property_key, property_value FROM iceberg_namespace_properties"
    " WHERE catalog_name = ? AND namespace = ?"
)
_EXISTS = "exists"
_VERSION = "PRAGMA data_version"
"""Another number once another connection, in any process, has changed the file; asked once for
what is looked up at the same moment."""
_KEPT = 4096  # look-ups of one thread
_ONLY_TABLES = " AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)"


def sqlite_file(settings: CatalogSettings) -> Path | None:
    """The file of a SQLite catalog; None for other catalogs."""
    scheme, found, path = settings.properties.get("uri", "").partition(":///")
    is_sqlite = settings.type == "sql" and scheme.split("+")[0] == "sqlite"
    return Path(path) if found and path and is_sqlite else None


class SqliteCatalog(PyIcebergCatalog):
    """A SQLite catalog file, shared with Spark's JDBC catalog."""

    def __init__(self, settings: CatalogSettings, file: Path) -> None:
        super().__init__(settings)
        self._file = file
        self._local = threading.local()

    def pointer(self, identifier: tuple[str, ...], moment: object = None) -> Pointer | None:
        """The newest metadata of namespace + name, or None where it isn't a table."""
        location = self._location(identifier, moment, is_view=False)
        return None if location is None else Pointer(location, self._settings.properties)

    def view(self, identifier: tuple[str, ...], moment: object = None) -> ViewPointer | None:
        """The newest metadata of namespace + name, or None where it isn't a view."""
        location = self._location(identifier, moment, is_view=True)
        return None if location is None else ViewPointer(location, self._settings.properties)

    def tables(self) -> Iterator[tuple[str, ...]]:
        """Namespace + name of each Iceberg table."""
        columns = {row["name"] for row in self._read("PRAGMA table_info(iceberg_tables)", ())}
        text = _TABLES + (_ONLY_TABLES if "iceberg_type" in columns else "")
        for namespace, name in sorted(map(tuple, self._read(text, (self._settings.name,)))):
            yield (*namespace.split("."), name)

    def views(self) -> Iterator[tuple[str, ...]]:
        """Namespace + name of each view, which Spark's JDBC catalog keeps among the tables."""
        columns = {row["name"] for row in self._read("PRAGMA table_info(iceberg_tables)", ())}
        if "iceberg_type" in columns:
            found = self._read(f"{_TABLES} AND iceberg_type = 'VIEW'", (self._settings.name,))
            for namespace, name in sorted(map(tuple, found)):
                yield (*namespace.split("."), name)

    def namespaces(self) -> Iterator[tuple[str, ...]]:
        """Each namespace that was made, or has a table."""
        found: set[str] = set()
        for text in (_MADE, _TABLES):
            found |= {row[0] for row in self._read(text, (self._settings.name,))}
        yield from sorted(tuple(one.split(".")) for one in found)

    def within(self, namespace: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
        """The name of each table and view of one namespace, and whether it's a view."""
        found = self._read(_WITHIN, (self._settings.name, ".".join(namespace)))
        typed = bool(found) and "iceberg_type" in found[0].keys()  # noqa: SIM118
        for row in sorted(found, key=lambda one: str(one["table_name"])):
            yield row["table_name"], typed and row["iceberg_type"] == "VIEW"

    def namespace_properties(self, namespace: tuple[str, ...]) -> dict[str, str]:
        """Reads a namespace's properties, without the one that says that it was made."""
        found = self._read(_KEPT_OF, (self._settings.name, ".".join(namespace)))
        return {str(key): str(value) for key, value in found if key != _EXISTS}

    def is_absent(self, identifier: tuple[str, ...]) -> bool:
        """Whether the file has neither a table nor a view of namespace + name."""
        if len(identifier) < 2 and self.has_default:
            return False
        key = (self._settings.name, ".".join(identifier[:-1]), identifier[-1])
        return not self._looked_up(key, None)

    def beside(self, identifier: tuple[str, ...]) -> Iterator[tuple[str, ...]]:  # noqa: ARG002
        """All: the file is read at once."""
        return self.tables()

    def _rows(self, text: str, values: Mapping[str, str]) -> list[Mapping[str, Any]]:
        """The same of the file itself, in one statement."""
        return [dict(row) for row in self._read(text, values)]

    def _swap(self, identifier: tuple[str, ...], old: str, new: str) -> bool:
        values = {"old": old, "new": new, "catalog": self._settings.name}
        values |= {"namespace": ".".join(identifier[:-1]), "name": identifier[-1]}
        connection = self._connection()
        self._local.looked_up = {}  # the counter tells of other connections' changes alone
        if connection is None:
            return False
        try:
            return connection.execute(SWAP, values).rowcount == 1
        except sqlite3.OperationalError as error:
            if (error.sqlite_errorcode & 0xFF) == sqlite3.SQLITE_IOERR:  # it may stand in the file
                raise CommitStateUnknownException(str(error)) from error
            raise

    def _failures(self) -> tuple[type[BaseException], ...]:
        return (*super()._failures(), sqlite3.Error)

    def _location(
        self, identifier: tuple[str, ...], moment: object, *, is_view: bool
    ) -> str | None:
        key = (self._settings.name, ".".join(identifier[:-1]), identifier[-1])
        rows = self._looked_up(key, moment)
        if not rows:
            return None
        typed = "iceberg_type" in rows[0].keys()  # noqa: SIM118
        same = (typed and rows[0]["iceberg_type"] == "VIEW") == is_view
        return rows[0]["metadata_location"] or None if same else None

    def _looked_up(self, key: tuple[str, str, str], moment: object) -> list[sqlite3.Row]:
        """The table's rows, as this thread has read them while the file's counter stood as now."""
        if moment is None or moment is not getattr(self._local, "moment", None):
            version = [tuple(row) for row in self._read(_VERSION, ())]
            if not version or version != getattr(self._local, "version", None):
                self._local.version, self._local.looked_up = version, {}
            self._local.moment = moment
        known: dict[tuple[str, str, str], list[sqlite3.Row]] = self._local.looked_up
        if key not in known:
            rows = self._read(_POINTER, key)
            if len(known) >= _KEPT:
                known.clear()
            known[key] = rows
        return known[key]

    def _read(self, text: str, values: tuple[str, ...] | Mapping[str, str]) -> list[sqlite3.Row]:
        try:
            connection = self._connection()
            return connection.execute(text, values).fetchall() if connection is not None else []
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []  # no writer has made the catalog's tables yet
            raise unavailable(self._settings, error) from error
        except sqlite3.Error as error:
            raise unavailable(self._settings, error) from error

    def _connection(self) -> sqlite3.Connection | None:
        """This thread's connection; a new one once another file stands at the path."""
        try:
            status = self._file.stat()
        except FileNotFoundError:
            return None
        identity = (status.st_dev, status.st_ino)
        if getattr(self._local, "identity", None) != identity:
            # `rw` falls back to reading where the file is write-protected, and never creates it.
            self._local.connection = sqlite3.connect(
                f"{self._file.absolute().as_uri()}?mode=rw",
                uri=True,
                timeout=_BUSY_TIMEOUT_S,
                isolation_level=None,
            )
            self._local.connection.row_factory = sqlite3.Row
            self._local.identity = identity
            self._local.version, self._local.moment, self._local.looked_up = None, None, {}
        connection: sqlite3.Connection = self._local.connection
        return connection
