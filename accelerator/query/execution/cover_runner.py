"""Runs plans: DuckDB over segment files and Arrow rows, or Spark over the same cover.

Nothing here decides; what fails raises, and the session falls back to the plain statement.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from accelerator.artifacts.segments.checksums import check
from accelerator.artifacts.segments.records import file_sizes
from accelerator.common.arrow.spark_types import conform, is_known
from accelerator.common.stage_timer import staged
from accelerator.engines.duckdb.engine import (
    FEW_ROWS,
    NO_MAX,
    DuckDBEngine,
    NoSuchTableError,
    parquet_scan,
)
from accelerator.engines.duckdb.segment_cache import Copy
from accelerator.engines.duckdb.table_cache import name_of
from accelerator.engines.duckdb.table_scan import table_scan, with_scans
from accelerator.errors import EngineError, RaisesError, RowRaisedError
from accelerator.planning.plans import (
    CELLS,
    CoverPlan,
    DuckDBRun,
    Input,
    MergedPlan,
    NestedPlan,
    PartialPlan,
    RowsPlan,
)
from accelerator.planning.sources.duckdb_text import (
    fields_used,
    other_match,
    part_name,
    segment_condition,
    segment_paths,
    some_column,
    types_now,
    used_columns,
)
from cubes.sql.answer import RawSource, SegmentSource, answer_sql
from cubes.sql.build import cells_schema, stored_schema
from rewrite.ir.block import Block
from rewrite.ir.expr import Column
from rewrite.render.expressions import quote
from rewrite.render.row_block import rows_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType

    from accelerator.common.config.config import Config
    from accelerator.engines.spark.engine import SparkEngine
    from accelerator.iceberg import LiveFile, PinnedTable
    from accelerator.iceberg.rows.row_groups import ReadCounter
    from accelerator.store import Store

_MANY_CELLS = 2_000_000
"""Of fewer cells the groups are as few, and mostly far fewer: they're taken at once."""


def run_duckdb(
    plan: CoverPlan, engine: DuckDBEngine, tag: str, store: Store, bytes_max: int
) -> tuple[pa.Table, ReadCounter | None]:
    """The answer from DuckDB, with Spark's names and types, and what was read if it was counted.

    MemoryExceededError where it has more bytes than that.
    """
    if plan.duckdb is None:
        raise EngineError("the plan has no DuckDB text")
    found = read_for(plan, plan.duckdb.raw, engine, tag, store)
    bound = bytes_max if may_be_large(plan) else None
    whole = _made_whole(plan.block, _rows_read(plan), engine)
    answer = _answer(plan.duckdb, engine, found, tag, bound, whole=whole)
    if found.counted is not None:
        found.counted.bytes += engine.objects_read(tag) or 0
    return _conformed(plan, answer), found.counted


def run_merged(plan: MergedPlan, engine: DuckDBEngine, tag: str, store: Store) -> pa.Table:
    """The answer over the cells of all of its parts."""
    read, files = Read({}, {}, {}, None), dict[str, str]()
    for number, part in enumerate(plan.covers):
        prefix = part_name(number)
        raw = [one for one in plan.duckdb.raw if one[0].startswith(prefix)]
        found = read_for(part, raw, engine, tag, store, prefix)
        read.tables.update(found.tables)
        read.scans.update(found.scans)
        read.copies.update(found.copies)
        files |= found.files
    read = replace(read, files=files)
    whole = _made_whole(plan.block, sum(map(_rows_read, plan.covers)), engine)
    return _conformed(plan, _answer(plan.duckdb, engine, read, tag, NO_MAX, whole=whole))


def may_be_large(plan: CoverPlan) -> bool:
    """Whether its answer may have more rows than can be held without a thought."""
    block = plan.block
    if block.limit is not None:
        return block.limit > FEW_ROWS
    if not (block.grouped or block.rows):
        return False
    if not plan.uncovered:
        return sum(s.rows for s in plan.segments) > _MANY_CELLS
    if block.rows or block.sets or len(block.occurrences) > 1:
        return True
    # Of few rows there are few groups, whose values DuckDB has held within its limit.
    return _rows_read(plan) > FEW_ROWS


def _made_whole(block: Block, rows: int, engine: DuckDBEngine) -> bool:
    """Tests whether the answer over so many rows is small; joins give any number of rows."""
    if not (block.grouped or block.rows):
        return True
    if len(block.occurrences) > 1:
        return False
    return rows <= FEW_ROWS if block.rows else engine.may_make_whole(rows * max(len(block.sets), 1))


def _rows_read(plan: CoverPlan) -> int:
    """The number of rows and cells behind the answer."""
    rows = sum(file.record_count for file in plan.uncovered)
    return rows + sum(s.rows for s in plan.segments)


