"""A small star for tests without a JVM: facts of its tables, their rows, and cubes built by DuckDB.

`f` is the fact; `d` has a unique key and finds every row but those with k = 9 or NULL; `t` has a
key that stands twice; `o` hangs on `d` (a snowflake).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar

import duckdb

from accelerator.engines.duckdb.engine import DuckDBEngine
from cubes.definition import CubeDefinition, define
from cubes.sql.build import alias
from cubes.states import STATES
from rewrite.bind.select import bind_block
from rewrite.facts import At, ColumnFacts, TableFacts
from rewrite.ir.block import Block
from rewrite.ir.expr import Column
from rewrite.parse.parse import UnsureError, parse
from rewrite.reason import DeclinedError
from rewrite.render.expressions import Renderer, duckdb_type

_SCHEMAS = {
    "f": "k int, g string, h string, i int, n int!, v int, w bigint, c decimal(10,2), x"
    " double, dt date, b boolean, ts timestamp",
    "d": "k int, name string, region string, ok int",
    "t": "k int, tag string",
    "o": "ok int, land string",
}
_DAYS = ("2019-12-30", "2020-01-31", "2020-02-01", "2020-02-29", "2020-04-01", "2021-01-01")
_TIMES = ("00:00:00+00", "00:00:00.000001+00", "12:30:00+00", "23:59:59.999999+00")


def _table(name: str, number: int) -> TableFacts:
    columns = []
    for index, column in enumerate(_SCHEMAS[name].split(", ")):
        title, _, type_ = column.partition(" ")
        columns.append(ColumnFacts(index + 1, title, type_.rstrip("!"), type_.endswith("!")))
    return TableFacts(f"lake.s.{name}", f"uuid-{name}", 100 + number, 0, tuple(columns))


class Star:
    """Facts that know the four tables, under the names `f` and `s.f`, in any state."""

    keys: ClassVar = {"d": {1}, "o": {1}}
    """The field ids of unique keys."""
    tables: ClassVar = {name: _table(name, number) for number, name in enumerate(_SCHEMAS)}

    def table(self, parts: tuple[str, ...], at: At) -> TableFacts | None:
        return self.tables.get(parts[-1]) if parts[:-1] in ((), ("s",), ("lake", "s")) else None

    def unique(self, parts: tuple[str, ...], at: At, field_ids: frozenset[int]) -> bool:
        return self.keys.get(parts[-1], {0}) <= field_ids


def block(sql: str, zone: str | None = None) -> Block:
    """The normal form of a statement over the star."""
    try:
        return bind_block(parse(sql), Star(), zone)
    except UnsureError as error:
        raise DeclinedError("parse_failed", str(error)) from error


@lru_cache(64)
def cube(sql: str) -> CubeDefinition:
    """The cube that a statement over the star describes."""
    return define(block(sql, "UTC"))


def rows(r: random.Random, name: str, *, missing: bool) -> list[tuple[Any, ...]]:
    """Rows with NULLs and duplicates; with `missing`, keys that are NULL or have no partner."""
    if name == "d":
        return [(k, f"n{k % 4}", r.choice((None, "r0", "r1")), k % 3) for k in range(9)]
    if name == "t":
        return [(k, r.choice((None, "a", "b"))) for k in (0, 0, 1, 2, 2, 2, 3)]
    if name == "o":
        return [(0, "x"), (1, "y"), (2, None)]
    return [_fact(r, missing) for _ in range(r.choice((1, 30, 60)))]


def _fact(r: random.Random, missing: bool) -> tuple[Any, ...]:
    def some(*values: Any) -> Any:
        return r.choice((None, *values))

    return (
        some(*range(10)) if missing else r.randrange(9),
        some("a", "b", "A"),
        some("p", "q"),
        some(0, 1, 2, 3),
        r.randrange(-3, 4),
        some(-5, 0, 5, 5, 7),
        some(-(2**40), 0, 2**40),
        some("-0.01", "0.00", "1.25", "99999.99"),
        some(-0.5, 0.0, 1.5),
        some(*_DAYS),
        some(True, False),
        some(*(f"{day} {time}" for day in _DAYS for time in _TIMES)),
    )


def load(connection: duckdb.DuckDBPyConnection, r: random.Random, *, missing: bool) -> None:
    """The star's tables, filled at random."""
    for name, table in Star.tables.items():
        columns = ", ".join(f'"{c.name}" {duckdb_type(c.type)}' for c in table.columns)
        connection.execute(f"CREATE OR REPLACE TABLE {name} ({columns})")
        listed = ", ".join(
            f"({', '.join(map(_text, row))})" for row in rows(r, name, missing=missing)
        )
        connection.execute(f"INSERT INTO {name} VALUES {listed}")


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).upper().replace("NONE", "NULL")
    return f"'{value}'" if isinstance(value, str) else str(value)


def connection_of(engine: DuckDBEngine) -> duckdb.DuckDBPyConnection:
    """A cursor of the engine with the set functions defined."""
    if not engine._has_functions:
        engine.run("SELECT acc_bitmap([1])")
    return engine._cursor()


def cells(definition: CubeDefinition, fact: str = "f") -> str:
    """A DuckDB SELECT of the cube's rows (`segment`, `d0…`, `s0…`) over the tables themselves."""
    render = Renderer("duckdb", _column)
    keys = [render.text(d.expr) for d in definition.dimensions]
    items = ["1 AS segment", *(f"{k} AS d{i}" for i, k in enumerate(keys))]
    for index, state in enumerate(definition.states):
        argument = "1" if state.argument is None else render.text(state.argument)
        kind = STATES[state.kind]
        if state.where is not None:
            argument = f"CASE WHEN {render.text(state.where)} THEN {argument} END"
            kind = STATES["count"] if state.kind == "rows" else kind
        type_ = state.argument_type or "int"
        items.append(f"{kind.build(argument, type_, 'duckdb', state.size)} AS s{index}")
    where = " AND ".join(render.text(c) for c in definition.conjuncts)
    text = f"SELECT {', '.join(items)} FROM {' '.join(_joined(definition, render, fact))}"
    text += f" WHERE {where}" if where else ""
    return text + (f" GROUP BY {', '.join(keys)}" if keys else " HAVING COUNT(*) > 0")


def _column(column: Column) -> str:
    return f'{alias(column.occurrence)}."{column.name}"'


def _joined(definition: CubeDefinition, render: Renderer, fact: str) -> Iterator[str]:
    left = {e.occurrence: e.on for e in definition.left_edges}
    yield f"{fact} AS {alias(0)}"
    for index, table in enumerate(definition.tables[1:], start=1):
        kind = "LEFT JOIN" if index in left else "CROSS JOIN"
        yield f"{kind} {table.name.split('.')[-1]} AS {alias(index)}"
        if index in left:
            yield "ON " + (" AND ".join(render.text(c) for c in left[index]) or "TRUE")
