"""Answers a statement about catalogs, tables or the session in this process, as Spark would.

Promise: rows, names and types are Spark's, and Spark raises an error too if this module does. Of
EXPLAIN alone both differ: the plan is this package's, and Spark answers with an error's text as
rows, where the error is raised here. Spark answers what isn't certain, and the answer has the
reason. Once Spark runs it answers all of them, because its session has views, functions and
settings of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from msgspec import Struct

from accelerator.engines.session_settings import refusal
from accelerator.errors import AcceleratorError, StatementError
from accelerator.iceberg import Pin, PinnedTable, UnreadableTableError
from accelerator.iceberg.spark_text import tables
from accelerator.query.catalog_statements import (
    describe_query,
    listings,
    namespaces,
    nodes,
    session_state,
    views,
)
from accelerator.query.catalog_statements.names import SessionNames, is_sparks_own
from accelerator.query.catalog_statements.nodes import Name
from accelerator.query.catalog_statements.parse import parse
from accelerator.query.early_errors.check import raise_unknown, sparks_too
from accelerator.query.early_errors.known_spark import is_known
from accelerator.query.early_errors.lake_tables import LakeTables
from accelerator.query.virtual_tables.spark_views import SUFFIX
from rewrite.analysis.unknown_names import COLUMN, TABLE, Unknown
from rewrite.identifiers.qualified_name import joined
from rewrite.identifiers.quoting import quoted, quoted_if_needed
from rewrite.reason import CATALOG_NEEDS_SPARK as NEEDS_SPARK
from rewrite.reason import Declined, DeclinedError
from rewrite.text.printable import one_line
from rewrite.text.suggestions import closest

if TYPE_CHECKING:
    from accelerator.query.catalog_statements.session import QueryPlanner

_CONFLICT = "SHOW_COLUMNS_WITH_CONFLICT_NAMESPACE"
_PARTITIONS = "INVALID_PARTITION_OPERATION.PARTITION_MANAGEMENT_IS_UNSUPPORTED"
_INTERNAL = "INTERNAL_ERROR"
"""What Spark says of the columns of a view."""


def answer(sql: str, queries: QueryPlanner) -> pa.Table | Declined | None:
    """The rows; why Spark has to answer, or None for a statement of another sort.

    UnknownTableError, UnknownSchemaError, UnknownColumnError and StatementError as Spark has them;
    CatalogError if a catalog or a table's metadata can't be read.
    """
    services = queries.services
    if services.spark_source.started or not services.config.enabled:
        return None
    statement = parse(sql)
    if statement is None:
        return None
    if not is_known(services.config):
        return Declined(NEEDS_SPARK, "A setting may bring other catalogs or functions.")
    refused = refusal(services.context.settings())
    if refused is not None:
        return refused
    try:
        return _RULES[type(statement)](statement, _Session.of(queries))
    except DeclinedError as error:
        return error.declined
    except UnreadableTableError as error:  # Spark may describe it all the same
        return error.declined
    except AcceleratorError as error:
        if isinstance(statement, (nodes.DescribeQuery, nodes.ExplainQuery)):
            error.move(statement.sql, sql)
        raise


class _Session(Struct, frozen=True):
    """The session at the moment of one statement."""

    queries: QueryPlanner
    names: SessionNames
    pin: Pin

    @classmethod
    def of(cls, queries: QueryPlanner) -> _Session:
        services = queries.services
        return cls(
            queries, SessionNames(services.lake, services.context), services.lake.pin(fresh=True)
        )

    def table(self, parts: Name) -> PinnedTable | None:
        """The table of that name, None for a view; UnknownTableError if there is neither."""
        if is_sparks_own(parts):
            raise DeclinedError(NEEDS_SPARK, f"{one_line(parts[0])} is Spark's own.")
        pinned = self.pin.pinned(parts)
        if pinned is not None or self.view(parts) is not None:
            return pinned
        services = self.queries.services
        known = LakeTables(services.lake, services.config.catalog_name)
        if known.is_absent(parts):
            raise_unknown(Unknown("table", joined(parts), None, TABLE, known.near(parts)))
        raise DeclinedError(NEEDS_SPARK, f"Here: {one_line(joined(parts))}.")

    def view(self, parts: Name) -> views.CatalogView | None:
        """The view of that name."""
        return views.view(self.queries.services.lake, parts)

    def existing_view(self, parts: Name) -> views.CatalogView:
        """The view of that name, which isn't a table's; it may just have been dropped."""
        found = self.view(parts)
        if found is None:
            raise DeclinedError(NEEDS_SPARK, f"Here: {one_line(joined(parts))}.")
        return found

    def own(self, parts: Name, what: str, instead: str, error_class: str) -> PinnedTable:
        """The table of that name; StatementError for a view."""
        found = self.table(parts)
        if found is None:
            raise sparks_too(StatementError, error_class)(
                f"{one_line(quoted(parts))} is a view: {what} is of tables alone",
                hint=instead,
                error_class=error_class,
            )
        return found


def _columns(statement: nodes.ShowColumns, asked: _Session) -> pa.Table:
    inside, name = statement.inside, statement.table
    table = (*inside, *name) if inside and len(name) == 1 else name
    found = asked.own(
        table, "SHOW COLUMNS", f"DESCRIBE {quoted(table)} lists its columns", _INTERNAL
    )
    actual = found.parts[1:-1]
    if inside and tuple(map(str.lower, inside)) != tuple(map(str.lower, actual)):
        raise sparks_too(StatementError, _CONFLICT)(
            f"the table is in the namespace {one_line(quoted(actual))},"
            f" not in {one_line(quoted(inside))}",
            hint="name the namespace once",
            error_class=_CONFLICT,
        )
    return listings.texts(("col_name",), [(one.name,) for one in found.schema.fields])


def _create(statement: nodes.ShowCreate, asked: _Session) -> pa.Table:
    found = asked.table(statement.table)
    if found is not None:
        return listings.texts(("createtab_stmt",), [(tables.create(found),)])
    return views.create(asked.existing_view(statement.table))


def _properties(statement: nodes.ShowProperties, asked: _Session) -> pa.Table:
    found = asked.table(statement.table)
    if found is None:
        return views.properties(asked.existing_view(statement.table), statement.key)
    every, key = tables.properties(found), statement.key
    if key is not None:
        lacking = f"Table {'.'.join(found.parts)} does not have property: {key}"
        every = {key: every.get(key, lacking)}
    return listings.texts(("key", "value"), every.items())


def _partitions(statement: nodes.ShowPartitions, asked: _Session) -> pa.Table:
    found = asked.own(statement.table, "SHOW PARTITIONS", "name one of its tables", TABLE)
    raise sparks_too(StatementError, _PARTITIONS)(
        f"SHOW PARTITIONS isn't for Iceberg tables, and {one_line(quoted(found.parts))} is one",
        hint=_partitions_hint(found),
        error_class=_PARTITIONS,
    )


def _partitions_hint(found: PinnedTable) -> str:
    """A query that lists the partitions, by the files' own table."""
    fields = found.metadata.spec().fields
    names = [f"partition_data.{quoted_if_needed(one.name)}" for one in fields]
    if not names:
        return "the table isn't partitioned"
    keys = ", ".join(names)
    files = quoted((*found.parts[:-1], f"{found.parts[-1]}{SUFFIX}"))
    return f"SELECT {keys}, sum(record_count) FROM {files} WHERE content = 0 GROUP BY {keys}"


