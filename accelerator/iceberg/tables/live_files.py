"""The live files of a snapshot as the columns of its manifests, with the deletes that apply.

It's the one listing of them. Sequence numbers are inherited from the manifest. Nothing is made for
each file but for those that are asked for, and of manifests that an earlier state of the table has
as well nothing is made again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.utils.decimal import unscaled_to_decimal

from accelerator.common.arrow.numpy_buffers import to_numpy
from accelerator.iceberg.manifests import cache_file as manifest_file
from accelerator.iceberg.manifests.avro_container import damaged
from accelerator.iceberg.manifests.columns import Int64s, ManifestColumns
from accelerator.iceberg.manifests.manifest_file import ManifestFile
from accelerator.iceberg.statistics.file_statistics import (
    FileColumn,
    Scalar,
    arrow_kind,
    big_endian,
    held_bytes,
    is_ordered,
    joined,
    slim,
)
from accelerator.iceberg.tables.data_file import LiveFile
from accelerator.iceberg.tables.delete_matching import DeleteFiles, DeletesByFile, Listed
from accelerator.iceberg.tables.metadata import FieldType, decimal_of
from accelerator.iceberg.tables.partition_specs import Identity, PartitionColumn
from accelerator.iceberg.tables.transforms import Derived, Transform, Transforms
from indexes import arrow_compute as pc
from indexes.bounds import UNKNOWN, Flags, Numbers
from rewrite.types import decimal_parts

Hashes = npt.NDArray[np.uint64]
Load = Callable[[ManifestFile], ManifestColumns]
_Key = tuple[manifest_file.Identity, int]
_ODD = np.uint64(0x9E3779B97F4A7C15)
_KEY_BYTES = 1024  # what Python keeps of a manifest, about


class ColumnarFiles:
    """A `file_statistics.LiveFilesSource` over data manifests, in the order of these.

    `load` gives the columns of a manifest, of which `chosen` has the files that count, if not all.
    What `earlier` has of the same manifests is taken from there. `deletes` are the snapshot's.
    """

    def __init__(
        self,
        manifests: Sequence[ManifestFile],
        load: Load,
        identity: Identity,
        earlier: ColumnarFiles | None = None,
        deletes: DeleteFiles | None = None,
        transforms: Transforms | None = None,
        chosen: Sequence[Int64s] | None = None,
    ) -> None:
        self._load, self._identity, self._chosen = load, identity, chosen
        self._transforms = transforms or {}
        self._manifests = list(manifests)
        if not self._manifests or (earlier is not None and not self._alike(earlier)):
            earlier = None
        self.pieces: Sequence[slice | ColumnarFiles] = ()
        if earlier is not None:
            self.pieces = self._split(earlier)
            rows = [_part(piece, earlier.rows, lambda one: one.rows) for piece in self.pieces]
            sizes = [_part(piece, earlier.sizes, lambda one: one.sizes) for piece in self.pieces]
            self.rows: Numbers = joined(rows)
            self.sizes: Numbers = joined(sizes)
            self._ends = self._counted(earlier)
        else:
            columns = list(self._columns())
            self.rows = slim(_numbers([c.record_count for c in columns]))
            self.sizes = slim(_numbers([c.size_bytes for c in columns]))
            self._ends = np.cumsum([0, *(c.count for c in columns)]).tolist()
        self._applied: DeletesByFile | None = None
        self.vectored: Numbers = slim(np.zeros(len(self.rows), dtype=np.int64))
        if deletes is not None:
            self._applied = deletes.applied(
                [
                    Listed(one.partition_spec_id, columns)
                    for one, columns in zip(self._manifests, self._columns(), strict=True)
                ]
            )
            self.vectored = self._applied.vectored
        # Of earlier states only what is known already is of use, and they aren't kept alive.
        self._known = _hashes_of(earlier)

    @property
    def nbytes(self) -> int:
        """See `Source.nbytes`."""
        made = vars(self)
        hashes: int = sum(made[name].nbytes for name in ("_hashes", "_by_hash") if name in made)
        single = held_bytes(self.single) if "single" in made else 0
        arrays = sum(map(held_bytes, (self.rows, self.sizes, self.vectored)))
        applied = 0 if self._applied is None else self._applied.nbytes
        return arrays + hashes + single + applied + _KEY_BYTES * len(self._manifests)

    @property
    def manifests(self) -> frozenset[manifest_file.Identity]:
        """The manifests that it is of."""
        return frozenset(map(manifest_file.Identity.of, self._manifests))

    @cached_property
    def formats(self) -> frozenset[str]:
        """See `Source.formats`."""
        return frozenset(one for c in self._columns() for one in pc.unique(c.format).to_pylist())

    @cached_property
    def single(self) -> Flags:
        """See `Source.single`. Paths whose hashes differ are different: most need no other look."""
        hashes = self._hashes
        ordered = np.sort(hashes)
        if not (ordered[1:] == ordered[:-1]).any():
            return slim(np.ones(len(hashes), dtype=bool))
        paths = pa.chunked_array([c.path for c in self._columns()], pa.string())
        counts = paths.value_counts()
        twice = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
        found: Flags = pc.invert(pc.is_in(paths, twice)).to_numpy()
        return found

    @cached_property
    def _hashes(self) -> Hashes:
        """A polynomial of each path's bytes."""
        known, self._known = self._known, None
        if known is None:
            return np.concatenate(
                [np.empty(0, np.uint64), *(_polynomials(c.path) for c in self._columns())]
            )
        return joined([_part(piece, known, lambda one: one._hashes) for piece in self.pieces])

    @cached_property
    def _by_hash(self) -> Int64s:
        """Places of the files in the order of their hashes."""
        return np.argsort(self._hashes, kind="stable")

    def _split(self, earlier: ColumnarFiles) -> Sequence[slice | ColumnarFiles]:
        """Its files as runs of the earlier state's, and those of other manifests."""
        places = earlier._places
        pieces: list[slice | ColumnarFiles] = []
        fresh: list[ManifestFile] = []

        def flush() -> None:
            if fresh:
                pieces.append(self._of(list(fresh)))
                fresh.clear()

        for manifest in self._manifests:
            place = places.get(_key(manifest))
            if place is None:
                fresh.append(manifest)
                continue
            flush()
            last = pieces[-1] if pieces else None
            if isinstance(last, slice) and last.stop == place.start:
                pieces[-1] = slice(last.start, place.stop)
            else:
                pieces.append(place)
        flush()
        return pieces

    def _alike(self, other: ColumnarFiles) -> bool:
        """Whether both read partitions the same way, of specs that both know."""
        mine = (self._identity, self._transforms)
        return all(
            ours.get(spec_id, theirs) == theirs
            for ours, known in zip(mine, (other._identity, other._transforms), strict=True)
            for spec_id, theirs in known.items()
        )

    def _of(self, manifests: Sequence[ManifestFile]) -> ColumnarFiles:
        return ColumnarFiles(manifests, self._load, self._identity, transforms=self._transforms)

    def _counted(self, earlier: ColumnarFiles) -> list[int]:
        """Where each manifest's files end, after a 0."""
        places = dict(earlier._places)
        for piece in self.pieces:
            if isinstance(piece, ColumnarFiles):
                places.update(piece._places)
        counts = (places[_key(manifest)] for manifest in self._manifests)
        ends: list[int] = np.cumsum([0, *(place.stop - place.start for place in counts)]).tolist()
        return ends

    @property
    def _places(self) -> dict[_Key, slice]:
        """Where the files of each manifest stand."""
        spans = pairwise(self._ends)
        return {_key(m): slice(*span) for m, span in zip(self._manifests, spans, strict=True)}

    def _columns(self) -> Iterator[ManifestColumns]:
        return map(self._of_manifest, range(len(self._manifests)))

    def _of_manifest(self, place: int) -> ManifestColumns:
        columns = self._load(self._manifests[place])
        return columns if self._chosen is None else columns.taken(self._chosen[place])

    def told(self, field_id: int) -> FileColumn:
        """See `Source.told`."""
        stats = [columns.stats(field_id) for columns in self._columns()]
        return FileColumn(
            _numbers([s.value_counts for s in stats]),
            _numbers([s.null_counts for s in stats]),
            _numbers([s.nan_counts for s in stats]),
            _concatenated([s.lower for s in stats], pa.binary()),
            _concatenated([s.upper for s in stats], pa.binary()),
        )

    def fixed(self, field_id: int, type_: str) -> tuple[Flags, pa.Array]:
        """See `Source.fixed`."""
        kind, given, values = arrow_kind(type_), [], []
        for file, columns in zip(self._manifests, self._columns(), strict=True):
            place = self._identity_columns(file.partition_spec_id).get(field_id)
            given.append(np.full(columns.count, place is not None))
            if place is None or not is_ordered(type_):
                values.append(pa.nulls(columns.count, kind))
            else:
                values.append(_constant(_child(columns, place), type_, kind))
        flags: Flags = np.concatenate([np.empty(0, dtype=bool), *given])
        return flags, _concatenated(values, kind)

    @property
    def partitioned(self) -> Set[int]:
        """See `Source.partitioned`."""
        return frozenset().union(*self._identity.values(), *self._transforms.values())

    def derived(self, field_id: int, type_: str) -> Sequence[Derived]:
        """See `Source.derived`."""
        found: dict[Transform, list[tuple[int, pa.Array]]] = {}
        for place, file in enumerate(self._manifests):
            for made in self._transforms.get(file.partition_spec_id, {}).get(field_id, ()):
                partition = self._of_manifest(place).partition
                if partition.type.get_field_index(str(made.field_id)) >= 0:
                    child = partition.field(str(made.field_id))
                    values = _transformed(child, made.transform, type_)
                    found.setdefault(made.transform, []).append((place, values))
        return [self._spread(transform, parts) for transform, parts in found.items()]

    def _spread(self, transform: Transform, parts: Sequence[tuple[int, pa.Array]]) -> Derived:
        """Values of some manifests as those of all."""
        by_place, kind = dict(parts), parts[0][1].type
        counts = [end - first for first, end in pairwise(self._ends)]
        given = [np.full(count, place in by_place) for place, count in enumerate(counts)]
        values = [
            by_place[place] if place in by_place else pa.nulls(count, kind)
            for place, count in enumerate(counts)
        ]
        return Derived(transform, np.concatenate(given), _concatenated(values, kind))

    def keys(self) -> tuple[pa.StringArray, Numbers]:
        """See `Source.keys`."""
        columns = list(self._columns())
        paths = _concatenated([one.path for one in columns], pa.string())
        return paths, _numbers([one.sequence_number for one in columns])

    def snapshots(self) -> Sequence[int | None]:
        """See `Source.snapshots`."""
        ids = _concatenated([one.snapshot_id for one in self._columns()], pa.int64())
        found: list[int | None] = ids.to_pylist()
        return found

    def live(self, chosen: Flags) -> tuple[LiveFile, ...]:
        """See `Source.live`."""
        found: list[LiveFile] = []
        for place, (first, places) in enumerate(self._places_of(chosen)):
            if len(places):
                columns = self._of_manifest(place).taken(places)
                found += self._files(
                    self._manifests[place].partition_spec_id, columns, first + places
                )
        return tuple(found)

    def some(self, chosen: Flags) -> ColumnarFiles:
        """These files alone, with their deletes."""
        parts = [
            (manifest, places if self._chosen is None else self._chosen[number][places])
            for number, (manifest, (_, places)) in enumerate(
                zip(self._manifests, self._places_of(chosen), strict=True)
            )
            if len(places)
        ]
        made = ColumnarFiles(
            [manifest for manifest, _ in parts],
            self._load,
            self._identity,
            transforms=self._transforms,
            chosen=[places for _, places in parts],
        )
        if self._applied is not None:
            made._applied = self._applied.some(np.flatnonzero(chosen))
            made.vectored = made._applied.vectored
        return made

    def without_nan(self, field_ids: Collection[int]) -> Mapping[tuple[str, int], frozenset[int]]:
        """See `Source.without_nan`."""
        paths, numbers = self.keys()
        free = {one: (self.told(one).nans == 0).tolist() for one in field_ids}
        found: dict[tuple[str, int], frozenset[int]] = {}
        for place, key in enumerate(zip(paths.to_pylist(), numbers.tolist(), strict=True)):
            own = frozenset(one for one, flags in free.items() if flags[place])
            found[key] = own & found.get(key, own)  # a file may be listed twice
        return found

    def named(self, keys: Collection[tuple[str, int]]) -> Flags:
        """Which of the files have these keys."""
        found: Flags = np.zeros(len(self.rows), dtype=bool)
        hashes = np.unique(_polynomials(pa.array([path for path, _ in keys], pa.string())))
        first, end = (
            np.searchsorted(self._hashes, hashes, side, sorter=self._by_hash)
            for side in ("left", "right")
        )
        alike = [self._by_hash[span] for span in map(slice, first.tolist(), end.tolist())]
        found[np.concatenate([np.empty(0, np.int64), *alike])] = True
        for number, (start, places) in enumerate(self._places_of(found)):
            if len(places):
                columns = self._of_manifest(number).taken(places)
                own = zip(
                    columns.path.to_pylist(), columns.sequence_number.to_pylist(), strict=True
                )
                found[start + places] = [key in keys for key in own]
        return found

    def _places_of(self, chosen: Flags) -> Iterator[tuple[int, Int64s]]:
        """For each manifest where its files start, and which of them are chosen."""
        for first, end in pairwise(self._ends):
            yield first, np.flatnonzero(chosen[first:end])

    def _files(self, spec_id: int, columns: ManifestColumns, places: Int64s) -> list[LiveFile]:
        """Those of a manifest; `places` are theirs among all."""
        applied = self._applied
        return [
            LiveFile(
                path, number, size, rows, format_, spec_id,
                () if applied is None else applied.refs(place), fixed,
            )
            for place, path, number, size, rows, format_, fixed in zip(
                places.tolist(),
                columns.path.to_pylist(),
                columns.sequence_number.to_pylist(),
                _numbers([columns.size_bytes]).tolist(),
                _numbers([columns.record_count]).tolist(),
                columns.format.to_pylist(),
                self._fixed(spec_id, columns),
                strict=True,
            )
        ]  # fmt: skip

    def _identity_columns(self, spec_id: int) -> Mapping[int, PartitionColumn]:
        """What the spec keeps as it is."""
        if spec_id not in self._identity:
            raise damaged(f"it's of the partition spec {spec_id}, which the table hasn't")
        return self._identity[spec_id]

    def _fixed(self, spec_id: int, columns: ManifestColumns) -> Sequence[Mapping[int, object]]:
        """Returns by file the values of columns that its spec has unchanged."""
        places = self._identity_columns(spec_id)
        if not places:
            return [{}] * columns.count
        values = [_values(_child(columns, place), place.kind) for place in places.values()]
        return [dict(zip(places, row, strict=True)) for row in zip(*values, strict=True)]


