"""A manifest as a list of manifests names it, with what its entries inherit from there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from accelerator.iceberg.manifests.avro_container import damaged
from accelerator.iceberg.manifests.program import LIST_REQUIRED

DATA, DELETES = 0, 1
"""What a manifest lists: data files, or delete files."""


class PartitionSummary(Struct, frozen=True):
    """The range of one partition field over a manifest's files, None for what isn't stated.

    Bounds are bytes as Iceberg writes single values, of whatever size the list has.
    """

    contains_null: bool | None = None
    contains_nan: bool | None = None
    lower_bound: bytes | None = None
    upper_bound: bytes | None = None


class ManifestFile(Struct, frozen=True):
    """The fields of the specification's `manifest_file` that are read, under its names.

    `manifest_length` is in bytes. Counts are of entries, None where the list doesn't say.
    """

    manifest_path: str
    manifest_length: int
    partition_spec_id: int
    content: int = DATA
    sequence_number: int = 0
    added_snapshot_id: int | None = None
    added_files_count: int | None = None
    existing_files_count: int | None = None
    deleted_files_count: int | None = None

    @classmethod
    def checked(cls, told: Mapping[str, Any]) -> ManifestFile:
        """By names; ManifestError where something is missing, or isn't what it can be."""
        missing = [name for name in LIST_REQUIRED if told.get(name) is None]
        if missing:
            raise damaged(f"a manifest in it has no {missing[0]}")
        made = cls(**{name: value for name, value in told.items() if value is not None})
        if made.content not in (DATA, DELETES):
            raise damaged(f"a manifest in it has the unknown content {made.content}")
        return made
