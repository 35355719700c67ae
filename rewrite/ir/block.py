"""The normal form of one aggregate block: occurrences, left edges, conjuncts, keys, outputs.

A block means: the product of its inner occurrences, each left edge joined in order, every conjunct
applied, grouped by its keys, then outputs, HAVING, ORDER BY and LIMIT (`docs/rewriting.md`, 2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rewrite.facts import At, ColumnFacts, TableFacts
from rewrite.ir.expr import (
    Aggregate,
    Call,
    Column,
    Expr,
    canonical,
    columns,
    conjuncts,
    has_aggregate,
    walk,
)
from rewrite.reason import Declined

_IDENTITY_TYPES = frozenset(
    {"int", "bigint", "string", "date", "timestamp", "timestamp_ntz", "boolean"}
)


class Occurrence(Struct, frozen=True):
    """One mention of a table in FROM, at one state.

    `path` is what its columns may be qualified by: the alias alone, or catalog, namespace and name.
    """

    index: int
    parts: tuple[str, ...]
    path: tuple[str, ...]
    table: TableFacts
    at: At

    @property
    def alias(self) -> str:
        """The alias, or the table's own name."""
        return self.path[-1]

    @property
    def named_columns(self) -> Iterator[tuple[str, Column]]:
        """Yields its columns with their names, in order."""
        return ((facts.name, self._column(facts)) for facts in self.table.columns)

    def named(self, name: str) -> Iterator[Column]:
        """Yields the columns of that name; one, but in tables that others have made."""
        return map(self._column, self.table.named(name))

    def facts(self, column: Column) -> ColumnFacts | None:
        """Returns the facts of the column; None if it's another table's."""
        own = self.table.columns if column.occurrence == self.index else ()
        return next((one for one in own if one.field_id == column.field_id), None)

    def _column(self, facts: ColumnFacts) -> Column:
        return Column(self.index, facts.field_id, facts.name, facts.type)


class Selection(Struct, frozen=True):
    """Columns of tables as a SELECT in FROM shows them, by its alias and under its names."""

    alias: str
    tables: tuple[Occurrence, ...]
    columns: tuple[tuple[str, Column], ...]

    @property
    def path(self) -> tuple[str, ...]:
        """The alias, by which its columns may be qualified."""
        return (self.alias,)

    @property
    def named_columns(self) -> Iterator[tuple[str, Column]]:
        """Yields its columns with their names, in order."""
        return iter(self.columns)

    def named(self, name: str) -> Iterator[Column]:
        """Yields the columns of that name, compared without case."""
        return (column for own, column in self.columns if own.lower() == name.lower())

    def facts(self, column: Column) -> ColumnFacts | None:
        """Returns the facts of the column; None if the SELECT leaves it out."""
        if all(column != own for _, own in self.columns):
            return None
        facts = (table.facts(column) for table in self.tables)
        return next((one for one in facts if one is not None), None)


class LeftEdge(Struct, frozen=True):
    """`LEFT JOIN occurrence ON …`; the ON is kept whole."""

    occurrence: int
    on: tuple[Expr, ...]


class Output(Struct, frozen=True):
    """One item of SELECT; `name` is its name in Spark's result, None if only Spark knows it."""

    name: str | None
    alias: str | None
    expr: Expr


class SortKey(Struct, frozen=True):
    """One item of ORDER BY."""

    expr: Expr
    descending: bool
    nulls_first: bool


