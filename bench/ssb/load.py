"""Loads the generated Parquet files into Iceberg tables `ssb.*`, by Spark.

A source file becomes one data file, so that the number of data files is the generator's choice
and no shuffle sorts or mixes the rows. A table is replaced in one commit: whoever looks sees the
old rows or the new ones.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from bench.ssb.generate import TABLES
from bench.ssb.queries import NAMESPACE

_SPLIT_BYTES = "spark.sql.files.maxPartitionBytes"


def load(
    spark: SparkSession, source: Path, report: Callable[[str], None] = lambda _table: None
) -> None:
    """Creates or replaces the five tables; `report` hears each table's name before it is loaded."""
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {NAMESPACE}")
    for table in TABLES:
        report(table)
        _load_table(spark, source / table, f"{NAMESPACE}.{table}")


def data_files(spark: SparkSession, table: str) -> list[str]:
    """Local paths of the live data files of a table."""
    rows = spark.sql(f"SELECT file_path FROM {NAMESPACE}.{table}.files WHERE content = 0").collect()
    return sorted(row.file_path.removeprefix("file:").replace("///", "/") for row in rows)


def fact_bytes(spark: SparkSession) -> int:
    """Bytes of the fact table's live data files."""
    row = spark.sql(f"SELECT sum(file_size_in_bytes) AS n FROM {NAMESPACE}.lineorder.files").first()
    return int(row.n) if row else 0


def _load_table(spark: SparkSession, source: Path, name: str) -> None:
    largest = max(path.stat().st_size for path in source.glob("*.parquet"))
    before = spark.conf.get(_SPLIT_BYTES)
    # Spark packs files into a read task up to this size: a whole one fits, a second doesn't.
    spark.conf.set(_SPLIT_BYTES, str(largest + 1))
    try:
        (
            spark.read.parquet(source.as_uri())
            .writeTo(name)
            .using("iceberg")
            .tableProperty("format-version", "2")
            .tableProperty("write.distribution-mode", "none")
            .createOrReplace()
        )
    finally:
        spark.conf.set(_SPLIT_BYTES, before or "128MB")
