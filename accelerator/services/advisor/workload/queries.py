"""What could be spared of a workload: the blocks of its statements, each with what it takes.

A text is planned as if there were no cube and every row might be read here, so that large tables
have blocks too. Nothing runs, and what can't be read or planned is counted with its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp
from sqlglot.errors import SqlglotError

from accelerator.engines.choice import EngineChoice
from accelerator.engines.session_settings import refusal
from accelerator.errors import UNFIT, AcceleratorError, SparkElsewhereError
from accelerator.planning.candidates.search import CubeSearch
from accelerator.planning.context import PlanContext, PlannerServices, Stored
from accelerator.planning.plans import Leaf, Plan
from accelerator.query.statements.nodes import Query
from accelerator.query.translation import Translation
from accelerator.services.advisor.workload.workload import ShapeRuns, ShapeSample, Workload
from rewrite.analysis.query_form import uses
from rewrite.client import SPARK, ClientContext
from rewrite.identifiers.qualified_name import parts_of
from rewrite.ir.block import Block
from rewrite.ir.row_block import RowBlock
from rewrite.parse.parse import PARSER_FAILS, parse
from rewrite.reason import DeclinedError

if TYPE_CHECKING:
    from accelerator.iceberg import PinnedTable
    from accelerator.query.runtime.services import Services

NOT_UNDERSTOOD, NOT_AGGREGATED, SECRET = "not_understood", "not_aggregated", "secret_hidden"
ELSEWHERE = "names_of_another_session"
_HIDDEN = "***"


class WorkloadQuery(Struct, frozen=True):
    """One block of a text of the log. `pinned` are its tables, as its occurrences are numbered.

    `weight` is what the runs that it stands for weigh. `raw_ms` and `raw_bytes` are what one run of
    it takes without a cube, its part of the statement's; None where the log doesn't tell.
    `whole`: the plan needs no Spark beside it, so that a cube's answer is the statement's.
    """

    shape: str
    block: Block
    pinned: tuple[PinnedTable, ...]
    sample: str
    weight: float
    raw_ms: float | None
    raw_bytes: int
    whole: bool
    runs: int

    def tables(self) -> frozenset[str]:
        """The uuids of its tables."""
        return frozenset(self.block.tables)


class Understood(Struct, frozen=True):
    """The blocks, and how many runs gave none, by reason."""

    blocks: tuple[WorkloadQuery, ...]
    left_out: Mapping[str, int]


class _Search(CubeSearch):
    """As if all rows might be read here, those of SELECTs beside Spark too."""

    def inside(self, scene: PlanContext) -> PlanContext:
        """See `CubeSearch.inside`."""
        return replace(scene, by_spark=False)


class WorkloadReader:
    """Reads texts of the log for one session."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._translation = Translation(services.lake, services.context)
        here = services.config.model_copy(update={"engine": "duckdb"})
        choice = EngineChoice(here, services.spark_source, None)
        self._search = _Search(
            services.config,
            services.context,
            PlannerServices(
                lambda: services.indexes,
                lambda: services.dimensions,
                lambda: services.duckdb,
                choice,
            ),
        )
        self._hidden = frozenset(one.id for one in services.store.registry().cubes.values())

    def understood(self, workload: Workload, check: Callable[[], None]) -> Understood:
        """The blocks of all shapes; `check` is asked before each of them whether to go on."""
        left_out = Counter(workload.left_out)
        blocks = list[WorkloadQuery]()
        for shape in workload.shapes:
            check()
            found, why = self._of_shape(shape)
            blocks.extend(found)
            if why:
                left_out[why] += shape.runs
        return Understood(tuple(blocks), dict(left_out))

    def _of_shape(self, shape: ShapeRuns) -> tuple[list[WorkloadQuery], str]:
        """Its blocks, or why it has none; samples share its weight."""
        read, why = [], ""
        for sample in shape.samples:
            try:
                plan = self._plan(sample)
            except _UnplannedTextError as error:
                why = why or str(error)
                continue
            leaves = [leaf for leaf in plan.leaves() if _counts(leaf)]
            if leaves:
                read.append((sample, plan, leaves))
            else:
                refused = plan.refused()
                why = why or (NOT_AGGREGATED if refused is None else refused.code)
        share = shape.weight / len(read) if read else 0.0
        found: list[WorkloadQuery] = []
        for sample, plan, leaves in read:
            found += _blocks(shape, sample, plan, leaves, share)
        return found, "" if read else why

    def _plan(self, sample: ShapeSample) -> Plan:
        """The plan of a text without cubes; _NotUnderstoodError, whose text is the reason."""
        context = self._services.context
        try:
            text = self._in_spark(sample)
            with context.statement():
                settings = context.settings()
                refused = refusal(settings, text)
                if refused is not None:
                    raise _UnplannedTextError(refused.code)
                stored = Stored(self._services.store, self._hidden)
                scene = PlanContext(self._services.lake.pin(), stored, settings)
                return self._search.plan(text, parse(text), scene).plan
        except (SqlglotError, *PARSER_FAILS) as error:
            secret = _HIDDEN in sample.sql
            raise _UnplannedTextError(SECRET if secret else NOT_UNDERSTOOD) from error
        except DeclinedError as error:
            raise _UnplannedTextError(error.declined.code) from error
        except SparkElsewhereError:
            raise
        except AcceleratorError as error:
            raise _UnplannedTextError(error.code) from error
        except UNFIT as error:  # a text of anybody's
            raise _UnplannedTextError(NOT_UNDERSTOOD) from error

    def _in_spark(self, sample: ShapeSample) -> str:
        client = None
        if sample.dialect != SPARK:
            client = ClientContext(catalog=sample.catalog, schema=sample.schema)
        statement = self._translation.statement(sample.sql, sample.dialect, client)
        if not isinstance(statement, Query):
            raise _UnplannedTextError("not_a_query")
        if client is None and self._is_elsewhere(sample):
            return self._completed(statement.bare, sample)
        return statement.bare

    def _completed(self, sql: str, sample: ShapeSample) -> str:
        """A text in Spark's SQL with full names, as another session has completed them.

        It's written anew from its tree: what of it should be lost costs advice, and no answer.
        """
        tree = parse(sql)
        schema = [exp.to_identifier(one, quoted=True) for one in parts_of(sample.schema or "")]
        if not schema or len(schema) > 1 or sample.catalog is None:
            raise _UnplannedTextError(ELSEWHERE)
        catalog = exp.to_identifier(sample.catalog, quoted=True)
        for table in [use.table for use in uses(tree)]:
            if not table.args.get("db"):
                table.set("db", schema[0].copy())
            is_full = table.args.get("catalog") or table.text("db") in self._services.lake.catalogs
            if not is_full:
                table.set("catalog", catalog.copy())
        return tree.sql(SPARK)

    def _is_elsewhere(self, sample: ShapeSample) -> bool:
        """Whether names of a text in Spark's SQL were completed by another catalog or schema."""
        context = self._services.context
        here = context.catalog(), ".".join(context.namespace())
        told = sample.catalog or here[0], sample.schema or here[1]
        return told != here


