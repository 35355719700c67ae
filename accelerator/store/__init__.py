"""Versioned metadata of cubes and segments: what is committed is whole, and nothing is lost."""

from __future__ import annotations

from accelerator.store.add_segments import Added
from accelerator.store.files.files import local_folders, local_path
from accelerator.store.log.registry import RegistryVersion
from accelerator.store.log.table_version import TableVersion
from accelerator.store.records import (
    BESIDE,
    BuildJob,
    CoveredFile,
    CubeRecord,
    DroppedCube,
    EdgeCount,
    IndexRecord,
    SegmentRecord,
)
from accelerator.store.store import Store, segment_id
from accelerator.store.vacuum.retention import Report, Retention, VacuumLine

__all__ = [
    "BESIDE",
    "Added",
    "BuildJob",
    "CoveredFile",
    "CubeRecord",
    "DroppedCube",
    "EdgeCount",
    "IndexRecord",
    "RegistryVersion",
    "Report",
    "Retention",
    "SegmentRecord",
    "Store",
    "TableVersion",
    "VacuumLine",
    "local_folders",
    "local_path",
    "segment_id",
]
