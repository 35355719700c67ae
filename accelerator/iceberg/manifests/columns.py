"""What a manifest says of its live data or delete files, as Arrow columns: a file per row.

Columns are in the manifest's order. What the manifest doesn't say is null, never 0: a count that is
missing or negative, a bound that isn't there. Statistics are kept as narrow as their values allow
and widened when they are asked for. `decoder` makes the raw columns and `assemble` finishes them,
so what is inherited and refused stands once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct

from accelerator.common.arrow.numpy_buffers import to_arrow, to_numpy
from accelerator.iceberg.manifests.avro_container import damaged, unsupported
from accelerator.iceberg.manifests.manifest_file import DELETES, ManifestFile
from accelerator.iceberg.manifests.program import COUNT_MAPS, MAPS, Kind
from indexes import arrow_compute as pc

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# Every column but the partition and the statistics, in the order of files.
TYPES: Mapping[str, pa.DataType] = {
    "path": pa.string(),
    "format": pa.string(),
    "record_count": pa.int64(),
    "size_bytes": pa.int64(),
    "sequence_number": pa.int64(),
    "file_sequence_number": pa.int64(),
    "snapshot_id": pa.int64(),
    "sort_order_id": pa.int32(),
    "split_offsets": pa.list_(pa.int64()),
    "key_metadata": pa.binary(),
    "first_row_id": pa.int64(),
}
# What manifests of delete files have beside them.
DELETE_TYPES: Mapping[str, pa.DataType] = {
    "content": pa.int64(),
    "referenced_data_file": pa.string(),
    "content_offset": pa.int64(),
    "content_size": pa.int64(),
    "equality_ids": pa.list_(pa.int32()),
}
ALL_TYPES: Mapping[str, pa.DataType] = {**TYPES, **DELETE_TYPES}
KINDS: Mapping[Kind, pa.DataType] = {
    "bool": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "null": pa.null(),
}
PARTITION = "partition"
_STATISTICS = "stats."
_WIDTHS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_REQUIRED = ("path", "format", "record_count", "size_bytes")
_ADDED = 1  # an entry's status


class Columns(Protocol):
    """Where the columns are: in memory, or in a file of the cache."""

    def column(self, name: str) -> pa.Array:
        """The column of that name, as it's stored."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the columns read so far take."""
        ...


class ManifestColumnStats(Struct, frozen=True):
    """Statistics of one column, a file per row: counts are int64, bounds Iceberg's bytes.

    Value counts hold nulls and NaN. Bounds may be truncated. Null is unknown.
    """

    value_counts: pa.Int64Array
    null_counts: pa.Int64Array
    nan_counts: pa.Int64Array
    lower: pa.BinaryArray
    upper: pa.BinaryArray


