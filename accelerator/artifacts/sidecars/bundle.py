"""What a bundle is made of: pieces, each of which answers for light blobs of some files at once.

Split-block filters of one size are a piece, so are range filters of one shape, and a blob of any
other sort is one by itself. Whatever is read is checked. `docs/formats/index.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar
from zlib import crc32

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from indexes import puffin
from indexes.bloom.split_block import BLOCK_BYTES, MOST_BLOCKS, Bundle, read_filter, transpose
from indexes.bloom.split_block import TYPE as FILTER
from indexes.bounds import Flags, Numbers
from indexes.kind import Asked, Blob, Intervals, Read
from indexes.kinds.bloom import answers
from indexes.kinds.bounds import TYPE as BOUNDS
from indexes.kinds.bounds import apart, gathered, read_bounds
from indexes.range.bundle import FILES_MAX, GroupShape, RangeGroup, shape_of, write_group
from indexes.range.filters import TYPE as RANGE_FILTER

ALONE = -2
"""In place of a piece's number, where records name a blob that stands by itself."""
_FILTERS, _RANGES = "acc-sbbf-bundle-v1", "acc-range-bundle-v1"
_BOUNDS_TABLE = "acc-bounds-bundle-v1"
_CHECK = 4
_BYTES_MAX = 1 << 48  # of any file
_P = TypeVar("_P")


class BundlePiece(Protocol):
    """Of some files."""

    def may(self, asked: Asked, read: Read) -> Flags | None:
        """Of each file whether it may hold a match; None where it isn't asked so.

        `read` reads the bundle's file. ValueError for what is cut off or altered.
        """
        ...

    def blobs(self, read: Read, said: Mapping[str, str]) -> list[Blob]:
        """The blob of each file, as it was given; `said`: properties that all of them have.

        ValueError as `may`.
        """
        ...


class BundledFilters(Struct, frozen=True):
    """Split-block filters of one size; each row has its checksum behind it."""

    bundle: Bundle
    offset: int

    def may(self, asked: Asked, read: Read) -> Flags | None:
        """See `BundlePiece`."""
        return None if isinstance(asked, Intervals) else self.bundle.may(asked, self.within(read))

    def blobs(self, read: Read, said: Mapping[str, str]) -> list[Blob]:
        """See `BundlePiece`."""
        bundle, row = self.bundle, self.within(read)
        size = bundle.files * BLOCK_BYTES
        rows = b"".join(row(number * size, size) for number in range(bundle.blocks))
        words = np.frombuffer(rows, dtype="<u4").reshape(bundle.blocks, bundle.files, -1)
        own = {**said, "z": str(bundle.blocks)}
        each = (np.ascontiguousarray(words[:, file]).tobytes() for file in range(bundle.files))
        return [Blob(FILTER, data, True, own) for data in each]

    def within(self, read: Read) -> Read:
        """Rows of the bundle out of reads of its file. ValueError for a row that was altered."""
        size = self.bundle.files * BLOCK_BYTES

        def row(offset: int, length: int) -> bytes:
            number = offset // size
            found = read(self.offset + number * (size + _CHECK), length + _CHECK)
            data, told = found[:length], found[length:]
            if crc32(data).to_bytes(_CHECK, "little") != told:
                raise ValueError(f"row {number} of a bundle is cut off or altered")
            return data

        return row


class Ranges(Struct, frozen=True):
    """Range filters of one shape. `rate`: of ranges without a value the share that they keep."""

    group: RangeGroup
    place: puffin.BlobRange
    rate: float

    def may(self, asked: Asked, read: Read) -> Flags | None:
        """See `BundlePiece`."""
        return self.group.may(asked, puffin.within(read, self.place))

    def blobs(self, read: Read, said: Mapping[str, str]) -> list[Blob]:
        """See `BundlePiece`."""
        own = {**said, "rate": f"{self.rate:.6f}"}
        return self.group.blobs(puffin.within(read, self.place), own)