class _UnplannedTextError(Exception):
    """A text gives no plan; the message is a code."""


def _counts(leaf: Leaf) -> bool:
    """Whether it reads files for groups, or for rows of which some are left out.

    What manifests tell costs nothing, and all rows of a table are read whatever there is.
    """
    is_rows = isinstance(leaf.block, RowBlock) or leaf.block.rows
    return leaf.reads_rows() and (not is_rows or bool(leaf.block.conjuncts))


def _as_block(block: Block | RowBlock) -> Block:
    """Rows of one table as rows of a join of one table."""
    if isinstance(block, Block):
        return block
    own = block.occurrence
    made = Block((own,), (), block.conjuncts, (), block.outputs, None, block.order, None, False)
    return replace(made, limit=block.limit, rows=True)


def _blocks(
    shape: ShapeRuns, sample: ShapeSample, plan: Plan, leaves: list[Leaf], weight: float
) -> list[WorkloadQuery]:
    """The leaves' blocks; a run's time is shared among them by what they read."""
    sizes = [_bytes(leaf) for leaf in leaves]
    every = sum(_bytes(leaf) for leaf in plan.leaves()) or 1
    found = []
    # What was read before is less by now where an index was made since, or the rows were ordered.
    since = 1.0 if not shape.raw_bytes else min(1.0, every / shape.raw_bytes)
    for leaf, size in zip(leaves, sizes, strict=True):
        raw_ms = None if shape.raw_ms is None else shape.raw_ms * since * size / every
        one = WorkloadQuery(
            shape.key,
            _as_block(leaf.block),
            _tables(leaf),
            sample.sql,
            weight,
            raw_ms,
            size,
            plan.outer_text() is None,
            shape.runs,
        )
        found.append(one)
    return found


def _bytes(leaf: Leaf) -> int:
    """What it reads without a cube, by the sizes of its files."""
    told = leaf.figures().bytes_read
    with suppress(AcceleratorError):
        return told or sum(table.size_bytes for table in leaf.pinned)
    return told


def _tables(leaf: Leaf) -> tuple[PinnedTable, ...]:
    return leaf.pinned
