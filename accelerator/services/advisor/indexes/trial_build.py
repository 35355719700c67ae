"""Indexes tried out: built over some of a table's data files, in memory, and asked what they spare.

What is built is what a build would give for these files, byte for byte, and it's asked by the code
that asks indexes for statements. Files come from all over the table; where all are few, all are
taken. Nothing of it reaches the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from accelerator.artifacts.relate.index_validity import PinnedRelate, dimensions_of, key_columns
from accelerator.artifacts.sidecars import records
from accelerator.artifacts.sidecars.probe import IndexFiles, TableIndexes, tables_over
from accelerator.builds.sidecars.task import (
    FileWork,
    IndexRequest,
    RunningIndex,
    TaskInput,
    index_files,
)
from accelerator.services.advisor.cubes.row_sample import spread
from accelerator.store import IndexRecord, SegmentRecord
from indexes.kind import Options, Read
from indexes.kinds import KINDS

if TYPE_CHECKING:
    from accelerator.artifacts.relate.dimensions import Dimensions
    from accelerator.artifacts.relate.path import Path
    from accelerator.iceberg import LiveFile, PinnedTable
    from accelerator.iceberg.statistics.file_statistics import FileStatistics
    from rewrite.facts import ColumnFacts

FILES_MAX = 24
"""Data files that are read."""
ROWS_MAX = 1_000_000
"""Rows of them together; one file may have more, up to `FILE_ROWS_MAX`."""
FILE_ROWS_MAX = 8_000_000
BYTES_MAX = 512 * 1024 * 1024
"""Of all files that are read, and so of one."""


class Planned(Struct, frozen=True):
    """An index that may be made. `path` leads to its column where that's a relate column."""

    kind: str
    column: ColumnFacts
    path: Path | None = None

    @property
    def name(self) -> str:
        """What tells it from others on the same table."""
        return f"{self.kind} {self.column.field_id}"

    @property
    def options(self) -> Options:
        """The kind's defaults; NotIndexableError for a type that it can't take."""
        return KINDS[self.kind].options(self.column.type, {})


class FileSample(Struct, frozen=True):
    """Some of a table's live files. `whole`: these are all of them, and nothing is estimated."""

    statistics: FileStatistics
    files: tuple[LiveFile, ...]
    rows: int
    of_rows: int
    of_bytes: int
    of_files: int

    @property
    def whole(self) -> bool:
        """Whether nothing is left out."""
        return len(self.files) == self.of_files

    @property
    def bytes(self) -> int:
        """Of the files that are looked at."""
        return sum(file.size_bytes for file in self.files)

    @property
    def scale(self) -> float:
        """How many times as many rows the table has."""
        return max(1.0, self.of_rows / max(self.rows, 1))


def sample_of(pinned: PinnedTable) -> FileSample | None:
    """Files from all over the table; None where none is small enough, or there are none."""
    statistics = pinned.statistics()
    counts = statistics.rows
    sizes = statistics.sizes
    fit = np.flatnonzero((counts > 0) & (counts <= FILE_ROWS_MAX) & (sizes <= BYTES_MAX))
    if not len(fit):
        return None
    taken, rows, size = list[int](), 0, 0
    for place in _mixed(spread(len(fit), FILES_MAX)):
        number = int(fit[place])
        more, larger = rows + int(counts[number]), size + int(sizes[number])
        if taken and (more > ROWS_MAX or larger > BYTES_MAX):
            continue
        taken.append(number)
        rows, size = more, larger
    chosen = np.zeros(len(counts), dtype=bool)
    chosen[taken] = True
    some = statistics.some(chosen)
    files = some.source.live(np.ones(len(some), dtype=bool))
    of_rows = int(counts[counts > 0].sum())
    return FileSample(some, files, rows, of_rows, int(sizes.sum()), len(counts))


def _mixed(places: Sequence[int]) -> list[int]:
    """The same places, so that the first few of them are from all over, too."""
    order = sorted(range(len(places)), key=lambda i: int(f"{i:012b}"[::-1], 2))
    return [places[i] for i in order]


