"""Files of statistics in a table's metadata: named, replaced, removed; their bytes are others'.

A snapshot has one such file. Promises: it is named only for a snapshot that the table still has,
only in the table of that uuid, and only in the place of the file that was looked at. Of its blobs
the metadata names the theta sketches alone: PyIceberg 0.12 refuses a table whose metadata names a
type of blob that it doesn't know.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from accelerator.errors import StatisticsError
from accelerator.iceberg.statistics.sketches import THETA

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.update import TableRequirement, TableUpdate


class NewFile(Struct, frozen=True):
    """A file of statistics that was written; sizes in bytes, `blobs` as the metadata has them."""

    snapshot_id: int
    path: str
    size: int
    footer_size: int
    blobs: Sequence[dict[str, Any]]

    def as_json(self) -> dict[str, Any]:
        """As the table's metadata names it."""
        return {
            "snapshot-id": self.snapshot_id,
            "statistics-path": self.path,
            "file-size-in-bytes": self.size,
            "file-footer-size-in-bytes": self.footer_size,
            "blob-metadata": [blob for blob in self.blobs if blob["type"] == THETA],
        }


class StatisticsMovedError(StatisticsError):
    """Another file of statistics was named for the snapshot meanwhile."""


class StatisticsChange(Struct, frozen=True):
    """Names the file in the metadata of the table of that uuid; without one all are removed.

    `replaces` is the path of the file that the snapshot has now, where it has one.
    """

    table_uuid: str
    file: NewFile | None = None
    replaces: str | None = None

    def edit(self, metadata: dict[str, Any]) -> None:
        """Changes parsed metadata; StatisticsError where the table or the snapshot is gone."""
        held = [one["snapshot-id"] for one in metadata.get("snapshots") or ()]
        named = metadata.get("statistics") or ()
        files = {one["snapshot-id"]: one["statistics-path"] for one in named}
        self._check(str(metadata["table-uuid"]), held, files)
        if self.file is None:
            metadata["statistics"] = []
            return
        snapshot = self.file.snapshot_id
        others = [one for one in named if one["snapshot-id"] != snapshot]
        metadata["statistics"] = [*others, self.file.as_json()]

    def updates(
        self, metadata: TableMetadata
    ) -> tuple[tuple[TableRequirement, ...], tuple[TableUpdate, ...]]:
        """The same for a catalog that makes changes itself; what it requires, and the changes."""
        from pyiceberg.table.update import (
            AssertTableUUID,
            RemoveStatisticsUpdate,
            SetStatisticsUpdate,
        )

        held = [one.snapshot_id for one in metadata.snapshots]
        files = {one.snapshot_id: one.statistics_path for one in metadata.statistics}
        self._check(str(metadata.table_uuid), held, files)
        required = (AssertTableUUID(uuid=metadata.table_uuid),)
        if self.file is None:
            gone = dict.fromkeys(file.snapshot_id for file in metadata.statistics)
            removed = ({"snapshot-id": one} for one in gone)
            return required, tuple(RemoveStatisticsUpdate.model_validate(one) for one in removed)
        named = {"snapshot-id": self.file.snapshot_id, "statistics": self.file.as_json()}
        return required, (SetStatisticsUpdate.model_validate(named),)

    def _check(self, table_uuid: str, snapshots: Collection[int], files: Mapping[int, str]) -> None:
        if table_uuid != self.table_uuid:
            raise StatisticsError(
                "the table was made anew meanwhile",
                hint="BUILD STATISTICS again: it begins with what the table holds by then",
            )
        if self.file is not None and self.file.snapshot_id not in snapshots:
            raise StatisticsError(
                f"the snapshot {self.file.snapshot_id} has expired meanwhile",
                hint="BUILD STATISTICS again: it begins with what the table holds by then",
            )
        if self.file is not None and files.get(self.file.snapshot_id) != self.replaces:
            raise StatisticsMovedError(
                f"others kept naming statistics of the snapshot {self.file.snapshot_id} first",
                hint="BUILD STATISTICS again: what they say of other columns is kept",
            )
