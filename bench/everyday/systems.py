"""The systems that are asked: a session of ours, plain Spark, and DuckDB over the tables' files."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import duckdb
import pyarrow as pa
import sqlglot
from pyspark.sql import SparkSession
from sqlglot.errors import SqlglotError

from accelerator import Accelerator
from bench.everyday.outcomes import DUCKDB, OURS, SPARK, Reply
from bench.reach.recorder import FAILURES, failure, of_metrics


class System(Protocol):
    """Something that answers SQL of Spark's dialect, with the time from text to Arrow."""

    name: str

    def ask(self, text: str) -> Reply:
        """Answers the statement, or replies with the reason of its error."""


class Ours:
    """A session of the product."""

    name = OURS

    def __init__(self, session: Accelerator) -> None:
        self._session = session

    def ask(self, text: str) -> Reply:
        found: dict[str, Any] = {}

        def rows() -> pa.Table:
            result = self._session.query(text)
            answer = result.arrow()
            metrics = result.metrics
            found.update(of_metrics(metrics, metrics.engine), why=metrics.fallback)
            return answer

        reply = _timed(rows)
        source = found or {"by": "error", "code": reply.error}
        return Reply(reply.ms, reply.answer, reply.error, source)


class PlainSpark:
    """Spark over Iceberg, without the product."""

    name = SPARK

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def ask(self, text: str) -> Reply:
        return _timed(lambda: self._spark.sql(text).toArrow())


class DuckDB:
    """DuckDB over the files, with sqlglot's translation; translating isn't timed."""

    name = DUCKDB

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def ask(self, text: str) -> Reply:
        try:
            translated = sqlglot.transpile(text, "spark", "duckdb")[0]
        except SqlglotError as error:
            return Reply(0.0, error=type(error).__name__)
        return _timed(lambda: self._connection.execute(translated).to_arrow_table())


def _timed(rows: Callable[[], pa.Table]) -> Reply:
    start = time.perf_counter()
    try:
        answer = rows()
    except FAILURES as error:
        return Reply(0.0, error=failure(error)["code"])
    return Reply((time.perf_counter() - start) * 1000, answer)