class MemoryIndexFiles(IndexFiles):
    """Artifacts that are kept in memory under their names."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}

    def write(self, name: str, data: bytes) -> str:
        """Keeps it; its name is its URI."""
        self.data[name] = data
        return name

    def under(self, prefix: str) -> Callable[[str, bytes], str]:
        """What keeps it under a name that begins so."""
        return lambda name, data: self.write(f"{prefix}/{name}", data)

    def failed(self, uri: str, error: Exception) -> None:
        """What can't be read proves nothing; of bytes in memory there's no one to tell."""

    @property
    def is_local(self) -> bool:
        """They are at hand."""
        return True

    def reader(self, uri: str) -> Read:
        """Reads of one."""
        data = self.data[uri]
        return lambda offset, length: data[offset : offset + length]


class _Trying(RunningIndex):
    """An index of one file, whose sidecar stays in memory."""

    def __init__(self, kept: MemoryIndexFiles, *told: Any) -> None:
        super().__init__(*told)
        self._kept = kept

    def written(self, path: str, data: bytes) -> str:
        """See `RunningIndex`."""
        return self._kept.write(path, data)


class TrialOutcome(Struct, frozen=True):
    """What came of an index: its records, and their bytes."""

    record: IndexRecord
    built: tuple[SegmentRecord, ...]
    bytes: int


class TrialIndexes:
    """Indexes over a sample of a table's files. Reads these on being made, each once.

    `check` is called again and again, and raises what ends the work. OSError, Arrow's errors and
    AcceleratorError where a file or a dimension can't be read.
    """

    def __init__(
        self,
        pinned: PinnedTable,
        sample: FileSample,
        planned: Sequence[Planned],
        dimensions: Dimensions,
        check: Callable[[], None],
    ) -> None:
        self._pinned, self.sample, self._kept = pinned, sample, MemoryIndexFiles()
        self._relates = {
            one.path.column.id: PinnedRelate(one.path, pinned, dimensions)
            for one in planned
            if one.path is not None
        }
        self.tried: Mapping[str, TrialOutcome] = self._built(planned, dimensions, check)

    def _built(
        self, planned: Sequence[Planned], dimensions: Dimensions, check: Callable[[], None]
    ) -> dict[str, TrialOutcome]:
        pinned = self._pinned
        paths = {number: one.path for number, one in self._relates.items()}
        source = TaskInput(
            pinned.metadata_location,
            dict(pinned.io_properties),
            "",
            {},
            pinned.defaulted_fields,
            {number: dimensions.lookup(path) for number, path in paths.items()},
        )
        wanted = [
            IndexRequest(
                one.name,
                one.kind,
                one.options,
                one.column.field_id,
                one.column.type,
                one.name,
                _keys(one.path, pinned),
            )
            for one in planned
        ]
        work = [
            FileWork(f.path, f.file_format, f.record_count, f.size_bytes, number, f.fixed)
            for number, f in enumerate(self.sample.files)
        ]
        answers = index_files(source, wanted, work, check, partial(_Trying, self._kept))
        files = tuple(map(records.covered_file, self.sample.files))
        found = {}
        for place, one in enumerate(planned):
            indexed = tuple(answer.indexed[place] for answer in answers)
            if not any(each.light or each.sidecar for each in indexed):
                continue
            made = records.IndexJobResult(files, indexed)
            bundle = records.write_bundle(self._kept.under(one.name), made)
            dims = () if one.path is None else dimensions_of(one.path)
            record = _record(one, pinned)
            built = tuple(records.segments(record, one.column.type, made, bundle, dims))
            found[one.name] = TrialOutcome(record, built, sum(each.bytes for each in built))
        return found

    def indexes(self, planned: Iterable[Planned], beside: TableIndexes | None) -> TableIndexes:
        """Those of these that came of something, as a statement has them, beside those there are.

        Over the files of the sample.
        """
        chosen = [one for one in planned if one.name in self.tried]
        told = [(self.tried[one.name].record, self.tried[one.name].built) for one in chosen]
        types = {one.column.field_id: one.column.type for one in chosen}
        relates = [self._relates[one.path.column.id] for one in chosen if one.path is not None]
        made = tables_over(self.sample.statistics, told, types, self._kept, relates)
        if beside is None:
            return made
        fields = {*made.by_field, *beside.by_field}
        return TableIndexes(
            {
                one: [*beside.by_field.get(one, ()), *made.by_field.get(one, ())]
                for one in sorted(fields)
            },
            [*beside.heavy, *made.heavy],
            {**beside.bounds, **made.bounds},
            [*beside.relates, *relates],
        )


def _keys(path: Path | None, pinned: PinnedTable) -> tuple[tuple[int, str], ...]:
    found = None if path is None else key_columns(path, pinned)
    return tuple((one.field_id, one.type) for one in found or ())


def _record(one: Planned, pinned: PinnedTable) -> IndexRecord:
    return IndexRecord(
        id=one.name,
        name=one.name,
        table=pinned.facts.name,
        table_uuid=pinned.facts.uuid,
        kind=one.kind,
        field_id=one.column.field_id,
        column=one.column.name,
        created_ms=0,
        options=dict(one.options),
    )
