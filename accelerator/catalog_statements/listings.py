"""SHOW CATALOGS, NAMESPACES, TABLES, VIEWS and FUNCTIONS: names that fit a pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa

from accelerator.catalog_statements import kinds
from accelerator.catalog_statements.kinds import Name
from accelerator.catalog_statements.names import NEEDS_SPARK, Names, quoted
from accelerator.catalog_statements.patterns import matcher
from rewrite.functions import OURS
from rewrite.reason import DeclinedError
from rewrite.spark_words import FUNCTIONS, ICEBERGS, words

_OPERATORS = words("! != % & * + - / < << <= <=> <> = == > >= >> >>> ^ | || ~")
_SESSION_CATALOG = "spark_catalog"
_SYSTEM = ("system",)


def catalogs(statement: kinds.ShowCatalogs, names: Names) -> pa.Table:
    """Those of the session, and Spark's own."""
    fits = _fitting(statement.like)
    found = sorted({*names.lake.catalogs, _SESSION_CATALOG})
    return texts(("catalog",), [(one,) for one in found if fits(one)])


def namespaces(statement: kinds.ShowNamespaces, names: Names) -> pa.Table:
    """Those right below a namespace, or at the top of a catalog."""
    fits = _fitting(statement.like)
    catalog, parent = names.place(statement.inside)
    if parent:
        names.check(catalog, parent)
    length = len(parent)
    below = [one[: length + 1] for one in names.namespaces(catalog) if len(one) > length]
    found = [quoted(one) for one in dict.fromkeys(below) if one[:length] == parent]
    return texts(("namespace",), [(one,) for one in found if fits(one)])


def current(_statement: kinds.ShowCurrent, names: Names) -> pa.Table:
    """The current catalog and namespace."""
    return texts(("catalog", "namespace"), [(names.catalog, quoted(names.namespace))])


def relations(statement: kinds.ShowRelations, names: Names) -> pa.Table:
    """The tables, or the views, of one namespace."""
    fits = _fitting(statement.like)
    catalog, namespace = names.place(statement.inside)
    namespace = namespace if statement.inside else names.namespace
    names.check(catalog, namespace)
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


def functions(statement: kinds.ShowFunctions, names: Names) -> pa.Table:
    """Spark's own functions, ours, and Iceberg's where no namespace or its own is meant."""
    fits = _fitting(statement.like)
    catalog, namespace = names.place(_without_system(statement.inside))
    if statement.inside == ():
        namespace = names.namespace
    elif statement.inside[-1:] == _SYSTEM:
        namespace = (*namespace, *_SYSTEM)
    names.reader(catalog)
    if namespace and namespace != _SYSTEM:
        names.check(catalog, namespace)
    own = () if namespace not in ((), _SYSTEM) else ICEBERGS
    users = [*OURS, *(quoted((catalog, *namespace, one)) for one in own)]
    sparks = [*FUNCTIONS, *_OPERATORS]
    if statement.like is not None and own:
        raise DeclinedError(NEEDS_SPARK, "Iceberg's functions are matched by Spark alone.")
    found = {"ALL": [*sparks, *users], "SYSTEM": sparks, "USER": users}[statement.scope]
    return texts(("function",), [(one,) for one in sorted(found) if fits(one)])


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


def table(schema: pa.Schema, rows: Iterable[tuple[object, ...]]) -> pa.Table:
    """The answer of these columns and rows."""
    every = list(rows)
    columns = [[row[place] for row in every] for place in range(len(schema))]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
