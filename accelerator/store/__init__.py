"""Versioned metadata of cubes and segments: what is committed is whole, and nothing is lost."""

from __future__ import annotations

from accelerator.store.files import local_path
from accelerator.store.records import CoveredFile, CubeRecord, EdgeCount, Job, SegmentRecord
from accelerator.store.state import Added, RegistryVersion, TableVersion
from accelerator.store.store import Store, segment_id

__all__ = [
    "Added",
    "CoveredFile",
    "CubeRecord",
    "EdgeCount",
    "Job",
    "RegistryVersion",
    "SegmentRecord",
    "Store",
    "TableVersion",
    "local_path",
    "segment_id",
]