def _conformed(plan: CoverPlan | MergedPlan, answer: pa.Table) -> pa.Table:
    types = [o.expr.type or "" for o in plan.block.outputs]
    return conform(answer, [n or "" for n in plan.names], types)


class Read(Struct, frozen=True):
    """Inputs of a cover's text beside segment files, by name: Arrow tables, scans of data files.

    `copies` are of some of the tables. `files` has by the text's scan of an object store's segment
    files that of their local copies.
    """

    tables: dict[str, pa.Table]
    scans: dict[str, str]
    copies: dict[str, Copy]
    counted: ReadCounter | None
    files: Mapping[str, str] = {}


@staged("read")
def read_for(
    plan: CoverPlan,
    raw: Sequence[tuple[str, int]],
    engine: DuckDBEngine,
    tag: str,
    store: Store,
    prefix: str = "",
) -> Read:
    """Reads what the text of a cover takes; of data files that DuckDB reads itself only footers."""
    files_read = _local_files(plan, engine, tag, store)
    check(plan.segments, store)
    cells = plan.cover.cells_read
    own = {} if cells is None else {prefix + CELLS: cells.rows}
    found = Read(own, {}, {}, None, files_read)
    counted: ReadCounter | None = None
    others = 0
    for name, occurrence in raw:
        pinned = plan.pinned[occurrence]
        columns = used_columns(plan.block, occurrence, pinned)
        if occurrence == plan.match.fact:
            selected = _selected_rows(plan, engine, tag)
            if selected is not None:
                found.tables[name], counted = selected
                continue
            files: Sequence[LiveFile] = plan.uncovered
        elif engine.kept.takes(pinned, columns):
            found.tables[name], size = engine.kept.of(pinned, columns)
            found.copies[name] = _copy(pinned, columns, found.tables[name])
            others += size
            continue
        else:
            files = pinned.live_files()
        scan = table_scan(pinned, columns, files, name, engine, tag)
        others += scan.file_bytes
        found.tables.update(scan.tables)
        if scan.text:
            found.scans[name] = scan.text
    if raw:
        from accelerator.iceberg.rows.row_groups import ReadCounter  # Arrow's dataset half is read

        counted = counted or ReadCounter()
        counted.bytes += others
    _test(plan, found, engine, tag, prefix)
    return replace(found, counted=counted)


def _local_files(plan: CoverPlan, engine: DuckDBEngine, tag: str, store: Store) -> dict[str, str]:
    """Copies an object store's segment files to this machine; see `Read.files`."""
    filled = [] if store.is_local else [one for one in plan.segments if one.rows]
    if not filled:
        return {}
    paths = store.fetch((one.path for one in filled), partial(engine.check, tag))
    return {parquet_scan(segment_paths(filled)): parquet_scan(paths)}


def _test(plan: CoverPlan, found: Read, engine: DuckDBEngine, tag: str, prefix: str) -> None:
    """RaisesError where what the plan rests on raises for a row; asked once for a table's state."""
    tests = () if plan.duckdb is None else plan.duckdb.tests
    for occurrence, begun in tests:
        name, pinned = f"{prefix}raw_{occurrence}", plan.pinned[occurrence]
        scans = {name: found.scans[name]} if name in found.scans else {}
        text = with_scans(scans, f"{begun} FROM {name} AS tested")
        known = (pinned.version, pinned.facts.snapshot_id, begun)
        raised = engine.tested.get_or(known, partial(_raised, engine, text, found.tables, tag))
        if raised:
            raise RaisesError(f"it raises for some row of its table: {raised}")


def _raised(engine: DuckDBEngine, text: str, tables: dict[str, pa.Table], tag: str) -> str:
    """What a value makes the text raise; empty where none does."""
    try:
        engine.run(text, tables, tag=tag)
    except RowRaisedError as error:
        return error.message
    return ""


def _selected_rows(
    plan: CoverPlan, engine: DuckDBEngine, tag: str
) -> tuple[pa.Table, ReadCounter] | None:
    """Of files whose sidecars were asked, the raw rows of the fact that these leave; else None."""
    fact, selection = plan.match.fact, plan.cover.selection
    used = sorted(fields_used(plan.block, fact), key=lambda c: c.name)
    exact = plan.cover.exact
    if not used and exact:
        some = some_column(plan.pinned[fact])
        used = [Column(fact, some.field_id, some.name, some.type)]
    if not selection or not used or not all(is_known(c.type) for c in used):
        if exact and plan.uncovered:
            raise EngineError("the rows that are selected can't be read by themselves")
        return None
    from accelerator.query.execution.row_readers.selected import (
        selected_rows,  # imports Arrow's compute module
    )

    return selected_rows(
        plan.pinned[fact],
        used,
        plan.uncovered,
        selection,
        lambda: engine.check(tag),
        partial(engine.held.hold, tag),
        exact=exact,
    )


