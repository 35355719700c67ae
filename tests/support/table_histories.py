"""Random histories of a lake: tables are made, moved, renamed, dropped; then each is vacuumed.

`Lake` keeps what a warehouse would hold as values: metadata files as JSON, manifests as lists of
paths, the names of a catalog. It's a `MetadataReader` and a `FileReferences` of the product, and
knows by itself, without the product, what every snapshot names and which folders a table ever wrote
to.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from accelerator.iceberg.errors import CatalogError
from accelerator.iceberg.manifests.manifest_file import ManifestFile
from accelerator.iceberg.tables.footprints import MetadataLocation

NAMES = ("a", "ab", "b", "c")
FOLDERS = ("d/a", "d/ab", "d/a/inner", "e/b", "x", "")
PATHS = ("write.data.path", "write.metadata.path", "write.object-storage.path")
SPELLINGS = (
    "s3://bucket/w",
    "s3a://bucket/w",
    "s3n://bucket/w/",
    "s3://bucket//w",
    "s3://bucket/./w",
)
STEPS = (
    *("create",) * 4,
    *("append",) * 8,
    *("rewrite", "rename", "rename", "drop", "move", "move"),
    *("path", "path", "unset", "expire", "tag", "short_log", "statistics"),
)
"""What happens at random; `RARE` makes the vacuum of a table doubtful by itself."""
RARE = ("register", "import", "view", "provider")


def canonical(location: str) -> str:
    """One spelling of a location, made without the product."""
    path = re.sub(r"^(s3[an]?://bucket|file:(//)?)", "", location).replace("/./", "/")
    return re.sub("/+", "/", path).rstrip("/")


def is_under(path: str, folder: str) -> bool:
    """Whether a canonical path is that folder, or inside it."""
    return path == folder or path.startswith(f"{folder}/")


@dataclass
class Entry:
    """A name in the catalog: its pointer, and every folder that its table ever wrote to."""

    pointer: str
    is_view: bool = False
    ever: set[str] = field(default_factory=set)
    doubtful: bool = False
    has_all_versions: bool = True


class Lake:
    """A warehouse and its catalog after some steps of a history."""

    def __init__(self, seed: int, *, rare: bool) -> None:
        self.chance = random.Random(seed)
        self.root = self.chance.choice(SPELLINGS)
        self.rare = rare
        self.entries: dict[str, Entry] = {}
        self.metadata_files: dict[str, dict[str, Any]] = {}
        self.manifest_files: dict[str, list[str]] = {}
        self.disk: set[str] = set()
        self.read: list[str] = []
        self.unreadable: set[str] = set()
        self._number = 0
        for _ in range(self.chance.randint(8, 30)):
            self.step()

    # What the product asks

    def names(self) -> Iterator[tuple[tuple[str, ...], bool]]:
        """See `FileReferences`."""
        yield from ((("lake", "d", name), one.is_view) for name, one in self.entries.items())

    def located(self, name: tuple[tuple[str, ...], bool]) -> MetadataLocation | None:
        """See `FileReferences`."""
        entry = self.entries.get(name[0][-1])
        return None if entry is None else MetadataLocation(entry.pointer)

    def are_one(self, name: object, other: object) -> bool:
        """See `FileReferences`."""
        return name == other

    def metadata(self, file: MetadataLocation) -> Mapping[str, Any]:
        """See `MetadataReader`."""
        if file.location not in self.metadata_files:
            raise CatalogError(f"{file.location} is gone")
        return json.loads(json.dumps(self.metadata_files[file.location]))

    def manifests(
        self, file: MetadataLocation, snapshot: Mapping[str, Any]
    ) -> Sequence[ManifestFile]:
        """See `MetadataReader`; one manifest a snapshot, beside its list."""
        path = snapshot["manifest-list"]
        self.read.append(path)
        if path in self.unreadable:
            raise CatalogError(f"{path} can't be read")
        return [ManifestFile(f"{path}.m", 1, 0)]

    def files(self, file: MetadataLocation, manifest: ManifestFile) -> Sequence[str]:
        """See `MetadataReader`."""
        return self.manifest_files[manifest.manifest_path]

    # What happens

    def step(self) -> None:
        """One step, of one table."""
        tables = [name for name, one in self.entries.items() if not one.is_view]
        what = self.chance.choice((*STEPS, *RARE) if self.rare else STEPS)
        if what in ("create", "view") or not tables:
            free = [name for name in NAMES if name not in self.entries]
            if free:
                self.create(self.chance.choice(free), is_view=what == "view")
            return
        name = self.chance.choice(tables)
        metadata = self.metadata_files[self.entries[name].pointer]
        getattr(self, f"_{what}")(name, json.loads(json.dumps(metadata)))

    def create(self, name: str, *, is_view: bool = False) -> None:
        """Mostly at the name's own place, as catalogs do it."""
        own = f"d/{name}"
        folder = own if is_view or self.chance.random() < 0.7 else self.chance.choice(FOLDERS)
        location = f"{self.root}/{folder}"
        self.entries[name] = Entry("", is_view)
        self._commit(name, {"location": location, "properties": {}, "metadata-log": []})

    def _append(
        self, name: str, metadata: dict[str, Any], live: Sequence[str] | None = None
    ) -> None:
        if live is None:
            live = self._live(metadata)
        file = self._new(f"{_data_folder(metadata)}/{self._unique()}.parquet")
        self._snapshot(name, metadata, [*live, file])

    def _rewrite(self, name: str, metadata: dict[str, Any]) -> None:
        self._append(name, metadata, ())

    def _rename(self, name: str, _metadata: dict[str, Any]) -> None:
        free = [one for one in NAMES if one not in self.entries]
        if free:
            new = self.chance.choice(free)
            self.entries[new] = self.entries.pop(name)
            if self.chance.random() < 0.6:  # and made anew
                self.create(name)

    def _drop(self, name: str, _metadata: dict[str, Any]) -> None:
        del self.entries[name]  # its files stay

    def _move(self, name: str, metadata: dict[str, Any]) -> None:
        metadata["location"] = f"{self.root}/{self.chance.choice(FOLDERS)}"
        self._commit(name, metadata)

    def _path(self, name: str, metadata: dict[str, Any]) -> None:
        key, folder = self.chance.choice(PATHS), self.chance.choice(FOLDERS)
        metadata["properties"][key] = f"{self.chance.choice(SPELLINGS)}/{folder}/p"
        self._commit(name, metadata)

    def _unset(self, name: str, metadata: dict[str, Any]) -> None:
        for key in PATHS:
            metadata["properties"].pop(key, None)
        self._commit(name, metadata)

    def _expire(self, name: str, metadata: dict[str, Any]) -> None:
        kept = set(metadata.get("tags", ()))
        snapshots = metadata.get("snapshots", [])
        metadata["snapshots"] = [
            one for one in snapshots if one is snapshots[-1] or one["snapshot-id"] in kept
        ]
        self._commit(name, metadata)

    def _tag(self, name: str, metadata: dict[str, Any]) -> None:
        snapshots = metadata.get("snapshots", [])
        metadata.setdefault("tags", []).extend(one["snapshot-id"] for one in snapshots[-1:])
        self._commit(name, metadata)

    def _short_log(self, name: str, metadata: dict[str, Any]) -> None:
        metadata["properties"]["write.metadata.previous-versions-max"] = "2"
        if self.chance.random() < 0.5:
            metadata["properties"]["write.metadata.delete-after-commit.enabled"] = "true"
        self._commit(name, metadata)

    def _statistics(self, name: str, metadata: dict[str, Any]) -> None:
        for snapshot in metadata.get("snapshots", [])[-1:]:
            path = self._new(f"{_metadata_folder(metadata)}/{self._unique()}.stats")
            key = self.chance.choice(("statistics", "partition-statistics"))
            file = {"snapshot-id": snapshot["snapshot-id"], "statistics-path": path}
            metadata.setdefault(key, []).append(file)
        self._commit(name, metadata)

    def _register(self, name: str, _metadata: dict[str, Any]) -> None:
        free = [one for one in NAMES if one not in self.entries]
        if free:
            old = self.entries[name]
            self.entries[free[0]] = Entry(
                old.pointer, ever=set(old.ever), doubtful=True, has_all_versions=False
            )

    def _import(self, name: str, metadata: dict[str, Any]) -> None:
        other = self.chance.choice([one for one in self.entries.values() if not one.is_view])
        theirs = self._live(self.metadata_files[other.pointer])
        metadata["properties"]["schema.name-mapping.default"] = "[]"
        self.entries[name].doubtful = True
        self._snapshot(name, metadata, [*self._live(metadata), *theirs])

    def _provider(self, name: str, metadata: dict[str, Any]) -> None:
        """Files go where a class of the table's own says, for one commit."""
        metadata["properties"]["write.location-provider.impl"] = "org.example.Anywhere"
        self.entries[name].doubtful = True
        folder = f"{self.root}/{self.chance.choice(FOLDERS)}/far"
        self._snapshot(name, metadata, [self._new(f"{folder}/{self._unique()}.parquet")])

    def _snapshot(self, name: str, metadata: dict[str, Any], files: list[str]) -> None:
        path = self._new(f"{_metadata_folder(metadata)}/snap-{self._unique()}.avro")
        self.manifest_files[self._new(f"{path}.m")] = files
        snapshot = {"snapshot-id": self._number, "manifest-list": path}
        metadata.setdefault("snapshots", []).append(snapshot)
        metadata["last-sequence-number"] = metadata.get("last-sequence-number", 0) + 1
        self._commit(name, metadata)

    def _commit(self, name: str, metadata: dict[str, Any]) -> None:
        entry = self.entries[name]
        properties, log = metadata["properties"], metadata["metadata-log"]
        number = 0
        if entry.pointer:
            log.append({"timestamp-ms": 1, "metadata-file": entry.pointer})
            number = int(entry.pointer.rpartition("/")[2][:5]) + 1
        most = int(properties.get("write.metadata.previous-versions-max", 100))
        gone, metadata["metadata-log"] = log[:-most], log[-most:]
        if gone:
            entry.has_all_versions = False
        if "write.metadata.delete-after-commit.enabled" in properties:
            current = {one.pointer for one in self.entries.values()}
            for one in {one["metadata-file"] for one in gone} - current:
                self.metadata_files.pop(one, None)
                self.disk.discard(one)
        unique = f"{self._unique():08x}-0000-0000-0000-000000000000"
        path = f"{_metadata_folder(metadata)}/{number:05d}-{unique}.metadata.json"
        self.metadata_files[self._new(path)] = metadata
        entry.pointer = path
        paths = [properties[key] for key in PATHS if key in properties]
        entry.ever |= set(map(canonical, (metadata["location"], *paths)))

    # What is true

    def named(self, name: str) -> set[str]:
        """All that the table's or view's newest metadata and its snapshots name, canonically."""
        entry = self.entries[name]
        metadata = self.metadata_files[entry.pointer]
        found = {entry.pointer, *(one["metadata-file"] for one in metadata["metadata-log"])}
        return set(map(canonical, found)) | self.of_snapshots(name)

    def of_snapshots(self, name: str, ids: set[int] | None = None) -> set[str]:
        """What those snapshots of it name, or all of them."""
        metadata = self.metadata_files[self.entries[name].pointer]
        found: set[str] = set()
        for one in metadata.get("snapshots", []):
            if ids is None or one["snapshot-id"] in ids:
                path = one["manifest-list"]
                found |= {path, f"{path}.m", *self.manifest_files[f"{path}.m"]}
        for kind in ("statistics", "partition-statistics"):
            for one in metadata.get(kind, []):
                if ids is None or one["snapshot-id"] in ids:
                    found.add(one["statistics-path"])
        return set(map(canonical, found))

    def snapshot_ids(self, name: str) -> list[int]:
        """The ids of the table's snapshots, the oldest first."""
        metadata = self.metadata_files[self.entries[name].pointer]
        return [one["snapshot-id"] for one in metadata.get("snapshots", [])]

    def has_whole_log(self, name: str) -> bool:
        """Whether every metadata file of it is there, and in its log."""
        entry = self.entries[name]
        log = self.metadata_files[entry.pointer]["metadata-log"]
        return entry.has_all_versions and all(
            x["metadata-file"] in self.metadata_files for x in log
        )

    def location(self, name: str) -> str:
        """Where the table is now."""
        return self.metadata_files[self.entries[name].pointer]["location"]

    def _live(self, metadata: Mapping[str, Any]) -> list[str]:
        snapshots = metadata.get("snapshots", [])
        return self.manifest_files[f"{snapshots[-1]['manifest-list']}.m"] if snapshots else []

    def _new(self, path: str) -> str:
        self.disk.add(path)
        return path

    def _unique(self) -> int:
        self._number += 1
        return self._number


def _data_folder(metadata: Mapping[str, Any]) -> str:
    properties = metadata["properties"]
    default = f"{metadata['location'].rstrip('/')}/data"
    return properties.get("write.data.path", properties.get("write.object-storage.path", default))


def _metadata_folder(metadata: Mapping[str, Any]) -> str:
    default = f"{metadata['location'].rstrip('/')}/metadata"
    return metadata["properties"].get("write.metadata.path", default)
