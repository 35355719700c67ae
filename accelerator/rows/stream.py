"""All rows of a predicate, in an order if one is asked for, piece by piece.

What no row left can come before is given at once; without an order that is all that was read.

Row groups are read in the order of their first places. The rows read so far are sorted, and those
that stand before the first place of all that is left go out; the rest waits for the next round. So
files that don't overlap are just one after the other, and of those that do a round merges what
overlaps. No order inside of files is believed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from accelerator.arrow_types import arrow_type, conform
from accelerator.engines.duckdb import NO_MAX, DuckDBEngine
from accelerator.engines.held_rows import Round
from accelerator.iceberg.position_deletes import Positions
from accelerator.iceberg.row_groups import Counted, GroupReader
from accelerator.plans import RowsPlan
from accelerator.rows.queue import Found, Group, GroupQueue, Places, RowPlaces
from rewrite.expr import Column
from rewrite.render import quote
from rewrite.row_block import RowBlock
from rewrite.rows_sql import order_sql, renderer, where_sql

_ROWS = 500_000
"""A round reads at least so many rows, and as many as wait, if there are."""


class SortedRows:
    """One run of a plan without a limit; under `tag` the engine's work can be interrupted."""

    def __init__(self, plan: RowsPlan, engine: DuckDBEngine, tag: str = "") -> None:
        self.plan, self._tag = plan, tag
        self._block, self._engine = plan.block, engine
        self._round = Round(engine.held, tag)
        self._reader = GroupReader(
            plan.pinned[0], plan.block.used, lambda: engine.check(tag), self._round.hold
        )
        self._kept = 0
        self._queue = GroupQueue(plan, self._reader)
        self._places = RowPlaces(plan)
        self._types = [o.expr.type or "" for o in plan.block.outputs]
        self._names = [n or "" for n in plan.names]
        self._sql = self._sorting()
        self._found = Found(plan.block.sought)
        self._as_read = _as_read(plan.block)

    @property
    def counted(self) -> Counted:
        """What was read so far."""
        return self._reader.counted

    @property
    def schema(self) -> pa.Schema:
        """Of every piece: Spark's names and types."""
        types = map(arrow_type, self._types)
        return pa.schema(list(map(pa.field, self._names, types)))

    def run(self) -> pa.Table:
        """All pieces as one table; MemoryExceededError where they're too large together."""
        pieces = [self.schema.empty_table()]
        for piece in self.pieces():
            self._kept += piece.nbytes
            pieces.append(piece)
        self._round.begin(self._kept)
        return pa.concat_tables(pieces)

    def pieces(self) -> Iterator[pa.Table]:
        """The rows in order; closing the iterator ends the reading."""
        left: pa.Table | None = None
        skip = self._block.offset
        while True:
            self._round.begin(self._kept + (0 if left is None else left.nbytes))
            groups = self._next(_ROWS if left is None else max(_ROWS, left.num_rows))
            if groups:
                left = self._sorted(groups, left)
            if left is None:
                return
            first = self._queue.first(_all)
            end = left.num_rows if first is None else self._before(left, first)
            self._round.begin(self._kept + left.nbytes)
            if end > skip:
                yield self._given(left.slice(skip, end - skip))
            skip = max(0, skip - end)
            left = left.slice(end)
            if first is None:
                return

    def _next(self, rows: int) -> list[Group]:
        found: list[Group] = []
        left = rows
        while left > 0 and self._queue.first(_all) is not None:
            found.append(self._queue.pop())
            left -= found[-1].rows
        return found

    def _sorted(self, groups: list[Group], left: pa.Table | None) -> pa.Table:
        if self._as_read is not None:
            read = self._read(groups)
            columns = [read.column(name) for name in self._as_read]
            return pa.table(columns, names=[f"c{i}" for i in range(len(columns))])
        rows = self._run(self._sql, {"acc_rows": self._read(groups)})
        if left is None or not left.num_rows:
            return rows
        keys = [f"k{i}" for i in range(len(self._block.order))]
        merged = "SELECT * FROM acc_rows UNION ALL SELECT * FROM acc_left"
        text = f"SELECT * FROM ({merged}) rows{order_sql(self._block.order, keys)}"
        return self._run(text, {"acc_rows": rows, "acc_left": left})

    def _run(self, text: str, tables: dict[str, pa.Table]) -> pa.Table:
        hold = self._round.hold
        return self._engine.run(text, tables, tag=self._tag, bytes_max=NO_MAX, hold=hold)

    def _read(self, groups: list[Group]) -> pa.Table:
        """All used columns of the groups' rows; with a predicate, of those alone that pass."""
        used, sought = self._block.used, self._block.sought
        others = [column for column in used if column not in sought]
        if not self._block.conjuncts or not others:
            tables = self._reader.map(lambda g: g.sought(used)[0], groups)
            return pa.concat_tables(tables)

        def read(place: int) -> pa.Table:
            return self._found.read(groups[place], place, sought)

        candidates = pa.concat_tables(self._reader.map(read, range(len(groups))))
        where = where_sql(self._block, "duckdb")
        text = f"SELECT * FROM acc_rows{where} ORDER BY {quote(self._found.group, 'duckdb')}"
        passed = self._run(text, {"acc_rows": candidates})
        places = passed.column(self._found.group).to_numpy()
        numbers = passed.column(self._found.number).to_numpy()

        def rest(place: int) -> pa.Table:
            wanted: Positions = numbers[places == place]
            return groups[place].file.rows(groups[place].number, others, wanted)

        found = self._reader.map(rest, np.unique(places).tolist())
        if not found:
            return _no_rows(used)
        more = pa.concat_tables(found)
        for column in sought:
            more = more.append_column(column.name, passed.column(column.name))
        return more

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

    def _given(self, rows: pa.Table) -> pa.Table:
        outputs = rows.select([f"c{i}" for i in range(len(self._types))])
        return conform(outputs, self._names, self._types)


def _as_read(block: RowBlock) -> list[str] | None:
    """The columns that are given as they're read; None where there is anything to compute."""
    if block.order or block.conjuncts:
        return None
    names = [o.expr.name for o in block.outputs if isinstance(o.expr, Column)]
    return names if len(names) == len(block.outputs) else None


def _no_rows(columns: Sequence[Column]) -> pa.Table:
    return pa.table({c.name: pa.array([], arrow_type(c.type or "")) for c in columns})


def _all(_place: Places) -> bool:
    return True
