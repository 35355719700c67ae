"""Queries from text to answer: read, guarded, planned, run; the plain statement where that fails.

A failure in the layer itself never reaches the user: the plain statement answers, and the failure
is counted, logged and in the metrics. Threads share one session's queries.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from msgspec.structs import replace
from sqlglot.errors import SqlglotError

from accelerator.common.arrow.spark_types import arrow_type, is_known
from accelerator.common.statement_metrics import Metrics
from accelerator.engines.spark.lazy_engine import require_spark
from accelerator.errors import (
    UNFIT,
    AcceleratorError,
    CancelledError,
    EngineError,
    MemoryExceededError,
    RaisesError,
    RefusedError,
    RowRaisedError,
    SparkElsewhereError,
    SparkMissingError,
)
from accelerator.iceberg import UnreadableTableError
from accelerator.iceberg.errors import CatalogError, CatalogUnreachableError, NeedsSparkError
from accelerator.planning.plans import PlainPlan, Plan
from accelerator.planning.plans.virtual import VirtualTable
from accelerator.query.early_errors.known_spark import is_known as is_known_spark
from accelerator.query.early_errors.known_spark import is_release_known
from accelerator.query.early_errors.refused_tables import ITSELF, check_tables, typed
from accelerator.query.execution.executor import Execution
from accelerator.query.execution.streaming import PlanRun, whole
from accelerator.query.guards.guards import Guards
from accelerator.query.recording.plan_observers import tell
from accelerator.query.results.batch_readers import BatchReader
from accelerator.query.results.result import Result
from accelerator.query.runtime.cancellation import TimeBudget, new_tag
from accelerator.query.runtime.failures import declined_for
from accelerator.query.statements.nodes import ExplainAnalyze, Other, Query, Statement
from accelerator.query.translation import MayLook, Translation
from accelerator.query.virtual_tables import log_table, spark_views
from rewrite.client import ClientContext
from rewrite.parse.bounds import CODE, TooDeepError
from rewrite.parse.parse import unparsed
from rewrite.reason import Declined, DeclinedError
from rewrite.text.first_look import first_word

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from accelerator.query.explain.explainer import Explainer
    from accelerator.query.runtime.services import Services

_log = logging.getLogger("accelerator")
T = TypeVar("T")
ASKED_SINCE = "; Spark was asked since: "
"""Separates, in the hint of an error of Spark's, its own from the reason why Spark was asked."""
_WITHOUT_SPARK = "docs/reference/sql.md lists what is shown without it"
_OTHER = "it's neither a query nor a statement that is answered in this process"
_INSTEAD = {
    "CREATE": "PyIceberg creates tables in the same catalog",
    "EXPLAIN": "EXPLAIN and the query alone show the plan of this package",
    "INSERT": "PyIceberg and the gateway's API append rows to the same tables",
}
"""What works without Spark, by a statement's first word."""
_JOB_HINT = "manifest_jobs=never keeps Spark out of it"


