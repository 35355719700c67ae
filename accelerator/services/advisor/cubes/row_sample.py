"""Rows of a fact that stand for all of it, and how many values there are by what they have.

All rows where they're few, else some of each of a few row groups from all over the table. The same
state of a table gives the same rows each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from msgspec import Struct

from accelerator.engines.duckdb.table_scan import table_scan, with_scans
from accelerator.iceberg import LiveFile, PinnedTable
from rewrite.ir.expr import Column

if TYPE_CHECKING:
    from accelerator.engines.duckdb.engine import DuckDBEngine
    from accelerator.iceberg.rows.row_groups import OpenFile

ROWS_MAX = 1_000_000
"""Rows of a fact that are looked at."""
GROUPS_MAX = 24
"""Row groups that are read of a fact with more rows."""
# The digits keep it apart from any column that a fact has.
GROUP = "_acc_group_7c1e02d4"
"""The column beside a fact's own that numbers the row group."""


class Distinct(Struct, frozen=True):
    """Combinations in the rows that were looked at, and those in one or two rows or groups only."""

    seen: int
    in_one_row: int
    in_two_rows: int
    in_one_group: int
    in_two_groups: int


class Sampled(Struct, frozen=True):
    """How much was looked at: rows of all, row groups of about as many as there are."""

    rows: int
    of: int
    groups: int
    of_groups: int

    @property
    def whole(self) -> bool:
        """Whether nothing is left to estimate."""
        return self.rows >= self.of


def cells(found: Distinct, sampled: Sampled, most: int) -> int:
    """How many combinations the fact has; `most` is what there can be.

    Exact of a whole fact. Else Chao's estimators, by rows and by row groups, the larger one: the
    first is right where rows are mixed, the second where a table is in an order. Neither is more
    than what would come if each further row, or group, brought as many new ones.

    >>> cells(Distinct(10, 0, 0, 0, 0), Sampled(100, 1000, 4, 40), 10**9)
    10
    """
    if sampled.whole:
        return found.seen
    by_rows = _chao(found.seen, found.in_one_row, found.in_two_rows)
    by_groups = _chao(found.seen, found.in_one_group, found.in_two_groups)
    by_rows = min(by_rows, found.seen * sampled.of / max(sampled.rows, 1))
    by_groups = min(by_groups, found.seen * sampled.of_groups / max(sampled.groups, 1))
    return int(max(found.seen, min(max(by_rows, by_groups), most, sampled.of)))


def _chao(seen: int, once: int, twice: int) -> float:
    """Chao's estimator without bias: `seen` of which so many came once, and twice."""
    return seen + once * (once - 1) / (2 * (twice + 1))


def sampled_rows(
    pinned: PinnedTable,
    wanted: Sequence[Column],
    duckdb: DuckDBEngine,
    tag: str,
    check: Callable[[], None],
) -> tuple[pa.Table, Sampled]:
    """Rows with those columns and the number of their row group, 0 of a whole table.

    What reading raises: NeedsSparkError, CatalogError, EngineError, OSError, ValueError.
    """
    files = pinned.live_files()
    if any(file.record_count < 0 for file in files):  # it isn't counted
        rows = max(pinned.rows_told, ROWS_MAX + 1)
    else:
        rows = sum(file.record_count for file in files)
    if not files:
        return pa.table({GROUP: pa.array([], pa.int32())}), Sampled(0, 0, 0, 0)
    if rows <= ROWS_MAX:
        found = _whole(pinned, wanted, files, duckdb, tag)
        return _numbered(found, 0), Sampled(found.num_rows, found.num_rows, 1, 1)
    parts, of_groups = _row_groups(pinned, wanted, files, check)
    numbered = [_numbered(one, number) for number, one in enumerate(parts)]
    found = pa.concat_tables(numbered, promote_options="permissive")
    return found, Sampled(found.num_rows, rows, len(parts), max(of_groups, len(parts)))


def _numbered(rows: pa.Table, number: int) -> pa.Table:
    return rows.append_column(GROUP, pa.array(np.full(rows.num_rows, number, dtype=np.int32)))


def _whole(
    pinned: PinnedTable,
    wanted: Sequence[Column],
    files: Sequence[LiveFile],
    duckdb: DuckDBEngine,
    tag: str,
) -> pa.Table:
    names = [column.name for column in wanted] or [pinned.facts.columns[0].name]
    scan = table_scan(pinned, names, files, "own", duckdb, tag)
    if not scan.text:
        return scan.tables["own"]
    return duckdb.run(with_scans({"own": scan.text}, "SELECT * FROM own"), scan.tables, tag=tag)


def _row_groups(
    pinned: PinnedTable,
    wanted: Sequence[Column],
    files: Sequence[LiveFile],
    check: Callable[[], None],
) -> tuple[list[pa.Table], int]:
    """Some rows of each of the row groups, and about how many of these the table has."""
    from accelerator.iceberg.rows.row_groups import GroupReader  # imports PyArrow's dataset half

    chosen = [files[place] for place in spread(len(files), GROUPS_MAX)]
    opened = GroupReader(pinned, wanted, check).open(chosen)
    places = [(file, group) for file in opened for group in range(len(file.groups))]
    taken = [places[place] for place in spread(len(places), GROUPS_MAX)]
    each = ROWS_MAX // max(len(taken), 1)
    random = np.random.default_rng(0)

    def some(file: OpenFile, group: int) -> pa.Table:
        check()
        rows, _ = file.sought(group, wanted)
        if rows.num_rows <= each:
            return rows
        numbers = np.sort(random.choice(rows.num_rows, each, replace=False))
        return rows.take(pa.array(numbers))

    of_groups = round(len(places) * len(files) / max(len(chosen), 1))
    return [some(file, group) for file, group in taken], of_groups


def spread(count: int, most: int) -> list[int]:
    """So many places of as many, from all over."""
    if count <= most:
        return list(range(count))
    return sorted({int(place) for place in np.linspace(0, count - 1, most)})
