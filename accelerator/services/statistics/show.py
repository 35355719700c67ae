"""What sketches tell of a table's columns, as SHOW STATISTICS shows it."""

from __future__ import annotations

from typing import Any

from accelerator.iceberg import PinnedTable
from accelerator.services.statistics.read import ReadSketches, stored_sketches
from accelerator.services.statistics.scan import columns_of
from accelerator.services.statistics.sketches.column import as_texts

_SHOWN = 10
"""Heavy hitters of a column."""


def shown(pinned: PinnedTable) -> dict[int, dict[str, Any]]:
    """Returns each column's figures by field id, and in all rows what was skipped."""
    columns, _ = columns_of(pinned)
    found = stored_sketches(pinned, columns)
    notes = {"sketch_notes": found.passed_over} if found.passed_over else {}
    rows = {}
    for column in columns:
        known = found.columns.get(column.field_id)
        rows[column.field_id] = notes | ({} if known is None else _row(known, column.type))
    return rows


def _row(found: ReadSketches, type_: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "sketch_snapshot_id": found.snapshot_id,
        "sketch_current": found.pinned,
    }
    if found.pinned:  # of the rows themselves, so that it's better than what manifests say
        row |= {"nulls": found.sketches.nulls, "nulls_exact": True}
    quantiles, heavy = found.sketches.quantiles, found.sketches.heavy
    if quantiles is not None and quantiles.rows:
        try:
            row |= {
                "quantiles": as_texts(quantiles.at(), type_),
                "quantiles_error": quantiles.error,
            }
        except ValueError as error:
            row["sketch_notes"] = [str(error)]
    if heavy is not None:
        # One that may have come no oftener than a value that isn't held says nothing.
        often = [(v, n) for v, n in heavy.values.items() if n > heavy.error][:_SHOWN]
        row |= {
            "heavy_hitters": [value for value, _ in often],
            "heavy_hitter_counts": [count for _, count in often],
            "heavy_hitters_error": heavy.error,
        }
    return row
