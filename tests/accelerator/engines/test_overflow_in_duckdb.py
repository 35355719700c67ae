"""Arithmetic of whole numbers raises in DuckDB wherever Spark's does, whatever stands around it."""

from __future__ import annotations

import pytest

from accelerator.engines.duckdb.engine import DuckDBEngine
from accelerator.errors import EngineError
from rewrite.ir.expr import Call, Column, Literal
from rewrite.render.expressions import Renderer

_LAST = {"int": 2**31 - 1, "bigint": 2**63 - 1}
_AROUND = (
    "SELECT sum({}) AS n FROM t",
    "SELECT count({}) AS n FROM t",
    "SELECT count(*) FILTER (WHERE {} > 5) AS n FROM t",
    "SELECT sum(CASE WHEN {} = 5 THEN 1 ELSE 0 END) AS n FROM t",
    "SELECT count(*) AS n FROM t WHERE {} IN (3, 4)",
    "SELECT count(*) AS n FROM t WHERE {} IS NULL",
    "SELECT count(*) AS n FROM t GROUP BY {} >= 5",
    "SELECT count(*) AS n FROM t GROUP BY s HAVING max({}) > -9",
    "SELECT count({}) AS n FROM (SELECT x AS x FROM t GROUP BY x) u",
)
"""Where DuckDB would move a constant to the other side, or sum the column alone."""


def _text(op: str, type_: str) -> str:
    x, one = Column(0, 1, "x", type_), Literal("2", type_)
    args = (x,) if op == "neg" else (x, one)
    if op == "neg":
        args = (Call("+", (x, one), type_),)
    return Renderer("duckdb", lambda column: column.name).text(Call(op, args, type_))


@pytest.mark.parametrize("type_", ["int", "bigint"])
@pytest.mark.parametrize("op", ["+", "*", "neg"])
def test_what_leaves_its_type_raises(op: str, type_: str) -> None:
    engine, kind = DuckDBEngine(), {"int": "INTEGER", "bigint": "BIGINT"}[type_]
    expr = _text(op, type_)
    try:
        for values, raises in (((1, 2), False), ((1, _LAST[type_]), True)):
            rows = ", ".join(f"({value}::{kind}, 's{value}')" for value in values)
            for around in _AROUND:
                sql = f"WITH t(x, s) AS (VALUES {rows}) {around.format(expr)}"
                if not raises:
                    assert engine.run(sql).num_rows
                    continue
                with pytest.raises(EngineError, match=r"Range|Conversion"):
                    engine.run(sql)
    finally:
        engine.close()


def test_values_and_types_stay() -> None:
    engine = DuckDBEngine()
    for type_, kind in (("int", "int32"), ("bigint", "int64")):
        found = engine.run(f"SELECT {_text('+', type_)} AS n FROM (VALUES (3)) t(x)")
        assert (str(found.schema.field("n").type), found["n"].to_pylist()) == (kind, [5])
    engine.close()
