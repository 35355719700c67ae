"""What a worker does with a statement: what it means, whether its user may, what its rows are.

The order is fixed: a statement is read, its names are completed, the policy is asked for every
table under it, and only then it's planned.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import Any, Self
from weakref import WeakKeyDictionary

import pyarrow as pa
from msgspec import Struct, convert
from msgspec.structs import replace

from accelerator.common.statement_metrics import Metrics
from accelerator.errors import (
    AcceleratorError,
    AdviceStaleError,
    EngineError,
    MissingCatalogError,
    SparkElsewhereError,
    StatementError,
    StatementTimeoutError,
    UnknownSchemaError,
    UntranslatedError,
)
from accelerator.gateway.access.check import check, check_read, may_be_explained
from accelerator.gateway.access.filter_listings import showable_to, visible
from accelerator.gateway.access.grants import Object, UserAccess
from accelerator.gateway.access.rulings import note_allowed, note_refused
from accelerator.gateway.catalog.catalog import Metadata
from accelerator.gateway.catalog.gateway_facts import GatewayFacts
from accelerator.gateway.catalog.query import may_be_virtual
from accelerator.gateway.table_versions import Name, Readers, Versions, has_view, versions, views_of
from accelerator.gateway.trino.io_plan import io_plan
from accelerator.gateway.trino.requests import nodes
from accelerator.gateway.trino.requests.cursor import words_of
from accelerator.gateway.trino.requests.execute_using import Constant, markers, spliced
from accelerator.gateway.trino.requests.nodes import ClientSession, Request
from accelerator.gateway.trino.types import displayed
from accelerator.gateway.workers.backtracking import (
    PATTERN_HINT,
    may_backtrack,
    views_may_backtrack,
    weighed_texts,
)
from accelerator.gateway.workers.view_stability import are_lasting, asking_who
from accelerator.planning.plans import PlainPlan
from accelerator.query.early_errors.locate import placed
from accelerator.query.pipeline import ASKED_SINCE
from accelerator.query.results.batch_readers import BatchReader
from accelerator.query.runtime.services import Services
from accelerator.query.statements.catalog import FORM_OF
from accelerator.query.statements.nodes import (
    ApplyRecommendations,
    ExplainAccelerate,
    OfQuery,
    Query,
    Statement,
)
from accelerator.services.advisor.apply.apply import actions_of, fixed
from accelerator.session.session import Accelerator
from accelerator.store.journals.query_log.visibility import shown_to
from rewrite.client import ClientContext
from rewrite.dialects.output_names import shown_names
from rewrite.identifiers.qualified_name import joined


def _timed(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row with its times, which are seconds since 1970, as times."""
    times = {
        key: datetime.fromtimestamp(row[key], UTC)
        for key in ("created", "end")
        if row.get(key) is not None
    }
    return dict(row) | times


def _gateway_facts(facts: Mapping[str, Any]) -> GatewayFacts:
    return GatewayFacts(
        queries=[_timed(one) for one in facts.get("queries", ())],
        nodes=facts.get("nodes", ()),
        properties=[tuple(one) for one in facts["session"]],
        roles=facts["roles"],
        own_roles=facts["roles"],
        enabled_roles=facts.get("enabled", ()),
    )


class Telling(Struct):
    """Says if the plan and its reasons are hidden from the user who asked the statement."""

    is_private: bool = False


@dataclass(frozen=True, slots=True)
class StatementJob:
    """A statement as the gateway hands it on."""

    request: Request
    client: ClientSession
    access: UserAccess
    timeout_s: float = 0.0
    accelerate: bool = True
    given: GatewayFacts = field(default_factory=GatewayFacts)
    """What only the gateway knows: its statements that run, the session's properties, roles."""
    telling: Telling = field(default_factory=Telling)
    for_patterns: bool = False
    """Whether it's limited in time because its patterns may take long."""
    log_of: str | None = field(kw_only=True)
    """Whose statements of the query log it may see; None: everybody's."""

    @property
    def zone(self) -> str | None:
        """The time zone in which its client is."""
        return self.client.time_zone

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> StatementJob:
        """Reads a message; LookupError, TypeError or ValueError if it isn't one."""
        access = UserAccess.from_json(given["access"])
        return cls(
            nodes.from_dict(given),
            convert(given["client"], nodes.ClientSession),
            access,
            float(given["timeout_s"]),
            bool(given["accelerate"]),
            _gateway_facts(given["facts"]),
            Telling(not access.everything),  # until more is known
            for_patterns=bool(given.get("for_patterns")),
            log_of=convert(given["log_of"], str | None),
        )


