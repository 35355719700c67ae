"""Index builds: which data files an index lacks, their blobs, their commit to the store.

Spark's workers make the blobs, or this process where few bytes are read and no session runs. Jobs
go through the one loop of builds. Several indexes of a table are built in one pass over
its files.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from accelerator.artifacts.relate.declaration import relate_columns
from accelerator.artifacts.relate.index_validity import dimensions_of, key_columns, snapshots_of
from accelerator.artifacts.relate.lookup import Keys
from accelerator.artifacts.relate.path import Path, Snapshots, check, named, path_of
from accelerator.artifacts.sidecars import records
from accelerator.builds.builder import ArtifactBuilder, BuildServices, FileKey, plus
from accelerator.builds.loop import Loop, Offer, OpenJob, parts
from accelerator.builds.sidecars.repair import without_lost
from accelerator.builds.sidecars.shuffle import look
from accelerator.builds.sidecars.task import (
    FileWork,
    IndexRequest,
    TaskInput,
    TaskResult,
    index_files,
)
from accelerator.builds.sidecars.thread_job import index_here
from accelerator.engines.spark.lazy_engine import require_spark
from accelerator.errors import (
    UNFIT,
    IndexDefinitionError,
    StoreError,
    UnknownColumnError,
    no_column,
)
from accelerator.iceberg import LiveFile, Pin, PinnedTable
from accelerator.store import BuildJob, IndexRecord, SegmentRecord, segment_id
from indexes.domains import NotIndexableError
from indexes.kind import OptionError, Read
from indexes.kinds import KINDS
from rewrite.facts import At, ColumnFacts, TableFacts
from rewrite.identifiers.qualified_name import joined
from rewrite.text.suggestions import closest, did_you_mean

if TYPE_CHECKING:
    from accelerator.engines.spark.engine import SparkEngine

_log = logging.getLogger("accelerator")
_FILES_MAX = 1_024  # of one job, and so of one bundle
_ROWS_MAX = 64_000_000  # of one job: their light blobs come to the driver, some 1.3 bytes a row
_BUNDLES_MERGED = 8
"""So many small bundles of an index are made one."""
_UNMERGED = "bundles of index %s can't be merged: %s"
_TASK_BYTES = 64 * 1024 * 1024


class IndexDescription(Protocol):
    """An index to be made; `column`: names from the column inwards; `index_id`: "" if new."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def column(self) -> tuple[str, ...]: ...
    @property
    def options(self) -> tuple[tuple[str, str | float | bool], ...]: ...
    @property
    def index_id(self) -> str: ...


class BuiltIndex(Struct, frozen=True):
    """What a build did for one index. `skipped` files can't be indexed: they are always read.

    `lost` files had been brought by another builder first.
    """

    index: str
    files: int = 0
    rows: int = 0
    bytes: int = 0
    skipped: int = 0
    lost: int = 0


class IndexTarget(Struct, frozen=True):
    """An index and its table, pinned for one build."""

    record: IndexRecord
    pinned: PinnedTable
    column: ColumnFacts
    path: Path | None = None
    """Of a relate column: its dimensions, pinned as well."""

    @property
    def type(self) -> str:
        """The column's, as Spark names it."""
        return self.column.type

    @property
    def dimensions(self) -> records.Dimensions:
        """The states of a relate column's dimensions, as records have them."""
        return () if self.path is None else dimensions_of(self.path)

    @property
    def keys(self) -> tuple[tuple[int, str], ...]:
        """The fact's columns by which a relate column is looked up."""
        columns = None if self.path is None else key_columns(self.path, self.pinned)
        return tuple((one.field_id, one.type) for one in columns or ())


