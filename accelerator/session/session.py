"""The session: what users hold. Each statement goes to who answers it: queries, or ours.

Threads may share one session.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from accelerator.common.config.config import Config
from accelerator.common.redaction import redacted
from accelerator.common.statement_metrics import Metrics
from accelerator.engines.session_settings import SessionContext
from accelerator.engines.spark.lazy_engine import SparkSource
from accelerator.errors import (
    AcceleratorError,
    ParameterError,
    SessionClosedError,
    StatementError,
)
from accelerator.iceberg import Lake
from accelerator.planning.plans import Plan
from accelerator.query.early_errors.locate import placed
from accelerator.query.early_errors.refused_tables import typed
from accelerator.query.parameters import Parameters, with_parameters
from accelerator.query.pipeline import Queries
from accelerator.query.results.batch_readers import BatchReader
from accelerator.query.results.result import Result
from accelerator.query.runtime.services import Services
from accelerator.query.statements.catalog import FORM_OF, needed_table
from accelerator.query.statements.nodes import (
    BuildIndex,
    BuildStatistics,
    ExplainAccelerate,
    ExplainAnalyze,
    ExplainWhyNot,
    Other,
    Query,
    Statement,
    VacuumTable,
    Verify,
)
from accelerator.services.verification.sampling import Sampling
from accelerator.store import Store
from rewrite.client import ClientContext
from rewrite.identifiers.qualified_name import parts_of
from rewrite.text.printable import printable, some_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from accelerator.common.progress import Progress
    from accelerator.query.explain.explanation import Explained
    from accelerator.services.advisor.report import Advised
    from accelerator.services.advisor.results import AdviceResult
    from accelerator.services.maintenance.daemon import RoundWatch, Schedule, Vacuumed
    from accelerator.services.refresh.service import Refreshed, RefreshWatch
    from accelerator.services.runner import Service
    from accelerator.services.statistics.build import BuiltStatistics
    from accelerator.services.verification.compare import Verification
    from accelerator.session import commands
    from accelerator.store import Report
    from accelerator.store.journals.advice import Advice, Recommendation
    from accelerator.store.journals.claims import Claims

_log = logging.getLogger("accelerator")


class Accelerator:
    """One session over Iceberg catalogs; made by `accelerator.open` or `accelerator.attach`.

    `services` is what its parts work with; `sampling` says what comparisons have found.
    """

    def __init__(
        self,
        config: Config,
        lake: Lake,
        store: Store,
        spark: SparkSource,
        context: SessionContext,
        private: Sequence[str] = (),
    ) -> None:
        self._services = Services.of(config, lake, store, spark, context, private)
        self._queries = Queries(self._services)
        self._log = self._services.log
        self._closed = False
        self.sampling = Sampling(self._queries, config.verify_sample)

    @property
    def services(self) -> Services:
        """What its parts work with; SessionClosedError once it's closed."""
        self._check()
        return self._services

    @property
    def queries(self) -> Queries:
        """Its queries; SessionClosedError once it's closed."""
        self._check()
        return self._queries

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def _check(self) -> None:
        if self._closed:
            raise SessionClosedError(
                "the session is closed", hint="accelerator.open or attach gives another"
            )

    @property
    def config(self) -> Config:
        """The settings that it was opened with."""
        return self._services.config

    @property
    def source(self) -> str | None:
        """The application that asks, as the query log names it; by default the setting."""
        return self._log.source

    @source.setter
    def source(self, name: str | None) -> None:
        self._log.source = name

    @property
    def spark(self) -> SparkSession:
        """The Spark session; started when first asked for."""
        return self.services.engine.session

    @property
    def spark_started(self) -> bool:
        """Whether a Spark session runs."""
        return self._services.spark_source.started

    @property
    def activity(self) -> str:
        """What Spark does now, for people who wait: it starts, or works on a stage; else empty."""
        return self.services.spark_source.activity

    @property
    def fallbacks(self) -> dict[str, int]:
        """How often something of the layer itself failed, by code."""
        return self._services.failures.counts

    def query(
        self,
        sql: str,
        params: Parameters | None = None,
        *,
        user: str | None = None,
        dialect: str | None = None,
        client: ClientContext | None = None,
        timeout_s: float | None = None,
    ) -> Result:
        """Runs any statement; the cheapest engine that is proven right answers.

        `params` are values for its markers: a list for `?`, a mapping for `:name`; ParameterError
        where they don't fit.

        `user` asks, by default the setting of that name: guards may exempt it. GuardError where a
        guard refuses the query. The statement is written in the `dialect`, by default that of the
        setting; UntranslatedError where it isn't surely the same in Spark. A `client` completes the
        statement's names, and nothing but queries and our own statements is run for it. A query
        that takes longer than `timeout_s`, by default the setting, is stopped:
        StatementTimeoutError.
        """
        self._check()
        with self._log.asked(sql, user, dialect, params) as asked:
            sql = self._bound(sql, params, dialect)
            statement = self.queries.guarded(sql, user, dialect, client)
            with self._placed(sql):
                return asked.answered(self.answered(statement, sql, self._limit(timeout_s)))

    def stream(
        self,
        sql: str,
        params: Parameters | None = None,
        *,
        user: str | None = None,
        dialect: str | None = None,
        client: ClientContext | None = None,
        timeout_s: float | None = None,
    ) -> BatchReader:
        """As `query`, but the rows come piece by piece where they can.

        They can where DuckDB may give many: rows of a table or a join, groups over raw rows. What
        has to be whole before the first row, as groups and sorted rows, is in memory or spilled; of
        `SELECT … ORDER BY` over one table only files that overlap. What can't comes at once, as
        from `query`. A failure after the first piece is an EngineError. Reading to the end or
        closing the reader frees what the statement pins. `timeout_s` bounds the work on it, not
        the time that you take between pieces. `user`, `dialect`, `client` and errors of guards as
        in `query`.
        """
        self._check()
        with self._log.asked(sql, user, dialect, params) as asked:
            sql = self._bound(sql, params, dialect)
            statement = self.queries.guarded(sql, user, dialect, client)
            limit = self._limit(timeout_s)
            with self._placed(sql):
                answer = self.opened(statement, sql, limit)
            if isinstance(answer, BatchReader):
                return asked.streamed(answer)
            table = asked.answered(answer).arrow()
        batches = (one for one in table.to_batches())
        return self.services.streams.reader(table.schema, answer.metrics, batches)

    def sql(
        self,
        sql: str,
        params: Parameters | None = None,
        *,
        user: str | None = None,
        dialect: str | None = None,
    ) -> DataFrame:
        """Runs any statement and gives a pyspark DataFrame, as `spark.sql` does.

        A query's frame is lazy: what it reads stays while it, or one derived from it, may be.
        `params`, `user`, `dialect` and errors of guards as in `query`.
        """
        self._check()
        with self._log.asked(sql, user, dialect, params) as asked:
            sql = self._bound(sql, params, dialect)
            statement = self.queries.guarded(sql, user, dialect)
            if isinstance(statement, Query):
                frame = self.queries.frame(statement)
                asked.framed()
                return frame
            if isinstance(statement, Other) or not self._is_ours(statement):
                self.queries.check(statement)
                text = statement.sql if isinstance(statement, Other) else sql
                lake, context = self.services.lake, self.services.context
                with typed(text, lake, context):
                    return self.spark.sql(text)
            with self._placed(sql):
                rows = self._run(statement, self._limit(None))
            return self.spark.createDataFrame(rows)

    def execute(self, sql: str, *, dialect: str | None = None) -> pa.Table:
        """Runs a statement of our own; its answer as rows."""
        self._check()
        with self._log.asked(sql, None, dialect), self._placed(sql):
            return self._run(self.queries.guarded(sql, None, dialect), self._limit(None))

    def _placed(self, sql: str) -> AbstractContextManager[None]:
        def near(parts: tuple[str, ...]) -> tuple[str, ...]:
            from accelerator.query.early_errors.lake_tables import (
                LakeTables,  # few statements have such an error
            )

            return LakeTables(self.services.lake, self.config.catalog_name).near(parts)

        return placed(sql, self.services.lake.misnamed, near)

    def _bound(self, sql: str, params: Parameters | None, dialect: str | None) -> str:
        if not isinstance(sql, str):
            raise StatementError(
                f"the statement is a {type(sql).__name__}", hint="give it as a text"
            )
        if (dialect or self.config.dialect) == "spark":
            return with_parameters(sql, params)
        if params:
            raise ParameterError(
                "parameters are for statements in Spark's dialect",
                hint="write the statement in Spark SQL, or its values into it",
            )
        return sql

    def _limit(self, timeout_s: float | None) -> float:
        return self.config.timeout_s if timeout_s is None else timeout_s

    def answered(self, statement: Statement, sql: str, limit: float) -> Result:
        """The answer to a statement that `queries` has read; to a query within so many seconds.

        Guards aren't asked. 0 is no limit.
        """
        if isinstance(statement, Query):
            with self.services.cancellation.within(limit):
                return self._answer(statement)
        if isinstance(statement, Other) or not self._is_ours(statement):
            self.queries.check(statement)
            text = statement.sql if isinstance(statement, Other) else sql
            try:
                with self.services.cancellation.within(limit):
                    return self.queries.other(text)
            except AcceleratorError as error:
                error.move(text, sql)  # it may be translated
                raise
        started = time.perf_counter()
        table = self._run(statement, limit)
        took = (time.perf_counter() - started) * 1000
        metrics = Metrics(engine="none", execution_ms=took)
        return Result(table, metrics, lambda: "A statement of the accelerator's own.")

    def opened(self, statement: Statement, sql: str, limit: float) -> BatchReader | Result:
        """As `answered`, but a query's rows come piece by piece where they can."""
        if not isinstance(statement, Query):
            return self.answered(statement, sql, limit)
        found = self.queries.opened(statement, limit)
        if isinstance(found, Result):
            self._sampled(statement, found)
        return found

    def _is_ours(self, statement: Statement) -> bool:
        table = needed_table(statement)
        return table is None or self.services.lake.pin().described(table) is not None

    def _run(self, statement: Statement, limit: float) -> pa.Table:
        from accelerator.session.commands import (
            execute,  # imports all that builds, as most answers don't
        )

        own: dict[type, Callable[[Any], list[dict[str, Any]]]] = {
            ExplainAccelerate: lambda one: self._explained(one, limit),
            ExplainAnalyze: lambda one: self._explained(one, limit),
            ExplainWhyNot: lambda one: self.queries.explainer.why_not(one.query, one.query.sql),
            Verify: self._verified,
        }
        return execute(statement, self.services, own)

    def _verified(self, statement: Verify) -> list[dict[str, Any]]:
        self.queries.check(statement.query)
        return [self.sampling.compared(statement.query.sql).row()]

    def _explained(
        self, statement: ExplainAccelerate | ExplainAnalyze, limit: float
    ) -> list[dict[str, str]]:
        query, format = statement.query, statement.format
        within = limit if isinstance(statement, ExplainAnalyze) else None
        text = self.queries.explainer.shown(query, query.sql, format, within)
        lines = text.splitlines() if format == "text" else [str(text)]
        return [{"plan": line} for line in lines]

    def plan(
        self, sql: str, *, only: str | None = None, dialect: str | None = None
    ) -> tuple[Plan, bool]:
        """How a query would be answered now, and whether that was known already."""
        return self.queries.plan(self.queries.read(sql, dialect), only)

    def explain(
        self,
        sql: str,
        params: Parameters | None = None,
        *,
        format: str = "text",  # SQL's own word
        analyze: bool = False,
        user: str | None = None,
        dialect: str | None = None,
        client: ClientContext | None = None,
        timeout_s: float | None = None,
    ) -> Explained:
        """How it's answered, as text or JSON; a notebook shows it as HTML.

        What is read beside what plain Spark would read, what that rests on, who else could answer
        and why not the others. With `analyze` the query runs, and what was read and how long each
        stage took is told too; `user`, `timeout_s` and errors of guards are then as in `query`.
        `client` is as there, too.
        """
        sql = self._bound(sql, params, dialect)
        if not analyze:
            statement = self.queries.read(sql, dialect, client)
            return self.queries.explainer.shown(statement, sql, format)
        statement = self.queries.guarded(sql, user, dialect, client)
        limit = self._limit(timeout_s)
        return self.queries.explainer.shown(statement, sql, format, limit)

    def why_not(self, sql: str, *, dialect: str | None = None) -> list[dict[str, Any]]:
        """Why cubes and whatever else was considered aren't used: a row for each reason.

        Keys: `cube` (all for which it holds, with commas; None: for all), `code`, `reason`,
        `nearest` (whether that one came nearest to answering), `ddl` (what would make it answer),
        `cost` (of the `ddl`, where that is known).
        """
        return self.queries.explainer.why_not(self.queries.read(sql, dialect), sql)

    def verify(self, sql: str, *, dialect: str | None = None) -> Verification:
        """Runs the query both ways and compares; what makes the rows differ is switched off."""
        statement = self.queries.read(sql, dialect)
        self.queries.check(statement)
        return self.sampling.compared(statement.sql if isinstance(statement, Query) else sql)

    def query_log(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 1000,
    ) -> pa.Table:
        """The newest statements of the store's query log, by whichever process they were asked.

        They began at `since` or later, and before `until`; times have a zone. QueryLogError for
        one without, and for a `limit` above 100,000. `docs/formats/query-log.md` has the columns.
        """
        from accelerator.store.journals.query_log.reader import (
            read,  # imports Arrow's compute module
        )

        files = self.services.store.files
        self._log.unwritten()
        return read(files, since, until, limit)

    def analyze(self, table: str | None = None, **budget: float | str) -> Advice:
        """What the query log advises for a table, or for all: what to make, and what to drop.

        These are cubes, indexes, relate columns, and an order of a table's rows.

        Nothing is made by it: `apply` does. `budget` are fields of `AdviceBudget`:
        `bytes` and `build_minutes` that all of it may take, `days` of the log with their
        `half_life_days`, and `keep_days` for which stays what isn't used. The advice is kept in the
        store. AdviceError for a budget that can't be, WorkloadEmptyError where the log
        has nothing of it, UnknownTableError.
        """
        from accelerator.services.advisor.ddl import advised, budget_of

        named = None if table is None else parts_of(table)
        return advised(self.services, named, budget_of(tuple(budget.items())))

    def recommendations(self, table: str | None = None) -> list[Recommendation]:
        """Returns the newest advice for a table, or for each; done ones too."""
        from accelerator.services.advisor.ddl import current

        named = None if table is None else parts_of(table)
        return [one for _, one in current(self.services, named)]

    def apply(self, id: str | None = None, *, table: str | None = None) -> list[Recommendation]:
        """Does the recommendation of that id, or all that are open for the table; those done.

        Orders are done by their id alone. Dropped cubes go to the recycle bin. AdviceNotFoundError;
        AdviceStaleError where a table or cube was changed so that it has another meaning; errors of
        what exists or is gone by now; what builds and rewrites raise.
        """
        from accelerator.services.advisor.apply.apply import apply
        from accelerator.session.commands import execute

        named = None if table is None else parts_of(table)
        return apply(self.services, id, named, lambda one: execute(one, self.services, {}))

    def advice_results(self, table: str | None = None) -> list[AdviceResult]:
        """What was applied for a table, or for any, and what came of it; the newest first.

        What it promised stands beside what the query log tells since. StoreError where it can't be
        read; UnknownTableError.
        """
        from accelerator.query.statements.definitions import table_uuid
        from accelerator.services.advisor.results import Results

        uuid = table_uuid(self.services, None if table is None else parts_of(table))
        self._log.unwritten()
        every = Results(self.services).all()
        return [one for one in every if uuid in (None, one.applied.table_uuid)]

    def build(
        self, name: str, *, wait: bool = True, progress: Progress | None = None
    ) -> commands.Build:
        """Builds what a cube lacks; with `wait=False` in the background."""
        from accelerator.session.commands import start_build

        return start_build(self.services, name, wait=wait, progress=progress)

    def build_index(self, name: str, *, progress: Progress | None = None) -> pa.Table:
        """Builds what an index lacks, as `BUILD INDEX` does."""
        from accelerator.services.ddl.indexes import build_named

        rows = build_named(BuildIndex(name), self.services, progress)
        return FORM_OF[BuildIndex].table(rows)

    def build_statistics(
        self, table: str, *, columns: Sequence[str] = (), progress: Progress | None = None
    ) -> BuiltStatistics:
        """Sketches a table's columns, or all that can be, as `BUILD STATISTICS ON` does.

        The answer tells what was read and written, and what was left out. UnknownTableError,
        UnknownColumnError; StatisticsError where a column's type isn't sketched, files can't be
        read in process, or the snapshot expired meanwhile.
        """
        from accelerator.services.statistics.ddl import build_statistics

        names = (columns,) if isinstance(columns, str) else tuple(columns)
        statement = BuildStatistics(parts_of(table), names)
        return build_statistics(statement, self.services, progress)

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
        from accelerator.session.commands import vacuum

        statement = VacuumTable(parts_of(table), full, retain_hours, dry_run, snapshots)
        return vacuum(statement, self.services)

    def maintain(
        self,
        schedule: Schedule,
        tell: Callable[[Vacuumed], None],
        *,
        stop: threading.Event,
        rounds: int | None = None,
        metrics: str | None = None,
        hosts: Sequence[str] = (),
        watch: RoundWatch | None = None,
        tell_refresh: Callable[[Refreshed], None] = lambda _: None,
        watch_refresh: RefreshWatch | None = None,
        tell_advice: Callable[[Advised], None] = lambda _: None,
    ) -> None:
        """Vacuums all tables of the store round by round, until `stop` is set or after so many.

        Meanwhile cubes and indexes are brought up to date as `SET REFRESH` says, unless the
        schedule leaves that out; with `rounds`, those that are due by then. So does the advisor
        what the setting `advisor` says. `tell` is given the outcome of each table's vacuum,
        `tell_refresh` that of each refresh, `tell_advice` that of each run of the advisor, from
        other threads, one at a time. Several processes may do so at once: each task is done by one
        of them.
        `metrics`, `[HOST:]PORT`, serves figures for Prometheus meanwhile; ConfigError where that
        can't be listened at, before the first round. Beside the names of this machine, clients may
        ask by those of `hosts`. `watch` and `watch_refresh` hear what these
        are made of.
        """
        from accelerator.services.maintenance.daemon import maintain
        from accelerator.services.maintenance.query_log_tidying import Tidying
        from accelerator.services.refresh.service import Refresh
        from accelerator.services.vacuum.vacuum import VacuumScope, vacuum_stored
        from accelerator.store.journals.claims import Claims

        def vacuum(table_uuid: str, parts: tuple[str, ...], full: bool) -> Report:
            return vacuum_stored(
                self.services, table_uuid, parts, VacuumScope(full, schedule.snapshots)
            )

        with ExitStack() as ends:
            if metrics is not None:
                from accelerator.services.maintenance.prometheus import (
                    served,  # imports an HTTP server
                )
                from accelerator.services.maintenance.prometheus_advisor import AdvisorFigures
                from accelerator.services.maintenance.prometheus_refresh import RefreshFigures

                watch = ends.enter_context(served(metrics, hosts))
                watch_refresh = RefreshFigures(watch.registry)
                tell_advice = _both(AdvisorFigures(watch.registry).advised, tell_advice)
            store, writable = self.services.store, not self.config.store_read_only
            claims, once = Claims(store.files), rounds is not None
            beside: list[Service] = []
            if writable:
                beside.append(Tidying(self._log.tidy, schedule.interval_s, once=once))
            if writable and schedule.refresh:
                beside.append(
                    Refresh(self.services, claims, tell_refresh, watch=watch_refresh, once=once)
                )
            if self.config.advisor != "manual":
                if writable:
                    beside.append(self._advising(claims, tell_advice, once=once))
                else:
                    _log.warning("the advisor doesn't run: the store is read-only")
            maintain(
                store,
                vacuum,
                schedule,
                tell,
                stop=stop,
                rounds=rounds,
                watch=watch,
                beside=beside,
                claims=claims if writable else None,
                abort=self.cancel,
            )

    def _advising(self, claims: Claims, tell: Callable[[Advised], None], *, once: bool) -> Service:
        from accelerator.services.advisor.service import Advise  # imports Arrow's compute module
        from accelerator.session.commands import execute

        services = self.services
        return Advise(services, claims, lambda one: execute(one, services, {}), tell, once=once)

    def undrop(self, name: str, *, as_: str | None = None) -> str:
        """Brings a dropped cube back from the recycle bin, built as it was; its name now.

        It's the one that was dropped last under that name. CubeExistsError where the name is in
        use again: `as_` gives another.
        """
        from accelerator.services.ddl.cubes.recycle_bin import undrop

        return undrop(self.services, name, as_)

    def cancel(self) -> None:
        """Stops every statement and build of this session that runs now, in any thread.

        A stream runs while a batch is waited for; between two of them closing its reader ends it.
        """
        self._services.cancellation.cancel()

    def close(self) -> None:
        """Ends the session: pins, DuckDB, and Spark if it was started here; twice is as once."""
        if self._closed:
            return
        self.sampling.close(self.cancel)
        self._closed = True
        try:
            self._services.close()
        finally:
            self._log.close()  # streams that were open have ended

    def __repr__(self) -> str:
        if self._closed:
            return "<Accelerator, closed>"
        names = some_of([one.name for one in self._services.lake.settings]) or "no catalog"
        store = redacted(self.config.store_root, self.config.store_options)
        spark = "runs" if self.spark_started else "isn't started"
        return f"<Accelerator over {names}; store {printable(store)}; Spark {spark}>"

    def __enter__(self) -> Accelerator:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def _answer(self, statement: Query) -> Result:
        answer = self.queries.answer(statement)
        self._sampled(statement, answer)
        return answer

    def _sampled(self, statement: Query, answer: Result) -> None:
        if answer.metrics.rewritten:
            self.sampling.offer(statement.bare)


def _both(first: Callable[[Advised], None], then: Callable[[Advised], None]) -> Callable[..., None]:
    def tell(done: Advised) -> None:
        first(done)
        then(done)

    return tell
