"""Plans: how one statement is answered under its pins. Each kind is a file; `node.py` is theirs."""

from __future__ import annotations

from accelerator.plans.composed import ComposedPlan, Input, MergedPlan, NestedPlan, PartialPlan
from accelerator.plans.constants import ConstantsPlan
from accelerator.plans.cover import CoverPlan
from accelerator.plans.files import FilesPlan
from accelerator.plans.log import LogPlan
from accelerator.plans.node import Doubt, Leaf, Plan
from accelerator.plans.plain import PlainPlan
from accelerator.plans.rows import RowsPlan
from accelerator.plans.share import Cells, Cover, Share, UsedRelate
from accelerator.plans.tried import ALL_ROWS, CELLS, MANIFESTS, DuckDBRun, Tried

__all__ = [
    "ALL_ROWS",
    "CELLS",
    "MANIFESTS",
    "Cells",
    "ComposedPlan",
    "ConstantsPlan",
    "Cover",
    "CoverPlan",
    "Doubt",
    "DuckDBRun",
    "FilesPlan",
    "Input",
    "Leaf",
    "LogPlan",
    "MergedPlan",
    "NestedPlan",
    "PartialPlan",
    "PlainPlan",
    "Plan",
    "RowsPlan",
    "Share",
    "Tried",
    "UsedRelate",
]