class MissingFiles(Struct, frozen=True):
    """What an index lacks: files that it says nothing of, and files that may have changed keys.

    `doubtful` gives for these the earlier state of the dimensions, and `changes` the keys since.
    `kept` gives for others the state from which on nothing has changed.
    """

    lacking: frozenset[FileKey] = frozenset()
    doubtful: Mapping[FileKey, Snapshots] = field(default_factory=dict)
    changes: Mapping[Snapshots, Keys] = field(default_factory=dict)
    kept: Mapping[FileKey, Snapshots] = field(default_factory=dict)

    @property
    def files(self) -> frozenset[FileKey]:
        """All that are to be opened."""
        return self.lacking | self.doubtful.keys()


class IndexBuilder(ArtifactBuilder[IndexRecord, IndexTarget, MissingFiles, BuiltIndex]):
    """Defines and builds indexes."""

    noun = "index"

    def __init__(self, given: BuildServices) -> None:
        super().__init__(given)
        self._dimensions, self._check = given.dimensions(), given.check

    def define(self, statement: IndexDescription, pinned: PinnedTable) -> IndexRecord:
        """The index that a statement describes.

        UnknownColumnError, IndexDefinitionError for what can't be.
        """
        name = ".".join(statement.column)
        found = pinned.facts.column(statement.column[0])
        relate = named(pinned, name) if found is None else None
        if relate is not None:
            path = path_of(relate, self._lake.pin())
            self._dimensions.check(path)
            found = path.as_column
        elif found is None or not pinned.has_field(name):
            raise no_indexed_column(name, pinned.facts)
        if relate is None and len(statement.column) > 1:
            raise IndexDefinitionError(
                f"{name} is a field inside a column, which can't be indexed yet",
                hint="index a column of its own",
            )
        options = {
            key: int(value) if isinstance(value, float) and value.is_integer() else value
            for key, value in statement.options
        }
        if len(options) < len(statement.options):
            raise IndexDefinitionError("an option is given twice", hint="give each one once")
        try:
            whole = KINDS[statement.kind].options(found.type, options)
        except OptionError as error:
            near = closest(error.unknown, error.known) if error.unknown else ()
            raise IndexDefinitionError(
                str(error),
                hint=did_you_mean(near) or "docs/reference/indexes.md has the options of each kind",
                suggestions=near,
                unknown=error.unknown,
            ) from error
        except NotIndexableError as error:
            raise IndexDefinitionError(
                f"{statement.kind} can't index {name}: {error}",
                hint="docs/reference/indexes.md has the types of each kind",
            ) from error
        return IndexRecord(
            id=statement.index_id or uuid.uuid4().hex,
            name=statement.name,
            table=joined(pinned.parts),
            table_uuid=pinned.facts.uuid,
            kind=statement.kind,
            field_id=found.field_id,
            column=found.name,
            created_ms=int(time.time() * 1000),
            options=dict(whole),
        )

    def target(self, record: IndexRecord) -> IndexTarget:
        """The index with its table pinned now.

        UnknownTableError, IndexDefinitionError where either is no longer what it was made for.
        """
        pin = self._lake.pin()
        pinned = self._pinned(record, pin, record.table, record.table_uuid, At())
        if record.field_id < 0:
            return self._relate_target(record, pinned, pin)
        for column in pinned.facts.columns:
            if column.field_id == record.field_id:
                _check_type(record, column)
                return IndexTarget(record, pinned, column)
        raise IndexDefinitionError(
            f"index {record.name} is on the column {record.column}, which was dropped",
            hint=f"DROP INDEX {record.name}",
        )

    def _relate_target(self, record: IndexRecord, pinned: PinnedTable, pin: Pin) -> IndexTarget:
        known = {one.id: one for one in relate_columns(pinned.properties)}
        relate = known.get(record.field_id)
        if relate is None:
            raise IndexDefinitionError(
                f"index {record.name} is on the relate column {record.column}, which was dropped",
                hint=f"DROP INDEX {record.name}",
            )
        path = path_of(relate, pin)
        check(path, pinned)
        _check_type(record, path.as_column)
        return IndexTarget(record, pinned, path.as_column, path)

    def missing(self, target: IndexTarget) -> MissingFiles:
        """What the index lacks; of a relate column also what a change of a dimension may touch."""
        built = self._store.table(target.record.table_uuid).of(target.record.id)
        live = {f.key for f in target.pinned.live_files()}
        if target.path is None:
            return MissingFiles(frozenset(live - records.covered(built, target.type)))
        usable = [one for one in built if records.answers_for(one, target.type)]
        now = target.path.snapshots
        holding = [one for one in usable if snapshots_of(one) == now]
        lacking = live - records.covered(holding, target.type)
        doubtful, kept = dict[FileKey, Snapshots](), dict[FileKey, Snapshots]()
        changes: dict[Snapshots, Keys] = {}
        for before in dict.fromkeys(map(snapshots_of, usable)):
            some = [one for one in usable if snapshots_of(one) == before]
            told = records.covered(some, target.type) - kept.keys() - doubtful.keys()
            files = lacking & told
            keys = None if before == now else self._dimensions.changed(target.path, before)
            if keys is None or not files:
                continue
            if len(keys):
                doubtful |= dict.fromkeys(files, before)
                changes[before] = keys
            else:
                kept |= dict.fromkeys(files, before)
        unknown = lacking - doubtful.keys() - kept.keys()
        return MissingFiles(frozenset(unknown), doubtful, changes, kept)

    def tables(self, target: IndexTarget) -> Sequence[PinnedTable]:
        return (target.pinned, *(() if target.path is None else target.path.dimensions))

    def keys(self, missing: MissingFiles) -> Collection[FileKey]:
        return missing.files

    def computed(self, target: IndexTarget) -> bool:
        return target.path is not None and self._dimensions.is_large(target.path)

    def make(
        self,
        targets: Sequence[IndexTarget],
        missing: Sequence[MissingFiles],
        files: Sequence[LiveFile],
        loop: Loop,
    ) -> list[BuiltIndex]:
        due = {t.record.id: one for t, one in zip(targets, missing, strict=True)}
        done = {t.record.id: BuiltIndex(t.record.name) for t in targets}
        here = self.plan(targets, files)
        for target in targets:
            self._keep(target, due[target.record.id].kept)
        # What comes back of a job fits the driver's memory.
        jobs = parts(files, files_max=_FILES_MAX, weigh=lambda f: f.record_count, most=_ROWS_MAX)
        for part in loop.each(jobs):
            self._job(targets, due, part, done, loop, here)
        for target in targets:
            self._merge(target)
        return list(done.values())

    def check_bytes(self, name: str, files: Sequence[LiveFile]) -> bool:
        """Returns whether so few bytes are read that the index is built in this process.

        SparkMissingError if they aren't, and Spark isn't installed.
        """
        size, most = sum(f.size_bytes for f in files), self._config.build_in_process_bytes_max
        if size <= most or self._spark_runs():
            return size <= most
        require_spark(
            self._spark,
            f"index {name} can't be built in this process ({size:,} bytes of data files are read,"
            " more than build_in_process_bytes_max)",
            f"raise build_in_process_bytes_max, now {most:,}",
        )
        return False

    def plan(self, targets: Sequence[IndexTarget], files: Sequence[LiveFile]) -> bool:
        """Returns whether the files are few bytes, no session runs, and no dimension is large.

        SparkMissingError if Spark has to build from them, and isn't installed.
        """
        if self._spark_runs() or not files:
            return not files
        large = [p for t in targets if (p := t.path) is not None and self._dimensions.is_large(p)]
        for path in large:
            self._dimensions.check_spark(path)
        return self.check_bytes(", ".join(t.record.name for t in targets), files) and not large

    def repair(self, target: IndexTarget) -> None:
        record = target.record
        if without_lost(self._store, record)[0]:
            with OpenJob(self._store, record) as open_job:
                open_job.commit(lambda: without_lost(self._store, record))

    def _merge(self, target: IndexTarget) -> None:
        """Makes few bundles of the many that small builds have left.

        A statement reads something of each. What can't be read stays as it is.
        """
        record = target.record
        built = self._store.table(record.table_uuid).of(record.id)
        mine = [s for s in built if s.is_bundle and records.answers_for(s, target.type)]
        small = [s for s in mine if len(s.files) * 2 <= _FILES_MAX and s.rows * 2 <= _ROWS_MAX]
        if len(small) < _BUNDLES_MERGED:
            return
        for some in _groups(small):
            try:
                with OpenJob(self._store, record) as open_job:
                    made = records.taken_apart(some, self._reader)
                    bundle = records.write_bundle(self._writer(open_job.job), made)
                    merged = records.segments(
                        record, some[0].fields[0][2], made, bundle, some[0].dimensions
                    )
                    gone = [s.id for s in some]
                    open_job.commit(partial(_offer, gone, merged))
            except (OSError, ValueError, StoreError) as error:
                _log.warning(_UNMERGED, record.name, error)
                return

    def _writer(self, job: BuildJob) -> Callable[[str, bytes], str]:
        return lambda name, data: self._store.write_artifact(job, name, data)

    def _reader(self, uri: str) -> Read:
        return lambda offset, length: self._store.read_range(uri, offset, length)

    def _job(
        self,
        targets: Sequence[IndexTarget],
        wanted: Mapping[str, MissingFiles],
        files: Sequence[LiveFile],
        done: dict[str, BuiltIndex],
        loop: Loop,
        here: bool = False,
    ) -> None:
        """One job over those files, `here` or by Spark, and a commit for each index."""
        due = [t for t in targets if any(f.key in wanted[t.record.id].files for f in files)]
        with ExitStack() as stack:
            jobs = {t.record.id: stack.enter_context(OpenJob(self._store, t.record)) for t in due}
            opened = {i: one.job for i, one in jobs.items()}
            answers = self._run(due, opened, wanted, files, loop.tag, here)
            loop.gate()
            for target in due:
                lacks = wanted[target.record.id]
                made = _job_result(target, files, answers, lacks.files)
                built = self._commit(target, jobs[target.record.id], made, lacks.doubtful)
                done[target.record.id] = plus(done[target.record.id], built)

    def _run(
        self,
        due: Sequence[IndexTarget],
        jobs: Mapping[str, BuildJob],
        wanted_of: Mapping[str, MissingFiles],
        files: Sequence[LiveFile],
        tag: str,
        here: bool,
    ) -> dict[str, TaskResult]:
        pinned = due[0].pinned
        paths = {t.record.field_id: t.path for t in due if t.path is not None}
        large = {number for number, path in paths.items() if self._dimensions.is_large(path)}
        for number in large:
            self._dimensions.check(paths[number], tag)
        changes, places = list[Keys](), dict[tuple[str, Snapshots], int]()
        for target in due:
            for before, keys in wanted_of[target.record.id].changes.items():
                places[target.record.id, before] = len(changes)
                changes.append(keys)
        source = TaskInput(
            pinned.metadata_location,
            dict(pinned.io_properties),
            self._config.store_root,
            dict(self._config.store_options),
            pinned.defaulted_fields,
            {i: self._dimensions.lookup(path) for i, path in paths.items() if i not in large},
            tuple(changes),
        )
        wanted = [
            IndexRequest(
                t.record.id,
                t.record.kind,
                dict(t.record.options),
                t.record.field_id,
                t.type,
                jobs[t.record.id].prefix,
                t.keys,
            )
            for t in due
        ]
        work = [
            FileWork(
                f.path,
                f.file_format,
                f.record_count,
                f.size_bytes,
                segment_id(),
                f.fixed,
                {
                    one: places[one, wanted_of[one].doubtful[f.key]]
                    for one in jobs
                    if f.key in wanted_of[one].doubtful
                },
            )
            for f in files
        ]
        found = list[TaskResult]()
        looked_up = [one for one in wanted if one.field_id not in large]
        if here:
            found += index_here(source, wanted, work, lambda: self._check(tag))
        elif looked_up:
            engine, task = self._spark(), partial(index_files, source, looked_up)
            parts = _parts(work, engine)
            found += (one for some in engine.run_tasks(task, parts, tag) for one in some)
        for number in large:
            mine = [one for one in wanted if one.field_id == number]
            lacking = frozenset[FileKey]().union(*(wanted_of[one.index_id].files for one in mine))
            some = [w for f, w in zip(files, work, strict=True) if f.key in lacking]
            found += self._joined(source, mine, some, paths[number], tag)
        answers = dict[str, TaskResult]()
        for each in found:
            told = answers.get(each.path, TaskResult(each.path))
            answers[each.path] = TaskResult(each.path, (*told.indexed, *each.indexed))
        return answers

    def _joined(
        self,
        source: TaskInput,
        wanted: Sequence[IndexRequest],
        files: Sequence[FileWork],
        path: Path,
        tag: str,
    ) -> Sequence[TaskResult]:
        """What the files hold for indexes on one relate column, whose dimensions are large."""
        self._dimensions.check_spark(path)
        engine, held = self._spark(), dict[str, frozenset[str]]()
        from accelerator.builds.sidecars.spark import index_joined

        ids = frozenset(one.index_id for one in wanted)
        doubtful = [f for f in files if ids & f.doubtful.keys()]
        if doubtful:
            told = engine.run_tasks(partial(look, source, wanted), _parts(doubtful, engine), tag)
            held = {one.path: one.indexes for some in told for one in some}
        whole = [f for f in files if held.get(f.path) == ids]
        answers = [
            TaskResult(f.path, tuple(records.Indexed(i, unchanged=True) for i in ids))
            for f in whole
        ]
        due = [replace(f, doubtful={}) for f in files if held.get(f.path) != ids]
        if due:
            tasks = len(_parts(due, engine))
            with self._dimensions.values(path) as values:
                answers += index_joined(engine, source, wanted, due, held, values, tasks, tag)
        return answers

    def _keep(self, target: IndexTarget, kept: Mapping[FileKey, Snapshots]) -> None:
        """What was built from other states of the dimensions, and holds without a look at files."""
        if kept:
            with OpenJob(self._store, target.record) as open_job:
                open_job.commit(lambda: self._restamped(target, kept, frozenset()))

    def _restamped(
        self, target: IndexTarget, same: Mapping[FileKey, Snapshots], again: Collection[FileKey]
    ) -> Offer:
        """Ids of records that go, and those that stand in their place.

        What was built of the `same` files from these states holds under the target's own; of these
        and the files built `again` every other record ends. The rest stays as it is.
        """
        if not same and not again:
            return [], []
        gone, found = list[int](), list[SegmentRecord]()
        for record in self._store.table(target.record.table_uuid).of(target.record.id):
            keys = {(f.path, f.sequence_number) for f in record.files}
            before = snapshots_of(record)
            if record.dimensions == target.dimensions or not (
                any(key in same for key in keys) or any(key in again for key in keys)
            ):
                continue
            usable = records.answers_for(record, target.type)
            holds = {key for key in keys if usable and same.get(key) == before}
            others = {key for key in keys if key not in same and key not in again}
            gone.append(record.id)
            parts = [(holds, target.dimensions), (others, record.dimensions)]
            found += records.divided(record, parts)
        return gone, found

    def _commit(
        self,
        target: IndexTarget,
        open_job: OpenJob,
        made: records.IndexJobResult,
        doubtful: Mapping[FileKey, Snapshots],
    ) -> BuiltIndex:
        """Adds what was made; of doubtful files without a changed key what there is goes on."""
        record = target.record
        keys = [(file.path, file.sequence_number) for file in made.files]
        new = [i for i, indexed in enumerate(made.indexed) if not indexed.unchanged]
        again = {keys[i] for i in new}
        same = {key: doubtful[key] for key in keys if key not in again}
        made = records.IndexJobResult(
            tuple(made.files[i] for i in new), tuple(made.indexed[i] for i in new)
        )
        segments = list[SegmentRecord]()
        if new:
            bundle = records.write_bundle(self._writer(open_job.job), made)
            segments = records.segments(record, target.type, made, bundle, target.dimensions)

        def offer() -> Offer:
            gone, restamped = self._restamped(target, same, again) if target.path else ([], [])
            return gone, [*restamped, *segments]

        ours = {one.id for one in segments}
        kept = [one for one in open_job.commit(offer)[0] if one.id in ours]
        files = len(made.files) if any(s.is_bundle for s in kept) else 0
        return BuiltIndex(
            record.name,
            files,
            sum(f.record_count for f in made.files) if files else 0,
            sum(s.bytes for s in kept),
            sum(not one.light and one.sidecar is None for one in made.indexed) if files else 0,
            len(made.files) - files,
        )


