"""What clients ask of catalogs, answered from what catalogs and tables' metadata say.

Promises: nothing is told of what the user may not see, and what isn't seen isn't told apart from
what isn't there; a question about one table reads the metadata of that one alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import pyarrow as pa

from accelerator.errors import AcceleratorError, UnknownSchemaError, UnknownTableError
from accelerator.gateway.catalog import metadata_tables, show_create
from accelerator.gateway.catalog.gateway_facts import GatewayFacts
from accelerator.gateway.catalog.listing import (
    CheckRead,
    ListedColumn,
    Listing,
    MaySee,
    Relation,
    nobody,
)
from accelerator.gateway.catalog.predicate import like
from accelerator.gateway.catalog.query import Engine, Watch, virtual_query
from accelerator.gateway.catalog.rows import VirtualRows, arrow_rows
from accelerator.gateway.catalog.schemas import SYSTEM, is_virtual
from accelerator.gateway.catalog.show_functions import functions
from accelerator.gateway.trino.requests import nodes
from accelerator.iceberg import Lake, PinnedTable
from accelerator.services.statistics import metadata_statistics
from rewrite.client import ClientContext
from rewrite.dialects.qualify_names import check_name, checked_catalog, full_name
from rewrite.errors import (
    MissingSchemaError,
    StatementError,
    StatementTooDeepError,
    UntranslatedError,
)
from rewrite.identifiers.qualified_name import joined
from rewrite.parse.bounds import HINT
from rewrite.text.printable import one_line
from rewrite.text.suggestions import closest, did_you_mean

_NOTHING = GatewayFacts()
_ORDERED = ("tinyint", "smallint", "integer", "bigint", "real", "double", "date")
_STATS = ("data_size", "distinct_values_count", "nulls_fraction", "row_count")
_Full = tuple[str, str, str]


class Metadata:
    """Of one lake; threads may share it. `version` is what `version()` tells clients."""

    def __init__(self, lake: Lake, *, version: str = "") -> None:
        self._lake, self._version = lake, version
        self._engine = Engine()

    def answer(
        self,
        request: nodes.Request,
        client: nodes.ClientSession,
        may_see: MaySee,
        given: GatewayFacts = _NOTHING,
        check_read: CheckRead = nobody,
        watch: Watch = nullcontext,
    ) -> pa.Table | None:
        """The answer to a SHOW, or to a query of virtual tables; None for any other statement.

        `check_read` raises AccessDeniedError for tables and views that the user may not read: of
        these nothing but their names is listed.
        Within `watch` a query's connection may be interrupted, which raises CancelledError.
        Columns are named as Trino names them. UnknownCatalogError, UnknownSchemaError and
        UnknownTableError for what isn't there or isn't seen, MissingCatalogError and
        MissingSchemaError for names that the client doesn't complete, UntranslatedError for what
        isn't answered, StatementError for what is wrong, CatalogError where one can't be read.
        """
        listing = Listing(self._lake, may_see, check_read)
        source = VirtualRows(listing, given, client.user)
        if isinstance(request, nodes.RunStatement):
            return self._queried(request.sql, client, source, watch)
        rule = _SHOWN.get(type(request))
        return None if rule is None else rule(_ShowAnswers(source, client), request)

    def exists(self, catalog: str, schema: str, may_see: MaySee | None = None) -> bool:
        """Whether there is such a schema, as far as is seen, for USE."""
        listing = Listing(self._lake, may_see or _everything)
        return catalog in listing.catalogs() and listing.has_schema(catalog, schema)

    def close(self) -> None:
        """Frees what answers queries."""
        self._engine.close()

    def _queried(
        self, sql: str, client: nodes.ClientSession, source: VirtualRows, watch: Watch
    ) -> pa.Table | None:
        asking = ClientContext(
            catalog=client.catalog,
            schema=client.schema,
            user=client.user,
            time_zone=client.time_zone or "UTC",
            version=self._version,
        )
        catalogs = [one for one in source.listing.catalogs() if one != SYSTEM]
        try:
            query = virtual_query(sql, asking, catalogs)
            return None if query is None else self._engine.run(query, source, watch)
        except RecursionError as error:
            raise StatementTooDeepError("the query is nested too deeply", hint=HINT) from error


def _everything(catalog: str, schema: str | None, table: str | None) -> bool:  # noqa: ARG001
    return True


class _ShowAnswers:
    """What one SHOW is answered from."""

    def __init__(self, source: VirtualRows, client: nodes.ClientSession) -> None:
        self.source, self.listing, self.given = source, source.listing, source.given
        self._client = ClientContext(catalog=client.catalog, schema=client.schema)

    def catalogs(self, request: nodes.TrinoShowCatalogs) -> pa.Table:
        return _texts("Catalog", self.listing.catalogs(), request)

    def schemas(self, request: nodes.ShowSchemas) -> pa.Table:
        catalog = self._catalog(request.catalog)
        return _texts("Schema", self.listing.schemas(catalog), request)

    def tables(self, request: nodes.ShowTables) -> pa.Table:
        catalog, schema = self._schema(request.schema or ())
        names = [one.name for one in self.listing.relations(catalog, schema)]
        return _texts("Table", names, request)

    def columns(self, request: nodes.TrinoShowColumns) -> pa.Table:
        found, fits = self._described(request.table), _fitting(request)
        rows = [(one.name, one.type, "", one.comment or "") for one in found if fits(one.name)]
        return _table(("Column", "Type", "Extra", "Comment"), rows)

    def create(self, request: nodes.TrinoShowCreate) -> pa.Table:
        if request.what == "SCHEMA":
            sql = show_create.create_schema(*self._schema(request.name))
            return _table(("Create Schema",), [(sql,)])
        full = self._full(request.name)
        if request.what == "VIEW":
            return _table(("Create View",), [(self._view(full),)])
        pinned = self._pinned(full, "SHOW CREATE TABLE")
        sql = show_create.create_table(full, self.listing.columns(*full), pinned)
        return _table(("Create Table",), [(sql,)])

    def stats(self, request: nodes.ShowStats) -> pa.Table:
        pinned = self._pinned(self._full(request.table), "SHOW STATS")
        types = {one.name: one.type for one in self.listing.columns(*pinned_name(pinned))}
        told = metadata_statistics.shown(pinned)
        rows = [_statistics(one, types.get(str(one["column"]), "")) for one in told]
        count = told[0]["rows"] if told else pinned.sizes().rows
        rows.append((None, None, None, None, None if count is None else float(count), None, None))
        schema = pa.schema(
            [
                ("column_name", pa.string()),
                *((name, pa.float64()) for name in _STATS),
                ("low_value", pa.string()),
                ("high_value", pa.string()),
            ]
        )
        return arrow_rows(schema, rows)

    def functions(self, request: nodes.TrinoShowFunctions) -> pa.Table:
        fits = _fitting(request)
        names = ("Function", "Return Type", "Argument Types", "Function Type")
        schema = pa.schema(
            [
                *((one, pa.string()) for one in names),
                ("Deterministic", pa.bool_()),
                ("Description", pa.string()),
            ]
        )
        return arrow_rows(schema, [one for one in functions() if fits(one[0])])

    def session(self, request: nodes.ShowSession) -> pa.Table:
        fits = _fitting(request)
        rows = [one for one in self.given.properties if fits(one[0])]
        return _table(("Name", "Value", "Default", "Type", "Description"), rows)

    def roles(self, request: nodes.ShowRoles) -> pa.Table:
        if request.what == "GRANTS":
            return _table(
                (
                    *("Grantor", "Grantor Type", "Grantee", "Grantee Type", "Catalog", "Schema"),
                    *("Table", "Privilege", "Grantable", "With Hierarchy"),
                ),
                [],
            )
        given = self.given
        named = {"ROLES": given.roles, "CURRENT ROLES": given.enabled_roles}.get(
            request.what, given.own_roles
        )
        title = "Role Grants" if request.what == "ROLE GRANTS" else "Role"
        return _table((title,), [(one,) for one in sorted(named)])

    def _catalog(self, name: str | None) -> str:
        given = name if name is not None else self._client.catalog
        return checked_catalog(given, self.listing.catalogs())

    def _schema(self, parts: nodes.Name) -> tuple[str, str]:
        """Catalog and schema that a schema's name means; UnknownSchemaError where there is none."""
        if len(parts) > 2:
            raise StatementError(
                f"{one_line(joined(parts))} isn't a schema's name", hint="write catalog.schema"
            )
        schema = parts[-1] if parts else self._client.schema
        if schema is None:
            raise MissingSchemaError(
                "no schema is said, nor set in the session",
                hint="write SHOW TABLES FROM schema, or set a schema (USE)",
            )
        catalog = self._catalog(parts[0] if len(parts) == 2 else None)
        if not self.listing.has_schema(catalog, schema):
            near = closest(schema, self.listing.schemas(catalog))
            raise UnknownSchemaError(
                f"there is no schema {one_line(joined((catalog, schema)))}",
                hint=did_you_mean(near) or f"SHOW SCHEMAS FROM {catalog} lists them",
                suggestions=near,
                unknown=schema,
            )
        return catalog, schema

    def _full(self, parts: nodes.Name) -> _Full:
        full = full_name(parts, self._client, self.listing.catalogs())
        check_name(full)
        return full

    def _described(self, name: nodes.Name) -> tuple[ListedColumn, ...]:
        """The columns of a relation, or of a table of metadata behind a table's name."""
        parts = metadata_tables.parts_of(name[-1])
        if parts is not None:
            own, kind = parts
            pinned = self.source.read(self._full((*name[:-1], own)))
            found = metadata_tables.described(kind, pinned)
            return tuple(ListedColumn(*one) for one in found.columns.items())
        full = self._full(name)
        self._relation(full)
        return self.listing.columns(*full)

    def _pinned(self, full: _Full, what: str) -> PinnedTable:
        """The table of the lake; another relation is refused for what is asked."""
        relation = self._relation(full)
        pinned = self.listing.table(*full)
        if pinned is not None:
            return pinned
        if relation.is_view and what == "SHOW CREATE TABLE":
            raise _other_sort(full, "a view, not a table", "SHOW CREATE VIEW shows a view")
        sort = "a view" if relation.is_view else "a table of metadata"
        raise UntranslatedError(
            f"{what} isn't answered for {one_line(joined(full))}: it's {sort}",
            hint="SHOW CREATE VIEW shows a view" if relation.is_view else "SHOW COLUMNS has more",
        )

    def _view(self, full: _Full) -> str:
        relation = self._relation(full)
        view = self.listing.view(*full) if relation.is_view else None
        if not relation.is_view:
            raise _other_sort(full, "a table, not a view", "SHOW CREATE TABLE shows a table")
        if view is None:
            raise UntranslatedError(
                f"SHOW CREATE VIEW isn't answered for {one_line(joined(full))}:"
                " its SELECT can't be read here",
                hint="Spark shows it",
            )
        return show_create.create_view(full, view.sql)

    def _relation(self, full: _Full) -> Relation:
        """The relation of that name; one that the user may not read is as one that isn't there."""
        relation = None
        if is_virtual(*full[:2]) or self.listing.reads(*full):
            relation = self.listing.relation(*full)
        if relation is None:
            raise self._unknown(full)
        return relation

    def _unknown(self, full: _Full) -> AcceleratorError:
        """The error for a table, or first for its schema, that isn't there or isn't the user's."""
        catalog, schema, name = full
        if not is_virtual(catalog, schema) and not self.listing.has_schema(catalog, schema):
            return UnknownSchemaError(
                f"there is no schema {one_line(joined((catalog, schema)))}",
                hint=f"SHOW SCHEMAS FROM {catalog} lists them",
                unknown=schema,
            )
        known = (one.name for one in self.listing.relations(catalog, schema))
        near = closest(name, (one for one in known if one != name))
        return UnknownTableError(
            f"there is no table {one_line(joined(full))}",
            hint=did_you_mean(near) or "SHOW TABLES lists those of a schema",
            suggestions=near,
            unknown=joined(full),
        )


