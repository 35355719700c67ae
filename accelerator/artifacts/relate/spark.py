"""What Spark says of dimensions that are too large for a lookup in memory.

Rows of keys and values at pinned snapshots, keys that stand twice, keys whose values differ between
two states. Only small results come to the driver. Keys have identity types, so that Spark's `=` and
GROUP BY compare them as lookups do.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame

from accelerator.artifacts.relate.lookup import TWICE_SHOWN, not_unique
from accelerator.artifacts.relate.path import column_text
from accelerator.errors import EngineError
from accelerator.iceberg import LiveFile, PinnedTable
from cubes.job_error import JobError
from cubes.spark import job_errors
from rewrite.facts import ColumnFacts
from rewrite.render.expressions import quote
from rewrite.types import FLOATING

if TYPE_CHECKING:
    from accelerator.artifacts.relate.path import PathStep
    from accelerator.engines.spark.engine import SparkEngine


@contextmanager
def staged(
    engine: SparkEngine,
    steps: Sequence[PathStep],
    values: Sequence[str],
    files: Sequence[LiveFile] | None = None,
) -> Iterator[DataFrame]:
    """Keys (`k0`, …) of the first dimension, and values (`v0`, …): texts over `d0` and the others.

    The frame can be read while the block runs. Rows with a NULL in their key aren't in it. `files`
    are those of the first dimension that are read, by default all.
    """
    with ExitStack() as open_:
        sources = list[str]()
        for step in steps:
            chosen = step.pinned.live_files() if files is None or sources else files
            sources.append(open_.enter_context(engine.stage(step.pinned, chosen)).sql)
        with job_errors_named():
            frame = engine.built(_select(steps, values, sources))
        yield frame


def _select(steps: Sequence[PathStep], values: Sequence[str], sources: Sequence[str]) -> str:
    own = [column_text(0, one) for one in steps[0].keys]
    wanted = [f"{key} AS k{i}" for i, key in enumerate(own)]
    wanted += [f"{one} AS v{i}" for i, one in enumerate(values)]
    joins = [f"{sources[0]} AS d0"]
    for number, step in enumerate(steps[1:], start=1):
        pairs = zip(step.keys, step.others, strict=True)
        on = (f"{column_text(number, key)} = {column_text(*other)}" for key, other in pairs)
        joins.append(f"LEFT JOIN {sources[number]} AS d{number} ON {' AND '.join(on)}")
    there = " AND ".join(f"{key} IS NOT NULL" for key in own)
    return f"SELECT {', '.join(wanted)} FROM {' '.join(joins)} WHERE {there}"


def check_unique(engine: SparkEngine, pinned: PinnedTable, key: Sequence[str], tag: str) -> None:
    """RelateKeyError where rows of the table have one key, NULLs aside; it shows some."""
    names = [quote(one, "spark") for one in key]
    listed, there = ", ".join(names), " AND ".join(f"{one} IS NOT NULL" for one in names)
    with engine.stage(pinned, pinned.live_files()) as source:
        twice = (
            f"SELECT {listed}, count(*) AS n FROM {source.sql} WHERE {there}"
            f" GROUP BY {listed} HAVING count(*) > 1"
        )
        some = _run(engine, f"{twice} LIMIT {TWICE_SHOWN}", tag)
        if not some.num_rows:
            return
        count = some.num_rows
        if count == TWICE_SHOWN:
            counted = _run(engine, f"SELECT count(*) AS n FROM ({twice})", tag)
            count = counted.column(0)[0].as_py()
    raise not_unique(pinned.facts.name, key, some, count)


def differing(
    engine: SparkEngine,
    old: DataFrame,
    new: DataFrame,
    keys: Sequence[ColumnFacts],
    values: Sequence[ColumnFacts],
    limit: int,
) -> pa.Table:
    """Keys whose rows aren't the same in both, no more than so many; of these columns' types.

    Both are bags: what stands in both as often is the same, whatever else has that key.
    """
    view = f"acc_relate_{uuid.uuid4().hex}"
    names = [f"k{i}" for i in range(len(keys))]
    told = [f"CAST({name} AS {one.type}) AS {name}" for name, one in zip(names, keys, strict=True)]
    compared = list(names)
    for number, one in enumerate(values):
        # Spark groups −0.0 with 0.0.
        exact = "STRING" if one.type in FLOATING else one.type
        told.append(f"CAST(CAST(v{number} AS {one.type}) AS {exact}) AS v{number}")
        compared.append(f"v{number}")
    sides = (f"SELECT {', '.join(told)}, {sign} AS s FROM {view}_{sign + 1}" for sign in (-1, 1))
    groups, listed = ", ".join(compared), ", ".join(names)
    alone = f"SELECT {listed} FROM ({' UNION ALL '.join(sides)}) GROUP BY {groups} HAVING sum(s)!=0"
    catalog = engine.session.catalog
    try:
        old.createOrReplaceTempView(f"{view}_0")
        new.createOrReplaceTempView(f"{view}_2")
        return _run(engine, f"SELECT DISTINCT {listed} FROM ({alone}) LIMIT {limit}", "")
    finally:
        for number in (0, 2):
            catalog.dropTempView(f"{view}_{number}")


def _run(engine: SparkEngine, sql: str, tag: str) -> pa.Table:
    with job_errors_named(), engine.tagged(tag or f"acc-{uuid.uuid4().hex}"):
        return engine.built(sql).toArrow()


@contextmanager
def job_errors_named() -> Iterator[None]:
    """What Spark raises inside, as EngineError."""
    try:
        with job_errors():
            yield
    except JobError as error:
        raise EngineError(
            f"Spark can't read dimensions: {error}",
            hint="check that the dimensions can be read by Spark itself",
        ) from error