def run_nested(
    plan: NestedPlan,
    answers: Sequence[pa.Table],
    engine: DuckDBEngine,
    tag: str,
    bytes_max: int,
) -> pa.Table:
    """The answer over those of its inner SELECTs, which are in the order of its inputs.

    MemoryExceededError where it has more bytes than that.
    """
    tables = {name: answers[occurrence] for name, occurrence in plan.duckdb.raw}
    large = plan.block.limit is None or plan.block.limit > FEW_ROWS
    bound = bytes_max if large else None
    whole = _made_whole(plan.block, sum(one.num_rows for one in answers), engine)
    found = engine.run(plan.duckdb.sql, tables, tag=tag, bytes_max=bound, whole=whole)
    return conform(found, list(plan.names), [o.expr.type or "" for o in plan.block.outputs])


def partial_frame(
    plan: PartialPlan, answers: Sequence[pa.Table], engine: SparkEngine, sql: str
) -> DataFrame:
    """A lazy DataFrame over the answers of SELECTs in the statement, which is given in `sql`.

    Spark analyses that as well: what it refuses isn't answered, and its names and types hold.
    """
    plain = engine.analysed(sql)
    frame = _over_answers(plan, answers, engine, list(map(_ddl, plan.inputs)))
    if _types(frame.schema) != _types(plain):  # what can't be NULL shows in arrays made of it
        frame = _over_answers(plan, answers, engine, list(map(engine.analysed, plan.selects)))
    if _types(frame.schema) != _types(plain):
        raise EngineError("the statement over answers has other types than the plain one")
    return frame.toDF(*plain.names)


def _over_answers(
    plan: PartialPlan,
    answers: Sequence[pa.Table],
    engine: SparkEngine,
    schemas: Sequence[str | StructType],
) -> DataFrame:
    session = engine.session
    with ExitStack() as views:
        text = plan.pieces[0]
        for answer, schema, piece in zip(answers, schemas, plan.pieces[1:], strict=True):
            view = f"acc_{uuid.uuid4().hex}"
            # Without a schema Spark takes times without a zone for instants.
            session.createDataFrame(answer, schema).createOrReplaceTempView(view)
            views.callback(session.catalog.dropTempView, view)
            text += f"SELECT * FROM {view}{piece}"
        return engine.built(text)


def _ddl(plan: Input) -> str:
    """The answer's columns as Spark writes a schema."""
    return ", ".join(f"{quote(o.name or '', 'spark')} {o.expr.type}" for o in plan.block.outputs)


def _types(schema: StructType) -> list[DataType]:
    return [field.dataType for field in schema.fields]


def _copy(pinned: PinnedTable, columns: Sequence[str], table: pa.Table) -> Copy:
    return Copy(repr(name_of(pinned, columns)), table.nbytes, table.num_rows, source=table)


@staged("duckdb")
def _answer(
    run: DuckDBRun,
    engine: DuckDBEngine,
    found: Read,
    tag: str,
    bytes_max: int | None = None,
    *,
    whole: bool = False,
) -> pa.Table:
    """From copies in DuckDB's memory where there are any, else from what was read."""
    *copied, last = ways(run, engine, found)
    for way in copied:
        try:
            return engine.run(way.sql, way.tables, tag=tag, bytes_max=bytes_max, whole=whole)
        except NoSuchTableError:
            pass  # a copy is just being dropped
    return engine.run(last.sql, last.tables, tag=tag, bytes_max=bytes_max, whole=whole)


class Way(Struct, frozen=True):
    """A text, and the tables that it reads."""

    sql: str
    tables: dict[str, pa.Table]


def ways(run: DuckDBRun, engine: DuckDBEngine, found: Read) -> list[Way]:
    """The cheapest first: over copies in DuckDB's memory, if there are any.

    All but the last raise NoSuchTableError where a copy is just being dropped.
    """
    run = _over_local(run, found.files)
    text, others = run.sql, dict(found.tables)
    for scan, copy in run.copies:
        hot = engine.hot.table(copy)
        if hot is not None:
            text = text.replace(scan, hot)
    for name, copy in found.copies.items():
        hot, named = engine.hot.table(copy), f"{name} AS "
        if hot is not None and text.count(named) == 1:  # a text in the statement may say the same
            text = text.replace(named, f"{hot} AS ")
            del others[name]
    last = Way(with_scans(found.scans, run.sql), found.tables)
    if text == run.sql:
        return [last]
    return [Way(with_scans(found.scans, text), others), last]


