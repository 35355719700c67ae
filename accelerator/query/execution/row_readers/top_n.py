"""The first rows of an order: row group after row group, until none left can change the answer.

In each round the row groups whose first places come first are asked for the columns that tell which
rows are wanted; DuckDB keeps the first rows of what was found so far. The other columns are read of
the rows that are left at the end. No order inside of files is believed: what is read is sorted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from accelerator.common.arrow.spark_types import arrow_type, conform
from accelerator.engines.duckdb.engine import FEW_ROWS, NO_MAX, DuckDBEngine
from accelerator.engines.duckdb.result_limit import HeldRound
from accelerator.engines.duckdb.table_scan import FileNumberColumn, span_scan, with_scans
from accelerator.iceberg.errors import NeedsSparkError
from accelerator.iceberg.rows.position_deletes import Positions
from accelerator.iceberg.rows.row_groups import GroupReader, OpenFile, ReadCounter
from accelerator.planning.plans import RowsPlan
from accelerator.query.execution.row_readers.chunks import row_spans
from accelerator.query.execution.row_readers.row_group_queue import (
    Group,
    GroupPosition,
    GroupQueue,
    Places,
    RowPlaces,
)
from rewrite.ir.expr import Column
from rewrite.render.expressions import quote
from rewrite.render.row_block import order_sql, renderer, rows_sql, where_sql

_GROUPS_MAX = 64
_SCANNED = 200_000
"""Of so many rows DuckDB's own scan, planned in some milliseconds, is quicker than Arrow."""


