"""The rows of virtual tables, as far as a query may need them.

A catalog that can't be asked is an error where the query is about it; where it's about all, its
rows are left out and the log says so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from msgspec import Struct

from accelerator.common.interrupts import look_up
from accelerator.errors import UnknownTableError
from accelerator.gateway.catalog.gateway_facts import GatewayFacts
from accelerator.gateway.catalog.listing import ListedColumn, Listing, Relation
from accelerator.gateway.catalog.predicate import ColumnFilter, Row
from accelerator.gateway.catalog.schemas import (
    INFORMATION_SCHEMA,
    SYSTEM,
    virtual_schemas,
)
from accelerator.gateway.catalog.trino_types import jdbc_type
from accelerator.iceberg import CatalogError, PinnedTable
from rewrite.identifiers.qualified_name import joined
from rewrite.text.printable import one_line

_log = logging.getLogger("accelerator.gateway")
_NULLABLE, _NULLABLE_UNKNOWN, _SEARCHABLE, _NOT_COMPARED = 1, 2, 3, 0
_CONNECTOR = "iceberg"
_PROBED_MAX = 16
_TYPES = (
    *("boolean", "tinyint", "smallint", "integer", "bigint", "real", "double", "decimal"),
    *("varchar", "varbinary", "date", "timestamp", "timestamp with time zone"),
    *("array", "map", "row"),
)
_OF_TYPES = {
    "decimal": "decimal(38,0)",
    "timestamp": "timestamp(6)",
    "timestamp with time zone": "timestamp(6) with time zone",
    "array": "array(",
}
"""Of types that have several forms, the one that JDBC is told of."""
TABLE_PROPERTIES = (
    ("format", "", "varchar", "File format of new data files"),
    ("format_version", "", "integer", "Version of Iceberg's table format"),
    ("location", "", "varchar", "Where the table's files are"),
    ("partitioning", "[]", "array(varchar)", "Partition transforms"),
    ("sorted_by", "[]", "array(varchar)", "Columns that new data files are sorted by"),
)
_Values = tuple[Any, ...]
T = TypeVar("T")


class VirtualRows(Struct, frozen=True):
    """What rows come from: a user's look at the lake, what the gateway has given, who asks."""

    listing: Listing
    given: GatewayFacts
    user: str

    def read(self, full: tuple[str, str, str]) -> PinnedTable:
        """The table of that full name; AccessDeniedError if the user may not read it."""
        self.listing.check_read(full)
        pinned = self.listing.table(*full)
        if pinned is None:
            raise UnknownTableError(
                f"there is no table {one_line(joined(full))}",
                hint="SHOW TABLES lists those of a schema",
                unknown=joined(full),
            )
        return pinned


def arrow_rows(schema: pa.Schema, rows: Iterable[Sequence[Any]]) -> pa.Table:
    """Rows as Arrow has them; each has a value for every column."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(one, field.type) for one, field in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def rows_of(
    full: tuple[str, str, str], source: VirtualRows, wanted: ColumnFilter
) -> Iterator[_Values]:
    """The rows of a virtual table by its full name; those that aren't wanted may be left out."""
    catalog, schema, name = full
    if schema == INFORMATION_SCHEMA:
        return _INFORMATION[name](source, wanted, catalog)
    rule = _SYSTEM.get((schema, name))
    return iter(()) if rule is None else rule(source, wanted)


# Of catalogs


def _catalogs(source: VirtualRows, wanted: ColumnFilter, column: str) -> Iterator[str]:
    for catalog in source.listing.catalogs():
        if wanted.may({column: catalog}):
            yield catalog


def _each(
    source: VirtualRows,
    wanted: ColumnFilter,
    column: str,
    rows: Callable[[str], Iterator[_Values]],
) -> Iterator[_Values]:
    """The rows of each catalog that is wanted."""
    known = [one for one in source.listing.catalogs() if one != SYSTEM]
    asked = list(_catalogs(source, wanted, column))
    is_about_all = len(known) > 1 and set(known) <= set(asked)
    for catalog in asked:
        try:
            found = list(rows(catalog))
        except CatalogError as error:
            if not is_about_all:
                raise
            _log.warning("what catalogs have is told without %s: %s", catalog, _line(error))
            continue
        yield from found


def _line(error: CatalogError) -> str:
    return one_line(error.message.splitlines()[0])


