"""SHOW STATISTICS: what a table's metadata says of its rows and columns; no data file is read.

Where BUILD STATISTICS has made sketches, their file is opened too. Promises: what is called exact
is what the rows would say; else it's a bound (so many at most, no smaller value, no greater one),
and what can't be bounded is NULL.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from accelerator.common.arrow.spark_types import typed
from accelerator.iceberg import PinnedTable
from accelerator.iceberg.statistics.file_statistics import ColumnStatistics, FileStatistics
from accelerator.iceberg.statistics.sketches import FORMAT, sketch_files
from indexes.bounds import UNKNOWN, Flags, flags
from rewrite.facts import ColumnFacts


class Figure(Struct, frozen=True):
    """A number or a value as text; None is unknown. `exact`: else it's a bound."""

    value: Any
    exact: bool | None


_UNKNOWN = Figure(None, None)


def shown(pinned: PinnedTable) -> list[dict[str, Any]]:
    """A row for each column, in the table's order; figures of the table stand in each of them."""
    sizes, told, sketched = pinned.sizes(), pinned.statistics(), pinned.sketched()
    sketches = _sketches(pinned)
    table = {
        "rows": sizes.rows,
        "rows_exact": None if sizes.rows is None else sizes.rows_exact,
        "files": sizes.files,
        "bytes": sizes.bytes,
    }
    rows = []
    for column in pinned.facts.columns:
        sketch = sketched.get(column.field_id)
        nulls, least, greatest = _of_manifests(column, told)
        row = {
            "column": column.name,
            "type": column.type,
            "distinct_values": sketch and sketch.distinct,
            "distinct_snapshot_id": sketch and sketch.snapshot_id,
            "distinct_current": sketch and sketch.pinned,
        }
        for name, figure in (("nulls", nulls), ("min", least), ("max", greatest)):
            row |= {name: figure.value, f"{name}_exact": figure.exact}
        rows.append(row | table | sketches.get(column.field_id, {}))
    return rows


def _sketches(pinned: PinnedTable) -> dict[int, dict[str, Any]]:
    """What sketches of this project tell of the columns, by field id."""
    if not any(
        FORMAT in one
        for file in sketch_files(pinned.metadata, pinned.snapshot)
        for one in file.properties.values()
    ):
        return {}
    from accelerator.services.statistics.show import shown as sketched  # imports DataSketches

    return sketched(pinned)


def _of_manifests(column: ColumnFacts, told: FileStatistics) -> tuple[Figure, Figure, Figure]:
    if "<" in column.type:  # a nested type's counts are of its inner fields
        return _UNKNOWN, _UNKNOWN, _UNKNOWN
    found = told.column(column.field_id, column.type)
    if found.contradicts:
        return _UNKNOWN, _UNKNOWN, _UNKNOWN
    counted = told.alive != 0
    whole = (told.alive == told.rows) & (told.rows != UNKNOWN)
    nulls = _nulls(found, counted, whole)
    valued = counted & ~found.bounds.always_null
    least, greatest = (
        _end(column.type, found, valued, whole, greatest=greatest) for greatest in (False, True)
    )
    return nulls, least, greatest


def _nulls(found: ColumnStatistics, counted: Flags, whole: Flags) -> Figure:
    """The rows of the counted files that are NULL; of those that aren't whole, at most so many."""
    nulls = found.bounds.nulls[counted]
    if (nulls == UNKNOWN).any():
        return _UNKNOWN
    return Figure(int(nulls.sum()), bool((whole[counted] | (nulls == 0)).all()))


def _end(
    type_: str, found: ColumnStatistics, valued: Flags, whole: Flags, *, greatest: bool
) -> Figure:
    """The least or greatest value; exact where a file whose rows are all there has that value."""
    bounds = found.bounds
    ends = bounds.upper if greatest else bounds.lower
    # A NaN is greater than all numbers, and stands in no bound.
    if not bounds.bounded[valued].all() or not valued.any():
        return _UNKNOWN
    chosen = ends.filter(pa.array(valued))
    best = (pc.max if greatest else pc.min)(chosen)
    same = flags(pc.equal(chosen, best))
    exact = bool((same & found.tight[valued] & whole[valued]).any())
    one = pa.array([best.as_py()], ends.type)
    try:
        text = typed(one, type_).cast(pa.string())[0].as_py()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, KeyError):
        return _UNKNOWN  # bytes that are no value of the type
    return Figure(text, exact)