class Queries:
    """Those of one session."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.execution = Execution(services)
        self.guards = Guards(services.config, services.lake, services.context)
        self._planner = services.planner
        self._translation = Translation(services.lake, services.context)

    def read(
        self,
        sql: str,
        dialect: str | None,
        client: ClientContext | None = None,
        may_look: MayLook | None = None,
    ) -> Statement:
        """The statement; its query in Spark SQL, a client's names completed.

        `may_look` raises for what may not be looked up; `check_ours` has to be called then.
        """
        dialect = dialect or self.services.config.dialect
        return self._translation.statement(sql, dialect, client, may_look)

    def check_ours(self, statement: Statement) -> None:
        """UnknownTableError if a statement of ours needs an Iceberg table that isn't there."""
        if not isinstance(statement, Query):
            self._translation.check_ours(statement)

    def guarded(
        self, sql: str, user: str | None, dialect: str | None, client: ClientContext | None = None
    ) -> Statement:
        """The statement, past the guards where it's a query, in Spark's FROM … SELECT too."""
        statement = self.read(sql, dialect, client)
        self.check_guards(statement, sql, user)
        return statement

    def check_guards(self, statement: Statement, sql: str, user: str | None) -> None:
        """Raises the GuardError of a guard that refuses it; `sql` is it as it was written."""
        asked = statement.query if isinstance(statement, ExplainAnalyze) else statement
        if isinstance(asked, Query):
            self.guards.check(asked.bare, user, written=sql)
        elif isinstance(statement, Other) and first_word(sql).text == "FROM":
            self.guards.check(sql, user)

    def plan(self, statement: Statement, only: str | None = None) -> tuple[Plan, bool]:
        """How it would be answered now, and whether that was known already."""
        if not isinstance(statement, Query):
            return PlainPlan(Declined("not_a_query")), False
        if self._is_plain(statement):
            return PlainPlan(Declined("disabled")), False
        return self._planned(statement.bare, only)

    def answer(self, statement: Query) -> Result:
        """The answer, by the cheapest engine that is proven right."""
        started = time.perf_counter()
        if self._is_plain(statement):
            return self._plain_query(statement, Metrics(fallback=Declined("disabled").line))
        with self.services.store.reading(), self.services.context.assumed() as holds:
            answer = self._accelerated(statement, started, holds)
        self.services.frames.sweep_in_passing()
        self.services.streams.sweep()
        return self.answer(statement) if answer is None else answer

    def plain(self, sql: str, metrics: Metrics, plan: Plan | None = None) -> Result:
        """Spark's own answer to any statement."""
        began = time.perf_counter()
        try:
            table = self.services.plain_table(sql)
        except EngineError as error:
            if isinstance(error, SparkMissingError):
                raise self._without_spark(sql, metrics, plan, error) from error
            if metrics.fallback is None or not error.hint:
                raise
            error.hint = f"{error.hint}{ASKED_SINCE}{metrics.fallback}"
            raise
        metrics = replace(metrics, engine="spark", execution_ms=_ms(began))
        shown = plan or PlainPlan(Declined("not_a_query"))
        return Result(table, metrics, lambda: self._explained(sql, shown))

    def other(self, sql: str) -> Result:
        """The answer to a statement that is neither a query nor ours: from here, else Spark's."""
        from accelerator.query.catalog_statements.answer import answer  # most sessions ask none

        began = time.perf_counter()
        try:
            found = answer(sql, self)
        except (CatalogError, *UNFIT) as error:  # law 4
            if isinstance(error, AcceleratorError) and error.unreachable:
                raise
            found = self.services.failures.count("metadata_unavailable", error)
        if found is None:
            return self.plain(sql, Metrics())
        if isinstance(found, Declined):
            services = self.services
            why = found.sentence.removesuffix(".")
            require_spark(services.spark_source.engine, why, _WITHOUT_SPARK)
            return self.plain(sql, Metrics(fallback=found.line), PlainPlan(found))
        metrics = Metrics(engine="none", execution_ms=_ms(began))
        return Result(found, metrics, lambda: "Answered from the catalogs, without Spark.")

    def _without_spark(
        self, sql: str, metrics: Metrics, plan: Plan | None, error: SparkMissingError
    ) -> SparkMissingError:
        """The error of a statement that is right: why it needs Spark, and what answers without."""
        why, instead = metrics.fallback, None
        if plan is not None:
            with suppress(AcceleratorError):
                rows = self.explainer.why_not(Query(sql, sql), sql)
                instead = next((row["ddl"] for row in rows if row["ddl"]), None)
                if why is None or isinstance(plan, PlainPlan):  # else it failed while it ran
                    why = f"{rows[0]['code']}: {rows[0]['reason']}"
        elif why is None:
            why, instead = _OTHER, _INSTEAD.get(first_word(sql).text, _WITHOUT_SPARK)
        hint = error.hint if why is None else f"{error.hint}{ASKED_SINCE}{why}"
        hint = f"{hint}; without Spark: {instead}" if instead else hint
        return SparkMissingError(f"the statement needs Spark: {error.message}", hint=hint)

    def check(self, statement: Statement) -> None:
        """Raises what is surely wrong with a statement for which Spark would be started."""
        services = self.services
        if isinstance(statement, Query):
            for table in statement.tables:
                self._translation.check_present(table)
        if services.spark_source.started or not is_known_spark(services.config):
            return
        from accelerator.query.early_errors.check import check
        from accelerator.query.early_errors.lake_tables import LakeTables

        if isinstance(statement, Query):
            check_tables(statement.bare, services.lake.pin(fresh=True), services.context)
        check(statement, LakeTables(services.lake, services.config.catalog_name))

    def opened(self, statement: Query, timeout_s: float) -> BatchReader | Result:
        """The answer: a reader of its rows where they can come piece by piece, else all of them.

        Working on them may take `timeout_s`, the reader's own time apart; 0: as long as it needs.
        """
        streams = self.services.streams
        streams.sweep()
        batches = self._batches(statement, TimeBudget(self.services.cancellation, timeout_s))
        first: tuple[pa.Schema, Metrics] | Result | None = next(batches)
        if isinstance(first, tuple):
            return streams.reader(*first, batches)
        batches.close()
        self.services.frames.sweep_in_passing()
        if first is not None:
            return first
        with self.services.cancellation.within(timeout_s):
            return self.answer(statement)

    def schema(self, statement: Query) -> pa.Schema:
        """The columns that its answer would have; nothing is run."""
        if not self._is_plain(statement):
            with self.services.store.reading():
                found = self._planned(statement.bare)[0].outputs()
            if found is not None and all(is_known(type_) for _, type_ in found):
                return pa.schema([(name, arrow_type(type_)) for name, type_ in found])
        return self.services.engine.arrow_schema(self.frame(statement))

    def frame(self, statement: Query) -> DataFrame:
        """A lazy DataFrame; what it reads stays as long as it, or one derived from it, may be.

        It asks for the time when it's run.
        """
        statement = statement.as_plain()
        with typed(statement.bare, self.services.lake, self.services.context):
            return self._frame(statement)

    def _frame(self, statement: Query) -> DataFrame:
        self.check(statement)
        services, session = self.services, self.services.engine.session
        if self._names_own(statement.bare):
            with self._own_views(statement.bare) as (text, cut):
                if cut is not None:
                    _log.warning("%s", cut)
                return session.sql(text)
        if self._is_plain(statement):
            return session.sql(statement.bare)
        with ExitStack() as leases:
            leases.enter_context(services.store.reading())
            plan, _ = self._planned(statement.bare, by_spark=True)
            try:
                frame = self.execution.frame(plan, statement.bare, leases)
            except Exception as error:  # law 4
                if not isinstance(error, RefusedError):
                    services.failures.count("engine_failed", error)
                return session.sql(statement.bare)
            if frame is None:
                return session.sql(statement.bare)
            services.frames.hold(services.engine, frame, leases.pop_all())
        return frame

    @cached_property
    def explainer(self) -> Explainer:
        """Says how statements are answered."""
        from accelerator.query.explain.explainer import (
            Explainer,  # answers that nobody explains load none of it
        )

        return Explainer(self.services, self.plan, self.answer)

    def _explained(self, sql: str, plan: Plan) -> str:
        """How an answer came about."""
        from accelerator.query.explain.explanation import Explained

        return Explained(self.explainer.of_plan(sql, plan))

    def _is_plain(self, statement: Query) -> bool:
        return statement.plain or not self.services.config.enabled

    def _planned(
        self, sql: str, only: str | None = None, *, by_spark: bool = False, whole: bool = True
    ) -> tuple[Plan, bool]:
        plan, cached = self._make_plan(sql, only, by_spark=by_spark, whole=whole)
        tell(sql, plan)
        return plan, cached

    def _make_plan(
        self, sql: str, only: str | None, *, by_spark: bool, whole: bool
    ) -> tuple[Plan, bool]:
        failures = self.services.failures
        try:
            if self._names_own(sql):
                return self._own_plan(sql), False
            plan, cached = self._planner.plan(sql, only=only, by_spark=by_spark, whole=whole)
        except (CancelledError, SparkElsewhereError):  # of a job that decodes manifests
            raise
        except UnreadableTableError as error:
            # It may be a table of a cube or index: those of the statement are looked at alone.
            if is_release_known():
                check_tables(sql, self.services.lake.pin(), self.services.context, ITSELF)
            return PlainPlan(error.declined), False
        except AcceleratorError as error:
            unreachable = isinstance(error, CatalogUnreachableError)
            if unreachable and not self.services.spark_source.started:
                raise  # a Spark that is started for it would be told of the same catalog
            return PlainPlan(failures.count("metadata_unavailable", error)), False
        except (TooDeepError, RecursionError) as error:
            return PlainPlan(failures.count(CODE, error)), False
        except Exception as error:  # law 4: whatever fails in planning, the plain statement answers
            return PlainPlan(failures.count("planning_failed", error)), False
        refused = plan.refused()
        if refused is not None and refused.code == CODE and not cached:
            failures.count_declined(refused)
        decoding = plan.decoding()
        if decoding is not None and decoding.failed is not None and not cached:
            failures.count("manifest_job_failed", EngineError(decoding.failed, hint=_JOB_HINT))
        return plan, cached

    def _log_table(self, sql: str) -> VirtualTable | None:
        """The query log as the asker may see it; None if the query doesn't name it."""
        services = self.services
        if not log_table.is_named(sql, services.lake.catalogs):
            return None
        return log_table.table_of(services.store.files, services.log.unwritten)

    def _names_own(self, sql: str) -> bool:
        """Whether it may name a table that is ours: of a table's files, or the query log."""
        return spark_views.is_named(sql) or self._log_table(sql) is not None

    def _own_plan(self, sql: str) -> Plan:
        services = self.services
        if services.config.engine == "spark":
            return PlainPlan(Declined("engine_unavailable", "The setting `engine` is spark."))
        try:
            settings, log = services.context.settings(), self._log_table(sql)
            if log is not None:
                from accelerator.query.virtual_tables.log_query import plan_log

                return plan_log(sql, log, settings)
            from accelerator.query.virtual_tables.files_query import plan_files

            return plan_files(sql, services.lake.pin(), settings)
        except DeclinedError as error:
            return PlainPlan(error.declined)
        except SqlglotError as error:
            return PlainPlan(unparsed(error))

    def _accelerated(
        self, statement: Query, started: float, holds: Callable[[], bool]
    ) -> Result | None:
        """The answer; None where the session has changed from what was known of it."""
        plan, cached = self._planned(statement.bare)
        return self._run(statement, plan, cached, started, holds)

    def _run(
        self,
        statement: Query,
        plan: Plan,
        cached: bool,
        started: float,
        holds: Callable[[], bool],
    ) -> Result | None:
        """The whole answer by that plan; None as of `_accelerated`."""
        planned = _ms(started)
        if plan.engine != "duckdb" and not holds():
            return None
        refused = plan.refused()
        if refused is not None:
            metrics = Metrics(planning_ms=planned, fallback=refused.line)
            metrics = plan.figures_of(metrics, cached)
            return self._plain_query(statement, metrics, plan)
        began = time.perf_counter()
        found = self._attempt(
            statement, plan, holds, lambda: self.execution.run(plan, statement.bare)
        )
        if found is None:
            return None
        if isinstance(found, Declined):
            metrics = Metrics(planning_ms=planned, fallback=found.line)
            return self._plain_query(statement, plan.figures_of(metrics, cached), plan)
        table, engine, counted = found
        metrics = replace(
            plan.figures(counted),
            engine=engine,
            planning_ms=planned,
            execution_ms=_ms(began),
            plan_cached=cached,
        )
        metrics = plan.figures_of(metrics, cached)
        return Result(table, metrics, lambda: self._explained(statement.bare, plan))

    def _attempt(
        self,
        statement: Query,
        plan: Plan,
        holds: Callable[[], bool],
        run: Callable[[], T],
        *,
        whole: bool = True,
        given: bool = False,
    ) -> T | Declined | None:
        """What `run` gives of the plan, or why the plain statement answers.

        None where the session has changed from what was known of it.
        """
        try:
            found = run()
        except (CancelledError, SparkElsewhereError, KeyboardInterrupt):
            raise
        except SparkMissingError as error:  # the plain statement needs Spark, too
            reason = plan.not_in_process()
            if reason is not None and error.hint:
                error.hint = f"{error.hint}{ASKED_SINCE}{reason.line}"
            raise
        except (
            Exception
        ) as error:  # law 4: the plain statement answers, or raises Spark's own error
            if not holds():
                return None
            return self._failed(statement, plan, error, whole=whole, given=given)
        return found if holds() else None

    def _failed(
        self, statement: Query, plan: Plan, error: Exception, *, whole: bool, given: bool
    ) -> Declined:
        """Why the plain statement answers from now on; raises what Spark itself refuses it for.

        Where rows were `given` nothing answers, so that it's no fallback.
        """
        if isinstance(error, RefusedError) and error.__cause__ is not None:
            raise error.__cause__ from None
        if isinstance(error, NeedsSparkError):
            return self._planner.leave_rows(plan, str(error).splitlines()[0])
        if _is_raised(error):
            error = RowRaisedError(str(error))
        if isinstance(error, MemoryExceededError | RaisesError):
            declined = Declined(error.code, str(error).splitlines()[0])
            if isinstance(error, MemoryExceededError | RowRaisedError):  # else constants alone
                whole = whole and isinstance(error, MemoryExceededError)
                self._planner.leave_statement(statement.bare, plan, declined, whole=whole)
            return declined
        if given:
            declined = declined_for("engine_failed", error)
            _log.warning("a stream ended before its last row: %s", declined.detail)
        else:
            declined = self.services.failures.count("engine_failed", error)
        self._planner.leave_statement(statement.bare, plan, declined)
        self._forget_damaged(plan)
        return declined

    def _plain_query(self, statement: Query, metrics: Metrics, plan: Plan | None = None) -> Result:
        """Spark's answer; where it names tables of files, over views of their manifests."""
        statement = statement.as_plain()
        self.check(statement)
        sql = statement.bare
        if not self._names_own(sql):
            return self.plain(sql, metrics, plan)
        with self._own_views(sql) as (text, cut):
            return self.plain(
                text, metrics if cut is None else replace(metrics, all_rows=cut), plan
            )

    @contextmanager
    def _own_views(self, sql: str) -> Iterator[tuple[str, str | None]]:
        """The text with views in place of tables that are ours; why they haven't all rows."""
        services, log = self.services, self._log_table(sql)
        engine, pin, settings = services.engine, services.lake.pin(), services.context.settings()
        try:
            with spark_views.with_views(sql, engine, pin, log, settings) as (text, is_cut):
                yield text, Declined("log_cut").line if is_cut else None
        except DeclinedError as error:
            from accelerator.query.statements.definitions import (
                no_such_state,  # few statements need it
            )

            raise no_such_state(services, error) from error

    def _forget_damaged(self, plan: Plan) -> None:
        """Segments that failed a statement for their own damage fail no other one."""
        for leaf in plan.leaves():
            read = leaf.segments_read()
            if read is None:
                continue
            try:
                broken = self.services.builder.forget_unreadable(*read)
            except AcceleratorError as error:  # the store may be read-only, or out of reach
                _log.warning("segments that may be damaged aren't forgotten: %s", error)
                continue
            if broken:
                names = ", ".join(leaf.used())
                hint = f"BUILD CUBE {names} builds them anew"
                _log.warning("%d segments can't be read and are forgotten; %s", len(broken), hint)

    def _batches(self, statement: Query, budget: TimeBudget) -> Generator[Any, None, None]:
        """Schema and figures, then the batches; the whole answer where it can't be given so.

        None where the session has changed from what was known of it.
        """
        services, tag, started = self.services, new_tag(), time.perf_counter()
        with services.store.reading():
            with budget.spent():
                rows = self._begun(statement, tag, started)
            if rows is None or isinstance(rows, Result):
                yield rows
                return
            figures = replace(
                rows.plan.figures(), engine=rows.plan.engine, planning_ms=_ms(started)
            )
            yield rows.schema, figures
            with services.duckdb.held.holding(tag):
                declined = yield from self._computed(statement, rows, budget, tag)
            if declined is None:
                return
            with budget.spent():
                metrics = Metrics(fallback=declined.line)
                answer = self._plain_query(statement, metrics, rows.plan)
            yield from whole(answer.arrow(), rows.schema)

    def _begun(self, statement: Query, tag: str, started: float) -> PlanRun | Result | None:
        """The run of its plan, else its whole answer; None as of `_batches`."""
        if self._is_plain(statement):
            return self._plain_query(statement, Metrics(fallback=Declined("disabled").line))
        with self.services.context.assumed() as holds:
            plan, cached = self._planned(statement.bare, whole=False)
            rows = self.execution.streamed(plan, tag)
            if rows is not None:
                return rows if holds() else None
            plan = self._planner.but_left(statement.bare, plan, whole=True)
            return self._run(statement, plan, cached, started, holds)

    def _computed(
        self, statement: Query, rows: PlanRun, budget: TimeBudget, tag: str
    ) -> Generator[pa.RecordBatch, None, Declined | None]:
        """The batches; why the first one can't be had, so that the plain statement answers."""
        pieces, given = rows.pieces(), False

        def piece() -> tuple[pa.Table | None]:
            if not given:
                self.execution.pin_snapshots(rows.plan)
            with budget.spent(), self.services.cancellation.tracked(tag):
                return (next(pieces, None),)

        while True:
            found = self._attempt(statement, rows.plan, _always, piece, whole=False, given=given)
            if isinstance(found, Declined):
                if given:
                    raise EngineError(
                        f"the rows after the first ones can't be read: {found.detail}",
                        hint="`query` gives all rows or none, and falls back to plain Spark",
                    )
                return found
            if found is None or found[0] is None:
                return None
            given = True
            yield from found[0].to_batches()
            del found  # the next piece is read while nobody holds this one


def _is_raised(error: Exception) -> bool:
    """Returns whether Spark raised for a value: SQLSTATE 22, "data exception"."""
    state = getattr(error, "getSqlState", None)
    return callable(state) and str(state()).startswith("22")


def _always() -> bool:
    return True


def _ms(since: float) -> float:
    return (time.perf_counter() - since) * 1000