class BoundsTable(Struct, frozen=True):
    """Bounds, a row for each file."""

    place: puffin.BlobRange
    check: int

    def may(self, *_: object) -> None:
        """See `BundlePiece`: the planner compares bounds by itself."""

    def blobs(self, read: Read, said: Mapping[str, str]) -> list[Blob]:
        """See `BundlePiece`."""
        return apart(self.table(read), said)

    def table(self, read: Read) -> pa.Table:
        """The bounds. ValueError where they were altered."""
        return read_bounds(_checked(read, self.place, self.check))


class Single(Struct, frozen=True):
    """A blob that stands by itself."""

    blob: Blob
    place: puffin.BlobRange
    check: int

    def may(self, asked: Asked, read: Read) -> Flags | None:
        """See `BundlePiece`."""
        if isinstance(asked, Intervals):
            return None
        return np.array([answers(self.whole(read), asked)])

    def blobs(self, read: Read, said: Mapping[str, str]) -> list[Blob]:
        """See `BundlePiece`."""
        found = self.whole(read)
        return [replace(found, properties={**said, **found.properties})]

    def whole(self, read: Read) -> Blob:
        """With its bytes, out of reads of the bundle's file. ValueError where they were altered."""
        return replace(self.blob, data=_checked(read, self.place, self.check))


class Draft(Struct, frozen=True):
    """A piece before its bytes have a place; `files` are the numbers of those that it tells of."""

    blob: Blob
    files: tuple[int, ...]
    placed: Callable[[puffin.BlobRange], BundlePiece]


def drafts(light: Sequence[Sequence[Blob]]) -> list[Draft]:
    """The pieces of the light blobs of each file: filters by size, ranges by shape, the others."""
    sizes: dict[int, list[tuple[int, Blob]]] = {}
    shapes: dict[GroupShape, list[tuple[int, Blob]]] = {}
    bounds: list[tuple[int, Blob]] = []
    singles: list[Draft] = []
    for number, blobs in enumerate(light):
        for blob in blobs:
            if blob.type == FILTER:
                sizes.setdefault(read_filter(blob).blocks, []).append((number, blob))
            elif blob.type == BOUNDS:
                bounds.append((number, blob))
            elif blob.type == RANGE_FILTER:
                shapes.setdefault(shape_of(blob), []).append((number, blob))
            else:
                singles.append(_single(number, blob))
    return [
        *(_filters(size, sizes[size]) for size in sorted(sizes)),
        *(_ranges(some) for some in shapes.values()),
        *([_bounds(bounds)] if bounds else []),
        *singles,
    ]


def _filters(size: int, some: Sequence[tuple[int, Blob]]) -> Draft:
    bundle = Bundle(size, len(some))
    width = bundle.files * BLOCK_BYTES
    data = transpose([read_filter(blob) for _, blob in some])
    rows = np.frombuffer(data, dtype=np.uint8).reshape(bundle.blocks, width)
    checks = np.array([crc32(row.tobytes()) for row in rows], dtype="<u4").view(np.uint8)
    sealed = np.hstack([rows, checks.reshape(-1, _CHECK)]).tobytes()
    blob = Blob(_FILTERS, sealed, True, {"z": str(size), "files": str(bundle.files)})
    return Draft(blob, _numbers(some), lambda place: BundledFilters(bundle, place.offset))


def _ranges(some: Sequence[tuple[int, Blob]]) -> Draft:
    data, shape = write_group([blob for _, blob in some])
    rate = sum(float(blob.properties["rate"]) for _, blob in some) / len(some)
    said = {name: str(value) for name, value in shape.to_json().items() if value is not None}
    return Draft(
        Blob(_RANGES, data, True, said),
        _numbers(some),
        lambda place: Ranges(RangeGroup(shape), place, rate),
    )


def _bounds(some: Sequence[tuple[int, Blob]]) -> Draft:
    blob = Blob(
        _BOUNDS_TABLE, gathered([blob for _, blob in some]), True, {"files": str(len(some))}
    )
    check = crc32(blob.data)
    return Draft(blob, _numbers(some), lambda place: BoundsTable(place, check))