def _offer(gone: list[int], made: list[SegmentRecord]) -> Offer:
    return gone, made


def _job_result(
    target: IndexTarget,
    files: Sequence[LiveFile],
    answers: Mapping[str, TaskResult],
    lacking: Collection[FileKey],
) -> records.IndexJobResult:
    """What came of the files for one index."""
    chosen = [f for f in files if f.key in lacking]
    found = []
    for file in chosen:
        mine = (i for i in answers[file.path].indexed if i.index_id == target.record.id)
        found.append(next(mine))
    return records.IndexJobResult(tuple(map(records.covered_file, chosen)), tuple(found))


def _parts(work: Sequence[FileWork], engine: SparkEngine) -> list[Sequence[FileWork]]:
    """The files of each task."""
    size = sum(f.size_bytes for f in work)
    tasks = min(len(work), max(2 * engine.parallelism, -(-size // _TASK_BYTES)))
    return [work[i::tasks] for i in range(tasks)]


def _groups(bundles: Sequence[SegmentRecord]) -> list[list[SegmentRecord]]:
    """Bundles to be merged, of one type of the column and one state of dimensions; none alone."""
    found: list[list[SegmentRecord]] = []
    alike: dict[tuple[str, records.Dimensions], list[SegmentRecord]] = {}
    for one in sorted(bundles, key=lambda s: s.id):
        alike.setdefault((one.fields[0][2], one.dimensions), []).append(one)
    for some in alike.values():
        files = rows = _ROWS_MAX
        for one in some:
            if files + len(one.files) > _FILES_MAX or rows + one.rows > _ROWS_MAX:
                found.append([])
                files = rows = 0
            found[-1].append(one)
            files, rows = files + len(one.files), rows + one.rows
    return [some for some in found if len(some) > 1]


def no_indexed_column(name: str, table: TableFacts) -> UnknownColumnError:
    """Returns the error for a name that neither a column nor a relate column of the table has."""
    columns = [one.name for one in table.columns]
    more = "; ALTER TABLE … ADD RELATE COLUMN adds those of dimensions"
    return no_column(table.name, name, columns, f"its columns are {', '.join(columns)}{more}")


def _check_type(record: IndexRecord, column: ColumnFacts) -> None:
    """REPLACE TABLE gives a column of another type the old one's field id."""
    kind = KINDS.get(record.kind)
    if kind is None:
        raise IndexDefinitionError(
            f"index {record.name} is of a kind that this release doesn't know: {record.kind[:80]}",
            hint=f"use the release that made it, or DROP INDEX {record.name}",
        )
    try:
        kind.options(column.type, record.options)
    except NotIndexableError as error:
        raise IndexDefinitionError(
            f"index {record.name} is on the column {column.name}, which was made anew: {error}",
            hint=f"DROP INDEX {record.name}",
        ) from error
    except UNFIT as error:
        raise IndexDefinitionError(
            f"index {record.name} has options that can't be read: {error}",
            hint=f"DROP INDEX {record.name}, and create it again",
        ) from error
