"""A session of Spark over a warehouse on S3, in a process of its own; reports what it saw as JSON.

It can't share a process with other tests: the packages of Spark's one JVM are fixed at its start,
and theirs lack Iceberg's client of S3.
"""

from __future__ import annotations

import json
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

import accelerator
from accelerator import Accelerator
from accelerator.services.verification.compare import differ
from bench.s3_server import S3Server

CUBE = (
    "CREATE CUBE c AS SELECT g, at, day, year(day) AS y, count(*) AS n, sum(v) AS s,"
    " sum(p) AS t, min(x) AS lo, count(DISTINCT v) AS k FROM d.t"
    " GROUP BY g, at, day, year(day)"
)
ASKED = (
    "SELECT g, at, day, year(day) AS y, count(*) AS n, sum(v) AS s, sum(p) AS t,"
    " min(x) AS lo, count(DISTINCT v) AS k FROM d.t GROUP BY g, at, day, year(day)"
)


def rows(first: int, after: int) -> pa.Table:
    """Rows of each type that a cube's dimensions and states have."""
    numbers = range(first, after)
    hours = [n % 3 * 3_600_000_000 for n in numbers]
    days = [date(2026, 1, 1 + n % 4) for n in numbers]
    return pa.table(
        {
            "g": pa.array([None if n % 5 == 0 else f"g'{n % 3}" for n in numbers], pa.string()),
            "at": pa.array(hours, pa.timestamp("us", "UTC")),
            "day": pa.array(days, pa.date32()),
            "v": pa.array([n % 7 for n in numbers], pa.int64()),
            "p": pa.array([Decimal(n) / 4 for n in numbers], pa.decimal128(9, 2)),
            "x": pa.array([n / 4 for n in numbers], pa.float64()),
        }
    )


def main(endpoint: str, folder: Path) -> None:
    """Builds by Spark, reads in process and by Spark, publishes, vacuums."""
    properties = S3Server(endpoint).catalog_properties
    uri = f"sqlite:///{folder / 'shop.db'}"
    catalog = SqlCatalog("shop", uri=uri, **properties)
    catalog.create_namespace("d")
    table = catalog.create_table("d.t", rows(0, 1).schema)
    table.append(rows(0, 40))
    table.append(rows(40, 90))
    given: dict[str, Any] = {
        "catalog_name": "shop",
        "catalog_uri": uri,
        "catalog_properties": properties,
        "segment_cache_folder": str(folder / "copies"),
        "spark_master": "local[2]",
    }
    seen: dict[str, Any] = {}
    with accelerator.open(**given) as acc:
        plain = acc.spark.sql(ASKED).toArrow()
        acc.query(CUBE)
        seen["built_by_spark"] = _names(acc)
        seen["in_process"] = _asked(acc, plain)
        table.append(rows(90, 120))
        acc.query("BUILD CUBE c")
        acc.query("COMPACT CUBE c")
        table.append(rows(120, 130))
        acc.query("BUILD CUBE c")
        seen["merged_and_built"] = _names(acc)
        plain = acc.spark.sql(ASKED).toArrow()
        seen["after_a_merge"] = _asked(acc, plain)
        with accelerator.open(**given, engine="spark") as other:
            seen["by_spark"] = _asked(other, plain)
            seen["dataframe"] = differ(other.sql(ASKED).toArrow(), plain)
        acc.query("PUBLISH CUBE c AS d.published")
        found = acc.spark.sql("SELECT g, at, day, y, n, s, t, lo, k FROM shop.d.published")
        seen["published"] = differ(found.toArrow(), plain)
        before = _names(acc)
        acc.query("VACUUM d.t FULL RETAIN 0 HOURS")
        seen["vacuumed"] = [before, _names(acc)]
        seen["fallbacks"] = dict(acc.fallbacks)
    print(json.dumps(seen, default=str))


def _asked(acc: Accelerator, plain: pa.Table) -> list[Any]:
    found = acc.query(ASKED)
    metrics = found.metrics
    return [metrics.engine, list(metrics.cubes), metrics.fallback, differ(found.arrow(), plain)]


def _names(acc: Accelerator) -> list[str]:
    """The names of the segment files, without their build's."""
    files = acc.services.store.files.list("tables")
    return sorted(path.rpartition("/")[2] for path in files if path.endswith(".parquet"))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
