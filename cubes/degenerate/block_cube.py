"""A block as its own cube: what raw rows are aggregated to where no segment serves.

The match of a block with the cube that it is: the states that raw rows give, and how they're
finished; of a block of rows there are none. It holds whatever of the fact's rows are read, if
these are all that pass. Row aggregates have no state: they're computed whole where the rows are
grouped, which gives one cell for each group.
"""

from __future__ import annotations

from msgspec.structs import replace

from cubes.definition import CubeDefinition, CubeTable, define
from cubes.match.match import match
from cubes.match.occurrence_view import translated
from cubes.match_result import WHOLE_SLOT, Final, Match, StateSlot
from cubes.measures import WHOLE, Measure
from rewrite.errors import DefinitionError
from rewrite.facts import At
from rewrite.functions.aggregates import ROW_AGGREGATES
from rewrite.ir.block import Block, Output
from rewrite.ir.expr import NULL, Aggregate, Call, Expr, transform
from rewrite.reason import Declined


def itself(block: Block, fact: int = 0) -> tuple[CubeDefinition, Match] | Declined:
    """The block's cube over that fact occurrence, without its predicates, and the match of both.

    Declined where an aggregate has no state, or a key no type.
    """
    name = "itself", fact
    if name not in block.apart:
        block.apart[name] = _itself(block, fact)
    found: tuple[CubeDefinition, Match] | Declined = block.apart[name]
    return found


def _itself(block: Block, fact: int) -> tuple[CubeDefinition, Match] | Declined:
    if fact in block.null_supplied:
        return Declined("fact_null_supplying")
    if block.rows:
        names = [(o.table, o.alias) for o in block.occurrences]
        tables = tuple(CubeTable(t.name, t.uuid, alias, None) for t, alias in names)
        return CubeDefinition(tables, (), (), (), (), ()), Match(fact, (), (), (), ())
    order = [fact, *(o.index for o in block.occurrences if o.index != fact)]
    to = {old: new for new, old in enumerate(order)}
    whole = [call for call in block.aggregates if call.function in ROW_AGGREGATES]
    if whole and block.sets:
        return Declined("aggregate_unsupported", "An aggregate of rows over grouping sets.")
    bare = _without_row_aggregates(block) if whole else replace(block, conjuncts=())
    keys = [Output(f"k{i}", None, translated(key, to)) for i, key in enumerate(block.keys)]
    calls = enumerate(bare.aggregates)
    measures = [Output(f"m{i}", None, translated(call, to)) for i, call in calls]
    occurrences = [replace(block.occurrences[old], index=to[old], at=At()) for old in order]
    edges = [
        replace(e, occurrence=to[e.occurrence], on=tuple(translated(c, to) for c in e.on))
        for e in block.left_edges
    ]
    try:
        cube = define(
            replace(
                bare,
                occurrences=tuple(occurrences),
                left_edges=tuple(edges),
                keys=tuple(translated(key, to) for key in block.keys),
                outputs=(*keys, *measures),
                having=None,
                order=(),
                limit=None,
                sets=(),
            )
        )
    except DefinitionError as error:
        return Declined("aggregate_unsupported", error.message)
    matched = match(bare, cube)
    if isinstance(matched, Declined):
        return matched
    if matched.needs.bounded:
        return Declined("metadata_lacks", "The bounds of a sum of two columns.")
    return cube, _computed_whole(block, matched) if whole else _counted_by_keys(matched)


def _without_row_aggregates(block: Block) -> Block:
    """The block without its predicates, and with NULL in place of each row aggregate."""

    def change(node: Expr) -> Expr | None:
        return NULL if isinstance(node, Aggregate) and node.function in ROW_AGGREGATES else None

    return replace(
        block,
        conjuncts=(),
        outputs=tuple(replace(one, expr=transform(one.expr, change)) for one in block.outputs),
        order=tuple(replace(key, expr=transform(key.expr, change)) for key in block.order),
        having=None if block.having is None else transform(block.having, change),
    )


def _computed_whole(block: Block, matched: Match) -> Match:
    """Adds row aggregates. Distinct counts are computed whole too, so a group has one cell."""
    places: dict[StateSlot, int] = {}
    merged = {final.aggregate: final for final in matched.finals}
    finals: list[Final] = []
    for call in block.aggregates:
        measure: Measure | None = WHOLE
        own = [StateSlot(WHOLE_SLOT, call, None, NULL, call.type or "")]
        if call in merged and not (call.distinct and call.function == "count"):
            measure, own = merged[call].measure, [matched.slots[i] for i in merged[call].slots]
        held = tuple([places.setdefault(one, len(places)) for one in own])
        finals.append(Final(call, measure, held))
    return replace(matched, slots=tuple(places), finals=tuple(finals))


def _counted_by_keys(matched: Match) -> Match:
    """With distinct counts by what rows are grouped by as well, in place of states that merge.

    Nothing merges with these rows, and engines group faster than they gather values.
    """
    places: dict[StateSlot, int] = {}
    finals: list[Final] = []
    for final in matched.finals:
        own = [matched.slots[place] for place in final.slots]
        call, measure = final.aggregate, final.measure
        if call.distinct and call.function == "count":
            own, measure = [_key(call, own[0])], None
        held = tuple([places.setdefault(one, len(places)) for one in own])
        finals.append(Final(call, measure, held))
    return replace(matched, slots=tuple(places), finals=tuple(finals))


def _key(call: Aggregate, slot: StateSlot) -> StateSlot:
    """What's counted: NULL, which isn't, in rows that FILTER leaves out."""
    argument = call.args[0]
    if call.where is not None:
        argument = Call("case", (call.where, argument, NULL), argument.type)
    return StateSlot("key", argument, None, slot.cube, argument.type or "")
