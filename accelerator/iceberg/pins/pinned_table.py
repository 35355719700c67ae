"""One table at one snapshot, with its facts, files and rows; a pinned table never changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from accelerator.iceberg.errors import read_errors
from accelerator.iceberg.io import inputs_for
from accelerator.iceberg.manifests.manifest_file import DATA, ManifestFile
from accelerator.iceberg.pins.named_table import Loaded
from accelerator.iceberg.state_cache import Listings
from accelerator.iceberg.statistics.sketches import Sketched, TableSizes, sketched, table_sizes
from accelerator.iceberg.tables.data_file import LiveFile
from accelerator.iceberg.tables.locations import table_locations
from accelerator.iceberg.tables.metadata import IcebergSchema, IcebergSnapshot, TableMetadata
from accelerator.iceberg.tables.partition_specs import (
    Identity,
    PartitionField,
    decimal_fields,
    ordered_fields,
    partition_fields,
    unpartitioned,
)
from accelerator.iceberg.tables.unreadable import Refusal
from accelerator.version import VERSION
from rewrite.facts import TableFacts

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.schema import Schema as PyIcebergSchema

    from accelerator.iceberg.manifests.columns import ManifestColumns
    from accelerator.iceberg.manifests.job import Decoding
    from accelerator.iceberg.manifests.request import Question
    from accelerator.iceberg.rows.deleted_rows import DeletedRows
    from accelerator.iceberg.rows.float_edges import FloatEdges
    from accelerator.iceberg.rows.position_deletes import Positions
    from accelerator.iceberg.statistics.file_statistics import FileStatistics
    from accelerator.iceberg.tables.delete_matching import DeleteFiles
    from accelerator.iceberg.tables.files_table import FileTable
    from rewrite.ir.expr import Column


@dataclass(frozen=True)
class PinnedTable:
    """One table at one snapshot; immutable, and valid as long as the snapshot's files are there."""

    facts: TableFacts
    parts: tuple[str, ...]
    metadata_location: str
    metadata: TableMetadata
    snapshot: IcebergSnapshot | None
    schema: IcebergSchema
    _listings: Listings
    _identity: Identity
    _loaded: Loaded[PinnedTable] = field(repr=False, compare=False)
    refusal: Refusal | None = None

    @property
    def io_properties(self) -> Mapping[str, str]:
        """What opens its files, as the catalog gave it last: credentials may have an end."""
        return self._loaded.pointer.properties

    @property
    def version(self) -> tuple[str, str]:
        """What names the table's metadata for good: the file, and the table that it's of.

        A table that is made anew under its old name may have a file of its old one's name.
        """
        return self.metadata_location, self.facts.uuid

    @property
    def pyiceberg_schema(self) -> PyIcebergSchema:
        """The schema as PyIceberg has it, for what PyIceberg reads."""
        known = self.metadata.pyiceberg.schemas
        return next(one for one in known if one.schema_id == self.schema.schema_id)

    @property
    def snapshot_ms(self) -> int | None:
        """When the snapshot was committed, in milliseconds; None for a table that has none."""
        return None if self.snapshot is None else self.snapshot.timestamp_ms

    @property
    def size_bytes(self) -> int:
        """Bytes of the data files, by the snapshot's summary if it has them."""
        told = self._figure("total-files-size")
        return sum(file.size_bytes for file in self.live_files()) if told is None else told

    @property
    def rows_told(self) -> int:
        """Rows by the snapshot's summary, deleted ones among them; 0 where it doesn't say."""
        return self._figure("total-records") or 0

    def _figure(self, key: str) -> int | None:
        told = None if self.snapshot is None else self.snapshot.figures.get(key)
        return int(told) if told is not None and told.isdigit() else None

    @property
    def location(self) -> str:
        """The table's base location."""
        return self.metadata.location

    @cached_property
    def locations(self) -> tuple[str, ...]:
        """The folders in which the metadata places data files, earlier ones among them."""
        return table_locations(self.metadata)

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's properties, as of the metadata that was current when it was pinned."""
        return self.metadata.properties

    def live_files(self) -> tuple[LiveFile, ...]:
        """Every data file of the snapshot with the deletes that apply to it."""
        if self.snapshot is None:
            return ()
        name = self.facts.uuid, self.snapshot.snapshot_id
        return self._listings.files(name, self._live)

    def _live(self) -> tuple[LiveFile, ...]:
        source = self.statistics().source
        with self._read_errors():
            return source.live(np.ones(len(source.rows), dtype=bool))

    @cached_property
    def fixed_fields(self) -> frozenset[int]:
        """Ids of the fields by which some spec of the table partitions it as they are."""
        return frozenset().union(*self._identity.values())

    @cached_property
    def valued_fields(self) -> frozenset[int]:
        """Ids of the fields by which some spec partitions it as they are, or in their order."""
        return ordered_fields(self.metadata)

    def has_doubtful(self, fields: Iterable[tuple[int, str]]) -> bool:
        """Whether a file may hold another value than its partition says, which is what Spark takes.

        Of any of these columns, given by their ids and Spark's types.
        """
        fixed = [one for one in fields if one[0] in self.fixed_fields]
        return bool(fixed) and any(self.statistics().column(*one).unproven.any() for one in fixed)

    def has_field(self, name: str) -> bool:
        """Decides whether the schema has a field of that full name in any case."""
        try:
            self.pyiceberg_schema.find_field(name, case_sensitive=False)
        except ValueError:
            return False
        return True

    @cached_property
    def uuid_fields(self) -> frozenset[int]:
        """Ids of the top-level fields that are UUIDs."""
        return frozenset(f.field_id for f in self.schema.fields if f.field_type == "uuid")

    @cached_property
    def defaulted_fields(self) -> frozenset[int]:
        """Ids of the top-level fields that have a value in files that lack them."""
        return frozenset(f.field_id for f in self.schema.fields if f.initial_default is not None)

    @property
    def partition_columns(self) -> Mapping[str, str]:
        """What the table's current spec partitions by, through whatever transform.

        By full names, as this state of the table has them, the columns that hold these fields. A
        field that the state doesn't have isn't among them.
        """
        spec = self.metadata.spec()
        fields = (f for f in spec.fields if f.transform != "void")
        names = (self.schema.find_column_name(f.source_id) for f in fields)
        return {name: self._column_of(name) for name in names if name is not None}

    @property
    def partition_fields(self) -> tuple[PartitionField, ...]:
        """What the table's current spec partitions by, and how."""
        return partition_fields(self.metadata, self.schema)

    def _column_of(self, name: str) -> str:
        """The column that a field of that full name is in; a name may have dots of its own."""
        columns = (f.name for f in self.schema.fields)
        return max((c for c in columns if f"{name}.".startswith(f"{c}.")), key=len)

    @property
    def newest_sequence_number(self) -> int:
        """The last commit's; files with a higher one are of snapshots not known here."""
        return max(0, self.metadata.last_sequence_number)  # 0 in tables of format 1

    def sketched(self) -> Mapping[int, Sketched]:
        """How many distinct values columns have by sketches, by field id; no file is read."""
        return sketched(self.metadata, self.snapshot)

    def sizes(self) -> TableSizes:
        """Rows, bytes and data files, from the manifests; CatalogError as for `statistics`."""
        told = self.statistics()
        return table_sizes(told.sizes, told.rows, told.alive)

    def statistics(self, listed: Sequence[ManifestFile] | None = None) -> FileStatistics:
        """Counts and bounds of the live files, as columns; kept, so that others may get the same.

        `listed` are the snapshot's manifests, where they're known.
        Raises CatalogError where a manifest can't be read, now or when a column is asked for.
        """
        name = self.metadata_location, self.facts.snapshot_id
        return self._listings.statistics.get_or(
            self.facts.uuid, name, lambda earlier: self._statistics(listed, earlier)
        )

    def statistics_of(self, files: Sequence[LiveFile]) -> FileStatistics:
        """Counts and bounds of those of the live files; for a few, since nothing is kept."""
        from accelerator.iceberg.statistics.file_statistics import FileStatistics

        source = self.statistics().source
        with self._read_errors():
            chosen = source.named({file.key for file in files})
            return FileStatistics(source.some(chosen), *self._odd())

    def without_nan(
        self, files: Sequence[LiveFile], field_ids: Collection[int]
    ) -> Mapping[tuple[str, int], frozenset[int]]:
        """Of each of the files, by key, which of these columns surely have no NaN in it.

        As far as the manifests are kept as columns: none is decoded for it.
        """
        kept = self._listings.statistics
        name = self.metadata_location, self.facts.snapshot_id
        found: Mapping[tuple[str, int], frozenset[int]] = {}
        if field_ids and kept.latest(self.facts.uuid, name)[1]:  # else by a Spark job, perhaps
            source = self.statistics_of(files).source
            with self._read_errors():
                found = source.without_nan(field_ids)

        def read(file: LiveFile) -> Iterator[int]:
            return (one for one in field_ids if self.is_nan_free(one, file.key))

        return {file.key: found.get(file.key, frozenset()).union(read(file)) for file in files}

    def is_nan_free(self, field_id: int, key: tuple[str, int]) -> bool:
        """Returns True if `float_edges` found no NaN of the field in the file of that key."""
        found = self._listings.float_edges.get((self.facts.uuid, field_id, key))
        return found is not None and not found.nan

    def float_edges(self, column: Column, files: Sequence[LiveFile]) -> list[FloatEdges] | None:
        """Edge values of a floating column in each of the files, cached or read from their rows.

        None if the files have too many rows, or can't be read.
        """
        from accelerator.iceberg.rows.float_edges import cached_edges  # imports PyArrow's readers

        return cached_edges(self, self.facts.uuid, column, files, self._listings.float_edges)

    def has_read_nan(self, name: str) -> bool:
        """Returns True if `float_edges` has found a NaN of the column in a live file."""
        column, edges = self.facts.column(name), self._listings.float_edges
        if column is None:
            return False
        found = (edges.get((self.facts.uuid, column.field_id, f.key)) for f in self.live_files())
        return any(one is not None and one.nan for one in found)

    def statistics_for(self, question: Question) -> tuple[FileStatistics, Decoding]:
        """Those of all files that may hold a match at least, with the columns of the question.

        By a Spark job where that's better for the manifests that aren't kept; then of these files
        alone, and `left_out` counts the others. CatalogError as with `statistics`.
        """
        from accelerator.iceberg.manifests.job import KEPT, JobFailedError

        name, jobs = (self.metadata_location, self.facts.snapshot_id), self._listings.jobs
        if jobs is None or self.snapshot is None:
            return self.statistics(), KEPT
        latest, is_this = self._listings.statistics.latest(self.facts.uuid, name)
        made = latest is not None and latest.has(question.columns)
        if is_this and made:
            return self.statistics(), KEPT
        with self._read_errors():
            inputs = inputs_for(self.metadata_location, self.io_properties)
            listed = self._listings.manifests(inputs, self.snapshot)
        data = [one for one in listed if one.content == DATA]
        missing = self._missing(data, latest if made else None)
        decoding = jobs.choose(self.facts.uuid, missing, question)
        if decoding.by == "spark":
            try:
                return self._surviving(question, listed, missing, decoding)
            except JobFailedError as error:
                decoding = replace(decoding, by="here", failed=str(error))
        return self.statistics(listed), decoding

    def _missing(
        self, manifests: Sequence[ManifestFile], made: FileStatistics | None
    ) -> list[ManifestFile]:
        """Those that aren't kept; whatever is of a state with the columns in question is."""
        from accelerator.iceberg.manifests.cache_file import Identity as Name
        from accelerator.iceberg.tables.live_files import ColumnarFiles

        source = None if made is None else made.source
        known = source.manifests if isinstance(source, ColumnarFiles) else frozenset()
        cache = self._listings.cache
        return [one for one in manifests if Name.of(one) not in known and not cache.holds(one)]

    def _surviving(
        self,
        question: Question,
        listed: Sequence[ManifestFile],
        missing: Sequence[ManifestFile],
        decoding: Decoding,
    ) -> tuple[FileStatistics, Decoding]:
        """By a job over the missing ones; the others are judged here alike. Keeps nothing."""
        from accelerator.iceberg.manifests.cache_file import Identity as Name
        from accelerator.iceberg.manifests.job import JobFailedError
        from accelerator.iceberg.pruning.manifest_task import (
            ManifestQuestion,
            from_bytes,
            surviving,
            survivors,
        )
        from accelerator.iceberg.statistics.file_statistics import FileStatistics
        from accelerator.iceberg.tables.live_files import ColumnarFiles
        from accelerator.iceberg.tables.transforms import transforms_of

        jobs = self._listings.jobs
        if jobs is None:
            raise JobFailedError("there is no Spark")
        uuids, misnamed = self._odd()
        asked = ManifestQuestion(
            VERSION,
            self.metadata_location,
            dict(self.io_properties),
            self._identity,
            transforms_of(self.metadata),
            frozenset(uuids),
            frozenset(misnamed),
            question,
        )
        given, tasks = jobs.run(self.facts.uuid, partial(surviving, asked), missing)
        data = [one for one in listed if one.content == DATA]
        found = {}
        for manifest in data:
            name = Name.of(manifest)
            if name in given:
                found[name] = from_bytes(given[name], question.field_ids)
            else:
                found[name] = survivors(asked, manifest, self._manifest_columns(manifest))
        left = sum(found[name].columns.count for name in given)
        deletes = [one for one in listed if one.content != DATA]
        with self._read_errors():
            source = ColumnarFiles(
                data,
                lambda manifest: found[Name.of(manifest)].columns,
                self._identity,
                deletes=self._delete_files(deletes) if deletes else None,
                transforms=asked.transforms,
            )
        out = sum(one.total for one in found.values()) - len(source.rows)
        statistics = FileStatistics(source, uuids, misnamed, left_out=out)
        return statistics, replace(decoding, tasks=tasks, left=left)

    def _odd(self) -> tuple[set[int], set[int]]:
        """Fields that are uuids, and those of which nothing is told."""
        from accelerator.iceberg.statistics.file_statistics import misnamed

        uuids = {f.field_id for f in self.schema.fields if f.field_type == "uuid"}
        return uuids, misnamed(self.metadata)

    def _statistics(
        self, listed: Sequence[ManifestFile] | None, earlier: FileStatistics | None
    ) -> FileStatistics:
        # Imports Arrow's compute module.
        from accelerator.iceberg.statistics.file_statistics import FileStatistics
        from accelerator.iceberg.tables.live_files import ColumnarFiles
        from accelerator.iceberg.tables.transforms import transforms_of

        with self._read_errors():
            inputs = inputs_for(self.metadata_location, self.io_properties)
            if listed is None and self.snapshot is not None:
                listed = self._listings.manifests(inputs, self.snapshot)
            listed = listed or ()
            deletes = [one for one in listed if one.content != DATA]
            before = earlier.source if earlier is not None else None
            source = ColumnarFiles(
                [one for one in listed if one.content == DATA],
                self._manifest_columns,
                self._identity,
                before if isinstance(before, ColumnarFiles) else None,
                self._delete_files(deletes) if deletes else None,
                transforms_of(self.metadata),
            )
            return FileStatistics(source, *self._odd(), earlier)

    def _delete_files(self, manifests: Sequence[ManifestFile]) -> DeleteFiles:
        from accelerator.iceberg.tables.delete_matching import DeleteFiles, Listed

        listed = [Listed(one.partition_spec_id, self._manifest_columns(one)) for one in manifests]
        return DeleteFiles(listed, unpartitioned(self.metadata), decimal_fields(self.metadata))

    def _manifest_columns(self, manifest: ManifestFile) -> ManifestColumns:
        with self._read_errors():
            inputs = inputs_for(self.metadata_location, self.io_properties)
            return self._listings.cache.columns(inputs, manifest)

    def file_table(self) -> FileTable:
        """The columns of the table that `file_metadata` gives."""
        from accelerator.iceberg.tables.files_table import FileTable  # imports Arrow's compute

        return FileTable.of(self.metadata.pyiceberg, self.pyiceberg_schema)

    def file_metadata(self, table: FileTable, wanted: Collection[tuple[str, ...]]) -> pa.Table:
        """Of the snapshot's data and delete files these columns, as their manifests have them.

        A column's path names it, and the field inside it. CatalogError where a manifest can't be
        read.
        """
        from accelerator.iceberg.tables.files_table import file_metadata

        with self._read_errors():
            inputs = inputs_for(self.metadata_location, self.io_properties)
            listed = (
                () if self.snapshot is None else self._listings.manifests(inputs, self.snapshot)
            )
            columns = partial(self._listings.cache.columns, inputs)
            return file_metadata(listed, columns, table, wanted)

    def manifest_summaries(self) -> list[dict[str, Any]]:
        """What the snapshot's list says of its manifests; CatalogError where it can't be read."""
        from accelerator.iceberg.catalogs.manifest_summaries import manifest_summaries

        if self.snapshot is None:
            return []
        with self._read_errors():
            inputs = inputs_for(self.metadata_location, self.io_properties)
            return manifest_summaries(inputs, self.metadata.pyiceberg, self.snapshot)

    def held(self, *, without: Collection[int] = ()) -> Iterator[tuple[str, int]]:
        """The keys of all data files that some snapshot of the table holds, the newest first.

        Snapshots whose ids are in `without` count as gone. A key may come again. CatalogError where
        a manifest can't be read.
        """
        snapshots = sorted(self.metadata.snapshots, key=lambda one: -one.timestamp_ms)
        seen: set[str] = set()
        for snapshot in snapshots:
            if snapshot.snapshot_id not in without:
                with self._read_errors():
                    yield from self._keys(snapshot, seen)

    def _keys(self, snapshot: IcebergSnapshot, seen: set[str]) -> Iterator[tuple[str, int]]:
        """Of the snapshot's data files, but for those of manifests that were seen.

        Keeps no manifest: all snapshots of a large table have more than is worth the memory.
        """
        from accelerator.iceberg.manifests.reader import read_manifest

        inputs = inputs_for(self.metadata_location, self.io_properties)
        for manifest in self._listings.manifests(inputs, snapshot):
            path = manifest.manifest_path
            if manifest.content == DATA and path not in seen:
                seen.add(path)
                known = self._listings.cache.known(manifest) or read_manifest(inputs, manifest)
                yield from zip(
                    known.path.to_pylist(), known.sequence_number.to_pylist(), strict=True
                )

    def deleted(self) -> Callable[[LiveFile], Positions]:
        """What gives a file's deleted positions; it keeps the delete files that it reads.

        CatalogError where one can't be read, NeedsSparkError where only Spark applies one.
        """
        deletes = self.deletes()

        def positions(file: LiveFile) -> Positions:
            with self._read_errors():
                return deletes.of(file)

        return positions

    def deletes(self) -> DeletedRows:
        """Which rows of its files are deleted."""
        from accelerator.iceberg.rows.deleted_rows import DeletedRows

        return DeletedRows(self)

    def _read_errors(self) -> AbstractContextManager[None]:
        hint = "check that the files are there, whole and readable"
        return read_errors(f"the manifests of {self.facts.name}", hint)

    def arrow(
        self,
        columns: Sequence[str],
        files: Sequence[LiveFile] | None = None,
        hold: Callable[[int], None] | None = None,
        count: Callable[[int], None] = lambda _size: None,
    ) -> pa.Table:
        """The rows of those files (all if None), deletes applied, under the pinned schema.

        `count` is given the number of bytes that an object store sends for them.
        """
        from accelerator.iceberg.rows.read import read_rows  # imports PyArrow's dataset half

        return read_rows(self, columns, self.live_files() if files is None else files, hold, count)
