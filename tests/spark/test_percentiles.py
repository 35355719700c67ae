"""approx_percentile from sketches: NaN as the largest value, and the error over large groups.

Strategy: rows are made by Spark from their ids, in several files, so that plain Python knows the
sorted values; coverage is partial, whole and compacted, and both engines answer.
Invariants: small groups give the very value of the sorted list; large ones a value whose rank is
within 1/accuracy, but for the one sketch in a hundred that may miss it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from accelerator.errors import AcceleratorError
from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse

pytestmark = pytest.mark.spark

_SHARES = (0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
_SPECIAL = (
    "CASE id % 7 WHEN 0 THEN DOUBLE('NaN') WHEN 1 THEN DOUBLE('Infinity') WHEN 2 THEN -0.0D"
    " WHEN 3 THEN DOUBLE('-Infinity') WHEN 4 THEN 0.0D WHEN 5 THEN NULL ELSE id / 8D END"
)
_GROUPS = 20
# A permutation of 0 … 9999 for each group, since 7919 has no divisor in common with 10000.
_LARGE = f"CAST(id % {_GROUPS} AS INT) AS g, DOUBLE((id DIV {_GROUPS}) * 7919 % 10000) AS x"


def _append(warehouse: SparkWarehouse, name: str, select: str, ids: range) -> None:
    source = f"range({ids.start}, {ids.stop}, 1, 1)"
    warehouse.sql(f"INSERT INTO lake.d.{name} SELECT {select} FROM {source}")


def _answers(acc: Accelerator, query: str) -> Iterator[dict[int | None, tuple[Any, ...]]]:
    """By DuckDB and by Spark, each group's answers."""
    answer = acc.query(query)
    assert answer.metrics.rewritten, answer.metrics.fallback
    for table in (answer.arrow(), acc.sql(query).toArrow()):
        yield {row.pop("g", None): tuple(row.values()) for row in table.to_pylist()}


def _asked(column: str, accuracy: int = 10000) -> str:
    return ", ".join(
        f"approx_percentile({column}, {p}, {accuracy}) AS p{i}" for i, p in enumerate(_SHARES)
    )


def _value(sorted_: list[float], share: float) -> float | None:
    return sorted_[max(1, math.ceil(share * len(sorted_))) - 1] if sorted_ else None


def _special(number: int) -> float | None:
    values = (math.nan, math.inf, -0.0, -math.inf, 0.0, None, number / 8)
    return values[number % 7]


def _same(mine: tuple[Any, ...], wanted: list[float | None]) -> bool:
    """Equal where NaN is NaN and zero has no sign."""
    return [str(v) if v != v else v for v in mine] == [str(v) if v != v else v for v in wanted]


@pytest.mark.long
@pytest.mark.parametrize("type_", ["DOUBLE", "FLOAT"])
def test_nan_is_the_largest_value(
    spark_warehouse: SparkWarehouse, acc: Accelerator, type_: str
) -> None:
    name = spark_warehouse.table(f"g INT, x {type_}")
    cube, select = f"nan_{type_}", f"CAST(id % 40 AS INT) AS g, CAST({_SPECIAL} AS {type_}) AS x"
    sources = f"FROM lake.d.{name}"
    acc.query(f"CREATE CUBE {cube} DEFERRED AS SELECT g, {_asked('x')} {sources} GROUP BY g")
    queries = [
        (f"SELECT g, {_asked('x')} {sources} GROUP BY g", 40),
        (f"SELECT {_asked('x')} {sources}", None),
        (f"SELECT {_asked('x')} {sources} WHERE g = -1", 0),
    ]
    numbers: list[int] = []

    def check() -> None:
        for query, groups in queries:
            for found in _answers(acc, query):
                for group in range(groups) if groups else [None]:
                    among = [n for n in numbers if groups != 0 and group in (None, n % 40)]
                    values = [v for v in map(_special, among) if v is not None]
                    values.sort(key=lambda v: (v != v, v))
                    wanted = [_value(values, p) for p in _SHARES]
                    assert _same(found[group], wanted), (query, group, found[group], wanted)

    for ids in (range(60), range(60, 61), range(61, 200)):
        _append(spark_warehouse, name, select, ids)
        numbers += ids
        if ids.start:
            check()
        acc.query(f"BUILD CUBE {cube}")
    check()
    acc.query(f"COMPACT CUBE {cube}")
    check()
    shown = str(acc.query(f"EXPLAIN ACCELERATE {queries[0][0]}").arrow().to_pylist())
    assert shown.count("approx_percentile is an estimate (KLL, rank error at most 1/accuracy") == 1
    acc.query(f"DROP CUBE {cube}")


