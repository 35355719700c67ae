"""Where tables' newest metadata is, asked of PyIceberg's catalogs or of the JVM.

A reader answers one question on every pin: which metadata file is the table's newest. What stands
in a metadata file never changes as long as its table lives, so its parsed form is the caller's to
keep, under the pointer's location and uuid.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pydantic import ValidationError
from pyiceberg import exceptions
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NoSuchNamespaceError,
    NoSuchTableError,
    NoSuchViewError,
)
from pyiceberg.io import PY_IO_IMPL

from accelerator.common.redaction import redacted
from accelerator.iceberg.catalogs.views import ViewPointer
from accelerator.iceberg.errors import (
    CatalogError,
    CatalogReadOnlyError,
    CatalogUnreachableError,
    CommitUnknownError,
    failures,
    read_errors,
    why_unreachable,
)
from accelerator.iceberg.io import read_metadata, reading_hint
from accelerator.iceberg.tables.footprints import MetadataLocation
from accelerator.iceberg.tables.metadata import (
    TableMetadata,
    from_pyiceberg,
    read_table_metadata,
)
from accelerator.iceberg.tables.unreadable import REFUSALS, read_by_pyiceberg
from accelerator.iceberg.writes.metadata_swap import Edit, remove, with_properties, write_edited
from accelerator.iceberg.writes.statistics_files import StatisticsChange
from rewrite.text.suggestions import closest

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.io import FileIO
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata as PyIcebergMetadata

COMMIT_TRIES = 5
_REFUSALS = (
    *(exceptions.BadRequestError, exceptions.ForbiddenError, exceptions.UnauthorizedError),
    *(exceptions.NoSuchTableError, exceptions.ValidationException, exceptions.OAuthError),
    *(exceptions.AuthorizationExpiredError, exceptions.TooManyRequestsError, NotImplementedError),
)
"""After these a REST catalog surely hasn't made a change."""
_HINT = "check that it runs, and its address and credentials"
SWAP = (
    "UPDATE iceberg_tables SET metadata_location = :new, previous_metadata_location = :old"
    " WHERE catalog_name = :catalog AND table_namespace = :namespace AND table_name = :name"
    " AND metadata_location = :old"
)
_CATALOGS = "SELECT DISTINCT catalog_name FROM iceberg_tables"
ENTRIES = "SELECT * FROM iceberg_tables WHERE catalog_name = :catalog"
ENTRY = f"{ENTRIES} AND table_namespace = :namespace AND table_name = :name"


JvmLocated = Callable[[tuple[str, ...]], tuple[str, str] | None]
"""The newest metadata file of a table by its full name, and the table's uuid."""


@dataclass(frozen=True, slots=True)
class CatalogSettings:
    """One catalog: the name that statements use, what sort it is, PyIceberg's own properties."""

    name: str
    type: Literal["sql", "rest", "hive", "glue", "jvm"]
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Pointer:
    """The newest metadata of a table; `metadata` where finding it has parsed it already.

    `uuid` is the table's where the location alone doesn't name the content for good: a Hadoop
    catalog that makes a table anew calls its file `v1.metadata.json` again.
    """

    location: str
    properties: Mapping[str, str] = field(repr=False)
    metadata: PyIcebergMetadata | None = field(default=None, repr=False)
    uuid: str = ""
    content: bytes | None = field(default=None, repr=False)

    def parse(self) -> TableMetadata:
        """The metadata file's content, or `content` if the catalog has given it.

        UnparsedError if it's a table's metadata that PyIceberg refuses.
        """
        if self.metadata is not None:
            return from_pyiceberg(self.metadata)
        hint = "check that the file is there, readable, and of Iceberg format version 1 to 3"
        hint = reading_hint(self.location, hint)
        with read_errors(f"the table metadata at {self.location}", hint, self.properties):
            content = self.content or read_metadata(self.location, self.properties)
            found = read_table_metadata(content)
            found = found or read_by_pyiceberg(self.location, content)
        if self.uuid not in ("", str(found.table_uuid)):
            raise CatalogError(
                f"the table metadata at {self.location} is another table's by now",
                hint="a table was dropped and made anew; ask again, or REFRESH TABLE in Spark",
            )
        return found


