"""The slots of several matches side by side: a statement whose aggregates they have between them.

Theory: `docs/rewriting.md`, 1. A cover is a matrix of groups of slots and files: for a file each
group has one source, which leaves the other groups' slots empty, so that the merge needs no join.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from cubes.match_result import Final, Match, StateSlot
from rewrite.ir.block import Block
from rewrite.ir.expr import Aggregate


class SlotLayout(Struct, frozen=True):
    """A match of the whole block, whose slots are those of its groups; each group's `places`."""

    match: Match
    places: tuple[tuple[int, ...], ...]


def layout_of(
    block: Block, groups: Sequence[Sequence[Aggregate]], matches: Sequence[Match]
) -> SlotLayout | None:
    """The layout of the block's aggregates in groups, each of a match of a block with these alone.

    None where a match finishes fewer or other aggregates than its group has.
    """
    slots: list[StateSlot] = []
    finals: dict[Aggregate, Final] = {}
    places = []
    for calls, match in zip(groups, matches, strict=True):
        if len(calls) != len(match.finals) or len(block.keys) != len(match.keys):
            return None
        own = tuple(range(len(slots), len(slots) + len(match.slots)))
        slots += match.slots
        places.append(own)
        for call, final in zip(calls, match.finals, strict=True):
            moved = tuple(own[place] for place in final.slots)
            finals[call] = replace(final, aggregate=call, slots=moved)
    if any(call not in finals for call in block.aggregates):
        return None
    ordered = tuple(finals[call] for call in block.aggregates)
    whole = replace(matches[0], where=(), slots=tuple(slots), finals=ordered, delta=())
    return SlotLayout(whole, tuple(places))