def _child(columns: ManifestColumns, place: PartitionColumn) -> pa.Array:
    """A partition field's values."""
    name = str(place.field_id)
    if columns.partition.type.get_field_index(name) < 0:
        raise damaged(f"its entries lack the partition field {name}")
    return columns.partition.field(name)


def _values(child: pa.Array, kind: FieldType | None) -> list[object]:
    """The values as PyIceberg has them: dates and timestamps are their whole numbers."""
    raw: list[Any] = child.to_pylist()
    decimal = decimal_of(kind) if pa.types.is_binary(child.type) else None
    if decimal is not None:
        scale = decimal[1]
        return [None if one is None else _decimal(one, scale) for one in raw]
    if pa.types.is_binary(child.type) and kind == "uuid":
        try:
            return [None if one is None else UUID(bytes=one) for one in raw]
        except ValueError as error:
            raise damaged("a partition's value isn't a UUID") from error
    return raw


def _decimal(raw: bytes, scale: int) -> Decimal:
    return unscaled_to_decimal(int.from_bytes(raw, "big", signed=True), scale)


def _key(manifest: ManifestFile) -> _Key:
    return manifest_file.Identity.of(manifest), manifest.partition_spec_id


def _part(
    piece: slice | ColumnarFiles,
    earlier: npt.NDArray[Scalar],
    of: Callable[[ColumnarFiles], npt.NDArray[Scalar]],
) -> npt.NDArray[Scalar]:
    return earlier[piece] if isinstance(piece, slice) else of(piece)


