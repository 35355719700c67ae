"""The build of artifacts: a builder finds what is missing and makes it, in jobs of the one loop.

Here are the duties that cubes and indexes share: the session's gate, pins, the store's lease,
progress and interrupts. `loop` has the jobs and their commits.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from accelerator.builds.loop import Loop, newest
from accelerator.common.config.config import Config
from accelerator.common.progress import Progress, SilentProgress
from accelerator.engines.session_settings import refusal
from accelerator.errors import BuildError, TableReplacedError, UnknownTableError
from accelerator.iceberg import Lake, LiveFile, Pin, PinnedTable
from accelerator.store import CubeRecord, IndexRecord, Store
from rewrite.facts import At
from rewrite.identifiers.qualified_name import parts_of

if TYPE_CHECKING:
    from accelerator.artifacts.relate.dimensions import Dimensions
    from accelerator.engines.duckdb.engine import DuckDBEngine
    from accelerator.engines.spark.engine import SparkEngine

FileKey = tuple[str, int]
"""A data file's path and sequence number."""
RecordT = TypeVar("RecordT", CubeRecord, IndexRecord)
TargetT = TypeVar("TargetT")
MissingT = TypeVar("MissingT")
BuiltT = TypeVar("BuiltT", bound=Any)


class BuildServices(Struct, frozen=True):
    """A session, as far as builders use it; `check` raises once a tag's work is to stop."""

    lake: Lake
    store: Store
    config: Config
    spark: Callable[[], SparkEngine]
    spark_runs: Callable[[], bool]
    settings: Callable[[], Mapping[str, str]]
    duckdb: DuckDBEngine
    dimensions: Callable[[], Dimensions]
    check: Callable[[str], None]


class ArtifactBuilder(ABC, Generic[RecordT, TargetT, MissingT, BuiltT]):
    """Builds what artifacts of one table lack.

    A `target` is an artifact with its `tables` pinned, its own first. `repair` forgets what is lost
    of it, `missing` is what it lacks, in the data files of these `keys`. `computed`:
    whether SQL computes the values, rather than code of ours that reads files. `plan` decides how
    files are built, with SparkMissingError if Spark has to and isn't there; `make` builds them, and
    reports for each target.
    """

    noun: str

    def __init__(self, given: BuildServices) -> None:
        self._lake, self._store, self._config = given.lake, given.store, given.config
        self._spark, self._spark_runs = given.spark, given.spark_runs
        self._settings = given.settings

    @abstractmethod
    def target(self, record: RecordT) -> TargetT: ...
    @abstractmethod
    def tables(self, target: TargetT) -> Sequence[PinnedTable]: ...
    @abstractmethod
    def missing(self, target: TargetT) -> MissingT: ...
    @abstractmethod
    def keys(self, missing: MissingT) -> Collection[FileKey]: ...
    @abstractmethod
    def repair(self, target: TargetT) -> None: ...
    @abstractmethod
    def computed(self, target: TargetT) -> bool: ...
    @abstractmethod
    def plan(self, targets: Sequence[TargetT], files: Sequence[LiveFile]) -> object: ...
    @abstractmethod
    def make(
        self,
        targets: Sequence[TargetT],
        missing: Sequence[MissingT],
        files: Sequence[LiveFile],
        loop: Loop,
    ) -> list[BuiltT]: ...

    def build(
        self,
        wanted: Sequence[RecordT],
        *,
        progress: Progress | None = None,
        cancelled: threading.Event | None = None,
        tag: str = "build",
        bytes_max: int | None = None,
        only: Collection[FileKey] | None = None,
    ) -> list[BuiltT]:
        """Builds what artifacts of one table lack; a rerun goes on where another stopped.

        With `bytes_max` of the newest data files alone, of so many bytes or one file; with `only`
        of these alone.
        """
        names = ", ".join(record.name for record in wanted)
        statement = f"BUILD {self.noun.upper()}" + (f" {names}" if len(wanted) == 1 else "")
        shown, stop = progress or SilentProgress(), cancelled or threading.Event()
        with self._store.reading():  # no vacuum takes the build for dead while it runs
            targets = [self.target(record) for record in wanted]
            gate = partial(self._check_session, wanted, targets)
            loop = Loop(self._store, names, statement, tag, shown, stop, gate)
            gate()
            for target in targets:
                loop.pin(self.tables(target))
                self.repair(target)
            missing = [self.missing(target) for target in targets]
            files = [f for f in self._files(targets, missing) if only is None or f.key in only]
            files = newest(files, bytes_max)
            with loop.running(len(files)):
                return self.make(targets, missing, files, loop)

    def check_spark(self, record: RecordT) -> None:
        """Raises SparkMissingError if a build needs Spark, which isn't installed."""
        if not self._spark_runs():
            target = self.target(record)
            self.plan([target], self._files([target], [self.missing(target)]))

    def _files(self, targets: Sequence[TargetT], missing: Sequence[MissingT]) -> list[LiveFile]:
        """The data files that a build opens, each once."""
        keys = frozenset[FileKey]().union(*map(self.keys, missing))
        live = self.tables(targets[0])[0].live_files() if keys else ()
        return list({f.key: f for f in live if f.key in keys}.values())

    def _check_session(self, wanted: Sequence[RecordT], targets: Sequence[TargetT]) -> None:
        """BuildError if the session's Spark may hide rows, or compute other values than others do.

        Every session answers from these artifacts. Settings don't matter to values that no SQL
        computes, nor does a branch, because files are read.
        """
        pairs = zip(wanted, targets, strict=True)
        computed = [record.name for record, target in pairs if self.computed(target)]
        settings = {**self._settings(), "branch": ""}
        if not computed:
            settings = {"extended": settings.get("extended", "")}
        refused = refusal(settings)
        if refused is not None and wanted:
            hint = "set it back to Spark's default, or build in another session"
            if refused.code == "session_extended":
                hint = "if it does neither, name it in trusted_extensions"
            what = f"{self.noun} {computed[0] if computed else wanted[0].name}"
            said = f"{what} isn't built in this session: {refused.sentence}"
            raise BuildError(said, hint=hint)

    def _pinned(self, record: RecordT, pin: Pin, table: str, uuid: str, at: At) -> PinnedTable:
        """The record's table at the pin. UnknownTableError if it's gone, or another one now."""
        found, noun = pin.pinned(parts_of(table), at), self.noun.upper()
        over = f"{self.noun} {record.name} is over {table}, which"
        if found is None:
            hint = f"DROP {noun} {record.name} and create it again"
            raise UnknownTableError(f"{over} is gone", hint=hint)
        if found.facts.uuid != uuid:
            raise TableReplacedError(
                f"{over} was dropped and made anew: it's another table now",
                hint=f"CREATE OR REPLACE {noun} {record.name} makes it over the new table,"
                f" DROP {noun} {record.name} ends it",
            )
        return found


def plus(one: BuiltT, more: BuiltT) -> BuiltT:
    """Adds the counts of two reports of one artifact."""
    _name, *counts = one.__struct_fields__
    return replace(one, **{name: getattr(one, name) + getattr(more, name) for name in counts})
