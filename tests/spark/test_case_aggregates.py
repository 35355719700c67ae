"""Aggregates of CASE over dimensions: names, types and values are plain Spark's, by both engines.

Strategy: a seed fills groups that are all NULL, mixed or free of NULLs; every statement is asked
with the cube built for half of the files and for all of them, whole, by group, and over nothing.
"""

from __future__ import annotations

import random
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from accelerator.session import Accelerator
from tests.spark.conftest import SparkWarehouse
from tests.spark.differential import Differential

pytestmark = pytest.mark.spark

_COLUMNS = (
    "g INT, k INT, m DECIMAL(10,2), i INT, n BIGINT, c DECIMAL(10,2), q DECIMAL(18,4),"
    " x DOUBLE, f FLOAT, s STRING, b BOOLEAN, d DATE"
)
_SCHEMA = pa.schema(
    [
        ("g", pa.int32()),
        ("k", pa.int32()),
        ("m", pa.decimal128(10, 2)),
        ("i", pa.int32()),
        ("n", pa.int64()),
        ("c", pa.decimal128(10, 2)),
        ("q", pa.decimal128(18, 4)),
        ("x", pa.float64()),
        ("f", pa.float32()),
        ("s", pa.string()),
        ("b", pa.bool_()),
        ("d", pa.date32()),
    ]
)
_STORED = [
    *(f"{a}({c})" for a in ("sum", "count", "min", "max") for c in "incqxf"),
    *(f"{a}({c})" for a in ("count", "min", "max") for c in "sbd"),
    *("count(DISTINCT i)", "count(DISTINCT s)", "stddev(i)", "count(*)"),
]
_CASES = [
    "CASE WHEN k = 1 THEN i END",
    "CASE WHEN k = 1 THEN i ELSE 0 END",
    "CASE WHEN k = 1 THEN i ELSE n END",
    "CASE WHEN k = 1 THEN n WHEN m > 0 THEN -7 WHEN k IS NULL THEN i END",
    "CASE WHEN k <> 1 THEN c ELSE 0 END",
    "CASE WHEN NOT (k = 1) THEN c WHEN m > 0 THEN 0.125 ELSE NULL END",
    "CASE WHEN k = 1 THEN c WHEN k = 2 THEN q ELSE i END",
    "CASE WHEN k = 1 THEN q ELSE n END",
    "CASE k WHEN 1 THEN x WHEN 2 THEN 0.1 ELSE 0 END",
    "CASE WHEN k = 1 THEN f ELSE 1 END",
    "CASE WHEN k = 1 THEN f ELSE x END",
    "CASE WHEN k = 1 THEN x ELSE i END",
    "CASE WHEN k = 1 THEN m ELSE i END",
    "CASE WHEN m > 0 THEN k ELSE i END",
    "CASE WHEN m > 0 THEN 1.5 ELSE 2 END",
    "CASE WHEN m > 0 THEN 1.5 WHEN k = 1 THEN c END",
    "if(k = 1, c, 0)",
    "if(k = 1, if(m > 0, c, 2.5), NULL)",
    "CAST(i AS BIGINT)",
    "CAST(i AS DOUBLE)",
    "m",
]
_OTHERS = [
    "min(CASE WHEN k = 1 THEN s ELSE 'm' END)",
    "max(CASE WHEN k = 1 THEN d ELSE DATE'2020-03-01' END)",
    "count(CASE WHEN k = 1 THEN s WHEN k = 2 THEN 'two' END)",
    "bool_and(CASE WHEN k = 1 THEN b ELSE true END)",
    "bool_or(CASE WHEN k = 1 THEN b END)",
    "count(DISTINCT CASE WHEN k = 1 THEN i END)",
    "count(DISTINCT CASE WHEN k = 1 THEN s END)",
    "stddev(CASE WHEN k = 1 THEN i END)",
    "sum(CASE WHEN k = 1 THEN c ELSE 0 END) FILTER (WHERE m > 0)",
    "count(CASE WHEN k = 1 THEN 1 END)",
    "sum(CASE WHEN k = 1 THEN c ELSE 0 END) / count(*)",
]


def _value(r: random.Random, name: str) -> Any:
    makers: dict[str, Any] = {
        "m": lambda: Decimal(r.randint(-300, 300)).scaleb(-2),
        "i": lambda: r.choice((-(2**31), -1, 0, 1, 2**31 - 1)),
        # Beyond 2^53 Spark averages doubles that have lost digits.
        "n": lambda: r.choice((-(2**40) - 1, -1, 0, 2**40 + 1)),
        "c": lambda: Decimal(r.randint(-(10**10) + 1, 10**10 - 1)).scaleb(-2),
        "q": lambda: Decimal(r.randint(-(10**18) + 1, 10**18 - 1)).scaleb(-4),
        "x": lambda: r.choice((float("nan"), -0.0, 0.0, r.randint(-80, 80) / 8)),
        "f": lambda: r.randint(-80, 80) / 8,
        "s": lambda: r.choice(("", "a", "Z", "é")),
        "b": lambda: r.random() < 0.5,
        "d": lambda: date(2020, 2, 27) + timedelta(days=r.randint(0, 5)),
    }
    return makers[name]()


def _rows(r: random.Random) -> pa.Table:
    rows = []
    for group in range(12):
        shares = {name: r.choice((0.0, 0.3, 1.0)) for name in _SCHEMA.names[2:]}
        for _ in range(r.choice((1, 3, 9))):
            row = {n: None if r.random() < s else _value(r, n) for n, s in shares.items()}
            rows.append({"g": group, "k": r.choice((None, 1, 2, 3)), **row})
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _queries(table: str) -> tuple[list[str], list[str]]:
    """Statements by group, and the same over everything and nothing."""
    asked = [[f"{a}({case})" for case in _CASES] for a in ("sum", "count", "min", "max")]
    # DuckDB leaves averages of many digits to Spark, which is another test's.
    asked += [[f"avg({case})" for case in _CASES if "q" not in case], _OTHERS]
    lists = [", ".join(f"{a} AS a{i}" for i, a in enumerate(each)) for each in asked]
    grouped = [f"SELECT g, {each} FROM lake.d.{table} GROUP BY g" for each in lists]
    whole = [f"SELECT {each} FROM lake.d.{table}" for each in lists]
    return grouped, whole + [f"{each} WHERE g < 0" for each in whole]


def test_case_aggregates_are_sparks(spark_warehouse: SparkWarehouse, acc: Accelerator) -> None:
    r, table = random.Random(7), spark_warehouse.table(_COLUMNS)

    def append() -> None:
        rows = spark_warehouse.spark.createDataFrame(_rows(r)).coalesce(1)
        rows.writeTo(f"lake.d.{table}").append()

    stored = ", ".join(f"{a} AS s{i}" for i, a in enumerate(_STORED))
    append()
    acc.query(f"CREATE CUBE cases AS SELECT g, k, m, {stored} FROM lake.d.{table} GROUP BY g, k, m")
    append()
    grouped, others = _queries(table)
    both = Differential(acc)
    both.check(grouped + others, where="half of the files")
    acc.query("BUILD CUBE cases")
    both.check(grouped + others, spark=grouped, where="all files")
    for query in grouped[:-1]:
        assert acc.planner.plan(query)[0].engine == "duckdb"
    acc.query("DROP CUBE cases")