class CatalogReader(Protocol):
    """One catalog, as far as reading tables and setting their properties goes.

    What is newest is so at a moment: look-ups of the same one may be told what the first was.
    """

    def pointer(self, identifier: tuple[str, ...], moment: object = None) -> Pointer | None:
        """The newest metadata of namespace + name, or None where that isn't an Iceberg table."""
        ...

    def view(self, identifier: tuple[str, ...], moment: object = None) -> ViewPointer | None:
        """The newest metadata of namespace + name, or None where that isn't a view known here."""
        ...

    def tables(self) -> Iterator[tuple[str, ...]]:
        """Namespace + name of each Iceberg table."""
        ...

    def views(self) -> Iterator[tuple[str, ...]]:
        """Namespace + name of each view, where the catalog lists them."""
        ...

    def entries(self) -> Iterator[tuple[tuple[str, ...], bool]]:
        """Namespace + name of each table and view, and whether it's a view."""
        ...

    def located(self, identifier: tuple[str, ...], *, is_view: bool) -> MetadataLocation | None:
        """The newest metadata file of namespace + name; None if it's gone.

        Tables and views that PyIceberg refuses have one too.
        """
        ...

    def namespaces(self) -> Iterator[tuple[str, ...]]:
        """Each namespace, those without tables too."""
        ...

    def within(self, namespace: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
        """The name of each table and view of one namespace, and whether it's a view.

        None where there is no such namespace.
        """
        ...

    def is_absent(self, identifier: tuple[str, ...]) -> bool:
        """Whether the catalog has surely neither a table nor a view of namespace + name."""
        ...

    def beside(self, identifier: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Namespace + name of tables that may have been meant; all, or those of few requests."""
        ...

    def set_properties(
        self, identifier: tuple[str, ...], updates: Mapping[str, str | None]
    ) -> None:
        """Set properties of the table; None removes one."""
        ...

    def loaded(self, identifier: tuple[str, ...]) -> Table | None:
        """PyIceberg's own table, to be written to; None where there is none.

        CatalogReadOnlyError where PyIceberg doesn't know the catalog.
        """
        ...

    def check_changes(self, identifier: tuple[str, ...]) -> None:
        """CatalogReadOnlyError where statistics of a catalog of that kind can't be changed."""
        ...

    def change_statistics(self, identifier: tuple[str, ...], change: StatisticsChange) -> None:
        """Name another file of statistics in the table's metadata, or none."""
        ...


def unavailable(settings: CatalogSettings, error: Exception) -> CatalogError:
    """The error for a catalog that doesn't answer."""
    said = redacted(str(error), settings.properties)
    return CatalogError(f"the catalog {settings.name} can't be read: {said}", hint=_HINT)


@contextmanager
def asked(settings: CatalogSettings) -> Iterator[None]:
    """CatalogError for whatever asking the catalog raises."""
    try:
        with read_errors(f"the catalog {settings.name}", _HINT, settings.properties):
            yield
    except CatalogError as error:
        why = why_unreachable(error.__cause__)
        if why is None:
            raise
        where = settings.properties.get("uri", "its address")
        said = f"the catalog {settings.name} at {where} can't be reached: {why}"
        hint = "check catalog_uri, and credential or token in catalog_properties"
        raise CatalogUnreachableError(redacted(said, settings.properties), hint=hint) from error


def _is_view(row: Mapping[str, Any]) -> bool:
    """Returns whether a row of a SQL catalog is a view's; version 0 has tables alone."""
    return row.get("iceberg_type") == "VIEW"


def refused(
    settings: CatalogSettings, identifier: tuple[str, ...], error: BaseException
) -> CatalogReadOnlyError:
    """The error for a change that the catalog or the warehouse doesn't take."""
    said = redacted(str(error), settings.properties)
    return CatalogReadOnlyError(
        f"the metadata of {'.'.join((settings.name, *identifier))} can't be changed: {said}",
        hint="use a catalog and a warehouse that this process may write to",
    )


class PyIcebergCatalog:
    """Any catalog that PyIceberg knows: PostgreSQL and MySQL, REST, Hive, Glue."""

    def __init__(self, settings: CatalogSettings) -> None:
        self._settings = settings
        self._catalog: Catalog | None = None
        self._lock = threading.Lock()
        self._opened = threading.local()

    def pointer(
        self,
        identifier: tuple[str, ...],
        moment: object = None,  # noqa: ARG002 - the Protocol's
    ) -> Pointer | None:
        """The newest metadata of namespace + name, or None where it isn't a table."""
        if len(identifier) < 2:
            return None
        with asked(self._settings):
            try:
                table = self._open().load_table(identifier)
            except (NoSuchTableError, NoSuchNamespaceError):
                return None
            except REFUSALS:
                refused = self._refused(identifier)
                if refused is None:
                    raise
                return refused
        return Pointer(table.metadata_location, table.io.properties, table.metadata)

    def _refused(self, identifier: tuple[str, ...]) -> Pointer | None:
        """The newest metadata of a table that PyIceberg has just refused; None if it isn't told.

        Every catalog but a REST one has opened the metadata file for this thread last.
        """
        catalog = self._open()
        if self._settings.type == "rest":
            from accelerator.iceberg.catalogs.rest import raw_table

            found = raw_table(catalog, identifier, self._settings.properties)
            if found is None:
                return None
            table, content = found
            return Pointer(table.location, table.properties, content=content)
        if self._settings.type == "sql":
            row = self._row(identifier, is_view=False)
            location = None if row is None else row["metadata_location"]
        else:
            location = getattr(self._opened, "location", None)
        return None if location is None else Pointer(location, self._settings.properties)

    def view(
        self,
        identifier: tuple[str, ...],
        moment: object = None,  # noqa: ARG002 - the Protocol's
    ) -> ViewPointer | None:
        """The newest metadata of namespace + name, or None where the catalog gives no such view."""
        if len(identifier) < 2:
            return None
        with asked(self._settings):
            try:
                view = self._open().load_view(identifier)
            except (NoSuchViewError, NoSuchNamespaceError, NotImplementedError):
                return None
            except ValidationError:  # it has what PyIceberg doesn't know
                return None
        name = f"{view.metadata.view_uuid}/{view.metadata.current_version_id}"
        return ViewPointer(name, self._settings.properties, view.metadata)

    def tables(self) -> Iterator[tuple[str, ...]]:
        """Namespace + name of each Iceberg table."""
        found: list[tuple[str, ...]] = []
        with asked(self._settings):
            for namespace in self.namespaces():
                found += sorted(self._open().list_tables(namespace))
        return iter(found)

    def views(self) -> Iterator[tuple[str, ...]]:
        """Namespace + name of each view, where the catalog lists them."""
        found: list[tuple[str, ...]] = []
        with asked(self._settings):
            try:
                for namespace in self.namespaces():
                    found += sorted(self._open().list_views(namespace))
            except NotImplementedError:
                return iter(())
        return iter(found)

    def entries(self) -> Iterator[tuple[tuple[str, ...], bool]]:
        """Namespace + name of each table and view, and whether it's a view."""
        if self._settings.type == "sql":
            rows = self._rows(ENTRIES, {"catalog": self._settings.name})
            return (
                ((*row["table_namespace"].split("."), row["table_name"]), _is_view(row))
                for row in rows
            )
        found = [(one, False) for one in self.tables()]
        return iter([*found, *((one, True) for one in self.views())])

    def located(self, identifier: tuple[str, ...], *, is_view: bool) -> MetadataLocation | None:
        """The newest metadata file of namespace + name; None if it's gone."""
        if self._settings.type == "sql":
            row = self._row(identifier, is_view=is_view)
            location = None if row is None else row["metadata_location"]
            return MetadataLocation(location, self._settings.properties) if location else None
        if self._settings.type == "rest" and is_view:
            from accelerator.iceberg.catalogs.rest import located_view

            with asked(self._settings):
                return located_view(self._open(), identifier)
        pointer = None if is_view else self.pointer(identifier)
        return None if pointer is None else MetadataLocation(pointer.location, pointer.properties)

    def _row(self, identifier: tuple[str, ...], *, is_view: bool) -> Mapping[str, Any] | None:
        """The row of a table or view in a SQL catalog's database; None if it has none."""
        name = {"namespace": ".".join(identifier[:-1]), "name": identifier[-1]}
        rows = self._rows(ENTRY, {"catalog": self._settings.name, **name})
        return next((row for row in rows if _is_view(row) == is_view), None)

    def _rows(self, text: str, values: Mapping[str, str]) -> list[Mapping[str, Any]]:
        """Reads rows of a SQL catalog's database."""
        from pyiceberg.catalog.sql import SqlCatalog
        from sqlalchemy import text as statement

        with asked(self._settings):
            catalog = self._open()
            assert isinstance(catalog, SqlCatalog)
            with catalog.engine.connect() as connection:
                return [dict(row) for row in connection.execute(statement(text), values).mappings()]

    def catalogs_of_database(self) -> list[str]:
        """The names of catalogs with tables in a SQL catalog's database; none of other types."""
        if self._settings.type != "sql":
            return []
        return sorted(row["catalog_name"] for row in self._rows(_CATALOGS, {}))

    def namespaces(self) -> Iterator[tuple[str, ...]]:
        """Each namespace, and those within it behind it."""
        found: list[tuple[str, ...]] = []
        with asked(self._settings):
            catalog = self._open()
            waiting = list(catalog.list_namespaces())
            while waiting:
                found.append(parent := waiting.pop(0))
                # A server that ignores which parent was asked for answers with all of them.
                inner = catalog.list_namespaces(parent)
                waiting.extend(one for one in inner if len(one) > len(parent))
        return iter(found)

    def within(self, namespace: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
        """The name of each table and view of one namespace, and whether it's a view."""
        found: list[tuple[str, bool]] = []
        with asked(self._settings):
            catalog = self._open()
            for is_view, listed in ((False, catalog.list_tables), (True, catalog.list_views)):
                with suppress(NoSuchNamespaceError, NotImplementedError):
                    found += sorted((one[-1], is_view) for one in listed(namespace))
        return iter(found)

    def is_absent(self, identifier: tuple[str, ...]) -> bool:
        """Whether the catalog has surely neither a table nor a view of namespace + name.

        Of REST catalogs alone: what other clients find under a name isn't always what Spark does.
        """
        if self._settings.type != "rest":
            return False
        if len(identifier) < 2:  # no table is without a namespace
            return not self.has_default
        with asked(self._settings):
            try:
                self._open().load_table(identifier)
            except (NoSuchTableError, NoSuchNamespaceError):
                pass
            else:
                return False
            try:
                self._open().load_view(identifier)
            except (NoSuchViewError, NoSuchNamespaceError):
                return True
            except (NotImplementedError, ValidationError):
                return False
        return False

    @property
    def has_default(self) -> bool:
        """Whether to Spark a bare name is in a namespace that the catalog's properties name."""
        return "default-namespace" in self._settings.properties

    def beside(self, identifier: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Those of its namespace, else of the namespaces whose names are nearest."""
        namespace = identifier[:-1]
        with asked(self._settings):
            catalog = self._open()
            try:
                found = list(catalog.list_tables(namespace)) if namespace else []
            except NoSuchNamespaceError:
                found = []
            if not found:
                known = {".".join(one): one for one in catalog.list_namespaces()}
                near = closest(".".join(namespace), known)
                found = [name for one in near for name in catalog.list_tables(known[one])]
        return iter(found)

    def set_properties(
        self, identifier: tuple[str, ...], updates: Mapping[str, str | None]
    ) -> None:
        """Set properties of the table; None removes one."""
        if self._settings.type == "sql":
            edit = with_properties(updates)
            self._change(identifier, lambda: self._commit_sql(identifier, edit))
        else:
            self._change(identifier, lambda: self._commit(identifier, updates))

    def check_changes(self, identifier: tuple[str, ...]) -> None:
        """Whether this process may, only a change tells."""

    def change_statistics(self, identifier: tuple[str, ...], change: StatisticsChange) -> None:
        """Name another file of statistics in the table's metadata, or none.

        StatisticsError where the table, or the snapshot, is gone. CommitUnknownError where nobody
        says whether it was done; after every other error it wasn't.
        """
        if self._settings.type == "sql":
            self._change(identifier, lambda: self._commit_sql(identifier, change.edit))
        else:
            self._change(identifier, lambda: self._commit_statistics(identifier, change))

    def _change(self, identifier: tuple[str, ...], commit: Callable[[], None]) -> None:
        """Commits, again while others are first; CatalogError where it can't be."""
        for tries_left in reversed(range(COMMIT_TRIES)):
            try:
                commit()
                break
            except CommitFailedException as error:
                if not tries_left:
                    raise refused(self._settings, identifier, error) from error
            except CommitStateUnknownException as error:
                raise CommitUnknownError(
                    redacted(
                        f"whether {'.'.join((self._settings.name, *identifier))} was changed isn't"
                        f" known: {error}",
                        self._settings.properties,
                    ),
                    hint=_HINT,
                ) from error
            except self._failures() as error:
                raise refused(self._settings, identifier, error) from error

    def loaded(self, identifier: tuple[str, ...]) -> Table | None:
        """PyIceberg's own table, to be written to; None where there is none."""
        if len(identifier) < 2:
            return None
        with asked(self._settings):
            try:
                return self._open().load_table(identifier)
            except (NoSuchTableError, NoSuchNamespaceError):
                return None

    def _commit(self, identifier: tuple[str, ...], updates: Mapping[str, str | None]) -> None:
        table = self._open().load_table(identifier)
        removed = [key for key, value in updates.items() if value is None]
        kept = {key: value for key, value in updates.items() if value is not None}
        with table.transaction() as transaction:
            if kept:
                transaction.set_properties(kept)
            if removed:
                transaction.remove_properties(*removed)

    def _commit_statistics(self, identifier: tuple[str, ...], change: StatisticsChange) -> None:
        catalog = self._open()
        try:
            table = catalog.load_table(identifier)
        except (NoSuchTableError, NoSuchNamespaceError) as error:
            raise CommitFailedException(f"{'.'.join(identifier)} is gone") from error
        requirements, updates = change.updates(table.metadata)
        if not updates:
            return
        try:
            catalog.commit_table(table, requirements, updates)
        except (CommitFailedException, CommitStateUnknownException, *_REFUSALS):
            raise
        except failures() as error:  # the answer is lost, or isn't one that PyIceberg knows
            raise CommitStateUnknownException(str(error)) from error

    def _commit_sql(self, identifier: tuple[str, ...], edit: Edit) -> None:
        """A SQL catalog leaves the metadata file to its client: write it, then swap the pointer."""
        pointer = self.pointer(identifier)
        if pointer is None:
            raise CommitFailedException(f"{'.'.join(identifier)} is gone")
        successor = write_edited(pointer.location, pointer.properties, edit)
        try:
            swapped = self._swap(identifier, pointer.location, successor)
        except CommitStateUnknownException:
            raise
        except self._failures():
            remove(successor, pointer.properties)
            raise
        # After anything else, Ctrl-C say, the pointer may name the file: it stays, as an orphan.
        if not swapped:
            remove(successor, pointer.properties)
            raise CommitFailedException("others kept committing first")

    def _swap(self, identifier: tuple[str, ...], old: str, new: str) -> bool:
        """Move the pointer from one metadata file to the next; False where it had moved.

        CommitStateUnknownException where it may have been moved; after other failures it wasn't.
        """
        from pyiceberg.catalog.sql import SqlCatalog
        from sqlalchemy import text

        catalog = self._open()
        assert isinstance(catalog, SqlCatalog)
        values = {"old": old, "new": new, "catalog": self._settings.name}
        values |= {"namespace": ".".join(identifier[:-1]), "name": identifier[-1]}
        with catalog.engine.connect() as connection:
            moved = bool(connection.execute(text(SWAP), values).rowcount == 1)
            try:
                connection.commit()
            except self._failures() as error:  # the answer may be what was lost
                raise CommitStateUnknownException(str(error)) from error
        return moved

    def _open(self) -> Catalog:
        from pyiceberg.catalog import load_catalog  # slow to import, and rarely needed

        with self._lock:
            if self._catalog is None:
                properties = {"type": self._settings.type, **self._settings.properties}
                if self._settings.type == "rest" and "py-catalog-impl" not in properties:
                    from accelerator.iceberg.catalogs.rest import rest_catalog

                    self._catalog = rest_catalog(self._settings.name, properties)
                else:
                    self._catalog = load_catalog(self._settings.name, **properties)
                is_rest = self._settings.type == "rest"
                _reads_by_its_own(self._catalog, self._opened, is_rest=is_rest)
            return self._catalog

    def _failures(self) -> tuple[type[BaseException], ...]:
        """What a catalog raises when it can't be reached or refuses."""
        return failures()


def _reads_by_its_own(catalog: Catalog, opened: threading.local, *, is_rest: bool) -> None:
    """Tables' files are read and written by what the catalog's own properties say.

    PyIceberg puts a table's over them: whoever writes a table could name a class that is imported,
    or an address that gets our requests. A REST catalog's answer may have credentials for the
    table, so that there only the class is left out. `opened.location` is what a thread has opened.
    """
    kept = catalog._load_file_io

    def load(properties: Mapping[str, str] = MappingProxyType({}), location: Any = None) -> FileIO:
        given = {key: properties[key] for key in properties if key != PY_IO_IMPL and is_rest}
        opened.location = location
        return kept(given, location)

    setattr(catalog, "_load_file_io", load)  # noqa: B010 - mypy lets nobody assign a method


class JvmCatalog:
    """A catalog that only the JVM knows (hadoop, Spark's session catalog): it gives pointers."""

    def __init__(self, settings: CatalogSettings, located: JvmLocated | None) -> None:
        self._settings = settings
        self._located = located

    def pointer(
        self,
        identifier: tuple[str, ...],
        moment: object = None,  # noqa: ARG002 - the Protocol's
    ) -> Pointer | None:
        """The newest metadata of namespace + name, or None where it isn't a table."""
        found = self._located((self._settings.name, *identifier)) if self._located else None
        if found is None:
            return None
        location, uuid = found
        return Pointer(location, self._settings.properties, uuid=uuid)

    def view(
        self,
        identifier: tuple[str, ...],  # noqa: ARG002 - the Protocol's
        moment: object = None,  # noqa: ARG002
    ) -> ViewPointer | None:
        """None: what a view is isn't asked of the JVM."""
        return None

    def tables(self) -> Iterator[tuple[str, ...]]:
        """Namespace + name of each Iceberg table."""
        return iter(())  # only Spark can list them

    def views(self) -> Iterator[tuple[str, ...]]:
        """None, as of tables."""
        return iter(())

    def entries(self) -> Iterator[tuple[tuple[str, ...], bool]]:
        """None, as of tables: `Procedures.tables` lists them."""
        return iter(())

    def located(self, identifier: tuple[str, ...], *, is_view: bool) -> MetadataLocation | None:
        """The newest metadata file of namespace + name, by the JVM; None if it's gone."""
        pointer = None if is_view else self.pointer(identifier)
        return None if pointer is None else MetadataLocation(pointer.location, pointer.properties)

    def namespaces(self) -> Iterator[tuple[str, ...]]:
        """None, as of tables."""
        return iter(())

    def within(
        self,
        namespace: tuple[str, ...],  # noqa: ARG002 - the Protocol's
    ) -> Iterator[tuple[str, bool]]:
        """None, as of all."""
        return iter(())

    def is_absent(self, identifier: tuple[str, ...]) -> bool:  # noqa: ARG002 - the Protocol's
        """False: only Spark knows."""
        return False

    def beside(
        self,
        identifier: tuple[str, ...],  # noqa: ARG002 - the Protocol's
    ) -> Iterator[tuple[str, ...]]:
        """None that are known."""
        return iter(())

    def set_properties(
        self,
        identifier: tuple[str, ...],
        updates: Mapping[str, str | None],  # noqa: ARG002 - the Protocol's
    ) -> None:
        """Set properties of the table; None removes one."""
        name = ".".join((self._settings.name, *identifier))
        raise CatalogReadOnlyError(
            f"the properties of {name} can't be changed from here",
            hint=f"PyIceberg doesn't know this sort of catalog; use ALTER TABLE {name} SET"
            " TBLPROPERTIES in Spark",
        )

    def loaded(self, identifier: tuple[str, ...]) -> Table | None:
        """Nothing is written by the JVM from here."""
        name = ".".join((self._settings.name, *identifier))
        raise CatalogReadOnlyError(
            f"nothing can be appended to {name} from here",
            hint="PyIceberg doesn't know this sort of catalog; append by Spark: INSERT INTO",
        )

    def check_changes(self, identifier: tuple[str, ...]) -> None:
        """CatalogReadOnlyError."""
        name = ".".join((self._settings.name, *identifier))
        raise CatalogReadOnlyError(
            f"the statistics of {name} can't be changed from here",
            hint="PyIceberg doesn't know this sort of catalog; Iceberg's own procedure"
            " compute_table_stats makes statistics in Spark",
        )

    def change_statistics(
        self,
        identifier: tuple[str, ...],
        change: StatisticsChange,  # noqa: ARG002 - the Protocol's
    ) -> None:
        """CatalogReadOnlyError."""
        self.check_changes(identifier)
