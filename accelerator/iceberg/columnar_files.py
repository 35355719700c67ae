"""The live files of a snapshot without deletes, as the columns of its manifests.

Nothing is made for each file but for those that are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.manifest import ManifestFile

from accelerator.iceberg.files import LiveFile
from accelerator.iceberg.manifest_columns import ManifestColumns
from accelerator.iceberg.statistics import (
    Flags,
    Identity,
    Numbers,
    Told,
    arrow_kind,
    big_endian,
    is_ordered,
)
from indexes.bounds import UNKNOWN
from rewrite.types import decimal_parts


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
        self.rows: Numbers = _numbers([c.record_count for _, c in self._manifests])
        self.sizes: Numbers = _numbers([c.size_bytes for _, c in self._manifests])
        self.vectored: Numbers = np.zeros(len(self.rows), dtype=np.int64)

    @cached_property
    def single(self) -> Flags:
        """See `Source.single`."""
        paths = pa.chunked_array([c.path for _, c in self._manifests], pa.string())
        if pc.count_distinct(paths).as_py() == len(paths):
            return np.ones(len(paths), dtype=bool)
        counts = paths.value_counts()
        twice = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
        found: Flags = pc.invert(pc.is_in(paths, twice)).to_numpy()
        return found

    def told(self, field_id: int) -> Told:
        """See `Source.told`."""
        stats = [columns.stats(field_id) for _, columns in self._manifests]
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
