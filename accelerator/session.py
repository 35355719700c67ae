"""The session: what users hold. Takes statements, plans them, runs them, falls back.

A failure in the layer itself never reaches the user: the plain statement answers, and the failure
is counted, logged and in the metrics. Threads may share one session.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot.errors import SqlglotError

from accelerator import commands, explain, metadata_table, verification
from accelerator.builds.builder import Builder
from accelerator.config import Config
from accelerator.context import SessionContext
from accelerator.engines.duckdb import DuckDBEngine
from accelerator.engines.frames import HeldFrames
from accelerator.engines.manifest_jobs import SparkJobs
from accelerator.engines.source import SparkSource
from accelerator.errors import AcceleratorError, CancelledError, EngineError, RefusedError
from accelerator.guards import Guards
from accelerator.iceberg import Lake, NeedsSparkError
from accelerator.iceberg.manifest_jobs import ManifestJobs, Rule
from accelerator.indexing import statements as indexing
from accelerator.interrupts import interruptible
from accelerator.maintenance import recycle_bin
from accelerator.maintenance.daemon import Schedule, Vacuumed, Watch, maintain
from accelerator.maintenance.vacuuming import Scope, vacuum_stored
from accelerator.metrics import Metrics
from accelerator.plan import (
    ComposedPlan,
    CoverPlan,
    FilesPlan,
    NestedPlan,
    PartialPlan,
    PlainPlan,
    Plan,
    RowsPlan,
    decoding_of,
)
from accelerator.plan_metrics import metrics_of, with_decoding
from accelerator.planner import Planner
from accelerator.result import Result
from accelerator.running import partial_frame, run_duckdb, run_nested, spark_frame, whole
from accelerator.sampling import Sampling
from accelerator.scene import Parts
from accelerator.statements.kinds import (
    BuildIndex,
    ExplainAccelerate,
    ExplainWhyNot,
    Other,
    Query,
    Statement,
    VacuumTable,
    Verify,
)
from accelerator.statements.text import first_word
from accelerator.store import Report, Store, local_folders
from accelerator.translation import Translation
from accelerator.uses import Uses
from rewrite.dotted import parts_of
from rewrite.reason import Declined, DeclinedError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from accelerator.engines.spark import SparkEngine
    from accelerator.iceberg.row_groups import Counted
    from accelerator.indexing.builder import IndexBuilder
    from accelerator.indexing.probing import Indexes
    from accelerator.progress import Progress
    from accelerator.relate.dimensions import Dimensions
    from accelerator.rows.stream import SortedRows

_log = logging.getLogger("accelerator")
_INSIST_S = 0.2
_JOB_HINT = "manifest_jobs=never keeps Spark out of it"


class Accelerator:
    """One session over Iceberg catalogs; made by `accelerator.open` or `accelerator.attach`."""

    def __init__(
        self, config: Config, lake: Lake, store: Store, spark: SparkSource, context: SessionContext
    ) -> None:
        self.config, self.lake, self.store = config, lake, store
        self._spark, self._context = spark, context
        self.duckdb = DuckDBEngine(
            threads=config.duckdb_threads,
            memory=config.duckdb_memory,
            cache_bytes=config.cache_bytes,
            folders=local_folders(config.store_root),
            spill_folder=config.duckdb_spill_folder,
            spill_bytes=config.duckdb_spill_bytes_max,
        )
        parts = Parts(lambda: self.indexes, lambda: self.dimensions, lambda: self.duckdb)
        self.planner = Planner(lake, store, config, context, parts)
        self.guards = Guards(config, lake, context)
        self._translation = Translation(lake, context)
        self.builder = Builder(
            lake,
            store,
            config,
            spark.engine,
            self.duckdb,
            lambda: dict(context.settings()),
            lambda: self.dimensions,
        )
        rule = Rule(config.manifest_jobs, config.manifest_jobs_bytes_min)
        lake.use_jobs(ManifestJobs(rule, SparkJobs(spark, self.tracked)))
        self.uses = Uses()
        self.fallbacks: dict[str, int] = {}
        self.sampling = Sampling(self, config.verify_sample)
        self.frames = HeldFrames()
        self._tags: set[str] = set()
        self._lock = threading.Lock()

    # What users call

    @property
    def spark(self) -> SparkSession:
        """The Spark session; started when first asked for."""
        return self._spark.engine().session

    @cached_property
    def indexes(self) -> Indexes:
        """What the tables' indexes prove."""
        from accelerator.indexing.probing import Indexes  # imports Arrow's compute module

        return Indexes(self.store, lambda error: self._failed("index_unreadable", error))

    @cached_property
    def dimensions(self) -> Dimensions:
        """What the dimensions of relate columns say of keys."""
        from accelerator.relate.dimensions import Dimensions  # imports Arrow's compute module

        engine, rows_max = self._spark.engine, self.config.relate_lookup_rows_max
        return Dimensions(self.lake, engine, lambda: self.duckdb, rows_max)

    @cached_property
    def index_builder(self) -> IndexBuilder:
        """Defines and builds indexes."""
        from accelerator.indexing.builder import IndexBuilder

        lake, store, spark = self.lake, self.store, self._spark.engine
        settings = self._context.settings
        return IndexBuilder(lake, store, self.config, spark, self.dimensions, settings)

    @property
    def engine(self) -> SparkEngine:
        """The Spark engine, for the layer's own parts."""
        return self._spark.engine()

    def query(self, sql: str, *, user: str | None = None, dialect: str | None = None) -> Result:
        """Runs any statement; the cheapest engine that is proven right answers.

        `user` asks, by default the setting of that name: guards may exempt it. GuardError where a
        guard refuses the query. The statement is written in the `dialect`, by default that of the
        setting; UntranslatedError where it isn't surely the same in Spark.
        """
        statement = self._guarded(sql, user, dialect)
        if isinstance(statement, Query):
            return self._query(statement)
        if isinstance(statement, Other) or not commands.is_ours(statement, self):
            return self._plain(sql, Metrics())
        started = time.perf_counter()
        table = self.execute(sql, dialect=dialect)
        metrics = Metrics(engine="none", execution_ms=_ms(started))
        return Result(table, metrics, lambda: "A statement of the accelerator's own.")

    def stream(
        self, sql: str, *, user: str | None = None, dialect: str | None = None
    ) -> pa.RecordBatchReader:
        """As `query`, but the rows come piece by piece where they can.

        They can for `SELECT … ORDER BY` without LIMIT: what no row left can come before is given as
        soon as it's read, so that memory is needed only for files that overlap. A failure after
        the first piece is an EngineError. Reading to the end or closing the reader frees what the
        statement pins. `user`, `dialect` and errors of guards as in `query`.
        """
        statement = self._guarded(sql, user, dialect)
        if not isinstance(statement, Query):
            return self.query(sql, user=user, dialect=dialect).arrow().to_reader()
        rows = self._streamed(self._plan(statement)[0])
        if rows is None:
            return self._query(statement).arrow().to_reader()
        return pa.RecordBatchReader.from_batches(rows.schema, self._pieces(statement, rows.schema))

    def sql(self, sql: str, *, user: str | None = None, dialect: str | None = None) -> DataFrame:
        """Runs any statement and gives a pyspark DataFrame, as `spark.sql` does.

        A query's frame is lazy: what it reads stays while it, or one derived from it, may be.
        `user`, `dialect` and errors of guards as in `query`.
        """
        statement = self._guarded(sql, user, dialect)
        if isinstance(statement, Query):
            return self._frame(statement)
        if isinstance(statement, Other) or not commands.is_ours(statement, self):
            return self.spark.sql(sql)
        table = self.execute(sql, dialect=dialect)
        return self.spark.createDataFrame(table)

    def execute(self, sql: str, *, dialect: str | None = None) -> pa.Table:
        """Runs a statement of our own; its answer as rows."""
        statement = self._read(sql, dialect)
        if isinstance(statement, ExplainAccelerate):
            text = self.explain(statement.query, format=statement.format, dialect=dialect)
            return pa.table({"plan": text.splitlines() if statement.format == "text" else [text]})
        if isinstance(statement, ExplainWhyNot):
            found = self.why_not(statement.query, dialect=dialect)
            return pa.Table.from_pylist(found, schema=explain.WHY_NOT)
        if isinstance(statement, Verify):
            return self.verify(statement.query, dialect=dialect).arrow()
        return commands.execute(statement, self)

    def plan(
        self, sql: str, *, only: str | None = None, dialect: str | None = None
    ) -> tuple[Plan, bool]:
        """How a query would be answered now, and whether that was known already."""
        return self._plan(self._read(sql, dialect), only)

    def explain(
        self, sql: str, *, format: str = "text", dialect: str | None = None
    ) -> str:  # SQL's own word
        """The plan as text or JSON: cube, cover, conditions, runners-up, reasons."""
        plan, _ = self.plan(sql, dialect=dialect)
        return explain.as_json(plan) if format == "json" else explain.as_text(plan)

    def why_not(self, sql: str, *, dialect: str | None = None) -> list[dict[str, Any]]:
        """Each cube that was considered, the code and sentence of why it isn't used, what mends it.

        Keys: `cube`, `code`, `reason`, `nearest` (whether it came nearest to answering), `ddl`.
        """
        statement = self._read(sql, dialect)
        plan, _ = self._plan(statement)
        return explain.why_not(plan, lambda: self._suggested(statement))

    def _suggested(self, statement: Statement) -> str | None:
        from accelerator.suggested_cube import suggested_cube

        if not isinstance(statement, Query):
            return None
        try:
            block = self.planner.bind(statement.bare)[0]
        except DeclinedError:
            return None
        taken = frozenset(self.store.registry().cubes)
        return suggested_cube(block, lambda text: self.planner.bind(text)[0], taken)

    def verify(self, sql: str, *, dialect: str | None = None) -> verification.Verification:
        """Runs the query both ways and compares; what makes the rows differ is switched off."""
        statement = self._read(sql, dialect)
        return self.sampling.compared(statement.sql if isinstance(statement, Query) else sql)

    def build(self, name: str, *, wait: bool = True, progress: object = None) -> commands.Build:
        """Builds what a cube lacks; with `wait=False` in the background."""
        return commands.start_build(self, name, wait=wait, progress=progress)

    def build_index(self, name: str, *, progress: Progress | None = None) -> pa.Table:
        """Builds what an index lacks, as `BUILD INDEX` does."""
        return indexing.build_named(BuildIndex(name), self, progress)

    def vacuum(
        self,
        table: str,
        *,
        full: bool = False,
        retain_hours: float | None = None,
        dry_run: bool = False,
        snapshots: bool = False,
    ) -> Report:
        """Deletes what nobody needs any more of a table's cubes; `full`: orphans too.

        With `snapshots` the table's own old snapshots expire first, by Iceberg's procedures. Other
        sessions' running queries and builds keep what they use. The report says what went (or
        would, by a dry run), what stays and why, and what it cost. A part of the name that has a
        dot stands in backticks, as in SQL.
        """
        parts = parts_of(table)
        return commands.vacuum(VacuumTable(parts, full, retain_hours, dry_run, snapshots), self)

    def maintain(
        self,
        schedule: Schedule,
        tell: Callable[[Vacuumed], None],
        *,
        stop: threading.Event,
        rounds: int | None = None,
        metrics: str | None = None,
    ) -> None:
        """Vacuums all tables of the store round by round, until `stop` is set or after so many.

        `tell` is given the outcome of each table's vacuum. Several processes may do so at once.
        `metrics`, `[HOST:]PORT`, serves figures for Prometheus meanwhile; ConfigError where that
        can't be listened at, before the first round.
        """

        def vacuum(table_uuid: str, parts: tuple[str, ...], full: bool) -> Report:
            return vacuum_stored(self, table_uuid, parts, Scope(full, schedule.snapshots))

        with ExitStack() as ends:
            watch: Watch | None = None
            if metrics is not None:
                from accelerator.maintenance.exporter import served  # imports an HTTP server

                watch = ends.enter_context(served(metrics))
            maintain(self.store, vacuum, schedule, tell, stop=stop, rounds=rounds, watch=watch)

    def undrop(self, name: str, *, as_: str | None = None) -> str:
        """Brings a dropped cube back from the recycle bin, built as it was; its name now.

        It's the one that was dropped last under that name. CubeExistsError where the name is in
        use again: `as_` gives another.
        """
        return recycle_bin.undrop(self, name, as_)

    def cancel(self) -> None:
        """Stops every statement and build of this session that runs now, in any thread."""
        with self._lock:
            tags = list(self._tags)
        for tag in tags:
            self.interrupt(tag)
        if tags:
            insist = threading.Thread(target=self._insist, args=(tags,), name="cancel", daemon=True)
            insist.start()

    def close(self) -> None:
        """Ends the session: pins, DuckDB, and Spark if it was started here."""
        self.sampling.close(self.cancel)
        self.frames.close()
        self.store.close()
        self.duckdb.close()
        self._spark.stop()

    def __enter__(self) -> Accelerator:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    # What the layer's parts call

    @property
    def spark_started(self) -> bool:
        """Whether a Spark session runs."""
        return self._spark.started

    def settings(self) -> Mapping[str, str]:
        """The session's SQL settings."""
        return self._context.settings()

    def interrupt(self, tag: str) -> None:
        """Stops what runs under the tag, in either engine or where it asks `check`."""
        self.duckdb.interrupt(tag)
        if self._spark.started:
            self._spark.engine().interrupt(tag)

    def check(self, tag: str) -> None:
        """CancelledError once what runs under the tag was told to stop."""
        self.duckdb.check(tag)

    @contextmanager
    def tracked(self, *, ctrl_c: bool = True) -> Iterator[str]:
        """A tag under which what runs inside can be cancelled; by Ctrl-C too, unless that's False.

        Then Ctrl-C is for who called: a daemon ends in its own way.
        """
        tag = f"acc-{uuid.uuid4().hex}"
        with self._lock:
            self._tags.add(tag)
        try:
            heard = interruptible(lambda: self.interrupt(tag)) if ctrl_c else nullcontext()
            with self.duckdb.stoppable(tag), heard:
                yield tag
        finally:
            with self._lock:
                self._tags.discard(tag)

    def plain_table(self, sql: str) -> pa.Table:
        """The statement's rows by plain Spark."""
        with self.tracked() as tag:
            engine = self._spark.engine()
            session = engine.session
            with engine.tagged(tag):
                return session.sql(sql).toArrow()

    def run(
        self, plan: CoverPlan | RowsPlan | FilesPlan | NestedPlan | PartialPlan, sql: str
    ) -> tuple[pa.Table, str, Counted | None]:
        """Runs a plan; the answer, the engine that gave it, and what was read if it was counted."""
        if isinstance(plan, NestedPlan):
            with self.tracked() as tag:
                return self._nested_rows(plan, tag, {}), plan.engine, None
        if isinstance(plan, PartialPlan):
            with self.tracked() as tag, self._spark.engine().tagged(tag):
                return self._partial(plan, sql, tag).toArrow(), plan.engine, None
        if isinstance(plan, FilesPlan):
            from accelerator.metadata_query import run_files

            with self.tracked() as tag:
                return run_files(plan, self.duckdb, tag), plan.engine, None
        self._pin_snapshots(plan)
        with self.tracked() as tag:
            if plan.engine == "duckdb":
                try:
                    rows, counted = self._in_process(plan, tag)
                    return rows, "duckdb", counted
                except NeedsSparkError:
                    pass  # equality deletes: the same cover, read by Spark
            with ExitStack() as leases:
                engine = self._spark.engine()
                leases.enter_context(engine.tagged(tag))
                frame = spark_frame(plan, engine, sql, leases, self.store, self.config)
                return frame.toArrow(), "spark", None

    # Inside

    def _nested_rows(self, plan: NestedPlan, tag: str, known: dict[int, pa.Table]) -> pa.Table:
        """Each inner SELECT once, then what stands above; `known` are answers so far."""
        return run_nested(plan, self._answers(plan, tag, known), self.duckdb, tag)

    def _partial(self, plan: PartialPlan, sql: str, tag: str) -> DataFrame:
        return partial_frame(plan, self._answers(plan, tag, {}), self._spark.engine(), sql)

    def _answers(self, plan: ComposedPlan, tag: str, known: dict[int, pa.Table]) -> list[pa.Table]:
        for one in plan.inputs:
            if id(one) in known:
                continue
            if isinstance(one, NestedPlan):
                known[id(one)] = self._nested_rows(one, tag, known)
            else:
                self._pin_snapshots(one)
                known[id(one)], _ = self._in_process(one, tag)
        return [known[id(one)] for one in plan.inputs]

    def _in_process(self, plan: CoverPlan | RowsPlan, tag: str) -> tuple[pa.Table, Counted | None]:
        """The answer by DuckDB; NeedsSparkError where it can't read the rows."""
        if isinstance(plan, CoverPlan):
            return run_duckdb(plan, self.duckdb, tag, self.store)
        return self._sorted_rows(plan, tag)

    def _insist(self, tags: list[str]) -> None:
        """Interrupts until all have ended: a job may be about to start, which none stops."""
        while self._tags.intersection(tags):
            for tag in self._tags.intersection(tags):
                with suppress(Exception):  # the engine may just be closing
                    self.interrupt(tag)
            threading.Event().wait(_INSIST_S)

    def _read(self, sql: str, dialect: str | None) -> Statement:
        return self._translation.statement(sql, dialect or self.config.dialect)

    def _plan(self, statement: Statement, only: str | None = None) -> tuple[Plan, bool]:
        if not isinstance(statement, Query):
            return PlainPlan(Declined("not_a_query")), False
        if statement.plain or not self.config.enabled:
            return PlainPlan(Declined("disabled")), False
        return self._planned(statement.bare, only)

    def _guarded(self, sql: str, user: str | None, dialect: str | None) -> Statement:
        """The statement, past the guards where it's a query, in Spark's FROM … SELECT too."""
        statement = self._read(sql, dialect)
        if isinstance(statement, Query):
            self.guards.check(statement.bare, user, written=sql)
        elif isinstance(statement, Other) and first_word(sql).text == "FROM":
            self.guards.check(sql, user)
        return statement

    def _planned(
        self, sql: str, only: str | None = None, *, by_spark: bool = False
    ) -> tuple[Plan, bool]:
        try:
            if metadata_table.is_named(sql):
                return self._files_plan(sql), False
            plan, cached = self.planner.plan(sql, only=only, by_spark=by_spark)
        except CancelledError:  # of a job that decodes manifests
            raise
        except AcceleratorError as error:
            return PlainPlan(self._failed("metadata_unavailable", error)), False
        except Exception as error:  # law 4: whatever fails in planning, the plain statement answers
            return PlainPlan(self._failed("planning_failed", error)), False
        decoding = decoding_of(plan)
        if decoding is not None and decoding.failed is not None and not cached:
            self._failed("manifest_job_failed", EngineError(decoding.failed, hint=_JOB_HINT))
        return plan, cached

    def _files_plan(self, sql: str) -> FilesPlan | PlainPlan:
        if self.config.engine == "spark":
            return PlainPlan(Declined("engine_unavailable", "The setting `engine` is spark."))
        from accelerator.metadata_query import plan_files  # imports Arrow's compute

        try:
            return plan_files(sql, self.lake.pin(), self.settings())
        except DeclinedError as error:
            return PlainPlan(error.declined)
        except SqlglotError as error:
            return PlainPlan(Declined("parse_failed", str(error).splitlines()[0]))

    def _sorted_rows(self, plan: RowsPlan, tag: str) -> tuple[pa.Table, Counted | None]:
        everything = self._streamed(plan)
        if everything is not None:
            everything.tag = tag
            return everything.run(), everything.counted
        from accelerator.rows.top import TopRows  # imports Arrow's compute module

        first = TopRows(plan, self.duckdb, tag, self.config.duckdb_bytes_max)
        return first.run(), first.counted

    def _pieces(self, statement: Query, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with self.store.reading():
            plan, _ = self._plan(statement)  # once more: only now nothing that it names is deleted
            rows = self._streamed(plan)
            if rows is None or rows.schema != schema:
                yield from whole(self._query(statement).arrow(), schema)
                return
            self._pin_snapshots(rows.plan)
            pieces, given = rows.pieces(), False
            while True:
                try:
                    with self.tracked() as rows.tag:
                        piece = next(pieces, None)
                except CancelledError:
                    raise
                except (AcceleratorError, OSError, ValueError, pa.ArrowException) as error:
                    if given:
                        declined = self._failed("engine_failed", error)
                        raise EngineError(
                            f"the rows after the first ones can't be read: {declined.detail}",
                            hint="`query` gives all rows or none, and falls back to plain Spark",
                        ) from error
                    yield from whole(self._query(statement).arrow(), schema)
                    return
                if piece is None:
                    return
                given = True
                yield from piece.to_batches()

    def _streamed(self, plan: Plan) -> SortedRows | None:
        """The run of a plan whose rows can be given piece by piece."""
        if not isinstance(plan, RowsPlan) or plan.block.limit is not None or plan.duckdb_declined:
            return None
        from accelerator.rows.stream import SortedRows

        return SortedRows(plan, self.duckdb)

    def _pin_snapshots(self, plan: CoverPlan | RowsPlan) -> None:
        """Until the statement has ended, no vacuum expires a snapshot whose rows it reads."""
        if (
            isinstance(plan, RowsPlan)
            or plan.uncovered
            or (plan.manifests is None and not any(s.rows for s in plan.segments))
        ):
            for table in plan.pinned:
                self.store.pin_snapshot(table.facts.uuid, table.snapshot_ms)

    def _failed(self, code: str, error: Exception) -> Declined:
        declined = Declined(code, f"{type(error).__name__}: {error}".splitlines()[0])
        self.fallbacks[code] = self.fallbacks.get(code, 0) + 1
        _log.warning("fallback %s: %s", code, declined.sentence)
        return declined

    def _query(self, statement: Query) -> Result:
        started = time.perf_counter()
        if statement.plain or not self.config.enabled:
            return self._plain_query(statement.bare, Metrics(fallback=_shown(Declined("disabled"))))
        with self.store.reading(), self._context.assumed() as holds:
            answer = self._accelerated(statement, started, holds)
        if answer is None:
            return self._query(statement)
        if answer.metrics.rewritten:
            self.sampling.offer(statement.bare)
        return answer

    def _plain_query(self, sql: str, metrics: Metrics, plan: Plan | None = None) -> Result:
        """Spark's answer; where it names tables of files, over views of their manifests."""
        if not metadata_table.is_named(sql):
            return self._plain(sql, metrics, plan)
        with self._metadata_views(sql) as text:
            return self._plain(text, metrics, plan)

    @contextmanager
    def _metadata_views(self, sql: str) -> Iterator[str]:
        zone = self.settings().get("time_zone")
        pin, engine = self.lake.pin(), self._spark.engine()
        try:
            with metadata_table.with_views(sql, engine, pin, zone) as text:
                yield text
        except DeclinedError as error:
            raise commands.no_such_state(self, error) from error

    def _accelerated(
        self, statement: Query, started: float, holds: Callable[[], bool]
    ) -> Result | None:
        """The answer; None where the session has changed from what was known of it."""
        plan, cached = self._planned(statement.bare)
        planned = _ms(started)
        duckdb = not isinstance(plan, PlainPlan) and plan.engine == "duckdb"
        if not duckdb and not holds():
            return None
        if isinstance(plan, PlainPlan):
            metrics = Metrics(planning_ms=planned, fallback=_shown(plan.declined))
            metrics = with_decoding(metrics, plan, cached)
            return self._plain_query(statement.bare, metrics, plan)
        began = time.perf_counter()
        try:
            table, engine, counted = self.run(plan, statement.bare)
        except (CancelledError, KeyboardInterrupt):
            raise
        except (
            Exception
        ) as error:  # law 4: the plain statement answers, or raises Spark's own error
            if not holds():
                return None
            if isinstance(error, RefusedError) and error.__cause__ is not None:
                raise error.__cause__ from None
            declined = self._failed("engine_failed", error)
            self._forget_damaged(plan)
            metrics = Metrics(planning_ms=planned, fallback=_shown(declined))
            return self._plain_query(statement.bare, with_decoding(metrics, plan, cached), plan)
        if not holds():
            return None
        self.uses.record(plan)
        metrics = replace(
            metrics_of(plan, counted),
            engine=engine,
            planning_ms=planned,
            execution_ms=_ms(began),
            plan_cached=cached,
        )
        metrics = with_decoding(metrics, plan, cached)
        return Result(table, metrics, lambda: explain.as_text(plan))

    def _forget_damaged(self, plan: Plan) -> None:
        """Segments that failed a statement for their own damage fail no other one."""
        for part in plan.parts if isinstance(plan, ComposedPlan) else ():
            self._forget_damaged(part)
        if not isinstance(plan, CoverPlan):
            return
        try:
            broken = self.builder.forget_unreadable(plan.definition.fact.uuid, plan.segments)
        except AcceleratorError as error:  # the store may be read-only, or out of reach
            _log.warning("segments that may be damaged aren't forgotten: %s", error)
            return
        if broken:
            hint = f"BUILD CUBE {plan.cube} builds them anew"
            _log.warning("%d segments can't be read and are forgotten; %s", len(broken), hint)

    def _plain(self, sql: str, metrics: Metrics, plan: Plan | None = None) -> Result:
        began = time.perf_counter()
        table = self.plain_table(sql)
        metrics = replace(metrics, engine="spark", execution_ms=_ms(began))
        shown = plan or PlainPlan(Declined("not_a_query"))
        return Result(table, metrics, lambda: explain.as_text(shown))

    def _frame(self, statement: Query) -> DataFrame:
        session = self.spark
        if metadata_table.is_named(statement.bare):
            with self._metadata_views(statement.bare) as text:
                return session.sql(text)
        if statement.plain or not self.config.enabled:
            return session.sql(statement.bare)
        with ExitStack() as leases:
            leases.enter_context(self.store.reading())
            plan, _ = self._planned(statement.bare, by_spark=True)
            if isinstance(plan, (PlainPlan, FilesPlan, NestedPlan)):
                return session.sql(statement.bare)
            try:
                if isinstance(plan, PartialPlan):
                    with self.tracked() as tag:
                        frame = self._partial(plan, statement.bare, tag)
                else:
                    self._pin_snapshots(plan)
                    engine = self._spark.engine()
                    frame = spark_frame(plan, engine, statement.bare, leases, self.store)
            except Exception as error:  # law 4
                if not isinstance(error, RefusedError):
                    self._failed("engine_failed", error)
                return session.sql(statement.bare)
            self.frames.hold(self._spark.engine(), frame, leases.pop_all())
        self.uses.record(plan)
        return frame


def _ms(since: float) -> float:
    return (time.perf_counter() - since) * 1000


def _shown(declined: Declined) -> str:
    return f"{declined.code}: {declined.sentence}"
