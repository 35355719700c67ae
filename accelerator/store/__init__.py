"""Versioned metadata of cubes and segments: what is committed is whole, and nothing is lost."""

from __future__ import annotations

from accelerator.store.adding import Added
from accelerator.store.files import local_folders, local_path
from accelerator.store.records import (
    BESIDE,
    CoveredFile,
    CubeRecord,
    DroppedCube,
    EdgeCount,
    IndexRecord,
    Job,
    SegmentRecord,
)
from accelerator.store.registry import RegistryVersion
from accelerator.store.retention import Line, Report, Retention
from accelerator.store.store import Store, segment_id
from accelerator.store.table import TableVersion

__all__ = [
    "BESIDE",
    "Added",
    "CoveredFile",
    "CubeRecord",
    "DroppedCube",
    "EdgeCount",
    "IndexRecord",
    "Job",
    "Line",
    "RegistryVersion",
    "Report",
    "Retention",
    "SegmentRecord",
    "Store",
    "TableVersion",
    "local_folders",
    "local_path",
    "segment_id",
]
