"""Index builds: which data files an index lacks, their blobs by Spark, their commit to the store.

Resumable as builds of cubes are: what is missing follows from the store, each job commits what it
made at once, and what a killed build left is never looked at. Several indexes of a table are built
in one pass over its files.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from accelerator.config import Config
from accelerator.errors import (
    BuildError,
    CancelledError,
    EngineError,
    IndexDefinitionError,
    StoreError,
    UnknownColumnError,
    UnknownTableError,
)
from accelerator.iceberg import Lake, LiveFile, PinnedTable
from accelerator.indexing import records
from accelerator.indexing.work import Answer, FileWork, Source, Wanted, index_files
from accelerator.progress import Progress, SilentProgress
from accelerator.statements.kinds import CreateIndex
from accelerator.store import IndexRecord, Job, SegmentRecord, Store, segment_id
from indexes.domains import NotIndexableError
from indexes.kind import OptionError, Read
from indexes.kinds import KINDS
from rewrite.dotted import joined, parts_of
from rewrite.facts import ColumnFacts

if TYPE_CHECKING:
    from accelerator.engines.spark import SparkEngine

_log = logging.getLogger("accelerator")
_FILES_MAX = 1_024  # of one job, and so of one bundle
_ROWS_MAX = 64_000_000  # of one job: their light blobs come to the driver, some 1.3 bytes a row
_BUNDLES_MERGED = 8
"""So many small bundles of an index are made one."""
_TASK_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class BuiltIndex:
    """What a build did for one index. `skipped` files can't be indexed: they are always read."""

    index: str
    files: int = 0
    rows: int = 0
    bytes: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Target:
    """An index and its table, pinned for one build."""

    record: IndexRecord
    pinned: PinnedTable
    column: ColumnFacts

    @property
    def type(self) -> str:
        """The column's, as Spark names it."""
        return self.column.type


