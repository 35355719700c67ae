"""Edge values of a floating column, read from the rows of data files: NaN and zeros of either sign.

Neither PyIceberg's manifests nor Parquet's footers count them, and plain Spark may skip rows that
have them. A data file never changes, so that it's read for this once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from accelerator.errors import AcceleratorError
from accelerator.iceberg.rows.row_groups import GroupReader

if TYPE_CHECKING:
    import numpy.typing as npt

    from accelerator.common.lru_cache import Recent
    from accelerator.iceberg.rows.row_groups import OpenFile, ReadTable
    from accelerator.iceberg.tables.data_file import LiveFile
    from rewrite.ir.expr import Column

ROWS_MAX = 50_000_000
"""Rows of all files that are read for one column of a statement: half a second on two cores."""
FILES_MAX = 1000
"""Files that are read for it: each is opened."""


class FloatEdges(Struct, frozen=True):
    """Edge values of one floating column in one data file, its deleted rows included.

    `nan_bound`: each row group with a NaN has a number that is at least this one, by the file's own
    statistics; infinity if no row group has a NaN. So a reader that prunes row groups by bounds
    skips no NaN under `x > c` if c is less.
    """

    nan: bool
    nan_bound: float
    negative_zero: bool
    positive_zero: bool


def cached_edges(
    pinned: ReadTable,
    uuid: str,
    column: Column,
    files: Sequence[LiveFile],
    cache: Recent[FloatEdges],
) -> list[FloatEdges] | None:
    """The edge values of each file; None if the files that aren't cached are too many to read.

    Nor are there any if a file can't be read: the statement itself reports that.
    """
    found = {file.key: cache.get((uuid, column.field_id, file.key)) for file in files}
    missing = [file for file in files if found[file.key] is None]
    rows = [file.record_count for file in missing]
    if len(missing) > FILES_MAX or sum(rows) > ROWS_MAX or min(rows, default=0) < 0:
        return None
    try:
        read = _read(pinned, column, missing) if missing else []
    except (AcceleratorError, OSError, ValueError, pa.ArrowException):
        return None
    for file, one in zip(missing, read, strict=True):
        found[file.key] = one
        cache.put((uuid, column.field_id, file.key), one)
    return [edges for file in files if (edges := found[file.key]) is not None]


def _read(pinned: ReadTable, column: Column, files: Sequence[LiveFile]) -> list[FloatEdges]:
    """Reads the column of whole files; deletes differ between snapshots, so they don't apply."""
    reader = GroupReader(pinned, [column], lambda: None)
    opened = reader.open([replace(file, deletes=()) for file in files])
    return reader.map(lambda file: _edges(file, column), opened)


def _edges(file: OpenFile, column: Column) -> FloatEdges:
    uppers = file.bounds(column).upper.to_pylist()
    nan = negative = positive = False
    bound = math.inf
    for group, upper in enumerate(uppers):
        table, _ = file.sought(group, [column])
        values = pc.drop_null(table.column(0)).to_numpy()
        zeros = values[values == 0]
        signs = np.signbit(zeros)
        negative |= bool(signs.any())
        positive |= not signs.all()
        if (found := np.isnan(values)).any():
            nan = True
            bound = min(bound, _bound(upper, found))
    if file.file.file_format == "orc":
        # Its reader in Spark skips ten thousand rows by their bounds, of zeros by the first one's.
        return FloatEdges(nan, -math.inf if nan else bound, negative, positive or negative)
    return FloatEdges(nan, bound, negative, positive)


def _bound(upper: float | None, nans: npt.NDArray[np.bool_]) -> float:
    """Returns the row group's upper bound; minus infinity if it lacks one beside numbers."""
    if upper is None or math.isnan(upper):
        return math.inf if nans.all() else -math.inf
    return upper
