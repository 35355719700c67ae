"""What whole numbers a table's columns hold in all of its rows, as the manifests prove it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rewrite.ir.integer_ranges import RangeOf
from rewrite.types import EXACT

if TYPE_CHECKING:
    from accelerator.iceberg import PinnedTable
    from accelerator.iceberg.statistics.file_statistics import ColumnStatistics, FileStatistics
    from rewrite.ir.expr import Column
    from rewrite.ir.integer_ranges import Range


_TABLE_BYTES_MAX = 1024 * 1024 * 1024
"""Of a table with more data its manifests aren't read for this."""


def range_of(pinned: Sequence[PinnedTable]) -> RangeOf:
    """Returns the ranges of these tables' columns; a column's occurrence is its table's place."""
    kept: dict[int, FileStatistics] = {}

    def of_column(column: Column) -> Range | None:
        place, type_ = column.occurrence, column.type
        table = pinned[place]
        if type_ not in EXACT or table.size_bytes > _TABLE_BYTES_MAX:
            return None
        if table.has_doubtful([(column.field_id, type_)]):
            return None
        if place not in kept:
            kept[place] = table.statistics()
        return _range(kept[place].column(column.field_id, type_))

    return of_column


def _range(known: ColumnStatistics) -> Range | None:
    """None where some file's bounds aren't known, or aren't proven to be those of its rows."""
    if known.contradicts or known.unproven.any():
        return None
    bounds = known.bounds
    valued = ~bounds.always_null
    numbers = bounds.numbers
    if numbers is None or not (bounds.bounded | bounds.always_null).all():
        return None
    if not valued.any():
        return 0, 0
    return int(numbers[0][valued].min()), int(numbers[1][valued].max())
