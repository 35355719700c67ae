"""All reading of Iceberg: catalogs, metadata, files, rows. Only this folder names PyIceberg."""

from __future__ import annotations

from pyiceberg.typedef import IcebergBaseModel, IcebergRootModel

# PyIceberg defines two hundred models, and a session uses few of them. Pydantic compiles each when
# it's first used, not when PyIceberg is imported: so this has to come before the other imports.
# ruff: noqa: E402
for _model in (IcebergBaseModel, IcebergRootModel):
    _model.model_config["defer_build"] = True

from accelerator.iceberg.catalogs.readers import CatalogSettings
from accelerator.iceberg.errors import (
    CatalogError,
    CatalogReadOnlyError,
    EqualityDeletesError,
    NeedsSparkError,
)
from accelerator.iceberg.lake import Lake
from accelerator.iceberg.pins.named_table import NamedTable
from accelerator.iceberg.pins.pin import Pin
from accelerator.iceberg.pins.pinned_table import PinnedTable
from accelerator.iceberg.state_cache import ManifestCacheSettings
from accelerator.iceberg.statistics.sketches import Sketched, TableSizes
from accelerator.iceberg.tables.data_file import DeleteRef, LiveFile
from accelerator.iceberg.tables.partition_specs import PartitionField
from accelerator.iceberg.tables.unreadable import RawMetadata, UnreadableTableError

__all__ = [
    "CatalogError",
    "CatalogReadOnlyError",
    "CatalogSettings",
    "DeleteRef",
    "EqualityDeletesError",
    "Lake",
    "LiveFile",
    "ManifestCacheSettings",
    "NamedTable",
    "NeedsSparkError",
    "PartitionField",
    "Pin",
    "PinnedTable",
    "RawMetadata",
    "Sketched",
    "TableSizes",
    "UnreadableTableError",
]
