"""The other dimension of a cover: groups of a statement's aggregates, each by a cover of its own.

Theory: `docs/rewriting.md`, 1. Where cubes failed by their aggregates alone, each answers those
that it has; what none has may be answered by manifests, indexes or rows. Cells of all groups merge
in one statement (`cubes/merge/slot_layout.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from accelerator.planning.plans import Attempt, CoverPlan, MergedPlan, Plan
from accelerator.planning.sources.choose import cost_of
from accelerator.planning.sources.duckdb_text import merged_run
from cubes.definition import CubeDefinition
from cubes.match.match import match
from cubes.match_result import Match
from cubes.merge.slot_layout import layout_of
from rewrite.ir.block import Block
from rewrite.ir.expr import Aggregate
from rewrite.reason import DeclinedError
from rewrite.rules.split_aggregates import is_split, with_only

_NEAR = frozenset({"aggregate_not_in_cube", "table_not_in_cube"})
"""Why a cube doesn't answer which may answer a part; tables that it lacks are joined to cells."""
_GROUPS_MAX = 4


def plan_groups(
    block: Block,
    tried: Sequence[Attempt],
    cubes: Mapping[str, CubeDefinition],
    planned: Callable[[Block], Plan],
) -> MergedPlan | None:
    """The plan over groups of the block's aggregates, each planned by `planned`; None without one.

    `tried` says of what the `cubes` lack; `planned` finds the cheapest plan by itself.
    """
    near = [t.cube for t in tried if t.declined and t.declined.code in _NEAR and t.cube in cubes]
    if not near or not is_split(block):
        return None
    groups = _groups(block, {name: cubes[name] for name in near})
    if not 1 < len(groups) <= _GROUPS_MAX:
        return None
    parts: list[CoverPlan] = []
    for calls in groups:
        plan = planned(with_only(block, calls))
        if not isinstance(plan, CoverPlan) or plan.engine != "duckdb" or plan.duckdb is None:
            return None
        parts.append(plan)
    layout = layout_of(block, groups, [part.match for part in parts])
    if layout is None:
        return None
    try:
        run = merged_run(block, layout, parts)
    except DeclinedError:
        return None
    return MergedPlan(
        inputs=tuple(parts),
        tried=tuple(tried),
        block=block,
        groups=tuple(tuple(calls) for calls in groups),
        duckdb=run,
        names=tuple(o.name for o in block.outputs),
    )


def cost_of_parts(plan: MergedPlan) -> int:
    """What the parts cost, as `cost_of` has it."""
    return sum(cost_of(one.title, one.cover) for one in plan.covers)


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