def _single(number: int, blob: Blob) -> Draft:
    bare, check = replace(blob, data=b""), crc32(blob.data)
    return Draft(blob, (number,), lambda place: Single(bare, place, check))


def _numbers(some: Sequence[tuple[int, Blob]]) -> tuple[int, ...]:
    return tuple(number for number, _ in some)


def to_facts(pieces: Sequence[BundlePiece]) -> dict[str, Any]:
    """As a bundle's record keeps them, in the order that `drafts` gave them in."""
    return {
        "groups": [
            [p.bundle.blocks, p.bundle.files, p.offset] for p in _of(BundledFilters, pieces)
        ],
        "ranges": [
            {
                **p.group.shape.to_json(),
                "offset": p.place.offset,
                "length": p.place.length,
                "rate": p.rate,
            }
            for p in _of(Ranges, pieces)
        ],
        "bounds": [[p.place.offset, p.place.length, p.check] for p in _of(BoundsTable, pieces)],
        "singles": [
            [p.blob.type, dict(p.blob.properties), p.place.offset, p.place.length, p.check]
            for p in _of(Single, pieces)
        ],
    }


def at(may: Flags, places: Numbers) -> Flags:
    """What a piece answered for the files at these places. ValueError for a place beyond it."""
    if len(places) and not 0 <= places.min() <= places.max() < len(may):
        raise ValueError(f"a bundle of {len(may)} filters, of which its record names more")
    return may[places]


UNFIT = (ArithmeticError, AttributeError, LookupError, TypeError)
"""What JSON of another shape raises, beside ValueError."""


def from_facts(told: Mapping[str, Any]) -> list[BundlePiece]:
    """The pieces of a bundle's record, in the order of `drafts`.

    ValueError for what can't be one; whether the bytes are there shows when they're read.
    """
    try:
        return _pieces(told)
    except UNFIT as error:
        raise ValueError(f"a bundle's record can't be read: {error!r}") from None


def _pieces(told: Mapping[str, Any]) -> list[BundlePiece]:
    filters = [
        BundledFilters(_bundle(z, files), place_of(at, 0).offset) for z, files, at in told["groups"]
    ]
    ranges = [
        Ranges(
            RangeGroup(GroupShape.from_json(one)),
            place_of(one["offset"], one["length"]),
            float(one["rate"]),
        )
        for one in told.get("ranges", ())
    ]
    bounds = [
        BoundsTable(place_of(offset, length), int(check))
        for offset, length, check in told.get("bounds", ())
    ]
    singles = [
        Single(Blob(str(type_), b"", True, texts(said)), place_of(offset, length), int(check))
        for type_, said, offset, length, check in told["singles"]
    ]
    return [*filters, *ranges, *bounds, *singles]


def _checked(read: Read, place: puffin.BlobRange, check: int) -> bytes:
    data = read(place.offset, place.length)
    if crc32(data) != check or len(data) != place.length:
        raise ValueError("a blob of a bundle is cut off or altered")
    return data


def texts(said: Any) -> dict[str, str]:
    """Properties as a record has them. ValueError where one isn't a text."""
    found = dict(said)
    if not all(isinstance(one, str) for one in found.values()):
        raise ValueError("properties that aren't texts")
    return found


def _bundle(blocks: Any, files: Any) -> Bundle:
    found = Bundle(int(blocks), int(files))
    if not (1 <= found.blocks <= MOST_BLOCKS and 1 <= found.files <= FILES_MAX):
        raise ValueError(f"filters of {found.blocks} blocks, of {found.files} files")
    return found


def place_of(offset: Any, length: Any) -> puffin.BlobRange:
    """A place as a record has it. ValueError for one that no file has."""
    found = puffin.BlobRange(int(offset), int(length))
    if not (0 <= found.offset <= _BYTES_MAX and 0 <= found.length <= _BYTES_MAX):
        raise ValueError(f"{found.length} bytes at {found.offset}")
    return found


def _of(sort: type[_P], pieces: Sequence[BundlePiece]) -> list[_P]:
    return [piece for piece in pieces if isinstance(piece, sort)]
