"""Names as Spark writes them in answers and errors, and where a name leads in a session."""

from __future__ import annotations

from accelerator.engines.session_settings import SessionContext
from accelerator.errors import AcceleratorError, UnknownSchemaError
from accelerator.iceberg import Lake
from accelerator.iceberg.catalogs.readers import PyIcebergCatalog
from accelerator.iceberg.catalogs.rest_reader import RestCatalog
from accelerator.iceberg.catalogs.sqlite import SqliteCatalog
from accelerator.query.catalog_statements import nodes
from accelerator.query.catalog_statements.nodes import Name
from accelerator.query.catalog_statements.parse import parse
from accelerator.query.early_errors.check import sparks_too
from rewrite.identifiers.quoting import quoted, quoted_if_needed
from rewrite.reason import CATALOG_NEEDS_SPARK as NEEDS_SPARK
from rewrite.reason import DeclinedError
from rewrite.text.printable import one_line
from rewrite.text.suggestions import closest, did_you_mean

_SPARKS = ("spark_catalog", "system", "session", "pruned", "global_temp", "builtin")
"""First parts of names that lead elsewhere than to a catalog of the session."""
_VERSION = "jdbc.schema-version"
_LISTED = ("sql", "rest")
"""Sorts of catalogs whose namespaces Spark and PyIceberg list alike."""


def is_sparks_own(parts: Name) -> bool:
    """Returns whether the name may lead to what Spark has beside the session's catalogs."""
    return len(parts) > 1 and parts[0].lower() in _SPARKS


class SessionNames:
    """Resolves names by the session's state at one moment."""

    def __init__(self, lake: Lake, context: SessionContext) -> None:
        self.lake, self.context = lake, context
        self._types = {one.name: one.type for one in lake.settings}
        self._warehouses = {one.name: one.properties.get("warehouse", "") for one in lake.settings}
        self._versions = {one.name: one.properties.get(_VERSION, "") for one in lake.settings}
        self._known: dict[str, list[Name]] = {}

    @property
    def catalog(self) -> str:
        """The current catalog."""
        return self.context.catalog()

    @property
    def namespace(self) -> Name:
        """The current namespace."""
        return self.context.namespace()

    def place(self, parts: Name) -> tuple[str, Name]:
        """The catalog and the namespace that a namespace's name means."""
        if parts and parts[0].lower() in _SPARKS:
            raise DeclinedError(NEEDS_SPARK, f"{parts[0]} is Spark's own.")
        if parts and parts[0] in self.lake.catalogs:
            return parts[0], parts[1:]
        return self.catalog, parts

    def reader(self, catalog: str) -> PyIcebergCatalog:
        """The catalog; DeclinedError if Spark may find other namespaces or defaults in it."""
        reader = self.lake.catalogs.get(catalog)
        if not isinstance(reader, PyIcebergCatalog) or self._types[catalog] not in _LISTED:
            raise DeclinedError(NEEDS_SPARK, f"Here: {one_line(catalog)}.")
        if reader.has_default:
            raise DeclinedError(NEEDS_SPARK, f"{one_line(catalog)} sets default-namespace.")
        return reader

    def lists_views(self, catalog: str) -> bool:
        """Decides whether Spark's client lists the catalog's views: JDBC's needs a setting."""
        return self._types[catalog] == "rest" or self._versions[catalog] == "V1"

    def below(self, catalog: str, parent: Name) -> list[Name]:
        """The namespaces right below one, or at the top of the catalog."""
        reader = self.reader(catalog)
        if isinstance(reader, RestCatalog):
            return reader.below(parent)
        length = len(parent)
        every = [one for one in self._namespaces(catalog) if len(one) > length]
        return list(dict.fromkeys(one[: length + 1] for one in every if one[:length] == parent))

    def _namespaces(self, catalog: str) -> list[Name]:
        """Each namespace: those with tables or views first, as Spark's JDBC catalog has them."""
        if catalog not in self._known:
            reader = self.reader(catalog)
            filled = sorted({name[:-1] for name, _ in reader.entries()}, key=".".join)
            self._known[catalog] = list(dict.fromkeys([*filled, *reader.namespaces()]))
        return self._known[catalog]

    def exists(self, catalog: str, namespace: Name) -> bool:
        """Decides whether there is the namespace, or another one within it.

        DeclinedError if the letters' case alone differs: databases compare names in several ways.
        """
        length = len(namespace)
        if any("." in part for part in namespace):
            raise DeclinedError(NEEDS_SPARK, "A part of the name has a dot in it.")
        reader = self.reader(catalog)
        if isinstance(reader, RestCatalog):
            return reader.has_namespace(namespace)
        every = [one[:length] for one in self._namespaces(catalog)]
        if namespace in every:
            return True
        lowered = tuple(part.lower() for part in namespace)
        if any(tuple(part.lower() for part in one) == lowered for one in every):
            raise DeclinedError(NEEDS_SPARK, "A namespace's name differs in its letters' case.")
        return False

    def properties(self, catalog: str, namespace: Name) -> dict[str, str]:
        """A namespace's properties, and its location by the catalog's warehouse if it has none.

        DeclinedError if only Spark knows them.
        """
        reader = self.reader(catalog)
        if not isinstance(reader, SqliteCatalog):
            raise DeclinedError(NEEDS_SPARK, "What the catalog keeps of a namespace.")
        found = reader.namespace_properties(namespace)
        warehouse = self._warehouses.get(catalog, "").rstrip("/")
        if not found and not warehouse:
            raise DeclinedError(NEEDS_SPARK, "The catalog names no warehouse.")
        return {"location": "/".join((warehouse, *namespace)), **found}

    def check(self, catalog: str, namespace: Name) -> None:
        """UnknownSchemaError if the catalog has no such namespace."""
        if not namespace or not self.exists(catalog, namespace):
            raise self.unknown(catalog, namespace)

    def unknown(self, catalog: str, namespace: Name) -> AcceleratorError:
        """The error for a namespace that isn't there, or for none."""
        every = [quoted(one) for one in self.below(catalog, ())]
        kind = sparks_too(UnknownSchemaError, "SCHEMA_NOT_FOUND")
        if not namespace:
            some = f": {', '.join(every[:5])}" if every else ""
            return kind(
                f"no namespace is set, and {one_line(catalog)} has nothing outside of one",
                hint=f"name one (IN …), or set one (USE …){some}",
                error_class="SCHEMA_NOT_FOUND",
            )
        near = closest(".".join(namespace), every)
        return kind(
            f"there is no namespace {one_line(quoted(namespace))} in {one_line(catalog)}",
            hint=did_you_mean(near) or f"SHOW NAMESPACES IN {quoted_if_needed(catalog)} lists them",
            error_class="SCHEMA_NOT_FOUND",
            suggestions=near,
            unknown=quoted(namespace),
        )


def no_such_namespace(sql: str, lake: Lake, context: SessionContext) -> AcceleratorError | None:
    """Returns the error for a SHOW of a namespace that Spark has just not found, or of none."""
    statement = parse(sql)
    if not isinstance(statement, (nodes.ShowNamespaces, nodes.ShowRelations)):
        return None
    names = SessionNames(lake, context)
    try:
        catalog, namespace = names.place(statement.inside)
        inside = isinstance(statement, nodes.ShowNamespaces) or statement.inside
        return names.unknown(catalog, namespace if inside else names.namespace)
    except (AcceleratorError, DeclinedError):  # Spark's own error stays
        return None
