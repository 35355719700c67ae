"""Any n rows against plain Spark's whole answers, over deletes of all sorts and changed tables.

Strategy: a table goes through changes; after each, random statements with LIMIT and no ORDER BY
must give rows of plain Spark's answer without the limit, as many as there should be.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.support.equality_deletes import write_equality_delete

pytestmark = pytest.mark.spark

_PREDICATES = (
    "",
    "k < 60",
    "k >= 40 AND s = 'x3'",
    "s IS NULL",
    "k > 5000",
    "p = 1",
    "v IS NOT NULL",
)
_LIMITS = (0, 1, 7, 40, 90, 1000)


@pytest.fixture
def acc(spark_warehouse: SparkWarehouse, tmp_path: Path) -> Iterator[Accelerator]:
    with spark_warehouse.attach(store=str(tmp_path / "store")) as session:
        yield session


def _bag(rows: pa.Table) -> Counter[str]:
    return Counter(repr(list(row)) for row in zip(*(c.to_pylist() for c in rows), strict=True))


def _ask(wh: SparkWarehouse, acc: Accelerator, table: str, draw: random.Random) -> None:
    where = draw.choice(_PREDICATES)
    whole = f"SELECT * FROM {table}{where and f' WHERE {where}'}"
    every = wh.spark.sql(whole).toArrow()
    for limit in draw.sample(_LIMITS, 3):
        for offset in (0, draw.choice((3, 50))):
            sql = f"{whole} LIMIT {limit} OFFSET {offset}"
            found = acc.query(sql)
            rows = found.arrow()
            assert (found.metrics.engine, found.metrics.fallback) == ("duckdb", None), sql
            assert rows.schema.equals(every.schema), sql
            assert rows.num_rows == min(limit, max(0, every.num_rows - offset)), sql
            assert _bag(rows) <= _bag(every), sql
            streamed = acc.stream(sql).read_all()
            assert streamed.num_rows == rows.num_rows and _bag(streamed) <= _bag(every), sql


@pytest.mark.parametrize(("version", "clauses"), [(2, ""), (3, ""), (2, "PARTITIONED BY (p)")])
def test_deleted_rows_are_never_among_them(
    spark_warehouse: SparkWarehouse, acc: Accelerator, version: int, clauses: str
) -> None:
    wh = spark_warehouse
    name = wh.table("k INT, p INT, s STRING, v DOUBLE", version=version, clauses=clauses)
    table, draw = f"lake.d.{name}", random.Random(version)
    for first in (0, 50):
        wh.sql(
            f"INSERT INTO {table} SELECT CAST(id + {first} AS INT), CAST(id % 3 AS INT),"
            f" CASE WHEN id % 5 = 0 THEN NULL ELSE concat('x', id % 4) END,"
            " id / 2 FROM range(0, 50, 1, 1)"
        )
    changes = [
        f"DELETE FROM {table} WHERE k % 3 = 0 OR k < 10",
        f"UPDATE {table} SET s = 'x3' WHERE k BETWEEN 40 AND 55",
        f"ALTER TABLE {table} ADD COLUMN z INT",
        f"ALTER TABLE {table} RENAME COLUMN v TO w",
        f"ALTER TABLE {table} RENAME COLUMN w TO v",
        f"DELETE FROM {table} WHERE k > 90",
    ]
    for change in changes:
        wh.sql(change)
        if "w TO" not in change and "TO w" not in change:
            _ask(wh, acc, table, draw)
            _ask(wh, acc, table, draw)
    if version > 1 and not clauses:
        write_equality_delete(wh, name, [11, 13, 61])
        for _ in range(3):
            _ask(wh, acc, table, draw)
        few = wh.spark.sql(f"SELECT * FROM {table}").toArrow().num_rows
        assert acc.query(f"SELECT k FROM {table} LIMIT 1000").arrow().num_rows == few


def test_spark_answers_over_fewer_files(
    spark_warehouse: SparkWarehouse, acc: Accelerator, tmp_path: Path
) -> None:
    """By a lazy frame, and where files are of a format that isn't read in process."""
    wh = spark_warehouse
    name = wh.table("k INT, s STRING", properties="'write.format.default'='avro'")
    table = f"lake.d.{name}"
    for first in (0, 100, 200):
        wh.sql(f"INSERT INTO {table} SELECT CAST(id + {first} AS INT), 'x' FROM range(50)")
    for sql, rows in (
        (f"SELECT k FROM {table} LIMIT 30", 30),
        (f"SELECT k, s FROM {table} WHERE k >= 200 LIMIT 70", 50),
        (f"SELECT k FROM {table} LIMIT 0", 0),
    ):
        found = acc.query(sql)
        assert found.arrow().num_rows == rows and found.metrics.rewritten
        assert acc.sql(sql).toArrow().num_rows == rows


def test_any_rows_are_verified(spark_warehouse: SparkWarehouse, tmp_path: Path) -> None:
    wh = spark_warehouse
    table = f"lake.d.{wh.table('k INT, s STRING')}"
    for first in (0, 100, 200):
        wh.sql(
            f"INSERT INTO {table} SELECT CAST(id + {first} AS INT), concat('x', id)"
            " FROM range(0, 40, 1, 1)"
        )
    with wh.attach(store=str(tmp_path / "store"), verify_sample=1.0) as acc:
        for rest in ("LIMIT 5", "WHERE k > 20 LIMIT 60", "LIMIT 3 OFFSET 100", "LIMIT 0"):
            assert acc.query(f"SELECT * FROM {table} {rest}").metrics.rewritten
        acc.sampling.wait()
        assert dict(acc.sampling.counts) == {"equal": 4}
