"""Rows of chosen files, of the row groups that sidecars leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from accelerator.errors import EngineError
from accelerator.iceberg import LiveFile, PinnedTable
from accelerator.iceberg.rows.row_groups import GroupReader, OpenFile, ReadCounter
from rewrite.ir.expr import Column

if TYPE_CHECKING:
    from pyroaring import BitMap

    from accelerator.artifacts.sidecars.probe import RowSelection

_PART_ROWS = 1 << 16
"""Rows that are read at once, where row groups are smaller."""
_FEW = 2
"""Where so many times fewer rows may pass than stand in a row group, the others are left out."""


def selected_rows(
    pinned: PinnedTable,
    columns: Sequence[Column],
    files: Sequence[LiveFile],
    selection: RowSelection,
    check: Callable[[], None],
    hold: Callable[[int], None],
    *,
    exact: bool = False,
) -> tuple[pa.Table, ReadCounter]:
    """Those columns of every row that may pass, and what was read for it; deletes are applied.

    With `exact` of no other row: EngineError where a file can't be read so. `check` and `hold` as
    of `GroupReader`.
    """
    reader = GroupReader(pinned, columns, check, hold)
    opened = reader.open(files)
    work: list[tuple[OpenFile, Sequence[int], BitMap | None]] = []
    for file in opened:
        groups = selection.groups(file.file)
        apart = file.counts_deleted and selection.row_groups(file.file) == tuple(file.groups)
        whole = groups is None or not apart
        if exact and whole:
            raise EngineError(f"the rows of {file.file.path} can't be told apart")
        wanted = range(len(file.groups)) if whole else groups or ()
        rows = None if whole else selection.of(file.file)
        work += [(file, part, rows) for part in _parts(file, wanted)]

    def read(one: tuple[OpenFile, Sequence[int], BitMap | None]) -> pa.Table:
        file, groups, rows = one
        table, numbers = file.sought_among(groups, columns)
        if rows is None:
            return table
        first, end = sum(file.groups[: groups[0]]), sum(file.groups[: groups[-1] + 1])
        count = rows.range_cardinality(first, end)
        if not exact and count * _FEW > table.num_rows:
            return table
        before = rows.rank(first - 1) if first else 0
        kept = np.zeros(end - first, dtype=bool)
        inside = rows[before : before + count]  # by rank
        kept[np.array(inside.to_array(), dtype=np.int64) - first] = True
        return table.filter(pa.array(kept[numbers]))

    tables = reader.map(read, work)
    if not tables:
        return pinned.arrow([c.name for c in columns], []), reader.counted
    return pa.concat_tables(tables), reader.counted


def _parts(file: OpenFile, groups: Sequence[int]) -> Iterator[Sequence[int]]:
    """The groups in order, in parts that one thread reads: each is a call of Python, or several."""
    part: list[int] = []
    rows = 0
    for group in groups:
        part.append(group)
        rows += file.groups[group]
        if rows >= _PART_ROWS:
            yield part
            part, rows = [], 0
    if part:
        yield part
