"""Statements of Spark about catalogs, tables and the session, as values; names are in parts.

Names are as written. `like` is Spark's pattern of names, None if there is none.
"""

from __future__ import annotations

from msgspec import Struct

Name = tuple[str, ...]


class CatalogStatement:
    """A statement about catalogs, tables or the session."""

    __slots__ = ()


class ShowCatalogs(Struct, CatalogStatement, frozen=True):
    """SHOW CATALOGS."""

    like: str | None = None


class ShowNamespaces(Struct, CatalogStatement, frozen=True):
    """SHOW NAMESPACES, SCHEMAS or DATABASES; without a name those of the current catalog."""

    inside: Name = ()
    like: str | None = None


class ShowCurrent(Struct, CatalogStatement, frozen=True):
    """SHOW CURRENT NAMESPACE."""


class ShowRelations(Struct, CatalogStatement, frozen=True):
    """SHOW TABLES or SHOW VIEWS; without a name those of the current namespace."""

    views: bool
    inside: Name = ()
    like: str | None = None


class ShowColumns(Struct, CatalogStatement, frozen=True):
    """SHOW COLUMNS of a table; `inside` is the namespace that the statement names apart."""

    table: Name
    inside: Name = ()


class ShowCreate(Struct, CatalogStatement, frozen=True):
    """SHOW CREATE TABLE."""

    table: Name


class ShowProperties(Struct, CatalogStatement, frozen=True):
    """SHOW TBLPROPERTIES; all of them, or the one of that key."""

    table: Name
    key: str | None = None


class ShowPartitions(Struct, CatalogStatement, frozen=True):
    """SHOW PARTITIONS."""

    table: Name


class ShowFunctions(Struct, CatalogStatement, frozen=True):
    """SHOW FUNCTIONS; `scope` is ALL, SYSTEM or USER."""

    scope: str = "ALL"
    inside: Name = ()
    like: str | None = None


class DescribeTable(Struct, CatalogStatement, frozen=True):
    """DESCRIBE TABLE; with `column` that column alone."""

    table: Name
    extended: bool = False
    column: Name = ()


class DescribeNamespace(Struct, CatalogStatement, frozen=True):
    """DESCRIBE NAMESPACE."""

    name: Name
    extended: bool = False


class DescribeQuery(Struct, CatalogStatement, frozen=True):
    """DESCRIBE QUERY; `sql` is the query."""

    sql: str


class UseNamespace(Struct, CatalogStatement, frozen=True):
    """USE; if `namespace`, the first part isn't a catalog's name."""

    name: Name
    namespace: bool = False


class UseCatalog(Struct, CatalogStatement, frozen=True):
    """SET CATALOG."""

    name: str


class SetKey(Struct, CatalogStatement, frozen=True):
    """SET of one setting; without a value it shows it."""

    key: str
    value: str | None = None


class ExplainQuery(Struct, CatalogStatement, frozen=True):
    """EXPLAIN of a query, in Spark's default form."""

    sql: str
