"""SHOW CATALOGS, NAMESPACES, TABLES, VIEWS and FUNCTIONS: names that fit a pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa

from accelerator.query.catalog_statements import nodes
from accelerator.query.catalog_statements.names import SessionNames
from accelerator.query.catalog_statements.nodes import Name
from accelerator.query.catalog_statements.patterns import matcher
from rewrite.bind.calls.known_words import OURS
from rewrite.identifiers.quoting import quoted
from rewrite.reason import CATALOG_NEEDS_SPARK as NEEDS_SPARK
from rewrite.reason import DeclinedError
from rewrite.text.spark_keywords import FUNCTIONS, ICEBERGS, words

_OPERATORS = words("! != % & * + - / < << <= <=> <> = == > >= >> >>> ^ | || ~")
_SESSION_CATALOG = "spark_catalog"
_SYSTEM = ("system",)


def catalogs(statement: nodes.ShowCatalogs, names: SessionNames) -> pa.Table:
    """Lists the session's catalogs, and Spark's own."""
    fits = _fitting(statement.like)
    found = sorted({*names.lake.catalogs, _SESSION_CATALOG})
    return texts(("catalog",), [(one,) for one in found if fits(one)])


def namespaces(statement: nodes.ShowNamespaces, names: SessionNames) -> pa.Table:
    """Lists the namespaces right below one, or at the top of a catalog."""
    fits = _fitting(statement.like)
    catalog, parent = names.place(statement.inside)
    if parent:
        names.check(catalog, parent)
    found = [quoted(one) for one in names.below(catalog, parent)]
    return texts(("namespace",), [(one,) for one in found if fits(one)])


def current(_statement: nodes.ShowCurrent, names: SessionNames) -> pa.Table:
    """The current catalog and namespace."""
    return texts(("catalog", "namespace"), [(names.catalog, quoted(names.namespace))])


def relations(statement: nodes.ShowRelations, names: SessionNames) -> pa.Table:
    """Lists the tables, or the views, of one namespace."""
    fits = _fitting(statement.like)
    catalog, namespace = names.place(statement.inside)
    namespace = namespace if statement.inside else names.namespace
    names.check(catalog, namespace)
    if statement.views and not names.lists_views(catalog):
        raise DeclinedError(NEEDS_SPARK, "The catalog's settings don't say that it has views.")
    shown = quoted(namespace)
    found = names.reader(catalog).within(namespace)
    rows = [(shown, one, False) for one, view in found if view == statement.views and fits(one)]
    schema = pa.schema(
        [
            _text("namespace"),
            _text("viewName" if statement.views else "tableName"),
            pa.field("isTemporary", pa.bool_(), nullable=False),
        ]
    )
    return table(schema, rows)


def functions(statement: nodes.ShowFunctions, names: SessionNames) -> pa.Table:
    """Lists Spark's functions, ours, and Iceberg's if no namespace or `system` is named."""
    fits = _fitting(statement.like)
    catalog, namespace = names.place(_without_system(statement.inside))
    if statement.inside == ():
        namespace = names.namespace
    elif statement.inside[-1:] == _SYSTEM:
        namespace = (*namespace, *_SYSTEM)
    names.reader(catalog)
    if namespace and namespace != _SYSTEM:
        names.check(catalog, namespace)
    own = ICEBERGS if namespace in ((), _SYSTEM) else ()
    sparks = {one: one for one in (*FUNCTIONS, *_OPERATORS)}
    users = {one: one for one in OURS} | {one: quoted((catalog, *namespace, one)) for one in own}
    found = {"ALL": sparks | users, "SYSTEM": sparks, "USER": users}[statement.scope]
    shown = sorted(shown for one, shown in found.items() if fits(one))
    return texts(("function",), [(one,) for one in shown])


def _without_system(inside: Name) -> Name:
    return inside[:-1] if inside[-1:] == _SYSTEM else inside


def _fitting(pattern: str | None) -> Callable[[str], bool]:
    found = matcher(pattern)
    if found is None:
        raise DeclinedError(NEEDS_SPARK, "The pattern is a regular expression of Java's.")
    return found


def _text(name: str, *, nullable: bool = False) -> pa.Field:
    return pa.field(name, pa.string(), nullable=nullable)


def texts(
    names: Iterable[str], rows: Iterable[tuple[str | None, ...]], *, nullable: str = ""
) -> pa.Table:
    """The answer of texts; the one column of that name may be NULL."""
    schema = pa.schema([_text(one, nullable=one == nullable) for one in names])
    return table(schema, rows)


def described(rows: Iterable[tuple[str | None, ...]]) -> pa.Table:
    """The answer of a DESCRIBE: names, types and comments."""
    return texts(("col_name", "data_type", "comment"), rows, nullable="comment")


def table(schema: pa.Schema, rows: Iterable[tuple[object, ...]]) -> pa.Table:
    """The answer of these columns and rows."""
    every = list(rows)
    columns = [[row[place] for row in every] for place in range(len(schema))]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
