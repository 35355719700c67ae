"""Decoded manifests, kept: in memory under a budget of bytes, and in a folder where there is one.

A manifest never changes under its path, so a copy is never stale. Of what the folder has, only the
columns that are used are read, and take memory. Threads that ask for one manifest at a time wait
for one decode; different manifests are decoded side by side.
"""

from __future__ import annotations

import threading
from pathlib import Path

from msgspec import Struct, field

from accelerator.common.files.cache_folder import trim
from accelerator.common.lru_cache import UNLIMITED, Recent
from accelerator.iceberg.io import Inputs
from accelerator.iceberg.manifests.cache_file import (
    SUFFIX,
    Identity,
    file_of,
    read_file,
    write_file,
)
from accelerator.iceberg.manifests.columns import ManifestColumns
from accelerator.iceberg.manifests.manifest_file import ManifestFile
from accelerator.iceberg.manifests.reader import read_manifest

FOLDER_BYTES = 4 * 1024**3
_SHARE = 16


class _CachedManifest(Struct, eq=False):
    """One manifest's place in the cache. `lock` is held while it's decoded."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    columns: ManifestColumns | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of memory that its columns take now."""
        return 0 if self.columns is None else self.columns.nbytes


class ManifestCache:
    """Columns of manifests by path, least recently used first out.

    Args:
        budget_bytes: of memory. One manifest that alone is larger is decoded at every call.
        folder: where columns are also kept on disk; None for nowhere. Made at the first write.
            Anything in it may be deleted at any time.
        folder_bytes: of disk. Looked after once a sixteenth of it has been written, by each
            process for itself, so that a folder may grow beyond it by as much for each.
    """

    def __init__(
        self, budget_bytes: int, folder: Path | None = None, folder_bytes: int = FOLDER_BYTES
    ) -> None:
        self._budget = budget_bytes
        self._folder, self._folder_bytes = folder, folder_bytes
        self._written = 0
        self._entries: Recent[_CachedManifest] = Recent(
            UNLIMITED, lambda _, entry: entry.nbytes, budget_bytes
        )
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Bytes of memory that are accounted for."""
        return self._entries.weight

    def holds(self, manifest: ManifestFile) -> bool:
        """Whether its columns are in memory, or seem to be in the folder; reads nothing."""
        if self.known(manifest) is not None:
            return True
        return self._folder is not None and file_of(self._folder, Identity.of(manifest)).exists()

    def known(self, manifest: ManifestFile) -> ManifestColumns | None:
        """Its columns where they are in memory."""
        entry = self._entries.get(Identity.of(manifest))
        return None if entry is None else entry.columns

    def columns(self, inputs: Inputs, manifest: ManifestFile) -> ManifestColumns:
        """The live files of the manifest.

        Raises:
            ManifestError: the manifest is damaged, or of a kind that isn't known.
            CatalogError: it can't be read.
        """
        identity = Identity.of(manifest)
        entry = self._entries.get_or(identity, _CachedManifest)
        try:
            with entry.lock:
                columns = entry.columns
                if columns is None:
                    columns = entry.columns = self._load(inputs, manifest, identity)
        finally:
            self._account(identity, entry)
        return columns

    def _load(self, inputs: Inputs, manifest: ManifestFile, identity: Identity) -> ManifestColumns:
        def decode() -> ManifestColumns:
            return read_manifest(inputs, manifest)

        folder = self._folder
        if folder is None:
            return decode()

        def renew() -> ManifestColumns:
            decoded = decode()
            if write_file(folder, identity, decoded):
                self._look_after(folder, decoded.nbytes)
            return decoded

        found = read_file(folder, identity, renew)
        if found is None:
            decoded = renew()
            # Read from there, it takes memory for the columns in use alone.
            found = read_file(folder, identity, renew) or decoded
        return found

    def _look_after(self, folder: Path, written: int) -> None:
        with self._lock:
            self._written += written
            if self._written * _SHARE < self._folder_bytes:
                return
            self._written = 0
        trim(folder, SUFFIX, self._folder_bytes)

    def _account(self, identity: Identity, entry: _CachedManifest) -> None:
        """Brings the entry's size up to date; it goes where it couldn't be decoded, or kept."""
        if entry.columns is None or entry.nbytes > self._budget:
            self._entries.pop(identity)
        else:
            self._entries.put(identity, entry)
