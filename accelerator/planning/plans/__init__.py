"""Plans: how one statement is answered under its pins. Each kind is a file; `plan.py` is theirs."""

from __future__ import annotations

from accelerator.planning.plans.candidate import ALL_ROWS, CELLS, MANIFESTS, Attempt, DuckDBRun
from accelerator.planning.plans.composed import (
    ComposedPlan,
    Input,
    MergedPlan,
    NestedPlan,
    PartialPlan,
)
from accelerator.planning.plans.constants import ConstantsPlan
from accelerator.planning.plans.cover import CoverPlan
from accelerator.planning.plans.cover_value import Cover, Share, StoredStates, UsedRelate
from accelerator.planning.plans.plain import PlainPlan
from accelerator.planning.plans.plan import Doubt, Leaf, Plan
from accelerator.planning.plans.rows import RowsPlan
from accelerator.planning.plans.virtual import VirtualPlan

__all__ = [
    "ALL_ROWS",
    "CELLS",
    "MANIFESTS",
    "Attempt",
    "ComposedPlan",
    "ConstantsPlan",
    "Cover",
    "CoverPlan",
    "Doubt",
    "DuckDBRun",
    "Input",
    "Leaf",
    "MergedPlan",
    "NestedPlan",
    "PartialPlan",
    "PlainPlan",
    "Plan",
    "RowsPlan",
    "Share",
    "StoredStates",
    "UsedRelate",
    "VirtualPlan",
]
