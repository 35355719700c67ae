"""What statements say of their fact alone: the predicates that an index or an order may prune by.

A predicate on a dimension counts too: by relate columns that the fact has, by those that it may get
(`Possible`), and by the keys that the dimension's rows leave, as a statement finds them when it's
planned. What may raise an error prunes nothing, so nothing is said of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

import pyarrow as pa
from msgspec import Struct

from accelerator.artifacts.relate.declaration import (
    Field,
    Join,
    RelateColumn,
    RelateKeyColumn,
    relate_columns,
)
from accelerator.artifacts.relate.path import Path, check, path_of
from accelerator.errors import AcceleratorError
from accelerator.iceberg import PinnedTable
from accelerator.iceberg.pruning.column_ranges import range_of
from accelerator.iceberg.pruning.predicates import question_of
from accelerator.planning.dynamic_filters import key_predicates
from accelerator.services.advisor.workload.digests import relate_meaning
from accelerator.services.advisor.workload.queries import WorkloadQuery
from cubes.may_raise import unsafe
from indexes.domains import domain_of
from indexes.question import Question
from rewrite.facts import At
from rewrite.ir.block import Block, joins_by_identity
from rewrite.ir.expr import Call, Column, Expr, columns, occurrences
from rewrite.ir.integer_ranges import raises_nothing
from rewrite.reason import DeclinedError
from rewrite.render.readable import bare
from rewrite.rules.push_through_joins import pushed

if TYPE_CHECKING:
    from accelerator.iceberg import Pin
    from accelerator.query.runtime.services import Services

FAILS = (AcceleratorError, DeclinedError, OSError, ValueError, KeyError, pa.ArrowException)
"""What reading tables and their files raises."""
BLOCKS_MAX = 300
"""Of one fact, those that take longest: each is judged with each index that may be made."""
_RELATES_MAX = 12
_Named = tuple[str, int, tuple[RelateKeyColumn, ...]]
"""A dimension's uuid, an attribute's field id, and by what the fact is joined with it."""
_FIRST_ID = -(1 << 40)
"""Ids of relate columns that may be added; those that there are have smaller numbers."""


class Filtered(Struct, frozen=True, dict=True):
    """A block, numbered among its fact's, and what each row of the fact satisfies that counts.

    `own` are over columns of the fact; of relate columns these have negative ids. `keyed` hold by
    what is left of a dimension's keys: a statement looks for these where an index is on the fact's
    key, whose field id stands before each.
    """

    number: int
    asked: WorkloadQuery
    own: tuple[Expr, ...]
    keyed: tuple[tuple[int, Expr], ...] = ()

    @cached_property
    def asks(self) -> tuple[tuple[Column, Question], ...]:
        """The questions that its predicates put to single columns."""
        every = (*self.own, *(one for _, one in self.keyed))
        return tuple(found for expr in every for found in questions(expr))

    def under(self, indexed: Collection[int]) -> tuple[Expr, ...]:
        """What holds of its rows, as a statement knows it with indexes on these fields."""
        return tuple(dict.fromkeys((*self.own, *(e for key, e in self.keyed if key in indexed))))

    @property
    def fields(self) -> frozenset[int]:
        """Ids of the fields that stand in its predicates."""
        every = (*self.own, *(one for _, one in self.keyed))
        return frozenset(c.field_id for expr in every for c in columns(expr))


class Possible(Struct, frozen=True):
    """A relate column that isn't declared: where it leads, by what, and the DDL that adds it."""

    path: Path
    ddl: str

    @property
    def name(self) -> str:
        """As it would be called."""
        return self.path.column.name


def questions(expr: Expr) -> Iterator[tuple[Column, Question]]:
    """What a predicate's parts ask of columns.

    >>> a, five = Column(0, 1, "a", "int"), Literal("5", "int")
    >>> [q for _, q in questions(Call("not", (Call("=", (a, five), "boolean"),), "boolean"))]
    [Among(values=(5,))]
    """
    match expr:
        case Call(op="and" | "or" | "not", args=args):
            for one in args:
                yield from questions(one)
        case Call(op="<>", args=args):
            yield from questions(Call("=", args, "boolean"))
        case _:
            found = question_of(expr)
            if found is not None:
                yield found