def _schemas(
    source: VirtualRows, wanted: ColumnFilter, catalog: str, row: Row, column: str
) -> Iterator[str]:
    for schema in source.listing.schemas(catalog):
        if wanted.may({**row, column: schema}):
            yield schema


class _Keys(Struct, frozen=True):
    """The columns that have a relation's catalog, schema and name."""

    catalog: str
    schema: str
    name: str


_OF_INFORMATION = _Keys("table_catalog", "table_schema", "table_name")
_OF_JDBC = _Keys("table_cat", "table_schem", "table_name")
_OF_METADATA = _Keys("catalog_name", "schema_name", "table_name")


def _relations(
    source: VirtualRows, wanted: ColumnFilter, catalog: str, keys: _Keys
) -> Iterator[tuple[str, Relation]]:
    """Schema and relation, of those that may be wanted."""
    listing, row = source.listing, {keys.catalog: catalog}
    if not wanted.may(row):
        return
    said = wanted.exactly(keys.schema)
    schemas = listing.schemas(catalog) if said is None else sorted(said)
    names = wanted.exactly(keys.name)
    for schema in schemas:
        here = {**row, keys.schema: schema}
        if not wanted.may(here):
            continue
        if names is None or len(names) > _PROBED_MAX:
            found = listing.relations(catalog, schema)
        else:
            probed = (listing.relation(catalog, schema, one) for one in sorted(names))
            found = tuple(one for one in probed if one is not None)
        for one in found:
            look_up()
            if wanted.may({**here, keys.name: one.name}):
                yield schema, one


def _read(
    source: VirtualRows,
    wanted: ColumnFilter,
    catalog: str,
    keys: _Keys,
    read: Callable[[str, str, str], T],
) -> Iterator[tuple[str, Relation, T]]:
    """Schema, relation and what is read of each that may be wanted.

    A table whose metadata can't be read is an error where it's the only one that is wanted, else
    it's left out, which the log tells.
    """
    found = list(_relations(source, wanted, catalog, keys))
    for schema, one in found:
        look_up()
        try:
            told = read(catalog, schema, one.name)
        except CatalogError as error:
            if len(found) == 1:
                raise
            _log.warning("tables are told without %s.%s: %s", schema, one.name, _line(error))
            continue
        yield schema, one, told


def _described(
    source: VirtualRows, wanted: ColumnFilter, catalog: str, keys: _Keys
) -> Iterator[tuple[str, str, int, ListedColumn]]:
    """Schema, relation, place and column of each that may be wanted."""
    for schema, one, columns in _read(source, wanted, catalog, keys, source.listing.columns):
        row = {keys.catalog: catalog, keys.schema: schema, keys.name: one.name}
        for place, column in enumerate(columns, 1):
            if wanted.may({**row, "column_name": column.name}):
                yield schema, one.name, place, column


def _schemata(source: VirtualRows, wanted: ColumnFilter, catalog: str) -> Iterator[_Values]:
    row = {"catalog_name": catalog}
    if wanted.may(row):
        for schema in _schemas(source, wanted, catalog, row, "schema_name"):
            yield catalog, schema


def _tables(source: VirtualRows, wanted: ColumnFilter, catalog: str) -> Iterator[_Values]:
    for schema, one in _relations(source, wanted, catalog, _OF_INFORMATION):
        kind = "VIEW" if one.is_view else "BASE TABLE"
        yield catalog, schema, one.name, kind, None, None


def _columns(source: VirtualRows, wanted: ColumnFilter, catalog: str) -> Iterator[_Values]:
    for schema, name, place, one in _described(source, wanted, catalog, _OF_INFORMATION):
        nullable = "YES" if one.nullable else "NO"
        told = one.comment, None, one.comment
        yield catalog, schema, name, one.name, place, None, nullable, one.type, *told


def _views(source: VirtualRows, wanted: ColumnFilter, catalog: str) -> Iterator[_Values]:
    told = _read(source, wanted, catalog, _OF_INFORMATION, source.listing.view)
    for schema, one, view in told:
        if one.is_view:
            yield catalog, schema, one.name, None if view is None else view.sql


_INFORMATION: Mapping[str, Callable[[VirtualRows, ColumnFilter, str], Iterator[_Values]]] = {
    "applicable_roles": lambda source, *_: (
        (source.user, "USER", one, "NO") for one in source.given.own_roles
    ),
    "columns": _columns,
    "enabled_roles": lambda source, *_: ((one,) for one in source.given.enabled_roles),
    "roles": lambda source, *_: ((one,) for one in source.given.roles),
    "schemata": _schemata,
    "table_privileges": lambda *_: iter(()),
    "tables": _tables,
    "views": _views,
}


