"""What an index has built, as the store records it, and its bundles. `docs/formats/index.md`.

A *bundle* has the light blobs of one job's files, those of one sort side by side (`bundle.py`), so
that little of it is read and trusted alone. A *sidecar* has the heavy blobs of one file. Whatever
the deletes of a file are, it's covered: rows only become fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from accelerator.artifacts.sidecars import bundle as sidecar_bundle
from accelerator.artifacts.sidecars.bundle import ALONE, UNFIT, BundlePiece, Single, place_of, texts
from accelerator.iceberg import LiveFile
from accelerator.store import CoveredFile, IndexRecord, SegmentRecord, segment_id
from accelerator.store.records import BUNDLE
from indexes import puffin
from indexes.domains import keeps_meaning
from indexes.hashing.xxhash64 import HASH
from indexes.inverted.postings import BOUND_MAX
from indexes.kind import Blob, IndexedColumn, Read
from indexes.range.bundle import FILES_MAX
from indexes.range.filters import RANGES
from indexes.text.grams import GRAMS
from indexes.text.tokens import ANALYSER

SIDECAR = "sidecar"
FORMATS = {
    "hash": HASH,
    "grams": GRAMS,
    "ranges": RANGES,
    "tokens": ANALYSER,
}
"""Properties of light blobs that what is asked must agree with."""
Dimensions = tuple[tuple[int, str, int | None], ...]
"""As `SegmentRecord.dimensions`."""
_UNDER = ""  # an index is of a file whatever was deleted of it


class Sidecar(Struct, frozen=True):
    """A file of heavy blobs: where each stands, its bytes aren't kept."""

    uri: str
    bytes: int
    blobs: tuple[tuple[Blob, int, int], ...]


class Indexed(Struct, frozen=True):
    """What came of one file for one index; without blobs the file is never skipped by it.

    `unchanged`: nothing was made, since what was built before holds.
    """

    index_id: str
    row_groups: tuple[int, ...] = ()
    light: tuple[Blob, ...] = ()
    sidecar: Sidecar | None = None
    why: str = ""
    unchanged: bool = False


class IndexJobResult(Struct, frozen=True):
    """What one job made for one index: files, and what came of each."""

    files: tuple[CoveredFile, ...]
    indexed: tuple[Indexed, ...]


def covered_file(file: LiveFile) -> CoveredFile:
    """A data file as the records of an index name it: whatever was deleted of it."""
    return CoveredFile(file.path, file.sequence_number, _UNDER, file.record_count, file.size_bytes)


class WrittenBundle(Struct, frozen=True):
    """A bundle's file, and where each file's blob is in it: (piece, place), None for none."""

    uri: str
    bytes: int
    pieces: tuple[BundlePiece, ...]
    places: tuple[tuple[int, int] | None, ...]


def write_bundle(write: Callable[[str, bytes], str], made: IndexJobResult) -> WrittenBundle:
    """Writes the light blobs of a job's files: `write` keeps them under a name, and gives a URI."""
    drafts = sidecar_bundle.drafts([indexed.light for indexed in made.indexed])
    places: list[tuple[int, int] | None] = [None] * len(made.files)
    for number, draft in enumerate(drafts):
        for place, file in enumerate(draft.files):
            places[file] = (number, place)
    rows = sum(file.record_count for file in made.files)
    data, spots = puffin.write_sidecar([(draft.blob, 0) for draft in drafts], rows)
    uri = write("bundle.puffin", data)
    found = tuple(draft.placed(spot) for draft, spot in zip(drafts, spots, strict=True))
    return WrittenBundle(uri, len(data), found, tuple(places))


def segments(
    record: IndexRecord,
    type_: str,
    made: IndexJobResult,
    bundle: WrittenBundle,
    dimensions: Dimensions = (),
) -> list[SegmentRecord]:
    """The records of a job: one for its bundle, one for each sidecar.

    `dimensions` are a relate column's, with the snapshots that it was built from.
    """
    fields = ((record.table_uuid, record.field_id, type_, False),)
    several = sum(not isinstance(piece, Single) for piece in bundle.pieces)
    told: dict[str, Any] = {
        **sidecar_bundle.to_facts(bundle.pieces),
        "places": [_place_json(place, several) for place in bundle.places],
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
            made.files,
            dimensions=dimensions,
            fields=fields,
            settings=(("part", BUNDLE),),
            facts={BUNDLE: told},
        )
    ]
    for file, indexed in zip(made.files, made.indexed, strict=True):
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
                    dimensions=dimensions,
                    fields=fields,
                    settings=(("part", SIDECAR),),
                    facts=facts,
                )
            )
    return found


def taken_apart(records: Iterable[SegmentRecord], reader: Callable[[str], Read]) -> IndexJobResult:
    """What jobs made, out of their bundles; without sidecars, whose records stay.

    OSError, ValueError and what `reader` raises where a bundle can't be read.
    """
    try:
        return _taken_apart(records, reader)
    except UNFIT as error:
        raise ValueError(f"a bundle's record can't be read: {error!r}") from None


