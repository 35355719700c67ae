"""The grid's expressions in process: bound, rendered for DuckDB and computed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb

from rewrite.bind.expressions import bind
from rewrite.ir.expr import Column, Expr
from rewrite.parse.parse import parse
from rewrite.render.expressions import Renderer
from tests.rewrite.functions import grid


class GridColumns:
    """The grid's columns, of a session in a time zone."""

    def __init__(self, zone: str = "UTC") -> None:
        self.zone: str | None = zone

    def column(self, _qualifier: tuple[str, ...], name: str) -> Expr:
        """The column of that name."""
        return Column(0, list(grid.COLUMNS).index(name), name, grid.COLUMNS[name])


def bound(line: str) -> Expr:
    """A line's expression over the grid's columns."""
    zone, expression = grid.zone_of(line)
    return bind(parse(f"SELECT {expression} FROM grid").expressions[0], GridColumns(zone))


@contextmanager
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """Yields a database with the grid's table."""
    with duckdb.connect() as found:
        found.execute("SET TimeZone = 'UTC'")
        found.register("given", grid.table())
        found.execute("CREATE TABLE grid AS FROM given")
        yield found


def rendered(expr: Expr) -> str:
    """DuckDB's text."""
    return Renderer("duckdb", lambda column: f'"{column.name}"').text(expr)


def computed(connection: duckdb.DuckDBPyConnection, text: str) -> list[Any]:
    """DuckDB's answers to the text."""

    def ask(first: int, end: int) -> list[Any]:
        where = f"WHERE id >= {first} AND id < {end}"
        sql = f"SELECT {text} AS q FROM grid {where} ORDER BY id"
        found = connection.sql(sql).to_arrow_table()
        return grid.values_of(found["q"])

    return grid.answers(ask, duckdb.Error)


def differences(connection: duckdb.DuckDBPyConnection) -> int:
    """The values of the whole grid that are others than Spark's; what's left to it isn't one."""
    found = 0
    for line, said in grid.recorded().items():
        ours = computed(connection, rendered(bound(line)))
        found += sum(
            own not in (other, [grid.RAISES])
            for own, other in zip(ours, said["values"], strict=True)
        )
    return found


def names() -> frozenset[str]:
    """The functions that the grid calls, by Spark's words."""
    called = (re.findall(r"\b([a-z_]+)\(", grid.zone_of(line)[1]) for line in grid.expressions())
    return frozenset(word for words in called for word in words)