def _over_local(run: DuckDBRun, files: Mapping[str, str]) -> DuckDBRun:
    """The run with local copies in the place of an object store's files."""
    for remote, local in files.items():
        # No constant in a statement can say the same: its quotes would be doubled.
        copies = tuple(
            (
                scan.replace(remote, local),
                replace(
                    copy,
                    select=copy.select.replace(remote, local),
                    cells=copy.cells.replace(remote, local),
                ),
            )
            for scan, copy in run.copies
        )
        run = replace(run, sql=run.sql.replace(remote, local), copies=copies)
    return run


def cover_frame(
    plan: CoverPlan, engine: SparkEngine, sql: str, leases: ExitStack, store: Store
) -> DataFrame:
    """A lazy DataFrame over the cover. What it reads stays staged until `leases` is closed.

    Its view of the segments is gone once Spark has analysed it: a view more or less is a change of
    the session, which would cost the next statements.
    """
    with ExitStack() as views:
        return _frame(plan, engine, sql, leases, views, store)


def _frame(
    plan: CoverPlan,
    engine: SparkEngine,
    sql: str,
    leases: ExitStack,
    views: ExitStack,
    store: Store,
) -> DataFrame:
    session = engine.session
    if plan.cover.exact and plan.uncovered:
        return session.sql(sql)  # Spark reads whole files
    plain = session.sql(sql).schema  # analysis alone: Spark's own names and types
    types = types_now(plan.block, plan.match)
    sources = []
    check(plan.segments, store)
    filled = [s for s in plan.segments if s.rows]
    if filled:
        view = f"acc_{uuid.uuid4().hex}"
        table = plan.pinned[plan.match.fact].parts
        schema = stored_schema(plan.definition, types)
        sizes = file_sizes(filled, store)
        frame = engine.segments_frame(table, store, schema, sizes, leases)
        frame.createOrReplaceTempView(view)
        views.callback(session.catalog.dropTempView, view)
        sources.append(SegmentSource(view, segment_condition(filled)))
    cells = plan.cover.cells_read
    if cells is not None:
        view = f"acc_{uuid.uuid4().hex}"
        other = other_match(plan.cover)
        kinds = types if other is None else {}
        schema = cells_schema(cells.cube, kinds)  # else times without a zone were instants
        session.createDataFrame(cells.rows, schema).createOrReplaceTempView(view)
        views.callback(session.catalog.dropTempView, view)
        sources.append(SegmentSource(view, "", other))
    raw = None
    if plan.uncovered or not sources:
        raw = RawSource(
            tuple(_staged(plan, engine, o.index, leases) for o in plan.block.occurrences)
        )
    elif plan.match.delta:
        tables = {n: _staged(plan, engine, n, leases) for n in sorted(plan.match.joined)}
        every = range(len(plan.block.occurrences))
        raw = RawSource(tuple(tables.get(number, "") for number in every), fact=False)
    text = answer_sql(plan.block, plan.match, "spark", sources, raw)
    if "acc_bitmap" in text:
        engine.register_functions()
    return _named(engine.built(text), plain)


def rows_frame(
    plan: RowsPlan, engine: SparkEngine, sql: str, leases: ExitStack, config: Config | None
) -> DataFrame:
    """The files that may hold the rows, read by Spark; the plain statement where all may.

    What it reads stays staged until `leases` is closed. With `config` workers may read positions;
    then it fails where a file is other than was thought.
    """
    from accelerator.query.execution.row_readers import (
        spark_workers,  # imports Arrow's compute module
    )

    session = engine.session
    work = None if config is None else spark_workers.parts_of(plan, config, engine.parallelism)
    if work is not None:
        plain = session.sql(sql).schema
        view = f"acc_{uuid.uuid4().hex}"
        task, parts = work
        engine.rows_of(task, parts, task.spark_schema).createOrReplaceTempView(view)
        try:
            return _named(engine.built(rows_sql(plan.block, "spark", view)), plain)
        finally:
            session.catalog.dropTempView(view)
    reading = plan.reading.selected()
    if len(reading) == plan.files_total:
        return session.sql(sql)
    plain = session.sql(sql).schema
    files = reading.live(0, len(reading))
    staged = leases.enter_context(engine.stage(plan.pinned[0], files)).sql
    return _named(engine.built(rows_sql(plan.block, "spark", staged)), plain)


def _named(frame: DataFrame, plain: StructType) -> DataFrame:
    """The answer's columns under Spark's own names, with its types."""
    # No text of the type: of a struct it may be cut, or have names that don't parse.
    items = [
        frame[f"c{index}"].cast(field.dataType).alias(field.name)
        for index, field in enumerate(plain.fields)
    ]
    return frame.select(*items)


def _staged(plan: CoverPlan, engine: SparkEngine, occurrence: int, leases: ExitStack) -> str:
    pinned = plan.pinned[occurrence]
    files: Any = plan.uncovered if occurrence == plan.match.fact else pinned.live_files()
    return leases.enter_context(engine.stage(pinned, files)).sql
