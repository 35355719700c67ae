"""Builds: which files a cube lacks, their segments, their commit to the store; merges.

Spark makes the segments, or DuckDB where few bytes are read and no session runs. Jobs go through
the one `loop`. Segments whose artifact is gone are forgotten first, and so built again. What the
cells of finer cubes give is made of them by DuckDB, and no data file is read for it.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from accelerator.artifacts.segments.checksums import altered, check
from accelerator.artifacts.segments.records import (
    DERIVED_FROM,
    NOTHING,
    Counts,
    WrittenSegment,
    bounds_of,
    built_segment,
    merged_segment,
)
from accelerator.builds.builder import ArtifactBuilder, BuildServices, FileKey, plus
from accelerator.builds.loop import Loop, OpenJob, parts
from accelerator.builds.segments.compaction import worth_merging
from accelerator.builds.segments.duckdb_job import InProcess
from accelerator.builds.segments.inspection import inspect
from accelerator.builds.segments.repair import broken_segments, unreadable_segments
from accelerator.builds.segments.roll_up import RollUpSource, definitions, finer, sources
from accelerator.engines.duckdb.engine import parquet_scan, text_literal
from accelerator.engines.spark.lazy_engine import is_spark_installed, require_spark
from accelerator.errors import (
    BuildError,
    EngineError,
    StoreError,
    UnknownTableError,
)
from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.store import BuildJob, CubeRecord, SegmentRecord, segment_id
from cubes.coverage import Coverage, cover
from cubes.definition import CubeDefinition, Edge, from_dict
from cubes.match_result import Needs
from cubes.sql.build import SEGMENT, countable, merge_select, renamed
from rewrite.facts import At
from rewrite.reason import DeclinedError

Missing = dict[str, dict[int, int]]
"""Rows without a partner, by data file and edge."""
_log = logging.getLogger("accelerator")
_MERGED = "(FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE 122880)"
"""Light to decode, and readable by Spark: with Parquet's version 2 DuckDB writes doubles in an
encoding that Spark doesn't know. Smaller groups are pruned better, and cost DuckDB more than that
saves."""


_TEXT_BYTES, _VALUE_BYTES = 32, 8  # of a value in Spark's rows, about
_TASK_BYTES = 64 * 1024 * 1024  # of compressed data files, whose cells one task sorts and writes
_SMALL_BYTES = 64 * 1024 * 1024  # of a joined table, which every task then has in memory whole
_INSTEAD = "a cube without what is named here is built in this process, and queries are answered"


class Built(Struct, frozen=True):
    """What a build or merge did; `lost` segments had been brought by another builder first.

    `derived` are those of the segments that were made of a finer cube's cells.
    """

    cube: str
    files: int = 0
    segments: int = 0
    rows: int = 0
    bytes: int = 0
    lost: int = 0
    derived: int = 0


class CubeTarget(Struct, frozen=True):
    """A cube and its tables, pinned for one build."""

    record: CubeRecord
    cube: CubeDefinition
    pinned: tuple[PinnedTable, ...]

    @property
    def needs(self) -> Needs:
        """A segment is up to date when every dimension is at the pinned snapshot."""
        return Needs(named=tuple((o, o) for o in range(1, len(self.pinned))))


class SegmentJob(Struct, frozen=True):
    """Data files that are built at once; `ids` are those of their segments, by paths.

    `settings` are the session's before it began: a statement may change them meanwhile.
    """

    target: CubeTarget
    files: Sequence[LiveFile]
    ids: dict[str, int]
    unique: Mapping[int, bool | None]
    loop: Loop
    settings: Mapping[str, str]


class SegmentBuilder(ArtifactBuilder[CubeRecord, CubeTarget, tuple[LiveFile, ...], Built]):
    """Builds and merges the segments of cubes."""

    noun = "cube"

    def __init__(self, given: BuildServices) -> None:
        super().__init__(given)
        self._duckdb, self._dimensions = given.duckdb, given.dimensions
        self._looked_at: set[int] = set()
        # A snapshot never changes, so what was counted on it holds for every cube.
        self._unique: dict[Hashable, bool] = {}

    def target(self, record: CubeRecord) -> CubeTarget:
        """The cube with its tables pinned now; columns under the names that they have now."""
        try:
            cube = from_dict(dict(record.definition))
        except ValueError as error:
            raise BuildError(
                f"cube {record.name} is kept by a definition that can't be read: {error}",
                hint=f"use the release that made it, or DROP CUBE {record.name}",
            ) from error
        pin = self._lake.pin()
        pinned = tuple(
            self._pinned(record, pin, one.name, one.uuid, At(ref=one.ref)) for one in cube.tables
        )
        names = {(o, c.field_id): c.name for o, p in enumerate(pinned) for c in p.facts.columns}
        missing = cube.fields() - names.keys()
        if missing:
            raise BuildError(
                f"cube {record.name} uses a column that was dropped",
                hint=f"DROP CUBE {record.name} and create it again without the column",
            )
        return CubeTarget(record, renamed(cube, names), pinned)

    def finest_first(self, records: Sequence[CubeRecord]) -> list[CubeRecord]:
        """A table's cubes in an order in which each stands behind those that it can be made of.

        Those that can't be built any more come last.
        """
        if len(records) < 2:
            return list(records)
        settings = self._settings()
        others = definitions(self._store, records[0].table_uuid)

        def finer_ones(record: CubeRecord) -> float:
            try:
                target = self.target(record)
            except (BuildError, UnknownTableError, ValueError):  # perhaps of a later release
                return math.inf
            found = finer(others, record, target.cube, target.pinned, settings)
            return sum(1 for _ in found)

        return sorted(records, key=lambda record: (finer_ones(record), record.name))

    def missing(self, target: CubeTarget) -> tuple[LiveFile, ...]:
        """Live files without an up-to-date segment; one path that stands twice is never built."""
        times = Counter(f.path for f in target.pinned[0].live_files())
        return tuple(f for f in self.coverage(target).uncovered if times[f.path] == 1)

    def tables(self, target: CubeTarget) -> Sequence[PinnedTable]:
        return target.pinned

    def keys(self, missing: tuple[LiveFile, ...]) -> Collection[FileKey]:
        return [file.key for file in missing]

    def computed(self, _target: CubeTarget) -> bool:
        return True

    def coverage(
        self, target: CubeTarget, *, exactly: bool = False, without: Collection[int] = frozenset()
    ) -> Coverage:
        """What is up to date: every dimension at its pinned snapshot.

        Or, but `exactly`, at an earlier one from which on nothing has changed that the files have.
        Segments of the ids `without` are as if they weren't there.
        """
        holds = None
        if not exactly:
            # Imports Arrow's compute module.
            from accelerator.artifacts.segments.validity import SegmentsThatHold

            pinned = dict(enumerate(target.pinned))
            holds = SegmentsThatHold(target.cube, pinned, self._dimensions(), lambda: None)
        built = self._store.table(target.record.table_uuid).of(target.record.id)
        return cover(
            target.cube,
            [one for one in built if one.id not in without] if without else built,
            target.pinned[0].live_files(),
            {o: p.facts for o, p in enumerate(target.pinned)},
            target.needs,
            self._settings(),
            holds,
        )

    def sound_coverage(self, target: CubeTarget) -> tuple[Coverage, frozenset[int]]:
        """What is up to date and has its artifact, and the ids of segments whose artifact hasn't.

        Such ones are missing or of another size than was recorded; nothing is forgotten of them.
        """
        lost = frozenset[int]()
        while True:
            found = self.coverage(target, without=lost)
            broken = broken_segments(self._store, found.segments)
            if not broken:
                return found, lost
            lost |= set(broken)

    def plan(self, targets: Sequence[CubeTarget], files: Sequence[LiveFile]) -> list[RollUpSource]:
        """Returns the finer cubes' segments that the files' cells can be made of, in jobs.

        SparkMissingError if Spark has to build the others, and isn't installed.
        """
        (target,) = targets
        if not files:
            return []
        settings = dict(self._settings())
        found = sources(self._store, target.record, target.cube, target.pinned, files, settings)
        planned = [part for one in found for part in one.parts(self._config)]
        derived = {segment.files[0].path for one in planned for segment in one.segments}
        self._in_process(target, [file for file in files if file.path not in derived])
        return planned

    def make(
        self,
        targets: Sequence[CubeTarget],
        missing: Sequence[tuple[LiveFile, ...]],  # noqa: ARG002 - the base class's
        files: Sequence[LiveFile],
        loop: Loop,
    ) -> list[Built]:
        (target,) = targets
        done = Built(target.record.name)
        for source in self.plan(targets, files):  # raises before the first job
            loop.check()
            made, taken = self._derive(target, source, loop)
            files = tuple(f for f in files if f.path not in taken)
            done = plus(done, made)
            loop.progress.advance(len(taken))
        here = self._in_process(target, files)
        unique = self._unique_edges(target, loop, here) if files else {}
        files_max, most = self._config.build_files_per_job, self._config.build_bytes_per_job
        due = parts(files, files_max=files_max, weigh=lambda f: f.size_bytes, most=most)
        for part in loop.each(due):
            done = plus(done, self._job(target, part, unique, loop, here))
        return [done]

    def _in_process(self, target: CubeTarget, files: Sequence[LiveFile]) -> InProcess | None:
        """Returns what builds these files without Spark; None if Spark builds them.

        SparkMissingError if Spark has to, and isn't installed.
        """
        if not files or self._spark_runs():
            return None
        name, most = target.record.name, self._config.build_in_process_bytes_max
        try:
            found = InProcess(target.cube, target.pinned, self._duckdb, _MERGED)
            size = max(sum(f.size_bytes for f in files), found.size_bytes)
            if size <= most:
                return found
            why = f"{size:,} bytes of data files are read, more than build_in_process_bytes_max"
            instead = f"raise build_in_process_bytes_max, now {most:,}"
        except DeclinedError as error:
            why, instead = str(error), _INSTEAD
        require_spark(self._spark, f"cube {name} can't be built in this process ({why})", instead)
        _log.info("%s is built by Spark: %s", name, why)
        return None

    def compact(self, record: CubeRecord, *, tag: str = "", small: bool = False) -> Built:
        """Merges all up-to-date segments to one, without reading a data file.

        With `small` those alone of which there are many of one size, and smaller ones
        (`compaction.py`).
        """
        with self._store.reading():
            target = self.target(record)
            if not small:
                return self._compact(target, tag, list)
            found = worth_merging(self.coverage(target, exactly=True).segments)
            return self._compact(target, tag, worth_merging) if found else Built(record.name)

    def _compact(
        self,
        target: CubeTarget,
        tag: str,
        chosen: Callable[[Sequence[SegmentRecord]], Sequence[SegmentRecord]],
    ) -> Built:
        record = target.record
        while True:  # altered ones, merged, would look sound
            self.repair(target)
            segments = chosen(self.coverage(target, exactly=True).segments)
            broken = broken_segments(self._store, segments, contents=True)
            if not broken:
                break
            self._store.remove_segments(record.table_uuid, broken)
        if len(segments) < 2:
            return Built(record.name)
        with OpenJob(self._store, record) as open_job:
            merged = self._merge(target, segments, open_job.job, tag)
            return _built(record, *open_job.commit(lambda: ((), [merged])))

    def forget_unreadable(self, table_uuid: str, segments: Sequence[SegmentRecord]) -> list[int]:
        """Forgets those of the segments that can't be read, or aren't what was written.

        Each is decoded once a session; what a file is written over with later is told by its
        checksum, which is computed again where its size or time has changed.
        """
        unseen = [s for s in segments if s.id not in self._looked_at]
        seen = [s for s in segments if s.id in self._looked_at]
        self._looked_at |= {s.id for s in unseen}
        broken = [*unreadable_segments(self._duckdb, self._store, unseen)]
        broken += [s.id for s in altered(seen, self._store)]
        if broken:
            self._store.remove_segments(table_uuid, broken)
        return broken

    def repair(self, target: CubeTarget) -> None:
        """Forgets segments whose artifact is gone or cut, merged ones before their inputs."""
        table = target.record.table_uuid
        while broken := broken_segments(self._store, self.coverage(target).segments):
            self._store.remove_segments(table, broken)

    def _merge(
        self, target: CubeTarget, segments: Sequence[SegmentRecord], job: BuildJob, tag: str
    ) -> SegmentRecord:
        filled = [s for s in segments if s.rows]
        number = segment_id()
        if filled:
            ids = ", ".join(str(s.id) for s in filled)
            scan = parquet_scan(self._store.fetch(s.path for s in filled))
            source = f"(SELECT * FROM {scan} WHERE {SEGMENT} IN ({ids}))"
            select = merge_select(target.cube, source, number)
            self._copy(select, f"{job.uri}/merged.parquet", tag)
        written = inspect(self._store, self._duckdb, job).get(number, _nothing(job, "merged"))
        return merged_segment(segments, number, written)

    def _unique_edges(
        self, target: CubeTarget, loop: Loop, here: InProcess | None
    ) -> dict[int, bool | None]:
        """Whether each edge's key is unique on the pinned dimension; None: it isn't countable."""
        found: dict[int, bool | None] = {}
        for edge in target.cube.edges:
            loop.check()
            if not countable(edge):
                found[edge.occurrence] = None
                continue
            pinned = target.pinned[edge.occurrence]
            columns = tuple(own.field_id for own, _ in edge.keys)
            facts = pinned.facts
            key = (facts.uuid, facts.snapshot_id, columns, facts.layouts(columns))
            if key not in self._unique:
                self._unique[key] = self._is_unique(pinned, edge, loop, here)
            found[edge.occurrence] = self._unique[key]
        return found

    def _is_unique(
        self, pinned: PinnedTable, edge: Edge, loop: Loop, here: InProcess | None
    ) -> bool:
        if here is not None:
            try:
                return here.is_unique(edge, loop.tag)
            except (DeclinedError, EngineError) as error:
                _log.info("keys of %s are counted by Spark: %s", pinned.facts.name, error)
        engine = require_spark(
            self._spark, f"keys of {pinned.facts.name} are counted by Spark", _INSTEAD
        )
        from cubes.spark import is_unique

        with engine.tagged(loop.tag), engine.stage(pinned, pinned.live_files()) as staged:
            return is_unique(engine.session, edge, staged.sql)

    def _derive(
        self, target: CubeTarget, source: RollUpSource, loop: Loop
    ) -> tuple[Built, frozenset[str]]:
        """Makes segments of a finer cube's cells; what is built, and the paths of its files.

        Where DuckDB can't, nothing is, and the files are read.
        """
        record = target.record
        live = {f.path: f for f in target.pinned[0].live_files()}
        files = [live[s.files[0].path] for s in source.segments]
        begun = self._begun(target, files, {}, loop)
        ids = begun.ids
        filled = [s for s in source.segments if s.rows]
        with OpenJob(self._store, record) as open_job:
            job = open_job.job
            try:
                scan = parquet_scan(self._store.fetch(s.path for s in filled))
                check(filled, self._store)
                if filled:
                    select = source.derivation.select(
                        scan, {s.id: ids[s.files[0].path] for s in filled}
                    )
                    self._copy(select, f"{job.uri}/cells.parquet", loop.tag)
                written = inspect(self._store, self._duckdb, job)
            except (DeclinedError, EngineError, StoreError) as error:
                _log.info("cells of %s aren't made of another cube's: %s", record.name, error)
                return Built(record.name), frozenset()
            facts = {DERIVED_FROM: source.cube_id}
            segments = self._records(begun, written, source.counts(), job, facts)
            built = _built(record, *open_job.commit(lambda: ((), segments)))
        return replace(built, derived=built.segments), frozenset(ids)

    def _copy(self, select: str, uri: str, tag: str) -> None:
        """Writes what DuckDB makes of the SELECT."""
        with self._store.writing(uri) as path:
            self._duckdb.execute(f"COPY ({select}) TO {text_literal(path)} {_MERGED}", tag=tag)

    def _job(
        self,
        target: CubeTarget,
        files: Sequence[LiveFile],
        unique: dict[int, bool | None],
        loop: Loop,
        here: InProcess | None,
    ) -> Built:
        def build(
            write: Callable[[SegmentJob, BuildJob], tuple[dict[int, WrittenSegment], Counts]],
        ) -> Built:
            begun = self._begun(target, files, unique, loop)
            with OpenJob(self._store, target.record) as open_job:
                segments = self._records(begun, *write(begun, open_job.job), open_job.job)
                return _built(target.record, *open_job.commit(lambda: ((), segments)))

        if here is not None:
            try:
                return build(partial(self._write_here, here))
            except _NotHereError as error:
                if isinstance(error.__cause__, EngineError) and not is_spark_installed():
                    raise error.__cause__ from None
                _log.info("%s is built by Spark: %s", target.record.name, error.__cause__)
        return build(self._write)

    def _begun(
        self,
        target: CubeTarget,
        files: Sequence[LiveFile],
        unique: Mapping[int, bool | None],
        loop: Loop,
    ) -> SegmentJob:
        ids = {f.path: segment_id() for f in files}
        return SegmentJob(target, files, ids, unique, loop, self._settings())

    def _records(
        self,
        begun: SegmentJob,
        written: dict[int, WrittenSegment],
        counts: Counts,
        job: BuildJob,
        facts: dict[str, str] | None = None,
    ) -> list[SegmentRecord]:
        """The records of what a job wrote for its files."""
        target, ids = begun.target, begun.ids
        none = _nothing(job, "none")
        bounds = bounds_of(target.cube, target.pinned[0], begun.files)
        return [
            built_segment(
                target.cube,
                target.record.id,
                target.pinned,
                file,
                ids[file.path],
                written.get(ids[file.path], none),
                counts,
                bounds,
                begun.settings,
                facts,
            )
            for file in begun.files
        ]

    def _write(self, begun: SegmentJob, job: BuildJob) -> tuple[dict[int, WrittenSegment], Counts]:
        """Runs the Spark jobs over those files: their cells, and their rows without partners."""
        target, files, ids, loop = begun.target, begun.files, begun.ids, begun.loop
        why = f"cube {target.record.name} is built by Spark"
        engine = require_spark(self._spark, why, _INSTEAD)
        from cubes.spark import count_missing, write_segments

        with engine.naming_workers(), ExitStack() as stack:
            stack.enter_context(engine.tagged(loop.tag))
            engine.register_functions()
            sources = [stack.enter_context(engine.stage(target.pinned[0], files)).sql]
            for pinned in target.pinned[1:]:
                sources.append(stack.enter_context(engine.stage(pinned, pinned.live_files())).sql)
            size = sum(f.size_bytes for f in files)
            tasks = max(2 * engine.parallelism, -(-size // _TASK_BYTES))
            stack.enter_context(engine.shuffling(size))
            write_segments(
                engine.session,
                target.cube,
                sources,
                ids,
                job.uri,
                min(len(files), tasks),
                small=[o for o in range(1, len(sources)) if _memory(target, o) <= _SMALL_BYTES],
                write=engine.segments_writer(target.pinned[0].parts, self._store),
            )
            loop.check()
            written = inspect(self._store, self._duckdb, job)
            session = engine.session

            def missing(edges: Sequence[Edge]) -> Missing:
                return count_missing(session, target.cube, edges, sources)

            return written, _counts(begun, written, missing)

    def _write_here(
        self, here: InProcess, begun: SegmentJob, job: BuildJob
    ) -> tuple[dict[int, WrittenSegment], Counts]:
        """The same by DuckDB; _NotHereError where it can't."""
        files, ids, loop = begun.files, begun.ids, begun.loop

        def missing(edges: Sequence[Edge]) -> Missing:
            return here.missing(edges, files, ids, loop.tag)

        try:
            with self._store.writing(f"{job.uri}/cells.parquet") as path:
                here.write(files, ids, path, loop.tag)
            loop.check()
            written = inspect(self._store, self._duckdb, job)
            return written, _counts(begun, written, missing)
        except (EngineError, OSError, ValueError) as error:
            raise _NotHereError from error


