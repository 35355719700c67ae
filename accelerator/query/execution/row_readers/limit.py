"""Any n rows of those that pass: as many are read as it takes, and no more.

Row group after row group, until n rows have passed; the first round reads one of them, the next
ones more and more side by side. Without a predicate a row group is read down to the last row that
is still wanted, and rows that OFFSET passes over aren't read at all.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from accelerator.iceberg.errors import NeedsSparkError
from accelerator.query.execution.row_readers.chunks import Pieces, as_outputs, every_place
from accelerator.query.execution.row_readers.row_group_queue import Group
from rewrite.render.row_block import renderer

_GROUPS_MAX = 64
_ROWS = 500_000
"""A round reads at least so many rows before it leaves row groups to the next one."""


class LimitedRows(Pieces):
    """One run of a plan with a limit and no order."""

    def pieces(self) -> Iterator[pa.Table]:
        """The rows, in no order; NeedsSparkError where it has read more than the plan allows."""
        block, groups_max = self._block, 1
        skip, left = block.offset, block.limit or 0
        while left > 0:
            self._round.begin(self._kept)
            groups = self._next(groups_max, skip + left)
            if not groups:
                return
            passed, rows = self._passing_rows(groups, skip, left)
            skip = max(0, skip - passed)
            left -= rows.num_rows
            if left > 0:
                self._check_bytes()
            if rows.num_rows:
                piece = self._conformed(self._outputs(rows))
                self._round.begin(self._kept + piece.nbytes)
                yield piece
            groups_max = min(2 * groups_max, _GROUPS_MAX)

    def _next(self, groups_max: int, wanted: int) -> list[Group]:
        """The next row groups; without a predicate so many that they should have enough rows."""
        found: list[Group] = []
        rows = 0
        passes = not self._block.conjuncts
        while rows < min(wanted, _ROWS) if passes else (rows < _ROWS and len(found) < groups_max):
            if len(found) >= _GROUPS_MAX or self._queue.first(every_place) is None:
                break
            found.append(self._queue.pop())
            rows += found[-1].rows
        return found

    def _passing_rows(self, groups: list[Group], skip: int, left: int) -> tuple[int, pa.Table]:
        """How many rows of the groups pass, as far as it matters, and those that are wanted."""
        if self._block.conjuncts:
            passed = self._passing(groups, skip + left)
            return passed.num_rows, passed.slice(skip, left)
        numbers = self._reader.map(lambda group: group.sought(())[1], groups)
        passed_by, wanted = 0, []
        for group, own in zip(groups, numbers, strict=True):
            begin = max(0, skip - passed_by)
            end = min(len(own), skip + left - passed_by)
            passed_by += len(own)
            if begin < end:
                wanted.append((group, own[begin:end]))
        used = self._block.used
        tables = self._reader.map(lambda one: one[0].those(used, one[1]), wanted)
        return passed_by, pa.concat_tables(tables) if tables else self.schema.empty_table()

    def _outputs(self, rows: pa.Table) -> pa.Table:
        columns = self._columns_alone()
        if columns is not None:
            return as_outputs(rows, columns)
        render = renderer("duckdb")
        items = (f"{render.text(o.expr)} AS c{i}" for i, o in enumerate(self._block.outputs))
        return self._run(f"SELECT {', '.join(items)} FROM acc_rows", {"acc_rows": rows})

    def _check_bytes(self) -> None:
        most = self.plan.bytes_max
        if most is not None and self.counted.bytes > most:
            raise NeedsSparkError(
                f"{self.counted.bytes:,} bytes were read and too few rows have passed",
                hint="`duckdb_bytes_max` allows more; Spark reads what may hold them",
            )