def occurrence_of(block: Block, uuid: str) -> int | None:
    """Where the table stands, once, at its newest state and never padded; None elsewhere."""
    found = [o for o in block.occurrences if o.table.uuid == uuid]
    if len(found) != 1 or found[0].at != At() or found[0].index in block.null_supplied:
        return None
    return found[0].index


class FactFilters:
    """Of one fact's blocks. `relates` are the relate columns that there are, by id."""

    def __init__(self, services: Services, pin: Pin, fact: PinnedTable) -> None:
        self._services, self._pin, self.fact = services, pin, fact
        self.relates: Mapping[int, Path] = self._declared()
        self.possible: Mapping[int, Possible] = {}

    def _declared(self) -> dict[int, Path]:
        found = {}
        for one in relate_columns(self.fact.properties):
            try:
                path = path_of(one, self._pin)
                check(path, self.fact)
                found[one.id] = path
            except AcceleratorError:  # a broken one prunes nothing
                continue
        return found

    def of(self, asked: Sequence[WorkloadQuery]) -> list[Filtered]:
        """Those with predicates, in their order; what may be related is known then."""
        self._find_possible(asked)
        found = list[Filtered]()
        for number, one in enumerate(asked):
            if len(found) >= BLOCKS_MAX:
                break
            filtered = self._filtered(number, one)
            if filtered.asks:
                found.append(filtered)
        return found

    def _filtered(self, number: int, one: WorkloadQuery) -> Filtered:
        block = one.block
        fact = occurrence_of(block, self.fact.facts.uuid)
        known = range_of(one.pinned)
        if fact is None or unsafe(block.conditions, lambda c: raises_nothing(c, known)) is not None:
            return Filtered(number, one, ())
        own = [c for c in block.conjuncts if occurrences(c) == {fact}]
        if len(block.occurrences) == 1:
            return Filtered(number, one, tuple(own))
        related = [path.column.related for path in self.relates.values()]
        told = pushed(block, fact, [*related, *(p.path.column.related for p in self._new())])
        through = {o for number in self.relates for o in told.through.get(number, ())}
        keys = {c.field_id for c in self.fact.facts.columns}
        keyed = list[tuple[int, Expr]]()
        try:
            services = self._services
            for expr in key_predicates(
                block, fact, one.pinned, keys, through, lambda: services.duckdb
            ):
                keyed += [(column.field_id, expr) for column in columns(expr)]
        except FAILS:  # a dimension that can't be read here says nothing
            pass
        return Filtered(number, one, tuple(dict.fromkeys((*own, *told.conjuncts))), tuple(keyed))

    def _new(self) -> Sequence[Possible]:
        return tuple(self.possible.values())

    # Relate columns that may be added.

    def _find_possible(self, asked: Sequence[WorkloadQuery]) -> None:
        weights = dict[_Named, float]()
        found = dict[_Named, tuple[PinnedTable, Column, tuple[RelateKeyColumn, ...]]]()
        for one in asked:
            fact = occurrence_of(one.block, self.fact.facts.uuid)
            for table, attribute, keys in () if fact is None else _attributes(one, fact):
                name = table.facts.uuid, attribute.field_id, keys
                found.setdefault(name, (table, attribute, keys))
                weights[name] = weights.get(name, 0.0) + one.weight * (one.raw_ms or 1.0)
        known = {_meaning(path) for path in self.relates.values()}
        taken = {c.name.lower() for c in self.fact.facts.columns}
        taken |= {one.name.lower() for one in relate_columns(self.fact.properties)}
        possible: dict[int, Possible] = {}
        for name in sorted(found, key=lambda one: (-weights[one], repr(one))):
            if len(possible) >= _RELATES_MAX:
                break
            made = self._possible(*found[name], _FIRST_ID - len(possible), taken)
            if made is not None and _meaning(made.path) not in known:
                possible[made.path.column.id] = made
                taken.add(made.name.lower())
        self.possible = possible

    def _possible(
        self,
        table: PinnedTable,
        attribute: Column,
        keys: tuple[RelateKeyColumn, ...],
        number: int,
        taken: set[str],
    ) -> Possible | None:
        """None where its key isn't unique, or can't be read here."""
        name = attribute.name
        if name.lower() in taken:
            name = f"{table.parts[-1]}_{attribute.name}"
        name = next(one for one in _numbered(name) if one.lower() not in taken)
        join = Join(table.parts, table.facts.uuid, keys)
        column = RelateColumn(name, number, (join,), Field(attribute.field_id, attribute.name))
        path = Path(column, (table,))
        try:
            check(path, self.fact)
            if self._services.dimensions.is_large(path):
                return None
            self._services.dimensions.lookup(path)
        except FAILS:
            return None
        return Possible(path, add_ddl(path, self.fact))