class StatementResult:
    """The rows of one statement, batch by batch, and what is known of them; closed by `with`."""

    def __init__(
        self,
        schema: pa.Schema,
        batches: Iterator[pa.RecordBatch],
        metrics: Metrics,
        *,
        names: list[str] | None = None,
        update_type: str | None = None,
    ) -> None:
        self.schema, self._batches, self.metrics = schema, batches, metrics
        self._reading_s = 0.0
        self.names, self.update_type = names, update_type
        self.tables: list[tuple[str, ...]] = []
        self.is_private = False
        self.versions: Callable[[], Versions | None] = lambda: None

    @classmethod
    def of(cls, table: pa.Table, metrics: Metrics | None = None, **more: Any) -> StatementResult:
        """Of rows that are there."""
        batches = iter(table.to_batches())
        return cls(table.schema, batches, metrics or Metrics(engine="none"), **more)

    @property
    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, once; how long they're waited for is counted."""
        while True:
            began = perf_counter()
            batch = next(self._batches, None)
            self._reading_s += perf_counter() - began
            if batch is None:
                return
            yield batch

    def header(self) -> dict[str, Any]:
        """For the gateway, with the first rows."""
        found: dict[str, Any] = {}
        if self.names is not None:
            found["names"] = self.names
        if self.update_type is not None:
            found["update_type"] = self.update_type
        return found

    def ended(self) -> dict[str, Any]:
        """For the gateway, with the last rows."""
        metrics = self.metrics.to_dict()
        metrics["execution_ms"] = metrics["execution_ms"] or 1000 * self._reading_s
        metrics["private"] = self.is_private
        found: dict[str, Any] = {"metrics": metrics, "tables": self.tables}
        known = self.versions()
        if known is not None:
            found["versions"] = [[list(name), version] for name, version in known.items()]
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the reading, if it hasn't ended."""
        close = getattr(self._batches, "close", None)
        if close is not None:
            close()