def _describe(statement: nodes.DescribeTable, asked: _Session) -> pa.Table:
    found = asked.table(statement.table)
    if statement.column:
        if found is None:
            raise DeclinedError(NEEDS_SPARK, "A view's column.")
        return _described_column(statement, found)
    if found is not None:
        return listings.described(tables.described(found, extended=statement.extended))
    view = asked.existing_view(statement.table)
    return views.described(view, extended=statement.extended)


def _described_column(statement: nodes.DescribeTable, found: PinnedTable) -> pa.Table:
    fields = [one.name for one in found.schema.fields]
    if len(statement.column) != 1:
        raise DeclinedError(NEEDS_SPARK, "A name of several parts may be a column's or a field's.")
    (name,) = statement.column
    if name not in fields:
        if name.lower() in map(str.lower, fields):
            raise DeclinedError(NEEDS_SPARK, "The column's name differs in its letters' case.")
        raise_unknown(Unknown("column", name, None, COLUMN, closest(name, fields)))
    return listings.texts(("info_name", "info_value"), tables.described_column(found, name))


def _explain(statement: nodes.ExplainQuery, asked: _Session) -> pa.Table:
    queries = asked.queries
    query = queries.read(statement.sql, "spark")
    queries.check(query)
    text = str(queries.explainer.shown(query, statement.sql, "text", None))
    schema = pa.schema([pa.field("plan", pa.string())])
    title = "== Plan of lakehouse-accelerator; EXPLAIN EXTENDED starts Spark and shows its plan =="
    return listings.table(schema, [(f"{title}\n{text}",)])


_Rule = Callable[[Any, _Session], pa.Table]


def _named(rule: Callable[[Any, SessionNames], pa.Table]) -> _Rule:
    return lambda statement, asked: rule(statement, asked.names)


_RULES: Mapping[type, _Rule] = {
    nodes.ShowCatalogs: _named(listings.catalogs),
    nodes.ShowNamespaces: _named(listings.namespaces),
    nodes.ShowCurrent: _named(listings.current),
    nodes.ShowRelations: _named(listings.relations),
    nodes.ShowFunctions: _named(listings.functions),
    nodes.ShowColumns: _columns,
    nodes.ShowCreate: _create,
    nodes.ShowProperties: _properties,
    nodes.ShowPartitions: _partitions,
    nodes.DescribeTable: _describe,
    nodes.DescribeNamespace: _named(namespaces.described),
    nodes.DescribeQuery: lambda statement, asked: describe_query.described(
        statement.sql, asked.queries
    ),
    nodes.UseNamespace: _named(session_state.use),
    nodes.UseCatalog: _named(session_state.use_catalog),
    nodes.SetKey: _named(session_state.set_key),
    nodes.ExplainQuery: _explain,
}