# Of the catalog `system`


def _jdbc_schemas(source: VirtualRows, wanted: ColumnFilter) -> Iterator[_Values]:
    def rows(catalog: str) -> Iterator[_Values]:
        row = {"table_catalog": catalog}
        for schema in _schemas(source, wanted, catalog, row, "table_schem"):
            yield schema, catalog

    return _each(source, wanted, "table_catalog", rows)


def _jdbc_tables(source: VirtualRows, wanted: ColumnFilter) -> Iterator[_Values]:
    def rows(catalog: str) -> Iterator[_Values]:
        for schema, one in _relations(source, wanted, catalog, _OF_JDBC):
            kind = "VIEW" if one.is_view else "TABLE"
            yield catalog, schema, one.name, kind, *(None,) * 6

    return _each(source, wanted, "table_cat", rows)


def _jdbc_columns(source: VirtualRows, wanted: ColumnFilter) -> Iterator[_Values]:
    def rows(catalog: str) -> Iterator[_Values]:
        for schema, name, place, one in _described(source, wanted, catalog, _OF_JDBC):
            told = jdbc_type(one.type)
            yield (
                *(catalog, schema, name, one.name, told.code, one.type, told.size, 0),
                *(told.digits, told.radix, _NULLABLE_UNKNOWN, one.comment, None, None, None),
                *(told.octets, place, "", *(None,) * 6),
            )

    return _each(source, wanted, "table_cat", rows)


def _jdbc_types(source: VirtualRows, wanted: ColumnFilter) -> Iterator[_Values]:  # noqa: ARG001
    for name in _TYPES:
        told = jdbc_type(_OF_TYPES.get(name, name))
        searched = _NOT_COMPARED if name in ("array", "map", "row") else _SEARCHABLE
        yield (
            *(name, told.code, told.size, None, None, None, _NULLABLE, False, searched),
            *(None, False, None, None, 0, 0, None, None, told.radix),
        )


def _metadata_catalogs(source: VirtualRows, wanted: ColumnFilter) -> Iterator[_Values]:
    for one in _catalogs(source, wanted, "catalog_name"):
        yield one, one, SYSTEM if one == SYSTEM else _CONNECTOR


def _comments(source: VirtualRows, wanted: ColumnFilter) -> Iterator[_Values]:
    def rows(catalog: str) -> Iterator[_Values]:
        told = _read(source, wanted, catalog, _OF_METADATA, source.listing.comment)
        for schema, one, comment in told:
            yield catalog, schema, one.name, comment

    return _each(source, wanted, "catalog_name", rows)


def _table_properties(source: VirtualRows, wanted: ColumnFilter) -> Iterator[_Values]:
    for catalog in _catalogs(source, wanted, "catalog_name"):
        if catalog != SYSTEM:
            yield from ((catalog, *one) for one in TABLE_PROPERTIES)


def _from_facts(name: str) -> Callable[[VirtualRows, ColumnFilter], Iterator[_Values]]:
    columns = tuple(virtual_schemas(SYSTEM)["runtime"][name].columns)

    return lambda source, _: (tuple(map(one.get, columns)) for one in getattr(source.given, name))


_SYSTEM: Mapping[tuple[str, str], Callable[[VirtualRows, ColumnFilter], Iterator[_Values]]] = {
    ("jdbc", "catalogs"): lambda source, wanted: (
        (one,) for one in _catalogs(source, wanted, "table_cat")
    ),
    ("jdbc", "columns"): _jdbc_columns,
    ("jdbc", "schemas"): _jdbc_schemas,
    ("jdbc", "table_types"): lambda *_: iter((("TABLE",), ("VIEW",))),
    ("jdbc", "tables"): _jdbc_tables,
    ("jdbc", "types"): _jdbc_types,
    ("metadata", "catalogs"): _metadata_catalogs,
    ("metadata", "table_comments"): _comments,
    ("metadata", "table_properties"): _table_properties,
    ("runtime", "nodes"): _from_facts("nodes"),
    ("runtime", "queries"): _from_facts("queries"),
    ("runtime", "transactions"): _from_facts("transactions"),
}
"""Those that have rows."""
