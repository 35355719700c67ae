"""The Spark engine: the session, its catalogs, and reading chosen data files in the JVM.

Promises: nothing starts before `session` is asked for; an attached session is never stopped; a
staged selection reads exactly the chosen files of the pinned snapshot, deletes applied, under the
pinned schema, and is removed when closed.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from types import FrameType, TracebackType
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from accelerator.engines.spark.catalogs.session import catalog_settings, other_catalogs
from accelerator.engines.spark.context import SHARED
from accelerator.engines.spark.file_selection import (
    empty_relation,
    selection_sql,
    stage_selection,
    unstage_selection,
)
from accelerator.engines.spark.jvm.classes import Jvm
from accelerator.engines.spark.jvm.errors import Java, JvmError, java_errors
from accelerator.engines.spark.segment_files import segments_frame, segments_writer
from accelerator.engines.spark.session.settings import (
    PACKAGES,
    REWRITE_CATALOG,
    SparkSettings,
    caches_deletes,
    embedded_conf,
)
from accelerator.engines.spark.session.state import SessionState
from accelerator.engines.spark.start.background import Background
from accelerator.engines.spark.start.start import running_stage, start
from accelerator.errors import CancelledError, EngineError, FunctionArgumentError, RefusedError
from accelerator.iceberg import CatalogSettings, LiveFile, PinnedTable
from accelerator.store import Store
from accelerator.version import VERSION
from cubes.job_error import JobError
from cubes.spark import CANCELLED, built, job_errors, unexpanded_in
from indexes.text.tokens import NEEDLE_HINT
from rewrite.identifiers.quoting import backticked

__all__ = ["PACKAGES", "SparkEngine", "SparkSettings", "Staged"]

Handed = Callable[[], AbstractContextManager[tuple[tuple[str, ...], Mapping[str, str]] | None]]
"""Catalog and namespace, none if they're the first ones, and settings; taken once it's left."""
_PYTHON_OF_PATH = "python3"
_NOT_A_TABLE = (
    "NoSuchTable",
    "NoSuchNamespace",
    "NoSuchDatabase",
    "CatalogNotFound",
    "IllegalArgument",
)

_LACKING = re.compile(
    r"No module named|PYTHON_VERSION_MISMATCH|ImportError|Cannot run program|from python worker"
)
_NEEDLE = re.compile(r"NeedleError: (.*)")
_TEXTS_HINT = "cast the arguments to STRING"
_INTERRUPT = "spark.job.interruptOnCancel"
_PARTITIONS = "spark.sql.shuffle.partitions"
_PARTITION_BYTES = 16 * 1024 * 1024  # of compressed data files; ten times that as rows
_PARTITIONS_MAX = 1000


class Staged:
    """A selection of data files that Spark can read; close it after the last read."""

    def __init__(self, sql: str, close: Callable[[], None]) -> None:
        self.sql = sql
        self._close: Callable[[], None] | None = close

    def close(self) -> None:
        """Forget the selection in the JVM; a second call does nothing."""
        close, self._close = self._close, None
        if close is not None:
            close()

    def __enter__(self) -> Staged:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class SparkEngine:
    """One Spark session, its own or the user's."""

    def __init__(
        self,
        start: Callable[[], SparkSession],
        *,
        owned: bool,
        handed: Handed = nullcontext,
    ) -> None:
        """`handed` gives what a session that has just started gets before anybody else uses it."""
        self._start, self._handed = start, handed
        self._owned = owned
        self._session: SparkSession | None = None
        self._starting: Background[SparkSession] | None = None
        self._bridge: Jvm | None = None
        self._selections: str | None = None
        self._functions = False
        self._shuffles, self._partitions = 0, ""
        self._lock = threading.RLock()

    @classmethod
    def embedded(
        cls,
        catalogs: Sequence[CatalogSettings],
        settings: SparkSettings,
        handed: Handed = nullcontext,
    ) -> SparkEngine:
        """A session of our own over those catalogs, of which the first is the default one.

        `handed` gives what it starts with. Starts nothing yet. ConfigError for a catalog that Spark
        has no client for.
        """
        conf = embedded_conf(catalogs, settings)
        return cls(
            lambda: start(settings.master, conf, shown=settings.shown), owned=True, handed=handed
        )

    @classmethod
    def attached(cls, spark: SparkSession) -> SparkEngine:
        """Over the user's session, which stays the user's."""
        if not hasattr(spark, "_jsparkSession"):
            raise EngineError(
                "a Spark Connect session has no JVM beside it",
                hint="attach a classic session: SparkSession.builder.master(...).getOrCreate()",
            )
        run_workers_here(spark.sparkContext)
        return cls(lambda: spark, owned=False)

    @property
    def started(self) -> bool:
        """Whether there is a session; asking starts none."""
        return self._session is not None or not self._owned

    @property
    def session(self) -> SparkSession:
        """The session; started by the first who asks."""
        with self._lock:
            if self._session is None:
                session = self._start() if not self._owned else self._started()
                self._hand(session)
                self._session = session
                from accelerator.engines.spark.functions import register_tests  # imports numpy

                register_tests(self._session)
            return self._session

    def _hand(self, session: SparkSession) -> None:
        """Sets what USE and SET have changed before the session started."""
        with self._handed() as changed:
            place, settings = changed or ((), {})
            for key, value in settings.items():
                session.conf.set(key, value)
            if place:
                _use(session, place)

    @staticmethod
    def arrow_schema(frame: DataFrame) -> pa.Schema:
        """The columns that `toArrow` would give."""
        from pyspark.sql.pandas.types import to_arrow_schema

        return to_arrow_schema(frame.schema)

    def _started(self) -> SparkSession:
        """A session of our own. Its start goes on where waiting for it ends early."""
        starting = self._starting
        if starting is None or starting.failed:  # while nobody waited
            if SparkContext._active_spark_context is not None:  # it takes no time
                session = self._start()
                SHARED.join(self, session.sparkContext)
                return session
            starting = self._starting = Background(self._start_context, self._undo)
        try:
            session = starting.wait()
        finally:
            if starting.failed:
                self._starting = None
        self._starting = None
        _hear_ctrl_c(session)
        active = session._jvm.org.apache.spark.sql.classic.SparkSession
        active.setActiveSession(session._jsparkSession)  # of this thread, as Spark's builder does
        return session

    def _start_context(self) -> SparkSession:
        session = self._start()
        SHARED.register(self, session.sparkContext, session.stop)
        return session

    def _undo(self, _session: SparkSession) -> None:
        SHARED.leave(self)

    @property
    def activity(self) -> str:
        """What it does now, for people who wait; empty where it does nothing. Quick."""
        if self._starting is not None:
            return "starting Spark"
        session = self._session
        return "" if session is None else running_stage(session)

    @property
    def jvm(self) -> Jvm:
        """The bridge to the session's JVM."""
        with self._lock:
            if self._bridge is None:
                bridge = Jvm(self.session.sparkContext._gateway)
                _check_iceberg(bridge)
                self._bridge = bridge
            return self._bridge

    def state(self) -> SessionState:
        """What the session's names and settings are now."""
        return SessionState(self.jvm, self.session._jsparkSession, PySparkException)

    def activate(self) -> None:
        """Make the session this thread's active one in the JVM, as Spark's own calls do."""
        session = self.session
        classes = session._jvm.org.apache.spark.sql.classic.SparkSession
        classes.setActiveSession(session._jsparkSession)

    @property
    def parallelism(self) -> int:
        """How many tasks run at once; EngineError where the session was stopped."""
        return int(self._running_context().defaultParallelism)

    def _running_context(self) -> SparkContext:
        context = self.session.sparkContext
        if context._jsc is None:  # its own methods fail in ways that say nothing
            raise EngineError(
                "the Spark session was stopped", hint="open or attach a session once more"
            )
        return context

    def register_functions(self) -> None:
        """Make the set functions of cube states callable in the session's SQL."""
        from accelerator.engines.spark.functions import register  # imports numpy and pyroaring

        with self._lock:
            if not self._functions:
                register(self.session)
                self._functions = True

    def stop(self) -> None:
        """Stop a session of our own; leave the user's, and one that others use too, alone."""
        starting = self._starting
        if starting is not None:  # nobody waits for it, nor is waited for
            starting.leave()
            self._starting = None
        with self._lock:
            if self._owned and self._session is not None:
                self._undo(self._session)
                self._session = self._bridge = self._selections = None
                self._functions = False

    def stage(self, pinned: PinnedTable, files: Sequence[LiveFile]) -> Staged:
        """Make those files of the pinned table readable as `Staged.sql` in a FROM clause.

        It has the pinned columns, and `_file`, the data file's path as the manifest has it.
        """
        if not files:
            return Staged(empty_relation(pinned), lambda: None)
        name = uuid.uuid4().hex
        try:
            with java_errors():
                table = self.load(pinned.parts)
                staged = stage_selection(self.jvm, table, (name, pinned), files)
        except (JvmError, PySparkException) as error:
            raise EngineError(
                f"the chosen files of {pinned.facts.name} can't be staged in Spark: {error}",
                hint="the statement runs as plain Spark SQL instead",
            ) from error
        sql = selection_sql(f"{self.selection_catalog()}.`{name}`", pinned)
        return Staged(sql, lambda: unstage_selection(self.jvm, staged, name))

    def segments_frame(
        self,
        table: tuple[str, ...],
        store: Store,
        schema: str,
        files: Mapping[str, int],
        leases: ExitStack,
    ) -> DataFrame:
        """Returns the rows of segment files of a cube over that table; see `segment_files.py`."""
        return segments_frame(self, table, store, schema, files, leases)

    def segments_writer(
        self, table: tuple[str, ...], store: Store
    ) -> Callable[[DataFrame, str], None] | None:
        """Returns a function that writes cells of a cube over that table; None: Spark's own."""
        return segments_writer(self, table, store)

    def newest_metadata(self, parts: tuple[str, ...]) -> tuple[str, str] | None:
        """The newest metadata file of a table, by the JVM, and the table's uuid.

        None where it isn't an Iceberg table, or has no uuid, as format 1 allows: Spark plans none.
        """
        try:
            with java_errors():
                table = self.load(parts)
                if not self._is_itself(table, parts):
                    return None
                # A session's catalog may cache tables: refresh reads the catalog itself.
                found = table.operations().refresh()
                location, uuid = found.metadataFileLocation(), found.uuid()
                return (str(location), str(uuid)) if location and uuid else None
        except (JvmError, PySparkException) as error:
            if isinstance(error, JvmError) and _means_no_table(error):
                return None
            raise EngineError(
                f"Spark can't load {'.'.join(parts)}: {error}",
                hint="check that the catalog works in Spark itself",
            ) from error

    def catalog_settings(self) -> list[CatalogSettings]:
        """Each Iceberg catalog of the session, in PyIceberg's words or as type `jvm`."""
        return catalog_settings(self._conf())

    def other_catalogs(self) -> frozenset[str]:
        """The names that Spark takes for catalogs without Iceberg tables."""
        return other_catalogs(self._conf())

    def built(self, sql: str) -> DataFrame:
        """The rows of a text that was built here; as `cubes.spark.built`."""
        return built(self.session, sql)

    def analysed(self, sql: str) -> StructType:
        """The columns of the statement's answer; RefusedError over Spark's error if it has none."""
        try:
            return self.session.sql(sql).schema
        except PySparkException as error:
            raise RefusedError from error

    @contextmanager
    def tagged(self, tag: str) -> Iterator[None]:
        """Jobs that this thread starts inside carry the tag; Ctrl-C inside stops them.

        CancelledError where they were stopped by `interrupt`.
        """
        context = self.session.sparkContext
        before = context.getLocalProperty(_INTERRUPT)
        context.addJobTag(tag)
        context.setLocalProperty(_INTERRUPT, "true")  # a task may be waiting, not computing
        try:
            yield
        except KeyboardInterrupt:
            self.interrupt(tag)
            raise
        except (PySparkException, Py4JError) as error:
            needle = _NEEDLE.search(str(error))
            if needle is not None:
                hint = _TEXTS_HINT if "take texts" in needle[1] else NEEDLE_HINT
                raise FunctionArgumentError(needle[1], hint=hint) from error
            if CANCELLED not in str(error):
                raise
            raise CancelledError("the statement was cancelled") from error
        finally:
            context.removeJobTag(tag)
            context.setLocalProperty(_INTERRUPT, before)

    @contextmanager
    def shuffling(self, size_bytes: int) -> Iterator[None]:
        """Inside, a session of our own shuffles so much data to parts that fit a task's memory.

        Few partitions are right for queries, and make a large build sort on disk. Small parts are
        joined again by Spark itself. An attached session's setting stays the user's.
        """
        if not self._owned:
            yield
            return
        conf = self.session.conf
        with self._lock:
            if not self._shuffles:
                self._partitions = str(conf.get(_PARTITIONS))
            self._shuffles += 1
            wanted = min(-(-size_bytes // _PARTITION_BYTES), _PARTITIONS_MAX)
            conf.set(_PARTITIONS, str(max(wanted, int(str(conf.get(_PARTITIONS))))))
        try:
            yield
        finally:
            with self._lock:
                self._shuffles -= 1
                if not self._shuffles:
                    conf.set(_PARTITIONS, self._partitions)

    def interrupt(self, tag: str) -> None:
        """Stop the jobs with that tag, and no others; from any thread."""
        if self._session is not None:
            context = self._session.sparkContext
            SHARED.interrupted(tag, context)
            context.cancelJobsWithTag(tag)

    def run_tasks(self, task: Callable[[Any], Any], items: Sequence[Any], tag: str) -> list[Any]:
        """The function's values of these items, each by a task of one job under that tag.

        Workers import what the function names, so this package must be there.

        Raises:
            EngineError: the job failed, or Spark can't be started.
            CancelledError: it was stopped.
        """
        context = self._running_context()
        try:
            with job_errors(), self.tagged(tag):
                found: list[Any] = context.parallelize(items, len(items)).map(task).collect()
        except JobError as error:
            raise self.job_failed(error) from error
        return found

    def job_failed(self, error: JobError) -> EngineError:
        """What is to be said of a job of ours, whose workers need packages."""
        return EngineError(
            f"a Spark job failed: {error}",
            hint=self.lacking(error) or "the log says more",
        )

    @contextmanager
    def naming_workers(self) -> Iterator[None]:
        """Raises EngineError for a job whose Python workers can't run, with their interpreter."""
        try:
            yield
        except JobError as error:
            hint = self.lacking(error)
            if not hint:
                raise
            raise EngineError(f"a Spark job failed: {error}", hint=hint) from error

    def lacking(self, error: JobError) -> str:
        """What is to be done where workers lack a package; empty where they don't."""
        return workers_hint(str(error), str(self._running_context().pythonExec))

    def rows_of(
        self, task: Callable[[Any], Iterable[pa.RecordBatch]], items: Sequence[Any], schema: str
    ) -> DataFrame:
        """The rows that the function gives for these items, each by a task, under that schema.

        Workers import what it names. Nothing runs before the frame does.
        """
        held = self._running_context().broadcast(list(items))

        def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from task(held.value[number])

        numbers = self.session.range(0, len(items), 1, max(1, len(items)))
        return numbers.mapInArrow(rows, schema)

    def _is_itself(self, table: Java, parts: tuple[str, ...]) -> bool:
        """False for names inside a table, which Spark loads too: `t.files`, `t.branch_b`."""
        if self.jvm.type("org.apache.iceberg.BaseMetadataTable").isInstance(table):
            return False
        name, last = str(table.name()).lower(), parts[-1].lower()
        return name == last or name.endswith((f".{last}", f"/{last}"))

    def load(self, parts: tuple[str, ...]) -> Java:
        """Iceberg's table of that full name, as the session's catalog has it."""
        name = unexpanded_in(self.session, ".".join(map(backticked, parts)))
        loader = "org.apache.iceberg.spark.Spark3Util"
        return self.jvm.static(loader, "loadIcebergTable", self.session._jsparkSession, name)

    def selection_catalog(self) -> str:
        """The catalog that reads staged selections, registered under a name that is still free."""
        with self._lock:
            if self._selections is None:
                conf = self.session.conf
                names = ("pruned", *(f"pruned_{number}" for number in range(1, 100)))
                self._selections = next(
                    name
                    for name in names
                    if conf.get(f"spark.sql.catalog.{name}", "") in ("", REWRITE_CATALOG)
                )
                conf.set(f"spark.sql.catalog.{self._selections}", REWRITE_CATALOG)
            return self._selections

    def caches_deletes(self) -> bool:
        """Returns whether the session caches equality deletes, also after a column was widened."""
        return caches_deletes(self._conf())

    def _conf(self) -> dict[str, str]:
        return {str(key): str(value) for key, value in self.session.conf.getAll.items()}


def run_workers_here(context: SparkContext) -> None:
    """Has Python workers on this machine run this Python unless PYSPARK_PYTHON is set.

    PySpark takes `python3` of the PATH, which in an environment that isn't activated is another
    Python, of another version or without this package.
    """
    named = os.environ.get("PYSPARK_PYTHON") or context.pythonExec != _PYTHON_OF_PATH
    if not named and str(context.master).startswith("local") and sys.executable:
        context.pythonExec = sys.executable


def workers_hint(error: str, interpreter: str) -> str:
    """What is to be done if a job failed for what workers of that interpreter lack; else empty."""
    if not _LACKING.search(error):
        return ""
    return (
        f"Spark's Python workers run {interpreter}: before the session starts, have PYSPARK_PYTHON"
        f" or spark.pyspark.python name one that has lakehouse-accelerator {VERSION} and"
        " pyarrow"
    )


def _use(session: SparkSession, place: Sequence[str]) -> None:
    """Makes the catalog and namespace current; the catalog alone if the namespace was dropped."""
    try:
        built(session, f"USE {'.'.join(map(backticked, place))}")
    except PySparkException as error:
        if error.getCondition() != "SCHEMA_NOT_FOUND" or len(place) == 1:
            raise
        built(session, f"USE {backticked(place[0])}")


def _hear_ctrl_c(session: SparkSession) -> None:
    """Ctrl-C in the main thread stops Spark's jobs, where nobody handles it yet.

    PySpark's own handler does so too, but for sessions that are started in the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    before = signal.getsignal(signal.SIGINT)
    made_by = str(getattr(before, "__module__", ""))
    of_a_session = made_by == __name__ or made_by.startswith("pyspark")
    if before not in (None, signal.default_int_handler) and not of_a_session:
        return

    def stop_jobs(_number: int, _frame: FrameType | None) -> None:
        if session.sparkContext._jsc is not None:
            session.sparkContext.cancelAllJobs()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop_jobs)


def _check_iceberg(bridge: Jvm) -> None:
    try:
        bridge.type("org.apache.iceberg.spark.SparkTableCache")
    except JvmError as error:
        raise EngineError(
            "the Spark session has no Iceberg on its class path",
            hint=f"start it with spark.jars.packages={PACKAGES[0]}",
        ) from error


def _means_no_table(error: JvmError) -> bool:
    """Iceberg refuses a table of another format as an illegal argument."""
    return any(word in error.class_name for word in _NOT_A_TABLE)
