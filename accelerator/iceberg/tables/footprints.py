"""Folders in which tables' files lie: cheaply by their metadata, else by their manifests.

A table's files lie where its location and its write paths pointed when they were written. These are
in its metadata files, and the newest one names the earlier ones. If all of them can be read, back
to the first, the folders in them are all folders that the table ever wrote to. That proves nothing
if the log was cut, a file is gone, files were imported, or a class of the table's own chose paths.
Then the manifests of its snapshots name the files that it still needs.

Promises: `folders` leaves out no folder of a file that a snapshot names. No snapshot is read if the
metadata proves enough. Cached values never change under their names. The metadata is read as JSON,
so tables that PyIceberg refuses are read too. CatalogError if a file can't be read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

from msgspec import Struct

from accelerator.common.lru_cache import Recent
from accelerator.errors import UNFIT
from accelerator.iceberg.errors import CatalogError, read_errors
from accelerator.iceberg.io import inputs_for, local_path, read_bytes, read_metadata
from accelerator.iceberg.manifests.manifest_file import ManifestFile
from accelerator.iceberg.tables.places import folder_of

_VERSIONS_MAX = 300
"""Metadata files of one table that are read before its manifests are read instead."""
_THREADS = 8
_WRITE_PATH = re.compile(r"write\..*(path|location)")
_IMPORTED = "schema.name-mapping.default"
"""Set by whatever adds files that another writer has written: their columns have no ids."""
_PROVIDERS = ("write.location-provider.impl", "write.py-location-provider.impl")
_NUMBERED = re.compile(r"(\d+)-[0-9a-f]{8}-[0-9a-f]{4}-.*")
_HADOOP = re.compile(r"v(\d+)\..*")
_HINT = "check that the file is there, readable, and of Iceberg's format"

Check = Callable[[], None]


@dataclass(frozen=True, slots=True)
class MetadataLocation:
    """The newest metadata file of a table or view, and the properties that open its files."""

    location: str
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)


class MetadataReader(Protocol):
    """Reads metadata and manifests; CatalogError if it can't."""

    def metadata(self, file: MetadataLocation) -> Mapping[str, Any]:
        """The JSON of a metadata file."""
        ...

    def manifests(
        self, file: MetadataLocation, snapshot: Mapping[str, Any]
    ) -> Sequence[ManifestFile]:
        """The manifests of one snapshot of that JSON."""
        ...

    def files(self, file: MetadataLocation, manifest: ManifestFile) -> Sequence[str]:
        """The paths of the live data and delete files in a manifest."""
        ...


class MetadataTraces(Struct, frozen=True):
    """The folders that one metadata file points to.

    `written` are those that its writers write to. `is_first` if the table began with this file.
    `is_anywhere` if its writers may have chosen other folders.
    """

    written: frozenset[str]
    folders: frozenset[str]
    log: tuple[str, ...]
    is_first: bool
    is_anywhere: bool


