"""Cells of a cube made of the cells of a finer one: a cube's SELECT, matched as a statement is.

What a statement's aggregates are computed of are states, by the match's slots; a cube keeps just
these, so that merging a finer cube's cells over the coarser one's dimensions gives its segments.
Beyond what a match asks, the joins' counters must be known, and no column may have another type
than the definitions say. A cell stays with the data file that its rows are in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from cubes.coverage import zone_sensitive
from cubes.definition import (
    CubeDefinition,
    CubeMeasure,
    Edge,
    effective_filter,
    state_key,
    stored_measure,
)
from cubes.match.match import match
from cubes.match.occurrence_view import translated
from cubes.match_result import Match
from cubes.measures import ROWS
from cubes.sql.answer import SegmentSource, segment_cells
from cubes.sql.build import SEGMENT, derived_select
from rewrite.facts import At, TableFacts
from rewrite.ir.block import Block, Occurrence, Output
from rewrite.ir.expr import Aggregate, Column, columns
from rewrite.ir.timestamps import is_utc
from rewrite.reason import Declined, DeclinedError
from rewrite.render.expressions import duckdb_type

_ROWS = CubeMeasure("rows", Aggregate("count", (), False, None, "bigint"))


class Derivation(Struct, frozen=True):
    """A proof that the `coarser` cube's cells come of the `finer` one's, by `match`.

    `slots` gives for each state of the coarser cube its place in the match's slots. `edges` pairs
    each join of the coarser cube, by its occurrence, with the finer one's.
    """

    coarser: CubeDefinition
    finer: CubeDefinition
    match: Match
    slots: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]

    def select(self, scan: str, numbers: Mapping[int, int]) -> str:
        """DuckDB: cells of the coarser cube from those in `scan`, a text for FROM.

        `numbers` gives for each of the finer cube's segments the one that its cells belong to.
        DeclinedError where DuckDB can't compute them as Spark does.
        """
        pairs = ", ".join(f"({old}, {new})" for old, new in numbers.items())
        source = (
            f"(SELECT own.* REPLACE (CAST(renumbered.new AS BIGINT) AS {SEGMENT}) FROM {scan} own"
            f" JOIN (VALUES {pairs}) renumbered(old, new) ON own.{SEGMENT} = renumbered.old) cells"
        )
        cells = segment_cells(
            self.match, "duckdb", SegmentSource(source, ""), (), cast=True, kept=(SEGMENT,)
        )
        items = [SEGMENT]
        for index, dimension in enumerate(self.coarser.dimensions):
            items.append(f"CAST(k{index} AS {duckdb_type(str(dimension.expr.type))}) AS d{index}")
        of_values = set()
        for index, (state, place) in enumerate(zip(self.coarser.states, self.slots, strict=True)):
            slot = f"a{place}"
            if state.kind in ("rows", "count"):  # cells that don't count give NULL
                slot = f"COALESCE({slot}, 0)"
            elif self.match.slots[place].kind == "key":
                of_values.add(index)
            items.append(f"{slot} AS s{index}")
        return derived_select(
            self.coarser, of_values, f"(SELECT {', '.join(items)} FROM ({cells}) finer)"
        )


def derive(
    coarser: CubeDefinition,
    finer: CubeDefinition,
    tables: Sequence[TableFacts],
    zone: str | None,
) -> Derivation | Declined:
    """How the cells of `coarser` come of those of `finer`, else why they don't.

    `tables` are the coarser cube's, as they are pinned now; columns are known by their fields, so
    that the cubes may have them under other names. `zone` is the session's.
    """
    fact = coarser.fact
    if (finer.fact.uuid, finer.fact.ref) != (fact.uuid, fact.ref):
        return Declined("fact_not_in_query")
    if coarser.times[fact.uuid] > 1 or finer.times[fact.uuid] > 1:
        return Declined("block_unsupported", "The fact is joined with itself.")
    if zone_sensitive(coarser) and not is_utc(zone):
        return Declined("settings_unsupported", "The session isn't in UTC.")
    matched = match(_block(coarser, tables), finer)
    if isinstance(matched, Declined):
        return matched
    try:
        return _proven(coarser, finer, tables, matched)
    except DeclinedError as error:
        return error.declined


def _block(cube: CubeDefinition, tables: Sequence[TableFacts]) -> Block:
    """The cube's SELECT, which counts all rows as well."""
    occurrences = [
        Occurrence(i, tuple(t.name.split(".")), (t.alias,), facts, At(ref=t.ref))
        for i, (t, facts) in enumerate(zip(cube.tables, tables, strict=True))
    ]
    outputs = [Output(d.name, d.name, d.expr) for d in cube.dimensions]
    outputs += [Output(m.name, m.name, m.aggregate) for m in (_ROWS, *cube.measures)]
    keys = tuple(d.expr for d in cube.dimensions)
    return Block(
        occurrences=tuple(occurrences),
        left_edges=cube.left_edges,
        conjuncts=cube.conjuncts,
        keys=keys,
        outputs=tuple(outputs),
        having=None,
        order=(),
        limit=None,
        grouped=bool(keys),
    )


