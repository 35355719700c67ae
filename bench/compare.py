"""Compares two answers to one statement, row by row, as strictly as SQL allows.

Integers, decimals, strings, dates and NULLs must be equal; doubles may differ in the last digits.
Rows may come in any order, except that the ORDER BY keys must come in the same order in both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

# A value of a result cell can be of any SQL type.
Row = tuple[Any, ...]
DOUBLE_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a result. `schema` is None for an engine whose names and types aren't Spark's."""

    rows: Sequence[Row]
    schema: pa.Schema | None = None

    @classmethod
    def of(cls, table: pa.Table) -> Answer:
        """The answer that an Arrow table holds."""
        rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        return cls(rows, table.schema)


def difference(expected: Answer, actual: Answer, order_by: Sequence[int] = ()) -> str | None:
    """None where both answer alike, else a sentence that says where they differ."""
    both_typed = expected.schema is not None and actual.schema is not None
    if both_typed and (found := _schema_difference(expected.schema, actual.schema)):
        return found
    if len(expected.rows) != len(actual.rows):
        return f"{len(expected.rows)} rows expected, {len(actual.rows)} found"
    if found := _first_difference(_keys(expected.rows, order_by), _keys(actual.rows, order_by)):
        return f"ORDER BY keys: {found}"
    return _first_difference(
        sorted(expected.rows, key=_sort_key), sorted(actual.rows, key=_sort_key)
    )


def _schema_difference(expected: pa.Schema, actual: pa.Schema) -> str | None:
    if len(expected) != len(actual):
        return f"{len(expected)} columns expected, {len(actual)} found"
    for position, (wanted, found) in enumerate(zip(expected, actual, strict=True)):
        if wanted.name != found.name:
            return f"column {position} is named {found.name!r}, not {wanted.name!r}"
        if wanted.type != found.type:
            return f"column {wanted.name!r} is {found.type}, not {wanted.type}"
    return None


def _keys(rows: Sequence[Row], order_by: Sequence[int]) -> list[Row]:
    return [tuple(row[position] for position in order_by) for row in rows]


def _first_difference(expected: Sequence[Row], actual: Sequence[Row]) -> str | None:
    for number, (wanted, found) in enumerate(zip(expected, actual, strict=True)):
        if len(wanted) != len(found) or not all(map(_same, wanted, found)):
            return f"row {number}: {wanted} expected, {found} found"
    return None


def _same(expected: Any, actual: Any) -> bool:
    if expected is None or actual is None:
        return expected is actual
    if isinstance(expected, float) and isinstance(actual, float):
        if math.isnan(expected) or math.isnan(actual):
            return math.isnan(expected) and math.isnan(actual)
        return math.isclose(expected, actual, rel_tol=DOUBLE_TOLERANCE, abs_tol=1e-12)
    return bool(expected == actual)


def _sort_key(row: Row) -> tuple[Any, ...]:
    """Exact cells first and doubles last, so that a last digit can't pair up the wrong rows."""
    exact = tuple(_cell_key(cell) for cell in row if not isinstance(cell, float))
    doubles = tuple(
        (1, 0.0) if math.isnan(cell) else (0, cell) for cell in row if isinstance(cell, float)
    )
    return exact, doubles


def _cell_key(cell: Any) -> tuple[int, Any]:
    if cell is None:
        return 0, 0
    if isinstance(cell, int | Decimal):
        return 1, cell
    return 2, repr(cell)
