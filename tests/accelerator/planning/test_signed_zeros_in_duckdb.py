"""Zeros of min and max in DuckDB have a sign that some row has, whatever Parquet's statistics are.

A writer stores a smallest 0.0 as -0.0 and a largest -0.0 as 0.0, and some leave out NaN.
"""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import parse_one

from accelerator.engines.duckdb.engine import DuckDBEngine
from accelerator.planning.candidates.splice import shows_signs
from accelerator.planning.plans import Cover, CoverPlan
from cubes.match.match import match
from cubes.match_result import Match
from cubes.measures import measure_of, of_cells
from rewrite.ir.expr import Aggregate, Column
from tests.cubes.star import block, cube


def _extreme(function: str, type_: str) -> str:
    """The finish's text over the column `s`."""
    aggregate = Aggregate(function, (Column(0, 1, "x", type_),), False, None, type_)
    measure = measure_of(aggregate)
    assert measure is not None
    return measure.finish(["s"], aggregate, "duckdb", of_cells)


@pytest.mark.parametrize("type_", ["double", "float"])
def test_signs_and_nan_are_those_of_rows(tmp_path: Path, type_: str) -> None:
    path = tmp_path / "cells.parquet"
    engine = DuckDBEngine(folders=[str(tmp_path)])
    try:
        for function, values in (("min", [0.0, 0.0, 2.0]), ("max", [-0.0, -2.0, -0.0])):
            kind = pa.float64() if type_ == "double" else pa.float32()
            pq.write_table(pa.table({"s": pa.array(values, kind)}), path)
            text = _extreme(function, type_)
            found = engine.run(f"SELECT {text} AS a FROM read_parquet('{path}')")["a"][0].as_py()
            assert (found, math.copysign(1, found)) == (0, math.copysign(1, values[0]))
        pq.write_table(pa.table({"s": pa.array([1.0, math.nan, 2.0], kind)}), path)
        text = _extreme("max", type_)
        found = engine.run(f"SELECT {text} AS a FROM read_parquet('{path}')")["a"][0].as_py()
        assert math.isnan(found)
    finally:
        engine.close()


def _cover(sql: str, definition: str) -> CoverPlan:
    asked, of = block(sql), cube(definition)
    found = match(asked, of)
    assert isinstance(found, Match)
    return CoverPlan(
        title="c",
        cube_id="1",
        block=asked,
        cover=Cover(of, found, ()),
        pinned=(),
        duckdb=None,
        duckdb_declined=None,
        engine="duckdb",
        tried=(),
        names=tuple(o.name for o in asked.outputs),
    )


@pytest.mark.parametrize(
    ("outer", "shows"),
    [
        ("SELECT g, a, rank() OVER (ORDER BY a) AS r FROM q", False),
        (
            "SELECT max(a) AS b, coalesce(a, 1) AS c, upper(g) AS h FROM q WHERE a > 0 AND g = 'a'",
            False,
        ),
        ("SELECT CAST(a AS STRING) AS b FROM q", True),
        ("SELECT concat(A, 'x') AS b FROM q", True),
        ("SELECT g FROM q WHERE atan2(a, -1) > 0", True),
        ("SELECT a || 'x' AS b FROM q", True),
    ],
)
def test_what_spark_makes_of_a_dimensions_zero(outer: str, shows: bool) -> None:
    tree = parse_one(outer, read="spark")
    asked = "SELECT g, min(x) AS a FROM f GROUP BY g"
    by_value = _cover(asked, "SELECT g, x, count(*) FROM f GROUP BY g, x")
    by_state = _cover(asked, "SELECT g, min(x), max(x) FROM f GROUP BY g")
    assert shows_signs(tree, [by_value]) == shows
    assert not shows_signs(tree, [by_state])
