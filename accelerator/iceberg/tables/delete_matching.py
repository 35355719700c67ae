"""Which delete files apply to which data files, for all of a snapshot at once.

A delete that names a data file reaches that one, any other the files of its spec and partition, an
equality delete of an unpartitioned spec the whole table. When it applies is what `files` says. Refs
are made for those files alone that are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa
from msgspec import Struct

from accelerator.iceberg.manifests.columns import ManifestColumns
from accelerator.iceberg.tables.data_file import PATH_FIELD_ID, DeleteRef, applying
from indexes import arrow_compute as pc
from indexes.bounds import UNKNOWN, Flags, Numbers

_EQUALITY = 2
_NOWHERE = -1
"""No delete that names the file, or none that reaches its partition."""


class Listed(Struct, frozen=True):
    """Files of one manifest, with the spec that they are of."""

    spec_id: int
    columns: ManifestColumns


class DeleteFiles:
    """The delete files of a snapshot.

    Args:
        manifests: those that list delete files.
        unpartitioned: specs without a field that isn't void.
        decimals: ids of partition fields that are decimals, whose bytes differ in length.
    """

    def __init__(
        self, manifests: Sequence[Listed], unpartitioned: Set[int], decimals: Set[int]
    ) -> None:
        columns = [one.columns for one in manifests]
        self._decimals = decimals
        self._path = _chunked([c.path for c in columns], pa.string())
        self._rows = _numbers([c.record_count for c in columns])
        self._offsets = _chunked([c.content_offset for c in columns], pa.int64())
        self._sizes = _chunked([c.content_size for c in columns], pa.int64())
        self._ids = _chunked([c.equality_ids for c in columns], pa.list_(pa.int32()))
        self._sequence = _numbers([c.sequence_number for c in columns])
        content = _numbers([c.content for c in columns])
        vectors = self._offsets.is_valid().to_numpy()
        self._equality: Flags = content == _EQUALITY
        self._vector: Flags = vectors & ~self._equality
        self._position: Flags = ~vectors & ~self._equality
        named = pc.if_else(
            pa.array(self._equality),
            pa.scalar(None, pa.string()),
            _chunked([_target(c) for c in columns], pa.string()),
        )
        self._names = pc.unique(named).drop_null()
        self._target = _places(named, self._names)
        specs = np.concatenate(
            [np.empty(0, np.int64), *(np.full(one.columns.count, one.spec_id) for one in manifests)]
        )
        whole = self._equality & np.isin(specs, list(unpartitioned))
        self._whole = np.flatnonzero(whole)
        elsewhere = (self._target == _NOWHERE) & ~whole
        self._reach = np.full(len(specs), _NOWHERE, dtype=np.int64)
        self._partitions: dict[int, _Partitions] = {}
        reaches = 0
        for spec_id in np.unique(specs[elsewhere]).tolist():
            own = [one.columns for one in manifests if one.spec_id == spec_id]
            wanted = elsewhere[specs == spec_id]
            found, codes = _Partitions.of(own, wanted, decimals, reaches)
            self._partitions[spec_id] = found
            self._reach[elsewhere & (specs == spec_id)] = codes
            reaches += found.count
        self._reaches = reaches
        self._refs: dict[int, DeleteRef] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of memory, about."""
        arrays = (self._rows, self._sequence, self._target, self._reach)
        columns = (self._path, self._names, self._offsets, self._sizes, self._ids)
        told = sum(column.nbytes for column in columns)
        return int(told + sum(array.nbytes for array in arrays) + 3 * len(self._rows))

    def applied(self, files: Sequence[Listed]) -> DeletesByFile:
        """What applies to the data files, in their order."""
        paths = _chunked([one.columns.path for one in files], pa.string())
        targets = _places(paths, self._names)
        reaches = np.concatenate([np.empty(0, np.int64), *(self._reached(one) for one in files)])
        sequence = _numbers([one.columns.sequence_number for one in files])
        return DeletesByFile(self, sequence, targets, reaches)

    def _reached(self, files: Listed) -> Numbers:
        known = self._partitions.get(files.spec_id)
        if known is None:
            return np.full(files.columns.count, _NOWHERE, dtype=np.int64)
        return known.codes(files.columns, self._decimals)

    def vectored(self, sequence: Numbers, targets: Numbers, reaches: Numbers) -> Numbers:
        """Of data files of those sequence numbers, see `statistics.Source.vectored`."""
        equality = self._newest(self._equality & (self._reach >= 0), self._reach, self._reaches)
        positions = self._newest(self._position & (self._reach >= 0), self._reach, self._reaches)
        by_name = self._newest(self._position, self._target, len(self._names))
        by_vector = self._newest(self._vector, self._target, len(self._names))
        named = self._vector & (self._target != _NOWHERE)
        counts = np.bincount(self._target[named], minlength=len(self._names))
        deleted = np.full(len(self._names) + 1, UNKNOWN, dtype=np.int64)
        deleted[self._target[named]] = self._rows[named]
        deleted[:-1][counts > 1] = UNKNOWN
        whole = self._sequence[self._whole].max(initial=-1)
        hidden = (equality[reaches] > sequence) | (whole > sequence)
        positioned = (positions[reaches] >= sequence) | (by_name[targets] >= sequence)
        has_vector = by_vector[targets] >= sequence
        # A vector holds what position deletes had said before it.
        told = np.where(has_vector, deleted[targets], np.where(positioned, UNKNOWN, 0))
        # A vector has to name its file; which rows one deletes that doesn't can't be told.
        lost = self._vector & (self._target == _NOWHERE)
        odd = self._newest(lost, self._reach, self._reaches)[reaches] >= sequence
        found: Numbers = np.where(hidden | odd, UNKNOWN, told)
        return found

    def _newest(self, chosen: Flags, groups: Numbers, count: int) -> Numbers:
        """The highest sequence number of the chosen in each group; -1 for none and at the end."""
        found = np.full(count + 1, -1, dtype=np.int64)
        wanted = chosen & (groups != _NOWHERE)
        np.maximum.at(found, groups[wanted], self._sequence[wanted])
        return found

    def refs(self, sequence: int, target: int, reach: int) -> tuple[DeleteRef, ...]:
        """The delete files that apply to one data file."""
        rows = [
            *self._by_target.of(target),
            *self._by_reach.of(reach),
            *self._whole.tolist(),
        ]
        return applying((self._ref(row) for row in rows), sequence)

    def _ref(self, row: int) -> DeleteRef:
        """One for each delete, however many files it applies to."""
        known = self._refs.get(row)
        if known is None:
            known = self._refs[row] = self._delete_ref(row)
        return known

    def _delete_ref(self, row: int) -> DeleteRef:
        content: Literal["position", "equality", "dv"] = "position"
        if self._equality[row]:
            content = "equality"
        elif self._vector[row]:
            content = "dv"
        return DeleteRef(
            path=self._path[row].as_py(),
            content=content,
            sequence_number=int(self._sequence[row]),
            record_count=int(self._rows[row]),
            content_offset=self._offsets[row].as_py(),
            content_size=self._sizes[row].as_py(),
            equality_ids=tuple(self._ids[row].as_py() or ()) if self._equality[row] else (),
        )

    @cached_property
    def _by_target(self) -> _GroupedRows:
        return _GroupedRows(self._target, len(self._names))

    @cached_property
    def _by_reach(self) -> _GroupedRows:
        return _GroupedRows(self._reach, self._reaches)


