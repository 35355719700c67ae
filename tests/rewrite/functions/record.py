"""Writes plain Spark's answers to the grid: `python -m tests.rewrite.functions.record`."""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.rewrite.functions import grid


def make_views(spark: SparkSession, folder: Path) -> None:
    """The grid's table: `grid` as Spark reads it of a file, `grid_here` in the driver's memory."""
    path = folder / "grid.parquet"
    pq.write_table(grid.table(), path)
    spark.read.parquet(str(path)).createOrReplaceTempView("grid")
    spark.createDataFrame(grid.table()).createOrReplaceTempView("grid_here")


def said(spark: SparkSession, line: str) -> dict[str, Any]:
    """The type and the values of a line's expression over the grid.

    Rows that raise are found in the driver, which is quick; the others are computed by a job.
    """
    zone, expression = grid.zone_of(line)
    spark.conf.set("spark.sql.session.timeZone", zone)
    sql = f"SELECT {expression} AS q FROM"

    def ask(first: int, end: int) -> list[Any]:
        found = spark.sql(f"{sql} grid_here WHERE id >= {first} AND id < {end}")
        found._jdf.queryExecution().optimizedPlan()  # Spark computes a local table in the optimiser
        return [None] * (end - first)

    here = grid.answers(ask, PySparkException)
    raising = [i for i, value in enumerate(here) if value == [grid.RAISES]]
    where = f"NOT array_contains(array({', '.join(map(str, raising))}), id)" if raising else "true"
    rows = spark.sql(f"{sql} grid WHERE {where} ORDER BY id")
    values: list[Any] = [[grid.RAISES]] * grid.ROWS
    told = sorted(set(range(grid.ROWS)) - set(raising))
    for i, value in zip(told, grid.values_of(rows.toArrow()["q"]), strict=True):
        values[i] = grid.plain(value)
    return {
        "type": rows.schema[0].dataType.simpleString(),
        "name": spark.sql(f"SELECT {expression} FROM grid_here").schema[0].name,
        "values": values,
    }


def write(found: dict[str, dict[str, Any]]) -> None:
    """Writes a line for each expression."""
    lines = (
        f"{json.dumps(expression)}: {json.dumps(found[expression], ensure_ascii=False)}"
        for expression in grid.expressions()
        if expression in found
    )
    grid.FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main() -> int:
    """Asks what isn't recorded yet; everything with `--all`."""
    logging.disable()  # of each row that raises
    known = grid.recorded() if grid.FILE.exists() and "--all" not in sys.argv else {}
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as folder:
        make_views(spark, Path(folder))
        asked = [one for one in grid.expressions() if one not in known]
        for number, expression in enumerate(asked, 1):
            known[expression] = said(spark, expression)
            write(known)
            print(f"{number} of {len(asked)} {expression}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
