"""Rows of a star's tables, as INSERTs of one data file each, or one for each partition."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzz.schema import Star, Table
from fuzz.values import literal


def filling(r: Random, star: Star) -> list[tuple[str, str]]:
    """The first rows of all tables: (table's short name, INSERT), in order."""
    made: list[tuple[str, str]] = []
    for short, table in star.tables.items():
        if short == "f" or r.random() < 0.04:
            continue  # a dimension without rows, at times
        made.append((short, insert(table, dimension_rows(r, table))))
    if r.random() < 0.97:
        made += [("f", append(r, star.tables["f"])) for _ in range(r.choice((1, 2, 3, 5)))]
    return made


def dimension_rows(r: Random, table: Table) -> list[list[Any]]:
    """A row for each key; at times a key that stands twice, or is NULL."""
    keys = list(table.keys)
    if r.random() < 0.15:
        keys.append(r.choice(keys))
    if r.random() < 0.2:
        keys.append(None)
    return [[key, *(c.value(r) for c in table.columns[1:])] for key in keys]


def append(r: Random, table: Table) -> str:
    """A data file, whose columns have part of their values mostly, so that bounds differ."""
    part = {c.id: (r.choice((0.3, 1.0, 1.0)), r.random()) for c in table.columns}
    many = r.choice((1, 12, 32, 40, 60))
    rows = [[c.value(r, *part[c.id]) for c in table.columns] for _ in range(many)]
    return insert(table, rows + rows[: r.choice((0, 3))])


def insert(table: Table, rows: list[list[Any]]) -> str:
    """INSERT of the rows, as one file."""
    listed = ", ".join(
        f"({', '.join(literal(v, c.type) for v, c in zip(row, table.columns, strict=True))})"
        for row in rows
    )
    return f"INSERT INTO {table.name} SELECT /*+ COALESCE(1) */ * FROM VALUES {listed}"
