"""The rewriter's result types and column names are Spark's, wherever it claims to know them."""

from __future__ import annotations

from itertools import product

import pytest

from accelerator.session.session import Accelerator
from tests.spark.conftest import SparkWarehouse

pytestmark = pytest.mark.spark

_COLUMNS = (
    "i INT, w BIGINT, f FLOAT, x DOUBLE, c DECIMAL(10,2), p DECIMAL(18,4), q DECIMAL(38,10),"
    " r DECIMAL(32,4), u DECIMAL(38,0), v DECIMAL(38,6), z DECIMAL(30,7),"
    " s STRING, d DATE, t TIMESTAMP, n TIMESTAMP_NTZ, b BOOLEAN"
)
_NUMBERS = ("i", "w", "f", "x", "c", "p", "q", "7", "3000000000", "1.5", "2e0")
_WIDE = ("r", "u", "v", "z", "c * p", "r * (1 + c)")
_EXPRESSIONS = [
    *(f"max({a} {op} {b})" for a, b in product(_NUMBERS, _NUMBERS) for op in "+-*/%"),
    *(f"max({a} div {b})" for a, b in product(("i", "w", "7", "3000000000"), ("i", "w", "2"))),
    *(f"max({a} {op} {b})" for a, b in product(_WIDE, (*_NUMBERS, *_WIDE)) for op in "+-*"),
    *(f"{f}({a})" for f in ("sum", "avg", "min", "max", "count") for a in (*_NUMBERS, *_WIDE)),
    *(f"{f}({a})" for f in ("min", "max") for a in ("s", "d", "t", "n", "b")),
    *(f"{f}({a})" for f in ("stddev", "stddev_pop", "variance", "var_pop") for a in ("i", "c")),
    *(
        "count(*)",
        "count(DISTINCT i)",
        "sum(DISTINCT i)",
        "sum(i) / count(*)",
        "sum(i) DIV count(*)",
        "sum(i div 2)",
        "sum(i) - sum(w)",
    ),
    *("max(year(d))", "max(quarter(d))", "max(upper(s))", "max(substring(s, 1, 2))", "max(-c)"),
    *("max(coalesce(i, 0))", "max(CAST(i AS BIGINT))", "max(CASE WHEN b THEN NULL ELSE c END)"),
    *(f"max(CASE WHEN b THEN {v} ELSE {o} END)" for v, o in product(_NUMBERS, _NUMBERS)),
    *(f"{a}(coalesce({v}, 0))" for a in ("sum", "avg") for v in _NUMBERS[:8]),
    *("sum(if(b, c, 0))", "sum(CASE WHEN b THEN i WHEN i > 1 THEN w WHEN i > 0 THEN p END)"),
    *(f"{f}(i)" for f in ("std", "stddev_samp", "STDDEV", "var_samp", "Mean")),
    *("every(b)", "some(b)", "any(b)", "bool_or(b)", "mean(DISTINCT i)", "min(DISTINCT i)"),
    *("count_if(i > 1)", "any(b) FILTER (WHERE i <> 1)", "sum(i) FILTER (WHERE s = 'x')"),
    *("sum(CASE WHEN i = 1 THEN c ELSE 0 END)", "sum(CASE WHEN i <= 1 THEN c WHEN b THEN 2 END)"),
    *("sum(CASE i WHEN 1 THEN c END)", "max(CASE WHEN s = 'x y' THEN NULL ELSE s END)"),
    *("count(CASE WHEN i IS NULL THEN 'many' END)", "count(if(b, i, NULL))", "max(if(b, s, 'x'))"),
    *("count(CASE WHEN i > -1 THEN 1 END)", "count(CASE WHEN i IS NOT NULL THEN 1 END)"),
    *(f"approx_percentile({a}, 0.5)" for a in ("i", "w", "f", "x", "c", "q", "d", "s")),
    *("bool_and(b)", "count_if(b)", "approx_count_distinct(s)", "sum(-(i + 1))"),
]


def test_types_and_names_are_sparks(acc: Accelerator, spark_warehouse: SparkWarehouse) -> None:
    table = spark_warehouse.table(_COLUMNS)
    known = 0
    wrong = []
    for start in range(0, len(_EXPRESSIONS), 40):
        chosen = _EXPRESSIONS[start : start + 40]
        fields = acc.spark.sql(f"SELECT {', '.join(chosen)} FROM lake.d.{table}").schema.fields
        for text, field in zip(chosen, fields, strict=True):
            block, _ = acc.services.planner.bind(f"SELECT {text} FROM lake.d.{table}")
            output = block.outputs[0]
            type_ = field.dataType.simpleString()
            if output.expr.type not in (None, type_):
                wrong.append((text, output.expr.type, type_))
            if output.name not in (None, field.name):
                wrong.append((text, output.name, field.name))
            known += output.expr.type is not None
    assert not wrong
    assert known > len(_EXPRESSIONS) // 2
