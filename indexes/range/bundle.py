"""Range filters of many files side by side, so that a range reads little of all of them at once.

A group has the filters of one mode, of codes without equally many bits or of equally many words
and layers, and of texts with one prefix. *Codes* are cut into cells at codes common to all files,
some 64 KB each: a range reads a directory, which is kept, and the two cells that its ends lie in;
of those between the directory says which files have codes there. *Prefixes* lie in rows, one word
of every file, a few of which a range reads. Each part has a checksum. docs/formats/range.md has
every byte.

Whoever writes a group decodes one file at a time; beside the encoded codes there are twenty bytes
for each file and cell.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import asdict

from indexes.kind import Asked, Blob, Intervals, Read
from indexes.range.filters import (
    BLOOMRF,
    GAPS,
    MODES,
    MOST_LAYERS,
    MOST_WORDS,
    Flags,
    Keys,
    Prefixes,
    RangeCodes,
    prefix_of,
    ranges_of,
    read_filter,
)

CELL_BYTES = 64 << 10
_SAMPLES = 64  # of each cell, by which cells are cut
_HEAD = struct.Struct("<IIQ")
_CHECK = 4
_WIDTHS = (1, 2, 4)
_WORD = 8
FILES_MAX = 1 << 24
"""Of a bundle: many more than a build puts into one, and few enough to have a flag for each."""

Numbers = npt.NDArray[np.int64]


class GroupShape(Struct, frozen=True):
    """What it takes to read a group: numbers that its mode doesn't have are 0.

    `prefix`: of its files' texts, None for numbers. `directory`: bytes of it, 0 for prefixes.
    """

    mode: str
    files: int
    shift: int = 0
    words: int = 0
    layers: int = 0
    prefix: bytes | None = None
    directory: int = 0

    def to_json(self) -> dict[str, Any]:
        """Returns the form in a bundle's record."""
        return asdict(self) | {"prefix": None if self.prefix is None else self.prefix.hex()}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> GroupShape:
        """Of what `to_json` gave. ValueError, KeyError or TypeError for anything else."""
        sizes = {name: int(said[name]) for name in ("shift", "words", "layers", "directory")}
        found = cls(said["mode"], int(said["files"]), prefix=prefix_of(said), **sizes)
        layers, words = (1, MOST_LAYERS), (1, MOST_WORDS)
        if found.mode != BLOOMRF:
            layers = words = (0, 0)
        if not (
            found.mode in MODES
            and 1 <= found.files <= FILES_MAX
            and 0 <= found.shift < 64
            and layers[0] <= found.layers <= layers[1]
            and words[0] <= found.words <= words[1]
            and found.directory >= 0
        ):
            raise ValueError(f"no group of range filters: {found}")
        return found


def shape_of(blob: Blob) -> GroupShape:
    """Of the group that a blob is put into; `files` and `directory` aren't known yet."""
    said = blob.properties
    sizes = {name: int(said.get(name, 0)) for name in ("shift", "words", "layers")}
    return GroupShape(said.get("mode", ""), 0, prefix=prefix_of(said), **sizes)


class _Directory(Struct, frozen=True, eq=False):
    """Of each cell its first code, its place in bytes and its checksum; who has codes in it.

    `inside`: of each cell and file whether it begins within a stretch. `last`: the highest code.
    """

    begins: Keys
    ends: Keys
    places: Numbers
    checks: npt.NDArray[np.uint32]
    present: Flags
    inside: Flags