class DeletesByFile(Struct, frozen=True, dict=True):
    """Delete files as they apply to data files; arrays have one item a data file."""

    deletes: DeleteFiles
    sequence: Numbers
    targets: Numbers
    reaches: Numbers

    @cached_property
    def vectored(self) -> Numbers:
        """See `statistics.Source.vectored`."""
        return self.deletes.vectored(self.sequence, self.targets, self.reaches)

    @property
    def nbytes(self) -> int:
        """Bytes of memory, about."""
        arrays = (self.sequence, self.targets, self.reaches)
        return self.deletes.nbytes + sum(array.nbytes for array in arrays)

    def some(self, places: Numbers) -> DeletesByFile:
        """As they apply to the data files at those places."""
        arrays = (self.sequence, self.targets, self.reaches)
        return DeletesByFile(self.deletes, *(array[places] for array in arrays))

    def refs(self, place: int) -> tuple[DeleteRef, ...]:
        """The delete files that apply to the data file at that place."""
        return self.deletes.refs(
            int(self.sequence[place]), int(self.targets[place]), int(self.reaches[place])
        )


class _GroupedRows:
    """Rows by the number of their group."""

    def __init__(self, groups: Numbers, count: int) -> None:
        self._order = np.argsort(groups, kind="stable")
        self._starts = np.searchsorted(groups[self._order], np.arange(count + 1))

    def of(self, group: int) -> list[int]:
        """The rows of a group; none of `_NOWHERE`."""
        if group == _NOWHERE:
            return []
        rows: list[int] = self._order[self._starts[group] : self._starts[group + 1]].tolist()
        return rows


