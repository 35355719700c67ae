"""Covers as candidates for one statement: what each would read, and which is cheapest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from accelerator.planning.plans.candidate import ALL_ROWS, Attempt
from accelerator.planning.plans.cover_value import SEGMENT, Cover
from rewrite.reason import Declined
from rewrite.rules.eliminate_joins import Reduced

if TYPE_CHECKING:
    from accelerator.iceberg.manifests.job import Decoding

_STAGES = (
    "fact_not_in_query",
    "table_not_in_cube",
    "fact_null_supplying",
    "join_differs",
    "join_not_counted",
    "column_not_in_cube",
    "predicate_not_implied",
    "aggregate_not_in_cube",
)
"""Reasons of a match in the order in which a cube nears an answer; any other is nearer still."""
_ROWS_OVER_CELLS = 4


class CoverCandidate(Struct, frozen=True):
    """A cover that answers the block, by a cube or by what is known without one.

    Where it's `reduced`, that's the block which is answered in place of the statement's.
    """

    title: str
    cube_id: str | None
    cover: Cover
    tried: Attempt
    reduced: Reduced | None = None


def costed(title: str, cover: Cover, decoding: Decoding | None = None) -> Attempt:
    """What was tried, with what the cover reads; `decoding` is of manifests, if these were."""
    return Attempt(
        title,
        None,
        cover.bytes(SEGMENT) + cover.raw_bytes,
        len(cover.segments),
        len(cover.uncovered),
        tuple(sorted(cover.refused.items())),
        decoding,
    )


def cheapest(candidates: Iterable[CoverCandidate]) -> CoverCandidate | None:
    """The one that costs least; ties by name, so that plans are stable."""
    return min(candidates, key=lambda c: (cost(c), c.title), default=None)


def cost(candidate: CoverCandidate) -> int:
    """See `cost_of`."""
    return cost_of(candidate.title, candidate.cover)


def cost_of(title: str, cover: Cover) -> int:
    """Bytes to read; those of all rows count more, since cells are aggregated and sorted."""
    size = cover.bytes(SEGMENT) + cover.raw_bytes
    return size * (_ROWS_OVER_CELLS if title == ALL_ROWS else 1)


def nearest(tried: Iterable[Attempt]) -> Declined | None:
    """The reason of the cube that came nearest to answering; ties go to the first."""

    def stage(declined: Declined) -> int:
        return _STAGES.index(declined.code) if declined.code in _STAGES else len(_STAGES)

    return max((t.declined for t in tried if t.declined is not None), key=stage, default=None)