class RangeGroup:
    """Answers for the files of a group, out of reads of the group's bytes. Threads may share it."""

    def __init__(self, shape: GroupShape) -> None:
        self.shape = shape
        self._known: _Directory | None = None

    def may(self, asked: Asked, read: Read) -> Flags | None:
        """Of each file whether it may hold a match; None where it isn't asked for intervals.

        ValueError for bytes that were cut off or altered.
        """
        if not isinstance(asked, Intervals):
            return None
        ranges = ranges_of(asked, self.shape.prefix)
        if ranges is None:
            return None
        found = np.zeros(self.shape.files, dtype=np.bool_)
        if self.shape.mode == BLOOMRF:
            for low, high in zip(*ranges, strict=True):
                self._ask_prefixes(low, high, read, found)
        else:
            asking = _CellReader(self._directory(read), self.shape, read)
            by = np.uint64(self.shape.shift)
            for low, high in zip(*ranges, strict=True):
                asking.ask(low >> by, high >> by, found)
        return found

    def blobs(self, read: Read, said: Mapping[str, str]) -> list[Blob]:
        """The filters of each file as it was alone; `said`: properties that go with them.

        ValueError as `may`.
        """
        shape = self.shape
        if shape.prefix is not None:
            said = {**said, "prefix": shape.prefix.hex()}
        if shape.mode != BLOOMRF:
            found = _CellReader(self._directory(read), shape, read).codes()
            gaps = shape.mode == GAPS
            return [RangeCodes(codes, shape.shift, gaps).to_blob(said) for codes in found]
        rows = [self._row(number, read) for number in range(shape.words)]
        words = np.ascontiguousarray(np.stack(rows).T)
        return [Prefixes(own, shape.layers).to_blob(said) for own in words]

    def _directory(self, read: Read) -> _Directory:
        if self._known is None:
            data = read(0, self.shape.directory)
            self._known = _opened(_checked(data, "the directory"), self.shape)
        return self._known

    def _ask_prefixes(self, low: np.uint64, high: np.uint64, read: Read, found: Flags) -> None:
        from indexes.range import kernels

        if found.all():
            return
        shape = self.shape
        ways = np.zeros(shape.layers, dtype=np.uint8)
        at = np.zeros((shape.layers, kernels.SLOTS), dtype=np.uint64)
        masks = np.zeros((shape.layers, kernels.SLOTS), dtype=np.uint64)
        size = np.uint64(shape.words)
        if not kernels.plan_prefixes(low, high, shape.layers, size, ways, at, masks):
            found[:] = True
            return
        # Read before there's room for all of them: what isn't there takes none.
        places = np.argwhere(masks)
        own = [self._row(at[layer, slot], read) for layer, slot in places]
        rows = np.zeros((*at.shape, shape.files), dtype=np.uint64)
        for (layer, slot), row in zip(places, own, strict=True):
            rows[layer, slot] = row
        kernels.answer_prefixes(ways, masks, rows, found)

    def _row(self, number: Any, read: Read) -> Keys:
        """A word of every file."""
        length = self.shape.files * _WORD
        row = read(int(number) * (length + _CHECK), length + _CHECK)
        return np.frombuffer(_checked(row, f"row {number}", length), "<u8").astype(np.uint64)


class _CellReader:
    """Asks cells for ranges of codes; the last one that was read is kept."""

    def __init__(self, directory: _Directory, shape: GroupShape, read: Read) -> None:
        self._directory, self._shape, self._read = directory, shape, read
        self._number = -1
        self._cell: tuple[npt.NDArray[np.uint8], Keys, Numbers] | None = None

    def ask(self, low: np.uint64, high: np.uint64, found: Flags) -> None:
        """Marks the files that may have a code in the range."""
        known = self._directory
        least, most = max(low, known.begins[0]), min(high, known.ends[-1])
        if least > most:
            return
        first = int(np.searchsorted(known.begins, least, "right")) - 1
        last = int(np.searchsorted(known.begins, most, "right")) - 1
        if last > first:
            found |= known.present[first + 1 : last].any(axis=0)
        for cell in sorted({first, last}):
            self._search(cell, least, most, found)

    def _search(self, cell: int, low: np.uint64, high: np.uint64, found: Flags) -> None:
        from indexes.range import kernels

        known = self._directory
        present, inside = known.present[cell], known.inside[cell]
        found |= inside & ~present
        if not (present & ~found).any():
            return
        begin, end = known.begins[cell], known.ends[cell]
        data, counts, files = self._opened(cell)
        # A cell that the range begins before is asked from its own begin on.
        whole = kernels.search_cell(
            data,
            np.uint64(0),
            counts,
            files,
            end - begin,
            max(low, begin) - begin,
            min(high, end) - begin,
            inside,
            self._shape.mode == GAPS,
            found,
        )
        if not whole:
            raise ValueError(f"cell {cell} of a bundle has fewer codes than it says")

    def codes(self) -> list[Keys]:
        """Every file's codes."""
        from indexes.range import kernels

        known = self._directory
        parts: list[list[Keys]] = [[] for _ in range(self._shape.files)]
        for cell, (begin, end) in enumerate(zip(known.begins, known.ends, strict=True)):
            data, counts, files = self._opened(cell)
            flags, at = np.unpackbits(data, bitorder="little"), 0
            for count, file in zip(counts, files.tolist(), strict=True):
                size = int(kernels.bit_size(count, end - begin))
                if size > len(flags) - at:
                    raise ValueError(f"fewer codes than {count} in cell {cell}")
                own = np.packbits(flags[at : at + size], bitorder="little")
                padded = np.concatenate((own, np.zeros(kernels.PAD, dtype=np.uint8)))
                values = np.empty(int(count), dtype=np.uint64)
                if not kernels.get_codes(padded, begin, end - begin, values):
                    raise ValueError(f"fewer codes than {count} in cell {cell}")
                parts[file].append(values)
                at += size
        return [np.concatenate(part) for part in parts]

    def _opened(self, number: int) -> tuple[npt.NDArray[np.uint8], Keys, Numbers]:
        """The bits of a cell, how many codes each file has in it, and which files have any."""
        from indexes.range.kernels import PAD

        if self._cell is None or number != self._number:
            known = self._directory
            place = int(known.places[number])
            data = self._read(place, int(known.places[number + 1]) - place)
            if crc32(data) != known.checks[number] or not data or data[0] not in _WIDTHS:
                raise ValueError(f"cell {number} of a bundle is cut off or altered")
            files = np.flatnonzero(known.present[number])
            width = data[0]
            counts = np.frombuffer(data, f"<u{width}", len(files), 1).astype(np.uint64)
            bits = np.frombuffer(data[1 + width * len(files) :] + bytes(PAD), np.uint8)
            self._number, self._cell = number, (bits, counts + np.uint64(1), files)
        return self._cell


