"""PUBLISH CUBE: an Iceberg table over the newest valid segments, for other engines to read.

Dimensions and finished measures under their own names, one row per cell, and `row_count`. The
table is replaced whole by one Iceberg commit; its property names the cube and the fact's snapshot.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from accelerator.cover_plan import segment_condition
from accelerator.errors import BuildError
from accelerator.store import CubeRecord
from cubes.build_sql import stored_schema
from cubes.cover_sql import finish_text
from cubes.definition import CubeDefinition, effective_filter, stored_measure
from cubes.plan import Final
from rewrite.render import quote

if TYPE_CHECKING:
    from accelerator.session import Accelerator


def publish(session: Accelerator, record: CubeRecord, table: tuple[str, ...] | None) -> str:
    """Writes the table; its full name. BuildError where the cube has no valid segment."""
    target = session.builder.target(record)
    coverage = session.builder.coverage(target)
    filled = [s for s in coverage.segments if s.rows]
    if not filled:
        raise BuildError(
            f"cube {record.name} has no valid segment to publish",
            hint=f"BUILD CUBE {record.name} first",
        )
    fact = target.pinned[0]
    default = record.published.split(".") if record.published else [*fact.parts[:-1], f"{record.name}_cube"]
    name = ".".join(quote(p, "spark") for p in session.lake.resolve(table or tuple(default)))
    spark = session.spark
    session.engine.register_functions()
    view = f"acc_{uuid.uuid4().hex}"
    paths = sorted({s.path for s in filled})
    spark.read.schema(stored_schema(target.cube)).parquet(*paths).createOrReplaceTempView(view)
    try:
        spark.sql(
            f"CREATE OR REPLACE TABLE {name} USING iceberg TBLPROPERTIES ("
            f"'accelerator.published.cube' = '{record.name}',"
            f" 'accelerator.published.snapshot' = '{fact.facts.snapshot_id}') AS "
            + published_select(target.cube, view, segment_condition(filled))
        )
    finally:
        spark.catalog.dropTempView(view)
    return name.replace("`", "")


def published_select(cube: CubeDefinition, view: str, condition: str) -> str:
    """Cells merged over segments, measures finished."""
    columns = ", ".join(f"s{i} AS a{i}" for i in range(len(cube.states)))
    dimensions = [f"d{i}" for i in range(len(cube.dimensions))]
    cells = f"SELECT {', '.join([*dimensions, columns])} FROM {view}"
    cells += f" WHERE {condition}" if condition else ""
    items = [f"d{i} AS {quote(d.name, 'spark')}" for i, d in enumerate(cube.dimensions)]
    keys = {(s.kind, s.argument, s.where): i for i, s in enumerate(cube.states)}
    for measure in cube.measures:
        kept = stored_measure(measure.aggregate)
        if kept is None:
            continue
        args = measure.aggregate.args
        argument = None if kept.states == ("rows",) or not args else args[0]
        where = effective_filter(measure.aggregate)
        slots = tuple(keys[kind, argument, where] for kind in kept.states)
        text = finish_text(Final(measure.aggregate, kept, slots), "spark")
        items.append(f"{text} AS {quote(measure.name, 'spark')}")
    items.append("CAST(SUM(a0) AS BIGINT) AS row_count")
    group = f" GROUP BY {', '.join(dimensions)}" if dimensions else ""
    return f"SELECT {', '.join(items)} FROM ({cells}) cells{group}"
