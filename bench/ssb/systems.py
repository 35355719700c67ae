"""The systems that take turns: plain Spark, the accelerator, and DuckDB over the same data files.

Each fetches all rows as Python tuples, the cheapest way each of them has; what is only needed to
compare answers (the schema) is asked for after the clock has stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import duckdb
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

import accelerator
from accelerator.common.records.as_dict import as_dict
from bench.compare import Answer
from bench.ssb.generate import TABLES
from bench.ssb.load import data_files
from bench.ssb.queries import NAMESPACE


class System(Protocol):
    """Something that answers SQL. `run` is timed; `answer` tells what the last `run` found."""

    name: str

    def run(self, sql: str) -> None:
        """Answers the statement and fetches every row."""

    def answer(self) -> Answer:
        """The last answer, for comparing."""

    def metrics(self) -> dict[str, Any]:
        """What the system tells about the last run."""


class PlainSpark:
    """Spark over Iceberg as it comes, in the session the accelerator itself uses."""

    name = "spark"

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._frame: DataFrame | None = None
        self._rows: Sequence[Row] = ()

    def run(self, sql: str) -> None:
        self._frame = self._spark.sql(sql)
        self._rows = self._frame.collect()

    def answer(self) -> Answer:
        if self._frame is None:
            raise RuntimeError("nothing was run yet")
        return Answer([tuple(row) for row in self._rows], to_arrow_schema(self._frame.schema))

    def metrics(self) -> dict[str, Any]:
        return {}


class Accelerated:
    """`acc.query`, as a user calls it."""

    def __init__(self, acc: accelerator.Accelerator, name: str = "accelerated") -> None:
        self.name = name
        self._acc = acc
        self._result: accelerator.Result | None = None
        self._rows: Sequence[tuple[Any, ...]] = ()

    def run(self, sql: str) -> None:
        self._result = self._acc.query(sql)
        self._rows = self._result.fetchall()

    def answer(self) -> Answer:
        if self._result is None:
            raise RuntimeError("nothing was run yet")
        return Answer([tuple(row) for row in self._rows], self._result.arrow().schema)

    def metrics(self) -> dict[str, Any]:
        return {} if self._result is None else as_dict(self._result.metrics)


class RawDuckDB:
    """DuckDB over the tables' live data files, as they are; no code of ours takes part.

    It sees neither deletes nor a changed schema, so it is only right for freshly loaded tables.
    """

    name = "duckdb_raw"

    def __init__(self, files: dict[str, list[str]]) -> None:
        self._connection = duckdb.connect()
        self._connection.execute(f"CREATE SCHEMA {NAMESPACE}")
        self._rows: list[tuple[Any, ...]] = []
        for table, paths in files.items():
            source = f"read_parquet({paths!r})"
            self._connection.execute(f"CREATE VIEW {NAMESPACE}.{table} AS SELECT * FROM {source}")

    @classmethod
    def over(cls, spark: SparkSession) -> RawDuckDB:
        """DuckDB over the data files that the session's tables have now."""
        return cls({table: data_files(spark, table) for table in TABLES})

    def run(self, sql: str) -> None:
        self._rows = self._connection.execute(sql).fetchall()

    def answer(self) -> Answer:
        return Answer(self._rows)

    def metrics(self) -> dict[str, Any]:
        return {}
