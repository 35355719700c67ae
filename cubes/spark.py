"""Runs a cube's build in Spark: one job writes the segments of many data files.

The job writes Parquet under a prefix that is its own, rows sorted by segment and dimensions, each
segment whole in one file. It commits nothing; what it wrote counts only once the store says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cubes.build_sql import SEGMENT, missing_select, segments_select, unique_select
from cubes.definition import CubeDefinition, Edge


def write_segments(
    spark: SparkSession,
    cube: CubeDefinition,
    sources: Sequence[str],
    segments: Mapping[str, int],
    uri: str,
    partitions: int,
) -> None:
    """Writes the cells of each data file in `segments` (path → segment id) as Parquet under `uri`."""
    cells = spark.sql(segments_select(cube, sources))
    ids = spark.createDataFrame(list(segments.items()), f"file STRING, {SEGMENT} BIGINT")
    order = [SEGMENT, *(f"d{i}" for i in range(len(cube.dimensions)))]
    named: DataFrame = cells.join(F.broadcast(ids), "file").drop("file").select(
        SEGMENT,
        *(f"d{i}" for i in range(len(cube.dimensions))),
        *(f"s{i}" for i in range(len(cube.states))),
    )
    placed = named.repartition(partitions, SEGMENT).sortWithinPartitions(*order)
    writer = placed.write.mode("error").option("compression", "zstd")
    writer.option("parquet.block.size", 16 * 1024 * 1024).parquet(uri)


def count_missing(
    spark: SparkSession, cube: CubeDefinition, edges: Sequence[Edge], sources: Sequence[str]
) -> dict[str, dict[int, int]]:
    """Per data file and edge: the rows without a partner."""
    rows = spark.sql(missing_select(cube, edges, sources)).collect()
    return {row["file"]: {e.occurrence: int(row[f"m{e.occurrence}"]) for e in edges} for row in rows}


def is_unique(spark: SparkSession, edge: Edge, source: str) -> bool:
    """Whether no two rows of the dimension have one key."""
    row = spark.sql(unique_select(edge, source)).collect()[0]
    return bool(row["n"] == row["k"])
