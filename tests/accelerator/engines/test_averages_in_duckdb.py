"""Averages of short decimals in DuckDB: digit for digit what Spark's DOUBLE gives.

The model is Spark 4.1's, compared with Spark in `tests/spark/test_averages.py`: the digits that a
DOUBLE is printed with, rounded half up. Invariant: model and DuckDB agree on every sum and count.
"""

from __future__ import annotations

import random
from decimal import ROUND_HALF_UP, Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator.engines.duckdb.engine import DuckDBEngine
from cubes.measures import measure_of, of_cells
from rewrite import types
from rewrite.ir.expr import Aggregate, Column

_WIDE = Context(prec=60)


def _average(digits: int, scale: int) -> tuple[str, str]:
    """The finish's text over the columns `s` and `n`, and its type."""
    argument = Column(0, 1, "x", f"decimal({digits},{scale})")
    type_ = types.avg_type(argument.type)
    assert type_ is not None
    aggregate = Aggregate("avg", (argument,), False, None, type_)
    measure = measure_of(aggregate)
    assert measure is not None
    return measure.finish(["s", "n"], aggregate, "duckdb", of_cells), type_


def _model(total: int, rows: int, scale: int) -> Decimal:
    printed = Decimal(repr(total / rows / 10.0**scale))
    step = Decimal(1).scaleb(-scale - 4, _WIDE)
    return printed.quantize(step, ROUND_HALF_UP, _WIDE)


def _pair(r: random.Random, digits: int) -> tuple[int, int]:
    """A sum and a count of values of so many digits; every second average ends in a tie."""
    most = 10**digits - 1
    rows = r.choice((1, 3, 7, 31, 160, 10_000, 32 * r.randrange(1, 3_000), r.randrange(1, 70_000)))
    if r.random() < 0.5:
        total = r.randint(0, most) * rows + rows // 32 * r.choice((1, 3, 5, 7))
    else:
        total = r.randint(0, min(most, 10 ** r.randint(0, digits))) * rows // r.randrange(1, 9)
    return min(total, most * rows, 2**53) * r.choice((1, -1)), rows


@given(st.integers(0, 2**32), st.integers(1, 11), st.data())
def test_as_spark_prints_and_rounds_a_double(seed: int, digits: int, data: st.DataObject) -> None:
    scale = data.draw(st.integers(0, digits))
    r = random.Random(seed)
    pairs = [_pair(r, digits) for _ in range(300)]
    sums = [Decimal(total).scaleb(-scale, _WIDE) for total, _ in pairs]
    text, _type = _average(digits, scale)
    table = pa.table(
        {
            "i": pa.array(range(len(pairs))),
            "s": pa.array(sums, pa.decimal128(38, scale)),
            "n": pa.array([rows for _, rows in pairs], pa.int64()),
        }
    )
    engine = DuckDBEngine()
    try:
        found = engine.run(f"SELECT {text} AS a FROM cells GROUP BY i ORDER BY i", {"cells": table})
        assert found.schema.field("a").type == pa.decimal128(digits + 4, scale + 4)
        wanted = [_model(total, rows, scale) for total, rows in pairs]
        assert found["a"].to_pylist() == wanted
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("digits", "scale", "total", "rows", "average"),
    [
        (9, 2, "0.07", 160, "0.000437"),  # 0.0004375, and 4.3749999999999995E-4 as a DOUBLE
        (12, 2, "0.07", 160, "0.000438"),
        (9, 2, "-0.07", 160, "-0.000437"),
        (9, 2, "0.11", 160, "0.000688"),
        (11, 11, "0.00000000001", 20_000, "0.000000000000001"),
        (11, 11, "0.00000000009", 20_000, "0.000000000000005"),
        (11, 0, "99999999999", 1, "99999999999.0000"),
        (1, 0, "0", 3, "0.0000"),
    ],
)
def test_single_averages(digits: int, scale: int, total: str, rows: int, average: str) -> None:
    text, type_ = _average(digits, scale)
    engine = DuckDBEngine()
    try:
        cells = f"(SELECT CAST('{total}' AS DECIMAL(38,{scale})) AS s, {rows} AS n)"
        found = engine.run(f"SELECT {text} AS a, {text} < 0 AS b FROM {cells}")
        assert found["a"].to_pylist() == [Decimal(average)], type_
        none = engine.run(f"SELECT {text} AS a FROM {cells} WHERE n < 0")
        assert none["a"].to_pylist() == [None]
    finally:
        engine.close()
