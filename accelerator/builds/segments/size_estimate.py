"""The size of a cube before it's built: bytes of a cell, and cells that remain after a merge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2, prod

from msgspec import Struct

from accelerator.iceberg import Sketched
from cubes.definition import CubeDefinition
from rewrite.ir.expr import Column, columns

# Measured on SSB cubes, merged or not: zstd Parquet, sorted by the dimensions.
_STATE_BYTES = 5
_DIMENSION_BYTES = 0.2
_COUNT_BYTES = 0.15
"""Of a count of rows, beside the bits of a cell's rows."""
_COUNTS = frozenset({"rows", "count"})
_NUMBER_BYTES = 8
_SKETCH_ITEMS = 3  # times its size: what a KLL sketch of very many rows holds


class MergedCells(Struct, frozen=True):
    """Cells of the merged cube at most, as sketches say; None where one is missing.

    `basis` says what that rests on, or what is missing.
    """

    cells_max: int | None
    basis: str


def cell_bytes(cube: CubeDefinition, rows_per_cell: float) -> float:
    """Bytes of one cell. A sketch keeps a small cell's numbers whole, and hardly packs."""
    count = _COUNT_BYTES + log2(max(rows_per_cell, 1)) / 8
    plain = _DIMENSION_BYTES * len(cube.dimensions)
    plain += sum(count if one.kind in _COUNTS else _STATE_BYTES for one in cube.states)
    sketches = [s.size for s in cube.states if s.size]
    return plain + sum(
        _NUMBER_BYTES * min(rows_per_cell, _SKETCH_ITEMS * size) for size in sketches
    )


def merged_cells(cube: CubeDefinition, sketched: Sequence[Mapping[int, Sketched]]) -> MergedCells:
    """The product of the distinct values of the columns that the dimensions are made of.

    `sketched`: of each of the cube's tables. Every column counts once, and NULL as a value of it:
    files and outer joins may have it.
    """
    used: dict[tuple[int, int], Column] = {}
    for dimension in cube.dimensions:
        for column in sorted(columns(dimension.expr), key=lambda c: (c.occurrence, c.field_id)):
            used.setdefault((column.occurrence, column.field_id), column)
    found = {key: sketched[key[0]].get(key[1]) for key in used}
    missing = [used[key].name for key, one in found.items() if one is None]
    if missing:
        return MergedCells(None, f"no sketch of {', '.join(missing)}")
    told = {key: one for key, one in found.items() if one is not None}
    basis = [
        f"{used[key].name} {one.distinct}"
        + ("" if one.pinned else f" (as of snapshot {one.snapshot_id})")
        for key, one in told.items()
    ]
    return MergedCells(prod(one.distinct + 1 for one in told.values()), ", ".join(basis))
