"""What is kept of manifests and their lists: columns, states of tables, live files as objects.

Whatever it keeps never changes under its name. Threads may share it. Nothing is imported for it
before somebody asks: columns take Arrow's compute module.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from accelerator.common.lru_cache import Recent
from accelerator.iceberg.tables.data_file import LiveFile

if TYPE_CHECKING:
    from accelerator.iceberg.io import Inputs
    from accelerator.iceberg.manifests.cache import ManifestCache
    from accelerator.iceberg.manifests.job import ManifestJobs
    from accelerator.iceberg.manifests.manifest_file import ManifestFile
    from accelerator.iceberg.rows.float_edges import FloatEdges
    from accelerator.iceberg.statistics.cache import StatisticsCache
    from accelerator.iceberg.tables.metadata import IcebergSnapshot

_LISTS_MAX = 64
_SNAPSHOTS_MAX = 64
_FILES_MAX = 500_000
"""Files of all snapshots that are kept; one takes some 0.5 KB, as much as 64 of its deletes."""
_DELETES_OF_A_FILE = 64
_EDGES_MAX = 100_000
"""Columns of files of which is known which edge values they have; one takes some 0.5 KB."""


class ManifestCacheSettings(Struct, frozen=True):
    """How much of manifests is kept as columns: bytes of memory, a folder, and bytes of it.

    Half of the memory is for manifests one by one, half for the columns of whole states of tables.
    """

    bytes: int = 512 * 1024 * 1024
    folder: Path | None = None
    folder_bytes: int = 0


class ManifestBytes(Struct, frozen=True):
    """Memory that manifests take as columns, in bytes: one by one, as states, the newest state."""

    manifests: int
    states: int
    newest_state: int


class Listings:
    """Manifests by the path of their list, their columns, and live files by snapshot."""

    def __init__(self, settings: ManifestCacheSettings) -> None:
        self._settings = settings
        self._files: Recent[tuple[LiveFile, ...]] = Recent(
            _SNAPSHOTS_MAX, lambda _, files: _weight(files), _FILES_MAX
        )
        self._lists: Recent[tuple[ManifestFile, ...]] = Recent(_LISTS_MAX)
        self.jobs: ManifestJobs | None = None
        self.float_edges: Recent[FloatEdges] = Recent(_EDGES_MAX)
        """By the table's uuid, the field's id and the file's key."""

    def manifests(self, inputs: Inputs, snapshot: IcebergSnapshot) -> tuple[ManifestFile, ...]:
        """The manifests of the snapshot, as its list has them; errors as for `read_list`."""
        from accelerator.iceberg.manifests.reader import read_list

        path = snapshot.manifest_list
        return self._lists.get_or(path, lambda: read_list(inputs, path))

    def files(
        self, snapshot: Hashable, make: Callable[[], tuple[LiveFile, ...]]
    ) -> tuple[LiveFile, ...]:
        """The live files of what names the snapshot."""
        return self._files.get_or(snapshot, make)

    @cached_property
    def cache(self) -> ManifestCache:
        """Manifests as columns."""
        from accelerator.iceberg.manifests.cache import ManifestCache

        wanted = self._settings
        folder = wanted.folder if wanted.folder_bytes else None
        return ManifestCache(wanted.bytes // 2, folder, wanted.folder_bytes)

    @cached_property
    def statistics(self) -> StatisticsCache:
        """Statistics of the states that were asked for."""
        from accelerator.iceberg.statistics.cache import StatisticsCache

        return StatisticsCache(self._settings.bytes // 2)

    @property
    def nbytes(self) -> ManifestBytes:
        """Memory that columns take now."""
        states = self.statistics
        return ManifestBytes(self.cache.nbytes, states.nbytes, states.newest_nbytes)


def _weight(files: tuple[LiveFile, ...]) -> int:
    return len(files) + sum(len(file.deletes) for file in files) // _DELETES_OF_A_FILE
