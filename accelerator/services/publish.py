"""PUBLISH CUBE: an Iceberg table over the newest valid segments, for other engines to read.

Dimensions and finished measures under their own names, one row per cell, and `row_count`. The
table is replaced whole by one Iceberg commit; its properties name the cube and the fact's snapshot.
A table that isn't this cube's is never replaced or dropped.
"""

from __future__ import annotations

import logging
import uuid
from contextlib import ExitStack
from typing import TYPE_CHECKING

from accelerator.artifacts.segments.records import file_sizes
from accelerator.engines.spark.lazy_engine import require_spark
from accelerator.errors import (
    BuildError,
    EngineError,
    StatementError,
    StoreError,
    VacuumRefusedError,
)
from accelerator.planning.sources.duckdb_text import segment_condition
from accelerator.store import CubeRecord
from cubes.definition import (
    CubeDefinition,
    CubeMeasure,
    effective_filter,
    state_key,
    stored_measure,
)
from cubes.match_result import Final
from cubes.sql.answer import finish_text
from cubes.sql.build import has_one_schema, stored_schema
from rewrite.identifiers.quoting import text_constant
from rewrite.render.expressions import quote

if TYPE_CHECKING:
    from accelerator.builds.segments.builder import CubeTarget
    from accelerator.engines.spark.engine import SparkEngine
    from accelerator.iceberg import PinnedTable
    from accelerator.query.runtime.services import Services

_log = logging.getLogger("accelerator")
_CUBE = "accelerator.published.cube"
_SNAPSHOT = "accelerator.published.snapshot"
_ROW_COUNT = "row_count"


def publish(services: Services, record: CubeRecord, table: tuple[str, ...] | None) -> str:
    """Writes the table and records it; its full name. BuildError where no segment is valid."""
    if services.config.store_read_only:
        raise StoreError(
            "the store was opened read-only, so nothing is published",
            hint="open it without store_read_only",
        )
    target = services.builder.target(record)
    parts = _named(services, record, table, target)
    with services.store.reading():
        _write(services, target, parts)
    name = ".".join(parts)
    if record.published != name:
        services.store.change_cube(record.name, record.id, published=name)
        drop_published(services, record)  # where it was before
    return name


def refresh(services: Services, name: str) -> None:
    """Publishes again where a published cube's fact has another snapshot than its table says."""
    record = services.store.registry().cubes.get(name)
    if record is None or record.published is None:
        return
    if is_behind(services, record, services.builder.target(record)):
        publish(services, record, None)


def is_behind(services: Services, record: CubeRecord, target: CubeTarget) -> bool:
    """Whether it's published, and its table is of another snapshot, or gone. CatalogError."""
    if record.published is None:
        return False
    found = services.lake.pin().pinned(tuple(record.published.split(".")))
    snapshot = str(target.pinned[0].facts.snapshot_id)
    return found is None or found.properties.get(_SNAPSHOT) != snapshot


def drop_published(services: Services, record: CubeRecord) -> None:
    """Drops the cube's table, if it has one and that is still the cube's.

    Its files go too, but for those of a table that shares some with another one.
    """
    found = _own_table(services, record)
    if found is not None:
        engine = _dropping_engine(services, record)
        from cubes.job_error import JobError
        from cubes.spark import run

        purge = " PURGE" if _is_alone(services, found) else ""
        try:
            run(engine.session, f"DROP TABLE IF EXISTS {_text(found.parts)}{purge}")
        except JobError as error:
            raise EngineError(
                f"{record.published} can't be dropped: {error}", hint="drop it in Spark yourself"
            ) from error


def check_drop(services: Services, record: CubeRecord) -> None:
    """Raises SparkMissingError if the cube has a table that can't be dropped without Spark."""
    if _own_table(services, record) is not None:
        _dropping_engine(services, record)


def check_refresh(services: Services, record: CubeRecord) -> None:
    """Raises SparkMissingError if a build has to publish the cube again, and can't."""
    if record.published and is_behind(services, record, services.builder.target(record)):
        _publishing_engine(services, record)


def _own_table(services: Services, record: CubeRecord) -> PinnedTable | None:
    """Returns the cube's published table, if it has one and that is still the cube's."""
    if record.published is None:
        return None
    found = services.lake.pin().pinned(tuple(record.published.split(".")))
    return found if found is not None and found.properties.get(_CUBE) == record.name else None


def _dropping_engine(services: Services, record: CubeRecord) -> SparkEngine:
    return require_spark(
        services.spark_source.engine,
        f"{record.published}, the table of cube {record.name}, is dropped by Spark",
        f"drop {record.published} by another engine first",
    )


def _publishing_engine(services: Services, record: CubeRecord) -> SparkEngine:
    return require_spark(
        services.spark_source.engine,
        f"the table of cube {record.name} is written by Spark",
        "a cube that isn't published is built and answers",
    )


