"""The Spark job of a build on a relate column whose dimensions are large.

Keys out of the fact's files, sort-merge joined with the dimensions' values, then all rows of a file
to one task in their order. Every shuffle spills to disk, so that neither driver nor workers hold
more than they do in other builds.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from accelerator.builds.sidecars.shuffle import NumberedFile, file_keys, index_values, keys_schema
from accelerator.builds.sidecars.task import FileWork, IndexRequest, TaskInput, TaskResult
from accelerator.errors import EngineError
from cubes.job_error import JobError
from cubes.spark import job_errors

if TYPE_CHECKING:
    from accelerator.engines.spark.engine import SparkEngine

_ROW_BYTES = 32
"""Of a key in a shuffle, compared with a row of data files."""


def index_joined(
    engine: SparkEngine,
    source: TaskInput,
    wanted: Sequence[IndexRequest],
    files: Sequence[FileWork],
    held: Mapping[str, frozenset[str]],
    values: DataFrame,
    tasks: int,
    tag: str,
) -> list[TaskResult]:
    """What these files hold for indexes on one relate column, whose keys and values are given.

    Raises:
        EngineError: the job failed.
        CancelledError: it was stopped.
    """
    numbered = [NumberedFile(number, file) for number, file in enumerate(files)]
    parts = [numbered[i::tasks] for i in range(tasks)]
    size = sum(file.record_count for file in files) * _ROW_BYTES
    try:
        with job_errors(), engine.tagged(tag), engine.shuffling(size):
            task = partial(file_keys, source, wanted[0])
            keys = engine.rows_of(task, parts, keys_schema(wanted[0]))
            same = [keys[f"k{i}"] == values[f"k{i}"] for i in range(len(wanted[0].keys))]
            # The join whose memory is bounded however the keys are spread.
            joined = keys.join(values.hint("merge"), same, "left")
            there = F.col("v0").isNotNull() | (F.col("piece") < 0)
            rows = joined.select("file", "piece", "v0", "places").where(there)
            ordered = rows.repartitionById(tasks, "file").sortWithinPartitions("file", "piece")
            build = _builds(engine, source, wanted, files, held)
            found = ordered.mapInArrow(build, "answer BINARY").collect()
    except JobError as error:
        raise engine.job_failed(error) from error
    answers = [pickle.loads(row[0]) for row in found]
    if sorted(one.path for one in answers) != sorted(file.path for file in files):
        raise EngineError(
            f"a Spark job told of {len(answers)} files, and was asked for {len(files)}",
            hint="please report this; what was built before stays",
        )
    return answers


def _builds(
    engine: SparkEngine,
    source: TaskInput,
    wanted: Sequence[IndexRequest],
    files: Sequence[FileWork],
    held: Mapping[str, frozenset[str]],
) -> object:
    told = engine.session.sparkContext.broadcast((source, list(wanted), list(files), dict(held)))

    def build(joined: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        source, wanted, files, held = told.value
        for answer in index_values(source, wanted, files.__getitem__, held, joined):
            one: TaskResult = answer
            yield pa.RecordBatch.from_arrays(
                [pa.array([pickle.dumps(one)], pa.binary())], ["answer"]
            )

    return build