class _NotHereError(Exception):
    """A job that DuckDB can't do; Spark does it as one of its own."""


def _counts(
    begun: SegmentJob,
    written: Mapping[int, WrittenSegment],
    missing: Callable[[Sequence[Edge]], Missing],
) -> Counts:
    """Counts the files' rows without partners, unless statistics prove that there are none."""
    target, files, ids, unique = begun.target, begun.files, begun.ids, begun.unique
    edges = [e for e in target.cube.edges if _chain_unique(e, target.cube.edges, unique)]
    rows = {f.path: _live_rows(f) for f in files}
    joined = {f.path: written.get(ids[f.path], NOTHING).raw_rows for f in files}
    found = None
    if edges and not _nothing_missing(target, edges, rows, joined):
        found = missing(edges)
    return Counts(unique, frozenset(e.occurrence for e in edges), found)


def _nothing(job: BuildJob, name: str) -> WrittenSegment:
    """What is said of a segment without cells: it has a name and no file."""
    return replace(NOTHING, uri=f"{job.uri}/{name}.parquet")


def _chain_unique(edge: Edge, edges: Sequence[Edge], unique: Mapping[int, bool | None]) -> bool:
    """Rows without a partner are countable in one pass when no edge multiplies rows."""
    return all(unique.get(e.occurrence) for e in edges) and unique.get(edge.occurrence) is True


