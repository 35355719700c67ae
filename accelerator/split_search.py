"""Plans of a block of which no cube has all aggregates, by two that have them between them.

Where cubes failed by their aggregates alone, each answers those that it has; what none has may be
answered by manifests or indexes. DuckDB joins the parts by their groups (`rewrite/split.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from accelerator.nested_search import answer_of, over_answers, refused_input
from accelerator.plans import CoverPlan, NestedPlan, Plan, Tried
from accelerator.plans.share import SEGMENT
from cubes.definition import CubeDefinition
from cubes.match import match
from cubes.plan import Match
from rewrite.block import Block
from rewrite.expr import Aggregate
from rewrite.reason import DeclinedError
from rewrite.split import is_split, joined, with_only

_NEAR = frozenset({"aggregate_not_in_cube", "table_not_in_cube"})
"""Why a cube doesn't answer which may answer a part; tables that it lacks are joined to cells."""
_PARTS_MAX = 4


def plan_split(
    block: Block,
    tried: Sequence[Tried],
    cubes: Mapping[str, CubeDefinition],
    planned: Callable[[Block], Plan],
) -> NestedPlan | None:
    """The plan over parts of the block, which `planned` plans; None where there is none.

    `tried` says of what the `cubes` lack; `planned` finds the cheapest plan by itself.
    """
    near = [t.cube for t in tried if t.declined and t.declined.code in _NEAR and t.cube in cubes]
    if not near or not is_split(block):
        return None
    groups = _groups(block, {name: cubes[name] for name in near})
    if not 1 < len(groups) <= _PARTS_MAX:
        return None
    parts: list[CoverPlan] = []
    for calls in groups:
        plan = planned(with_only(block, calls))
        if refused_input(plan) is not None or not isinstance(plan, CoverPlan):
            return None
        parts.append(plan)
    try:
        above = joined(block, groups, [answer_of(part.block) for part in parts])
        return over_answers(above, parts, tuple(tried), by_groups=True)
    except DeclinedError:
        return None


def bytes_of(plan: NestedPlan) -> int:
    """What the parts read."""
    return sum(
        one.cover.bytes(SEGMENT) + one.cover.raw_bytes
        for one in plan.parts
        if isinstance(one, CoverPlan)
    )


def _groups(block: Block, cubes: Mapping[str, CubeDefinition]) -> list[list[Aggregate]]:
    """The aggregates by the cube that answers most of those left, ties by name; then the rest."""
    alone = {call: with_only(block, [call]) for call in block.aggregates}
    has = {
        name: {call for call, one in alone.items() if isinstance(match(one, cube), Match)}
        for name, cube in sorted(cubes.items())
    }
    left = list(block.aggregates)
    groups: list[list[Aggregate]] = []
    while left:
        best = max(has.values(), key=lambda calls: len(calls.intersection(left)))
        found = [call for call in left if call in best] or left
        groups.append(found)
        left = [call for call in left if call not in found]
    return groups
