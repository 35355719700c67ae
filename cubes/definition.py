"""What a cube is: a bound SELECT split into dimensions, states and join edges.

A definition is stored with field ids and types, so a renamed column keeps its cube, and is read
back without the tables. Columns on disk: `d0…` dimensions, `s0…` states, `segment`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any

from msgspec import Meta, Struct, convert, to_builtins

from cubes import kll
from cubes.measures import ROWS, Measure, measure_of, sketch_size
from cubes.states import STATES
from rewrite.errors import DefinitionError
from rewrite.facts import At
from rewrite.ir.block import Block, Classes, LeftEdge
from rewrite.ir.expr import (
    CUBE,
    NAMING,
    Aggregate,
    Call,
    Column,
    Expr,
    Literal,
    canonical,
    columns,
    has_aggregate,
    occurrences,
    walk,
)
from rewrite.ir.expr_json import from_json, to_json
from rewrite.reason import DeclinedError

FORMAT = 1
"""Version of stored definitions and segment files; raised when either's meaning changes."""

_FORMAT_SIZED = 2
"""Of a definition with a sketch's size; others stay in format 1, which older releases read."""


class CubeTable(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A table occurrence of the definition; a list in the stored form."""

    name: str
    uuid: str
    alias: str
    ref: str | None


class Dimension(Struct, frozen=True):
    """A group key of the cube, under the name that its SELECT gives."""

    name: str
    expr: Expr


class StoredState(Struct, frozen=True):
    """A stored state: its kind, its argument (None for rows), its FILTER, and a sketch's size."""

    kind: str
    argument: Expr | None
    where: Expr | None
    type: str
    size: int = 0

    @property
    def argument_type(self) -> str | None:
        """The argument's Spark type."""
        return None if self.argument is None else self.argument.type


class CubeMeasure(Struct, frozen=True):
    """An aggregate as the SELECT names it."""

    name: str
    aggregate: Aggregate


class Edge(Struct, frozen=True):
    """A join to `occurrence` by equalities `own column = expression over earlier tables`.

    `left` tells LEFT JOIN from inner. Only such edges have counters; only they can be left out.
    """

    occurrence: int
    left: bool
    keys: tuple[tuple[Column, Expr], ...]


class CubeDefinition(Struct, frozen=True, dict=True):
    """A cube; `fact` is occurrence 0."""

    tables: tuple[CubeTable, ...]
    left_edges: tuple[LeftEdge, ...]
    conjuncts: tuple[Expr, ...]
    dimensions: tuple[Dimension, ...]
    measures: tuple[CubeMeasure, ...]
    states: tuple[StoredState, ...]

    @property
    def fact(self) -> CubeTable:
        """The table whose data files the cube's segments cover."""
        return self.tables[0]

    @cached_property
    def classes(self) -> Classes:
        """Columns equal on every row of the cube."""
        return Classes.of(self.conjuncts)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """The joins that can be counted, in the order of their occurrence."""
        found = [self._edge(index) for index in range(1, len(self.tables))]
        return tuple(edge for edge in found if edge is not None)

    @cached_property
    def views(self) -> dict[Any, Any]:
        """What matching found of the cube that statements ask again; a cache, no part of it."""
        return {}

    @cached_property
    def table_uuids(self) -> frozenset[str]:
        """The tables that it joins."""
        return frozenset(table.uuid for table in self.tables)

    @cached_property
    def times(self) -> Counter[str]:
        """How often it joins each table, by uuid."""
        return Counter(table.uuid for table in self.tables)

    @cached_property
    def conjunct_tables(self) -> tuple[frozenset[int], ...]:
        """The occurrences that each of `conjuncts` names."""
        return tuple(frozenset(occurrences(c)) for c in self.conjuncts)

    @cached_property
    def shown(self) -> frozenset[tuple[str, int]]:
        """Every (table uuid, field id) that a dimension or predicate names."""
        exprs = [*self.conjuncts, *(d.expr for d in self.dimensions)]
        exprs += [c for edge in self.left_edges for c in edge.on]
        found = {c for e in exprs for c in columns(e)}
        return frozenset((self.tables[c.occurrence].uuid, c.field_id) for c in found)

    @cached_property
    def shown_fact(self) -> frozenset[int]:
        """The field ids of the fact among these."""
        uuid = self.fact.uuid
        return frozenset(field for table, field in self.shown if table == uuid)

    @cached_property
    def fact_fields(self) -> frozenset[int]:
        """The field ids of the fact that a dimension names, or a column that it equals there."""
        named = {self.classes.find(c) for d in self.dimensions for c in columns(d.expr)}
        searched = {c for e in self.conjuncts for c in columns(e) if c.occurrence == 0}
        equal = {c.field_id for c in searched if self.classes.find(c) in named}
        own = {c.field_id for d in self.dimensions for c in columns(d.expr) if c.occurrence == 0}
        return frozenset(equal | own)

    @cached_property
    def has_constants(self) -> bool:
        """Whether a dimension or predicate holds a constant: a statement's may be equal to it."""
        exprs = [*self.conjuncts, *(d.expr for d in self.dimensions)]
        exprs += [c for edge in self.left_edges for c in edge.on]
        found = (node for e in exprs for node in walk(e) if isinstance(node, Literal))
        return any(literal.type not in NAMING for literal in found)

    @cached_property
    def edge_joins(self) -> Mapping[int, tuple[Expr, ...]]:
        """`join_conjuncts` of every occurrence."""
        return {o: self._joins(o) for o in range(1, len(self.tables))}

    def join_conjuncts(self, occurrence: int) -> tuple[Expr, ...]:
        """A left edge's ON, or the equalities that join the occurrence to earlier tables."""
        return self.edge_joins[occurrence]

    def _joins(self, occurrence: int) -> tuple[Expr, ...]:
        for edge in self.left_edges:
            if edge.occurrence == occurrence:
                return edge.on
        return tuple(c for c in self.conjuncts if _key(c, occurrence) is not None)

    def fields(self) -> set[tuple[int, int]]:
        """Every (occurrence, field id) that the definition uses."""
        exprs = [*self.conjuncts, *(d.expr for d in self.dimensions)]
        exprs += [c for edge in self.left_edges for c in edge.on]
        exprs += [e for s in self.states for e in (s.argument, s.where) if e is not None]
        return {(c.occurrence, c.field_id) for e in exprs for c in columns(e)}

    def state_column(self, index: int) -> Column:
        """The cube's column of a state."""
        return Column(CUBE, 1000 + index, f"s{index}", self.states[index].type)

    def dimension_column(self, index: int) -> Column:
        """The cube's column of a dimension."""
        return Column(CUBE, index, f"d{index}", self.dimensions[index].expr.type)

    def _edge(self, occurrence: int) -> Edge | None:
        left = any(e.occurrence == occurrence for e in self.left_edges)
        joins = self.join_conjuncts(occurrence)
        keys = [_key(c, occurrence) for c in joins]
        if not keys or any(k is None for k in keys):
            return None
        return Edge(occurrence, left, tuple(k for k in keys if k is not None))


def _key(conjunct: Expr, occurrence: int) -> tuple[Column, Expr] | None:
    """`own column = expression over earlier tables`, either way round."""
    if getattr(conjunct, "op", "") != "=":
        return None
    a, b = conjunct.args  # type: ignore[union-attr]
    for own, other in ((a, b), (b, a)):
        if isinstance(own, Column) and own.occurrence == occurrence:
            named = occurrences(other)
            if named and max(named) < occurrence:
                return own, other
    return None


def define_stored(block: Block) -> CubeDefinition:
    """Defines a cube that is built; DefinitionError for fields of structs, which cubes lack."""
    found = define(block)
    exprs = (*block.conditions, *block.keys, *block.results)
    for column in (one for expr in exprs for one in columns(expr) if one.path):
        raise DefinitionError(
            f"{column.name} is a field inside a column, which cubes can't keep yet",
            hint="leave it out, or add a column of its own to the table",
        )
    return found


def define(block: Block) -> CubeDefinition:
    """The cube that a bound SELECT describes; DefinitionError says what can't be kept."""
    if block.sets:
        raise DefinitionError(
            "a cube's SELECT can't have GROUPING SETS, ROLLUP or CUBE",
            hint="group by all their keys: every set of them is answered from that",
        )
    if block.having is not None or block.order or block.limit is not None:
        raise DefinitionError(
            "a cube's SELECT can't have HAVING, ORDER BY or LIMIT",
            hint="leave them to the queries; the cube keeps every group",
        )
    dimensions: list[Dimension] = []
    measures: list[CubeMeasure] = []
    for output in block.outputs:
        name = output.alias or output.name or f"c{len(dimensions) + len(measures)}"
        if not has_aggregate(output.expr):
            if output.expr not in block.keys:
                raise DefinitionError(
                    f"{name} isn't in GROUP BY", hint="group by it, or leave it out"
                )
            dimensions.append(Dimension(name, output.expr))
        elif isinstance(output.expr, Aggregate):
            measures.append(CubeMeasure(name, output.expr))
        else:
            raise DefinitionError(
                f"{name} computes with an aggregate",
                hint="name the aggregates alone; queries may compute with them",
            )
    named = {d.expr for d in dimensions}
    dimensions += [Dimension(_name(k, i), k) for i, k in enumerate(block.keys) if k not in named]
    _check_names([d.name for d in dimensions] + [m.name for m in measures])
    untyped = [d.name for d in dimensions if d.expr.type is None]
    if untyped:
        raise DefinitionError(
            f"the type of the dimension {untyped[0]} isn't known",
            hint="use columns, dates' parts, CASE, COALESCE or arithmetic of one type",
        )
    tables = tuple(
        CubeTable(o.table.name, o.table.uuid, o.alias, o.at.ref) for o in block.occurrences
    )
    if any(o.at not in (At(), At(ref=o.at.ref)) for o in block.occurrences):
        raise DefinitionError(
            "a cube can't be defined on a past state or a branch's own name",
            hint="name the table, or VERSION AS OF a branch",
        )
    return CubeDefinition(
        tables=tables,
        left_edges=block.left_edges,
        conjuncts=block.conjuncts,
        dimensions=tuple(dimensions),
        measures=tuple(measures),
        states=_states(measures, block.classes),
    )


def _name(key: Expr, index: int) -> str:
    return key.name if isinstance(key, Column) else f"key{index}"


def _check_names(names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise DefinitionError(f"two columns are called {name}", hint="give one another alias")
        seen.add(name.lower())


def _states(measures: list[CubeMeasure], classes: Classes) -> tuple[StoredState, ...]:
    found: dict[tuple[str, Expr | None, Expr | None], StoredState] = {}
    found["rows", None, None] = StoredState("rows", None, None, "bigint")
    for cube_measure in measures:
        aggregate = cube_measure.aggregate
        measure, size = stored_measure(aggregate), 0
        if measure is not None:
            size = _size(cube_measure.name, measure, aggregate)
        else:
            shown = f"{aggregate.function}({'DISTINCT ' if aggregate.distinct else ''}…)"
            raise DefinitionError(
                f"{cube_measure.name}: {shown} over {_argument_type(aggregate)}"
                " has no mergeable state",
                hint="docs/reference/measures.md lists what a cube can keep",
            )
        argument = None if measure is ROWS else aggregate.args[0]
        where = effective_filter(aggregate)
        for kind in measure.states:
            key = state_key(kind, argument, where, classes)
            type_ = STATES[kind].stored(None if argument is None else argument.type) or "bigint"
            state = StoredState(kind, argument, where, type_, size if STATES[kind].sized else 0)
            # One sketch serves every percentage and every coarser accuracy.
            found[key] = max(found.get(key, state), state, key=lambda s: s.size)
    return tuple(found.values())


def state_key(
    kind: str, argument: Expr | None, where: Expr | None, classes: Classes
) -> tuple[str, Expr | None, Expr | None]:
    """What a state means, however its argument and filter are written: a cube keeps one of each."""
    find = classes.find
    return kind, argument and canonical(argument, find), where and canonical(where, find)


def _size(name: str, measure: Measure, aggregate: Aggregate) -> int:
    try:
        return sketch_size(measure, aggregate)
    except DeclinedError as error:
        raise DefinitionError(
            f"{name}: {error.declined.detail}", hint="name a smaller accuracy, or leave it out"
        ) from error


def _argument_type(aggregate: Aggregate) -> str | None:
    return aggregate.args[0].type if aggregate.args else "*"


def stored_measure(aggregate: Aggregate) -> Measure | None:
    """The measure of an aggregate call: count(*) and count_if are counts of rows."""
    if aggregate.function == "count_if" or (aggregate.function == "count" and not aggregate.args):
        return None if aggregate.distinct else ROWS
    return measure_of(aggregate)


def effective_filter(aggregate: Aggregate) -> Expr | None:
    """The rows that an aggregate sees: its FILTER, or count_if's own condition."""
    if aggregate.function != "count_if":
        return aggregate.where
    if aggregate.where is None:
        return aggregate.args[0]
    return Call("and", (aggregate.where, aggregate.args[0]), "boolean")


def to_dict(cube: CubeDefinition) -> dict[str, Any]:
    """The stored form."""
    return {
        "format": _FORMAT_SIZED if any(s.size for s in cube.states) else FORMAT,
        "tables": to_builtins(list(cube.tables)),
        "left": [[e.occurrence, [to_json(c) for c in e.on]] for e in cube.left_edges],
        "conjuncts": [to_json(c) for c in cube.conjuncts],
        "dimensions": [[d.name, to_json(d.expr)] for d in cube.dimensions],
        "measures": [[m.name, to_json(m.aggregate)] for m in cube.measures],
        "states": [_state_list(s) for s in cube.states],
    }


def _state_list(state: StoredState) -> list[Any]:
    plain = [state.kind, to_json(state.argument), to_json(state.where), state.type]
    return [*plain, state.size] if state.size else plain


class _StateList(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    kind: str
    argument: Any
    where: Any
    type: str
    size: Annotated[int, Meta(ge=0, le=kll.SIZE_MAX)] = 0


class _StoredForm(Struct, frozen=True):
    """The stored form of a definition; `Any` is an expression."""

    tables: Annotated[tuple[CubeTable, ...], Meta(min_length=1)]
    left: tuple[tuple[int, tuple[Any, ...]], ...]
    conjuncts: tuple[Any, ...]
    dimensions: tuple[tuple[str, Any], ...]
    measures: tuple[tuple[str, Any], ...]
    states: tuple[_StateList, ...]


def from_dict(data: dict[str, Any]) -> CubeDefinition:
    """The definition that `to_dict` wrote; ValueError for anything else."""
    if data.get("format") not in (FORMAT, _FORMAT_SIZED):
        raise ValueError(f"cube definition of format {data.get('format')!r}")
    stored = convert(data, _StoredForm)
    cube = CubeDefinition(
        tables=stored.tables,
        left_edges=tuple(LeftEdge(o, tuple(map(_row, on))) for o, on in stored.left),
        conjuncts=tuple(map(_row, stored.conjuncts)),
        dimensions=tuple(Dimension(name, _row(expr)) for name, expr in stored.dimensions),
        measures=tuple(CubeMeasure(name, _aggregate(call)) for name, call in stored.measures),
        states=tuple(map(_state, stored.states)),
    )
    known = range(len(cube.tables))
    if any(one not in known for one, _ in cube.fields()):
        raise ValueError("a cube definition with a column of none of its tables")
    joined = [edge.occurrence for edge in cube.left_edges]
    if len({*joined}) < len(joined) or any(one not in known[1:] for one in joined):
        raise ValueError("a cube definition with a join of none of its tables, or of one twice")
    return cube


def _row(data: Any) -> Expr:
    """An expression without aggregates."""
    expr = from_json(data)
    if has_aggregate(expr):
        raise ValueError("an aggregate where rows are meant")
    return expr


def _aggregate(data: Any) -> Aggregate:
    expr = from_json(data)
    if not isinstance(expr, Aggregate):
        raise ValueError("a measure that is no aggregate")
    return expr


def _state(stored: _StateList) -> StoredState:
    argument, where = (
        None if one is None else _row(one) for one in (stored.argument, stored.where)
    )
    state = StoredState(stored.kind, argument, where, stored.type, stored.size)
    known = STATES.get(state.kind)
    if known is None or state.type != (known.stored(state.argument_type) or "bigint"):
        raise ValueError(f"the state {state.kind[:200]} of type {state.type[:200]}")
    return state
