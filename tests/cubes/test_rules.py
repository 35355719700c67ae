"""Rule fixtures: pairs of cube and statement that a reviewer reads as SQL.

A file of `rules/` holds cubes and cases. `-- cube:` starts a cube, used by the cases after it;
`-- title:` starts a case, whose `-- expect:` is `answers`, perhaps with the counters that a segment
must then have (`[complete d; unique d]`), or the code of the refusal; `-- engine: spark` says that
DuckDB isn't proven to mean the same. What answers is also run in DuckDB over random small tables,
from the cube, from half of it with raw rows, from roll-ups of both, and plain: all must be equal.
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

from accelerator.engines.duckdb import DuckDBEngine
from cubes.build_sql import rolled_select
from cubes.cover_sql import RawSource, SegmentSource, answer_sql
from cubes.definition import CubeDefinition
from cubes.match import match
from cubes.plan import Match
from rewrite.block import Block
from rewrite.reason import REASONS, Declined, DeclinedError
from rewrite.times import UNITS
from tests.cubes.star import block, cells, connection_of, cube, load

_FOLDER = Path(__file__).parent / "rules"


@dataclass(frozen=True)
class Case:
    title: str
    cube: str
    query: str
    expect: str
    engine: str


def rule_cases() -> Iterator[Any]:
    for path in sorted(_FOLDER.glob("*.sql")):
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


def _decision(query: str, definition: CubeDefinition) -> tuple[Block, Match] | str:
    try:
        bound = block(query, "UTC")
        found = match(bound, definition)
    except DeclinedError as error:
        return error.declined.code
    return found.code if isinstance(found, Declined) else (bound, found)


def _needs(found: Match, definition: CubeDefinition) -> str:
    def names(numbers: frozenset[int]) -> str:
        return " ".join(definition.tables[n].alias for n in sorted(numbers))

    parts = [
        f"{what} {names(numbers)}"
        for what, numbers in (("complete", found.needs.complete), ("unique", found.needs.unique))
        if numbers
    ]
    return f" [{'; '.join(parts)}]" if parts else ""


@pytest.mark.parametrize("case", list(rule_cases()))
def test_rule(case: Case) -> None:
    definition = cube(case.cube)
    decided = _decision(case.query, definition)
    if isinstance(decided, str):
        assert decided in REASONS
        assert decided == case.expect
        return
    bound, found = decided
    assert "answers" + _needs(found, definition) == case.expect
    if case.engine == "spark":
        with pytest.raises(DeclinedError):
            answer_sql(bound, found, "duckdb", [SegmentSource("c", "")], None)
        answer_sql(bound, found, "spark", [SegmentSource("c", "")], None)
        return
    for seed in range(4):
        _run(case, definition, bound, found, seed)


@lru_cache
def _filled(seed: int, missing: bool) -> DuckDBEngine:
    """The star filled at random, its fact also in two halves."""
    engine = DuckDBEngine(threads=1)
    connection = connection_of(engine)
    load(connection, random.Random(seed), missing=missing)
    connection.execute("CREATE TABLE f1 AS SELECT * FROM f WHERE hash(rowid) % 2 = 0")
    connection.execute("CREATE TABLE f2 AS SELECT * FROM f WHERE hash(rowid) % 2 = 1")
    return engine


@lru_cache
def _built(seed: int, missing: bool, sql: str) -> tuple[str, str]:
    """Names of the cube's rows over the whole fact and over its first half."""
    connection = connection_of(_filled(seed, missing))
    whole, half = (f"{part}_{abs(hash(sql))}" for part in ("whole", "half"))
    for name, fact in ((whole, "f"), (half, "f1")):
        connection.execute(f"CREATE TABLE {name} AS {cells(cube(sql), fact)}")
    return whole, half


def _run(case: Case, definition: CubeDefinition, bound: Block, found: Match, seed: int) -> None:
    missing = not found.needs.complete and seed % 2 == 0
    connection = connection_of(_filled(seed, missing))
    whole, half = _built(seed, missing, case.cube)
    names = [o.table.name.split(".")[-1] for o in bound.occurrences]
    everything = RawSource(tuple(names))
    delta = RawSource(tuple(names), fact=False) if found.delta else None
    names[found.fact] = "f2"
    wanted = _fetch(connection, _in_duckdb(case.query))
    ways: dict[str, tuple[list[SegmentSource], RawSource | None]] = {
        "cube": ([SegmentSource(whole, "")], delta),
        "cube and rows": ([SegmentSource(half, "")], RawSource(tuple(names))),
        "rows": ([], everything),
    }
    rolled = [rolled_select(definition, found.stored, table) for table in (whole, half)]
    if rolled[0] is not None:
        ways["roll-up"] = ([SegmentSource(f"({rolled[0]}) r", "")], delta)
        ways["roll-up and rows"] = (
            [SegmentSource(f"({rolled[1]}) r", "")],
            RawSource(tuple(names)),
        )
    for way, (segments, raw) in ways.items():
        answer = _fetch(connection, answer_sql(bound, found, "duckdb", segments, raw))
        assert answer == wanted, (way, seed)


def _in_duckdb(query: str) -> str:
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


def _fetch(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
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
        return "NaN" if math.isnan(number) else float(f"{number:.9g}") + 0.0
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
