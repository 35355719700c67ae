"""The live files of a snapshot without deletes, as the columns of its manifests.

Nothing is made for each file but for those that are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.manifest import ManifestFile

from accelerator.iceberg.files import LiveFile
from accelerator.iceberg.identity import Identity
from accelerator.iceberg.manifest_columns import ManifestColumns
from accelerator.iceberg.statistics import (
    Told,
    arrow_kind,
    big_endian,
    is_ordered,
)
from indexes.bounds import UNKNOWN, Flags, Numbers
from rewrite.types import decimal_parts

_ODD = np.uint64(0x9E3779B97F4A7C15)
_HASHES: WeakKeyDictionary[ManifestColumns, npt.NDArray[np.uint64]] = WeakKeyDictionary()


class ColumnarFiles:
    """A `statistics.Source` over data manifests; files are in the order of the manifests.

    `listed` gives the files of one manifest, for those few that are read.
    """

    def __init__(
        self,
        manifests: Sequence[tuple[ManifestFile, ManifestColumns]],
        identity: Identity,
        listed: Callable[[ManifestFile], Sequence[LiveFile]],
    ) -> None:
        self._manifests = [(file, columns) for file, columns in manifests if columns.count]
        self._identity, self._listed = identity, listed
        self.rows: Numbers = _numbers([c.record_count for c in self._columns()])
        self.sizes: Numbers = _numbers([c.size_bytes for c in self._columns()])
        self.vectored: Numbers = np.zeros(len(self.rows), dtype=np.int64)

    @cached_property
    def single(self) -> Flags:
        """See `Source.single`. Paths whose hashes differ are different: most need no other look."""
        hashes = np.concatenate([np.empty(0, np.uint64), *map(_hashes, self._columns())])
        ordered = np.sort(hashes)
        if not (ordered[1:] == ordered[:-1]).any():
            return np.ones(len(hashes), dtype=bool)
        paths = pa.chunked_array([c.path for c in self._columns()], pa.string())
        counts = paths.value_counts()
        twice = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
        found: Flags = pc.invert(pc.is_in(paths, twice)).to_numpy()
        return found

    def _columns(self) -> Iterator[ManifestColumns]:
        return (columns for _, columns in self._manifests)

    def told(self, field_id: int) -> Told:
        """See `Source.told`."""
        stats = [columns.stats(field_id) for columns in self._columns()]
        return Told(
            _numbers([s.value_counts for s in stats]),
            _numbers([s.null_counts for s in stats]),
            _numbers([s.nan_counts for s in stats]),
            _joined([s.lower for s in stats], pa.binary()),
            _joined([s.upper for s in stats], pa.binary()),
        )

    def fixed(self, field_id: int, type_: str) -> tuple[Flags, pa.Array]:
        """See `Source.fixed`."""
        kind, given, values = arrow_kind(type_), [], []
        for file, columns in self._manifests:
            place = self._identity[file.partition_spec_id].get(field_id)
            given.append(np.full(columns.count, place is not None))
            if place is None or not is_ordered(type_):
                values.append(pa.nulls(columns.count, kind))
            else:
                child = columns.partition.field(str(place.field_id))
                values.append(_constant(child, type_, kind))
        flags: Flags = np.concatenate([np.empty(0, dtype=bool), *given])
        return flags, _joined(values, kind)

    def live(self, chosen: Flags) -> tuple[LiveFile, ...]:
        """See `Source.live`."""
        found: list[LiveFile] = []
        first = 0
        for file, columns in self._manifests:
            places = np.flatnonzero(chosen[first : first + columns.count]).tolist()
            if places:
                files = self._listed(file)
                found += [files[place] for place in places]
            first += columns.count
        return tuple(found)


def _hashes(columns: ManifestColumns) -> npt.NDArray[np.uint64]:
    """A polynomial of each path's bytes, kept as long as the columns are."""
    known = _HASHES.get(columns)
    if known is None:
        known = _HASHES[columns] = _polynomials(columns.path)
    return known


def _polynomials(texts: pa.StringArray) -> npt.NDArray[np.uint64]:
    """Of each text its bytes times powers of an odd number, modulo 2^64, and its length."""
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int32)
    offsets = offsets[texts.offset : texts.offset + len(texts) + 1]
    lengths = np.diff(offsets)
    starts = (offsets[:-1] - offsets[0]).astype(np.int64)
    data = np.frombuffer(texts.buffers()[2], dtype=np.uint8)[offsets[0] : offsets[-1]]
    places = np.arange(len(data)) - np.repeat(starts, lengths)
    powers = np.cumprod(np.full(int(lengths.max(initial=0)) + 1, _ODD, dtype=np.uint64))
    padded = np.append(data.astype(np.uint64) * powers[places], np.uint64(0))
    sums: npt.NDArray[np.uint64] = np.add.reduceat(padded, starts)
    return np.where(lengths > 0, sums, 0) + lengths.astype(np.uint64)


def _constant(child: pa.Array, type_: str, kind: pa.DataType) -> pa.Array:
    """A partition field's values as bounds of the column are kept."""
    if pa.types.is_null(child.type):
        return pa.nulls(len(child), kind)
    return big_endian(child) if decimal_parts(type_) is not None else child.cast(kind)


def _numbers(arrays: Sequence[pa.Array]) -> Numbers:
    filled = _joined(arrays, pa.int64()).fill_null(UNKNOWN)
    numbers: Numbers = filled.to_numpy(zero_copy_only=False)
    return numbers


def _joined(arrays: Sequence[pa.Array], kind: pa.DataType) -> pa.Array:
    return pa.concat_arrays(arrays) if arrays else pa.nulls(0, kind)
