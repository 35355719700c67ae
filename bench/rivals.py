"""The systems that searches are compared with, over the same rows; they take turns.

`spark`: stock Spark over the Iceberg table. `parquet_bloom`: the same over a copy whose files have
Parquet's own Bloom filters. `duckdb`: over the table's data files. Each is timed from the text to
an Arrow table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import pyarrow as pa

import accelerator
from bench.compare import Answer, difference
from bench.made_table import forget_pages
from bench.process_tree import bytes_read

OURS = "accelerated"
SPARK, PARQUET_BLOOM, DUCKDB = "spark", "parquet_bloom", "duckdb"
TABLE = "{table}"
"""Stands in statements for the table."""


@dataclass(frozen=True, slots=True)
class Ran:
    """One statement by one system; `bytes` by all read calls, `told` by our own metrics."""

    system: str
    ms: float
    bytes: int
    rows: int
    told: Mapping[str, Any] = field(default_factory=dict)


class Turns:
    """Runs each statement by every system, one after the other, and compares the answers."""

    def __init__(
        self,
        acc: accelerator.Accelerator,
        folder: Path,
        table: str,
        *,
        spark: bool,
        blooms: bool = True,
    ) -> None:
        """With `blooms` there is a copy of the table that has them."""
        self._blooms = blooms
        self._acc, self._folder, self._table, self._spark = acc, folder, table, spark
        files = str(folder / "bench" / table / "data" / "*.parquet")
        self._source = f"read_parquet('{files}')"
        self._duckdb = duckdb.connect()
        self._metrics: dict[str, Any] = {}

    def close(self) -> None:
        self._duckdb.close()

    def keep_files(self, kept: bool) -> None:
        """Whether DuckDB may keep in memory what it has read of files."""
        self._duckdb.execute(f"SET enable_external_file_cache = {str(kept).lower()}")

    def run(
        self,
        text: str,
        *,
        cold: bool,
        order_by: Sequence[int] = (),
        duckdb: str = "",
        without: Sequence[str] = (),
    ) -> list[Ran]:
        """The statement by each, but for those `without`. SystemExit where two answer differently.

        `duckdb`: what DuckDB is asked, where it has other words for it.
        """
        systems: dict[str, tuple[str, Callable[[str], pa.Table]]] = {
            OURS: (f"bench.{self._table}", self._ours),
            DUCKDB: (self._source, lambda sql: self._duckdb.execute(sql).to_arrow_table()),
        }
        if self._spark:
            systems[SPARK] = (f"bench.{self._table}", self._stock)
            if self._blooms:
                systems[PARQUET_BLOOM] = (f"bench.{self._table}_bloom", self._stock)
        for name in without:
            del systems[name]
        found, answers = [], {}
        for name, (table, ask) in systems.items():
            if cold:
                forget_pages(self._folder)
            before = bytes_read()
            began = time.perf_counter()
            asked = duckdb if duckdb and name == DUCKDB else text
            rows = ask(asked.replace(TABLE, table))
            ms = (time.perf_counter() - began) * 1000
            told = self._metrics if name == OURS else {}
            found.append(Ran(name, ms, bytes_read() - before, rows.num_rows, told))
            answers[name] = rows
        expected = answers[SPARK if SPARK in answers else DUCKDB]
        for name, rows in answers.items():
            # DuckDB's names and types aren't Spark's.
            plain = expected if SPARK in answers and name != DUCKDB else None
            schema = None if plain is None else rows.schema
            actual = Answer(Answer.of(rows).rows, schema)
            wanted = Answer(Answer.of(expected).rows, None if plain is None else expected.schema)
            if said := difference(wanted, actual, order_by):
                raise SystemExit(f"{name} answers otherwise: {said}: {text}")
        return found

    def _ours(self, sql: str) -> pa.Table:
        result = self._acc.query(sql)
        rows = result.arrow()
        self._metrics = result.metrics.to_dict()
        return rows

    def _stock(self, sql: str) -> pa.Table:
        return self._acc.spark.sql(sql).toArrow()


def copy_with_blooms(
    acc: accelerator.Accelerator, table: str, values: Mapping[str, int], group_rows: int
) -> None:
    """`<table>_bloom`: as many files and row groups, with filters of 1 % sized for those values.

    `values`: of each column to be searched, how many distinct ones a row group has.
    """
    settings = {"format-version": "2", "write.distribution-mode": "none"}
    settings["write.parquet.compression-codec"] = "zstd"
    # After just so many rows the writer looks at a group's size, and finds it large enough.
    settings["write.parquet.row-group-size-bytes"] = "1"
    for end in ("min", "max"):
        settings[f"write.parquet.row-group-check-{end}-record-count"] = str(group_rows)
    for column, count in values.items():
        settings[f"write.parquet.bloom-filter-enabled.column.{column}"] = "true"
        settings[f"write.parquet.bloom-filter-ndv.column.{column}"] = str(count)
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in settings.items())
    spark = acc.spark
    spark.sql(
        f"CREATE TABLE bench.{table}_bloom USING iceberg TBLPROPERTIES ({listed})"
        f" AS SELECT * FROM bench.{table} LIMIT 0"
    )
    # A task for each file, so that a file of the one table is a file of the other.
    whole = str(1 << 30)
    frame = spark.read.option("split-size", whole).option("file-open-cost", whole)
    frame.table(f"bench.{table}").writeTo(f"bench.{table}_bloom").append()


def medians_ms(runs: Sequence[Ran]) -> dict[str, float]:
    """The median time of each system."""
    names = dict.fromkeys(one.system for one in runs)
    return {name: median(one.ms for one in runs if one.system == name) for name in names}


def median_bytes(runs: Sequence[Ran]) -> dict[str, float]:
    """The median of what each system has read."""
    names = dict.fromkeys(one.system for one in runs)
    return {name: median(one.bytes for one in runs if one.system == name) for name in names}
