"""One match's cells in the places of another's, so that cells of two cubes merge in one answer.

Theory: `docs/rewriting.md`, 1. Each aggregate has one state in a statement: by which function, of
which type, in sketches of which size, the first match says; another cube gives that state, or none.
"""

from __future__ import annotations

from msgspec.structs import replace

from cubes.match_result import Match, StateSlot


def aligned(match: Match, other: Match) -> Match | None:
    """`other` with its slots in the places of `match`; None where it lacks one, or keeps another.

    Both are of one statement: they have its keys, and its aggregates in their order.
    """
    if len(match.keys) != len(other.keys) or len(match.finals) != len(other.finals):
        return None
    found: dict[int, StateSlot] = {}
    for mine, theirs in zip(match.finals, other.finals, strict=True):
        if mine.measure is not theirs.measure or len(mine.slots) != len(theirs.slots):
            return None
        for place, at in zip(mine.slots, theirs.slots, strict=True):
            if found.setdefault(place, other.slots[at]) != other.slots[at]:
                return None
    if not all(_is_same(slot, found.get(i)) for i, slot in enumerate(match.slots)):
        return None
    return replace(other, slots=tuple(found[i] for i in range(len(match.slots))))


def _is_same(slot: StateSlot, other: StateSlot | None) -> bool:
    kept = (slot.kind, slot.type, slot.size)
    return other is not None and kept == (other.kind, other.type, other.size)