class IndexBuilder:
    """Defines and builds indexes."""

    def __init__(
        self, lake: Lake, store: Store, config: Config, spark: Callable[[], SparkEngine]
    ) -> None:
        self._lake, self._store, self._config, self._spark = lake, store, config, spark

    def define(self, statement: CreateIndex, pinned: PinnedTable) -> IndexRecord:
        """The index that a statement describes.

        UnknownColumnError, IndexDefinitionError for what can't be.
        """
        name = ".".join(statement.column)
        found = pinned.facts.column(statement.column[0])
        if found is None or not pinned.has_field(name):
            raise UnknownColumnError(
                f"{pinned.facts.name} has no column {name}",
                hint=f"its columns are {', '.join(c.name for c in pinned.facts.columns)}",
            )
        if len(statement.column) > 1:
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
            raise IndexDefinitionError(
                str(error), hint="docs/reference/indexes.md has the options of each kind"
            ) from error
        except NotIndexableError as error:
            raise IndexDefinitionError(
                f"{statement.kind} can't index {name}: {error}",
                hint="docs/reference/indexes.md has the types of each kind",
            ) from error
        return IndexRecord(
            id=uuid.uuid4().hex,
            name=statement.name,
            table=joined(pinned.parts),
            table_uuid=pinned.facts.uuid,
            kind=statement.kind,
            field_id=found.field_id,
            column=found.name,
            created_ms=int(time.time() * 1000),
            options=dict(whole),
        )

    def target(self, record: IndexRecord) -> Target:
        """The index with its table pinned now.

        UnknownTableError, IndexDefinitionError where either is no longer what it was made for.
        """
        pinned = self._lake.pin().pinned(parts_of(record.table))
        if pinned is None or pinned.facts.uuid != record.table_uuid:
            raise UnknownTableError(
                f"index {record.name} is on {record.table}, which is gone or was made anew",
                hint=f"DROP INDEX {record.name} and create it again",
            )
        for column in pinned.facts.columns:
            if column.field_id == record.field_id:
                _check_type(record, column)
                return Target(record, pinned, column)
        raise IndexDefinitionError(
            f"index {record.name} is on the column {record.column}, which was dropped",
            hint=f"DROP INDEX {record.name}",
        )

    def missing(self, target: Target) -> list[LiveFile]:
        """Live files that the index says nothing of, each once."""
        version = self._store.table(target.record.table_uuid)
        known = records.covered(version.of(target.record.id), target.type)
        return list({f.key: f for f in target.pinned.live_files() if f.key not in known}.values())

    def build(
        self,
        wanted: Sequence[IndexRecord],
        *,
        progress: Progress | None = None,
        cancelled: threading.Event | None = None,
        tag: str = "build",
    ) -> list[BuiltIndex]:
        """Builds what indexes of one table lack; a rerun goes on where another stopped."""
        shown, stop = progress or SilentProgress(), cancelled or threading.Event()
        with self._store.reading():
            targets = [self.target(record) for record in wanted]
            for target in targets:
                self._store.pin_snapshot(target.record.table_uuid, target.pinned.snapshot_ms)
            lacking = {t.record.id: {f.key: f for f in self.missing(t)} for t in targets}
            files = {key: file for some in lacking.values() for key, file in some.items()}
            names = ", ".join(record.name for record in wanted)
            done = {t.record.id: BuiltIndex(t.record.name) for t in targets}
            shown.start(len(files), f"building {names}")
            try:
                for part in _jobs(list(files.values())):
                    _check(stop, names)
                    self._job(targets, lacking, part, done, tag)
                    shown.advance(len(part))
            except CancelledError:
                raise _cancelled(names) from None
            except EngineError as error:
                if stop.is_set():
                    raise _cancelled(names) from error
                raise BuildError(
                    f"the build of {names} failed: {error.message}",
                    hint="what it had committed stays; BUILD INDEX goes on from there",
                ) from error
            finally:
                shown.finish()
            for target in targets:
                self._merge(target)
        return list(done.values())

    def _merge(self, target: Target) -> None:
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
            job = self._store.begin_job(record.table_uuid, record.id)
            try:
                made = records.taken_apart(some, self._reader)
                bundle = records.write_bundle(self._store, job, made)
                merged = records.segments(record, some[0].fields[0][2], made, bundle)
                ids = [s.id for s in some]
                lost = self._store.add_segments(
                    record.table_uuid, merged, replaces=ids, job=job
                ).lost
            except (OSError, ValueError, StoreError) as error:
                _log.warning("bundles of index %s can't be merged: %s", record.name, error)
                self._discard(job, ())
                return
            if lost:
                self._discard(job, ())

    def _reader(self, uri: str) -> Read:
        return lambda offset, length: self._store.read_range(uri, offset, length)

    def _job(
        self,
        targets: Sequence[Target],
        lacking: Mapping[str, Mapping[tuple[str, int], LiveFile]],
        files: Sequence[LiveFile],
        done: dict[str, BuiltIndex],
        tag: str,
    ) -> None:
        """One Spark job over those files, and a commit for each index."""
        due = [t for t in targets if any(f.key in lacking[t.record.id] for f in files)]
        jobs = {t.record.id: self._store.begin_job(t.record.table_uuid, t.record.id) for t in due}
        try:
            answers = self._run(due, jobs, files, tag)
            for target in due:
                made = _made(target, files, answers, lacking[target.record.id])
                built = self._commit(target, jobs[target.record.id], made)
                del jobs[target.record.id]
                before = done[target.record.id]
                done[target.record.id] = BuiltIndex(
                    before.index,
                    before.files + built.files,
                    before.rows + built.rows,
                    before.bytes + built.bytes,
                    before.skipped + built.skipped,
                )
        finally:
            for job in jobs.values():  # it failed, or nobody wants what it made
                self._discard(job, ())

    def _run(
        self,
        due: Sequence[Target],
        jobs: Mapping[str, Job],
        files: Sequence[LiveFile],
        tag: str,
    ) -> dict[str, Answer]:
        pinned, engine = due[0].pinned, self._spark()
        source = Source(
            pinned.metadata_location,
            dict(pinned.io_properties),
            self._config.store_root,
            dict(self._config.store_options),
            pinned.defaulted_fields,
        )
        wanted = [
            Wanted(
                t.record.id,
                t.record.kind,
                dict(t.record.options),
                t.record.field_id,
                t.type,
                jobs[t.record.id].prefix,
            )
            for t in due
        ]
        work = [
            FileWork(
                f.path,
                f.file_format,
                f.record_count,
                segment_id(),
                frozenset(pinned.fixed_values(f)),
            )
            for f in files
        ]
        size = sum(f.size_bytes for f in files)
        tasks = min(len(work), max(2 * engine.parallelism, -(-size // _TASK_BYTES)))
        parts = [work[i::tasks] for i in range(tasks)]
        found = engine.run_tasks(partial(index_files, source, wanted), parts, tag)
        return {answer.path: answer for some in found for answer in some}

    def _commit(self, target: Target, job: Job, made: records.Made) -> BuiltIndex:
        record = target.record
        bundle = records.write_bundle(self._store, job, made)
        segments = records.segments(record, target.type, made, bundle)
        lost = self._store.add_segments(record.table_uuid, segments, job=job).lost
        kept = [s for s in segments if s.id not in lost]
        if lost:
            self._discard(job, kept)
        files = len(made.files) if any(s.is_bundle for s in kept) else 0
        return BuiltIndex(
            record.name,
            files,
            sum(f.record_count for f in made.files) if files else 0,
            sum(s.bytes for s in kept),
            sum(not one.light and one.sidecar is None for one in made.indexed) if files else 0,
        )

    def _discard(self, job: Job, kept: Sequence[SegmentRecord]) -> None:
        """Deletes what the job wrote, except what is kept, and ends it."""
        needed = {s.path for s in kept}
        self._store.delete_artifacts(u for u in self._store.artifacts(job) if u not in needed)
        self._store.finish_job(job)


def _made(
    target: Target,
    files: Sequence[LiveFile],
    answers: Mapping[str, Answer],
    lacking: Mapping[tuple[str, int], Any],
) -> records.Made:
    """What came of the files for one index."""
    chosen = [f for f in files if f.key in lacking]
    found = []
    for file in chosen:
        mine = (i for i in answers[file.path].indexed if i.index_id == target.record.id)
        found.append(next(mine))
    return records.Made(tuple(map(records.covered_file, chosen)), tuple(found))


def _jobs(files: Sequence[LiveFile]) -> list[list[LiveFile]]:
    """The files in parts of so many that what comes back fits the driver's memory."""
    parts: list[list[LiveFile]] = []
    rows = 0
    for file in files:
        if not parts or len(parts[-1]) >= _FILES_MAX or rows + file.record_count > _ROWS_MAX:
            parts.append([])
            rows = 0
        parts[-1].append(file)
        rows += file.record_count
    return parts


def _groups(bundles: Sequence[SegmentRecord]) -> list[list[SegmentRecord]]:
    """Bundles to be merged, of one type of the column each; none alone."""
    found: list[list[SegmentRecord]] = []
    by_type: dict[str, list[SegmentRecord]] = {}
    for one in sorted(bundles, key=lambda s: s.id):
        by_type.setdefault(one.fields[0][2], []).append(one)
    for some in by_type.values():
        files = rows = _ROWS_MAX
        for one in some:
            if files + len(one.files) > _FILES_MAX or rows + one.rows > _ROWS_MAX:
                found.append([])
                files = rows = 0
            found[-1].append(one)
            files, rows = files + len(one.files), rows + one.rows
    return [some for some in found if len(some) > 1]


def _check_type(record: IndexRecord, column: ColumnFacts) -> None:
    """REPLACE TABLE gives a column of another type the old one's field id."""
    try:
        KINDS[record.kind].options(column.type, record.options)
    except NotIndexableError as error:
        raise IndexDefinitionError(
            f"index {record.name} is on the column {column.name}, which was made anew: {error}",
            hint=f"DROP INDEX {record.name}",
        ) from error


def _check(cancelled: threading.Event, names: str) -> None:
    if cancelled.is_set():
        raise _cancelled(names)


def _cancelled(names: str) -> CancelledError:
    return CancelledError(
        f"the build of {names} was cancelled",
        hint="what it had finished is kept; BUILD INDEX goes on from there",
    )