def _proven(
    coarser: CubeDefinition,
    finer: CubeDefinition,
    tables: Sequence[TableFacts],
    matched: Match,
) -> Derivation:
    if matched.delta:
        name = coarser.tables[matched.delta[0].occurrence].name
        raise DeclinedError("table_not_in_cube", f"The table {name}.")
    mapped = {0: 0, **dict(matched.needs.named)}  # of the finer cube's occurrences
    for theirs, mine in mapped.items():
        if finer.tables[theirs].ref != coarser.tables[mine].ref:
            raise DeclinedError("table_not_in_cube", f"The branch of {coarser.tables[mine].name}.")
    _check_types(coarser, {i: i for i in range(len(tables))}, tables)
    _check_types(finer, mapped, tables)
    return Derivation(
        coarser,
        finer,
        matched,
        _slots(coarser, matched),
        _edges(coarser, finer, mapped),
    )


def _check_types(
    cube: CubeDefinition, mapped: Mapping[int, int], tables: Sequence[TableFacts]
) -> None:
    """DeclinedError where a column of a table that both have isn't of the definition's type."""
    now = {
        (theirs, column.field_id): column.type
        for theirs, mine in mapped.items()
        for column in tables[mine].columns
    }
    exprs = [*cube.conjuncts, *(d.expr for d in cube.dimensions)]
    exprs += [c for edge in cube.left_edges for c in edge.on]
    exprs += [e for s in cube.states for e in (s.argument, s.where) if e is not None]
    for column in (c for e in exprs for c in columns(e)):
        if column.occurrence in mapped and now.get(_place(column), column.type) != column.type:
            raise DeclinedError("schema_changed", f"The type of {column.name}.")


def _place(column: Column) -> tuple[int, int]:
    return column.occurrence, column.field_id


def _slots(cube: CubeDefinition, matched: Match) -> tuple[int, ...]:
    """For each state the slot that holds it, or the values that it is of."""
    found = {}
    for final in matched.finals:
        measure = stored_measure(final.aggregate)
        if measure is None:
            raise DeclinedError("aggregate_unsupported", f"{final.aggregate.function}.")
        places = final.slots if final.measure is not None else final.slots * len(measure.states)
        for kind, place in zip(measure.states, places, strict=True):
            argument = None if measure is ROWS else final.aggregate.args[0]
            where = effective_filter(final.aggregate)
            found[state_key(kind, argument, where, cube.classes)] = place
    slots = []
    for state in cube.states:
        place = found[state_key(state.kind, state.argument, state.where, cube.classes)]
        slot = matched.slots[place]
        if slot.kind != "key" and slot.size != state.size:
            raise DeclinedError("aggregate_not_in_cube", "Its sketch has another size.")
        slots.append(place)
    return tuple(slots)


def _edges(
    coarser: CubeDefinition, finer: CubeDefinition, mapped: Mapping[int, int]
) -> tuple[tuple[int, int], ...]:
    """Each join of the coarser cube with the finer one's, which must be by the same columns."""
    theirs = {edge.occurrence: edge for edge in finer.edges}
    back = {mine: its for its, mine in mapped.items()}
    if len(coarser.edges) != len(coarser.tables) - 1:
        raise DeclinedError("join_not_counted")
    found = []
    for edge in coarser.edges:
        other = theirs.get(back[edge.occurrence])
        if other is None or _keys(edge, {o: o for o in back}) != _keys(other, mapped):
            raise DeclinedError("join_differs", f"With {coarser.tables[edge.occurrence].name}.")
        found.append((edge.occurrence, other.occurrence))
    return tuple(found)


def _keys(edge: Edge, mapped: Mapping[int, int]) -> frozenset[object]:
    return frozenset(
        (translated(own, mapped), translated(other, mapped)) for own, other in edge.keys
    )
