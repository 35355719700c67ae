"""What an index has built, as the store records it, and its bundles. `docs/formats/index.md`.

A *bundle* has the light blobs of one job's files, filters of one size side by side; each row of it
is followed by its checksum, so that one row can be read and trusted alone. A *sidecar* has the
heavy blobs of one file. Whatever the deletes of a file are, it's covered: rows only become fewer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np

from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.indexing.work import Indexed
from accelerator.store import CoveredFile, IndexRecord, Job, SegmentRecord, Store, segment_id
from accelerator.store.records import BUNDLE
from indexes import puffin
from indexes.analyser import GRAMS
from indexes.domains import keeps_meaning
from indexes.hashing import HASH
from indexes.kind import Blob, Column, Read
from indexes.sbbf import BLOCK_BYTES, Bundle, Filter, read_filter, transpose
from indexes.sbbf import TYPE as FILTER

SIDECAR = "sidecar"
FORMATS = {"hash": HASH, "grams": GRAMS}
"""Properties of light blobs that a question's hashes must agree with."""
ALONE = -2
_TYPE = "acc-sbbf-bundle-v1"
_CHECK = 4
_UNDER = ""  # an index is of a file whatever was deleted of it


@dataclass(frozen=True, slots=True)
class Made:
    """What one job made for one index: files, and what came of each."""

    files: tuple[LiveFile, ...]
    indexed: tuple[Indexed, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Filters of one size in a bundle's file."""

    bundle: Bundle
    offset: int

    @property
    def length(self) -> int:
        """Bytes in the file."""
        return self.bundle.blocks * (self.bundle.files * BLOCK_BYTES + _CHECK)

    def within(self, read: Read) -> Read:
        """Rows of the bundle out of reads of its file. ValueError for a row that was altered."""
        size = self.bundle.files * BLOCK_BYTES

        def row(offset: int, length: int) -> bytes:
            number = offset // size
            found = read(self.offset + number * (size + _CHECK), length + _CHECK)
            data, told = found[:-_CHECK], found[-_CHECK:]
            if crc32(data).to_bytes(_CHECK, "little") != told:
                raise ValueError(f"row {number} of a bundle is cut off or altered")
            return data

        return row


@dataclass(frozen=True, slots=True)
class Single:
    """A light blob in a bundle that stands by itself, since it isn't a split-block filter."""

    blob: Blob
    place: puffin.Place
    check: int

    def whole(self, read: Read) -> Blob:
        """With its bytes, out of reads of the bundle's file. ValueError where they were altered."""
        data = read(self.place.offset, self.place.length)
        if crc32(data) != self.check:
            raise ValueError("a blob of a bundle is cut off or altered")
        return replace(self.blob, data=data)


@dataclass(frozen=True, slots=True)
class WrittenBundle:
    """A bundle's file, and where each file's filter is in it: (group, place), None for none.

    The group of a filter that stands by itself is `ALONE`, its place is among those.
    """

    uri: str
    bytes: int
    groups: tuple[Group, ...]
    singles: tuple[Single, ...]
    places: tuple[tuple[int, int] | None, ...]


def write_bundle(store: Store, job: Job, made: Made) -> WrittenBundle:
    """Writes the light blobs of a job's files, by size."""
    by_size: dict[int, list[tuple[int, Filter]]] = {}
    places: list[tuple[int, int] | None] = [None] * len(made.files)
    alone: list[Blob] = []
    for number, indexed in enumerate(made.indexed):
        for blob in indexed.light:
            if blob.type == FILTER:
                found = read_filter(blob)
                by_size.setdefault(found.blocks, []).append((number, found))
            else:
                places[number] = (ALONE, len(alone))
                alone.append(blob)
    blobs: list[tuple[Blob, int]] = []
    bundles: list[Bundle] = []
    for size in sorted(by_size):
        filters = by_size[size]
        for place, (number, _) in enumerate(filters):
            places[number] = (len(bundles), place)
        bundle = Bundle(size, len(filters))
        properties = {"z": str(size), "files": str(len(filters))}
        data = _checked(transpose([one for _, one in filters]), bundle)
        blobs.append((Blob(_TYPE, data, True, properties), 0))
        bundles.append(bundle)
    rows = sum(file.record_count for file in made.files)
    data, spots = puffin.write([*blobs, *((blob, 0) for blob in alone)], rows)
    uri = store.write_artifact(job, "bundle.puffin", data)
    groups = tuple(Group(b, spot.offset) for b, spot in zip(bundles, spots, strict=False))
    singles = tuple(
        Single(replace(blob, data=b""), spot, crc32(blob.data))
        for blob, spot in zip(alone, spots[len(bundles) :], strict=True)
    )
    return WrittenBundle(uri, len(data), groups, singles, tuple(places))


def _checked(data: bytes, bundle: Bundle) -> bytes:
    """Each row with its checksum behind it."""
    size = bundle.files * BLOCK_BYTES
    rows = np.frombuffer(data, dtype=np.uint8).reshape(bundle.blocks, size)
    checks = np.array([crc32(row.tobytes()) for row in rows], dtype="<u4").view(np.uint8)
    return np.hstack([rows, checks.reshape(-1, _CHECK)]).tobytes()


def segments(
    pinned: PinnedTable, record: IndexRecord, type_: str, made: Made, bundle: WrittenBundle
) -> list[SegmentRecord]:
    """The records of a job: one for its bundle, one for each sidecar."""
    covered = [
        CoveredFile(f.path, f.sequence_number, _UNDER, f.record_count, f.size_bytes)
        for f in made.files
    ]
    fields = ((pinned.facts.uuid, record.field_id, type_, False),)
    told: dict[str, Any] = {
        "groups": [[g.bundle.blocks, g.bundle.files, g.offset] for g in bundle.groups],
        "singles": [
            [s.blob.type, dict(s.blob.properties), s.place.offset, s.place.length, s.check]
            for s in bundle.singles
        ],
        "places": [None if place is None else list(place) for place in bundle.places],
        "formats": _formats(made),
        "light_bytes": sum(len(b.data) for i in made.indexed for b in i.light),
        "why": _counted(one.why for one in made.indexed if one.why),
    }
    found = [
        SegmentRecord(
            segment_id(),
            record.id,
            bundle.uri,
            sum(f.record_count for f in made.files),
            bundle.bytes,
            tuple(covered),
            fields=fields,
            settings=(("part", BUNDLE),),
            facts={BUNDLE: told},
        )
    ]
    for file, indexed in zip(covered, made.indexed, strict=True):
        if indexed.sidecar is not None:
            blobs = [
                {"type": b.type, "properties": dict(b.properties), "offset": at, "length": length}
                for b, at, length in indexed.sidecar.blobs
            ]
            facts = {SIDECAR: {"row_groups": list(indexed.row_groups), "blobs": blobs}}
            found.append(
                SegmentRecord(
                    segment_id(),
                    record.id,
                    indexed.sidecar.uri,
                    file.record_count,
                    indexed.sidecar.bytes,
                    (file,),
                    fields=fields,
                    settings=(("part", SIDECAR),),
                    facts=facts,
                )
            )
    return found


def _formats(made: Made) -> dict[str, str]:
    """What the hashes of the light blobs are of: all blobs of one release say the same."""
    said = {k: b.properties.get(k, "") for i in made.indexed for b in i.light for k in FORMATS}
    return {key: word for key, word in said.items() if word}


def _counted(words: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    return found


def groups_of(record: SegmentRecord) -> list[Group]:
    """The groups of a bundle's record."""
    told = record.facts[BUNDLE]["groups"]
    return [Group(Bundle(int(z), int(files)), int(offset)) for z, files, offset in told]


def singles_of(record: SegmentRecord) -> list[Single]:
    """The blobs of a bundle's record that stand by themselves."""
    return [
        Single(
            Blob(type_, b"", True, properties), puffin.Place(int(offset), int(length)), int(check)
        )
        for type_, properties, offset, length, check in record.facts[BUNDLE]["singles"]
    ]


def places_of(record: SegmentRecord) -> list[tuple[int, int] | None]:
    """Of each file of a bundle's record the group and the place in it."""
    return [None if one is None else (one[0], one[1]) for one in record.facts[BUNDLE]["places"]]


@dataclass(frozen=True, slots=True)
class HeavyBlob:
    """A blob in a sidecar."""

    uri: str
    place: puffin.Place
    blob: Blob
    column: Column


def heavy_of(record: SegmentRecord) -> list[HeavyBlob]:
    """The blobs of a sidecar's record."""
    told = record.facts[SIDECAR]
    column = Column(record.fields[0][2], row_groups_of(record))
    return [
        HeavyBlob(
            record.path,
            puffin.Place(int(one["offset"]), int(one["length"])),
            Blob(one["type"], b"", False, one["properties"]),
            column,
        )
        for one in told["blobs"]
    ]


def row_groups_of(record: SegmentRecord) -> tuple[int, ...]:
    """Rows of each row group of a sidecar's data file."""
    return tuple(record.facts[SIDECAR]["row_groups"])


def answers_for(record: SegmentRecord, type_: str) -> bool:
    """Whether what was built over the column's type then is of use under its type now."""
    told = record.facts.get(BUNDLE, {}).get("formats", {})
    known = all(FORMATS.get(key) == word for key, word in told.items())
    return known and record.format == 1 and keeps_meaning(record.fields[0][2], type_)


def covered(records: Iterable[SegmentRecord], type_: str) -> set[tuple[str, int]]:
    """The files that are told of, by path and sequence number."""
    return {
        (file.path, file.sequence_number)
        for record in records
        if record.is_bundle and answers_for(record, type_)
        for file in record.files
    }


def sidecars(records: Iterable[SegmentRecord]) -> Mapping[tuple[str, int], SegmentRecord]:
    """The records of sidecars, by their data file's path and sequence number."""
    return {
        (file.path, file.sequence_number): record
        for record in records
        if not record.is_bundle
        for file in record.files
    }