class ManifestColumns(Struct, frozen=True, eq=False, weakref=True):
    """The live files of one manifest. `field_ids` are those with any statistics, ascending.

    `deletes`: it lists delete files, and has the columns of `DELETE_TYPES` as well.
    """

    count: int
    field_ids: tuple[int, ...]
    source: Columns
    deletes: bool = False

    @property
    def path(self) -> pa.StringArray:
        """The manifest's own text, as Spark's `_file` gives it."""
        return self.source.column("path")

    @property
    def format(self) -> pa.StringArray:
        """`parquet`, `orc` or `avro`, in small letters."""
        return self.source.column("format")

    @property
    def record_count(self) -> pa.Int64Array:
        """Rows; null where the writer gave a negative number, as importers of Avro files do."""
        return self.source.column("record_count")

    @property
    def size_bytes(self) -> pa.Int64Array:
        return self.source.column("size_bytes")

    @property
    def sequence_number(self) -> pa.Int64Array:
        """The data sequence number, inherited from the manifest where the entry has none."""
        return self.source.column("sequence_number")

    @property
    def file_sequence_number(self) -> pa.Int64Array:
        """Of the commit that added the file; null where an existing entry doesn't tell."""
        return self.source.column("file_sequence_number")

    @property
    def snapshot_id(self) -> pa.Int64Array:
        """The snapshot that added the file, the manifest's where the entry has none."""
        return self.source.column("snapshot_id")

    @property
    def sort_order_id(self) -> pa.Int32Array:
        return self.source.column("sort_order_id")

    @property
    def split_offsets(self) -> pa.ListArray:
        """Where row groups start, in bytes."""
        return self.source.column("split_offsets")

    @property
    def key_metadata(self) -> pa.BinaryArray:
        return self.source.column("key_metadata")

    @property
    def first_row_id(self) -> pa.Int64Array:
        """As the entry has it; what a null inherits isn't filled in."""
        return self.source.column("first_row_id")

    @property
    def partition(self) -> pa.StructArray:
        """A child per partition field, named by its field id, of the type that the manifest has.

        Dates, times and timestamps are their whole numbers; decimals, UUIDs and fixed are bytes.
        """
        return self.source.column(PARTITION)

    @property
    def content(self) -> pa.Int64Array:
        """1 for position deletes and deletion vectors, 2 for equality deletes."""
        return self.source.column("content")

    @property
    def referenced_data_file(self) -> pa.StringArray:
        """The path of the one data file that the deletes are of; null where it isn't named."""
        return self.source.column("referenced_data_file")

    @property
    def content_offset(self) -> pa.Int64Array:
        """Where a deletion vector starts in its file; null for other deletes."""
        return self.source.column("content_offset")

    @property
    def content_size(self) -> pa.Int64Array:
        """Bytes of a deletion vector."""
        return self.source.column("content_size")

    @property
    def equality_ids(self) -> pa.ListArray:
        """Field ids that equality deletes compare; null for other deletes."""
        return self.source.column("equality_ids")

    def taken(self, places: Int64s) -> ManifestColumns:
        """Selects these files in this order; their columns are read when they're asked for."""
        if np.array_equal(places, np.arange(self.count)):
            return self
        return ManifestColumns(
            len(places), self.field_ids, Taken(self.source, to_arrow(places)), self.deletes
        )

    def stats(self, field_id: int) -> ManifestColumnStats:
        """Statistics of the column with that field id; all null where there are none."""
        if field_id not in self.field_ids:
            counts, bounds = pa.nulls(self.count, pa.int64()), pa.nulls(self.count, pa.binary())
            return ManifestColumnStats(counts, counts, counts, bounds, bounds)
        stored = self.source.column(stats_column(field_id))
        parts = [
            stored.field(number).cast(pa.int64() if number < COUNT_MAPS else pa.binary())
            for number in range(len(MAPS))
        ]
        return ManifestColumnStats(*parts)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that it takes now; columns that weren't read from a file take none."""
        return self.source.nbytes


class InMemory(Struct, frozen=True):
    """Columns that are all there."""

    columns: Mapping[str, pa.Array]

    def column(self, name: str) -> pa.Array:
        """See `Columns.column`."""
        return self.columns[name]

    @property
    def nbytes(self) -> int:
        """See `Columns.nbytes`."""
        return sum(column.nbytes for column in self.columns.values())


class Taken(Struct, frozen=True):
    """Some rows of other columns."""

    source: Columns
    places: pa.Int64Array

    def column(self, name: str) -> pa.Array:
        """See `Columns.column`."""
        column = self.source.column(name)
        if pa.types.is_struct(column.type) and not column.type.num_fields:
            return pa.array([{}] * len(self.places), column.type)
        return column.take(self.places)

    @property
    def nbytes(self) -> int:
        """See `Columns.nbytes`: those that it's of are accounted for elsewhere."""
        return int(self.places.nbytes)


class Raw(Struct, frozen=True):
    """What a decoder found in the live entries, in order.

    `columns` has those of `TYPES` that the manifest has, `status` and perhaps `content`; statistics
    are structs of `MAPS`, by field id, without those that no file has.
    """

    count: int
    columns: Mapping[str, pa.Array]
    partition: Mapping[int, pa.Array]
    stats: Mapping[int, pa.StructArray]


def stats_column(field_id: int) -> str:
    """The name of the column that holds a field's statistics."""
    return f"{_STATISTICS}{field_id}"