def _numbered(name: str) -> Iterator[str]:
    """The name, then with each number behind it."""
    yield name
    yield from (f"{name}{number}" for number in count(1))


def add_ddl(path: Path, fact: PinnedTable) -> str:
    """The statement that adds the relate column of one dimension to the fact, with full names."""
    (join,), (table,) = path.column.path, path.dimensions

    def full(pinned: PinnedTable, *more: str) -> str:
        return ".".join(bare(one) for one in (*pinned.parts, *more))

    on = " AND ".join(
        f"{full(fact, key.other.name)} = {full(table, key.own.name)}" for key in join.keys
    )
    return (
        f"ALTER TABLE {full(fact)} ADD RELATE COLUMN"
        f" FROM {full(table, path.column.attribute.name)} ON {on} AS {bare(path.column.name)}"
    )


def _meaning(path: Path) -> str:
    """What the relate column is, whatever it's called and whoever declared it."""
    return relate_meaning(path.column)


def _attributes(
    one: WorkloadQuery, fact: int
) -> Iterator[tuple[PinnedTable, Column, tuple[RelateKeyColumn, ...]]]:
    """Columns of dimensions joined to the fact itself that predicates above the joins ask of."""
    block = one.block
    wanted: dict[int, set[Column]] = {}
    for conjunct in block.conjuncts:
        for column, _ in questions(conjunct):
            if column.occurrence != fact and domain_of(column.type or "") is not None:
                wanted.setdefault(column.occurrence, set()).add(column)
    for other, attributes in sorted(wanted.items()):
        if block.occurrences[other].at != At():
            continue
        keys = _keys(block, fact, other)
        own = {key.own.field_id for key in keys}
        for column in sorted(attributes, key=lambda c: c.field_id):
            if keys and column.field_id not in own:
                yield one.pinned[other], column, keys


def _keys(block: Block, fact: int, other: int) -> tuple[RelateKeyColumn, ...]:
    """The equalities of columns by which the fact is joined with it."""
    edge = next((e for e in block.left_edges if e.occurrence == other), None)
    pairs: list[tuple[Column, Column]] = []
    if edge is not None:
        for expr in edge.on:
            match expr:
                case Call(op="=", args=(Column() as a, Column() as b)) if {
                    a.occurrence,
                    b.occurrence,
                } == {fact, other}:
                    pairs.append((a, b) if a.occurrence == fact else (b, a))
    else:
        for members in block.equals.values():
            mine = [c for c in members if c.occurrence == fact]
            theirs = [c for c in members if c.occurrence == other]
            if mine and theirs:
                pairs.append((mine[0], theirs[0]))
    ordered = sorted(set(pairs), key=lambda pair: (pair[0].field_id, pair[1].field_id))
    if any(not joins_by_identity(a.type or "", b.type or "") for a, b in ordered):
        return ()
    return tuple(
        RelateKeyColumn(0, Field(a.field_id, a.name), Field(b.field_id, b.name)) for a, b in ordered
    )