class Footprints:
    """The folders of tables. Threads may share it."""

    def __init__(self, reading: MetadataReader | None = None) -> None:
        self._reading = reading or LakeReading()
        self._traces: Recent[MetadataTraces] = Recent(1 << 16)
        self._lists: Recent[tuple[ManifestFile, ...]] = Recent(
            1 << 14, lambda _, x: len(x), 1 << 18
        )
        self._folders: Recent[frozenset[str]] = Recent(1 << 16, lambda _, x: len(x), 1 << 20)

    def newest(self, table: MetadataLocation) -> MetadataTraces:
        """The folders by the newest metadata file alone."""
        return self._read(table, table.location)

    def folders(self, table: MetadataLocation, check: Check) -> frozenset[str]:
        """All folders that may have a file of the table."""
        newest = self.newest(table)
        history = self._history(table, newest, check)
        return newest.folders | (self.used(table, check) if history is None else history)

    def used(self, table: MetadataLocation, check: Check) -> frozenset[str]:
        """The folders of the files that the table's metadata and snapshots name."""
        metadata = self._reading.metadata(table)
        found = {folder_of(one) for one in _own_files(table, metadata)}
        seen = set[str]()
        for snapshot in _snapshots(table, metadata):
            check()
            for manifest in self._manifests(table, snapshot):
                path = manifest.manifest_path
                if path not in seen:
                    seen.add(path)
                    found.add(folder_of(path))
                    found |= self._folders_of(table, manifest)
        return frozenset(found)

    def named(
        self,
        table: MetadataLocation,
        check: Check,
        wanted: Callable[[int], bool] = lambda _id: True,
    ) -> Iterator[str]:
        """The files that snapshots name whose ids are `wanted`; a file may come again."""
        metadata = self._reading.metadata(table)
        for one in _statistics(table, metadata):
            if wanted(one["snapshot-id"]):
                yield one["statistics-path"]
        seen = set[str]()
        for snapshot in _snapshots(table, metadata):
            if not wanted(snapshot["snapshot-id"]):
                continue
            check()
            yield from filter(None, (snapshot.get("manifest-list"),))
            for manifest in self._manifests(table, snapshot):
                path = manifest.manifest_path
                if path not in seen:
                    seen.add(path)
                    yield path
                    yield from self._reading.files(table, manifest)

    def snapshot_ids(self, table: MetadataLocation) -> frozenset[int]:
        """The ids of the table's snapshots."""
        metadata = self._reading.metadata(table)
        return frozenset(one["snapshot-id"] for one in _snapshots(table, metadata))

    def _history(
        self, table: MetadataLocation, newest: MetadataTraces, check: Check
    ) -> frozenset[str] | None:
        """The folders of all metadata files; None if they don't prove where all files lie."""
        found, seen = set(newest.folders), {table.location}
        oldest, later, is_anywhere = newest, table.location, newest.is_anywhere
        while not is_anywhere and not oldest.is_first:
            log = oldest.log
            if not log or len(seen) + len(log) > _VERSIONS_MAX or not seen.isdisjoint(log):
                return None
            if not _is_gapless((*log, later)):
                return None
            check()
            try:
                earlier = self._read_all(table, log)
            except CatalogError:
                return None
            seen.update(log)
            found = found.union(*(one.folders for one in earlier))
            is_anywhere = any(one.is_anywhere for one in earlier)
            oldest, later = earlier[0], log[0]
        return None if is_anywhere or not _is_start(later) else frozenset(found)

    def _read_all(self, table: MetadataLocation, locations: Sequence[str]) -> list[MetadataTraces]:
        if local_path(table.location) is not None or len(locations) == 1:
            return [self._read(table, one) for one in locations]
        with ThreadPoolExecutor(_THREADS) as pool:
            return list(pool.map(lambda one: self._read(table, one), locations))

    def _read(self, table: MetadataLocation, location: str) -> MetadataTraces:
        def make() -> MetadataTraces:
            file = MetadataLocation(location, table.properties)
            return _traces(file, self._reading.metadata(file))

        # A Hadoop catalog that makes a table anew begins with v1.metadata.json again.
        reused = _HADOOP.fullmatch(location.rpartition("/")[2])
        return make() if reused else self._traces.get_or(location, make)

    def _manifests(
        self, table: MetadataLocation, snapshot: Mapping[str, Any]
    ) -> tuple[ManifestFile, ...]:
        path = snapshot.get("manifest-list")
        if path is None:
            return tuple(self._reading.manifests(table, snapshot))
        return self._lists.get_or(path, lambda: tuple(self._reading.manifests(table, snapshot)))

    def _folders_of(self, table: MetadataLocation, manifest: ManifestFile) -> frozenset[str]:
        def make() -> frozenset[str]:
            return frozenset(map(folder_of, self._reading.files(table, manifest)))

        return self._folders.get_or(manifest.manifest_path, make)


