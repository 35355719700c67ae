"""How long statements over tables of very many columns take, and how planning them grows.

A third of the columns each are BIGINT, DOUBLE and STRING; 1,000 rows in one file.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

import accelerator

WIDTHS = (500, 2_000, 5_000)
_ROWS, _RUNS = 1_000, 5
_THREE = "SELECT c0, c1, c2 FROM w.wide WHERE c3 < {}"
_ALL = "SELECT *, {} AS asked FROM w.wide"
_SOME = "SELECT * FROM w.wide WHERE c0 > {}"


def measure(folder: Path, tell: Callable[[str], None]) -> dict[str, float]:
    """Seconds of `SELECT *` from text to Arrow, of sums of all numbers, and slopes of planning.

    A slope is that of the logarithm of planning time over the logarithm of the number of columns.
    """
    found: dict[str, float] = {}
    planned: dict[str, list[float]] = {"star": [], "sums": []}
    for width in WIDTHS:
        tell(f"{width:,} columns")
        warehouse = folder / f"wide-{width}"
        _write(warehouse, width)
        with accelerator.open(warehouse) as session:
            session.query("SELECT count(*) FROM w.wide")
            took, plans = _asked(session, _ALL.format)
            found[f"wide_{width}_s"] = statistics.median(took)
            planned["star"].append(statistics.median(plans))
            found[f"wide_{width}_plan_ms"] = planned["star"][-1]
            some, _ = _asked(session, _SOME.format)
            found[f"wide_{width}_filtered_s"] = statistics.median(some)
            three, _ = _asked(session, _THREE.format)
            found[f"wide_{width}_three_columns_ms"] = statistics.median(three) * 1000
            sums = ", ".join(f"sum(c{n}) AS s{n}" for n in range(0, width, 3))
            took, plans = _asked(session, f"SELECT {sums} FROM w.wide WHERE c0 > {{}}".format)
            found[f"wide_{width}_sums_s"] = statistics.median(took)
            planned["sums"].append(statistics.median(plans))
    found["wide_plan_exponent"] = _slope(planned["star"])
    found["wide_sums_plan_exponent"] = _slope(planned["sums"])
    return found


def _asked(
    session: accelerator.Accelerator, text: Callable[[int], str]
) -> tuple[list[float], list[float]]:
    """Seconds of each run, with a new constant each time, and milliseconds of planning."""
    took, planned = [], []
    for constant in range(_RUNS):
        since = time.perf_counter()
        result = session.query(text(constant))
        result.arrow()
        took.append(time.perf_counter() - since)
        if result.metrics.engine != "duckdb":
            raise RuntimeError(f"answered by {result.metrics.engine}: {result.metrics.fallback}")
        planned.append(result.metrics.planning_ms)
    return took, planned


def _write(warehouse: Path, width: int) -> None:
    warehouse.mkdir(parents=True)
    catalog = SqlCatalog(
        "lake", uri=f"sqlite:///{warehouse / 'catalog.db'}", warehouse=warehouse.as_uri()
    )
    catalog.create_namespace("w")
    rows = pa.table({f"c{number}": _column(number) for number in range(width)})
    catalog.create_table("w.wide", rows.schema).append(rows)


def _column(number: int) -> pa.Array:
    values: list[Any] = [row * (number + 1) % 97 for row in range(_ROWS)]
    if number % 3 == 1:
        return pa.array([value / 8 for value in values])
    return pa.array([f"t{value}" for value in values] if number % 3 == 2 else values)


def _slope(planned: list[float]) -> float:
    return statistics.linear_regression(
        [math.log(width) for width in WIDTHS], [math.log(ms) for ms in planned]
    ).slope