def is_of(name: str, type_: pa.DataType) -> bool:
    """Whether the type is one that the column of that name may have."""
    if name in ALL_TYPES:
        return bool(type_ == ALL_TYPES[name])
    if not pa.types.is_struct(type_):
        return False
    kinds = [type_.field(place).type for place in range(type_.num_fields)]
    names = [type_.field(place).name for place in range(type_.num_fields)]
    if name == PARTITION:
        return all(one.isdigit() for one in names) and all(
            kind in KINDS.values() or pa.types.is_fixed_size_binary(kind) for kind in kinds
        )
    counts, bounds = kinds[:COUNT_MAPS], kinds[COUNT_MAPS:]
    return (
        names == list(MAPS)
        and all(kind in (*_WIDTHS, pa.null()) for kind in counts)
        and all(
            kind in (pa.binary(), pa.null()) or pa.types.is_fixed_size_binary(kind)
            for kind in bounds
        )
    )


def is_sound(name: str, column: pa.Array) -> bool:
    """Whether the column has what `assemble` promises of it: no count or size is below 0."""
    if name in _REQUIRED[:2] and column.null_count:
        return False
    if name not in _REQUIRED[2:]:
        return True
    return bool((to_numpy(column, 0) >= 0).all())


def assemble(raw: Raw, manifest: ManifestFile) -> ManifestColumns:
    """Check what every entry must have, and fill in what it inherits from the manifest."""
    deletes = manifest.content == DELETES
    types = ALL_TYPES if deletes else TYPES
    found = {name: _or_nulls(raw, name, type_) for name, type_ in types.items()}
    for name in _REQUIRED:
        if found[name].null_count:
            raise damaged(f"an entry has no {name}")
    _check_content(raw.columns.get("content"), raw.count, deletes)
    status = raw.columns["status"]
    if not pc.all(pc.is_in(status, pa.array([0, 1, 2], status.type))).as_py() and raw.count:
        raise damaged("an entry has an unknown status")
    number = manifest.sequence_number
    found["sequence_number"] = pc.fill_null(found["sequence_number"], number)
    inherits: object = True
    if number:
        inherits = pc.fill_null(pc.equal(status, _ADDED), False)
    found["file_sequence_number"] = pc.if_else(
        pc.and_(pc.is_null(found["file_sequence_number"]), inherits),
        pa.scalar(number, pa.int64()),
        found["file_sequence_number"],
    )
    if manifest.added_snapshot_id is not None:
        found["snapshot_id"] = pc.fill_null(found["snapshot_id"], manifest.added_snapshot_id)
    for name in ("record_count", "size_bytes"):
        column = found[name]
        found[name] = pc.if_else(pc.less(column, 0), pa.scalar(None, pa.int64()), column)
    found["format"] = pc.ascii_lower(found["format"])
    found[PARTITION] = _partition(raw)
    for field_id, stats in raw.stats.items():
        found[stats_column(field_id)] = stats
    return ManifestColumns(raw.count, tuple(sorted(raw.stats)), InMemory(found), deletes)


def _check_content(content: pa.Array | None, count: int, deletes: bool) -> None:
    if not deletes:
        if content is not None and pc.any(pc.not_equal(content, 0)).as_py():
            raise unsupported("a delete file is listed among data files")
    elif count and (
        content is None or not pc.all(pc.is_in(content, pa.array([1, 2], content.type))).as_py()
    ):
        raise unsupported("a file that isn't a delete file is listed among delete files")


def _or_nulls(raw: Raw, name: str, type_: pa.DataType) -> pa.Array:
    column = raw.columns.get(name)
    return pa.nulls(raw.count, type_) if column is None else column


def _partition(raw: Raw) -> pa.StructArray:
    if not raw.partition:
        return pa.array([{}] * raw.count, pa.struct([]))
    names = [str(field_id) for field_id in raw.partition]
    return pa.StructArray.from_arrays(list(raw.partition.values()), names=names)


def narrowest(low: int, high: int) -> pa.DataType:
    """The narrowest type of whole numbers that holds both."""
    return next(one for one in _WIDTHS if -low <= _limit(one) and high < _limit(one))


def _limit(type_: pa.DataType) -> int:
    return 1 << (int(type_.bit_width) - 1)


def validity(seen: Bools) -> pa.Buffer | None:
    """The bitmap that Arrow keeps; None where nothing is null."""
    return None if seen.all() else pa.py_buffer(np.packbits(seen, bitorder="little"))


def stats_struct(parts: Iterable[pa.Array]) -> pa.StructArray:
    """A field's statistics as they're stored."""
    return pa.StructArray.from_arrays(list(parts), names=list(MAPS))