def _taken_apart(records: Iterable[SegmentRecord], reader: Callable[[str], Read]) -> IndexJobResult:
    files: list[CoveredFile] = []
    indexed: list[Indexed] = []
    for record in records:
        told, read = record.facts[BUNDLE], reader(record.path)
        said = texts(told["formats"])
        blobs = [piece.blobs(read, said) for piece in pieces_of(record)]
        whys = [word for word, n in told["why"].items() for _ in range(min(n, len(record.files)))]
        for file, place in zip(record.files, places_of(record), strict=True):
            if place is not None and place[1] >= len(blobs[place[0]]):
                raise ValueError("a bundle has fewer blobs than its record says")
            light = () if place is None else (blobs[place[0]][place[1]],)
            # Which file a reason is of isn't kept, only how many have it.
            why = "" if light or not whys else whys.pop()
            files.append(file)
            indexed.append(Indexed(record.cube_id, light=light, why=why))
    return IndexJobResult(tuple(files), tuple(indexed))


def _formats(made: IndexJobResult) -> dict[str, str]:
    """What the light blobs are made of: all blobs of one release say the same."""
    said = {k: b.properties.get(k, "") for i in made.indexed for b in i.light for k in FORMATS}
    return {key: word for key, word in said.items() if word}


def _counted(words: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    return found


def _place_json(place: tuple[int, int] | None, several: int) -> list[int] | None:
    """A place as records have it: blobs that stand by themselves are told by their own numbers."""
    if place is None or place[0] < several:
        return None if place is None else list(place)
    return [ALONE, place[0] - several]


def pieces_of(record: SegmentRecord) -> list[BundlePiece]:
    """The pieces of a bundle's record; ValueError as `sidecar_bundle.from_facts`."""
    return sidecar_bundle.from_facts(record.facts.get(BUNDLE) or {})


def places_of(record: SegmentRecord) -> list[tuple[int, int] | None]:
    """Of each file of a bundle's record the piece and the place in it.

    ValueError where these aren't places of that many files; a place may still be beyond its piece.
    """
    try:
        told = record.facts[BUNDLE]
        several = len(told["groups"]) + len(told.get("ranges", ()))
        all_ = several + len(told.get("bounds", ())) + len(told["singles"])
        found = [None if one is None else _place(one, several) for one in told["places"]]
    except UNFIT as error:
        raise ValueError(f"a bundle's record can't be read: {error!r}") from None
    if len(found) != len(record.files) or any(
        one is not None and not (0 <= one[0] < all_ and 0 <= one[1] < FILES_MAX) for one in found
    ):
        raise ValueError("places of a bundle that aren't in it")
    return found


def _place(told: Sequence[int], several: int) -> tuple[int, int]:
    piece, place = map(int, told)
    return (several + place, 0) if piece == ALONE else (piece, place)


class HeavyBlob(Struct, frozen=True):
    """A blob in a sidecar."""

    uri: str
    place: puffin.BlobRange
    blob: Blob
    column: IndexedColumn


def heavy_of(record: SegmentRecord) -> list[HeavyBlob]:
    """The blobs of a sidecar's record; ValueError where it can't be read."""
    try:
        told = record.facts[SIDECAR]
        column = IndexedColumn(record.fields[0][2], row_groups_of(record))
        return [
            HeavyBlob(
                record.path,
                place_of(one["offset"], one["length"]),
                Blob(str(one["type"]), b"", False, texts(one["properties"])),
                column,
            )
            for one in told["blobs"]
        ]
    except UNFIT as error:
        raise ValueError(f"a sidecar's record can't be read: {error!r}") from None


def row_groups_of(record: SegmentRecord) -> tuple[int, ...]:
    """Rows of each row group of a sidecar's data file; ValueError where that can't be."""
    try:
        found = tuple(map(int, record.facts[SIDECAR]["row_groups"]))
    except UNFIT as error:
        raise ValueError(f"a sidecar's record can't be read: {error!r}") from None
    if min(found, default=0) < 0 or sum(found) >= BOUND_MAX:
        raise ValueError("a sidecar's record has row groups that can't be")
    return found


def divided(
    record: SegmentRecord, parts: Sequence[tuple[Collection[tuple[str, int]], Dimensions]]
) -> list[SegmentRecord]:
    """The record over parts of its files, each under dimensions of its own; empty parts are none.

    They share its file, whose blobs stay as they are.
    """
    found = []
    for keys, dimensions in parts:
        named = [(file.path, file.sequence_number) for file in record.files]
        mine = [i for i, key in enumerate(named) if key in keys]
        if not mine:
            continue
        files, facts = tuple(record.files[i] for i in mine), dict(record.facts)
        if record.is_bundle:
            places = record.facts[BUNDLE]["places"]
            facts[BUNDLE] = {**record.facts[BUNDLE], "places": [places[i] for i in mine]}
        found.append(
            replace(
                record,
                id=segment_id(),
                rows=sum(file.record_count for file in files),
                files=files,
                facts=facts,
                dimensions=dimensions,
            )
        )
    return found


def answers_for(record: SegmentRecord, type_: str) -> bool:
    """Whether what was built over the column's type then is of use under its type now.

    What can't be read isn't.
    """
    try:
        told = record.facts.get(BUNDLE, {}).get("formats", {})
        known = all(FORMATS.get(key) == word for key, word in told.items())
        return known and record.format == 1 and keeps_meaning(record.fields[0][2], type_)
    except UNFIT:
        return False


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