class Asking:
    """Of one worker; threads share it."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._version = str(settings["version"])
        self._metadata: WeakKeyDictionary[Accelerator, Metadata] = WeakKeyDictionary()

    def answer(self, session: Accelerator, job: StatementJob) -> StatementResult:
        """The answer; an AcceleratorError, or one of Spark's, where there is none."""
        described = _description(job)
        knows = None if job.access.everything else showable_to(job.access, session.services)
        try:
            with shown_to(job.log_of, knows):
                answer = self._answer(session, job)
        except AcceleratorError as error:
            if isinstance(error, StatementTimeoutError) and job.for_patterns:
                error.hint = PATTERN_HINT
            if not _is_placed(job.request):
                error.line = error.column = None  # a place in another text than the client sent
            if described is not None:
                note_refused(*described)
            raise
        if described is not None:
            note_allowed(*described)
        answer.is_private = job.telling.is_private
        return answer

    def _answer(self, session: Accelerator, job: StatementJob) -> StatementResult:
        asked, client, sees = job.request, job.client, job.access.sees
        metadata = self._metadata.get(session)
        if metadata is None:
            metadata = Metadata(session.services.lake, version=self._version)
            metadata = self._metadata.setdefault(session, metadata)
        match asked:
            case nodes.UseSchema(schema, catalog):
                _check_schema(metadata, catalog or client.catalog, schema, sees)
                return StatementResult.of(_NOTHING)
            case nodes.DescribeInput(sql):
                return StatementResult.of(_inputs(sql))
            case nodes.DescribeOutput(sql):
                return self._outputs(session, job, metadata, sql)
            case nodes.Explain():
                return self._explained(session, job, asked)
            case nodes.RunStatement(sql):
                with placed(sql):
                    known = _metadata_answer(metadata, asked, job, session.services)
                return (
                    StatementResult.of(known) if known is not None else self._run(session, job, sql)
                )
        found = _metadata_answer(metadata, asked, job, session.services)
        if found is None:
            raise UntranslatedError(f"{type(asked).__name__} isn't answered")
        return StatementResult.of(found)

    def _run(self, session: Accelerator, job: StatementJob, sql: str) -> StatementResult:
        with placed(sql):
            statement = self._read(session, job, sql)
            if isinstance(statement, Query):
                return self._queried(session, job, statement, sql)
            if isinstance(statement, ApplyRecommendations):
                statement = fixed(session.services, statement)
            tables = check(statement, job.access, session.services)
            if isinstance(statement, ApplyRecommendations) and statement.chosen is None:
                actions_of(session.services, statement)  # its error says why there was none
                raise AdviceStaleError("newer advice was written just now", hint="ask again")
            session.queries.check_ours(statement)
            if isinstance(statement, OfQuery):  # the check has asked for what a plan reports
                job.telling.is_private = False
            limit = session.services.cancellation.within(job.timeout_s if job.for_patterns else 0.0)
            with _weighing_patterns(statement, tables, session.services), limit:
                rows = session.answered(statement, sql, job.timeout_s).arrow()
            shown = visible(statement, rows, job.access, session.services)
            return StatementResult.of(shown, update_type=_words(statement))

    def _queried(
        self, session: Accelerator, job: StatementJob, statement: Query, sql: str
    ) -> StatementResult:
        readers, services = session.services.lake.catalogs, session.services
        for _ in range(_TRIES):
            tables, before = _tables(statement, job.access, services)
            # A view may be replaced meanwhile: what is planned has to be what was checked.
            viewed = not job.access.everything and (before is None or has_view(before))
            if viewed:
                tables = check(statement, job.access, services)
            asks = None if before is None else asking_who(before, services)
            if asks is not None:
                raise UntranslatedError(
                    f"the view {joined(asks)} asks who asks, which nobody can tell it here",
                    hint="name its tables in the statement, or make a view for each user",
                )
            session.queries.check_guards(statement, sql, job.client.user)
            _decide(job, tables, services)
            with _weighing_patterns(statement, tables, services):
                answer = self._rows(session, statement, sql, job)
            if viewed and (tables is None or versions(readers, tables) != before):
                answer.close()
                continue
            if statement.names is not None:
                answer.names = list(shown_names(statement.names))
            told = tables is not None and not statement.timed
            if told and before is not None and are_lasting(before, services):
                answer.versions = partial(_unmoved, readers, before)
            answer.tables = sorted(tables or ())
            return answer
        raise StatementError(
            "its views were replaced again and again while it was planned", hint="ask again"
        )

    def _rows(
        self, session: Accelerator, statement: Query, sql: str, job: StatementJob
    ) -> StatementResult:
        try:
            found = session.opened(statement, sql, job.timeout_s)
        except EngineError as error:
            if job.telling.is_private and error.hint:
                error.hint = error.hint.partition(ASKED_SINCE)[0]
            raise
        if isinstance(found, BatchReader):
            return StatementResult(found.schema, found, found.metrics)
        return StatementResult.of(found.arrow(), found.metrics)

    def _read(self, session: Accelerator, job: StatementJob, sql: str) -> Statement:
        """The statement in Spark SQL, with full names."""
        may_look = partial(check_read, job.access, session.services)
        found = session.queries.read(sql, job.client.dialect, self._client(session, job), may_look)
        if isinstance(found, Query) and not job.accelerate:
            found = replace(found, plain=True)
        return found

    def _client(self, session: Accelerator, job: StatementJob) -> ClientContext:
        client = job.client
        return ClientContext(
            catalog=client.catalog,
            schema=client.schema,
            user=client.user,
            time_zone=session.services.context.settings()["time_zone"],
            version=self._version,
            now=datetime.now(UTC),
            catalogs=_seen_catalogs(session, job.access),
        )

    def _outputs(
        self, session: Accelerator, job: StatementJob, metadata: Metadata, sql: str
    ) -> StatementResult:
        """DESCRIBE OUTPUT: a row for each column that the statement would give.

        Nobody knows its parameters yet: they are NULL here, or a row where rows are counted.
        """
        words = words_of(sql)
        if given := markers(words):
            sql = spliced(sql, words, [Constant("NULL", whole="1")] * len(given))
        known = _metadata_answer(metadata, nodes.RunStatement(sql), job, session.services)
        if known is not None:
            return StatementResult.of(_described(known.schema, known.schema.names))
        statement = self._read(session, job, sql)
        check(statement, job.access, session.services)
        if not isinstance(statement, Query):
            return StatementResult.of(_described(pa.schema([]), []))
        schema = session.queries.schema(statement)
        names = schema.names if statement.names is None else shown_names(statement.names)
        return StatementResult.of(_described(schema, names))

    def _explained(
        self, session: Accelerator, job: StatementJob, asked: nodes.Explain
    ) -> StatementResult:
        """EXPLAIN: our own, whatever sort of plan Trino would show."""
        statement = self._read(session, job, asked.sql)
        reported: Statement = statement
        if isinstance(statement, Query) and asked.kind not in ("VALIDATE", "IO"):
            reported = ExplainAccelerate(statement)  # the same to the policy
        tables = check(reported, job.access, session.services)
        _decide(job, tables, session.services)
        if asked.kind in ("VALIDATE", "IO") and isinstance(statement, Query):
            _check_sound(session, statement)
        if asked.kind == "VALIDATE":
            return StatementResult.of(pa.table({"Valid": pa.array([True])}))
        if asked.format == "GRAPHVIZ":
            raise UntranslatedError(
                "EXPLAIN (FORMAT GRAPHVIZ) isn't supported",
                hint="EXPLAIN, or EXPLAIN (FORMAT JSON)",
            )
        if asked.kind == "IO":
            return StatementResult.of(_inputs_read(tables, session.services))
        if not isinstance(statement, Query):
            raise UntranslatedError("EXPLAIN is of queries", hint="EXPLAIN SELECT …")
        explainer = session.queries.explainer
        if asked.analyze:
            session.queries.check_guards(statement, asked.sql, job.client.user)
        within = job.timeout_s if asked.analyze else None
        format = "json" if asked.format == "JSON" else "text"
        with _weighing_patterns(statement, tables, session.services):
            text = str(explainer.shown(statement, asked.sql, format, within))
        return StatementResult.of(pa.table({"Query Plan": pa.array([text])}))


