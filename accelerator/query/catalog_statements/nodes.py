"""Statements of Spark about catalogs, tables and the session, as values; names are in parts.

Names are as written. `like` is Spark's pattern of names, None if there is none.
"""

from __future__ import annotations

from dataclasses import dataclass

Name = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShowCatalogs:
    """SHOW CATALOGS."""

    like: str | None = None


@dataclass(frozen=True, slots=True)
class ShowNamespaces:
    """SHOW NAMESPACES, SCHEMAS or DATABASES; without a name those of the current catalog."""

    inside: Name = ()
    like: str | None = None


@dataclass(frozen=True, slots=True)
class ShowCurrent:
    """SHOW CURRENT NAMESPACE."""


@dataclass(frozen=True, slots=True)
class ShowRelations:
    """SHOW TABLES or SHOW VIEWS; without a name those of the current namespace."""

    views: bool
    inside: Name = ()
    like: str | None = None


@dataclass(frozen=True, slots=True)
class ShowColumns:
    """SHOW COLUMNS of a table; `inside` is the namespace that the statement names apart."""

    table: Name
    inside: Name = ()


@dataclass(frozen=True, slots=True)
class ShowCreate:
    """SHOW CREATE TABLE."""

    table: Name


@dataclass(frozen=True, slots=True)
class ShowProperties:
    """SHOW TBLPROPERTIES; all of them, or the one of that key."""

    table: Name
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ShowPartitions:
    """SHOW PARTITIONS."""

    table: Name


@dataclass(frozen=True, slots=True)
class ShowFunctions:
    """SHOW FUNCTIONS; `scope` is ALL, SYSTEM or USER."""

    scope: str = "ALL"
    inside: Name = ()
    like: str | None = None


@dataclass(frozen=True, slots=True)
class DescribeTable:
    """DESCRIBE TABLE; with `column` that column alone."""

    table: Name
    extended: bool = False
    column: Name = ()


@dataclass(frozen=True, slots=True)
class DescribeNamespace:
    """DESCRIBE NAMESPACE."""

    name: Name
    extended: bool = False


@dataclass(frozen=True, slots=True)
class DescribeQuery:
    """DESCRIBE QUERY; `sql` is the query."""

    sql: str


@dataclass(frozen=True, slots=True)
class UseNamespace:
    """USE; if `namespace`, the first part isn't a catalog's name."""

    name: Name
    namespace: bool = False


@dataclass(frozen=True, slots=True)
class UseCatalog:
    """SET CATALOG."""

    name: str


@dataclass(frozen=True, slots=True)
class SetKey:
    """SET of one setting; without a value it shows it."""

    key: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class ExplainQuery:
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
