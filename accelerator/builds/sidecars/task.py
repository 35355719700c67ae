"""What one task of an index build does: reads columns of data files, and gives what they hold.

Runs in Spark's Python workers, or in this process, and needs nothing of a session. A data file is
opened once for all indexes; its values are read piece by piece, so that memory holds a piece and
what the kinds keep. Heavy blobs are written beside each other into one sidecar for each index and
file, light ones are given back. Rows that deletes have taken are indexed too: an index is of the
file, not of a state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct, field

from accelerator.artifacts.relate.lookup import Keys, Lookup
from accelerator.artifacts.sidecars.records import Indexed, Sidecar
from accelerator.common.arrow.spark_types import arrow_type
from accelerator.iceberg.io import inputs_for, local_path
from accelerator.iceberg.rows.orc.orc_file import OrcFile, opener
from accelerator.iceberg.rows.orc.orc_footer import OrcCompressionError
from accelerator.iceberg.rows.row_groups import stored_names
from accelerator.store.files.files import open_files
from indexes import puffin
from indexes.domains import NotIndexableError, to_domain
from indexes.kind import Blob, ColumnIndexer, IndexedColumn, Options
from indexes.kinds import KINDS
from rewrite.ir.expr import Column

BATCH = 65_536
"""Rows that are read at once."""


class IndexRequest(Struct, frozen=True):
    """One index to build: its column as the table has it now; sidecars go under `prefix`."""

    index_id: str
    kind: str
    options: Options
    field_id: int
    type: str
    prefix: str
    keys: tuple[tuple[int, str], ...] = ()
    """Of a relate column: field id and type of the fact's columns by which it's looked up."""


class TaskInput(Struct, frozen=True):
    """Where data files and sidecars are; in files that lack a `defaulted` field it has a value.

    `lookups` are by the relate column's field id; `changes` are keys whose value has changed.
    """

    location: str
    io_properties: Mapping[str, str]
    store_root: str
    store_options: Mapping[str, str]
    defaulted: frozenset[int]
    lookups: Mapping[int, Lookup] = field(default_factory=dict)
    changes: tuple[Keys, ...] = ()


class FileWork(Struct, frozen=True):
    """A data file; `number` names its sidecars. `fixed`: fields that its partition fixes.

    `doubtful` gives for an index which of the source's changes count: it's of use as it was built
    where the file has none of these keys.
    """

    path: str
    format: str
    record_count: int
    size_bytes: int
    number: int
    fixed: Mapping[int, object]
    doubtful: Mapping[str, int] = field(default_factory=dict)


class TaskResult(Struct, frozen=True):
    """All of one file."""

    path: str
    indexed: tuple[Indexed, ...] = field(default=())


def index_files(
    source: TaskInput,
    wanted: Sequence[IndexRequest],
    files: Sequence[FileWork],
    check: Callable[[], None] = lambda: None,
    running: Callable[..., RunningIndex] | None = None,
) -> list[TaskResult]:
    """What the files hold, in their order. OSError and Arrow's errors where one can't be read.

    `check` is called after each batch of rows, and may raise what ends the work. `running` makes
    each index of a file in the place of `RunningIndex`.
    """
    make = running or RunningIndex
    return [TaskResult(f.path, tuple(_index_file(source, wanted, f, check, make))) for f in files]


def _index_file(
    source: TaskInput,
    wanted: Sequence[IndexRequest],
    file: FileWork,
    check: Callable[[], None],
    make: Callable[..., RunningIndex],
) -> Iterator[Indexed]:
    with readable(source, file) as parquet:
        if isinstance(parquet, str):
            yield from (Indexed(one.index_id, why=parquet) for one in wanted)
            return
        groups = rows_of(parquet)
        running = [make(source, one, file, groups, parquet) for one in wanted]
        doubtful = [one for one in running if one.checks]
        for number, rows, names in pieces(groups, doubtful):
            for batch in batches(parquet, number, rows, names):
                check()
                for one in doubtful:
                    one.check(batch)
        due = [one for one in running if not one.unchanged]
        for number, rows, names in pieces(groups, due):
            for batch in batches(parquet, number, rows, names):
                check()
                for one in due:
                    one.add(batch)
        for one in running:
            yield one.finish()


def rows_of(parquet: pq.ParquetFile | OrcFile) -> tuple[int, ...]:
    """Rows of each row group."""
    metadata = parquet.metadata
    return tuple(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))


@contextmanager
def readable(source: TaskInput, file: FileWork) -> Iterator[pq.ParquetFile | OrcFile | str]:
    """The file, or why it can't be indexed."""
    if file.format not in ("parquet", "orc"):
        yield f"a file of {file.format}"
        return
    try:
        opened = _opened(source, file)
    except OrcCompressionError as error:
        yield str(error)
        return
    with opened as parquet:
        rows = parquet.metadata.num_rows
        if rows == file.record_count:
            yield parquet
        else:
            yield f"{rows} rows, where its manifest says {file.record_count}"


