"""Chosen rows of data files, read by Spark's workers where their sidecars stand.

For few rows in many files: a worker asks a file's sidecars, opens the row groups that may hold a
match and gives the rows that sidecars don't rule out, less the deleted ones. The statement's own
predicate runs over these in Spark, so what comes too much does no harm. Files that only Spark
reads, and what fails, end the job; the caller has another way then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NoReturn

import numpy as np
import pyarrow as pa
from msgspec import Struct
from pyroaring import BitMap

from accelerator.artifacts.sidecars.probe import HeavyIndex, IndexFiles, RowSelection
from accelerator.common.arrow.spark_types import arrow_type
from accelerator.common.config.config import Config
from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.iceberg.errors import NeedsSparkError
from accelerator.iceberg.io import inputs_for
from accelerator.iceberg.rows.position_deletes import PositionDeletes
from accelerator.iceberg.rows.readable import check_readable
from accelerator.iceberg.rows.row_groups import GroupReader, OpenFile
from accelerator.planning.plans import RowsPlan
from accelerator.store import IndexRecord, SegmentRecord, Store
from rewrite.identifiers.quoting import backticked
from rewrite.ir.expr import Column, Expr

_PARTS = 4
"""Tasks for each worker: files differ in what is left of them."""


class AwayTable(Struct, frozen=True):
    """What reading files of a pinned table takes in another process.

    `nan_free` are by file the columns without a NaN.
    """

    metadata_location: str
    io_properties: Mapping[str, str]
    uuid_fields: frozenset[int]
    defaulted_fields: frozenset[int]
    nan_free: Mapping[tuple[str, int], frozenset[int]]

    def without_nan(
        self,
        files: Sequence[LiveFile],  # noqa: ARG002 - as a pinned table has it
        field_ids: Collection[int],  # noqa: ARG002 - as a pinned table has it
    ) -> Mapping[tuple[str, int], frozenset[int]]:
        """See `PinnedTable.without_nan`."""
        return self.nan_free

    def deletes(self) -> PositionDeletes:
        """Files with deletes of other kinds aren't read by workers."""
        return PositionDeletes(inputs_for(self.metadata_location, self.io_properties))

    def arrow(self, columns: Sequence[str], files: Sequence[LiveFile] | None = None) -> NoReturn:
        """Whole files aren't read by workers."""
        shown = ", ".join(file.path for file in files or ())
        raise NeedsSparkError(
            f"{shown} can't be cut into row groups for {', '.join(columns)}",
            hint="Spark reads it by its own reader",
        )


class Sidecars(Struct, frozen=True):
    """An index over a column of that type, and its sidecars of some files."""

    record: IndexRecord
    type: str
    sidecars: Mapping[tuple[str, int], SegmentRecord]


class FilePart(Struct, frozen=True):
    """The files of one task."""

    table: AwayTable
    files: tuple[LiveFile, ...]
    indexes: tuple[Sidecars, ...]


class RowsTask(Struct, frozen=True):
    """What is alike for all parts: where sidecars are, what is asked of them, what is read."""

    store_root: str
    store_options: Mapping[str, str]
    conjuncts: tuple[Expr, ...]
    columns: tuple[Column, ...]

    def __call__(self, part: FilePart) -> Iterator[pa.RecordBatch]:
        """The rows of the part's files, in batches. OSError, ValueError, NeedsSparkError."""
        store = Store.open(self.store_root, options=self.store_options, read_only=True)
        # What can't be read rules nothing out; the driver counts it when it asks itself.
        files = IndexFiles(store, lambda _: None)
        heavy = [HeavyIndex(one.record, one.type, one.sidecars, files) for one in part.indexes]
        selection = RowSelection(self.conjuncts, heavy)
        reader = GroupReader(part.table, self.columns, lambda: None)
        for file in part.files:
            chosen = selection.of(file)
            if chosen is not None and not chosen:
                continue
            (opened,) = reader.open([file])
            ends = np.cumsum([0, *opened.groups]).tolist()
            for number, (first, after) in enumerate(pairwise(ends)):
                if chosen is None or chosen.range_cardinality(first, after):
                    wanted = None if chosen is None else chosen & BitMap(range(first, after))
                    yield from self._rows(opened, number, first, wanted)

    def _rows(
        self, opened: OpenFile, number: int, first: int, wanted: BitMap | None
    ) -> Iterator[pa.RecordBatch]:
        table, places = opened.sought(number, self.columns)
        if wanted is not None:
            chosen = np.array(wanted.to_array(), dtype=np.int64)
            table = table.filter(pa.array(np.isin(places + first, chosen)))
        yield from table.select([c.name for c in self.columns]).to_batches()

    @property
    def schema(self) -> pa.Schema:
        """Of every batch."""
        return pa.schema([(c.name, arrow_type(c.type or "")) for c in self.columns])

    @property
    def spark_schema(self) -> str:
        """The same as Spark writes schemas."""
        names = (backticked(c.name) for c in self.columns)
        return ", ".join(f"{n} {c.type}" for n, c in zip(names, self.columns, strict=True))


def parts_of(
    plan: RowsPlan, config: Config, workers: int
) -> tuple[RowsTask, list[FilePart]] | None:
    """The work of a plan that Spark runs; None where its workers shouldn't read positions."""
    reading = plan.reading
    selection = reading.selection
    if any(column.path for column in plan.block.used):
        return None
    if selection is None or not plan.block.used or not reading.by_workers(config.sidecar_jobs):
        return None
    files = reading.live(0, len(reading))
    try:
        check_readable(plan.pinned[0], files)
    except NeedsSparkError:
        return None
    if any(file.file_format != "parquet" or file.deleted_by_value for file in files):
        return None
    count = min(len(files), max(1, workers * _PARTS))
    task = RowsTask(
        config.store_root, dict(config.store_options), plan.block.conjuncts, tuple(plan.block.used)
    )
    table, heavy = plan.pinned[0], selection.heavy
    floats = {c.field_id for c in plan.block.used if c.type in ("float", "double")}
    return task, [_part(table, tuple(files[at::count]), heavy, floats) for at in range(count)]


def _part(
    table: PinnedTable,
    files: tuple[LiveFile, ...],
    heavy: Sequence[HeavyIndex],
    floats: Collection[int],
) -> FilePart:
    away = AwayTable(
        table.metadata_location,
        dict(table.io_properties),
        table.uuid_fields,
        table.defaulted_fields,
        table.without_nan(files, floats),
    )
    indexes = []
    for one in heavy:
        mine = {f.key: one.sidecars[f.key] for f in files if f.key in one.sidecars}
        indexes.append(Sidecars(one.record, one.type, mine))
    return FilePart(away, files, tuple(indexes))