@contextmanager
def _weighing_patterns(
    statement: Statement, tables: Collection[Name] | None, services: Services
) -> Iterator[None]:
    """If Spark is needed inside, notes whether the patterns there may take long.

    `tables` are the tables and views under the statement; None if they are unknown.
    """
    try:
        yield
    except SparkElsewhereError as error:
        texts = weighed_texts(statement)
        known = None if tables is None else versions(services.lake.catalogs, tables)
        error.may_backtrack = any(map(may_backtrack, texts)) or (
            bool(texts) and views_may_backtrack(known, services)
        )
        raise


def _description(job: StatementJob) -> tuple[str, Object] | None:
    """What DESCRIBE, SHOW COLUMNS, CREATE or STATS does and to which table, for the audit log."""
    match job.request:
        case nodes.TrinoShowColumns(name) | nodes.TrinoShowCreate("TABLE" | "VIEW", name):
            action = "describe"
        case nodes.ShowStats(name):
            action = "read"
        case _:
            return None
    missing = max(0, 3 - len(name))
    around = (job.client.catalog or "", job.client.schema or "")
    return action, Object.table((*around[:missing], *name))


def _is_placed(asked: Request) -> bool:
    """Decides whether places in its text are those of what the client sent."""
    if isinstance(asked, nodes.RunStatement):
        return asked.placed
    return not isinstance(asked, nodes.DescribeOutput)


_TRIES = 3
_NOTHING = pa.table({"result": pa.array([], pa.bool_())})
_DESCRIBED = pa.schema(
    [
        *((name, pa.string()) for name in ("Column Name", "Catalog", "Schema", "Table", "Type")),
        ("Type Size", pa.int64()),
        ("Aliased", pa.bool_()),
    ]
)
_INPUTS = pa.schema([("Position", pa.int64()), ("Type", pa.string())])


