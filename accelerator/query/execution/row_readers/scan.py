"""All rows of a predicate, in an order if one is asked for, piece by piece.

What no row left can come before is given at once; without an order that is all that was read.

Row groups are read in the order of their first places. The rows read so far are sorted, and those
that stand before the first place of all that is left go out; the rest waits for the next round. So
files that don't overlap are just one after the other, and of those that do a round merges what
overlaps. No order inside of files is believed.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from accelerator.engines.duckdb.engine import DuckDBEngine
from accelerator.engines.duckdb.table_scan import with_scans
from accelerator.planning.plans import RowsPlan
from accelerator.query.execution.row_readers.chunks import Pieces, as_outputs, every_place
from accelerator.query.execution.row_readers.row_group_queue import Group, Places, RowPlaces
from rewrite.render.row_block import order_sql, renderer, where_sql

_ROWS = 500_000
"""A round reads at least so many rows, and as many as wait, if there are."""
_ROWS_ALONE = 250_000
"""The same where nothing is sorted."""


class SortedRows(Pieces):
    """One run of a plan without a limit; under `tag` the engine's work can be interrupted."""

    def __init__(self, plan: RowsPlan, engine: DuckDBEngine, tag: str = "") -> None:
        super().__init__(plan, engine, tag)
        self._places = RowPlaces(plan)
        self._sql = self._sorting()
        bare = not plan.block.order and not plan.block.conjuncts
        self._as_read = self._columns_alone() if bare else None

    def pieces(self) -> Iterator[pa.Table]:
        """The rows in order; closing the iterator ends the reading."""
        left: pa.Table | None = None
        skip = self._block.offset
        while True:
            self._round.begin(self._kept + (0 if left is None else left.nbytes))
            rows = _ROWS_ALONE if self._as_read is not None else _ROWS
            groups = self._next(rows if left is None else max(rows, left.num_rows))
            if groups:
                left = self._sorted(groups, left)
            if left is None:
                return
            first = self._queue.first(every_place)
            end = left.num_rows if first is None else self._before(left, first)
            self._round.begin(self._kept + left.nbytes)
            if end > skip:
                yield self._conformed(left.slice(skip, end - skip))
            skip = max(0, skip - end)
            left = left.slice(end) if end < left.num_rows else None  # no slice keeps what has gone
            if first is None:
                return

    def _next(self, rows: int) -> list[Group]:
        found: list[Group] = []
        left = rows
        while left > 0 and self._queue.first(every_place) is not None:
            found.append(self._queue.pop())
            left -= found[-1].rows
        return found

    def _sorted(self, groups: list[Group], left: pa.Table | None) -> pa.Table:
        if self._as_read is not None:
            return as_outputs(self._read(groups), self._as_read)
        scan = self._scan(groups)
        if scan is None:
            rows = self._run(self._sql, {"acc_rows": self._read(groups)})
        else:
            rows = self._run(with_scans({"acc_rows": scan}, self._sql), {})
        if left is None or not left.num_rows:
            return rows
        keys = [f"k{i}" for i in range(len(self._block.order))]
        merged = "SELECT * FROM acc_rows UNION ALL SELECT * FROM acc_left"
        text = f"SELECT * FROM ({merged}) rows{order_sql(self._block.order, keys)}"
        return self._run(text, {"acc_rows": rows, "acc_left": left})

    def _read(self, groups: list[Group]) -> pa.Table:
        """All used columns of the groups' rows; with a predicate, of those alone that may pass."""
        used, sought = self._block.used, self._block.sought
        if not self._block.conjuncts or all(column in sought for column in used):
            return pa.concat_tables(self._reader.map(lambda g: g.sought(used)[0], groups))
        return self._passing(groups)

    def _sorting(self) -> str:
        """SQL of outputs and keys of the rows just read, in the order."""
        render, block = renderer("duckdb"), self._block
        outputs = [f"{render.text(o.expr)} AS c{i}" for i, o in enumerate(block.outputs)]
        names = [f"k{i}" for i in range(len(block.order))]
        keys = [f"{render.text(k.expr)} AS {n}" for k, n in zip(block.order, names, strict=True)]
        text = f"SELECT {', '.join([*outputs, *keys])} FROM acc_rows{where_sql(block, 'duckdb')}"
        return f"SELECT * FROM ({text}) found{order_sql(block.order, names)}"

    def _before(self, rows: pa.Table, first: Places) -> int:
        """How many of the sorted rows stand before that place; by bisection."""
        low, high = 0, rows.num_rows
        while low < high:
            middle = (low + high) // 2
            place = self._places.of(rows, middle)
            if place < first or (place == first and self._places.is_whole_order):
                low = middle + 1
            else:
                high = middle
        return low
