"""EXPLAIN: a plan as text or JSON, and why each cube that was considered isn't used."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from accelerator.engine_choice import Estimate
from accelerator.plans import Plan
from accelerator.plans.share import SEGMENT

_OF_COVERAGE = frozenset(
    {"cover_unavailable", "files_changed", "schema_changed", "dimension_changed"}
)
"""What a build mends."""
_OF_DEFINITION = frozenset(
    {
        *("aggregate_not_in_cube", "column_not_in_cube", "cubes_none", "fact_not_in_query"),
        *("join_differs", "join_not_counted", "predicate_not_implied", "table_not_in_cube"),
    }
)
"""What another cube mends."""


def as_json(plan: Plan, estimate: Estimate | None = None) -> str:
    """The plan as one JSON document."""
    told = {} if estimate is None else {"estimate": asdict(estimate)}
    return json.dumps(plan.to_dict() | told, indent=2)


def as_text(plan: Plan, estimate: Estimate | None = None) -> str:
    """The plan for people."""
    return "\n".join([*plan.lines(), *([] if estimate is None else [estimate.line()])])


def bytes_read(plan: Plan) -> int:
    """Of files, as far as that is known before it runs; 0 of the plain statement."""
    return sum(leaf.figures().bytes_read for leaf in plan.leaves())


def why_not(plan: Plan, cube: Callable[[], str | None]) -> list[dict[str, Any]]:
    """A row per cube that isn't used, and per index that was switched off, one for the manifests.

    One without a cube holds for all. Where an answer reads rows of some files, a row for each
    source says how many it has left to the next, and why.

    `nearest` is TRUE in the row of the one that came nearest to answering; `ddl` is what would make
    it answer: a build, or beside the nearest the CREATE CUBE that `cube` gives.
    """
    rows: list[dict[str, Any]] = []
    cubes: set[int] = set()
    refused, used = plan.unaided(), plan.used()
    if refused is not None and not any(tried.is_cube for tried in plan.tried):
        rows.append({"cube": None, "code": refused.code, "reason": refused.sentence})
    for tried in plan.tried:
        if tried.cube in used:
            continue
        cubes |= {len(rows)} if tried.is_cube else set()
        if tried.declined is None:
            rows.append({"cube": tried.cube, "code": "dearer", "reason": tried.line()})
        else:
            declined = tried.declined
            rows.append({"cube": tried.cube, "code": declined.code, "reason": declined.sentence})
    for name, one in plan.passed():
        rows.append({"cube": name, "code": one.code, "reason": one.sentence()})
        cubes |= {len(rows) - 1} if one.source == SEGMENT else set()
    for place, row in enumerate(rows):
        built = place in cubes and row["code"] in _OF_COVERAGE
        row["nearest"] = refused is not None and row["reason"] == refused.sentence
        row["ddl"] = f"BUILD CUBE {row['cube']}" if built else None
        if row["nearest"] and row["code"] in _OF_DEFINITION:
            row["ddl"] = cube()
    return rows
