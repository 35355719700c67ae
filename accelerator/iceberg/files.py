"""The live data files of a snapshot, each with the delete files that apply to it.

Exact as the specification has it: sequence numbers are inherited from the manifest, a deletion
vector replaces position deletes, position deletes apply from their own sequence number down,
equality deletes strictly below it. Where a delete's reach isn't certain it counts as applying: that
costs speed, and never a row. Manifests never change, so each is decoded once and kept.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Literal

from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    MANIFEST_ENTRY_SCHEMAS,
    MANIFEST_LIST_FILE_SCHEMAS,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    PartitionFieldSummary,
)
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import Record

from accelerator.iceberg.avro_records import records
from accelerator.iceberg.io import Inputs
from accelerator.recent import Recent

PATH_FIELD_ID = 2147483546  # of `file_path` in position delete files
_AT = {field.name: place for place, field in enumerate(DATA_FILE_TYPE[3].fields)}


@dataclass(frozen=True, slots=True)
class DeleteRef:
    """A delete file, or one deletion vector in a Puffin file."""

    path: str
    content: Literal["position", "equality", "dv"]
    sequence_number: int
    record_count: int
    content_offset: int | None = None
    content_size: int | None = None


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A data file of a snapshot. `path` is the manifest's own text, as Spark's `_file` gives it.

    Counts and bounds are by field id; bounds are Iceberg's single-value bytes, lower and upper ones
    may be truncated.
    """

    path: str
    sequence_number: int
    size_bytes: int
    record_count: int
    file_format: str
    spec_id: int
    deletes: tuple[DeleteRef, ...]
    null_counts: Mapping[int, int] = field(compare=False)
    nan_counts: Mapping[int, int] = field(compare=False)
    value_counts: Mapping[int, int] = field(compare=False)
    lower: Mapping[int, bytes] = field(compare=False)
    upper: Mapping[int, bytes] = field(compare=False)
    partition: tuple[object, ...] = ()

    @property
    def key(self) -> tuple[str, int]:
        """What artifacts are keyed by: no two contents ever share it."""
        return self.path, self.sequence_number

    @property
    def deletes_key(self) -> str:
        """Empty without deletes, else a short hash that changes with the set of deletes."""
        if not self.deletes:
            return ""
        refs = sorted(
            (ref.path, ref.content_offset or 0, ref.sequence_number, ref.content)
            for ref in self.deletes
        )
        return hashlib.blake2b(repr(refs).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class _Delete:
    """A delete file before it is matched: what it refers to, and where it reaches."""

    ref: DeleteRef
    target: str | None
    reach: tuple[int, Hashable]


@dataclass(frozen=True, slots=True)
class _Manifest:
    """What one manifest lists: data files without their deletes, or delete files."""

    files: tuple[LiveFile, ...]
    deletes: tuple[_Delete, ...]


_LISTS_MAX = 64
FILES_MAX = 500_000
"""Files of all snapshots that are kept, and of all manifests; one with statistics of ten columns
takes some 3 KB."""


class FileCache:
    """Live files by (table uuid, snapshot id); lists of manifests and these, decoded, by path."""

    def __init__(
        self, snapshots_max: int = 64, manifests_max: int = 4096, files_max: int = FILES_MAX
    ) -> None:
        self._snapshots: Recent[tuple[LiveFile, ...]] = Recent(
            snapshots_max, lambda _, files: len(files), files_max
        )
        self._manifests: Recent[_Manifest] = Recent(
            manifests_max, lambda _, one: len(one.files) + len(one.deletes), files_max
        )
        self._lists: Recent[tuple[ManifestFile, ...]] = Recent(_LISTS_MAX)

    def live_files(
        self, inputs: Inputs, uuid: str, snapshot: Snapshot, unpartitioned: Set[int]
    ) -> tuple[LiveFile, ...]:
        """Every data file of the snapshot, in the order of its manifests.

        `unpartitioned` are the table's specs without a field, or with fields that were all dropped.
        """
        return self._snapshots.get_or(
            (uuid, snapshot.snapshot_id), lambda: self._match(inputs, snapshot, unpartitioned)
        )

    def manifests(self, inputs: Inputs, snapshot: Snapshot) -> Sequence[ManifestFile]:
        """The manifests of the snapshot, as its list has them."""
        return self._lists.get_or(snapshot.manifest_list, lambda: _listed(inputs, snapshot))

    def listed(self, inputs: Inputs, manifest: ManifestFile) -> Sequence[LiveFile]:
        """The data files of a manifest, in its order, without deletes."""
        return self._decoded(inputs, manifest).files

    def keys(self, inputs: Inputs, snapshot: Snapshot, seen: set[str]) -> Iterator[tuple[str, int]]:
        """The keys of the snapshot's data files, but for those of manifests that were `seen`.

        Keeps no manifest: all snapshots of a large table have more than is worth the memory.
        """
        for manifest in _listed(inputs, snapshot):
            path = manifest.manifest_path
            if manifest.content == ManifestContent.DATA and path not in seen:
                seen.add(path)
                known = self._manifests.get(path) or _decode_manifest(inputs, manifest)
                yield from (file.key for file in known.files)

    def _match(
        self, inputs: Inputs, snapshot: Snapshot, unpartitioned: Set[int]
    ) -> tuple[LiveFile, ...]:
        listed = self.manifests(inputs, snapshot)
        manifests = [self._decoded(inputs, manifest) for manifest in listed]
        files = [file for manifest in manifests for file in manifest.files]
        deletes = [delete for manifest in manifests for delete in manifest.deletes]
        if not deletes:
            return tuple(files)
        index = _DeleteIndex(deletes, unpartitioned)
        return tuple(replace(file, deletes=index.applying(file)) for file in files)

    def _decoded(self, inputs: Inputs, manifest: ManifestFile) -> _Manifest:
        return self._manifests.get_or(
            manifest.manifest_path, lambda: _decode_manifest(inputs, manifest)
        )


class _DeleteIndex:
    """Delete files by the data file they name, else by the partition they reach.

    An equality delete of an unpartitioned spec reaches the whole table, whatever its other specs.
    """

    def __init__(self, deletes: Iterable[_Delete], unpartitioned: Set[int] = frozenset()) -> None:
        self._by_path: dict[str, list[DeleteRef]] = {}
        self._by_reach: dict[Hashable, list[DeleteRef]] = {}
        for delete in deletes:
            whole_table = delete.ref.content == "equality" and delete.reach[0] in unpartitioned
            if delete.target is not None:
                self._by_path.setdefault(delete.target, []).append(delete.ref)
            else:
                reach = None if whole_table else delete.reach
                self._by_reach.setdefault(reach, []).append(delete.ref)

    def applying(self, file: LiveFile) -> tuple[DeleteRef, ...]:
        reaching = [
            *self._by_path.get(file.path, ()),
            *self._by_reach.get((file.spec_id, _comparable(file.partition)), ()),
            *self._by_reach.get(None, ()),
        ]
        return applying(reaching, file.sequence_number)


def applying(reaching: Iterable[DeleteRef], sequence_number: int) -> tuple[DeleteRef, ...]:
    """Those that apply to a data file of that sequence number, of those that reach it."""
    found = [ref for ref in reaching if _is_later(ref, sequence_number)]
    if any(ref.content == "dv" for ref in found):
        # A deletion vector holds what position deletes had said before it.
        found = [ref for ref in found if ref.content != "position"]
    return tuple(sorted(found, key=lambda ref: (ref.path, ref.content_offset or 0)))


def _is_later(ref: DeleteRef, sequence_number: int) -> bool:
    """Whether the delete came late enough: an equality delete spares rows of its own commit."""
    if ref.content == "equality":
        return ref.sequence_number > sequence_number
    return ref.sequence_number >= sequence_number


def live_entries(inputs: Inputs, manifest: ManifestFile) -> list[ManifestEntry]:
    """Read with the v3 schema, which names what deletion vectors need and older ones lack.

    Nothing that an entry inherits is filled in.
    """
    entries = records(
        inputs,
        manifest.manifest_path,
        MANIFEST_ENTRY_SCHEMAS[3],
        {-1: ManifestEntry, 2: DataFile},
        {0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent},
        manifest.manifest_length,
    )
    return [entry for entry in entries if entry.status != ManifestEntryStatus.DELETED]


def _listed(inputs: Inputs, snapshot: Snapshot) -> tuple[ManifestFile, ...]:
    schema, types = MANIFEST_LIST_FILE_SCHEMAS[2], {-1: ManifestFile, 508: PartitionFieldSummary}
    return tuple(records(inputs, snapshot.manifest_list, schema, types, {517: ManifestContent}))


def _decode_manifest(inputs: Inputs, manifest: ManifestFile) -> _Manifest:
    live = live_entries(inputs, manifest)
    numbered = [(entry.data_file, sequence_number(entry, manifest)) for entry in live]
    spec_id = manifest.partition_spec_id
    if manifest.content == ManifestContent.DELETES:
        return _Manifest((), tuple(_delete(data, number, spec_id) for data, number in numbered))
    return _Manifest(tuple(_live_file(data, number, spec_id) for data, number in numbered), ())


def sequence_number(entry: ManifestEntry, manifest: ManifestFile) -> int:
    """The data sequence number; a missing one is the manifest's (0 in v1 tables)."""
    number = entry.sequence_number
    return (manifest.sequence_number or 0) if number is None else number


def _live_file(data: DataFile, sequence_number: int, spec_id: int) -> LiveFile:
    return LiveFile(
        path=data.file_path,
        sequence_number=sequence_number,
        size_bytes=data.file_size_in_bytes,
        record_count=data.record_count,
        file_format=data.file_format.value.lower(),
        spec_id=spec_id,
        deletes=(),
        null_counts=data.null_value_counts or {},
        nan_counts=data.nan_value_counts or {},
        value_counts=data.value_counts or {},
        lower=data.lower_bounds or {},
        upper=data.upper_bounds or {},
        partition=_partition(data.partition),
    )


def _delete(data: DataFile, sequence_number: int, spec_id: int) -> _Delete:
    offset = data[_AT["content_offset"]]
    equality = data.content == DataFileContent.EQUALITY_DELETES
    ref = DeleteRef(
        path=data.file_path,
        content="equality" if equality else "position" if offset is None else "dv",
        sequence_number=sequence_number,
        record_count=data.record_count,
        content_offset=offset,
        content_size=data[_AT["content_size_in_bytes"]],
    )
    reach = spec_id, _comparable(_partition(data.partition))
    return _Delete(ref, None if equality else _target(data), reach)


def _target(data: DataFile) -> str | None:
    """The one data file that a position delete file names, by its field or by equal path bounds."""
    named = data[_AT["referenced_data_file"]]
    if named is not None:
        return str(named)
    lower = (data.lower_bounds or {}).get(PATH_FIELD_ID)
    upper = (data.upper_bounds or {}).get(PATH_FIELD_ID)
    return lower.decode() if lower is not None and lower == upper else None


def _partition(record: Record) -> tuple[object, ...]:
    return tuple(record[place] for place in range(len(record)))


def _comparable(partition: tuple[object, ...]) -> tuple[object, ...]:
    """Values that are equal where Iceberg's are: NaN equals itself, and -0.0 may go with 0.0."""
    return tuple(
        ("NaN" if math.isnan(value) else value + 0.0) if isinstance(value, float) else value
        for value in partition
    )
