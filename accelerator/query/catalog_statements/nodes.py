"""Statements of Spark about catalogs, tables and the session, as values; names are in parts.

Names are as written. `like` is Spark's pattern of names, None if there is none.
"""

from __future__ import annotations

from msgspec import Struct

Name = tuple[str, ...]


class ShowCatalogs(Struct, frozen=True):
    """SHOW CATALOGS."""

    like: str | None = None


class ShowNamespaces(Struct, frozen=True):
    """SHOW NAMESPACES, SCHEMAS or DATABASES; without a name those of the current catalog."""

    inside: Name = ()
    like: str | None = None


class ShowCurrent(Struct, frozen=True):
    """SHOW CURRENT NAMESPACE."""


class ShowRelations(Struct, frozen=True):
    """SHOW TABLES or SHOW VIEWS; without a name those of the current namespace."""

    views: bool
    inside: Name = ()
    like: str | None = None


class ShowColumns(Struct, frozen=True):
    """SHOW COLUMNS of a table; `inside` is the namespace that the statement names apart."""

    table: Name
    inside: Name = ()


class ShowCreate(Struct, frozen=True):
    """SHOW CREATE TABLE."""

    table: Name


class ShowProperties(Struct, frozen=True):
    """SHOW TBLPROPERTIES; all of them, or the one of that key."""

    table: Name
    key: str | None = None


class ShowPartitions(Struct, frozen=True):
    """SHOW PARTITIONS."""

    table: Name


class ShowFunctions(Struct, frozen=True):
    """SHOW FUNCTIONS; `scope` is ALL, SYSTEM or USER."""

    scope: str = "ALL"
    inside: Name = ()
    like: str | None = None


class DescribeTable(Struct, frozen=True):
    """DESCRIBE TABLE; with `column` that column alone."""

    table: Name
    extended: bool = False
    column: Name = ()


class DescribeNamespace(Struct, frozen=True):
    """DESCRIBE NAMESPACE."""

    name: Name
    extended: bool = False


class DescribeQuery(Struct, frozen=True):
    """DESCRIBE QUERY; `sql` is the query."""

    sql: str


class UseNamespace(Struct, frozen=True):
    """USE; if `namespace`, the first part isn't a catalog's name."""

    name: Name
    namespace: bool = False


class UseCatalog(Struct, frozen=True):
    """SET CATALOG."""

    name: str


class SetKey(Struct, frozen=True):
    """SET of one setting; without a value it shows it."""

    key: str
    value: str | None = None


class ExplainQuery(Struct, frozen=True):
    """EXPLAIN of a query, in Spark's default form."""

    sql: str


CatalogStatement = (
    ShowCatalogs
    | ShowNamespaces
    | ShowCurrent
    | ShowRelations
    | ShowColumns
    | ShowCreate
    | ShowProperties
    | ShowPartitions
    | ShowFunctions
    | DescribeTable
    | DescribeNamespace
    | DescribeQuery
    | UseNamespace
    | UseCatalog
    | SetKey
    | ExplainQuery
)
