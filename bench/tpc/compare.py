"""Compares a query's answers, as strictly as its ORDER BY and LIMIT allow.

Rows are compared as bags, and the sort keys that are outputs row by row. Where rows tie at a LIMIT,
either answer may hold others of them: then all rows are compared without it, and those within it
must be among these and have the same sort keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any

import pyarrow as pa
from sqlglot import exp

from accelerator.services.verification.compare import differ
from rewrite.parse.parse import parse

Ask = Callable[[str], pa.Table]


def differences(sql: str, plain: Ask, other: Ask) -> list[str]:
    """What differs between the two who are asked, as sentences; empty where nothing does."""
    wanted, found = plain(sql), other(sql)
    wrong = differ(found, wanted)
    if wrong and (whole := without_limit(sql)) is not None:
        every = plain(whole)
        wrong = differ(other(whole), every)
        if not wrong and found.num_rows != wanted.num_rows:
            wrong = [f"{found.num_rows} rows for {wanted.num_rows}"]
        if strays := _bag(found) - _bag(every):
            wrong = [*wrong, f"rows that aren't in the answer without LIMIT: {list(strays)[:3]}"]
    return wrong or _order_differs(wanted, found, sort_places(sql, wanted.column_names))


def without_limit(sql: str) -> str | None:
    """The statement without its outermost LIMIT; None where it has none."""
    tree = parse(sql)
    if tree.args.get("limit") is None:
        return None
    tree.set("limit", None)
    return tree.sql(dialect="spark")


def sort_places(sql: str, names: Sequence[str]) -> list[int]:
    """Which outputs the first sort keys are, up to the first key that is none."""
    tree = parse(sql)
    order = tree.args.get("order")
    outputs = [item.unalias() for item in tree.expressions]
    lower = [name.lower() for name in names]

    def place(key: exp.Expression) -> int | None:
        if isinstance(key, exp.Literal) and not key.is_string:
            return int(key.this) - 1
        if isinstance(key, exp.Column) and lower.count(key.name.lower()) == 1:
            return lower.index(key.name.lower())
        same = [i for i, one in enumerate(outputs) if one == key]
        return same[0] if same and len(outputs) == len(names) else None

    found = (place(item.this) for item in (order.expressions if order is not None else ()))
    return [one for one in takewhile(lambda one: one is not None, found) if one is not None]


def _order_differs(wanted: pa.Table, found: pa.Table, places: Sequence[int]) -> list[str]:
    keys = [[_rounded(row) for row in _rows(table, places)] for table in (wanted, found)]
    for number, (one, two) in enumerate(zip(*keys, strict=True)):
        if one != two:
            return [f"row {number} has the sort keys {two} for {one}"]
    return []


def _bag(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(_rounded(row) for row in _rows(table, range(table.num_columns)))


def _rows(table: pa.Table, places: Sequence[int]) -> list[tuple[Any, ...]]:
    columns = [table.column(place).to_pylist() for place in places]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _rounded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """With floats by nine digits, as two sums in another order may differ behind them."""
    return tuple(f"{value:.9g}" if isinstance(value, float) else value for value in row)
