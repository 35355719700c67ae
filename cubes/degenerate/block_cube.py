"""A block as its own cube: what raw rows are aggregated to where no segment serves.

The match of a block with the cube that it is: the states that raw rows give, and how they're
finished; of a block of rows there are none. It holds whatever of the fact's rows are read, if
these are all that pass.
"""

from __future__ import annotations

from msgspec.structs import replace

from cubes.definition import CubeDefinition, CubeTable, define
from cubes.match.match import match
from cubes.match.occurrence_view import translated
from cubes.match_result import Final, Match, StateSlot
from rewrite.errors import DefinitionError
from rewrite.facts import At
from rewrite.ir.block import Block, Output
from rewrite.ir.expr import NULL, Aggregate, Call
from rewrite.reason import Declined


def itself(block: Block, fact: int = 0) -> tuple[CubeDefinition, Match] | Declined:
    """The block's cube over that fact occurrence, without its predicates, and the match of both.

    Declined where an aggregate has no state, or a key no type.
    """
    if fact in block.null_supplied:
        return Declined("fact_null_supplying")
    if block.rows:
        names = [(o.table, o.alias) for o in block.occurrences]
        tables = tuple(CubeTable(t.name, t.uuid, alias, None) for t, alias in names)
        return CubeDefinition(tables, (), (), (), (), ()), Match(fact, (), (), (), ())
    order = [fact, *(o.index for o in block.occurrences if o.index != fact)]
    to = {old: new for new, old in enumerate(order)}
    bare = replace(block, conjuncts=())
    keys = [Output(f"k{i}", None, translated(key, to)) for i, key in enumerate(block.keys)]
    calls = enumerate(block.aggregates)
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
    return cube, _counted_by_keys(matched)


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
