"""Plans: how one statement is answered under its pins. Each kind is a file; `node.py` is theirs."""

from __future__ import annotations

from accelerator.plans.composed import ComposedPlan, Input, NestedPlan, PartialPlan
from accelerator.plans.cover import Beside, CoverPlan, Manifests, UsedRelate
from accelerator.plans.files import FilesPlan
from accelerator.plans.node import Doubt, Leaf, Plan
from accelerator.plans.plain import PlainPlan
from accelerator.plans.rows import RowsPlan
from accelerator.plans.tried import CELLS, MANIFESTS, DuckDBRun, Tried

__all__ = [
    "CELLS",
    "MANIFESTS",
    "Beside",
    "ComposedPlan",
    "CoverPlan",
    "Doubt",
    "DuckDBRun",
    "FilesPlan",
    "Input",
    "Leaf",
    "Manifests",
    "NestedPlan",
    "PartialPlan",
    "PlainPlan",
    "Plan",
    "RowsPlan",
    "Tried",
    "UsedRelate",
]
