"""Versioned metadata of cubes and segments: what is committed is whole, and nothing is lost."""

from __future__ import annotations

from accelerator.store.add_segments import Added
from accelerator.store.files.files import local_folders, local_path
from accelerator.store.log.registry import RegistryVersion
from accelerator.store.log.table_version import TableVersion
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
from accelerator.store.store import Store, segment_id
from accelerator.store.vacuum.retention import Line, Report, Retention

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