class RunningIndex:
    """One index of one file while it's built."""

    def __init__(
        self,
        source: TaskInput,
        wanted: IndexRequest,
        file: FileWork,
        groups: tuple[int, ...],
        parquet: pq.ParquetFile | OrcFile,
    ) -> None:
        self._source, self._wanted, self._file, self._groups = source, wanted, file, groups
        self.index_id = wanted.index_id
        self._why = ""
        self._lookup = source.lookups.get(wanted.field_id)
        self._columns = wanted.keys or ((wanted.field_id, wanted.type),)
        stored = [Column(0, i, "", t) for i, t in self._columns if i not in file.fixed]
        found = stored_names(parquet, stored, source.defaulted)
        if not stored and not wanted.keys:
            self._why = "its partition fixes the column"
        elif found is None:
            self._why = "its column has no field id, another type or a default"
        self._names: Mapping[int, str] = found or {}
        changes = file.doubtful.get(wanted.index_id)
        self._changed = None if changes is None or self._why else source.changes[changes]
        self.unchanged = self._changed is not None
        self._kind = KINDS[wanted.kind]
        self._builder: ColumnIndexer | None = None
        if not self._why:
            indexed = IndexedColumn(wanted.type, groups)
            self._builder = self._kind.builder(indexed, wanted.options)

    @property
    def names(self) -> Collection[str]:
        """The file's columns that it takes."""
        return self._names.values()

    @property
    def why(self) -> str:
        """Why its file can't be indexed; empty where it can."""
        return self._why

    @property
    def checks(self) -> bool:
        """Whether the file's keys say if it's due at all."""
        return self._changed is not None

    def check(self, batch: pa.RecordBatch) -> None:
        """The next rows, of which only the keys count that have changed."""
        if self.unchanged and self._changed is not None:
            try:
                places = self._changed.places(self.keys(batch))
                self.unchanged = places.null_count == len(places)
            except (NotIndexableError, pa.ArrowInvalid):
                self.unchanged = False

    def add(self, batch: pa.RecordBatch) -> None:
        """The next rows."""
        if self._builder is None:
            return
        try:
            if self._lookup is None:
                stored = self._stored(batch, self._wanted.field_id)
                values = pa.nulls(batch.num_rows) if stored is None else stored
            else:
                values = self._lookup.of(self.keys(batch))
        except (NotIndexableError, pa.ArrowInvalid) as error:
            self._builder, self._why = None, str(error)
        else:
            self.add_values(values)

    def add_values(self, values: pa.Array | None) -> None:
        """The values of the next rows; None where they can't be told."""
        if self._builder is None:
            return
        if values is None:
            self._builder, self._why = None, "its keys can't be read"
            return
        try:
            self._builder.add(to_domain(values, self._wanted.type))
        except (NotIndexableError, pa.ArrowInvalid) as error:
            self._builder, self._why = None, str(error)

    def _stored(self, batch: pa.RecordBatch, field_id: int) -> pa.Array | None:
        """The file's own values; None where it lacks the column."""
        name = self._names.get(field_id)
        return None if name is None else batch.column(batch.schema.get_field_index(name))

    def keys(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """The fact's columns by which the relate column is looked up, of the table's types."""
        found = []
        for field_id, type_ in self._columns:
            target, stored = arrow_type(type_), self._stored(batch, field_id)
            if field_id in self._file.fixed:
                value = pa.scalar(self._file.fixed[field_id], target)
                found.append(pa.repeat(value, batch.num_rows))
            elif stored is None:
                found.append(pa.nulls(batch.num_rows, target))
            else:
                found.append(stored.cast(target))
        return found

    def finish(self) -> Indexed:
        """The blobs; heavy ones are written."""
        wanted = self._wanted
        if self.unchanged:
            return Indexed(wanted.index_id, self._groups, unchanged=True)
        if self._builder is None:
            return Indexed(wanted.index_id, self._groups, why=self._why)
        blobs = self._builder.finish()
        light = tuple(blob for blob in blobs if blob.light)
        heavy = [blob for blob in blobs if not blob.light]
        why = "" if blobs else "nothing could be skipped by it"
        return Indexed(wanted.index_id, self._groups, light, self._sidecar(heavy), why)

    def _sidecar(self, blobs: Sequence[Blob]) -> Sidecar | None:
        if not blobs:
            return None
        data, places = puffin.write_sidecar(
            [(blob, self._wanted.field_id) for blob in blobs], self._file.record_count
        )
        uri = self.written(f"{self._wanted.prefix}/{self._file.number}.puffin", data)
        told = [
            (Blob(blob.type, b"", False, blob.properties), place.offset, place.length)
            for blob, place in zip(blobs, places, strict=True)
        ]
        return Sidecar(uri, len(data), tuple(told))

    def written(self, path: str, data: bytes) -> str:
        """Keeps a sidecar in the store; its URI."""
        files = open_files(self._source.store_root, self._source.store_options)
        # A task that runs again finds the same bytes there.
        files.create(path, data)
        return files.uri(path)


def pieces(
    groups: Sequence[int], running: Sequence[RunningIndex]
) -> Iterator[tuple[int, int, list[str]]]:
    """Row groups with the columns that these take of them; none where there are none of these."""
    names = sorted({name for one in running for name in one.names})
    for number, rows in enumerate(groups if running else ()):
        yield number, rows, names


def batches(
    parquet: pq.ParquetFile | OrcFile, group: int, rows: int, names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """The columns of a row group, piece by piece; pieces without columns where none is wanted."""
    if not names:
        for first in range(0, rows, BATCH):
            count = min(BATCH, rows - first)
            yield pa.RecordBatch.from_arrays([pa.nulls(count)], ["#"])
        return
    yield from parquet.iter_batches(
        BATCH, row_groups=[group], columns=list(names), use_threads=False
    )


def _opened(source: TaskInput, file: FileWork) -> pq.ParquetFile | OrcFile:
    """The data file, to be closed."""
    local = local_path(file.path)
    inputs = inputs_for(source.location, source.io_properties)
    if file.format == "orc":
        return OrcFile(opener(inputs, file.path, file.size_bytes))
    if local is not None:
        return pq.ParquetFile(local)
    return pq.ParquetFile(cast(BinaryIO, inputs.new_input(file.path).open()), pre_buffer=True)