class _Step(Struct, frozen=True):
    """One field of a partition: the values that deletes have, and those of the fields so far."""

    name: str
    values: pa.Array
    seen: Numbers


class _Partitions(Struct, frozen=True):
    """The partitions of one spec that deletes reach, each with a number from `first` on."""

    steps: tuple[_Step, ...]
    first: int
    count: int

    @classmethod
    def of(
        cls, manifests: Sequence[ManifestColumns], wanted: Flags, decimals: Set[int], first: int
    ) -> tuple[_Partitions, Numbers]:
        """Those of the wanted delete files, and the number of each of these."""
        names = dict.fromkeys(f.name for one in manifests for f in one.partition.type)
        codes: Numbers = np.zeros(int(wanted.sum()), dtype=np.int64)
        steps = []
        count = int(len(codes) > 0)
        for name in names:
            children = [_child(one, name, decimals) for one in manifests]
            kind = next((c.type for c in children if not pa.types.is_null(c.type)), pa.null())
            column = pa.concat_arrays([c.cast(kind) for c in children]).filter(pa.array(wanted))
            values = pc.unique(column)
            codes = codes * len(values) + _places(column, values)
            seen, codes = np.unique(codes, return_inverse=True)
            steps.append(_Step(name, values, seen))
            count = len(seen)
        return cls(tuple(steps), first, count), codes + first

    def codes(self, columns: ManifestColumns, decimals: Set[int]) -> Numbers:
        """The numbers of data files' partitions, `_NOWHERE` of those that no delete reaches."""
        codes: Numbers = np.zeros(columns.count, dtype=np.int64)
        for step in self.steps:
            child = _child(columns, step.name, decimals)
            if pa.types.is_null(step.values.type):
                found = np.where(child.is_null().to_numpy(zero_copy_only=False), 0, _NOWHERE)
            else:
                found = _places(child.cast(step.values.type), step.values)
            combined = codes * len(step.values) + found
            places = np.searchsorted(step.seen, combined).clip(max=len(step.seen) - 1)
            known = (codes >= 0) & (found >= 0) & (step.seen[places] == combined)
            codes = np.where(known, places, _NOWHERE)
        return np.where(codes >= 0, codes + self.first, _NOWHERE)


def _child(columns: ManifestColumns, name: str, decimals: Set[int]) -> pa.Array:
    """A partition field's values, equal where Iceberg's are: NaN itself, and -0.0 with 0.0."""
    if columns.partition.type.get_field_index(name) < 0:
        return pa.nulls(columns.count)
    child = columns.partition.field(name)
    if int(name) in decimals and not pa.types.is_null(child.type):
        return _shortened(child)
    if pa.types.is_floating(child.type):
        return pc.add(child.cast(pa.float64()), 0.0)
    whole = pa.types.is_integer(child.type) or pa.types.is_boolean(child.type)
    return child.cast(pa.int64()) if whole else child


def _shortened(child: pa.Array) -> pa.Array:
    """Two's complement numbers as texts: a decimal's bytes grow with its precision."""
    coded = child.cast(pa.binary()).dictionary_encode()
    texts = [str(int.from_bytes(one, "big", signed=True)) for one in coded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(coded.indices)


def _target(columns: ManifestColumns) -> pa.Array:
    """The one data file that a delete names, by its field or by equal bounds of the path."""
    stats = columns.stats(PATH_FIELD_ID)
    same = pc.fill_null(pc.equal(stats.lower, stats.upper), False)
    bound = pc.if_else(same, stats.lower, pa.scalar(None, pa.binary()))
    bound = pc.if_else(
        pc.not_equal(columns.content, _EQUALITY), bound, pa.scalar(None, pa.binary())
    )
    return pc.coalesce(columns.referenced_data_file, bound.cast(pa.string()))


def _places(values: pa.Array | pa.ChunkedArray, among: pa.Array) -> Numbers:
    """Where each value stands among others, null included; `_NOWHERE` where it doesn't."""
    found = pc.index_in(values, value_set=among)
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    places: Numbers = pc.fill_null(found, _NOWHERE).to_numpy(zero_copy_only=False)
    return places.astype(np.int64)


def _chunked(arrays: Sequence[pa.Array], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array(arrays, kind)


def _numbers(arrays: Sequence[pa.Array]) -> Numbers:
    filled = _chunked(arrays, pa.int64()).fill_null(UNKNOWN)
    numbers: Numbers = filled.to_numpy()
    return numbers