class LakeReading:
    """`MetadataReader` of the files themselves."""

    def metadata(self, file: MetadataLocation) -> Mapping[str, Any]:
        """See `MetadataReader.metadata`."""
        with read_errors(f"the metadata at {file.location}", _HINT, file.properties):
            found = json.loads(read_metadata(file.location, file.properties))
        if not isinstance(found, dict):
            raise _unfit(file)
        return found

    def manifests(
        self, file: MetadataLocation, snapshot: Mapping[str, Any]
    ) -> Sequence[ManifestFile]:
        """See `MetadataReader.manifests`; snapshots of format 1 may name them without a list."""
        from accelerator.iceberg.manifests.reader import read_list

        inputs = inputs_for(file.location, file.properties)
        path = snapshot.get("manifest-list")
        with read_errors(f"the manifests of {file.location}", _HINT, file.properties):
            if path is not None:
                return read_list(inputs, path)
            paths: list[str] = snapshot["manifests"]
            return [ManifestFile(one, len(read_bytes(inputs, one)), 0) for one in paths]

    def files(self, file: MetadataLocation, manifest: ManifestFile) -> Sequence[str]:
        """See `MetadataReader.files`."""
        from accelerator.iceberg.manifests.reader import read_manifest

        inputs = inputs_for(file.location, file.properties)
        with read_errors(f"the manifests of {file.location}", _HINT, file.properties):
            paths: list[str] = read_manifest(inputs, manifest).path.to_pylist()
            return paths


def _unfit(file: MetadataLocation) -> CatalogError:
    return CatalogError(f"the metadata at {file.location} isn't a table's", hint=_HINT)


def _traces(file: MetadataLocation, metadata: Mapping[str, Any]) -> MetadataTraces:
    try:
        properties: Mapping[str, str] = metadata.get("properties") or {}
        log = tuple(one["metadata-file"] for one in metadata.get("metadata-log") or ())
        paths = (
            value
            for key, value in properties.items()
            if _WRITE_PATH.fullmatch(key) and "/" in value
        )
        written = frozenset((metadata["location"], *paths))
        named = _own_files(file, metadata)
        commits = max(
            int(metadata.get("last-sequence-number") or 0),
            len(metadata.get("snapshots") or ()),
            len(metadata.get("snapshot-log") or ()),
        )
        if not all(isinstance(one, str) for one in written):
            raise _unfit(file)
        return MetadataTraces(
            written,
            written | {folder_of(one) for one in named},
            log,
            not log and commits <= 1,
            any(key in properties for key in (_IMPORTED, *_PROVIDERS)),
        )
    except UNFIT as error:
        raise _unfit(file) from error


def _own_files(file: MetadataLocation, metadata: Mapping[str, Any]) -> list[str]:
    """The files that the metadata names by itself."""
    try:
        found = [file.location]
        found += (one["metadata-file"] for one in metadata.get("metadata-log") or ())
        found += (one["statistics-path"] for one in _statistics(file, metadata))
        for snapshot in _snapshots(file, metadata):
            found += filter(None, (snapshot.get("manifest-list"),))
        if not all(isinstance(one, str) for one in found):
            raise _unfit(file)
    except UNFIT as error:
        raise _unfit(file) from error
    return found


def _snapshots(file: MetadataLocation, metadata: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return _listed(file, metadata, "snapshots")


def _statistics(file: MetadataLocation, metadata: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    kinds: Collection[str] = ("statistics", "partition-statistics")
    return [one for kind in kinds for one in _listed(file, metadata, kind)]


def _listed(
    file: MetadataLocation, metadata: Mapping[str, Any], key: str
) -> list[Mapping[str, Any]]:
    """Objects that have the id of a snapshot, as every list here does."""
    found = metadata.get(key) or []
    if not isinstance(found, list) or not all(
        isinstance(one, dict) and isinstance(one.get("snapshot-id"), int) for one in found
    ):
        raise _unfit(file)
    return found


def _number(location: str) -> int | None:
    """A metadata file's number in the order of commits, if its name has it."""
    name = location.rpartition("/")[2]
    match = _NUMBERED.fullmatch(name) or _HADOOP.fullmatch(name)
    return int(match[1]) if match else None


def _is_gapless(locations: Sequence[str]) -> bool:
    """Returns whether no commit is missing between these files, as far as their names have numbers.

    A writer that keeps no log leaves such a gap.
    """
    numbers = [_number(one) for one in locations]
    return all(a is None or b is None or b == a + 1 for a, b in pairwise(numbers))


def _is_start(location: str) -> bool:
    """Returns whether a table may begin with the file of that name."""
    number = _number(location)
    return number is None or number <= 1