def _hashes_of(earlier: ColumnarFiles | None) -> Hashes | None:
    return None if earlier is None else vars(earlier).get("_hashes")


def _polynomials(texts: pa.StringArray) -> Hashes:
    """Of each text its bytes times powers of an odd number, modulo 2^64, and its length."""
    if not len(texts):
        return np.empty(0, np.uint64)
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int32)
    offsets = offsets[texts.offset : texts.offset + len(texts) + 1]
    lengths = np.diff(offsets)
    starts = (offsets[:-1] - offsets[0]).astype(np.int64)
    data = np.frombuffer(texts.buffers()[2], dtype=np.uint8)[offsets[0] : offsets[-1]]
    places = np.arange(len(data)) - np.repeat(starts, lengths)
    powers = np.cumprod(np.full(int(lengths.max(initial=0)) + 1, _ODD, dtype=np.uint64))
    padded = np.append(data.astype(np.uint64) * powers[places], np.uint64(0))
    sums: Hashes = np.add.reduceat(padded, starts)
    return np.where(lengths > 0, sums, 0) + lengths.astype(np.uint64)


def _constant(child: pa.Array, type_: str, kind: pa.DataType) -> pa.Array:
    """A partition field's values as bounds of the column are kept."""
    if pa.types.is_null(child.type):
        return pa.nulls(len(child), kind)
    return big_endian(child) if decimal_parts(type_) is not None else child.cast(kind)


def _transformed(child: pa.Array, transform: Transform, type_: str) -> pa.Array:
    if transform.kind == "bucket":
        return child.cast(pa.int64())
    if not is_ordered(type_):  # whether it's NULL is all that counts
        return pc.if_else(child.is_valid(), pa.scalar(0, pa.int64()), None)
    return _constant(child, type_, arrow_kind(type_))


def _numbers(arrays: Sequence[pa.Array]) -> Numbers:
    return to_numpy(_concatenated(arrays, pa.int64()), UNKNOWN)


def _concatenated(arrays: Sequence[pa.Array], kind: pa.DataType) -> pa.Array:
    return pa.concat_arrays(arrays) if arrays else pa.nulls(0, kind)
