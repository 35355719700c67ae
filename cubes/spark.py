"""Runs a cube's build in Spark: one job writes the segments of many data files.

The job writes Parquet under a prefix that is its own, rows sorted by segment and dimensions, each
segment whole in one file. It commits nothing; what it wrote counts only once the store says so.
Whatever Spark raises leaves here as a `JobError`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cubes.definition import CubeDefinition, Edge
from cubes.job_error import JobError
from cubes.sql.build import (
    OWN_SEGMENT,
    PART,
    SEGMENT,
    missing_select,
    segments_select,
    unique_select,
)
from rewrite.identifiers.quoting import REFERENCE, SUBSTITUTION, unexpanded

CANCELLED = "SPARK_JOB_CANCELLED"
"""Stands in every message about a job that was stopped by its tag."""
_DIED = "Error from python worker:"
_SENDS_AGAIN = (
    "spark.sql.optimizer.disableHints",
    "spark.sql.requireAllClusterKeysForDistribution",
)
_ROW_GROUP_BYTES = 16 * 1024 * 1024
_SORTED_BY = 3  # leading dimensions: enough to prune by until a merge sorts by all


@contextmanager
def job_errors() -> Iterator[None]:
    """What Spark raises inside, as a `JobError` of one line. A dead JVM is an error like others."""
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        text = str(error)
        raise JobError(_line(text)[:500], cancelled=CANCELLED in text) from error


def _line(text: str) -> str:
    """The line that says most: what a Python worker raised, else what has Spark's error code."""
    _, _, trace = text.partition("Traceback (most recent call last):")
    for line in trace.splitlines():
        if line[:1].strip():  # where it was raised stands before that, further in
            return line.rstrip()
    said = [line.strip() for line in text.splitlines() if line.strip()]
    if _DIED in said[:-1]:  # before it could run Python
        return f"{_DIED} {said[said.index(_DIED) + 1]}"
    return next((line for line in said if "[" in line), said[0] if said else "no reason given")


def built(spark: SparkSession, sql: str) -> DataFrame:
    """The rows of a text that was built here, in which Spark replaces no `${…}`.

    StatementError if a name in it has one, and the session replaces them.
    """
    return spark.sql(unexpanded_in(spark, sql))


def unexpanded_in(spark: SparkSession, text: str) -> str:
    """Returns the text as the session may parse it; StatementError as of `built`."""
    if REFERENCE not in text or str(spark.conf.get(SUBSTITUTION)).lower() == "false":
        return text
    return unexpanded(text)


def write_segments(
    spark: SparkSession,
    cube: CubeDefinition,
    sources: Sequence[str],
    segments: Mapping[str, int],
    uri: str,
    partitions: int,
    small: Collection[int] = frozenset(),
    write: Callable[[DataFrame, str], None] | None = None,
) -> None:
    """Writes the cells of each data file in `segments` (path → segment id) as Parquet under `uri`.

    `small` are the occurrences that each task may hold in memory. Where all joined ones are, the
    fact's rows themselves are sent to the task that writes their segment and are grouped there:
    one shuffle of narrow rows. Else Spark groups as it likes, and the cells are sent once more.
    A row of a file that has no id here fails the job: dropping it would lose it for good. `write`
    replaces Spark's own Parquet source, for a URI that Spark can't write to.
    """
    leading = [f"d{i}" for i in range(len(cube.dimensions))][:_SORTED_BY]
    at_once = set(small) >= set(range(1, len(cube.tables))) and _keeps_places(spark)
    files, rows = (f"acc_{name}_{uuid.uuid4().hex}" for name in ("files", "rows"))
    with job_errors():
        try:
            ids = _parts(spark, segments, partitions)
            ids.createOrReplaceTempView(files)
            fact = _numbered(sources[0], files)
            if at_once:
                raw = built(spark, f"SELECT * FROM {fact}").repartitionById(partitions, PART)
                raw.createOrReplaceTempView(rows)
                cells = built(spark, segments_select(cube, [rows, *sources[1:]], placed=True))
            else:
                cells = built(spark, segments_select(cube, [fact, *sources[1:]]))
                parts = F.broadcast(ids.select(SEGMENT, PART))
                cells = cells.join(parts, SEGMENT).repartitionById(partitions, PART).drop(PART)
            (write or _write_parquet)(cells.sortWithinPartitions(SEGMENT, *leading), uri)
        finally:
            spark.catalog.dropTempView(files)
            spark.catalog.dropTempView(rows)


def _write_parquet(cells: DataFrame, uri: str) -> None:
    writer = cells.write.mode("error").option("compression", "snappy")
    writer.option("parquet.block.size", _ROW_GROUP_BYTES).parquet(uri)


def _keeps_places(spark: SparkSession) -> bool:
    """Whether rows stay where they were sent until their cells are written.

    By the one setting joins would send them elsewhere, by the other the grouping would.
    """
    return all(str(spark.conf.get(name)).lower() == "false" for name in _SENDS_AGAIN)


def _parts(spark: SparkSession, segments: Mapping[str, int], partitions: int) -> DataFrame:
    """Each file's segment, and the task that writes it; the tasks get alike many."""
    numbered = [(path, number, i % partitions) for i, (path, number) in enumerate(segments.items())]
    frame = spark.createDataFrame(numbered, f"file STRING, {SEGMENT} BIGINT, {PART} INT")
    return frame.withColumn("hash", F.xxhash64("file"))


def _numbered(source: str, view: str) -> str:
    """The fact's rows with their segment's number; a row of no file of this job is an error.

    A join of numbers costs a row half of what one of paths does, which are long and alike at their
    beginning; what has the same hash is then compared whole.
    """
    unknown = "CAST(RAISE_ERROR(CONCAT('not a file of this job: ', f._file)) AS BIGINT)"
    same = "STARTSWITH(f._file, s.file) AND OCTET_LENGTH(f._file) = OCTET_LENGTH(s.file)"
    own = f"COALESCE(s.{SEGMENT}, {unknown}) AS {OWN_SEGMENT}"
    return (
        f"(SELECT /*+ BROADCAST(s) */ f.*, {own}, s.{PART}"
        f" FROM {source} AS f LEFT JOIN {view} AS s ON XXHASH64(f._file) = s.hash AND {same})"
    )


def count_missing(
    spark: SparkSession, cube: CubeDefinition, edges: Sequence[Edge], sources: Sequence[str]
) -> dict[str, dict[int, int]]:
    """Per data file and edge: the rows without a partner."""
    with job_errors():
        rows = built(spark, missing_select(cube, edges, sources)).collect()
    return {
        row["file"]: {e.occurrence: int(row[f"m{e.occurrence}"]) for e in edges} for row in rows
    }


def is_unique(spark: SparkSession, edge: Edge, source: str) -> bool:
    """Whether no two rows of the dimension have one key."""
    with job_errors():
        row = built(spark, unique_select(edge, source)).collect()[0]
    return bool(row["n"] == row["k"])


def count_cells(spark: SparkSession, cube: CubeDefinition, sources: Sequence[str]) -> int:
    """How many cells the cube has over those sources, counted for real."""
    with job_errors():
        text = f"SELECT COUNT(*) AS n FROM ({segments_select(cube, sources)})"
        return int(built(spark, text).collect()[0]["n"])


def run(spark: SparkSession, sql: str) -> None:
    """Runs a statement for its effect."""
    with job_errors():
        built(spark, sql).collect()
