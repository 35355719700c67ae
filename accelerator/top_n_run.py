"""Runs a `RowsPlan` in process: row group after row group, until none left can change the answer.

In each round the row groups whose first places come first are asked for the columns that tell which
rows are wanted; DuckDB keeps the first rows of what was found so far. The other columns are read of
the rows that are left at the end. No order inside of files is believed: what is read is sorted.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa

from accelerator.arrow_types import arrow_type, conform
from accelerator.engines.duckdb import DuckDBEngine
from accelerator.iceberg.errors import NeedsSparkError
from accelerator.iceberg.position_deletes import Positions
from accelerator.iceberg.readable import check_readable
from accelerator.iceberg.row_groups import Counted, GroupReader, OpenFile
from accelerator.plan import RowsPlan
from accelerator.pruning import judge
from accelerator.top_n import bounded_keys, column_of, directions
from indexes.bounds import ColumnBounds
from indexes.order import Key, Place
from rewrite.expr import Column
from rewrite.render import quote
from rewrite.rows_sql import order_sql, renderer, rows_sql, where_sql
from rewrite.types import decimal_parts

_OPENED = 8
"""Files opened side by side."""
_GROUPS_MAX = 64
_GROUP, _NUMBER = "#group", "#number"
Places = tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class _Group:
    """One row group that may be read."""

    file: OpenFile
    number: int


class TopRows:
    """One run of a plan; `bytes_max` is what it may read before Spark is the better reader."""

    def __init__(self, plan: RowsPlan, engine: DuckDBEngine, tag: str, bytes_max: int) -> None:
        self._plan, self._block = plan, plan.block
        self._engine, self._tag, self._bytes_max = engine, tag, bytes_max
        self._wanted = (plan.block.limit or 0) + plan.block.offset
        self._keys = bounded_keys(plan.block)
        # With every key known to bounds a row that ties with the last one isn't needed.
        self._whole_order = len(self._keys) == len(plan.block.order)
        self._reader = GroupReader(plan.pinned[0], plan.block.used)
        self._waiting: list[tuple[Places, int, _Group]] = []
        self._order = count()
        self._opened = 0
        self._groups: list[_Group] = []
        self._best: pa.Table | None = None
        self._last: Places | None = None

    @property
    def counted(self) -> Counted:
        """What was read."""
        return self._reader.counted

    def run(self) -> pa.Table:
        """The answer, with Spark's names and types; NeedsSparkError where it reads too much."""
        try:
            return self._run()
        finally:
            self._reader.close()

    def _run(self) -> pa.Table:
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
        return self._answer()

    # Which row groups

    def _next(self, groups_max: int) -> list[_Group]:
        """The next row groups to read, those first that can come first; none when it's done."""
        found: list[_Group] = []
        rows = 0
        while len(found) < groups_max or (self._last is None and rows < self._wanted):
            self._open_first()
            if not self._waiting or not self._may_hold(self._waiting[0][0]):
                break
            group = heapq.heappop(self._waiting)[2]
            rows += group.file.groups[group.number]
            found.append(group)
            if len(found) >= _GROUPS_MAX:
                break
        return found

    def _may_hold(self, first: Places) -> bool:
        """Whether a row may stand there and be one of the wanted ones."""
        if self._last is None:
            return True
        return first < self._last or (first == self._last and not self._whole_order)

    def _open_first(self) -> None:
        """Opens files until none unopened can come before the row groups that wait."""
        reading = self._plan.reading
        while self._opened < len(reading):
            end = self._opened
            while end < min(len(reading), self._opened + _OPENED):
                first = reading.first(end)
                if not self._may_hold(first) or (self._waiting and self._waiting[0][0] <= first):
                    break
                end += 1
            if end == self._opened:
                return
            files = reading.live(self._opened, end)
            check_readable(files)
            firsts = [reading.first(place) for place in range(self._opened, end)]
            self._opened = end
            for file, first in zip(self._reader.open(files), firsts, strict=True):
                self._wait(file, first)

    def _wait(self, file: OpenFile, file_first: Places) -> None:
        """Adds the file's row groups, but those without a row that passes."""
        passing = ~judge(self._block.conjuncts, _GroupStatistics(file)).none_true
        bounds = [file.bounds(column_of(key)) for key in self._keys]
        keys = [Key(b, d) for b, d in zip(bounds, directions(self._keys), strict=True)]
        for number in np.flatnonzero(passing).tolist():
            firsts = zip(keys, file_first, strict=True)
            first = tuple(max(whole, key.first(number)) for key, whole in firsts)
            heapq.heappush(self._waiting, (first, next(self._order), _Group(file, number)))

    # What they hold

    def _read(self, groups: Sequence[_Group]) -> None:
        """Merges the rows of those groups into the best ones so far."""
        first = len(self._groups)
        self._groups += groups
        sought = self._block.sought

        def read(place: int) -> pa.Table:
            group = self._groups[place]
            table, numbers = group.file.sought(group.number, sought)
            places = pa.array(np.full(len(numbers), place))
            return table.append_column(_GROUP, places).append_column(_NUMBER, pa.array(numbers))

        tables = self._reader.map(read, range(first, len(self._groups)))
        rows = pa.concat_tables(tables)
        self._best = self._engine.run(self._first_rows(), self._tables(rows), tag=self._tag)
        if self._best.num_rows == self._wanted:
            last = self._best.slice(self._wanted - 1)
            self._last = tuple(
                direction.place(_bound(last.column(f"k{i}")[0], column_of(key).type or ""))
                for i, (key, direction) in enumerate(
                    zip(self._keys, directions(self._keys), strict=True)
                )
            )

    def _tables(self, rows: pa.Table) -> dict[str, pa.Table]:
        return {"acc_rows": rows} | ({} if self._best is None else {"acc_best": self._best})

    def _first_rows(self) -> str:
        """SQL that keeps the first wanted rows of what was just read and the best so far."""
        render, block = renderer("duckdb"), self._block
        names = [f"k{i}" for i in range(len(block.order))]
        items = [f"{render.text(k.expr)} AS {n}" for k, n in zip(block.order, names, strict=True)]
        places = [quote(_GROUP, "duckdb"), quote(_NUMBER, "duckdb")]
        text = f"SELECT {', '.join([*places, *items])} FROM acc_rows{where_sql(block, 'duckdb')}"
        if self._best is not None:
            text += f" UNION ALL SELECT {', '.join([*places, *names])} FROM acc_best"
        return f"SELECT * FROM ({text}) found{order_sql(block.order, names)} LIMIT {self._wanted}"

    def _answer(self) -> pa.Table:
        """The wanted columns of the best rows, once more through the statement's own text."""
        block = self._block
        best, used = self._best, block.used
        types = [o.expr.type or "" for o in block.outputs]
        names = [n or "" for n in self._plan.names]
        if best is None or best.num_rows == 0:
            empty = [pa.array([], arrow_type(t)) for t in types]
            return conform(pa.table(empty, names=[str(i) for i in range(len(types))]), names, types)
        groups = best.column(_GROUP).to_numpy()
        numbers = best.column(_NUMBER).to_numpy()

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
        return conform(self._engine.run(text, {"acc_rows": found}, tag=self._tag), names, types)


@dataclass(frozen=True, slots=True)
class _Told:
    """See `pruning.Told`."""

    bounds: ColumnBounds


class _GroupStatistics:
    """What a file's footer says of its row groups, for predicates to be judged by."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file

    def __len__(self) -> int:
        return len(self._file.groups)

    def column(self, field_id: int, type_: str) -> _Told:
        """The column in each group."""
        return _Told(self._file.bounds(Column(0, field_id, "", type_)))


def _bound(scalar: pa.Scalar, type_: str) -> Any:
    """A value as `ColumnStatistics` keeps bounds."""
    if not scalar.is_valid:
        return None
    parts = decimal_parts(type_)
    if parts is not None:
        return int(scalar.as_py().scaleb(parts[1]))
    if type_ in ("date", "timestamp", "timestamp_ntz"):
        return scalar.value
    value = scalar.as_py()
    return value.encode() if isinstance(value, str) else value