def _other_sort(full: _Full, sort: str, hint: str) -> UntranslatedError:
    """What Trino says where SHOW CREATE names the other sort of relation."""
    return UntranslatedError(f"Relation '{one_line('.'.join(full))}' is {sort}", hint=hint)


def pinned_name(pinned: PinnedTable) -> _Full:
    """Catalog, schema and name of a table."""
    catalog, schema, name = pinned.parts
    return catalog, schema, name


_Rule = Callable[[_ShowAnswers, Any], pa.Table]
_SHOWN: Mapping[type, _Rule] = {
    nodes.TrinoShowCatalogs: _ShowAnswers.catalogs,
    nodes.ShowSchemas: _ShowAnswers.schemas,
    nodes.ShowTables: _ShowAnswers.tables,
    nodes.TrinoShowColumns: _ShowAnswers.columns,
    nodes.TrinoShowCreate: _ShowAnswers.create,
    nodes.ShowStats: _ShowAnswers.stats,
    nodes.TrinoShowFunctions: _ShowAnswers.functions,
    nodes.ShowSession: _ShowAnswers.session,
    nodes.ShowRoles: _ShowAnswers.roles,
}


def _statistics(one: Mapping[str, Any], type_: str) -> tuple[Any, ...]:
    """A column's row of SHOW STATS; what is a bound alone isn't told as a number."""
    rows, nulls = one["rows"], one["nulls"] if one["nulls_exact"] else None
    fraction = nulls / rows if rows and nulls is not None and one["rows_exact"] else None
    distinct = one["distinct_values"]
    ordered = type_ in _ORDERED or type_.startswith(("decimal(", "timestamp("))
    least, greatest = (one["min"], one["max"]) if ordered else (None, None)
    counted = None if distinct is None else float(distinct)
    return one["column"], None, counted, fraction, None, least, greatest


_Patterned = (
    nodes.TrinoShowFunctions
    | nodes.ShowSession
    | nodes.TrinoShowCatalogs
    | nodes.ShowSchemas
    | nodes.ShowTables
    | nodes.TrinoShowColumns
)


def _fitting(request: _Patterned) -> Callable[[str], bool]:
    return (lambda _: True) if request.like is None else like(request.like, request.escape)


def _texts(title: str, names: Iterable[str], request: _Patterned) -> pa.Table:
    return _table((title,), [(one,) for one in filter(_fitting(request), sorted(names))])


def _table(titles: Sequence[str], rows: Sequence[Sequence[Any]]) -> pa.Table:
    return arrow_rows(pa.schema([(one, pa.string()) for one in titles]), rows)
