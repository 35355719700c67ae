"""Runs a cube's build in Spark: one job writes the segments of many data files.

The job writes Parquet under a prefix that is its own, rows sorted by segment and dimensions, each
segment whole in one file. It commits nothing; what it wrote counts only once the store says so.
Whatever Spark raises leaves here as a `JobError`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cubes.build_sql import SEGMENT, missing_select, segments_select, stored_schema, unique_select
from cubes.definition import CubeDefinition, Edge

_CANCELLED = "SPARK_JOB_CANCELLED"
_ROW_GROUP_BYTES = 16 * 1024 * 1024


class JobError(Exception):
    """A Spark job or statement failed; `cancelled` tells a cancelled job from a broken one."""

    def __init__(self, message: str, *, cancelled: bool) -> None:
        super().__init__(message)
        self.cancelled = cancelled


@contextmanager
def job_errors() -> Iterator[None]:
    """What Spark raises inside, as a `JobError` of one line. A dead JVM is an error like others."""
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        text = str(error)
        said = [line.strip() for line in text.splitlines() if line.strip()]
        told = next((line for line in said if "[" in line), said[0] if said else "no reason given")
        raise JobError(told[:500], cancelled=_CANCELLED in text) from error


def write_segments(
    spark: SparkSession,
    cube: CubeDefinition,
    sources: Sequence[str],
    segments: Mapping[str, int],
    uri: str,
    partitions: int,
) -> None:
    """Writes the cells of each data file in `segments` (path → segment id) as Parquet under `uri`.

    A row of a file that has no id here fails the job: dropping it would lose it for good.
    """
    order = [SEGMENT, *(f"d{i}" for i in range(len(cube.dimensions)))]
    with job_errors():
        cells = spark.sql(segments_select(cube, sources))
        ids = spark.createDataFrame(list(segments.items()), f"file STRING, {SEGMENT} BIGINT")
        unknown = F.raise_error(F.concat(F.lit("not a file of this job: "), F.col("file")))
        found: DataFrame = cells.join(F.broadcast(ids), "file", "left").select(
            F.coalesce(F.col(SEGMENT), unknown.cast("bigint")).alias(SEGMENT),
            *(f"d{i}" for i in range(len(cube.dimensions))),
            *(f"s{i}" for i in range(len(cube.states))),
        )
        placed = found.repartition(partitions, SEGMENT).sortWithinPartitions(*order)
        writer = placed.write.mode("error").option("compression", "zstd")
        writer.option("parquet.block.size", _ROW_GROUP_BYTES).parquet(uri)


def count_missing(
    spark: SparkSession, cube: CubeDefinition, edges: Sequence[Edge], sources: Sequence[str]
) -> dict[str, dict[int, int]]:
    """Per data file and edge: the rows without a partner."""
    with job_errors():
        rows = spark.sql(missing_select(cube, edges, sources)).collect()
    return {
        row["file"]: {e.occurrence: int(row[f"m{e.occurrence}"]) for e in edges} for row in rows
    }


def is_unique(spark: SparkSession, edge: Edge, source: str) -> bool:
    """Whether no two rows of the dimension have one key."""
    with job_errors():
        row = spark.sql(unique_select(edge, source)).collect()[0]
    return bool(row["n"] == row["k"])


def count_cells(spark: SparkSession, cube: CubeDefinition, sources: Sequence[str]) -> int:
    """How many cells the cube has over those sources, counted for real."""
    with job_errors():
        text = f"SELECT COUNT(*) AS n FROM ({segments_select(cube, sources)})"
        return int(spark.sql(text).collect()[0]["n"])


def run(spark: SparkSession, sql: str) -> None:
    """Runs a statement for its effect."""
    with job_errors():
        spark.sql(sql).collect()


@contextmanager
def segments_view(
    spark: SparkSession, cube: CubeDefinition, paths: Sequence[str], name: str
) -> Iterator[None]:
    """A temporary view over segment files, there for as long as the block runs."""
    with job_errors():
        frame = spark.read.schema(stored_schema(cube)).parquet(*paths)
        frame.createOrReplaceTempView(name)
    try:
        yield
    finally:
        spark.catalog.dropTempView(name)