class TopRows:
    """One run of a plan with a limit; `bytes_max`: what it may read before Spark is the better."""

    def __init__(self, plan: RowsPlan, engine: DuckDBEngine, tag: str, bytes_max: int) -> None:
        self._plan, self._block = plan, plan.block
        self._engine, self._tag, self._bytes_max = engine, tag, bytes_max
        self._wanted = (plan.block.limit or 0) + plan.block.offset
        self._round = HeldRound(engine.held, tag)
        self._reader = GroupReader(
            plan.pinned[0], plan.block.used, lambda: engine.check(tag), self._round.hold
        )
        self._queue = GroupQueue(plan, self._reader)
        self._places = RowPlaces(plan)
        self._groups: list[Group] = []
        self._best: pa.Table | None = None
        self._last: Places | None = None
        self._found = GroupPosition(plan.block.sought)
        self._scanned: list[OpenFile] = []

    @property
    def counted(self) -> ReadCounter:
        """What was read."""
        return self._reader.counted

    def run(self) -> pa.Table:
        """The answer, with Spark's names and types; NeedsSparkError where it reads too much."""
        round_max = 1
        while self._wanted and self._block.limit:
            groups = self._next(round_max)
            if not groups:
                break
            self._read(groups)
            # With enough rows at hand nearly all that may still hold better ones are needed.
            round_max = _GROUPS_MAX if self._last is not None else min(2 * round_max, _GROUPS_MAX)
            if self.counted.bytes > self._bytes_max:
                raise NeedsSparkError(
                    f"{self.counted.bytes:,} bytes were read and the first rows aren't known yet",
                    hint="`duckdb_bytes_max` allows more; Spark reads what may hold them",
                )
        answer = self._answer()
        self._round.begin(answer.nbytes)
        return answer

    def _next(self, groups_max: int) -> list[Group]:
        """The next row groups to read, those first that can come first; none when it's done."""
        found: list[Group] = []
        rows = 0
        while len(found) < groups_max or (self._last is None and rows < self._wanted):
            if len(found) >= _GROUPS_MAX or self._queue.first(self._may_hold) is None:
                break
            found.append(self._queue.pop())
            rows += found[-1].rows
        return found

    def _may_hold(self, first: Places) -> bool:
        """Whether a row may stand there and be one of the wanted ones."""
        if self._last is None:
            return True
        return first < self._last or (first == self._last and not self._places.is_whole_order)

    def _read(self, groups: Sequence[Group]) -> None:
        """Merges the rows of those groups into the best ones so far."""
        self._round.begin(0 if self._best is None else self._best.nbytes)
        best = {} if self._best is None else {"acc_best": self._best}
        text, scan = self._first_rows(), self._scan(groups)
        if scan is None:
            self._best = self._run(text, {"acc_rows": self._arrow(groups)} | best)
        else:
            found = self._run(with_scans({"acc_rows": scan}, text), best)
            self._best = self._by_groups(found)
        if self._best.num_rows == self._wanted:
            self._last = self._places.of(self._best, self._wanted - 1)

    def _arrow(self, groups: Sequence[Group]) -> pa.Table:
        """The columns that are sought of the groups' rows, and where these stand."""
        first = len(self._groups)
        self._groups += groups
        sought = self._block.sought

        def read(place: int) -> pa.Table:
            return self._found.read(self._groups[place], place, sought)

        return pa.concat_tables(self._reader.map(read, range(first, len(self._groups))))

    def _scan(self, groups: Sequence[Group]) -> str | None:
        """DuckDB's own scan of the same; None if it doesn't pay, or if Arrow has to read a file.

        A file has a number below zero there, and a row its number in the file.
        """
        if not self._block.conjuncts or sum(group.rows for group in groups) < _SCANNED:
            return None
        files = {group.file.file.path: group.file for group in groups}
        begin = -1 - len(self._scanned)
        numbers = {path: begin - place for place, path in enumerate(files)}
        numbered = FileNumberColumn(self._found.group, numbers, self._found.number)
        sought, pinned = self._block.sought, self._plan.pinned[0]
        names, spans = [column.name for column in sought], row_spans(groups)
        scan = span_scan(pinned, names, spans, self._engine, self._tag, numbered)
        if scan is not None:
            self._scanned += files.values()
            for group in groups:
                group.file.count(group.number, sought)
        return scan

    def _by_groups(self, rows: pa.Table) -> pa.Table:
        """The rows with the places of their groups, and their numbers there, as Arrow's have."""
        places = rows.column(self._found.group).to_numpy().copy()
        numbers = rows.column(self._found.number).to_numpy().copy()
        for negative in np.unique(places[places < 0]).tolist():
            file, chosen = self._scanned[-1 - negative], places == negative
            ends = np.cumsum([0, *file.groups])
            own = np.searchsorted(ends, numbers[chosen], side="right") - 1
            numbers[chosen] -= ends[own]
            found, inverse = np.unique(own, return_inverse=True)
            places[chosen] = len(self._groups) + inverse
            self._groups += (Group(file, number) for number in found.tolist())
        for name, values in ((self._found.group, places), (self._found.number, numbers)):
            place = rows.schema.get_field_index(name)
            rows = rows.set_column(place, name, pa.array(values))
        return rows

    def _run(self, text: str, tables: dict[str, pa.Table]) -> pa.Table:
        bytes_max = NO_MAX if self._wanted > FEW_ROWS else None
        hold = self._round.hold
        return self._engine.run(text, tables, tag=self._tag, bytes_max=bytes_max, hold=hold)

    def _first_rows(self) -> str:
        """SQL that keeps the first wanted rows of what was just read and the best so far."""
        render, block = renderer("duckdb"), self._block
        names = [f"k{i}" for i in range(len(block.order))]
        items = [f"{render.text(k.expr)} AS {n}" for k, n in zip(block.order, names, strict=True)]
        places = [quote(name, "duckdb") for name in (self._found.group, self._found.number)]
        text = f"SELECT {', '.join([*places, *items])} FROM acc_rows{where_sql(block, 'duckdb')}"
        if self._best is not None:
            text += f" UNION ALL SELECT {', '.join([*places, *names])} FROM acc_best"
        return f"SELECT * FROM ({text}) found{order_sql(block.order, names)} LIMIT {self._wanted}"

    def _answer(self) -> pa.Table:
        """The wanted columns of the best rows."""
        block = self._block
        best, used = self._best, block.used
        types = [o.expr.type or "" for o in block.outputs]
        names = [n or "" for n in self._plan.names]
        if best is None or best.num_rows == 0:
            empty = [pa.array([], arrow_type(t)) for t in types]
            return pa.Table.from_arrays(empty, names=names)
        groups = best.column(self._found.group).to_numpy()
        numbers = best.column(self._found.number).to_numpy()

        def rows(place: int) -> pa.Table:
            group = self._groups[place]
            wanted: Positions = numbers[groups == place]
            return group.file.rows(group.number, used, wanted)

        places: list[int] = np.unique(groups).tolist()
        found = pa.concat_tables(self._reader.map(rows, places))
        if all(isinstance(o.expr, Column) for o in block.outputs):
            back = np.argsort(np.argsort(groups, kind="stable"))[block.offset :]
            # By place: an output may stand there twice.
            wanted = [
                found.column(o.expr.name) for o in block.outputs if isinstance(o.expr, Column)
            ]
            columns = pa.Table.from_arrays(wanted, names=[str(i) for i in range(len(wanted))])
            return conform(columns.take(pa.array(back)), names, types)
        text = rows_sql(block, "duckdb", "acc_rows")
        return conform(self._run(text, {"acc_rows": found}), names, types)
