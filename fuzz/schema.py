"""A random star: a fact, one to three dimensions, perhaps an outer one behind a dimension.

Columns are known by an id (`f_s1`) that stays; their names and types may change. A template such as
`sum({f_i1})` becomes SQL once it's said under which alias each table stands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from fuzz import values

_KEY_TYPES = ("INT", "INT", "BIGINT", "STRING", "DATE")
_LETTERS = {"STRING": "s", "INT": "i", "BIGINT": "l", "DOUBLE": "d", "FLOAT": "r", "DATE": "t"}
_LETTERS |= {"TIMESTAMP": "z", "TIMESTAMP_NTZ": "n", "BOOLEAN": "b"}
_GROUPS = ("STRING", "STRING", "INT", "DATE", "BOOLEAN", "TIMESTAMP", "DOUBLE", "DECIMAL(9,2)")
_MEASURES = ("INT", "BIGINT", "DOUBLE", "FLOAT", *values.DECIMALS, "STRING", "TIMESTAMP_NTZ")
_HOLE = re.compile(r"\{(\w+)\}")


@dataclass
class Column:
    """A column as it's called now, and what values it has."""

    id: str
    name: str
    type: str
    pool: list[Any]
    nulls: float

    @property
    def table(self) -> str:
        """The short name of its table."""
        return self.id.split("_")[0]

    def value(self, r: Random, some: float = 1.0, place: float = 0.0) -> Any:
        """A random one; of `some` of the pool only, from `place` on."""
        if r.random() < self.nulls:
            return None
        at = place + some * r.random()
        return self.pool[int(at * len(self.pool)) % len(self.pool)]


@dataclass
class Table:
    """A table, whose short name (`f`, `a`, `b`, `c`, `o`) begins its columns' ids."""

    short: str
    name: str
    columns: list[Column]
    partitioned: Column | None = None
    keys: list[Any] = field(default_factory=list)
    snapshots: list[int] = field(default_factory=list)
    version: int = 2

    def ddl(self) -> str:
        """CREATE TABLE; changes are merge-on-read, so that there are deletes."""
        listed = ", ".join(f"{c.name} {c.type}" for c in self.columns)
        clause = f" PARTITIONED BY ({self.partitioned.name})" if self.partitioned else ""
        modes = ", ".join(
            f"'write.{what}.mode'='merge-on-read'" for what in ("delete", "update", "merge")
        )
        return (
            f"CREATE TABLE {self.name} ({listed}) USING iceberg{clause}"
            f" TBLPROPERTIES ('format-version'='{self.version}', {modes})"
        )


@dataclass(frozen=True)
class Edge:
    """How a dimension is joined: to the fact, or an outer one to a dimension."""

    parent: str
    child: str
    key: str  # the parent's column
    unique: str  # the child's

    @property
    def on(self) -> str:
        """The condition's template."""
        return f"{{{self.key}}} = {{{self.unique}}}"


@dataclass
class Star:
    """The tables by their short names, and the edges between them, inner ones first.

    `view` is the name of one over the fact, once there is one.
    """

    tables: dict[str, Table]
    edges: list[Edge]
    view: str = ""

    def column(self, id_: str) -> Column:
        """By id."""
        table = self.tables[id_.split("_", maxsplit=1)[0]]
        return next(c for c in table.columns if c.id == id_)

    def columns(self, template: str) -> list[Column]:
        """Those that the template names, in its order."""
        return [self.column(id_) for id_ in _HOLE.findall(template)]

    def sql(self, template: str, aliases: Mapping[str, str]) -> str:
        """The template with names; a table without an alias has bare ones."""

        def name(found: re.Match[str]) -> str:
            column = self.column(found[1])
            alias = aliases.get(column.table, "")
            return f"{alias}.{column.name}" if alias else column.name

        return _HOLE.sub(name, template)


def random_star(r: Random, prefix: str) -> Star:
    """Names begin with `prefix`, which ends with the namespace and what tells runs apart."""
    tables = {"f": Table("f", f"{prefix}f", [])}
    edges = []
    for short in ("a", "b", "c")[: r.choice((1, 1, 2, 2, 3))]:
        tables[short] = _dimension(r, prefix, short)
        edges.append(_edge(r, tables, "f", short))
    if r.random() < 0.35:
        tables["o"] = _dimension(r, prefix, "o")
        edges.append(_edge(r, tables, "a", "o"))
    fact = tables["f"]
    groups = _new_columns(r, fact, r.sample(_GROUPS, r.choice((3, 4, 5))), 5)
    measures = [*_MEASURES, values.decimal_type(r), values.decimal_type(r)]
    for type_ in r.sample(measures, r.choice((3, 4, 5))):
        _new_columns(r, fact, [type_], 30)
    if r.random() < 0.3:
        fact.partitioned = r.choice([c for c in groups if c.type not in values.FLOATS])
    for table in tables.values():
        table.version = r.choice((2, 2, 3))
    return Star(tables, edges)


def _new_columns(r: Random, table: Table, types: list[str], size: int) -> list[Column]:
    for type_ in types:
        table.columns.append(new_column(r, table, type_, size))
    return table.columns[-len(types) :]


def new_column(r: Random, table: Table, type_: str, size: int) -> Column:
    """A column of a fresh id, not yet in the table."""
    taken = {c.id for c in table.columns}
    base = f"{table.short}_{_LETTERS.get(type_, 'c')}"
    id_ = next(f"{base}{n}" for n in range(1, 99) if f"{base}{n}" not in taken)
    nulls = r.choice((0.0, 0.0, 0.1, 0.3))
    return Column(id_, id_, type_, values.pool(r, type_, size), nulls)


def _dimension(r: Random, prefix: str, short: str) -> Table:
    table = Table(short, f"{prefix}{short}", [])
    _new_columns(r, table, r.sample(_GROUPS, r.choice((2, 3))), 4)
    return table


def _edge(r: Random, tables: dict[str, Table], parent: str, child: str) -> Edge:
    """A key column on both sides, of one type and pool."""
    type_ = r.choice(_KEY_TYPES)
    keys = values.pool(r, type_, r.choice((4, 8, 12)))
    # A key that is there twice, and ones that dangle, each in a world of its own.
    unique = Column(f"{child}_k", f"{child}_k", type_, keys, 0.0)
    dangling = keys + values.pool(r, type_, 3) if r.random() < 0.4 else keys
    id_ = f"{parent}_{child}k"
    key = Column(id_, id_, type_, dangling, r.choice((0.0, 0.0, 0.15)))
    tables[child].columns.insert(0, unique)
    tables[parent].columns.append(key)
    tables[child].keys = keys
    return Edge(parent, child, id_, unique.id)