def _is_alone(services: Services, table: PinnedTable) -> bool:
    """Returns whether no other table needs a file of the table; logs why it can't be proven."""
    from accelerator.services.vacuum.snapshots import shared_files

    ids = frozenset(one.snapshot_id for one in table.metadata.snapshots)
    with services.cancellation.tracked() as tag:
        try:
            shared_files(services, table, tag).check_snapshots(ids)
        except VacuumRefusedError as error:
            _log.warning("%s is dropped without its files: %s", table.facts.name, error.message)
            return False
    return True


def _named(
    services: Services, record: CubeRecord, table: tuple[str, ...] | None, target: CubeTarget
) -> tuple[str, ...]:
    """The table's full name, once it's known that the name is free or the cube's own."""
    fact = target.pinned[0]
    given = tuple(record.published.split(".")) if record.published else None
    parts = services.lake.resolve(table or given or (*fact.parts[:-1], f"{record.name}_cube"))
    if any("." in part or "`" in part for part in parts):
        raise StatementError(
            f"a published table can't be called {'.'.join(parts)}: a part has a dot or a backtick",
            hint=f"PUBLISH CUBE {record.name} AS shop.another_name",
        )
    found = services.lake.pin().pinned(parts)
    if found is not None and found.properties.get(_CUBE) != record.name:
        raise StatementError(
            f"{'.'.join(parts)} is a table already, and isn't of cube {record.name}",
            hint="publish under another name, or drop that table first",
        )
    return parts


def _write(services: Services, target: CubeTarget, parts: tuple[str, ...]) -> None:
    record, name = target.record, _text(parts)
    filled = [s for s in services.builder.coverage(target).segments if s.rows]
    if not filled:
        raise BuildError(
            f"cube {record.name} has no valid segment to publish",
            hint=f"BUILD CUBE {record.name} first",
        )
    types = {
        (number, column.field_id): column.type
        for number, table in enumerate(target.pinned)
        for column in table.facts.columns
    }
    if not has_one_schema(target.cube, types):
        raise BuildError(
            f"cube {record.name} can't be published: a column that it computes with has another"
            " type than when the cube was made",
            hint="drop the cube and create it again",
        )
    engine = _publishing_engine(services, record)
    from cubes.job_error import JobError
    from cubes.spark import job_errors, run

    engine.register_functions()
    view = f"acc_{uuid.uuid4().hex}"
    exists = services.lake.pin().pinned(parts) is not None
    text = (
        f"{'CREATE OR REPLACE' if exists else 'CREATE'} TABLE {name} USING iceberg TBLPROPERTIES ("
        f"'{_CUBE}' = {text_constant(record.name)},"
        f" '{_SNAPSHOT}' = '{target.pinned[0].facts.snapshot_id}')"
        f" AS {published_select(target.cube, view, segment_condition(filled))}"
    )
    sizes, schema = file_sizes(filled, services.store), stored_schema(target.cube, types)
    try:
        with ExitStack() as staged, job_errors(), services.cancellation.tracked() as tag:
            staged.enter_context(engine.tagged(tag))
            frame = engine.segments_frame(
                target.pinned[0].parts, services.store, schema, sizes, staged
            )
            frame.createOrReplaceTempView(view)
            staged.callback(engine.session.catalog.dropTempView, view)
            run(engine.session, text)
    except JobError as error:
        raise BuildError(
            f"cube {record.name} can't be published as {'.'.join(parts)}: {error}",
            hint="the name must be of an Iceberg catalog, in a namespace that exists",
        ) from error


def published_select(cube: CubeDefinition, view: str, condition: str) -> str:
    """Cells merged over segments, measures finished."""
    dimensions = [f"d{i}" for i in range(len(cube.dimensions))]
    items = [f"d{i} AS {quote(d.name, 'spark')}" for i, d in enumerate(cube.dimensions)]
    items += [_measure_item(cube, measure) for measure in cube.measures]
    taken = {d.name.lower() for d in cube.dimensions} | {m.name.lower() for m in cube.measures}
    if _ROW_COUNT not in taken:
        items.append(f"CAST(SUM(s0) AS BIGINT) AS {_ROW_COUNT}")
    where = f" WHERE {condition}" if condition else ""
    group = f" GROUP BY {', '.join(dimensions)}" if dimensions else ""
    return f"SELECT {', '.join(items)} FROM {view}{where}{group}"


def _measure_item(cube: CubeDefinition, measure: CubeMeasure) -> str:
    """A finished measure under its name."""
    aggregate = measure.aggregate
    kept = stored_measure(aggregate)
    if kept is None:  # `define` refuses such a measure
        raise BuildError(f"{measure.name} has no state", hint="create the cube again without it")

    keys = {
        state_key(s.kind, s.argument, s.where, cube.classes): i for i, s in enumerate(cube.states)
    }
    argument = aggregate.args[0] if aggregate.args and kept.states != ("rows",) else None
    where = effective_filter(aggregate)
    slots = tuple(keys[state_key(kind, argument, where, cube.classes)] for kind in kept.states)
    text = finish_text(
        Final(aggregate, kept, slots), [f"s{i}" for i in range(len(cube.states))], "spark"
    )
    return f"{text} AS {quote(measure.name, 'spark')}"


def _text(parts: tuple[str, ...]) -> str:
    return ".".join(quote(part, "spark") for part in parts)
