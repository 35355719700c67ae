"""Builds: which files a cube lacks, their segments by Spark, their commit to the store; merges.

A build is resumable by construction: it asks the store what is missing, writes under its own
prefix, and commits each job's segments at once. What a killed build left is never looked at.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accelerator.config import Config
from accelerator.engines.duckdb import DuckDBEngine, parquet_scan, text_literal
from accelerator.errors import BuildError, CancelledError, UnknownTableError
from accelerator.iceberg import Lake, LiveFile, PinnedTable
from accelerator.progress import Progress, SilentProgress
from accelerator.store import (
    CoveredFile,
    CubeRecord,
    EdgeCount,
    Job,
    SegmentRecord,
    Store,
    local_path,
    segment_id,
)
from cubes.build_sql import SEGMENT, countable, renamed
from cubes.definition import FORMAT, CubeDefinition, Edge, from_dict
from cubes.freshness import Coverage, cover, integer_bounds
from cubes.plan import Needs
from rewrite.expr import Column
from rewrite.facts import At

if TYPE_CHECKING:
    from accelerator.engines.spark import SparkEngine


@dataclass(frozen=True, slots=True)
class Built:
    """What a build or merge did."""

    cube: str
    files: int
    segments: int
    rows: int
    bytes: int
    lost: int = 0


@dataclass(frozen=True)
class Target:
    """A cube and its tables, pinned for one build."""

    record: CubeRecord
    cube: CubeDefinition
    pinned: tuple[PinnedTable, ...]

    @property
    def needs(self) -> Needs:
        """A segment is up to date when every dimension is at the pinned snapshot."""
        return Needs(named=tuple((o, o) for o in range(1, len(self.pinned))))


class Builder:
    """Builds and merges the segments of cubes."""

    def __init__(
        self,
        lake: Lake,
        store: Store,
        config: Config,
        spark: Callable[[], SparkEngine],
        duckdb: DuckDBEngine,
        settings: Callable[[], dict[str, str]],
    ) -> None:
        self._lake, self._store, self._config = lake, store, config
        self._spark, self._duckdb, self._settings = spark, duckdb, settings

    def target(self, record: CubeRecord) -> Target:
        """The cube with its tables pinned now; columns under the names that they have now."""
        cube = from_dict(dict(record.definition))
        pin = self._lake.pin()
        pinned = []
        for table in cube.tables:
            found = pin.pinned(tuple(table.name.split(".")), At(ref=table.ref))
            if found is None or found.facts.uuid != table.uuid:
                raise UnknownTableError(
                    f"cube {record.name} is over {table.name}, which is gone or was made anew",
                    hint=f"DROP CUBE {record.name} and create it again",
                )
            pinned.append(found)
        names = {(o, c.field_id): c.name for o, p in enumerate(pinned) for c in p.facts.columns}
        missing = cube.fields() - names.keys()
        if missing:
            raise BuildError(
                f"cube {record.name} uses a column that was dropped",
                hint=f"DROP CUBE {record.name} and create it again without the column",
            )
        return Target(record, renamed(cube, names), tuple(pinned))

    def missing(self, target: Target) -> tuple[LiveFile, ...]:
        """Live files without an up-to-date segment; one path that stands twice is never built."""
        times = Counter(f.key for f in target.pinned[0].live_files())
        return tuple(f for f in self.coverage(target).uncovered if times[f.key] == 1)

    def coverage(self, target: Target) -> Coverage:
        """What is up to date: every dimension at its pinned snapshot."""
        return cover(
            target.cube,
            self._store.table(target.record.table_uuid).of(target.record.id),
            target.pinned[0].live_files(),
            {o: p.facts for o, p in enumerate(target.pinned)},
            target.needs,
            self._settings(),
        )

    def build(
        self,
        record: CubeRecord,
        *,
        progress: Progress | None = None,
        cancelled: threading.Event | None = None,
        tag: str = "",
    ) -> Built:
        """Builds what is missing; a rerun goes on where another stopped."""
        progress = progress or SilentProgress()
        target = self.target(record)
        files = self.missing(target)
        progress.start(len(files), f"building {record.name}")
        done = Built(record.name, 0, 0, 0, 0)
        try:
            unique = self._unique_edges(target, tag) if files else {}
            for part in _jobs(files, self._config):
                if cancelled is not None and cancelled.is_set():
                    raise CancelledError(
                        f"the build of {record.name} was cancelled",
                        hint="what it had finished is kept; BUILD CUBE goes on from there",
                    )
                done = _plus(done, self._job(target, part, unique, tag))
                progress.advance(len(part))
        finally:
            progress.finish()
        return done

    def compact(self, record: CubeRecord, *, tag: str = "") -> Built:
        """Merges all up-to-date segments to one, without reading a data file."""
        target = self.target(record)
        segments = self.coverage(target).segments
        if len(segments) < 2:
            return Built(record.name, 0, 0, 0, 0)
        job = self._store.begin_job(record.table_uuid, record.id)
        merged = self._merge(target, segments, job, tag)
        added = self._store.add_segments(record.table_uuid, [merged], job=job)
        files = len(merged.files)
        return Built(record.name, files, 1, merged.rows, merged.bytes, len(added.lost))

    def _merge(
        self, target: Target, segments: Sequence[SegmentRecord], job: Job, tag: str
    ) -> SegmentRecord:
        from cubes.build_sql import merge_select

        filled = [s for s in segments if s.rows]
        number = segment_id()
        path = f"{local_path(job.uri)}/merged.parquet"
        rows = size = 0
        if filled:
            ids = ", ".join(str(s.id) for s in filled)
            scan = parquet_scan(sorted({local_path(s.path) for s in filled}))
            source = f"(SELECT * FROM {scan} WHERE {SEGMENT} IN ({ids}))"
            select = merge_select(target.cube, source, number)
            _parent(path)
            options = "(FORMAT parquet, PARQUET_VERSION v2, COMPRESSION snappy, ROW_GROUP_SIZE 122880)"
            self._duckdb.execute(f"COPY ({select}) TO {text_literal(path)} {options}", tag=tag)
            count = self._duckdb.run(f"SELECT COUNT(*) AS n FROM {parquet_scan([path])}")
            rows, size = int(count["n"][0].as_py()), self._store.artifact_size(f"{job.uri}/merged.parquet")
        first = segments[0]
        return SegmentRecord(
            id=number,
            cube_id=first.cube_id,
            path=f"{job.uri}/merged.parquet",
            rows=rows,
            bytes=size,
            files=tuple(f for s in segments for f in s.files),
            dimensions=first.dimensions,
            edges=_merged_edges(segments),
            fields=first.fields,
            settings=first.settings,
            format=FORMAT,
            inputs=tuple(s.id for s in segments),
            facts={"file_segments": 1, "bounds": _merged_bounds(segments)},
        )

    def _unique_edges(self, target: Target, tag: str) -> dict[int, bool | None]:
        """Whether each edge's key is unique on the pinned dimension; None where that isn't countable."""
        from cubes.spark import is_unique

        engine = self._spark()
        found: dict[int, bool | None] = {}
        with ExitStack() as stack:
            stack.enter_context(engine.tagged(tag or "build"))
            for edge in target.cube.edges:
                if not countable(edge):
                    found[edge.occurrence] = None
                    continue
                pinned = target.pinned[edge.occurrence]
                staged = stack.enter_context(engine.stage(pinned, pinned.live_files()))
                found[edge.occurrence] = is_unique(engine.session, edge, staged.sql)
        return found

    def _job(
        self, target: Target, files: Sequence[LiveFile], unique: dict[int, bool | None], tag: str
    ) -> Built:
        from cubes.spark import count_missing, write_segments

        record, engine = target.record, self._spark()
        job = self._store.begin_job(record.table_uuid, record.id)
        ids = {f.path: segment_id() for f in files}
        edges = [e for e in target.cube.edges if _chain_unique(e, target.cube.edges, unique)]
        with ExitStack() as stack:
            stack.enter_context(engine.tagged(tag or "build"))
            engine.register_functions()
            sources = [stack.enter_context(engine.stage(target.pinned[0], files)).sql]
            for pinned in target.pinned[1:]:
                sources.append(stack.enter_context(engine.stage(pinned, pinned.live_files())).sql)
            partitions = max(1, min(len(files), 2 * engine.parallelism))
            write_segments(engine.session, target.cube, sources, ids, job.uri, partitions)
            written = self._inspect(job)
            rows = {f.path: _live_rows(f) for f in files}
            joined = {f.path: written.get(ids[f.path], _NONE).raw_rows for f in files}
            missing = None
            if edges and not _nothing_missing(target, edges, rows, joined):
                missing = count_missing(engine.session, target.cube, edges, sources)
        segments = [
            _record(target, f, ids[f.path], written, unique, edges, missing, job, self._settings())
            for f in files
        ]
        added = self._store.add_segments(record.table_uuid, segments, job=job)
        kept = [s for s in segments if s.id not in added.lost]
        return Built(
            record.name,
            len(kept),
            len(kept),
            sum(s.rows for s in kept),
            sum(s.bytes for s in kept),
            len(added.lost),
        )

    def _inspect(self, job: Job) -> dict[int, _Written]:
        """What the job wrote: per segment its file, cells and joined rows."""
        sizes = {u: n for u, n in self._store.artifacts(job).items() if u.endswith(".parquet")}
        if not sizes:
            return {}
        paths = {local_path(u): u for u in sizes}
        sql = (
            f"SELECT filename, {SEGMENT} AS id, COUNT(*) AS cells, CAST(SUM(s0) AS BIGINT) AS n"
            f" FROM read_parquet([{', '.join(text_literal(p) for p in sorted(paths))}], filename = true)"
            " GROUP BY ALL"
        )
        rows = self._duckdb.run(sql).to_pylist()
        cells: dict[str, int] = {}
        segments: dict[str, int] = {}
        for row in rows:
            cells[row["filename"]] = cells.get(row["filename"], 0) + row["cells"]
            segments[row["filename"]] = segments.get(row["filename"], 0) + 1
        found = {}
        for row in rows:
            uri = paths[row["filename"]]
            share = sizes[uri] * row["cells"] // cells[row["filename"]]
            count = segments[row["filename"]]
            found[row["id"]] = _Written(uri, row["cells"], row["n"], share, count)
        if len(found) != len(rows):
            raise BuildError("a segment was written to two files", hint="this is a fault of the build")
        return found


def _chain_unique(edge: Edge, edges: Sequence[Edge], unique: dict[int, bool | None]) -> bool:
    """Rows without a partner are countable in one pass when no edge multiplies rows."""
    return all(unique.get(e.occurrence) for e in edges) and unique.get(edge.occurrence) is True


def _nothing_missing(
    target: Target, edges: Sequence[Edge], rows: dict[str, int | None], joined: dict[str, int]
) -> bool:
    """With unique keys, inner joins and no WHERE, every row found its partners iff none is lost."""
    cube = target.cube
    only_joins = all(any(c in cube.join_conjuncts(e.occurrence) for e in edges) for c in cube.conjuncts)
    all_inner = not cube.left_edges and len(edges) == len(cube.tables) - 1
    return all_inner and only_joins and rows == joined


def _live_rows(file: LiveFile) -> int | None:
    """Rows after deletes, where that is known without reading."""
    return None if file.deletes else file.record_count


def _jobs(files: Sequence[LiveFile], config: Config) -> Iterator[list[LiveFile]]:
    part: list[LiveFile] = []
    size = 0
    for file in files:
        full = len(part) >= config.build_files_per_job or size + file.size_bytes > config.build_bytes_per_job
        if part and full:
            yield part
            part, size = [], 0
        part.append(file)
        size += file.size_bytes
    if part:
        yield part


def _parent(path: str) -> None:
    from pathlib import Path

    Path(path).parent.mkdir(parents=True, exist_ok=True)


def _plus(a: Built, b: Built) -> Built:
    return Built(
        a.cube,
        a.files + b.files,
        a.segments + b.segments,
        a.rows + b.rows,
        a.bytes + b.bytes,
        a.lost + b.lost,
    )
