"""The layer's Spark engine over a recorded lake: tasks run here, jobs of cubes are recorded.

Staged files are named by their content (metadata file, schema, paths), so that a text over them is
the same text at every run. Ids that the layer draws at random come from a generator of the lake.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import accelerator.services.ddl.relate_columns
import accelerator.store.store
import cubes.spark
from accelerator.engines.spark.engine import SparkEngine, Staged
from accelerator.engines.spark.file_selection import empty_relation, selection_sql
from accelerator.errors import AcceleratorError, CancelledError, EngineError
from accelerator.iceberg import LiveFile, PinnedTable
from cubes.definition import CubeDefinition, to_dict
from cubes.job_error import JobError
from cubes.sql.build import SEGMENT
from tests.support.recording import errors
from tests.support.recording.lake import RecordedLake
from tests.support.recording.records import digest
from tests.support.recording.spark import RecordedFrame, RecordedSession

_FAILURES = (AcceleratorError, ArithmeticError, LookupError, OSError, RuntimeError, TypeError)
_FAILURES += (ValueError, pa.ArrowException)
"""What a task may raise, which fails its job."""
_STAGED = re.compile(r"pruned\.`(acc_[0-9a-f]{32})`")


class RecordedEngine(SparkEngine):
    """The engine over a recorded lake; no JVM is started while records answer."""

    def __init__(self, recorded: RecordedLake) -> None:
        self.recorded = recorded
        self._recorded_session = RecordedSession(self)
        self._files: dict[str, tuple[PinnedTable, tuple[LiveFile, ...]]] = {}
        super().__init__(lambda: self._recorded_session, owned=False)

    @property
    def started(self) -> bool:
        """Never, for those who would ask the JVM for the session's state."""
        return False

    @property
    def session(self) -> Any:
        return self._recorded_session

    @property
    def jvm(self) -> Any:
        raise EngineError("a recorded session has no JVM", hint="take live Spark in this test")

    def register_functions(self) -> None:
        """Real Spark gets them where it's asked."""

    def stage(self, pinned: PinnedTable, files: Sequence[LiveFile]) -> Staged:
        if not files:
            return Staged(empty_relation(pinned), lambda: None)
        key = digest(
            pinned.metadata_location,
            pinned.facts.schema_id,
            pinned.facts.snapshot_id,
            *(f.path for f in files),
        )
        self._files[f"acc_{key}"] = (pinned, tuple(files))
        return Staged(selection_sql(f"pruned.`acc_{key}`", pinned), lambda: None)

    def staged_text(self, text: str, made: ExitStack) -> str:
        """The text for real Spark: what it names is staged there, and our functions are known."""
        live = self.recorded.engine
        if "acc_" in text:
            live.register_functions()

        def staged(found: re.Match[str]) -> str:
            pinned, files = self._files[found[1]]
            sql = made.enter_context(live.stage(pinned, files)).sql
            return str(re.search(r"FROM (\S+)\)$", sql)[1])  # type: ignore[index]

        return _STAGED.sub(staged, text)

    def run_tasks(self, task: Callable[[Any], Any], items: Sequence[Any], tag: str) -> list[Any]:
        try:
            return [task_(item) for task_, item in _sent(task, items)]
        except CancelledError:
            raise
        except _FAILURES as error:
            raise EngineError(
                f"a Spark job failed: {type(error).__name__}: {error}",
                hint="the log says more",
            ) from error

    def rows_of(
        self, task: Callable[[Any], Iterable[pa.RecordBatch]], items: Sequence[Any], schema: str
    ) -> Any:
        batches = [batch for task_, item in _sent(task, items) for batch in task_(item)]
        if not batches:
            return self._recorded_session.createDataFrame([], schema)
        return self._recorded_session.createDataFrame(pa.Table.from_batches(batches), schema)


def _sent(task: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """As workers get them: pickled."""
    for item in items:
        yield pickle.loads(pickle.dumps((task, item)))


_WRITE = cubes.spark.write_segments


def _write_segments(
    spark: Any,
    cube: CubeDefinition,
    sources: Sequence[str],
    segments: Mapping[str, int],
    uri: str,
    partitions: int,
    small: Iterable[int] = frozenset(),
    write: Callable[[Any, str], None] | None = None,
) -> None:
    """A cube's job: its files are recorded, under the cube, its sources and its data files."""
    if not isinstance(spark, RecordedSession):
        _WRITE(spark, cube, sources, segments, uri, partitions, frozenset(small), write)
        return
    lake, target = spark.engine.recorded, Path(uri.removeprefix("file://"))
    key = digest("segments", repr(to_dict(cube)), *sources, *segments, partitions, sorted(small))

    def ask() -> pa.Table:
        live = lake.engine
        live.register_functions()
        with ExitStack() as made:
            texts = [spark.engine.staged_text(text, made) for text in sources]
            folder = Path(made.enter_context(TemporaryDirectory(prefix="segments-"))) / "cells"
            own = folder.as_uri()
            try:
                _WRITE(live.session, cube, texts, segments, own, partitions, frozenset(small))
            except JobError as error:
                raise error.__cause__ or error from error
            files = sorted(path for path in folder.rglob("*.parquet"))
            return pa.table(
                {
                    "name": pa.array([str(p.relative_to(folder)) for p in files], pa.string()),
                    "bytes": pa.array([p.read_bytes() for p in files], pa.binary()),
                    "ids": pa.array([list(segments.values())] * len(files), pa.list_(pa.int64())),
                }
            )

    with cubes.spark.job_errors():
        table = errors.given(lake.ask("segments", key, f"cells under {uri}", ask))
    for row in [] if table is None else table.to_pylist():
        path = target / row["name"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(row["bytes"])
        if row["ids"] != list(segments.values()):
            _renumber(path, dict(zip(row["ids"], segments.values(), strict=True)))


def _renumber(path: Path, ids: Mapping[int, int]) -> None:
    """The same cells under other segment ids."""
    table = pq.read_table(path)
    found = pa.array([ids[i] for i in table[SEGMENT].to_pylist()], pa.int64())
    place = table.schema.get_field_index(SEGMENT)
    pq.write_table(table.set_column(place, table.schema.field(place), found), path)


class _Drawn:
    """Stands for `secrets`: numbers that come in the same order at every run."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)

    def randbits(self, bits: int) -> int:
        return self._random.getrandbits(bits)


@contextmanager
def recording(lake: RecordedLake, seed: str) -> Iterator[RecordedEngine]:
    """Inside, the layer's random ids are the lake's, and jobs over recorded sessions recorded."""
    modules = (accelerator.store.store, accelerator.services.ddl.relate_columns)
    before = [module.secrets for module in modules]
    drawn = _Drawn(seed)
    for module in modules:
        module.secrets = drawn  # type: ignore[attr-defined]
    cubes.spark.write_segments = _write_segments
    try:
        yield RecordedEngine(lake)
    finally:
        for module, own in zip(modules, before, strict=True):
            module.secrets = own  # type: ignore[attr-defined]
        cubes.spark.write_segments = _WRITE


__all__ = ["RecordedEngine", "RecordedFrame", "recording"]
