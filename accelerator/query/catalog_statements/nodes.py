"""Statements of Spark about catalogs, tables and the session, as values; names are in parts.

Names are as written. `like` is Spark's pattern of names, None if there is none.
"""

from __future__ import annotations

from dataclasses import dataclass

Name = tuple[str, ...]


class CatalogStatement:
    """A statement about catalogs, tables or the session."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ShowCatalogs(CatalogStatement):
    """SHOW CATALOGS."""

    like: str | None = None


@dataclass(frozen=True, slots=True)
class ShowNamespaces(CatalogStatement):
    """SHOW NAMESPACES, SCHEMAS or DATABASES; without a name those of the current catalog."""

    inside: Name = ()
    like: str | None = None


@dataclass(frozen=True, slots=True)
class ShowCurrent(CatalogStatement):
    """SHOW CURRENT NAMESPACE."""


@dataclass(frozen=True, slots=True)
class ShowRelations(CatalogStatement):
    """SHOW TABLES or SHOW VIEWS; without a name those of the current namespace."""

    views: bool
    inside: Name = ()
    like: str | None = None


@dataclass(frozen=True, slots=True)
class ShowColumns(CatalogStatement):
    """SHOW COLUMNS of a table; `inside` is the namespace that the statement names apart."""

    table: Name
    inside: Name = ()


@dataclass(frozen=True, slots=True)
class ShowCreate(CatalogStatement):
    """SHOW CREATE TABLE."""

    table: Name


@dataclass(frozen=True, slots=True)
class ShowProperties(CatalogStatement):
    """SHOW TBLPROPERTIES; all of them, or the one of that key."""

    table: Name
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ShowPartitions(CatalogStatement):
    """SHOW PARTITIONS."""

    table: Name


@dataclass(frozen=True, slots=True)
class ShowFunctions(CatalogStatement):
    """SHOW FUNCTIONS; `scope` is ALL, SYSTEM or USER."""

    scope: str = "ALL"
    inside: Name = ()
    like: str | None = None


@dataclass(frozen=True, slots=True)
class DescribeTable(CatalogStatement):
    """DESCRIBE TABLE; with `column` that column alone."""

    table: Name
    extended: bool = False
    column: Name = ()


@dataclass(frozen=True, slots=True)
class DescribeNamespace(CatalogStatement):
    """DESCRIBE NAMESPACE."""

    name: Name
    extended: bool = False


@dataclass(frozen=True, slots=True)
class DescribeQuery(CatalogStatement):
    """DESCRIBE QUERY; `sql` is the query."""

    sql: str


@dataclass(frozen=True, slots=True)
class UseNamespace(CatalogStatement):
    """USE; if `namespace`, the first part isn't a catalog's name."""

    name: Name
    namespace: bool = False


@dataclass(frozen=True, slots=True)
class UseCatalog(CatalogStatement):
    """SET CATALOG."""

    name: str


@dataclass(frozen=True, slots=True)
class SetKey(CatalogStatement):
    """SET of one setting; without a value it shows it."""

    key: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class ExplainQuery(CatalogStatement):
    """EXPLAIN of a query, in Spark's default form."""

    sql: str