class Block(Struct, frozen=True, dict=True):
    """One SELECT with aggregates or GROUP BY over tables and joins, names resolved to field ids.

    Of `rows` there are neither: each row that passes gives one. `sets` are places in `keys`: groups
    are made once for each set, by its keys, and the others are NULL; without any, by all keys.
    """

    occurrences: tuple[Occurrence, ...]
    left_edges: tuple[LeftEdge, ...]
    conjuncts: tuple[Expr, ...]
    keys: tuple[Expr, ...]
    outputs: tuple[Output, ...]
    having: Expr | None
    order: tuple[SortKey, ...]
    limit: int | None
    grouped: bool
    rows: bool = False
    sets: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def kept(self) -> dict[Any, Any]:
        """What matching cubes found of it that others ask again; a cache, no part of the value."""
        return {}

    @cached_property
    def apart(self) -> dict[Any, Any]:
        """A cache of what depends on no conjunct; no part of the value."""
        return {}

    def filtered(self, conjuncts: tuple[Expr, ...]) -> Block:
        """Returns the block with other conjuncts, and the same cache `apart`."""
        found = replace(self, conjuncts=conjuncts)
        found.__dict__["apart"] = self.apart
        return found

    def column(self, occurrence: int, field_id: int) -> Column | None:
        """That field of an occurrence's table; None where it has none."""
        own = self.occurrences[occurrence].table.columns
        found = next((c for c in own if c.field_id == field_id), None)
        return None if found is None else Column(occurrence, field_id, found.name, found.type)

    @cached_property
    def null_supplied(self) -> frozenset[int]:
        """Occurrences on the null-supplying side of a left join."""
        return frozenset(edge.occurrence for edge in self.left_edges)

    @cached_property
    def conditions(self) -> tuple[Expr, ...]:
        """All predicates: its conjuncts, and what stands in the ON of left joins."""
        return (*self.conjuncts, *(c for edge in self.left_edges for c in edge.on))

    @cached_property
    def tested(self) -> tuple[Expr, ...]:
        """Its conditions and what HAVING says of keys alone, which Spark tests before it groups."""
        having = (c for c in conjuncts(self.having) if not has_aggregate(c))
        return (*self.conditions, *having)

    @cached_property
    def results(self) -> tuple[Expr, ...]:
        """What is computed over its groups: outputs, sort keys, HAVING."""
        having = () if self.having is None else (self.having,)
        return (*(o.expr for o in self.outputs), *(k.expr for k in self.order), *having)

    @cached_property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The distinct aggregate calls of its results."""
        calls = (n for e in self.results for n in walk(e) if isinstance(n, Aggregate))
        return tuple(dict.fromkeys(calls))

    @cached_property
    def searched(self) -> tuple[tuple[str, Column], ...]:
        """Every column that it groups or filters by, with its table's uuid."""
        found = dict.fromkeys(c for e in (*self.keys, *self.conjuncts) for c in columns(e))
        return tuple((self.occurrences[c.occurrence].table.uuid, c) for c in found)

    @cached_property
    def tables(self) -> Mapping[str, int]:
        """How often each table occurs, by uuid."""
        return Counter(o.table.uuid for o in self.occurrences)

    @cached_property
    def searched_alone(self) -> Mapping[str, Mapping[int, Column]]:
        """Of each table that occurs once, the columns that it groups or filters by, by field id."""
        found: dict[str, dict[int, Column]] = {}
        for uuid, column in self.searched:
            if self.tables[uuid] == 1:
                found.setdefault(uuid, {})[column.field_id] = column
        return found

    @cached_property
    def classes(self) -> Classes:
        """Columns that are equal on every row that passes."""
        return Classes.of(self.conjuncts)

    @cached_property
    def equals(self) -> dict[Column, tuple[Column, ...]]:
        """The members of each class, by its representative, in their order."""
        found: dict[Column, set[Column]] = {}
        for pair in filter(None, map(equal_columns, self.conjuncts)):
            found.setdefault(self.classes.find(pair[0]), set()).update(pair)
        return {one: tuple(sorted(members, key=_order)) for one, members in found.items()}

    @cached_property
    def canonical_conjuncts(self) -> frozenset[Expr]:
        """Every conjunct, with equal columns replaced by their class's representative."""
        return frozenset(canonical(c, self.classes.find) for c in self.conjuncts)


class Classes:
    """Equivalence classes of columns: equal by an inner equality whose equality is identity.

    Floats are left out (-0.0 = 0.0), and so are columns of different types (a cast may lose).
    """

    def __init__(self) -> None:
        self._parent: dict[Column, Column] = {}

    @classmethod
    def of(cls, conjuncts: tuple[Expr, ...]) -> Classes:
        """The classes that top-level equalities between columns make."""
        classes = cls()
        for conjunct in conjuncts:
            pair = equal_columns(conjunct)
            if pair is not None:
                classes._join(*pair)
        return classes

    def find(self, column: Column) -> Column:
        """The class's representative; the column itself where nothing equals it."""
        while column in self._parent:
            column = self._parent[column]
        return column

    def _join(self, a: Column, b: Column) -> None:
        a, b = sorted((self.find(a), self.find(b)), key=_order)
        if a != b:
            self._parent[b] = a


def _order(column: Column) -> tuple[int, int]:
    return (column.occurrence, column.field_id)


def equal_columns(conjunct: Expr) -> tuple[Column, Column] | None:
    """The two columns of `a = b` where equality is identity: one type, not floating."""
    match conjunct:
        case Call(op="=", args=(Column() as a, Column() as b)) if a != b:
            return (a, b) if joins_by_identity(a.type, b.type) else None
    return None


def joins_by_identity(one: str | None, other: str | None) -> bool:
    """Whether columns of these types are equal just where they're the same value."""
    return one == other and (one in _IDENTITY_TYPES or (one or "").startswith("decimal"))


_OF_NUMBERS = frozenset(("avg", "stddev", "stddev_pop", "sum", "var_pop", "var_samp"))


def sum_of_texts(block: Block) -> Declined | None:
    """Declines a block with an aggregate of numbers over texts, which Spark casts to DOUBLE."""
    for call in block.aggregates:
        if call.function in _OF_NUMBERS and call.args and call.args[0].type == "string":
            told = f"Here: {call.function} of texts, which only Spark casts to numbers."
            return Declined("expression_unsupported", told)
    return None