def test_spark_itself_loses_a_number_beside_nan(spark_warehouse: SparkWarehouse) -> None:
    """Why NaN isn't compared with plain Spark: there the smallest value may not be the minimum."""
    row = spark_warehouse.sql(
        "SELECT approx_percentile(x, 0) AS p, min(x) AS low FROM"
        " (SELECT CASE id WHEN 0 THEN 1.5D ELSE DOUBLE('NaN') END AS x FROM range(0, 2, 1, 1))"
    )[0]
    assert row["low"] == 1.5
    assert math.isnan(row["p"])


@pytest.mark.long
@pytest.mark.parametrize("accuracy", [100, 1000, 10000])
def test_ranks_of_large_groups_are_within_the_accuracy(
    spark_warehouse: SparkWarehouse, acc: Accelerator, accuracy: int
) -> None:
    name = spark_warehouse.table("g INT, x DOUBLE")
    rows, cube = 10000 * _GROUPS, f"large_{accuracy}"
    cuts = [0, 50_000, 60_001, 130_000, 170_000, rows]
    parts = [range(a, b) for a, b in pairwise(cuts)]
    asked = _asked("x", accuracy)
    acc.query(f"CREATE CUBE {cube} DEFERRED AS SELECT g, {asked} FROM lake.d.{name} GROUP BY g")
    for ids in parts[:-1]:
        _append(spark_warehouse, name, _LARGE, ids)
    acc.query(f"BUILD CUBE {cube}")
    _append(spark_warehouse, name, _LARGE, parts[-1])
    for stage in ("partly covered", "covered", "compacted"):
        _check_ranks(acc, f"SELECT g, {asked} FROM lake.d.{name} GROUP BY g", accuracy, stage, 1)
        _check_ranks(acc, f"SELECT {asked} FROM lake.d.{name}", accuracy, stage, _GROUPS)
        acc.query(f"{'BUILD' if stage == 'partly covered' else 'COMPACT'} CUBE {cube}")
    acc.query(f"DROP CUBE {cube}")


def _check_ranks(acc: Accelerator, query: str, accuracy: int, stage: str, times: int) -> None:
    """Each of 0 … 9999 stands `times` times; a tenth of the sketches may miss by a little."""
    values = [float(v) for v in range(10000) for _ in range(times)]
    for found in _answers(acc, query):
        assert len(found) == (_GROUPS if times == 1 else 1)
        errors = [
            max(map(_rank_error, row, _SHARES, [values] * len(row))) for row in found.values()
        ]
        missed = [e for e in errors if e > 1 / accuracy]
        assert len(missed) <= len(errors) / 10 and max(errors) <= 2 / accuracy, (
            stage,
            query,
            missed,
        )
        assert all(row[0] == 0.0 and row[-1] == 9999.0 for row in found.values())


def _rank_error(value: float, share: float, values: list[float]) -> float:
    """How far the share lies from the ranks that the value has."""
    low, high = bisect_left(values, value) / len(values), bisect_right(values, value) / len(values)
    return max(0.0, low - share, share - high)


def test_an_accuracy_beyond_the_largest_sketch_is_refused(
    spark_warehouse: SparkWarehouse, acc: Accelerator
) -> None:
    name = spark_warehouse.table("g INT, x DOUBLE")
    for column in ("approx_percentile(x, 0.5, 20994)", "approx_percentile(x, array(0.5, 0.9))"):
        with pytest.raises(AcceleratorError) as caught:
            acc.query(
                f"CREATE CUBE fine DEFERRED AS SELECT g, {column} a FROM lake.d.{name} GROUP BY g"
            )
        assert caught.value.code == "cube_definition_unsupported"
        assert caught.value.hint