def write_group(blobs: Sequence[Blob]) -> tuple[bytes, GroupShape]:
    """The bytes of a group of blobs of one shape. ValueError for a blob that can't be read."""
    shape = shape_of(blobs[0])
    if any(shape_of(blob) != shape for blob in blobs):
        raise ValueError("range filters of several shapes in one group")
    return _written_prefixes(blobs, shape) if shape.mode == BLOOMRF else _Writer(blobs).write(shape)


def _written_prefixes(blobs: Sequence[Blob], shape: GroupShape) -> tuple[bytes, GroupShape]:
    rows = np.empty((shape.words, len(blobs)), dtype="<u8")
    for place, blob in enumerate(blobs):
        found = read_filter(blob)
        assert isinstance(found, Prefixes)
        rows[:, place] = found.words
    parts = (row.tobytes() for row in rows)
    data = b"".join(part + crc32(part).to_bytes(_CHECK, "little") for part in parts)
    sizes = (shape.words, shape.layers, shape.prefix)
    return data, GroupShape(BLOOMRF, len(blobs), 0, *sizes)


class _Writer:
    """Writes a group of codes."""

    def __init__(self, blobs: Sequence[Blob]) -> None:
        self._blobs = blobs
        self._counts = [int(blob.properties["count"]) for blob in blobs]

    def write(self, shape: GroupShape) -> tuple[bytes, GroupShape]:
        from indexes.range import kernels

        begins, ends = self._cut()
        lasts, files = ends - begins, len(self._blobs)
        splits = np.empty((len(begins) + 1, files), dtype=np.int32)
        for file in range(files):
            values = self._codes(file)
            splits[:-1, file] = np.searchsorted(values, begins)
            splits[-1, file] = len(values)
        counts = np.diff(splits, axis=0)
        present = counts > 0
        places = np.empty(counts.shape, dtype=np.uint64)
        kernels.bit_sizes(counts, lasts, places)
        bits = places.sum(axis=1)
        widths = [next(w for w in _WIDTHS if most <= 1 << 8 * w) for most in counts.max(axis=1)]
        heads = 1 + np.array(widths) * present.sum(axis=1)
        sizes = heads + ((bits + np.uint64(7)) >> np.uint64(3)).astype(np.int64)
        at = np.concatenate(([0], np.cumsum(sizes)))
        # Of each file's bits in each cell the place among all bits: behind those before it.
        np.cumsum(places[:, :-1], axis=1, out=places[:, 1:])
        places[:, 0] = 0
        places += (8 * (at[:-1] + heads)).astype(np.uint64)[:, None]
        out = np.zeros(int(at[-1]), dtype=np.uint8)
        for file in range(files):
            part = splits[:, file].astype(np.int64)
            own = np.ascontiguousarray(places[:, file])
            kernels.put_cells(self._codes(file), part, begins, lasts, own, out)
        checks = np.empty(len(begins), dtype="<u4")
        for cell, width in enumerate(widths):
            first = int(at[cell])
            out[first] = width
            kept = (counts[cell][present[cell]] - 1).astype(f"<u{width}").view(np.uint8)
            out[first + 1 : first + int(heads[cell])] = kept
            checks[cell] = crc32(out[first : int(at[cell + 1])].tobytes())
        parts = [
            _HEAD.pack(len(begins), files, int(ends[-1])),
            begins.astype("<u8").tobytes(),
            sizes.astype("<u4").tobytes(),
            checks.tobytes(),
            np.packbits(present, axis=1, bitorder="little").tobytes(),
        ]
        if shape.mode == GAPS:  # within a stretch where an odd number of ends lies before
            inside = splits[:-1] % 2 == 1
            parts.append(np.packbits(inside, axis=1, bitorder="little").tobytes())
        head = b"".join(parts)
        head += crc32(head).to_bytes(_CHECK, "little")
        told = GroupShape(shape.mode, files, shape.shift, prefix=shape.prefix, directory=len(head))
        return head + out.tobytes(), told

    def _codes(self, file: int) -> Keys:
        found = read_filter(self._blobs[file])
        assert isinstance(found, RangeCodes)
        return found.values

    def _cut(self) -> tuple[Keys, Keys]:
        """The first and the last code that each cell can have."""
        said = [blob.properties for blob in self._blobs]
        least = min(int(one["least"]) for one in said)
        most = max(int(one["most"]) for one in said)
        cells = max(-(-sum(len(blob.data) for blob in self._blobs) // CELL_BYTES), 1)
        begins = np.array([least], dtype=np.uint64)
        if cells > 1:
            step = max(sum(self._counts) // (cells * _SAMPLES), 1)
            # Steps are counted on from file to file, so that small files have their part in them.
            begun = np.cumsum([0, *self._counts[:-1]])
            samples = np.sort(
                np.concatenate(
                    [self._codes(f)[int(-b % step) :: step] for f, b in enumerate(begun)]
                )
            )
            cuts = samples[np.arange(1, cells) * len(samples) // cells]
            begins = np.unique(np.concatenate((begins, cuts)))
        ends = np.append(begins[1:] - np.uint64(1), np.uint64(most))
        return begins, ends


def _opened(data: bytes, shape: GroupShape) -> _Directory:
    if len(data) < _HEAD.size:
        raise ValueError(f"a directory of {len(data)} bytes")
    cells, files, last = _HEAD.unpack_from(data)
    row = -(-files // 8)
    rows = 2 if shape.mode == GAPS else 1
    size = _HEAD.size + cells * (16 + rows * row)
    if not cells or files != shape.files or len(data) != size:
        raise ValueError(f"a directory of {cells} cells and {files} files has {len(data)} bytes")
    at = _HEAD.size
    begins = np.frombuffer(data, "<u8", cells, at).astype(np.uint64)
    sizes = np.frombuffer(data, "<u4", cells, at + 8 * cells)
    checks = np.frombuffer(data, "<u4", cells, at + 12 * cells).astype(np.uint32)
    bits = np.frombuffer(data, np.uint8, rows * cells * row, at + 16 * cells)
    flags = np.unpackbits(bits.reshape(rows, cells, row), axis=2, count=files, bitorder="little")
    told = flags.astype(np.bool_)
    if (begins[1:] <= begins[:-1]).any() or last < int(begins[-1]):
        raise ValueError("the cells of a bundle aren't in their order")
    places = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))) + shape.directory
    ends = np.append(begins[1:] - np.uint64(1), np.uint64(last))
    inside = told[1] if rows == 2 else np.zeros_like(told[0])
    return _Directory(begins, ends, places, checks, told[0], inside)


def _checked(data: bytes, what: str, length: int | None = None) -> bytes:
    """Without the checksum behind it. ValueError where it's cut off or altered."""
    part, told = data[:-_CHECK], data[-_CHECK:]
    if crc32(part).to_bytes(_CHECK, "little") != told or length not in (None, len(part)):
        raise ValueError(f"{what} of a bundle is cut off or altered: {len(data)} bytes")
    return part