def _tables(
    statement: Query, access: UserAccess, services: Services
) -> tuple[Collection[Name] | None, Versions | None]:
    """The tables and views under the query, of which each may be read, and their versions.

    Where all may be read, and none is a view, the names that were completed are all there are.
    """
    readers = services.lake.catalogs
    if access.everything and statement.tables:
        known = versions(readers, statement.tables)
        if known is not None and not has_view(known):
            for name in statement.tables:
                note_allowed("read", Object.table(tuple(name)))
            return statement.tables, known
    tables = check(statement, access, services)
    return tables, None if tables is None else versions(readers, tables)


def _metadata_answer(
    metadata: Metadata, asked: Request, job: StatementJob, services: Services
) -> pa.Table | None:
    """What metadata answers, within the statement's time; None where it answers no such one."""
    client = job.client
    if isinstance(asked, nodes.RunStatement) and not may_be_virtual(
        asked.sql, client.catalog, client.schema
    ):
        return None
    cancellation, engine = services.cancellation, services.duckdb
    reads = partial(check_read, job.access, services)
    with cancellation.within(job.timeout_s), cancellation.tracked(ctrl_c=False) as tag:
        watch = partial(engine.interrupted_with, tag)
        return metadata.answer(asked, client, job.access.sees, job.given, reads, watch)


def _check_sound(session: Accelerator, statement: Query) -> None:
    """Raises for a query that can't be run; Spark tells of what it alone would answer."""
    session.queries.check(statement)
    if isinstance(session.queries.plan(statement)[0], PlainPlan):
        session.queries.schema(statement)


def _inputs_read(tables: Collection[Name] | None, services: Services) -> pa.Table:
    """EXPLAIN (TYPE IO): the tables that are read, not the views over them."""
    known = None if tables is None else versions(services.lake.catalogs, tables)
    if known is None:
        raise UntranslatedError("it can't be told which tables are read", hint="EXPLAIN it")
    text = io_plan(set(known).difference(views_of(known)))
    return pa.table({"Query Plan": pa.array([text])})


def _decide(job: StatementJob, tables: Collection[Name] | None, services: Services) -> None:
    """Hides the statement's plan from its user unless it reports nothing that they may not read."""
    if not job.access.everything:
        shown = may_be_explained(frozenset(tables or ()), job.access, services)
        job.telling.is_private = tables is None or not shown


def _seen_catalogs(session: Accelerator, access: UserAccess) -> frozenset[str] | None:
    """Returns the catalogs that the user may name; None if all."""
    if access.everything:
        return None
    return frozenset(one for one in session.services.lake.catalogs if access.sees(one))


def _unmoved(readers: Readers, before: Versions) -> Versions | None:
    """The versions under which it was answered, where they are the newest still."""
    return before if versions(readers, before) == before else None


def _check_schema(
    metadata: Metadata, catalog: str | None, schema: str, sees: Callable[..., bool]
) -> None:
    if catalog is None:
        raise MissingCatalogError(
            "USE names a schema, and the client has no catalog", hint="USE catalog.schema"
        )
    if not metadata.exists(catalog, schema, sees):
        raise UnknownSchemaError(
            f"there is no schema {joined((catalog, schema))}",
            hint=f"SHOW SCHEMAS FROM {joined((catalog,))} lists them",
        )


def _inputs(sql: str) -> pa.Table:
    """DESCRIBE INPUT: as many markers as the statement has, of types that nobody knows yet."""
    count = len(markers(words_of(sql)))
    rows = [{"Position": at, "Type": "unknown"} for at in range(count)]
    return pa.Table.from_pylist(rows, schema=_INPUTS)


def _described(schema: pa.Schema, names: Sequence[str]) -> pa.Table:
    rows = [
        {
            "Column Name": name,
            "Catalog": "",
            "Schema": "",
            "Table": "",
            "Type": displayed(field),
            "Type Size": 0,
            "Aliased": False,
        }
        for name, field in zip(names, schema, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=_DESCRIBED)


def _words(statement: Statement) -> str | None:
    """What kind of statement of ours it is, as its words begin: CREATE CUBE.

    None for one that only shows something: to JDBC's driver the others have no rows.
    """
    form = FORM_OF.get(type(statement))
    words = "" if form is None else form.words
    return None if words.split(" ")[0] in _SHOWING else words


_SHOWING = ("SHOW", "EXPLAIN", "VERIFY")