def _nothing_missing(
    target: CubeTarget, edges: Sequence[Edge], rows: dict[str, int | None], joined: dict[str, int]
) -> bool:
    """With unique keys, inner joins and no WHERE, every row found its partners iff none is lost."""
    cube = target.cube
    only_joins = all(
        any(c in cube.join_conjuncts(e.occurrence) for e in edges) for c in cube.conjuncts
    )
    all_inner = not cube.left_edges and len(edges) == len(cube.tables) - 1
    return all_inner and only_joins and rows == joined


def _memory(target: CubeTarget, occurrence: int) -> int:
    """About the bytes that a joined table's rows take in memory, with the columns that are used."""
    pinned = target.pinned[occurrence]
    used = {field for o, field in target.cube.fields() if o == occurrence}
    types = [c.type for c in pinned.facts.columns if c.field_id in used]
    width = sum(_TEXT_BYTES if t in ("string", "binary") else _VALUE_BYTES for t in types)
    return width * sum(f.record_count for f in pinned.live_files())


def _live_rows(file: LiveFile) -> int | None:
    """Rows after deletes, where that is known without reading."""
    return None if file.deletes else file.record_count


def _built(
    record: CubeRecord, kept: Sequence[SegmentRecord], lost: Sequence[SegmentRecord]
) -> Built:
    return Built(
        record.name,
        sum(len(s.files) for s in kept),
        len(kept),
        sum(s.rows for s in kept),
        sum(s.bytes for s in kept),
        len(lost),
    )
