"""The cases of `rules/`, their tables filled in DuckDB, and rows that may be compared.

A file of `rules/` holds cubes and cases: `test_rules.py` says how they read.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from accelerator.engines.duckdb.engine import DuckDBEngine
from rewrite.ir.time_truncation import UNITS
from tests.cubes.star import connection_of, load
from tests.support.extent import FULL, sized

_FOLDER = Path(__file__).parent / "rules"
SEEDS = sized((0, 5), full=(0, 2, 5, 6, 7))
"""Of many rows; those of even seeds may have keys without a partner."""
ONE_ROW = 1
"""The seed of a fact of one row, so that one of its halves is empty."""


@dataclass(frozen=True)
class Case:
    """A statement, the cube that it is asked of, and what is expected of both."""

    title: str
    cube: str
    query: str
    expect: str
    engine: str

    @property
    def seeds(self) -> tuple[int, ...]:
        """A fact of one row comes with every fourth case, or with all of them."""
        return (*SEEDS, ONE_ROW) if FULL or len(self.title) % 4 == 0 else SEEDS


RULES = sorted(path.stem for path in _FOLDER.glob("*.sql"))


def rule_cases(stem: str = "*") -> Iterator[Any]:
    """The cases of all files, or of one."""
    for path in sorted(_FOLDER.glob(f"{stem}.sql")):
        current = ""
        for part in re.split(r"\n(?=-- (?:cube|title):)", "\n" + path.read_text("utf-8")):
            said = dict(re.findall(r"^-- (\w+): (.*)$", part, re.MULTILINE))
            sql = "\n".join(x for x in part.splitlines() if not x.startswith("--")).strip()
            if "cube" in said:
                current = sql.rstrip(";")
            elif "title" in said:
                case = Case(
                    said["title"], current, sql.rstrip(";"), said["expect"], said.get("engine", "")
                )
                yield pytest.param(case, id=f"{path.stem}: {case.title}")


@lru_cache
def filled(seed: int, missing: bool) -> DuckDBEngine:
    """The star filled at random, its fact also in two halves."""
    engine = DuckDBEngine(threads=1)
    connection = connection_of(engine)
    load(connection, random.Random(seed), missing=missing)
    connection.execute("CREATE TABLE f1 AS SELECT * FROM f WHERE hash(rowid) % 2 = 0")
    connection.execute("CREATE TABLE f2 AS SELECT * FROM f WHERE hash(rowid) % 2 = 1")
    return engine


@lru_cache(16)
def in_duckdb(query: str) -> str:
    """The plain statement; of few rows Spark's approximate percentile is the discrete one."""

    def exact(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.ApproxQuantile):
            return exp.func("quantile_disc", node.this, node.args["quantile"])
        if isinstance(node, (exp.DateTrunc, exp.TimestampTrunc)):
            unit = exp.var(UNITS[node.args["unit"].name.upper()])
            return exp.TimestampTrunc(this=node.this.transform(exact), unit=unit)
        if isinstance(node, exp.DayOfWeek):
            return exp.paren(exp.Add(this=node.copy(), expression=exp.Literal.number(1)))
        return node

    return sqlglot.parse_one(query, read="spark").transform(exact).sql(dialect="duckdb")


def fetch(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    rows = connection.execute(sql).fetchall()
    return sorted((tuple(map(_rounded, row)) for row in rows), key=repr)


def _rounded(value: Any) -> Any:
    """Floats and decimals as one kind of number: DuckDB's avg of a decimal is a double.

    Dates and instants as one kind of time, too: its truncations have types of their own.
    """
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time())
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, float | Decimal):
        number = float(value)
        # An average of decimals is rounded to six digits, at least.
        return "NaN" if math.isnan(number) else round(float(f"{number:.9g}"), 6) + 0.0
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
